//! Single settings of a server that are given new values, by their places in its entry.

use gatehouse_mcp_wire::json::{self, push_segment, unescape_segment};
use gatehouse_model::ServerConfig;
use gatehouse_model::server_problem::SettingChange;
use serde_json::{Map, Value};

use super::entry::defect_problem;
use super::kept_values::settings_text;
use super::problem::{ConfigProblem, MAX_PROBLEMS, ProblemKind, Wanted};
use super::redacted::has_redacted;

/// Most segments of a pointer. No setting is deeper within an entry, and a longer pointer would nest objects without end.
const MAX_SEGMENTS: usize = 8;

/// The text of [`settings_text`] with changes applied, for `EntryText` to read. Whether its secrets stay is up to
/// [`fill_kept_values`](super::fill_kept_values), as after an edit of that text.
///
/// # Errors
/// A problem for each change that can't be applied, as far as they are collected.
pub fn changed_settings_text(
    before: Option<&ServerConfig>,
    changes: &[SettingChange],
) -> Result<String, Vec<ConfigProblem>> {
    let unreadable = |_| vec![ConfigProblem::at("", ProblemKind::Unreadable)];
    let (mut name, mut entry) = match before {
        Some(server) => {
            let text = settings_text(server).map_err(unreadable)?;
            let servers: Map<String, Value> = serde_json::from_str(&text).map_err(unreadable)?;
            match servers.into_iter().next() {
                Some((name, Value::Object(entry))) => (name, entry),
                Some(_) | None => (String::new(), Map::new()),
            }
        }
        None => (String::new(), Map::new()),
    };
    let apply = |change: &SettingChange| apply(change, &mut name, &mut entry).err();
    let problems: Vec<ConfigProblem> = changes.iter().filter_map(apply).take(MAX_PROBLEMS).collect();
    if !problems.is_empty() {
        return Err(problems);
    }
    Ok(Value::Object(Map::from_iter([(name, Value::Object(entry))])).to_string())
}

fn apply(
    change: &SettingChange,
    name: &mut String,
    entry: &mut Map<String, Value>,
) -> Result<(), ConfigProblem> {
    let value = change.value.as_deref().map(|text| read_value(&change.pointer, text)).transpose()?;
    match (change.pointer.as_str(), value) {
        ("/name", Some(Value::String(new))) => {
            *name = new;
            Ok(())
        }
        ("/name", _) => Err(ConfigProblem::at("/name", ProblemKind::Wanted(Wanted::Text))),
        (pointer, value) => put(entry, pointer, value),
    }
}

fn read_value(pointer: &str, text: &str) -> Result<Value, ConfigProblem> {
    let at_pointer = |kind| ConfigProblem::at(pointer, kind);
    // A person who reads the text might see another value than the one that is used.
    json::read(text).map_err(|defect| at_pointer(defect_problem(defect).kind))?;
    let value = serde_json::from_str(text).map_err(|_| at_pointer(ProblemKind::Unreadable))?;
    if has_redacted(&value, &mut String::new()) {
        return Err(at_pointer(ProblemKind::NothingKept));
    }
    Ok(value)
}

