//! Client time-out estimates: how long each client may wait for the user before it is told to call again
//! (PERM-11). Learned from when clients gave up, and from how long progress notifications kept them waiting.
//!
//! A wrong estimate costs the model one more call. It never allows or denies a call, so the stored file has no
//! MAC, and an unreadable one is discarded.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::{ClientId, SessionId};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use crate::kept::write_whole;

/// In seconds. Giving up sooner isn't a time-out: it is a user pressing stop.
const SOONEST: u64 = 10;
/// Lower bound of the estimate, in seconds.
const SHORTEST: u64 = 5;
/// Upper bound of the estimate.
const LONGEST: Duration = Duration::from_secs(600);
/// Cancellations within this time before the end of a session count as caused by it.
const SAME_MOMENT: Duration = Duration::from_secs(2);

const FILE: &str = "client-waits.json";
const VERSION: u32 = 1;

/// Observations for one kind of call, in whole seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Seen {
    /// The shortest time after which a client seemed to time out.
    gave_up: Option<u64>,
    /// The longest time that a client waited without giving up.
    waited: Option<u64>,
}

impl Seen {
    fn limit(self) -> Duration {
        let little_below = |gave_up: u64| gave_up.saturating_sub((gave_up / 10).max(2)).max(SHORTEST);
        self.gave_up.map_or(LONGEST, |gave_up| Duration::from_secs(little_below(gave_up)))
    }
}

/// What was learned of one client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Learned {
    /// For calls without progress notifications.
    silent: Seen,
    /// For calls with progress notifications.
    with_progress: Seen,
}

/// An observation of a pending call, with the time since it came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sign {
    GaveUp(Duration),
    /// The client was still there.
    Waited(Duration),
}

impl Learned {
    /// The time-out estimate. With progress, the longest wait observed so far is doubled.
    fn hold(self, usual: Duration, with_progress: bool) -> Duration {
        let silent = usual.min(self.silent.limit());
        let limit = self.with_progress.limit();
        let bridged = self.with_progress.waited.filter(|_| with_progress);
        let grown = bridged.map(|waited| Duration::from_secs(waited.saturating_mul(2)));
        grown.map_or(silent, |grown| grown.max(silent)).min(limit)
    }

    /// The state after an observation.
    fn after(mut self, sign: Sign, with_progress: bool) -> Self {
        let seen = if with_progress { &mut self.with_progress } else { &mut self.silent };
        match sign {
            Sign::Waited(span) if span.as_secs() < SHORTEST => {}
            Sign::Waited(span) => seen.waited = seen.waited.max(Some(span.as_secs())),
            Sign::GaveUp(span) => {
                let span = span.as_secs();
                if span < SOONEST {
                    return self;
                }
                if seen.waited.is_some_and(|waited| waited >= span) {
                    // The client was seen to wait longer, so a user pressed stop, or the program has changed:
                    // the next observation decides.
                    seen.waited = None;
                } else {
                    seen.gave_up = Some(seen.gave_up.map_or(span, |before| before.min(span)));
                }
            }
        }
        self
    }
}

#[derive(Serialize, Deserialize)]
struct Kept {
    version: u32,
    clients: HashMap<ClientId, Learned>,
}

#[derive(Debug, Default)]
struct Entry {
    learned: Learned,
    /// The state before a call of this session was given up.
    before: Option<(SessionId, Instant, Learned)>,
}

#[derive(Debug)]
struct Book {
    /// `None` if nothing is to be stored.
    file: Option<PathBuf>,
    clients: Mutex<HashMap<ClientId, Entry>>,
    saving: Mutex<()>,
}

/// The time-out estimates of all clients.
#[derive(Debug)]
pub(crate) struct Holds {
    usual: Duration,
    book: Arc<Book>,
    tracker: TaskTracker,
}

impl Holds {
    /// Loads what earlier runs learned.
    pub(crate) async fn open(dir: &Path, usual: Duration, tracker: TaskTracker) -> Self {
        let file = dir.join(FILE);
        let read = tokio::task::spawn_blocking(move || Book::read(file)).await;
        let book = read.unwrap_or_else(|error| {
            tracing::warn!(%error, "how long clients wait could not be read");
            Book { file: None, clients: Mutex::default(), saving: Mutex::default() }
        });
        Self { usual: usual.min(LONGEST), book: Arc::new(book), tracker }
    }

