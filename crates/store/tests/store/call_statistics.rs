//! Figures about calls (UI-7), and the export of calls (UI-5).

use std::sync::atomic::Ordering;
use std::time::Duration;

use gatehouse_model::approval::Subject;
use gatehouse_model::command::CallExportFormat;
use gatehouse_model::grant::{Decision, Rule, Verdict};
use gatehouse_model::record::{CallFilter, CallOutcome};
use gatehouse_model::statistics::{
    CallCounts, CallStatistics, CallStatisticsQuery, StatisticsGroup, StatisticsInterval,
};
use gatehouse_model::{CallRecord, Timestamp};
use gatehouse_store::{CallExporter, Owner, Retention, RuleUse, Store};

use crate::activity::record;
use crate::fixture::{NOW, StoreFixture};

const HOUR: i64 = 3_600_000;
const DAY: i64 = 24 * HOUR;
/// The beginning of a day in UTC.
const MIDNIGHT: i64 = NOW - NOW % DAY;

fn call(at: i64, outcome: CallOutcome, duration_ms: u32) -> CallRecord {
    CallRecord { at: Timestamp(at), outcome, duration_ms, ..record(0) }
}

fn query(interval: StatisticsInterval) -> CallStatisticsQuery {
    CallStatisticsQuery {
        since: Timestamp(MIDNIGHT),
        until: None,
        interval,
        group: StatisticsGroup::All,
        client: None,
        server: None,
        utc_offset: 0,
    }
}

fn counts(ok: u32, errors: u32, denied: u32, unfinished: u32) -> CallCounts {
    CallCounts { ok, errors, denied, unfinished }
}

/// A store with calls, and its statistics for a query.
fn with_calls(calls: impl IntoIterator<Item = CallRecord>) -> (StoreFixture, Store) {
    let fixture = StoreFixture::new();
    fixture.clock.0.store(MIDNIGHT, Ordering::SeqCst);
    let store = fixture.open();
    for call in calls {
        store.activity().record(call);
    }
    store.activity().flush();
    (fixture, store)
}

fn points(statistics: &CallStatistics) -> Vec<(i64, Option<&str>, CallCounts)> {
    let points = statistics.points.iter();
    points.map(|point| ((point.at.0 - MIDNIGHT) / 60_000, point.of.as_deref(), point.counts)).collect()
}

fn mixed_calls() -> Vec<CallRecord> {
    let failed = CallOutcome::Failed { message: "closed".into() };
    vec![
        call(MIDNIGHT, CallOutcome::Ok, 10),
        call(MIDNIGHT + 59_999, failed, 30),
        call(MIDNIGHT + 60_000, CallOutcome::Refused, 900),
        CallRecord { client: "cli-1".into(), ..call(MIDNIGHT + HOUR - 1, CallOutcome::Cancelled, 5) },
        CallRecord { server: "srv-1".into(), ..call(MIDNIGHT + HOUR, CallOutcome::ToolError, 70) },
        CallRecord { waited_ms: 4_000, ..call(MIDNIGHT + DAY - 1, CallOutcome::Ok, 4_020) },
        call(MIDNIGHT + DAY, CallOutcome::Ok, 1),
    ]
}

#[test]
fn counts_calls_by_interval() {
    let (_fixture, store) = with_calls(mixed_calls());
    let all = |query: &CallStatisticsQuery| store.activity().statistics(query).unwrap();
    let day =
        CallStatisticsQuery { until: Some(Timestamp(MIDNIGHT + DAY)), ..query(StatisticsInterval::Day) };
    for (case, query, expected) in [
        ("a day, whose end does not belong to it", day.clone(), vec![(0, None, counts(2, 2, 1, 1))]),
        (
            "days",
            query(StatisticsInterval::Day),
            vec![(0, None, counts(2, 2, 1, 1)), (24 * 60, None, counts(1, 0, 0, 0))],
        ),
        (
            "days that begin an hour earlier",
            CallStatisticsQuery { utc_offset: 60, ..query(StatisticsInterval::Day) },
            vec![(-60, None, counts(1, 2, 1, 1)), (23 * 60, None, counts(2, 0, 0, 0))],
        ),
        (
            "hours",
            CallStatisticsQuery { interval: StatisticsInterval::Hour, ..day.clone() },
            vec![
                (0, None, counts(1, 1, 1, 1)),
                (60, None, counts(0, 1, 0, 0)),
                (23 * 60, None, counts(1, 0, 0, 0)),
            ],
        ),
        (
            "minutes, from the beginning of the first",
            CallStatisticsQuery {
                since: Timestamp(MIDNIGHT + 59_000),
                until: Some(Timestamp(MIDNIGHT + HOUR)),
                ..query(StatisticsInterval::Minute)
            },
            vec![
                (0, None, counts(1, 1, 0, 0)),
                (1, None, counts(0, 0, 1, 0)),
                (59, None, counts(0, 0, 0, 1)),
            ],
        ),
        (
            "by client",
            CallStatisticsQuery { group: StatisticsGroup::Client, ..day.clone() },
            vec![(0, Some("cli-0"), counts(2, 2, 1, 0)), (0, Some("cli-1"), counts(0, 0, 0, 1))],
        ),
        (
            "by server",
            CallStatisticsQuery { group: StatisticsGroup::Server, ..day.clone() },
            vec![(0, Some("srv-0"), counts(2, 1, 1, 1)), (0, Some("srv-1"), counts(0, 1, 0, 0))],
        ),
        (
            "of one client",
            CallStatisticsQuery { client: Some("cli-1".into()), ..day.clone() },
            vec![(0, None, counts(0, 0, 0, 1))],
        ),
        (
            "of one server",
            CallStatisticsQuery { server: Some("srv-1".into()), ..day.clone() },
            vec![(0, None, counts(0, 1, 0, 0))],
        ),
        ("of nothing", CallStatisticsQuery { server: Some("srv-9".into()), ..day }, vec![]),
    ] {
        assert_eq!(points(&all(&query)), expected, "{case}");
    }
}

