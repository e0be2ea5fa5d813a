//! The settings: sealed, and never a reason to forget more than the user wants; and the folder that
//! all is kept in.

use std::sync::atomic::Ordering;

use gatehouse_model::record::CallFilter;
use gatehouse_model::{CallLimits, ErrorCode, Settings, ToolNaming, UserError};
use gatehouse_store::{Owner, SealError, Store};

use crate::activity::record;
use crate::fixture::{NOW, StoreFixture};

const DAY: i64 = 24 * 3600 * 1000;

fn calls(store: &Store) -> usize {
    store.activity().flush();
    store.activity().list(&CallFilter::default()).unwrap().len()
}

#[test]
fn defaults_apply_to_unset_values() {
    let usual = Settings::default();
    assert_eq!((usual.audit_days, usual.activity_days, usual.activity_calls), (None, 90, 1_000_000));
    assert!(usual.mcp_on);
    assert_eq!(StoreFixture::new().open().settings().load().unwrap(), None);
    let partly: Settings = serde_json::from_str(r#"{"mcpOn":false}"#).unwrap();
    assert_eq!(partly, Settings { mcp_on: false, ..usual });
}

#[test]
fn settings_are_sealed_and_applied_at_start() {
    let fixture = StoreFixture::new();
    let set = Settings {
        audit_days: Some(30),
        activity_days: 200,
        activity_calls: 7,
        mcp_on: false,
        packages: Default::default(),
        client_document: Some("https://gatehouse.example/client.json".into()),
        calls: CallLimits { silent_secs: None, cap_secs: Some(9) },
        tool_names: ToolNaming::McpServer,
        allowed_hosts: vec!["host.docker.internal".to_owned()],
        registry: "https://registry.example".into(),
    };
    fixture.open().settings().save(&set).unwrap();
    let store = fixture.open();
    assert_eq!(store.settings().load().unwrap(), Some(set.clone()));
    for index in 0..10 {
        store.activity().record(record(index - 150 * DAY));
    }
    store.activity().flush();
    assert_eq!(calls(&store), 7, "not so old, but more than are kept");
    drop(store);
    fixture.tamper("UPDATE sealed SET body = replace(body, '200', '001') WHERE name LIKE 'settings/%'");
    let store = fixture.open();
    assert!(matches!(store.settings().load(), Err(SealError::BadMac { .. })));
    // One more than would be kept, and far too old: while nobody knows what is set, nothing goes.
    store.activity().record(record(-1000 * DAY));
    assert_eq!(calls(&store), 8);
}

#[test]
fn new_retention_applies_immediately() {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    for days in 0..10 {
        store.activity().record(record(-days * DAY));
    }
    assert_eq!(calls(&store), 10);
    store.activity().keep(gatehouse_store::Retention::from_settings(&Settings {
        activity_days: 3,
        ..Settings::default()
    }));
    assert_eq!(calls(&store), 4);
    fixture.clock.0.store(NOW + 2 * DAY, Ordering::SeqCst);
    store.activity().keep(gatehouse_store::Retention::EVERYTHING);
    assert_eq!(calls(&store), 4);
}

#[cfg(unix)]
#[test]
fn rejects_shared_folder_with_foreign_content() {
    use std::os::unix::fs::PermissionsExt as _;
    let fixture = StoreFixture::new();
    let dir = fixture.path("");
    std::fs::create_dir_all(&dir).unwrap();
    let set_mode = |mode| std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(mode)).unwrap();
    let mode = || std::fs::metadata(&dir).unwrap().permissions().mode() & 0o777;

    set_mode(0o755);
    std::fs::write(dir.join("letters"), "of mine").unwrap();
    let problem = UserError::from(fixture.open_as(Owner::Serve).err().unwrap());
    assert_eq!(problem.code, ErrorCode::Storage);
    assert!(problem.to_string().contains("chmod 700"), "{problem}");
    assert_eq!(mode(), 0o755, "it was not touched");
    set_mode(0o700);
    drop(fixture.open_as(Owner::Serve).unwrap());

    set_mode(0o755);
    drop(fixture.open_as(Owner::Serve).unwrap());
    assert_eq!(mode(), 0o700, "now it is Gatehouse's");

    let empty = StoreFixture::new();
    std::fs::create_dir_all(empty.path("")).unwrap();
    std::fs::set_permissions(empty.path(""), std::fs::Permissions::from_mode(0o755)).unwrap();
    drop(empty.open());
    assert_eq!(std::fs::metadata(empty.path("")).unwrap().permissions().mode() & 0o777, 0o700);
}
