//! The outcome of a call whose client was told `input_required`, kept until the client comes back for it. It
//! counts towards the client's byte budget (`gatehouse_tools::ByteBudget`), which may evict it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use gatehouse_model::ClientId;
use gatehouse_tools::{ByteBudget, CallResponse, Evict, KeptKind, Reservation};
use parking_lot::Mutex;

use crate::session::server_requests::internal_error;

/// The kept outcome of one call.
pub(crate) struct KeptEnd {
    end: Mutex<Option<CallResponse>>,
    counted: Mutex<Option<Reservation>>,
    /// Whether the client has come back and waits for the outcome. It isn't counted or evicted then.
    is_awaited: Arc<AtomicBool>,
}

impl KeptEnd {
    /// Keeps an outcome, and counts it unless the client already waits for it.
    pub(crate) fn new(
        end: CallResponse,
        is_awaited: Arc<AtomicBool>,
        (budget, client): (&Arc<ByteBudget>, &ClientId),
    ) -> Arc<Self> {
        let bytes = end.body().get().len();
        let kept = Arc::new(Self { end: Mutex::new(Some(end)), counted: Mutex::default(), is_awaited });
        if !kept.is_awaited.load(Ordering::SeqCst) {
            let (reservation, surplus) =
                budget.reserve(client, KeptKind::Finished, bytes, Arc::downgrade(&kept));
            *kept.counted.lock() = Some(reservation);
            surplus.evict();
        }
        kept
    }

    /// Takes the outcome; a JSON-RPC error if it was evicted.
    pub(crate) fn take(&self) -> CallResponse {
        *self.counted.lock() = None;
        let end = self.end.lock().take();
        end.unwrap_or_else(|| {
            CallResponse::Error(internal_error(
                "The result was dropped, because too much waited for this client.",
            ))
        })
    }
}

impl Evict for KeptEnd {
    fn evict(&self) {
        if !self.is_awaited.load(Ordering::SeqCst) {
            *self.end.lock() = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use gatehouse_tools::ByteLimits;
    use serde_json::value::RawValue;

    use super::*;

    #[test]
    fn it_is_kept_within_the_budget_unless_its_client_waits() {
        for (what, bytes, later, is_awaited, is_there) in [
            ("room for both", 4, 4, false, true),
            ("no room for both", 8, 4, false, false),
            ("its client waits", 8, 4, true, true),
            ("too large by itself", 11, 2, false, false),
        ] {
            let budget = ByteBudget::new(ByteLimits { client: 10, all: 20 });
            let keep = |bytes: usize, is_awaited: bool| {
                let raw = RawValue::from_string("1".repeat(bytes)).unwrap();
                let is_awaited = Arc::new(AtomicBool::new(is_awaited));
                KeptEnd::new(CallResponse::Result(raw), is_awaited, (&budget, &"client".into()))
            };
            let first = keep(bytes, is_awaited);
            let second = keep(later, false);
            assert!(budget.bytes() <= 10, "{what}");
            assert_eq!(matches!(first.take(), CallResponse::Result(_)), is_there, "{what}");
            assert!(matches!(second.take(), CallResponse::Result(_)), "{what}");
            assert_eq!(budget.bytes(), 0, "{what}");
        }
    }
}
