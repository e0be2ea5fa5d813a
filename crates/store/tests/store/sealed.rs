//! Sealed records: what is believed after edits, old copies, crashes and locks (PERM-16).

use std::sync::atomic::Ordering;

use gatehouse_model::ServerBinding;
use gatehouse_model::ServerId;
use gatehouse_model::grant::StoredPermissions;
use gatehouse_model::id::Generation;
use gatehouse_store::{Owner, SealError, SecretStore, Store, StoreError, StoreOptions};

use crate::fixture::StoreFixture;

fn permissions(server: &str) -> StoredPermissions {
    let trusted =
        ServerBinding { server: ServerId::new(server), generation: Generation(1), identity: "i".into() };
    StoredPermissions { trusted_labels: vec![trusted], ..StoredPermissions::default() }
}

const ROW: &str = "name = 'rights/window'";

#[test]
fn saved_record_survives_restart() {
    let fixture = StoreFixture::new();
    assert_eq!(fixture.open().permissions().load(), Ok(None));
    fixture.open().permissions().save(&permissions("a")).unwrap();
    fixture.open().permissions().save(&permissions("b")).unwrap();
    assert_eq!(fixture.open().permissions().load(), Ok(Some(permissions("b"))));
}

/// As it was stored before a grant could have several versions of a tool.
#[test]
fn reads_and_keeps_permissions_with_one_version_of_each_tool() {
    let stored: serde_json::Value =
        serde_json::from_str(include_str!("permissions-with-single-versions.json")).unwrap();
    let permissions: StoredPermissions = serde_json::from_value(stored.clone()).unwrap();
    let pins = &permissions.rules[0].pins;
    assert!(pins["search"].contains(&"f-search".into()) && !pins["search"].contains(&"f-review".into()));
    let fixture = StoreFixture::new();
    fixture.open().permissions().save(&permissions).unwrap();
    let loaded = fixture.open().permissions().load().unwrap().unwrap();
    assert_eq!(serde_json::to_value(&loaded).unwrap(), stored);

    // With two versions, too, the seal covers each of them.
    let mut varying = loaded;
    let mut latest = gatehouse_model::ApprovedVersions::from(gatehouse_model::Fingerprint::from("f-other"));
    latest.add_earlier(&varying.rules[0].pins["search"]);
    varying.rules[0].pins.insert("search".to_owned(), latest);
    fixture.open().permissions().save(&varying).unwrap();
    assert_eq!(fixture.open().permissions().load(), Ok(Some(varying)));
    fixture.tamper(&format!("UPDATE sealed SET body = replace(body, 'f-other', 'f-agent') WHERE {ROW}"));
    assert!(matches!(fixture.open().permissions().load(), Err(SealError::BadMac { .. })));
}

#[test]
fn records_of_serve_are_invalid_for_window() {
    let fixture = StoreFixture::new();
    fixture.open_as(Owner::Serve).unwrap().permissions().save(&permissions("a")).unwrap();
    assert_eq!(fixture.open().permissions().load(), Ok(None));
    // Nor when somebody moves the record over.
    fixture.open().permissions().save(&permissions("b")).unwrap();
    fixture.tamper(
        "UPDATE sealed SET (counter, body, mac) =
            (SELECT counter, body, mac FROM sealed WHERE name = 'rights/serve') WHERE name = 'rights/window'",
    );
    assert!(matches!(fixture.open().permissions().load(), Err(SealError::BadMac { .. })));
}

#[test]
fn rejects_edited_record() {
    for edit in [
        "UPDATE sealed SET body = replace(body, '\"a\"', '\"x\"')",
        "UPDATE sealed SET counter = counter + 1",
        "UPDATE sealed SET mac = zeroblob(32)",
        "UPDATE sealed SET mac = x''",
        "UPDATE sealed SET body = CAST(replace(body, '\"a\"', '\"x\"') AS BLOB)",
        "UPDATE sealed SET counter = -1",
        "UPDATE sealed SET counter = 'one'",
    ] {
        let fixture = StoreFixture::new();
        fixture.open().permissions().save(&permissions("a")).unwrap();
        fixture.tamper(&format!("{edit} WHERE {ROW}"));
        assert!(matches!(fixture.open().permissions().load(), Err(SealError::BadMac { .. })), "{edit}");
    }
}

