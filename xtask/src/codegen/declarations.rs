//! Reads the TypeScript declarations that ts-rs writes: the members of their objects, with types and docs. It knows only
//! what ts-rs writes, and is no parser of TypeScript.

use anyhow::{Context, Result};

/// A member of an object type.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TypeMember {
    pub(super) name: String,
    /// Its type, in TypeScript.
    pub(super) kind: String,
    /// Its doc comment on one line; empty if it has none.
    pub(super) doc: String,
}

impl TypeMember {
    /// Whether it tells the variants of an enum apart: its type is one text.
    pub(super) fn is_tag(&self) -> bool {
        self.kind.starts_with('"') && !self.kind.contains(" | ")
    }
}

/// What a declaration stands for: the text after its `=`.
pub(super) fn definition(declaration: &str) -> Result<&str> {
    let (_, body) = declaration.split_once("export type ").context("no declaration of a type")?;
    let (_, definition) = body.split_once(" = ").context("a declaration without a type")?;
    Ok(definition.trim_end().trim_end_matches(';'))
}

/// The objects of a declaration: one for a struct, one for each variant with a tag of an enum.
pub(super) fn objects(declaration: &str) -> Result<Vec<Vec<TypeMember>>> {
    let mut objects = Vec::new();
    let mut rest = definition(declaration)?;
    while let Some((_, inside)) = rest.split_once('{') {
        let (members, after) = members(inside)?;
        objects.push(members);
        rest = after;
    }
    Ok(objects)
}

/// The members up to the end of their object, and what follows it.
fn members(text: &str) -> Result<(Vec<TypeMember>, &str)> {
    let mut members = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(|letter: char| letter.is_whitespace() || letter == ',');
        let mut doc = String::new();
        if let Some(after) = rest.strip_prefix("/**") {
            let (comment, after) = after.split_once("*/").context("a comment without an end")?;
            doc = joined(comment);
            rest = after.trim_start();
        }
        if let Some(after) = rest.strip_prefix('}') {
            return Ok((members, after));
        }
        let (name, after) = rest.split_once(':').context("a member without a type")?;
        let (kind, after) = split_kind(after);
        members.push(TypeMember {
            name: name.trim().trim_matches('"').to_owned(),
            kind: kind.trim().to_owned(),
            doc,
        });
        rest = after;
    }
}

/// The lines of a comment as one.
fn joined(comment: &str) -> String {
    let lines = comment.lines().map(|line| line.trim().trim_start_matches('*').trim());
    lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

/// The type of a member, and what follows it.
fn split_kind(text: &str) -> (&str, &str) {
    let mut depth = 0_u32;
    for (at, letter) in text.char_indices() {
        match letter {
            '{' | '<' | '[' => depth += 1,
            '}' | '>' | ']' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => return text.split_at(at),
            _ => {}
        }
    }
    (text, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(name: &str, kind: &str, doc: &str) -> TypeMember {
        TypeMember { name: name.to_owned(), kind: kind.to_owned(), doc: doc.to_owned() }
    }

    #[test]
    fn reads_members_with_their_docs() -> Result<()> {
        let text = "/** A { b }. */\nexport type A = {\n/** One = 1. */\na: string, env: { [key in string]: string },\n\
                    /**\n * Two\n * lines.\n */\nb: Array<B> | null, };";
        let expected = [
            member("a", "string", "One = 1."),
            member("env", "{ [key in string]: string }", ""),
            member("b", "Array<B> | null", "Two lines."),
        ];
        assert_eq!(objects(text)?, [expected]);
        Ok(())
    }

    #[test]
    fn reads_each_variant() -> Result<()> {
        let text =
            "export type A = { \"is\": \"one\" } & Rest | { \"is\": \"two\",\n/** B. */\nb: number, };";
        let all = objects(text)?;
        assert_eq!(
            all,
            [
                vec![member("is", "\"one\"", "")],
                vec![member("is", "\"two\"", ""), member("b", "number", "B."),]
            ]
        );
        assert_eq!(all.iter().flatten().filter(|member| member.is_tag()).count(), 2);
        assert_eq!(definition("/** W. */\nexport type W = \"a\" | \"b\";")?, "\"a\" | \"b\"");
        assert!(objects("export type A = { a: b, /** open").is_err());
        Ok(())
    }
}
