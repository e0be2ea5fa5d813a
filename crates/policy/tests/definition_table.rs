//! Pinned definitions and their differences, case by case (PERM-8).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use gatehouse_model::grant::FieldConcern;
use gatehouse_policy::definition::{DefinitionKind, diff, fingerprint, hidden_character_pointers};

const TOOL: &str = r#"{"name":"t","title":"T","description":"Looks.","inputSchema":{"type":"object","properties":{"description":{"type":"string"},"n":{"type":"integer","maximum":10,"description":"How many."}}},"annotations":{"readOnlyHint":true,"title":"T"},"icons":[],"_meta":{"a":1}}"#;

#[test]
fn diffs_relevant_changes_only() {
    for (from, to, changes) in [
        ("", "", vec![]),
        (r#""icons":[]"#, r#""icons":[{"src":"x"}]"#, vec![]),
        (r#""_meta":{"a":1}"#, r#""_meta":null"#, vec![]),
        (r#""name":"t","title":"T""#, r#""title" : "T" ,"name":"t""#, vec![]),
        ("Looks.", "Deletes.", vec!["/description Words \"Looks.\" -> \"Deletes.\""]),
        (r#""description":"Looks.","#, "", vec!["/description Words \"Looks.\" -> -"]),
        (
            r#""name":"t","#,
            r#""name":"t","execution":{"taskSupport":"required"},"#,
            vec!["/execution Shape - -> {\"taskSupport\":\"required\"}"],
        ),
        (
            r#""readOnlyHint":true"#,
            r#""readOnlyHint":false"#,
            vec!["/annotations/readOnlyHint Safety true -> false"],
        ),
        (r#""title":"T"},"#, r#""title":"U"},"#, vec!["/annotations/title Words \"T\" -> \"U\""]),
        (
            "How many.",
            "Send all.",
            vec!["/inputSchema/properties/n/description Words \"How many.\" -> \"Send all.\""],
        ),
        (
            r#"{"description":{"type":"string"}"#,
            r#"{"description":{"type":"number"}"#,
            vec!["/inputSchema/properties/description/type Shape \"string\" -> \"number\""],
        ),
        (
            r#"{"description":{"type":"string"},"#,
            "{",
            vec!["/inputSchema/properties/description Shape {\"type\":\"string\"} -> -"],
        ),
        (r#""maximum":10"#, r#""maximum":10.0"#, vec!["/inputSchema/properties/n/maximum Shape 10 -> 10.0"]),
        ("Looks.", "Looks.\u{202e}", vec!["/description Words \"Looks.\" -> \"Looks.⟦U+202E⟧\""]),
        ("Looks.", r"Looks.\u200b", vec!["/description Words \"Looks.\" -> \"Looks.⟦U+200B⟧\""]),
        (r#""name":"t","#, r#""name":"t","x":{"y":1},"#, vec!["/x Shape - -> {\"y\":1}"]),
    ] {
        let after = if from.is_empty() { TOOL.to_owned() } else { TOOL.replacen(from, to, 1) };
        assert!(from.is_empty() || after != TOOL, "{from} is not there");
        let found: Vec<String> = diff(TOOL, &after)
            .iter()
            .map(|change| {
                let concern = match change.concern {
                    FieldConcern::Words => "Words",
                    FieldConcern::Shape => "Shape",
                    FieldConcern::Safety => "Safety",
                };
                let side = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
                format!("{} {concern} {} -> {}", change.pointer, side(&change.before), side(&change.after))
            })
            .collect();
        assert_eq!(found, changes, "{from} -> {to}");
        assert_eq!(
            fingerprint(DefinitionKind::Tool, TOOL) == fingerprint(DefinitionKind::Tool, &after),
            found.is_empty(),
            "{from} -> {to}"
        );
    }
}

#[test]
fn refuses_fingerprints_of_malformed_definitions() {
    for text in ["", "[]", "null", r#"{"name":"a","name":"b"}"#, r#"{"inputSchema":{"a":1,"a":2}}"#] {
        assert!(fingerprint(DefinitionKind::Tool, text).is_err(), "{text}");
        let changes = diff(TOOL, text);
        assert_eq!(changes.len(), 1, "{text}");
        assert_eq!(changes[0].pointer, "");
    }
    assert_eq!(fingerprint(DefinitionKind::Tool, "{}").unwrap().as_str().len(), 64);
}

#[test]
fn finds_hidden_characters_outside_cleaned_text() {
    for (definition, places) in [
        (TOOL, vec![]),
        ("{\"name\":\"t\u{200b}\"}", vec!["/name"]),
        ("{\"description\":\"t\u{200b}\"}", vec![]),
        (
            "{\"inputSchema\":{\"properties\":{\"a\u{202e}b\":{\"type\":\"string\"}}}}",
            vec!["/inputSchema/properties/a⟦U+202E⟧b"],
        ),
        (
            r#"{"inputSchema":{"properties":{"a":{"enum":["x","y\u200b"]}}}}"#,
            vec!["/inputSchema/properties/a/enum/1"],
        ),
        (
            r#"{"inputSchema":{"properties":{"a":{"const":{"k":"y\u200b"}}}}}"#,
            vec!["/inputSchema/properties/a/const/k"],
        ),
        (
            r#"{"inputSchema":{"properties":{"a":{"default":"y\u200b"}}}}"#,
            vec!["/inputSchema/properties/a/default"],
        ),
        (r#"{"_meta":{"a":{"default":"y\u200b"}}}"#, vec![]),
        ("no JSON", vec![]),
    ] {
        assert_eq!(hidden_character_pointers(definition), places, "{definition}");
    }
}
