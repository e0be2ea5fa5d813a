//! The managed policy: a file of the administrator that determines which servers may be connected
//! to (SRV-18). The user cannot override it. The file's metadata is checked each time, and the file
//! is read again when it has changed. If it cannot be read or parsed, every server is forbidden.

use std::fs::Metadata;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use gatehouse_model::{ServerConfig, Transport, UserText, message};
use parking_lot::Mutex;
use serde::Deserialize;
use url::Url;
use wildmatch::WildMatch;

use self::url_pattern::{UrlPattern, WithoutPort};

mod url_pattern;

/// A file that was modified more recently than this could change again without a change of its
/// metadata (time stamp granularity), so its content is not cached.
const SETTLE_TIME: Duration = Duration::from_secs(3);

/// The policy file with its cached content. Clones share the cache.
#[derive(Clone, Debug)]
pub struct PolicyFile {
    path: PathBuf,
    read: Arc<Mutex<Option<CachedPolicy>>>,
}

/// Cached content, and the file's metadata when it was read.
#[derive(Debug)]
struct CachedPolicy {
    stamp: FileStamp,
    policy: ManagedPolicy,
}

/// The metadata by which a change of the file is detected.
#[derive(Debug, PartialEq, Eq)]
struct FileStamp {
    changed: SystemTime,
    bytes: u64,
    /// Device, inode and change time. Unlike the modification time, the change time cannot be set
    /// by a program.
    #[cfg(unix)]
    node: (u64, u64, i64, i64),
}

impl FileStamp {
    /// `None` if the metadata lacks a modification time.
    fn of(file: &Metadata) -> Option<Self> {
        #[cfg(unix)]
        use std::os::unix::fs::MetadataExt as _;
        Some(Self {
            changed: file.modified().ok()?,
            bytes: file.len(),
            #[cfg(unix)]
            node: (file.dev(), file.ino(), file.ctime(), file.ctime_nsec()),
        })
    }

