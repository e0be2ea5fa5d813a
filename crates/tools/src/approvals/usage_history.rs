//! What was allowed before: subjects by server, and the programs of a client. Only for warnings; it never
//! allows anything.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use gatehouse_model::{Grant, Scope, ServerId};
use gatehouse_store::Store;
use parking_lot::Mutex;

use crate::pending_call::PendingCall;
use crate::permissions::PermissionStore;

/// Limits for the used names that are remembered per server: their number, and the length of one in bytes.
const MAX_USED_NAMES: usize = 4096;
const MAX_USED_NAME_BYTES: usize = 1024;

/// Subjects that were allowed in this run of Gatehouse, and access to those of earlier runs.
pub(crate) struct UsageHistory {
    store: Arc<Store>,
    permissions: PermissionStore,
    used: Mutex<HashMap<ServerId, HashSet<String>>>,
}

impl UsageHistory {
    pub(crate) fn new(store: Arc<Store>, permissions: PermissionStore) -> Self {
        Self { store, permissions, used: Mutex::default() }
    }

    /// Forgets a server that was removed or edited.
    pub(crate) fn forget_server(&self, server: &ServerId) {
        self.used.lock().remove(server);
    }

    /// Remembers that a subject was allowed once. A client can make up any number of names; names that aren't
    /// remembered here are looked up in the activity database.
    pub(crate) fn record_use(&self, pending_call: &PendingCall) {
        let name = pending_call.subject.rule_name();
        if name.len() > MAX_USED_NAME_BYTES {
            return;
        }
        let mut used = self.used.lock();
        match used.get_mut(pending_call.server()) {
            Some(names) if names.contains(&*name) || names.len() >= MAX_USED_NAMES => {}
            Some(names) => {
                names.insert(name.into_owned());
            }
            None => {
                used.insert(pending_call.server().clone(), [name.into_owned()].into());
            }
        }
    }

    /// The programs that allowed calls of this client came from, as far as known.
    pub(super) async fn programs_of(&self, pending_call: &PendingCall) -> Vec<String> {
        let (store, client) = (self.store.clone(), pending_call.caller.client.id.clone());
        let known = tokio::task::spawn_blocking(move || store.activity().programs_of(&client)).await;
        match known {
            Ok(Ok(known)) => known,
            Ok(Err(error)) => {
                tracing::warn!(%error, "it cannot be told from where a client was seen before");
                Vec::new()
            }
            Err(_) => Vec::new(),
        }
    }

    /// Whether this subject of the server has never been allowed before, as far as known.
    pub(super) async fn is_first_use(&self, pending_call: &PendingCall) -> bool {
        let name = pending_call.subject.rule_name();
        let used = self.used.lock().get(pending_call.server()).is_some_and(|names| names.contains(&*name));
        let granted = || {
            let permissions = self.permissions.now();
            let of_tool = |rule: &Grant| {
                rule.server.as_ref().is_some_and(|bound| bound.server == *pending_call.server())
                    && matches!(&rule.width, Scope::Tool { tool } if *tool == pending_call.subject)
            };
            permissions.rules().any(of_tool)
        };
        if used || granted() {
            return false;
        }
        let (store, server, name) = (self.store.clone(), pending_call.server().clone(), name.into_owned());
        let known = tokio::task::spawn_blocking(move || store.activity().was_allowed(&server, &name)).await;
        match known {
            Ok(Ok(known)) => !known,
            Ok(Err(error)) => {
                tracing::warn!(%error, "it cannot be told whether a tool was used before");
                true
            }
            Err(_) => true,
        }
    }
}
