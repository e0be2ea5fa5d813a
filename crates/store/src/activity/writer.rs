//! The writer thread: writes call records in batches and deletes old ones.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use gatehouse_model::{CallRecord, Clock, Timestamp};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::queue::RecordQueue;
use super::{ID_SHIFT, Retention, filters, first_id, programs, statistics, usage};
use crate::error::StoreError;
use crate::full_text;
use crate::random::random_bytes;

/// Old records are deleted after this many new ones, after this time, and with the first batch.
const TIDY_RECORD_INTERVAL: u64 = 1_000;
const TIDY_TIME_INTERVAL: Duration = Duration::from_secs(3600);
/// Maximum number of records deleted per transaction.
const TIDY_BATCH_RECORDS: u32 = 1_000;
/// Records that are read at a time to fill the index.
const INDEX_BATCH_RECORDS: u32 = 5_000;

pub(super) struct CallRecordWriter {
    connection: Connection,
    retention: Retention,
    clock: Arc<dyn Clock>,
    dropped_count: Arc<AtomicU64>,
    /// Distinguishes the ids of records of the same millisecond.
    next_low: i64,
    since_tidy: u64,
    last_tidy: Instant,
}

impl CallRecordWriter {
    pub(super) fn new(
        connection: Connection,
        retention: Retention,
        clock: Arc<dyn Clock>,
        dropped_count: Arc<AtomicU64>,
    ) -> Result<Self, StoreError> {
        let low = i64::from(u32::from_be_bytes(random_bytes()?));
        let mut connection = connection;
        fill_index(&mut connection)?;
        statistics::begin(&connection, clock.now())?;
        Ok(Self {
            connection,
            retention,
            clock,
            dropped_count,
            next_low: low,
            since_tidy: TIDY_RECORD_INTERVAL,
            last_tidy: Instant::now(),
        })
    }

    /// Runs until the queue is closed and empty.
    pub(super) fn run(mut self, queue: &RecordQueue) {
        let _guard = QueueGuard(queue);
        while let Some(batch) = queue.next_batch() {
            if let Some(retention) = batch.retention {
                self.retention = retention;
                self.since_tidy = TIDY_RECORD_INTERVAL;
            }
            if let Err(error) = statistics::record_servers(&self.connection, &batch.servers) {
                tracing::warn!(%error, "it could not be recorded which servers there are");
            }
            self.commit(batch.records);
            if self.since_tidy >= TIDY_RECORD_INTERVAL || self.last_tidy.elapsed() >= TIDY_TIME_INTERVAL {
                let is_done = self.tidy(queue).unwrap_or_else(|error| {
                    tracing::warn!(%error, "old call records could not be dropped");
                    true
                });
                // The rest comes after the next batch.
                self.since_tidy = if is_done { 0 } else { TIDY_RECORD_INTERVAL };
            }
            for done in batch.flushes {
                if done.send(()).is_err() {
                    tracing::debug!("nobody waits for the flush any more");
                }
            }
        }
    }

    fn commit(&mut self, batch: Vec<CallRecord>) {
        let count = batch.len() as u64;
        if let Err(error) = self.write(batch) {
            self.dropped_count.fetch_add(count, Ordering::Relaxed);
            tracing::error!(%error, count, "call records could not be written");
            return;
        }
        self.since_tidy += count;
    }

    fn write(&mut self, mut batch: Vec<CallRecord>) -> Result<(), StoreError> {
        if batch.is_empty() {
            return Ok(());
        }
        // The full-text index is fastest with ascending ids.
        batch.sort_by_key(|record| record.at);
        let transaction = self.connection.transaction()?;
        {
            let mut insert = transaction.prepare_cached(
                "INSERT OR IGNORE INTO calls (id, client, server, record) VALUES (?1, ?2, ?3, ?4)",
            )?;
            usage::record_calls(&transaction, &batch)?;
            programs::record_calls(&transaction, &batch)?;
            statistics::record_calls(&transaction, &batch)?;
            for record in batch {
                let text = serde_json::to_string(&record)?;
                let id = loop {
                    self.next_low = (self.next_low + 1) & ((1 << ID_SHIFT) - 1);
                    let id = first_id(record.at) | self.next_low;
                    let (client, server) = (record.client.as_str(), record.server.as_str());
                    if insert.execute(params![id, client, server, text])? == 1 {
                        break id;
                    }
                };
                index_record(&transaction, id, &record)?;
            }
        }
        Ok(transaction.commit()?)
    }

