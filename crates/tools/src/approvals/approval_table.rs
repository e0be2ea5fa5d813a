//! The data of the approval queue. No waiting and no notifications here.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::approval::{CallDetails, Warning};
use gatehouse_model::record::{AuditEvent, ServerRequestAnswer, ServerRequestKind};
use gatehouse_model::{
    ApprovalAnswer, ApprovalId, ApprovalRequest, CallApprovalRequest, CallHash, ClientId, GrantId,
    PendingApproval, Timestamp,
};
use serde_json::value::RawValue;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::limits::REPLY_BYTES;
use super::outcome::CallApprovalOutcome;
use crate::call_types::call_key::CallKey;
use crate::pending_call::PendingCall;

/// Changes in whether a client waits are announced at most once in this interval per client: a client that
/// calls and leaves repeatedly must not keep the answer buttons disabled.
const ANNOUNCE_APART: Duration = Duration::from_secs(3);

/// One pending request.
pub(super) struct QueuedApproval {
    pub(super) id: ApprovalId,
    pub(super) requested_at: Timestamp,
    pub(super) expires_at: Timestamp,
    pub(super) deadline: Instant,
    /// Without the details.
    pub(super) request: ApprovalRequest,
    /// The details of an approval request for a call.
    pub(super) details: Option<CallDetails>,
    /// Size in bytes, counted against the limits.
    pub(super) size: usize,
    pub(super) source: ApprovalSource,
    /// The params of a sampling request as they came, for a model that the user lets answer it. Never shown.
    pub(super) sampling_params: Option<Arc<RawValue>>,
    /// Whether a call waits, as last announced.
    pub(super) wait_state: WaitState,
    /// When a change of `wait_state` is to be announced.
    pub(super) announce_at: Option<Instant>,
    /// Whether the stored permissions were verified when the choices were computed.
    pub(super) permissions_verified: bool,
    /// Value of the pause counter when the request was made.
    pub(super) pauses: u64,
    /// An answer is being written to the audit. Until that is done, the request neither ends nor takes another
    /// answer.
    pub(super) is_answering: bool,
}

/// Whether any call waits for a request, and until when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WaitState {
    pub(super) waiting: bool,
    pub(super) until: Option<Timestamp>,
}

/// What a request is about, with those that wait for the answer.
pub(super) enum ApprovalSource {
    /// A call. Without waiters, the request stays pending for the next identical call.
    Call { pending_call: Arc<PendingCall>, waiters: Vec<ApprovalWaiter> },
    /// A server's request.
    Request(Option<oneshot::Sender<ApprovalAnswer>>),
}

/// One waiting call.
pub(super) struct ApprovalWaiter {
    pub(super) no: u64,
    pub(super) to: oneshot::Sender<CallApprovalOutcome>,
    /// When the call came in.
    pub(super) since: Instant,
    /// When its client is told to call again.
    pub(super) until: Timestamp,
}

impl ApprovalWaiter {
    /// Sends the outcome to the call; gives it back if the call has left.
    pub(super) fn notify(self, outcome: CallApprovalOutcome) -> Result<(), CallApprovalOutcome> {
        self.to.send(outcome)
    }
}

/// An answer that came after all calls had left.
pub(super) struct LateAnswer {
    pub(super) id: ApprovalId,
    pub(super) decision: LateDecision,
    /// Value of the pause counter when the request was made.
    pub(super) pauses: u64,
}

/// A late answer with its expiry; valid for one identical call.
pub(super) struct StoredLateAnswer {
    pub(super) answer: LateAnswer,
    pub(super) client: ClientId,
    pub(super) until: Instant,
}

/// Content of a late answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LateDecision {
    Allowed,
    Refused(Option<String>),
}

impl QueuedApproval {
    /// The request with all details.
    pub(super) fn with_arguments(&self) -> PendingApproval {
        let mut pending = self.without_arguments();
        if let (ApprovalRequest::Call(call), Some(details)) = (&mut pending.request, &self.details) {
            call.put_details(details.clone());
        }
        pending
    }

