//! What must never be lost: decisions, grants, revocations, sign-ins, changes (PERM-14).
//!
//! Entries are only ever appended, each in one synced transaction with the head of the chain. Each
//! entry hashes the one before it and carries a MAC over its hash; the head carries a MAC over the
//! first and the last of the chain, so that a cut tail is noticed too. A chain whose head is not
//! ours is not mended by the next entry: that one leaves a number out, and the gap stays.
//!
//! While the secret store is locked, entries are written without a MAC; those that this process
//! wrote get theirs once it is unlocked, all others stay broken for good. A cut tail with an old
//! copy of its sealed head is told by the mark beside the key (`mark.rs`), which is written beside
//! the entries (`keeper.rs`).

use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use gatehouse_model::{AuditEntry, AuditEvent, Clock, Secret};
use parking_lot::Mutex;
use rusqlite::{Connection, Transaction, params};
use zeroize::Zeroizing;

use crate::error::{SecretError, StoreError};
use crate::sealed::SealPlace;
use crate::secrets::{SecretKey, SecretKind, SecretStore};
use crate::store::random;

mod chain;
mod check;
mod export;
mod keeper;
mod mark;

use chain::{Head, each, entry_mac, integer, last_seq, newest_first, read_head, seal_own, write_head};
use keeper::Keeper;
use mark::{Mark, Point, missing};

pub use export::AuditFormat;

/// How long an acknowledgement waits for the secret store, which may ask the user to unlock it.
const ACKNOWLEDGE: Duration = Duration::from_secs(30);

/// The audit chain. All calls block on the disk; those before its key was read also on the secret
/// store.
pub struct Audit {
    ledger: Arc<Mutex<Connection>>,
    secrets: Arc<dyn SecretStore>,
    key_name: SecretKey,
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
    keeper: Keeper,
}

type Key = Zeroizing<[u8; 32]>;

#[derive(Default)]
struct State {
    key: Option<Key>,
    /// What is kept with the key, or about to be.
    mark: Mark,
    /// The last entry, as this process wrote it.
    last: Option<Point>,
    /// What this process wrote without a MAC, if it did.
    unsealed: Option<Unsealed>,
    /// Entries up to here were sealed by a key that died with its process (memory store); only
    /// their chain can be checked.
    chain_only_to: u64,
}

struct Unsealed {
    from: u64,
    /// The head that they were appended to, whose seal could not be checked then.
    before: Head,
}

impl State {
    /// Whether entries may follow this head as if nothing had happened.
    fn is_ours(&self, head: &Head, key: &Key) -> bool {
        let died_with_its_process = self.chain_only_to > 0 && head.seq <= self.chain_only_to;
        died_with_its_process || head.is_sealed(key)
    }

    /// First entry that this chain once had and has no more, as far as is known here.
    fn lost(&self, ledger: &Connection, head: &Head) -> Result<Option<u64>, StoreError> {
        for point in [self.last, self.mark.reached].into_iter().flatten() {
            if let Some(seq) = missing(ledger, head, point)? {
                return Ok(Some(seq));
            }
        }
        Ok(None)
    }
}

