//! The one owner of what may run: the sealed rights and the rules that last only for a while.
//!
//! Whatever widens rights is durable, with its entry in the audit, before it counts. Whatever
//! narrows them counts at once when the disk refuses, too. Rights that cannot be verified are no
//! rights: everything asks.

mod change;
mod orders;
mod suspended;
mod view;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::ArcSwap;
use gatehouse_model::ask::{AutoApprove, Subject};
use gatehouse_model::grant::{AccessClass, Rights};
use gatehouse_model::record::AuditEvent;
use gatehouse_model::{
    ClientEntry, ClientId, Clock, Effect, ErrorCode, Event, EventSink, Fingerprint, Grant, GrantChoice,
    GrantId, Problem, RuleAuthor, ServerBinding, ServerConfig, ServerId, Timestamp,
};
use gatehouse_policy::cover::Item;
use gatehouse_servers::ServerManager;
use gatehouse_store::Store;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio_util::task::TaskTracker;

use crate::catalogue::Catalogue;
use crate::ids::Ids;
use crate::rules::RuleDraft;
use crate::standing::RightsNow;
pub(crate) use change::Plan;
pub(crate) use orders::{no_rule, nothing_left};
pub use view::RuleWords;

/// An order to allow or to block, as a person gives it outside of a question.
#[derive(Clone, Debug)]
pub struct RuleOrder {
    /// The server; every server where absent, which only a block may be for.
    pub server: Option<ServerId>,
    /// Tool on the server, or another subject by its rule name; needed for the width `tool`.
    pub tool: Option<String>,
    /// For this client; every client where absent.
    pub client: Option<ClientId>,
    /// How long and how wide.
    pub choice: GrantChoice,
}

/// An order of what runs without asking.
#[derive(Clone, Debug)]
pub struct PresetOrder {
    /// The server; every server that there is now where absent.
    pub server: Option<ServerId>,
    /// For this client; every client where absent.
    pub client: Option<ClientId>,
    /// To what.
    pub to: AutoApprove,
}

/// Keeper of the rights. Cheap to clone.
#[derive(Clone)]
pub struct RightsKeeper {
    pub(crate) inner: Arc<Keeper>,
}

impl fmt::Debug for RightsKeeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RightsKeeper").field("paused", &self.inner.paused()).finish_non_exhaustive()
    }
}

pub(crate) struct Keeper {
    pub(crate) store: Arc<Store>,
    events: Arc<dyn EventSink>,
    clock: Arc<dyn Clock>,
    servers: ServerManager,
    pub(crate) catalogue: Arc<ArcSwap<Catalogue>>,
    now: Arc<ArcSwap<RightsNow>>,
    paused: AtomicBool,
    /// Held while something durable is written, so that rights change one at a time.
    writer: tokio::sync::Mutex<()>,
    /// Held for the moment in which a new value takes the place of the old one.
    publishing: Mutex<()>,
    changes: watch::Sender<u64>,
    client_names: Mutex<HashMap<ClientId, String>>,
    /// When each rule last decided a call.
    last_used: Mutex<HashMap<GrantId, Timestamp>>,
    pub(crate) ids: Ids,
    tracker: TaskTracker,
}

/// What the keeper is made of.
pub(crate) struct KeeperParts {
    pub(crate) store: Arc<Store>,
    pub(crate) events: Arc<dyn EventSink>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) servers: ServerManager,
    pub(crate) tracker: TaskTracker,
}

impl RightsKeeper {
    /// Reads the stored rights. Never fails: what cannot be verified is not believed.
    pub(crate) async fn open(parts: KeeperParts) -> Self {
        let store = parts.store.clone();
        let loaded = tokio::task::spawn_blocking(move || {
            let clients = store.clients().load().ok().flatten().unwrap_or_default();
            let used = store.activity().rules_used().unwrap_or_else(|error| {
                tracing::warn!(%error, "it cannot be told when rules were last used");
                Vec::new()
            });
            (read_rights(&store), clients, used)
        })
        .await;
        let (rights, clients, used) = match loaded {
            Ok(loaded) => loaded,
            Err(_) => (Err(unreadable("reading them failed")), Vec::new(), Vec::new()),
        };
        let (rights, problem) = match rights {
            Ok(rights) => (rights, None),
            Err(problem) => (Rights::default(), Some(problem)),
        };
        let paused = rights.paused;
        let verified = problem.is_none();
        let now = Arc::new(ArcSwap::from_pointee(RightsNow::new(rights, Vec::new(), problem)));
        let keeper = Keeper {
            catalogue: Arc::new(ArcSwap::from_pointee(Catalogue::empty(now.clone()))),
            store: parts.store,
            events: parts.events,
            clock: parts.clock,
            servers: parts.servers,
            now,
            paused: AtomicBool::new(paused),
            writer: tokio::sync::Mutex::new(()),
            publishing: Mutex::new(()),
            changes: watch::channel(0).0,
            client_names: Mutex::new(clients.into_iter().map(|client| (client.id, client.name)).collect()),
            last_used: Mutex::new(used.into_iter().collect()),
            ids: Ids::new(),
            tracker: parts.tracker,
        };
        if !verified {
            keeper.events.emit(Event::RightsChanged { verified });
        }
        Self { inner: Arc::new(keeper) }
    }

    /// Whether everything is paused.
    #[must_use]
    pub fn paused(&self) -> bool {
        self.inner.paused()
    }

