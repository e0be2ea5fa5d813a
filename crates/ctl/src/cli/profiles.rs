//! The words of `profiles …`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use gatehouse_model::profile::{DeniedTools, OtherServers, ToolListMode};

use super::ToolNamingArg;

#[derive(Debug, Subcommand)]
pub(crate) enum ProfilesVerb {
    /// All profiles, with what their lists of tools cost a model.
    List,
    /// Everything that a profile says.
    Show {
        /// Id or name.
        profile: String,
    },
    /// Add a profile. It shows everything where the options don't say otherwise.
    Add {
        /// Name for it; unique.
        name: String,
        #[command(flatten)]
        change: Box<ProfileArgs>,
    },
    /// Change a profile. What the options don't name stays as it is.
    Set {
        /// Id or name.
        profile: String,
        /// Another name for it.
        #[arg(long)]
        name: Option<String>,
        #[command(flatten)]
        change: Box<ProfileArgs>,
    },
    /// Ask about the servers in `.mcp.json` of the profile's folders, also about those that were declined before.
    AddServers {
        /// Id or name.
        profile: String,
    },
    /// Remove a profile that no client uses, with the servers of its projects.
    Remove {
        /// Id or name.
        profile: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ProfileArgs {
    /// Show everything of this server.
    #[arg(long, value_name = "SERVER")]
    pub(crate) show: Vec<String>,
    /// Show nothing of this server.
    #[arg(long, value_name = "SERVER")]
    pub(crate) hide: Vec<String>,
    /// Of this server's tools show only these, by their names on the server.
    #[arg(long, value_name = "SERVER=TOOL,…", value_parser = server_tools)]
    pub(crate) only: Vec<ToolsOfServer>,
    /// Show all tools of this server but these.
    #[arg(long, value_name = "SERVER=TOOL,…", value_parser = server_tools)]
    pub(crate) except: Vec<ToolsOfServer>,
    /// Say nothing about this server: it is as those that the profile doesn't name.
    #[arg(long, value_name = "SERVER")]
    pub(crate) unset: Vec<String>,
    /// Servers that the profile doesn't name, also those that are added later; `hidden` is strict mode.
    #[arg(long, value_name = "WHAT")]
    pub(crate) others: Option<OthersArg>,
    /// Tools that a permanent rule blocks for the client.
    #[arg(long, value_name = "WHAT")]
    pub(crate) denied: Option<DeniedArg>,
    /// How tools are named.
    #[arg(long, value_name = "MODE")]
    pub(crate) names: Option<ProfileNamesArg>,
    /// How the client gets to know its tools.
    #[arg(long, value_name = "HOW")]
    pub(crate) tool_list: Option<ToolListArg>,
    /// The most requests to servers in 60 seconds, or `none`.
    #[arg(long, value_name = "NUMBER", value_parser = calls_per_minute)]
    pub(crate) calls_per_minute: Option<CallsPerMinute>,
    /// Bind the profile to this project folder: bridges that work in it see only what the profile shows.
    #[arg(long, value_name = "DIR")]
    pub(crate) folder: Vec<PathBuf>,
    /// Bind it to this folder no longer.
    #[arg(long, value_name = "DIR")]
    pub(crate) no_folder: Vec<PathBuf>,
}

/// A server with tools of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ToolsOfServer {
    pub(crate) server: String,
    pub(crate) tools: Vec<String>,
}

/// A limit of calls, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CallsPerMinute(pub(crate) Option<u32>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OthersArg {
    /// The client sees them.
    Shown,
    /// The client sees the servers of its profile and no others.
    Hidden,
}

impl From<OthersArg> for OtherServers {
    fn from(word: OthersArg) -> Self {
        match word {
            OthersArg::Shown => Self::Shown,
            OthersArg::Hidden => Self::Hidden,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DeniedArg {
    /// They are in the list, and calls are refused.
    Listed,
    /// They are not in the list.
    Hidden,
}

impl From<DeniedArg> for DeniedTools {
    fn from(word: DeniedArg) -> Self {
        match word {
            DeniedArg::Listed => Self::Listed,
            DeniedArg::Hidden => Self::Hidden,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ToolListArg {
    /// All tools are listed.
    Full,
    /// The client searches: `search_tools`, `describe_tool` and `call_tool` are listed.
    Search,
}

impl From<ToolListArg> for ToolListMode {
    fn from(word: ToolListArg) -> Self {
        match word {
            ToolListArg::Full => Self::Full,
            ToolListArg::Search => Self::Search,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProfileNamesArg {
    /// As in the settings.
    Default,
    /// The tool's own name; the server in front only when the name is taken.
    OnConflict,
    /// `server__tool`.
    Server,
    /// `mcp__server__tool`.
    McpServer,
}

impl ProfileNamesArg {
    /// The mode of its own, if it is one.
    pub(crate) fn mode(self) -> Option<ToolNamingArg> {
        match self {
            Self::Default => None,
            Self::OnConflict => Some(ToolNamingArg::OnConflict),
            Self::Server => Some(ToolNamingArg::Server),
            Self::McpServer => Some(ToolNamingArg::McpServer),
        }
    }
}

/// Which profile a client is to have.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct ClientProfileArgs {
    /// Give the client this profile (id or name).
    #[arg(long)]
    pub(crate) profile: Option<String>,
    /// Take its profile away: it sees all servers.
    #[arg(long)]
    pub(crate) no_profile: bool,
}

fn server_tools(text: &str) -> Result<ToolsOfServer, String> {
    let (server, tools) = text.split_once('=').ok_or("no SERVER=TOOL,…")?;
    let tools = tools.split(',').map(str::trim).filter(|tool| !tool.is_empty()).map(str::to_owned);
    Ok(ToolsOfServer { server: server.to_owned(), tools: tools.collect() })
}

fn calls_per_minute(text: &str) -> Result<CallsPerMinute, String> {
    if text == "none" {
        return Ok(CallsPerMinute(None));
    }
    text.parse()
        .map(|limit| CallsPerMinute(Some(limit)))
        .map_err(|_| "neither a number nor `none`".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_servers_with_tools_and_limits() {
        let tools = |server: &str, tools: &[&str]| ToolsOfServer {
            server: server.to_owned(),
            tools: tools.iter().map(|tool| (*tool).to_owned()).collect(),
        };
        assert_eq!(server_tools("My files=read, write"), Ok(tools("My files", &["read", "write"])));
        assert_eq!(server_tools("files="), Ok(tools("files", &[])));
        assert!(server_tools("files").is_err());
        assert_eq!(calls_per_minute("none"), Ok(CallsPerMinute(None)));
        assert_eq!(calls_per_minute("30"), Ok(CallsPerMinute(Some(30))));
        assert!(calls_per_minute("-1").is_err());
    }
}
