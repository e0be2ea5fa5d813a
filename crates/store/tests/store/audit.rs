//! The audit: durable, append-only, and broken where it was touched (PERM-14).

use std::cell::Cell;
use std::sync::atomic::Ordering;

use gatehouse_model::record::AuditVerdict;
use gatehouse_model::{AuditEvent, ServerId, Timestamp};
use gatehouse_store::{AuditFormat, Owner, Store, StoreOptions};

use crate::fixture::{NOW, StoreFixture};

fn event(name: &str) -> AuditEvent {
    AuditEvent::ServerChanged {
        server: ServerId::new("srv-1"),
        name: name.to_owned(),
        what: "added".to_owned(),
    }
}

fn with_entries(count: u32) -> StoreFixture {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    for index in 1..=count {
        fixture.clock.0.store(NOW + i64::from(index), Ordering::SeqCst);
        store.audit().append(event(&format!("server {index}"))).unwrap();
    }
    fixture
}

/// What a verification that nobody cancels says.
fn verdict(store: &Store) -> AuditVerdict {
    store.audit().verify(&|| false).unwrap().unwrap()
}

fn broken_at(fixture: &StoreFixture) -> Option<u64> {
    match verdict(&fixture.open()) {
        AuditVerdict::Whole { .. } => None,
        AuditVerdict::Broken { seq, .. } => Some(seq),
    }
}

#[test]
fn lists_entries_in_order() {
    let fixture = with_entries(5);
    let store = fixture.open();
    let seqs = |after, limit| -> Vec<u64> {
        store.audit().list(after, limit).unwrap().iter().map(|entry| entry.seq).collect()
    };
    assert_eq!(seqs(None, 100), [1, 2, 3, 4, 5]);
    assert_eq!(seqs(Some(2), 2), [3, 4]);
    assert_eq!(seqs(Some(5), 2), [] as [u64; 0]);
    let third = &store.audit().list(Some(2), 1).unwrap()[0];
    assert_eq!((third.at, &third.event), (Timestamp(NOW + 3), &event("server 3")));
    assert_eq!(verdict(&store), AuditVerdict::Whole { entries: 5 });
}

#[test]
fn empty_audit_verifies() {
    assert_eq!(verdict(&StoreFixture::new().open()), AuditVerdict::Whole { entries: 0 });
}

#[test]
fn detects_tampering_at_the_entry() {
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
            let fixture = with_entries(4);
            fixture.tamper(&format!("{edit}{seq}"));
            assert_eq!(broken_at(&fixture), Some(seq), "{edit}{seq}");
        }
    }
}

#[test]
fn detects_cut_tail_moved_head_and_forged_entry() {
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
        let fixture = with_entries(4);
        fixture.tamper(edit);
        assert_eq!(broken_at(&fixture), Some(seq), "{edit}");
        // Going on does not mend it.
        fixture.open().audit().append(event("later")).unwrap();
        assert!(broken_at(&fixture).is_some_and(|found| found <= seq + 1), "{edit}");
    }
}

#[test]
fn append_does_not_repair_tampering_while_running() {
    let fixture = with_entries(2);
    let store = fixture.open();
    store.audit().append(event("three")).unwrap();
    fixture.tamper(
        "CREATE TABLE old AS SELECT * FROM audit_head;
         DELETE FROM audit WHERE seq = 3;
         UPDATE audit_head SET seq = 2, hash = (SELECT hash FROM audit WHERE seq = 2)",
    );
    store.audit().append(event("four")).unwrap();
    assert!(matches!(verdict(&store), AuditVerdict::Broken { seq: 3, .. }));
}

#[test]
fn detects_cut_tail_after_locked_secret_store() {
    let fixture = with_entries(4);
    fixture.tamper(
        "DELETE FROM audit WHERE seq > 2;
         UPDATE audit_head SET seq = 2, hash = (SELECT hash FROM audit WHERE seq = 2)",
    );
    fixture.secrets.locked.store(true, Ordering::SeqCst);
    let store = fixture.open();
    store.audit().append(event("three again")).unwrap();
    fixture.secrets.locked.store(false, Ordering::SeqCst);
    store.audit().append(event("four again")).unwrap();
    assert!(matches!(verdict(&store), AuditVerdict::Broken { seq: 3, .. }));
}

