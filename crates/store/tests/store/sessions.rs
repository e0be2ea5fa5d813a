//! What sessions of clients need after a restart.

use std::sync::atomic::Ordering;

use gatehouse_model::server::LogLevel;
use gatehouse_model::{ClientEntry, Timestamp};
use gatehouse_store::{Owner, SavedSession, SavedSessionId};

use crate::fixture::{NOW, StoreFixture};

/// 30 days in milliseconds.
const MAX_AGE: i64 = 30 * 24 * 60 * 60 * 1000;

fn client(id: &str, token_sha256: &str) -> ClientEntry {
    ClientEntry {
        id: id.into(),
        name: "Agent".into(),
        token_sha256: token_sha256.into(),
        created: Timestamp(NOW),
        access: gatehouse_model::ClientAccess::Token,
    }
}

fn session(client: &str, nonce: &str, opened: i64) -> SavedSessionId {
    SavedSessionId { client: client.into(), nonce: nonce.into(), opened: Timestamp(opened) }
}

fn state() -> SavedSession {
    SavedSession { log_level: Some(LogLevel::Debug), subscriptions: vec!["a://b".into()] }
}

#[test]
fn seals_ids_for_one_client_token_and_owner() {
    let fixture = StoreFixture::new();
    let seal = |owner| fixture.open_as(owner).unwrap().sessions().seal().unwrap();
    let agent = client("cli-1", "aa");
    let mac = seal(Owner::Window).mac(&agent, "id");
    let window = seal(Owner::Window);
    assert!(window.is_mac_valid(&agent, "id", &mac), "the key is stored");
    assert!(!window.is_mac_valid(&agent, "ie", &mac));
    assert!(!window.is_mac_valid(&agent, "id", &mac[..31]));
    assert!(!window.is_mac_valid(&client("cli-2", "aa"), "id", &mac));
    assert!(!window.is_mac_valid(&client("cli-1", "ab"), "id", &mac), "another token");
    assert!(!seal(Owner::Serve).is_mac_valid(&agent, "id", &mac));
    fixture.secrets.restore(Default::default());
    assert!(!seal(Owner::Window).is_mac_valid(&agent, "id", &mac));
    fixture.secrets.locked.store(true, Ordering::SeqCst);
    assert!(fixture.open().sessions().seal().is_err());
}

#[test]
fn saves_sessions_until_they_end() {
    let fixture = StoreFixture::new();
    let (saved, ended, unsaved) = (session("a", "1", NOW), session("a", "2", NOW), session("a", "3", NOW));
    let store = fixture.open();
    store.sessions().save(&saved, &SavedSession::default()).unwrap();
    store.sessions().save(&saved, &state()).unwrap();
    store.sessions().save(&ended, &state()).unwrap();
    store.sessions().end(&ended).unwrap();
    // Too late: the end is final.
    store.sessions().save(&ended, &state()).unwrap();
    drop(store);
    let store = fixture.open();
    assert_eq!(store.sessions().load(&saved).unwrap(), Some(state()));
    assert_eq!(store.sessions().load(&ended).unwrap(), None);
    assert_eq!(store.sessions().load(&unsaved).unwrap(), Some(SavedSession::default()));
    assert_eq!(store.sessions().load(&session("b", "2", NOW)).unwrap(), Some(SavedSession::default()));
}

#[test]
fn forgets_sessions_after_30_days() {
    let fixture = StoreFixture::new();
    let ended = session("a", "1", NOW);
    fixture.open().sessions().end(&ended).unwrap();
    let unsaved = session("a", "2", NOW);
    for (now, is_resumable) in [(NOW, true), (NOW + MAX_AGE, true), (NOW + MAX_AGE + 1, false)] {
        fixture.clock.0.store(now, Ordering::SeqCst);
        let store = fixture.open();
        assert_eq!(store.sessions().load(&unsaved).unwrap().is_some(), is_resumable);
        assert_eq!(store.sessions().load(&ended).unwrap(), None);
    }
    let rows = rusqlite::Connection::open(fixture.path("sessions.db")).unwrap();
    let count: u32 = rows.query_row("SELECT count(*) FROM sessions", [], |row| row.get(0)).unwrap();
    assert_eq!(count, 0);
}

#[test]
fn limits_sessions_of_a_client_without_resuming_ended_ones() {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    let first = session("a", "first", NOW);
    store.sessions().end(&first).unwrap();
    let other = session("b", "other", NOW);
    store.sessions().save(&other, &state()).unwrap();
    rusqlite::Connection::open(fixture.path("sessions.db"))
        .unwrap()
        .execute(
            "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 9999)
             INSERT INTO sessions (client, nonce, opened) SELECT 'a', n, ?1 + n FROM numbers",
            [NOW],
        )
        .unwrap();
    let unsaved = session("a", "unsaved", NOW);
    assert!(store.sessions().load(&unsaved).unwrap().is_some());
    let last = session("a", "last", NOW + 20_000);
    store.sessions().save(&last, &state()).unwrap();
    // The row of the first is gone, so it can't be told from one that was never saved.
    assert_eq!(store.sessions().load(&first).unwrap(), None);
    assert_eq!(store.sessions().load(&unsaved).unwrap(), None);
    assert_eq!(store.sessions().load(&session("a", "1", NOW + 1)).unwrap(), None);
    assert!(store.sessions().load(&session("a", "unsaved", NOW + 1)).unwrap().is_some());
    assert_eq!(store.sessions().load(&last).unwrap(), Some(state()));
    assert_eq!(store.sessions().load(&other).unwrap(), Some(state()));
}
