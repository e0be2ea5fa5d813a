//! The chain in the database: entries, head, hashes and MACs.

use gatehouse_model::{AuditEntry, Timestamp};
use hmac::Mac;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Transaction, params};
use sha2::{Digest, Sha256};

use crate::error::StoreError;
use crate::sealed::context::hmac_with_key;

/// The head: first and last entry of the chain.
#[derive(Clone)]
pub(super) struct ChainHead {
    pub(super) base_seq: u64,
    pub(super) base_hash: [u8; 32],
    pub(super) seq: u64,
    pub(super) hash: [u8; 32],
    pub(super) mac: Option<Vec<u8>>,
}

impl ChainHead {
    pub(super) const EMPTY: Self = Self { base_seq: 0, base_hash: [0; 32], seq: 0, hash: [0; 32], mac: None };

    fn seal(&self, key: &[u8; 32]) -> hmac::Hmac<Sha256> {
        let mut mac = hmac_with_key(key);
        mac.update(b"gatehouse audit head 1");
        mac.update(&self.base_seq.to_be_bytes());
        mac.update(&self.base_hash);
        mac.update(&self.seq.to_be_bytes());
        mac.update(&self.hash);
        mac
    }

    pub(super) fn is_sealed(&self, key: &[u8; 32]) -> bool {
        self.mac.as_ref().is_some_and(|mac| self.seal(key).verify_slice(mac).is_ok())
    }

    pub(super) fn compute_mac(&self, key: &[u8; 32]) -> Vec<u8> {
        self.seal(key).finalize().into_bytes().to_vec()
    }
}

pub(super) struct StoredEntry {
    pub(super) seq: u64,
    pub(super) at: i64,
    pub(super) event: String,
    pub(super) hash: Vec<u8>,
    pub(super) mac: Option<Vec<u8>>,
}

impl StoredEntry {
    pub(super) fn from_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<Self> {
        // A value of another type wasn't written by us. It is read as empty, so its hash won't match.
        let bytes = |column| {
            row.get_ref(column).map(|value| value.as_bytes().map(<[u8]>::to_vec).unwrap_or_default())
        };
        let is_sealed = row.get_ref(4)? != ValueRef::Null;
        Ok(Self {
            seq: number(row, 0)?,
            at: row.get_ref(1)?.as_i64().unwrap_or_default(),
            event: String::from_utf8(bytes(2)?).unwrap_or_default(),
            hash: bytes(3)?,
            mac: if is_sealed { Some(bytes(4)?) } else { None },
        })
    }

    pub(super) fn into_entry(self) -> Result<AuditEntry, StoreError> {
        Ok(AuditEntry {
            seq: self.seq,
            at: Timestamp(self.at),
            event: serde_json::from_str(&self.event)?,
            hash: hex::encode(self.hash),
        })
    }
}

const COLUMNS: &str = "seq, at, event, hash, mac";

const ENTRY_LABEL: &[u8] = b"gatehouse audit entry 1";

pub(super) fn entry_mac(key: &[u8; 32], hash: &[u8; 32]) -> [u8; 32] {
    hmac_with_key(key).chain_update(ENTRY_LABEL).chain_update(hash).finalize().into_bytes().into()
}

/// Whether `mac` is the MAC of an entry with this hash.
pub(super) fn is_entry_sealed(key: &[u8; 32], hash: &[u8; 32], mac: &[u8]) -> bool {
    hmac_with_key(key).chain_update(ENTRY_LABEL).chain_update(hash).verify_slice(mac).is_ok()
}

/// Hash of an entry: over the previous hash, its sequence number, its time and its text.
pub(super) fn chain_hash(before: &[u8; 32], seq: u64, at: i64, event: &str) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(b"gatehouse audit 1");
    hash.update(before);
    hash.update(seq.to_be_bytes());
    hash.update(at.to_be_bytes());
    hash.update(event.as_bytes());
    hash.finalize().into()
}

/// Passes stored entries in order to a callback until it returns `false`.
pub(super) fn for_each_entry(
    ledger: &Connection,
    after: u64,
    limit: Option<u32>,
    mut take: impl FnMut(StoredEntry) -> Result<bool, StoreError>,
) -> Result<(), StoreError> {
    let mut query = ledger
        .prepare_cached(&format!("SELECT {COLUMNS} FROM audit WHERE seq > ?1 ORDER BY seq LIMIT ?2"))?;
    let mut rows = query.query(params![integer(after), limit.map_or(-1, i64::from)])?;
    while let Some(row) = rows.next()? {
        if !take(StoredEntry::from_row(row)?)? {
            break;
        }
    }
    Ok(())
}

/// Stored entries before the given one (or before the end), newest first.
pub(super) fn read_newest_first(
    ledger: &Connection,
    before: Option<u64>,
    limit: u32,
) -> Result<Vec<StoredEntry>, StoreError> {
    let mut query = ledger
        .prepare_cached(&format!("SELECT {COLUMNS} FROM audit WHERE seq < ?1 ORDER BY seq DESC LIMIT ?2"))?;
    let rows = query
        .query_map(params![before.map_or(i64::MAX, integer), i64::from(limit)], StoredEntry::from_row)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Adds MACs to the entries of this process that have none.
pub(super) fn seal_entries_from(
    transaction: &Transaction<'_>,
    key: &[u8; 32],
    from: u64,
) -> Result<(), StoreError> {
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

pub(super) fn read_head(ledger: &Connection) -> Result<ChainHead, StoreError> {
    let head = ledger
        .query_row("SELECT base_seq, base_hash, seq, hash, mac FROM audit_head WHERE id = 1", [], |row| {
            let hashes: (Vec<u8>, Vec<u8>) = (row.get(1)?, row.get(3)?);
            Ok((number(row, 0)?, hashes, number(row, 2)?, row.get(4)?))
        })
        .optional()?;
    let Some((base_seq, (base_hash, hash), seq, mac)) = head else { return Ok(ChainHead::EMPTY) };
    Ok(ChainHead { base_seq, base_hash: digest(&base_hash)?, seq, hash: digest(&hash)?, mac })
}

/// The highest sequence number of all entries, whatever the head says.
pub(super) fn last_seq(ledger: &Connection) -> Result<u64, StoreError> {
    Ok(ledger.query_row("SELECT COALESCE(MAX(seq), 0) FROM audit", [], |row| number(row, 0))?)
}

pub(super) fn write_head(transaction: &Transaction<'_>, head: &ChainHead) -> Result<(), StoreError> {
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

pub(super) fn digest(bytes: &[u8]) -> Result<[u8; 32], StoreError> {
    bytes.try_into().map_err(|_| StoreError::Database(rusqlite::Error::InvalidQuery))
}

pub(super) fn integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) fn number(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<u64> {
    Ok(u64::try_from(row.get::<_, i64>(column)?).unwrap_or(0))
}
