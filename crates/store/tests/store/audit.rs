//! The audit: durable, append-only, and broken where it was touched (PERM-14).

use std::sync::atomic::Ordering;

use gatehouse_model::record::AuditVerdict;
use gatehouse_model::{AuditEvent, ServerId, Timestamp};
use gatehouse_store::{AuditFormat, Owner, Store, StoreOptions};

use crate::place::{NOW, Place};

fn event(name: &str) -> AuditEvent {
    AuditEvent::ServerChanged {
        server: ServerId::new("srv-1"),
        name: name.to_owned(),
        what: "added".to_owned(),
    }
}

fn with_entries(count: u32) -> Place {
    let place = Place::new();
    let store = place.open();
    for index in 1..=count {
        place.clock.0.store(NOW + i64::from(index), Ordering::SeqCst);
        store.audit().append(event(&format!("server {index}"))).unwrap();
    }
    place
}

fn broken_at(place: &Place) -> Option<u64> {
    match place.open().audit().verify().unwrap() {
        AuditVerdict::Whole { .. } => None,
        AuditVerdict::Broken { seq, .. } => Some(seq),
    }
}

#[test]
fn entries_come_back_in_their_order() {
    let place = with_entries(5);
    let store = place.open();
    let seqs = |after, limit| -> Vec<u64> {
        store.audit().list(after, limit).unwrap().iter().map(|entry| entry.seq).collect()
    };
    assert_eq!(seqs(None, 100), [1, 2, 3, 4, 5]);
    assert_eq!(seqs(Some(2), 2), [3, 4]);
    assert_eq!(seqs(Some(5), 2), [] as [u64; 0]);
    let third = &store.audit().list(Some(2), 1).unwrap()[0];
    assert_eq!((third.at, &third.event), (Timestamp(NOW + 3), &event("server 3")));
    assert_eq!(store.audit().verify().unwrap(), AuditVerdict::Whole { entries: 5 });
}

#[test]
fn an_empty_audit_is_whole() {
    assert_eq!(Place::new().open().audit().verify().unwrap(), AuditVerdict::Whole { entries: 0 });
}

#[test]
fn tampering_with_any_entry_is_found_there() {
    for seq in 1..=4 {
        for edit in [
            "UPDATE audit SET event = replace(event, 'added', 'removed') WHERE seq = ",
            "UPDATE audit SET at = at + 1 WHERE seq = ",
            "UPDATE audit SET hash = zeroblob(32) WHERE seq = ",
            "UPDATE audit SET mac = zeroblob(32) WHERE seq = ",
            "UPDATE audit SET mac = NULL WHERE seq = ",
            "UPDATE audit SET event = x'ff', at = 'never' WHERE seq = ",
            "DELETE FROM audit WHERE seq = ",
        ] {
            let place = with_entries(4);
            place.tamper(&format!("{edit}{seq}"));
            assert_eq!(broken_at(&place), Some(seq), "{edit}{seq}");
        }
    }
}

#[test]
fn a_cut_tail_a_moved_head_and_a_forged_entry_are_found() {
    for (edit, seq) in [
        ("DELETE FROM audit WHERE seq > 2", 3),
        ("DELETE FROM audit", 1),
        (
            "DELETE FROM audit WHERE seq > 2; UPDATE audit_head SET seq = 2, hash = (SELECT hash FROM audit WHERE seq = 2)",
            2,
        ),
        ("DELETE FROM audit; UPDATE audit_head SET seq = 0, hash = zeroblob(32), mac = NULL", 1),
        ("DELETE FROM audit; DELETE FROM audit_head", 1),
        ("UPDATE audit_head SET mac = NULL", 4),
        ("UPDATE audit_head SET mac = zeroblob(32)", 4),
        (
            "UPDATE audit_head SET base_seq = 2, base_hash = (SELECT hash FROM audit WHERE seq = 2); DELETE FROM audit WHERE seq <= 2",
            4,
        ),
        ("INSERT INTO audit SELECT 5, at, event, hash, mac FROM audit WHERE seq = 4", 5),
        ("UPDATE audit SET seq = 9 WHERE seq = 2", 2),
    ] {
        let place = with_entries(4);
        place.tamper(edit);
        assert_eq!(broken_at(&place), Some(seq), "{edit}");
        // Going on does not mend it.
        place.open().audit().append(event("later")).unwrap();
        assert!(broken_at(&place).is_some_and(|found| found <= seq + 1), "{edit}");
    }
}

