//! What must never be lost: decisions, grants, revocations, sign-ins, changes (PERM-14).
//!
//! Entries are only ever appended, each in one synced transaction with the head of the chain. Each
//! entry hashes the one before it and carries a MAC over its hash; the head carries a MAC over the
//! first and the last of the chain, so that a cut tail is noticed too. While the secret store is
//! locked, entries are written without a MAC; those that this process wrote get theirs with the
//! next entry after it was unlocked, all others stay broken for good.

use std::sync::Arc;

use gatehouse_model::record::AuditVerdict;
use gatehouse_model::{AuditEntry, AuditEvent, Clock, Secret, Timestamp};
use hmac::Mac;
use parking_lot::Mutex;
use rusqlite::{Connection, OptionalExtension, Transaction, params};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::error::{SecretError, StoreError};
use crate::sealed::{SealPlace, keyed};
use crate::secrets::{SecretKey, SecretKind, SecretStore};
use crate::store::random;

mod export;

pub use export::AuditFormat;

/// The audit chain. All calls block on the disk; the first one also on the secret store.
pub struct Audit {
    ledger: Arc<Mutex<Connection>>,
    secrets: Arc<dyn SecretStore>,
    key_name: SecretKey,
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    key: Option<Zeroizing<[u8; 32]>>,
    /// First entry that this process wrote without a MAC, if it did.
    unsealed_from: Option<u64>,
    /// Entries up to here were sealed by a key that died with its process (memory store); only
    /// their chain can be checked.
    chain_only_to: u64,
}

/// The ends of the chain.
#[derive(Clone)]
struct Head {
    base_seq: u64,
    base_hash: [u8; 32],
    seq: u64,
    hash: [u8; 32],
    mac: Option<Vec<u8>>,
}

impl Head {
    const EMPTY: Self = Self { base_seq: 0, base_hash: [0; 32], seq: 0, hash: [0; 32], mac: None };

    fn seal(&self, key: &[u8; 32]) -> hmac::Hmac<Sha256> {
        let mut mac = keyed(key);
        mac.update(b"gatehouse audit head 1");
        mac.update(&self.base_seq.to_be_bytes());
        mac.update(&self.base_hash);
        mac.update(&self.seq.to_be_bytes());
        mac.update(&self.hash);
        mac
    }
}

/// One entry as it is stored.
struct Stored {
    seq: u64,
    at: i64,
    event: String,
    hash: Vec<u8>,
    mac: Option<Vec<u8>>,
}

impl Stored {
    fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            seq: number(row, 0)?,
            at: row.get(1)?,
            event: row.get(2)?,
            hash: row.get(3)?,
            mac: row.get(4)?,
        })
    }

    fn entry(self) -> Result<AuditEntry, StoreError> {
        Ok(AuditEntry {
            seq: self.seq,
            at: Timestamp(self.at),
            event: serde_json::from_str(&self.event)?,
            hash: hex::encode(self.hash),
        })
    }
}

