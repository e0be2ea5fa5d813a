//! Figures about calls (UI-7), counted as the records are written: by minute for a day, by hour for more than a year.
//! They outlive the records. Nothing of what a call contained is in them, and names that clients make up are not
//! counted one by one.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
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
const MAX_TOOLS: usize = 20;
/// Most intervals with calls, of all clients or servers together.
const MAX_POINTS: usize = 20_000;

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

/// A statement with the values for its parameters.
pub(super) struct StatisticsSql {
    pub(super) text: String,
    pub(super) values: Vec<Value>,
}

/// How far the beginning of an interval is moved against that of an hour in UTC, in milliseconds.
fn offset(query: &CallStatisticsQuery) -> i64 {
    match query.interval {
        StatisticsInterval::Minute | StatisticsInterval::Hour => 0,
        // Calls are counted by the hour, so a part of an hour can't move the beginning of a day.
        StatisticsInterval::Day => i64::from(query.utc_offset.clamp(-24 * 60, 24 * 60) / 60) * 3_600_000,
    }
}

/// The counts of a query in the order of their time, also those of other clients and servers.
pub(super) fn counts(query: &CallStatisticsQuery) -> StatisticsSql {
    let since = floor(query.since.0, query.interval.millis(), offset(query));
    let until = query.until.map_or(i64::MAX, |until| until.0);
    StatisticsSql {
        text: format!(
            "SELECT at, kind, calls, took_ms, slowest_ms FROM {} WHERE at >= ? AND at < ? ORDER BY at",
            table(query.interval)
        ),
        values: [since, until].map(Value::Integer).into(),
    }
}

/// The kinds of calls that a query is about.
pub(super) fn kinds(query: &CallStatisticsQuery) -> StatisticsSql {
    let wanted = [
        ("server", query.server.as_ref().map(ToString::to_string)),
        ("client", query.client.as_ref().map(ToString::to_string)),
    ];
    let (names, values): (Vec<_>, Vec<_>) = wanted
        .into_iter()
        .filter_map(|(column, value)| Some((format!("{column} = ?"), Value::Text(value?))))
        .unzip();
    let wheres = if names.is_empty() { String::new() } else { format!("WHERE {}", names.join(" AND ")) };
    StatisticsSql {
        text: format!(
            "SELECT kind, server, client, tool, outcome FROM call_kinds {wheres} ORDER BY server, tool"
        ),
        values,
    }
}

/// The calls of a query while they are added up: joining and grouping them in SQL takes ten times as long.
struct CallSums {
    kinds: HashMap<i64, SummedKind>,
    /// What the points are grouped by, in their order, with the counts of the interval that is being read.
    groups: Vec<(Option<String>, CallCounts)>,
    tools: Vec<ToolSums>,
    totals: CallCounts,
    points: Vec<StatisticsPoint>,
}

/// Where the calls of a kind belong.
struct SummedKind {
    /// Index in [`CallSums::groups`].
    group: usize,
    /// Index in [`CallSums::tools`].
    tool: usize,
    outcome: OutcomeClass,
}

struct ToolSums {
    server: String,
    tool: String,
    counts: CallCounts,
    took_ms: i64,
    slowest_ms: i64,
}

impl CallSums {
    fn new(connection: &Connection, query: &CallStatisticsQuery) -> Result<Self, StoreError> {
        let StatisticsSql { text, values } = kinds(query);
        let mut statement = connection.prepare_cached(&text)?;
        let mut rows = statement.query(params_from_iter(values))?;
        let mut tools: Vec<ToolSums> = Vec::new();
        let mut found: Vec<(i64, Option<String>, usize, OutcomeClass)> = Vec::new();
        while let Some(row) = rows.next()? {
            let (kind, outcome): (i64, String) = (row.get(0)?, row.get(4)?);
            let (server, client, tool): (String, String, String) = (row.get(1)?, row.get(2)?, row.get(3)?);
            let Some(outcome) = OutcomeClass::ALL.into_iter().find(|class| class.as_str() == outcome) else {
                continue;
            };
            let group = match query.group {
                StatisticsGroup::All => None,
                StatisticsGroup::Client => Some(client),
                StatisticsGroup::Server => Some(server.clone()),
            };
            if tools.last().is_none_or(|last| last.server != server || last.tool != tool) {
                let counts = CallCounts::default();
                tools.push(ToolSums { server, tool, counts, took_ms: 0, slowest_ms: 0 });
            }
            found.push((kind, group, tools.len() - 1, outcome));
        }
        let groups: BTreeSet<Option<String>> = found.iter().map(|(_, group, ..)| group.clone()).collect();
        let groups: Vec<_> = groups.into_iter().map(|group| (group, CallCounts::default())).collect();
        let kinds = found.into_iter().filter_map(|(kind, of, tool, outcome)| {
            let group = groups.binary_search_by(|(group, _)| group.cmp(&of)).ok()?;
            Some((kind, SummedKind { group, tool, outcome }))
        });
        Ok(Self { kinds: kinds.collect(), groups, tools, totals: CallCounts::default(), points: Vec::new() })
    }

