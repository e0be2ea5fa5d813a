//! Finds what a value in an application's settings refers to: variables, inputs and secrets, in the notation of each
//! application. A text with no notation of its application is a text and nothing else.

use gatehouse_model::App;

/// A part of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValuePart<'a> {
    Text(&'a str),
    /// A variable of the environment, with the value to use where it isn't set.
    Variable {
        name: &'a str,
        default: Option<&'a str>,
    },
    /// A value that the application asks for.
    Input(&'a str),
    /// A secret that the application stores.
    Secret(&'a str),
    /// Something that only the application knows, such as its folder.
    Own(&'a str),
}

/// The notations of an application.
#[derive(Clone, Copy, Default)]
struct Notation {
    /// `${env:NAME}`, `${input:ID}`, and names of the application such as `${workspaceFolder}`.
    prefixed: bool,
    /// `${NAME}` and `${NAME:-default}`.
    braced: bool,
    /// `$NAME`.
    bare: bool,
    /// `{env:NAME}` and `{file:PATH}`.
    curly: bool,
    /// `${{ secrets.NAME }}`.
    double: bool,
    /// `${secret:NAME}`, which is Gatehouse's own.
    gatehouse: bool,
}

/// Names that editors replace in their settings.
const OF_EDITORS: [&str; 6] =
    ["userHome", "workspaceFolder", "workspaceFolderBasename", "pathSeparator", "/", "cwd"];

impl Notation {
    fn of(app: Option<App>) -> Self {
        let none = Self::default();
        match app {
            None => Self { prefixed: true, braced: true, double: true, gatehouse: true, ..none },
            Some(App::Cursor | App::VsCode | App::Windsurf | App::Cline | App::LmStudio) => {
                Self { prefixed: true, ..none }
            }
            Some(App::ClaudeCode) => Self { braced: true, ..none },
            Some(App::Gemini) => Self { braced: true, bare: true, ..none },
            Some(App::OpenCode) => Self { curly: true, ..none },
            Some(App::Continue) => Self { double: true, ..none },
            Some(App::ClaudeDesktop | App::Zed | App::Codex) => none,
        }
    }
}

/// The parts of a value, in order.
pub(super) fn parts(text: &str, app: Option<App>) -> Vec<ValuePart<'_>> {
    let notation = Notation::of(app);
    let mut found = Vec::new();
    let (mut from, mut at) = (0, 0);
    while let Some(offset) = text[at..].find(['$', '{']) {
        let start = at + offset;
        match reference(&text[start..], notation) {
            Some((part, length)) => {
                if from < start {
                    found.push(ValuePart::Text(&text[from..start]));
                }
                found.push(part);
                at = start + length;
                from = at;
            }
            None => at = start + 1,
        }
    }
    if from < text.len() {
        found.push(ValuePart::Text(&text[from..]));
    }
    found
}

/// The reference that a text begins with, and its length.
fn reference(text: &str, notation: Notation) -> Option<(ValuePart<'_>, usize)> {
    if let Some(inner) = text.strip_prefix("${{") {
        let end = inner.find("}}").filter(|_| notation.double)?;
        let part = match inner[..end].trim().split_once('.')? {
            ("secrets", name) => ValuePart::Secret(name),
            ("inputs", name) => ValuePart::Input(name),
            _ => return None,
        };
        return Some((part, end + 5));
    }
    if let Some(inner) = text.strip_prefix("${") {
        let end = inner.find('}')?;
        return Some((in_braces(&inner[..end], notation)?, end + 3));
    }
    if let Some(inner) = text.strip_prefix('{') {
        let end = inner.find('}').filter(|_| notation.curly)?;
        let part = match inner[..end].split_once(':')? {
            ("env", name) => ValuePart::Variable { name, default: None },
            ("file", _) => ValuePart::Own(&inner[..end]),
            _ => return None,
        };
        return Some((part, end + 2));
    }
    let name = text.strip_prefix('$').filter(|_| notation.bare)?;
    let end = name.find(|c: char| !is_name_char(c)).unwrap_or(name.len());
    let name = Some(&name[..end]).filter(|name| is_variable(name))?;
    Some((ValuePart::Variable { name, default: None }, end + 1))
}

fn in_braces(inner: &str, notation: Notation) -> Option<ValuePart<'_>> {
    if notation.prefixed {
        match inner.split_once(':') {
            Some(("env", name)) => return Some(ValuePart::Variable { name, default: None }),
            Some(("input", id)) => return Some(ValuePart::Input(id)),
            Some(("config" | "command" | "file", _)) => return Some(ValuePart::Own(inner)),
            _ if OF_EDITORS.contains(&inner) => return Some(ValuePart::Own(inner)),
            _ => {}
        }
    }
    if notation.gatehouse
        && let Some(name) = inner.strip_prefix("secret:")
    {
        return Some(ValuePart::Secret(name));
    }
    if !notation.braced {
        return None;
    }
    let (name, default) = match inner.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inner, None),
    };
    is_variable(name).then_some(ValuePart::Variable { name, default })
}

fn is_variable(name: &str) -> bool {
    !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()) && name.chars().all(is_name_char)
}

fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_references_in_the_notation_of_each_application() {
        use ValuePart::{Input, Own, Secret, Text, Variable};
        let variable = |name| Variable { name, default: None };
        for (app, text, wanted) in [
            (Some(App::VsCode), "Bearer ${input:key}!", vec![Text("Bearer "), Input("key"), Text("!")]),
            (Some(App::VsCode), "${workspaceFolder}/x", vec![Own("workspaceFolder"), Text("/x")]),
            (Some(App::VsCode), "${HOME}", vec![Text("${HOME}")]),
            (Some(App::Cursor), "a${env:B}${env:C}", vec![Text("a"), variable("B"), variable("C")]),
            (
                Some(App::ClaudeCode),
                "${A:-b:-c}$D",
                vec![Variable { name: "A", default: Some("b:-c") }, Text("$D")],
            ),
            (Some(App::ClaudeCode), "${env:A}", vec![Text("${env:A}")]),
            (Some(App::Gemini), "$A-${B}$1$", vec![variable("A"), Text("-"), variable("B"), Text("$1$")]),
            (
                Some(App::OpenCode),
                "{env:A} {x} {file:~/k}",
                vec![variable("A"), Text(" {x} "), Own("file:~/k")],
            ),
            (
                Some(App::Continue),
                "${{ secrets.A }}${{inputs.B}}${{x}}",
                vec![Secret("A"), Input("B"), Text("${{x}}")],
            ),
            (Some(App::ClaudeDesktop), "${A}${env:B}", vec![Text("${A}${env:B}")]),
            (None, "${secret:A}${B}", vec![Secret("A"), variable("B")]),
            (None, "${open", vec![Text("${open")]),
            (None, "", vec![]),
        ] {
            assert_eq!(parts(text, app), wanted, "{app:?} {text}");
        }
    }
}
