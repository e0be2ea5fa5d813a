//! An edit of a server field by field, for display. Secrets are masked; everything that could be executed or
//! connected to is shown in full.

use std::collections::BTreeMap;

use gatehouse_common::secret_names::is_secret_setting;
use gatehouse_common::url_password::password_range;
use gatehouse_model::ServerConfig;
use gatehouse_model::grant::{FieldChange, FieldConcern};
use gatehouse_model::secret::REDACTED;
use serde_json::Value;

use super::entry;

/// The differences of a hand edit that need the user's confirmation: everything except description, icon, group,
/// and Gatehouse's own member.
pub(super) fn diff_fields(before: Option<&ServerConfig>, after: Option<&ServerConfig>) -> Vec<FieldChange> {
    let mut changes = match (before, after) {
        (Some(before), Some(after)) => diff_settings(before, after),
        _ => diff(&fields(before), &fields(after)),
    };
    changes.retain(|change| !APPEARANCE.contains(&&*change.pointer));
    changes
}

/// What other settings change of a server.
#[must_use]
pub fn diff_settings(before: &ServerConfig, after: &ServerConfig) -> Vec<FieldChange> {
    diff(&fields_with_defaults(before), &fields_with_defaults(after))
}

/// All settings of a new server.
#[must_use]
pub fn list_settings(server: &ServerConfig) -> Vec<FieldChange> {
    diff(&BTreeMap::new(), &fields(Some(server)))
}

/// The fields that only people see.
const APPEARANCE: [&str; 3] = ["/description", "/icon", "/group"];

fn diff(old: &BTreeMap<String, Value>, new: &BTreeMap<String, Value>) -> Vec<FieldChange> {
    let mut pointers: Vec<&String> = old.keys().chain(new.keys()).collect();
    pointers.sort_unstable();
    pointers.dedup();
    pointers
        .into_iter()
        .filter(|pointer| old.get(*pointer) != new.get(*pointer))
        .map(|pointer| {
            let text = |value: &Value| shown_value(pointer, value).to_string();
            let (before, mut after) = (old.get(pointer).map(text), new.get(pointer).map(text));
            if before.is_some() && before == after {
                after = after.map(|text| format!("{text} (another value)"));
            }
            FieldChange { pointer: pointer.clone(), concern: concern(pointer), before, after }
        })
        .collect()
}

fn concern(pointer: &str) -> FieldConcern {
    match pointer {
        "/name" => FieldConcern::Words,
        appearance if APPEARANCE.contains(&appearance) => FieldConcern::Words,
        "/enabled" | "/autostart" | "/recordBodies" => FieldConcern::Safety,
        _ => FieldConcern::Shape,
    }
}

/// All fields of a server with those that its entry leaves out because they have their default values: a person sees then
/// what changes to or from such a value, and only that.
fn fields_with_defaults(server: &ServerConfig) -> BTreeMap<String, Value> {
    let mut all = fields(Some(server));
    let ServerConfig { enabled, autostart, record_bodies, limits, .. } = server;
    for (name, is_on) in [("enabled", enabled), ("autostart", autostart), ("recordBodies", record_bodies)] {
        all.insert(format!("/{name}"), Value::from(*is_on));
    }
    if let Ok(Value::Object(limits)) = serde_json::to_value(limits) {
        all.extend(limits.into_iter().map(|(name, value)| (format!("/limits/{name}"), value)));
    }
    all
}

/// All fields of a server by JSON Pointer; environment variables, headers and limits one by one.
fn fields(server: Option<&ServerConfig>) -> BTreeMap<String, Value> {
    let mut fields = BTreeMap::new();
    let Some(server) = server else { return fields };
    fields.insert("/name".to_owned(), Value::from(server.name.as_str()));
    fields.insert("/type".to_owned(), Value::from(server.transport.kind()));
    let Ok(Value::Object(entry)) = entry::write(server) else { return fields };
    for (name, value) in entry {
        match (name.as_str(), value) {
            ("gatehouse" | "type", _) => {}
            ("env" | "headers" | "limits" | "builtin", Value::Object(members)) => {
                for (member, value) in members {
                    let member = member.replace('~', "~0").replace('/', "~1");
                    fields.insert(format!("/{name}/{member}"), value);
                }
            }
            (_, value) => {
                fields.insert(format!("/{name}"), value);
            }
        }
    }
    fields
}

