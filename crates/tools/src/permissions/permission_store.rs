//! The permission store, the only owner of permissions: the stored ones, which are protected by a
//! MAC, and the rules with a limited lifetime.
//!
//! A change that widens permissions is stored, with its audit entry, before it takes effect. A change that
//! narrows them takes effect even if it can't be stored. Permissions that can't be verified don't count: every
//! call needs an approval.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::ArcSwap;
use gatehouse_model::approval::{AutoApprove, Subject};
use gatehouse_model::grant::StoredPermissions;
use gatehouse_model::record::AuditEvent;
use gatehouse_model::{
    ClientEntry, ClientId, Clock, ErrorCode, Event, EventSink, Fingerprint, Generation, Grant, GrantChoice,
    GrantId, ServerBinding, ServerConfig, ServerId, Timestamp, UserError, message,
};
use gatehouse_policy::coverage::SubjectFacts;
use gatehouse_servers::ServerManager;
use gatehouse_store::Store;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio_util::task::TaskTracker;

use super::current::CurrentPermissions;
use super::rule_draft::RuleDraft;
use crate::catalog::catalog_store::CatalogStore;
use crate::ids::IdGenerator;

/// A user's order to allow or block something, given outside of an approval request.
#[derive(Clone, Debug)]
pub struct RuleSpec {
    /// The server; every server if absent, which is valid only for blocks.
    pub server: Option<ServerId>,
    /// Tool on the server, or another subject by its rule name; required for the scope `tool`.
    pub tool: Option<String>,
    /// Only for this client; for every client if absent.
    pub client: Option<ClientId>,
    /// Lifetime, scope and conditions.
    pub choice: GrantChoice,
}

/// A user's order to change an auto-approve setting.
#[derive(Clone, Debug)]
pub struct AutoApproveSpec {
    /// The server; every current server if absent.
    pub server: Option<ServerId>,
    /// Only for this client; for every client if absent.
    pub client: Option<ClientId>,
    pub to: AutoApprove,
}

/// A user's order to trust a server's read-only labels, or to cease to.
#[derive(Clone, Debug)]
pub struct LabelTrust {
    pub server: ServerId,
    /// The generation that the user saw; any if absent.
    pub generation: Option<Generation>,
    pub trusted: bool,
    /// Who orders it, for the audit.
    pub by: &'static str,
}

impl LabelTrust {
    /// The order for whatever generation the server is.
    #[must_use]
    pub fn of(server: &ServerId, trusted: bool, by: &'static str) -> Self {
        Self { server: server.clone(), generation: None, trusted, by }
    }
}

/// The permission store. Cheap to clone.
#[derive(Clone)]
pub struct PermissionStore {
    pub(super) state: Arc<PermissionState>,
}

impl fmt::Debug for PermissionStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PermissionStore").field("paused", &self.paused()).finish_non_exhaustive()
    }
}

pub(super) struct PermissionState {
    pub(super) store: Arc<Store>,
    pub(super) events: Arc<dyn EventSink>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) servers: ServerManager,
    pub(super) catalog: CatalogStore,
    pub(super) now: ArcSwap<CurrentPermissions>,
    pub(super) paused: AtomicBool,
    /// Held while a change is stored, so that permissions change one at a time.
    pub(super) writer: tokio::sync::Mutex<()>,
    /// Held while the current value is replaced.
    pub(super) publishing: Mutex<()>,
    pub(super) changes: watch::Sender<u64>,
    pub(super) client_names: Mutex<HashMap<ClientId, String>>,
    /// When each rule last decided a call.
    pub(super) last_used: Mutex<HashMap<GrantId, Timestamp>>,
    pub(super) ids: IdGenerator,
    pub(super) tracker: TaskTracker,
}

/// Dependencies of the store.
pub(crate) struct PermissionStoreDeps {
    pub(crate) store: Arc<Store>,
    pub(crate) events: Arc<dyn EventSink>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) servers: ServerManager,
    pub(crate) catalog: CatalogStore,
    pub(crate) tracker: TaskTracker,
}

