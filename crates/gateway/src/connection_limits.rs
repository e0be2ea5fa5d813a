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
const MOST_KNOWN: usize = 384;

/// Maximum number of connections of one client. A client over HTTP/1.1 needs one for each call in flight (64
/// approval requests may be pending) and one for each stream.
const MOST_OF_CLIENT: usize = 160;

/// Connections reserved for clients that have fewer than [`FEW`], so that two busy clients can't lock out a
/// third.
const RESERVE: usize = 64;
const FEW: usize = 8;

/// Maximum number of unauthenticated connections. Further ones stay in the accept queue.
const MOST_UNKNOWN: usize = 128;

/// How long an unauthenticated connection may be silent before it can be displaced. Counted from the moment
/// when everything received on it has been read, so that a slow machine doesn't close well-behaved
/// connections.
const GRACE: Duration = Duration::from_millis(50);

/// The open connections.
#[derive(Default)]
pub(crate) struct ConnectionLimits {
    open: Mutex<Open>,
    /// Notified when an unauthenticated connection was closed, was authenticated, or has been read.
    changed: Notify,
}

#[derive(Default)]
struct Open {
    /// Number of the most recent connection.
    last: u64,
    /// Unauthenticated connections, oldest first.
    unknown: BTreeMap<u64, Unknown>,
    /// Number of connections per client.
    known: HashMap<ClientId, usize>,
}

/// An unauthenticated connection.
struct Unknown {
    /// Since when the connection has been silent; `None` until it was read for the first time.
    silent_since: Option<Instant>,
    /// Cancelled when a newer connection displaces this one.
    displaced: CancellationToken,
}

/// The limit for this client, or for all clients together, is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooMany;

impl ConnectionLimits {
    /// Waits until there is room for one more unauthenticated connection, if necessary by displacing one that
    /// has been silent for longer than the grace period.
    pub(crate) async fn room(&self) {
        loop {
            let changed = self.changed.notified();
            if self.open.lock().make_room(Instant::now()) {
                return;
            }
            // No notification is sent when a grace period ends, so this polls. Checking early is harmless.
            if tokio::time::timeout(GRACE / 4, changed).await.is_err() {
                tracing::trace!("all places of connections without a token are taken");
            }
        }
    }

    /// Registers a new connection.
    pub(crate) fn enter(self: &Arc<Self>) -> Place {
        let displaced = CancellationToken::new();
        let mut open = self.open.lock();
        open.last += 1;
        let number = open.last;
        open.unknown.insert(number, Unknown { silent_since: None, displaced: displaced.clone() });
        drop(open);
        Place {
            limits: Arc::clone(self),
            number,
            displaced,
            recognised: CancellationToken::new(),
            client: Mutex::default(),
        }
    }
}

impl Open {
    /// Whether there is room for one more unauthenticated connection. May displace a silent one.
    fn make_room(&mut self, now: Instant) -> bool {
        if self.unknown.len() < MOST_UNKNOWN {
            return true;
        }
        let is_over =
            |unknown: &Unknown| unknown.silent_since.is_some_and(|since| now.duration_since(since) >= GRACE);
        let Some(number) = self.unknown.iter().find(|(_, one)| is_over(one)).map(|(number, _)| *number)
        else {
            return false;
        };
        if let Some(gone) = self.unknown.remove(&number) {
            gone.displaced.cancel();
        }
        true
    }

    fn has_room_for(&self, client: &ClientId) -> bool {
        let own = self.known.get(client).copied().unwrap_or(0);
        let all: usize = self.known.values().sum();
        let most = if own < FEW { MOST_KNOWN } else { MOST_KNOWN - RESERVE };
        own < MOST_OF_CLIENT && all < most
    }

    fn leave(&mut self, client: &ClientId) {
        if let Some(count) = self.known.get_mut(client) {
            *count -= 1;
            if *count == 0 {
                self.known.remove(client);
            }
        }
    }
}

/// The slot of one connection; released on drop.
pub(crate) struct Place {
    limits: Arc<ConnectionLimits>,
    number: u64,
    displaced: CancellationToken,
    recognised: CancellationToken,
    /// The client, once the connection is authenticated.
    client: Mutex<Option<ClientId>>,
}

