//! The servers with their actors: loading, adding, editing and removing them.

use std::collections::HashMap;
use std::sync::Arc;

use gatehouse_mcp_client::lists::ServerLists;
use gatehouse_model::{ErrorCode, Event, ServerConfig, ServerId, StatusCause, UserError, message};
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{STOP_TIMEOUT, ServerManager, send};
use crate::actor::{ActorShutdown, INBOX, ServerActor};
use crate::handle::ServerHandle;
use crate::shared::{ActorMessage, ServerShared};
use crate::transition::{ServerInput, ServerState};

/// All servers.
#[derive(Default)]
pub(super) struct ServerTable {
    pub(super) by_id: HashMap<ServerId, ManagedServer>,
    /// In the order in which the servers were added.
    pub(super) order: Vec<ServerId>,
}

impl ServerTable {
    /// In the order in which the servers were added.
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
            let lists = known.remove(&config.id);
            match self.insert_or_update(config, lists) {
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
        let (handle, put) = self.insert_or_update(config, None)?;
        let config = handle.config();
        match put {
            PutOutcome::Added => {
                self.announce_added(&handle);
                if config.enabled && config.autostart {
                    let start = ServerInput::Start { cause: StatusCause::User };
                    send(&handle, ActorMessage::ServerInput(start)).await?;
                }
            }
            PutOutcome::Edited => send(&handle, ActorMessage::Edited).await?,
        }
        Ok(config)
    }

    /// Adds or replaces the entry under the lock; nothing is started here. A new server begins with the
    /// lists of an earlier run, if there are any of its generation.
    fn insert_or_update(
        &self,
        mut config: ServerConfig,
        known: Option<ServerLists>,
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
        let lists = known.filter(|known| known.generation == config.generation);
        let lists =
            lists.unwrap_or_else(|| ServerLists { generation: config.generation, ..ServerLists::default() });
        let common = Arc::clone(&self.shared.common);
        let shared = Arc::new(ServerShared::new(Arc::clone(&config), lists, status, inbox, common));
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
        entries.order.push(config.id.clone());
        entries.by_id.insert(config.id.clone(), entry);
        Ok((handle, PutOutcome::Added))
    }

    /// Removes a server and waits until nothing of it runs.
    pub async fn remove(&self, id: &ServerId) {
        if let Some(entry) = self.detach(id) {
            self.await_shutdown(entry).await;
        }
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