/// The value of a field with each secret in it replaced by what `mask` returns for it.
pub(super) fn mask_secrets(pointer: &str, value: &Value, mask: &mut dyn FnMut(&str) -> String) -> Value {
    match (pointer, value) {
        ("/url", Value::String(url)) => Value::from(mask_url(url, mask)),
        ("/args", Value::Array(args)) => {
            let mut masked = Vec::with_capacity(args.len());
            let (mut next_is_secret, mut next_is_header) = (false, false);
            for arg in args.iter().filter_map(Value::as_str) {
                let is_flag = arg.starts_with('-');
                masked.push(match arg.split_once('=') {
                    _ if next_is_secret && !is_flag => Value::from(mask(arg)),
                    Some((name, value)) if is_flag && is_secret_setting(name) => {
                        Value::from(format!("{name}={}", mask(value)))
                    }
                    Some((name, value)) if is_flag => {
                        let is_header = HEADER_FLAGS.contains(&name);
                        Value::from(format!("{name}={}", mask_named(value, is_header, mask)))
                    }
                    _ => Value::from(mask_named(arg, next_is_header, mask)),
                });
                next_is_header = HEADER_FLAGS.contains(&arg);
                next_is_secret = is_flag && !arg.contains('=') && is_secret_setting(arg);
            }
            Value::from(masked)
        }
        (_, Value::String(text)) => {
            let is_env =
                pointer.strip_prefix("/env/").is_some_and(|name| is_secret_setting(name) && !is_path(text));
            let is_header = pointer.strip_prefix("/headers/").is_some_and(is_secret_setting);
            if (is_env || is_header) && !is_reference(text) { Value::from(mask(text)) } else { value.clone() }
        }
        _ => value.clone(),
    }
}

/// Whether a part of a field's value looks like a secret. `pointer` is that of the field in the entry, as `/env/TOKEN`.
#[must_use]
pub fn holds_secret(pointer: &str, value: &Value) -> bool {
    let mut found = false;
    let mut note = |secret: &str| {
        found |= !secret.is_empty();
        secret.to_owned()
    };
    mask_secrets(pointer, value, &mut note);
    found
}

/// The value of a field as people see it: without secrets, but with everything that could be executed.
#[must_use]
pub fn shown_value(pointer: &str, value: &Value) -> Value {
    mask_secrets(pointer, value, &mut |secret| shown_secret(pointer, secret).to_owned())
}

/// Whether the value of a variable is a path: one that names a secret is often that of a file or a socket.
fn is_path(text: &str) -> bool {
    ["/", "~/", "./", "../"].iter().any(|start| text.starts_with(start))
}

/// Whether a secret looks like a path or a command line. The server may execute it, so people see it.
fn may_be_executed(text: &str) -> bool {
    text.starts_with(['/', '~', '.', '$', '-']) || text.contains(char::is_whitespace)
}

/// What a person sees of a secret: the whole of it where it could be code that the program runs, since whoever writes the
/// entry chooses the name of the secret too.
fn shown_secret<'a>(pointer: &str, secret: &'a str) -> &'a str {
    let is_given_to_program = pointer == "/args" || pointer.starts_with("/env/");
    let may_be_command = may_be_executed(secret) || secret.contains(SHELL_CHARACTERS);
    if is_given_to_program && may_be_command { secret } else { REDACTED }
}

/// What separates, substitutes or redirects in a shell, or calls and strings together in a script.
const SHELL_CHARACTERS: [char; 14] = ['|', '&', ';', '<', '>', '$', '`', '(', ')', '{', '}', '"', '\'', '\\'];

fn is_reference(text: &str) -> bool {
    text.strip_prefix("${").is_some_and(|rest| rest.find('}') == Some(rest.len() - 1))
}

/// Whether a text has references to stored secrets or to variables, and nothing else but the scheme of an `Authorization`
/// header. Any other text beside a reference may be a part of the secret.
pub(super) fn is_only_references(text: &str) -> bool {
    let mut plain = String::new();
    let mut rest = text;
    let mut has_reference = false;
    while let Some((before, after)) = rest.split_once("${") {
        plain.push_str(before);
        let Some((inside, behind)) = after.split_once('}') else { return false };
        match inside.split_once(':') {
            Some(("env" | "secret", name)) if !name.is_empty() => has_reference = true,
            _ => return false,
        }
        rest = behind;
    }
    plain.push_str(rest);
    let plain = plain.trim().to_ascii_lowercase();
    has_reference && (plain.is_empty() || SCHEMES.contains(&plain.as_str()))
}

/// Flags that a header follows, by which programs such as curl and mcp-remote take it.
const HEADER_FLAGS: [&str; 3] = ["-H", "--header", "--headers"];
/// What stands before the secret in an `Authorization` header.
const SCHEMES: [&str; 3] = ["basic", "bearer", "token"];

