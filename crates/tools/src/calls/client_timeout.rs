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

/// In seconds. Giving up sooner isn't a time-out: it is a user pressing stop.
const MIN_TIMEOUT_SECS: u64 = 10;
/// Lower bound of the estimate, in seconds.
const MIN_WAIT_SECS: u64 = 5;
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
}

impl ObservedWaits {
    fn limit(self) -> Duration {
        let little_below = |gave_up: u64| gave_up.saturating_sub((gave_up / 10).max(2)).max(MIN_WAIT_SECS);
        self.gave_up.map_or(MAX_WAIT, |gave_up| Duration::from_secs(little_below(gave_up)))
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
    GaveUp(Duration),
    /// The client was still there.
    Waited(Duration),
}

impl TimeoutEstimate {
    /// The time-out estimate. With progress, the longest wait observed so far is doubled.
    fn wait_limit(self, usual: Duration, with_progress: bool) -> Duration {
        let silent = usual.min(self.silent.limit());
        let limit = self.with_progress.limit();
        let bridged = self.with_progress.waited.filter(|_| with_progress);
        let grown = bridged.map(|waited| Duration::from_secs(waited.saturating_mul(2)));
        grown.map_or(silent, |grown| grown.max(silent)).min(limit)
    }

    /// The state after an observation.
    fn observe(mut self, observation: WaitObservation, with_progress: bool) -> Self {
        let seen = if with_progress { &mut self.with_progress } else { &mut self.silent };
        match observation {
            WaitObservation::Waited(span) if span.as_secs() < MIN_WAIT_SECS => {}
            WaitObservation::Waited(span) => seen.waited = seen.waited.max(Some(span.as_secs())),
            WaitObservation::GaveUp(span) => {
                let span = span.as_secs();
                if span < MIN_TIMEOUT_SECS {
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
struct EstimateFile {
    version: u32,
    clients: HashMap<ClientId, TimeoutEstimate>,
}

#[derive(Debug, Default)]
struct ClientEstimate {
    learned: TimeoutEstimate,
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
        let learned = clients.get(client).map(|entry| entry.learned).unwrap_or_default();
        learned.wait_limit(self.usual, with_progress)
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
            if let (WaitObservation::GaveUp(_), Some(session)) = (observation, session) {
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
            .map(|(client, learned)| (client, ClientEstimate { learned, before: None }))
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

    /// Observations of a client, call by call: seconds, and the resulting estimates without and with progress.
    #[test]
    fn learns_wait_limits() {
        use WaitObservation::{GaveUp, Waited};
        let s = Duration::from_secs;
        let tables: [&[(WaitObservation, bool, u64, u64)]; 6] = [
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
            let mut learned = TimeoutEstimate::default();
            for (row, (observation, with_progress, silent, progress)) in table.iter().enumerate() {
                learned = learned.observe(*observation, *with_progress);
                let client_timeouts = (learned.wait_limit(s(50), false), learned.wait_limit(s(50), true));
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
    }
}
