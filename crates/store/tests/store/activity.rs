//! Call records: written behind, found again, bounded (DATA-3).

use std::sync::atomic::Ordering;
use std::time::Duration;

use gatehouse_model::approval::Subject;
use gatehouse_model::grant::{Decision, Rule, Verdict};
use gatehouse_model::record::{CallFilter, CallOutcome, OutcomeClass};
use gatehouse_model::{CallId, CallRecord, ClientId, ServerId, Timestamp};
use gatehouse_store::{Owner, Retention, Store};

use crate::fixture::{NOW, StoreFixture};

pub(crate) fn record(index: i64) -> CallRecord {
    CallRecord {
        id: CallId::new(format!("call-{index}")),
        at: Timestamp(NOW + index),
        client: ClientId::new(format!("cli-{}", index % 3)),
        client_name: "a client".to_owned(),
        server: ServerId::new(format!("srv-{}", index % 2)),
        server_name: "files".to_owned(),
        subject: Subject::Tool { name: "read_file".to_owned() },
        program: Some("/usr/bin/agent".to_owned()),
        exposed_name: "files__read_file".to_owned(),
        by_user: index % 4 == 1,
        verdict: Verdict { decision: Decision::Ask, rule: Rule::DefaultAsk },
        judged: None,
        outcome: CallOutcome::Ok,
        waited_ms: 0,
        duration_ms: 1,
        bytes_in: 2,
        bytes_out: 3,
        arguments: Some(format!("{{\"path\":\"/data/report-{index}.txt\"}}")),
        result: None,
    }
}

fn ids(store: &Store, filter: &CallFilter) -> Vec<String> {
    store.activity().list(filter).unwrap().iter().map(|record| record.id.to_string()).collect()
}

fn found(store: &Store, text: &str) -> Vec<String> {
    ids(store, &CallFilter { text: Some(text.to_owned()), ..CallFilter::default() })
}

#[test]
fn lists_records_newest_first_and_filtered() {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    // A long call is recorded after ones that came later.
    for index in [3, 1, 2, 5, 4, 0] {
        store.activity().record(record(index));
    }
    store.activity().flush();
    assert_eq!(store.activity().list(&CallFilter::default()).unwrap()[0], record(5));
    let all = CallFilter::default();
    for (filter, wanted) in [
        (all.clone(), vec![5, 4, 3, 2, 1, 0]),
        (CallFilter { limit: Some(2), ..all.clone() }, vec![5, 4]),
        (CallFilter { limit: Some(2), older_than: Some(record(4).cursor()), ..all.clone() }, vec![3, 2]),
        (CallFilter { client: Some("cli-0".into()), ..all.clone() }, vec![3, 0]),
        (CallFilter { server: Some("srv-1".into()), ..all.clone() }, vec![5, 3, 1]),
        (CallFilter { by_user: true, ..all.clone() }, vec![5, 1]),
        (CallFilter { by_user: true, older_than: Some(record(5).cursor()), ..all.clone() }, vec![1]),
        (CallFilter { by_user: true, text: Some("report".into()), ..all.clone() }, vec![5, 1]),
        (CallFilter { call: Some(record(3).cursor()), ..all.clone() }, vec![3]),
        (CallFilter { call: Some(record(3).cursor()), by_user: true, ..all.clone() }, vec![]),
        (CallFilter { call: Some(record(9).cursor()), ..all.clone() }, vec![]),
        (CallFilter { server: Some("srv-1".into()), client: Some("cli-0".into()), ..all.clone() }, vec![3]),
        (
            CallFilter { text: Some("report".into()), older_than: Some(record(2).cursor()), ..all.clone() },
            vec![1, 0],
        ),
        (
            CallFilter {
                text: Some("report".into()),
                server: Some("srv-1".into()),
                limit: Some(2),
                ..all.clone()
            },
            vec![5, 3],
        ),
        (CallFilter { text: Some("  ".into()), limit: Some(1), ..all.clone() }, vec![5]),
        (CallFilter { since: Some(Timestamp(NOW + 4)), ..all.clone() }, vec![5, 4]),
        (CallFilter { until: Some(Timestamp(NOW + 2)), ..all.clone() }, vec![1, 0]),
        (
            CallFilter {
                client: Some("cli-0".into()),
                since: Some(Timestamp(NOW + 1)),
                until: Some(Timestamp(NOW + 4)),
                ..all.clone()
            },
            vec![3],
        ),
    ] {
        let wanted: Vec<String> = wanted.iter().map(|index| format!("call-{index}")).collect();
        assert_eq!(ids(&store, &filter), wanted, "{filter:?}");
    }
}

