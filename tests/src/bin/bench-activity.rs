//! How fast Activity and Overview answer over a million stored calls: through the core's own commands, as the pages send
//! them, with the calls written by the product's own store. `cargo xtask bench activity [CALLS]` builds and runs it.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use gatehouse_app::{Authority, Core, CoreOptions, memory};
use gatehouse_model::Decision;
use gatehouse_model::command::{CallsList, CallsStatistics, PolicyFindings};
use gatehouse_model::record::{CallFilter, OutcomeClass};
use gatehouse_model::statistics::{CallStatisticsQuery, StatisticsGroup, StatisticsInterval};
use gatehouse_model::{CallRecord, Timestamp};
use gatehouse_tests::stored_calls::{self, COMMON_WORD, SPREAD, StoredCalls};

const CALLS: u64 = 1_000_000;
/// Calls that the page reads at a time.
const PAGE: u32 = 200;
/// Repetitions of each measurement, each with other values where there are some.
const ROUNDS: u64 = 40;
/// The most that 95 of 100 answers may take.
const LIMIT: Duration = Duration::from_millis(100);

fn main() -> Result<()> {
    let count = match std::env::args().nth(1) {
        Some(count) => count.parse().context("usage: bench-activity [CALLS]")?,
        None => CALLS,
    };
    ensure!(count >= 10_000, "fewer calls say nothing");
    let folder = tempfile::Builder::new().prefix("gatehouse-bench-").tempdir()?;
    let data_dir = folder.path().join("data");
    let begun = Instant::now();
    let stored = stored_calls::fill(&data_dir, count)?;
    println!(
        "{count} calls of {} days stored in {:.0} s, {:.0} MB on the disk",
        SPREAD.as_secs() / 86_400,
        begun.elapsed().as_secs_f64(),
        size(&data_dir)? as f64 / 1e6
    );
    tokio::runtime::Runtime::new()?.block_on(async {
        let begun = Instant::now();
        let core = Core::start(CoreOptions::new(data_dir, ([127, 0, 0, 1], 0).into(), memory())).await?;
        println!("the core starts in {:.0} ms", millis(begun.elapsed()));
        let mut bench = ActivityBench { core, stored, over: Vec::new() };
        println!("{:<56}{:>9}{:>9}{:>9}", format!("milliseconds, {ROUNDS} rounds"), "p50", "p95", "longest");
        bench.lists().await?;
        bench.filters().await?;
        bench.searches().await?;
        bench.statistics().await?;
        bench.core.shutdown().await;
        match bench.over.as_slice() {
            [] => Ok(()),
            over => bail!("more than {} ms: {}", LIMIT.as_millis(), over.join(", ")),
        }
    })
}

/// The size of the files in a folder.
fn size(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        bytes += entry?.metadata()?.len();
    }
    Ok(bytes)
}

struct ActivityBench {
    core: Core,
    stored: StoredCalls,
    /// The measurements that exceed the limit.
    over: Vec<String>,
}

impl ActivityBench {
    /// The list without a filter: the first page, the ones after it, and ones far from it.
    async fn lists(&mut self) -> Result<()> {
        let all = CallFilter::default();
        self.list("first page", |_| all.clone()).await?;
        self.next_pages("next pages", all.clone()).await?;
        let stored = self.stored;
        self.list("pages anywhere in the list", |round| CallFilter {
            older_than: Some(stored.record(stored.count - 1 - round * (stored.count / 2 / ROUNDS)).cursor()),
            ..CallFilter::default()
        })
        .await?;
        self.list("one call", |round| CallFilter {
            call: Some(stored.record(anywhere(stored, round)).cursor()),
            ..CallFilter::default()
        })
        .await
    }