impl PermissionStore {
    /// Loads the stored permissions. Doesn't fail: what can't be verified is ignored.
    pub(crate) async fn open(deps: PermissionStoreDeps) -> Self {
        let store = deps.store.clone();
        let loaded = tokio::task::spawn_blocking(move || {
            let clients = store.clients().load().ok().flatten().unwrap_or_default();
            let used = store.activity().rules_used().unwrap_or_else(|error| {
                tracing::warn!(%error, "it cannot be told when rules were last used");
                Vec::new()
            });
            (read_permissions(&store), clients, used)
        })
        .await;
        let (permissions, clients, used) = match loaded {
            Ok(loaded) => loaded,
            Err(_) => (Err(unreadable("reading them failed")), Vec::new(), Vec::new()),
        };
        let (permissions, error) = match permissions {
            Ok(permissions) => (permissions, None),
            Err(error) => (StoredPermissions::default(), Some(error)),
        };
        let paused = permissions.paused;
        let verified = error.is_none();
        let state = PermissionState {
            store: deps.store,
            events: deps.events,
            clock: deps.clock,
            servers: deps.servers,
            catalog: deps.catalog,
            now: ArcSwap::from_pointee(CurrentPermissions::new(permissions, Vec::new(), error)),
            paused: AtomicBool::new(paused),
            writer: tokio::sync::Mutex::new(()),
            publishing: Mutex::new(()),
            changes: watch::channel(0).0,
            client_names: Mutex::new(clients.into_iter().map(|client| (client.id, client.name)).collect()),
            last_used: Mutex::new(used.into_iter().collect()),
            ids: IdGenerator::new(),
            tracker: deps.tracker,
        };
        if !verified {
            state.events.emit(Event::PermissionsChanged { verified });
        }
        Self { state: Arc::new(state) }
    }

    #[must_use]
    pub fn paused(&self) -> bool {
        self.state.paused.load(Ordering::SeqCst)
    }

    /// What is wrong with the stored permissions, if anything.
    pub fn problem(&self) -> Option<UserError> {
        self.now().problem.clone()
    }

    /// Whether the user trusts the read-only labels of a server in its current generation.
    #[must_use]
    pub fn trusts_labels(&self, server: &ServerId) -> bool {
        self.binding(server).is_some_and(|bound| self.now().trusts(&bound))
    }
}

/// Loads and verifies the stored permissions; writes an audit entry if that fails.
fn read_permissions(store: &Store) -> Result<StoredPermissions, UserError> {
    match store.permissions().load() {
        Ok(permissions) => Ok(permissions.unwrap_or_default()),
        Err(error) => {
            tracing::error!(%error, "the stored permissions cannot be verified; everything asks");
            let reason = error.to_string();
            if let Err(error) = store.audit().append(AuditEvent::PermissionsRejected { reason }) {
                tracing::error!(%error, "the audit could not be written");
            }
            Err(error.into())
        }
    }
}

pub(super) fn unreadable(why: &str) -> UserError {
    UserError::new(ErrorCode::Storage, message!("error.tools.permissionsUnread"))
        .with_cause(format!("{why}."))
}

impl PermissionStore {
    pub(crate) fn now(&self) -> arc_swap::Guard<Arc<CurrentPermissions>> {
        self.state.now.load()
    }

    /// The catalog that rules are pinned to.
    pub(crate) fn catalog(&self) -> &CatalogStore {
        &self.state.catalog
    }

    /// Why the managed policy forbids a server, if it does.
    pub(crate) fn forbids(&self, config: &ServerConfig) -> Option<String> {
        self.state.servers.forbids(config)
    }

    pub(crate) fn set_paused(&self, paused: bool) -> bool {
        self.state.paused.swap(paused, Ordering::SeqCst)
    }

    pub(crate) fn time(&self) -> Timestamp {
        self.state.clock.now()
    }