#[test]
fn what_is_changed_under_a_running_gatehouse_is_not_mended_either() {
    let place = with_entries(2);
    let store = place.open();
    store.audit().append(event("three")).unwrap();
    place.tamper(
        "CREATE TABLE old AS SELECT * FROM audit_head;
         DELETE FROM audit WHERE seq = 3;
         UPDATE audit_head SET seq = 2, hash = (SELECT hash FROM audit WHERE seq = 2)",
    );
    store.audit().append(event("four")).unwrap();
    assert!(matches!(store.audit().verify().unwrap(), AuditVerdict::Broken { seq: 3, .. }));
}

#[test]
fn a_locked_secret_store_hides_no_cut_tail() {
    let place = with_entries(4);
    place.tamper(
        "DELETE FROM audit WHERE seq > 2;
         UPDATE audit_head SET seq = 2, hash = (SELECT hash FROM audit WHERE seq = 2)",
    );
    place.secrets.locked.store(true, Ordering::SeqCst);
    let store = place.open();
    store.audit().append(event("three again")).unwrap();
    place.secrets.locked.store(false, Ordering::SeqCst);
    store.audit().append(event("four again")).unwrap();
    assert!(matches!(store.audit().verify().unwrap(), AuditVerdict::Broken { seq: 3, .. }));
}

#[test]
fn the_database_itself_refuses_to_change_or_drop_entries() {
    let place = with_entries(3);
    let ledger = rusqlite::Connection::open(place.path("ledger.db")).unwrap();
    for sql in ["UPDATE audit SET event = '{}' WHERE seq = 1", "DELETE FROM audit WHERE seq = 3"] {
        assert!(ledger.execute(sql, []).is_err(), "{sql}");
    }
}

#[test]
fn while_the_secret_store_is_locked_entries_are_kept_and_sealed_later() {
    let place = Place::new();
    place.secrets.locked.store(true, Ordering::SeqCst);
    let store = place.open();
    store.audit().append(event("one")).unwrap();
    store.audit().append(event("two")).unwrap();
    assert!(store.audit().verify().is_err());
    place.secrets.locked.store(false, Ordering::SeqCst);
    store.audit().append(event("three")).unwrap();
    assert_eq!(store.audit().verify().unwrap(), AuditVerdict::Whole { entries: 3 });
}

#[test]
fn unsealed_entries_of_another_process_stay_broken() {
    let place = with_entries(1);
    place.secrets.locked.store(true, Ordering::SeqCst);
    place.open().audit().append(event("nobody knows who")).unwrap();
    place.secrets.locked.store(false, Ordering::SeqCst);
    place.open().audit().append(event("three")).unwrap();
    assert_eq!(broken_at(&place), Some(2));
}

#[test]
fn with_secrets_in_memory_the_chain_goes_on_over_restarts() {
    let place = Place::new();
    let with = || StoreOptions { secrets: gatehouse_store::memory(), ..place.options(Owner::Serve) };
    for name in ["one", "two", "three"] {
        let store = Store::open(with()).unwrap();
        store.audit().append(event(name)).unwrap();
        assert!(matches!(store.audit().verify().unwrap(), AuditVerdict::Whole { .. }), "{name}");
    }
    place.tamper("UPDATE audit SET event = replace(event, 'added', 'removed') WHERE seq = 2");
    let verdict = Store::open(with()).unwrap().audit().verify().unwrap();
    assert!(matches!(verdict, AuditVerdict::Broken { seq: 2, .. }), "{verdict:?}");
}

#[test]
fn retention_drops_the_oldest_and_the_chain_stays_whole() {
    let place = with_entries(5);
    let store = place.open();
    assert_eq!(store.audit().forget_before(Timestamp(NOW + 4)).unwrap(), 3);
    assert_eq!(store.audit().forget_before(Timestamp(NOW + 4)).unwrap(), 0);
    assert_eq!(store.audit().verify().unwrap(), AuditVerdict::Whole { entries: 2 });
    store.audit().append(event("six")).unwrap();
    assert_eq!(store.audit().forget_before(Timestamp(i64::MAX)).unwrap(), 3);
    assert_eq!(store.audit().verify().unwrap(), AuditVerdict::Whole { entries: 0 });
    store.audit().append(event("seven")).unwrap();
    assert_eq!(store.audit().list(None, 9).unwrap()[0].seq, 7);
    drop(store);
    assert_eq!(broken_at(&place), None);
    place.tamper("UPDATE audit SET at = 0");
    assert_eq!(broken_at(&place), Some(7));
}

