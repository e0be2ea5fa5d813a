//! The servers with their actors: loading, adding, editing and removing them.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use gatehouse_mcp_client::lists::ServerLists;
use gatehouse_model::{
    ErrorCode, Event, ServerConfig, ServerId, ServerStatus, StatusCause, UserError, message,
};
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{ListPosition, STOP_TIMEOUT, ServerManager, send};
use crate::actor::{ActorShutdown, INBOX, ServerActor};
use crate::handle::ServerHandle;
use crate::shared::{ActorMessage, ServerShared};
use crate::transition::{ServerInput, ServerState};

/// All servers.
#[derive(Default)]
pub(super) struct ServerTable {
    pub(super) by_id: HashMap<ServerId, ManagedServer>,
    /// In the order in which the servers were added. A restored server is at its old position.
    pub(super) order: Vec<ServerId>,
}

impl ServerTable {
    /// In the order of the table.
    pub(super) fn handles(&self) -> Vec<ServerHandle> {
        self.order.iter().filter_map(|id| self.by_id.get(id)).map(|entry| entry.handle.clone()).collect()
    }
}

/// One server with its actor.
pub(super) struct ManagedServer {
    pub(super) handle: ServerHandle,
    /// Ends the actor when the entry is dropped.
    stop: DropGuard,
    /// Cancelled when nothing of the actor is left.
    done: CancellationToken,
}

/// Outcome of a [`ServerManager::put`].
enum PutOutcome {
    Added,
    Edited,
}

/// What a server was like when it was removed, beside its settings. The default is that of a server that never ran.
#[derive(Clone, Debug, Default)]
pub struct LastState {
    /// What was known of its lists.
    lists: Arc<ServerLists>,
    run: RunState,
}

/// Whether a server runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum RunState {
    /// Nothing needs it; a call starts it.
    #[default]
    Idle,
    /// The user stopped it; a call doesn't start it.
    Held,
    /// It runs, or would if it could.
    Active,
}

impl LastState {
    fn of(handle: &ServerHandle) -> Self {
        let run = match handle.status() {
            _ if handle.is_held() => RunState::Held,
            ServerStatus::Disabled | ServerStatus::Stopped => RunState::Idle,
            ServerStatus::Connecting { .. }
            | ServerStatus::Connected { .. }
            | ServerStatus::NeedsAuth { .. }
            | ServerStatus::NeedsClientRegistration { .. }
            | ServerStatus::Failed { .. } => RunState::Active,
        };
        Self { lists: handle.lists(), run }
    }
}

impl ServerManager {
    /// Adds the servers that there are at the start of Gatehouse, without starting any; that is done by
    /// [`Self::start_all`]. `known` has lists of an earlier run, which count until the server connects. A
    /// server that cannot be added (because its name is taken) is left out, and its error is returned.
    pub fn add_all(
        &self,
        configs: Vec<ServerConfig>,
        mut known: HashMap<ServerId, ServerLists>,
    ) -> Vec<UserError> {
        if let Err(problem) = self.ensure_running() {
            return vec![problem];
        }
        let mut problems = Vec::new();
        for config in configs {
            let lists = known.remove(&config.id).map(Arc::new).unwrap_or_default();
            match self.insert_or_update(config, None, LastState { lists, run: RunState::Idle }) {
                Ok((handle, _)) => self.announce_added(&handle),
                Err(problem) => {
                    tracing::warn!(%problem, "a server was left out");
                    problems.push(problem);
                }
            }
        }
        problems
    }

    /// Starts all enabled servers with autostart in parallel, without waiting for them.
    pub async fn start_all(&self) {
        for handle in self.handles() {
            let config = handle.config();
            if config.enabled && config.autostart {
                let start = ServerInput::Start { cause: StatusCause::Launch };
                if let Err(error) = send(&handle, ActorMessage::ServerInput(start)).await {
                    tracing::warn!(server = %config.id, %error, "a server was not started");
                }
            }
        }
    }

    fn announce_added(&self, handle: &ServerHandle) {
        let config = handle.config();
        let (server, name) = (config.id.clone(), config.name.clone());
        self.shared.deps.registry.changed();
        self.shared.deps.registry.emit(Event::ServerAdded { server, name });
    }

    /// Adds a server, or edits the one with this id. A new one is started if it is enabled and has
    /// autostart; an edited one reconnects only if its transport or generation changed. Returns the
    /// settings as stored: an edit of the transport always increases the generation.
    ///
    /// # Errors
    /// [`ErrorCode::NameTaken`] if another server has the name.
    pub async fn put(&self, config: ServerConfig) -> Result<Arc<ServerConfig>, UserError> {
        self.ensure_running()?;
        let run = if config.autostart { RunState::Active } else { RunState::Idle };
        let (handle, put) = self.insert_or_update(config, None, LastState::default())?;
        self.apply_put(&handle, put, run).await
    }

