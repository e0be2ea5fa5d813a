//! Sealed records: what is believed after edits, old copies, crashes and locks (PERM-16).

use std::sync::atomic::Ordering;

use gatehouse_model::ServerBinding;
use gatehouse_model::ServerId;
use gatehouse_model::grant::Rights;
use gatehouse_model::id::Generation;
use gatehouse_store::{Owner, SealError, SecretStore, Store, StoreError, StoreOptions};

use crate::place::Place;

fn rights(server: &str) -> Rights {
    let trusted =
        ServerBinding { server: ServerId::new(server), generation: Generation(1), identity: "i".into() };
    Rights { trusted_labels: vec![trusted], ..Rights::default() }
}

const ROW: &str = "name = 'rights/window'";

#[test]
fn what_is_saved_is_there_after_a_restart() {
    let place = Place::new();
    assert_eq!(place.open().rights().load(), Ok(None));
    place.open().rights().save(&rights("a")).unwrap();
    place.open().rights().save(&rights("b")).unwrap();
    assert_eq!(place.open().rights().load(), Ok(Some(rights("b"))));
}

#[test]
fn rights_of_serve_never_count_for_the_window() {
    let place = Place::new();
    place.open_as(Owner::Serve).unwrap().rights().save(&rights("a")).unwrap();
    assert_eq!(place.open().rights().load(), Ok(None));
    // Nor when somebody moves the record over.
    place.open().rights().save(&rights("b")).unwrap();
    place.tamper(
        "UPDATE sealed SET (counter, body, mac) =
            (SELECT counter, body, mac FROM sealed WHERE name = 'rights/serve') WHERE name = 'rights/window'",
    );
    assert!(matches!(place.open().rights().load(), Err(SealError::BadMac { .. })));
}

#[test]
fn an_edited_record_is_noticed() {
    for edit in [
        "UPDATE sealed SET body = replace(body, '\"a\"', '\"x\"')",
        "UPDATE sealed SET counter = counter + 1",
        "UPDATE sealed SET mac = zeroblob(32)",
        "UPDATE sealed SET mac = x''",
        "UPDATE sealed SET body = CAST(replace(body, '\"a\"', '\"x\"') AS BLOB)",
        "UPDATE sealed SET counter = -1",
        "UPDATE sealed SET counter = 'one'",
    ] {
        let place = Place::new();
        place.open().rights().save(&rights("a")).unwrap();
        place.tamper(&format!("{edit} WHERE {ROW}"));
        assert!(matches!(place.open().rights().load(), Err(SealError::BadMac { .. })), "{edit}");
    }
}

#[test]
fn an_old_copy_is_noticed() {
    let place = Place::new();
    place.open().rights().save(&rights("a")).unwrap();
    place.tamper("CREATE TABLE old AS SELECT * FROM sealed");
    place.open().rights().save(&rights("b")).unwrap();
    place.tamper("INSERT OR REPLACE INTO sealed SELECT * FROM old");
    let error = place.open().rights().load().unwrap_err();
    assert_eq!(error, SealError::OldCopy { record: "rights/window".to_owned(), found: 1, kept: 2 });
}

#[test]
fn a_record_that_was_taken_away_is_noticed() {
    let place = Place::new();
    place.open().rights().save(&rights("a")).unwrap();
    place.tamper(&format!("DELETE FROM sealed WHERE {ROW}"));
    assert!(matches!(place.open().rights().load(), Err(SealError::Gone { .. })));
    // The whole folder emptied is no different.
    for file in ["ledger.db", "ledger.db-wal", "ledger.db-shm"] {
        if place.path(file).exists() {
            std::fs::remove_file(place.path(file)).unwrap();
        }
    }
    assert!(matches!(place.open().rights().load(), Err(SealError::Gone { .. })));
}

#[test]
fn a_record_whose_key_is_gone_or_locked_confers_nothing() {
    let place = Place::new();
    let store = place.open();
    store.rights().save(&rights("a")).unwrap();
    place.secrets.locked.store(true, Ordering::SeqCst);
    assert!(matches!(store.rights().load(), Err(SealError::Locked { .. })));
    assert!(store.rights().save(&rights("b")).is_err());
    place.secrets.locked.store(false, Ordering::SeqCst);
    assert_eq!(store.rights().load(), Ok(Some(rights("a"))));
    place.secrets.restore(std::collections::HashMap::new());
    assert!(matches!(store.rights().load(), Err(SealError::MissingKey { .. })));
}

#[test]
fn a_crash_between_body_and_counter_keeps_the_new_record_and_outdates_the_old() {
    let place = Place::new();
    place.open().rights().save(&rights("a")).unwrap();
    place.tamper("CREATE TABLE old AS SELECT * FROM sealed");
    let before = place.secrets.snapshot();
    place.open().rights().save(&rights("b")).unwrap();
    place.secrets.restore(before);
    assert_eq!(place.open().rights().load(), Ok(Some(rights("b"))));
    place.tamper("INSERT OR REPLACE INTO sealed SELECT * FROM old");
    assert!(matches!(place.open().rights().load(), Err(SealError::OldCopy { .. })));
}

