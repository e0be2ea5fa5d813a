//! Owns the current catalog: keeps it up to date with the servers' lists and the exposed names, and tells which
//! servers were removed or edited since the last refresh. It doesn't decide what becomes of their permissions.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};
use gatehouse_model::{ServerBinding, ServerId, ToolNaming};
use gatehouse_servers::ServerManager;
use parking_lot::Mutex;
use tokio::sync::watch;

use super::exposed_names::ExposedNames;
use super::list_versions::{CatalogVersions, ListVersions};
use super::tool_catalog::{ServerSource, ToolCatalog};

/// A difference between the servers now and at the last refresh.
pub(crate) enum ServerChange {
    Removed(ServerId),
    /// Added, or there at the first refresh; with its current generation and identity.
    Added(ServerId, ServerBinding),
    /// It has another generation or identity now.
    Edited(ServerId, ServerBinding),
}

/// The owner of the catalog. Cheap to clone.
#[derive(Clone)]
pub(crate) struct CatalogStore {
    state: Arc<CatalogState>,
}

struct CatalogState {
    servers: ServerManager,
    current: ArcSwap<ToolCatalog>,
    versions: watch::Sender<ListVersions>,
    /// The servers at the last refresh. Held during a refresh, so that there is one at a time.
    known_servers: tokio::sync::Mutex<HashMap<ServerId, ServerBinding>>,
    names: Arc<Mutex<ExposedNames>>,
    naming: Mutex<ToolNaming>,
    /// Modes that a profile has had since the start. None is dropped, so that a client whose profile has just changed is
    /// not left without names.
    profile_modes: Mutex<HashSet<ToolNaming>>,
}

impl CatalogStore {
    /// Loads the names of earlier runs. The catalog is empty until the first refresh.
    pub(crate) async fn open(servers: ServerManager, dir: PathBuf) -> Self {
        let names = tokio::task::spawn_blocking(move || ExposedNames::open(Some(&dir)))
            .await
            .unwrap_or_else(|_| ExposedNames::open(None));
        let state = CatalogState {
            servers,
            current: ArcSwap::from_pointee(ToolCatalog::default()),
            versions: watch::Sender::default(),
            known_servers: tokio::sync::Mutex::default(),
            names: Arc::new(Mutex::new(names)),
            naming: Mutex::default(),
            profile_modes: Mutex::default(),
        };
        Self { state: Arc::new(state) }
    }

    /// The current catalog.
    pub(crate) fn load(&self) -> Guard<Arc<ToolCatalog>> {
        self.state.current.load()
    }

    /// As [`Self::load`], to be held for longer.
    pub(crate) fn load_full(&self) -> Arc<ToolCatalog> {
        self.state.current.load_full()
    }

    /// Counters that change whenever a list for clients changes.
    pub(crate) fn versions(&self) -> watch::Receiver<ListVersions> {
        self.state.versions.subscribe()
    }

    /// Sets how exposed names are formed, from the next refresh on.
    pub(crate) fn set_naming(&self, naming: ToolNaming) {
        *self.state.naming.lock() = naming;
    }

    /// Adds modes that profiles have, from the next refresh on.
    pub(crate) fn add_profile_modes(&self, modes: impl IntoIterator<Item = ToolNaming>) {
        self.state.profile_modes.lock().extend(modes);
    }

    /// Rebuilds the catalog if it is out of date. Returns what has changed about the servers since the last
    /// refresh, removed ones first; each change is returned once.
    pub(crate) async fn refresh(&self) -> Vec<ServerChange> {
        let state = &*self.state;
        let mut known = state.known_servers.lock().await;
        let sources: Vec<ServerSource> = state
            .servers
            .handles()
            .into_iter()
            .map(|handle| ServerSource {
                // Before the lists: those of a connection are stored before it.
                is_connected: handle.is_connected(),
                config: handle.config(),
                lists: handle.lists(),
            })
            .collect();
        let naming = *state.naming.lock();
        let modes = state.profile_modes.lock().clone();
        let present: HashMap<ServerId, ServerBinding> =
            sources.iter().map(|source| (source.config.id.clone(), source.config.binding())).collect();
        let removed: Vec<ServerId> = known.keys().filter(|id| !present.contains_key(id)).cloned().collect();
        let changed: Vec<ServerChange> = present
            .iter()
            .filter_map(|(id, now)| match known.get(id) {
                Some(before) if before == now => None,
                Some(_) => Some(ServerChange::Edited(id.clone(), now.clone())),
                None => Some(ServerChange::Added(id.clone(), now.clone())),
            })
            .collect();
        *known = present;
        let before = state.current.load_full();
        if !before.is_built_from(&sources, naming, &modes) || !removed.is_empty() {
            let (names, old, gone) = (state.names.clone(), before.clone(), removed.clone());
            let rebuilt = tokio::task::spawn_blocking(move || {
                let mut names = names.lock();
                for server in &gone {
                    names.forget(server);
                }
                let mut next = old.rebuild(&sources, naming, &mut names);
                next.add_modes(&modes, &old, &mut names);
                names.save();
                next
            })
            .await;
            match rebuilt {
                Ok(next) => self.publish(next, &before),
                Err(error) => tracing::error!(%error, "the catalog could not be rebuilt"),
            }
        }
        drop(known);
        removed.into_iter().map(ServerChange::Removed).chain(changed).collect()
    }

    /// Makes a catalog the current one, in place of `before`.
    fn publish(&self, next: ToolCatalog, before: &ToolCatalog) {
        let step = |is_same: bool, count: u64| count.wrapping_add(u64::from(!is_same));
        let old = self.state.versions.borrow().all;
        let all = CatalogVersions {
            tools: step(next.same_tools(before), old.tools),
            resources: step(next.same_resources(before), old.resources),
            prompts: step(next.same_prompts(before), old.prompts),
            marks: step(next.same_marks(before), old.marks),
        };
        let new = ListVersions { all, by_server: next.versions_by_server() };
        self.state.current.store(Arc::new(next));
        self.state.versions.send_if_modified(|versions| {
            let is_changed = *versions != new;
            *versions = new;
            is_changed
        });
    }
}