    /// What is wrong with the stored rights, if something is.
    #[must_use]
    pub fn problem(&self) -> Option<Problem> {
        self.inner.now().problem.clone()
    }

    /// Whether the user trusts the read-only labels of a server as it now is.
    #[must_use]
    pub fn trusts_labels(&self, server: &ServerId) -> bool {
        self.inner.binding(server).is_some_and(|bound| self.inner.now().trusts(&bound))
    }
}

/// Reads and verifies what is stored; says in the audit when it does not hold.
fn read_rights(store: &Store) -> Result<Rights, Problem> {
    match store.rights().load() {
        Ok(rights) => Ok(rights.unwrap_or_default()),
        Err(error) => {
            tracing::error!(%error, "the stored rights cannot be verified; everything asks");
            let reason = error.to_string();
            if let Err(error) = store.audit().append(AuditEvent::RightsRejected { reason }) {
                tracing::error!(%error, "the audit could not be written");
            }
            Err(error.into())
        }
    }
}

fn unreadable(why: &str) -> Problem {
    Problem::new(ErrorCode::Storage, "The stored rights cannot be read.").why(format!("{why}."))
}

impl Keeper {
    pub(crate) fn now(&self) -> arc_swap::Guard<Arc<RightsNow>> {
        self.now.load()
    }

    pub(crate) fn paused(&self) -> bool {
        self.paused.load(Ordering::SeqCst)
    }

    /// Why the computer's administrator forbids a server, if that is so.
    pub(crate) fn forbids(&self, config: &ServerConfig) -> Option<String> {
        self.servers.forbids(config)
    }

    pub(crate) fn set_paused(&self, paused: bool) -> bool {
        self.paused.swap(paused, Ordering::SeqCst)
    }

    pub(crate) fn time(&self) -> Timestamp {
        self.clock.now()
    }

    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Remembers what the user calls a client, for rules in words.
    pub(crate) fn saw_client(&self, client: &ClientEntry) {
        let mut names = self.client_names.lock();
        if names.get(&client.id).is_none_or(|name| *name != client.name) {
            names.insert(client.id.clone(), client.name.clone());
        }
    }

    /// Remembers that a rule decided a call which came in at a moment.
    pub(crate) fn rule_used(&self, rule: &GrantId, at: Timestamp) {
        let mut used = self.last_used.lock();
        let last = used.entry(rule.clone()).or_insert(at);
        *last = at.max(*last);
    }

    /// The server as rules are bound to it.
    pub(crate) fn binding(&self, server: &ServerId) -> Option<ServerBinding> {
        Some(self.servers.get(server)?.config().binding())
    }

    /// Every server as rules are bound to it.
    fn bindings(&self) -> Vec<ServerBinding> {
        self.servers.handles().into_iter().map(|handle| handle.config().binding()).collect()
    }

    fn server_name(&self, server: &ServerId) -> Option<String> {
        Some(self.servers.get(server)?.config().name.clone())
    }

    /// What a rule for this server can be pinned to: its tools, prompts and templates, and what its subject is
    /// by its rule name.
    fn with_items<R>(
        &self,
        server: Option<&ServerBinding>,
        subject: Option<&str>,
        work: impl FnOnce(&[Item<'_>]) -> R,
    ) -> R {
        let Some(bound) = server else { return work(&[]) };
        let (server, generation) = (&bound.server, bound.generation);
        let catalogue = self.catalogue.load();
        let now = self.now();
        let tools = catalogue.of_server(server).filter(|tool| tool.binding() == bound);
        let tools = tools.map(|tool| tool.item(now.class_of(tool)));
        let described = catalogue.described(server, generation).map(|known| known.item(bound));
        let mut items: Vec<Item<'_>> = tools.chain(described).collect();
        let known = subject.map(|name| catalogue.origin(server, generation, &Subject::of_rule_name(name)));
        if let (Some(name), Some(known)) = (subject, &known)
            && !items.iter().any(|item| item.subject == name)
        {
            let definition = known.origin.defined();
            items.push(Item { server: bound, subject: name, class: &known.class, definition });
        }
        work(&items)
    }

    /// A rule for a draft; `None` when nothing is to be left behind.
    pub(crate) fn rule(&self, draft: &RuleDraft) -> Result<Option<Grant>, Problem> {
        self.rule_called(GrantId::from_random(self.ids.next()), draft)
    }

    pub(crate) fn rule_called(&self, id: GrantId, draft: &RuleDraft) -> Result<Option<Grant>, Problem> {
        self.with_items(draft.server.as_ref(), draft.subject.as_deref(), |items| {
            draft.rule(id, self.time(), items)
        })
    }

    /// The definitions behind a rule's pins, to be kept for later comparison.
    pub(crate) fn definitions(&self, rule: &Grant) -> Vec<(Fingerprint, Box<str>)> {
        let Some(bound) = &rule.server else { return Vec::new() };
        let catalogue = self.catalogue.load();
        let tools = catalogue
            .of_server(&bound.server)
            .map(|tool| (tool.name(), tool.fingerprint(), tool.definition().get()));
        let described = catalogue
            .described(&bound.server, bound.generation)
            .map(|known| (known.pin(), known.fingerprint(), known.raw.get()));
        tools
            .chain(described)
            .filter(|(pin, fingerprint, _)| rule.pins.get(*pin) == Some(*fingerprint))
            .map(|(_, fingerprint, definition)| (fingerprint.clone(), definition.into()))
            .collect()
    }
}
