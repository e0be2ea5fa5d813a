//! Changes of single settings of a server: as `KEY=VALUE`, or as the difference between two texts of its settings.

use gatehouse_mcp_wire::json::{self, JsonDefect, push_segment};
use gatehouse_model::server_problem::SettingChange;
use gatehouse_model::{Message, message};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::cli::SetServerArgs;
use crate::error::CliError;
use crate::terminal_text;

/// What the value of a setting is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SettingKind {
    Text,
    Flag,
    Number,
    /// A time limit of calls: seconds, `none` or `default`.
    CallLimit,
}

/// The settings that can be set one by one, by their path in the entry of servers.json. `env.` and `headers.` are
/// followed by a name; `name` is the key of the entry.
const SETTINGS: [(&str, SettingKind); 20] = [
    (NAME, SettingKind::Text),
    ("command", SettingKind::Text),
    ("cwd", SettingKind::Text),
    ("url", SettingKind::Text),
    ("protocolVersion", SettingKind::Text),
    ("description", SettingKind::Text),
    ("icon", SettingKind::Text),
    ("group", SettingKind::Text),
    ("env.", SettingKind::Text),
    ("headers.", SettingKind::Text),
    ("enabled", SettingKind::Flag),
    ("autostart", SettingKind::Flag),
    ("recordBodies", SettingKind::Flag),
    ("limits.strict", SettingKind::Flag),
    ("limits.connectSecs", SettingKind::Number),
    ("limits.healthEverySecs", SettingKind::Number),
    ("limits.healthTimeoutSecs", SettingKind::Number),
    ("limits.healthFailures", SettingKind::Number),
    ("limits.callSecs", SettingKind::CallLimit),
    ("limits.callCapSecs", SettingKind::CallLimit),
];

const NAME: &str = "name";

/// The verb that takes them.
const VERB: &str = "servers set";

/// A setting with its new value.
pub(super) fn setting(pointer: &str, value: &impl Serialize) -> Result<SettingChange, CliError> {
    let value = serde_json::to_string(value).map_err(std::io::Error::from)?;
    Ok(SettingChange { pointer: pointer.to_owned(), value: Some(value) })
}

/// What a command line sets and unsets.
pub(super) fn read_changes(wanted: &SetServerArgs) -> Result<Vec<SettingChange>, CliError> {
    let set = wanted.settings.iter().map(|pair| read_pair(pair));
    let unset = wanted.unset.iter().map(|key| {
        kind_of(key).filter(|_| key != NAME).ok_or_else(|| unknown_setting(key))?;
        Ok(SettingChange { pointer: pointer(key), value: None })
    });
    set.chain(unset).collect()
}

fn read_pair(pair: &str) -> Result<SettingChange, CliError> {
    // The value is not repeated in errors: it may be a secret.
    let expected = || CliError::usage(message!("error.ctl.pairExpected", option = VERB));
    let (key, text) = pair.split_once('=').ok_or_else(expected)?;
    let kind = kind_of(key).ok_or_else(|| unknown_setting(key))?;
    let value = kind.read(text).ok_or_else(|| {
        CliError::usage(match kind {
            SettingKind::Flag => message!("error.ctl.flagExpected", setting = key),
            SettingKind::Text | SettingKind::Number => {
                message!("error.ctl.numberExpected", setting = key)
            }
            SettingKind::CallLimit => message!("error.ctl.callLimitExpected", setting = key),
        })
    })?;
    setting(&pointer(key), &value)
}

/// The pointer to a setting. What follows the first dot is one member: names of variables may contain dots.
fn pointer(key: &str) -> String {
    let mut pointer = String::new();
    key.splitn(2, '.').for_each(|segment| push_segment(&mut pointer, segment));
    pointer
}

impl SettingKind {
    fn read(self, text: &str) -> Option<Value> {
        match (self, text) {
            (Self::Text, text) => Some(Value::from(text)),
            (Self::Flag, "true" | "on") => Some(Value::Bool(true)),
            (Self::Flag, "false" | "off") => Some(Value::Bool(false)),
            (Self::Flag, _) => None,
            (Self::CallLimit, "none") => Some(Value::Null),
            (Self::CallLimit, "default") => Some(Value::from("default")),
            (Self::Number | Self::CallLimit, text) => text.parse::<u32>().ok().map(Value::from),
        }
    }
}

fn kind_of(key: &str) -> Option<SettingKind> {
    let fits = |known: &str| match known.strip_suffix('.') {
        Some(_) => key.len() > known.len() && key.starts_with(known),
        None => key == known,
    };
    SETTINGS.iter().find(|(known, _)| fits(known)).map(|(_, kind)| *kind)
}

fn unknown_setting(key: &str) -> CliError {
    let name = |(known, _): &(&str, SettingKind)| {
        if known.ends_with('.') { format!("{known}NAME") } else { (*known).to_owned() }
    };
    let others: Vec<String> = SETTINGS.iter().map(name).collect();
    CliError::usage(message!(
        "error.ctl.notASetting",
        setting = terminal_text::truncate(key, 40),
        others = others.join(", ")
    ))
}

/// The settings that differ between two texts of `servers.settingsText`, the second of which a person edited.
///
/// # Errors
/// What is wrong with the second one, as far as it has to be read for that.
pub(super) fn changes_between(before: &str, after: &str) -> Result<Vec<SettingChange>, Message> {
    let ((old_name, before), (name, after)) = (read_entry(before)?, read_entry(after)?);
    let mut changes = Vec::new();
    if name != old_name {
        let value = Some(Value::from(name).to_string());
        changes.push(SettingChange { pointer: pointer(NAME), value });
    }
    compare(&before, &after, "", &mut changes);
    Ok(changes)
}

