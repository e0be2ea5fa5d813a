//! Owns the core: starts it with the application, gives commands access to it, and stops it before the
//! application exits, so that no server is left running.
//!
//! Must never start the core while a vault is locked, unless the user put the vault aside.

mod vault;

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;

use gatehouse_app::{Authority, Core, CoreOptions, EventStream, Owner, SecretStore};
use gatehouse_model::command::{Command, TypedCommand};
use gatehouse_model::{ErrorCode, UserError, message};
use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::runtime::Handle;
use tokio::sync::{OwnedRwLockWriteGuard, RwLock};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::links::Browser;
use crate::listen_address;
use crate::secrets::{self, KeychainUse, SecretsAtStart};

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
            Self::Failed(error) => Err(error.clone()),
            Self::Locked => Err(locked_error()),
            Self::NotStarted | Self::Stopped => Err(stopping_error()),
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

/// What a host needs.
pub(crate) struct HostOptions {
    pub(crate) data_dir: PathBuf,
    pub(crate) keychain: KeychainUse,
    pub(crate) browser: Browser,
    /// Runs the tasks of the host.
    pub(crate) runtime: Handle,
}

/// Holds the core for as long as the application runs.
#[derive(Clone)]
pub(crate) struct Host {
    /// Written only when the core is started, stopped or replaced; a command that comes early waits for
    /// the start.
    core_state: Arc<RwLock<CoreState>>,
    data_dir: PathBuf,
    keychain: KeychainUse,
    browser: Browser,
    runtime: Handle,
    quitting: CancellationToken,
    /// Cancelled when the core has stopped for good.
    stopped: CancellationToken,
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
    pub(crate) fn new(options: HostOptions) -> Result<(Self, StartPermit), UserError> {
        let core_state = Arc::new(RwLock::new(CoreState::NotStarted));
        let permit = Arc::clone(&core_state).try_write_owned();
        let permit = permit.map_err(|e| {
            UserError::new(ErrorCode::Internal, message!("error.desktop.coreUnstarted"))
                .with_cause(format!("{e}."))
        })?;
        let quitting = CancellationToken::new();
        let stopping = Arc::new(Mutex::new(quitting.child_token()));
        let host = Self {
            core_state,
            data_dir: options.data_dir,
            keychain: options.keychain,
            browser: options.browser,
            runtime: options.runtime,
            quitting,
            stopped: CancellationToken::new(),
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
        let (data_dir, keychain) = (self.data_dir.clone(), self.keychain);
        match blocking(move || secrets::open_secret_store(&data_dir, keychain)).await {
            Ok(Ok(SecretsAtStart::Open(secrets))) => self.start_with(secrets).await,
            Ok(Ok(SecretsAtStart::Locked)) => CoreState::Locked,
            Ok(Err(error)) | Err(error) => start_failed(error),
        }
    }

    async fn start_with(&self, secrets: Arc<dyn SecretStore>) -> CoreState {
        match self.start_core(Arc::clone(&secrets)).await {
            Ok(core) => CoreState::Running(RunningCore { core, secrets }),
            Err(error) => start_failed(error),
        }
    }

    async fn start_core(&self, secrets: Arc<dyn SecretStore>) -> Result<Core, UserError> {
        let listen = listen_address::preferred_listen_address(&self.data_dir);
        let options = CoreOptions {
            owner: Owner::Window,
            // Child processes must not outlive a kill of the application.
            guard_program: gatehouse_app::helper_program(),
            browser: Arc::new(self.browser.clone()),
            ..CoreOptions::new(self.data_dir.clone(), listen, secrets)
        };
        let core = Core::start(options).await?;
        listen_address::save_port(&self.data_dir, &core.endpoint());
        Ok(core)
    }

    /// URL of the running core's gateway.
    pub(crate) async fn endpoint(&self) -> Result<String, UserError> {
        self.core_state.read().await.core().map(Core::endpoint)
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
            () = stopping.cancelled() => Err(if self.quitting.is_cancelled() { stopping_error() } else { restarting_error() }),
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
        self.runtime.spawn(tracked);
    }

    /// Runs a task that [`Host::stop`] neither cancels nor waits for.
    pub(crate) fn spawn_detached(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.runtime.spawn(task);
    }

    /// Whether the core has stopped for good.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.is_cancelled()
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
        self.stopped.cancel();
    }
}

fn start_failed(error: UserError) -> CoreState {
    tracing::error!(%error, "the core did not start");
    CoreState::Failed(error)
}

fn stopping_error() -> UserError {
    UserError::new(ErrorCode::NotRunning, message!("error.desktop.quitting"))
}

fn restarting_error() -> UserError {
    UserError::new(ErrorCode::NotRunning, message!("error.desktop.restarting"))
        .with_hint(message!("error.desktop.restartingHint"))
}

fn locked_error() -> UserError {
    UserError::new(ErrorCode::SecretsUnavailable, message!("error.desktop.locked"))
        .with_hint(message!("error.desktop.lockedHint"))
}

/// Runs a blocking closure on a blocking thread.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, UserError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|e| {
        UserError::new(ErrorCode::SecretsUnavailable, message!("error.desktop.secretsUnread"))
            .with_cause(format!("{e}."))
    })
}
