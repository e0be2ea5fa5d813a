//! Owns the core: starts it with the application, gives commands access to it, and stops it before the
//! application exits, so that no server is left running.

mod vault;

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;

use gatehouse_app::{Authority, Core, CoreOptions, EventStream, Owner, SecretStore};
use gatehouse_model::command::{Command, TypedCommand};
use gatehouse_model::{ErrorCode, UserError};
use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::sync::{OwnedRwLockWriteGuard, RwLock};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::links::Browser;
use crate::locations;
use crate::secrets::{self, SecretsAtStart};

/// State of the core.
enum CoreState {
    NotStarted,
    /// Waits for the user to unlock the vault or to continue without it.
    Locked,
    Running(RunningCore),
    Failed(UserError),
    Stopped,
}

/// A core with its secret store.
struct RunningCore {
    core: Core,
    secrets: Arc<dyn SecretStore>,
}

/// Result of a start.
pub(crate) enum StartOutcome {
    /// The core runs; its events.
    Running(EventStream),
    /// The vault is locked.
    Locked,
    /// The core could not be started.
    Failed,
}

impl CoreState {
    fn running(&self) -> Result<&RunningCore, UserError> {
        match self {
            Self::Running(running) => Ok(running),
            Self::Failed(problem) => Err(problem.clone()),
            Self::Locked => Err(locked_problem()),
            Self::NotStarted | Self::Stopped => Err(stopping_problem()),
        }
    }

    fn core(&self) -> Result<&Core, UserError> {
        self.running().map(|running| &running.core)
    }

    fn outcome(&self) -> StartOutcome {
        match self {
            Self::Running(running) => StartOutcome::Running(running.core.events()),
            Self::Locked => StartOutcome::Locked,
            Self::NotStarted | Self::Failed(_) | Self::Stopped => StartOutcome::Failed,
        }
    }
}

/// Holds the core for as long as the application runs.
#[derive(Clone)]
pub(crate) struct Host {
    /// Written only when the core is started, stopped or replaced; a command that comes early waits for
    /// the start.
    core_state: Arc<RwLock<CoreState>>,
    data_dir: PathBuf,
    quitting: CancellationToken,
    /// Cancels running commands when their core is about to stop.
    stopping: Arc<Mutex<CancellationToken>>,
    /// Serializes changes of the secret store.
    vault_lock: Arc<tokio::sync::Mutex<()>>,
    tasks: TaskTracker,
}

/// The write lock of the slot, held from the beginning so that no command runs before the first start.
pub(crate) struct StartPermit {
    core_state: OwnedRwLockWriteGuard<CoreState>,
}

impl Host {
    /// A host whose core is about to be started on this folder.
    pub(crate) fn new(data_dir: PathBuf) -> Result<(Self, StartPermit), UserError> {
        let core_state = Arc::new(RwLock::new(CoreState::NotStarted));
        let permit = Arc::clone(&core_state).try_write_owned();
        let permit = permit.map_err(|e| {
            UserError::new(ErrorCode::Internal, "The core has no place.").with_cause(format!("{e}."))
        })?;
        let quitting = CancellationToken::new();
        let stopping = Arc::new(Mutex::new(quitting.child_token()));
        let host = Self {
            core_state,
            data_dir,
            quitting,
            stopping,
            vault_lock: Arc::default(),
            tasks: TaskTracker::new(),
        };
        Ok((host, StartPermit { core_state: permit }))
    }

    /// Starts the core for the first time.
    pub(crate) async fn start(&self, mut permit: StartPermit, on_start: impl FnOnce(StartOutcome)) {
        *permit.core_state = self.try_start().await;
        on_start(permit.core_state.outcome());
    }

    /// Starts the core again if it could not be started.
    pub(crate) async fn start_again(&self, on_start: impl FnOnce(StartOutcome)) -> Result<(), UserError> {
        let mut core_state = self.core_state.write().await;
        if let CoreState::Failed(_) | CoreState::Locked = *core_state {
            *core_state = self.try_start().await;
            on_start(core_state.outcome());
        }
        core_state.core().map(|_| ())
    }

    async fn try_start(&self) -> CoreState {
        let data_dir = self.data_dir.clone();
        match blocking(move || secrets::open_secret_store(&data_dir)).await {
            Ok(Ok(SecretsAtStart::Open(secrets))) => self.start_with(secrets).await,
            Ok(Ok(SecretsAtStart::Locked)) => CoreState::Locked,
            Ok(Err(problem)) | Err(problem) => start_failed(problem),
        }
    }

    async fn start_with(&self, secrets: Arc<dyn SecretStore>) -> CoreState {
        match start_core(self.data_dir.clone(), Arc::clone(&secrets)).await {
            Ok(core) => CoreState::Running(RunningCore { core, secrets }),
            Err(problem) => start_failed(problem),
        }
    }

    /// Runs a command with the operator's authority, since a person operates the window; its reply is
    /// typed.
    pub(crate) async fn run<R: TypedCommand>(&self, request: &R) -> Result<R::Reply, UserError> {
        let work = async { self.core_state.read().await.core()?.run(request, Authority::Operator).await };
        self.cancel_on_stop(Box::pin(work)).await
    }

    /// Runs a command with the operator's authority, since a person operates the window; its reply is
    /// raw JSON.
    pub(crate) async fn execute(&self, command: Command) -> Result<Box<RawValue>, UserError> {
        let work = async { self.core_state.read().await.core()?.execute(command, Authority::Operator).await };
        self.cancel_on_stop(Box::pin(work)).await
    }

    /// Waits until the core was started, or could not be.
    pub(crate) async fn wait_until_ready(&self) -> Result<(), UserError> {
        self.cancel_on_stop(async { self.core_state.read().await.core().map(|_| ()) }).await
    }

    async fn cancel_on_stop<T>(
        &self,
        work: impl Future<Output = Result<T, UserError>>,
    ) -> Result<T, UserError> {
        let stopping = self.stopping.lock().clone();
        tokio::select! {
            biased;
            () = stopping.cancelled() => Err(if self.is_quitting() { stopping_problem() } else { restarting_problem() }),
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
        let mut core_state = self.core_state.write().await;
        if let CoreState::Running(running) = std::mem::replace(&mut *core_state, CoreState::Stopped) {
            running.core.shutdown().await;
        }
    }
}

fn start_failed(problem: UserError) -> CoreState {
    tracing::error!(%problem, "the core did not start");
    CoreState::Failed(problem)
}

fn stopping_problem() -> UserError {
    UserError::new(ErrorCode::NotRunning, "Gatehouse is about to end.")
}

fn restarting_problem() -> UserError {
    UserError::new(ErrorCode::NotRunning, "Gatehouse begins anew with another place for its secrets.")
        .with_hint("Try again in a moment.")
}

fn locked_problem() -> UserError {
    UserError::new(ErrorCode::SecretsUnavailable, "Gatehouse waits for the passphrase of its vault.")
        .with_hint("Enter it in Gatehouse's window.")
}

/// Runs a blocking closure on a blocking thread.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, UserError> {
    let done = tauri::async_runtime::spawn_blocking(work).await;
    done.map_err(|e| {
        UserError::new(ErrorCode::SecretsUnavailable, "The place for secrets was not asked.")
            .with_cause(format!("{e}."))
    })
}

async fn start_core(data_dir: PathBuf, secrets: Arc<dyn SecretStore>) -> Result<Core, UserError> {
    let listen = locations::preferred_listen_address(&data_dir);
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
    locations::save_port(&data_dir, &core.endpoint());
    Ok(core)
}
