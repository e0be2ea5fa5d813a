//! The settings of a server for callers that may not see its secrets: what may be a secret is replaced by a placeholder
//! that nothing turns back. Of variables and headers only the names are shown, whatever they are called, and of an address
//! only the host: a secret in a path looks like any other path.

use std::collections::BTreeMap;
use std::mem;

use gatehouse_mcp_wire::json::push_segment;
use gatehouse_model::Transport;
use gatehouse_model::secret::REDACTED;
use gatehouse_model::server::{HeaderProgram, Remote};
use gatehouse_model::sign_in::{RegisteredClient, SignInMethod, SignInSettings};
use serde_json::Value;
use url::Url;

use super::changes::{is_only_references, mask_secrets};
use super::problem::{ConfigProblem, ProblemKind};

/// Paths of addresses that are no secret.
const PLAIN_PATHS: [&str; 3] = ["/", "/mcp", "/sse"];

/// Replaces the values of variables and headers, the path of the address, and what may be a secret in arguments and in the
/// settings of the sign-in. References to stored secrets and to variables stay.
pub fn redact_transport(transport: &mut Transport) {
    match transport {
        Transport::Stdio { command: _, args, env, cwd: _, streams: _ } => {
            redact_args(args);
            redact_values(env);
        }
        Transport::Auto(remote)
        | Transport::Http(remote)
        | Transport::Sse(remote)
        | Transport::Ws(remote) => {
            let Remote { url, headers, headers_from, sign_in } = remote;
            *url = redacted_url(url);
            redact_values(headers);
            if let Some(HeaderProgram { command: _, args }) = headers_from {
                redact_args(args);
            }
            redact_sign_in(sign_in);
        }
        Transport::Builtin { builtin: _ } => {}
    }
}

/// Whether what a caller can't see stays with the program or the address that has it. `before` is what [`redact_transport`]
/// makes of the settings, and `after` the same with the changes of that caller.
///
/// # Errors
/// The place of a hidden value that would go elsewhere, without anybody having seen it.
pub fn check_hidden_values(before: &Transport, after: &Transport) -> Result<(), ConfigProblem> {
    let program = |transport: &Transport| transport.remote().and_then(|remote| remote.headers_from.clone());
    let (moved, mut pointer) = if !before.has_same_recipient(after) {
        (serde_json::to_value(after), String::new())
    } else if program(before) != program(after) {
        (serde_json::to_value(program(after)), "/headersFrom".to_owned())
    } else {
        return Ok(());
    };
    let unreadable = |_| ConfigProblem::at("", ProblemKind::Unreadable);
    if has_redacted(&moved.map_err(unreadable)?, &mut pointer) {
        return Err(ConfigProblem::at(pointer, ProblemKind::KeptMoved));
    }
    Ok(())
}

