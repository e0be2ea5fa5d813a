//! The pending requests of a connection, by the number in their id. Progress reaches a request's
//! sink in the order of the transport and never after the response was delivered.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::oneshot;

use super::envelope;
use super::limit::{Heard, Held};
use crate::asks::Responder;
use crate::bounds;
use crate::outgoing::{Progress, ProgressSink, Reply};

/// The pending requests.
pub(super) struct Calls {
    next: AtomicU64,
    /// `None` once the connection has ended.
    open: Mutex<Option<HashMap<u64, Open>>>,
}

struct Open {
    answer: oneshot::Sender<Reply>,
    progress: Option<ProgressSink>,
    responder: Option<Responder>,
    heard: Arc<Heard>,
}

/// The responder of the originating request. If the origin is unknown, the responder of all pending
/// requests, provided that they belong to the same client.
fn meant(open: &HashMap<u64, Open>, origin: Origin) -> Option<Responder> {
    match origin {
        Origin::Call(number) => open.get(&number)?.responder.clone(),
        Origin::Unsaid => {
            let mut able = open.values().filter_map(|call| call.responder.as_ref());
            let first = able.next()?;
            able.all(|other| other.whose == first.whose).then(|| first.clone())
        }
    }
}

/// Where a message of the server came from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Origin {
    /// From the response stream of this request.
    Call(u64),
    /// From a stream that isn't tied to a request.
    Unsaid,
}

/// A pending request. [`Calls::forget`] removes it; dropping the ticket alone does not.
pub(super) struct Ticket {
    /// The number in its id.
    pub(super) number: u64,
    /// Its clock, which is reset by progress.
    pub(super) heard: Arc<Heard>,
    /// Receives the response.
    pub(super) answer: oneshot::Receiver<Reply>,
}

impl Default for Calls {
    fn default() -> Self {
        Self { next: AtomicU64::new(1), open: Mutex::new(Some(HashMap::new())) }
    }
}

impl Calls {
    /// Registers a request; `None` if the connection has ended.
    pub(super) fn begin(
        &self,
        progress: Option<ProgressSink>,
        responder: Option<Responder>,
    ) -> Option<Ticket> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        let heard = Arc::new(Heard::now());
        let open = Open { answer: sender, progress, responder, heard: Arc::clone(&heard) };
        self.open.lock().as_mut()?.insert(number, open);
        Some(Ticket { number, heard, answer })
    }

    /// Delivers a response. It is dropped if the request is no longer pending.
    pub(super) fn answer(&self, number: u64, outcome: Result<&RawValue, &RawValue>) {
        let open = self.open.lock().as_mut().and_then(|open| open.remove(&number));
        let Some(open) = open else {
            tracing::trace!(number, "an answer came that nobody waits for");
            return;
        };
        let reply = match outcome {
            Ok(result) => Reply::Result(result.to_owned()),
            Err(error) => Reply::Error(error.to_owned()),
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
        let Some(number) = envelope::own_number(progress_token) else { return false };
        let sink = {
            let open = self.open.lock();
            let Some(call) = open.as_ref().and_then(|open| open.get(&number)) else { return false };
            call.heard.progress();
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
    pub(super) fn asked(&self, origin: Origin) -> (Option<Responder>, Vec<Held>) {
        let open = self.open.lock();
        let Some(open) = open.as_ref() else { return (None, Vec::new()) };
        let held = match origin {
            Origin::Call(number) => open.get(&number).map(|call| call.heard.hold()).into_iter().collect(),
            Origin::Unsaid => open.values().map(|call| call.heard.hold()).collect(),
        };
        (meant(open, origin), held)
    }

    /// The responder of the request that a log message belongs to, if it can be attributed with
    /// certainty.
    pub(super) fn meant(&self, origin: Origin) -> Option<Responder> {
        meant(self.open.lock().as_ref()?, origin)
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