/// The name and the settings of the one server in a text.
fn read_entry(text: &str) -> Result<(String, Map<String, Value>), Message> {
    json::read(text).map_err(|defect| describe_defect(text, defect))?;
    let servers: Map<String, Value> =
        serde_json::from_str(text).map_err(|_| message!("problem.oneServer"))?;
    let mut servers = servers.into_iter();
    match (servers.next(), servers.next()) {
        // It would be taken for the key of the entry.
        (Some((_, Value::Object(entry))), None) if entry.contains_key(NAME) => Err(message!("problem.key")),
        (Some((name, Value::Object(entry))), None) => Ok((name, entry)),
        _ => Err(message!("problem.oneServer")),
    }
}

fn describe_defect(text: &str, defect: JsonDefect) -> Message {
    match defect {
        JsonDefect::Malformed { offset } => {
            let before = text.as_bytes().get(..offset).unwrap_or(text.as_bytes());
            let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
            message!("error.ctl.notJson", line = line.to_string())
        }
        JsonDefect::DuplicateKey { pointer } => {
            let field = pointer.trim_matches('/').replace('/', ".");
            message!("problem.inField", field = field, problem = message!("problem.twice"))
        }
        JsonDefect::LoneSurrogate { .. } | JsonDefect::TooDeep => message!("problem.unreadable"),
    }
}

/// Adds the members that differ. Objects are compared member by member, everything else as a whole.
fn compare(
    before: &Map<String, Value>,
    after: &Map<String, Value>,
    pointer: &str,
    changes: &mut Vec<SettingChange>,
) {
    let added = after.keys().filter(|name| !before.contains_key(*name));
    for name in before.keys().chain(added) {
        let mut pointer = pointer.to_owned();
        push_segment(&mut pointer, name);
        match (before.get(name), after.get(name)) {
            (Some(Value::Object(before)), Some(Value::Object(after))) => {
                compare(before, after, &pointer, changes);
            }
            (before, after) if before == after => {}
            (_, after) => changes.push(SettingChange { pointer, value: after.map(Value::to_string) }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(pointer: &str, value: Option<&str>) -> SettingChange {
        SettingChange { pointer: pointer.to_owned(), value: value.map(str::to_owned) }
    }

    #[test]
    fn reads_what_is_set_and_unset() {
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        let wanted = SetServerArgs {
            server: "a".into(),
            settings: words(&["name=b", "env.A.B=a=b", "env.A/B=", "autostart=off", "limits.callSecs=none"]),
            unset: words(&["env.B", "group"]),
            secret_fd: None,
        };
        assert_eq!(
            read_changes(&wanted).unwrap(),
            [
                change("/name", Some("\"b\"")),
                change("/env/A.B", Some("\"a=b\"")),
                change("/env/A~1B", Some("\"\"")),
                change("/autostart", Some("false")),
                change("/limits/callSecs", Some("null")),
                change("/env/B", None),
                change("/group", None),
            ]
        );
    }

    #[test]
    fn refuses_other_settings_and_values() {
        for pair in [
            "args=x",
            "gatehouse=x",
            "env.=x",
            "env=x",
            "limits=1",
            "enabled=yes",
            "limits.callSecs=soon",
            "limits.connectSecs=-1",
            "limits.connectSecs=none",
            "autostart",
        ] {
            assert!(read_pair(pair).is_err(), "{pair}");
        }
    }

    #[test]
    fn finds_what_a_person_edited() {
        let before =
            r#"{ "a": { "command": "x", "args": ["1", "2"], "env": { "A": "${kept:env/A}", "B": "2" } } }"#;
        let edited = r#"{ "b": {
            "command": "x", "args": ["1"], "env": { "A": "${kept:env/A}", "C/D": "3" }, "limits": { "strict": true }
        } }"#;
        assert_eq!(
            changes_between(before, edited).unwrap(),
            [
                change("/name", Some("\"b\"")),
                change("/args", Some("[\"1\"]")),
                change("/env/B", None),
                change("/env/C~1D", Some("\"3\"")),
                change("/limits", Some(r#"{"strict":true}"#)),
            ]
        );
        assert_eq!(changes_between(before, before).unwrap(), []);
    }

    #[test]
    fn says_what_is_wrong_with_an_edited_text() {
        let before = r#"{ "a": { "command": "x" } }"#;
        for (edited, key) in [
            ("{ \"a\": {\n\n oops } }", "error.ctl.notJson"),
            ("", "error.ctl.notJson"),
            (r#"{ "a": { "command": "x", "command": "y" } }"#, "problem.inField"),
            (r#"{ "a": { "command": "\ud800" } }"#, "problem.unreadable"),
            (r#"{ "a": { "command": "x" }, "b": { "command": "y" } }"#, "problem.oneServer"),
            (r#"{ "a": 7 }"#, "problem.oneServer"),
            ("[]", "problem.oneServer"),
            (r#"{ "a": { "command": "x", "name": "b" } }"#, "problem.key"),
        ] {
            let problem = changes_between(before, edited).unwrap_err();
            assert_eq!(problem.key, key, "{edited}");
        }
        let problem = changes_between(before, "{ \"a\": {\n\n oops } }").unwrap_err();
        assert!(terminal_text::message(&problem).contains("line 3"), "{problem:?}");
    }
}
