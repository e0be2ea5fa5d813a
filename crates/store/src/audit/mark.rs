//! The mark: how far the audit has come, stored with its key in the secret store.
//!
//! The head in the database is sealed, but so is an old copy of it. Therefore the secret store contains
//! number and hash of a recent entry. The mark is written after the entry itself, at start, at stop and every
//! [`EVERY`] entries, in the background (`keeper.rs`): it may lag behind the chain but is never ahead of it.
//! If a chain lacks the marked entry, it was truncated. While the secret store doesn't answer, the mark lags
//! further behind.

use rusqlite::{Connection, OptionalExtension};
use zeroize::Zeroizing;

use super::Key;
use super::chain::{Head, digest, integer};
use crate::error::{SecretError, StoreError};

/// Number of entries after which the mark is written again.
pub(super) const EVERY: u64 = 8;

/// Sequence number and hash of an entry.
pub(super) type Point = (u64, [u8; 32]);

/// What is stored with the key of the audit.
#[derive(Clone, Default)]
pub(super) struct Mark {
    /// An entry that was written; `None` if the folder was last used by an older version.
    pub(super) reached: Option<Point>,
    /// The first entry that was found to be cut off, until this is acknowledged.
    pub(super) lost: Option<u64>,
}

impl Mark {
    /// Whether the mark is so far behind this entry that it should be written.
    pub(super) fn is_due(&self, seq: u64) -> bool {
        self.reached.is_none_or(|(reached, _)| seq >= reached.saturating_add(EVERY))
    }
}

/// Encodes key and mark: `key`, or `key:number:hash:lost`, where `lost` is 0 for none.
pub(super) fn to_text(key: &Key, mark: &Mark) -> String {
    match mark.reached {
        None => hex::encode(**key),
        Some((seq, hash)) => {
            format!("{}:{seq}:{}:{}", hex::encode(**key), hex::encode(hash), mark.lost.unwrap_or(0))
        }
    }
}

/// Parses [`to_text`]. Older versions stored the key alone.
pub(super) fn from_text(text: &str) -> Result<(Key, Mark), SecretError> {
    let damaged = || SecretError::Damaged { reason: "the key of the audit is not one".to_owned() };
    let mut parts = text.split(':');
    let mut key: Key = Zeroizing::new([0; 32]);
    hex::decode_to_slice(parts.next().unwrap_or_default(), &mut *key).map_err(|_| damaged())?;
    let mark = match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (None, ..) => Mark::default(),
        (Some(seq), Some(hash), Some(lost), None) => {
            let mut bytes = [0; 32];
            hex::decode_to_slice(hash, &mut bytes).map_err(|_| damaged())?;
            let lost: u64 = lost.parse().map_err(|_| damaged())?;
            let seq = seq.parse().map_err(|_| damaged())?;
            Mark { reached: Some((seq, bytes)), lost: (lost > 0).then_some(lost) }
        }
        _ => return Err(damaged()),
    };
    Ok((key, mark))
}

/// The first entry that is missing from a chain that once contained `point`; `None` if none is. Entries
/// deleted by retention don't count as missing.
pub(super) fn missing(ledger: &Connection, head: &Head, point: Point) -> Result<Option<u64>, StoreError> {
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
    fn the_item_is_read_as_it_was_written_and_as_older_versions_wrote_it() {
        let key: Key = Zeroizing::new([7; 32]);
        for (reached, lost) in [(None, None), (Some((9, [1; 32])), None), (Some((9, [1; 32])), Some(4))] {
            let (read, mark) = from_text(&to_text(&key, &Mark { reached, lost })).unwrap();
            assert_eq!((*read, mark.reached, mark.lost), ([7; 32], reached, lost));
        }
        let (_, old) = from_text(&hex::encode([7_u8; 32])).unwrap();
        assert_eq!((old.reached, old.lost), (None, None));
        let zeros = "0".repeat(64);
        for broken in
            ["", "7", &format!("{zeros}:"), &format!("{zeros}:1:2:0"), &format!("{zeros}:x:{zeros}:0")]
        {
            assert!(from_text(broken).is_err(), "{broken}");
        }
    }
}