/// An argument with its secret masked: that of a variable (`NAME=value`), of a header (`Name: value`), or of a URL.
fn mask_named(text: &str, is_header: bool, mask: &mut dyn FnMut(&str) -> String) -> String {
    match named_secret(text, is_header) {
        Some(at) => format!("{}{}", &text[..at], mask(&text[at..])),
        None => mask_url(text, mask),
    }
}

/// Where the value begins in `NAME=value` or `Name: value`, if the name suggests a secret. The space may be left out if the
/// text `is_header`; elsewhere, a colon without it is part of a name.
fn named_secret(text: &str, is_header: bool) -> Option<usize> {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_' | '.'))?;
    let (name, rest) = text.split_at(end);
    let value = match rest.strip_prefix('=') {
        Some(value) => value,
        None => rest.strip_prefix(':').filter(|value| is_header || value.starts_with(' '))?,
    };
    let value = value.trim_start();
    let credential = match value.split_once(' ') {
        Some((scheme, rest)) if SCHEMES.contains(&scheme.to_ascii_lowercase().as_str()) => rest.trim_start(),
        _ => value,
    };
    let is_secret = is_secret_setting(name) && !credential.is_empty() && !is_reference(credential);
    is_secret.then(|| text.len() - credential.len())
}

/// A URL with its userinfo password masked.
fn mask_url_password(url: &str, mask: &mut dyn FnMut(&str) -> String) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let authority_end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let Some(password) = password_range(&rest[..authority_end]) else { return url.to_owned() };
    let (before, after) = (&rest[..password.start], &rest[password.end..]);
    format!("{scheme}://{before}{}{after}", mask(&rest[password]))
}

/// A URL with its userinfo password masked, and the values of parameters of its query whose names suggest secrets.
fn mask_url(url: &str, mask: &mut dyn FnMut(&str) -> String) -> String {
    let url = mask_url_password(url, mask);
    let Some((_, rest)) = url.split_once("://") else { return url };
    let Some((before, query)) = rest.split_once('?') else { return url };
    let start = url.len() - rest.len() + before.len() + 1;
    let (query, fragment) = query.split_at(query.find('#').unwrap_or(query.len()));
    let masked: Vec<String> = query
        .split('&')
        .map(|parameter| match parameter.split_once('=') {
            Some((name, value)) if is_secret_setting(name) && !value.is_empty() && !is_reference(value) => {
                format!("{name}={}", mask(value))
            }
            _ => parameter.to_owned(),
        })
        .collect();
    format!("{}{}{fragment}", &url[..start], masked.join("&"))
}

#[cfg(test)]
mod tests {
    use gatehouse_model::Transport;
    use gatehouse_model::server::{Builtin, StdioStreams};
    use serde_json::json;

    use super::*;

    #[test]
    fn default_values_are_shown_where_they_change() {
        let before = ServerConfig::new("srv-1", "one", Transport::Builtin { builtin: Builtin::Time });
        let mut after = ServerConfig { autostart: false, ..before.clone() };
        after.limits.strict = true;
        let shown = |before, after| {
            let text = |value: Option<String>| value.unwrap_or_default();
            let changes = diff_settings(before, after).into_iter();
            changes
                .map(|change| format!("{} {} {}", change.pointer, text(change.before), text(change.after)))
                .collect::<Vec<_>>()
        };
        assert_eq!(shown(&before, &after), ["/autostart true false", "/limits/strict false true"]);
        assert_eq!(shown(&after, &before), ["/autostart false true", "/limits/strict true false"]);
        let new = list_settings(&before);
        assert!(new.iter().all(|change| change.pointer != "/autostart"), "{new:?}");
    }

    /// Tried: a command in the place of a secret, so that the request to the user doesn't show it.
    #[test]
    fn shows_what_could_be_a_command_to_the_user() {
        let server = |args: &[&str], key: &str| {
            let transport = Transport::Stdio {
                command: "sh".to_owned(),
                args: args.iter().map(|arg| (*arg).to_owned()).collect(),
                env: [("API_KEY".to_owned(), key.to_owned())].into(),
                cwd: None,
                streams: StdioStreams::default(),
            };
            ServerConfig::new("srv-1", "local", transport)
        };
        let shown = |args: &[&str], key: &str| {
            let changes = diff_fields(None, Some(&server(args, key)));
            changes.into_iter().filter_map(|change| change.after).collect::<Vec<_>>().join("\n")
        };
        for args in [
            ["-c", "eval \"$2\"", "--token", "rm -rf evil"],
            ["-c", "eval \"$2\"", "--token", "evil|sh"],
            ["-c", "eval \"${1#*=}\"", "--token=evil&", "x"],
            ["-c", "eval \"${1#*=}\"", "--token=$(evil)", "x"],
            ["-c", "true http://a:;evil@x", "y", "z"],
            ["-c", "eval \"${1#*=}\"", "API_KEY=$(evil)", "x"],
            ["-c", "eval \"${1#*:}\"", "Authorization: rm -rf evil", "x"],
            ["-c", "eval \"$API_KEY\"", "--env=API_KEY=/bin/evil", "x"],
        ] {
            assert!(shown(&args, "k").contains("evil"), "{args:?}: {}", shown(&args, "k"));
        }
        for key in ["evil|sh", "sh -c evil", "$evil", "-evil", "~evil/x", ".evil"] {
            assert!(shown(&["-c", "$API_KEY"], key).contains("evil"), "{key}");
        }
        let secret =
            shown(&["--token", "ghp_secret", "--key=ghp_secret", "db://me:ghp_secret@h/x"], "ghp_secret");
        assert!(!secret.contains("ghp_secret"), "{secret}");
    }

