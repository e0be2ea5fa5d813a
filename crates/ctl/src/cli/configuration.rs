//! `export` and `import`: options.

use std::path::PathBuf;

use clap::Args;

use super::NameConflictArg;

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// File that is written, which must not be there yet; standard output with `-`.
    #[arg(default_value = "-")]
    pub(crate) file: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// File that `export` wrote; standard input with `-`.
    pub(crate) file: PathBuf,
    /// Only show what would be imported.
    #[arg(long)]
    pub(crate) list: bool,
    /// What to do where a server, a profile, a client or a model provider with the same name is another one here. `overwrite` also replaces
    /// the settings.
    #[arg(long, value_enum, default_value = "skip")]
    pub(crate) on_conflict: NameConflictArg,
    /// Also import what lets tools run without asking, and model providers that have another address here. `--list` shows
    /// each in full.
    #[arg(long)]
    pub(crate) allow_rules: bool,
    /// Value that servers ask for, by its id. Those that are secrets are asked for at the terminal.
    #[arg(long, value_name = "ID=VALUE")]
    pub(crate) input: Vec<String>,
    /// File descriptor with the secrets, one a line: those of inputs in the order of their ids, then those of servers and
    /// model providers in the order of `--list`. An empty line leaves the secret for later.
    #[arg(long, value_name = "N")]
    pub(crate) secret_fd: Option<i32>,
}
