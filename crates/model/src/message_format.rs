//! Templates of the catalogs: the part of ICU MessageFormat that the texts of the core use, which is
//! arguments (`{server}`) and plurals (`{count, plural, one {# server} other {# servers}}`). The UI
//! renders the same templates with a full implementation; `locales/format-cases.json` is the table that
//! both sides are tested with.

use std::collections::BTreeMap;

use crate::language::Language;

/// Value of an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Text(String),
    /// Selects a plural form. Rendered without separators by `{count}`, with separators by `#`.
    Number(u32),
}

enum Piece {
    Text(String),
    Argument(String),
    Plural {
        name: String,
        branches: Vec<(String, Vec<Piece>)>,
    },
    /// `#` in a branch of a plural.
    Number,
}

/// Renders a template. An argument without a value is rendered as `{name}`, and a template that is not
/// valid as it is. Values are not expanded again, even if they contain braces.
pub(crate) fn format(template: &str, language: Language, values: &BTreeMap<&str, Value>) -> String {
    let mut out = String::with_capacity(template.len());
    match parse(template) {
        Some(pieces) => TemplateRenderer { language, values }.write(&pieces, None, &mut out),
        None => out.push_str(template),
    }
    out
}

struct TemplateRenderer<'a> {
    language: Language,
    values: &'a BTreeMap<&'a str, Value>,
}

impl TemplateRenderer<'_> {
    /// `count` is the number of the plural around the pieces.
    fn write(&self, pieces: &[Piece], count: Option<u32>, out: &mut String) {
        for piece in pieces {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Argument(name) => match self.values.get(name.as_str()) {
                    Some(Value::Text(text)) => out.push_str(text),
                    Some(Value::Number(number)) => out.push_str(&number.to_string()),
                    None => out.extend(["{", name.as_str(), "}"]),
                },
                Piece::Number => out.push_str(&count.map(grouped).unwrap_or_default()),
                Piece::Plural { name, branches } => {
                    let count = match self.values.get(name.as_str()) {
                        Some(Value::Number(number)) => Some(*number),
                        Some(Value::Text(_)) | None => None,
                    };
                    if let Some(branch) = self.branch(branches, count) {
                        self.write(branch, count, out);
                    }
                }
            }
        }
    }

    /// The branch for a number: the one for exactly it, else the one of its plural category.
    fn branch<'p>(&self, branches: &'p [(String, Vec<Piece>)], count: Option<u32>) -> Option<&'p [Piece]> {
        let find =
            |selector: &str| branches.iter().find(|(of, _)| of == selector).map(|(_, pieces)| &pieces[..]);
        let category = match (self.language, count) {
            (Language::English, Some(1)) => "one",
            _ => "other",
        };
        count
            .and_then(|count| find(&format!("={count}")))
            .or_else(|| find(category))
            .or_else(|| find("other"))
    }
}

/// A number as both languages write it: `1,234`.
fn grouped(number: u32) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Parses a template; `None` if it is not valid or uses other parts of MessageFormat.
fn parse(template: &str) -> Option<Vec<Piece>> {
    let mut parser = TemplateParser { rest: template };
    let pieces = parser.pieces(false)?;
    parser.rest.is_empty().then_some(pieces)
}

/// Whether a template is valid.
#[cfg(test)]
pub(crate) fn is_valid(template: &str) -> bool {
    parse(template).is_some()
}

/// The names of the arguments of a template, also of those in branches; `None` if it is not valid.
#[cfg(test)]
pub(crate) fn argument_names(template: &str) -> Option<std::collections::BTreeSet<String>> {
    fn collect(pieces: &[Piece], names: &mut std::collections::BTreeSet<String>) {
        for piece in pieces {
            match piece {
                Piece::Text(_) | Piece::Number => {}
                Piece::Argument(name) => {
                    names.insert(name.clone());
                }
                Piece::Plural { name, branches } => {
                    names.insert(name.clone());
                    for (_, pieces) in branches {
                        collect(pieces, names);
                    }
                }
            }
        }
    }
    let mut names = std::collections::BTreeSet::new();
    collect(&parse(template)?, &mut names);
    Some(names)
}

struct TemplateParser<'a> {
    rest: &'a str,
}

