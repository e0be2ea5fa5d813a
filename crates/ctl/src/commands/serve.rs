//! `gatehousectl serve`: the whole core without a window. Standard output gets exactly one line, when
//! the core is ready; a new operator key goes to the terminal or to a descriptor, and nowhere else.

use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use gatehouse_app::{
    Core, CoreOptions, OperatorKey, OperatorKeyState, SecretStore, memory, open_keychain, open_vault,
};
use gatehouse_common::atomic_file;
use gatehouse_model::{ErrorCode, Message, Secret, UserError, UserText, message};
use serde::Serialize;

use crate::cli::{SecretStoreArg, ServeArgs};
use crate::error::CliError;
use crate::secret_input::{self, KeySink};
use crate::shutdown_signal::ShutdownSignal;
use crate::terminal_text;

/// File with the last port, so that clients need not be reconfigured.
const PORT_FILE: &str = "port";

/// Time limit at exit for threads that are still in a lookup.
const LAST_WAIT: Duration = Duration::from_secs(1);

/// The one line on standard output.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReadyLine<'a> {
    endpoint: &'a str,
    pid: u32,
    data_dir: &'a str,
}

pub(crate) fn run(
    data_dir: Option<PathBuf>,
    key_descriptor: Option<i32>,
    wanted: &ServeArgs,
) -> Result<(), CliError> {
    let data_dir = data_dir.ok_or_else(|| CliError::usage(message!("error.ctl.noDataDir")))?;
    // Before anything else opens a file, since the caller chose these descriptor numbers.
    let passphrase = match wanted.vault_passphrase_fd {
        Some(descriptor) => Some(secret_input::read_secret(descriptor, message!("ctl.secret.passphrase"))?),
        None => None,
    };
    let sink = KeySink::open(key_descriptor)?;
    let operator_key = OperatorKey::Stored {
        hand_over: key_hand_over(sink.clone()),
        should_replace: wanted.new_operator_key,
    };
    // Before anything is written there, including the log.
    let data_dir = gatehouse_app::prepare_folder(&data_dir).map_err(UserError::from)?;
    gatehouse_app::logging::start(&data_dir)?;
    let secrets = open_secrets(wanted.secrets, &data_dir, passphrase)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let listen = wanted.listen.unwrap_or_else(|| default_address(&data_dir));
    let guard_program = gatehouse_app::helper_program();
    let options = CoreOptions { operator_key, guard_program, ..CoreOptions::new(data_dir, listen, secrets) };
    let served = runtime.block_on(serve(options, sink));
    // Everything that has to be finished is finished by now. A lookup on a file system that hangs may
    // never return.
    runtime.shutdown_timeout(LAST_WAIT);
    served
}

async fn serve(options: CoreOptions, sink: Option<KeySink>) -> Result<(), CliError> {
    let data_dir = std::path::absolute(&options.data_dir)?;
    let stop = ShutdownSignal::listen()?;
    let core = Core::start(options).await?;
    let endpoint = core.endpoint();
    save_port(&data_dir, &endpoint);
    report_key_state(core.operator_key_state(), sink.as_ref());
    let ready =
        ReadyLine { endpoint: &endpoint, pid: std::process::id(), data_dir: &data_dir.display().to_string() };
    let printed = print_ready(&ready);
    if printed.is_ok() {
        stop.received().await;
    }
    core.shutdown().await;
    printed
}

fn print_ready(ready: &ReadyLine<'_>) -> Result<(), CliError> {
    let line = serde_json::to_string(ready).map_err(std::io::Error::from)?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}

/// Hands a new operator key to the user. Without a key nothing can be approved.
fn key_hand_over(sink: Option<KeySink>) -> gatehouse_app::KeyHandOver {
    Box::new(move |key: &Secret| {
        let not_delivered = |why: UserText| {
            UserError::new(ErrorCode::BadRequest, message!("error.ctl.keyUndelivered")).with_cause(why)
        };
        let sink = sink.ok_or_else(|| not_delivered(message!("error.ctl.keyUndeliveredCause").into()))?;
        sink.write_key(key).map_err(|error| not_delivered(format!("{error}.").into()))
    })
}

/// Reports the state of the operator key, unless handing over the key reports it.
fn report_key_state(state: OperatorKeyState, sink: Option<&KeySink>) {
    match state {
        OperatorKeyState::Known => {
            let told = sink.map(|sink| sink.print_note(&message!("ctl.serve.keyKnown")));
            if let Some(Err(error)) = told {
                tracing::debug!(%error, "the terminal is gone");
            }
        }
        OperatorKeyState::Replaced => print_status(&message!("ctl.serve.keyReplaced")),
        OperatorKeyState::NotHandedOver => print_status(&message!("ctl.serve.keyNotHandedOver")),
        OperatorKeyState::Lost => print_status(&message!("ctl.serve.keyLost")),
        OperatorKeyState::New | OperatorKeyState::None => {}
    }
}

fn open_secrets(
    wanted: Option<SecretStoreArg>,
    data_dir: &Path,
    passphrase: Option<Secret>,
) -> Result<Arc<dyn SecretStore>, CliError> {
    match (wanted, passphrase) {
        (Some(SecretStoreArg::Keychain), _) => Ok(open_keychain().map_err(UserError::from)?),
        (Some(SecretStoreArg::Vault), passphrase) => {
            let passphrase =
                passphrase.or_else(|| secret_input::prompt_for_secret(&message!("ctl.prompt.passphrase")));
            let passphrase = passphrase.ok_or_else(|| {
                UserError::new(ErrorCode::SecretsUnavailable, message!("error.ctl.vaultLocked"))
                    .with_hint(message!("error.ctl.vaultLockedHint"))
            })?;
            Ok(open_vault(data_dir, &passphrase).map_err(UserError::from)?)
        }
        (Some(SecretStoreArg::Memory), _) => Ok(memory_secrets()),
        (None, passphrase) => match (open_keychain(), passphrase) {
            (Ok(keychain), _) => Ok(keychain),
            (Err(_), Some(passphrase)) => Ok(open_vault(data_dir, &passphrase).map_err(UserError::from)?),
            (Err(error), None) => {
                let reason = UserError::from(error).message;
                print_status(&message!("ctl.serve.noPassphrase", reason = reason));
                Ok(memory_secrets())
            }
        },
    }
}

fn memory_secrets() -> Arc<dyn SecretStore> {
    print_status(&message!("ctl.serve.memory"));
    memory()
}

fn print_status(status: &Message) {
    // If standard error is closed, there is nowhere to report it.
    writeln!(std::io::stderr(), "gatehousectl: {}", terminal_text::message(status)).unwrap_or(());
}

/// The last port if it is free, else any port.
fn default_address(data_dir: &Path) -> SocketAddr {
    let last = std::fs::read_to_string(data_dir.join(PORT_FILE))
        .ok()
        .and_then(|text| text.trim().parse::<u16>().ok());
    let free = last.filter(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok());
    SocketAddr::from((Ipv4Addr::LOCALHOST, free.unwrap_or(0)))
}

fn save_port(data_dir: &Path, endpoint: &str) {
    let port = endpoint.rsplit_once(':').and_then(|(_, rest)| rest.split('/').next());
    let Some(port) = port else { return };
    if let Err(error) = atomic_file::replace(&data_dir.join(PORT_FILE), port.as_bytes()) {
        tracing::warn!(%error, "the port could not be remembered");
    }
}
