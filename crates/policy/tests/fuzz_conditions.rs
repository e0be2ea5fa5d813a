//! Fuzz target `conditions`: an allow takes a yes, so a yes must be one for a plain reader too, and no further
//! condition may make one of a no.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use gatehouse_fuzz::{fuzz, json, mutated};
use gatehouse_model::grant::Condition;
use gatehouse_policy::conditions::{ConditionOutcome, Conditions};
use gatehouse_policy::json::{Json, read};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};
use url::Url;

const POINTERS: &[&str] = &["/path", "/a", "/a/b", "/a/0", "", "/x~1y", "path", "/Path", "/a/~"];
const TEXTS: &[&str] = &[
    "a",
    "/home/u",
    "/home/u/a.txt",
    "/home/u/../v",
    "/home/uv",
    "https://a.example/x",
    "https://a.example:8443/",
    "http://127.1/",
    "https://evil.com/a.example",
    "file://a.example/",
    "C:\\x",
    "*",
    "a/*",
    "",
    "é",
    "\u{202e}",
];

fn text() -> impl Strategy<Value = String> {
    mutated(
        select(TEXTS).prop_map(str::to_owned),
        &["/", "..", "\\", "%2e", "@", ":", "*", "\u{200b}", "A", "\u{0}"],
    )
}

fn condition() -> impl Strategy<Value = Value> {
    let test = prop_oneof![
        json::value().prop_map(|value| json!({ "test": "equals", "value": value })),
        prop::collection::vec(json::value(), 0..3).prop_map(|all| json!({ "test": "one_of", "values": all })),
        text().prop_map(|text| json!({ "test": "starts_with", "text": text })),
        text().prop_map(|folder| json!({ "test": "inside", "folder": folder })),
        select(&["a.example", "127.0.0.1", "A.example", ""][..])
            .prop_map(|host| json!({ "test": "host_is", "host": host })),
        text().prop_map(|pattern| json!({ "test": "glob", "pattern": pattern })),
    ];
    (select(POINTERS), test).prop_map(|(pointer, test)| json!({ "pointer": pointer, "test": test }))
}

fn arguments() -> impl Strategy<Value = String> {
    let quoted = || text().prop_map(|text| Value::from(text).to_string());
    let known = json::object(vec![
        ("path", quoted().boxed()),
        ("a", prop_oneof![quoted(), json::value()].boxed()),
        ("Path", quoted().boxed()),
    ]);
    // Objects with a key twice are refused by the reader and are no case.
    prop_oneof![3 => known, 1 => json::value()]
}

fn conditions(all: &[Value]) -> Vec<Condition> {
    all.iter().map(|one| serde_json::from_value(one.clone()).unwrap()).collect()
}

/// As a disk without links has it.
fn resolve(path: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.strip_prefix('/')?.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    Some(format!("/{}", parts.join("/")))
}

/// What a JSON Pointer (RFC 6901) leads to.
fn at<'a>(arguments: &'a Json, pointer: &str) -> Option<&'a Json> {
    if pointer.is_empty() {
        return Some(arguments);
    }
    let segments = pointer.strip_prefix('/')?.split('/');
    segments.map(|segment| segment.replace("~1", "/").replace("~0", "~")).try_fold(arguments, |here, name| {
        match here {
            Json::Array(items) => items.get(name.parse::<usize>().ok()?),
            _ => here.get(&name),
        }
    })
}

/// What a plain reader makes of a condition that holds.
fn is_true(condition: &Value, arguments: &Json) -> bool {
    let member = |name: &str| condition["test"][name].as_str().unwrap_or_default();
    let Some(value) = at(arguments, condition["pointer"].as_str().unwrap()) else { return false };
    let is = |wanted: &Value| {
        read(wanted.as_str().unwrap()).is_ok_and(|wanted| wanted.canonical() == value.canonical())
    };
    let text = value.as_str();
    match member("test") {
        "equals" => is(&condition["test"]["value"]),
        "one_of" => condition["test"]["values"].as_array().unwrap().iter().any(is),
        "starts_with" => text.is_some_and(|text| text.starts_with(member("text"))),
        "inside" => {
            let folder = member("folder").trim_end_matches('/');
            let resolved = text.and_then(resolve);
            resolved.is_some_and(|at| {
                at.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            })
        }
        "host_is" => {
            // Without a port in the condition, only the usual one of a network scheme.
            text.and_then(|text| Url::parse(text).ok()).is_some_and(|url| {
                matches!(url.scheme(), "http" | "https" | "ws" | "wss" | "ftp")
                    && url.port().is_none()
                    && url.host_str() == Some(&*member("host").to_lowercase())
            })
        }
        "glob" => text.is_some(),
        other => panic!("{other}"),
    }
}

#[test]
fn fuzz_conditions() {
    let cases = (prop::collection::vec(condition(), 1..3), condition(), arguments());
    fuzz("conditions", &cases, |(all, further, arguments)| {
        let Ok(arguments) = read(&arguments) else { return Ok(()) };
        let held = Conditions::new(&conditions(&all)).evaluate(&arguments, &resolve);
        if held == ConditionOutcome::Yes {
            for one in &all {
                prop_assert!(is_true(one, &arguments), "{} does not hold", one);
            }
        }
        let mut more = all;
        more.push(further);
        let narrowed = Conditions::new(&conditions(&more)).evaluate(&arguments, &resolve);
        prop_assert!(
            narrowed != ConditionOutcome::Yes || held == ConditionOutcome::Yes,
            "a further condition made a yes"
        );
        prop_assert!(
            held != ConditionOutcome::No || narrowed == ConditionOutcome::No,
            "a further condition hid a no"
        );
        let unresolved = Conditions::new(&conditions(&more)).evaluate(&arguments, &|_| None);
        prop_assert!(
            unresolved != ConditionOutcome::Yes || narrowed == ConditionOutcome::Yes,
            "a path that leads nowhere made a yes"
        );
        Ok(())
    })
    .unwrap();
}
