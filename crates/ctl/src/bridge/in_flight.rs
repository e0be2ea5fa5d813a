//! Requests of the client that have no answer yet, by their ids.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::message::Family;

/// Most requests that may wait at once.
const MAX_REQUESTS: usize = 1024;

/// One request in flight.
pub(super) struct InFlightRequest {
    pub(super) family: Family,
    /// Cancelled to give the request up at this end: the connection that waits for the answer is closed.
    pub(super) dropped: CancellationToken,
    /// Cancelled when the gateway has begun to respond, and so knows the request, or when it has ended.
    pub(super) accepted: CancellationToken,
    /// Whether it is on its way to the gateway, or may be.
    is_sent: AtomicBool,
    /// Whether the client has cancelled it. It gets no answer then.
    is_cancelled: AtomicBool,
}

impl InFlightRequest {
    pub(super) fn mark_sent(&self) {
        self.is_sent.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_sent(&self) -> bool {
        self.is_sent.load(Ordering::Relaxed)
    }

    pub(super) fn mark_cancelled(&self) {
        self.is_cancelled.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed)
    }
}

/// All requests in flight.
#[derive(Default)]
pub(super) struct InFlightRequests(Mutex<HashMap<Box<str>, Arc<InFlightRequest>>>);

/// Why a request can't be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    IdInUse,
    TooMany,
}

/// A registered request; forgotten on drop.
pub(super) struct RequestInFlight {
    requests: Arc<InFlightRequests>,
    id: Box<str>,
    pub(super) request: Arc<InFlightRequest>,
}

impl InFlightRequests {
    pub(super) fn register(self: &Arc<Self>, id: &str, family: Family) -> Result<RequestInFlight, Refusal> {
        let mut requests = self.0.lock();
        if requests.contains_key(id) {
            return Err(Refusal::IdInUse);
        }
        if requests.len() >= MAX_REQUESTS {
            return Err(Refusal::TooMany);
        }
        let request = Arc::new(InFlightRequest {
            family,
            dropped: CancellationToken::new(),
            accepted: CancellationToken::new(),
            is_sent: AtomicBool::new(false),
            is_cancelled: AtomicBool::new(false),
        });
        requests.insert(id.into(), Arc::clone(&request));
        Ok(RequestInFlight { requests: Arc::clone(self), id: id.into(), request })
    }

    pub(super) fn get(&self, id: &str) -> Option<Arc<InFlightRequest>> {
        self.0.lock().get(id).cloned()
    }
}

impl Drop for RequestInFlight {
    fn drop(&mut self) {
        self.requests.0.lock().remove(&self.id);
        self.request.accepted.cancel();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_an_id_that_is_in_use() {
        let requests = Arc::new(InFlightRequests::default());
        let first = requests.register("1", Family::Stateful).unwrap();
        assert_eq!(requests.register("1", Family::Stateful).err(), Some(Refusal::IdInUse));
        assert!(requests.register("\"1\"", Family::Stateful).is_ok());
        drop(first);
        assert!(requests.get("1").is_none() && requests.register("1", Family::Stateful).is_ok());
    }
}
