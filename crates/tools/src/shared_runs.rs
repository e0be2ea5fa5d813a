//! Runs of calls that the user approved. An identical call of the same client and source shares a run in
//! progress. A result that was perhaps not received is kept for the next identical call, once. So one approval
//! never has its effect twice.
//!
//! A result is never given to another client or program, and a pause, a revocation or the removal of the
//! server drops it. Nothing here is written to disk. Kept bytes count in the client's budget
//! ([`crate::byte_budget`]).

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use gatehouse_model::grant::Verdict;
use gatehouse_model::{CallId, ClientId, ServerId, SessionId};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::byte_budget::{ByteBudget, Evict, KeptKind, Reservation};
use crate::call_types::ClientPresence;
use crate::call_types::call_key::CallKey;
use crate::call_types::response::FinishedCall;
use crate::pending_call::PendingCall;

/// No client has a shorter time-out: if a call came in less long ago, its client is assumed to have received
/// the result.
pub(crate) const MIN_CLIENT_TIMEOUT: Duration = Duration::from_secs(3);
/// Most kept results per client; beyond that the oldest is dropped.
const MAX_RESULTS: usize = 64;

/// The result of an earlier run, for an identical call.
#[derive(Debug)]
pub(crate) struct EarlierResult {
    /// The call that ran.
    pub(crate) call: CallId,
    pub(crate) ended: FinishedCall,
    /// The verdict that allowed it.
    pub(crate) verdict: Verdict,
    /// When it came in.
    pub(crate) came_in: Instant,
    /// When it ended.
    pub(crate) at: Instant,
}

/// Whether the client of a run received its result.
#[derive(Clone, Debug)]
pub(crate) enum Receipt {
    /// As far as known, yes.
    Likely,
    /// It may have given up without a sign.
    Unsure,
    /// Its connection was closed when the call ended. It may come back for the result.
    Missed(ClientPresence),
}

/// Runs in progress, and kept results.
#[derive(Debug)]
pub(crate) struct SharedRuns {
    entries: Mutex<RunTable>,
    /// How long a result is kept.
    life: Duration,
    /// Memory budget for kept results.
    retained_bytes: Arc<ByteBudget>,
}

#[derive(Debug, Default)]
struct RunTable {
    by_key: HashMap<CallKey, RunEntry>,
    count: u64,
}

#[derive(Debug)]
struct RunEntry {
    no: u64,
    client: ClientId,
    server: ServerId,
    stage: RunStage,
}

#[derive(Debug)]
enum RunStage {
    Running {
        outcome: watch::Receiver<Option<Arc<EarlierResult>>>,
        /// When each of the calls that share it came in.
        shared_since: Vec<Instant>,
    },
    Finished {
        result: Arc<EarlierResult>,
        until: Instant,
        /// The client that wasn't connected when the call ended.
        missed: Option<ClientPresence>,
        /// Keeps the bytes counted.
        _counted: (Arc<KeptPlace>, Reservation),
    },
}

/// Location of a kept result, for its eviction by the budget.
#[derive(Debug)]
struct KeptPlace {
    runs: Weak<SharedRuns>,
    key: CallKey,
    no: u64,
}

/// A run that an identical call may share.
#[derive(Debug)]
pub(crate) enum SharedRun {
    /// It is in progress.
    Running(RunSubscription),
    /// It has ended with this result.
    Finished(Arc<EarlierResult>),
}

/// A call's share in a run. Dropping it before the run ends gives up the share.
#[derive(Debug)]
pub(crate) struct RunSubscription {
    run: RunHandle,
    since: Instant,
    outcome: watch::Receiver<Option<Arc<EarlierResult>>>,
}

/// One run. If it is dropped without a result, the calls that share it are judged again.
#[derive(Debug)]
pub(crate) struct ActiveRun {
    runs: Arc<SharedRuns>,
    key: CallKey,
    no: u64,
    outcome: watch::Sender<Option<Arc<EarlierResult>>>,
}

/// Handle that can end the sharing of a run.
#[derive(Clone, Debug)]
pub(crate) struct RunHandle {
    runs: Arc<SharedRuns>,
    key: CallKey,
    no: u64,
}

