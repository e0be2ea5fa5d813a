//! `call` and `calls`: their options.

use clap::{Args, Subcommand, ValueEnum};

use super::policy::TimeSpan;

#[derive(Debug, Args)]
pub(crate) struct CallArgs {
    /// Name of the tool as clients see it.
    pub(crate) tool: String,
    /// The arguments: one JSON object, or NAME=VALUE pairs.
    pub(crate) arguments: Vec<String>,
    /// File descriptor with the client's token; it is asked for at the terminal where absent.
    #[arg(long, value_name = "N")]
    pub(crate) token_fd: Option<i32>,
    /// Call it yourself with the operator key, in the name of this client (id or name).
    #[arg(long = "as", value_name = "CLIENT", conflicts_with = "token_fd")]
    pub(crate) as_client: Option<String>,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct CallsArgs {
    #[command(flatten)]
    pub(crate) filter: CallFilterArgs,
    /// At most so many.
    #[arg(long)]
    pub(crate) limit: Option<u32>,
    #[command(subcommand)]
    pub(crate) verb: Option<CallsVerb>,
}

#[derive(Debug, Args)]
pub(crate) struct CallFilterArgs {
    /// Only from this client (id).
    #[arg(long)]
    pub(crate) client: Option<String>,
    /// Only to this server (id).
    #[arg(long)]
    pub(crate) server: Option<String>,
    /// Only of this tool (name on the server), or of `prompt:NAME`; `resource:` is all resources.
    #[arg(long)]
    pub(crate) tool: Option<String>,
    /// Only what was decided so.
    #[arg(long)]
    pub(crate) decision: Option<DecisionArg>,
    /// Only what ended so.
    #[arg(long)]
    pub(crate) outcome: Option<OutcomeArg>,
    /// Only with these words in them.
    #[arg(long)]
    pub(crate) text: Option<String>,
    /// Only those that the user made, in the Playground or with `call --as`.
    #[arg(long)]
    pub(crate) by_user: bool,
    /// Only of so long: `90m`, `12h`, `7d` or `2w`.
    #[arg(long, value_name = "HOW LONG", value_parser = TimeSpan::read)]
    pub(crate) since: Option<TimeSpan>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CallsVerb {
    /// How many calls there were, how they ended, and which tools take how long.
    Stats {
        /// Of so long: `90m`, `12h`, `7d` or `2w`.
        #[arg(long, value_name = "HOW LONG", default_value = "7d", value_parser = TimeSpan::read)]
        since: TimeSpan,
        /// What is counted separately.
        #[arg(long, default_value = "day")]
        by: StatisticsArg,
        /// Only from this client (id).
        #[arg(long)]
        client: Option<String>,
        /// Only to this server (id).
        #[arg(long)]
        server: Option<String>,
    },
    /// Write the calls, newest first, to standard output.
    Export {
        #[command(flatten)]
        filter: CallFilterArgs,
        /// In which form.
        #[arg(long, default_value = "jsonl")]
        format: CallExportArg,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DecisionArg {
    /// It ran.
    Allow,
    /// A person was asked.
    Ask,
    /// It was refused.
    Deny,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutcomeArg {
    /// With a result.
    Ok,
    /// The tool or the server failed.
    Error,
    /// It was refused and never sent.
    Denied,
    /// It was cancelled, or the client was told to call again.
    Unfinished,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StatisticsArg {
    /// Each day.
    Day,
    /// Each hour.
    Hour,
    /// Each client.
    Client,
    /// Each server.
    Server,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CallExportArg {
    /// One JSON object a line.
    Jsonl,
    /// Comma-separated values with a header.
    Csv,
    /// An HTTP archive (HAR), for tools that read those.
    Har,
}
