//! Conditions that an approval request proposes, made from the arguments of the call (PERM-5). Each of them
//! holds for this call. Pure: resolved paths are passed in.

use std::collections::BTreeMap;
use std::path::Path;

use gatehouse_mcp_wire::json::Json;
use gatehouse_model::approval::ShownArgument;
use gatehouse_model::grant::{Condition, ConditionTest};
use gatehouse_policy::conditions::{ConditionOutcome, Conditions, path_readings};
use gatehouse_policy::display::{has_hidden, render_arguments};
use url::Url;

use crate::paths::is_local;
use crate::paths::path_lookup::KnownPaths;

/// Most arguments that conditions are proposed for.
const MAX_ARGUMENTS: usize = 8;
/// Most arguments that are tried. Each condition is compared with the names of all arguments, of which a call
/// can have a million.
const TRIED: usize = 64;
/// Longest value or name of a condition, in bytes; a user wouldn't read longer ones.
const MAX_VALUE_LEN: usize = 200;
/// Most values of a proposed "one of" condition.
const MAX_VALUES: usize = 20;

/// Values that rules in force require, by the pointer of the argument; as JSON texts.
pub(crate) type EarlierValues = BTreeMap<String, Vec<String>>;

/// The paths that [`proposals`] needs: of as many arguments as conditions are proposed for.
pub(crate) fn paths(arguments: &Json) -> Vec<String> {
    let is_path = |value: &Json| value.as_str().is_some_and(|text| is_local(text) && !has_hidden(text));
    // Checked first, since most arguments contain no path and finding the masked ones is slow for large
    // arguments.
    let Json::Object(members) = arguments else { return Vec::new() };
    if !members.iter().any(|(_, value)| is_path(value)) {
        return Vec::new();
    }
    let open = unmasked_members(arguments).into_iter().map(|(_, value)| value);
    open.filter(|value| is_path(value))
        .take(MAX_ARGUMENTS)
        .filter_map(Json::as_str)
        .flat_map(path_readings)
        .collect()
}

/// The proposed conditions, argument by argument; for each argument the most specific first.
pub(crate) fn proposals(arguments: &Json, earlier: &EarlierValues, paths: &KnownPaths) -> Vec<Condition> {
    let of_argument = |(name, value): (&str, &Json)| -> Vec<Condition> {
        let pointer = format!("/{}", name.replace('~', "~0").replace('/', "~1"));
        let known = earlier.get(&pointer).map(Vec::as_slice).unwrap_or_default();
        candidate_tests(value, known, paths)
            .into_iter()
            .map(|test| Condition { pointer: pointer.clone(), test })
            .filter(|condition| holds(condition, arguments, paths))
            .collect()
    };
    let tests = unmasked_members(arguments).into_iter().map(of_argument);
    tests.filter(|tests| !tests.is_empty()).take(MAX_ARGUMENTS).flatten().collect()
}

/// The arguments that are shown unmasked, with their names.
fn unmasked_members(arguments: &Json) -> Vec<(&str, &Json)> {
    let Json::Object(members) = arguments else { return Vec::new() };
    // `render_arguments` keeps the order of the members.
    let shown = members.iter().zip(render_arguments(arguments));
    let is_open = |member: &(&(Box<str>, Json), ShownArgument)| {
        let ((name, _), shown) = member;
        !shown.masked && name.len() <= MAX_VALUE_LEN
    };
    shown.filter(is_open).map(|((name, value), _)| (&**name, value)).take(TRIED).collect()
}

fn holds(condition: &Condition, arguments: &Json, paths: &KnownPaths) -> bool {
    let conditions = Conditions::new(std::slice::from_ref(condition));
    conditions.evaluate(arguments, &|path: &str| paths.resolve(path)) == ConditionOutcome::Yes
}