const COLUMNS: &str = "seq, at, event, hash, mac";

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
        let (seq, at) = (head.seq + 1, self.clock.now());
        let hash = chain(&head.hash, seq, at.0, &text);
        head.seq = seq;
        head.hash = hash;
        let mac = key.as_ref().map(|key| entry_mac(key, &hash));
        transaction
            .prepare_cached("INSERT INTO audit (seq, at, event, hash, mac) VALUES (?1, ?2, ?3, ?4, ?5)")?
            .execute(params![integer(seq), at.0, text, &hash[..], mac.as_ref().map(|mac| &mac[..])])?;
        if let (Some(key), Some(from)) = (&key, state.unsealed_from) {
            seal_own(&transaction, key, from)?;
        }
        head.mac = key.as_ref().map(|key| head.seal(key).finalize().into_bytes().to_vec());
        write_head(&transaction, &head)?;
        transaction.commit()?;
        state.unsealed_from = if key.is_some() { None } else { state.unsealed_from.or(Some(seq)) };
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

    /// Checks the whole chain and names the first entry that does not fit.
    ///
    /// # Errors
    /// When the database refuses, or the secret store, without which no seal can be checked.
    pub fn verify(&self) -> Result<AuditVerdict, StoreError> {
        let (key, chain_only_to) = {
            let mut state = self.state.lock();
            (self.key(&mut state)?, state.chain_only_to)
        };
        let ledger = self.ledger.lock();
        let head = read_head(&ledger)?;
        let mut last = (head.base_seq, head.base_hash);
        let mut broken = None;
        each(&ledger, 0, None, |stored| {
            let wanted = last.0 + 1;
            let hash = chain(&last.1, wanted, stored.at, &stored.event);
            let reason = if wanted > head.seq {
                Some("the entry comes after the head of the chain")
            } else if stored.seq != wanted {
                Some("the entry is missing")
            } else if stored.hash != hash {
                Some("the entry or its place in the chain was changed")
            } else if wanted <= chain_only_to {
                None
            } else {
                match &stored.mac {
                    None => Some(
                        "the entry carries no seal; it was written while the store for secrets was locked, or not by Gatehouse",
                    ),
                    Some(mac)
                        if keyed(&key)
                            .chain_update(ENTRY_LABEL)
                            .chain_update(hash)
                            .verify_slice(mac)
                            .is_err() =>
                    {
                        Some("the seal of the entry does not fit")
                    }
                    Some(_) => None,
                }
            };
            last = (wanted, hash);
            broken = reason.map(|reason| (wanted, reason));
            Ok(broken.is_none())
        })?;
        let sealed = head.mac.as_ref().is_some_and(|mac| head.seal(&key).verify_slice(mac).is_ok());
        let seal_is_due = head.seq > chain_only_to || head.base_seq > chain_only_to;
        let broken = broken.or_else(|| {
            if last.0 < head.seq {
                Some((last.0 + 1, "the entry is missing: the end of the audit was cut off"))
            } else if last.1 != head.hash {
                Some((head.seq.max(1), "the head of the chain names another entry"))
            } else if seal_is_due && !sealed {
                Some((head.seq.max(1), "the head of the chain does not carry our seal"))
            } else {
                None
            }
        });
        Ok(match broken {
            None => AuditVerdict::Whole { entries: head.seq - head.base_seq },
            Some((seq, reason)) => AuditVerdict::Broken { seq, reason: reason.to_owned() },
        })
    }

    /// Drops the entries from before a moment (retention). The chain goes on from the last one that
    /// was dropped. Answers how many went.
    ///
    /// # Errors
    /// When the database refuses, or the secret store: the new beginning needs a seal. A chain
    /// that is broken is left as it is.
    pub fn forget_before(&self, moment: Timestamp) -> Result<u64, StoreError> {
        if let AuditVerdict::Broken { .. } = self.verify()? {
            return Ok(0);
        }
        let mut state = self.state.lock();
        let key = self.key(&mut state)?;
        let mut ledger = self.ledger.lock();
        let transaction = ledger.transaction()?;
        let mut head = read_head(&transaction)?;
        let last: Option<(u64, Vec<u8>)> = transaction
            .query_row(
                "SELECT seq, hash FROM audit WHERE seq < COALESCE((SELECT MIN(seq) FROM audit WHERE at >= ?1), ?2)
                 ORDER BY seq DESC LIMIT 1",
                params![moment.0, integer(head.seq + 1)],
                |row| Ok((number(row, 0)?, row.get(1)?)),
            )
            .optional()?;
        let Some((seq, hash)) = last else { return Ok(0) };
        head.base_seq = seq;
        head.base_hash = digest(&hash)?;
        head.mac = Some(head.seal(&key).finalize().into_bytes().to_vec());
        write_head(&transaction, &head)?;
        let gone = transaction.execute("DELETE FROM audit WHERE seq <= ?1", [integer(seq)])?;
        transaction.commit()?;
        Ok(gone as u64)
    }

    /// The key of the chain, made when there is none.
    fn key(&self, state: &mut State) -> Result<Zeroizing<[u8; 32]>, StoreError> {
        if let Some(key) = &state.key {
            return Ok(key.clone());
        }
        let key = if let Some(text) = self.secrets.get(&self.key_name)? {
            let mut bytes = Zeroizing::new([0; 32]);
            hex::decode_to_slice(text.reveal(), &mut *bytes)
                .map_err(|_| SecretError::Damaged { reason: "the key of the audit is not one".to_owned() })?;
            bytes
        } else {
            let bytes: Zeroizing<[u8; 32]> = Zeroizing::new(random()?);
            self.secrets.set(&self.key_name, &Secret::new(hex::encode(*bytes)))?;
            if self.secrets.kind() == SecretKind::Memory {
                let ledger = self.ledger.lock();
                state.chain_only_to =
                    ledger.query_row("SELECT seq FROM audit_head", [], |row| number(row, 0))?;
            }
            bytes
        };
        state.key = Some(key.clone());
        Ok(key)
    }
}