/// Sets or removes one member. Objects on the way to it are made where they are absent.
fn put(entry: &mut Map<String, Value>, pointer: &str, value: Option<Value>) -> Result<(), ConfigProblem> {
    let unknown = || {
        let name = pointer.trim_start_matches('/').to_owned();
        ConfigProblem::at_key(pointer, ProblemKind::UnknownField { name, meant: None })
    };
    let path = pointer.strip_prefix('/').ok_or_else(unknown)?;
    let segments: Option<Vec<String>> =
        path.split('/').take(MAX_SEGMENTS + 1).map(unescape_segment).collect();
    let mut segments = segments.filter(|segments| segments.len() <= MAX_SEGMENTS).ok_or_else(unknown)?;
    let name = segments.pop().ok_or_else(unknown)?;
    // Gatehouse's own member is no setting.
    if segments.first().unwrap_or(&name) == "gatehouse" {
        return Err(unknown());
    }
    let mut object = entry;
    let mut place = String::new();
    for segment in segments {
        push_segment(&mut place, &segment);
        if value.is_none() && !object.contains_key(&segment) {
            return Ok(());
        }
        let member = object.entry(segment).or_insert_with(|| Value::Object(Map::new()));
        let Value::Object(members) = member else {
            return Err(ConfigProblem::at(place, ProblemKind::Wanted(Wanted::Object)));
        };
        object = members;
    }
    match value {
        Some(value) => drop(object.insert(name, value)),
        None => drop(object.remove(&name)),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use gatehouse_model::Transport;
    use gatehouse_model::server::StdioStreams;
    use serde_json::json;

    use super::*;

    fn server() -> ServerConfig {
        let env = BTreeMap::from(
            [("A", "1"), ("B", "2"), ("API_KEY", "swordfish")]
                .map(|(name, value)| (name.to_owned(), value.to_owned())),
        );
        let transport = Transport::Stdio {
            command: "x".into(),
            args: vec!["y".into()],
            env,
            cwd: None,
            streams: StdioStreams::default(),
        };
        ServerConfig::new("srv-1", "a", transport)
    }

    fn changed(changes: &[(&str, Option<&str>)]) -> Result<Value, Vec<(String, ProblemKind)>> {
        let changes: Vec<SettingChange> = changes
            .iter()
            .map(|&(pointer, value)| SettingChange {
                pointer: pointer.to_owned(),
                value: value.map(str::to_owned),
            })
            .collect();
        match changed_settings_text(Some(&server()), &changes) {
            Ok(text) => Ok(serde_json::from_str(&text).unwrap()),
            Err(problems) => Err(problems
                .into_iter()
                .map(|problem| (problem.place.pointer().to_owned(), problem.kind))
                .collect()),
        }
    }

    #[test]
    fn sets_and_removes_single_settings() {
        let after = changed(&[
            ("/name", Some(r#""b""#)),
            ("/env/A~1B", Some(r#""a=b""#)),
            ("/env/B", None),
            ("/headers/X", None),
            ("/group", None),
            ("/autostart", Some("true")),
            ("/autostart", Some("false")),
            ("/limits/callSecs", Some("null")),
            ("/limits/callCapSecs", Some("60")),
        ]);
        assert_eq!(
            after.unwrap(),
            json!({ "b": {
                "command": "x", "args": ["y"], "autostart": false,
                "env": { "A": "1", "A/B": "a=b", "API_KEY": "${kept:env/API_KEY}" },
                "limits": { "callSecs": null, "callCapSecs": 60 },
            } })
        );
    }

    #[test]
    fn refuses_what_is_no_setting_or_value() {
        let unknown = |name: &str| ProblemKind::UnknownField { name: name.to_owned(), meant: None };
        let deep = "/a".repeat(100_000);
        for (pointer, value, place, kind) in [
            ("", Some("1"), "", unknown("")),
            ("env", Some("{}"), "env", unknown("env")),
            ("/env/~2", Some("1"), "/env/~2", unknown("env/~2")),
            ("/gatehouse/id", Some("1"), "/gatehouse/id", unknown("gatehouse/id")),
            ("/gatehouse", None, "/gatehouse", unknown("gatehouse")),
            (&deep, Some("1"), &deep, unknown(&deep[1..])),
            ("/command/x", Some("1"), "/command", ProblemKind::Wanted(Wanted::Object)),
            ("/args/0", Some("1"), "/args", ProblemKind::Wanted(Wanted::Object)),
            ("/name", None, "/name", ProblemKind::Wanted(Wanted::Text)),
            ("/name", Some("7"), "/name", ProblemKind::Wanted(Wanted::Text)),
            ("/env", Some(r#"{"A":"1","A":"2"}"#), "/env", ProblemKind::Twice),
            ("/env", Some("{"), "/env", ProblemKind::Unreadable),
            ("/env/A", Some("\"••••••\""), "/env/A", ProblemKind::NothingKept),
            ("/env/A", Some(r#""\u2022\u2022\u2022\u2022\u2022\u2022""#), "/env/A", ProblemKind::NothingKept),
            ("/env", Some(r#"{"••••••":"x"}"#), "/env", ProblemKind::NothingKept),
        ] {
            let problem = (place.to_owned(), kind);
            assert_eq!(changed(&[(pointer, value)]), Err(vec![problem]), "{:.40}", pointer);
        }
    }
}
