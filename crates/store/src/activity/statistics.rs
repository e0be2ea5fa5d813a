//! Figures about calls (UI-7), counted as the records are written: by minute for a day, by hour for more than a year.
//! They outlive the records. Nothing of what a call contained is in them, and names that clients make up are not
//! counted one by one.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use gatehouse_model::record::OutcomeClass;
use gatehouse_model::statistics::{
    CallCounts, CallStatistics, CallStatisticsQuery, StatisticsGroup, StatisticsInterval, StatisticsPoint,
    ToolStatistics,
};
use gatehouse_model::{CallRecord, GrantId, ServerId, Timestamp};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension as _, params, params_from_iter};

use super::Activity;
use crate::error::StoreError;

const DAY: Duration = Duration::from_secs(24 * 3600);
/// How long calls are counted by minute.
const MINUTES_KEPT: Duration = DAY;
/// How long everything else is kept.
const HOURS_KEPT: Duration = Duration::from_secs(400 * 24 * 3600);
/// Most tools in each list.
const MAX_TOOLS: u32 = 20;
/// Most intervals with calls, of all clients or servers together.
const MAX_POINTS: u32 = 20_000;

/// The calls that one rule decided of one tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleUse {
    pub rule: GrantId,
    /// As in [`ToolStatistics::tool`].
    pub tool: String,
    /// When the last of them came in.
    pub last: Timestamp,
}

/// When a server was there first, and when it was last called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerUse {
    pub server: ServerId,
    pub first_seen: Timestamp,
    pub last_call: Option<Timestamp>,
}

/// The table with the counts of an interval.
fn table(interval: StatisticsInterval) -> &'static str {
    match interval {
        StatisticsInterval::Minute => "call_minutes",
        StatisticsInterval::Hour | StatisticsInterval::Day => "call_hours",
    }
}

/// The statements of a query: for the intervals, and for the tools in two orders.
pub(super) struct StatisticsSql {
    pub(super) points: String,
    pub(super) most_used: String,
    pub(super) slowest: String,
    pub(super) values: Vec<Value>,
}

/// Builds the statements. Both tables are searched by their time, and kinds by their key.
pub(super) fn statements(query: &CallStatisticsQuery) -> StatisticsSql {
    let length = query.interval.millis();
    let offset = match query.interval {
        StatisticsInterval::Minute | StatisticsInterval::Hour => 0,
        // Calls are counted by the hour, so a part of an hour can't move the beginning of a day.
        StatisticsInterval::Day => i64::from(query.utc_offset.clamp(-24 * 60, 24 * 60) / 60) * 3_600_000,
    };
    let since = floor(query.since.0, length, offset);
    let until = query.until.map_or(i64::MAX, |until| until.0);
    let mut values = vec![Value::Integer(since), Value::Integer(until)];
    let mut wheres = String::from("counted.at >= ?1 AND counted.at < ?2");
    for (column, value) in [
        ("client", query.client.as_ref().map(ToString::to_string)),
        ("server", query.server.as_ref().map(ToString::to_string)),
    ] {
        if let Some(value) = value {
            values.push(Value::Text(value));
            wheres.push_str(&format!(" AND kinds.{column} = ?{}", values.len()));
        }
    }
    let of = match query.group {
        StatisticsGroup::All => "NULL",
        StatisticsGroup::Client => "kinds.client",
        StatisticsGroup::Server => "kinds.server",
    };
    // The counts are the outer loop: they are ordered by time.
    let from = format!(
        "FROM {} AS counted CROSS JOIN call_kinds AS kinds ON kinds.kind = counted.kind WHERE {wheres}",
        table(query.interval)
    );
    let begin = format!("(counted.at + {offset}) / {length} * {length} - {offset}");
    let points = format!(
        "SELECT {begin} AS begins_at, {of} AS counted_by, kinds.outcome, SUM(counted.calls) {from}
         GROUP BY begins_at, counted_by, kinds.outcome ORDER BY begins_at, counted_by LIMIT {MAX_POINTS}"
    );
    let by = |outcome: OutcomeClass| {
        format!("SUM(CASE kinds.outcome WHEN '{}' THEN counted.calls ELSE 0 END)", outcome.as_str())
    };
    let counts: Vec<String> = OutcomeClass::ALL.into_iter().map(by).collect();
    let sent = format!("{} + {}", by(OutcomeClass::Ok), by(OutcomeClass::Error));
    let tools = |order: &str| {
        format!(
            "SELECT kinds.server, kinds.tool, {}, SUM(counted.took_ms) / MAX(1, {sent}) AS average,
             MAX(counted.slowest_ms), SUM(counted.calls) AS used {from}
             GROUP BY kinds.server, kinds.tool ORDER BY {order} DESC, kinds.server, kinds.tool LIMIT {MAX_TOOLS}",
            counts.join(", ")
        )
    };
    StatisticsSql { points, most_used: tools("used"), slowest: tools("average"), values }
}