#[test]
fn a_crash_at_the_very_first_save_is_no_loss() {
    // The key was made, the body was not written.
    let place = Place::new();
    place.open().rights().save(&rights("a")).unwrap();
    let key_of_first = place.secrets.snapshot().into_iter().map(|(name, secret)| {
        let text = secret.reveal().split_once(':').map(|(key, _)| format!("{key}:0"));
        (name, text.map_or(secret, gatehouse_model::Secret::new))
    });
    let key_of_first = key_of_first.collect();
    place.secrets.restore(key_of_first);
    place.tamper(&format!("DELETE FROM sealed WHERE {ROW}"));
    assert_eq!(place.open().rights().load(), Ok(None));
    place.open().rights().save(&rights("b")).unwrap();
    assert_eq!(place.open().rights().load(), Ok(Some(rights("b"))));
}

#[test]
fn after_a_cut_short_save_the_next_one_leaves_no_second_valid_copy() {
    let place = Place::new();
    place.open().rights().save(&rights("a")).unwrap();
    let before = place.secrets.snapshot();
    place.open().rights().save(&rights("b")).unwrap();
    place.secrets.restore(before);
    place.tamper("CREATE TABLE cut AS SELECT * FROM sealed");
    place.open().rights().save(&rights("c")).unwrap();
    assert_eq!(place.open().rights().load(), Ok(Some(rights("c"))));
    place.tamper("INSERT OR REPLACE INTO sealed SELECT * FROM cut");
    assert!(matches!(place.open().rights().load(), Err(SealError::OldCopy { .. })));
}

#[test]
fn a_save_that_the_secret_store_refuses_changes_nothing() {
    let place = Place::new();
    let store = place.open();
    store.rights().save(&rights("a")).unwrap();
    place.secrets.read_only.store(true, Ordering::SeqCst);
    assert!(matches!(store.rights().save(&rights("b")), Err(StoreError::Secret(_))));
    place.secrets.read_only.store(false, Ordering::SeqCst);
    drop(store);
    assert_eq!(place.open().rights().load(), Ok(Some(rights("a"))));
}

#[test]
fn a_broken_seal_is_replaced_by_a_new_record_only_where_that_is_meant() {
    let place = Place::new();
    place.open().rights().save(&rights("a")).unwrap();
    place.tamper(&format!("UPDATE sealed SET mac = zeroblob(32) WHERE {ROW}"));
    let refused = place.open().rights().save(&rights("b"));
    assert!(matches!(refused, Err(StoreError::Seal(SealError::BadMac { .. }))));
    assert!(matches!(place.open().rights().load(), Err(SealError::BadMac { .. })));
    place.open().rights().save_anew(&rights("b")).unwrap();
    assert_eq!(place.open().rights().load(), Ok(Some(rights("b"))));
}

#[test]
fn with_secrets_in_memory_rights_last_as_long_as_the_memory() {
    let place = Place::new();
    let with = |secrets| StoreOptions { secrets, ..place.options(Owner::Serve) };
    let memory = gatehouse_store::memory();
    Store::open(with(std::sync::Arc::clone(&memory))).unwrap().rights().save(&rights("a")).unwrap();
    assert_eq!(Store::open(with(memory)).unwrap().rights().load(), Ok(Some(rights("a"))));
    assert_eq!(Store::open(with(gatehouse_store::memory())).unwrap().rights().load(), Ok(None));
}

#[test]
fn one_owner_per_data_folder() {
    let place = Place::new();
    let first = place.open_as(Owner::Serve).unwrap();
    for owner in [Owner::Window, Owner::Serve] {
        match place.open_as(owner) {
            Err(StoreError::DataFolderInUse { holder }) => {
                assert_eq!(holder, format!("serve, process {}", std::process::id()));
            }
            Err(other) => panic!("{other}"),
            Ok(_) => panic!("two owners"),
        }
    }
    drop(first);
    place.open();
}

#[cfg(unix)]
#[test]
fn everything_is_for_the_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let dir = place.path("");
    let set_mode = |path: &std::path::Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    std::fs::create_dir_all(&dir).unwrap();
    set_mode(&dir, 0o700);
    std::fs::write(place.path("servers.json"), "{\"mcpServers\":{}}").unwrap();
    set_mode(&place.path("servers.json"), 0o644);
    drop(place.open());
    // Once the folder is ours it is closed.
    set_mode(&dir, 0o755);
    let store = place.open();
    store.rights().save(&rights("a")).unwrap();
    store.servers().save(&[]).unwrap();
    store.close();
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&dir), 0o700);
    let files: Vec<_> = std::fs::read_dir(&dir).unwrap().map(|file| file.unwrap().path()).collect();
    assert!(files.len() >= 5, "{files:?}");
    for file in files {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
    assert!(place.secrets.kind() == gatehouse_store::SecretKind::Keychain);
}

#[test]
fn a_database_of_a_newer_version_is_refused() {
    let place = Place::new();
    drop(place.open());
    place.tamper("PRAGMA user_version = 99");
    let Err(error) = place.open_as(Owner::Window) else { panic!("opened") };
    assert_eq!(gatehouse_model::Problem::from(error).code, gatehouse_model::ErrorCode::NewerVersion);
}
