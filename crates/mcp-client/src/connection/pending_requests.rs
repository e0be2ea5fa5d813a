//! The pending requests of a connection, by the number in their id. Progress reaches a request's
//! sink in the order of the transport and never after the response was delivered.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::future::join_all;
use gatehouse_mcp_wire::tasks::{RELATED_TASK, task_id};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::{oneshot, watch};
use tokio_util::sync::CancellationToken;

use super::envelope::{self, MetaOptions, RequestMeta};
use crate::bounds;
use crate::limit::{ClockHold, RequestClock};
use crate::request::{CancelReason, Progress, ProgressSink, RpcOutcome, UpstreamRequest, WireTap};
use crate::server_requests::Responder;

pub(super) struct PendingRequests {
    next: AtomicU64,
    /// `None` once the connection has ended.
    open: Mutex<Option<HashMap<u64, PendingRequest>>>,
    /// Sinks of calls that became tasks, whose progress goes on after their response. Oldest first.
    task_progress: Mutex<VecDeque<(u64, ProgressSink)>>,
}

struct PendingRequest {
    answer: oneshot::Sender<RpcOutcome>,
    progress: Option<ProgressSink>,
    responder: Option<Responder>,
    /// The task whose result it waits for, by the server's id.
    task: Option<Box<str>>,
    /// Whether it is to run as a task.
    becomes_task: bool,
    wire: Option<Arc<dyn WireTap>>,
    clock: Arc<RequestClock>,
    /// Becomes `true` when the caller stops waiting, and is dropped when the response was delivered.
    given_up: watch::Sender<bool>,
}

/// The responder of the originating request. If the origin is unknown, the responder of all pending
/// requests, provided that they belong to the same client.
fn responder_for(open: &HashMap<u64, PendingRequest>, origin: MessageOrigin) -> Option<Responder> {
    match origin {
        MessageOrigin::Call(number) => open.get(&number)?.responder.clone(),
        MessageOrigin::UnawaitedTask => None,
        MessageOrigin::Unspecified => {
            let mut able = open.values().filter_map(|call| call.responder.as_ref());
            let first = able.next()?;
            able.all(|other| other.client_key == first.client_key).then(|| first.clone())
        }
    }
}

/// Where a message of the server came from.
#[derive(Clone, Copy, Debug)]
pub(super) enum MessageOrigin {
    /// From the response stream of this request.
    Call(u64),
    /// From a stream that isn't tied to a request.
    Unspecified,
    /// The same, and about a task whose result no pending request waits for.
    UnawaitedTask,
}

/// Which of Gatehouse's requests a request of the server belongs to.
pub(super) struct Attribution {
    /// Who answers it, if it can be attributed with certainty.
    pub(super) responder: Option<Responder>,
    /// The clocks that it pauses: that of the originating request, or those of all pending requests
    /// if the origin is unknown.
    pub(super) held: Vec<ClockHold>,
    /// The calls that it may be about.
    pub(super) calls: PossibleCalls,
}

/// The calls that were in flight when the server asked something, as far as it can be about them.
pub(super) struct PossibleCalls {
    origin: MessageOrigin,
    given_up: Vec<watch::Receiver<bool>>,
}

impl PossibleCalls {
    /// Returns when nobody waits any more for the call that the server asked for; never if it asked
    /// for none.
    pub(super) async fn ended(self) {
        let ends = self.given_up.into_iter().map(|mut end| async move {
            // An error means that the call was answered.
            end.wait_for(|given_up| *given_up).await.is_ok()
        });
        let given_up = join_all(ends).await;
        let is_over = match self.origin {
            MessageOrigin::Call(_) => true,
            // A call that was answered did not wait for this, so it is about one that was given up.
            MessageOrigin::Unspecified => given_up.contains(&true),
            MessageOrigin::UnawaitedTask => false,
        };
        if !is_over {
            std::future::pending::<()>().await;
        }
    }
}

/// A pending request. [`PendingRequests::forget`] removes it; dropping the ticket alone does not.
pub(super) struct RequestTicket {
    /// The number in its id.
    pub(super) number: u64,
    /// Its clock, which is reset by progress.
    pub(super) clock: Arc<RequestClock>,
    /// Receives the response.
    pub(super) answer: oneshot::Receiver<RpcOutcome>,
}

/// A pending request whose message has not been sent yet.
pub(super) struct BegunRequest {
    pub(super) ticket: RequestTicket,
    /// The message to send.
    pub(super) message: Vec<u8>,
    /// Cancels the request.
    pub(super) cancel: CancellationToken,
    /// Why, if it is cancelled.
    pub(super) cancel_reason: CancelReason,
}

impl Default for PendingRequests {
    fn default() -> Self {
        Self {
            next: AtomicU64::new(1),
            open: Mutex::new(Some(HashMap::new())),
            task_progress: Mutex::default(),
        }
    }
}

impl PendingRequests {
    /// Registers a request and writes its message, with the `_meta` members that its revision requires; `None` if
    /// the connection has ended.
    pub(super) fn begin(&self, request: UpstreamRequest, own: &RequestMeta) -> Option<BegunRequest> {
        let UpstreamRequest { method, params, progress, responder, cancel, cancel_reason, client, wire } =
            request;
        let token = progress.is_some().then_some(());
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        let clock = Arc::new(RequestClock::now());
        // Not other requests about a task: they are over at once, and what the server asks would end with them.
        let task = if method == "tasks/result" { params.text("taskId") } else { None };
        let open = PendingRequest {
            answer: sender,
            progress,
            responder,
            task: task.map(Into::into),
            becomes_task: params.get("task").is_some(),
            wire: wire.clone(),
            clock: Arc::clone(&clock),
            given_up: watch::Sender::new(false),
        };
        self.open.lock().as_mut()?.insert(number, open);
        let declared = client.and_then(|client| client.capabilities);
        let meta = MetaOptions { token, own, capabilities: declared.as_deref() };
        let message = envelope::request(number, &method, &params, meta);
        if let Some(wire) = wire {
            wire.sent(&message);
        }
        Some(BegunRequest { ticket: RequestTicket { number, clock, answer }, message, cancel, cancel_reason })
    }