impl TemplateParser<'_> {
    /// Pieces up to the end, or up to the brace that closes the branch.
    fn pieces(&mut self, in_branch: bool) -> Option<Vec<Piece>> {
        let mut pieces = Vec::new();
        let mut text = String::new();
        while let Some(next) = self.rest.chars().next() {
            let piece = match next {
                '}' if in_branch => break,
                '{' => self.placeholder()?,
                '#' if in_branch => {
                    self.skip('#');
                    Piece::Number
                }
                '\'' => {
                    self.quoted(in_branch, &mut text);
                    continue;
                }
                _ => {
                    self.skip(next);
                    text.push(next);
                    continue;
                }
            };
            if !text.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut text)));
            }
            pieces.push(piece);
        }
        if !text.is_empty() {
            pieces.push(Piece::Text(text));
        }
        Some(pieces)
    }

    /// An apostrophe: doubled it is one, before syntax it quotes up to the next one, else it is itself.
    fn quoted(&mut self, in_branch: bool, text: &mut String) {
        self.skip('\'');
        if self.skip('\'') {
            text.push('\'');
            return;
        }
        let quotes = self.rest.starts_with(['{', '}', '<', '>']) || in_branch && self.rest.starts_with('#');
        if !quotes {
            text.push('\'');
            return;
        }
        while let Some(next) = self.rest.chars().next() {
            self.skip(next);
            if next == '\'' && !self.skip('\'') {
                return;
            }
            text.push(next);
        }
    }

    /// `{name}` or `{name, plural, …}`.
    fn placeholder(&mut self) -> Option<Piece> {
        self.skip('{');
        let name = self.word()?;
        if self.skip('}') {
            return Some(Piece::Argument(name));
        }
        (self.skip(',') && self.word()? == "plural" && self.skip(',')).then_some(())?;
        let mut branches = Vec::new();
        self.space();
        while !self.skip('}') {
            let exact = if self.skip('=') { "=" } else { "" };
            let selector = format!("{exact}{}", self.word()?);
            self.skip('{').then_some(())?;
            let pieces = self.pieces(true)?;
            self.skip('}').then_some(())?;
            branches.push((selector, pieces));
            self.space();
        }
        branches.iter().any(|(selector, _)| selector == "other").then_some(Piece::Plural { name, branches })
    }

    /// A name with the white space around it.
    fn word(&mut self) -> Option<String> {
        self.space();
        let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        self.space();
        (!word.is_empty()).then(|| word.to_owned())
    }

    fn space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    /// Skips a character if it is next.
    fn skip(&mut self, c: char) -> bool {
        let rest = self.rest.strip_prefix(c);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(json: &serde_json::Value) -> Value {
        let number = || json.as_u64().and_then(|number| u32::try_from(number).ok());
        match json.as_str() {
            Some(text) => Value::Text(text.to_owned()),
            None => Value::Number(number().expect("a text or a count")),
        }
    }

    #[test]
    fn renders_the_table_that_the_ui_renders() {
        let table: Vec<serde_json::Value> =
            serde_json::from_str(include_str!("../../../locales/format-cases.json")).unwrap();
        assert!(table.len() > 10);
        for case in &table {
            let language = match case["language"].as_str() {
                Some("en") => Language::English,
                Some("zh-CN") => Language::SimplifiedChinese,
                other => panic!("no such language: {other:?}"),
            };
            let values =
                case["values"].as_object().unwrap().iter().map(|(name, json)| (name.as_str(), value(json)));
            let template = case["template"].as_str().unwrap();
            let text = case["text"].as_str().unwrap();
            assert!(is_valid(template), "{case}");
            assert_eq!(format(template, language, &values.collect()), text, "{case}");
        }
    }

    #[test]
    fn shows_invalid_templates_as_they_are() {
        for template in [
            "{",
            "{a",
            "{}",
            "{a b}",
            "{a, plural}",
            "{a, plural, one {#}}",
            "{a, plural, other {#}",
            "{a, plural, other #}",
            "{a, select, x {y} other {z}}",
            "{a, number}",
        ] {
            assert!(!is_valid(template), "{template}");
            let values = BTreeMap::from([("a", Value::Number(1))]);
            assert_eq!(format(template, Language::English, &values), template);
        }
    }
}