#[test]
fn ranks_tools_without_the_wait_for_a_person() {
    let quick = |at| call(MIDNIGHT + at, CallOutcome::Ok, 10);
    let named = |name: &str, call| CallRecord { subject: Subject::Tool { name: name.into() }, ..call };
    let read = |uri: &str| CallRecord {
        subject: Subject::Resource { uri: uri.into() },
        ..call(MIDNIGHT, CallOutcome::Ok, 1)
    };
    let (_fixture, store) = with_calls([
        quick(0),
        CallRecord { waited_ms: 60_000, ..call(MIDNIGHT, CallOutcome::Ok, 60_030) },
        quick(1),
        named("slow", call(MIDNIGHT, CallOutcome::ToolError, 500)),
        named("slow", call(MIDNIGHT, CallOutcome::Ok, 700)),
        named("refused", call(MIDNIGHT, CallOutcome::Refused, 9_999)),
        // Clients make these names up, so they are counted together.
        read("notes://1"),
        read("notes://2"),
    ]);
    let found = store.activity().statistics(&query(StatisticsInterval::Day)).unwrap();
    let of = |tools: &[gatehouse_model::statistics::ToolStatistics]| -> Vec<(String, u32, u32, u32)> {
        let row = |tool: &gatehouse_model::statistics::ToolStatistics| {
            (tool.tool.clone(), tool.counts.total(), tool.average_ms, tool.slowest_ms)
        };
        tools.iter().map(row).collect()
    };
    let row = |tool: &str, calls, average, slowest| (tool.to_owned(), calls, average, slowest);
    assert_eq!(
        of(&found.most_used),
        [
            row("read_file", 3, 16, 30),
            row("resource:", 2, 1, 1),
            row("slow", 2, 600, 700),
            row("refused", 1, 0, 0)
        ]
    );
    assert_eq!(
        of(&found.slowest),
        [row("slow", 2, 600, 700), row("read_file", 3, 16, 30), row("resource:", 2, 1, 1)]
    );
    assert_eq!(found.totals, counts(6, 1, 1, 0));
}

#[test]
fn figures_outlive_the_records() {
    let fixture = StoreFixture::new();
    let keep = Retention { age: Duration::from_secs(3600), calls: 1 };
    let store = Store::open_with_retention(fixture.options(Owner::Window), keep).unwrap();
    let rule = Rule::AlwaysGrant { grant: "g".into() };
    let verdict = Verdict { decision: Decision::Allow, rule };
    for at in 0..5 {
        store
            .activity()
            .record(CallRecord { verdict: verdict.clone(), ..call(NOW + at, CallOutcome::Ok, 1) });
    }
    store.activity().server_seen(&"srv-0".into(), Timestamp(NOW));
    store.activity().server_seen(&"srv-new".into(), Timestamp(NOW));
    store.activity().flush();
    assert_eq!(store.activity().list(&Default::default()).unwrap().len(), 1);
    drop(store);

    let later = NOW + 40 * DAY;
    fixture.clock.0.store(later, Ordering::SeqCst);
    let store = Store::open_with_retention(fixture.options(Owner::Window), keep).unwrap();
    // The first batch after a start deletes what is old.
    store.activity().record(call(later, CallOutcome::Ok, 1));
    store.activity().server_seen(&"srv-0".into(), Timestamp(later));
    store.activity().flush();
    let found = store.activity().statistics(&query(StatisticsInterval::Day)).unwrap();
    assert_eq!(found.totals, counts(6, 0, 0, 0));
    assert_eq!(found.recorded_since, Timestamp(NOW - NOW % HOUR));
    let minutes = store.activity().statistics(&query(StatisticsInterval::Minute)).unwrap();
    assert_eq!(minutes.totals, counts(1, 0, 0, 0), "minutes are known of a day only");
    assert_eq!(
        store.activity().rule_uses().unwrap(),
        [RuleUse { rule: "g".into(), tool: "read_file".into(), last: Timestamp(NOW + 4) }]
    );
    let mut servers = store.activity().server_uses().unwrap();
    servers.sort_by(|a, b| a.server.as_str().cmp(b.server.as_str()));
    let servers: Vec<_> = servers
        .iter()
        .map(|one| (one.server.as_str(), one.first_seen.0, one.last_call.map(|at| at.0)))
        .collect();
    assert_eq!(servers, [("srv-0", NOW, Some(later)), ("srv-new", NOW, None)]);
    drop(store);

    // After more than a year nothing of it is left.
    fixture.clock.0.store(NOW + 401 * DAY, Ordering::SeqCst);
    let store = Store::open_with_retention(fixture.options(Owner::Window), keep).unwrap();
    store.activity().record(call(NOW + 401 * DAY, CallOutcome::Ok, 1));
    store.activity().flush();
    let found = store.activity().statistics(&query(StatisticsInterval::Day)).unwrap();
    assert_eq!(found.totals, counts(2, 0, 0, 0));
    assert!(store.activity().rule_uses().unwrap().is_empty());
}

