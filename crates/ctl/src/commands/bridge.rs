//! `bridge`: what AI clients without HTTP start. Standard output belongs to the protocol.

use std::path::PathBuf;

use gatehouse_model::{ErrorCode, UserError, message};

use crate::bridge::tokens::BridgeTokenSource;
use crate::bridge::{self, BridgeOptions};
use crate::cli::BridgeArgs;
use crate::error::CliError;
use crate::secret_input;
use crate::session;
use crate::shutdown_signal::ShutdownSignal;

pub(crate) fn run(data_dir: Option<PathBuf>, wanted: &BridgeArgs) -> Result<(), CliError> {
    // The app serves the default folder.
    let starts_app = data_dir.is_none() && !wanted.no_start;
    let data_dir = data_dir.map_or_else(session::default_data_dir, Ok)?;
    let tokens = match wanted.token_fd {
        Some(descriptor) => {
            BridgeTokenSource::fixed(secret_input::read_secret(descriptor, message!("ctl.secret.token"))?)
        }
        None => BridgeTokenSource::keychain(&data_dir, &wanted.client)?,
    };
    if tokens.is_empty() {
        let client = &wanted.client;
        let error = UserError::new(ErrorCode::NotFound, message!("error.ctl.noBridgeToken", client = client))
            .with_hint(message!("error.ctl.noBridgeTokenHint", client = client));
        return Err(error.into());
    }
    let options = BridgeOptions {
        data_dir,
        tokens,
        profile: wanted.profile.clone(),
        starts_app,
        is_verbose: wanted.verbose,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let outcome = runtime.block_on(async {
        let stop = ShutdownSignal::listen()?;
        bridge::run(options, stop.received()).await?;
        Ok(())
    });
    // A thread may still wait for a line of standard input.
    runtime.shutdown_background();
    outcome
}