#[test]
fn filters_by_tool_decision_and_outcome() {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    let named = |index, subject| CallRecord { subject, ..record(index) };
    let decided = |index, decision, outcome| CallRecord {
        verdict: Verdict { decision, rule: Rule::DefaultAsk },
        outcome,
        ..record(index)
    };
    let failed = CallOutcome::Failed { message: "closed".into() };
    for call in [
        decided(0, Decision::Allow, CallOutcome::Ok),
        decided(1, Decision::Deny, CallOutcome::Refused),
        decided(2, Decision::Allow, failed),
        decided(3, Decision::Ask, CallOutcome::StillWaiting),
        named(4, Subject::Tool { name: "prompt:review".into() }),
        named(5, Subject::Prompt { name: "review".into() }),
        named(6, Subject::Resource { uri: "notes://1".into() }),
        named(7, Subject::Resource { uri: "notes://2".into() }),
        named(8, Subject::Request { method: "vendor/move".into() }),
    ] {
        store.activity().record(call);
    }
    store.activity().flush();
    let all = CallFilter::default();
    let tool = |name: &str| CallFilter { tool: Some(name.into()), ..CallFilter::default() };
    for (filter, wanted) in [
        (tool("read_file"), vec![3, 2, 1, 0]),
        (tool("prompt:review"), vec![5, 4]),
        (tool("resource:"), vec![7, 6]),
        (tool("resource:notes://1"), vec![]),
        (tool("request:"), vec![8]),
        (tool("read"), vec![]),
        (CallFilter { decision: Some(Decision::Deny), ..all.clone() }, vec![1]),
        (CallFilter { decision: Some(Decision::Allow), ..all.clone() }, vec![2, 0]),
        (CallFilter { outcome: Some(OutcomeClass::Error), ..all.clone() }, vec![2]),
        (CallFilter { outcome: Some(OutcomeClass::Unfinished), ..all.clone() }, vec![3]),
        (CallFilter { outcome: Some(OutcomeClass::Ok), limit: Some(2), ..all.clone() }, vec![8, 7]),
        (
            CallFilter {
                decision: Some(Decision::Allow),
                outcome: Some(OutcomeClass::Ok),
                text: Some("report".into()),
                ..tool("read_file")
            },
            vec![0],
        ),
        (CallFilter { older_than: Some(record(2).cursor()), ..tool("read_file") }, vec![1, 0]),
    ] {
        let wanted: Vec<String> = wanted.iter().map(|index| format!("call-{index}")).collect();
        assert_eq!(ids(&store, &filter), wanted, "{filter:?}");
    }
}

#[test]
fn searches_tool_arguments_and_result() {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    store.activity().record(CallRecord {
        result: Some("{\"text\":\"Das Ergebnis: 打开文件夹 ok\"}".into()),
        ..record(1)
    });
    store.activity().record(CallRecord {
        arguments: None,
        subject: Subject::Tool { name: "write_note".into() },
        exposed_name: "note".into(),
        ..record(2)
    });
    store.activity().flush();
    for (text, wanted) in [
        ("read_file", vec!["call-1"]),
        ("report-1", vec!["call-1"]),
        ("ergebn", vec!["call-1"]),
        ("文件", vec!["call-1"]),
        ("件夹 ok", vec!["call-1"]),
        ("夹件", vec![]),
        ("files", vec!["call-2", "call-1"]),
        ("note write", vec!["call-2"]),
        ("note ergebnis", vec![]),
        ("\" OR tool:*", vec![]),
        ("NEAR(", vec![]),
    ] {
        assert_eq!(found(&store, text), wanted, "{text}");
    }
}

#[test]
fn close_and_drop_flush_all_records() {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    store.activity().record(record(1));
    store.close();
    store.activity().record(record(2));
    drop(store);
    assert_eq!(ids(&fixture.open(), &CallFilter::default()), ["call-2", "call-1"]);
}