#[test]
fn folder_of_before_is_indexed_and_counted_once() {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    for index in 0..4 {
        store.activity().record(record(index));
    }
    // The user's own call, before there were calls of the user as a client.
    store.activity().record(CallRecord { client: "gatehouse".into(), by_user: false, ..record(4) });
    drop(store);
    // Before the index and the statistics were filled from the records, and before the index knew what words begin with.
    for version in [4, 6] {
        let database = rusqlite::Connection::open(fixture.path("activity.db")).unwrap();
        database.pragma_update(None, "user_version", version).unwrap();
        drop(database);
        for _ in 0..2 {
            let store = fixture.open();
            let found = |filter| -> Vec<String> {
                let calls = store.activity().list(&filter).unwrap();
                calls.iter().map(|call| call.id.to_string()).collect()
            };
            let filter = CallFilter {
                server: Some("srv-1".into()),
                text: Some("report".into()),
                ..Default::default()
            };
            assert_eq!(found(filter), ["call-3", "call-1"]);
            let counted = store.activity().statistics(&query(StatisticsInterval::Day)).unwrap();
            assert_eq!(counted.totals, counts(5, 0, 0, 0));
            let filter = CallFilter { by_user: true, ..Default::default() };
            assert_eq!(found(filter), ["call-4", "call-1"]);
        }
    }
}

fn exported(format: CallExportFormat, calls: &[CallRecord]) -> String {
    let mut bytes = Vec::new();
    let mut exporter = CallExporter::new(&mut bytes, format).unwrap();
    for call in calls {
        exporter.write(call).unwrap();
    }
    assert_eq!(exporter.finish().unwrap(), calls.len() as u64);
    String::from_utf8(bytes).unwrap()
}

#[test]
fn exports_each_form() {
    let formula = CallRecord {
        client_name: "=cmd|' /C calc'!A0".into(),
        exposed_name: "+1".into(),
        result: Some("{\"content\":[{\"text\":\"cut…".into()),
        ..record(1)
    };
    let calls = [record(0), formula];
    let lines = exported(CallExportFormat::JsonLines, &calls);
    let read: Vec<CallRecord> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(read, calls);

    let csv = exported(CallExportFormat::Csv, &calls);
    let rows: Vec<&str> = csv.trim_end().split("\r\n").collect();
    assert_eq!(rows.len(), 3);
    assert!(rows[0].starts_with("id,at,time,client,"), "{}", rows[0]);
    assert_eq!(rows[0].split(',').count(), 19);
    assert!(rows[1].starts_with(&format!("\"call-0\",{NOW},20")), "{}", rows[1]);
    assert!(rows[2].contains("\"'=cmd|' /C calc'!A0\"") && rows[2].contains("\"'+1\""), "{}", rows[2]);

    let har: serde_json::Value = serde_json::from_str(&exported(CallExportFormat::Har, &calls)).unwrap();
    let entries = har["log"]["entries"].as_array().unwrap();
    assert_eq!((har["log"]["version"].as_str(), entries.len()), (Some("1.2"), 2));
    assert_eq!(entries[0]["request"]["url"], "mcp://srv-0/tools/call");
    let request: serde_json::Value =
        serde_json::from_str(entries[0]["request"]["postData"]["text"].as_str().unwrap()).unwrap();
    assert_eq!(request["params"]["arguments"]["path"], "/data/report-0.txt");
    let response: serde_json::Value =
        serde_json::from_str(entries[1]["response"]["content"]["text"].as_str().unwrap()).unwrap();
    assert!(response["result"].as_str().unwrap().ends_with("cut…"), "a body that was cut is a text");
    let none: serde_json::Value = serde_json::from_str(&exported(CallExportFormat::Har, &[])).unwrap();
    assert_eq!(none["log"]["entries"], serde_json::json!([]));
}