    /// The number of the last change.
    pub(crate) fn revision(&self) -> u64 {
        *self.state.changes.borrow()
    }

    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.state.changes.subscribe()
    }

    /// Remembers the name of a client, for describing rules.
    pub(crate) fn remember_client(&self, client: &ClientEntry) {
        let mut names = self.state.client_names.lock();
        if names.get(&client.id).is_none_or(|name| *name != client.name) {
            names.insert(client.id.clone(), client.name.clone());
        }
    }

    /// Records that a rule decided a call that came in at `at`.
    pub(crate) fn rule_used(&self, rule: &GrantId, at: Timestamp) {
        let mut used = self.state.last_used.lock();
        let last = used.entry(rule.clone()).or_insert(at);
        *last = at.max(*last);
    }

    /// The current generation and identity of a server, to which rules are bound.
    pub(crate) fn binding(&self, server: &ServerId) -> Option<ServerBinding> {
        Some(self.state.servers.get(server)?.config().binding())
    }

    /// The same for every server.
    pub(super) fn bindings(&self) -> Vec<ServerBinding> {
        self.state.servers.handles().into_iter().map(|handle| handle.config().binding()).collect()
    }

    pub(super) fn server_name(&self, server: &ServerId) -> Option<String> {
        Some(self.state.servers.get(server)?.config().name.clone())
    }

    /// Calls `work` with everything that a rule for this server can be pinned to: its tools, prompts and
    /// templates, and the subject with this rule name.
    pub(super) fn with_subjects<R>(
        &self,
        server: Option<&ServerBinding>,
        subject: Option<&str>,
        work: impl FnOnce(&[SubjectFacts<'_>]) -> R,
    ) -> R {
        let Some(bound) = server else { return work(&[]) };
        let (server, generation) = (&bound.server, bound.generation);
        let catalog = self.state.catalog.load();
        let now = self.now();
        let tools = catalog.of_server(server).filter(|tool| tool.binding() == bound);
        let tools = tools.map(|tool| tool.subject_facts(now.class_of(tool)));
        let described = catalog.described(server, generation).map(|known| known.subject_facts(bound));
        let mut items: Vec<SubjectFacts<'_>> = tools.chain(described).collect();
        let subject = subject.map(Subject::from_rule_name);
        let known = subject.as_ref().map(|subject| catalog.subject_info(server, generation, subject));
        if let (Some(subject), Some(known)) = (&subject, &known)
            && !items.iter().any(|item| item.subject.rule_name() == subject.rule_name())
        {
            let (subject, definition) = (subject.borrowed(), known.origin.definition_ref());
            items.push(SubjectFacts { server: bound, subject, class: &known.class, definition });
        }
        work(&items)
    }

    pub(super) fn new_rule_id(&self) -> GrantId {
        GrantId::from_random(self.state.ids.next())
    }

    /// Makes the rule for a draft; `None` if the draft leaves no rule (once).
    pub(crate) fn rule(&self, draft: &RuleDraft) -> Result<Option<Grant>, UserError> {
        self.rule_with_id(self.new_rule_id(), draft)
    }

    pub(crate) fn rule_with_id(&self, id: GrantId, draft: &RuleDraft) -> Result<Option<Grant>, UserError> {
        self.with_subjects(draft.server.as_ref(), draft.subject.as_deref(), |items| {
            draft.rule(id, self.time(), items)
        })
    }

    /// The definitions behind a rule's pins, to be stored for later comparison.
    pub(crate) fn definitions(&self, rule: &Grant) -> Vec<(Fingerprint, Box<str>)> {
        let Some(bound) = &rule.server else { return Vec::new() };
        let catalog = self.state.catalog.load();
        let tools = catalog
            .of_server(&bound.server)
            .map(|tool| (tool.name(), tool.fingerprint(), tool.definition().get()));
        let described = catalog
            .described(&bound.server, bound.generation)
            .map(|known| (known.pin(), known.fingerprint(), known.raw.get()));
        tools
            .chain(described)
            .filter(|(pin, fingerprint, _)| {
                rule.pins.get(*pin).is_some_and(|approved| approved.contains(fingerprint))
            })
            .map(|(_, fingerprint, definition)| (fingerprint.clone(), definition.into()))
            .collect()
    }
}
