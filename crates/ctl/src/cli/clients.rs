//! `clients …`: verbs.

use clap::Subcommand;
use gatehouse_model::App;

use super::app_word::app_word;
use super::profiles::ClientProfileArgs;

#[derive(Debug, Subcommand)]
pub(crate) enum ClientsVerb {
    /// All clients.
    List,
    /// Add a client; its token is shown this once.
    Add {
        /// Name for it; unique.
        name: String,
        /// Store the token in the keychain for `gatehousectl bridge` instead of showing it.
        #[arg(long)]
        bridge: bool,
    },
    /// Give a client a new token; the old one ends.
    Rotate {
        /// Id or name.
        client: String,
        /// Store the token in the keychain for `gatehousectl bridge` instead of showing it.
        #[arg(long)]
        bridge: bool,
    },
    /// Store the token of a client that was added in a window in the keychain, for `gatehousectl bridge`.
    KeepToken {
        /// Name of the client.
        name: String,
        /// File descriptor with the token; the terminal where absent.
        #[arg(long, value_name = "N")]
        token_fd: Option<i32>,
    },
    /// Delete a client's token from the keychain. Revoking the client does that too.
    ForgetToken {
        /// Name of the client.
        name: String,
    },
    /// Give a client a profile, or take it away.
    Set {
        /// Id or name.
        client: String,
        #[command(flatten)]
        profile: ClientProfileArgs,
    },
    /// AI applications on this computer, and whether they are connected.
    Apps,
    /// Connect an AI application: add a client, and an entry to the application's settings. The change is shown first,
    /// and a copy of the settings is kept.
    Connect {
        /// Which application.
        #[arg(value_parser = app_word())]
        app: App,
        /// Show the change, and write nothing.
        #[arg(long)]
        dry_run: bool,
        /// Also add the application's own rule that allows all of Gatehouse's tools, so that only Gatehouse asks.
        #[arg(long)]
        allow_rule: bool,
    },
    /// Disconnect an AI application: bring its settings back, and revoke its client.
    Disconnect {
        /// Which application.
        #[arg(value_parser = app_word())]
        app: App,
    },
    /// End a client's access.
    Revoke {
        /// Id or name.
        client: String,
    },
}
