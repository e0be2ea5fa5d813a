//! `policy …`: verbs and options.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use gatehouse_model::approval::AutoApprove;
use gatehouse_model::grant::Condition;

use crate::condition;

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
    /// Allows and servers that nobody needs any more, and allows that are wider than they were ever needed.
    Findings,
    /// Replace an allow that is wider than it was ever needed by one for the tools that were used.
    Narrow {
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
    pub(crate) fn read(word: &str) -> Result<Self, String> {
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

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::{Cli, Verb};

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
}
