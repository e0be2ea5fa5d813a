//! The arguments of a proposed command as fields that the user sees. Nothing of them is left out.

use std::collections::BTreeMap;

use gatehouse_model::ServerConfig;
use gatehouse_model::command::FieldSecret;
use gatehouse_model::grant::{FieldChange, FieldConcern};
use gatehouse_model::secret::REDACTED;
use gatehouse_store::{diff_settings, list_settings, shown_value};
use serde::Serialize;
use serde_json::{Map, Value};

/// The JSON Pointer of a member in the field `prefix`, which is a pointer itself.
fn pointer(prefix: &str, member: &str) -> String {
    format!("{prefix}/{}", member.replace('~', "~0").replace('/', "~1"))
}

/// The pointer of what a server's settings are shown under, where there are those of several servers.
pub(super) fn of_server(name: &str) -> String {
    pointer("", name)
}

/// A field with its values before and after.
pub(super) fn changed(
    pointer: impl Into<String>,
    before: Option<Value>,
    after: Option<Value>,
) -> FieldChange {
    let text = |value: Value| value.to_string();
    FieldChange {
        pointer: pointer.into(),
        concern: FieldConcern::Shape,
        before: before.map(text),
        after: after.map(text),
    }
}

/// A field that is set.
pub(super) fn set(pointer: impl Into<String>, value: impl Into<Value>) -> FieldChange {
    changed(pointer, None, Some(value.into()))
}

/// The members of a value that differ, each whole. They hold no secrets.
pub(super) fn diff(before: Option<&impl Serialize>, after: &impl Serialize) -> Vec<FieldChange> {
    let members = |value: Option<Value>| match value {
        Some(Value::Object(members)) => members,
        Some(_) | None => Map::new(),
    };
    let before = members(before.and_then(|before| serde_json::to_value(before).ok()));
    let after = members(serde_json::to_value(after).ok());
    let names: BTreeMap<&String, ()> = before.keys().chain(after.keys()).map(|name| (name, ())).collect();
    let differs = |name: &&&String| before.get(**name) != after.get(**name);
    let present = |value: Option<&Value>| value.filter(|value| !value.is_null()).cloned();
    names
        .keys()
        .filter(differs)
        .map(|name| changed(pointer("", name), present(before.get(*name)), present(after.get(*name))))
        .filter(|change| change.before.is_some() || change.after.is_some())
        .collect()
}

/// The settings that a server gets: all of a new one, and those that differ of another.
pub(super) fn settings(before: Option<&ServerConfig>, after: &ServerConfig) -> Vec<FieldChange> {
    match before {
        Some(before) => diff_settings(before, after),
        None => list_settings(after),
    }
}

/// Secrets that go with a server's settings. The program that proposes them chooses their names too, so what the server
/// could execute is shown, as it is in its settings.
pub(super) fn secrets(given: &[FieldSecret]) -> Vec<FieldChange> {
    let shown = |secret: &FieldSecret| {
        let own = format!("/{}", secret.field);
        let value = Value::from(secret.value.reveal());
        let is_for_program = secret.field.starts_with("env/");
        let value = if is_for_program { shown_value(&own, &value) } else { Value::from(REDACTED) };
        let (place, name) = secret.field.split_once('/').unwrap_or(("", &secret.field));
        set(pointer(&pointer("/secrets", place), name), value)
    };
    given.iter().map(shown).collect()
}

/// Fields under the name of the server that they are about.
pub(super) fn under(server: &str, changes: Vec<FieldChange>) -> Vec<FieldChange> {
    let prefix = of_server(server);
    changes
        .into_iter()
        .map(|change| FieldChange { pointer: format!("{prefix}{}", change.pointer), ..change })
        .collect()
}
