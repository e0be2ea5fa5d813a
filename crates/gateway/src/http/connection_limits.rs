//! Limits on the number of open connections, in total and per client.
//!
//! Any program on this machine can connect. Until a connection has sent a client's token, it counts as
//! unauthenticated. Unauthenticated connections have a small quota of their own and must send a token soon.
//! When that quota is full, the oldest connection that has been silent for the grace period is closed in
//! favour of the next one, so holding such connections open can't lock clients out. Authenticated connections
//! are counted separately, with a quota per client and a reserve for clients that have few.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::ClientId;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Maximum number of authenticated connections. Each uses a file descriptor; many systems allow 1,024 per
/// process, and the servers need some too.
const MAX_AUTHENTICATED: usize = 384;

/// Maximum number of connections of one client. A client over HTTP/1.1 needs one for each call in flight (64
/// approval requests may be pending) and one for each stream.
const MAX_PER_CLIENT: usize = 160;

/// Connections reserved for clients that have fewer than [`RESERVED_PER_CLIENT`], so that two busy clients can't
/// lock out a third.
const RESERVED: usize = 64;
const RESERVED_PER_CLIENT: usize = 8;

/// Maximum number of unauthenticated connections. Further ones stay in the accept queue.
const MAX_UNAUTHENTICATED: usize = 128;

/// How long an unauthenticated connection may be silent before it can be displaced. Counted from the moment
/// when everything received on it has been read, so that a slow machine doesn't close well-behaved
/// connections.
const SILENCE_GRACE: Duration = Duration::from_millis(50);

/// The open connections.
#[derive(Default)]
pub(crate) struct ConnectionLimits {
    open: Mutex<OpenConnections>,
    /// Notified when an unauthenticated connection was closed, was authenticated, or has been read.
    changed: Notify,
}

#[derive(Default)]
struct OpenConnections {
    /// Number of the most recent connection.
    last_number: u64,
    /// Unauthenticated connections, oldest first.
    unauthenticated: BTreeMap<u64, UnauthenticatedConnection>,
    /// Number of connections per client.
    authenticated: HashMap<ClientId, usize>,
}

struct UnauthenticatedConnection {
    /// Since when the connection has been silent; `None` until it was read for the first time.
    silent_since: Option<Instant>,
    /// Cancelled when a newer connection displaces this one.
    displaced: CancellationToken,
}

/// The limit for this client, or for all clients together, is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooManyConnections;

impl ConnectionLimits {
    /// Waits until there is room for one more unauthenticated connection, if necessary by displacing one that
    /// has been silent for longer than the grace period.
    pub(crate) async fn wait_for_room(&self) {
        loop {
            let changed = self.changed.notified();
            if self.open.lock().make_room(Instant::now()) {
                return;
            }
            // No notification is sent when a grace period ends, so this polls. Checking early is harmless.
            if tokio::time::timeout(SILENCE_GRACE / 4, changed).await.is_err() {
                tracing::trace!("all slots of connections without a token are taken");
            }
        }
    }

    /// Registers a new connection.
    pub(crate) fn register(self: &Arc<Self>) -> ConnectionLimitSlot {
        let displaced = CancellationToken::new();
        let mut open = self.open.lock();
        open.last_number += 1;
        let number = open.last_number;
        open.unauthenticated
            .insert(number, UnauthenticatedConnection { silent_since: None, displaced: displaced.clone() });
        drop(open);
        ConnectionLimitSlot {
            limits: Arc::clone(self),
            number,
            displaced,
            authenticated: CancellationToken::new(),
            client: Mutex::default(),
        }
    }
}

impl OpenConnections {
    /// Whether there is room for one more unauthenticated connection. May displace a silent one.
    fn make_room(&mut self, now: Instant) -> bool {
        if self.unauthenticated.len() < MAX_UNAUTHENTICATED {
            return true;
        }
        let is_displaceable = |connection: &UnauthenticatedConnection| {
            connection.silent_since.is_some_and(|since| now.duration_since(since) >= SILENCE_GRACE)
        };
        let Some(number) = self
            .unauthenticated
            .iter()
            .find(|(_, connection)| is_displaceable(connection))
            .map(|(number, _)| *number)
        else {
            return false;
        };
        if let Some(removed) = self.unauthenticated.remove(&number) {
            removed.displaced.cancel();
        }
        true
    }

    fn has_room_for(&self, client: &ClientId) -> bool {
        let own = self.authenticated.get(client).copied().unwrap_or(0);
        let total: usize = self.authenticated.values().sum();
        let limit = if own < RESERVED_PER_CLIENT { MAX_AUTHENTICATED } else { MAX_AUTHENTICATED - RESERVED };
        own < MAX_PER_CLIENT && total < limit
    }

    fn release(&mut self, client: &ClientId) {
        if let Some(count) = self.authenticated.get_mut(client) {
            *count -= 1;
            if *count == 0 {
                self.authenticated.remove(client);
            }
        }
    }
}

