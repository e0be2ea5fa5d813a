//! The images that servers name as their icons, kept in the data folder, so that each is fetched at most once a day.
//!
//! What is read from the disk is encoded anew like what was fetched: other programs of the user can write there.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gatehouse_common::regular_file::{self, SymbolicLinks};
use gatehouse_common::{atomic_file, owner_only};
use gatehouse_model::Timestamp;
use gatehouse_servers::{IconFetcher, IconSources, restore_icon};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Folder of the data folder.
const FOLDER: &str = "server-icons";
/// How long an image, or that there is none, counts, in milliseconds.
const FRESH_MS: i64 = 24 * 3600 * 1000;
/// How many images are kept.
const MAX_KEPT: usize = 256;
/// Largest file of one, in bytes.
const MAX_FILE_BYTES: u64 = 64 * 1024;

/// Images of servers.
pub(crate) struct ServerIcons {
    folder: PathBuf,
    fetcher: IconFetcher,
    /// Names of the files whose images are being fetched.
    fetching: Mutex<HashSet<String>>,
}

#[derive(Default, Serialize, Deserialize)]
struct StoredIcon {
    /// When it was tried to fetch it.
    tried: Timestamp,
    /// In base64; `None` if it could not be fetched, or was no image.
    png: Option<String>,
}

impl ServerIcons {
    /// `program` decodes the images, as in [`IconFetcher::new`].
    pub(crate) fn new(data_dir: &Path, program: Option<PathBuf>) -> Self {
        Self { folder: data_dir.join(FOLDER), fetcher: IconFetcher::new(program), fetching: Mutex::default() }
    }

    /// The image as a `data:` address. A fetch waits for no other one of the same image, which may be slow: until that
    /// is over, there is the image of before.
    pub(crate) async fn icon(
        self: &Arc<Self>,
        sources: &IconSources,
        may_fetch: bool,
        now: Timestamp,
    ) -> Option<String> {
        let name = file_name(sources);
        let mut stored = self.read(name.clone()).await;
        let is_fresh = (0..FRESH_MS).contains(&now.0.saturating_sub(stored.tried.0));
        if may_fetch && !is_fresh && self.fetching.lock().insert(name.clone()) {
            let png = self.fetcher.fetch(sources).await;
            stored = StoredIcon { tried: now, png: png.map(|png| STANDARD.encode(png)).or(stored.png) };
            stored = self.write(name.clone(), stored).await;
            self.fetching.lock().remove(&name);
        }
        stored.png.map(|png| format!("data:image/png;base64,{png}"))
    }

    /// What is stored; nothing that was ever tried if it cannot be read.
    async fn read(self: &Arc<Self>, name: String) -> StoredIcon {
        let icons = Arc::clone(self);
        let reading = tokio::task::spawn_blocking(move || read_file(&icons.folder.join(name)));
        reading.await.ok().flatten().unwrap_or_default()
    }

    /// Stores an image, and answers it. If the disk refuses, it is shown all the same, and fetched again later.
    async fn write(self: &Arc<Self>, name: String, stored: StoredIcon) -> StoredIcon {
        let icons = Arc::clone(self);
        let writing = tokio::task::spawn_blocking(move || {
            let written = owner_only::make_folder(&icons.folder).and_then(|()| {
                atomic_file::replace(&icons.folder.join(name), &serde_json::to_vec(&stored)?)?;
                remove_oldest(&icons.folder)
            });
            if let Err(error) = written {
                tracing::warn!(%error, "the icon of a server could not be stored");
            }
            stored
        });
        writing.await.unwrap_or_default()
    }
}

/// Name of the file for the image of these addresses.
fn file_name(sources: &IconSources) -> String {
    let mut hash = Sha256::new();
    for address in sources.addresses() {
        hash.update((address.len() as u64).to_le_bytes());
        hash.update(address);
    }
    format!("{}.json", hex::encode(hash.finalize()))
}

