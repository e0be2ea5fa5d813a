//! The mark: how far the audit has come, stored with its key in the secret store.
//!
//! The head in the database is sealed, but so is an old copy of it. Therefore the secret store contains
//! number and hash of a recent entry. The mark is written after the entry itself, at start, at stop and every
//! [`CHECKPOINT_INTERVAL`] entries, in the background (`checkpoint_writer.rs`): it may lag behind the chain but is never ahead of it.
//! If a chain lacks the marked entry, it was truncated. While the secret store doesn't answer, the mark lags
//! further behind.

use gatehouse_model::message;
use rusqlite::{Connection, OptionalExtension};
use zeroize::Zeroizing;

use super::AuditKey;
use super::chain::{ChainHead, digest, integer};
use crate::error::{SecretError, StoreError};

/// Number of entries after which the mark is written again.
pub(super) const CHECKPOINT_INTERVAL: u64 = 8;

/// Sequence number and hash of an entry.
pub(super) type ChainPosition = (u64, [u8; 32]);

/// What is stored with the key of the audit.
#[derive(Clone, Default)]
pub(super) struct AuditCheckpoint {
    /// An entry that was written; `None` if the folder was last used by an older version.
    pub(super) reached: Option<ChainPosition>,
    /// The first entry that was found to be cut off, until this is acknowledged.
    pub(super) first_missing: Option<u64>,
}

impl AuditCheckpoint {
    /// Whether the mark is so far behind this entry that it should be written.
    pub(super) fn is_due(&self, seq: u64) -> bool {
        self.reached.is_none_or(|(reached, _)| seq >= reached.saturating_add(CHECKPOINT_INTERVAL))
    }
}

/// Encodes key and mark: `key`, or `key:number:hash:first_missing`, where `first_missing` is 0 for none.
pub(super) fn to_text(key: &AuditKey, checkpoint: &AuditCheckpoint) -> String {
    match checkpoint.reached {
        None => hex::encode(**key),
        Some((seq, hash)) => {
            format!(
                "{}:{seq}:{}:{}",
                hex::encode(**key),
                hex::encode(hash),
                checkpoint.first_missing.unwrap_or(0)
            )
        }
    }
}

/// Parses [`to_text`]. Older versions stored the key alone.
pub(super) fn from_text(text: &str) -> Result<(AuditKey, AuditCheckpoint), SecretError> {
    let damaged = || SecretError::damaged(message!("error.store.storedKeyBroken"));
    let mut parts = text.split(':');
    let mut key: AuditKey = Zeroizing::new([0; 32]);
    hex::decode_to_slice(parts.next().unwrap_or_default(), &mut *key).map_err(|_| damaged())?;
    let checkpoint = match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (None, ..) => AuditCheckpoint::default(),
        (Some(seq), Some(hash), Some(first_missing), None) => {
            let mut bytes = [0; 32];
            hex::decode_to_slice(hash, &mut bytes).map_err(|_| damaged())?;
            let first_missing: u64 = first_missing.parse().map_err(|_| damaged())?;
            let seq = seq.parse().map_err(|_| damaged())?;
            AuditCheckpoint {
                reached: Some((seq, bytes)),
                first_missing: (first_missing > 0).then_some(first_missing),
            }
        }
        _ => return Err(damaged()),
    };
    Ok((key, checkpoint))
}

/// The first entry that is missing from a chain that once contained `point`; `None` if none is. Entries
/// deleted by retention don't count as missing.
pub(super) fn find_missing(
    ledger: &Connection,
    head: &ChainHead,
    point: ChainPosition,
) -> Result<Option<u64>, StoreError> {
    let (seq, hash) = point;
    if seq > head.seq {
        return Ok(Some(head.seq + 1));
    }
    let found = if seq == head.seq {
        Some(head.hash)
    } else if seq < head.base_seq {
        return Ok(None);
    } else if seq == head.base_seq {
        Some(head.base_hash)
    } else {
        let stored: Option<Vec<u8>> = ledger
            .prepare_cached("SELECT hash FROM audit WHERE seq = ?1")?
            .query_row([integer(seq)], |row| Ok(row.get_ref(0)?.as_bytes().unwrap_or_default().to_vec()))
            .optional()?;
        stored.and_then(|bytes| digest(&bytes).ok())
    };
    Ok((found != Some(hash)).then_some(seq))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkpoint_round_trips_and_reads_older_format() {
        let key: AuditKey = Zeroizing::new([7; 32]);
        for (reached, first_missing) in
            [(None, None), (Some((9, [1; 32])), None), (Some((9, [1; 32])), Some(4))]
        {
            let (read, checkpoint) =
                from_text(&to_text(&key, &AuditCheckpoint { reached, first_missing })).unwrap();
            assert_eq!(
                (*read, checkpoint.reached, checkpoint.first_missing),
                ([7; 32], reached, first_missing)
            );
        }
        let (_, old) = from_text(&hex::encode([7_u8; 32])).unwrap();
        assert_eq!((old.reached, old.first_missing), (None, None));
        let zeros = "0".repeat(64);
        for broken in
            ["", "7", &format!("{zeros}:"), &format!("{zeros}:1:2:0"), &format!("{zeros}:x:{zeros}:0")]
        {
            assert!(from_text(broken).is_err(), "{broken}");
        }
    }
}