    /// Deletes what exceeds the retention. Stops for what is to be written meanwhile, but not before it deleted as many
    /// records as were written since the last time: however many calls there are, the database stays bounded. Returns
    /// whether that was all.
    fn tidy(&mut self, queue: &RecordQueue) -> Result<bool, StoreError> {
        self.last_tidy = Instant::now();
        let age = i64::try_from(self.retention.age.as_millis()).unwrap_or(i64::MAX);
        let oldest = first_id(Timestamp(self.clock.now().0.saturating_sub(age)));
        let calls = i64::try_from(self.retention.calls).unwrap_or(i64::MAX);
        // Counted in the part of the index that has one short row for each call: the calls themselves are gigabytes.
        let beyond: Option<i64> = self
            .connection
            .prepare_cached("SELECT id FROM calls_text_docsize ORDER BY id DESC LIMIT 1 OFFSET ?1")?
            .query_row([calls], |row| row.get(0))
            .optional()?;
        let first_kept = oldest.max(beyond.map_or(0, |id| id + 1));
        usage::prune(&self.connection, Timestamp(first_kept >> ID_SHIFT))?;
        statistics::prune(&self.connection, self.clock.now())?;
        let mut deleted = 0;
        loop {
            let transaction = self.connection.transaction()?;
            let step = "SELECT id FROM calls WHERE id < ?1 ORDER BY id LIMIT ?2";
            transaction.execute(
                &format!("DELETE FROM calls_text WHERE rowid IN ({step})"),
                params![first_kept, TIDY_BATCH_RECORDS],
            )?;
            let gone = transaction.execute(
                &format!("DELETE FROM calls WHERE id IN ({step})"),
                params![first_kept, TIDY_BATCH_RECORDS],
            )?;
            transaction.commit()?;
            if gone < TIDY_BATCH_RECORDS as usize {
                return Ok(true);
            }
            deleted += gone as u64;
            if deleted >= self.since_tidy && queue.has_work() {
                return Ok(false);
            }
        }
    }
}

/// Adds a record to the full-text index.
fn index_record(connection: &Connection, id: i64, record: &CallRecord) -> Result<(), StoreError> {
    let tool = format!("{} {} {}", record.subject.rule_name(), record.exposed_name, record.server_name);
    connection
        .prepare_cached(
            "INSERT INTO calls_text (rowid, tool, arguments, result, filters) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![
            id,
            full_text::index_text(&tool),
            full_text::index_text(record.arguments.as_deref().unwrap_or_default()),
            full_text::index_text(record.result.as_deref().unwrap_or_default()),
            filters::tokens(record),
        ])?;
    Ok(())
}

/// Fills the index and the statistics from the records, where an earlier version wrote the records.
fn fill_index(connection: &mut Connection) -> Result<(), StoreError> {
    let is_missing: bool = connection.query_row(
        "SELECT EXISTS (SELECT 1 FROM calls) AND NOT EXISTS (SELECT 1 FROM calls_text)",
        [],
        |row| row.get(0),
    )?;
    if !is_missing {
        return Ok(());
    }
    let transaction = connection.transaction()?;
    let is_counted: bool =
        transaction.query_row("SELECT EXISTS (SELECT 1 FROM call_kinds)", [], |row| row.get(0))?;
    {
        let mut select =
            transaction.prepare("SELECT id, record FROM calls WHERE id > ?1 ORDER BY id LIMIT ?2")?;
        let mut after = -1;
        loop {
            let page = select.query_map(params![after, INDEX_BATCH_RECORDS], |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))
            })?;
            let mut records = Vec::new();
            for row in page {
                let (id, text) = row?;
                let record: CallRecord = serde_json::from_str(&text)?;
                index_record(&transaction, id, &record)?;
                records.push(record);
                after = id;
            }
            if records.is_empty() {
                break;
            }
            if !is_counted {
                statistics::record_calls(&transaction, &records)?;
            }
        }
    }
    Ok(transaction.commit()?)
}

/// Leaves nobody waiting in the queue when the writer ends, also by a panic.
struct QueueGuard<'a>(&'a RecordQueue);

impl Drop for QueueGuard<'_> {
    fn drop(&mut self) {
        self.0.abandon();
    }
}