fn read_file(path: &Path) -> Option<StoredIcon> {
    let bytes = regular_file::read(path, MAX_FILE_BYTES, SymbolicLinks::Refuse).ok()??;
    let stored: StoredIcon = serde_json::from_slice(&bytes).ok()?;
    let png = stored.png.and_then(|png| restore_icon(&STANDARD.decode(png).ok()?));
    Some(StoredIcon { tried: stored.tried, png: png.map(|png| STANDARD.encode(png)) })
}

fn remove_oldest(folder: &Path) -> std::io::Result<()> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        files.push((entry.metadata()?.modified()?, entry.path()));
    }
    files.sort();
    let surplus = files.len().saturating_sub(MAX_KEPT);
    files.iter().take(surplus).try_for_each(|(_, path)| fs::remove_file(path))
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;

    /// A red pixel.
    const PIXEL: &str =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";

    fn sources(data: &str) -> IconSources {
        let info = format!(r#"{{"icons":[{{"src":"data:image/png;base64,{data}"}}]}}"#);
        IconSources::of(&RawValue::from_string(info).unwrap())
    }

    fn at(hours: i64) -> Timestamp {
        Timestamp(1_800_000_000_000 + hours * 3600 * 1000)
    }

    #[tokio::test]
    async fn fetches_at_most_once_a_day_and_only_when_it_may() {
        let dir = tempfile::tempdir().unwrap();
        let icons = Arc::new(ServerIcons::new(dir.path(), None));
        let (image, none) = (sources(PIXEL), sources("bm8gaW1hZ2U="));
        assert_eq!(icons.icon(&image, false, at(0)).await, None);
        let first = icons.icon(&image, true, at(0)).await.unwrap();
        assert!(first.starts_with("data:image/png;base64,") && !first.contains(PIXEL), "{first}");
        // Kept without a connection, also after a restart.
        let restarted = Arc::new(ServerIcons::new(dir.path(), None));
        assert!(restarted.icon(&image, false, at(100)).await.is_some());

        let tried = |sources: &IconSources| {
            read_file(&dir.path().join(FOLDER).join(file_name(sources))).map(|stored| stored.tried)
        };
        for (hours, expected) in [(0, 0), (1, 0), (23, 0), (24, 24), (30, 24), (49, 49)] {
            assert_eq!(icons.icon(&none, true, at(hours)).await, None);
            assert_eq!(tried(&none), Some(at(expected)), "after {hours} hours");
        }
        // A clock that was set back does not keep it for longer.
        assert_eq!(icons.icon(&none, true, at(-5)).await, None);
        assert_eq!(tried(&none), Some(at(-5)));
    }

    #[tokio::test]
    async fn shows_nothing_that_others_wrote_into_its_folder() {
        let dir = tempfile::tempdir().unwrap();
        let icons = Arc::new(ServerIcons::new(dir.path(), None));
        let image = sources(PIXEL);
        icons.icon(&image, true, at(0)).await.unwrap();
        let file = dir.path().join(FOLDER).join(file_name(&image));
        let svg = STANDARD.encode("<svg xmlns='http://www.w3.org/2000/svg'/>");
        for text in [
            format!(r#"{{"tried":{},"png":"{svg}"}}"#, at(0).0),
            format!(r#"{{"tried":{},"png":"\"><script>"}}"#, at(0).0),
            "no JSON".to_owned(),
            format!(r#"{{"tried":0,"png":null,"more":"{}"}}"#, "x".repeat(70_000)),
        ] {
            fs::write(&file, &text).unwrap();
            assert_eq!(icons.icon(&image, false, at(0)).await, None, "{}", &text[..40.min(text.len())]);
        }
        #[cfg(unix)]
        {
            fs::remove_file(&file).unwrap();
            std::os::unix::fs::symlink("/dev/zero", &file).unwrap();
            assert_eq!(icons.icon(&image, false, at(0)).await, None, "an endless file");
        }
    }

    #[test]
    fn keeps_a_limited_number() {
        let dir = tempfile::tempdir().unwrap();
        for number in 0..MAX_KEPT + 5 {
            fs::write(dir.path().join(number.to_string()), "").unwrap();
        }
        remove_oldest(dir.path()).unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), MAX_KEPT);
    }
}