#[test]
fn triggers_reject_update_and_delete() {
    let fixture = with_entries(3);
    let ledger = rusqlite::Connection::open(fixture.path("ledger.db")).unwrap();
    for sql in ["UPDATE audit SET event = '{}' WHERE seq = 1", "DELETE FROM audit WHERE seq = 3"] {
        assert!(ledger.execute(sql, []).is_err(), "{sql}");
    }
}

#[test]
fn seals_entries_after_secret_store_is_unlocked() {
    let fixture = StoreFixture::new();
    fixture.secrets.locked.store(true, Ordering::SeqCst);
    let store = fixture.open();
    store.audit().append(event("one")).unwrap();
    store.audit().append(event("two")).unwrap();
    assert!(store.audit().verify(&|| false).is_err());
    fixture.secrets.locked.store(false, Ordering::SeqCst);
    store.audit().append(event("three")).unwrap();
    assert_eq!(verdict(&store), AuditVerdict::Whole { entries: 3 });
}

#[test]
fn does_not_seal_entries_of_another_process() {
    let fixture = with_entries(1);
    fixture.secrets.locked.store(true, Ordering::SeqCst);
    fixture.open().audit().append(event("nobody knows who")).unwrap();
    fixture.secrets.locked.store(false, Ordering::SeqCst);
    fixture.open().audit().append(event("three")).unwrap();
    assert_eq!(broken_at(&fixture), Some(2));
}

#[test]
fn chain_survives_restarts_with_memory_secrets() {
    let fixture = StoreFixture::new();
    let with = || StoreOptions { secrets: gatehouse_store::memory(), ..fixture.options(Owner::Serve) };
    for name in ["one", "two", "three"] {
        let store = Store::open(with()).unwrap();
        store.audit().append(event(name)).unwrap();
        assert!(matches!(verdict(&store), AuditVerdict::Whole { .. }), "{name}");
    }
    fixture.tamper("UPDATE audit SET event = replace(event, 'added', 'removed') WHERE seq = 2");
    let verdict = verdict(&Store::open(with()).unwrap());
    assert!(matches!(verdict, AuditVerdict::Broken { seq: 2, .. }), "{verdict:?}");
}

/// Cancelled between two entries, neither says anything, and the next one reads all of them.
#[test]
fn cancelled_verification_and_export_say_nothing() {
    let fixture = with_entries(5);
    let store = fixture.open();
    for stops_after in 0..5 {
        let cancelled_after = || {
            let read = Cell::new(0);
            move || read.replace(read.get() + 1) >= stops_after
        };
        assert_eq!(store.audit().verify(&cancelled_after()).unwrap(), None);
        let text = store.audit().export(AuditFormat::Csv, None, &cancelled_after()).unwrap();
        assert_eq!(text, None);
    }
    assert_eq!(verdict(&store), AuditVerdict::Whole { entries: 5 });
}

#[test]
fn retention_keeps_chain_valid() {
    let fixture = with_entries(5);
    let store = fixture.open();
    assert_eq!(store.audit().forget_before(Timestamp(NOW + 4)).unwrap(), 3);
    assert_eq!(store.audit().forget_before(Timestamp(NOW + 4)).unwrap(), 0);
    assert_eq!(verdict(&store), AuditVerdict::Whole { entries: 2 });
    store.audit().append(event("six")).unwrap();
    assert_eq!(store.audit().forget_before(Timestamp(i64::MAX)).unwrap(), 3);
    assert_eq!(verdict(&store), AuditVerdict::Whole { entries: 0 });
    store.audit().append(event("seven")).unwrap();
    assert_eq!(store.audit().list(None, 9).unwrap()[0].seq, 7);
    drop(store);
    assert_eq!(broken_at(&fixture), None);
    fixture.tamper("UPDATE audit SET at = 0");
    assert_eq!(broken_at(&fixture), Some(7));
}

