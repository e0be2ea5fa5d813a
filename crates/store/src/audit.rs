//! The audit log (PERM-14): decisions, grants, revocations, sign-ins and configuration changes, which must
//! never be lost.
//!
//! Entries are only ever appended, each in one synced transaction together with the head of the chain. Each
//! entry hashes the previous one and has a MAC over its hash. The head has a MAC over the first and the last
//! entry of the chain, so that truncation is detected too. If the head wasn't written by us, the next entry
//! doesn't repair the chain: it skips a sequence number, and the gap stays visible.
//!
//! While the secret store is locked, entries are written without a MAC. Those that this process wrote get one
//! when the store is unlocked; all others stay invalid for good. A truncated chain with an old copy of its
//! sealed head is detected by the mark that is kept with the key (`checkpoint.rs`), which is written on a thread of
//! its own (`checkpoint_writer.rs`).

use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use gatehouse_model::{AuditEntry, AuditEvent, Clock, Secret, message};
use parking_lot::Mutex;
use rusqlite::{Connection, Transaction, params};
use zeroize::Zeroizing;

use crate::error::{SecretError, StoreError};
use crate::random::random_bytes;
use crate::sealed::context::SealContext;
use crate::secrets::key::SecretKey;
use crate::secrets::secret_store::{SecretStore, SecretStoreKind};

mod chain;
mod checkpoint;
mod checkpoint_writer;
mod export;
mod verify;

use chain::{
    ChainHead, entry_mac, for_each_entry, integer, last_seq, read_head, read_newest_first, seal_entries_from,
    write_head,
};
use checkpoint::{AuditCheckpoint, ChainPosition, find_missing};
use checkpoint_writer::CheckpointWriter;

pub use export::AuditFormat;

/// How long an acknowledgement waits for the secret store, which may ask the user to unlock it.
const ACKNOWLEDGE_TIMEOUT: Duration = Duration::from_secs(30);

/// The audit chain. All calls block on the disk; until its key has been read, also on the secret store.
pub struct Audit {
    ledger: Arc<Mutex<Connection>>,
    secrets: Arc<dyn SecretStore>,
    key_name: SecretKey,
    clock: Arc<dyn Clock>,
    state: Mutex<AuditState>,
    checkpoint_writer: CheckpointWriter,
}

type AuditKey = Zeroizing<[u8; 32]>;

#[derive(Default)]
struct AuditState {
    key: Option<AuditKey>,
    /// The mark that is stored with the key, or is about to be.
    checkpoint: AuditCheckpoint,
    /// The last entry that this process wrote.
    last: Option<ChainPosition>,
    /// The entries that this process wrote without a MAC, if any.
    unsealed: Option<UnsealedEntries>,
    /// Entries up to this number were sealed with a key that was lost with its process (memory store). Only
    /// their hashes can be verified.
    chain_only_to: u64,
}

struct UnsealedEntries {
    from: u64,
    /// The head before the first of these entries. Its seal couldn't be verified at the time.
    before: ChainHead,
}

impl AuditState {
    /// Whether entries may be appended to this head without a gap.
    fn is_ours(&self, head: &ChainHead, key: &AuditKey) -> bool {
        let died_with_its_process = self.chain_only_to > 0 && head.seq <= self.chain_only_to;
        died_with_its_process || head.is_sealed(key)
    }

    /// The first entry that the chain is known to have had and lacks now.
    fn first_missing(&self, ledger: &Connection, head: &ChainHead) -> Result<Option<u64>, StoreError> {
        for point in [self.last, self.checkpoint.reached].into_iter().flatten() {
            if let Some(seq) = find_missing(ledger, head, point)? {
                return Ok(Some(seq));
            }
        }
        Ok(None)
    }
}

