//! Call records (DATA-3): written in batches in the background, bounded by retention, with full-text search.
//!
//! Recording a call never waits for the disk: the record goes to a writer thread that commits at least every
//! 200 ms. If the disk can't keep up, records are dropped and counted instead of delaying calls; what must
//! not be lost belongs in the audit. Nothing is redacted or truncated here: the caller does that.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread::JoinHandle;
use std::time::Duration;

use gatehouse_model::record::CallFilter;
use gatehouse_model::{CallRecord, Settings, message};
use parking_lot::Mutex;
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension as _, params_from_iter};

use crate::data_folder::database;
use crate::error::StoreError;
use crate::full_text;

mod export;
mod filters;
mod programs;
#[cfg(test)]
mod query_plans;
mod queue;
mod statistics;
mod usage;
mod writer;

pub use export::CallExporter;
pub use statistics::{RuleUse, ServerUse};

use queue::RecordQueue;
use writer::CallRecordWriter;

/// Maximum number of records per query.
const MAX_LIST_RECORDS: u32 = 10_000;

/// Most indexed words that a searched one is replaced by. Further ones would take longer than all that begin like it at once.
const MAX_TERMS: usize = 128;

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
    queue: Arc<RecordQueue>,
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
        let queue = Arc::new(RecordQueue::default());
        let writer = CallRecordWriter::new(connection, retention, clock, Arc::clone(&dropped_count))?;
        let writer = std::thread::Builder::new()
            .name("call-records".to_owned())
            .spawn({
                let queue = Arc::clone(&queue);
                move || writer.run(&queue)
            })
            .map_err(StoreError::io(message!("error.store.recordsUnstarted")))?;
        Ok(Self { queue, writer: Some(writer), reader, dropped_count })
    }

    /// Queues a record. Never blocks: if the queue is full, the record is dropped and counted in
    /// [`Activity::dropped_count`].
    pub fn record(&self, record: CallRecord) {
        if !self.queue.push(record) && self.dropped_count.fetch_add(1, Ordering::Relaxed) == 0 {
            tracing::warn!("call records come faster than the disk takes them; some are dropped");
        }
    }

    /// Changes the retention. The writer deletes what exceeds it with its next batch.
    pub fn keep(&self, retention: Retention) {
        self.queue.set_retention(retention);
    }

    /// Number of records that were dropped since the store was opened.
    pub fn dropped_count(&self) -> u64 {
        self.dropped_count.load(Ordering::Relaxed)
    }

    /// Matching records, newest first. Blocks on the disk. Records of the last 200 ms may be missing.
    pub fn list(&self, filter: &CallFilter) -> Result<Vec<CallRecord>, StoreError> {
        let reader = self.reader.lock();
        let (sql, values) = query(filter, |prefix| {
            terms(&reader, prefix).unwrap_or_else(|error| {
                tracing::warn!(%error, "the indexed words could not be read");
                None
            })
        });
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
        let (done, wait) = sync_channel(1);
        if self.queue.flush(done) && wait.recv().is_err() {
            tracing::warn!("the writer of call records ended early");
        }
    }
}

impl Drop for Activity {
    fn drop(&mut self) {
        self.queue.close();
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

/// The first and the last row id of a moment.
fn ids_of(at: gatehouse_model::Timestamp) -> [i64; 2] {
    let first = first_id(at);
    [first, first | ((1 << ID_SHIFT) - 1)]
}

/// The first and the last row id that a call of a filter can have.
fn id_range(filter: &CallFilter) -> [i64; 2] {
    let first = filter.since.map_or(0, first_id);
    let last = filter.until.map_or(i64::MAX, |until| first_id(until).saturating_sub(1));
    match &filter.call {
        Some(one) => {
            let [first_of_moment, last_of_moment] = ids_of(one.at);
            [first.max(first_of_moment), last.min(last_of_moment)]
        }
        None => [first, last],
    }
}

/// The statement for a filter. What it wants besides its time is found in the full-text index, so no record that does
/// not match is read. `terms` finds the indexed words that begin like a searched one.
fn query(filter: &CallFilter, terms: impl FnMut(&str) -> Option<Vec<String>>) -> (String, Vec<Value>) {
    let words = filter.text.as_deref().and_then(|text| full_text::query(text, terms));
    let wanted: Vec<String> = words.into_iter().chain(filters::query(filter)).collect();
    let (mut sql, mut values, id) = if wanted.is_empty() {
        ("SELECT calls.record FROM calls WHERE".to_owned(), Vec::new(), "calls.id")
    } else {
        // The full-text index must be the outer loop: it returns rows in order of id and stops at the limit.
        let sql = "SELECT calls.record FROM calls_text CROSS JOIN calls ON calls.id = calls_text.rowid
            WHERE calls_text MATCH ? AND";
        (sql.to_owned(), vec![Value::Text(wanted.join(" AND "))], "calls_text.rowid")
    };
    // One lower and one upper bound: of several, SQLite begins at one of them and reads until the others hold.
    let [first, last] = id_range(filter);
    values.extend([first, last].map(Value::Integer));
    match &filter.older_than {
        None => sql.push_str(&format!(" {id} BETWEEN ? AND ?")),
        Some(mark) => {
            // Several calls can have the same timestamp, so the row of the given call is looked up. If it was
            // deleted, all older ones were too.
            sql.push_str(&format!(
                " {id} BETWEEN ? AND MIN(?, COALESCE((SELECT one.id FROM calls AS one WHERE one.id BETWEEN ? AND ?
                 AND json_extract(one.record, '$.id') = ?), ?) - 1)"
            ));
            let [first, last] = ids_of(mark.at);
            values.extend([first, last].map(Value::Integer));
            values.extend([Value::Text(mark.id.to_string()), Value::Integer(first)]);
        }
    }
    if let Some(one) = &filter.call {
        sql.push_str(" AND json_extract(calls.record, '$.id') = ?");
        values.push(Value::Text(one.id.to_string()));
    }
    sql.push_str(&format!(" ORDER BY {id} DESC LIMIT ?"));
    values.push(Value::Integer(i64::from(filter.limit.unwrap_or(100).min(MAX_LIST_RECORDS))));
    (sql, values)
}

/// The indexed words that begin with these letters; `None` if there are many of them.
///
/// The index can tell the words themselves only by going through all their calls, so each is asked for on its own.
fn terms(connection: &Connection, prefix: &str) -> rusqlite::Result<Option<Vec<String>>> {
    let mut next =
        connection.prepare_cached("SELECT term FROM calls_terms WHERE term >= ?1 AND term < ?2 LIMIT 1")?;
    // No word of the index has these characters.
    let (mut from, until) = (prefix.to_owned(), format!("{prefix}\u{10FFFF}"));
    let mut terms = Vec::new();
    while let Some(term) = next.query_row([&from, &until], |row| row.get::<_, String>(0)).optional()? {
        if terms.len() == MAX_TERMS {
            return Ok(None);
        }
        from = format!("{term}\u{1}");
        terms.push(term);
    }
    Ok(Some(terms))
}
