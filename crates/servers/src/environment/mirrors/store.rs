//! Stores the choices in a small file. It is a cache, not a setting: an unreadable or old entry is
//! measured again, and a failure to write is only logged.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use gatehouse_common::atomic_file;
use gatehouse_model::Timestamp;
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;

use super::{KEPT, Kind, is_within};

/// Longest file that is read, in bytes.
const LONGEST_FILE: u64 = 64 * 1024;

/// The choice for one ecosystem.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Kept {
    /// When it was made.
    at: Timestamp,
    /// The mirror; `None` if the default is best.
    pub(super) mirror: Option<String>,
}

pub(super) struct Store {
    path: PathBuf,
    turn: Mutex<()>,
}

type Pages = BTreeMap<String, Kept>;

fn key(kind: Kind) -> &'static str {
    match kind {
        Kind::Npm => "npm",
        Kind::Pypi => "pypi",
    }
}

impl Store {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, turn: Mutex::new(()) }
    }

    /// The choice, if it is still valid.
    pub(super) async fn read(&self, kind: Kind, now: Timestamp) -> Option<Kept> {
        let _turn = self.turn.lock().await;
        let mut pages = self.pages().await;
        pages.remove(key(kind)).filter(|kept| is_within(kept.at, now, KEPT))
    }

    pub(super) async fn write(&self, kind: Kind, mirror: Option<String>, now: Timestamp) {
        let _turn = self.turn.lock().await;
        let mut pages = self.pages().await;
        pages.insert(key(kind).to_owned(), Kept { at: now, mirror });
        if let Err(error) = self.replace(&pages).await {
            tracing::warn!(%error, "the chosen registry cannot be kept");
        }
    }

    async fn pages(&self) -> Pages {
        let small = tokio::fs::metadata(&self.path).await.is_ok_and(|found| found.len() <= LONGEST_FILE);
        match tokio::fs::read(&self.path).await {
            Ok(bytes) if small => serde_json::from_slice(&bytes).unwrap_or_default(),
            Ok(_) | Err(_) => Pages::new(),
        }
    }

    async fn replace(&self, pages: &Pages) -> io::Result<()> {
        let (path, content) = (self.path.clone(), serde_json::to_vec_pretty(pages)?);
        tokio::task::spawn_blocking(move || atomic_file::replace(&path, &content)).await?
    }
}
