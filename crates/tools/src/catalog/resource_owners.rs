//! The servers of URIs (TOOL-2). A URI stays with the server that had it first, also across restarts, and servers that
//! list it later get a prefix. Resources and templates have a registry each.
//!
//! Unlike a name, a URI is released when its server no longer lists it.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use gatehouse_model::ServerId;
use serde::{Deserialize, Serialize};

use crate::json_file::write_json;

/// Version of the file's format.
const VERSION: u32 = 1;

/// The servers of all known URIs of one kind.
#[derive(Debug, Default)]
pub(crate) struct UriOwners {
    file: Option<PathBuf>,
    by_uri: HashMap<Box<str>, ServerId>,
    unsaved: bool,
}

#[derive(Serialize, Deserialize)]
struct OwnerFile {
    version: u32,
    owners: HashMap<Box<str>, ServerId>,
}

impl UriOwners {
    /// Loads the owners of earlier runs. An unreadable file is replaced: owners don't grant permissions.
    pub(crate) fn open(dir: Option<&Path>, file: &str) -> Self {
        let mut owners = Self { file: dir.map(|dir| dir.join(file)), ..Self::default() };
        let Some(text) = owners.file.as_ref().and_then(|file| fs::read_to_string(file).ok()) else {
            return owners;
        };
        match serde_json::from_str::<OwnerFile>(&text) {
            Ok(file) if file.version == VERSION => owners.by_uri = file.owners,
            Ok(file) => {
                tracing::warn!(
                    version = file.version,
                    "the owners of URIs were kept by another version; they are left alone"
                );
                owners.file = None;
            }
            Err(error) => {
                tracing::warn!(%error, "the kept owners of URIs cannot be read; they are found anew")
            }
        }
        owners
    }

    /// Assigns the URIs that these servers list now, first come first served. What none of them lists any more is
    /// released; what belongs to a server that isn't among them stays, since its lists aren't known at present.
    pub(crate) fn assign<'a>(
        &mut self,
        present: &HashSet<&ServerId>,
        listed: impl Iterator<Item = (&'a ServerId, &'a str)> + Clone,
    ) {
        let now: HashSet<(&ServerId, &str)> = listed.clone().collect();
        let before = self.by_uri.len();
        self.by_uri.retain(|uri, owner| !present.contains(owner) || now.contains(&(&*owner, &**uri)));
        self.unsaved |= before != self.by_uri.len();
        for (server, uri) in listed {
            if !self.by_uri.contains_key(uri) {
                self.by_uri.insert(uri.into(), server.clone());
                self.unsaved = true;
            }
        }
    }

    /// Whether a URI belongs to a server.
    pub(crate) fn is_owner(&self, server: &ServerId, uri: &str) -> bool {
        self.by_uri.get(uri) == Some(server)
    }

    /// Releases the URIs of a server that was removed.
    pub(crate) fn forget(&mut self, server: &ServerId) {
        let before = self.by_uri.len();
        self.by_uri.retain(|_, owner| owner != server);
        self.unsaved |= before != self.by_uri.len();
    }

    /// Stores the owners if they changed. Blocks on the disk.
    pub(crate) fn save(&mut self) {
        let Some(file) = self.file.as_ref().filter(|_| self.unsaved) else { return };
        match write_json(file, &OwnerFile { version: VERSION, owners: self.by_uri.clone() }) {
            Ok(()) => self.unsaved = false,
            Err(error) => {
                tracing::warn!(%error, "the owners of URIs cannot be kept; they may differ after a restart")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "resource-owners.json";

    fn assign(owners: &mut UriOwners, present: &[&str], listed: &[(&str, &str)]) {
        let ids: Vec<ServerId> = present.iter().map(|id| ServerId::from(*id)).collect();
        let servers: Vec<ServerId> = listed.iter().map(|(id, _)| ServerId::from(*id)).collect();
        let listed = servers.iter().zip(listed.iter().map(|(_, uri)| *uri));
        owners.assign(&ids.iter().collect(), listed);
    }

    #[test]
    fn uri_keeps_its_first_owner_after_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        let mut owners = UriOwners::open(Some(dir.path()), FILE);
        assign(&mut owners, &["b"], &[("b", "x://1")]);
        owners.save();
        let mut owners = UriOwners::open(Some(dir.path()), FILE);
        assign(&mut owners, &["a", "b"], &[("a", "x://1"), ("b", "x://1"), ("a", "x://2")]);
        assert!(owners.is_owner(&"b".into(), "x://1") && owners.is_owner(&"a".into(), "x://2"));
        // While its owner isn't there, it stays with it; once its owner lists it no more, it is free.
        assign(&mut owners, &["a"], &[("a", "x://1")]);
        assert!(owners.is_owner(&"b".into(), "x://1"));
        assign(&mut owners, &["a", "b"], &[("a", "x://1")]);
        assert!(owners.is_owner(&"a".into(), "x://1"));
        owners.forget(&"a".into());
        owners.save();
        let mut owners = UriOwners::open(Some(dir.path()), FILE);
        assign(&mut owners, &["b"], &[("b", "x://2")]);
        assert!(owners.is_owner(&"b".into(), "x://2"));
    }

    #[test]
    fn unreadable_file_is_replaced_and_one_of_another_version_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(FILE);
        for (text, is_replaced) in [("{", true), (r#"{"version":99,"owners":{}}"#, false)] {
            fs::write(&file, text).unwrap();
            let mut owners = UriOwners::open(Some(dir.path()), FILE);
            assign(&mut owners, &["a"], &[("a", "x://1")]);
            owners.save();
            assert_eq!(fs::read_to_string(&file).unwrap() != text, is_replaced, "{text}");
        }
    }
}