    /// The request without its details because the reply has no room for them.
    fn abridged(&self) -> PendingApproval {
        let mut pending = self.without_arguments();
        if let ApprovalRequest::Call(call) = &mut pending.request {
            call.is_abridged = true;
        }
        pending
    }

    /// The request without its details, which can be large; as it is announced in events.
    pub(super) fn without_arguments(&self) -> PendingApproval {
        let mut request = self.request.clone();
        if let ApprovalRequest::Call(call) = &mut request {
            call.client_waits_until = self.wait_state.until;
        }
        PendingApproval {
            id: self.id.clone(),
            requested_at: self.requested_at,
            expires_at: self.expires_at,
            request,
            waiting: self.wait_state.waiting,
            model: None,
        }
    }

    /// Bytes of the request, counted once per waiting call.
    fn held_bytes(&self) -> usize {
        match &self.source {
            ApprovalSource::Call { waiters, .. } => self.size.saturating_mul(waiters.len().max(1)),
            ApprovalSource::Request(_) => self.size,
        }
    }

    /// The current presence. An announced `until` is kept as long as it is in the future and not later than
    /// the last waiter.
    fn current_wait_state(&self, now: Timestamp) -> WaitState {
        let ApprovalSource::Call { waiters, .. } = &self.source else { return self.wait_state };
        let last = waiters.iter().map(|waiter| waiter.until).max();
        let until =
            self.wait_state.until.filter(|until| last.is_some_and(|last| now < *until && *until <= last));
        WaitState { waiting: last.is_some(), until: until.or(last) }
    }

    pub(super) fn pending_call(&self) -> Option<&Arc<PendingCall>> {
        match &self.source {
            ApprovalSource::Call { pending_call, .. } => Some(pending_call),
            ApprovalSource::Request(_) => None,
        }
    }
}

/// The grant that an approval request shows as waiting for its first use.
pub(super) fn unbound_grant(call: &CallApprovalRequest) -> Option<&GrantId> {
    call.warnings.iter().find_map(|warning| {
        if let Warning::UnboundGrant { grant, .. } = warning { Some(grant) } else { None }
    })
}

/// The audit entry for the answer to a request that isn't about a call; `None` for requests with an audit entry of
/// their own.
pub(super) fn request_answered(
    approval_request: &ApprovalRequest,
    id: &ApprovalId,
    answer: ServerRequestAnswer,
    by: Option<&str>,
) -> Option<AuditEvent> {
    let by = by.map(str::to_owned);
    if let ApprovalRequest::Client(access) = approval_request {
        let (name, client_id) = (access.says.clone(), access.client_id.clone());
        return Some(AuditEvent::ClientAccessAnswered { ask: id.clone(), name, client_id, answer, by });
    }
    if let ApprovalRequest::Command(proposed) = approval_request {
        let program = proposed.seen_from.as_ref().map(|seen| seen.program.name.clone());
        let (command, what) = (proposed.command.clone(), proposed.what.clone());
        return Some(AuditEvent::CommandAnswered { ask: id.clone(), command, what, program, answer, by });
    }
    let (request, server, client) = ServerRequestKind::of(approval_request)?;
    Some(AuditEvent::ServerRequestAnswered { ask: id.clone(), request, server, client, answer, by })
}

/// Bytes of requests with details in one reply.
#[derive(Default)]
struct ReplyRoom {
    taken: usize,
}

impl ReplyRoom {
    /// Reserves room for a request of this size. Always succeeds for the first one.
    fn takes(&mut self, size: usize) -> bool {
        let after = self.taken.saturating_add(size);
        let fits = self.taken == 0 || after <= REPLY_BYTES;
        if fits {
            self.taken = after;
        }
        fits
    }
}

/// All pending requests, in the order in which they came.
#[derive(Default)]
pub(super) struct ApprovalTable {
    entries: BTreeMap<u64, QueuedApproval>,
    positions: HashMap<ApprovalId, u64>,
    by_call_hash: HashMap<CallHash, u64>,
    pub(super) late: HashMap<CallKey, StoredLateAnswer>,
    /// Pause counter: how often all approval requests for calls were ended at once.
    pub(super) pauses: u64,
    /// When a change of presence was last announced, per client.
    announced: HashMap<ClientId, Instant>,
    count: u64,
}

