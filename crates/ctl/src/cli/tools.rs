//! `tools …`: verbs and options.

use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Subcommand)]
pub(crate) enum ToolsVerb {
    /// All tools of all connected servers.
    List {
        #[command(flatten)]
        of: ServerFilterArgs,
    },
    /// The tools that servers list and clients do not get, with the reason.
    #[command(alias = "left-out")]
    Omitted {
        #[command(flatten)]
        of: ServerFilterArgs,
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

#[derive(Debug, Args)]
pub(crate) struct ServerFilterArgs {
    /// Only of this server (id or name).
    #[arg(value_name = "SERVER", conflicts_with = "server")]
    name: Option<String>,
    /// The same.
    #[arg(long)]
    server: Option<String>,
}

impl ServerFilterArgs {
    /// The server, if one is named.
    pub(crate) fn server(self) -> Option<String> {
        self.name.or(self.server)
    }
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