fn candidate_tests(value: &Json, earlier: &[String], paths: &KnownPaths) -> Vec<ConditionTest> {
    let mut tests = Vec::new();
    match value {
        Json::String(text) if has_hidden(text) => return tests,
        Json::String(text) => {
            tests.extend(folder_of(text, paths).map(|folder| ConditionTest::Inside { folder }));
            tests.extend(host_of(text));
            tests.extend(start_of(text).map(|text| ConditionTest::StartsWith { text }));
            tests.extend(pattern_of(text).map(|pattern| ConditionTest::Glob { pattern }));
        }
        Json::Number(_) | Json::Bool(_) => {}
        Json::Null | Json::Array(_) | Json::Object(_) => return tests,
    }
    let value = value.canonical();
    if value.len() <= MAX_VALUE_LEN {
        tests.extend(one_of(&value, earlier));
        tests.push(ConditionTest::Equals { value });
    }
    tests
}

/// This value together with those that were allowed before.
fn one_of(value: &str, earlier: &[String]) -> Option<ConditionTest> {
    let mut values: Vec<String> = Vec::new();
    for value in earlier.iter().map(String::as_str).chain([value]) {
        if !values.iter().any(|known| known == value) {
            values.push(value.to_owned());
        }
    }
    (values.len() > 1 && values.len() <= MAX_VALUES).then_some(ConditionTest::OneOf { values })
}

/// The folder for "only in this folder".
fn folder_of(text: &str, paths: &KnownPaths) -> Option<String> {
    let real = paths.get(text)?;
    let path = Path::new(&real.path);
    let folder = if real.is_folder { path } else { path.parent()? };
    // The root folder doesn't narrow anything.
    folder.parent()?;
    folder.to_str().map(ToOwned::to_owned)
}

/// The host, with its port unless it is the default port.
fn host_of(text: &str) -> Option<ConditionTest> {
    let url = Url::parse(text).ok()?;
    let host = url.host_str().filter(|host| !host.is_empty())?.to_owned();
    Some(ConditionTest::HostIs { host, port: url.port() })
}

/// A text up to its last slash: the folder of a relative path or a URL, the owner of `owner/name`.
fn start_of(text: &str) -> Option<String> {
    let start = &text[..folder_end(text)?];
    let authority_alone = start.ends_with("://");
    (start.len() > 1 && !authority_alone && start.len() <= MAX_VALUE_LEN).then(|| start.to_owned())
}

/// Files of one type in one folder.
fn pattern_of(text: &str) -> Option<String> {
    let (folder, name) = text.split_at(folder_end(text).unwrap_or(0));
    let (stem, kind) = name.rsplit_once('.')?;
    let is_kind = (1..=10).contains(&kind.len()) && kind.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let is_plain =
        |c: char| !c.is_whitespace() && !matches!(c, '*' | '?' | '[' | ']' | '{' | '}' | '\\' | '!');
    let is_pattern = !stem.is_empty() && is_kind && !text.contains("://") && text.chars().all(is_plain);
    (is_pattern && text.len() <= MAX_VALUE_LEN).then(|| format!("{folder}*.{kind}"))
}

/// Where the last component begins, in a text with components.
fn folder_end(text: &str) -> Option<usize> {
    let steps = &text[..text.find(['?', '#']).unwrap_or(text.len())];
    if steps.contains(char::is_whitespace) { None } else { steps.rfind('/').map(|at| at + 1) }
}

#[cfg(test)]
mod tests {
    use gatehouse_mcp_wire::json::read;

    use super::*;

    fn words(test: &ConditionTest) -> String {
        match test {
            ConditionTest::Equals { value } => format!("is {value}"),
            ConditionTest::OneOf { values } => format!("one of {}", values.join(" ")),
            ConditionTest::StartsWith { text } => format!("starts {text}"),
            ConditionTest::Inside { folder } => format!("inside {folder}"),
            ConditionTest::HostIs { host, port: None } => format!("host {host}"),
            ConditionTest::HostIs { host, port: Some(port) } => format!("host {host} at {port}"),
            ConditionTest::Glob { pattern } => format!("like {pattern}"),
        }
    }

    fn proposed(arguments: &str, earlier: &EarlierValues) -> Vec<String> {
        let arguments = read(arguments).unwrap();
        let all = proposals(&arguments, earlier, &KnownPaths::on_this_disk(paths(&arguments)));
        all.iter().map(|condition| format!("{} {}", condition.pointer, words(&condition.test))).collect()
    }

