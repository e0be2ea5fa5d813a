//! The writer thread: writes call records in batches and deletes old ones.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender};
use std::time::{Duration, Instant};

use gatehouse_model::{CallRecord, Clock, Timestamp};
use rusqlite::{Connection, params};

use super::{ID_SHIFT, Retention, first_id, full_text, programs, usage};
use crate::error::StoreError;
use crate::random::random_bytes;

pub(super) enum WriterMessage {
    /// Write a record.
    Record(Box<CallRecord>),
    /// Change the retention and delete what exceeds it.
    Keep(Retention),
    /// Commit everything received so far, then reply.
    Flush(SyncSender<()>),
}

/// Maximum time that a record waits for its batch.
const MAX_BATCH_DELAY: Duration = Duration::from_millis(200);
const MAX_BATCH_RECORDS: usize = 4096;
/// Old records are deleted after this many new ones, after this time, and with the first batch.
const TIDY_RECORD_INTERVAL: u64 = 10_000;
const TIDY_TIME_INTERVAL: Duration = Duration::from_secs(3600);
/// Maximum number of records deleted per transaction.
const TIDY_BATCH_RECORDS: u32 = 5_000;

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

    /// Runs until all senders are dropped and the queue is empty.
    pub(super) fn run(mut self, inbox: &Receiver<WriterMessage>) {
        while let Ok(first) = inbox.recv() {
            let deadline = Instant::now() + MAX_BATCH_DELAY;
            let mut batch = Vec::new();
            let mut flushed = Vec::new();
            let mut next = Some(first);
            while let Some(message) = next.take() {
                match message {
                    WriterMessage::Record(record) => batch.push(*record),
                    WriterMessage::Keep(retention) => {
                        self.retention = retention;
                        self.since_tidy = TIDY_RECORD_INTERVAL;
                    }
                    WriterMessage::Flush(done) => flushed.push(done),
                }
                if batch.len() >= MAX_BATCH_RECORDS || !flushed.is_empty() {
                    break;
                }
                next = inbox.recv_timeout(deadline.saturating_duration_since(Instant::now())).ok();
            }
            self.commit(batch);
            for done in flushed {
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
        if self.since_tidy >= TIDY_RECORD_INTERVAL || self.last_tidy.elapsed() >= TIDY_TIME_INTERVAL {
            self.since_tidy = 0;
            self.last_tidy = Instant::now();
            if let Err(error) = self.tidy() {
                tracing::warn!(%error, "old call records could not be dropped");
            }
        }
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
            let mut index = transaction.prepare_cached(
                "INSERT INTO calls_text (rowid, tool, arguments, result) VALUES (?1, ?2, ?3, ?4)",
            )?;
            for record in batch {
                usage::record_call(&transaction, &record)?;
                programs::record_call(&transaction, &record)?;
                let text = serde_json::to_string(&record)?;
                let id = loop {
                    self.next_low = (self.next_low + 1) & ((1 << ID_SHIFT) - 1);
                    let id = first_id(record.at) | self.next_low;
                    if insert.execute(params![id, record.client.as_str(), record.server.as_str(), text])? == 1
                    {
                        break id;
                    }
                };
                let tool =
                    format!("{} {} {}", record.subject.rule_name(), record.exposed_name, record.server_name);
                let body = |body: &Option<String>| full_text::index_text(body.as_deref().unwrap_or_default());
                index.execute(params![
                    id,
                    full_text::index_text(&tool),
                    body(&record.arguments),
                    body(&record.result)
                ])?;
            }
        }
        Ok(transaction.commit()?)
    }

    /// Deletes what exceeds the retention.
    fn tidy(&mut self) -> Result<(), StoreError> {
        let age = i64::try_from(self.retention.age.as_millis()).unwrap_or(i64::MAX);
        let oldest = first_id(Timestamp(self.clock.now().0.saturating_sub(age)));
        let calls = i64::try_from(self.retention.calls).unwrap_or(i64::MAX);
        let beyond: Option<i64> = self
            .connection
            .prepare_cached("SELECT MAX(id) FROM (SELECT id FROM calls ORDER BY id DESC LIMIT -1 OFFSET ?1)")?
            .query_row([calls], |row| row.get(0))?;
        let first_kept = oldest.max(beyond.map_or(0, |id| id + 1));
        usage::prune(&self.connection, Timestamp(first_kept >> ID_SHIFT))?;
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
                return Ok(());
            }
        }
    }
}
