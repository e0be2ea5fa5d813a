//! Arguments against the schema of the server.

use gatehouse_models::adapters::check_arguments;

use crate::json;

fn check(schema: &str, arguments: &str) -> Result<(), String> {
    check_arguments(&json(&format!(r#"{{"name":"a","inputSchema":{schema}}}"#)), &json(arguments))
}

#[test]
fn says_what_does_not_fit_the_original_schema() {
    let schema = r##"{"type":"object","$defs":{"N":{"type":"integer","minimum":1}},"properties":{"n":{"$ref":"#/$defs/N"},"p":{"type":"string","pattern":"^[a-z]+$"}},"required":["n"],"additionalProperties":false}"##;
    assert_eq!(check(schema, r#"{"n":3,"p":"abc"}"#), Ok(()));
    for (arguments, named) in [
        ("{}", "\"n\" is a required property"),
        (r#"{"n":0}"#, "(at /n)"),
        (r#"{"n":1,"p":"A1"}"#, "(at /p)"),
        (r#"{"n":1,"q":1}"#, "'q' was unexpected"),
        ("[]", "one JSON object"),
        (r#"{"n":1,"n":2}"#, "occurs twice"),
    ] {
        let found = check(schema, arguments).unwrap_err();
        assert!(found.contains(named), "{arguments}: {found}");
    }
}

#[test]
fn follows_recursive_definitions() {
    let schema =
        r##"{"type":"object","properties":{"v":{"type":"string"},"next":{"$ref":"#"}},"required":["v"]}"##;
    assert_eq!(check(schema, r#"{"v":"a","next":{"v":"b","next":{"v":"c"}}}"#), Ok(()));
    assert!(
        check(schema, r#"{"v":"a","next":{"v":"b","next":{}}}"#).unwrap_err().contains("(at /next/next)")
    );
}

#[test]
fn leaves_unusable_schemas_to_the_server() {
    for schema in [
        r#"{"type":7}"#,
        r#"{"$ref":"https://schemas.example/a.json"}"#,
        r##"{"$ref":"#/$defs/a"}"##,
        r#"{"properties":{"a":{"pattern":"("}}}"#,
        r#"{"type":"object","type":"array"}"#,
        "7",
    ] {
        assert_eq!(check(schema, r#"{"a":"x"}"#), Ok(()), "{schema}");
    }
    assert_eq!(check_arguments(&json(r#"{"name":"a"}"#), &json("{}")), Ok(()));
    assert_eq!(check_arguments(&json("7"), &json("{}")), Ok(()));
}

#[test]
fn does_not_run_schemas_that_never_end() {
    let doubling: String = (0..60)
        .map(|n| {
            format!(
                r##""d{n}":{{"allOf":[{{"$ref":"#/$defs/d{m}"}},{{"$ref":"#/$defs/d{m}"}}]}},"##,
                m = n + 1
            )
        })
        .collect();
    let doubling = format!(r##"{{"$ref":"#/$defs/d0","$defs":{{{doubling}"d60":{{}}}}}}"##);
    let twice = r##"{"properties":{"a":{"$ref":"#"}},"patternProperties":{"a":{"$ref":"#"}},"additionalProperties":{"$ref":"#"}}"##;
    let deep = format!("{}{{}}{}", r#"{"a":"#.repeat(60), "}".repeat(60));
    for (schema, arguments) in [
        (r##"{"$ref":"#"}"##, "{}"),
        (r##"{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"}"##, "{}"),
        (r##"{"allOf":[{"$ref":"#"},{"$ref":"#"}]}"##, "{}"),
        (doubling.as_str(), "{}"),
        (twice, deep.as_str()),
        (r##"{"$recursiveRef":"#"}"##, "{}"),
    ] {
        assert_eq!(check(schema, arguments), Ok(()), "{schema:.80}");
    }
}
