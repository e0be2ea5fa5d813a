//! The response of a call whose client was sent `input_required`, until the client fetches it. It counts
//! towards the client's byte budget (`gatehouse_tools::ByteBudget`), which may evict it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use gatehouse_model::ClientId;
use gatehouse_tools::{ByteBudget, CallResponse, Evict, KeptKind, Reservation};
use parking_lot::Mutex;

use crate::session::server_requests::internal_error;

/// The response of one call.
pub(crate) struct UnclaimedResponse {
    response: Mutex<Option<CallResponse>>,
    reservation: Mutex<Option<Reservation>>,
    /// Whether the client has resumed the call and waits for the response. It isn't counted or evicted then.
    is_awaited: Arc<AtomicBool>,
}

impl UnclaimedResponse {
    /// Stores a response, and counts it unless the client already waits for it.
    pub(crate) fn new(
        response: CallResponse,
        is_awaited: Arc<AtomicBool>,
        budget: &Arc<ByteBudget>,
        client: &ClientId,
    ) -> Arc<Self> {
        let bytes = response.body().get().len();
        let unclaimed = Arc::new(Self {
            response: Mutex::new(Some(response)),
            reservation: Mutex::default(),
            is_awaited,
        });
        if !unclaimed.is_awaited.load(Ordering::SeqCst) {
            let (reservation, surplus) =
                budget.reserve(client, KeptKind::Finished, bytes, Arc::downgrade(&unclaimed));
            *unclaimed.reservation.lock() = Some(reservation);
            surplus.evict();
        }
        unclaimed
    }

    /// Takes the response; a JSON-RPC error if it was evicted.
    pub(crate) fn take(&self) -> CallResponse {
        *self.reservation.lock() = None;
        let response = self.response.lock().take();
        response.unwrap_or_else(|| {
            CallResponse::Error(internal_error(
                "The result was dropped, because too much waited for this client.",
            ))
        })
    }
}

impl Evict for UnclaimedResponse {
    fn evict(&self) {
        if !self.is_awaited.load(Ordering::SeqCst) {
            *self.response.lock() = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use gatehouse_tools::ByteLimits;
    use serde_json::value::RawValue;

    use super::*;

    /// Stores a response of this size and a later one within a budget of 10 bytes.
    struct Case {
        name: &'static str,
        bytes: usize,
        is_awaited: bool,
        later_bytes: usize,
        is_evicted: bool,
    }

    #[test]
    fn evicts_oldest_response_over_the_budget_unless_awaited() {
        for case in [
            Case { name: "room for both", bytes: 4, is_awaited: false, later_bytes: 4, is_evicted: false },
            Case { name: "no room for both", bytes: 8, is_awaited: false, later_bytes: 4, is_evicted: true },
            Case { name: "its client waits", bytes: 8, is_awaited: true, later_bytes: 4, is_evicted: false },
            Case { name: "too large", bytes: 11, is_awaited: false, later_bytes: 2, is_evicted: true },
        ] {
            let budget = ByteBudget::new(ByteLimits { client: 10, all: 20 });
            let store = |bytes: usize, is_awaited: bool| {
                let raw = RawValue::from_string("1".repeat(bytes)).unwrap();
                let is_awaited = Arc::new(AtomicBool::new(is_awaited));
                UnclaimedResponse::new(CallResponse::Result(raw), is_awaited, &budget, &"client".into())
            };
            let first = store(case.bytes, case.is_awaited);
            let second = store(case.later_bytes, false);
            assert!(budget.bytes() <= 10, "{}", case.name);
            assert_eq!(matches!(first.take(), CallResponse::Error(_)), case.is_evicted, "{}", case.name);
            assert!(matches!(second.take(), CallResponse::Result(_)), "{}", case.name);
            assert_eq!(budget.bytes(), 0, "{}", case.name);
        }
    }
}
