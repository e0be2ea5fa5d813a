//! Sessions of the stateful revisions: who opened each, what is in flight in it, and the streams that a client
//! may come back to.
//!
//! A session belongs to the client that opened it and is invisible to every other. It ends by DELETE, by being
//! idle for a day, by being the longest idle of too many, or with its client's token.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use gatehouse_model::server::LogLevel;
use gatehouse_model::{ClientId, SessionId};
use gatehouse_tools::{Caller, Era, Peer, ServerAnswer};
use parking_lot::{Mutex, RwLock};
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::abilities::Abilities;
use crate::changed::Changed;
use crate::clients::ClientState;
use crate::event_log::EventLog;
use crate::revision::Revision;
use crate::watches::{Watched, Watches};

/// A session that nobody used for this long ends.
pub(crate) const LONGEST_IDLE: Duration = Duration::from_secs(24 * 60 * 60);

/// Most sessions of one client; the next one ends the longest idle.
pub(crate) const MOST_PER_CLIENT: usize = 64;

/// Most calls in flight in one session.
const MOST_CALLS: usize = 1024;

/// Most questions that wait for one client in a session.
const MOST_ASKS: usize = 64;

/// How long a finished stream stays to be resumed.
const KEEP_FINISHED: Duration = Duration::from_secs(300);

/// How many finished streams of a session stay, and how many bytes they may have together.
const MOST_FINISHED: usize = 64;
const MOST_FINISHED_BYTES: usize = 16 * 1024 * 1024;

/// One session.
pub(crate) struct Session {
    /// Its id.
    pub(crate) id: SessionId,
    /// Who opened it.
    pub(crate) client: Arc<ClientState>,
    /// What was agreed on.
    pub(crate) revision: Revision,
    /// What its client can answer.
    pub(crate) abilities: Abilities,
    /// The resources that it is told of.
    pub(crate) watches: Watches,
    /// Cancelled when it ends.
    pub(crate) ended: CancellationToken,
    says: Option<String>,
    began: Instant,
    /// Milliseconds from `began` to the last use.
    used: AtomicU64,
    calls: Mutex<HashMap<Box<str>, CancellationToken>>,
    asks: Mutex<Asks>,
    log_level: Mutex<Option<LogLevel>>,
    streams: Mutex<Streams>,
}

/// The questions that the client was asked.
#[derive(Default)]
struct Asks {
    next: u64,
    open: HashMap<String, oneshot::Sender<ServerAnswer>>,
}

/// What the client says of itself when it opens a session.
pub(crate) struct Introduced {
    /// What was agreed on.
    pub(crate) revision: Revision,
    /// What it can answer.
    pub(crate) abilities: Abilities,
    /// Its name and version.
    pub(crate) says: Option<String>,
}

#[derive(Default)]
struct Streams {
    next: u64,
    numbered: VecDeque<(u64, Arc<EventLog>)>,
    standing: Option<Arc<EventLog>>,
    /// The lists that changed without the client having heard of it for sure: no GET stream was there to say
    /// so, or the present one says it and was not read yet.
    untold: Changed,
}

impl Session {
    fn new(id: SessionId, client: Arc<ClientState>, introduced: Introduced) -> Self {
        let Introduced { revision, abilities, says } = introduced;
        Self {
            ended: client.gone.child_token(),
            id,
            client,
            revision,
            abilities,
            watches: Watches::default(),
            log_level: Mutex::default(),
            says,
            began: Instant::now(),
            used: AtomicU64::new(0),
            calls: Mutex::default(),
            asks: Mutex::default(),
            streams: Mutex::default(),
        }
    }

    /// Who calls when a call comes in this session from that peer.
    pub(crate) fn caller(&self, peer: Peer) -> Caller {
        Caller {
            client: Arc::clone(&self.client.entry),
            session: Some(self.id.clone()),
            says: self.says.clone(),
            peer,
            era: Era::Stateful,
        }
    }

    /// What the client said of itself when it opened the session.
    pub(crate) fn says(&self) -> Option<&str> {
        self.says.as_deref()
    }

