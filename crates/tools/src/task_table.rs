//! The tasks that tool calls became (TOOL-10), each with the id that its client knows. A task belongs to the client whose
//! call it was: no other client finds it, and an id of its server means nothing to clients.
//!
//! Nothing here is written to disk: after a restart no task is known, as with a server that was started anew.

use std::collections::HashSet;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use gatehouse_common::random;
use gatehouse_mcp_wire::raw::{Members, object, raw};
use gatehouse_mcp_wire::tasks::{RELATED_TASK, TASK, TaskIdPlace, TaskStatus, task_id, with_task_id};
use gatehouse_model::record::CallOutcome;
use gatehouse_model::{ClientId, ServerId, SessionId};
use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::byte_budget::{ByteBudget, Evict, KeptKind, Reservation};
use crate::call_types::response::FinishedCall;
use crate::pending_call::PendingCall;

/// Most tasks of a client; beyond that an old one is forgotten, first of those that have ended.
const MAX_TASKS: usize = 64;
/// Longest time for which a task is known; its server may set a shorter one.
const LONGEST_LIFE: Duration = Duration::from_secs(24 * 60 * 60);

/// Longest description of a task that is kept as its server wrote it, in bytes. With the extension it contains the result
/// of the task, which its client gets each time from the server.
const MAX_DESCRIPTION: usize = 16 * 1024;
/// The members of a task that are kept of a longer description, and how long the value of each may be.
const STATE_MEMBERS: [&str; 8] =
    ["taskId", "status", "createdAt", "lastUpdatedAt", "ttl", "ttlMs", "pollInterval", "pollIntervalMs"];
const MAX_STATE_MEMBER: usize = 64;
/// Most inputs that a server can require for one task, and the longest name of one.
const MAX_WANTED_INPUTS: usize = 256;
const MAX_INPUT_NAME: usize = 256;

/// What is recorded of a task whose id its server gave to another one.
const REPLACED: &str = "The server began another task with the same id, so how this one ended is not known.";

/// The tasks of all clients.
pub(crate) struct TaskTable {
    /// Oldest first.
    tasks: Mutex<Vec<Arc<ClientTask>>>,
    /// Memory budget for the calls that the tasks belong to.
    retained_bytes: Arc<ByteBudget>,
}

/// A task of a client.
pub(crate) struct ClientTask {
    /// The id that the client knows.
    id: Box<str>,
    /// The id that the server gave it.
    pub(crate) upstream_id: Box<str>,
    /// The call that became the task.
    pub(crate) pending_call: Arc<PendingCall>,
    /// Whether a rule that can be revoked allowed it.
    pub(crate) is_by_grant: bool,
    pub(crate) expires: Instant,
    /// Cancelled when the server is to be told that the task is no longer wanted.
    pub(crate) cancel: CancellationToken,
    /// Whether the client doesn't know it any more.
    is_forgotten: AtomicBool,
    /// The task as its server last described it, with the client's id.
    latest: watch::Sender<Arc<RawValue>>,
    /// Receives what the call ended with, once.
    end: Mutex<Option<oneshot::Sender<FinishedCall>>>,
    /// The keys of what its server last required as input (the extension).
    wanted_input: Mutex<HashSet<Box<str>>>,
    reservation: Mutex<Option<Reservation>>,
}

/// A result that says that a call became a task.
pub(crate) struct NewTask<'a> {
    pub(crate) pending_call: &'a Arc<PendingCall>,
    /// Whether a rule that can be revoked allowed it.
    pub(crate) is_by_grant: bool,
    /// Bytes that are kept with the call.
    pub(crate) size: usize,
    pub(crate) result: &'a RawValue,
    /// Where the id of the task stands in it.
    pub(crate) place: TaskIdPlace,
}

/// A call that has just become a task.
pub(crate) struct BegunTask {
    pub(crate) task: Arc<ClientTask>,
    /// What the call ends with, if that becomes known.
    pub(crate) end: oneshot::Receiver<FinishedCall>,
}

/// What a client is told of a task without having asked.
pub struct TaskNotice {
    /// The session of the call that became the task.
    pub session: Option<SessionId>,
    /// The params of `notifications/tasks/status`.
    pub params: Arc<RawValue>,
}

impl fmt::Debug for TaskNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskNotice").field("session", &self.session).finish_non_exhaustive()
    }
}

