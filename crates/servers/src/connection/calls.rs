//! The requests that wait for their answer, by the number in their id. Progress reaches a call's
//! sink in the order of the wire and never after its answer was given out.

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

/// The requests that wait.
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

/// The one whose call it is; where that is not said, the one whose calls all of them are.
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

/// Where something that the server said came from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Origin {
    /// From the stream of this call.
    Call(u64),
    /// From a stream that does not say.
    Unsaid,
}

/// One request that waits. Dropping it forgets the request.
pub(super) struct Ticket {
    /// The number in its id.
    pub(super) number: u64,
    /// When it last made progress.
    pub(super) heard: Arc<Heard>,
    /// Where its answer comes.
    pub(super) answer: oneshot::Receiver<Reply>,
}

impl Default for Calls {
    fn default() -> Self {
        Self { next: AtomicU64::new(1), open: Mutex::new(Some(HashMap::new())) }
    }
}

impl Calls {
    /// Begins a request; `None` when the connection has ended.
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

    /// Gives a request its answer. An answer that nobody waits for any more is dropped.
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

    /// Gives a call its progress. `false` when the token is not that of a call that waits.
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

    /// Who is to answer a question of the server's, if that is certain, and the clocks that it holds
    /// up: those of the call that it came with, else of all that wait.
    pub(super) fn asked(&self, origin: Origin) -> (Option<Responder>, Vec<Held>) {
        let open = self.open.lock();
        let Some(open) = open.as_ref() else { return (None, Vec::new()) };
        let held = match origin {
            Origin::Call(number) => open.get(&number).map(|call| call.heard.hold()).into_iter().collect(),
            Origin::Unsaid => open.values().map(|call| call.heard.hold()).collect(),
        };
        (meant(open, origin), held)
    }

    /// Whose call the server logs something about, if that is certain.
    pub(super) fn meant(&self, origin: Origin) -> Option<Responder> {
        meant(self.open.lock().as_ref()?, origin)
    }

    /// Forgets a request. `true` when it still waited.
    pub(super) fn forget(&self, number: u64) -> bool {
        self.open.lock().as_mut().is_some_and(|open| open.remove(&number).is_some())
    }

    /// Ends all requests: their tickets' answers fail, and none can begin.
    pub(super) fn end(&self) {
        drop(self.open.lock().take());
    }
}
