//! Resolves paths for judging calls without blocking the caller: on a network share or a FUSE mount a look-up
//! can hang. A path that isn't resolved by the deadline is unknown, which counts as "no" for an allow and as
//! "yes" for a deny. Callers must not hold a lock while waiting for a look-up.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures::future::join_all;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout_at};

use crate::paths::{PathResolver, RealPath, is_local};

/// Most look-ups at once. Each takes a thread of the runtime's blocking pool, and one that hangs keeps it; so
/// this is also the number of threads that a hanging file system can take.
pub(crate) const AT_ONCE: usize = 8;
/// How long one judgement waits for its paths.
const TIME_LIMIT: Duration = Duration::from_millis(200);

/// The deadline for paths that are looked up now.
pub(crate) fn deadline() -> Instant {
    Instant::now() + TIME_LIMIT
}

/// Where paths lead, as far as resolved in time.
#[derive(Default)]
pub(crate) struct KnownPaths(HashMap<String, Option<RealPath>>);

impl KnownPaths {
    /// Those of these paths that haven't been looked up, without duplicates.
    pub(crate) fn missing(&self, mut paths: Vec<String>) -> Vec<String> {
        paths.retain(|path| !self.0.contains_key(path));
        paths.sort_unstable();
        paths.dedup();
        paths
    }

    /// Where a path leads; `None` if unknown.
    pub(crate) fn get(&self, path: &str) -> Option<&RealPath> {
        self.0.get(path)?.as_ref()
    }

    /// As [`Self::get`], in the form that the policy needs.
    pub(crate) fn resolve(&self, path: &str) -> Option<String> {
        Some(self.get(path)?.path.clone())
    }

    /// Resolves paths synchronously.
    #[cfg(test)]
    pub(crate) fn on_this_disk(paths: Vec<String>) -> Self {
        let real = |path: String| (path.clone(), crate::paths::SystemPaths.resolve(&path));
        Self(paths.into_iter().map(real).collect())
    }
}

/// Resolves paths on blocking threads. A shutdown doesn't wait for those, since one that hangs may never end;
/// they only read.
pub(crate) struct PathLookup {
    resolver: Arc<dyn PathResolver>,
    permits: Arc<Semaphore>,
    /// Paths whose look-up missed its deadline, with the permit of that look-up, which is dropped when it
    /// ends. Until then they aren't looked up again: one hanging path takes one thread, however often it is
    /// used.
    hanging: Mutex<HashMap<String, Weak<OwnedSemaphorePermit>>>,
}

impl PathLookup {
    pub(crate) fn new(resolver: Arc<dyn PathResolver>) -> Self {
        Self { resolver, permits: Arc::new(Semaphore::new(AT_ONCE)), hanging: Mutex::default() }
    }

    /// Resolves these paths. Afterwards `known` contains all of them; those not resolved by the deadline as
    /// unknown.
    pub(crate) async fn look_up(&self, paths: Vec<String>, deadline: Instant, known: &mut KnownPaths) {
        let one = |path: String| async move {
            let real = self.look_up_one(&path, deadline).await;
            (path, real)
        };
        known.0.extend(join_all(paths.into_iter().map(one)).await);
    }

    async fn look_up_one(&self, path: &str, deadline: Instant) -> Option<RealPath> {
        if !is_local(path) || self.is_hanging(path) || deadline <= Instant::now() {
            return None;
        }
        let permit = timeout_at(deadline, Arc::clone(&self.permits).acquire_owned()).await.ok()?.ok()?;
        let permit = Arc::new(permit);
        let until_it_ends = Arc::downgrade(&permit);
        let (resolver, text) = (Arc::clone(&self.resolver), path.to_owned());
        let lookup = spawn_blocking(move || {
            let real = resolver.resolve(&text);
            drop(permit);
            real
        });
        match timeout_at(deadline, lookup).await {
            Ok(real) => real.ok().flatten(),
            Err(_) => {
                tracing::warn!("a path in the arguments of a call or in a rule was not looked up in time");
                self.hanging.lock().insert(path.to_owned(), until_it_ends);
                None
            }
        }
    }