    /// Adds a removed server again as it was: at its position, and with the lists that were known of it, which count
    /// until it connects. It is started only if it ran.
    ///
    /// # Errors
    /// As for [`Self::put`].
    pub async fn restore(
        &self,
        config: ServerConfig,
        position: &ListPosition,
        last: LastState,
    ) -> Result<Arc<ServerConfig>, UserError> {
        self.ensure_running()?;
        let run = last.run;
        let (handle, put) = self.insert_or_update(config, Some(position), last)?;
        self.apply_put(&handle, put, run).await
    }

    /// Starts a new server if it should run and is enabled, and applies the settings of an edited one.
    async fn apply_put(
        &self,
        handle: &ServerHandle,
        put: PutOutcome,
        run: RunState,
    ) -> Result<Arc<ServerConfig>, UserError> {
        let config = handle.config();
        match put {
            PutOutcome::Added => {
                self.announce_added(handle);
                if config.enabled && run == RunState::Active {
                    let start = ServerInput::Start { cause: StatusCause::User };
                    send(handle, ActorMessage::ServerInput(start)).await?;
                }
            }
            PutOutcome::Edited => send(handle, ActorMessage::Edited).await?,
        }
        Ok(config)
    }

    /// Adds or replaces the entry under the lock; nothing is started here. A new server is added at `position`, or
    /// else at the end. It begins with the lists of `last`, if these are of its generation.
    fn insert_or_update(
        &self,
        mut config: ServerConfig,
        position: Option<&ListPosition>,
        last: LastState,
    ) -> Result<(ServerHandle, PutOutcome), UserError> {
        let mut entries = self.shared.entries.write();
        let taken = entries.by_id.values().any(|entry| {
            entry.handle.shared.id != config.id && entry.handle.shared.config.load().name == config.name
        });
        if taken {
            return Err(UserError::new(
                ErrorCode::NameTaken,
                message!("error.servers.nameTaken", name = &config.name),
            )
            .with_hint(message!("error.servers.otherNameHint")));
        }
        if let Some(entry) = entries.by_id.get(&config.id) {
            let floor = entry.handle.config().generation_with(&config.transport);
            config.generation = config.generation.max(floor);
            entry.handle.shared.config.store(Arc::new(config));
            return Ok((entry.handle.clone(), PutOutcome::Edited));
        }
        let config = Arc::new(config);
        let (inbox, messages) = mpsc::channel(INBOX);
        let status = ServerState::new(config.enabled).status();
        let lists = if last.lists.generation == config.generation {
            last.lists
        } else {
            Arc::new(ServerLists { generation: config.generation, ..ServerLists::default() })
        };
        let common = Arc::clone(&self.shared.common);
        let shared = Arc::new(ServerShared::new(Arc::clone(&config), lists, status, inbox, common));
        shared.is_held.store(last.run == RunState::Held, Ordering::SeqCst);
        let (stop, done) = (CancellationToken::new(), CancellationToken::new());
        let shutdown = ActorShutdown { stop: stop.clone(), hard: self.shared.hard.clone() };
        let actor = ServerActor::new(Arc::clone(&shared), messages, self.shared.deps.clone(), shutdown);
        let left = done.clone().drop_guard();
        self.shared.tracker.spawn(async move {
            actor.run().await;
            drop(left);
        });
        let handle = ServerHandle { shared };
        let entry = ManagedServer { handle: handle.clone(), stop: stop.drop_guard(), done };
        let index = position.map_or(entries.order.len(), |position| position.index_in(&entries.order));
        entries.order.insert(index, config.id.clone());
        entries.by_id.insert(config.id.clone(), entry);
        Ok((handle, PutOutcome::Added))
    }

    /// Removes a server and waits until nothing of it runs. Returns what it was like, for [`Self::restore`].
    pub async fn remove(&self, id: &ServerId) -> Option<LastState> {
        let entry = self.detach(id)?;
        let last = LastState::of(&entry.handle);
        self.await_shutdown(entry).await;
        Some(last)
    }

    /// Takes a server out of the table.
    fn detach(&self, id: &ServerId) -> Option<ManagedServer> {
        let mut entries = self.shared.entries.write();
        entries.order.retain(|other| other != id);
        entries.by_id.remove(id)
    }

    /// Ends a server that was taken out of the table, and waits until nothing of it runs.
    async fn await_shutdown(&self, entry: ManagedServer) {
        let ManagedServer { handle, stop, done } = entry;
        drop(stop);
        self.shared.deps.registry.changed();
        if tokio::time::timeout(STOP_TIMEOUT, done.cancelled()).await.is_err() {
            tracing::warn!(server = %handle.shared.id, "a removed server takes long to stop");
        }
        let name = handle.config().name.clone();
        self.shared.deps.registry.emit(Event::ServerRemoved { server: handle.shared.id.clone(), name });
    }
}
