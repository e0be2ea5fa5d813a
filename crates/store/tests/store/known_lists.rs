//! The last known lists of servers: only what this owner wrote for this server is read again.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use gatehouse_model::ServerId;
use gatehouse_store::{Owner, Store};

use crate::fixture::StoreFixture;

fn ids(names: &[&str]) -> HashSet<ServerId> {
    names.iter().map(|name| ServerId::from(*name)).collect()
}

fn load(store: &Store, names: &[&str]) -> HashMap<ServerId, String> {
    store.known_lists().load(&ids(names)).unwrap()
}

fn files(fixture: &StoreFixture) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(fixture.path("known-lists/window"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files
}

#[test]
fn lists_are_known_after_a_restart_and_forgotten_with_their_server() {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    assert!(load(&store, &["a"]).is_empty());
    store.known_lists().keep(&"a".into(), "first").unwrap();
    store.known_lists().keep(&"a".into(), "second\nline").unwrap();
    store.known_lists().keep(&"b/../c".into(), "of b").unwrap();
    store.known_lists().keep(&"gone".into(), "of gone").unwrap();
    drop(store);
    let store = fixture.open();
    let known = load(&store, &["a", "b/../c", "new"]);
    assert_eq!(known.get(&"a".into()).map(String::as_str), Some("second\nline"));
    assert_eq!(known.get(&"b/../c".into()).map(String::as_str), Some("of b"));
    assert_eq!((known.len(), files(&fixture).len()), (2, 2), "what belongs to no server is deleted");
    store.known_lists().forget(&"a".into());
    assert_eq!(load(&store, &["a", "b/../c"]).len(), 1);
}

#[test]
fn what_another_wrote_is_ignored() {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    store.known_lists().keep(&"a".into(), "of a").unwrap();
    let [own]: [PathBuf; 1] = files(&fixture).try_into().unwrap();
    store.known_lists().keep(&"b".into(), "of b").unwrap();
    let other = files(&fixture).into_iter().find(|file| *file != own).unwrap();
    let sealed = fs::read_to_string(&own).unwrap();
    for forged in [
        sealed.replace("of a", "of x"),
        sealed.split_once('\n').unwrap().1.to_owned(),
        format!("\n{}", sealed.split_once('\n').unwrap().1),
        String::new(),
        // The file of another server.
        fs::read_to_string(&other).unwrap(),
    ] {
        fs::write(&own, &forged).unwrap();
        assert_eq!(load(&store, &["a"]).len(), 0, "{forged}");
    }
    fs::write(&own, sealed).unwrap();
    assert_eq!(load(&store, &["a"]).len(), 1);
    drop(store);
    // The other owner has keys of its own.
    let folder = fixture.path("known-lists");
    fs::create_dir_all(folder.join("serve")).unwrap();
    fs::copy(&own, folder.join("serve").join(own.file_name().unwrap())).unwrap();
    assert!(load(&fixture.open_as(Owner::Serve).unwrap(), &["a"]).is_empty());
}

#[test]
fn locked_keychain_deletes_nothing() {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    store.known_lists().keep(&"a".into(), "of a").unwrap();
    drop(store);
    let store = fixture.open();
    fixture.secrets.locked.store(true, Ordering::SeqCst);
    assert!(store.known_lists().load(&ids(&[])).is_err());
    fixture.secrets.locked.store(false, Ordering::SeqCst);
    assert_eq!(load(&store, &["a"]).len(), 1);
}

#[cfg(unix)]
#[test]
fn only_the_owner_may_read_them() {
    use std::os::unix::fs::PermissionsExt as _;
    let fixture = StoreFixture::new();
    fixture.open().known_lists().keep(&"a".into(), "of a").unwrap();
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(fixture.path("known-lists")), mode(files(&fixture).remove(0))), (0o700, 0o600));
}
