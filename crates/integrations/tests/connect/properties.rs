//! What holds for every document: an edit changes only what it is about, and taking it back brings back the value before.

use gatehouse_integrations::{Document, FileFormat};
use gatehouse_model::connection::DocumentEdit;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn name() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b c", "x\"y", "中", "servers", "é//", "/*", ""]).prop_map(str::to_owned)
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        name().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(name(), inner, 0..4).prop_map(object),
        ]
    })
}

fn object(members: std::collections::BTreeMap<String, Value>) -> Value {
    Value::Object(members.into_iter().collect::<Map<_, _>>())
}

/// How a document is written.
#[derive(Clone, Copy, Debug)]
struct Style {
    indent: &'static str,
    line: &'static str,
    comma: &'static str,
    comment: bool,
    has_mark: bool,
    ends: bool,
}

fn style() -> impl Strategy<Value = Style> {
    (
        prop::sample::select(vec!["", " ", "  ", "    ", "\t"]),
        prop::sample::select(vec!["\n", "\r\n"]),
        prop::sample::select(vec!["", ","]),
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(|(indent, line, comma, comment, has_mark, ends)| Style {
            indent,
            line,
            comma,
            comment,
            has_mark,
            ends,
        })
}

fn write(value: &Value, style: Style, depth: usize) -> String {
    let (open, close, parts): (_, _, Vec<String>) = match value {
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| {
                format!("{}: {}", Value::from(name.as_str()), write(value, style, depth + 1))
            };
            ('{', '}', members.iter().map(member).collect())
        }
        Value::Array(items) => ('[', ']', items.iter().map(|item| write(item, style, depth + 1)).collect()),
        other => return other.to_string(),
    };
    if parts.is_empty() {
        return format!("{open}{close}");
    }
    let (line, inner, outer) = (style.line, style.indent.repeat(depth + 1), style.indent.repeat(depth));
    let last = parts.len() - 1;
    let comment = if style.comment { " // \"note\": {" } else { "" };
    let lines: String = parts
        .iter()
        .enumerate()
        .map(|(at, part)| {
            let comma = if at == last { style.comma } else { "," };
            format!("{line}{inner}{part}{comma}{comment}")
        })
        .collect();
    format!("{open}{lines}{line}{outer}{close}")
}