    /// How much of what servers log its client wants to hear; nothing until it says so.
    pub(crate) fn log_level(&self) -> Option<LogLevel> {
        *self.log_level.lock()
    }

    /// Sets how much of what servers log its client wants to hear.
    pub(crate) fn set_log_level(&self, level: LogLevel) {
        *self.log_level.lock() = Some(level);
    }

    /// Notes that it is in use.
    pub(crate) fn touch(&self) {
        let millis = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.used.store(millis, Ordering::Relaxed);
    }

    fn last_used(&self) -> Instant {
        self.began + Duration::from_millis(self.used.load(Ordering::Relaxed))
    }

    fn is_busy(&self) -> bool {
        !self.calls.lock().is_empty()
            || self.streams.lock().standing.as_ref().is_some_and(|log| log.is_read())
    }

    /// Enters a call under its id. `None` when that id is in flight, or too many are.
    pub(crate) fn begin_call(self: &Arc<Self>, id: &str) -> Option<CallPlace> {
        let cancel = self.ended.child_token();
        let mut calls = self.calls.lock();
        if calls.len() >= MOST_CALLS || calls.contains_key(id) {
            return None;
        }
        calls.insert(id.into(), cancel.clone());
        Some(CallPlace { session: Arc::clone(self), id: id.into(), cancel })
    }

    /// Cancels the call with an id, if it is in flight.
    pub(crate) fn cancel_call(&self, id: &str) {
        let found = self.calls.lock().get(id).cloned();
        if let Some(cancel) = found {
            cancel.cancel();
        }
    }

    /// The id for a question to the client, and where its answer comes. `None` when too many wait.
    pub(crate) fn ask(&self) -> Option<(String, oneshot::Receiver<ServerAnswer>)> {
        let mut asks = self.asks.lock();
        if asks.open.len() >= MOST_ASKS {
            return None;
        }
        asks.next += 1;
        let id = format!("gatehouse-{}", asks.next);
        let (answer, wait) = oneshot::channel();
        asks.open.insert(id.clone(), answer);
        Some((id, wait))
    }

    /// Forgets a question. `true` when it was still open.
    pub(crate) fn forget_ask(&self, id: &str) -> bool {
        self.asks.lock().open.remove(id).is_some()
    }

    /// Takes the client's answer to a question.
    pub(crate) fn answered(&self, id: &str, answer: ServerAnswer) {
        let open = self.asks.lock().open.remove(id);
        if open.is_none_or(|open| open.send(answer).is_err()) {
            tracing::debug!("a client answered what it was not asked, or too late");
        }
    }

