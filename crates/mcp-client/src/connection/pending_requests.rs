//! The pending requests of a connection, by the number in their id. Progress reaches a request's
//! sink in the order of the transport and never after the response was delivered.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::envelope::{self, MetaOptions, RequestMeta};
use crate::bounds;
use crate::limit::{ClockHold, RequestClock};
use crate::request::{Progress, ProgressSink, RpcOutcome, UpstreamRequest};
use crate::server_requests::Responder;

pub(super) struct PendingRequests {
    next: AtomicU64,
    /// `None` once the connection has ended.
    open: Mutex<Option<HashMap<u64, PendingRequest>>>,
}

struct PendingRequest {
    answer: oneshot::Sender<RpcOutcome>,
    progress: Option<ProgressSink>,
    responder: Option<Responder>,
    clock: Arc<RequestClock>,
}

/// The responder of the originating request. If the origin is unknown, the responder of all pending
/// requests, provided that they belong to the same client.
fn responder_for(open: &HashMap<u64, PendingRequest>, origin: MessageOrigin) -> Option<Responder> {
    match origin {
        MessageOrigin::Call(number) => open.get(&number)?.responder.clone(),
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
}

impl Default for PendingRequests {
    fn default() -> Self {
        Self { next: AtomicU64::new(1), open: Mutex::new(Some(HashMap::new())) }
    }
}

impl PendingRequests {
    /// Registers a request and writes its message, with the `_meta` members that its revision requires; `None` if
    /// the connection has ended.
    pub(super) fn begin(&self, request: UpstreamRequest, own: &RequestMeta) -> Option<BegunRequest> {
        let UpstreamRequest { method, params, progress, responder, cancel } = request;
        let token = progress.is_some().then_some(());
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        let clock = Arc::new(RequestClock::now());
        let open = PendingRequest { answer: sender, progress, responder, clock: Arc::clone(&clock) };
        self.open.lock().as_mut()?.insert(number, open);
        let message = envelope::request(number, method, &params, MetaOptions { token, own });
        Some(BegunRequest { ticket: RequestTicket { number, clock, answer }, message, cancel })
    }

    /// Delivers a response. It is dropped if the request is no longer pending.
    pub(super) fn answer(&self, number: u64, outcome: Result<&RawValue, &RawValue>) {
        let open = self.open.lock().as_mut().and_then(|open| open.remove(&number));
        let Some(open) = open else {
            tracing::trace!(number, "an answer came that nobody waits for");
            return;
        };
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
        let sink = {
            let open = self.open.lock();
            let Some(call) = open.as_ref().and_then(|open| open.get(&number)) else { return false };
            call.clock.progress();
            call.progress.clone()
        };
        if params.get().len() > bounds::PROGRESS {
            tracing::debug!(number, "progress that is too long is not passed on");
        } else if let (Some(sink), Some(progress)) = (sink, Progress::read(params)) {
            sink(progress);
        }
        true
    }

    /// The responder for a request of the server, if it can be attributed with certainty, and the
    /// clocks that the request pauses: that of the originating request, or those of all pending
    /// requests if the origin is unknown.
    pub(super) fn attribute(&self, origin: MessageOrigin) -> (Option<Responder>, Vec<ClockHold>) {
        let open = self.open.lock();
        let Some(open) = open.as_ref() else { return (None, Vec::new()) };
        let held = match origin {
            MessageOrigin::Call(number) => {
                open.get(&number).map(|call| call.clock.pause()).into_iter().collect()
            }
            MessageOrigin::Unspecified => open.values().map(|call| call.clock.pause()).collect(),
        };
        (responder_for(open, origin), held)
    }

    /// The responder of the request that a log message belongs to, if it can be attributed with
    /// certainty.
    pub(super) fn responder_for(&self, origin: MessageOrigin) -> Option<Responder> {
        responder_for(self.open.lock().as_ref()?, origin)
    }

    /// Removes a request. `true` if it was still pending.
    pub(super) fn forget(&self, number: u64) -> bool {
        self.open.lock().as_mut().is_some_and(|open| open.remove(&number).is_some())
    }

    /// Ends all pending requests: waiting on their tickets fails. No new ones can begin.
    pub(super) fn end(&self) {
        drop(self.open.lock().take());
    }
}