    /// Each filter, with much and with little that matches.
    async fn filters(&mut self) -> Result<()> {
        let (stored, all) = (self.stored, CallFilter::default());
        let hour = Timestamp(stored.newest.0 - 3_600_000);
        let month = Timestamp(stored.newest.0 - 30 * 24 * 3_600_000);
        for (name, filter) in [
            ("client with most calls", CallFilter { client: Some(stored.common_client()), ..all.clone() }),
            ("client with few calls", CallFilter { client: Some(stored.rare_client()), ..all.clone() }),
            ("client without a call", CallFilter { client: Some("none".into()), ..all.clone() }),
            ("server with most calls", CallFilter { server: Some(stored.common_server()), ..all.clone() }),
            ("server with fewest calls", CallFilter { server: Some(stored.rare_server()), ..all.clone() }),
            ("tool with most calls", CallFilter { tool: Some(stored.common_tool()), ..all.clone() }),
            ("tool with few calls", CallFilter { tool: Some(stored.rare_tool()), ..all.clone() }),
            ("decision: allowed", CallFilter { decision: Some(Decision::Allow), ..all.clone() }),
            ("decision: denied", CallFilter { decision: Some(Decision::Deny), ..all.clone() }),
            ("decision: asked, without a call", CallFilter { decision: Some(Decision::Ask), ..all.clone() }),
            ("result: done", CallFilter { outcome: Some(OutcomeClass::Ok), ..all.clone() }),
            ("result: error", CallFilter { outcome: Some(OutcomeClass::Error), ..all.clone() }),
            ("by the user", CallFilter { by_user: true, ..all.clone() }),
            ("last hour", CallFilter { since: Some(hour), ..all.clone() }),
            ("before the last month", CallFilter { until: Some(month), ..all.clone() }),
            (
                "client, server, tool, decision, result and time",
                CallFilter {
                    client: Some(stored.common_client()),
                    server: Some(stored.common_server()),
                    tool: Some(stored.common_tool()),
                    decision: Some(Decision::Allow),
                    outcome: Some(OutcomeClass::Error),
                    since: Some(month),
                    ..all.clone()
                },
            ),
        ] {
            self.list(&format!("filter: {name}"), |_| filter.clone()).await?;
        }
        let denied = CallFilter { decision: Some(Decision::Deny), ..all };
        self.next_pages("filter: decision: denied, next pages", denied).await
    }

    /// Words in tools, arguments and results.
    async fn searches(&mut self) -> Result<()> {
        let (stored, all) = (self.stored, CallFilter::default());
        let text = |text: String| CallFilter { text: Some(text), ..CallFilter::default() };
        self.list("search: a word of half of the calls", |_| text(COMMON_WORD.to_owned())).await?;
        self.list("search: a word of one of 80", |round| text(stored.some_word(round))).await?;
        self.list("search: two words of one of 80 each", |round| {
            text(format!("{} {}", stored.some_word(round), stored.some_word(round + 1_000)))
        })
        .await?;
        self.list("search: a word of one call", |round| text(stored.word_of(anywhere(stored, round))))
            .await?;
        self.list("search: a word of no call", |round| text(format!("nowhere{round}"))).await?;
        self.list("search: a single letter", |_| text("r".to_owned())).await?;
        self.list("search: the beginning of a word of every call", |_| text("re".to_owned())).await?;
        self.list("search: the beginning of 100 words", |round| text(format!("word{:02}", round % 20)))
            .await?;
        self.list("search: a word of half, denied, of one server", |_| CallFilter {
            decision: Some(Decision::Deny),
            server: Some(stored.rare_server()),
            ..text(COMMON_WORD.to_owned())
        })
        .await?;
        self.next_pages(
            "search: a word of half, next pages",
            CallFilter { text: Some(COMMON_WORD.to_owned()), ..all },
        )
        .await
    }