impl Audit {
    pub(crate) fn open(seals: &SealContext, clock: Arc<dyn Clock>) -> Result<Self, StoreError> {
        let key_name = seals.key("audit");
        let audit = Self {
            ledger: Arc::clone(&seals.ledger),
            secrets: Arc::clone(&seals.secrets),
            checkpoint_writer: CheckpointWriter::start(Arc::clone(&seals.secrets), key_name.clone())?,
            key_name,
            clock,
            state: Mutex::new(AuditState::default()),
        };
        audit.ledger.lock().execute(
            "INSERT OR IGNORE INTO audit_head (id, base_seq, base_hash, seq, hash, mac) VALUES (1, 0, ?1, 0, ?1, NULL)",
            [&[0_u8; 32][..]],
        )?;
        Ok(audit)
    }

    /// Appends an entry. It is on the disk when this returns.
    ///
    /// # Errors
    /// When the disk refuses; then nothing was appended, and the action that the entry records must not take
    /// effect.
    pub fn append(&self, event: AuditEvent) -> Result<AuditEntry, StoreError> {
        let text = serde_json::to_string(&event)?;
        let mut state = self.state.lock();
        let key = match self.key(&mut state) {
            Ok(key) => Some(key),
            Err(error) => {
                tracing::warn!(%error, "an audit entry is written without a seal");
                None
            }
        };
        let mut ledger = self.ledger.lock();
        let transaction = ledger.transaction()?;
        let mut head = read_head(&transaction)?;
        let follows = match (&state.last, &key) {
            (Some(last), _) => *last == (head.seq, head.hash),
            (None, Some(key)) => state.is_ours(&head, key),
            (None, None) => true,
        };
        let first_missing = state.first_missing(&transaction, &head)?;
        let known = [state.last, state.checkpoint.reached].into_iter().flatten().map(|(seq, _)| seq).max();
        let top = last_seq(&transaction)?.max(head.seq).max(known.unwrap_or(0));
        let follows = follows && top == head.seq && first_missing.is_none();
        if !follows {
            tracing::error!("the audit was changed from outside; the next entry leaves a gap");
        }
        if let Some(key) = &key {
            seal_pending(&transaction, &state, key)?;
        }
        let before = head.clone();
        let (seq, at) = (top + if follows { 1 } else { 2 }, self.clock.now());
        let hash = chain::chain_hash(&head.hash, seq, at.0, &text);
        head.seq = seq;
        head.hash = hash;
        head.mac = key.as_ref().map(|key| head.compute_mac(key));
        let mac = key.as_ref().map(|key| entry_mac(key, &hash));
        transaction
            .prepare_cached("INSERT INTO audit (seq, at, event, hash, mac) VALUES (?1, ?2, ?3, ?4, ?5)")?
            .execute(params![integer(seq), at.0, text, &hash[..], mac.as_ref().map(|mac| &mac[..])])?;
        write_head(&transaction, &head)?;
        transaction.commit()?;
        drop(ledger);
        let is_first = state.last.replace((seq, hash)).is_none();
        let is_due = is_first || first_missing.is_some() || matches!(event, AuditEvent::Lifecycle { .. });
        match key {
            Some(key) => {
                state.unsealed = None;
                if is_due || state.checkpoint.is_due(seq) || self.checkpoint_writer.has_failed() {
                    let first_missing = state.checkpoint.first_missing.or(first_missing);
                    self.save_checkpoint(
                        &mut state,
                        &key,
                        AuditCheckpoint { reached: Some((seq, hash)), first_missing },
                    );
                }
            }
            None => {
                state.unsealed.get_or_insert(UnsealedEntries { from: seq, before });
            }
        }
        Ok(AuditEntry { seq, at, event, hash: hex::encode(hash) })
    }

    /// The first entry that was found to be cut off, until this is acknowledged.
    pub fn first_missing(&self) -> Option<u64> {
        self.state.lock().checkpoint.first_missing
    }