impl SharedRuns {
    pub(crate) fn new(life: Duration, retained_bytes: Arc<ByteBudget>) -> Arc<Self> {
        Arc::new(Self { entries: Mutex::default(), life, retained_bytes })
    }

    /// Begins a run that identical calls share from now on.
    pub(crate) fn begin(self: &Arc<Self>, pending_call: &PendingCall) -> ActiveRun {
        let (outcome, receiver) = watch::channel(None);
        let mut entries = self.entries.lock();
        entries.count += 1;
        let no = entries.count;
        let key = pending_call.key.clone();
        let is_running =
            entries.by_key.get(&key).is_some_and(|entry| matches!(entry.stage, RunStage::Running { .. }));
        if key.identifies_caller() && !is_running {
            let entry = RunEntry {
                no,
                client: pending_call.caller.client.id.clone(),
                server: pending_call.server().clone(),
                stage: RunStage::Running { outcome: receiver, shared_since: Vec::new() },
            };
            entries.by_key.insert(key.clone(), entry);
        }
        ActiveRun { runs: self.clone(), key, no, outcome }
    }

    /// The run or kept result for a call that came in at `came_in`. A kept result is given out once.
    pub(crate) fn find(self: &Arc<Self>, key: &CallKey, came_in: Instant) -> Option<SharedRun> {
        let mut entries = self.entries.lock();
        let entry = entries.by_key.get_mut(key)?;
        let run = RunHandle { runs: self.clone(), key: key.clone(), no: entry.no };
        if let Some(share) = entry.subscribe(run, came_in) {
            return Some(SharedRun::Running(share));
        }
        match entries.by_key.remove(key)?.stage {
            RunStage::Finished { result, until, missed, .. }
                if until > Instant::now()
                    && !missed.as_ref().is_some_and(ClientPresence::was_present_since) =>
            {
                Some(SharedRun::Finished(result))
            }
            RunStage::Finished { .. } | RunStage::Running { .. } => None,
        }
    }

    /// Whether there is a run or result that an identical call may share.
    pub(crate) fn has_entry(&self, key: &CallKey) -> bool {
        self.entries.lock().by_key.contains_key(key)
    }

    /// Ends the sharing of all runs and drops all results.
    pub(crate) fn clear(&self) {
        self.entries.lock().by_key.clear();
    }

    /// The same for one client.
    pub(crate) fn forget_client(&self, client: &ClientId) {
        self.entries.lock().by_key.retain(|_, entry| entry.client != *client);
    }

    /// The same for one session that has ended. Runs whose source is a program aren't affected.
    pub(crate) fn forget_session(&self, session: &SessionId) {
        self.entries.lock().by_key.retain(|key, _| key.session() != Some(session));
    }

    /// The same for one server.
    pub(crate) fn forget_server(&self, server: &ServerId) {
        self.entries.lock().by_key.retain(|_, entry| entry.server != *server);
    }
}

impl RunEntry {
    /// A share in the run, if it is in progress.
    fn subscribe(&mut self, run: RunHandle, came_in: Instant) -> Option<RunSubscription> {
        let RunStage::Running { outcome, shared_since } = &mut self.stage else { return None };
        shared_since.push(came_in);
        Some(RunSubscription { run, since: came_in, outcome: outcome.clone() })
    }
}

impl RunSubscription {
    /// The result of the run; `None` if it is no longer shared.
    pub(crate) async fn result(&mut self) -> Option<Arc<EarlierResult>> {
        self.outcome.wait_for(Option::is_some).await.ok().and_then(|ended| ended.clone())
    }
}

impl Drop for RunSubscription {
    fn drop(&mut self) {
        let RunHandle { runs, key, no } = &self.run;
        let mut entries = runs.entries.lock();
        let entry = entries.by_key.get_mut(key).filter(|entry| entry.no == *no);
        if let Some(RunEntry { stage: RunStage::Running { shared_since, .. }, .. }) = entry
            && let Some(place) = shared_since.iter().position(|since| *since == self.since)
        {
            shared_since.swap_remove(place);
        }
    }
}

