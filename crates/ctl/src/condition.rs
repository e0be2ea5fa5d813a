//! Syntax of conditions on arguments on the command line (PERM-5): `path inside /home/me/notes`. Whether
//! a condition makes sense is checked by the core.

use std::path::Path;

use gatehouse_model::grant::{Condition, ConditionTest};
use serde_json::Value;

/// Printed by `--help` of the commands that take conditions.
pub(crate) const HELP: &str = "\
Conditions (--when, may be given several times; all of them have to hold):
  --when 'ARGUMENT is VALUE'              the same value: text, a number, or any JSON
  --when 'ARGUMENT one-of VALUE,VALUE'    one of several; a JSON array where a value has a comma
  --when 'ARGUMENT starts-with TEXT'      text that starts so
  --when 'ARGUMENT inside FOLDER'         a path in this folder, links and `..` followed
  --when 'ARGUMENT host HOST[:PORT]'      an address at this host; the usual port where none is named
  --when 'ARGUMENT like PATTERN'          text that matches a glob; `*` stops at `/`
ARGUMENT is a name, or a JSON Pointer (/options/path) to what lies deeper.";

/// Parses a condition.
///
/// # Errors
/// A message with the expected syntax.
pub(crate) fn read(text: &str) -> Result<Condition, String> {
    let mut words = text.trim().splitn(3, char::is_whitespace);
    let (Some(argument), Some(test), Some(value)) = (words.next(), words.next(), words.next()) else {
        return Err("a condition is written ARGUMENT TEST VALUE, as in “path inside /home/me/notes”".into());
    };
    let value = value.trim();
    let pointer = if argument.starts_with('/') {
        argument.to_owned()
    } else {
        format!("/{}", argument.replace('~', "~0"))
    };
    let test = match test {
        "is" => ConditionTest::Equals { value: json(value) },
        "one-of" => ConditionTest::OneOf { values: parse_list(value) },
        "starts-with" => ConditionTest::StartsWith { text: value.to_owned() },
        "inside" => ConditionTest::Inside { folder: folder(value)? },
        "host" => host(value)?,
        "like" => ConditionTest::Glob { pattern: value.to_owned() },
        other => {
            return Err(format!(
                "there is no test “{other}”: write is, one-of, starts-with, inside, host or like"
            ));
        }
    };
    Ok(Condition { pointer, test })
}

/// JSON as given; any other text as a JSON string.
fn json(value: &str) -> String {
    match serde_json::from_str::<Value>(value) {
        Ok(_) => value.to_owned(),
        Err(_) => Value::from(value).to_string(),
    }
}

fn parse_list(value: &str) -> Vec<String> {
    match serde_json::from_str::<Vec<Box<serde_json::value::RawValue>>>(value) {
        Ok(values) => values.into_iter().map(|value| value.get().to_owned()).collect(),
        Err(_) => value.split(',').map(|value| json(value.trim())).collect(),
    }
}

/// The real path of the folder if it exists: a path reached through a symbolic link never matches
/// `inside`.
fn folder(value: &str) -> Result<String, String> {
    if !Path::new(value).is_absolute() {
        return Err(format!("“{value}” is no absolute path of a folder"));
    }
    let real = Path::new(value).canonicalize().unwrap_or_else(|_| value.into());
    real.to_str().map(str::to_owned).ok_or_else(|| format!("“{value}” is no text"))
}

fn host(value: &str) -> Result<ConditionTest, String> {
    if value.contains("://") || value.contains('/') {
        return Err(format!("“{value}” is an address: write only its host, with `:PORT` where it names one"));
    }
    let (host, port) = match value.rsplit_once(':') {
        Some((host, port)) if !value.ends_with(']') => (host, Some(port)),
        _ => (value, None),
    };
    let port = port.map(|port| port.parse().map_err(|_| format!("“{port}” is no port"))).transpose()?;
    Ok(ConditionTest::HostIs { host: host.to_owned(), port })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> String {
        text.to_owned()
    }

    #[test]
    fn parses_each_kind_of_condition() {
        for (words, pointer, test) in [
            ("branch is main", "/branch", ConditionTest::Equals { value: text("\"main\"") }),
            ("n is 1.50", "/n", ConditionTest::Equals { value: text("1.50") }),
            ("a~b is true", "/a~0b", ConditionTest::Equals { value: text("true") }),
            ("text is one two  three", "/text", ConditionTest::Equals { value: text("\"one two  three\"") }),
            (
                "/options/branch one-of main, dev,3",
                "/options/branch",
                ConditionTest::OneOf { values: vec![text("\"main\""), text("\"dev\""), text("3")] },
            ),
            (
                r#"text one-of ["a,b", 1.0]"#,
                "/text",
                ConditionTest::OneOf { values: vec![text("\"a,b\""), text("1.0")] },
            ),
            ("repo starts-with owner/", "/repo", ConditionTest::StartsWith { text: text("owner/") }),
            (
                "path inside /no/such/folder",
                "/path",
                ConditionTest::Inside { folder: text("/no/such/folder") },
            ),
            (
                "url host good.example",
                "/url",
                ConditionTest::HostIs { host: text("good.example"), port: None },
            ),
            (
                "url host good.example:8443",
                "/url",
                ConditionTest::HostIs { host: text("good.example"), port: Some(8443) },
            ),
            ("url host [::1]", "/url", ConditionTest::HostIs { host: text("[::1]"), port: None }),
            ("url host [::1]:9", "/url", ConditionTest::HostIs { host: text("[::1]"), port: Some(9) }),
            ("file like src/*.rs", "/file", ConditionTest::Glob { pattern: text("src/*.rs") }),
        ] {
            assert_eq!(read(words), Ok(Condition { pointer: text(pointer), test }), "{words}");
        }
    }

    #[test]
    fn rejects_malformed_conditions() {
        for (words, said) in [
            ("path", "ARGUMENT TEST VALUE"),
            ("path inside", "ARGUMENT TEST VALUE"),
            ("path under /a", "no test “under”"),
            ("path inside notes", "no absolute path"),
            ("url host https://good.example", "only its host"),
            ("url host good.example:99999", "no port"),
        ] {
            let error = read(words).unwrap_err();
            assert!(error.contains(said), "{words}: {error}");
        }
    }
}