impl ApprovalTable {
    /// A new unique number.
    pub(super) fn next(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn insert(&mut self, queued: QueuedApproval) {
        let place = self.next();
        self.positions.insert(queued.id.clone(), place);
        if let Some(pending_call) = queued.pending_call() {
            self.by_call_hash.insert(pending_call.approval_hash.clone(), place);
        }
        self.entries.insert(place, queued);
    }

    pub(super) fn remove(&mut self, id: &ApprovalId) -> Option<QueuedApproval> {
        let queued = self.entries.remove(&self.positions.remove(id)?)?;
        if let Some(pending_call) = queued.pending_call() {
            self.by_call_hash.remove(&pending_call.approval_hash);
        }
        Some(queued)
    }

    pub(super) fn get(&mut self, id: &ApprovalId) -> Option<&mut QueuedApproval> {
        self.entries.get_mut(self.positions.get(id)?)
    }

    pub(super) fn by_hash(&mut self, hash: &CallHash) -> Option<&mut QueuedApproval> {
        self.entries.get_mut(self.by_call_hash.get(hash)?)
    }

    /// All requests. Those in `known` come without their details, and of the others those that don't fit into
    /// the reply.
    pub(super) fn pending(&self, known: &[ApprovalId]) -> Vec<PendingApproval> {
        let mut room = ReplyRoom::default();
        let each = |queued: &QueuedApproval| {
            if queued.details.is_none() || known.contains(&queued.id) {
                queued.without_arguments()
            } else if room.takes(queued.size) {
                queued.with_arguments()
            } else {
                queued.abridged()
            }
        };
        self.entries.values().map(each).collect()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &QueuedApproval> {
        self.entries.values()
    }

    /// Number of pending calls of one client.
    pub(super) fn count_of_client(&self, client: &ClientId) -> usize {
        self.iter()
            .filter(|queued| {
                queued.pending_call().is_some_and(|pending_call| pending_call.caller.client.id == *client)
            })
            .count()
    }

    /// Bytes of pending calls: of one client, and in total.
    pub(super) fn bytes(&self, client: &ClientId) -> (usize, usize) {
        self.iter().fold((0, 0), |(own, all), queued| match queued.pending_call() {
            Some(pending_call) if pending_call.caller.client.id == *client => {
                (own + queued.held_bytes(), all + queued.held_bytes())
            }
            Some(_) => (own, all + queued.held_bytes()),
            None => (own, all),
        })
    }

    /// Bytes of the requests that aren't about calls.
    pub(super) fn request_bytes(&self) -> usize {
        self.iter().filter(|queued| queued.pending_call().is_none()).map(|queued| queued.size).sum()
    }

    /// Number of requests that aren't about calls.
    pub(super) fn request_count(&self) -> usize {
        self.iter().filter(|queued| queued.pending_call().is_none()).count()
    }

    /// When the next deadline, announcement or expiry is due.
    pub(super) fn next_end(&self) -> Option<Instant> {
        let entries = self.iter().filter(|queued| !queued.is_answering).map(|queued| queued.deadline);
        let changes = self.iter().filter_map(|queued| queued.announce_at);
        entries.chain(changes).chain(self.late.values().map(|stored| stored.until)).min()
    }

    /// Updates whether calls wait for a request. Returns the request if the change is to be announced now;
    /// otherwise schedules the announcement if there is a change.
    pub(super) fn announce(&mut self, id: &ApprovalId, now: Timestamp) -> Option<PendingApproval> {
        let queued = self.entries.get_mut(self.positions.get(id)?)?;
        let present = queued.current_wait_state(now);
        if present == queued.wait_state {
            queued.announce_at = None;
            return None;
        }
        let client = queued.pending_call()?.caller.client.id.clone();
        let moment = Instant::now();
        let next = self.announced.get(&client).map(|last| *last + ANNOUNCE_APART);
        if let Some(next) = next.filter(|next| *next > moment) {
            queued.announce_at = Some(next);
            return None;
        }
        self.announced.insert(client, moment);
        queued.announce_at = None;
        queued.wait_state = present;
        Some(queued.without_arguments())
    }

    /// The requests whose change of presence is due to be announced.
    pub(super) fn due_changes(&self) -> Vec<ApprovalId> {
        let now = Instant::now();
        let due = |queued: &&QueuedApproval| queued.announce_at.is_some_and(|at| at <= now);
        self.iter().filter(due).map(|queued| queued.id.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use gatehouse_model::approval::{ClientSummary, ServerSummary, Subject};
    use gatehouse_model::grant::{AccessClassification, ClassReason, Condition, ConditionTest};
    use gatehouse_model::{AccessClass, Generation, GrantChoice, Message, OfferedChoice, OfferedCondition};

    use super::*;
    use crate::approvals::limits::call_size;

    fn call_request() -> CallApprovalRequest {
        let client = ClientSummary {
            id: "c".into(),
            name: "C".into(),
            says: None,
            seen_from: None,
            session: None,
            by_user: false,
        };
        let server = ServerSummary {
            id: "s".into(),
            generation: Generation(0),
            name: "S".into(),
            description: None,
            icon: String::new(),
        };
        let class = AccessClassification {
            class: AccessClass::Write,
            reason: ClassReason::Default,
            reaches_outside: false,
        };
        CallApprovalRequest {
            client,
            server,
            subject: Subject::Tool { name: "t".into() },
            title: "t".into(),
            exposed_name: "t".into(),
            class,
            arguments: None,
            argument_bytes: 0,
            is_abridged: false,
            hash: CallHash::new("h"),
            warnings: Vec::new(),
            changes: Vec::new(),
            choices: Vec::new(),
            denials: Vec::new(),
            conditions: Vec::new(),
            client_waits_until: None,
        }
    }

    fn offered(bytes: usize) -> Vec<OfferedChoice> {
        vec![OfferedChoice::new(&GrantChoice::once(), Message::new("x".repeat(bytes)))]
    }

    fn proposed(bytes: usize) -> Vec<OfferedCondition> {
        let test = ConditionTest::Equals { value: "1".into() };
        let condition = Condition { pointer: "/a".into(), test };
        vec![OfferedCondition { condition, sentence: Message::new("x".repeat(bytes)) }]
    }

    #[test]
    fn what_is_offered_takes_room_as_arguments_do() {
        let kinds: [fn(usize) -> CallDetails; 3] = [
            |bytes| CallDetails { choices: offered(bytes), ..CallDetails::default() },
            |bytes| CallDetails { denials: offered(bytes), ..CallDetails::default() },
            |bytes| CallDetails { conditions: proposed(bytes), ..CallDetails::default() },
        ];
        for details in kinds {
            let (small, large) = (details(1), details(1001));
            assert_eq!(
                call_size(&call_request(), &large) - call_size(&call_request(), &small),
                1000,
                "{small:?}"
            );
        }
    }

    #[test]
    fn details_are_left_out_together_and_put_back_together() {
        let details = CallDetails { choices: offered(1), conditions: proposed(1), ..CallDetails::default() };
        let mut call = call_request();
        call.put_details(details.clone());
        assert!(call.arguments.is_some() && !call.choices.is_empty() && !call.conditions.is_empty());
        assert_eq!(call.take_details(), Some(details));
        assert_eq!(call, call_request());
        assert_eq!(call.take_details(), None);
    }

    #[test]
    fn a_reply_has_room_for_one_request_at_least_and_for_no_more_than_its_bytes() {
        const HALF: usize = REPLY_BYTES / 2;
        for (sizes, taken) in [
            (&[HALF, HALF, 1][..], &[true, true, false][..]),
            (&[HALF, HALF + 1, HALF], &[true, false, true]),
            (&[REPLY_BYTES + 1, 1], &[true, false]),
            (&[usize::MAX, usize::MAX], &[true, false]),
        ] {
            let mut room = ReplyRoom::default();
            let found: Vec<bool> = sizes.iter().map(|size| room.takes(*size)).collect();
            assert_eq!(found, taken, "{sizes:?}");
        }
    }
}
