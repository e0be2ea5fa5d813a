//! Fuzz target `arguments`: the strict reader takes what another reader of JSON takes, but for what readers
//! disagree about, and reads the same from it; the raw reader agrees with it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use gatehouse_fuzz::{fuzz, json, mutated};
use gatehouse_mcp_wire::json::{Json, JsonDefect, read};
use gatehouse_mcp_wire::raw::{Members, WrittenMembers};
use proptest::prelude::*;
use serde_json::value::RawValue;

/// What `serde_json` reads, repeated keys included.
fn other_reading(text: &str) -> Option<Json> {
    let raw: &RawValue = serde_json::from_str(text).ok()?;
    let text = raw.get();
    Some(match text.as_bytes()[0] {
        b'{' => {
            let WrittenMembers(members) = serde_json::from_str(text).ok()?;
            let each =
                members.into_iter().map(|(name, value)| Some((name.into(), other_reading(value.get())?)));
            Json::Object(each.collect::<Option<_>>()?)
        }
        b'[' => {
            let items: Vec<&RawValue> = serde_json::from_str(text).ok()?;
            Json::Array(items.into_iter().map(|item| other_reading(item.get())).collect::<Option<_>>()?)
        }
        b'"' => Json::String(serde_json::from_str::<String>(text).ok()?.into()),
        b't' => Json::Bool(true),
        b'f' => Json::Bool(false),
        b'n' => Json::Null,
        _ => Json::Number(text.into()),
    })
}

fn repeats_a_key(json: &Json) -> bool {
    match json {
        Json::Object(members) => members.iter().enumerate().any(|(at, (name, value))| {
            members[..at].iter().any(|(other, _)| other == name) || repeats_a_key(value)
        }),
        Json::Array(items) => items.iter().any(repeats_a_key),
        _ => false,
    }
}

/// The raw reader refuses what has a key twice at its own level, and no more.
fn is_strict_at_its_level(text: &str) -> Result<(), TestCaseError> {
    let written = serde_json::from_str::<WrittenMembers<'_>>(text);
    let repeated = written.as_ref().is_ok_and(|WrittenMembers(all)| {
        all.iter().enumerate().any(|(at, (name, _))| all[..at].iter().any(|(other, _)| other == name))
    });
    prop_assert_eq!(Members::read(text).is_ok(), written.is_ok() && !repeated);
    Ok(())
}

#[test]
fn fuzz_arguments() {
    fuzz("arguments", &mutated(json::value(), json::TOKENS), |text| {
        is_strict_at_its_level(&text)?;
        let other = other_reading(&text);
        let found = match read(&text) {
            Ok(found) => found,
            Err(JsonDefect::DuplicateKey { .. }) => {
                // What comes after the second key may not be JSON at all.
                prop_assert!(other.is_none_or(|other| repeats_a_key(&other)), "no key is there twice");
                return Ok(());
            }
            Err(defect) => {
                prop_assert!(other.is_none(), "{defect}: another reader takes it");
                return Ok(());
            }
        };
        prop_assert!(!repeats_a_key(&found));
        prop_assert_eq!(Some(&found), other.as_ref(), "readers disagree");
        for written in [found.compact(), found.canonical()] {
            let again = read(&written);
            prop_assert_eq!(again.as_ref().map(Json::canonical), Ok(found.canonical()), "{}", written);
        }
        prop_assert_eq!(read(&found.compact()), Ok(found.clone()));
        let members = Members::read(&text);
        let Json::Object(wanted) = &found else {
            prop_assert!(members.is_err());
            return Ok(());
        };
        let members = members.map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(members.names().count(), wanted.len());
        for ((name, raw), (wanted_name, value)) in members.iter().zip(wanted) {
            prop_assert_eq!(name, &**wanted_name);
            prop_assert_eq!(read(raw.get()), Ok(value.clone()));
            prop_assert_eq!(found.get(name), Some(value));
        }
        Ok(())
    })
    .unwrap();
}