fn without_names(event: &mut AuditEvent) {
    if let AuditEvent::ServerChanged { name, .. } = event {
        name.clear();
    }
}

#[test]
fn exports() {
    let place = Place::new();
    let store = place.open();
    store.audit().append(event("a, \"b\"\nc")).unwrap();
    store.audit().append(AuditEvent::Paused { paused: true }).unwrap();
    let hash = |index: usize| store.audit().list(None, 9).unwrap()[index].hash.clone();
    assert_eq!(
        store.audit().export(AuditFormat::Csv, None).unwrap(),
        format!(
            "seq,at,time,kind,details,hash\r\n\
             1,{NOW},2026-05-28T20:26:40Z,\"server_changed\",\"{{\"\"audit\"\":\"\"server_changed\"\",\"\"server\"\":\"\"srv-1\"\",\"\"name\"\":\"\"a, \\\"\"b\\\"\"\\nc\"\",\"\"what\"\":\"\"added\"\"}}\",{}\r\n\
             2,{NOW},2026-05-28T20:26:40Z,\"paused\",\"{{\"\"audit\"\":\"\"paused\"\",\"\"paused\"\":true}}\",{}\r\n",
            hash(0),
            hash(1)
        )
    );
    let lines = store.audit().export(AuditFormat::JsonLines, None).unwrap();
    let read: Vec<gatehouse_model::AuditEntry> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(read, store.audit().list(None, 9).unwrap());
    for format in [AuditFormat::Csv, AuditFormat::JsonLines] {
        let text = store.audit().export(format, Some(without_names)).unwrap();
        assert!(!text.contains("a, ") && text.contains("paused") && text.contains(&hash(0)), "{text}");
    }
}

/// The entries and the head as they are now, to put back later; and the way back.
const KEEP: &str =
    "CREATE TABLE old_audit AS SELECT * FROM audit; CREATE TABLE old_head AS SELECT * FROM audit_head";
const PUT_BACK: &str = "DELETE FROM audit; INSERT INTO audit SELECT * FROM old_audit;
    DELETE FROM audit_head; INSERT INTO audit_head SELECT * FROM old_head";

fn started() -> AuditEvent {
    AuditEvent::Lifecycle { what: "started".into() }
}

#[test]
fn a_tail_that_is_cut_together_with_its_head_is_missed() {
    let place = with_entries(4);
    place.tamper(KEEP);
    let store = place.open();
    for index in 5..=8 {
        store.audit().append(event(&format!("server {index}"))).unwrap();
    }
    store.audit().append(started()).unwrap();
    drop(store);
    place.tamper(PUT_BACK);
    assert_eq!(broken_at(&place), Some(5));
    let store = place.open();
    store.audit().append(started()).unwrap();
    assert_eq!(store.audit().lost(), Some(5));
    for index in 0..30 {
        store.audit().append(event(&format!("later {index}"))).unwrap();
    }
    drop(store);
    assert_eq!(broken_at(&place), Some(5), "going on mended it");
    let store = place.open();
    store.audit().append(started()).unwrap();
    assert_eq!(store.audit().lost(), Some(5), "a restart forgot it");
    store.audit().acknowledge().unwrap();
    drop(store);
    let store = place.open();
    store.audit().append(started()).unwrap();
    assert_eq!(store.audit().lost(), None);
    drop(store);
    assert_eq!(broken_at(&place), Some(5), "the gap stays in the chain");
}

#[test]
fn without_a_stop_at_most_the_entries_since_the_last_mark_can_be_cut() {
    let place = with_entries(20);
    place.tamper(KEEP);
    let store = place.open();
    for index in 0..9 {
        store.audit().append(event(&format!("more {index}"))).unwrap();
    }
    drop(store);
    place.tamper(PUT_BACK);
    assert_eq!(broken_at(&place), Some(21));
}

#[test]
fn a_mark_that_lags_after_a_crash_is_no_cut() {
    let place = with_entries(20);
    let store = place.open();
    place.secrets.locked.store(true, Ordering::SeqCst);
    for index in 0..20 {
        store.audit().append(event(&format!("more {index}"))).unwrap();
    }
    place.secrets.locked.store(false, Ordering::SeqCst);
    store.audit().append(event("unlocked")).unwrap();
    drop(store);
    assert_eq!(broken_at(&place), None);
    assert_eq!(place.open().audit().lost(), None);
}