#[test]
fn rejects_old_copy() {
    let fixture = StoreFixture::new();
    fixture.open().permissions().save(&permissions("a")).unwrap();
    fixture.tamper("CREATE TABLE old AS SELECT * FROM sealed");
    fixture.open().permissions().save(&permissions("b")).unwrap();
    fixture.tamper("INSERT OR REPLACE INTO sealed SELECT * FROM old");
    let error = fixture.open().permissions().load().unwrap_err();
    assert_eq!(error, SealError::OldCopy { record: "rights/window".to_owned(), found: 1, kept: 2 });
}

#[test]
fn rejects_removed_record() {
    let fixture = StoreFixture::new();
    fixture.open().permissions().save(&permissions("a")).unwrap();
    fixture.tamper(&format!("DELETE FROM sealed WHERE {ROW}"));
    assert!(matches!(fixture.open().permissions().load(), Err(SealError::Gone { .. })));
    // The whole folder emptied is no different.
    for file in ["ledger.db", "ledger.db-wal", "ledger.db-shm"] {
        if fixture.path(file).exists() {
            std::fs::remove_file(fixture.path(file)).unwrap();
        }
    }
    assert!(matches!(fixture.open().permissions().load(), Err(SealError::Gone { .. })));
}

#[test]
fn rejects_record_with_missing_or_locked_key() {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    store.permissions().save(&permissions("a")).unwrap();
    fixture.secrets.locked.store(true, Ordering::SeqCst);
    assert!(matches!(store.permissions().load(), Err(SealError::Locked { .. })));
    assert!(store.permissions().save(&permissions("b")).is_err());
    fixture.secrets.locked.store(false, Ordering::SeqCst);
    assert_eq!(store.permissions().load(), Ok(Some(permissions("a"))));
    fixture.secrets.restore(std::collections::HashMap::new());
    assert!(matches!(store.permissions().load(), Err(SealError::MissingKey { .. })));
}

#[test]
fn crash_between_body_and_counter_keeps_new_record() {
    let fixture = StoreFixture::new();
    fixture.open().permissions().save(&permissions("a")).unwrap();
    fixture.tamper("CREATE TABLE old AS SELECT * FROM sealed");
    let before = fixture.secrets.snapshot();
    fixture.open().permissions().save(&permissions("b")).unwrap();
    fixture.secrets.restore(before);
    assert_eq!(fixture.open().permissions().load(), Ok(Some(permissions("b"))));
    fixture.tamper("INSERT OR REPLACE INTO sealed SELECT * FROM old");
    assert!(matches!(fixture.open().permissions().load(), Err(SealError::OldCopy { .. })));
}

#[test]
fn recovers_from_crash_in_first_save() {
    // The key was made, the body was not written.
    let fixture = StoreFixture::new();
    fixture.open().permissions().save(&permissions("a")).unwrap();
    let key_of_first = fixture.secrets.snapshot().into_iter().map(|(name, secret)| {
        let text = secret.reveal().split_once(':').map(|(key, _)| format!("{key}:0"));
        (name, text.map_or(secret, gatehouse_model::Secret::new))
    });
    let key_of_first = key_of_first.collect();
    fixture.secrets.restore(key_of_first);
    fixture.tamper(&format!("DELETE FROM sealed WHERE {ROW}"));
    assert_eq!(fixture.open().permissions().load(), Ok(None));
    fixture.open().permissions().save(&permissions("b")).unwrap();
    assert_eq!(fixture.open().permissions().load(), Ok(Some(permissions("b"))));
}

#[test]
fn interrupted_save_leaves_no_second_valid_copy() {
    let fixture = StoreFixture::new();
    fixture.open().permissions().save(&permissions("a")).unwrap();
    let before = fixture.secrets.snapshot();
    fixture.open().permissions().save(&permissions("b")).unwrap();
    fixture.secrets.restore(before);
    fixture.tamper("CREATE TABLE cut AS SELECT * FROM sealed");
    fixture.open().permissions().save(&permissions("c")).unwrap();
    assert_eq!(fixture.open().permissions().load(), Ok(Some(permissions("c"))));
    fixture.tamper("INSERT OR REPLACE INTO sealed SELECT * FROM cut");
    assert!(matches!(fixture.open().permissions().load(), Err(SealError::OldCopy { .. })));
}

