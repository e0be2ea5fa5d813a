//! Ctrl+C ends this program, and with it the connection to Gatehouse, which cancels the command that the program waits for if
//! the command can be cancelled.

use crate::cli::{ServersVerb, Verb};
use crate::error::CliError;

/// Whether Ctrl+C is an ordinary end of this verb, which hears it itself.
pub(crate) fn is_handled_by(verb: &Verb) -> bool {
    matches!(verb, Verb::Servers { verb: ServersVerb::Log { follow: true, .. } })
}

/// Ends the program when Ctrl+C is pressed, also while it waits for a line from the terminal: so this has to run on
/// another thread.
pub(crate) async fn exit_on_ctrl_c(json: bool) {
    match tokio::signal::ctrl_c().await {
        Ok(()) => {
            let error = CliError::Interrupted;
            error.print(json);
            std::process::exit(error.exit_code().into());
        }
        Err(error) => tracing::error!(%error, "Ctrl+C cannot be heard"),
    }
}
