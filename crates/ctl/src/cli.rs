//! Definition of the command line. The commands themselves are in the other modules.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use gatehouse_model::approval::AutoApprove;
use gatehouse_model::grant::Condition;
use gatehouse_model::server::TimeLimit;

use crate::condition;

/// Drives a running Gatehouse, or serves without a window.
///
/// Ends with 0 when done, 1 when it failed, 2 for words that it does not understand, 3 when no
/// Gatehouse runs, 4 when the operator key is needed, 5 when a call was refused or the tool failed.
#[derive(Debug, Parser)]
#[command(name = "gatehousectl", version)]
pub(crate) struct Cli {
    /// Folder that Gatehouse keeps everything in.
    #[arg(long, global = true, value_name = "DIR", env = "GATEHOUSE_DATA_DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// Write JSON instead of words.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// File descriptor with the operator key: `serve` writes it there when it makes one, all others read it.
    #[arg(long, global = true, value_name = "N")]
    pub(crate) operator_key_fd: Option<i32>,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Run the whole core without a window.
    Serve(ServeArgs),
    /// What runs, what waits, what is wrong.
    Status,
    /// Servers that Gatehouse connects to.
    Servers {
        #[command(subcommand)]
        verb: ServersVerb,
    },
    /// Tools of all servers.
    Tools {
        #[command(subcommand)]
        verb: ToolsVerb,
    },
    /// Call a tool as a client, with that client's permissions.
    Call(CallArgs),
    /// The last calls, newest first.
    Calls(CallsArgs),
    /// AI clients that may connect.
    Clients {
        #[command(subcommand)]
        verb: ClientsVerb,
    },
    /// Approval requests that wait for an answer.
    Approvals {
        #[command(subcommand)]
        verb: ApprovalsVerb,
    },
    /// What may run without asking.
    Policy {
        #[command(subcommand)]
        verb: PolicyVerb,
    },
    /// What was decided and changed.
    Audit {
        #[command(subcommand)]
        verb: Option<AuditVerb>,
    },
    /// How long things are kept and calls may take, and how tools are named.
    Settings {
        #[command(subcommand)]
        verb: SettingsVerb,
    },
    /// The key that proves you.
    OperatorKey {
        #[command(subcommand)]
        verb: OperatorKeyVerb,
    },
    /// Refuse every call until resumed.
    Pause,
    /// End a pause.
    Resume,
    /// Print completions for a shell.
    Completions {
        /// Which shell.
        shell: clap_complete::Shell,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum OperatorKeyVerb {
    /// Make another one, which is shown this once; the one before counts no more.
    Rotate {
        /// File descriptor that the new key is written to; the terminal where absent.
        #[arg(long, value_name = "N")]
        new_key_fd: Option<i32>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Loopback address of the gateway; the port of last time, or any, where absent.
    #[arg(long, value_name = "127.0.0.1:PORT")]
    pub(crate) listen: Option<std::net::SocketAddr>,
    /// Where secrets are kept; the best that is there, where absent.
    #[arg(long, value_name = "WHERE")]
    pub(crate) secrets: Option<SecretStoreArg>,
    /// File descriptor with the passphrase of the vault.
    #[arg(long, value_name = "N")]
    pub(crate) vault_passphrase_fd: Option<i32>,
    /// Make another operator key, because the one of this folder is lost. What was allowed is suspended
    /// until it is confirmed, and secrets and sign-ins have to be entered anew. With the key at hand, use `operator-key rotate`.
    #[arg(long)]
    pub(crate) new_operator_key: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SecretStoreArg {
    /// The keychain of the system.
    Keychain,
    /// An encrypted file with a passphrase.
    Vault,
    /// Memory: all is forgotten when it stops.
    Memory,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ServersVerb {
    /// All servers with their states.
    List,
    /// Add a server and start it.
    Add(AddServerArgs),
    /// Connect to a server without keeping it.
    Test(AddServerArgs),
    /// The last lines of a server's log.
    Log {
        /// Id or name.
        server: String,
    },
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
    },
    /// Start a server; enables a disabled one.
    Start {
        /// Id or name.
        server: String,
    },
    /// Stop a server.
    Stop {
        /// Id or name.
        server: String,
        /// Also keep it from starting by itself or for a call.
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
    /// Say whether a server starts by itself. Does not reconnect it.
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnOffArg {
    /// It does.
    On,
    /// It does not.
    Off,
}

#[derive(Debug, Args)]
pub(crate) struct AddServerArgs {
    /// Name of the server; unique.
    pub(crate) name: String,
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
    /// File descriptor with the secrets, one a line, in the order of --secret.
    #[arg(long, value_name = "N", requires = "secret")]
    pub(crate) secret_fd: Option<i32>,
    /// Working folder of the server.
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<String>,
    /// Give the server pipes instead of sockets as standard streams. Only for a program that opens
    /// /dev/stdin by name: on Linux any program of the same user can write into a pipe.
    #[arg(long)]
    pub(crate) pipes: bool,
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

#[derive(Debug, Subcommand)]
pub(crate) enum ToolsVerb {
    /// All tools of all connected servers.
    List {
        /// Only of this server (id or name).
        #[arg(long)]
        server: Option<String>,
    },
    /// The tools that servers list and clients do not get, with the reason.
    #[command(alias = "left-out")]
    Omitted {
        /// Only of this server (id or name).
        #[arg(long)]
        server: Option<String>,
    },
    /// Say yourself whether a tool only reads.
    Classify {
        /// Id or name of the server.
        server: String,
        /// Name of the tool on the server.
        tool: String,
        /// The class.
        class: AccessClassArg,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AccessClassArg {
    /// It only looks.
    Read,
    /// It changes or runs something.
    Write,
    /// As Gatehouse sees it.
    Clear,
}

#[derive(Debug, Args)]
pub(crate) struct CallArgs {
    /// Name of the tool as clients see it.
    pub(crate) tool: String,
    /// The arguments: one JSON object, or NAME=VALUE pairs.
    pub(crate) arguments: Vec<String>,
    /// File descriptor with the client's token; it is asked for at the terminal where absent.
    #[arg(long, value_name = "N")]
    pub(crate) token_fd: Option<i32>,
}

#[derive(Debug, Args)]
pub(crate) struct CallsArgs {
    /// Only from this client (id).
    #[arg(long)]
    pub(crate) client: Option<String>,
    /// Only to this server (id).
    #[arg(long)]
    pub(crate) server: Option<String>,
    /// Only with these words in them.
    #[arg(long)]
    pub(crate) text: Option<String>,
    /// At most so many.
    #[arg(long)]
    pub(crate) limit: Option<u32>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ClientsVerb {
    /// All clients.
    List,
    /// Add a client; its token is shown this once.
    Add {
        /// Name for it; unique.
        name: String,
    },
    /// Give a client a new token; the old one ends.
    Rotate {
        /// Id or name.
        client: String,
    },
    /// End a client's access.
    Revoke {
        /// Id or name.
        client: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ApprovalsVerb {
    /// The approval requests that wait.
    List,
    /// Show approval requests as they come, and take the answers.
    Watch,
    /// Answer one approval request.
    Answer {
        /// Id of the approval request.
        id: String,
        /// `allow`, `deny`, `always-reads`, `always-tool`, `always-server`, `tool-until-quit` or `tool-15m`.
        answer: String,
        /// What the model gets to read, for a deny.
        reason: Vec<String>,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyVerb {
    /// All rules.
    Show,
    /// Set what runs without asking on a server, for every client or for one.
    #[command(allow_missing_positional = true)]
    AutoApprove {
        /// Id or name of the server.
        #[arg(required_unless_present = "every_server", conflicts_with = "every_server")]
        server: Option<String>,
        /// To what.
        to: AutoApproveArg,
        /// Only for this client (id or name).
        #[arg(long)]
        client: Option<String>,
        /// On every server that there is now.
        #[arg(long)]
        every_server: bool,
    },
    /// Show what other rules would have done with the calls of the last days. Nothing changes.
    #[command(alias = "rehearse")]
    Simulate(SimulateArgs),
    /// Allow a tool or more, without approval.
    #[command(after_help = condition::HELP)]
    Grant {
        /// Id or name of the server.
        server: String,
        #[command(flatten)]
        scope: ScopeArgs,
    },
    /// Block a tool or more.
    ///
    /// A block of a resource (`--tool resource:URI`) is for every spelling of its URI. Without the operator key
    /// the list of rules says of the block that it was added without it.
    #[command(after_help = condition::HELP)]
    Deny {
        /// Id or name of the server; every server where absent.
        server: Option<String>,
        #[command(flatten)]
        scope: ScopeArgs,
        /// What the model gets to read.
        #[arg(long)]
        reason: Option<String>,
    },
    /// What was allowed before the operator key was made anew; it counts for nothing.
    Suspended,
    /// Let suspended rules count again, and forget the others.
    Confirm {
        /// Ids of rules.
        #[arg(required_unless_present_any = ["all", "none"])]
        rules: Vec<String>,
        /// All of them, with the classes and labels that were set.
        #[arg(long, conflicts_with_all = ["rules", "none"])]
        all: bool,
        /// None of them.
        #[arg(long, conflicts_with = "rules")]
        none: bool,
    },
    /// Take back an allow.
    Revoke {
        /// Id of the rule.
        rule: String,
    },
    /// Take back a deny.
    Unblock {
        /// Id of the rule.
        rule: String,
    },
}

#[derive(Debug, Args)]
#[command(
    after_help = "SERVER is an id or a name; `*` is every server. Only --auto-approve and --deny take `*`."
)]
pub(crate) struct SimulateArgs {
    /// Calls of so long: `90m`, `12h`, `7d` or `2w`.
    #[arg(long, value_name = "HOW LONG", default_value = "7d", value_parser = TimeSpan::read)]
    pub(crate) since: TimeSpan,
    /// What would run without asking: `ask`, `reads`, `writes` or `all`.
    #[arg(long, value_name = "SERVER=TO", value_parser = draft_auto_approve)]
    pub(crate) auto_approve: Vec<(String, AutoApproveArg)>,
    /// What would be allowed: a tool, or everything of a server.
    #[arg(long, value_name = "SERVER[:TOOL]")]
    pub(crate) allow: Vec<String>,
    /// What would be blocked: a tool, or everything of a server.
    #[arg(long, value_name = "SERVER[:TOOL]")]
    pub(crate) deny: Vec<String>,
    /// All of these only for this client (id or name).
    #[arg(long = "for", value_name = "CLIENT")]
    pub(crate) client: Option<String>,
    /// A rule that would be taken back.
    #[arg(long, value_name = "RULE")]
    pub(crate) without: Vec<String>,
    /// File with a draft as JSON: `without`, `autoApprove` and `rules`.
    #[arg(long, value_name = "FILE")]
    pub(crate) draft: Option<PathBuf>,
}

/// A time span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimeSpan(pub(crate) std::time::Duration);

impl TimeSpan {
    fn read(word: &str) -> Result<Self, String> {
        let span = word.parse::<jiff::Span>();
        let duration = span.and_then(|span| span.to_duration(jiff::SpanRelativeTo::days_are_24_hours()));
        let duration = duration.ok().and_then(|duration| std::time::Duration::try_from(duration).ok());
        duration.map(Self).ok_or_else(|| "a time span such as `90m`, `2h`, `7d` or `1w`".to_owned())
    }
}

fn draft_auto_approve(word: &str) -> Result<(String, AutoApproveArg), String> {
    let (server, to) = word.rsplit_once('=').ok_or("a server, `=`, and what would run without asking")?;
    Ok((server.to_owned(), AutoApproveArg::from_str(to, false)?))
}

#[derive(Debug, Args)]
pub(crate) struct ScopeArgs {
    /// Only this tool (name on the server).
    #[arg(long)]
    pub(crate) tool: Option<String>,
    /// All reads of the server.
    #[arg(long, conflicts_with = "tool")]
    pub(crate) reads: bool,
    /// Everything of the server.
    #[arg(long, conflicts_with_all = ["tool", "reads"])]
    pub(crate) all: bool,
    /// Only for this client (id or name).
    #[arg(long)]
    pub(crate) client: Option<String>,
    /// How long.
    #[arg(long = "for", value_name = "HOW LONG", default_value = "always")]
    pub(crate) lifetime: LifetimeArg,
    /// Only when this holds for the arguments; see below.
    #[arg(long, value_name = "CONDITION", value_parser = condition::read)]
    pub(crate) when: Vec<Condition>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LifetimeArg {
    /// For 15 minutes.
    #[value(name = "15m")]
    QuarterHour,
    /// Until Gatehouse quits.
    Quit,
    /// Until it is taken back.
    Always,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AutoApproveArg {
    /// Nothing.
    Ask,
    /// Reads.
    Reads,
    /// Writes, and not reads.
    Writes,
    /// Everything.
    All,
}

impl From<AutoApproveArg> for AutoApprove {
    fn from(word: AutoApproveArg) -> Self {
        match word {
            AutoApproveArg::Ask => Self::Ask,
            AutoApproveArg::Reads => Self::Reads,
            AutoApproveArg::Writes => Self::Writes,
            AutoApproveArg::All => Self::All,
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum SettingsVerb {
    /// What is set.
    Show,
    /// Set how long things are kept (what is older goes at once), how long calls may take, and how tools
    /// are named.
    Set {
        /// Days that the audit is kept, 7 or more, or `forever`.
        #[arg(long, value_name = "N|forever", value_parser = AuditDays::read)]
        audit_days: Option<AuditDays>,
        /// Days that calls are kept.
        #[arg(long, value_name = "N")]
        activity_days: Option<u32>,
        /// Calls that are kept at most.
        #[arg(long, value_name = "N")]
        activity_calls: Option<u32>,
        /// Public address of the Client ID Metadata Document, or `none`.
        #[arg(long, value_name = "URL|none")]
        client_document: Option<String>,
        /// Seconds that a call may take without progress, on servers that have no limit of their own.
        #[arg(long, value_name = "SECONDS|none", value_parser = Seconds::read)]
        call_limit: Option<Seconds>,
        /// Seconds that a call may take in all, on servers that have no limit of their own.
        #[arg(long, value_name = "SECONDS|none", value_parser = Seconds::read)]
        call_cap: Option<Seconds>,
        /// How clients see the names of tools and prompts.
        #[arg(long)]
        tool_names: Option<ToolNamingArg>,
    },
}

/// A number of seconds, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seconds(pub(crate) Option<u32>);

impl Seconds {
    fn read(word: &str) -> Result<Self, String> {
        if word == "none" {
            return Ok(Self(None));
        }
        let secs = word.parse().ok().filter(|secs| *secs > 0);
        secs.map(|secs| Self(Some(secs))).ok_or_else(|| "a number of seconds from 1, or `none`".to_owned())
    }
}

/// Parses a time limit of one server.
fn time_limit(word: &str) -> Result<TimeLimit, String> {
    if word == "default" {
        return Ok(TimeLimit::Default);
    }
    match Seconds::read(word) {
        Ok(Seconds(secs)) => Ok(secs.map_or(TimeLimit::Unlimited, TimeLimit::Secs)),
        Err(_) => {
            Err("a number of seconds from 1, `none`, or `default` for what is set for all servers".to_owned())
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ToolNamingArg {
    /// The tool's own name; the server in front only when the name is taken.
    OnConflict,
    /// `server__tool`.
    Server,
    /// `mcp__server__tool`.
    McpServer,
}

/// How long the audit log is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AuditDays {
    Days(u32),
    Forever,
}

impl AuditDays {
    fn read(word: &str) -> Result<Self, String> {
        if word == "forever" {
            return Ok(Self::Forever);
        }
        word.parse().map(Self::Days).map_err(|_| "a number of days, or `forever`".to_owned())
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum AuditVerb {
    /// The last entries.
    List {
        /// At most so many.
        #[arg(long, default_value_t = 1000)]
        limit: u32,
        /// Only after this entry.
        #[arg(long)]
        after: Option<u64>,
    },
    /// Check that nothing was changed or left out.
    Verify,
    /// Take the notice about missing entries out of the status; `verify` goes on naming the gap.
    Acknowledge,
    /// The whole audit as text.
    Export {
        /// In which form.
        #[arg(long, default_value = "json-lines")]
        format: ExportFormatArg,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormatArg {
    /// One JSON object a line.
    JsonLines,
    /// Comma-separated values with a header.
    Csv,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_line_definition_is_valid() {
        use clap::CommandFactory as _;
        Cli::command().debug_assert();
    }

    #[test]
    fn accepts_former_words_without_showing_them() {
        for (verb, word, former) in [("policy", "simulate", "rehearse"), ("tools", "omitted", "left-out")] {
            assert!(Cli::try_parse_from(["gatehousectl", verb, word]).is_ok(), "{verb} {word}");
            assert!(Cli::try_parse_from(["gatehousectl", verb, former]).is_ok(), "{verb} {former}");
            let help = Cli::try_parse_from(["gatehousectl", verb, "--help"]).unwrap_err().to_string();
            assert!(help.contains(word) && !help.contains(former), "{help}");
        }
    }

    #[test]
    fn auto_approve_takes_server_or_every_server() {
        let set = |words: &[&str]| {
            let all = [&["gatehousectl", "policy", "auto-approve"][..], words].concat();
            match Cli::try_parse_from(all).ok()?.verb {
                Verb::Policy { verb: PolicyVerb::AutoApprove { server, to, client, every_server } } => {
                    Some((server, to, client, every_server))
                }
                other => panic!("{other:?}"),
            }
        };
        let of = |server: Option<&str>, client: Option<&str>, every| {
            Some((server.map(str::to_owned), AutoApproveArg::Reads, client.map(str::to_owned), every))
        };
        assert_eq!(set(&["files", "reads"]), of(Some("files"), None, false));
        assert_eq!(set(&["--client", "a", "files", "reads"]), of(Some("files"), Some("a"), false));
        assert_eq!(set(&["reads", "--every-server"]), of(None, None, true));
        assert_eq!(set(&["reads"]), None);
        assert_eq!(set(&["files", "reads", "--every-server"]), None);
    }

    #[test]
    fn parses_time_spans_and_drafts() {
        for (word, minutes) in [
            ("90m", Some(90)),
            ("1.5h", Some(90)),
            ("1h 30m", Some(90)),
            ("7d", Some(10_080)),
            ("1w", Some(10_080)),
        ] {
            let read = TimeSpan::read(word).ok().map(|span| span.0.as_secs() / 60);
            assert_eq!(read, minutes, "{word}");
        }
        for word in ["", "7", "d", "-1d", "1 day ago", "1y", "7dd", "7日"] {
            assert!(TimeSpan::read(word).is_err(), "{word}");
        }
        assert_eq!(draft_auto_approve("a=b=all"), Ok(("a=b".into(), AutoApproveArg::All)));
        assert!(draft_auto_approve("a").is_err() && draft_auto_approve("a=most").is_err());
    }

    #[test]
    fn parses_time_limits() {
        for (word, own, of_all) in [
            ("5", Some(TimeLimit::Secs(5)), Some(Seconds(Some(5)))),
            ("none", Some(TimeLimit::Unlimited), Some(Seconds(None))),
            ("default", Some(TimeLimit::Default), None),
            ("0", None, None),
            ("-1", None, None),
            ("", None, None),
        ] {
            assert_eq!((time_limit(word).ok(), Seconds::read(word).ok()), (own, of_all), "{word}");
        }
    }

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
        assert!(!add(&["--url", "http://x", "--", "node"]));
        assert!(!add(&["--url", "http://x", "--builtin", "time"]));
    }
}