impl TaskTable {
    pub(crate) fn new(retained_bytes: Arc<ByteBudget>) -> Self {
        Self { tasks: Mutex::default(), retained_bytes }
    }

    /// Adds the task of a result that says that a call became one. Returns the result with the client's id; `None` if it
    /// says nothing like that.
    ///
    /// # Errors
    /// When there is no random id for it.
    pub(crate) fn begin(
        &self,
        new: NewTask<'_>,
    ) -> Result<Option<(Box<RawValue>, BegunTask)>, random::Error> {
        let NewTask { pending_call, is_by_grant, size, result, place } = new;
        let Some(upstream_id) = task_id(result, place) else { return Ok(None) };
        let id = hex::encode(random::bytes::<16>()?);
        let Some(shown) = with_task_id(result, place, &id) else { return Ok(None) };
        let inside = Members::of(&shown).ok().and_then(|members| members.get("task"));
        let described = if place == TASK { &*shown } else { inside.unwrap_or(&shown) };
        let (sender, end) = oneshot::channel();
        let task = Arc::new(ClientTask {
            id: id.into(),
            upstream_id: upstream_id.into(),
            pending_call: Arc::clone(pending_call),
            is_by_grant,
            expires: Instant::now() + life(described),
            cancel: CancellationToken::new(),
            is_forgotten: AtomicBool::new(false),
            latest: watch::Sender::new(kept_description(described.to_owned().into())),
            end: Mutex::new(Some(sender)),
            wanted_input: Mutex::default(),
            reservation: Mutex::default(),
        });
        let owner: Weak<ClientTask> = Arc::downgrade(&task);
        let (reservation, surplus) =
            self.retained_bytes.reserve(task.client(), KeptKind::Running, size, owner);
        *task.reservation.lock() = Some(reservation);
        surplus.evict();
        self.insert(&task);
        Ok(Some((shown, BegunTask { task, end })))
    }

    fn insert(&self, task: &Arc<ClientTask>) {
        let mut tasks = self.tasks.lock();
        let now = Instant::now();
        // A server that was started anew may give out an id again.
        let is_replaced =
            |other: &ClientTask| other.server() == task.server() && other.upstream_id == task.upstream_id;
        tasks.retain(|other| {
            if is_replaced(other) {
                other.replace();
                return false;
            }
            let is_kept = other.is_known(now);
            if !is_kept {
                other.forget();
            }
            is_kept
        });
        let own = |other: &&Arc<ClientTask>| other.client() == task.client();
        if tasks.iter().filter(own).count() >= MAX_TASKS {
            let is_ended = |other: &&Arc<ClientTask>| own(other) && !other.is_open();
            let oldest = tasks.iter().find(is_ended).or_else(|| tasks.iter().find(own)).cloned();
            if let Some(oldest) = oldest {
                oldest.forget();
                tasks.retain(|other| !Arc::ptr_eq(other, &oldest));
            }
        }
        tasks.push(Arc::clone(task));
    }

    /// The task that a client knows by this id, if it is one of the server, where one is given.
    pub(crate) fn find(
        &self,
        client: &ClientId,
        server: Option<&ServerId>,
        id: &str,
    ) -> Option<Arc<ClientTask>> {
        self.of_client(client, server).into_iter().find(|task| &*task.id == id)
    }

    /// The tasks that a client knows, of one server or of all, oldest first.
    pub(crate) fn of_client(&self, client: &ClientId, server: Option<&ServerId>) -> Vec<Arc<ClientTask>> {
        let now = Instant::now();
        let is_there = |task: &&Arc<ClientTask>| {
            let is_served = server.is_none_or(|server| server == task.server());
            task.client() == client && is_served && task.is_known(now)
        };
        self.tasks.lock().iter().filter(is_there).cloned().collect()
    }

    /// The task that a server knows by this id, if a client has it.
    pub(crate) fn of_server(&self, server: &ServerId, upstream_id: &str) -> Option<Arc<ClientTask>> {
        let now = Instant::now();
        let is_it = |task: &&Arc<ClientTask>| {
            task.server() == server && *task.upstream_id == *upstream_id && task.is_known(now)
        };
        self.tasks.lock().iter().find(is_it).cloned()
    }

    /// Forgets a task.
    pub(crate) fn remove(&self, task: &Arc<ClientTask>) {
        task.forget();
        self.tasks.lock().retain(|other| !Arc::ptr_eq(other, task));
    }