#[test]
fn retention_removes_records_from_search() {
    let fixture = StoreFixture::new();
    let day = Duration::from_secs(24 * 3600);
    let open = |age, calls| {
        Store::open_with_retention(fixture.options(Owner::Window), Retention { age, calls }).unwrap()
    };
    let store = open(day, 100);
    for index in 0..10 {
        store.activity().record(record(index));
    }
    drop(store);
    // The first batch after a start looks for what is old.
    fixture.clock.0.store(NOW + 5 + 24 * 3600 * 1000, Ordering::SeqCst);
    let store = open(day, 100);
    store.activity().record(record(10));
    store.activity().flush();
    assert_eq!(ids(&store, &CallFilter::default()).len(), 6);
    assert_eq!(found(&store, "report").len(), 6);
    drop(store);
    let store = open(day, 3);
    store.activity().record(record(11));
    store.activity().flush();
    assert_eq!(found(&store, "report"), ["call-11", "call-10", "call-9"]);
    assert_eq!(ids(&store, &CallFilter::default()), ["call-11", "call-10", "call-9"]);
}

#[test]
fn retention_bounds_a_flood() {
    let fixture = StoreFixture::new();
    let retention = Retention { age: Duration::MAX, calls: 100 };
    let store = Store::open_with_retention(fixture.options(Owner::Window), retention).unwrap();
    for index in 0..10_000 {
        store.activity().record(record(index));
    }
    store.activity().flush();
    assert_eq!(store.activity().dropped_count(), 0);
    let all = ids(&store, &CallFilter { limit: Some(10_000), ..CallFilter::default() });
    assert_eq!((all.len(), all[0].as_str(), all[99].as_str()), (100, "call-9999", "call-9900"));
}

#[test]
fn finds_calls_by_the_beginnings_of_their_words() {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    for index in 0..200 {
        let result = format!("item{index:03} Entrée notes_v{}.txt", index % 2);
        store.activity().record(CallRecord { result: Some(result), ..record(index) });
    }
    store.activity().flush();
    let many = "item0 ".repeat(40);
    for (text, count) in [
        ("it", 200),
        ("ite", 200),
        // More different words than stand for a searched one.
        ("item", 200),
        ("ITEM0", 100),
        ("item19", 10),
        ("item199", 1),
        ("item2", 0),
        ("entr", 200),
        ("Entrée", 200),
        ("ENTREE", 200),
        ("notes_v1", 100),
        ("notes_v1.t", 100),
        ("notes_v1.text", 0),
        ("v1.txt", 100),
        ("notes_v0.txt item00", 5),
        ("item0\" OR \"item", 0),
        (many.as_str(), 100),
    ] {
        let filter = CallFilter { text: Some(text.into()), limit: Some(1_000), ..CallFilter::default() };
        assert_eq!(ids(&store, &filter).len(), count, "{text}");
    }
}

#[test]
fn finds_one_of_a_hundred_thousand_records() {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    for index in 0..100_000 {
        store.activity().record(record(index));
        if index % 8_000 == 0 {
            store.activity().flush();
        }
    }
    store.activity().flush();
    assert_eq!(store.activity().dropped_count(), 0);
    assert_eq!(found(&store, "report-77777"), ["call-77777"]);
    assert_eq!(found(&store, "report").len(), 100);
    let page =
        CallFilter { older_than: Some(record(50_000).cursor()), limit: Some(3), ..CallFilter::default() };
    assert_eq!(ids(&store, &page), ["call-49999", "call-49998", "call-49997"]);
}

#[test]
fn paging_includes_calls_with_equal_timestamps() {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    for index in 0..10 {
        store.activity().record(CallRecord { at: Timestamp(NOW + index / 5), ..record(index) });
    }
    store.activity().flush();
    let whole = ids(&store, &CallFilter::default());
    let mut read = Vec::new();
    let mut filter = CallFilter { limit: Some(3), ..CallFilter::default() };
    loop {
        let page = store.activity().list(&filter).unwrap();
        let Some(last) = page.last() else { break };
        filter.older_than = Some(last.cursor());
        read.extend(page.iter().map(|record| record.id.to_string()));
        assert!(read.len() <= whole.len(), "a call is on two pages: {read:?}");
    }
    assert_eq!(read, whole);
    // A call that is not there any more: what is older than its moment.
    let gone = CallRecord { at: Timestamp(NOW + 1), ..record(77) }.cursor();
    assert_eq!(ids(&store, &CallFilter { older_than: Some(gone), ..CallFilter::default() }), whole[5..]);
}

