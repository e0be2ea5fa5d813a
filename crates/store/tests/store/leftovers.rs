//! Secrets and sign-ins of servers that are no more: found by the names that were written down, and deleted.

use std::collections::HashSet;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Barrier};

use gatehouse_model::{Generation, Secret, ServerBinding};
use gatehouse_store::{Owner, SecretError, SecretKey, Store, StoreError};

use crate::place::Place;

fn server(id: &str) -> ServerBinding {
    ServerBinding { server: id.into(), generation: Generation(1), identity: "i".into() }
}

fn keep(store: &Store, key: &SecretKey) {
    store.secrets().set(key, &Secret::new("s")).unwrap();
}

/// Whether the store for secrets itself has something under a key.
fn has(place: &Place, key: &SecretKey) -> bool {
    place.secrets.snapshot().contains_key(key.account())
}

/// The places of all rows in the list.
fn listed(place: &Place) -> Vec<String> {
    let ledger = rusqlite::Connection::open(place.path("ledger.db")).unwrap();
    let mut query = ledger.prepare("SELECT place FROM kept_secrets ORDER BY place").unwrap();
    let places = query.query_map([], |row| row.get::<_, String>(0)).unwrap();
    places.collect::<rusqlite::Result<Vec<String>>>().unwrap()
}

#[test]
fn what_is_not_in_use_is_deleted() {
    let place = Place::new();
    let store = place.open();
    let here = [SecretKey::bound(&server("a"), "env/A"), SecretKey::sign_in(&server("a"), "resource")];
    let gone = [SecretKey::bound(&server("b"), "env/A"), SecretKey::sign_in(&server("b"), "resource")];
    for key in here.iter().chain(&gone) {
        keep(&store, key);
        keep(&store, key);
    }
    let in_use: HashSet<SecretKey> = here.iter().cloned().collect();
    assert_eq!(store.sweep_secrets(&in_use).unwrap(), 2);
    assert!(here.iter().all(|key| has(&place, key)) && !gone.iter().any(|key| has(&place, key)));
    assert_eq!(store.sweep_secrets(&in_use).unwrap(), 0);
}

#[test]
fn what_could_not_be_deleted_is_deleted_after_a_restart() {
    let place = Place::new();
    let key = SecretKey::sign_in(&server("a"), "resource");
    let store = place.open();
    keep(&store, &key);
    place.secrets.locked.store(true, Ordering::SeqCst);
    assert!(store.secrets().delete(&key).is_err());
    assert!(store.sweep_secrets(&HashSet::new()).is_err());
    drop(store);
    place.secrets.locked.store(false, Ordering::SeqCst);
    assert!(has(&place, &key));
    assert_eq!(place.open().sweep_secrets(&HashSet::new()).unwrap(), 1);
    assert!(!has(&place, &key));
}

#[test]
fn what_was_deleted_is_not_listed_any_more() {
    let place = Place::new();
    let key = SecretKey::bound(&server("a"), "env/A");
    let store = place.open();
    keep(&store, &key);
    store.secrets().delete(&key).unwrap();
    assert_eq!(store.sweep_secrets(&HashSet::new()).unwrap(), 0);
}

#[test]
fn each_owner_deletes_its_own() {
    let place = Place::new();
    let key = SecretKey::bound(&server("a"), "env/A");
    keep(&place.open_as(Owner::Window).unwrap(), &key);
    assert_eq!(place.open_as(Owner::Serve).unwrap().sweep_secrets(&HashSet::new()).unwrap(), 0);
    assert!(has(&place, &key));
    assert_eq!(place.open_as(Owner::Window).unwrap().sweep_secrets(&HashSet::new()).unwrap(), 1);
}

#[test]
fn no_name_that_was_written_in_from_outside_deletes_a_seal() {
    let place = Place::new();
    let store = place.open();
    store.servers().save(&[]).unwrap();
    keep(&store, &SecretKey::bound(&server("a"), "env/A"));
    drop(store);
    let before = place.secrets.snapshot();
    assert!(!before.is_empty());
    for account in before.keys() {
        place.tamper(&format!(
            "INSERT OR REPLACE INTO kept_secrets VALUES ('window/keychain', '{account}', zeroblob(32))"
        ));
    }
    place.tamper("INSERT INTO kept_secrets VALUES ('window/keychain', x'ff', zeroblob(32))");
    let store = place.open();
    assert_eq!(store.sweep_secrets(&HashSet::new()).unwrap(), 0);
    assert!(before.keys().all(|account| place.secrets.snapshot().contains_key(account)));
}

