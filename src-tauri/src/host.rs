//! Owns the core: starts it with the application, gives commands access to it, and stops it before the
//! application exits, so that no server is left running.

mod vault;

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;

use gatehouse_app::{Authority, Core, CoreOptions, EventStream, Owner, SecretStore};
use gatehouse_model::command::{Command, Request};
use gatehouse_model::{ErrorCode, Problem};
use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::sync::{OwnedRwLockWriteGuard, RwLock};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::address;
use crate::links::Browser;
use crate::secrets::{self, Found};

/// State of the core.
enum Slot {
    NotStarted,
    /// Waits for the user to unlock the vault or to continue without it.
    Locked,
    Running(Running),
    Failed(Problem),
    Stopped,
}

/// A core with its secret store.
struct Running {
    core: Core,
    secrets: Arc<dyn SecretStore>,
}

/// Result of a start.
pub(crate) enum Begun {
    /// The core runs; its events.
    Running(EventStream),
    /// The vault is locked.
    Locked,
    /// The core could not be started.
    Failed,
}

impl Slot {
    fn running(&self) -> Result<&Running, Problem> {
        match self {
            Self::Running(running) => Ok(running),
            Self::Failed(problem) => Err(problem.clone()),
            Self::Locked => Err(locked()),
            Self::NotStarted | Self::Stopped => Err(stopped()),
        }
    }

    fn core(&self) -> Result<&Core, Problem> {
        self.running().map(|running| &running.core)
    }

    fn begun(&self) -> Begun {
        match self {
            Self::Running(running) => Begun::Running(running.core.events()),
            Self::Locked => Begun::Locked,
            Self::NotStarted | Self::Failed(_) | Self::Stopped => Begun::Failed,
        }
    }
}

/// Holds the core for as long as the application runs.
#[derive(Clone)]
pub(crate) struct Host {
    /// Written only when the core is started, stopped or replaced; a command that comes early waits for
    /// the start.
    slot: Arc<RwLock<Slot>>,
    data_dir: PathBuf,
    quitting: CancellationToken,
    /// Cancels running commands when their core is about to stop.
    stopping: Arc<Mutex<CancellationToken>>,
    /// Serializes changes of the secret store.
    moving: Arc<tokio::sync::Mutex<()>>,
    tasks: TaskTracker,
}

/// The write lock of the slot, held from the beginning so that no command runs before the first start.
pub(crate) struct Starting {
    slot: OwnedRwLockWriteGuard<Slot>,
}

impl Host {
    /// A host whose core is about to be started on this folder.
    pub(crate) fn new(data_dir: PathBuf) -> Result<(Self, Starting), Problem> {
        let slot = Arc::new(RwLock::new(Slot::NotStarted));
        let starting = Arc::clone(&slot).try_write_owned();
        let starting = starting
            .map_err(|e| Problem::new(ErrorCode::Internal, "The core has no place.").why(format!("{e}.")))?;
        let quitting = CancellationToken::new();
        let stopping = Arc::new(Mutex::new(quitting.child_token()));
        let host =
            Self { slot, data_dir, quitting, stopping, moving: Arc::default(), tasks: TaskTracker::new() };
        Ok((host, Starting { slot: starting }))
    }

    /// Starts the core for the first time.
    pub(crate) async fn start(&self, mut starting: Starting, begun: impl FnOnce(Begun)) {
        *starting.slot = self.try_to_start().await;
        begun(starting.slot.begun());
    }

    /// Starts the core again if it could not be started.
    pub(crate) async fn start_again(&self, begun: impl FnOnce(Begun)) -> Result<(), Problem> {
        let mut slot = self.slot.write().await;
        if let Slot::Failed(_) | Slot::Locked = *slot {
            *slot = self.try_to_start().await;
            begun(slot.begun());
        }
        slot.core().map(|_| ())
    }

    async fn try_to_start(&self) -> Slot {
        let data_dir = self.data_dir.clone();
        match blocking(move || secrets::find(&data_dir)).await {
            Ok(Ok(Found::Open(secrets))) => self.start_with(secrets).await,
            Ok(Ok(Found::Locked)) => Slot::Locked,
            Ok(Err(problem)) | Err(problem) => failed(problem),
        }
    }

