//! Order of the states of a session that are saved in the background: an older one never replaces a newer one.

use gatehouse_store::SavedSession;
use parking_lot::Mutex;

/// The state of a session at one moment.
pub(crate) struct SessionSnapshot {
    /// Increases with each snapshot of the session.
    number: u64,
    state: SavedSession,
}

#[derive(Default)]
pub(crate) struct SnapshotOrder {
    /// Number of the most recent snapshot.
    last_taken: Mutex<u64>,
    /// Number of the newest snapshot that was saved.
    last_saved: Mutex<u64>,
}

impl SnapshotOrder {
    /// Takes a snapshot of the state that `state` returns.
    pub(crate) fn take(&self, state: impl FnOnce() -> SavedSession) -> SessionSnapshot {
        let mut last_taken = self.last_taken.lock();
        *last_taken += 1;
        SessionSnapshot { number: *last_taken, state: state() }
    }

    /// Saves a snapshot by `save`, unless a newer one was saved. Blocks as long as another one is being saved.
    pub(crate) fn save<E>(
        &self,
        snapshot: &SessionSnapshot,
        save: impl FnOnce(&SavedSession) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut last_saved = self.last_saved.lock();
        if snapshot.number > *last_saved {
            save(&snapshot.state)?;
            *last_saved = snapshot.number;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_snapshot_never_replaces_newer_one() {
        let order = SnapshotOrder::default();
        let taken = [1, 2, 3].map(|count| {
            order.take(|| SavedSession { subscriptions: vec!["x".into(); count], ..SavedSession::default() })
        });
        let mut saved = Vec::new();
        for index in [1, 0, 2] {
            let mut save = |state: &SavedSession| {
                saved.push(state.subscriptions.len());
                Ok::<(), ()>(())
            };
            order.save(&taken[index], &mut save).unwrap();
        }
        assert_eq!(saved, [2, 3]);
        // One that could not be saved doesn't count.
        let next = order.take(SavedSession::default);
        assert_eq!(order.save(&next, |_| Err("disk")), Err("disk"));
        assert_eq!(order.save(&next, |_| Ok::<(), &str>(())), Ok(()));
    }
}