#[test]
fn failed_save_changes_nothing() {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    store.permissions().save(&permissions("a")).unwrap();
    fixture.secrets.read_only.store(true, Ordering::SeqCst);
    assert!(matches!(store.permissions().save(&permissions("b")), Err(StoreError::Secret(_))));
    fixture.secrets.read_only.store(false, Ordering::SeqCst);
    drop(store);
    assert_eq!(fixture.open().permissions().load(), Ok(Some(permissions("a"))));
}

#[test]
fn only_overwrite_replaces_broken_seal() {
    let fixture = StoreFixture::new();
    fixture.open().permissions().save(&permissions("a")).unwrap();
    fixture.tamper(&format!("UPDATE sealed SET mac = zeroblob(32) WHERE {ROW}"));
    let refused = fixture.open().permissions().save(&permissions("b"));
    assert!(matches!(refused, Err(StoreError::Seal(SealError::BadMac { .. }))));
    assert!(matches!(fixture.open().permissions().load(), Err(SealError::BadMac { .. })));
    fixture.open().permissions().overwrite(&permissions("b")).unwrap();
    assert_eq!(fixture.open().permissions().load(), Ok(Some(permissions("b"))));
}

#[test]
fn memory_secrets_keep_records_for_their_lifetime() {
    let fixture = StoreFixture::new();
    let with = |secrets| StoreOptions { secrets, ..fixture.options(Owner::Serve) };
    let memory = gatehouse_store::memory();
    Store::open(with(std::sync::Arc::clone(&memory))).unwrap().permissions().save(&permissions("a")).unwrap();
    assert_eq!(Store::open(with(memory)).unwrap().permissions().load(), Ok(Some(permissions("a"))));
    assert_eq!(Store::open(with(gatehouse_store::memory())).unwrap().permissions().load(), Ok(None));
}

#[test]
fn rejects_second_owner_of_data_folder() {
    let fixture = StoreFixture::new();
    let first = fixture.open_as(Owner::Serve).unwrap();
    for owner in [Owner::Window, Owner::Serve] {
        match fixture.open_as(owner) {
            Err(StoreError::DataFolderInUse { holder }) => {
                assert_eq!(holder, Some(format!("serve, process {}", std::process::id())));
            }
            Err(other) => panic!("{other}"),
            Ok(_) => panic!("two owners"),
        }
    }
    drop(first);
    fixture.open();
}

#[cfg(unix)]
#[test]
fn restricts_files_to_owner() {
    use std::os::unix::fs::PermissionsExt;
    let fixture = StoreFixture::new();
    let dir = fixture.path("");
    let set_mode = |path: &std::path::Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    std::fs::create_dir_all(&dir).unwrap();
    set_mode(&dir, 0o700);
    std::fs::write(fixture.path("servers.json"), "{\"mcpServers\":{}}").unwrap();
    set_mode(&fixture.path("servers.json"), 0o644);
    drop(fixture.open());
    // Once the folder is ours it is closed.
    set_mode(&dir, 0o755);
    let store = fixture.open();
    store.permissions().save(&permissions("a")).unwrap();
    store.servers().save(&[]).unwrap();
    store.close();
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&dir), 0o700);
    let files: Vec<_> = std::fs::read_dir(&dir).unwrap().map(|file| file.unwrap().path()).collect();
    assert!(files.len() >= 5, "{files:?}");
    for file in files {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
    assert!(fixture.secrets.kind() == gatehouse_store::SecretStoreKind::Keychain);
}

#[test]
fn rejects_database_of_newer_version() {
    let fixture = StoreFixture::new();
    drop(fixture.open());
    fixture.tamper("PRAGMA user_version = 99");
    let Err(error) = fixture.open_as(Owner::Window) else { panic!("opened") };
    assert_eq!(gatehouse_model::UserError::from(error).code, gatehouse_model::ErrorCode::NewerVersion);
}