impl Place {
    /// Marks the connection as authenticated by this client.
    ///
    /// # Errors
    /// When a connection limit is reached. The connection then stays unauthenticated.
    pub(crate) fn recognise(&self, client: &ClientId) -> Result<(), TooMany> {
        let mut own = self.client.lock();
        if own.as_ref() == Some(client) {
            return Ok(());
        }
        let mut open = self.limits.open.lock();
        if !open.has_room_for(client) {
            return Err(TooMany);
        }
        if let Some(before) = own.replace(client.clone()) {
            open.leave(&before);
        }
        open.unknown.remove(&self.number);
        *open.known.entry(client.clone()).or_default() += 1;
        drop(open);
        self.recognised.cancel();
        self.limits.changed.notify_one();
        Ok(())
    }

    /// Records that everything received so far was read without finding a token.
    pub(crate) fn is_silent(&self) {
        if let Some(unknown) = self.limits.open.lock().unknown.get_mut(&self.number) {
            unknown.silent_since.get_or_insert_with(Instant::now);
        }
        self.limits.changed.notify_one();
    }

    /// Waits until the connection is authenticated.
    pub(crate) async fn recognised(&self) {
        self.recognised.cancelled().await;
    }

    /// Waits until a newer connection displaces this one. Never returns once the connection is authenticated.
    pub(crate) async fn displaced(&self) {
        self.displaced.cancelled().await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.limits.open.lock();
        open.unknown.remove(&self.number);
        if let Some(client) = self.client.get_mut() {
            open.leave(client);
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

    fn take(limits: &Arc<ConnectionLimits>, count: usize, name: &str) -> Vec<Place> {
        let mut taken = Vec::new();
        for _ in 0..count {
            let place = limits.enter();
            if place.recognise(&client(name)).is_ok() {
                taken.push(place);
            }
        }
        taken
    }

    #[tokio::test(start_paused = true)]
    async fn the_connection_that_is_silent_longest_makes_room() {
        let limits = Arc::new(ConnectionLimits::default());
        let places: Vec<Place> = (0..MOST_UNKNOWN).map(|_| limits.enter()).collect();
        // None was read yet, so none counts as silent.
        assert!(!limits.open.lock().make_room(Instant::now() + GRACE));
        places[1].is_silent();
        places[2].is_silent();
        // An authenticated connection is no longer a candidate.
        places[0].recognise(&client("a")).unwrap();
        limits.room().await;
        let next = limits.enter();
        let began = Instant::now();
        limits.room().await;
        assert!(began.elapsed() >= GRACE && places[1].displaced.is_cancelled());
        assert!(!places[2].displaced.is_cancelled() && !places[0].displaced.is_cancelled());
        drop((places, next));
        assert!(limits.open.lock().unknown.is_empty() && limits.open.lock().known.is_empty());
    }

    #[test]
    fn a_client_has_a_share_and_others_keep_theirs() {
        let limits = Arc::new(ConnectionLimits::default());
        let first = take(&limits, MOST_KNOWN, "first");
        assert_eq!(first.len(), MOST_OF_CLIENT);
        let second = take(&limits, MOST_KNOWN, "second");
        let third = take(&limits, MOST_KNOWN, "third");
        assert_eq!(first.len() + second.len() + third.len(), MOST_KNOWN - RESERVE + third.len().min(FEW));
        assert!(third.len() >= FEW, "a client with few connections got {}", third.len());
        drop(first);
        assert_eq!(take(&limits, 1, "third").len(), 1);
        drop((second, third));
        assert!(limits.open.lock().known.is_empty());
    }

    #[test]
    fn a_connection_counts_for_the_client_of_its_last_token() {
        let limits = Arc::new(ConnectionLimits::default());
        let place = limits.enter();
        place.recognise(&client("a")).unwrap();
        place.recognise(&client("a")).unwrap();
        place.recognise(&client("b")).unwrap();
        assert_eq!(limits.open.lock().known.get(&client("a")), None);
        assert_eq!(limits.open.lock().known.get(&client("b")), Some(&1));
    }
}
