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

use crate::json_file::write_json;

/// Giving up sooner isn't a time-out: it is a user pressing stop. A little below 3 s, because a client's clock starts
/// before its call comes in.
const MIN_TIMEOUT: Duration = Duration::from_millis(2750);
/// Giving up sooner, in seconds, may also be a user pressing stop.
const CERTAIN_TIMEOUT_SECS: u64 = 10;
/// How long a give-up that may have been a user's counts as a time-out. Seen again, it counts for good.
const SUSPICION_TTL: Duration = Duration::from_secs(600);
/// A client that calls again gave up some time before that, in which its model wrote the call. Matters for short gaps:
/// a third of them, in seconds, is taken off.
const SHORT_GAP_SECS: u64 = 15;
/// A client that repeats a call, which was answered, later than this may just want it again.
const MAX_REPEAT_GAP: Duration = Duration::from_secs(60);
/// Lower bound of the estimate, in seconds.
const MIN_WAIT_SECS: u64 = 1;
/// Shorter waits, in seconds, tell nothing about a client.
const MIN_TELLING_WAIT_SECS: u64 = 5;
/// Upper bound of the estimate.
const MAX_WAIT: Duration = Duration::from_secs(600);
/// Cancellations within this time before the end of a session count as caused by it.
const SESSION_END_WINDOW: Duration = Duration::from_secs(2);

const FILE: &str = "client-waits.json";
const VERSION: u32 = 1;

/// Observations for one kind of call, in whole seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ObservedWaits {
    /// The shortest time after which a client seemed to time out.
    gave_up: Option<u64>,
    /// The longest time that a client waited without giving up.
    waited: Option<u64>,
    /// A short time after which it gave up last, which was a time-out or a user pressing stop.
    suspected: Option<u64>,
}

impl ObservedWaits {
    /// How long to wait at most, so that the answer comes before the client leaves.
    fn limit(self, believes_suspicion: bool) -> Duration {
        let little_below = |gave_up: u64| gave_up.saturating_sub((gave_up / 10).max(2)).max(MIN_WAIT_SECS);
        let suspected = self.suspected.filter(|_| believes_suspicion);
        let shortest = self.gave_up.into_iter().chain(suspected).min();
        shortest.map_or(MAX_WAIT, |gave_up| Duration::from_secs(little_below(gave_up)))
    }

    fn observe_give_up(&mut self, secs: u64, is_certain: bool) {
        if self.waited.is_some_and(|waited| waited >= secs) {
            // The client was seen to wait longer, so a user pressed stop, or the program has changed:
            // the next observation decides.
            self.waited = None;
        } else if is_certain || self.suspected.is_some_and(|before| before.abs_diff(secs) <= 1) {
            let shortest = [self.gave_up, self.suspected.filter(|_| !is_certain), Some(secs)];
            self.gave_up = shortest.into_iter().flatten().min();
            self.suspected = None;
        } else {
            self.suspected = Some(secs);
        }
    }
}

/// What was learned of one client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct TimeoutEstimate {
    /// For calls without progress notifications.
    silent: ObservedWaits,
    /// For calls with progress notifications.
    with_progress: ObservedWaits,
}

/// An observation of a pending call, with the time since it came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitObservation {
    /// The client cancelled the call or closed its connection.
    GaveUp(Duration),
    /// The same, and it says that this was a time-out.
    TimedOut(Duration),
    /// The same, for a reason that is no time-out.
    Stopped(Duration),
    /// The client made the same call again without having cancelled the first one.
    CalledAgain(Duration),
    /// The same after the answer to the first one, for which it had seemed to wait, and which it didn't get.
    Repeated(Duration),
    /// The client was still there.
    Waited(Duration),
}

impl WaitObservation {
    /// A call that was given up, by the reason that the client gave.
    pub(crate) fn gave_up(after: Duration, reason: Option<&str>) -> Self {
        match reason.map(str::to_lowercase) {
            None => Self::GaveUp(after),
            Some(reason) if ["timed out", "timeout", "time-out"].iter().any(|word| reason.contains(word)) => {
                Self::TimedOut(after)
            }
            Some(_) => Self::Stopped(after),
        }
    }
}