/// The slot of one connection; released on drop.
pub(crate) struct ConnectionLimitSlot {
    limits: Arc<ConnectionLimits>,
    number: u64,
    displaced: CancellationToken,
    authenticated: CancellationToken,
    /// The client, once the connection is authenticated.
    client: Mutex<Option<ClientId>>,
}

impl ConnectionLimitSlot {
    /// Marks the connection as authenticated by this client.
    ///
    /// # Errors
    /// When a connection limit is reached. The connection then stays unauthenticated.
    pub(crate) fn authenticate(&self, client: &ClientId) -> Result<(), TooManyConnections> {
        let mut current = self.client.lock();
        if current.as_ref() == Some(client) {
            return Ok(());
        }
        let mut open = self.limits.open.lock();
        if !open.has_room_for(client) {
            return Err(TooManyConnections);
        }
        if let Some(before) = current.replace(client.clone()) {
            open.release(&before);
        }
        open.unauthenticated.remove(&self.number);
        *open.authenticated.entry(client.clone()).or_default() += 1;
        drop(open);
        self.authenticated.cancel();
        self.limits.changed.notify_one();
        Ok(())
    }

    /// Records that everything received so far was read without finding a token.
    pub(crate) fn mark_silent(&self) {
        if let Some(unauthenticated) = self.limits.open.lock().unauthenticated.get_mut(&self.number) {
            unauthenticated.silent_since.get_or_insert_with(Instant::now);
        }
        self.limits.changed.notify_one();
    }

    pub(crate) async fn wait_until_authenticated(&self) {
        self.authenticated.cancelled().await;
    }

    /// Waits until a newer connection displaces this one. Never returns once the connection is authenticated.
    pub(crate) async fn wait_until_displaced(&self) {
        self.displaced.cancelled().await;
    }
}

impl Drop for ConnectionLimitSlot {
    fn drop(&mut self) {
        let mut open = self.limits.open.lock();
        open.unauthenticated.remove(&self.number);
        if let Some(client) = self.client.get_mut() {
            open.release(client);
        }
        drop(open);
        self.limits.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(name: &str) -> ClientId {
        ClientId::new(name)
    }

    fn take(limits: &Arc<ConnectionLimits>, count: usize, name: &str) -> Vec<ConnectionLimitSlot> {
        let mut taken = Vec::new();
        for _ in 0..count {
            let slot = limits.register();
            if slot.authenticate(&client(name)).is_ok() {
                taken.push(slot);
            }
        }
        taken
    }

    #[tokio::test(start_paused = true)]
    async fn evicts_longest_silent_connection() {
        let limits = Arc::new(ConnectionLimits::default());
        let slots: Vec<ConnectionLimitSlot> = (0..MAX_UNAUTHENTICATED).map(|_| limits.register()).collect();
        // None was read yet, so none counts as silent.
        assert!(!limits.open.lock().make_room(Instant::now() + SILENCE_GRACE));
        slots[1].mark_silent();
        slots[2].mark_silent();
        // An authenticated connection is no longer a candidate.
        slots[0].authenticate(&client("a")).unwrap();
        limits.wait_for_room().await;
        let next = limits.register();
        let began = Instant::now();
        limits.wait_for_room().await;
        assert!(began.elapsed() >= SILENCE_GRACE && slots[1].displaced.is_cancelled());
        assert!(!slots[2].displaced.is_cancelled() && !slots[0].displaced.is_cancelled());
        drop((slots, next));
        assert!(limits.open.lock().unauthenticated.is_empty() && limits.open.lock().authenticated.is_empty());
    }

    #[test]
    fn limits_each_client_and_keeps_a_reserve() {
        let limits = Arc::new(ConnectionLimits::default());
        let first = take(&limits, MAX_AUTHENTICATED, "first");
        assert_eq!(first.len(), MAX_PER_CLIENT);
        let second = take(&limits, MAX_AUTHENTICATED, "second");
        let third = take(&limits, MAX_AUTHENTICATED, "third");
        assert_eq!(
            first.len() + second.len() + third.len(),
            MAX_AUTHENTICATED - RESERVED + third.len().min(RESERVED_PER_CLIENT)
        );
        assert!(third.len() >= RESERVED_PER_CLIENT, "a client with few connections got {}", third.len());
        drop(first);
        assert_eq!(take(&limits, 1, "third").len(), 1);
        drop((second, third));
        assert!(limits.open.lock().authenticated.is_empty());
    }

    #[test]
    fn counts_connection_for_its_last_token() {
        let limits = Arc::new(ConnectionLimits::default());
        let slot = limits.register();
        slot.authenticate(&client("a")).unwrap();
        slot.authenticate(&client("a")).unwrap();
        slot.authenticate(&client("b")).unwrap();
        assert_eq!(limits.open.lock().authenticated.get(&client("a")), None);
        assert_eq!(limits.open.lock().authenticated.get(&client("b")), Some(&1));
    }
}
