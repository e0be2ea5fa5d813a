//! What rules, secrets and sign-ins are bound to: the id of a server, its generation, and a hash of its
//! non-secret identity (SRV-16).
//!
//! The hash covers what determines the server: the transport with command, arguments, working folder and
//! kind of streams, or the URL, the names of variables and headers, and the sign-in settings. It covers
//! a value only if the value refers to a secret or a variable (`${secret:NAME}`): a literal value may be
//! a secret itself, and could be guessed from its hash. Name, look, limits, switches and the
//! revision of the protocol are not covered.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use ts_rs::TS;

use crate::id::{Generation, IdentityHash, ServerId};
use crate::server::{Remote, ServerConfig, Transport};

/// The server that a rule is bound to; an edited or replaced server is another one (SRV-16).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ServerBinding {
    /// Immutable id.
    pub server: ServerId,
    /// Generation at the time of the rule.
    pub generation: Generation,
    /// Hash of what the server was. Empty in records of older versions, which no server matches.
    #[serde(default = "unbound")]
    pub identity: IdentityHash,
}

fn unbound() -> IdentityHash {
    IdentityHash::new("")
}

impl ServerConfig {
    /// The binding of rules, secrets and sign-ins to this server.
    pub fn binding(&self) -> ServerBinding {
        ServerBinding {
            server: self.id.clone(),
            generation: self.generation,
            identity: identity(&self.transport),
        }
    }
}

/// SHA-256 over the non-secret identity of a server. `serde_json` sorts the members of objects by name,
/// so the same identity always gives the same text.
fn identity(transport: &Transport) -> IdentityHash {
    let what = match transport {
        Transport::Stdio { command, args, env, cwd, streams } => {
            json!({ "command": command, "args": args, "env": references(env), "cwd": cwd, "streams": streams })
        }
        Transport::Auto(remote)
        | Transport::Http(remote)
        | Transport::Sse(remote)
        | Transport::Ws(remote) => remote_identity(remote),
        Transport::Builtin { builtin } => json!(builtin),
    };
    let text = json!([transport.kind(), what]).to_string();
    let hash = Sha256::new().chain_update(b"gatehouse server 1\n").chain_update(text).finalize();
    IdentityHash::new(hex::encode(hash))
}

fn remote_identity(remote: &Remote) -> Value {
    let sign_in_secrets: Vec<Value> =
        remote.sign_in.secrets().map(|(name, value)| json!([name, reference(value)])).collect();
    json!({
        "url": remote.url,
        "headers": references(&remote.headers),
        "headersFrom": remote.headers_from,
        "signIn": remote.sign_in.without_secrets(),
        "signInSecrets": sign_in_secrets,
    })
}

fn references(values: &BTreeMap<String, String>) -> BTreeMap<&str, Option<&str>> {
    values.iter().map(|(name, value)| (name.as_str(), reference(value))).collect()
}