    /// The charts of Overview with their tables, the traffic of a server, and the findings.
    async fn statistics(&mut self) -> Result<()> {
        const HOUR: i64 = 3_600_000;
        let newest = self.stored.newest;
        for (range, length, interval) in [
            ("a day by hour", 24 * HOUR, StatisticsInterval::Hour),
            ("a week by day", 7 * 24 * HOUR, StatisticsInterval::Day),
            ("a month by day", 30 * 24 * HOUR, StatisticsInterval::Day),
        ] {
            for (by, group) in [
                ("all", StatisticsGroup::All),
                ("by client", StatisticsGroup::Client),
                ("by server", StatisticsGroup::Server),
            ] {
                let query = statistics_query(Timestamp(newest.0 - length), interval, group);
                self.figures(&format!("statistics: {range}, {by}"), &CallsStatistics { query }).await?;
            }
        }
        let mut query =
            statistics_query(Timestamp(newest.0 - HOUR), StatisticsInterval::Minute, StatisticsGroup::All);
        query.server = Some(self.stored.common_server());
        self.figures("statistics: the last hour of a server by minute", &CallsStatistics { query }).await?;
        let mut took = Vec::new();
        for _ in 0..ROUNDS {
            let begun = Instant::now();
            self.core.run(&PolicyFindings {}, Authority::Operator).await?;
            took.push(begun.elapsed());
        }
        self.row("findings about permissions and servers", took);
        Ok(())
    }

    /// Measures a page of calls for each round's filter.
    async fn list(&mut self, name: &str, filter: impl Fn(u64) -> CallFilter) -> Result<()> {
        let mut took = Vec::new();
        for round in 0..ROUNDS {
            took.push(self.page(filter(round)).await?.1);
        }
        self.row(name, took);
        Ok(())
    }

    /// Measures reading on from page to page.
    async fn next_pages(&mut self, name: &str, filter: CallFilter) -> Result<()> {
        let mut took = Vec::new();
        let (mut page, _) = self.page(filter.clone()).await?;
        for _ in 0..ROUNDS {
            let last = page.last().with_context(|| format!("{name}: no more calls"))?.cursor();
            let (next, time) = self.page(CallFilter { older_than: Some(last), ..filter.clone() }).await?;
            ensure!(
                page.last().zip(next.first()).is_none_or(|(newer, older)| newer.at >= older.at),
                "{name}: out of order"
            );
            took.push(time);
            if next.is_empty() {
                break;
            }
            page = next;
        }
        self.row(name, took);
        Ok(())
    }

    async fn page(&self, filter: CallFilter) -> Result<(Vec<CallRecord>, Duration)> {
        let command = CallsList { filter: CallFilter { limit: Some(PAGE), ..filter } };
        let begun = Instant::now();
        let calls = self.core.run(&command, Authority::Operator).await?;
        Ok((calls, begun.elapsed()))
    }

    async fn figures(&mut self, name: &str, command: &CallsStatistics) -> Result<()> {
        let mut took = Vec::new();
        for _ in 0..ROUNDS {
            let begun = Instant::now();
            let figures = self.core.run(command, Authority::Operator).await?;
            took.push(begun.elapsed());
            let is_minute = command.query.interval == StatisticsInterval::Minute;
            ensure!(is_minute || figures.totals.total() > 0, "{name}: no calls were counted");
        }
        self.row(name, took);
        Ok(())
    }

    fn row(&mut self, name: &str, mut took: Vec<Duration>) {
        took.sort_unstable();
        let at = |percent: usize| {
            let index = (took.len() * percent / 100).min(took.len().saturating_sub(1));
            took.get(index).copied().unwrap_or_default()
        };
        let (median, p95, longest) = (at(50), at(95), at(100));
        let note = if p95 > LIMIT { format!("  over {} ms", LIMIT.as_millis()) } else { String::new() };
        println!("{name:<56}{:>9.1}{:>9.1}{:>9.1}{note}", millis(median), millis(p95), millis(longest));
        if p95 > LIMIT {
            self.over.push(name.to_owned());
        }
    }
}

fn statistics_query(
    since: Timestamp,
    interval: StatisticsInterval,
    group: StatisticsGroup,
) -> CallStatisticsQuery {
    CallStatisticsQuery { since, until: None, interval, group, client: None, server: None, utc_offset: 0 }
}

/// The number of another call in each round.
fn anywhere(stored: StoredCalls, round: u64) -> u64 {
    round * 7_919 % stored.count
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
