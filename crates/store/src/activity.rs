//! Call records (DATA-3): written in batches in the background, bounded by retention, with full-text search.
//!
//! Recording a call never waits for the disk: the record goes to a writer thread that commits at least every
//! 200 ms. If the disk can't keep up, records are dropped and counted instead of delaying calls; what must
//! not be lost belongs in the audit. Nothing is redacted or truncated here: the caller does that.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use gatehouse_model::record::CallFilter;
use gatehouse_model::{CallRecord, Settings, message};
use parking_lot::Mutex;
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use crate::data_folder::database;
use crate::error::StoreError;

mod full_text;
mod programs;
mod usage;
mod writer;

use writer::{CallRecordWriter, WriterMessage};

/// Maximum number of records queued for the writer.
const INBOX: usize = 16 * 1024;
/// Maximum number of records per query.
const MAX_LIST_RECORDS: u32 = 10_000;

/// How many call records are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Older records are deleted.
    pub age: Duration,
    /// Maximum number of records. The oldest are deleted first.
    pub calls: u64,
}

impl Retention {
    /// Keeps all records.
    pub const EVERYTHING: Self = Self { age: Duration::MAX, calls: u64::MAX };

    #[must_use]
    pub fn from_settings(settings: &Settings) -> Self {
        let age = Duration::from_secs(u64::from(settings.activity_days) * 24 * 3600);
        Self { age, calls: u64::from(settings.activity_calls) }
    }
}

impl Default for Retention {
    fn default() -> Self {
        Self::from_settings(&Settings::default())
    }
}

/// The call records.
pub struct Activity {
    inbox: Option<SyncSender<WriterMessage>>,
    writer: Option<JoinHandle<()>>,
    reader: Mutex<Connection>,
    dropped_count: Arc<AtomicU64>,
}

impl Activity {
    pub(crate) fn open(
        path: &Path,
        retention: Retention,
        clock: Arc<dyn gatehouse_model::Clock>,
    ) -> Result<Self, StoreError> {
        let connection = database::open(path, database::ACTIVITY_MIGRATIONS)?;
        let reader = Mutex::new(database::connect(path)?);
        let dropped_count = Arc::new(AtomicU64::new(0));
        let (inbox, messages) = sync_channel(INBOX);
        let writer = CallRecordWriter::new(connection, retention, clock, Arc::clone(&dropped_count))?;
        let writer = std::thread::Builder::new()
            .name("call-records".to_owned())
            .spawn(move || writer.run(&messages))
            .map_err(StoreError::io(message!("error.store.recordsUnstarted")))?;
        Ok(Self { inbox: Some(inbox), writer: Some(writer), reader, dropped_count })
    }

    /// Queues a record. Never blocks: if the queue is full, the record is dropped and counted in
    /// [`Activity::dropped_count`].
    pub fn record(&self, record: CallRecord) {
        let Some(inbox) = &self.inbox else { return };
        match inbox.try_send(WriterMessage::Record(Box::new(record))) {
            Ok(()) => {}
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {
                if self.dropped_count.fetch_add(1, Ordering::Relaxed) == 0 {
                    tracing::warn!("call records come faster than the disk takes them; some are dropped");
                }
            }
        }
    }

    /// Changes the retention. The writer deletes what exceeds it with its next batch. Blocks until the
    /// message is queued, not until it was handled.
    pub fn keep(&self, retention: Retention) {
        let Some(inbox) = &self.inbox else { return };
        if inbox.send(WriterMessage::Keep(retention)).is_err() {
            tracing::warn!("the writer of call records ended early");
        }
    }

    /// Number of records that were dropped since the store was opened.
    pub fn dropped_count(&self) -> u64 {
        self.dropped_count.load(Ordering::Relaxed)
    }

    /// Matching records, newest first. Blocks on the disk. Records of the last 200 ms may be missing.
    pub fn list(&self, filter: &CallFilter) -> Result<Vec<CallRecord>, StoreError> {
        let (sql, values) = query(filter);
        let reader = self.reader.lock();
        let mut query = reader.prepare_cached(&sql)?;
        let mut rows = query.query(params_from_iter(values))?;
        let mut records = Vec::new();
        while let Some(row) = rows.next()? {
            records.push(serde_json::from_str(row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?)?);
        }
        Ok(records)
    }

    /// Waits until everything queued so far is on the disk or was dropped. Blocks.
    pub fn flush(&self) {
        let Some(inbox) = &self.inbox else { return };
        let (done, wait) = sync_channel(1);
        // If the writer has ended, nothing is left to write.
        if inbox.send(WriterMessage::Flush(done)).is_ok() && wait.recv().is_err() {
            tracing::warn!("the writer of call records ended early");
        }
    }
}

impl Drop for Activity {
    fn drop(&mut self) {
        drop(self.inbox.take());
        if let Some(writer) = self.writer.take()
            && writer.join().is_err()
        {
            tracing::error!("the writer of call records failed");
        }
    }
}

/// A record's row id starts with its time in milliseconds, shifted by this many bits, so that ids sort by
/// time.
pub(crate) const ID_SHIFT: u32 = 20;

fn first_id(at: gatehouse_model::Timestamp) -> i64 {
    at.0.clamp(0, i64::MAX >> ID_SHIFT) << ID_SHIFT
}

fn query(filter: &CallFilter) -> (String, Vec<Value>) {
    let mut sql = String::from("SELECT calls.record FROM calls");
    let (mut wheres, mut values) = (Vec::new(), Vec::new());
    let mut id = "calls.id";
    if let Some(words) = filter.text.as_deref().and_then(full_text::query) {
        // The full-text index must be the outer loop: it returns rows in order of id and stops at the limit.
        sql = String::from(
            "SELECT calls.record FROM calls_text CROSS JOIN calls ON calls.id = calls_text.rowid",
        );
        id = "calls_text.rowid";
        wheres.push("calls_text MATCH ?".to_owned());
        values.push(Value::Text(words));
    }
    if let Some(client) = &filter.client {
        wheres.push("calls.client = ?".to_owned());
        values.push(Value::Text(client.to_string()));
    }
    if let Some(server) = &filter.server {
        wheres.push("calls.server = ?".to_owned());
        values.push(Value::Text(server.to_string()));
    }
    if let Some(mark) = &filter.older_than {
        // Several calls can have the same timestamp, so the row of the given call is looked up. If it was
        // deleted, all older ones were too.
        wheres.push(format!(
            "{id} < COALESCE((SELECT one.id FROM calls AS one WHERE one.id BETWEEN ? AND ?
             AND json_extract(one.record, '$.id') = ?), ?)"
        ));
        let first = first_id(mark.at);
        let last = first | ((1 << ID_SHIFT) - 1);
        let moment = [first, last].map(Value::Integer);
        values.extend(moment);
        values.extend([Value::Text(mark.id.to_string()), Value::Integer(first)]);
    }
    if !wheres.is_empty() {
        sql.push_str(" WHERE ");
        sql.push_str(&wheres.join(" AND "));
    }
    sql.push_str(&format!(" ORDER BY {id} DESC LIMIT ?"));
    values.push(Value::Integer(i64::from(filter.limit.unwrap_or(100).min(MAX_LIST_RECORDS))));
    (sql, values)
}
