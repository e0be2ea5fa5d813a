//! Secrets and sign-ins of servers that are no more: found by the names that were written down, and deleted.

use std::collections::HashSet;
use std::sync::atomic::Ordering;

use gatehouse_model::{Generation, Secret, ServerBinding};
use gatehouse_store::{Owner, SecretKey, Store};

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
    drop(store);
    let before = place.secrets.snapshot();
    assert!(!before.is_empty());
    for account in before.keys() {
        place.tamper(&format!("INSERT INTO kept_secrets VALUES ('window/keychain', '{account}')"));
    }
    place.tamper("INSERT INTO kept_secrets VALUES ('window/keychain', x'ff')");
    let store = place.open();
    assert_eq!(store.sweep_secrets(&HashSet::new()).unwrap(), 0);
    assert!(before.keys().all(|account| place.secrets.snapshot().contains_key(account)));
}