#[test]
fn retention_past_the_mark_is_no_cut() {
    let place = with_entries(20);
    let store = place.open();
    assert_eq!(store.audit().forget_before(Timestamp(NOW + 19)).unwrap(), 18);
    drop(store);
    assert_eq!(broken_at(&place), None);
    let store = place.open();
    store.audit().append(started()).unwrap();
    assert_eq!(
        (store.audit().lost(), store.audit().verify().unwrap()),
        (None, AuditVerdict::Whole { entries: 3 })
    );
}

#[test]
fn a_tail_that_was_cut_while_the_secret_store_was_locked_is_missed() {
    let place = with_entries(9);
    place.tamper(KEEP);
    let store = place.open();
    store.audit().append(event("ten")).unwrap();
    store.audit().append(started()).unwrap();
    drop(store);
    place.tamper(PUT_BACK);
    place.secrets.locked.store(true, Ordering::SeqCst);
    let store = place.open();
    store.audit().append(event("ten again")).unwrap();
    store.audit().append(event("eleven again")).unwrap();
    place.secrets.locked.store(false, Ordering::SeqCst);
    store.audit().append(event("unlocked")).unwrap();
    assert!(matches!(store.audit().verify().unwrap(), AuditVerdict::Broken { seq: 10, .. }));
    assert!(store.audit().lost().is_some());
}

#[test]
fn nothing_waits_for_a_secret_store_that_does_not_answer() {
    let place = with_entries(1);
    let store = place.open();
    store.audit().append(event("two")).unwrap();
    store.close();
    let before = place.secrets.snapshot();
    let prompt = place.secrets.prompt.lock();
    for index in 3..=40 {
        assert_eq!(store.audit().append(event(&format!("server {index}"))).unwrap().seq, index);
    }
    assert_eq!(store.audit().verify().unwrap(), AuditVerdict::Whole { entries: 40 });
    let begun = std::time::Instant::now();
    store.close();
    assert!(begun.elapsed() < std::time::Duration::from_secs(20), "the stop waits without end");
    assert!(place.secrets.snapshot() == before, "it answered");
    drop(prompt);
    store.close();
    assert!(place.secrets.snapshot() != before, "the mark came when it was unlocked");
    drop(store);
    assert_eq!(broken_at(&place), None);
}

#[test]
fn a_stop_keeps_how_far_the_audit_came() {
    let place = with_entries(4);
    place.tamper(KEEP);
    let store = place.open();
    for index in 5..=7 {
        store.audit().append(event(&format!("server {index}"))).unwrap();
    }
    store.audit().append(AuditEvent::Lifecycle { what: "stopped".into() }).unwrap();
    store.close();
    // The process ends here without its destructors.
    let kept = place.secrets.snapshot();
    drop(store);
    place.secrets.restore(kept);
    place.tamper(PUT_BACK);
    assert_eq!(broken_at(&place), Some(5));
}

#[test]
fn a_mark_that_could_not_be_written_is_written_with_the_next_entry() {
    let place = with_entries(1);
    place.tamper(KEEP);
    let store = place.open();
    store.close();
    place.secrets.read_only.store(true, Ordering::SeqCst);
    store.audit().append(event("two")).unwrap();
    store.close();
    place.secrets.read_only.store(false, Ordering::SeqCst);
    store.audit().append(event("three")).unwrap();
    drop(store);
    place.tamper(PUT_BACK);
    assert_eq!(broken_at(&place), Some(2));
}

#[test]
fn an_acknowledgement_that_is_refused_changes_nothing() {
    let place = with_entries(4);
    place.tamper(KEEP);
    let store = place.open();
    store.audit().append(started()).unwrap();
    drop(store);
    place.tamper(PUT_BACK);
    let store = place.open();
    store.audit().append(started()).unwrap();
    store.close();
    place.secrets.read_only.store(true, Ordering::SeqCst);
    assert!(store.audit().acknowledge().is_err());
    assert_eq!(store.audit().lost(), Some(5));
    place.secrets.read_only.store(false, Ordering::SeqCst);
    store.audit().acknowledge().unwrap();
    assert_eq!(store.audit().lost(), None);
}