impl TimeoutEstimate {
    /// The time-out estimate. With progress, the longest wait observed so far is doubled.
    fn wait_limit(self, usual: Duration, with_progress: bool, believes_suspicion: bool) -> Duration {
        let silent = usual.min(self.silent.limit(believes_suspicion));
        let limit = self.with_progress.limit(believes_suspicion);
        let bridged = self.with_progress.waited.filter(|_| with_progress);
        let grown = bridged.map(|waited| Duration::from_secs(waited.saturating_mul(2)));
        grown.map_or(silent, |grown| grown.max(silent)).min(limit)
    }

    /// The state after an observation.
    fn observe(mut self, observation: WaitObservation, with_progress: bool) -> Self {
        let seen = if with_progress { &mut self.with_progress } else { &mut self.silent };
        match observation {
            WaitObservation::Waited(span) if span.as_secs() < MIN_TELLING_WAIT_SECS => {}
            WaitObservation::Waited(span) => {
                let secs = span.as_secs();
                seen.waited = seen.waited.max(Some(secs));
                seen.suspected = seen.suspected.filter(|suspected| *suspected > secs);
            }
            WaitObservation::GaveUp(span)
            | WaitObservation::TimedOut(span)
            | WaitObservation::Stopped(span)
            | WaitObservation::CalledAgain(span)
            | WaitObservation::Repeated(span)
                if span < MIN_TIMEOUT => {}
            WaitObservation::TimedOut(span) => seen.observe_give_up(span.as_secs(), true),
            WaitObservation::Stopped(span) if span.as_secs() < CERTAIN_TIMEOUT_SECS => {}
            WaitObservation::GaveUp(span) | WaitObservation::Stopped(span) => {
                let secs = span.as_secs();
                seen.observe_give_up(secs, secs >= CERTAIN_TIMEOUT_SECS);
            }
            WaitObservation::CalledAgain(gap) => {
                let secs = secs_before(gap);
                seen.observe_give_up(secs, secs >= CERTAIN_TIMEOUT_SECS);
            }
            WaitObservation::Repeated(gap) if gap > MAX_REPEAT_GAP => {}
            WaitObservation::Repeated(gap) => {
                let secs = secs_before(gap);
                // It had left when the answer came.
                seen.waited = seen.waited.filter(|waited| *waited < secs);
                seen.observe_give_up(secs, false);
            }
        }
        self
    }

    fn suspected(&self) -> [Option<u64>; 2] {
        [self.silent.suspected, self.with_progress.suspected]
    }
}

/// After how many seconds a client gave up that called again after `gap`.
fn secs_before(gap: Duration) -> u64 {
    let secs = gap.as_secs();
    if secs < SHORT_GAP_SECS { (secs - secs / 3).max(2) } else { secs }
}

#[derive(Serialize, Deserialize)]
struct EstimateFile {
    version: u32,
    clients: HashMap<ClientId, TimeoutEstimate>,
}

#[derive(Debug, Default)]
struct ClientEstimate {
    learned: TimeoutEstimate,
    /// Until when what is suspected counts.
    believed_until: Option<Instant>,
    /// The state before a call of this session was given up.
    before: Option<(SessionId, Instant, TimeoutEstimate)>,
}

#[derive(Debug)]
struct EstimateStore {
    /// `None` if nothing is to be stored.
    file: Option<PathBuf>,
    clients: Mutex<HashMap<ClientId, ClientEstimate>>,
    saving: Mutex<()>,
}

/// The time-out estimates of all clients.
#[derive(Debug)]
pub(crate) struct ClientTimeouts {
    usual: Duration,
    store: Arc<EstimateStore>,
    tracker: TaskTracker,
}