    #[test]
    fn proposes_conditions_per_argument_kind() {
        for (arguments, expected) in [
            (r#"{"n":3}"#, vec!["/n is 3"]),
            (r#"{"a/b":"v"}"#, vec![r#"/a~1b is "v""#]),
            (r#"{"deep":{},"list":[1],"none":null}"#, vec![]),
            (
                r#"{"url":"https://Example.com/a/b"}"#,
                vec![
                    "/url host example.com",
                    "/url starts https://Example.com/a/",
                    r#"/url is "https://Example.com/a/b""#,
                ],
            ),
            (
                r#"{"url":"http://127.0.0.1:3000/x?next=/y/z"}"#,
                vec![
                    "/url host 127.0.0.1 at 3000",
                    "/url starts http://127.0.0.1:3000/",
                    r#"/url is "http://127.0.0.1:3000/x?next=/y/z""#,
                ],
            ),
            // A share, and a URL with user info: no condition on their host would hold.
            (
                r#"{"url":"file://127.0.0.1/etc"}"#,
                vec!["/url starts file://127.0.0.1/", r#"/url is "file://127.0.0.1/etc""#],
            ),
            (r#"{"repo":"owner/name"}"#, vec!["/repo starts owner/", r#"/repo is "owner/name""#]),
            (
                r#"{"file":"src/main.rs"}"#,
                vec!["/file starts src/", "/file like src/*.rs", r#"/file is "src/main.rs""#],
            ),
            (r#"{"file":"notes.txt"}"#, vec!["/file like *.txt", r#"/file is "notes.txt""#]),
            (r#"{"command":"git status --short ./a/b"}"#, vec![r#"/command is "git status --short ./a/b""#]),
            // `..`, an invisible character, a masked value, and two members that may be confused.
            (r#"{"file":"src/../main.rs"}"#, vec![r#"/file is "src/../main.rs""#]),
            (r#"{"file":"a\u202eb"}"#, vec![]),
            (r#"{"password":"hunter2 hunter2"}"#, vec![]),
            (r#"{"path":"a","Path":"b"}"#, vec![]),
        ] {
            assert_eq!(proposed(arguments, &EarlierValues::new()), expected, "{arguments}");
        }
    }

    #[test]
    fn long_names_and_what_comes_after_many_arguments_make_no_condition() {
        let none = EarlierValues::new();
        let long = format!(r#"{{"{}":1}}"#, "n".repeat(MAX_VALUE_LEN + 1));
        assert!(proposed(&long, &none).is_empty());
        let before: Vec<String> = (0..TRIED).map(|at| format!(r#""a{at}":null"#)).collect();
        let after = |before: &[String]| proposed(&format!(r#"{{{},"z":1}}"#, before.join(",")), &none);
        assert_eq!(after(&before[1..]), ["/z is 1"]);
        assert!(after(&before).is_empty());
    }

    #[test]
    fn proposes_folder_first_for_disk_paths() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().canonicalize().unwrap().to_str().unwrap().to_owned();
        assert_eq!(
            proposed(&format!(r#"{{"path":"{folder}/new.txt"}}"#), &EarlierValues::new()),
            [
                format!("/path inside {folder}"),
                format!("/path starts {folder}/"),
                format!("/path like {folder}/*.txt"),
                format!(r#"/path is "{folder}/new.txt""#),
            ]
        );
        // "x/.." after something that doesn't exist can't be resolved.
        let doubtful = proposed(&format!(r#"{{"path":"{folder}/x/../new.txt"}}"#), &EarlierValues::new());
        assert_eq!(doubtful, [format!(r#"/path is "{folder}/x/../new.txt""#)]);
    }

    #[test]
    fn extends_earlier_values() {
        let earlier: EarlierValues =
            [("/branch".to_owned(), vec![r#""main""#.to_owned(), r#""dev""#.to_owned()])].into();
        assert_eq!(
            proposed(r#"{"branch":"next"}"#, &earlier),
            [r#"/branch one of "main" "dev" "next""#, r#"/branch is "next""#]
        );
        let many: EarlierValues = [("/n".to_owned(), (0..20).map(|n| n.to_string()).collect())].into();
        assert_eq!(proposed(r#"{"n":20}"#, &many), ["/n is 20"]);
    }
}
