//! `servers …`: verbs and options.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use gatehouse_model::server::{ProtocolVersionSetting, TimeLimit};

use super::registry::{FromRegistryArgs, RegistryVerb};
use super::time_limits::time_limit;

#[derive(Debug, Subcommand)]
pub(crate) enum ServersVerb {
    /// All servers with their states.
    List,
    /// Add a server and start it.
    Add(AddServerArgs),
    /// Add the server of a bundle: a .mcpb or .dxt file.
    ///
    /// What it would run is shown first. Nothing of it runs before it was added.
    AddBundle(AddBundleArgs),
    /// Look for servers in the MCP registry.
    Registry {
        #[command(subcommand)]
        verb: RegistryVerb,
    },
    /// Show what a gatehouse:// link would fill in. Nothing is added.
    Link {
        /// The link.
        link: String,
    },
    /// Import servers from the settings of another application, which stay as they are.
    ///
    /// Without FILE|APP, lists the settings that are on this computer.
    Import(ImportServersArgs),
    /// Connect to a server without keeping it.
    Test(AddServerArgs),
    /// The last lines of a server's log, or of all servers' logs.
    Log {
        /// Id or name; every server where absent.
        server: Option<String>,
        /// Go on with the lines that come, until Ctrl+C.
        #[arg(long, short)]
        follow: bool,
    },
    /// Change a server's settings as JSON in $VISUAL or $EDITOR.
    ///
    /// Secrets in the settings are shown as `${kept:…}`, which keeps the stored value while the program or the
    /// address stays the same. What changes is shown and has to be confirmed, in the window if there is one.
    Edit(EditServerArgs),
    /// Change some of a server's settings.
    #[command(after_help = SETTINGS_HELP)]
    Set(SetServerArgs),
    /// Give a server another name.
    Rename {
        /// Id or name.
        server: String,
        /// The new name.
        name: String,
    },
    /// Copy a server under a new name, without its permissions and secrets.
    Duplicate {
        /// Id or name.
        server: String,
        /// Name of the copy.
        name: String,
    },
    /// Remove a server with its permissions and secrets.
    Remove {
        /// Id or name.
        server: String,
        /// Keep its secrets and permissions for half a minute, so that `gatehousectl undo` brings it back.
        #[arg(long)]
        undoable: bool,
    },
    /// Start a server; enables a disabled one.
    Start {
        /// Id or name.
        server: String,
    },
    /// Let a server run again that is disabled. It starts now, unless it starts only when needed.
    Enable {
        /// Id or name.
        server: String,
    },
    /// Stop a server and keep it from running, by itself or for a call, until it is enabled.
    Disable {
        /// Id or name.
        server: String,
    },
    /// Stop a server. A call does not start it again.
    Stop {
        /// Id or name.
        server: String,
        /// Also disable it, as `servers disable` does.
        #[arg(long)]
        disable: bool,
    },
    /// Close the connection and make a new one.
    Reconnect {
        /// Id or name.
        server: String,
    },
    /// Sign in to a server: opens the browser on this computer and waits until it is done.
    SignIn {
        /// Id or name.
        server: String,
        /// Print the address instead of opening it.
        #[arg(long)]
        print: bool,
        /// The browser is on another computer: read the address that it ends at from standard input.
        #[arg(long)]
        paste: bool,
    },
    /// Sign out of a server.
    SignOut {
        /// Id or name.
        server: String,
    },
    /// Switch MCP off: every server stops and every call is refused, until it is switched on.
    Off,
    /// Switch MCP on: the servers that start by themselves start.
    On,
    /// Say whether a server starts with Gatehouse, or only when it is needed. Does not reconnect it.
    Autostart {
        /// Id or name.
        server: String,
        /// Whether it does.
        switch: OnOffArg,
    },
    /// Set how long calls to a server may take, and its strict mode. Does not reconnect it.
    Limits {
        /// Id or name.
        server: String,
        /// Seconds that a call may take without progress, `none`, or `default` as set for all servers.
        #[arg(long, value_name = "SECONDS|none|default", value_parser = time_limit)]
        call_limit: Option<TimeLimit>,
        /// Seconds that a call may take in all, `none`, or `default` as set for all servers.
        #[arg(long, value_name = "SECONDS|none|default", value_parser = time_limit)]
        call_cap: Option<TimeLimit>,
        /// Whether a list that the server did not declare is an error instead of empty.
        #[arg(long, value_name = "ON|OFF")]
        strict: Option<OnOffArg>,
    },
    /// Go back to the servers of a first start; all others go with their permissions and secrets.
    Reset {
        /// Yes, remove them.
        #[arg(long)]
        yes: bool,
    },
    /// Trust a server's read-only labels.
    TrustLabels {
        /// Id or name.
        server: String,
        /// Trust them no longer.
        #[arg(long)]
        off: bool,
    },
}