    async fn start_with(&self, secrets: Arc<dyn SecretStore>) -> Slot {
        match start_core(self.data_dir.clone(), Arc::clone(&secrets)).await {
            Ok(core) => Slot::Running(Running { core, secrets }),
            Err(problem) => failed(problem),
        }
    }

    /// Runs a command with the operator's authority, since a person operates the window; its reply is
    /// typed.
    pub(crate) async fn run<R: Request>(&self, request: &R) -> Result<R::Reply, Problem> {
        let work = async { self.slot.read().await.core()?.run(request, Authority::Operator).await };
        self.unless_stopping(Box::pin(work)).await
    }

    /// Runs a command with the operator's authority, since a person operates the window; its reply is
    /// raw JSON.
    pub(crate) async fn execute(&self, command: Command) -> Result<Box<RawValue>, Problem> {
        let work = async { self.slot.read().await.core()?.execute(command, Authority::Operator).await };
        self.unless_stopping(Box::pin(work)).await
    }

    /// Waits until the core was started, or could not be.
    pub(crate) async fn ready(&self) -> Result<(), Problem> {
        self.unless_stopping(async { self.slot.read().await.core().map(|_| ()) }).await
    }

    async fn unless_stopping<T>(&self, work: impl Future<Output = Result<T, Problem>>) -> Result<T, Problem> {
        let stopping = self.stopping.lock().clone();
        tokio::select! {
            biased;
            () = stopping.cancelled() => Err(if self.is_quitting() { stopped() } else { begins_anew() }),
            reply = work => reply,
        }
    }

    /// Runs a task until it ends or the application quits; [`Host::stop`] waits for it.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let quitting = self.quitting.clone();
        let tracked = self.tasks.track_future(async move {
            tokio::select! {
                () = quitting.cancelled() => {}
                () = task => {}
            }
        });
        tauri::async_runtime::spawn(tracked);
    }

    /// Whether the application is quitting.
    pub(crate) fn is_quitting(&self) -> bool {
        self.quitting.is_cancelled()
    }

    /// Stops the core. A second call waits for the first one.
    pub(crate) async fn stop(&self) {
        self.quitting.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        let mut slot = self.slot.write().await;
        if let Slot::Running(running) = std::mem::replace(&mut *slot, Slot::Stopped) {
            running.core.shutdown().await;
        }
    }
}

fn failed(problem: Problem) -> Slot {
    tracing::error!(%problem, "the core did not start");
    Slot::Failed(problem)
}

fn stopped() -> Problem {
    Problem::new(ErrorCode::NotRunning, "Gatehouse is about to end.")
}

fn begins_anew() -> Problem {
    Problem::new(ErrorCode::NotRunning, "Gatehouse begins anew with another place for its secrets.")
        .todo("Try again in a moment.")
}

fn locked() -> Problem {
    Problem::new(ErrorCode::SecretsUnavailable, "Gatehouse waits for the passphrase of its vault.")
        .todo("Enter it in Gatehouse's window.")
}

/// Runs a blocking closure on a blocking thread.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Problem> {
    let done = tauri::async_runtime::spawn_blocking(work).await;
    done.map_err(|e| {
        Problem::new(ErrorCode::SecretsUnavailable, "The place for secrets was not asked.")
            .why(format!("{e}."))
    })
}

async fn start_core(data_dir: PathBuf, secrets: Arc<dyn SecretStore>) -> Result<Core, Problem> {
    let listen = address::usual(&data_dir);
    // Its `main` runs the child guard if asked: child processes must not outlive a kill of the
    // application.
    let guard_program = std::env::current_exe().ok();
    let options = CoreOptions {
        owner: Owner::Window,
        guard_program,
        browser: Arc::new(Browser),
        ..CoreOptions::new(data_dir.clone(), listen, secrets)
    };
    let core = Core::start(options).await?;
    address::remember(&data_dir, &core.endpoint());
    Ok(core)
}
