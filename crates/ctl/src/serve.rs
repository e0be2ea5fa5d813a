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
use gatehouse_model::{ErrorCode, Problem, Secret};
use serde::Serialize;

use crate::cli::{SecretsWhere, Serve};
use crate::descriptor::{self, KeySink};
use crate::failure::Failure;

/// File with the last port, so that clients need not be reconfigured.
const PORT_FILE: &str = "port";

/// Time limit at exit for threads that are still in a lookup.
const LAST_WAIT: Duration = Duration::from_secs(1);

/// The one line on standard output.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Ready<'a> {
    endpoint: &'a str,
    pid: u32,
    data_dir: &'a str,
}

pub(crate) fn run(
    data_dir: Option<PathBuf>,
    key_descriptor: Option<i32>,
    wanted: &Serve,
) -> Result<(), Failure> {
    let data_dir =
        data_dir.ok_or_else(|| Failure::Usage("Say with --data-dir which folder to use.".to_owned()))?;
    // Before anything else opens a file, since the caller chose these descriptor numbers.
    let passphrase = match wanted.vault_passphrase_fd {
        Some(descriptor) => Some(descriptor::read_secret(descriptor, "passphrase of the vault")?),
        None => None,
    };
    let sink = KeySink::open(key_descriptor)?;
    let operator_key = OperatorKey::Kept { hand_over: to_sink(sink.clone()), anew: wanted.new_operator_key };
    // Before anything is written there, including the log.
    let data_dir = gatehouse_app::prepare_folder(&data_dir).map_err(Problem::from)?;
    gatehouse_app::logging::start(&data_dir)?;
    let secrets = open_secrets(wanted.secrets, &data_dir, passphrase)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let listen = wanted.listen.unwrap_or_else(|| usual_address(&data_dir));
    let guard_program = Some(std::env::current_exe()?);
    let options = CoreOptions { operator_key, guard_program, ..CoreOptions::new(data_dir, listen, secrets) };
    let served = runtime.block_on(serve(options, sink));
    // Everything that has to be finished is finished by now. A lookup on a file system that hangs may
    // never return.
    runtime.shutdown_timeout(LAST_WAIT);
    served
}

async fn serve(options: CoreOptions, sink: Option<KeySink>) -> Result<(), Failure> {
    let data_dir = std::path::absolute(&options.data_dir)?;
    let stop = Stop::listen()?;
    let core = Core::start(options).await?;
    let endpoint = core.endpoint();
    remember_port(&data_dir, &endpoint);
    about_the_key(core.operator_key_state(), sink.as_ref());
    let ready =
        Ready { endpoint: &endpoint, pid: std::process::id(), data_dir: &data_dir.display().to_string() };
    let said = say_ready(&ready);
    if said.is_ok() {
        stop.wanted().await;
    }
    core.shutdown().await;
    said
}

fn say_ready(ready: &Ready<'_>) -> Result<(), Failure> {
    let line = serde_json::to_string(ready).map_err(std::io::Error::from)?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}

/// Hands a new operator key to the user. Without a key nothing can be approved.
fn to_sink(sink: Option<KeySink>) -> gatehouse_app::HandOver {
    Box::new(move |key: &Secret| {
        let nobody =
            |why: &str| Problem::new(ErrorCode::BadRequest, "The operator key reached nobody.").why(why);
        let sink = sink.ok_or_else(|| nobody("There is no terminal and no --operator-key-fd."))?;
        sink.hand_over(key).map_err(|error| nobody(&format!("{error}.")))
    })
}

/// Reports the state of the operator key, unless handing over the key reports it.
fn about_the_key(state: OperatorKeyState, sink: Option<&KeySink>) {
    match state {
        OperatorKeyState::Known => {
            let told = sink
                .map(|sink| sink.tell("The operator key of this folder is the one that was shown before."));
            if let Some(Err(error)) = told {
                tracing::debug!(%error, "the terminal is gone");
            }
        }
        OperatorKeyState::Anew => say(
            "The operator key was made anew. What was allowed before is suspended: `gatehousectl policy suspended` shows it, `gatehousectl policy confirm` lets it count again. Secrets and sign-ins of servers have to be entered anew.",
        ),
        OperatorKeyState::NotHandedOver => say(
            "There is no terminal and no --operator-key-fd for the operator key: nothing can be approved, added or resumed in this run.",
        ),
        OperatorKeyState::Lost => say(
            "The operator key of this folder is not known: nothing can be approved, added or resumed in this run. `serve --new-operator-key` makes one; what was allowed is suspended then until you confirm it.",
        ),
        OperatorKeyState::New | OperatorKeyState::None => {}
    }
}

fn open_secrets(
    wanted: Option<SecretsWhere>,
    data_dir: &Path,
    passphrase: Option<Secret>,
) -> Result<Arc<dyn SecretStore>, Failure> {
    match (wanted, passphrase) {
        (Some(SecretsWhere::Keychain), _) => Ok(open_keychain().map_err(Problem::from)?),
        (Some(SecretsWhere::Vault), passphrase) => {
            let passphrase = passphrase.or_else(|| descriptor::ask_at_terminal("Passphrase of the vault"));
            let passphrase = passphrase.ok_or_else(|| {
                Problem::new(ErrorCode::SecretsUnavailable, "The vault needs its passphrase.")
                    .todo("Give it with --vault-passphrase-fd, or start at a terminal.")
            })?;
            Ok(open_vault(data_dir, &passphrase).map_err(Problem::from)?)
        }
        (Some(SecretsWhere::Memory), _) => Ok(forgetful()),
        (None, passphrase) => match (open_keychain(), passphrase) {
            (Ok(keychain), _) => Ok(keychain),
            (Err(_), Some(passphrase)) => Ok(open_vault(data_dir, &passphrase).map_err(Problem::from)?),
            (Err(error), None) => {
                say(&format!("{error} There is no --vault-passphrase-fd either."));
                Ok(forgetful())
            }
        },
    }
}

fn forgetful() -> Arc<dyn SecretStore> {
    say("Secrets are kept in memory: secrets, clients and grants last only until this Gatehouse stops.");
    memory()
}

fn say(text: &str) {
    // If standard error is closed, there is nowhere to report it.
    writeln!(std::io::stderr(), "gatehousectl: {text}").unwrap_or(());
}

/// The last port if it is free, else any port.
fn usual_address(data_dir: &Path) -> SocketAddr {
    let last = std::fs::read_to_string(data_dir.join(PORT_FILE))
        .ok()
        .and_then(|text| text.trim().parse::<u16>().ok());
    let free = last.filter(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok());
    SocketAddr::from((Ipv4Addr::LOCALHOST, free.unwrap_or(0)))
}

fn remember_port(data_dir: &Path, endpoint: &str) {
    let port = endpoint.rsplit_once(':').and_then(|(_, rest)| rest.split('/').next());
    let Some(port) = port else { return };
    if let Err(error) = atomic_file::replace(&data_dir.join(PORT_FILE), port.as_bytes()) {
        tracing::warn!(%error, "the port could not be remembered");
    }
}

#[cfg(unix)]
struct Stop {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Stop {
    fn listen() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    async fn wanted(mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

#[cfg(not(unix))]
struct Stop;

#[cfg(not(unix))]
impl Stop {
    fn listen() -> std::io::Result<Self> {
        Ok(Self)
    }

    async fn wanted(self) {
        if let Err(error) = tokio::signal::ctrl_c().await {
            tracing::error!(%error, "Ctrl+C cannot be heard");
            std::future::pending::<()>().await;
        }
    }
}