    /// The time-out estimate for a call of a client, counted from when the call came in.
    pub(crate) fn of(&self, client: &ClientId, with_progress: bool) -> Duration {
        let clients = self.book.clients.lock();
        let learned = clients.get(client).map(|entry| entry.learned).unwrap_or_default();
        learned.hold(self.usual, with_progress)
    }

    /// Records an observation.
    pub(crate) fn note(
        &self,
        client: &ClientId,
        session: Option<&SessionId>,
        sign: Sign,
        with_progress: bool,
    ) {
        {
            let mut clients = self.book.clients.lock();
            let entry = clients.entry(client.clone()).or_default();
            let before = entry.learned;
            entry.learned = before.after(sign, with_progress);
            if entry.learned == before {
                return;
            }
            if let (Sign::GaveUp(_), Some(session)) = (sign, session) {
                let same =
                    |(of, at, _): &(SessionId, Instant, Learned)| of == session && at.elapsed() < SAME_MOMENT;
                // If several calls end together, the state before the first of them counts.
                if !entry.before.as_ref().is_some_and(same) {
                    entry.before = Some((session.clone(), Instant::now(), before));
                }
            }
        }
        tracing::debug!(%client, ?sign, with_progress, "how long a client waits was learned");
        self.save();
    }

    /// A session that ends cancels all its calls; that isn't a time-out, so what was learned from it is undone.
    pub(crate) fn session_ended(&self, session: &SessionId) {
        let mut unlearned = false;
        for entry in self.book.clients.lock().values_mut() {
            if let Some((_, at, before)) = entry.before.take_if(|(of, _, _)| of == session)
                && at.elapsed() < SAME_MOMENT
            {
                entry.learned = before;
                unlearned = true;
            }
        }
        if unlearned {
            self.save();
        }
    }

    pub(crate) fn forget(&self, client: &ClientId) {
        let known = self.book.clients.lock().remove(client);
        if known.is_some() {
            self.save();
        }
    }

    fn save(&self) {
        let book = self.book.clone();
        self.tracker.spawn_blocking(move || book.save());
    }
}

impl Book {
    fn read(file: PathBuf) -> Self {
        let mut clients = HashMap::new();
        let mut file = Some(file);
        match file.as_ref().map(fs::read_to_string) {
            Some(Ok(text)) => match serde_json::from_str::<Kept>(&text) {
                Ok(kept) if kept.version == VERSION => clients = kept.clients,
                Ok(kept) => {
                    tracing::warn!(
                        version = kept.version,
                        "another version kept how long clients wait; its file is left alone"
                    );
                    file = None;
                }
                Err(error) => {
                    tracing::warn!(%error, "how long clients wait cannot be read and is learned anew");
                }
            },
            Some(Err(error)) if error.kind() != std::io::ErrorKind::NotFound => {
                tracing::warn!(%error, "how long clients wait cannot be read and is learned anew");
            }
            Some(Err(_)) | None => {}
        }
        let clients =
            clients.into_iter().map(|(client, learned)| (client, Entry { learned, before: None })).collect();
        Self { file, clients: Mutex::new(clients), saving: Mutex::default() }
    }