#[test]
fn allowed_calls_outlive_their_records() {
    let fixture = StoreFixture::new();
    let retention = Retention { age: Duration::from_secs(1), calls: 1 };
    let store = Store::open_with_retention(fixture.options(Owner::Window), retention).unwrap();
    let allowed = |name: &str, subject| CallRecord {
        verdict: Verdict { decision: Decision::Allow, rule: Rule::DefaultAsk },
        subject,
        server: name.into(),
        ..record(0)
    };
    store.activity().record(allowed("a", Subject::Tool { name: "read".into() }));
    store.activity().record(allowed("a", Subject::Tool { name: "read".into() }));
    store.activity().record(allowed("b", Subject::Prompt { name: "read".into() }));
    store.activity().record(CallRecord { server: "c".into(), ..record(1) });
    store.activity().flush();
    assert_eq!(store.activity().list(&CallFilter::default()).unwrap().len(), 1);
    for (server, name, known) in [
        ("a", "read", true),
        ("a", "read_file", false),
        ("b", "read", false),
        ("b", "prompt:read", true),
        ("c", "read_file", false),
    ] {
        assert_eq!(store.activity().was_allowed(&server.into(), name).unwrap(), known, "{server} {name}");
    }
}

#[test]
fn stores_each_definition_once() {
    let fixture = StoreFixture::new();
    let (one, two) = ("f-1".into(), "f-2".into());
    let store = fixture.open();
    store.definitions().keep(&one, "{\"name\":\"a\"}").unwrap();
    store.definitions().keep(&one, "another").unwrap();
    store.definitions().keep_all([(&two, "b"), (&one, "c")]).unwrap();
    drop(store);
    let store = fixture.open();
    assert_eq!(store.definitions().get(&one).unwrap().as_deref(), Some("{\"name\":\"a\"}"));
    assert_eq!(store.definitions().get(&two).unwrap().as_deref(), Some("b"));
    assert_eq!(store.definitions().get(&"f-3".into()).unwrap(), None);
}

fn decided(index: i64, rule: Rule) -> CallRecord {
    CallRecord { verdict: Verdict { decision: Decision::Allow, rule }, ..record(index) }
}

fn always(grant: &str) -> Rule {
    Rule::AlwaysGrant { grant: grant.into() }
}

fn rules_used(store: &Store) -> Vec<(String, i64)> {
    let used = store.activity().rules_used().unwrap();
    let mut used: Vec<_> = used.into_iter().map(|(rule, at)| (rule.to_string(), at.0 - NOW)).collect();
    used.sort();
    used
}

#[test]
fn reports_last_use_of_rules_within_retention() {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    let deny = Rule::ExplicitDeny { grant: "d".into(), reason: None };
    for call in [
        decided(5, always("a")),
        decided(3, always("a")),
        decided(1, Rule::TimedGrant { grant: "t".into() }),
        decided(2, deny),
        decided(4, Rule::ConditionedGrant { grant: "c".into() }),
        decided(6, Rule::ChangedDefinition { grant: "suspended".into() }),
        decided(7, Rule::Answered { ask: "ask-1".into() }),
    ] {
        store.activity().record(call);
    }
    store.activity().flush();
    let all = [("a".to_owned(), 5), ("c".to_owned(), 4), ("d".to_owned(), 2), ("t".to_owned(), 1)];
    assert_eq!(rules_used(&store), all);
    drop(store);

    // A folder of before gets to know it from its records.
    let database = rusqlite::Connection::open(fixture.path("activity.db")).unwrap();
    let before = "DROP TABLE rule_used; DROP TABLE programs; PRAGMA user_version = 2";
    database.execute_batch(before).unwrap();
    drop(database);
    let store = fixture.open();
    assert_eq!(rules_used(&store), all);

    store.activity().keep(Retention { age: Duration::MAX, calls: 3 });
    store.activity().record(decided(8, always("a")));
    store.activity().flush();
    assert_eq!(rules_used(&store), [("a".to_owned(), 8)]);
}

#[test]
fn lists_only_programs_of_allowed_calls() {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    let allow = Verdict { decision: Decision::Allow, rule: Rule::ByUser };
    let from = |index: i64, program: Option<&str>, verdict: &Verdict| CallRecord {
        client: "cli".into(),
        program: program.map(str::to_owned),
        verdict: verdict.clone(),
        ..record(index)
    };
    let refused = Verdict { decision: Decision::Deny, rule: Rule::Paused };
    for record in [
        from(1, Some("/bin/a"), &allow),
        from(2, Some("/bin/b"), &allow),
        from(3, Some("/bin/a"), &allow),
        from(4, Some("/bin/evil"), &refused),
        from(5, None, &allow),
    ] {
        store.activity().record(record);
    }
    store.activity().flush();
    assert_eq!(store.activity().programs_of(&"cli".into()).unwrap(), ["/bin/a", "/bin/b"]);
    assert!(store.activity().programs_of(&"other".into()).unwrap().is_empty());
}