    /// Tells the client that a resource changed, if it wants to know.
    pub(crate) fn updated(&self, watched: &Watched) {
        let Some(uri) = self.watches.uri(watched) else { return };
        let log = self.streams.lock().standing.clone();
        // What nobody reads would only lie there: this stream cannot be resumed.
        if let Some(log) = log.filter(|log| log.is_listened()) {
            let uri = serde_json::Value::from(uri);
            let text = format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{{"uri":{uri}}}}}"#
            );
            log.push(std::iter::once(text.as_bytes()));
        }
    }

    /// The number for a stream that is about to begin.
    pub(crate) fn next_stream(&self) -> u64 {
        let mut streams = self.streams.lock();
        streams.next += 1;
        streams.next
    }

    /// Keeps a stream, so that it can be resumed while the session lasts, and lets old ones go.
    pub(crate) fn keep_stream(&self, number: u64, log: &Arc<EventLog>) {
        let mut streams = self.streams.lock();
        if self.ended.is_cancelled() {
            log.forget();
            return;
        }
        streams.numbered.push_back((number, Arc::clone(log)));
        streams.prune();
    }

    /// Lets go of finished streams whose time is over.
    fn prune_streams(&self) {
        self.streams.lock().prune();
    }

    /// A stream that is still kept.
    pub(crate) fn stream(&self, number: u64) -> Option<Arc<EventLog>> {
        let streams = self.streams.lock();
        streams.numbered.iter().find(|(kept, _)| *kept == number).map(|(_, log)| Arc::clone(log))
    }

    /// Begins the stream for what belongs to no request; the one before ends.
    pub(crate) fn stand(&self) -> Arc<EventLog> {
        let log = EventLog::passing();
        if self.ended.is_cancelled() {
            log.end();
        }
        let mut streams = self.streams.lock();
        let before = streams.standing.replace(Arc::clone(&log));
        if before.as_ref().is_some_and(|before| before.is_drained()) {
            streams.untold = Changed::default();
        }
        say(&log, streams.untold);
        drop(streams);
        if let Some(before) = before {
            before.end();
        }
        log
    }

    /// Tells the client which lists changed.
    pub(crate) fn lists_changed(&self, changed: Changed) {
        let mut streams = self.streams.lock();
        if let Some(log) = streams.standing.clone() {
            if log.is_drained() {
                streams.untold = Changed::default();
            }
            // What was not read yet is said already.
            say(&log, changed.without(streams.untold));
        }
        streams.untold = streams.untold.or(changed);
    }

    /// Notes that the client has just read these lists.
    pub(crate) fn lists_read(&self, read: Changed) {
        let mut streams = self.streams.lock();
        streams.untold = streams.untold.without(read);
    }

    fn end(&self) {
        self.ended.cancel();
        let Streams { numbered, standing, .. } = std::mem::take(&mut *self.streams.lock());
        if let Some(log) = standing {
            log.end();
        }
        // Calls that are just being cancelled hold theirs for a while.
        for (_, log) in numbered {
            log.forget();
        }
        self.client.session_closed();
    }
}

