//! Secrets and sign-ins of servers that are no more: found by the names that were written down, and deleted.

use std::collections::HashSet;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Barrier};

use gatehouse_model::{Generation, Secret, ServerBinding};
use gatehouse_store::{Owner, SecretError, SecretKey, Store, StoreError};

use crate::fixture::StoreFixture;

fn server(id: &str) -> ServerBinding {
    ServerBinding { server: id.into(), generation: Generation(1), identity: "i".into() }
}

fn keep(store: &Store, key: &SecretKey) {
    store.secrets().set(key, &Secret::new("s")).unwrap();
}

/// Whether the store for secrets itself has something under a key.
fn has(fixture: &StoreFixture, key: &SecretKey) -> bool {
    fixture.secrets.snapshot().contains_key(key.account())
}

/// The places of all rows in the list.
fn listed(fixture: &StoreFixture) -> Vec<String> {
    let ledger = rusqlite::Connection::open(fixture.path("ledger.db")).unwrap();
    let mut query = ledger.prepare("SELECT place FROM kept_secrets ORDER BY place").unwrap();
    let places = query.query_map([], |row| row.get::<_, String>(0)).unwrap();
    places.collect::<rusqlite::Result<Vec<String>>>().unwrap()
}

#[test]
fn what_is_not_in_use_is_deleted() {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    let here =
        [SecretKey::for_server_field(&server("a"), "env/A"), SecretKey::sign_in(&server("a"), "resource")];
    let gone =
        [SecretKey::for_server_field(&server("b"), "env/A"), SecretKey::sign_in(&server("b"), "resource")];
    for key in here.iter().chain(&gone) {
        keep(&store, key);
        keep(&store, key);
    }
    let in_use: HashSet<SecretKey> = here.iter().cloned().collect();
    assert_eq!(store.sweep_secrets(&in_use).unwrap(), 2);
    assert!(here.iter().all(|key| has(&fixture, key)) && !gone.iter().any(|key| has(&fixture, key)));
    assert_eq!(store.sweep_secrets(&in_use).unwrap(), 0);
}

#[test]
fn what_could_not_be_deleted_is_deleted_after_a_restart() {
    let fixture = StoreFixture::new();
    let key = SecretKey::sign_in(&server("a"), "resource");
    let store = fixture.open();
    keep(&store, &key);
    fixture.secrets.locked.store(true, Ordering::SeqCst);
    assert!(store.secrets().delete(&key).is_err());
    assert!(store.sweep_secrets(&HashSet::new()).is_err());
    drop(store);
    fixture.secrets.locked.store(false, Ordering::SeqCst);
    assert!(has(&fixture, &key));
    assert_eq!(fixture.open().sweep_secrets(&HashSet::new()).unwrap(), 1);
    assert!(!has(&fixture, &key));
}

#[test]
fn what_was_deleted_is_not_listed_any_more() {
    let fixture = StoreFixture::new();
    let key = SecretKey::for_server_field(&server("a"), "env/A");
    let store = fixture.open();
    keep(&store, &key);
    store.secrets().delete(&key).unwrap();
    assert_eq!(store.sweep_secrets(&HashSet::new()).unwrap(), 0);
}

#[test]
fn each_owner_deletes_its_own() {
    let fixture = StoreFixture::new();
    let key = SecretKey::for_server_field(&server("a"), "env/A");
    keep(&fixture.open_as(Owner::Window).unwrap(), &key);
    assert_eq!(fixture.open_as(Owner::Serve).unwrap().sweep_secrets(&HashSet::new()).unwrap(), 0);
    assert!(has(&fixture, &key));
    assert_eq!(fixture.open_as(Owner::Window).unwrap().sweep_secrets(&HashSet::new()).unwrap(), 1);
}

#[test]
fn no_name_that_was_written_in_from_outside_deletes_a_seal() {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    store.servers().save(&[]).unwrap();
    keep(&store, &SecretKey::for_server_field(&server("a"), "env/A"));
    drop(store);
    let before = fixture.secrets.snapshot();
    assert!(!before.is_empty());
    for account in before.keys() {
        fixture.tamper(&format!(
            "INSERT OR REPLACE INTO kept_secrets VALUES ('window/keychain', '{account}', zeroblob(32))"
        ));
    }
    fixture.tamper("INSERT INTO kept_secrets VALUES ('window/keychain', x'ff', zeroblob(32))");
    let store = fixture.open();
    assert_eq!(store.sweep_secrets(&HashSet::new()).unwrap(), 0);
    assert!(before.keys().all(|account| fixture.secrets.snapshot().contains_key(account)));
}

#[test]
fn rejects_rows_that_this_owner_did_not_write() {
    let fixture = StoreFixture::new();
    let (own, other) = (
        SecretKey::for_server_field(&server("a"), "env/A"),
        SecretKey::for_server_field(&server("b"), "env/A"),
    );
    keep(&fixture.open_as(Owner::Serve).unwrap(), &other);
    keep(&fixture.open(), &own);
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
        fixture.tamper(&format!("INSERT INTO kept_secrets {row}"));
        assert_eq!(fixture.open().sweep_secrets(&in_use).unwrap(), 0, "{row}");
        assert!(has(&fixture, &other) && has(&fixture, &own), "{row}");
        assert_eq!(listed(&fixture), ["serve/keychain", "window/keychain"], "{row}");
    }
    assert_eq!(fixture.open().sweep_secrets(&HashSet::new()).unwrap(), 1);
    assert_eq!(fixture.open_as(Owner::Serve).unwrap().sweep_secrets(&HashSet::new()).unwrap(), 1);
    assert!(listed(&fixture).is_empty());
}

