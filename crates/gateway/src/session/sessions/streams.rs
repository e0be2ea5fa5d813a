//! The streams of a session: those of its calls, which can be resumed, and the GET stream, which carries what belongs to no
//! request, with the lists that changed while nobody read it.
//!
//! What is stored of finished streams is limited, and ends with the session.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_mcp_wire::raw::quoted;
use tokio::time::Instant;

use super::Session;
use crate::session::changed_lists::ChangedLists;
use crate::session::event_log::EventLog;

/// How long a finished stream can be resumed.
pub(super) const FINISHED_STREAM_TTL: Duration = Duration::from_secs(300);

/// Maximum number of finished streams that are stored per session, and below their maximum total size in bytes.
pub(super) const MAX_FINISHED_STREAMS: usize = 64;
pub(super) const MAX_FINISHED_STREAM_BYTES: usize = 16 * 1024 * 1024;

#[derive(Default)]
pub(super) struct SessionStreams {
    /// Number of the most recent stream.
    last_number: u64,
    numbered: VecDeque<(u64, Arc<EventLog>)>,
    notification_stream: Option<Arc<EventLog>>,
    /// Lists that changed without certainty that the client knows: there was no GET stream to notify it, or
    /// the notification is in the current GET stream and hasn't been read.
    unannounced: ChangedLists,
    /// Streams without events, in place of those that the client lost at a restart.
    replacements: Vec<Arc<EventLog>>,
}

impl SessionStreams {
    /// `only_stream` is that of an HTTP+SSE session.
    pub(super) fn new(only_stream: Option<Arc<EventLog>>) -> Self {
        Self { notification_stream: only_stream, ..Self::default() }
    }

    /// Those of a session from before, whose streams had at most this number. Every list may have changed since.
    pub(super) fn resumed(first_number: u64) -> Self {
        Self { last_number: first_number, unannounced: ChangedLists::ALL, ..Self::default() }
    }

    pub(super) fn is_notification_stream_read(&self) -> bool {
        self.notification_stream.as_ref().is_some_and(|log| log.has_reader())
    }

    /// Ends all streams.
    pub(super) fn end(self) {
        for log in self.notification_stream.into_iter().chain(self.replacements) {
            log.end();
        }
        // Calls that are being cancelled hold their logs for a while longer.
        for (_, log) in self.numbered {
            log.discard();
        }
    }

    /// Drops what has expired, and the oldest of what is too much.
    fn prune(&mut self) {
        let now = Instant::now();
        self.numbered.retain(|(_, log)| {
            let is_expired = log.ended_at().is_some_and(|at| now.duration_since(at) >= FINISHED_STREAM_TTL);
            if is_expired {
                log.discard();
            }
            !log.is_discarded()
        });
        let finished = |streams: &Self| {
            let logs = streams.numbered.iter().filter(|(_, log)| log.ended_at().is_some());
            logs.fold((0, 0), |(count, bytes), (_, log)| (count + 1, bytes + log.bytes()))
        };
        loop {
            let (count, bytes) = finished(self);
            if count <= MAX_FINISHED_STREAMS && bytes <= MAX_FINISHED_STREAM_BYTES {
                return;
            }
            let oldest = self.numbered.iter().position(|(_, log)| log.ended_at().is_some());
            let Some((_, log)) = oldest.and_then(|oldest| self.numbered.remove(oldest)) else { return };
            log.discard();
        }
    }
}

impl Session {
    /// The GET stream.
    pub(super) fn notification_stream(&self) -> Option<Arc<EventLog>> {
        self.streams.lock().notification_stream.clone()
    }