const ENTRY_LABEL: &[u8] = b"gatehouse audit entry 1";

fn entry_mac(key: &[u8; 32], hash: &[u8; 32]) -> [u8; 32] {
    keyed(key).chain_update(ENTRY_LABEL).chain_update(hash).finalize().into_bytes().into()
}

/// Hash of an entry: the one before it, its number, its time and its text.
fn chain(before: &[u8; 32], seq: u64, at: i64, event: &str) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(b"gatehouse audit 1");
    hash.update(before);
    hash.update(seq.to_be_bytes());
    hash.update(at.to_be_bytes());
    hash.update(event.as_bytes());
    hash.finalize().into()
}

/// Hands out stored entries in their order until told to stop.
fn each(
    ledger: &Connection,
    after: u64,
    limit: Option<u32>,
    mut take: impl FnMut(Stored) -> Result<bool, StoreError>,
) -> Result<(), StoreError> {
    let mut query = ledger
        .prepare_cached(&format!("SELECT {COLUMNS} FROM audit WHERE seq > ?1 ORDER BY seq LIMIT ?2"))?;
    let mut rows = query.query(params![integer(after), limit.map_or(-1, i64::from)])?;
    while let Some(row) = rows.next()? {
        if !take(Stored::read(row)?)? {
            break;
        }
    }
    Ok(())
}

/// Gives the entries of this process that have no MAC theirs.
fn seal_own(transaction: &Transaction<'_>, key: &[u8; 32], from: u64) -> Result<(), StoreError> {
    let waiting: Vec<(u64, Vec<u8>)> = transaction
        .prepare_cached("SELECT seq, hash FROM audit WHERE seq >= ?1 AND mac IS NULL")?
        .query_map([integer(from)], |row| Ok((number(row, 0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    for (seq, hash) in waiting {
        let mac = entry_mac(key, &digest(&hash)?);
        transaction.execute("UPDATE audit SET mac = ?2 WHERE seq = ?1", params![integer(seq), &mac[..]])?;
    }
    Ok(())
}

fn read_head(ledger: &Connection) -> Result<Head, StoreError> {
    let head = ledger
        .query_row("SELECT base_seq, base_hash, seq, hash, mac FROM audit_head WHERE id = 1", [], |row| {
            let hashes: (Vec<u8>, Vec<u8>) = (row.get(1)?, row.get(3)?);
            Ok((number(row, 0)?, hashes, number(row, 2)?, row.get(4)?))
        })
        .optional()?;
    let Some((base_seq, (base_hash, hash), seq, mac)) = head else { return Ok(Head::EMPTY) };
    Ok(Head { base_seq, base_hash: digest(&base_hash)?, seq, hash: digest(&hash)?, mac })
}

fn write_head(transaction: &Transaction<'_>, head: &Head) -> Result<(), StoreError> {
    transaction
        .prepare_cached(
            "INSERT OR REPLACE INTO audit_head (id, base_seq, base_hash, seq, hash, mac) VALUES (1, ?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![
            integer(head.base_seq),
            &head.base_hash[..],
            integer(head.seq),
            &head.hash[..],
            head.mac
        ])?;
    Ok(())
}

fn digest(bytes: &[u8]) -> Result<[u8; 32], StoreError> {
    bytes.try_into().map_err(|_| StoreError::Database(rusqlite::Error::InvalidQuery))
}

fn integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn number(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<u64> {
    Ok(u64::try_from(row.get::<_, i64>(column)?).unwrap_or(0))
}