/// A value that consists of one reference to a secret or a variable.
fn reference(value: &str) -> Option<&str> {
    let name = value.strip_prefix("${secret:").or_else(|| value.strip_prefix("${env:"))?;
    let is_whole = name.strip_suffix('}').is_some_and(|name| !name.contains(['$', '{', '}']));
    is_whole.then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::{
        Builtin, HeaderProgram, ServerAppearance, ServerDraft, ServerLimits, ServerOrigin, StdioStreams,
    };
    use crate::sign_in::{RegisteredClient, SignInSettings};

    fn stdio(command: &str, args: &[&str], env: &[(&str, &str)], cwd: Option<&str>) -> Transport {
        Transport::Stdio {
            command: command.to_owned(),
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            env: env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            cwd: cwd.map(str::to_owned),
            streams: StdioStreams::default(),
        }
    }

    fn remote(change: impl FnOnce(&mut Remote)) -> Remote {
        let mut remote = Remote::at("https://a.example/mcp");
        change(&mut remote);
        remote
    }

    #[test]
    fn identity_hash_covers_every_identity_field() {
        let client = |secret: &str| {
            let client = RegisteredClient { id: "c".into(), secret: Some(secret.into()), method: None };
            SignInSettings { client: Some(client), ..SignInSettings::default() }
        };
        let all = [
            stdio("a", &[], &[], None),
            stdio("b", &[], &[], None),
            stdio("a", &["x", "y"], &[], None),
            stdio("a", &["x y"], &[], None),
            stdio("a", &[], &[("K", "plain")], None),
            stdio("a", &[], &[("L", "plain")], None),
            stdio("a", &[], &[("K", "${secret:k}")], None),
            stdio("a", &[], &[("K", "${env:k}")], None),
            stdio("a", &[], &[], Some("/")),
            Transport::Auto(remote(|_| {})),
            Transport::Http(remote(|_| {})),
            Transport::Sse(remote(|_| {})),
            Transport::Ws(remote(|_| {})),
            Transport::Auto(remote(|remote| remote.url = "https://b.example/mcp".into())),
            Transport::Auto(remote(|remote| drop(remote.headers.insert("X-Team".into(), "1".into())))),
            Transport::Auto(remote(|remote| {
                remote.headers_from = Some(HeaderProgram { command: "p".into(), args: Vec::new() });
            })),
            Transport::Auto(remote(|remote| remote.sign_in = client("${secret:a}"))),
            Transport::Auto(remote(|remote| remote.sign_in = client("${secret:b}"))),
            Transport::Builtin { builtin: Builtin::Notes },
            Transport::Builtin { builtin: Builtin::Files { folder: "/a".into() } },
            Transport::Builtin { builtin: Builtin::Files { folder: "/b".into() } },
            Transport::Builtin { builtin: Builtin::Fetch { allow_private: false } },
            Transport::Builtin { builtin: Builtin::Fetch { allow_private: true } },
        ];
        let hashes: std::collections::HashSet<IdentityHash> = all.iter().map(identity).collect();
        assert_eq!(hashes.len(), all.len());
    }

    #[test]
    fn identity_hash_excludes_possible_secrets() {
        let env = |value| identity(&stdio("a", &[], &[("K", value)], None));
        assert_eq!(env("one"), env("two"));
        assert_eq!(env("one"), env("Bearer ${secret:k}"), "part of a text may be typed in");
        let sign_in = |secret: &str| {
            identity(&Transport::Auto(remote(|remote| {
                let client = RegisteredClient { id: "c".into(), secret: Some(secret.into()), method: None };
                remote.sign_in = SignInSettings { client: Some(client), ..SignInSettings::default() };
            })))
        };
        assert_eq!(sign_in("one"), sign_in("two"));
    }

    #[test]
    fn binding_ignores_name_switches_and_limits() {
        let config = ServerConfig {
            generation: Generation(3),
            ..ServerConfig::new("srv-1", "one", stdio("a", &[], &[], None))
        };
        let other = ServerConfig {
            name: "two".into(),
            enabled: false,
            autostart: false,
            record_bodies: false,
            look: ServerAppearance { group: Some("g".into()), ..ServerAppearance::default() },
            limits: ServerLimits { strict: true, ..ServerLimits::default() },
            ..config.clone()
        };
        assert_eq!(config.binding(), other.binding());
        assert_eq!(config.binding().generation, Generation(3));
    }

    #[test]
    fn only_another_transport_begins_a_generation() {
        let config = ServerConfig {
            generation: Generation(3),
            origin: ServerOrigin::Project,
            ..ServerConfig::new("srv-1", "one", stdio("a", &[], &[], None))
        };
        let draft = ServerDraft { enabled: false, ..ServerDraft::new("two", config.transport.clone()) };
        assert_eq!(config.with_draft(draft).binding(), config.binding());

        let other = config.with_draft(ServerDraft::new("one", stdio("b", &[], &[], None)));
        assert_eq!((other.id, other.generation, other.origin), (config.id, Generation(4), config.origin));
    }

    #[test]
    fn binding_of_older_version_has_no_identity() {
        let old: ServerBinding = serde_json::from_str(r#"{"server":"srv-1","generation":3}"#).unwrap();
        assert_eq!(old.identity.as_str(), "");
    }
}
