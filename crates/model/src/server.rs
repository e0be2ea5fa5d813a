//! Configuration of an upstream MCP server.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr};
use ts_rs::TS;

use crate::id::{Generation, ServerId};
use crate::settings::CallLimits;
use crate::sign_in::{SignInSettings, SignInState};
use crate::time::Timestamp;

/// One configured upstream server (SRV-1, SRV-3, SRV-16).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ServerConfig {
    /// Immutable id.
    pub id: ServerId,
    /// Counts identity-bearing edits.
    pub generation: Generation,
    /// Unique display name, also the prefix of exposed tool names.
    pub name: String,
    /// How it is reached.
    pub transport: Transport,
    /// The revision of the protocol that is spoken with it. Not part of its identity; an edit reconnects.
    #[serde(default)]
    pub protocol_version: ProtocolVersionSetting,
    /// Whether it may run at all. While it may not, its tools are not listed and no call starts it.
    pub enabled: bool,
    /// Whether it starts by itself with Gatehouse. If it does not, it starts when it is needed: for a call
    /// or by hand. Without effect while it is not enabled.
    pub autostart: bool,
    /// Whether arguments and results of its calls are stored with the records of the calls. An edit does not reconnect;
    /// records that are stored already stay as they are.
    #[serde(default = "yes")]
    pub record_bodies: bool,
    /// Everything that does not touch the connection.
    pub look: ServerAppearance,
    /// How long things may take.
    pub limits: ServerLimits,
    /// How the entry came to be.
    pub origin: ServerOrigin,
    /// The entry of the MCP registry that its settings were made of. Only what its updates are looked up by.
    #[serde(default)]
    pub registry: Option<RegistrySource>,
}

impl ServerConfig {
    /// A server as the user enters it, with all other settings as they are by default.
    #[must_use]
    pub fn new(id: impl Into<ServerId>, name: impl Into<String>, transport: Transport) -> Self {
        Self::from_draft(id, ServerDraft::new(name, transport))
    }

    /// A new server of the user with these settings.
    #[must_use]
    pub fn from_draft(id: impl Into<ServerId>, draft: ServerDraft) -> Self {
        let ServerDraft {
            name,
            transport,
            protocol_version,
            enabled,
            autostart,
            record_bodies,
            look,
            limits,
            registry,
        } = draft;
        Self {
            id: id.into(),
            generation: Generation::default(),
            name,
            transport,
            protocol_version,
            enabled,
            autostart,
            record_bodies,
            look,
            limits,
            origin: ServerOrigin::default(),
            registry,
        }
    }

    /// The same server with other settings.
    #[must_use]
    pub fn with_draft(&self, draft: ServerDraft) -> Self {
        let generation = self.generation_with(&draft.transport);
        Self { generation, origin: self.origin, ..Self::from_draft(self.id.clone(), draft) }
    }

    /// The generation of this server once it is reached by `transport`. Any other transport begins a new one, to which
    /// no earlier rule, secret or sign-in is bound.
    #[must_use]
    pub fn generation_with(&self, transport: &Transport) -> Generation {
        if *transport == self.transport { self.generation } else { self.generation.next() }
    }

    /// Name of the icon that it is shown with, or an emoji: what the user chose, else the usual one of its kind. Never what
    /// the server itself names as its icon, so this is what is shown where a person decides about a call.
    pub fn icon(&self) -> &str {
        self.look.chosen_icon().unwrap_or_else(|| self.transport.default_icon())
    }
}

/// What only people see; editing it never reconnects and needs no confirmation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", default)]
pub struct ServerAppearance {
    /// One sentence on what the server is for.
    pub description: Option<String>,
    /// Name of one of the icons that are in the program, or an emoji. Where absent or `auto`, lists show the server's own
    /// icon if it has one, else the usual one of its kind.
    pub icon: Option<String>,
    /// Group that the card is shown in.
    pub group: Option<String>,
}

impl ServerAppearance {
    /// The icon that the user chose.
    #[must_use]
    pub fn chosen_icon(&self) -> Option<&str> {
        self.icon.as_deref().filter(|icon| *icon != "auto")
    }
}

/// The image that a server names as its icon.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ServerImage {
    /// A `data:` address of a PNG of 64 × 64 pixels that Gatehouse encoded; `None` if there is none to show.
    pub image: Option<String>,
}

