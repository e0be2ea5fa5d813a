//! Options of `bridge`.

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct BridgeArgs {
    /// Name of the client whose token in the keychain is used; see `clients add --bridge`.
    #[arg(long, value_name = "NAME", default_value = "bridge")]
    pub(crate) client: String,
    /// Name or id of a profile that narrows what the client sees, beside its own and that of the working folder.
    #[arg(long, value_name = "PROFILE")]
    pub(crate) profile: Option<String>,
    /// File descriptor with the client's token, where there is no keychain.
    #[arg(long, value_name = "N")]
    pub(crate) token_fd: Option<i32>,
    /// Don't start the desktop app if no Gatehouse runs.
    #[arg(long)]
    pub(crate) no_start: bool,
    /// Write to standard error what the bridge does.
    #[arg(short, long)]
    pub(crate) verbose: bool,
}