fn path(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Applies edits to a document and takes them back after another one; the values in between and at the end are right.
fn holds_for(format: FileFormat, text: &str, edits: &[DocumentEdit]) -> Result<(), TestCaseError> {
    let before = Document::parse(format, text.as_bytes()).unwrap();
    let mut document = before.clone();
    for edit in edits {
        document.apply(edit).map_err(|error| TestCaseError::fail(format!("{error} {edit:?}: {text}")))?;
    }
    let bytes = document.to_bytes();
    let mut written = Document::parse(format, &bytes).unwrap();
    prop_assert_eq!(written.value(), document.value());
    for edit in edits {
        prop_assert!(written.has(edit));
        // Once more changes nothing.
        written.apply(edit).unwrap();
    }
    prop_assert_eq!(written.to_bytes(), bytes.clone());
    for edit in edits.iter().rev() {
        written.revert(edit, before.value()).map_err(|error| {
            TestCaseError::fail(format!("{error} {edit:?}: {}", String::from_utf8_lossy(&bytes)))
        })?;
    }
    let reverted = Document::parse(format, &written.to_bytes()).unwrap();
    prop_assert_eq!(reverted.value(), before.value(), "{}", String::from_utf8_lossy(&bytes));
    Ok(())
}

proptest! {
    #[test]
    fn json_changes_only_where_it_is_edited(
        members in prop::collection::btree_map(name(), any_value(), 0..4),
        servers in prop::option::of(prop::collection::btree_map(name(), any_value(), 0..3)),
        rules in prop::option::of(prop::collection::vec(name(), 0..3)),
        style in style(),
    ) {
        let mut root = object(members);
        if let Some(servers) = servers {
            root["mcpServers"] = object(servers);
        }
        if let Some(rules) = rules {
            root["permissions"] = json!({ "allow": rules });
        }
        let mark = if style.has_mark { "\u{feff}" } else { "" };
        let end = if style.ends { style.line } else { "" };
        let text = format!("{mark}{}{end}", write(&root, style, 0));
        let entry = json!({ "command": "/bin/x", "args": ["bridge", "--client=a \"b\""], "env": {} });
        holds_for(FileFormat::Json, &text, &[
            DocumentEdit::Member { path: path(&["mcpServers", "gatehouse"]), value: entry },
            DocumentEdit::Item { path: path(&["permissions", "allow"]), value: json!("mcp__gatehouse") },
        ])?;
    }

    #[test]
    fn toml_changes_only_where_it_is_edited(
        parts in prop::collection::vec(prop::sample::select(vec![
            "# Comment\n", "\n", "[tools]\nweb = true # yes\n", "[mcp_servers.a]\ncommand = \"a\"\n",
            "[mcp_servers.b]\nargs = [\n  \"x\", # one\n]\n[mcp_servers.b.env]\nKEY = 'v'\n",
            "[[profiles]]\nname = \"p\"\n", "[\"odd name\".x]\ntext = \"\"\"\n[mcp_servers.c]\n\"\"\"\n",
        ]), 0..6),
        line in prop::sample::select(vec!["\n", "\r\n"]),
        ends in any::<bool>(),
    ) {
        let mut seen = std::collections::HashSet::new();
        // A table stands in a document once.
        let parts = parts.into_iter().filter(|part| !part.starts_with('[') || seen.insert(*part));
        let text = format!("model = \"m\" # the model\n{}", parts.collect::<String>()).replace('\n', line);
        let text = if ends { text.as_str() } else { text.trim_end() };
        let entry = json!({ "command": "/bin/x", "args": ["bridge", "--client=a \"b\""] });
        let edit = DocumentEdit::Member { path: path(&["mcp_servers", "gatehouse"]), value: entry };
        // Appended: not a byte of the rest changes.
        let mut document = Document::parse(FileFormat::Toml, text.as_bytes()).unwrap();
        document.apply(&edit).unwrap();
        prop_assert!(document.to_bytes().starts_with(text.as_bytes()));
        holds_for(FileFormat::Toml, text, &[edit])?;
    }

    #[test]
    fn yaml_changes_only_where_it_is_edited(
        before in prop::collection::vec(prop::sample::select(vec![
            "# Comment\n", "\n", "rules:\n- Be brief\n- \"- name: x\"\n", "text: |-\n  mcpServers:\n  - no\n",
        ]), 0..3),
        items in prop::option::of(prop::collection::vec(prop::sample::select(vec![
            "- name: a\n  command: a\n", "- name: b\n  args:\n    - -y\n    # inner\n    - b\n",
            "# Before it\n- name: c\n  env:\n    KEY: \"# no comment\"\n\n",
        ]), 0..4)),
        indent in prop::sample::select(vec!["", "  ", "    "]),
        after in prop::sample::select(vec!["", "prompts: []\n", "# The end\n", "docs:\n  - name: d\n"]),
        ends in any::<bool>(),
    ) {
        let mut seen = std::collections::HashSet::new();
        let before: String =
            before.into_iter().filter(|part| part.starts_with(['#', '\n']) || seen.insert(*part)).collect();
        let list = items.map_or_else(String::new, |items| {
            let lines: String = items
                .iter()
                .flat_map(|item| item.split_inclusive('\n'))
                .map(|line| if line == "\n" { line.to_owned() } else { format!("{indent}{line}") })
                .collect();
            format!("mcpServers:{}\n{lines}", if items.is_empty() { " [] # none" } else { "" })
        });
        let text = format!("name: n\n{before}{list}{after}");
        let text = if ends { text.as_str() } else { text.trim_end() };
        let entry = json!({ "name": "gatehouse", "command": "/bin/x", "args": ["bridge", "--client=a \"b\""] });
        holds_for(FileFormat::Yaml, text, &[DocumentEdit::Item { path: path(&["mcpServers"]), value: entry }])?;
    }
}