/// Whether a text or a name in a value has the placeholder of what is hidden; `pointer` leads to it then.
pub(super) fn has_redacted(value: &Value, pointer: &mut String) -> bool {
    let length = pointer.len();
    let mut is_within = |segment: &str, value: &Value| {
        push_segment(pointer, segment);
        let is_found = segment.contains(REDACTED) || has_redacted(value, pointer);
        if !is_found {
            pointer.truncate(length);
        }
        is_found
    };
    match value {
        Value::String(text) => text.contains(REDACTED),
        Value::Array(items) => items.iter().enumerate().any(|(at, item)| is_within(&at.to_string(), item)),
        Value::Object(members) => members.iter().any(|(name, value)| is_within(name, value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn redact_sign_in(settings: &mut SignInSettings) {
    let SignInSettings { off: _, client, scopes: _, redirect: _, endpoints: _, with } = settings;
    let client_secret =
        client.as_mut().and_then(|RegisteredClient { id: _, secret, method: _ }| secret.as_mut());
    let method_secret = match with {
        SignInMethod::ClientKey { key, algorithm: _ } => Some(key),
        SignInMethod::Enterprise { issuer: _, client: _, secret } => secret.as_mut(),
        SignInMethod::Browser | SignInMethod::ClientSecret => None,
    };
    for secret in client_secret.into_iter().chain(method_secret) {
        *secret = redacted(secret);
    }
}

fn redact_values(values: &mut BTreeMap<String, String>) {
    for text in values.values_mut() {
        *text = redacted(text);
    }
}

/// Scheme and host of an address, with its path if that is plain.
fn redacted_url(text: &str) -> String {
    let Ok(url) = Url::parse(text) else { return redacted(text) };
    let Some(host) = url.host_str() else { return REDACTED.to_owned() };
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    let is_plain = PLAIN_PATHS.contains(&url.path()) && url.query().is_none() && url.fragment().is_none();
    let path = if is_plain { url.path().to_owned() } else { format!("/{REDACTED}") };
    format!("{}://{host}{port}{path}", url.scheme())
}

fn redact_args(args: &mut Vec<String>) {
    if let Value::Array(shown) = mask_secrets("/args", &Value::from(mem::take(args)), &mut redacted) {
        args.extend(shown.iter().filter_map(Value::as_str).map(str::to_owned));
    }
}

fn redacted(secret: &str) -> String {
    if is_only_references(secret) { secret.to_owned() } else { REDACTED.to_owned() }
}

#[cfg(test)]
mod tests {
    use gatehouse_model::server::StdioStreams;

    use super::*;

    fn pairs(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|&text| text.to_owned()).collect()
    }

    #[test]
    fn redacts_programs() {
        let mut transport = Transport::Stdio {
            command: "x".into(),
            args: texts(&["--token", "first", "--api-key=second", "--mode", "fast"]),
            env: pairs(&[
                ("A_KEY", "third"),
                ("B_KEY", "${secret:K}"),
                ("C_KEY", "half${secret:K}"),
                ("MODE", "1"),
            ]),
            cwd: None,
            streams: StdioStreams::default(),
        };
        redact_transport(&mut transport);
        let wanted = Transport::Stdio {
            command: "x".into(),
            args: texts(&["--token", REDACTED, &format!("--api-key={REDACTED}"), "--mode", "fast"]),
            env: pairs(&[
                ("A_KEY", REDACTED),
                ("B_KEY", "${secret:K}"),
                ("C_KEY", REDACTED),
                ("MODE", REDACTED),
            ]),
            cwd: None,
            streams: StdioStreams::default(),
        };
        assert_eq!(transport, wanted);
    }

    #[test]
    fn redacts_remote_servers() {
        let remote = |value: &str, stored: &str| {
            let client = RegisteredClient { id: "me".into(), secret: Some(value.into()), method: None };
            Remote {
                headers: pairs(&[("Authorization", value), ("X-Api-Key", stored), ("X-Team", value)]),
                headers_from: Some(HeaderProgram {
                    command: "print".into(),
                    args: vec![format!("--password={value}")],
                }),
                sign_in: SignInSettings {
                    client: Some(client),
                    with: SignInMethod::ClientKey { key: stored.into(), algorithm: "ES256".into() },
                    ..SignInSettings::default()
                },
                ..Remote::at(if value == REDACTED {
                    "https://a.example/••••••"
                } else {
                    "https://a.example/v1/plain"
                })
            }
        };
        let mut transport = Transport::Http(remote("plain", "${secret:K}"));
        redact_transport(&mut transport);
        assert_eq!(transport, Transport::Http(remote(REDACTED, "${secret:K}")));
    }

    #[test]
    fn shows_hosts_of_addresses_and_plain_paths() {
        for (url, shown) in [
            ("https://a.example/mcp", "https://a.example/mcp"),
            ("http://127.0.0.1:9", "http://127.0.0.1:9/"),
            ("wss://me:key@a.example/mcp", "wss://a.example/mcp"),
            ("https://a.example/mcp?page=2", "https://a.example/••••••"),
            ("https://a.example/mcp#key", "https://a.example/••••••"),
            ("https://a.example/hooks/T0/B0/key", "https://a.example/••••••"),
            ("https://a.example/${secret:K}/mcp", "https://a.example/••••••"),
            ("${secret:URL}", "${secret:URL}"),
            ("no address", REDACTED),
        ] {
            assert_eq!(redacted_url(url), shown, "{url}");
        }
    }
}