/// The beginning of the interval that a moment is in.
fn floor(at: i64, length: i64, offset: i64) -> i64 {
    let moment = at.saturating_add(offset);
    moment.saturating_sub(moment.rem_euclid(length)).saturating_sub(offset)
}

impl Activity {
    /// Figures about calls. Blocks on the disk. Calls of the last 200 ms may be missing.
    pub fn statistics(&self, query: &CallStatisticsQuery) -> Result<CallStatistics, StoreError> {
        let sql = statements(query);
        let reader = self.reader.lock();
        let mut totals = CallCounts::default();
        let mut points: Vec<StatisticsPoint> = Vec::new();
        let mut statement = reader.prepare_cached(&sql.points)?;
        let mut rows = statement.query(params_from_iter(&sql.values))?;
        while let Some(row) = rows.next()? {
            let (at, of): (i64, Option<String>) = (row.get(0)?, row.get(1)?);
            let outcome: String = row.get(2)?;
            let calls = to_u32(row.get(3)?);
            let Some(class) = OutcomeClass::ALL.into_iter().find(|class| class.as_str() == outcome) else {
                continue;
            };
            totals.add(class, calls);
            match points.last_mut().filter(|point| point.at.0 == at && point.of == of) {
                Some(point) => point.counts.add(class, calls),
                None => {
                    let mut counts = CallCounts::default();
                    counts.add(class, calls);
                    points.push(StatisticsPoint { at: Timestamp(at), of, counts });
                }
            }
        }
        let most_used = tools(&reader, &sql.most_used, &sql.values)?;
        let mut slowest = tools(&reader, &sql.slowest, &sql.values)?;
        slowest.retain(|tool| tool.counts.ok + tool.counts.errors > 0);
        Ok(CallStatistics { recorded_since: recorded_since(&reader)?, totals, points, most_used, slowest })
    }

    /// Since when calls are counted.
    pub fn recorded_since(&self) -> Result<Timestamp, StoreError> {
        recorded_since(&self.reader.lock())
    }

    /// The tools that each rule decided calls of. Blocks on the disk.
    pub fn rule_uses(&self) -> Result<Vec<RuleUse>, StoreError> {
        let reader = self.reader.lock();
        let mut statement = reader.prepare_cached("SELECT rule, tool, last FROM rule_calls")?;
        let uses = statement.query_map([], |row| {
            let rule: String = row.get(0)?;
            Ok(RuleUse { rule: GrantId::new(rule), tool: row.get(1)?, last: Timestamp(row.get(2)?) })
        })?;
        Ok(uses.collect::<Result<_, _>>()?)
    }

    /// When each known server was there first and was last called. Blocks on the disk.
    pub fn server_uses(&self) -> Result<Vec<ServerUse>, StoreError> {
        let reader = self.reader.lock();
        let mut statement = reader.prepare_cached(
            "SELECT server, at, (SELECT MAX(last) FROM call_kinds WHERE call_kinds.server = servers_seen.server)
             FROM servers_seen",
        )?;
        let uses = statement.query_map([], |row| {
            let (server, last): (String, Option<i64>) = (row.get(0)?, row.get(2)?);
            Ok(ServerUse {
                server: ServerId::new(server),
                first_seen: Timestamp(row.get(1)?),
                last_call: last.map(Timestamp),
            })
        })?;
        Ok(uses.collect::<Result<_, _>>()?)
    }

    /// Records that a server is there since this time, if it was not before. The writer does it with its next batch.
    pub fn server_seen(&self, server: &ServerId, at: Timestamp) {
        self.queue.server_seen(server.clone(), at);
    }
}

fn recorded_since(connection: &Connection) -> Result<Timestamp, StoreError> {
    let first: Option<i64> = connection
        .prepare_cached(
            "SELECT MIN(at) FROM (SELECT at FROM statistics_since UNION ALL SELECT MIN(at) FROM call_hours)",
        )?
        .query_row([], |row| row.get(0))
        .optional()?
        .flatten();
    Ok(Timestamp(first.unwrap_or(i64::MAX)))
}

fn tools(connection: &Connection, sql: &str, values: &[Value]) -> Result<Vec<ToolStatistics>, StoreError> {
    let mut statement = connection.prepare_cached(sql)?;
    let tools = statement.query_map(params_from_iter(values), |row| {
        let server: String = row.get(0)?;
        Ok(ToolStatistics {
            server: ServerId::new(server),
            tool: row.get(1)?,
            counts: CallCounts {
                ok: to_u32(row.get(2)?),
                errors: to_u32(row.get(3)?),
                denied: to_u32(row.get(4)?),
                unfinished: to_u32(row.get(5)?),
            },
            average_ms: to_u32(row.get(6)?),
            slowest_ms: to_u32(row.get(7)?),
        })
    })?;
    Ok(tools.collect::<Result<_, _>>()?)
}

fn to_u32(count: i64) -> u32 {
    u32::try_from(count.max(0)).unwrap_or(u32::MAX)
}

/// What is counted together.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct CallKind<'a> {
    client: &'a str,
    server: &'a str,
    tool: Cow<'a, str>,
    outcome: &'static str,
}

