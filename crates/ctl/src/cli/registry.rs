//! `servers registry …` and `servers link`: verbs and options.

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum RegistryVerb {
    /// Look for servers in the MCP registry by a part of their names.
    Search {
        /// Part of the name; all entries where absent.
        #[arg(default_value = "")]
        text: String,
        /// Where the page begins, as the page before it says.
        #[arg(long, value_name = "CURSOR")]
        cursor: Option<String>,
        /// Ask the registry even if it was a moment ago.
        #[arg(long)]
        refresh: bool,
    },
    /// Show an entry: its versions, how it is run, and what has to be entered for it.
    Show {
        /// Name of the entry, as in io.github.user/weather.
        name: String,
        /// The version; the newest one where absent.
        #[arg(long, value_name = "VERSION")]
        version: Option<String>,
    },
    /// Show whether there is a newer version of a server that was added from the registry.
    Check {
        /// Id or name.
        server: String,
    },
}

/// What says how a server is run without the registry. An option of an entry names them beside `requires`, which clap
/// ignores where they rule `--registry` out.
const WITHOUT_REGISTRY: [&str; 3] = ["url", "builtin", "command"];

/// How an entry of the registry becomes a server.
#[derive(Debug, Args)]
pub(crate) struct FromRegistryArgs {
    /// Entry of the MCP registry, as in io.github.user/weather.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["url", "builtin", "command", "env", "header", "headers_from", "cwd", "pipes"])]
    pub(crate) registry: Option<String>,
    /// Version of the entry; the newest one where absent.
    #[arg(long, value_name = "VERSION", requires = "registry", conflicts_with_all = WITHOUT_REGISTRY)]
    pub(crate) version: Option<String>,
    /// Which of its options is used, by id as `servers registry show` says it; the first one that can be used where absent.
    #[arg(long, value_name = "OPTION", requires = "registry", conflicts_with_all = WITHOUT_REGISTRY)]
    pub(crate) option: Option<String>,
    /// Value of something that the entry asks for. Its required secrets are asked for at the terminal, others if
    /// --secret names them.
    #[arg(long, value_name = "VAR=VALUE", requires = "registry", conflicts_with_all = WITHOUT_REGISTRY)]
    pub(crate) set: Vec<String>,
}
