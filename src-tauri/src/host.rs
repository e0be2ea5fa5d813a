//! Starts the core with the application, keeps it for the commands, and stops it before the
//! application ends, so that no server is left running. Nothing but this file owns the core.

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;

use gatehouse_app::{
    Authority, Core, CoreOptions, EventStream, Owner, SecretError, SecretStore, memory, open_keychain,
};
use gatehouse_model::command::{Command, Request};
use gatehouse_model::{ErrorCode, Problem};
use serde_json::value::RawValue;
use tokio::sync::{OwnedRwLockWriteGuard, RwLock};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::address;
use crate::links::Browser;

/// The core, as far as it is there.
enum Slot {
    NotStarted,
    Running(Core),
    Failed(Problem),
    Stopped,
}

impl Slot {
    fn core(&self) -> Result<&Core, Problem> {
        match self {
            Self::Running(core) => Ok(core),
            Self::Failed(problem) => Err(problem.clone()),
            Self::NotStarted | Self::Stopped => Err(stopped()),
        }
    }
}

/// Holds the core for as long as the application runs.
#[derive(Clone)]
pub(crate) struct Host {
    /// Written to by start and stop alone; a command that comes early waits for the start.
    slot: Arc<RwLock<Slot>>,
    data_dir: PathBuf,
    quitting: CancellationToken,
    tasks: TaskTracker,
}

/// The right to start the core, held from the beginning so that no command comes before.
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
        let host = Self { slot, data_dir, quitting, tasks: TaskTracker::new() };
        Ok((host, Starting { slot: starting }))
    }

    /// Starts the core for the first time. What follows a start gets the core's events.
    pub(crate) async fn start(&self, mut starting: Starting, started: impl FnOnce(EventStream)) {
        *starting.slot = self.try_to_start().await;
        if let Slot::Running(core) = &*starting.slot {
            started(core.events());
        }
    }

    /// Starts the core once more if it could not be started.
    pub(crate) async fn start_again(&self, started: impl FnOnce(EventStream)) -> Result<(), Problem> {
        let mut slot = self.slot.write().await;
        if let Slot::Failed(_) = *slot {
            *slot = self.try_to_start().await;
            if let Slot::Running(core) = &*slot {
                started(core.events());
            }
        }
        slot.core().map(|_| ())
    }

    async fn try_to_start(&self) -> Slot {
        match start_core(self.data_dir.clone()).await {
            Ok(core) => Slot::Running(core),
            Err(problem) => {
                tracing::error!(%problem, "the core did not start");
                Slot::Failed(problem)
            }
        }
    }

    /// Runs a command on the word of the person in front of the window; its reply is typed.
    pub(crate) async fn run<R: Request>(&self, request: &R) -> Result<R::Reply, Problem> {
        let work = async { self.slot.read().await.core()?.run(request, Authority::Operator).await };
        self.unless_quitting(Box::pin(work)).await
    }

    /// Runs a command on the word of the person in front of the window; its reply is JSON as it came.
    pub(crate) async fn execute(&self, command: Command) -> Result<Box<RawValue>, Problem> {
        let work = async { self.slot.read().await.core()?.execute(command, Authority::Operator).await };
        self.unless_quitting(Box::pin(work)).await
    }

    /// Waits until the core was started, or could not be.
    pub(crate) async fn ready(&self) -> Result<(), Problem> {
        self.unless_quitting(async { self.slot.read().await.core().map(|_| ()) }).await
    }

    async fn unless_quitting<T>(&self, work: impl Future<Output = Result<T, Problem>>) -> Result<T, Problem> {
        tokio::select! {
            biased;
            () = self.quitting.cancelled() => Err(stopped()),
            reply = work => reply,
        }
    }

    /// Runs a task until it ends or the application does; the end waits for it.
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

    /// Whether the end has begun.
    pub(crate) fn is_quitting(&self) -> bool {
        self.quitting.is_cancelled()
    }

    /// Stops the core. A second call waits for the first one.
    pub(crate) async fn stop(&self) {
        self.quitting.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        let mut slot = self.slot.write().await;
        if let Slot::Running(core) = std::mem::replace(&mut *slot, Slot::Stopped) {
            core.shutdown().await;
        }
    }
}

fn stopped() -> Problem {
    Problem::new(ErrorCode::NotRunning, "Gatehouse is about to end.")
}

async fn start_core(data_dir: PathBuf) -> Result<Core, Problem> {
    let listen = address::usual(&data_dir);
    let secrets = tauri::async_runtime::spawn_blocking(secrets).await.map_err(|e| {
        Problem::new(ErrorCode::SecretsUnavailable, "The keychain was not asked.").why(format!("{e}."))
    })??;
    // Its `main` begins with the guard: children must not outlive a kill of the application.
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

/// The keychain; where there is none, memory, which the status says (AUTH-8). A keychain that is there
/// and does not open is an error: the rights that are sealed with it would be replaced without a look.
fn secrets() -> Result<Arc<dyn SecretStore>, Problem> {
    open_keychain().or_else(|error| match error {
        SecretError::Unavailable { .. } => {
            tracing::warn!(%error, "secrets and rights last until Gatehouse ends");
            Ok(memory())
        }
        SecretError::Locked
        | SecretError::WrongPassphrase
        | SecretError::Damaged { .. }
        | SecretError::NewerVersion
        | SecretError::Refused { .. } => Err(error.into()),
    })
}