/// The calls of one kind, by table and beginning of the interval.
#[derive(Default)]
struct KindCounts {
    last: Timestamp,
    intervals: BTreeMap<(&'static str, i64), IntervalCounts>,
}

/// The calls of one kind in one interval.
#[derive(Default)]
struct IntervalCounts {
    calls: i64,
    took_ms: i64,
    slowest_ms: i64,
}

impl IntervalCounts {
    fn add(&mut self, record: &CallRecord) {
        self.calls += 1;
        if matches!(record.outcome.class(), OutcomeClass::Ok | OutcomeClass::Error) {
            let took = i64::from(record.duration_ms.saturating_sub(record.waited_ms));
            self.took_ms += took;
            self.slowest_ms = self.slowest_ms.max(took);
        }
    }
}

/// Counts calls that are written.
pub(super) fn record_calls(connection: &Connection, records: &[CallRecord]) -> Result<(), StoreError> {
    let mut kinds: BTreeMap<CallKind<'_>, KindCounts> = BTreeMap::new();
    let mut rules: BTreeMap<(&str, Cow<'_, str>), (i64, Timestamp)> = BTreeMap::new();
    for record in records {
        let tool = record.subject.borrowed().group_name();
        if let Some(rule) = record.verdict.rule.deciding_grant() {
            let (calls, last) = rules.entry((rule.as_str(), tool.clone())).or_insert((0, record.at));
            *calls += 1;
            *last = record.at.max(*last);
        }
        let kind = CallKind {
            client: record.client.as_str(),
            server: record.server.as_str(),
            tool,
            outcome: record.outcome.class().as_str(),
        };
        let counts = kinds.entry(kind).or_default();
        counts.last = record.at.max(counts.last);
        for interval in [StatisticsInterval::Minute, StatisticsInterval::Hour] {
            let begin = floor(record.at.0, interval.millis(), 0);
            counts.intervals.entry((table(interval), begin)).or_default().add(record);
        }
    }
    for (kind, KindCounts { last, intervals }) in kinds {
        let number: i64 = connection
            .prepare_cached(
                "INSERT INTO call_kinds (client, server, tool, outcome, last) VALUES (?1, ?2, ?3, ?4, ?5)
                 ON CONFLICT (server, client, tool, outcome) DO UPDATE SET last = MAX(last, excluded.last)
                 RETURNING kind",
            )?
            .query_row(params![kind.client, kind.server, kind.tool, kind.outcome, last.0], |row| {
                row.get(0)
            })?;
        for ((table, at), counts) in intervals {
            connection
                .prepare_cached(&format!(
                    "INSERT INTO {table} (at, kind, calls, took_ms, slowest_ms) VALUES (?1, ?2, ?3, ?4, ?5)
                     ON CONFLICT (at, kind) DO UPDATE SET calls = calls + excluded.calls,
                     took_ms = took_ms + excluded.took_ms, slowest_ms = MAX(slowest_ms, excluded.slowest_ms)"
                ))?
                .execute(params![at, number, counts.calls, counts.took_ms, counts.slowest_ms])?;
        }
    }
    let mut update = connection.prepare_cached(
        "INSERT INTO rule_calls (rule, tool, calls, last) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (rule, tool) DO UPDATE SET calls = calls + excluded.calls, last = MAX(last, excluded.last)",
    )?;
    for ((rule, tool), (calls, last)) in rules {
        update.execute(params![rule, tool, calls, last.0])?;
    }
    Ok(())
}

/// Records since when calls are counted, once.
pub(super) fn begin(connection: &Connection, now: Timestamp) -> Result<(), StoreError> {
    connection.execute(
        "INSERT INTO statistics_since (at) SELECT ?1 WHERE NOT EXISTS (SELECT 1 FROM statistics_since)",
        [now.0],
    )?;
    Ok(())
}

/// Records servers that were not there before.
pub(super) fn record_servers(
    connection: &Connection,
    servers: &[(ServerId, Timestamp)],
) -> Result<(), StoreError> {
    let mut insert =
        connection.prepare_cached("INSERT OR IGNORE INTO servers_seen (server, at) VALUES (?1, ?2)")?;
    for (server, at) in servers {
        insert.execute(params![server.as_str(), at.0])?;
    }
    Ok(())
}

/// Deletes what is older than figures are kept.
pub(super) fn prune(connection: &Connection, now: Timestamp) -> Result<(), StoreError> {
    let before = |kept: Duration| now.0.saturating_sub(i64::try_from(kept.as_millis()).unwrap_or(i64::MAX));
    connection.execute("DELETE FROM call_minutes WHERE at < ?1", [before(MINUTES_KEPT)])?;
    connection.execute("DELETE FROM call_hours WHERE at < ?1", [before(HOURS_KEPT)])?;
    connection.execute("DELETE FROM call_kinds WHERE last < ?1", [before(HOURS_KEPT)])?;
    connection.execute("DELETE FROM rule_calls WHERE last < ?1", [before(HOURS_KEPT)])?;
    Ok(())
}
