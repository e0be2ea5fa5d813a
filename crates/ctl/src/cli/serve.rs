//! `serve`: its options.

use clap::{Args, ValueEnum};

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