    /// Whether any further change would result in another stamp.
    fn is_settled(&self, now: SystemTime) -> bool {
        let settled = |at| now.duration_since(at).is_ok_and(|since| since > SETTLE_TIME);
        #[cfg(unix)]
        let node = {
            let (seconds, nanos) = (u64::try_from(self.node.2), u32::try_from(self.node.3));
            let since = seconds.and_then(|seconds| Ok((seconds, nanos?)));
            since.is_ok_and(|(s, n)| settled(SystemTime::UNIX_EPOCH + Duration::new(s, n)))
        };
        #[cfg(not(unix))]
        let node = true;
        node && settled(self.changed)
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ManagedPolicy {
    #[serde(default)]
    servers: ManagedServerRules,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ManagedServerRules {
    /// If set, only these servers are allowed.
    allow: Option<Vec<ServerPattern>>,
    /// These servers are denied; takes precedence over `allow`.
    #[serde(default)]
    deny: Vec<ServerPattern>,
    /// Shown to the user.
    reason: Option<String>,
}

/// A pattern for servers. In a name, a command and a kind, `*` matches any text.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
enum ServerPattern {
    /// The name in Gatehouse.
    Name(String),
    /// The command and its arguments, joined by spaces.
    Command(String),
    /// Scheme, host, port and path of a remote server's URL.
    Url(UrlPattern),
    /// The kind of a built-in server: `time`, `notes`, `files` or `fetch`.
    Builtin(String),
}

/// The administrator's folder on this operating system.
pub(crate) fn folder() -> PathBuf {
    if cfg!(windows) {
        std::env::var_os("ProgramData")
            .map_or_else(|| PathBuf::from("C:/ProgramData"), PathBuf::from)
            .join("Gatehouse")
    } else if cfg!(target_os = "macos") {
        PathBuf::from("/Library/Application Support/Gatehouse")
    } else {
        PathBuf::from("/etc/gatehouse")
    }
}

impl PolicyFile {
    /// The policy at this path; the file need not exist.
    #[must_use]
    pub fn at(path: PathBuf) -> Self {
        Self { path, read: Arc::default() }
    }

    /// The policy at the standard path of the operating system.
    #[must_use]
    pub fn default_location() -> Self {
        Self::at(folder().join("policy.json"))
    }

    /// Why a server is forbidden, or `None` if it is allowed. Reads the file's metadata, and the
    /// file if it has changed.
    #[must_use]
    pub fn forbids(&self, config: &ServerConfig) -> Option<UserText> {
        self.forbids_at(config, SystemTime::now())
    }

    fn forbids_at(&self, config: &ServerConfig, now: SystemTime) -> Option<UserText> {
        let stamp = match std::fs::metadata(&self.path) {
            Ok(file) => FileStamp::of(&file),
            Err(error) if error.kind() == ErrorKind::NotFound => return None,
            Err(error) => return Some(self.unreadable(&error.to_string())),
        };
        let mut read = self.read.lock();
        if let (Some(known), Some(stamp)) = (&*read, &stamp)
            && known.stamp == *stamp
        {
            return known.policy.servers.forbids(config);
        }
        *read = None;
        let text = match std::fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return None,
            Err(error) => return Some(self.unreadable(&error.to_string())),
        };
        let policy: ManagedPolicy = match serde_json::from_str(&text) {
            Ok(policy) => policy,
            Err(error) => return Some(self.unreadable(&error.to_string())),
        };
        let forbidden = policy.servers.forbids(config);
        *read = stamp.filter(|stamp| stamp.is_settled(now)).map(|stamp| CachedPolicy { stamp, policy });
        forbidden
    }

    fn unreadable(&self, why: &str) -> UserText {
        let file = self.path.display().to_string();
        message!("error.servers.policyUnread", file = file, reason = why).into()
    }
}

impl ManagedServerRules {
    fn forbids(&self, config: &ServerConfig) -> Option<UserText> {
        let denied = self.deny.iter().any(|pattern| pattern.matches(config, WithoutPort::Any));
        let allowed = self
            .allow
            .as_ref()
            .is_none_or(|allow| allow.iter().any(|pattern| pattern.matches(config, WithoutPort::Usual)));
        if allowed && !denied {
            return None;
        }
        Some(match &self.reason {
            Some(reason) => message!("error.servers.policyForbidsReason", reason = reason).into(),
            None => message!("error.servers.policyForbids").into(),
        })
    }
}

impl ServerPattern {
    fn matches(&self, config: &ServerConfig, without_port: WithoutPort) -> bool {
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
                // Parsed like the connection parses it; an invalid URL is never connected to.
                let url = transport.remote().and_then(|remote| Url::parse(&remote.url).ok());
                url.is_some_and(|url| pattern.matches(&url, without_port))
            }
            (Self::Builtin(pattern), Transport::Builtin { builtin }) => fits(pattern, builtin.kind()),
            (
                Self::Command(_),
                Transport::Auto(_)
                | Transport::Http(_)
                | Transport::Sse(_)
                | Transport::Ws(_)
                | Transport::Builtin { .. },
            )
            | (
                Self::Builtin(_),
                Transport::Stdio { .. }
                | Transport::Auto(_)
                | Transport::Http(_)
                | Transport::Sse(_)
                | Transport::Ws(_),
            ) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use gatehouse_model::server::Builtin;

    use super::*;
    use crate::tests::scripted_server::{config_of, http};

    fn stdio(line: &str) -> ServerConfig {
        let mut words = line.split(' ').map(str::to_owned);
        let command = words.next().unwrap();
        let transport = Transport::Stdio {
            command,
            args: words.collect(),
            env: BTreeMap::new(),
            cwd: None,
            streams: Default::default(),
        };
        ServerConfig { transport, ..config_of("git") }
    }

    #[test]
    fn denies_by_name_command_and_url() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("policy.json");
        let file = PolicyFile::at(path.clone());
        let remote = http("docs").at("https://evil.example/mcp").config;
        let time =
            ServerConfig { transport: Transport::Builtin { builtin: Builtin::Time }, ..config_of("Time") };
        assert_eq!(file.forbids(&remote), None, "no file, no rule");

        let deny = r#"{"servers":{"deny":[{"url":"https://evil.example/*"},{"command":"npx *"},{"name":"Ti*"}],"reason":"Ask IT."}}"#;
        std::fs::write(&path, deny).unwrap();
        assert!(file.forbids(&remote).unwrap().to_string().ends_with("Reason: Ask IT."));
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
    fn rereads_file_only_when_changed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("policy.json");
        let file = PolicyFile::at(path.clone());
        let git = stdio("uvx git");
        let later = || SystemTime::now() + 2 * SETTLE_TIME;
        let is_kept = || file.read.lock().is_some();
        let deny = |name: &str| format!(r#"{{"servers":{{"deny":[{{"name":"{name}"}}]}}}}"#);

        std::fs::write(&path, deny("git")).unwrap();
        assert!(file.forbids(&git).is_some());
        assert!(!is_kept(), "it may change once more without its metadata showing it");
        assert!(file.forbids_at(&git, later()).is_some() && is_kept());
        assert!(file.clone().forbids(&git).is_some(), "what was kept counts");

        // Same length and same modification time as before.
        let modified = path.metadata().unwrap().modified().unwrap();
        let beside = folder.path().join("new.json");
        std::fs::write(&beside, deny("hub")).unwrap();
        std::fs::File::options().write(true).open(&beside).unwrap().set_modified(modified).unwrap();
        std::fs::rename(&beside, &path).unwrap();
        assert_eq!(file.forbids_at(&git, later()), None);
        assert!(is_kept());
        std::fs::write(&path, "{").unwrap();
        assert!(file.forbids_at(&git, later()).unwrap().to_string().contains("cannot be read"));
        std::fs::remove_file(&path).unwrap();
        assert_eq!(file.forbids_at(&git, later()), None);
        std::fs::create_dir(&path).unwrap();
        assert!(file.forbids_at(&git, later()).is_some(), "a folder is no file that says nothing");
    }

    #[test]
    fn unreadable_file_denies_everything() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("policy.json");
        for text in ["{", r#"{"server":{}}"#, r#"{"servers":{"deny":[{"nmae":"x"}]}}"#] {
            std::fs::write(&path, text).unwrap();
            let why = PolicyFile::at(path.clone()).forbids(&config_of("any")).unwrap().to_string();
            assert!(why.contains("cannot be read"), "{why}");
        }
    }
}
