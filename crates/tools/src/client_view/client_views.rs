//! Makes what each client sees from the catalog, its profile and the permissions, and keeps what is costly to compute: the
//! tools that are denied for a client, and the index that tools are searched in.

use std::collections::HashMap;
use std::sync::Arc;

use gatehouse_model::profile::DeniedTools;
use gatehouse_model::{ClientId, ProfileId};
use gatehouse_store::{StoreError, ToolIndex, ToolText};
use parking_lot::Mutex;

use super::client_catalog::{ClientCatalog, ToolSet};
use crate::call_types::viewer::Viewer;
use crate::catalog::catalog_store::CatalogStore;
use crate::catalog::tool_catalog::ToolCatalog;
use crate::permissions::PermissionStore;
use crate::profiles::{CatalogViewKey, ProfileStore};

/// The views of all clients.
pub(crate) struct ClientViews {
    catalog: CatalogStore,
    profiles: ProfileStore,
    permissions: PermissionStore,
    denied: Mutex<HashMap<ClientId, KnownDenied>>,
    /// The index of the last catalog that was searched.
    index: Mutex<Option<(Arc<ToolCatalog>, Arc<ToolIndex>)>>,
}

/// The tools that are denied for a client, and what they were computed from.
struct KnownDenied {
    catalog: Arc<ToolCatalog>,
    permissions: u64,
    tools: Arc<ToolSet>,
    /// Changes with the tools.
    revision: u64,
}

impl ClientViews {
    pub(crate) fn new(catalog: CatalogStore, profiles: ProfileStore, permissions: PermissionStore) -> Self {
        Self { catalog, profiles, permissions, denied: Mutex::default(), index: Mutex::default() }
    }

    /// What a viewer sees now.
    pub(crate) fn of(&self, viewer: &Viewer) -> ClientCatalog {
        self.keyed(viewer).1
    }

    /// Identifies what a viewer sees now.
    pub(crate) fn key(&self, viewer: &Viewer) -> CatalogViewKey {
        let profile = self.profiles.of(viewer);
        if profile.hides_denied() { self.keyed(viewer).0 } else { profile.view_key(None) }
    }

    fn keyed(&self, viewer: &Viewer) -> (CatalogViewKey, ClientCatalog) {
        let profile = self.profiles.of(viewer);
        let catalog = self.catalog.load_full();
        let (denied, denied_key) = if profile.hides_denied() {
            let (tools, revision) = self.denied(&viewer.client, &catalog);
            (tools, Some((viewer.client.clone(), revision)))
        } else {
            (Arc::default(), None)
        };
        (profile.view_key(denied_key), ClientCatalog { catalog, profile, denied })
    }

    /// What a client with this profile and no rules of its own would see.
    pub(crate) fn of_profile(&self, profile: &ProfileId) -> Option<ClientCatalog> {
        let profile = self.profiles.only(profile)?;
        let catalog = self.catalog.load_full();
        let denied = if profile.hides_denied() {
            Arc::new(self.permissions.denied_tools(&catalog, None))
        } else {
            Arc::default()
        };
        Some(ClientCatalog { catalog, profile, denied })
    }

    /// The tools that are denied for a client, with a number that changes with them.
    fn denied(&self, client: &ClientId, catalog: &Arc<ToolCatalog>) -> (Arc<ToolSet>, u64) {
        let permissions = self.permissions.revision();
        let mut denied = self.denied.lock();
        if let Some(known) = denied.get(client)
            && known.permissions == permissions
            && Arc::ptr_eq(&known.catalog, catalog)
        {
            return (Arc::clone(&known.tools), known.revision);
        }
        let tools = self.permissions.denied_tools(catalog, Some(client));
        let (tools, revision) = match denied.get(client) {
            Some(known) if *known.tools == tools => (Arc::clone(&known.tools), known.revision),
            Some(known) => (Arc::new(tools), known.revision.wrapping_add(1)),
            None => (Arc::new(tools), 0),
        };
        let known =
            KnownDenied { catalog: Arc::clone(catalog), permissions, tools: Arc::clone(&tools), revision };
        denied.insert(client.clone(), known);
        (tools, revision)
    }

    /// Announces changed views after a change of the permissions, if any profile hides denied tools.
    pub(crate) fn permissions_changed(&self) {
        let stored = self.profiles.stored();
        if stored.profiles.iter().any(|profile| profile.settings.denied_tools == DeniedTools::Hidden) {
            self.profiles.announce();
        }
    }

    pub(crate) fn client_removed(&self, client: &ClientId) {
        self.denied.lock().remove(client);
    }

    /// The index of a client's catalog; that of the last one is kept. Blocks while it is built.
    ///
    /// # Errors
    /// When the index can't be built.
    pub(crate) fn index(&self, view: &ClientCatalog) -> Result<Arc<ToolIndex>, StoreError> {
        let mut known = self.index.lock();
        if let Some((catalog, index)) = &*known
            && Arc::ptr_eq(catalog, &view.catalog)
        {
            return Ok(Arc::clone(index));
        }
        let texts = view.catalog.tools().iter().map(|tool| ToolText {
            name: tool.name(),
            title: tool.title().unwrap_or_default(),
            hint: tool.definition.hints.search.as_deref().unwrap_or_default(),
            server: tool.server_name(),
            description: tool.definition.description.as_deref().unwrap_or_default(),
        });
        let index = Arc::new(ToolIndex::build(texts)?);
        *known = Some((Arc::clone(&view.catalog), Arc::clone(&index)));
        Ok(index)
    }
}
