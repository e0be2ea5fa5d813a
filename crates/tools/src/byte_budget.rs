//! Memory budget for data that is kept for clients that may come back for it: results that perhaps weren't
//! received, and resumable streams. There is one limit per client, over all of its sessions, and one for all
//! clients together. Over a limit, data is evicted: the oldest of that client first, or of the client that has
//! most.
//!
//! Data that is being sent to a connected client isn't counted here.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Weak};

use gatehouse_model::ClientId;
use parking_lot::Mutex;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteLimits {
    /// Per client.
    pub client: usize,
    /// For all clients together.
    pub all: usize,
}

impl Default for ByteLimits {
    fn default() -> Self {
        Self { client: 64 * 1024 * 1024, all: 256 * 1024 * 1024 }
    }
}

/// Kind of kept data, in the order of eviction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeptKind {
    /// The complete data of something that has ended.
    Finished,
    /// The data so far of something that is in progress.
    Running,
}

/// Owner of bytes that are counted in a [`ByteBudget`].
pub trait Evict: Send + Sync {
    /// Frees the bytes. Data that a client has just begun to read stays.
    fn evict(&self);
}

/// Counts the kept bytes per client.
pub struct ByteBudget {
    limits: ByteLimits,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Number of the last reservation.
    last: u64,
    all: usize,
    clients: HashMap<ClientId, Share>,
}

/// The kept data of one client.
#[derive(Default)]
struct Share {
    bytes: usize,
    kept: BTreeMap<RetentionKey, Kept>,
}

/// Eviction order: by kind, then by age.
type RetentionKey = (KeptKind, u64);

struct Kept {
    bytes: usize,
    owner: Weak<dyn Evict>,
}

/// Counted bytes. Dropping this returns them to the budget.
pub struct Reservation {
    budget: Arc<ByteBudget>,
    client: ClientId,
    place: RetentionKey,
}

/// Data to evict. It is no longer counted; [`Surplus::evict`] frees it.
#[derive(Default)]
#[must_use]
pub struct Surplus(Vec<Weak<dyn Evict>>);

impl ByteBudget {
    #[must_use]
    pub fn new(limits: ByteLimits) -> Arc<Self> {
        Arc::new(Self { limits, state: Mutex::default() })
    }

    /// Counts bytes that `owner` keeps for a client, and returns what must be evicted to make room. That may
    /// be the new data itself: data larger than a limit doesn't evict anything else.
    ///
    /// Release any lock that [`Evict::evict`] takes before calling [`Surplus::evict`].
    pub fn reserve<E: Evict + 'static>(
        self: &Arc<Self>,
        client: &ClientId,
        kind: KeptKind,
        bytes: usize,
        owner: Weak<E>,
    ) -> (Reservation, Surplus) {
        let owner: Weak<dyn Evict> = owner;
        let mut state = self.state.lock();
        state.last += 1;
        let place = (kind, state.last);
        let surplus = if bytes > self.limits.client.min(self.limits.all) {
            Surplus(vec![owner])
        } else {
            state.add(client, place, Kept { bytes, owner });
            state.make_room(client, self.limits)
        };
        drop(state);
        (Reservation { budget: Arc::clone(self), client: client.clone(), place }, surplus)
    }

    /// Total number of kept bytes.
    pub fn bytes(&self) -> usize {
        self.state.lock().all
    }
}

impl State {
    fn add(&mut self, client: &ClientId, place: RetentionKey, kept: Kept) {
        let share = self.clients.entry(client.clone()).or_default();
        share.bytes += kept.bytes;
        self.all += kept.bytes;
        share.kept.insert(place, kept);
    }

    fn remove(&mut self, client: &ClientId, place: RetentionKey) -> Option<Kept> {
        let share = self.clients.get_mut(client)?;
        let kept = share.kept.remove(&place)?;
        share.bytes -= kept.bytes;
        self.all -= kept.bytes;
        if share.kept.is_empty() {
            self.clients.remove(client);
        }
        Some(kept)
    }

    /// Removes entries until the limits are met, after data was added for this client.
    fn make_room(&mut self, client: &ClientId, limits: ByteLimits) -> Surplus {
        let mut gone = Vec::new();
        while self.clients.get(client).is_some_and(|share| share.bytes > limits.client) {
            gone.extend(self.remove_oldest(client));
        }
        while self.all > limits.all
            && let Some(most) = self.client_with_most()
        {
            gone.extend(self.remove_oldest(&most));
        }
        Surplus(gone)
    }