    fn is_hanging(&self, path: &str) -> bool {
        let mut hanging = self.hanging.lock();
        hanging.retain(|_, lookup| lookup.strong_count() > 0);
        hanging.contains_key(path)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use parking_lot::Condvar;

    use super::*;

    /// Deadline for look-ups of which some hang.
    const A_WHILE: Duration = Duration::from_secs(1);
    /// How long something hangs that isn't released, and how long to wait for something that must happen. An
    /// upper bound, not a measured time.
    const LONGEST: Duration = Duration::from_secs(60);

    /// A disk on which everything below `/hung` hangs until it is released.
    #[derive(Default)]
    struct Disk {
        state: Mutex<State>,
        changed: Condvar,
    }

    #[derive(Default)]
    struct State {
        is_let_go: bool,
        hanging: usize,
        seen: Vec<String>,
    }

    impl PathResolver for Disk {
        fn resolve(&self, path: &str) -> Option<RealPath> {
            let mut state = self.state.lock();
            state.seen.push(path.to_owned());
            if path.starts_with("/hung") {
                state.hanging += 1;
                self.changed.notify_all();
                self.changed.wait_while_for(&mut state, |state| !state.is_let_go, LONGEST);
                state.hanging -= 1;
            }
            Some(RealPath { path: path.to_owned(), is_folder: false })
        }
    }

    impl Disk {
        fn let_go(&self) {
            self.state.lock().is_let_go = true;
            self.changed.notify_all();
        }

        /// The number of hanging look-ups, once there are at least `count`.
        fn hanging(&self, count: usize) -> usize {
            let mut state = self.state.lock();
            self.changed.wait_while_for(&mut state, |state| state.hanging < count, LONGEST);
            state.hanging
        }
    }

    /// Releases the disk at the end of a test, even if it fails; otherwise the runtime would wait for its
    /// threads.
    struct LetGo(Arc<Disk>);

    impl Drop for LetGo {
        fn drop(&mut self) {
            self.0.let_go();
        }
    }

    fn on_a_disk() -> (LetGo, PathLookup) {
        let disk = Arc::new(Disk::default());
        let lookup = PathLookup::new(disk.clone());
        (LetGo(disk), lookup)
    }

    fn owned(paths: &[&str]) -> Vec<String> {
        paths.iter().map(|path| (*path).to_owned()).collect()
    }

    /// Which of these paths are resolved in time.
    async fn known_in(time: Duration, lookup: &PathLookup, paths: &[&str]) -> Vec<bool> {
        let mut known = KnownPaths::default();
        lookup.look_up(known.missing(owned(paths)), Instant::now() + time, &mut known).await;
        assert!(known.missing(owned(paths)).is_empty(), "one would be looked up again and again");
        paths.iter().map(|path| known.get(path).is_some()).collect()
    }

    /// Waits until released look-ups have returned their threads.
    async fn idle(lookup: &PathLookup) {
        let all = u32::try_from(AT_ONCE).unwrap();
        drop(tokio::time::timeout(LONGEST, lookup.permits.acquire_many(all)).await.unwrap().unwrap());
    }

    // The runtime of these tests has one thread: if it were blocked, nothing would make progress.

    #[tokio::test]
    async fn a_path_that_hangs_is_unknown_and_takes_one_thread() {
        let (disk, lookup) = on_a_disk();
        let known = known_in(A_WHILE, &lookup, &["/hung/a", "/fine", "/hung/a"]).await;
        assert_eq!(known, [false, true, false]);
        assert_eq!(disk.0.hanging(1), 1);
        let began = Instant::now();
        for _ in 0..3 {
            assert_eq!(known_in(LONGEST, &lookup, &["/hung/a", "/fine"]).await, [false, true]);
        }
        assert!(began.elapsed() < LONGEST, "a path that is known to hang is waited for");
        assert_eq!((disk.0.hanging(1), lookup.permits.available_permits()), (1, AT_ONCE - 1));
        disk.0.let_go();
        idle(&lookup).await;
        assert_eq!(known_in(LONGEST, &lookup, &["/hung/a"]).await, [true], "it is not looked up afresh");
        assert_eq!(disk.0.hanging(0), 0);
        assert!(lookup.hanging.lock().is_empty(), "something is left behind");
    }

    #[tokio::test]
    async fn paths_that_hang_take_so_many_threads_and_no_more() {
        let (disk, lookup) = on_a_disk();
        let many: Vec<String> = (0..3 * AT_ONCE).map(|index| format!("/hung/{index}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(known_in(A_WHILE, &lookup, &many).await.iter().all(|known| !known));
        assert_eq!((disk.0.hanging(AT_ONCE), lookup.permits.available_permits()), (AT_ONCE, 0));
        assert_eq!(known_in(A_WHILE, &lookup, &["/fine"]).await, [false], "there is no thread for it");
        disk.0.let_go();
        idle(&lookup).await;
        assert_eq!(known_in(LONGEST, &lookup, &["/fine", "/hung/0"]).await, [true, true]);
        idle(&lookup).await;
        assert_eq!((disk.0.hanging(0), lookup.permits.available_permits()), (0, AT_ONCE));
    }

    /// Look-ups that only have to wait for a thread aren't lost.
    #[tokio::test]
    async fn more_paths_than_threads_are_looked_up_too() {
        let (disk, lookup) = on_a_disk();
        let many: Vec<String> = (0..10 * AT_ONCE).map(|index| format!("/fine/{index}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(known_in(LONGEST, &lookup, &many).await.iter().all(|known| *known));
        let seen: HashSet<String> = disk.0.state.lock().seen.iter().cloned().collect();
        assert_eq!(seen.len(), many.len());
    }

    #[tokio::test]
    async fn what_leads_nowhere_for_certain_is_not_looked_up() {
        let (disk, lookup) = on_a_disk();
        let long = format!("/{}", "x".repeat(64 * 1024));
        let known = known_in(LONGEST, &lookup, &["", "a", "../a", "~/a", "/a\0b", &long]).await;
        assert!(known.iter().all(|known| !known));
        assert_eq!(known_in(Duration::ZERO, &lookup, &["/fine"]).await, [false], "the deadline was over");
        assert!(disk.0.state.lock().seen.is_empty());
    }
}