    /// Blocks on the disk. The lock makes sure that the last writer writes the latest state.
    fn save(&self) {
        let Some(file) = &self.file else { return };
        let _turn = self.saving.lock();
        let clients =
            self.clients.lock().iter().map(|(client, entry)| (client.clone(), entry.learned)).collect();
        if let Err(error) = write_whole(file, &Kept { version: VERSION, clients }) {
            tracing::warn!(%error, "how long clients wait cannot be kept and is learned anew after a restart");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Observations of a client, call by call: seconds, and the resulting estimates without and with progress.
    #[test]
    fn holds_are_learned() {
        use Sign::{GaveUp, Waited};
        let s = Duration::from_secs;
        let tables: [&[(Sign, bool, u64, u64)]; 6] = [
            // Pressing stop teaches nothing; time-outs do, and the shortest counts.
            &[
                (GaveUp(s(3)), false, 50, 50),
                (GaveUp(s(9)), true, 50, 50),
                (GaveUp(s(45)), false, 41, 41),
                (GaveUp(s(30)), false, 27, 27),
                (GaveUp(s(40)), false, 27, 27),
            ],
            // The margin below a time-out is at least 2 s.
            &[(GaveUp(s(12)), false, 10, 10), (GaveUp(s(10)), false, 8, 8)],
            // Progress that outlasts the limit doubles it, up to 10 minutes.
            &[
                (Waited(s(50)), true, 50, 100),
                (Waited(s(50)), true, 50, 100),
                (Waited(s(100)), true, 50, 200),
                (Waited(s(200)), true, 50, 400),
                (Waited(s(400)), true, 50, 600),
                (Waited(s(600)), true, 50, 600),
            ],
            // Without progress nothing grows; with progress, growth begins at the known limit.
            &[
                (GaveUp(s(40)), false, 36, 36),
                (Waited(s(36)), false, 36, 36),
                (Waited(s(36)), true, 36, 72),
                (Waited(s(72)), true, 36, 144),
            ],
            // Growth ends when the client gives up in spite of progress.
            &[
                (Waited(s(50)), true, 50, 100),
                (GaveUp(s(60)), true, 50, 54),
                (Waited(s(54)), true, 50, 54),
                (GaveUp(s(40)), true, 50, 50),
                (GaveUp(s(40)), true, 36, 36),
            ],
            // If a client was seen to wait longer, one time-out isn't believed; the second one is.
            &[(Waited(s(50)), false, 50, 50), (GaveUp(s(20)), false, 50, 50), (GaveUp(s(20)), false, 18, 18)],
        ];
        for (number, table) in tables.into_iter().enumerate() {
            let mut learned = Learned::default();
            for (row, (sign, with_progress, silent, progress)) in table.iter().enumerate() {
                learned = learned.after(*sign, *with_progress);
                let holds = (learned.hold(s(50), false), learned.hold(s(50), true));
                assert_eq!(holds, (s(*silent), s(*progress)), "table {number}, row {row}: {learned:?}");
            }
        }
    }

    fn secs(holds: &Holds, client: &str) -> u64 {
        holds.of(&client.into(), false).as_secs()
    }

    async fn open(dir: &Path) -> Holds {
        Holds::open(dir, Duration::from_secs(50), TaskTracker::new()).await
    }

    async fn kept(holds: Holds) {
        holds.tracker.close();
        holds.tracker.wait().await;
    }

    #[tokio::test]
    async fn what_was_learned_outlives_a_restart_and_what_is_broken_is_begun_anew() {
        let dir = tempfile::tempdir().unwrap();
        let holds = open(dir.path()).await;
        let up = Sign::GaveUp(Duration::from_secs(30));
        holds.note(&"a".into(), None, up, false);
        holds.note(&"b".into(), None, up, false);
        holds.forget(&"b".into());
        kept(holds).await;
        let file = dir.path().join(FILE);
        #[cfg(unix)]
        assert_eq!(
            std::os::unix::fs::PermissionsExt::mode(&file.metadata().unwrap().permissions()) & 0o777,
            0o600
        );
        let holds = open(dir.path()).await;
        assert_eq!((secs(&holds, "a"), secs(&holds, "b")), (27, 50));

        for broken in ["", "[]", r#"{"version":1,"clients":{"a":{"silent":{"gaveUp":-1}}}}"#] {
            fs::write(&file, broken).unwrap();
            let holds = open(dir.path()).await;
            assert_eq!(secs(&holds, "a"), 50, "{broken}");
            holds.note(&"a".into(), None, up, false);
            kept(holds).await;
            assert_eq!(secs(&open(dir.path()).await, "a"), 27, "{broken}");
        }
        let newer = r#"{"version":2,"clients":{}}"#;
        fs::write(&file, newer).unwrap();
        let holds = open(dir.path()).await;
        holds.note(&"a".into(), None, up, false);
        kept(holds).await;
        assert_eq!(fs::read_to_string(&file).unwrap(), newer);
    }

    #[tokio::test(start_paused = true)]
    async fn the_end_of_a_session_is_no_giving_up() {
        let dir = tempfile::tempdir().unwrap();
        let holds = open(dir.path()).await;
        let (client, session) = ("a".into(), "s".into());
        let up = |seconds| Sign::GaveUp(Duration::from_secs(seconds));
        holds.note(&client, Some(&session), up(40), false);
        holds.note(&client, Some(&session), up(20), false);
        assert_eq!(secs(&holds, "a"), 18);
        holds.session_ended(&"other".into());
        assert_eq!(secs(&holds, "a"), 18);
        holds.session_ended(&session);
        assert_eq!(secs(&holds, "a"), 50);
        holds.note(&client, Some(&session), up(40), false);
        tokio::time::advance(SAME_MOMENT).await;
        holds.session_ended(&session);
        assert_eq!(secs(&holds, "a"), 36, "that was its own doing");
    }
}