    /// Delivers a response, given also as the whole message. It is dropped if the request is no longer pending.
    pub(super) fn answer(&self, number: u64, outcome: Result<&RawValue, &RawValue>, message: &[u8]) {
        let open = self.open.lock().as_mut().and_then(|open| open.remove(&number));
        let Some(open) = open else {
            tracing::trace!(number, "an answer came that nobody waits for");
            return;
        };
        if let Some(wire) = &open.wire {
            wire.received(message);
        }
        if let (true, Some(sink), Ok(_)) = (open.becomes_task, open.progress, outcome) {
            let mut sinks = self.task_progress.lock();
            if sinks.len() >= bounds::TASKS_WITH_PROGRESS {
                sinks.pop_front();
            }
            sinks.push_back((number, sink));
        }
        let reply = match outcome {
            Ok(result) => RpcOutcome::Result(result.to_owned()),
            Err(error) => RpcOutcome::Error(error.to_owned()),
        };
        if open.answer.send(reply).is_err() {
            tracing::trace!(number, "the caller left while its answer came");
        }
    }

    /// Delivers progress. `false` if the token isn't that of a pending request.
    pub(super) fn progress(&self, params: &RawValue) -> bool {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Token<'a> {
            #[serde(borrow)]
            progress_token: &'a RawValue,
        }
        let Ok(Token { progress_token }) = serde_json::from_str::<Token<'_>>(params.get()) else {
            return false;
        };
        let Some(number) = envelope::parse_own_id(progress_token) else { return false };
        let pending = self.open.lock().as_ref().and_then(|open| open.get(&number)).map(|call| {
            call.clock.progress();
            call.progress.clone()
        });
        let sink = match pending {
            Some(sink) => sink,
            None => {
                let sinks = self.task_progress.lock();
                let Some((_, sink)) = sinks.iter().find(|(call, _)| *call == number) else { return false };
                Some(sink.clone())
            }
        };
        if params.get().len() > bounds::PROGRESS {
            tracing::debug!(number, "progress that is too long is not passed on");
        } else if let (Some(sink), Some(progress)) = (sink, Progress::read(params)) {
            sink(progress);
        }
        true
    }

    /// Where a message with these params came from: on a stream that isn't tied to a request, the task that it names
    /// tells.
    pub(super) fn origin(&self, origin: MessageOrigin, params: Option<&RawValue>) -> MessageOrigin {
        let named =
            params.filter(|params| memchr::memmem::find(params.get().as_bytes(), b"related-task").is_some());
        let task = named.and_then(|params| task_id(params, RELATED_TASK));
        match (origin, task) {
            (MessageOrigin::Unspecified, Some(task)) => {
                let open = self.open.lock();
                let mut all = open.iter().flatten();
                let about = all.find(|(_, request)| request.task.as_deref() == Some(&*task));
                about.map_or(MessageOrigin::UnawaitedTask, |(number, _)| MessageOrigin::Call(*number))
            }
            (origin, _) => origin,
        }
    }

    /// Which of the pending requests a request of the server belongs to.
    pub(super) fn attribute(&self, origin: MessageOrigin) -> Attribution {
        let open = self.open.lock();
        let Some(open) = open.as_ref() else {
            return Attribution {
                responder: None,
                held: Vec::new(),
                calls: PossibleCalls { origin, given_up: Vec::new() },
            };
        };
        let pending: Vec<&PendingRequest> = match origin {
            MessageOrigin::Call(number) => open.get(&number).into_iter().collect(),
            MessageOrigin::Unspecified => open.values().collect(),
            MessageOrigin::UnawaitedTask => Vec::new(),
        };
        let is_call = |request: &&&PendingRequest| match origin {
            MessageOrigin::Call(_) => true,
            // Requests of Gatehouse's own, such as those for lists, lead to no questions.
            MessageOrigin::Unspecified | MessageOrigin::UnawaitedTask => request.responder.is_some(),
        };
        let given_up = pending.iter().filter(is_call).map(|request| request.given_up.subscribe()).collect();
        Attribution {
            responder: responder_for(open, origin),
            held: pending.iter().map(|request| request.clock.pause()).collect(),
            calls: PossibleCalls { origin, given_up },
        }
    }

    /// The responder of the request that a log message belongs to, if it can be attributed with
    /// certainty.
    pub(super) fn responder_for(&self, origin: MessageOrigin) -> Option<Responder> {
        responder_for(self.open.lock().as_ref()?, origin)
    }

    /// Whether a message may be about a request of a client, or its task.
    pub(super) fn may_be_about_a_call(&self, origin: MessageOrigin) -> bool {
        let open = self.open.lock();
        matches!(origin, MessageOrigin::UnawaitedTask)
            || open.as_ref().is_some_and(|open| open.values().any(|call| call.responder.is_some()))
    }

    /// Removes a request whose caller stops waiting. `true` if it was still pending.
    pub(super) fn forget(&self, number: u64) -> bool {
        let removed = self.open.lock().as_mut().and_then(|open| open.remove(&number));
        if let Some(request) = &removed {
            request.given_up.send_replace(true);
        }
        removed.is_some()
    }

    /// Ends all pending requests: waiting on their tickets fails. No new ones can begin.
    pub(super) fn end(&self) {
        drop(self.open.lock().take());
        self.task_progress.lock().clear();
    }
}