/// How an upstream server is reached (SRV-1).
///
/// Values of `env` and `headers` may hold `${secret:NAME}` and `${env:NAME}`; they are resolved
/// only when the connection is made, and a secret only for the server and field it was bound to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS, IntoStaticStr)]
#[serde(tag = "type", rename_all = "camelCase")]
#[strum(serialize_all = "camelCase")]
pub enum Transport {
    /// A child process that speaks JSON-RPC, one message a line, over its standard streams.
    #[serde(rename_all = "camelCase")]
    Stdio {
        /// Program to run, looked up in the user's login-shell PATH.
        command: String,
        /// Its arguments.
        #[serde(default)]
        args: Vec<String>,
        /// Environment beyond what every server gets.
        #[serde(default)]
        env: BTreeMap<String, String>,
        /// Working folder; the user's home where absent.
        #[serde(default)]
        cwd: Option<String>,
        /// What its standard streams are: `sockets`, or `pipes` for a program that opens `/dev/stdin` by name. On Linux any
        /// program of the same user can write into a pipe.
        #[serde(default)]
        streams: StdioStreams,
    },
    /// A remote server whose transport is found out: Streamable HTTP, else HTTP+SSE.
    Auto(Remote),
    /// Streamable HTTP.
    Http(Remote),
    /// The HTTP+SSE transport of revision 2024-11-05; the address is that of the event stream.
    Sse(Remote),
    /// WebSocket with the subprotocol `mcp`; the address begins with `ws:` or `wss:`.
    Ws(Remote),
    /// A server inside Gatehouse itself (SRV-17).
    #[serde(rename_all = "camelCase")]
    Builtin {
        /// Which one, with its settings.
        builtin: Builtin,
    },
}

impl Transport {
    /// Name of the default icon for this transport.
    fn default_icon(&self) -> &'static str {
        match self {
            Self::Stdio { .. } => "terminal",
            Self::Auto(_) | Self::Http(_) | Self::Sse(_) | Self::Ws(_) => "world",
            Self::Builtin { builtin: Builtin::Time } => "clock",
            Self::Builtin { builtin: Builtin::Notes } => "notes",
            Self::Builtin { builtin: Builtin::Files { .. } } => "folder",
            Self::Builtin { builtin: Builtin::Fetch { .. } } => "download",
        }
    }

    /// Name of this transport in files and texts.
    pub fn kind(&self) -> &'static str {
        self.into()
    }

    /// Settings of a remote server; `None` for one that runs on this computer.
    pub fn remote(&self) -> Option<&Remote> {
        match self {
            Self::Auto(remote) | Self::Http(remote) | Self::Sse(remote) | Self::Ws(remote) => Some(remote),
            Self::Stdio { .. } | Self::Builtin { .. } => None,
        }
    }
}

/// What connects the standard streams of a server's process to Gatehouse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum StdioStreams {
    /// Socket pairs where pipes could be opened by name (Linux), else pipes. No other process can open
    /// them.
    #[default]
    Sockets,
    /// Pipes. On Linux any program of the same user can open them and write to the server in
    /// Gatehouse's place. For programs that open `/dev/stdin` by name, which fails on a socket.
    Pipes,
}

/// Which revision of the protocol is spoken with a server (SRV-2). `2025-11-25` stands for all revisions with a
/// handshake: the server may negotiate an older one.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, TS, IntoStaticStr, EnumString,
)]
pub enum ProtocolVersionSetting {
    /// Found out. A remote server that speaks both families of revisions is used in that of each client.
    #[default]
    #[serde(rename = "auto")]
    #[strum(serialize = "auto")]
    Auto,
    #[serde(rename = "2026-07-28")]
    #[strum(serialize = "2026-07-28")]
    Stateless,
    #[serde(rename = "2025-11-25")]
    #[strum(serialize = "2025-11-25")]
    Stateful,
}

impl ProtocolVersionSetting {
    /// Its word in files and on the command line.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// Where a remote server is and what is sent with each request to it (SRV-11).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Remote {
    /// Its address.
    pub url: String,
    /// Static headers.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// A program that prints more headers each time a connection is made, and after a 401.
    #[serde(default)]
    pub headers_from: Option<HeaderProgram>,
    /// How it is signed in to. Part of what the server is: tokens of other settings are never used.
    #[serde(default)]
    pub sign_in: SignInSettings,
}

impl Remote {
    /// A URL without headers.
    #[must_use]
    pub fn at(url: impl Into<String>) -> Self {
        Self { url: url.into(), ..Self::default() }
    }
}

/// A program that prints headers: one JSON object of texts, or one `Name: value` a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HeaderProgram {
    /// Program to run, looked up in the user's login-shell PATH.
    pub command: String,
    /// Its arguments.
    #[serde(default)]
    pub args: Vec<String>,
}

