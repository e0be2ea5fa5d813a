//! Stores the choices in a small file. It is a cache, not a setting: an unreadable or old entry is
//! measured again, and a failure to write is only logged.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use gatehouse_common::atomic_file;
use gatehouse_model::Timestamp;
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;

use super::{CHOICE_LIFETIME, PackageEcosystem, is_within};

/// Longest file that is read, in bytes.
const LONGEST_FILE: u64 = 64 * 1024;

/// The choice for one ecosystem.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CachedChoice {
    at: Timestamp,
    pub(super) mirror: String,
}

pub(super) struct MirrorCache {
    path: PathBuf,
    io_lock: Mutex<()>,
}

type CachedChoices = BTreeMap<String, CachedChoice>;

fn key(kind: PackageEcosystem) -> &'static str {
    match kind {
        PackageEcosystem::Npm => "npm",
        PackageEcosystem::Pypi => "pypi",
    }
}

impl MirrorCache {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, io_lock: Mutex::new(()) }
    }

    /// The choice, if it is still valid.
    pub(super) async fn read(&self, kind: PackageEcosystem, now: Timestamp) -> Option<CachedChoice> {
        let _guard = self.io_lock.lock().await;
        let mut choices = self.choices().await;
        choices.remove(key(kind)).filter(|cached| is_within(cached.at, now, CHOICE_LIFETIME))
    }

    pub(super) async fn write(&self, kind: PackageEcosystem, mirror: String, now: Timestamp) {
        let _guard = self.io_lock.lock().await;
        let mut choices = self.choices().await;
        choices.insert(key(kind).to_owned(), CachedChoice { at: now, mirror });
        if let Err(error) = self.replace(&choices).await {
            tracing::warn!(%error, "the chosen registry cannot be kept");
        }
    }

    async fn choices(&self) -> CachedChoices {
        let small = tokio::fs::metadata(&self.path).await.is_ok_and(|found| found.len() <= LONGEST_FILE);
        match tokio::fs::read(&self.path).await {
            Ok(bytes) if small => serde_json::from_slice(&bytes).unwrap_or_default(),
            Ok(_) | Err(_) => CachedChoices::new(),
        }
    }

    async fn replace(&self, choices: &CachedChoices) -> io::Result<()> {
        let (path, content) = (self.path.clone(), serde_json::to_vec_pretty(choices)?);
        tokio::task::spawn_blocking(move || atomic_file::replace(&path, &content)).await?
    }
}