impl ClientTimeouts {
    /// Loads what earlier runs learned.
    pub(crate) async fn open(dir: &Path, usual: Duration, tracker: TaskTracker) -> Self {
        let file = dir.join(FILE);
        let read = tokio::task::spawn_blocking(move || EstimateStore::read(file)).await;
        let store = read.unwrap_or_else(|error| {
            tracing::warn!(%error, "how long clients wait could not be read");
            EstimateStore { file: None, clients: Mutex::default(), saving: Mutex::default() }
        });
        Self { usual: usual.min(MAX_WAIT), store: Arc::new(store), tracker }
    }

    /// The time-out estimate for a call of a client, counted from when the call came in.
    pub(crate) fn of(&self, client: &ClientId, with_progress: bool) -> Duration {
        let clients = self.store.clients.lock();
        let Some(entry) = clients.get(client) else { return self.usual };
        let believes_suspicion = entry.believed_until.is_some_and(|until| Instant::now() < until);
        entry.learned.wait_limit(self.usual, with_progress, believes_suspicion)
    }

    /// Records an observation.
    pub(crate) fn record_wait(
        &self,
        client: &ClientId,
        session: Option<&SessionId>,
        observation: WaitObservation,
        with_progress: bool,
    ) {
        {
            let mut clients = self.store.clients.lock();
            let entry = clients.entry(client.clone()).or_default();
            let before = entry.learned;
            entry.learned = before.observe(observation, with_progress);
            if entry.learned == before {
                return;
            }
            if entry.learned.suspected() != before.suspected() {
                entry.believed_until = Some(Instant::now() + SUSPICION_TTL);
            }
            // A session that ends doesn't say that calls timed out, and doesn't answer or repeat any.
            let may_be_session_end = matches!(
                observation,
                WaitObservation::GaveUp(_) | WaitObservation::Stopped(_) | WaitObservation::CalledAgain(_)
            );
            if let (true, Some(session)) = (may_be_session_end, session) {
                let same = |(of, at, _): &(SessionId, Instant, TimeoutEstimate)| {
                    of == session && at.elapsed() < SESSION_END_WINDOW
                };
                // If several calls end together, the state before the first of them counts.
                if !entry.before.as_ref().is_some_and(same) {
                    entry.before = Some((session.clone(), Instant::now(), before));
                }
            }
        }
        tracing::debug!(%client, ?observation, with_progress, "how long a client waits was learned");
        self.save();
    }

