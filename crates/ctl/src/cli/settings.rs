//! `settings …`: verbs and options.

use clap::{Subcommand, ValueEnum};
use gatehouse_model::ToolNaming;

use super::time_limits::Seconds;

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
        /// Further names under which clients reach the gateway, as `host` or `host:port`, or `none`. All of them: those
        /// that are left out no longer count.
        #[arg(long, value_name = "HOST|none", num_args = 1.., value_delimiter = ',')]
        allowed_hosts: Option<Vec<String>>,
        /// Address of the MCP registry that servers are looked for in, or `official`.
        #[arg(long, value_name = "URL|official")]
        registry: Option<String>,
    },
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

impl From<ToolNamingArg> for ToolNaming {
    fn from(word: ToolNamingArg) -> Self {
        match word {
            ToolNamingArg::OnConflict => Self::OnConflict,
            ToolNamingArg::Server => Self::Server,
            ToolNamingArg::McpServer => Self::McpServer,
        }
    }
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