fn say(log: &EventLog, changed: Changed) {
    for method in changed.methods() {
        let text = format!(r#"{{"jsonrpc":"2.0","method":"{method}"}}"#);
        log.push(std::iter::once(text.as_bytes()));
    }
}

impl Streams {
    fn prune(&mut self) {
        let now = Instant::now();
        self.numbered.retain(|(_, log)| {
            let is_over = log.ended().is_some_and(|at| now.duration_since(at) >= KEEP_FINISHED);
            if is_over {
                log.forget();
            }
            !log.is_gone()
        });
        let finished = |streams: &Self| {
            let logs = streams.numbered.iter().filter(|(_, log)| log.ended().is_some());
            logs.fold((0, 0), |(count, bytes), (_, log)| (count + 1, bytes + log.bytes()))
        };
        loop {
            let (count, bytes) = finished(self);
            if count <= MOST_FINISHED && bytes <= MOST_FINISHED_BYTES {
                return;
            }
            let oldest = self.numbered.iter().position(|(_, log)| log.ended().is_some());
            let Some((_, log)) = oldest.and_then(|oldest| self.numbered.remove(oldest)) else { return };
            log.forget();
        }
    }
}

/// The place of a call among those in flight; given back when it is dropped.
pub(crate) struct CallPlace {
    session: Arc<Session>,
    id: Box<str>,
    /// Cancels the call.
    pub(crate) cancel: CancellationToken,
}

impl Drop for CallPlace {
    fn drop(&mut self) {
        self.session.calls.lock().remove(&self.id);
        self.session.touch();
    }
}

/// All sessions.
#[derive(Default)]
pub(crate) struct Sessions {
    open: RwLock<HashMap<SessionId, Arc<Session>>>,
}

/// What opening a session comes to: the session, and the one that had to end for it.
pub(crate) type Opened = (Arc<Session>, Option<Arc<Session>>);

impl Sessions {
    /// Opens a session. If its client has too many, the longest idle ends and is returned too.
    pub(crate) fn open(&self, id: SessionId, client: &Arc<ClientState>, introduced: Introduced) -> Opened {
        let session = Arc::new(Session::new(id.clone(), Arc::clone(client), introduced));
        let mut open = self.open.write();
        let mut own: Vec<&Arc<Session>> =
            open.values().filter(|other| other.client.entry.id == client.entry.id).collect();
        let surplus = if own.len() >= MOST_PER_CLIENT {
            own.sort_by_key(|other| (other.is_busy(), other.last_used()));
            own.first().map(|oldest| oldest.id.clone())
        } else {
            None
        };
        let surplus = surplus.and_then(|oldest| open.remove(&oldest));
        open.insert(id, Arc::clone(&session));
        drop(open);
        client.session_opened();
        if let Some(ended) = &surplus {
            ended.end();
        }
        (session, surplus)
    }

    /// The session with an id, if it is this client's.
    pub(crate) fn find(&self, id: &str, client: &ClientState) -> Option<Arc<Session>> {
        let session = self.open.read().get(&SessionId::new(id)).cloned()?;
        let fits = session.client.entry.id == client.entry.id && !session.ended.is_cancelled();
        if fits {
            session.touch();
        }
        fits.then_some(session)
    }

    /// The most that any of them wants to hear of what servers log.
    pub(crate) fn log_level(&self) -> Option<LogLevel> {
        self.open.read().values().filter_map(|session| session.log_level()).min()
    }

    /// Ends one. `false` when it has ended already.
    pub(crate) fn end(&self, session: &Session) -> bool {
        let removed = self.open.write().remove(&session.id);
        if let Some(removed) = &removed {
            removed.end();
        }
        removed.is_some()
    }

    /// Ends all that were idle for too long, and what is left of clients that are gone, and returns them.
    pub(crate) fn end_idle(&self) -> Vec<Arc<Session>> {
        let now = Instant::now();
        self.end_where(|session| {
            session.client.gone.is_cancelled()
                || !session.is_busy() && now.duration_since(session.last_used()) >= LONGEST_IDLE
        })
    }

    /// Lets go of finished streams whose time is over, in all of them.
    pub(crate) fn prune_streams(&self) {
        for session in self.open.read().values() {
            session.prune_streams();
        }
    }

    /// Ends all of one client, and returns them.
    pub(crate) fn end_of(&self, client: &ClientId) -> Vec<Arc<Session>> {
        self.end_where(|session| session.client.entry.id == *client && session.client.gone.is_cancelled())
    }

    /// Ends all.
    pub(crate) fn end_all(&self) -> Vec<Arc<Session>> {
        self.end_where(|_| true)
    }

    fn end_where(&self, which: impl Fn(&Session) -> bool) -> Vec<Arc<Session>> {
        let ended: Vec<_> =
            self.open.write().extract_if(|_, session| which(session)).map(|(_, one)| one).collect();
        for session in &ended {
            session.end();
        }
        ended
    }

    /// Tells every session that wants to know of a resource that changed.
    pub(crate) fn updated(&self, watched: &Watched) {
        for session in self.open.read().values() {
            session.updated(watched);
        }
    }

    /// Tells every session which lists changed.
    pub(crate) fn lists_changed(&self, changed: Changed) {
        for session in self.open.read().values() {
            session.lists_changed(changed);
        }
    }
}

#[cfg(test)]
mod tests {
    use gatehouse_model::{ClientEntry, Timestamp};
    use gatehouse_tools::{ByteBudget, ByteLimits};
    use tokio::time::advance;

    use super::*;

    fn client(id: &str) -> Arc<ClientState> {
        Arc::new(ClientState::unseen(ClientEntry {
            id: ClientId::new(id),
            name: "Agent".into(),
            token_sha256: String::new(),
            created: Timestamp(0),
        }))
    }

    fn open(sessions: &Sessions, id: &str, client: &Arc<ClientState>) -> Arc<Session> {
        let revision = Revision::V2025November;
        let introduced = Introduced { revision, abilities: Abilities::default(), says: None };
        sessions.open(SessionId::new(id), client, introduced).0
    }

    fn ids(ended: &[Arc<Session>]) -> Vec<&str> {
        ended.iter().map(|session| session.id.as_str()).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_that_nobody_used_for_a_day_ends() {
        let (sessions, client) = (Sessions::default(), client("cli-1"));
        let listens = open(&sessions, "listens", &client);
        let reader = listens.stand().read();
        let calls = open(&sessions, "calls", &client);
        let place = calls.begin_call("1").unwrap();
        open(&sessions, "used", &client);
        open(&sessions, "idle", &client);
        advance(LONGEST_IDLE / 2).await;
        assert!(sessions.find("used", &client).is_some());
        advance(LONGEST_IDLE / 2).await;
        assert_eq!(ids(&sessions.end_idle()), ["idle"]);
        // What kept them is gone, and the clock begins anew with the end of the last call.
        drop(reader);
        drop(place);
        let mut ended = sessions.end_idle();
        ended.sort_by(|one, other| one.id.cmp(&other.id));
        assert_eq!(ids(&ended), ["listens"]);
        advance(LONGEST_IDLE).await;
        assert_eq!(sessions.end_idle().len(), 2);
        assert!(sessions.find("calls", &client).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn sessions_of_a_client_that_is_gone_are_found_by_nobody() {
        let (sessions, client) = (Sessions::default(), client("cli-1"));
        open(&sessions, "before", &client);
        client.gone.cancel();
        open(&sessions, "after", &client);
        assert!(sessions.find("before", &client).is_none());
        assert!(sessions.find("after", &client).is_none());
        assert_eq!(sessions.end_idle().len(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn finished_streams_are_kept_for_a_while_and_not_without_bound() {
        let (sessions, client) = (Sessions::default(), client("cli-1"));
        let session = open(&sessions, "s", &client);
        let budget = ByteBudget::new(ByteLimits::default());
        let keep = |text: &str, finished: bool| {
            let number = session.next_stream();
            let log = EventLog::numbered(number, &budget, &client.entry.id);
            if finished {
                log.finish(std::iter::once(text.as_bytes()));
            }
            session.keep_stream(number, &log);
            number
        };
        let running = keep("", false);
        let first = keep("x", true);
        for _ in 1..MOST_FINISHED {
            keep("x", true);
        }
        assert!(session.stream(first).is_some());
        keep("x", true);
        assert!(session.stream(first).is_none());
        // Bytes count too.
        let large = "x".repeat(MOST_FINISHED_BYTES / 2);
        let (one, two) = (keep(&large, true), keep(&large, true));
        assert!(session.stream(one).is_none());
        assert!(session.stream(two).is_some());
        advance(KEEP_FINISHED).await;
        keep("x", true);
        assert!(session.stream(two).is_none());
        assert!(session.stream(running).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_kept_is_bounded_over_all_sessions_of_a_client() {
        let sessions = Sessions::default();
        let (greedy, other) = (client("cli-1"), client("cli-2"));
        let budget = ByteBudget::new(ByteLimits { client: 1000, all: 10_000 });
        // A stream of so many bytes that was read to its end.
        let leave = |session: &Session, bytes: usize| {
            let number = session.next_stream();
            let log = EventLog::numbered(number, &budget, &session.client.entry.id);
            session.keep_stream(number, &log);
            let reader = log.read();
            log.finish(std::iter::once("x".repeat(bytes).as_bytes()));
            drop(reader);
            number
        };
        let is_kept = |session: &Session, number| session.stream(number).is_some_and(|log| !log.is_gone());
        let theirs = open(&sessions, "theirs", &other);
        let number = leave(&theirs, 300);
        let own: Vec<(Arc<Session>, u64)> = (0..20)
            .map(|n| {
                let session = open(&sessions, &format!("own {n}"), &greedy);
                let number = leave(&session, 300);
                (session, number)
            })
            .collect();
        let kept: Vec<bool> = own.iter().map(|(session, number)| is_kept(session, *number)).collect();
        assert_eq!(kept, [vec![false; 17], vec![true; 3]].concat(), "the newest that fit");
        assert!(is_kept(&theirs, number));
        // The end of a session gives back what it has, whoever still holds it.
        for (session, _) in &own {
            assert!(sessions.end(session));
        }
        assert_eq!(budget.bytes(), theirs.stream(number).unwrap().bytes());
        leave(&own[0].0, 300);
        assert_eq!(sessions.end_all().len(), 1);
        assert_eq!(budget.bytes(), 0);
    }
}
