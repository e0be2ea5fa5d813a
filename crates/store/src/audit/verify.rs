//! Verifies the chain, and deletes its oldest part (retention).

use gatehouse_model::record::AuditVerdict;
use gatehouse_model::{Message, Timestamp, message};
use rusqlite::{OptionalExtension, params};

use super::chain::{
    self, StoredEntry, digest, for_each_entry, integer, is_entry_sealed, number, read_head, write_head,
};
use super::{Audit, AuditCheckpoint, AuditKey, seal_pending};
use crate::error::StoreError;

impl Audit {
    /// Verifies the whole chain and reports the first invalid entry; `None` if it is cancelled before the end of the
    /// chain.
    ///
    /// # Errors
    /// When the database refuses, or the secret store, without which no MAC can be verified.
    pub fn verify(&self, is_cancelled: &dyn Fn() -> bool) -> Result<Option<AuditVerdict>, StoreError> {
        let mut state = self.state.lock();
        let key = self.key(&mut state)?;
        let mut ledger = self.ledger.lock();
        if state.unsealed.is_some() {
            let transaction = ledger.transaction()?;
            seal_pending(&transaction, &state, &key)?;
            let mut head = read_head(&transaction)?;
            if state.last == Some((head.seq, head.hash)) {
                head.mac = Some(head.compute_mac(&key));
                write_head(&transaction, &head)?;
            }
            transaction.commit()?;
            state.unsealed = None;
        }
        let chain_only_to = state.chain_only_to;
        let head = read_head(&ledger)?;
        let mut last = (head.base_seq, head.base_hash);
        let mut broken = None;
        let mut was_cancelled = false;
        for_each_entry(&ledger, 0, None, |stored| {
            if is_cancelled() {
                was_cancelled = true;
                return Ok(false);
            }
            let wanted = last.0 + 1;
            let hash = chain::chain_hash(&last.1, wanted, stored.at, &stored.event);
            let reason = if wanted > head.seq {
                Some(message!("audit.broken.afterHead"))
            } else if stored.seq != wanted {
                Some(message!("audit.broken.missing"))
            } else if stored.hash != hash {
                Some(message!("audit.broken.changed"))
            } else if wanted <= chain_only_to {
                None
            } else {
                seal_defect(&stored, &hash, &key)
            };
            last = (wanted, hash);
            broken = reason.map(|reason| (wanted, reason));
            Ok(broken.is_none())
        })?;
        if was_cancelled {
            return Ok(None);
        }
        let seal_is_due = chain_only_to == 0 || head.seq.max(head.base_seq) > chain_only_to;
        let first_missing = state.first_missing(&ledger, &head)?;
        drop(ledger);
        if first_missing.is_some() && state.checkpoint.first_missing.is_none() {
            let checkpoint = AuditCheckpoint { first_missing, ..state.checkpoint.clone() };
            self.save_checkpoint(&mut state, &key, checkpoint);
        }
        let broken = broken.or_else(|| {
            if last.0 < head.seq {
                Some((last.0 + 1, message!("audit.broken.cutOff")))
            } else if let Some(first_missing) = first_missing {
                Some((first_missing, message!("audit.broken.oldHead")))
            } else if last.1 != head.hash {
                Some((head.seq.max(1), message!("audit.broken.otherHead")))
            } else if seal_is_due && !head.is_sealed(&key) {
                Some((head.seq.max(1), message!("audit.broken.headUnsealed")))
            } else {
                None
            }
        });
        Ok(Some(match broken {
            None => AuditVerdict::Whole { entries: head.seq - head.base_seq },
            Some((seq, reason)) => AuditVerdict::Broken { seq, reason },
        }))
    }

    /// Deletes the entries from before a moment (retention). The chain then starts after the last one that
    /// was deleted. Returns the number of deleted entries. A chain that is broken is left as it is.
    ///
    /// # Errors
    /// When the database refuses, or the secret store, whose key is needed to seal the new start.
    pub fn forget_before(&self, moment: Timestamp) -> Result<u64, StoreError> {
        if let Some(AuditVerdict::Broken { .. }) = self.verify(&|| false)? {
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
        head.mac = Some(head.compute_mac(&key));
        write_head(&transaction, &head)?;
        let gone = transaction.execute("DELETE FROM audit WHERE seq <= ?1", [integer(seq)])?;
        transaction.commit()?;
        drop(ledger);
        let checkpoint = AuditCheckpoint { reached: Some((head.seq, head.hash)), ..state.checkpoint.clone() };
        self.save_checkpoint(&mut state, &key, checkpoint);
        Ok(gone as u64)
    }
}

/// What is wrong with the MAC of an entry, if anything.
fn seal_defect(stored: &StoredEntry, hash: &[u8; 32], key: &AuditKey) -> Option<Message> {
    match &stored.mac {
        None => Some(message!("audit.broken.unsealed")),
        Some(mac) if !is_entry_sealed(key, hash, mac) => Some(message!("audit.broken.wrongSeal")),
        Some(_) => None,
    }
}
