//! The call records (DATA-3): written behind the calls in batches, searched by their text.

use std::path::Path;
use std::time::Duration;

use gatehouse_model::CallRecord;
use gatehouse_model::record::CallFilter;

use crate::error::StoreError;

/// How much of the call records is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Older calls go.
    pub age: Duration,
    /// Beyond so many, the oldest go.
    pub calls: u64,
}

impl Default for Retention {
    fn default() -> Self {
        Self { age: Duration::from_secs(90 * 24 * 3600), calls: 1_000_000 }
    }
}

/// The call records.
pub struct Activity;

impl Activity {
    pub(crate) fn open(_path: &Path, _retention: Retention) -> Result<Self, StoreError> {
        Ok(Self)
    }

    /// Takes a record. Never blocks.
    pub fn record(&self, _record: CallRecord) {}

    /// Records, newest first.
    ///
    /// # Errors
    /// When the database refuses.
    pub fn list(&self, _filter: &CallFilter) -> Result<Vec<CallRecord>, StoreError> {
        Ok(Vec::new())
    }

    /// Waits until everything that was taken so far is on the disk. Blocks.
    pub fn flush(&self) {}
}
