//! Texts that the product writes for people are messages of the catalogs, so that they are read in every language. A
//! text in the sources, also as the format of `format!`, is refused where an error or another text for people is made.
//! What others wrote, such as an error of the system, may be plain.

use std::path::Path;

use anyhow::{Result, bail};
use proc_macro2::{TokenStream, TokenTree};

use crate::check::source::{self, Call, SourceCrate, is_punct, is_word};

/// Members that are no part of the product.
const TOOLS: [&str; 2] = ["gatehouse-tests", "xtask"];

/// Calls whose arguments people read: the end of what is called, and the number of arguments that come before.
const CALLS: [(&[&str], usize); 8] = [
    (&["CliError", "Usage"], 0),
    (&["CliError", "usage"], 0),
    (&["UserError", "new"], 1),
    (&["UserText", "Plain"], 0),
    (&["UserText", "from"], 0),
    (&["message!"], 1),
    (&["with_cause"], 0),
    (&["with_hint"], 0),
];

/// Texts that may be written in the sources, each with the reason.
const ALLOWED: [(&str, &str); 0] = [];

pub(crate) fn check(root: &Path) -> Result<()> {
    let violations = violations(&source::crates_except(root, &TOOLS)?, &ALLOWED);
    if violations.is_empty() { Ok(()) } else { bail!("{}", violations.join("\n")) }
}

fn violations(crates: &[SourceCrate], allowed: &[(&str, &str)]) -> Vec<String> {
    let modules = crates.iter().flat_map(|source| source.modules.values());
    let texts: Vec<(&Call, String)> = modules
        .flat_map(|module| &module.calls)
        .flat_map(|call| texts_of(call).into_iter().map(move |text| (call, text)))
        .collect();
    let is_allowed = |text: &str| allowed.iter().any(|(allowed, _)| *allowed == text);
    let unused = allowed.iter().filter(|(allowed, _)| texts.iter().all(|(_, text)| text != allowed));
    let mut violations: Vec<String> =
        unused.map(|(text, _)| format!("`{text}` is allowed as a text for people, and is none")).collect();
    violations.extend(texts.iter().filter(|(_, text)| !is_allowed(text)).map(|(call, text)| {
        format!("{}: {text} is read by people in one language only; use `message!`", call.position)
    }));
    violations
}

/// The texts among the arguments that people read.
fn texts_of(call: &Call) -> Vec<String> {
    let ends_with = |end: &[&str]| {
        call.path.len() >= end.len()
            && call
                .path
                .iter()
                .rev()
                .map(String::as_str)
                .zip(end.iter().rev())
                .all(|(name, wanted)| name == *wanted)
    };
    let Some((_, others)) = CALLS.iter().find(|(end, _)| ends_with(end)) else { return Vec::new() };
    let tokens: Vec<TokenTree> = call.arguments.clone().into_iter().collect();
    let mut texts = Vec::new();
    for argument in tokens.split(|token| is_punct(token, ',')).skip(*others) {
        add_texts(argument, &mut texts);
    }
    texts
}

/// Adds all texts with words in them. Those of a `message!` are left out, since that is a call of its own.
fn add_texts(tokens: &[TokenTree], texts: &mut Vec<String>) {
    let mut rest = tokens;
    while let [first, after @ ..] = rest {
        rest = match after {
            [not, _, after @ ..] if is_word(first, "message") && is_punct(not, '!') => after,
            after => after,
        };
        match first {
            TokenTree::Group(group) => add_texts(&tokens_of(group.stream()), texts),
            TokenTree::Literal(literal) => {
                let literal = literal.to_string();
                if has_words(&literal) {
                    texts.push(literal);
                }
            }
            TokenTree::Ident(_) | TokenTree::Punct(_) => {}
        }
    }
}

fn tokens_of(stream: TokenStream) -> Vec<TokenTree> {
    stream.into_iter().collect()
}

/// Whether a literal is a text with letters outside of the places of a format.
fn has_words(literal: &str) -> bool {
    let Some((_, text)) = literal.split_once('"') else { return false };
    let mut depth = 0_u32;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                chars.next();
            }
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            c if depth == 0 && c.is_alphabetic() => return true,
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::source::crate_of;

    fn found(text: &str, allowed: &[(&str, &str)]) -> Vec<String> {
        violations(&[crate_of(&[("lib.rs", text)])], allowed)
    }

    #[test]
    fn refuses_texts_of_one_language() {
        for (argument, text) in [
            (r#"UserError::new(code("a"), "No server.")"#, r#""No server.""#),
            (r#"model::UserError::new(code, format!("No {server}."))"#, r#""No {server}.""#),
            (r#"error.with_cause(if a { "One." } else { message!("two") })"#, r#""One.""#),
            (r#"error.with_hint(&format!("{} and {}", a, b))"#, r#""{} and {}""#),
            (r#"UserText::Plain("Text.".to_owned())"#, r#""Text.""#),
            (r#"message!("a.key", reason = "too long")"#, r#""too long""#),
        ] {
            let message = format!("lib.rs:1: {text} is read by people in one language only; use `message!`");
            let source = format!("fn f() {{ {argument} }}");
            assert_eq!(found(&source, &[]), [message], "{argument}");
            assert_eq!(found(&source, &[(text, "a name")]), Vec::<String>::new());
        }
    }

    #[test]
    fn accepts_messages_and_texts_of_others() {
        for argument in [
            r#"UserError::new(code, message!("a.key", b = "${c:D}")).with_cause(format!("{error}."))"#,
            r#"error.with_hint(message!("a.key", b = format!("{x} {y}\n")))"#,
            r#"log("A sentence."); new("A sentence.")"#,
        ] {
            assert_eq!(found(&format!("fn f() {{ {argument} }}"), &[]), Vec::<String>::new(), "{argument}");
        }
        let gone = found("", &[("\"gone\"", "a name")]);
        assert_eq!(gone, ["`\"gone\"` is allowed as a text for people, and is none"]);
    }
}
