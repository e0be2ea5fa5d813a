//! Answers of the registry that are kept. Those of this run are used again for a few minutes. Those on the disk only stand
//! in while the registry cannot be reached, and are shown with their age: another program of the user can write there, so
//! they never take the place of an answer that could be had, and no settings are made of them.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gatehouse_common::regular_file::{self, SymbolicLinks};
use gatehouse_common::{atomic_file, owner_only};
use gatehouse_model::Timestamp;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// How many answers are kept, in memory and on the disk.
const MAX_ANSWERS: usize = 64;
/// Largest answer that is kept on the disk, in bytes.
const MAX_STORED_BYTES: usize = 1024 * 1024;
/// Largest file that is read. JSON escapes make a text longer.
const MAX_FILE_BYTES: u64 = 8 * 1024 * 1024;

/// An answer with the time at which it came.
#[derive(Clone, Debug)]
pub(super) struct KnownAnswer {
    pub(super) at: Timestamp,
    pub(super) etag: Option<String>,
    pub(super) body: Arc<Vec<u8>>,
}

/// An answer as it is on the disk.
#[derive(Serialize, Deserialize)]
struct StoredAnswer {
    url: String,
    at: Timestamp,
    body: String,
}

/// Answers by URL.
pub(super) struct AnswerCache {
    folder: PathBuf,
    known: Mutex<HashMap<String, KnownAnswer>>,
}

impl AnswerCache {
    /// A cache with this folder, which is made when something is written.
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder, known: Mutex::default() }
    }

    /// The answer that came in this run.
    pub(super) fn known(&self, url: &str) -> Option<KnownAnswer> {
        self.known.lock().get(url).cloned()
    }

    /// Keeps an answer for this run.
    pub(super) fn keep(&self, url: &str, answer: KnownAnswer) {
        let mut known = self.known.lock();
        if known.len() >= MAX_ANSWERS && !known.contains_key(url) {
            let oldest = known.iter().min_by_key(|(_, answer)| answer.at).map(|(url, _)| url.clone());
            if let Some(oldest) = oldest {
                known.remove(&oldest);
            }
        }
        known.insert(url.to_owned(), answer);
    }

    /// Writes an answer to the disk. A failure is no error of the caller's: the answer is there.
    pub(super) async fn store(&self, url: &str, answer: &KnownAnswer) {
        if answer.body.len() > MAX_STORED_BYTES {
            return;
        }
        let (folder, url, answer) = (self.folder.clone(), url.to_owned(), answer.clone());
        let written = tokio::task::spawn_blocking(move || write(&folder, &url, &answer)).await;
        if let Ok(Err(error)) = written {
            tracing::warn!(%error, "an answer of the registry was not kept");
        }
    }

    /// The answer that an earlier run wrote.
    pub(super) async fn stored(&self, url: &str) -> Option<KnownAnswer> {
        let (folder, url) = (self.folder.clone(), url.to_owned());
        tokio::task::spawn_blocking(move || read(&folder, &url)).await.ok().flatten()
    }
}

fn path_of(folder: &Path, url: &str) -> PathBuf {
    folder.join(format!("{}.json", hex::encode(Sha256::digest(url))))
}

fn write(folder: &Path, url: &str, answer: &KnownAnswer) -> io::Result<()> {
    // An answer that is no text has been refused before.
    let body = String::from_utf8_lossy(&answer.body).into_owned();
    let stored = StoredAnswer { url: url.to_owned(), at: answer.at, body };
    owner_only::make_folder(folder)?;
    atomic_file::replace(&path_of(folder, url), &serde_json::to_vec(&stored)?)?;
    remove_oldest(folder)
}

/// Removes what is more than there may be, the oldest first.
fn remove_oldest(folder: &Path) -> io::Result<()> {
    let mut files = Vec::new();
    for file in fs::read_dir(folder)? {
        let file = file?;
        files.push((file.metadata()?.modified()?, file.path()));
    }
    files.sort_unstable();
    let excess = files.len().saturating_sub(MAX_ANSWERS);
    files.iter().take(excess).try_for_each(|(_, path)| fs::remove_file(path))
}

fn read(folder: &Path, url: &str) -> Option<KnownAnswer> {
    let bytes = regular_file::read(&path_of(folder, url), MAX_FILE_BYTES, SymbolicLinks::Refuse).ok()??;
    let stored: StoredAnswer = serde_json::from_slice(&bytes).ok()?;
    let body = Arc::new(stored.body.into_bytes());
    (stored.url == url).then_some(KnownAnswer { at: stored.at, etag: None, body })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(at: i64, body: &str) -> KnownAnswer {
        KnownAnswer { at: Timestamp(at), etag: None, body: Arc::new(body.as_bytes().to_vec()) }
    }

    #[tokio::test]
    async fn keeps_answers_over_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let cache = AnswerCache::new(folder.path().join("inner"));
        assert!(cache.stored("https://a.example/").await.is_none());
        cache.store("https://a.example/", &answer(7, "{}")).await;
        let again = AnswerCache::new(folder.path().join("inner"));
        let stored = again.stored("https://a.example/").await.unwrap();
        assert_eq!((stored.at, stored.body.as_slice()), (Timestamp(7), b"{}".as_slice()));
        assert!(again.stored("https://b.example/").await.is_none());
        assert!(again.known("https://a.example/").is_none());
    }

    #[tokio::test]
    async fn keeps_a_limited_number_of_answers() {
        let folder = tempfile::tempdir().unwrap();
        let cache = AnswerCache::new(folder.path().to_owned());
        for index in 0..70 {
            let url = format!("https://a.example/{index}");
            cache.keep(&url, answer(index, "{}"));
            cache.store(&url, &answer(index, "{}")).await;
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), MAX_ANSWERS);
        assert!(cache.known("https://a.example/0").is_none());
        assert!(cache.known("https://a.example/69").is_some());
        cache.store("https://a.example/large", &answer(1, &"x".repeat(MAX_STORED_BYTES + 1))).await;
        assert!(cache.stored("https://a.example/large").await.is_none());
    }

    #[tokio::test]
    async fn ignores_files_that_are_no_answers() {
        let folder = tempfile::tempdir().unwrap();
        let cache = AnswerCache::new(folder.path().to_owned());
        let path = path_of(folder.path(), "https://a.example/");
        for text in ["", "{", r#"{"url":"https://other.example/","at":1,"body":"{}"}"#] {
            fs::write(&path, text).unwrap();
            assert!(cache.stored("https://a.example/").await.is_none(), "{text}");
        }
    }
}