    #[test]
    fn masks_secrets_but_not_executable_values() {
        for (pointer, value, wanted) in [
            ("/env/API_KEY", json!("sk-123"), json!(REDACTED)),
            ("/env/API_KEY", json!("${secret:API_KEY}"), json!("${secret:API_KEY}")),
            ("/env/GITHUB_PAT", json!("ghp_1"), json!(REDACTED)),
            ("/env/DB_PASS", json!("swordfish"), json!(REDACTED)),
            ("/env/PROXY_BYPASS", json!("evil"), json!("evil")),
            ("/env/GIT_ASKPASS", json!("evil"), json!("evil")),
            ("/env/AUTH_COMMAND", json!("/bin/evil"), json!("/bin/evil")),
            // A password may look like a command line; people still see it (`shown_secret`).
            ("/env/DB_PASSWORD", json!("correct horse battery"), json!(REDACTED)),
            ("/env/DB_PASSWORD", json!("$wordfish"), json!(REDACTED)),
            ("/env/DB_PASSWORD", json!("-swordfish"), json!(REDACTED)),
            ("/env/SSH_AUTH_SOCK", json!("/run/agent"), json!("/run/agent")),
            ("/env/LD_PRELOAD", json!("evil.so"), json!("evil.so")),
            ("/env/PATH", json!("/bin"), json!("/bin")),
            ("/headers/Authorization", json!("Bearer abc"), json!(REDACTED)),
            ("/headers/X-Trace", json!("abc"), json!("abc")),
            (
                "/url",
                json!("https://me:pw@h.example/x?a@b"),
                json!(format!("https://me:{REDACTED}@h.example/x?a@b")),
            ),
            ("/url", json!("https://h.example/x:y@z"), json!("https://h.example/x:y@z")),
            (
                "/url",
                json!("https://h.example/mcp?page=2&api_key=1&empty_key=#key=2"),
                json!(format!("https://h.example/mcp?page=2&api_key={REDACTED}&empty_key=#key=2")),
            ),
            (
                "/args",
                json!(["-y", "--api-key=1", "--token", "2", "x=3", "--token", "--v"]),
                json!(["-y", format!("--api-key={REDACTED}"), "--token", REDACTED, "x=3", "--token", "--v"]),
            ),
            (
                "/args",
                json!([
                    "-e",
                    "API_TOKEN=1",
                    "--env=API_TOKEN=2",
                    "-e",
                    "API_TOKEN",
                    "-e",
                    "MODE=fast",
                    "API_KEY="
                ]),
                json!([
                    "-e",
                    format!("API_TOKEN={REDACTED}"),
                    format!("--env=API_TOKEN={REDACTED}"),
                    "-e",
                    "API_TOKEN",
                    "-e",
                    "MODE=fast",
                    "API_KEY=",
                ]),
            ),
            (
                "/args",
                json!([
                    "--header",
                    "Authorization: Bearer a",
                    "-H",
                    "X-Api-Key:b",
                    "--header=Authorization:c"
                ]),
                json!([
                    "--header",
                    format!("Authorization: Bearer {REDACTED}"),
                    "-H",
                    format!("X-Api-Key:{REDACTED}"),
                    format!("--header=Authorization:{REDACTED}"),
                ]),
            ),
            (
                "/args",
                json!([
                    "run",
                    "auth:server",
                    "--header",
                    "Authorization:${AUTH}",
                    "--url=https://me:pw@h.example/"
                ]),
                json!([
                    "run",
                    "auth:server",
                    "--header",
                    "Authorization:${AUTH}",
                    format!("--url=https://me:{REDACTED}@h.example/"),
                ]),
            ),
        ] {
            assert_eq!(
                mask_secrets(pointer, &value, &mut |_| REDACTED.to_owned()),
                wanted,
                "{pointer} {value}"
            );
        }
    }
}