/// The built-in servers (SRV-17).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS, IntoStaticStr)]
#[serde(tag = "kind", rename_all = "camelCase")]
#[strum(serialize_all = "camelCase")]
pub enum Builtin {
    /// The time in any zone.
    Time,
    /// A small memory with search.
    Notes,
    /// One folder that the user picked.
    Files {
        /// Absolute path of the folder; nothing outside it is ever touched.
        folder: String,
    },
    /// One web page as text.
    #[serde(rename_all = "camelCase")]
    Fetch {
        /// Whether addresses of private networks and of this machine may be fetched too.
        #[serde(default)]
        allow_private: bool,
    },
}

impl Builtin {
    /// Its name in files and texts.
    pub fn kind(&self) -> &'static str {
        self.into()
    }
}

/// What one server is held to: how long things may take (SRV-7, SRV-8), what it may be told and
/// asked. Editing it never reconnects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", default)]
pub struct ServerLimits {
    /// Connecting, in seconds.
    pub connect_secs: u32,
    /// One tool call without progress. Progress resets it.
    #[ts(type = "number | null | \"default\"")]
    pub call_secs: TimeLimit,
    /// One tool call in all, whatever progress it makes.
    #[ts(type = "number | null | \"default\"")]
    pub call_cap_secs: TimeLimit,
    /// Time between health checks, in seconds; 0 switches them off.
    pub health_every_secs: u32,
    /// How long a health check may take, in seconds.
    pub health_timeout_secs: u32,
    /// Failed checks in a row after which the connection is given up.
    pub health_failures: u32,
    /// Whether a list that the server did not declare is an error instead of empty (SRV-13).
    pub strict: bool,
    /// Absolute folders that the server is told of when it asks for roots and no client that can
    /// answer is calling it (SRV-15).
    pub roots: Vec<String>,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            connect_secs: 30,
            call_secs: TimeLimit::Default,
            call_cap_secs: TimeLimit::Default,
            health_every_secs: 30,
            health_timeout_secs: 5,
            health_failures: 3,
            strict: false,
            roots: Vec::new(),
        }
    }
}

impl ServerLimits {
    /// Time limit for connecting.
    pub fn connect(&self) -> Duration {
        Duration::from_secs(u64::from(self.connect_secs.max(1)))
    }

    /// Time limit for a call without progress, if there is one. `all` applies to servers without their
    /// own.
    pub fn call(&self, all: &CallLimits) -> Option<Duration> {
        self.call_secs.or(all.silent_secs)
    }

    /// Time limit for a call in all, if there is one. `all` applies to servers without their own.
    pub fn call_cap(&self, all: &CallLimits) -> Option<Duration> {
        self.call_cap_secs.or(all.cap_secs)
    }
}

/// A time limit of one server: a number of seconds, `null` for none, or `"default"` for the one of all
/// servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "TimeLimitText", into = "TimeLimitText")]
pub enum TimeLimit {
    /// The one of all servers.
    #[default]
    Default,
    /// None.
    Unlimited,
    /// This number of seconds.
    Secs(u32),
}

impl TimeLimit {
    /// The effective limit; `all` is the one of all servers.
    fn or(self, all: Option<u32>) -> Option<Duration> {
        let secs = match self {
            Self::Default => all,
            Self::Unlimited => None,
            Self::Secs(secs) => Some(secs),
        };
        secs.map(|secs| Duration::from_secs(u64::from(secs.max(1))))
    }
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum TimeLimitText {
    Word(DefaultWord),
    Secs(Option<u32>),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum DefaultWord {
    Default,
}

impl From<TimeLimitText> for TimeLimit {
    fn from(text: TimeLimitText) -> Self {
        match text {
            TimeLimitText::Word(DefaultWord::Default) => Self::Default,
            TimeLimitText::Secs(None) => Self::Unlimited,
            TimeLimitText::Secs(Some(secs)) => Self::Secs(secs),
        }
    }
}

impl From<TimeLimit> for TimeLimitText {
    fn from(limit: TimeLimit) -> Self {
        match limit {
            TimeLimit::Default => Self::Word(DefaultWord::Default),
            TimeLimit::Unlimited => Self::Secs(None),
            TimeLimit::Secs(secs) => Self::Secs(Some(secs)),
        }
    }
}

/// An entry of the MCP registry in one of its versions.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RegistrySource {
    /// Name of the entry, as in `io.github.user/weather`.
    pub name: String,
    /// Version of the entry, which needn't be that of a package.
    pub version: String,
}

/// How an entry came to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum ServerOrigin {
    /// Entered or confirmed by the user.
    #[default]
    User,
    /// From a project's `.mcp.json`, after the user agreed. It stays the project's, whoever edits it.
    Project,
}