const SETTINGS_HELP: &str = "\
Settings, by the names that they have in servers.json:
  name, command, cwd, url, description, icon, group
  protocolVersion                               auto, 2026-07-28 or 2025-11-25
  env.NAME, headers.NAME
  enabled, autostart, recordBodies,
  limits.strict                                 true or false
  limits.connectSecs, limits.healthEverySecs,
  limits.healthTimeoutSecs, limits.healthFailures   a number
  limits.callSecs, limits.callCapSecs           seconds, none or default";

#[derive(Debug, Args)]
pub(crate) struct EditServerArgs {
    /// Id or name.
    pub(crate) server: String,
    /// Change it without asking.
    #[arg(long)]
    pub(crate) yes: bool,
    /// File descriptor with the secrets that the new settings refer to, one a line, in the order of their
    /// fields; they are asked for at the terminal where absent.
    #[arg(long, value_name = "N")]
    pub(crate) secret_fd: Option<i32>,
}

#[derive(Debug, Args)]
pub(crate) struct SetServerArgs {
    /// Id or name.
    pub(crate) server: String,
    /// What to set.
    #[arg(value_name = "KEY=VALUE", required_unless_present = "unset")]
    pub(crate) settings: Vec<String>,
    /// Set it to what it is by default, or remove it.
    #[arg(long, value_name = "KEY")]
    pub(crate) unset: Vec<String>,
    /// File descriptor with the secrets that the new settings refer to, one a line, in the order of their
    /// fields; they are asked for at the terminal where absent.
    #[arg(long, value_name = "N")]
    pub(crate) secret_fd: Option<i32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnOffArg {
    /// It does.
    On,
    /// It does not.
    Off,
}

#[derive(Debug, Args)]
pub(crate) struct AddServerArgs {
    /// Name of the server; unique. That of the entry where a server comes from the registry and this is absent.
    #[arg(required_unless_present = "registry")]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) from_registry: FromRegistryArgs,
    /// Address of a remote server.
    #[arg(long, conflicts_with_all = ["builtin", "command"])]
    pub(crate) url: Option<String>,
    /// The address is an event stream of the old HTTP+SSE transport.
    #[arg(long, requires = "url")]
    pub(crate) sse: bool,
    /// A server inside Gatehouse.
    #[arg(long, conflicts_with = "command")]
    pub(crate) builtin: Option<BuiltinKind>,
    /// Folder of the built-in file server.
    #[arg(long, value_name = "DIR", requires = "builtin")]
    pub(crate) folder: Option<PathBuf>,
    /// Variable of the server's environment.
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) env: Vec<String>,
    /// Header of every request to a remote server.
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) header: Vec<String>,
    /// Program that prints more headers each time a connection is made.
    #[arg(long, value_name = "PROGRAM", requires = "url")]
    pub(crate) headers_from: Option<String>,
    /// Variable or header whose value is a secret; it is asked for at the terminal.
    #[arg(long, value_name = "NAME")]
    pub(crate) secret: Vec<String>,
    /// File descriptor with the secrets, one a line: those that an entry of the registry requires, then those of --secret
    /// in their order.
    #[arg(long, value_name = "N")]
    pub(crate) secret_fd: Option<i32>,
    /// Working folder of the server.
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<String>,
    /// Give the server pipes instead of sockets as standard streams. Only for a program that opens
    /// /dev/stdin by name: on Linux any program of the same user can write into a pipe.
    #[arg(long)]
    pub(crate) pipes: bool,
    /// Revision of the protocol that is spoken with it: `2026-07-28`, `2025-11-25` (also older ones with a
    /// handshake), or `auto` to find out.
    #[arg(long, value_name = "REVISION|auto", default_value = "auto", value_parser = protocol_version)]
    pub(crate) protocol_version: ProtocolVersionSetting,
    /// What the server is for.
    #[arg(long, value_name = "TEXT")]
    pub(crate) description: Option<String>,
    /// Trust its read-only labels and allow its reads.
    #[arg(long)]
    pub(crate) trust_labels: bool,
    /// Add it switched off.
    #[arg(long)]
    pub(crate) disabled: bool,
    /// Start it only when it is needed.
    #[arg(long)]
    pub(crate) no_autostart: bool,
    /// Program that is the server, with its arguments.
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct AddBundleArgs {
    /// The bundle.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// SHA-256 that the file must have, in hexadecimal, as `servers registry show` says.
    #[arg(long, value_name = "HASH")]
    pub(crate) sha256: Option<String>,
    /// Name of the server; that of the bundle where absent.
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Let this server (id or name) run the bundle from now on, such as a new version of its own. Its permissions end, and
    /// its secrets are needed again.
    #[arg(long, value_name = "SERVER", conflicts_with_all = ["name", "trust_labels", "disabled", "no_autostart"])]
    pub(crate) replace: Option<String>,
    /// Value of an option of the bundle; again for each further value of an option that has several.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Option of the bundle whose value is a secret; it is asked for at the terminal.
    #[arg(long, value_name = "KEY")]
    pub(crate) secret: Vec<String>,
    /// File descriptor with the secrets, one a line, in the order of --secret.
    #[arg(long, value_name = "N", requires = "secret")]
    pub(crate) secret_fd: Option<i32>,
    /// Only show the bundle; nothing is added.
    #[arg(long)]
    pub(crate) preview: bool,
    /// Trust its read-only labels and allow its reads.
    #[arg(long)]
    pub(crate) trust_labels: bool,
    /// Add it switched off.
    #[arg(long)]
    pub(crate) disabled: bool,
    /// Start it only when it is needed.
    #[arg(long)]
    pub(crate) no_autostart: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ImportServersArgs {
    /// Settings file, or application: claude-desktop, claude-code, cursor, vscode, windsurf, zed, cline, codex, gemini,
    /// lm-studio, opencode or continue.
    #[arg(value_name = "FILE|APP")]
    pub(crate) from: Option<String>,
    /// Only show what would be imported, and what would be left out.
    #[arg(long, requires = "from")]
    pub(crate) list: bool,
    /// Import only these servers.
    #[arg(long, value_name = "NAME", num_args = 1.., requires = "from")]
    pub(crate) only: Vec<String>,
    /// What to do where a server with the same name has other settings.
    #[arg(long, value_enum, default_value = "skip")]
    pub(crate) on_conflict: NameConflictArg,
    /// Also let run without asking what does so in the other application.
    #[arg(long)]
    pub(crate) auto_approve: bool,
    /// Leave values that look like secrets in servers.json, instead of moving them to the keychain.
    #[arg(long)]
    pub(crate) keep_plain: bool,
    /// Value that the settings ask for, by its id. Those that are secrets are asked for at the terminal.
    #[arg(long, value_name = "ID=VALUE")]
    pub(crate) input: Vec<String>,
    /// File descriptor with the secrets that the settings ask for, one a line, in the order of their ids.
    #[arg(long, value_name = "N")]
    pub(crate) secret_fd: Option<i32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum NameConflictArg {
    /// Leave the server that is there.
    Skip,
    /// Replace its settings.
    Overwrite,
    /// Import under another name.
    Rename,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BuiltinKind {
    /// The time in any zone.
    Time,
    /// A small memory with search.
    Notes,
    /// One folder.
    Files,
    /// One web page as text.
    Fetch,
}

/// Parses the revision of the protocol for one server.
fn protocol_version(word: &str) -> Result<ProtocolVersionSetting, String> {
    word.parse().map_err(|_| "`2026-07-28`, `2025-11-25` or `auto`".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use crate::cli::Cli;

    #[test]
    fn parses_each_kind_of_server() {
        let add = |words: &[&str]| {
            let all = [&["gatehousectl", "servers", "add", "x"][..], words].concat();
            Cli::try_parse_from(all).is_ok()
        };
        assert!(add(&["--", "node", "server.js", "--flag"]));
        assert!(add(&["--trust-labels", "--env", "A=b", "--", "npx", "-y", "it"]));
        assert!(add(&["--url", "http://127.0.0.1:1/mcp"]));
        assert!(add(&["--builtin", "files", "--folder", "/tmp"]));
        assert!(add(&["--url", "http://x", "--protocol-version", "2025-11-25"]));
        assert!(!add(&["--url", "http://x", "--protocol-version", "2025-06-18"]));
        assert!(!add(&["--url", "http://x", "--", "node"]));
        assert!(!add(&["--url", "http://x", "--builtin", "time"]));
        assert!(add(&["--registry", "io.example/weather", "--set", "CITY=Bonn"]));
        assert!(!add(&["--set", "CITY=Bonn", "--", "node"]));
        assert!(!add(&["--registry", "io.example/weather", "--", "node"]));
        let from_registry = ["gatehousectl", "servers", "add", "--registry", "io.example/weather"];
        assert!(Cli::try_parse_from(from_registry).is_ok());
        assert!(Cli::try_parse_from(["gatehousectl", "servers", "add", "--url", "http://x"]).is_err());
    }
}