impl ActiveRun {
    pub(crate) fn id(&self) -> RunHandle {
        RunHandle { runs: self.runs.clone(), key: self.key.clone(), no: self.no }
    }

    /// A share for an identical call that came in at `came_in`; `None` if the run isn't shared.
    pub(crate) fn share(&self, came_in: Instant) -> Option<RunSubscription> {
        let mut entries = self.runs.entries.lock();
        let entry = entries.by_key.get_mut(&self.key).filter(|entry| entry.no == self.no)?;
        entry.subscribe(self.id(), came_in)
    }

    /// Gives the result to the calls that share the run, and keeps it if none of their clients is likely to
    /// have received it.
    pub(crate) fn finish(self, receipt: Receipt, result: impl FnOnce() -> EarlierResult) {
        let mut entries = self.runs.entries.lock();
        let Some(entry) = entries.by_key.get_mut(&self.key).filter(|entry| entry.no == self.no) else {
            return;
        };
        let RunStage::Running { shared_since, .. } = &entry.stage else { return };
        let received = matches!(receipt, Receipt::Likely)
            || shared_since.iter().any(|since| since.elapsed() < MIN_CLIENT_TIMEOUT);
        if shared_since.is_empty() && received {
            return;
        }
        let result = Arc::new(result());
        self.outcome.send_replace(Some(result.clone()));
        if received {
            return;
        }
        let missed = match receipt {
            Receipt::Missed(client) if shared_since.is_empty() => Some(client),
            Receipt::Missed(_) | Receipt::Likely | Receipt::Unsure => None,
        };
        let place = KeptPlace { runs: Arc::downgrade(&self.runs), key: self.key.clone(), no: self.no };
        let (client, place) = (entry.client.clone(), Arc::new(place));
        let (reservation, surplus) = self.runs.retained_bytes.reserve(
            &client,
            KeptKind::Finished,
            result.ended.size(),
            Arc::downgrade(&place),
        );
        let until = Instant::now() + self.runs.life;
        entry.stage = RunStage::Finished { result, until, missed, _counted: (place, reservation) };
        entries.prune(&client);
        drop(entries);
        surplus.evict();
    }
}

impl Drop for ActiveRun {
    fn drop(&mut self) {
        self.id().unshare();
    }
}

impl RunHandle {
    /// Ends the sharing: calls that share the run are judged again. A kept result stays.
    pub(crate) fn unshare(&self) {
        let mut entries = self.runs.entries.lock();
        let is_this =
            |entry: &RunEntry| entry.no == self.no && matches!(entry.stage, RunStage::Running { .. });
        if entries.by_key.get(&self.key).is_some_and(is_this) {
            entries.by_key.remove(&self.key);
        }
    }
}

impl Evict for KeptPlace {
    fn evict(&self) {
        let Some(runs) = self.runs.upgrade() else { return };
        let mut entries = runs.entries.lock();
        let is_this =
            |entry: &RunEntry| entry.no == self.no && matches!(entry.stage, RunStage::Finished { .. });
        if entries.by_key.get(&self.key).is_some_and(is_this) {
            entries.by_key.remove(&self.key);
        }
    }
}

impl RunTable {
    /// Drops expired results, and the oldest of a client that has too many.
    fn prune(&mut self, client: &ClientId) {
        let now = Instant::now();
        self.by_key
            .retain(|_, entry| !matches!(entry.stage, RunStage::Finished { until, .. } if until <= now));
        let own = |(key, entry): (&CallKey, &RunEntry)| match &entry.stage {
            RunStage::Finished { until, .. } if entry.client == *client => Some((*until, key.clone())),
            RunStage::Finished { .. } | RunStage::Running { .. } => None,
        };
        if self.by_key.iter().filter_map(own).count() > MAX_RESULTS
            && let Some((_, oldest)) = self.by_key.iter().filter_map(own).min_by_key(|(until, _)| *until)
        {
            self.by_key.remove(&oldest);
        }
    }
}