#[test]
fn rejects_rows_of_another_folder() {
    let (fixture, mut other) = (StoreFixture::new(), StoreFixture::new());
    other.secrets = Arc::clone(&fixture.secrets);
    let keys = [
        SecretKey::for_server_field(&server("a"), "env/A"),
        SecretKey::for_server_field(&server("b"), "env/A"),
    ];
    keep(&fixture.open(), &keys[0]);
    keep(&other.open(), &keys[1]);
    let first = fixture.path("ledger.db");
    other.tamper(&format!(
        "ATTACH '{}' AS first; INSERT INTO main.kept_secrets SELECT * FROM first.kept_secrets",
        first.display()
    ));
    assert_eq!(other.open().sweep_secrets(&HashSet::new()).unwrap(), 1);
    assert!(has(&fixture, &keys[0]) && !has(&fixture, &keys[1]));
}

#[test]
fn a_row_that_was_changed_is_written_again_with_its_secret() {
    let fixture = StoreFixture::new();
    let key = SecretKey::for_server_field(&server("a"), "env/A");
    keep(&fixture.open(), &key);
    fixture.tamper("UPDATE kept_secrets SET mac = zeroblob(32)");
    let store = fixture.open();
    keep(&store, &key);
    assert_eq!(store.sweep_secrets(&HashSet::new()).unwrap(), 1);
}

#[test]
fn deletes_nothing_while_the_key_of_the_list_is_away() {
    let fixture = StoreFixture::new();
    let key = SecretKey::for_server_field(&server("a"), "env/A");
    let store = fixture.open();
    keep(&store, &key);
    let items = fixture.secrets.snapshot();
    let mut without_key = items.clone();
    without_key.retain(|name, _| !name.contains("kept_secrets"));
    assert_eq!(without_key.len() + 1, items.len());
    fixture.secrets.restore(without_key);
    assert_eq!(store.sweep_secrets(&HashSet::new()).unwrap(), 0);
    assert!(has(&fixture, &key));
    fixture.secrets.restore(items);
    assert_eq!(store.sweep_secrets(&HashSet::new()).unwrap(), 1);
}

#[test]
fn a_list_of_an_older_version_is_not_believed() {
    let fixture = StoreFixture::new();
    let key = SecretKey::for_server_field(&server("a"), "env/A");
    keep(&fixture.open(), &key);
    fixture.tamper(&format!(
        "DROP TABLE kept_secrets;
        CREATE TABLE kept_secrets (
            place TEXT NOT NULL, secret TEXT NOT NULL, PRIMARY KEY (place, secret)
        ) WITHOUT ROWID;
        INSERT INTO kept_secrets VALUES ('window/keychain', '{}');
        PRAGMA user_version = 2",
        key.account()
    ));
    let store = fixture.open();
    assert_eq!(store.sweep_secrets(&HashSet::new()).unwrap(), 0);
    assert!(has(&fixture, &key));
    keep(&store, &key);
    assert_eq!(store.sweep_secrets(&HashSet::new()).unwrap(), 1);
}

#[test]
fn one_that_cannot_be_deleted_does_not_keep_the_others() {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    let keys = ["a", "b", "c"].map(|id| SecretKey::for_server_field(&server(id), "env/A"));
    for key in &keys {
        keep(&store, key);
    }
    *fixture.secrets.stuck.lock() = Some(keys[0].account().to_owned());
    let error = store.sweep_secrets(&HashSet::new()).unwrap_err();
    assert!(matches!(error, StoreError::Secret(SecretError::Refused { .. })), "{error}");
    assert_eq!(keys.each_ref().map(|key| has(&fixture, key)), [true, false, false]);
    *fixture.secrets.stuck.lock() = None;
    assert_eq!(store.sweep_secrets(&HashSet::new()).unwrap(), 1);
    assert!(!has(&fixture, &keys[0]));
}

#[test]
fn deleting_several_tries_all_and_returns_the_first_error() {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    let keys = ["a", "b", "c"].map(|id| SecretKey::for_server_field(&server(id), "env/A"));
    for (stuck, left) in [(0, [true, false, false]), (1, [false, true, false]), (2, [false, false, true])] {
        for key in &keys {
            keep(&store, key);
        }
        *fixture.secrets.stuck.lock() = Some(keys[stuck].account().to_owned());
        let error = store.secrets().delete_all(&keys).unwrap_err();
        assert!(matches!(error, SecretError::Refused { .. }), "{error}");
        assert_eq!(keys.each_ref().map(|key| has(&fixture, key)), left);
        *fixture.secrets.stuck.lock() = None;
    }
    assert_eq!(store.secrets().delete_all(&keys), Ok(()));
    assert!(listed(&fixture).is_empty());
}

#[test]
fn what_is_kept_while_it_is_deleted_is_listed() {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    let key = SecretKey::for_server_field(&server("a"), "env/A");
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
        assert_eq!(listed(&fixture).len(), usize::from(has(&fixture, &key)), "round {round}");
    }
}