    /// Writes a notification to the GET stream.
    pub(crate) fn push_notification(&self, method: &str, params: &str) {
        // The GET stream can't be resumed, so events without a reader would be stored in vain.
        if let Some(log) = self.notification_stream().filter(|log| log.is_expecting_reader()) {
            let method = quoted(method);
            let text = format!(r#"{{"jsonrpc":"2.0","method":{method},"params":{params}}}"#);
            log.push(std::iter::once(text.as_bytes()));
        }
    }

    /// The number for a new stream.
    pub(crate) fn next_stream(&self) -> u64 {
        let mut streams = self.streams.lock();
        streams.last_number += 1;
        streams.last_number
    }

    /// Stores a stream so that it can be resumed while the session lasts, and drops expired ones.
    pub(crate) fn store_stream(&self, number: u64, log: &Arc<EventLog>) {
        let mut streams = self.streams.lock();
        if self.ended.is_cancelled() {
            log.discard();
            return;
        }
        streams.numbered.push_back((number, Arc::clone(log)));
        streams.prune();
    }

    /// Drops finished streams that have expired.
    pub(in crate::session) fn prune_streams(&self) {
        self.streams.lock().prune();
    }

    /// A stored stream.
    pub(crate) fn stream(&self, number: u64) -> Option<Arc<EventLog>> {
        let streams = self.streams.lock();
        streams.numbered.iter().find(|(other, _)| *other == number).map(|(_, log)| Arc::clone(log))
    }

    /// A stream in place of one that the client lost at a restart: what it would have carried is lost, and no stream of
    /// this run has its number. The GET stream, unless the client reads that already.
    pub(crate) fn replace_lost_stream(&self, number: u64) -> Option<Arc<EventLog>> {
        let mut streams = self.streams.lock();
        let is_of_this_run = (self.first_number..=streams.last_number).contains(&number);
        if self.first_number == 0 || is_of_this_run {
            return None;
        }
        if !streams.notification_stream.as_ref().is_some_and(|log| log.is_expecting_reader()) {
            drop(streams);
            return Some(self.open_notification_stream());
        }
        streams.replacements.retain(|log| log.is_expecting_reader());
        let log = EventLog::transient();
        if self.ended.is_cancelled() {
            log.end();
        }
        streams.replacements.push(Arc::clone(&log));
        Some(log)
    }

    /// Starts the GET stream, which carries what doesn't belong to a request. Ends the previous one.
    pub(crate) fn open_notification_stream(&self) -> Arc<EventLog> {
        let log = EventLog::transient();
        let mut streams = self.streams.lock();
        // While they are locked: the end of the session either came before, or finds this stream among them.
        if self.ended.is_cancelled() {
            log.end();
        }
        let previous = streams.notification_stream.replace(Arc::clone(&log));
        if previous.as_ref().is_some_and(|previous| previous.is_drained()) {
            streams.unannounced = ChangedLists::default();
        }
        push_list_changes(&log, streams.unannounced);
        if streams.unannounced.tools {
            self.tool_list.announced();
        }
        drop(streams);
        if let Some(previous) = previous {
            previous.end();
        }
        log
    }

    /// Notifies the client of changed lists.
    pub(crate) fn notify_lists_changed(&self, changed: ChangedLists) {
        let mut streams = self.streams.lock();
        if let Some(log) = streams.notification_stream.clone() {
            if log.is_drained() {
                streams.unannounced = ChangedLists::default();
            }
            // Changes whose notification wasn't read yet aren't announced again.
            push_list_changes(&log, changed.without(streams.unannounced));
            if changed.tools && log.has_reader() {
                self.tool_list.announced();
            }
        }
        streams.unannounced = streams.unannounced.or(changed);
    }

    /// Records that the client has just read these lists. Returns whether it had an old tool list before.
    pub(crate) fn mark_lists_read(&self, read: ChangedLists) -> bool {
        let mut streams = self.streams.lock();
        streams.unannounced = streams.unannounced.without(read);
        drop(streams);
        let was_stale = read.tools && self.tool_list.listed();
        if was_stale {
            self.client.list_no_longer_stale();
        }
        was_stale
    }
}

fn push_list_changes(log: &EventLog, changed: ChangedLists) {
    for method in changed.methods() {
        let text = format!(r#"{{"jsonrpc":"2.0","method":"{method}"}}"#);
        log.push(std::iter::once(text.as_bytes()));
    }
}