#[test]
fn rejects_rows_that_this_owner_did_not_write() {
    let place = Place::new();
    let (own, other) = (SecretKey::bound(&server("a"), "env/A"), SecretKey::bound(&server("b"), "env/A"));
    keep(&place.open_as(Owner::Serve).unwrap(), &other);
    keep(&place.open(), &own);
    let in_use = HashSet::from([own.clone()]);
    let name = other.account();
    for row in [
        "SELECT 'window/keychain', secret, mac FROM kept_secrets WHERE place = 'serve/keychain'",
        &format!("VALUES ('window/keychain', '{name}', zeroblob(32))"),
        &format!("VALUES ('window/keychain', '{name}', x'')"),
        &format!("VALUES ('window/keychain', '{name}', 7)"),
        &format!("SELECT place, '{name}', mac FROM kept_secrets WHERE place = 'window/keychain'"),
        "VALUES ('window/keychain', x'ff', zeroblob(32))",
        "VALUES ('window/keychain', CAST(x'ff' AS TEXT), zeroblob(32))",
    ] {
        place.tamper(&format!("INSERT INTO kept_secrets {row}"));
        assert_eq!(place.open().sweep_secrets(&in_use).unwrap(), 0, "{row}");
        assert!(has(&place, &other) && has(&place, &own), "{row}");
        assert_eq!(listed(&place), ["serve/keychain", "window/keychain"], "{row}");
    }
    assert_eq!(place.open().sweep_secrets(&HashSet::new()).unwrap(), 1);
    assert_eq!(place.open_as(Owner::Serve).unwrap().sweep_secrets(&HashSet::new()).unwrap(), 1);
    assert!(listed(&place).is_empty());
}

#[test]
fn rejects_rows_of_another_folder() {
    let (place, mut other) = (Place::new(), Place::new());
    other.secrets = Arc::clone(&place.secrets);
    let keys = [SecretKey::bound(&server("a"), "env/A"), SecretKey::bound(&server("b"), "env/A")];
    keep(&place.open(), &keys[0]);
    keep(&other.open(), &keys[1]);
    let first = place.path("ledger.db");
    other.tamper(&format!(
        "ATTACH '{}' AS first; INSERT INTO main.kept_secrets SELECT * FROM first.kept_secrets",
        first.display()
    ));
    assert_eq!(other.open().sweep_secrets(&HashSet::new()).unwrap(), 1);
    assert!(has(&place, &keys[0]) && !has(&place, &keys[1]));
}

#[test]
fn a_row_that_was_changed_is_written_again_with_its_secret() {
    let place = Place::new();
    let key = SecretKey::bound(&server("a"), "env/A");
    keep(&place.open(), &key);
    place.tamper("UPDATE kept_secrets SET mac = zeroblob(32)");
    let store = place.open();
    keep(&store, &key);
    assert_eq!(store.sweep_secrets(&HashSet::new()).unwrap(), 1);
}

#[test]
fn deletes_nothing_while_the_key_of_the_list_is_away() {
    let place = Place::new();
    let key = SecretKey::bound(&server("a"), "env/A");
    let store = place.open();
    keep(&store, &key);
    let items = place.secrets.snapshot();
    let mut without_key = items.clone();
    without_key.retain(|name, _| !name.contains("kept_secrets"));
    assert_eq!(without_key.len() + 1, items.len());
    place.secrets.restore(without_key);
    assert_eq!(store.sweep_secrets(&HashSet::new()).unwrap(), 0);
    assert!(has(&place, &key));
    place.secrets.restore(items);
    assert_eq!(store.sweep_secrets(&HashSet::new()).unwrap(), 1);
}

#[test]
fn a_list_of_an_older_version_is_not_believed() {
    let place = Place::new();
    let key = SecretKey::bound(&server("a"), "env/A");
    keep(&place.open(), &key);
    place.tamper(&format!(
        "DROP TABLE kept_secrets;
        CREATE TABLE kept_secrets (
            place TEXT NOT NULL, secret TEXT NOT NULL, PRIMARY KEY (place, secret)
        ) WITHOUT ROWID;
        INSERT INTO kept_secrets VALUES ('window/keychain', '{}');
        PRAGMA user_version = 2",
        key.account()
    ));
    let store = place.open();
    assert_eq!(store.sweep_secrets(&HashSet::new()).unwrap(), 0);
    assert!(has(&place, &key));
    keep(&store, &key);
    assert_eq!(store.sweep_secrets(&HashSet::new()).unwrap(), 1);
}

#[test]
fn one_that_cannot_be_deleted_does_not_keep_the_others() {
    let place = Place::new();
    let store = place.open();
    let keys = ["a", "b", "c"].map(|id| SecretKey::bound(&server(id), "env/A"));
    for key in &keys {
        keep(&store, key);
    }
    *place.secrets.stuck.lock() = Some(keys[0].account().to_owned());
    let error = store.sweep_secrets(&HashSet::new()).unwrap_err();
    assert!(matches!(error, StoreError::Secret(SecretError::Refused { .. })), "{error}");
    assert_eq!(keys.each_ref().map(|key| has(&place, key)), [true, false, false]);
    *place.secrets.stuck.lock() = None;
    assert_eq!(store.sweep_secrets(&HashSet::new()).unwrap(), 1);
    assert!(!has(&place, &keys[0]));
}

#[test]
fn what_is_kept_while_it_is_deleted_is_listed() {
    let place = Place::new();
    let store = place.open();
    let key = SecretKey::bound(&server("a"), "env/A");
    for round in 0..50 {
        keep(&store, &key);
        let both = Barrier::new(2);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                both.wait();
                keep(&store, &key);
            });
            both.wait();
            store.secrets().delete(&key).unwrap();
        });
        assert_eq!(listed(&place).len(), usize::from(has(&place, &key)), "round {round}");
    }
}
