//! The last known lists of servers (SRV-3, GATE-5): what a server listed when Gatehouse ran last is in the catalog
//! from the start, while the server connects, can't be reached, or needs sign-in.
//!
//! They only let clients find what they may call. A call waits for its server, and is judged by what the server lists
//! then. Lists are only taken up for the same server: same id, generation and identity.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::{ServerBinding, ServerConfig, ServerId};
use gatehouse_servers::{ListKind, ServerLists, ServerManager};
use gatehouse_store::{Store, StoreError};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

/// Version of the stored form.
const VERSION: u32 = 1;
/// Minimum time between two writes, since a server may change its lists all the time.
const INTERVAL: Duration = Duration::from_secs(1);

/// The lists as they are stored.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredLists {
    version: u32,
    /// The server that they belong to.
    binding: ServerBinding,
    capabilities: Box<RawValue>,
    instructions: Option<String>,
    server_info: Option<Box<RawValue>>,
    /// Absent in older files; then the revision isn't known.
    #[serde(default)]
    protocol: String,
    tools: Vec<Box<RawValue>>,
    resources: Vec<Box<RawValue>>,
    resource_templates: Vec<Box<RawValue>>,
    prompts: Vec<Box<RawValue>>,
}

impl StoredLists {
    fn of(binding: ServerBinding, lists: &ServerLists) -> Self {
        Self {
            version: VERSION,
            binding,
            capabilities: lists.capabilities.clone(),
            instructions: lists.instructions.clone(),
            server_info: lists.server_info.clone(),
            protocol: lists.protocol.clone(),
            tools: lists.tools.iter().map(|tool| tool.raw.clone()).collect(),
            resources: lists.resources.clone(),
            resource_templates: lists.resource_templates.clone(),
            prompts: lists.prompts.clone(),
        }
    }

    /// The lists, if they are of this server.
    fn lists(self, binding: &ServerBinding) -> Option<ServerLists> {
        if self.version != VERSION || self.binding != *binding {
            return None;
        }
        let mut lists = ServerLists {
            generation: self.binding.generation,
            capabilities: self.capabilities,
            instructions: self.instructions,
            server_info: self.server_info,
            protocol: self.protocol,
            resources: self.resources,
            resource_templates: self.resource_templates,
            prompts: self.prompts,
            ..ServerLists::default()
        };
        // Skips nothing: what was skipped when the list was read isn't in it.
        ListKind::Tools.set_items(&mut lists, self.tools);
        Some(lists)
    }
}

/// The last known lists of these servers, except of those that the managed policy forbids. Deletes what is stored of
/// others. Blocks.
pub(crate) fn load(
    store: &Store,
    manager: &ServerManager,
    servers: &[ServerConfig],
) -> HashMap<ServerId, ServerLists> {
    let ids: HashSet<ServerId> = servers.iter().map(|config| config.id.clone()).collect();
    let stored = store.known_lists().load(&ids).unwrap_or_else(|error| {
        tracing::warn!(%error, "the last known lists of the servers can't be read");
        HashMap::new()
    });
    let known = servers.iter().filter(|config| manager.forbids(config).is_none()).filter_map(|config| {
        let lists: StoredLists = serde_json::from_str(stored.get(&config.id)?).ok()?;
        Some((config.id.clone(), lists.lists(&config.binding())?))
    });
    known.collect()
}

/// Stores the lists that servers have, whenever they change, until `closing`, and once more then.
pub(crate) async fn keep_stored(servers: ServerManager, store: Arc<Store>, closing: CancellationToken) {
    let mut revision = servers.revision();
    let mut stored = HashMap::new();
    loop {
        let is_last = tokio::select! {
            biased;
            () = closing.cancelled() => true,
            changed = revision.changed() => changed.is_err(),
        };
        let (servers, store) = (servers.clone(), Arc::clone(&store));
        let before = std::mem::take(&mut stored);
        let saved = tokio::task::spawn_blocking(move || save(&servers, &store, before)).await;
        stored = saved.unwrap_or_default();
        if is_last {
            return;
        }
        // A shutdown doesn't wait for this.
        closing.run_until_cancelled(tokio::time::sleep(INTERVAL)).await;
    }
}

/// Stores the lists that changed since the last time, when they were `stored`; returns the lists of now. What is
/// stored of servers that are no more is deleted.
fn save(
    servers: &ServerManager,
    store: &Store,
    mut stored: HashMap<ServerId, Arc<ServerLists>>,
) -> HashMap<ServerId, Arc<ServerLists>> {
    let mut now = HashMap::new();
    for handle in servers.handles() {
        let (config, lists) = (handle.config(), handle.lists());
        let is_new = match stored.remove(&config.id) {
            Some(before) => !Arc::ptr_eq(&before, &lists),
            // Before its first connection, a server that was restored has lists whose file may be deleted by now.
            // What was loaded isn't written again.
            None => handle.is_connected() || !lists.is_unread(),
        };
        // Lists of an earlier generation belong to no server.
        if is_new && lists.generation == config.generation {
            let text = serde_json::to_string(&StoredLists::of(config.binding(), &lists));
            let kept =
                text.map_err(StoreError::from).and_then(|text| store.known_lists().keep(&config.id, &text));
            if let Err(error) = kept {
                tracing::warn!(server = %config.id, %error, "the lists of a server could not be stored");
            }
        }
        now.insert(config.id.clone(), lists);
    }
    for server in stored.keys() {
        store.known_lists().forget(server);
    }
    now
}
