//! The policy file of the computer's administrator (SRV-18): which servers may be connected to at
//! all. The user cannot override it. It is read each time, and one that cannot be read forbids
//! everything.

use std::io::ErrorKind;
use std::path::PathBuf;

use gatehouse_model::{ServerConfig, Transport};
use serde::Deserialize;
use wildmatch::WildMatch;

/// Where the file is.
#[derive(Clone, Debug)]
pub struct PolicyFile(PathBuf);

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Policy {
    #[serde(default)]
    servers: Servers,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Servers {
    /// Only these, where it is there.
    allow: Option<Vec<Pattern>>,
    /// None of these; stronger than `allow`.
    #[serde(default)]
    deny: Vec<Pattern>,
    /// What the user gets to read.
    reason: Option<String>,
}

/// One way to name servers. `*` stands for any text.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum Pattern {
    /// By the name in Gatehouse.
    Name(String),
    /// By the command line, its words joined by blanks.
    Command(String),
    /// By the address of a remote server.
    Url(String),
    /// By the kind of a server inside Gatehouse: `time`, `notes`, `files` or `fetch`.
    Builtin(String),
}

impl PolicyFile {
    /// A file; none need be there.
    #[must_use]
    pub fn at(path: PathBuf) -> Self {
        Self(path)
    }

    /// Where administrators put it.
    #[must_use]
    pub fn usual() -> Self {
        let path = if cfg!(windows) {
            std::env::var_os("ProgramData")
                .map_or_else(|| PathBuf::from("C:/ProgramData"), PathBuf::from)
                .join("Gatehouse")
        } else if cfg!(target_os = "macos") {
            PathBuf::from("/Library/Application Support/Gatehouse")
        } else {
            PathBuf::from("/etc/gatehouse")
        };
        Self(path.join("policy.json"))
    }

    /// Why a server may not be used, if it may not. Reads the disk.
    #[must_use]
    pub fn forbids(&self, config: &ServerConfig) -> Option<String> {
        let text = match std::fs::read_to_string(&self.0) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return None,
            Err(error) => return Some(self.unreadable(&error.to_string())),
        };
        match serde_json::from_str::<Policy>(&text) {
            Ok(policy) => policy.servers.forbids(config),
            Err(error) => Some(self.unreadable(&error.to_string())),
        }
    }

    fn unreadable(&self, why: &str) -> String {
        format!(
            "The administrator's policy file {} cannot be read ({why}), so no server may be used. Ask the administrator to mend it.",
            self.0.display()
        )
    }
}

impl Servers {
    fn forbids(&self, config: &ServerConfig) -> Option<String> {
        let denied = self.deny.iter().any(|pattern| pattern.names(config));
        let allowed =
            self.allow.as_ref().is_none_or(|allow| allow.iter().any(|pattern| pattern.names(config)));
        if allowed && !denied {
            return None;
        }
        let reason = self.reason.as_deref().map(|reason| format!(" Reason: {reason}")).unwrap_or_default();
        Some(format!("This computer's administrator does not allow this server.{reason}"))
    }
}

impl Pattern {
    fn names(&self, config: &ServerConfig) -> bool {
        let fits = |pattern: &str, text: &str| WildMatch::new(pattern).matches(text);
        match (self, &config.transport) {
            (Self::Name(pattern), _) => fits(pattern, &config.name),
            (Self::Command(pattern), Transport::Stdio { command, args, .. }) => {
                let mut line = command.clone();
                for word in args {
                    line.push(' ');
                    line.push_str(word);
                }
                fits(pattern, &line)
            }
            (Self::Url(pattern), transport) => {
                transport.remote().is_some_and(|remote| fits(pattern, remote.url.trim()))
            }
            (Self::Builtin(pattern), Transport::Builtin { builtin }) => fits(pattern, builtin.kind()),
            (Self::Command(_) | Self::Builtin(_), _) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use gatehouse_model::server::Builtin;

    use super::*;
    use crate::actor::script::{config_of, http};

    fn stdio(line: &str) -> ServerConfig {
        let mut words = line.split(' ').map(str::to_owned);
        let command = words.next().unwrap();
        let transport = Transport::Stdio { command, args: words.collect(), env: BTreeMap::new(), cwd: None };
        ServerConfig { transport, ..config_of("git") }
    }

    #[test]
    fn servers_are_forbidden_by_name_command_and_address() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("policy.json");
        let file = PolicyFile::at(path.clone());
        let remote = http("docs").at("https://evil.example/mcp").config;
        let time =
            ServerConfig { transport: Transport::Builtin { builtin: Builtin::Time }, ..config_of("Time") };
        assert_eq!(file.forbids(&remote), None, "no file, no rule");

        let deny = r#"{"servers":{"deny":[{"url":"https://evil.example/*"},{"command":"npx *"},{"name":"Ti*"}],"reason":"Ask IT."}}"#;
        std::fs::write(&path, deny).unwrap();
        assert!(file.forbids(&remote).unwrap().ends_with("Reason: Ask IT."));
        assert!(file.forbids(&stdio("npx -y anything")).is_some());
        assert!(file.forbids(&time).is_some());
        assert_eq!(file.forbids(&stdio("uvx mcp-server-git")), None);

        let allow = r#"{"servers":{"allow":[{"command":"uvx mcp-server-*"},{"builtin":"time"}],"deny":[{"command":"* --unsafe"}]}}"#;
        std::fs::write(&path, allow).unwrap();
        assert_eq!(file.forbids(&stdio("uvx mcp-server-git")), None);
        assert!(file.forbids(&stdio("uvx mcp-server-git --unsafe")).is_some(), "deny is stronger");
        assert!(file.forbids(&remote).is_some());
        assert_eq!(file.forbids(&time), None);
    }

    #[test]
    fn a_file_that_cannot_be_read_forbids_everything() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("policy.json");
        for text in ["{", r#"{"server":{}}"#, r#"{"servers":{"deny":[{"nmae":"x"}]}}"#] {
            std::fs::write(&path, text).unwrap();
            let why = PolicyFile::at(path.clone()).forbids(&config_of("any")).unwrap();
            assert!(why.contains("cannot be read"), "{why}");
        }
    }
}
