//! The settings of a server for callers that may not see its secrets: what may be a secret is replaced by a placeholder
//! that nothing turns back.

use std::collections::BTreeMap;
use std::mem;

use gatehouse_model::Transport;
use gatehouse_model::secret::REDACTED;
use gatehouse_model::server::{HeaderProgram, Remote};
use gatehouse_model::sign_in::{RegisteredClient, SignInMethod, SignInSettings};
use serde_json::Value;

use super::changes::{is_only_references, mask_secrets};

/// Replaces what may be a secret in variables, headers, arguments, the address and the settings of the sign-in, by the
/// same rule as in exported settings. References to stored secrets and to variables stay.
pub fn redact_transport(transport: &mut Transport) {
    match transport {
        Transport::Stdio { command: _, args, env, cwd: _, streams: _ } => {
            redact_args(args);
            redact_values("env", env);
        }
        Transport::Auto(remote)
        | Transport::Http(remote)
        | Transport::Sse(remote)
        | Transport::Ws(remote) => {
            let Remote { url, headers, headers_from, sign_in } = remote;
            redact_text("/url", url);
            redact_values("headers", headers);
            if let Some(HeaderProgram { command: _, args }) = headers_from {
                redact_args(args);
            }
            redact_sign_in(sign_in);
        }
        Transport::Builtin { builtin: _ } => {}
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

fn redact_values(place: &str, values: &mut BTreeMap<String, String>) {
    for (name, text) in values {
        redact_text(&format!("/{place}/{name}"), text);
    }
}

fn redact_text(pointer: &str, text: &mut String) {
    if let Value::String(shown) = mask_secrets(pointer, &Value::String(mem::take(text)), &mut redacted) {
        *text = shown;
    }
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
            env: pairs(&[("A_KEY", REDACTED), ("B_KEY", "${secret:K}"), ("C_KEY", REDACTED), ("MODE", "1")]),
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
                headers: pairs(&[("Authorization", value), ("X-Api-Key", stored), ("X-Team", "platform")]),
                headers_from: Some(HeaderProgram {
                    command: "print".into(),
                    args: vec![format!("--password={value}")],
                }),
                sign_in: SignInSettings {
                    client: Some(client),
                    with: SignInMethod::ClientKey { key: stored.into(), algorithm: "ES256".into() },
                    ..SignInSettings::default()
                },
                ..Remote::at(format!("https://me:{value}@a.example/mcp?api_key={value}&page=2"))
            }
        };
        let mut transport = Transport::Http(remote("plain", "${secret:K}"));
        redact_transport(&mut transport);
        assert_eq!(transport, Transport::Http(remote(REDACTED, "${secret:K}")));
    }
}
