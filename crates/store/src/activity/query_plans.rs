//! Every query about calls is answered from an index: none reads through the calls or their counts.

use gatehouse_model::record::{CallCursor, CallFilter, OutcomeClass};
use gatehouse_model::statistics::{CallStatisticsQuery, StatisticsGroup, StatisticsInterval};
use gatehouse_model::{CallId, Decision, Timestamp};
use rusqlite::types::Value;
use rusqlite::{Connection, StatementStatus, params_from_iter};

use super::{query, statistics};
use crate::data_folder::database;

fn database() -> (tempfile::TempDir, Connection) {
    let folder = tempfile::tempdir().unwrap();
    let connection =
        database::open(&folder.path().join("activity.db"), database::ACTIVITY_MIGRATIONS).unwrap();
    (folder, connection)
}

/// The steps of a plan that read a whole table.
fn scans(connection: &Connection, sql: &str, values: &[Value]) -> Vec<String> {
    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let steps = statement.query_map(params_from_iter(values), |row| row.get::<_, String>(3)).unwrap();
    let steps: Vec<String> = steps.map(Result::unwrap).collect();
    assert!(!steps.is_empty(), "{sql}");
    let is_scan = |step: &String| {
        // A match in the full-text index is called a scan of a virtual table; `M` is the match.
        step.starts_with("SCAN") && !(step.contains("VIRTUAL TABLE INDEX") && step.contains('M'))
    };
    steps.into_iter().filter(is_scan).collect()
}

#[test]
fn lists_of_calls_read_no_record_that_does_not_match() {
    let (_folder, connection) = database();
    let all = CallFilter::default();
    let page = CallCursor { at: Timestamp(1_780_000_000_000), id: "call-1".into() };
    let mut tried = 0;
    for filter in [
        all.clone(),
        CallFilter { client: Some("c".into()), ..all.clone() },
        CallFilter { server: Some("s".into()), ..all.clone() },
        CallFilter { tool: Some("t".into()), ..all.clone() },
        CallFilter { decision: Some(Decision::Deny), ..all.clone() },
        CallFilter { outcome: Some(OutcomeClass::Error), ..all.clone() },
        CallFilter { by_user: true, ..all.clone() },
        CallFilter { call: Some(page.clone()), ..all.clone() },
        CallFilter { call: Some(page.clone()), by_user: true, ..all.clone() },
        CallFilter { text: Some("report".into()), ..all.clone() },
        CallFilter {
            client: Some("c".into()),
            server: Some("s".into()),
            tool: Some("t".into()),
            decision: Some(Decision::Allow),
            outcome: Some(OutcomeClass::Ok),
            text: Some("two words".into()),
            since: Some(Timestamp(1)),
            until: Some(Timestamp(2)),
            ..all.clone()
        },
    ] {
        for filter in [filter.clone(), CallFilter { older_than: Some(page.clone()), ..filter }] {
            let (sql, values) = query(&filter, |_| None);
            assert_eq!(scans(&connection, &sql, &values), [""; 0], "{filter:?}");
            tried += 1;
        }
    }
    assert_eq!(tried, 22);
}

#[test]
fn statistics_are_searched_by_time_and_by_what_they_are_about() {
    let (_folder, connection) = database();
    for interval in [StatisticsInterval::Minute, StatisticsInterval::Hour, StatisticsInterval::Day] {
        for group in [StatisticsGroup::All, StatisticsGroup::Client, StatisticsGroup::Server] {
            let query = CallStatisticsQuery {
                since: Timestamp(1),
                until: Some(Timestamp(2)),
                interval,
                group,
                client: Some("c".into()),
                server: Some("s".into()),
                utc_offset: -330,
            };
            for sql in [statistics::counts(&query), statistics::kinds(&query)] {
                assert_eq!(scans(&connection, &sql.text, &sql.values), [""; 0], "{}", sql.text);
            }
        }
    }
}

/// The steps that SQLite's virtual machine takes for a page.
fn steps(connection: &Connection, filter: &CallFilter) -> i32 {
    let (sql, values) = query(filter, |prefix| super::terms(connection, prefix).unwrap());
    let mut statement = connection.prepare(&sql).unwrap();
    let found = statement.query_map(params_from_iter(values), |_| Ok(())).unwrap().count();
    assert_eq!(found, 10, "{filter:?}");
    statement.get_status(StatementStatus::VmStep)
}

#[test]
fn a_page_costs_the_same_anywhere_in_the_list() {
    let (_folder, connection) = database();
    let at = |number: i64| Timestamp(1_780_000_000_000 + number);
    for number in 0..2_000 {
        let id = super::first_id(at(number));
        let record = format!(r#"{{"id":"call-{number}"}}"#);
        connection
            .execute("INSERT INTO calls (id, client, server, record) VALUES (?1, 'c', 's', ?2)", (id, record))
            .unwrap();
        let words = format!("report{}", number % 2);
        connection.execute("INSERT INTO calls_text (rowid, tool) VALUES (?1, ?2)", (id, words)).unwrap();
    }
    let all = CallFilter { limit: Some(10), ..CallFilter::default() };
    for filter in [all.clone(), CallFilter { text: Some("report".into()), ..all }] {
        let of = |number: i64| {
            let page = CallCursor { at: at(number), id: CallId::new(format!("call-{number}")) };
            steps(&connection, &CallFilter { older_than: Some(page), ..filter.clone() })
        };
        let first = of(1_999);
        assert!(first > 0);
        assert!((first - of(20)).abs() < 10, "{filter:?}: {first} and {}", of(20));
    }
}