fn without_names(event: &mut AuditEvent) {
    if let AuditEvent::ServerChanged { name, .. } = event {
        name.clear();
    }
}

#[test]
fn exports_csv_and_json_lines() {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    store.audit().append(event("a, \"b\"\nc")).unwrap();
    store.audit().append(AuditEvent::Paused { paused: true }).unwrap();
    let hash = |index: usize| store.audit().list(None, 9).unwrap()[index].hash.clone();
    assert_eq!(
        store.audit().export(AuditFormat::Csv, None, &|| false).unwrap().unwrap(),
        format!(
            "seq,at,time,kind,details,hash\r\n\
             1,{NOW},2026-05-28T20:26:40Z,\"server_changed\",\"{{\"\"audit\"\":\"\"server_changed\"\",\"\"server\"\":\"\"srv-1\"\",\"\"name\"\":\"\"a, \\\"\"b\\\"\"\\nc\"\",\"\"what\"\":\"\"added\"\"}}\",{}\r\n\
             2,{NOW},2026-05-28T20:26:40Z,\"paused\",\"{{\"\"audit\"\":\"\"paused\"\",\"\"paused\"\":true}}\",{}\r\n",
            hash(0),
            hash(1)
        )
    );
    let lines = store.audit().export(AuditFormat::JsonLines, None, &|| false).unwrap().unwrap();
    let read: Vec<gatehouse_model::AuditEntry> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(read, store.audit().list(None, 9).unwrap());
    for format in [AuditFormat::Csv, AuditFormat::JsonLines] {
        let text = store.audit().export(format, Some(without_names), &|| false).unwrap().unwrap();
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
fn detects_tail_cut_with_restored_head() {
    let fixture = with_entries(4);
    fixture.tamper(KEEP);
    let store = fixture.open();
    for index in 5..=8 {
        store.audit().append(event(&format!("server {index}"))).unwrap();
    }
    store.audit().append(started()).unwrap();
    drop(store);
    fixture.tamper(PUT_BACK);
    assert_eq!(broken_at(&fixture), Some(5));
    let store = fixture.open();
    store.audit().append(started()).unwrap();
    assert_eq!(store.audit().first_missing(), Some(5));
    for index in 0..30 {
        store.audit().append(event(&format!("later {index}"))).unwrap();
    }
    drop(store);
    assert_eq!(broken_at(&fixture), Some(5), "going on mended it");
    let store = fixture.open();
    store.audit().append(started()).unwrap();
    assert_eq!(store.audit().first_missing(), Some(5), "a restart forgot it");
    store.audit().acknowledge().unwrap();
    drop(store);
    let store = fixture.open();
    store.audit().append(started()).unwrap();
    assert_eq!(store.audit().first_missing(), None);
    drop(store);
    assert_eq!(broken_at(&fixture), Some(5), "the gap stays in the chain");
}

#[test]
fn detects_cut_up_to_last_checkpoint_without_shutdown() {
    let fixture = with_entries(20);
    fixture.tamper(KEEP);
    let store = fixture.open();
    for index in 0..9 {
        store.audit().append(event(&format!("more {index}"))).unwrap();
    }
    drop(store);
    fixture.tamper(PUT_BACK);
    assert_eq!(broken_at(&fixture), Some(21));
}

#[test]
fn lagging_checkpoint_is_not_reported() {
    let fixture = with_entries(20);
    let store = fixture.open();
    fixture.secrets.locked.store(true, Ordering::SeqCst);
    for index in 0..20 {
        store.audit().append(event(&format!("more {index}"))).unwrap();
    }
    fixture.secrets.locked.store(false, Ordering::SeqCst);
    store.audit().append(event("unlocked")).unwrap();
    drop(store);
    assert_eq!(broken_at(&fixture), None);
    assert_eq!(fixture.open().audit().first_missing(), None);
}

#[test]
fn retention_past_checkpoint_is_not_reported() {
    let fixture = with_entries(20);
    let store = fixture.open();
    assert_eq!(store.audit().forget_before(Timestamp(NOW + 19)).unwrap(), 18);
    drop(store);
    assert_eq!(broken_at(&fixture), None);
    let store = fixture.open();
    store.audit().append(started()).unwrap();
    assert_eq!((store.audit().first_missing(), verdict(&store)), (None, AuditVerdict::Whole { entries: 3 }));
}

#[test]
fn detects_tail_cut_while_secret_store_was_locked() {
    let fixture = with_entries(9);
    fixture.tamper(KEEP);
    let store = fixture.open();
    store.audit().append(event("ten")).unwrap();
    store.audit().append(started()).unwrap();
    drop(store);
    fixture.tamper(PUT_BACK);
    fixture.secrets.locked.store(true, Ordering::SeqCst);
    let store = fixture.open();
    store.audit().append(event("ten again")).unwrap();
    store.audit().append(event("eleven again")).unwrap();
    fixture.secrets.locked.store(false, Ordering::SeqCst);
    store.audit().append(event("unlocked")).unwrap();
    assert!(matches!(verdict(&store), AuditVerdict::Broken { seq: 10, .. }));
    assert!(store.audit().first_missing().is_some());
}

#[test]
fn append_and_close_do_not_wait_for_secret_store() {
    let fixture = with_entries(1);
    let store = fixture.open();
    store.audit().append(event("two")).unwrap();
    store.close();
    let before = fixture.secrets.snapshot();
    let prompt = fixture.secrets.prompt.lock();
    for index in 3..=40 {
        assert_eq!(store.audit().append(event(&format!("server {index}"))).unwrap().seq, index);
    }
    assert_eq!(verdict(&store), AuditVerdict::Whole { entries: 40 });
    let begun = std::time::Instant::now();
    store.close();
    assert!(begun.elapsed() < std::time::Duration::from_secs(20), "the stop waits without end");
    assert!(fixture.secrets.snapshot() == before, "it answered");
    drop(prompt);
    store.close();
    assert!(fixture.secrets.snapshot() != before, "the mark came when it was unlocked");
    drop(store);
    assert_eq!(broken_at(&fixture), None);
}

#[test]
fn close_saves_checkpoint() {
    let fixture = with_entries(4);
    fixture.tamper(KEEP);
    let store = fixture.open();
    for index in 5..=7 {
        store.audit().append(event(&format!("server {index}"))).unwrap();
    }
    store.audit().append(AuditEvent::Lifecycle { what: "stopped".into() }).unwrap();
    store.close();
    // The process ends here without its destructors.
    let kept = fixture.secrets.snapshot();
    drop(store);
    fixture.secrets.restore(kept);
    fixture.tamper(PUT_BACK);
    assert_eq!(broken_at(&fixture), Some(5));
}

#[test]
fn retries_failed_checkpoint_with_next_entry() {
    let fixture = with_entries(1);
    fixture.tamper(KEEP);
    let store = fixture.open();
    store.close();
    fixture.secrets.read_only.store(true, Ordering::SeqCst);
    store.audit().append(event("two")).unwrap();
    store.close();
    fixture.secrets.read_only.store(false, Ordering::SeqCst);
    store.audit().append(event("three")).unwrap();
    drop(store);
    fixture.tamper(PUT_BACK);
    assert_eq!(broken_at(&fixture), Some(2));
}

#[test]
fn failed_acknowledge_changes_nothing() {
    let fixture = with_entries(4);
    fixture.tamper(KEEP);
    let store = fixture.open();
    store.audit().append(started()).unwrap();
    drop(store);
    fixture.tamper(PUT_BACK);
    let store = fixture.open();
    store.audit().append(started()).unwrap();
    store.close();
    fixture.secrets.read_only.store(true, Ordering::SeqCst);
    assert!(store.audit().acknowledge().is_err());
    assert_eq!(store.audit().first_missing(), Some(5));
    fixture.secrets.read_only.store(false, Ordering::SeqCst);
    store.audit().acknowledge().unwrap();
    assert_eq!(store.audit().first_missing(), None);
}
