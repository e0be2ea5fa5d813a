//! How many connections may be open at a time, and whose.
//!
//! Any program on this machine can connect. Until a connection has shown the token of a client it
//! counts as unknown. Unknown connections have a small share of their own and have to show a token
//! soon. Where that share is full, the one that was silent longest makes room for the next, so
//! holding them keeps nobody out. Connections of clients are counted apart, with a share for each
//! client and a reserve for those that have few.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::ClientId;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Most connections of all clients together. Each costs a file descriptor, of which a process has
/// 1,024 on many systems, and servers need some too.
const MOST_KNOWN: usize = 384;

/// Most connections of one client. A client over HTTP/1.1 needs one for each call that waits (64
/// questions may wait), and one for each stream.
const MOST_OF_CLIENT: usize = 160;

/// Places that only clients with at most [`FEW`] connections get, so that two busy clients do not
/// keep out a third.
const RESERVE: usize = 64;
const FEW: usize = 8;

/// Most connections that have not shown a token yet. Further ones wait to be accepted.
const MOST_UNKNOWN: usize = 128;

/// How long a connection may be silent before it has to make room for another. Counted from when all
/// that had arrived on it was read, so that a slow machine closes nobody's connection.
const GRACE: Duration = Duration::from_millis(50);

/// The connections that are open.
#[derive(Default)]
pub(crate) struct ConnectionLimits {
    open: Mutex<Open>,
    /// Told when an unknown connection left, became known or was read.
    changed: Notify,
}

#[derive(Default)]
struct Open {
    /// Number of the last connection.
    last: u64,
    /// Those without a token, oldest first.
    unknown: BTreeMap<u64, Unknown>,
    /// How many connections each client has.
    known: HashMap<ClientId, usize>,
}

/// A connection without a token.
struct Unknown {
    /// Since when it is silent; `None` while it was not read yet.
    silent_since: Option<Instant>,
    /// Cancelled when another takes its place.
    displaced: CancellationToken,
}

/// This client, or all clients together, have too many connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooMany;

impl ConnectionLimits {
    /// Waits until there is room for one more connection without a token, and makes it where another
    /// has been silent for too long.
    pub(crate) async fn room(&self) {
        loop {
            let changed = self.changed.notified();
            if self.open.lock().make_room(Instant::now()) {
                return;
            }
            // Nobody tells when the time of the next one is over; an early look does no harm.
            if tokio::time::timeout(GRACE / 4, changed).await.is_err() {
                tracing::trace!("all places of connections without a token are taken");
            }
        }
    }

    /// Counts a new connection.
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
    /// Whether there is room for one more connection without a token.
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

/// The place of one connection, given back when it is dropped.
pub(crate) struct Place {
    limits: Arc<ConnectionLimits>,
    number: u64,
    displaced: CancellationToken,
    recognised: CancellationToken,
    /// Whose it is, once a token was shown.
    client: Mutex<Option<ClientId>>,
}

impl Place {
    /// The connection has shown the token of this client.
    ///
    /// # Errors
    /// When the client has too many connections. The connection stays unknown then.
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

    /// Everything that has arrived on the connection so far was read, and there was no token in it.
    pub(crate) fn is_silent(&self) {
        if let Some(unknown) = self.limits.open.lock().unknown.get_mut(&self.number) {
            unknown.silent_since.get_or_insert_with(Instant::now);
        }
        self.limits.changed.notify_one();
    }

    /// Waits until a token was shown.
    pub(crate) async fn recognised(&self) {
        self.recognised.cancelled().await;
    }

    /// Waits until a newer connection took the place of this one; for ever once a token was shown.
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
        // None was read yet: nobody can be said to be silent.
        assert!(!limits.open.lock().make_room(Instant::now() + GRACE));
        places[1].is_silent();
        places[2].is_silent();
        // One that has shown its token is no longer among them.
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