impl Audit {
    pub(crate) fn open(place: &SealPlace, clock: Arc<dyn Clock>) -> Result<Self, StoreError> {
        let key_name = place.key("audit");
        let audit = Self {
            ledger: Arc::clone(&place.ledger),
            secrets: Arc::clone(&place.secrets),
            keeper: Keeper::start(Arc::clone(&place.secrets), key_name.clone())?,
            key_name,
            clock,
            state: Mutex::new(State::default()),
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
    /// When the disk refuses; then nothing was appended, and what the entry is about must not
    /// take effect.
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
        let lost = state.lost(&transaction, &head)?;
        let known = [state.last, state.mark.reached].into_iter().flatten().map(|(seq, _)| seq).max();
        let top = last_seq(&transaction)?.max(head.seq).max(known.unwrap_or(0));
        let follows = follows && top == head.seq && lost.is_none();
        if !follows {
            tracing::error!("the audit was changed from outside; the next entry leaves a gap");
        }
        if let Some(key) = &key {
            seal_waiting(&transaction, &state, key)?;
        }
        let before = head.clone();
        let (seq, at) = (top + if follows { 1 } else { 2 }, self.clock.now());
        let hash = chain::chain(&head.hash, seq, at.0, &text);
        head.seq = seq;
        head.hash = hash;
        head.mac = key.as_ref().map(|key| head.sealed(key));
        let mac = key.as_ref().map(|key| entry_mac(key, &hash));
        transaction
            .prepare_cached("INSERT INTO audit (seq, at, event, hash, mac) VALUES (?1, ?2, ?3, ?4, ?5)")?
            .execute(params![integer(seq), at.0, text, &hash[..], mac.as_ref().map(|mac| &mac[..])])?;
        write_head(&transaction, &head)?;
        transaction.commit()?;
        drop(ledger);
        let is_first = state.last.replace((seq, hash)).is_none();
        let is_due = is_first || lost.is_some() || matches!(event, AuditEvent::Lifecycle { .. });
        match key {
            Some(key) => {
                state.unsealed = None;
                if is_due || state.mark.is_due(seq) || self.keeper.has_failed() {
                    let lost = state.mark.lost.or(lost);
                    self.keep_mark(&mut state, &key, Mark { reached: Some((seq, hash)), lost });
                }
            }
            None => {
                state.unsealed.get_or_insert(Unsealed { from: seq, before });
            }
        }
        Ok(AuditEntry { seq, at, event, hash: hex::encode(hash) })
    }

    /// First entry that was found to be cut off, until that is acknowledged.
    pub fn lost(&self) -> Option<u64> {
        self.state.lock().mark.lost
    }

    /// Ceases to report what [`Audit::lost`] says. The gap stays in the chain, and
    /// [`Audit::verify`] goes on naming it. Blocks on the secret store, but nothing else of the audit
    /// waits for it meanwhile.
    ///
    /// # Errors
    /// When the secret store refuses or does not answer.
    pub fn acknowledge(&self) -> Result<(), StoreError> {
        let (told, answer) = sync_channel(1);
        let lost = {
            let mut state = self.state.lock();
            let key = self.key(&mut state)?;
            let lost = state.mark.lost.take();
            self.keeper.put(Secret::new(mark::to_text(&key, &state.mark)), Some(told));
            lost
        };
        let kept = match answer.recv_timeout(ACKNOWLEDGE) {
            Ok(kept) => kept,
            Err(_) => Err(SecretError::Unavailable { reason: "it does not answer".to_owned() }),
        };
        let Err(error) = kept else { return Ok(()) };
        let mut state = self.state.lock();
        let key = self.key(&mut state)?;
        let mark = Mark { lost: state.mark.lost.or(lost), ..state.mark.clone() };
        self.keep_mark(&mut state, &key, mark);
        Err(error.into())
    }

    /// Has it kept how far the audit has come, without waiting for it. A failure leaves the older mark,
    /// which still holds.
    fn keep_mark(&self, state: &mut State, key: &Key, mark: Mark) {
        self.keeper.put(Secret::new(mark::to_text(key, &mark)), None);
        state.mark = mark;
    }

    /// Waits until how far the audit has come is kept, but only a short time: the secret store may not
    /// answer. Blocks.
    pub(crate) fn flush(&self) {
        self.keeper.flush();
    }

    /// Entries in their order, after the given one, at most so many.
    ///
    /// # Errors
    /// When the database refuses or an entry is not one.
    pub fn list(&self, after: Option<u64>, limit: u32) -> Result<Vec<AuditEntry>, StoreError> {
        let mut entries = Vec::new();
        each(&self.ledger.lock(), after.unwrap_or(0), Some(limit), |stored| {
            entries.push(stored.entry()?);
            Ok(true)
        })?;
        Ok(entries)
    }

    /// Entries before the given one (or before the end), newest first, at most so many.
    ///
    /// # Errors
    /// When the database refuses or an entry cannot be parsed.
    pub fn latest(&self, before: Option<u64>, limit: u32) -> Result<Vec<AuditEntry>, StoreError> {
        let stored = newest_first(&self.ledger.lock(), before, limit)?;
        stored.into_iter().map(chain::Stored::entry).collect()
    }

    /// The key of the chain, made when there is none.
    fn key(&self, state: &mut State) -> Result<Key, StoreError> {
        if let Some(key) = &state.key {
            return Ok(key.clone());
        }
        let key = if let Some(text) = self.secrets.get(&self.key_name)? {
            let (key, mark) = mark::from_text(text.reveal())?;
            state.mark = mark;
            key
        } else {
            let bytes = Zeroizing::new(random()?);
            {
                let mut ledger = self.ledger.lock();
                let transaction = ledger.transaction()?;
                let mut head = read_head(&transaction)?;
                if head.seq == 0 {
                    // An empty audit carries a seal as well: one that was emptied does not.
                    head.mac = Some(head.sealed(&bytes));
                    write_head(&transaction, &head)?;
                } else if self.secrets.kind() == SecretKind::Memory {
                    state.chain_only_to = head.seq;
                }
                transaction.commit()?;
            }
            // After the head: a crash in between leaves no key, and the next start makes both anew.
            self.secrets.set(&self.key_name, &Secret::new(hex::encode(*bytes)))?;
            bytes
        };
        state.key = Some(key.clone());
        Ok(key)
    }
}

/// Gives what this process wrote while the secret store was locked its seals, if it followed a
/// chain that was ours.
fn seal_waiting(transaction: &Transaction<'_>, state: &State, key: &Key) -> Result<(), StoreError> {
    let Some(unsealed) = &state.unsealed else { return Ok(()) };
    let before = &unsealed.before;
    let was_cut = match state.mark.reached {
        Some(point) => missing(transaction, before, point)?.is_some(),
        None => false,
    };
    if !was_cut && (before.seq == 0 || state.is_ours(before, key)) {
        seal_own(transaction, key, unsealed.from)?;
    }
    Ok(())
}
