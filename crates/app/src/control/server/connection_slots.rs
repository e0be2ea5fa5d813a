//! Limit of the connections that are not authenticated as the operator. It is reached by closing the oldest
//! one, not by refusing the newest: other processes cannot lock the operator out by filling all slots.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

/// Limit of simultaneous connections that are not authenticated as the operator.
const MAX_UNAUTHENTICATED: usize = 256;

/// The connections that are not authenticated as the operator.
#[derive(Default)]
pub(super) struct UnauthenticatedConnections(Mutex<SlotTable>);

#[derive(Default)]
struct SlotTable {
    last_number: u64,
    /// Oldest first.
    taken: VecDeque<TakenSlot>,
}

struct TakenSlot {
    number: u64,
    /// Closes its connection.
    closed: CancellationToken,
}

/// A slot of one connection, released when dropped.
pub(super) struct ConnectionSlot {
    connections: Arc<UnauthenticatedConnections>,
    number: u64,
}

impl ConnectionSlot {
    /// Takes a slot. If all are taken, the oldest connection is closed.
    pub(super) fn take(connections: &Arc<UnauthenticatedConnections>, closed: CancellationToken) -> Self {
        let mut table = connections.0.lock();
        table.last_number = table.last_number.wrapping_add(1);
        let number = table.last_number;
        let oldest = if table.taken.len() >= MAX_UNAUTHENTICATED { table.taken.pop_front() } else { None };
        if let Some(oldest) = oldest {
            oldest.closed.cancel();
        }
        table.taken.push_back(TakenSlot { number, closed });
        drop(table);
        Self { connections: Arc::clone(connections), number }
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.connections.0.lock().taken.retain(|slot| slot.number != self.number);
    }
}