    /// Forgets the tasks of a client.
    pub(crate) fn forget_client(&self, client: &ClientId) {
        self.forget_where(|task| task.client() == client);
    }

    /// Forgets the tasks of a server.
    pub(crate) fn forget_server(&self, server: &ServerId) {
        self.forget_where(|task| task.server() == server);
    }

    fn forget_where(&self, is_forgotten: impl Fn(&ClientTask) -> bool) {
        self.tasks.lock().retain(|task| {
            let is_forgotten = is_forgotten(task);
            if is_forgotten {
                task.forget();
            }
            !is_forgotten
        });
    }

    /// Cancels all tasks. Their clients still know them.
    pub(crate) fn cancel_all(&self) {
        for task in self.tasks.lock().iter() {
            task.cancel.cancel();
        }
    }
}

impl ClientTask {
    pub(crate) fn server(&self) -> &ServerId {
        self.pending_call.server()
    }

    fn client(&self) -> &ClientId {
        &self.pending_call.caller.client.id
    }

    fn is_known(&self, now: Instant) -> bool {
        !self.is_forgotten.load(Ordering::SeqCst) && self.expires > now
    }

    fn forget(&self) {
        self.is_forgotten.store(true, Ordering::SeqCst);
        self.cancel.cancel();
    }

    /// Whether its client doesn't know it any more.
    pub(crate) fn is_forgotten(&self) -> bool {
        !self.is_known(Instant::now())
    }

    /// Forgets the task without a word to its server, for which the id means another task now.
    fn replace(&self) {
        self.is_forgotten.store(true, Ordering::SeqCst);
        self.finish(|| {
            FinishedCall::with_text(REPLACED, CallOutcome::Failed { message: REPLACED.to_owned() })
        });
    }

    /// Whether it works or waits, as far as known.
    pub(crate) fn is_open(&self) -> bool {
        TaskStatus::of(&self.latest.borrow()) == TaskStatus::Open
    }

    /// The task as its server last described it, with the client's id.
    pub(crate) fn latest(&self) -> Arc<RawValue> {
        Arc::clone(&self.latest.borrow())
    }

    /// Watches what its server says of it.
    pub(crate) fn watch(&self) -> watch::Receiver<Arc<RawValue>> {
        self.latest.subscribe()
    }

    /// Records how its server describes it, and returns that with the client's id; `None` if it is no task.
    pub(crate) fn described(&self, by_server: &RawValue) -> Option<Arc<RawValue>> {
        let task: Arc<RawValue> = with_task_id(by_server, TASK, &self.id)?.into();
        if let Some(wanted) = wanted_input(&task) {
            *self.wanted_input.lock() = wanted;
        }
        self.latest.send_replace(kept_description(Arc::clone(&task)));
        Some(task)
    }

    /// The state of the task and nothing that its server says of it.
    pub(crate) fn state_only(&self) -> Arc<RawValue> {
        state_of(&self.latest())
    }

    /// Whether the server required all of this input.
    pub(crate) fn wants(&self, input: &Members<'_>) -> bool {
        let wanted = self.wanted_input.lock();
        input.names().all(|name| wanted.contains(name))
    }

    /// Records what the call ended with. Only the first end counts.
    pub(crate) fn finish(&self, ended: impl FnOnce() -> FinishedCall) {
        if let Some(end) = self.end.lock().take()
            && end.send(ended()).is_err()
        {
            tracing::trace!("a task ended after its record was written");
        }
    }

    /// An object of the server that belongs to the task, with the client's id of it.
    pub(crate) fn to_client(&self, object: Box<RawValue>) -> Box<RawValue> {
        replaced(object, &self.upstream_id, &self.id)
    }

    /// An object of the client that belongs to the task, with the server's id of it.
    pub(crate) fn to_server(&self, object: Box<RawValue>) -> Box<RawValue> {
        replaced(object, &self.id, &self.upstream_id)
    }
}

fn replaced(object: Box<RawValue>, id: &str, by: &str) -> Box<RawValue> {
    match task_id(&object, RELATED_TASK) {
        Some(known) if known == id => with_task_id(&object, RELATED_TASK, by).unwrap_or(object),
        Some(_) | None => object,
    }
}

