//! Compares the catalogs with the sources of the workspace: each `message!` has a template in every language, with
//! the places that it fills. The tests of the UI find templates that nothing uses (`ui/src/messages/usage.test.ts`).

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::Language;
use crate::message_format::argument_names;

/// How a message begins in the sources.
const CALL: &str = "message!(";

#[test]
fn every_catalog_has_each_message_of_the_sources_with_its_places() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    for folder in ["crates", "src-tauri/src"] {
        add_sources(&root.join(folder), &mut files);
    }
    let mut count = 0;
    for file in files {
        for (key, places) in messages_in(&fs::read_to_string(&file).unwrap()) {
            count += 1;
            for language in Language::ALL {
                let template = language.catalog().get(&key);
                let names = template.and_then(|template| argument_names(template));
                assert_eq!(names.as_ref(), Some(&places), "{key} in {language:?}, {}", file.display());
            }
        }
    }
    assert!(count > 0, "no message was found");
}

#[test]
fn finds_messages_in_a_source() {
    let source = r#"
        let a = message!("one.key");
        message!(
            "two.key",
            name = one_line(name, "a, b = \" )", 3),
            inner = message!("three.key", count = 2_u32),
        )
    "#;
    let found = messages_in(source);
    let wanted = [("one.key", vec![]), ("two.key", vec!["name", "inner"]), ("three.key", vec!["count"])];
    let wanted: Vec<(String, BTreeSet<String>)> = wanted
        .into_iter()
        .map(|(key, places)| (key.to_owned(), places.into_iter().map(str::to_owned).collect()))
        .collect();
    assert_eq!(found, wanted);
}

/// Adds all Rust files below a folder, except this one, which has calls in a text.
fn add_sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            add_sources(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs")
            && !path.ends_with("messages/usage.rs")
        {
            files.push(path);
        }
    }
}

/// The keys of all messages with the places that are filled.
fn messages_in(source: &str) -> Vec<(String, BTreeSet<String>)> {
    source
        .match_indices(CALL)
        .filter_map(|(at, _)| {
            let call = source[at + CALL.len()..].trim_start();
            let (key, rest) = call.strip_prefix('"')?.split_once('"')?;
            Some((key.to_owned(), places_in(rest)))
        })
        .collect()
}

/// The names before `=` up to the parenthesis that closes the call.
fn places_in(arguments: &str) -> BTreeSet<String> {
    let mut places = BTreeSet::new();
    let mut depth = 0_u32;
    let mut in_text = false;
    let mut is_escaped = false;
    for (at, c) in arguments.char_indices() {
        if in_text {
            in_text = c != '"' || is_escaped;
            is_escaped = c == '\\' && !is_escaped;
            continue;
        }
        match c {
            '"' => in_text = true,
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' if depth > 0 => depth -= 1,
            ')' => break,
            ',' if depth == 0 => {
                let rest = arguments[at + 1..].trim_start();
                let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
                if end > 0 {
                    places.insert(rest[..end].to_owned());
                }
            }
            _ => {}
        }
    }
    places
}