    fn remove_oldest(&mut self, client: &ClientId) -> Option<Weak<dyn Evict>> {
        let place = *self.clients.get(client)?.kept.first_key_value()?.0;
        self.remove(client, place).map(|kept| kept.owner)
    }

    fn client_with_most(&self) -> Option<ClientId> {
        let most = self.clients.iter().max_by_key(|(client, share)| (share.bytes, *client));
        most.map(|(client, _)| client.clone())
    }
}

impl Surplus {
    pub fn evict(self) {
        for owner in self.0.iter().filter_map(Weak::upgrade) {
            owner.evict();
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.state.lock().remove(&self.client, self.place);
    }
}

impl fmt::Debug for ByteBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ByteBudget").field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl fmt::Debug for Reservation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reservation").field("client", &self.client).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::KeptKind::{Finished, Running};
    use super::*;

    #[derive(Default)]
    struct Item(AtomicBool);

    impl Evict for Item {
        fn evict(&self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }

    const LIMITS: ByteLimits = ByteLimits { client: 10, all: 25 };

    fn keep(
        budget: &Arc<ByteBudget>,
        client: &str,
        kind: KeptKind,
        bytes: usize,
    ) -> (Arc<Item>, Reservation) {
        let item = Arc::new(Item::default());
        let (reservation, surplus) = budget.reserve(&client.into(), kind, bytes, Arc::downgrade(&item));
        surplus.evict();
        (item, reservation)
    }

    #[test]
    fn what_is_over_a_limit_goes() {
        for (what, kept, gone) in [
            ("room for all", vec![("a", Finished, 5), ("a", Finished, 5)], vec![]),
            ("the oldest", vec![("a", Finished, 5), ("a", Finished, 5), ("a", Finished, 1)], vec![0]),
            (
                "as many as it takes, and no more",
                vec![("a", Finished, 3), ("a", Finished, 3), ("a", Finished, 4), ("a", Finished, 6)],
                vec![0, 1],
            ),
            (
                "what goes on is last",
                vec![("a", Running, 5), ("a", Finished, 5), ("a", Finished, 1)],
                vec![1],
            ),
            ("and goes when nothing else is left", vec![("a", Running, 6), ("a", Running, 6)], vec![0]),
            ("too large for any limit", vec![("a", Finished, 5), ("a", Finished, 11)], vec![1]),
            (
                "another client keeps its own",
                vec![("b", Finished, 9), ("a", Finished, 9), ("a", Finished, 9)],
                vec![1],
            ),
            (
                "over the limit of all: of the client that has most",
                vec![
                    ("a", Finished, 5),
                    ("b", Finished, 4),
                    ("b", Finished, 6),
                    ("c", Finished, 9),
                    ("d", Finished, 2),
                ],
                vec![1],
            ),
        ] {
            let budget = ByteBudget::new(LIMITS);
            let items: Vec<(Arc<Item>, Reservation)> =
                kept.iter().map(|(client, kind, bytes)| keep(&budget, client, *kind, *bytes)).collect();
            let is_gone = |number: &usize| items[*number].0.0.load(Ordering::SeqCst);
            assert_eq!((0..items.len()).filter(is_gone).collect::<Vec<_>>(), gone, "{what}");
            let left: usize =
                (0..items.len()).filter(|number| !is_gone(number)).map(|number| kept[number].2).sum();
            assert_eq!(budget.bytes(), left, "{what}");
            drop(items);
            assert_eq!(budget.bytes(), 0, "{what}");
            assert!(budget.state.lock().clients.is_empty(), "{what}");
        }
    }

    #[test]
    fn what_is_given_back_makes_room() {
        let budget = ByteBudget::new(LIMITS);
        let (first, reservation) = keep(&budget, "a", Finished, 10);
        drop(reservation);
        let (second, _kept) = keep(&budget, "a", Finished, 10);
        assert!(!first.0.load(Ordering::SeqCst) && !second.0.load(Ordering::SeqCst));
        assert_eq!(budget.bytes(), 10);
    }
}