/// The names of what a server requires as input, if it says so.
fn wanted_input(task: &RawValue) -> Option<HashSet<Box<str>>> {
    let wanted = Members::of(Members::of(task).ok()?.get("inputRequests")?).ok()?;
    let names = wanted.names().filter(|name| name.len() <= MAX_INPUT_NAME);
    Some(names.take(MAX_WANTED_INPUTS).map(Into::into).collect())
}

/// What is kept of a description.
fn kept_description(task: Arc<RawValue>) -> Arc<RawValue> {
    if task.get().len() <= MAX_DESCRIPTION { task } else { state_of(&task) }
}

/// The members of a task that say its state.
fn state_of(task: &RawValue) -> Arc<RawValue> {
    let members = Members::of(task).unwrap_or_default();
    let is_state = |(name, value): &(&str, &RawValue)| {
        STATE_MEMBERS.contains(name) && value.get().len() <= MAX_STATE_MEMBER
    };
    raw(object(members.iter().filter(is_state))).into()
}

impl Evict for ClientTask {
    fn evict(&self) {
        self.forget();
    }
}

/// How long a task is known, as its server describes it: for its `ttl`, in the extension `ttlMs`.
fn life(task: &RawValue) -> Duration {
    let members = Members::of(task).ok();
    let ttl = members.and_then(|members| members.get("ttl").or_else(|| members.get("ttlMs")));
    let ttl = ttl.and_then(|ttl| serde_json::from_str::<u64>(ttl.get()).ok());
    ttl.map_or(LONGEST_LIFE, Duration::from_millis).min(LONGEST_LIFE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_lives_as_long_as_its_server_says() {
        for (task, seconds) in [
            (r#"{"ttl":5000}"#, 5),
            (r#"{"ttlMs":5000}"#, 5),
            (r#"{"ttl":null}"#, 86_400),
            ("{}", 86_400),
            (r#"{"ttl":99999999999}"#, 86_400),
            (r#"{"ttl":"long"}"#, 86_400),
        ] {
            assert_eq!(life(&raw(task.to_owned())).as_secs(), seconds, "{task}");
        }
    }

    #[test]
    fn only_the_state_is_kept_of_a_long_description() {
        let task = |result: &str| -> Arc<RawValue> {
            let text =
                format!(r#"{{"taskId":"a","status":"completed","statusMessage":"s","result":"{result}"}}"#);
            raw(text).into()
        };
        let short = task("r");
        assert_eq!(kept_description(Arc::clone(&short)).get(), short.get());
        let long = kept_description(task(&"r".repeat(MAX_DESCRIPTION)));
        assert_eq!(long.get(), r#"{"taskId":"a","status":"completed"}"#);
        assert_eq!(TaskStatus::of(&long), TaskStatus::Completed);
        let odd = raw(format!(r#"{{"status":"working","createdAt":"{}"}}"#, "x".repeat(MAX_STATE_MEMBER)));
        assert_eq!(state_of(&odd).get(), r#"{"status":"working"}"#);
    }

    #[test]
    fn wanted_input_is_limited() {
        let wanting = |names: &[String]| {
            let names: Vec<String> = names.iter().map(|name| format!(r#""{name}":{{}}"#)).collect();
            let task = raw(format!(r#"{{"inputRequests":{{{}}}}}"#, names.join(",")));
            wanted_input(&task).unwrap_or_default()
        };
        assert!(wanting(&["who".to_owned()]).contains("who"));
        assert!(wanting(&["x".repeat(MAX_INPUT_NAME + 1)]).is_empty());
        let many: Vec<String> = (0..=MAX_WANTED_INPUTS).map(|number| number.to_string()).collect();
        assert_eq!(wanting(&many).len(), MAX_WANTED_INPUTS);
        assert!(wanted_input(&raw(r#"{"status":"working"}"#.to_owned())).is_none());
    }

    #[test]
    fn only_the_id_of_the_task_itself_is_replaced() {
        let of = |id: &str| {
            raw(format!(
                r#"{{"_meta":{{"io.modelcontextprotocol/related-task":{{"taskId":"{id}"}}}},"n":1.0}}"#
            ))
        };
        assert_eq!(replaced(of("a"), "a", "b").get(), of("b").get());
        assert_eq!(replaced(of("c"), "a", "b").get(), of("c").get());
        assert_eq!(replaced(raw("{}".to_owned()), "a", "b").get(), "{}");
    }
}