    /// Acknowledges the loss reported by [`Audit::first_missing`]. The gap stays in the chain, and [`Audit::verify`]
    /// keeps reporting it. Blocks on the secret store, but without blocking other uses of the audit.
    ///
    /// # Errors
    /// When the secret store refuses or doesn't answer in time. The loss is then reported again.
    pub fn acknowledge(&self) -> Result<(), StoreError> {
        let (told, answer) = sync_channel(1);
        let first_missing = {
            let mut state = self.state.lock();
            let key = self.key(&mut state)?;
            let first_missing = state.checkpoint.first_missing.take();
            self.checkpoint_writer
                .submit(Secret::new(checkpoint::to_text(&key, &state.checkpoint)), Some(told));
            first_missing
        };
        let kept = match answer.recv_timeout(ACKNOWLEDGE_TIMEOUT) {
            Ok(kept) => kept,
            Err(_) => Err(SecretError::unavailable(message!("error.store.keychainSilent"))),
        };
        let Err(error) = kept else { return Ok(()) };
        let mut state = self.state.lock();
        let key = self.key(&mut state)?;
        let checkpoint = AuditCheckpoint {
            first_missing: state.checkpoint.first_missing.or(first_missing),
            ..state.checkpoint.clone()
        };
        self.save_checkpoint(&mut state, &key, checkpoint);
        Err(error.into())
    }

    /// Queues the mark for writing, without waiting. If writing fails, the older mark stays, which remains
    /// correct.
    fn save_checkpoint(&self, state: &mut AuditState, key: &AuditKey, checkpoint: AuditCheckpoint) {
        self.checkpoint_writer.submit(Secret::new(checkpoint::to_text(key, &checkpoint)), None);
        state.checkpoint = checkpoint;
    }

    /// Waits until the mark is written, but only for a short time, since the secret store may not answer.
    /// Blocks.
    pub(crate) fn flush(&self) {
        self.checkpoint_writer.flush();
    }

    /// Up to `limit` entries after the given one, oldest first.
    pub fn list(&self, after: Option<u64>, limit: u32) -> Result<Vec<AuditEntry>, StoreError> {
        let mut entries = Vec::new();
        for_each_entry(&self.ledger.lock(), after.unwrap_or(0), Some(limit), |stored| {
            entries.push(stored.into_entry()?);
            Ok(true)
        })?;
        Ok(entries)
    }

    /// Up to `limit` entries before the given one (or before the end), newest first.
    pub fn latest(&self, before: Option<u64>, limit: u32) -> Result<Vec<AuditEntry>, StoreError> {
        let stored = read_newest_first(&self.ledger.lock(), before, limit)?;
        stored.into_iter().map(chain::StoredEntry::into_entry).collect()
    }

    /// The MAC key of the chain. Generated if there is none.
    fn key(&self, state: &mut AuditState) -> Result<AuditKey, StoreError> {
        if let Some(key) = &state.key {
            return Ok(key.clone());
        }
        let key = if let Some(text) = self.secrets.get(&self.key_name)? {
            let (key, checkpoint) = checkpoint::from_text(text.reveal())?;
            state.checkpoint = checkpoint;
            key
        } else {
            let bytes = Zeroizing::new(random_bytes()?);
            {
                let mut ledger = self.ledger.lock();
                let transaction = ledger.transaction()?;
                let mut head = read_head(&transaction)?;
                if head.seq == 0 {
                    // An empty chain has a sealed head too, so that a chain that was emptied is detected.
                    head.mac = Some(head.compute_mac(&bytes));
                    write_head(&transaction, &head)?;
                } else if self.secrets.kind() == SecretStoreKind::Memory {
                    state.chain_only_to = head.seq;
                }
                transaction.commit()?;
            }
            // Store the key after the head: if a crash occurs in between, there is no key, and the next start
            // creates both.
            self.secrets.set(&self.key_name, &Secret::new(hex::encode(*bytes)))?;
            bytes
        };
        state.key = Some(key.clone());
        Ok(key)
    }
}

/// Adds MACs to the entries that this process wrote while the secret store was locked, if the chain before
/// them is ours and wasn't truncated.
fn seal_pending(transaction: &Transaction<'_>, state: &AuditState, key: &AuditKey) -> Result<(), StoreError> {
    let Some(unsealed) = &state.unsealed else { return Ok(()) };
    let before = &unsealed.before;
    let was_cut = match state.checkpoint.reached {
        Some(point) => find_missing(transaction, before, point)?.is_some(),
        None => false,
    };
    if !was_cut && (before.seq == 0 || state.is_ours(before, key)) {
        seal_entries_from(transaction, key, unsealed.from)?;
    }
    Ok(())
}