/// What a person (or a command) supplies to add or edit a server; the rest is Gatehouse's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ServerDraft {
    /// Unique display name.
    pub name: String,
    /// How it is reached.
    pub transport: Transport,
    /// The revision of the protocol that is spoken with it.
    #[serde(default)]
    pub protocol_version: ProtocolVersionSetting,
    /// Whether it may run at all.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// Whether it starts by itself with Gatehouse.
    #[serde(default = "yes")]
    pub autostart: bool,
    /// Whether arguments and results of its calls are stored with the records of the calls.
    #[serde(default = "yes")]
    pub record_bodies: bool,
    /// What only people see.
    #[serde(default)]
    pub look: ServerAppearance,
    /// How long things may take.
    #[serde(default)]
    pub limits: ServerLimits,
    /// The entry of the MCP registry that the settings were made of.
    #[serde(default)]
    pub registry: Option<RegistrySource>,
}

impl ServerDraft {
    /// The settings that a person has to enter, with all others as they are by default.
    #[must_use]
    pub fn new(name: impl Into<String>, transport: Transport) -> Self {
        Self {
            name: name.into(),
            transport,
            protocol_version: ProtocolVersionSetting::default(),
            enabled: true,
            autostart: true,
            record_bodies: true,
            look: ServerAppearance::default(),
            limits: ServerLimits::default(),
            registry: None,
        }
    }
}

impl From<ServerConfig> for ServerDraft {
    /// The settings of a server, to be changed.
    fn from(config: ServerConfig) -> Self {
        let ServerConfig {
            id: _,
            generation: _,
            name,
            transport,
            protocol_version,
            enabled,
            autostart,
            record_bodies,
            look,
            limits,
            origin: _,
            registry,
        } = config;
        Self { name, transport, protocol_version, enabled, autostart, record_bodies, look, limits, registry }
    }
}

fn yes() -> bool {
    true
}

/// One server as the UI and the command line see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ServerView {
    /// Its configuration; secret references stay references.
    pub config: ServerConfig,
    /// Name of the icon that it is shown with.
    pub icon: String,
    /// Its state.
    pub status: crate::status::ServerStatus,
    /// What it offers, counted.
    pub counts: ServerCounts,
    /// What it declared on the present or last connection.
    pub declared: DeclaredCapabilities,
    /// Whether the user trusts its read-only labels (PERM-2).
    pub trusted_labels: bool,
    /// What may run without asking: the always-grants of this server, in words (PERM-3).
    pub auto_approve: Vec<String>,
    /// Its sign-in; `None` where there is nothing to sign in to.
    pub sign_in: Option<SignInState>,
    /// The very last lines of its standard error or log, oldest first; `servers.log` has more.
    pub log_tail: Vec<LogLine>,
    /// Errors within the last hour: lines of its log, failed connections and failed calls.
    pub errors_last_hour: u32,
}

/// How many of each a server offers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ServerCounts {
    pub tools: u32,
    pub resources: u32,
    pub prompts: u32,
}

/// What a server declared that it can do (SRV-13).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct DeclaredCapabilities {
    pub tools: bool,
    pub resources: bool,
    /// `resources.subscribe`
    pub subscribe: bool,
    pub prompts: bool,
    pub completions: bool,
    pub logging: bool,
}

/// Who wrote a line of a server's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum LogSource {
    /// The process, on its standard error (or on standard output, beside the protocol).
    Stderr,
    /// The server, by `notifications/message`.
    Server,
    Gatehouse,
}

/// How much a line matters (RFC 5424, as in `logging/setLevel`), least first.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, TS, IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum LogLevel {
    /// For developers.
    Debug,
    /// In the normal course.
    Info,
    /// Worth knowing.
    Notice,
    /// May become an error.
    Warning,
    /// Something failed.
    Error,
    /// A part of it does not work.
    Critical,
    /// Somebody has to act now.
    Alert,
    /// It cannot be used.
    Emergency,
}

impl LogLevel {
    /// Its name in the protocol.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// One line of a server's log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct LogLine {
    /// When it was read.
    pub at: Timestamp,
    /// Who wrote it.
    pub source: LogSource,
    /// How much it matters, where that is said.
    pub level: Option<LogLevel>,
    /// The line, without its end.
    pub text: String,
}

/// What **Test connection** found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct TestReport {
    /// How the server names itself.
    pub server: crate::status::ServerInfo,
    /// Its tools, in its order.
    pub tools: Vec<TestedTool>,
    /// How many resources it has.
    pub resources: u32,
    /// How many prompts it has.
    pub prompts: u32,
}

/// A tool of a server that is not kept yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct TestedTool {
    /// Name on the server.
    pub name: String,
    /// Title, cleaned (TOOL-4).
    pub title: Option<String>,
    /// Description, cleaned (TOOL-4).
    pub description: Option<String>,
    /// Whether it counts as a read once the server's read-only labels are trusted (PERM-2).
    pub read_only: bool,
}
