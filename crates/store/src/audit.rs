//! What must never be lost: decisions, grants, revocations, sign-ins, changes (PERM-14).
//!
//! Entries are only ever appended, each in one synced transaction with the head of the chain. Each
//! entry hashes the one before it and carries a MAC over its hash; the head carries a MAC over the
//! first and the last of the chain, so that a cut tail is noticed too. A chain whose head is not
//! ours is not mended by the next entry: that one leaves a number out, and the gap stays.
//!
//! While the secret store is locked, entries are written without a MAC; those that this process
//! wrote get theirs once it is unlocked, all others stay broken for good. What this cannot tell:
//! an old copy of the whole ledger; the counter of the sealed rights tells it as soon as they
//! were saved since.

use std::sync::Arc;

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

use chain::{Head, each, entry_mac, integer, last_seq, read_head, seal_own, write_head};

pub use export::AuditFormat;

/// The audit chain. All calls block on the disk; the first one also on the secret store.
pub struct Audit {
    ledger: Arc<Mutex<Connection>>,
    secrets: Arc<dyn SecretStore>,
    key_name: SecretKey,
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
}

type Key = Zeroizing<[u8; 32]>;

#[derive(Default)]
struct State {
    key: Option<Key>,
    /// Number and hash of the last entry, as this process wrote it.
    last: Option<(u64, [u8; 32])>,
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
}

impl Audit {
    pub(crate) fn open(place: &SealPlace, clock: Arc<dyn Clock>) -> Result<Self, StoreError> {
        let audit = Self {
            ledger: Arc::clone(&place.ledger),
            secrets: Arc::clone(&place.secrets),
            key_name: place.key("audit"),
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
        let top = last_seq(&transaction)?.max(head.seq);
        let follows = follows && top == head.seq;
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
        state.last = Some((seq, hash));
        match key {
            Some(_) => state.unsealed = None,
            None => {
                state.unsealed.get_or_insert(Unsealed { from: seq, before });
            }
        }
        Ok(AuditEntry { seq, at, event, hash: hex::encode(hash) })
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

    /// The key of the chain, made when there is none.
    fn key(&self, state: &mut State) -> Result<Key, StoreError> {
        if let Some(key) = &state.key {
            return Ok(key.clone());
        }
        let key = if let Some(text) = self.secrets.get(&self.key_name)? {
            let mut bytes = Zeroizing::new([0; 32]);
            hex::decode_to_slice(text.reveal(), &mut *bytes)
                .map_err(|_| SecretError::Damaged { reason: "the key of the audit is not one".to_owned() })?;
            bytes
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
    match &state.unsealed {
        Some(unsealed) if unsealed.before.seq == 0 || state.is_ours(&unsealed.before, key) => {
            seal_own(transaction, key, unsealed.from)
        }
        Some(_) | None => Ok(()),
    }
}