    /// A session that ends cancels all its calls; that isn't a time-out, so what was learned from it is undone.
    pub(crate) fn session_ended(&self, session: &SessionId) {
        let mut unlearned = false;
        for entry in self.store.clients.lock().values_mut() {
            if let Some((_, at, before)) = entry.before.take_if(|(of, _, _)| of == session)
                && at.elapsed() < SESSION_END_WINDOW
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
        let known = self.store.clients.lock().remove(client);
        if known.is_some() {
            self.save();
        }
    }

    fn save(&self) {
        let store = self.store.clone();
        self.tracker.spawn_blocking(move || store.save());
    }
}

impl EstimateStore {
    fn read(file: PathBuf) -> Self {
        let mut clients = HashMap::new();
        let mut file = Some(file);
        match file.as_ref().map(fs::read_to_string) {
            Some(Ok(text)) => match serde_json::from_str::<EstimateFile>(&text) {
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
        let clients = clients
            .into_iter()
            .map(|(client, learned)| (client, ClientEstimate { learned, ..ClientEstimate::default() }))
            .collect();
        Self { file, clients: Mutex::new(clients), saving: Mutex::default() }
    }

    /// Blocks on the disk. The lock makes sure that the last writer writes the latest state.
    fn save(&self) {
        let Some(file) = &self.file else { return };
        let _turn = self.saving.lock();
        let clients =
            self.clients.lock().iter().map(|(client, entry)| (client.clone(), entry.learned)).collect();
        if let Err(error) = write_json(file, &EstimateFile { version: VERSION, clients }) {
            tracing::warn!(%error, "how long clients wait cannot be kept and is learned anew after a restart");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Observations of a client, call by call: seconds, and the resulting estimates without and with progress, while
    /// what is suspected counts.
    #[test]
    fn learns_wait_limits() {
        use WaitObservation::{CalledAgain, GaveUp, Repeated, Stopped, TimedOut, Waited};
        let s = Duration::from_secs;
        let ms = Duration::from_millis;
        let tables: [&[(WaitObservation, bool, u64, u64)]; 13] = [
            // Pressing stop teaches nothing; time-outs do, and the shortest counts.
            &[
                (GaveUp(s(2)), false, 50, 50),
                (TimedOut(s(2)), false, 50, 50),
                (Stopped(s(9)), true, 50, 50),
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
            // Short time-outs are answered with a margin of 2 s, and of 1 s for the shortest.
            &[(TimedOut(ms(4990)), false, 2, 2), (TimedOut(ms(2990)), false, 1, 1)],
            &[(TimedOut(ms(9010)), false, 7, 7), (TimedOut(s(6)), true, 4, 4)],
            // Without a word about it, a short one counts for a while, and twice for good; a longer wait disproves it.
            &[(GaveUp(s(5)), false, 3, 3), (GaveUp(s(4)), false, 2, 2), (Waited(s(50)), false, 2, 2)],
            &[(GaveUp(s(5)), false, 3, 3), (Waited(s(50)), false, 50, 50), (GaveUp(s(5)), false, 50, 50)],
            // A client that calls again gave up earlier than that.
            &[
                (CalledAgain(s(8)), false, 4, 4),
                (CalledAgain(ms(5050)), false, 2, 2),
                (CalledAgain(ms(3050)), false, 1, 1),
                (CalledAgain(s(60)), true, 1, 1),
            ],
            // One that seemed to wait for an answer and repeats the call hadn't waited for it.
            &[
                (Waited(s(8)), false, 50, 50),
                (Repeated(ms(8400)), false, 4, 4),
                (Waited(s(8)), false, 50, 50),
                (Repeated(ms(8400)), false, 4, 4),
                (Repeated(ms(7900)), false, 3, 3),
                (Waited(s(8)), false, 3, 3),
            ],
            // Much later it may just want the call again.
            &[
                (Repeated(s(20)), true, 18, 18),
                (Repeated(s(61)), true, 18, 18),
                (Repeated(s(2)), true, 18, 18),
            ],
            // If a client was seen to wait longer, one time-out isn't believed; the second one is.
            &[(Waited(s(50)), false, 50, 50), (GaveUp(s(20)), false, 50, 50), (GaveUp(s(20)), false, 18, 18)],
        ];
        for (number, table) in tables.into_iter().enumerate() {
            let mut learned = TimeoutEstimate::default();
            for (row, (observation, with_progress, silent, progress)) in table.iter().enumerate() {
                learned = learned.observe(*observation, *with_progress);
                let client_timeouts =
                    (learned.wait_limit(s(50), false, true), learned.wait_limit(s(50), true, true));
                assert_eq!(
                    client_timeouts,
                    (s(*silent), s(*progress)),
                    "table {number}, row {row}: {learned:?}"
                );
            }
        }
    }

    fn secs(client_timeouts: &ClientTimeouts, client: &str) -> u64 {
        client_timeouts.of(&client.into(), false).as_secs()
    }

    async fn open(dir: &Path) -> ClientTimeouts {
        ClientTimeouts::open(dir, Duration::from_secs(50), TaskTracker::new()).await
    }

    async fn kept(client_timeouts: ClientTimeouts) {
        client_timeouts.tracker.close();
        client_timeouts.tracker.wait().await;
    }

    #[tokio::test]
    async fn estimates_survive_restart_and_reset_when_corrupt() {
        let dir = tempfile::tempdir().unwrap();
        let client_timeouts = open(dir.path()).await;
        let up = WaitObservation::GaveUp(Duration::from_secs(30));
        client_timeouts.record_wait(&"a".into(), None, up, false);
        client_timeouts.record_wait(&"b".into(), None, up, false);
        client_timeouts.forget(&"b".into());
        kept(client_timeouts).await;
        let file = dir.path().join(FILE);
        #[cfg(unix)]
        assert_eq!(
            std::os::unix::fs::PermissionsExt::mode(&file.metadata().unwrap().permissions()) & 0o777,
            0o600
        );
        let client_timeouts = open(dir.path()).await;
        assert_eq!((secs(&client_timeouts, "a"), secs(&client_timeouts, "b")), (27, 50));

        for broken in ["", "[]", r#"{"version":1,"clients":{"a":{"silent":{"gaveUp":-1}}}}"#] {
            fs::write(&file, broken).unwrap();
            let client_timeouts = open(dir.path()).await;
            assert_eq!(secs(&client_timeouts, "a"), 50, "{broken}");
            client_timeouts.record_wait(&"a".into(), None, up, false);
            kept(client_timeouts).await;
            assert_eq!(secs(&open(dir.path()).await, "a"), 27, "{broken}");
        }
        let newer = r#"{"version":2,"clients":{}}"#;
        fs::write(&file, newer).unwrap();
        let client_timeouts = open(dir.path()).await;
        client_timeouts.record_wait(&"a".into(), None, up, false);
        kept(client_timeouts).await;
        assert_eq!(fs::read_to_string(&file).unwrap(), newer);
    }

    #[tokio::test(start_paused = true)]
    async fn suspected_timeout_counts_for_ten_minutes_and_again_for_good() {
        let dir = tempfile::tempdir().unwrap();
        let client_timeouts = open(dir.path()).await;
        let give_up = || {
            let after = WaitObservation::gave_up(Duration::from_secs(5), None);
            client_timeouts.record_wait(&"a".into(), None, after, false);
        };
        give_up();
        assert_eq!(secs(&client_timeouts, "a"), 3);
        tokio::time::advance(SUSPICION_TTL).await;
        assert_eq!(secs(&client_timeouts, "a"), 50);
        give_up();
        tokio::time::advance(SUSPICION_TTL).await;
        assert_eq!(secs(&client_timeouts, "a"), 3);
    }

    #[test]
    fn tells_timeouts_from_other_reasons() {
        let after = Duration::from_secs(5);
        for (reason, expected) in [
            (None, WaitObservation::GaveUp(after)),
            (Some("McpError: MCP error -32001: Request timed out"), WaitObservation::TimedOut(after)),
            (Some("timed out after 5.0s"), WaitObservation::TimedOut(after)),
            (Some("TimeoutError: signal"), WaitObservation::TimedOut(after)),
            (Some("AbortError: This operation was aborted"), WaitObservation::Stopped(after)),
            (Some(""), WaitObservation::Stopped(after)),
        ] {
            assert_eq!(WaitObservation::gave_up(after, reason), expected, "{reason:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn session_end_does_not_count_as_giving_up() {
        let dir = tempfile::tempdir().unwrap();
        let client_timeouts = open(dir.path()).await;
        let (client, session) = ("a".into(), "s".into());
        let up = |seconds| WaitObservation::GaveUp(Duration::from_secs(seconds));
        client_timeouts.record_wait(&client, Some(&session), up(40), false);
        client_timeouts.record_wait(&client, Some(&session), up(20), false);
        assert_eq!(secs(&client_timeouts, "a"), 18);
        client_timeouts.session_ended(&"other".into());
        assert_eq!(secs(&client_timeouts, "a"), 18);
        client_timeouts.session_ended(&session);
        assert_eq!(secs(&client_timeouts, "a"), 50);
        client_timeouts.record_wait(&client, Some(&session), up(40), false);
        tokio::time::advance(SESSION_END_WINDOW).await;
        client_timeouts.session_ended(&session);
        assert_eq!(secs(&client_timeouts, "a"), 36, "that was its own doing");
        let timed_out = WaitObservation::TimedOut(Duration::from_secs(20));
        client_timeouts.record_wait(&client, Some(&session), timed_out, false);
        client_timeouts.session_ended(&session);
        assert_eq!(secs(&client_timeouts, "a"), 18, "it said why");
    }
}