    fn add(&mut self, kind: i64, counted: &IntervalCounts) {
        let Some(SummedKind { group, tool, outcome }) = self.kinds.get(&kind) else { return };
        let calls = to_u32(counted.calls);
        self.totals.add(*outcome, calls);
        if let Some((_, counts)) = self.groups.get_mut(*group) {
            counts.add(*outcome, calls);
        }
        if let Some(sums) = self.tools.get_mut(*tool) {
            sums.counts.add(*outcome, calls);
            sums.took_ms = sums.took_ms.saturating_add(counted.took_ms);
            sums.slowest_ms = sums.slowest_ms.max(counted.slowest_ms);
        }
    }

    /// Ends an interval: what was added since the one before it becomes its points.
    fn end_interval(&mut self, begins_at: i64) {
        for (group, counts) in &mut self.groups {
            let counts = std::mem::take(counts);
            if counts.total() > 0 && self.points.len() < MAX_POINTS {
                self.points.push(StatisticsPoint { at: Timestamp(begins_at), of: group.clone(), counts });
            }
        }
    }

    fn finish(self, recorded_since: Timestamp) -> CallStatistics {
        let tools = self.tools.into_iter().filter(|sums| sums.counts.total() > 0);
        let mut most_used: Vec<ToolStatistics> = tools
            .map(|ToolSums { server, tool, counts, took_ms, slowest_ms }| {
                let sent = i64::from(counts.ok) + i64::from(counts.errors);
                ToolStatistics {
                    server: ServerId::new(server),
                    tool,
                    counts,
                    average_ms: to_u32(took_ms / sent.max(1)),
                    slowest_ms: to_u32(slowest_ms),
                }
            })
            .collect();
        let mut slowest = most_used.clone();
        slowest.retain(|tool| tool.counts.ok + tool.counts.errors > 0);
        // Tools that are alike stay in the order of their names.
        most_used.sort_by_key(|tool| Reverse(tool.counts.total()));
        slowest.sort_by_key(|tool| Reverse(tool.average_ms));
        most_used.truncate(MAX_TOOLS);
        slowest.truncate(MAX_TOOLS);
        CallStatistics { recorded_since, totals: self.totals, points: self.points, most_used, slowest }
    }
}

/// The beginning of the interval that a moment is in.
fn floor(at: i64, length: i64, offset: i64) -> i64 {
    let moment = at.saturating_add(offset);
    moment.saturating_sub(moment.rem_euclid(length)).saturating_sub(offset)
}

impl Activity {
    /// Figures about calls. Blocks on the disk. Calls of the last 200 ms may be missing.
    pub fn statistics(&self, query: &CallStatisticsQuery) -> Result<CallStatistics, StoreError> {
        let StatisticsSql { text, values } = counts(query);
        let (length, offset) = (query.interval.millis(), offset(query));
        let reader = self.reader.lock();
        let mut sums = CallSums::new(&reader, query)?;
        let mut statement = reader.prepare_cached(&text)?;
        let mut rows = statement.query(params_from_iter(values))?;
        let mut interval = None;
        while let Some(row) = rows.next()? {
            let begins_at = floor(row.get(0)?, length, offset);
            if let Some(before) = interval.replace(begins_at).filter(|before| *before != begins_at) {
                sums.end_interval(before);
            }
            let (calls, took_ms, slowest_ms) = (row.get(2)?, row.get(3)?, row.get(4)?);
            sums.add(row.get(1)?, &IntervalCounts { calls, took_ms, slowest_ms });
        }
        if let Some(last) = interval {
            sums.end_interval(last);
        }
        Ok(sums.finish(recorded_since(&reader)?))
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
