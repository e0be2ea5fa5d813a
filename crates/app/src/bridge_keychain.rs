//! Tokens of clients in the user's keychain, for `gatehousectl bridge`. That program stores and deletes them itself: some
//! keychains give an item only to the program that made it. So the core runs it, and gives it the token on its standard
//! input, where no other program sees it.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use gatehouse_model::{ErrorCode, Secret, UserError, message};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use crate::programs;

/// How long the keychain may take; it may ask the user.
const TIMEOUT: Duration = Duration::from_secs(120);

/// How long the deletion of a token may take: nobody waits at the screen for it.
const DELETE_TIMEOUT: Duration = Duration::from_secs(10);

/// Stores the token of a client.
///
/// # Errors
/// When `gatehousectl` isn't there, or there is no keychain that takes the token.
pub(crate) async fn keep(data_dir: &Path, client: &str, token: &Secret) -> Result<(), UserError> {
    let Some(program) = programs::gatehousectl() else {
        return Err(UserError::new(ErrorCode::NotFound, message!("error.app.noBridgeProgram")));
    };
    let words = ["clients", "keep-token", "--token-fd", "0", "--", client];
    run(&program, data_dir, &words, Some(token), TIMEOUT).await
}

/// Deletes the token of a client that was revoked, if it was stored. Errors are only logged: the token is worthless.
pub(crate) async fn forget(data_dir: &Path, client: &str) {
    let Some(program) = programs::gatehousectl() else { return };
    let words = ["clients", "forget-token", "--", client];
    if let Err(error) = run(&program, data_dir, &words, None, DELETE_TIMEOUT).await {
        tracing::info!(%error, "the token of a revoked client was not deleted from a keychain");
    }
}

async fn run(
    program: &Path,
    data_dir: &Path,
    words: &[&str],
    input: Option<&Secret>,
    timeout: Duration,
) -> Result<(), UserError> {
    let failed = |cause: String| {
        UserError::new(ErrorCode::SecretsUnavailable, message!("error.app.keychainFailed")).with_cause(cause)
    };
    let mut command = Command::new(program);
    command.arg("--json").arg("--data-dir").arg(data_dir).args(words);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
    #[cfg(windows)]
    command.creation_flags(0x0800_0000); // CREATE_NO_WINDOW
    let work = async {
        let mut child = command.spawn()?;
        // Dropped after that: the program reads to the end.
        if let Some(mut stdin) = child.stdin.take()
            && let Some(input) = input
        {
            stdin.write_all(input.reveal().as_bytes()).await?;
            stdin.shutdown().await?;
        }
        child.wait_with_output().await
    };
    let output = match tokio::time::timeout(timeout, work).await {
        Ok(output) => output.map_err(|error: std::io::Error| failed(format!("{error}.")))?,
        Err(_) => return Err(failed("The keychain did not answer.".to_owned())),
    };
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(serde_json::from_str::<UserError>(&said).unwrap_or_else(|_| failed(said.trim().to_owned())))
}
