//! `calls`: lists past calls, exports them, and shows figures about them.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, BufWriter};

use gatehouse_app::CallExporter;
use gatehouse_model::command::{CallExportFormat, CallsList, CallsStatistics, ClientsList, ServersList};
use gatehouse_model::record::{CallFilter, CallOutcome, OutcomeClass};
use gatehouse_model::statistics::{
    CallCounts, CallStatistics, CallStatisticsQuery, StatisticsGroup, StatisticsInterval, ToolStatistics,
};
use gatehouse_model::{
    CallRecord, ClientId, Clock as _, Decision, Message, ServerId, SystemClock, Timestamp, message,
};

use crate::cli::{
    CallExportArg, CallFilterArgs, CallsArgs, CallsVerb, DecisionArg, OutcomeArg, StatisticsArg, TimeSpan,
};
use crate::error::CliError;
use crate::output::{Printer, table};
use crate::session::ControlSession;
use crate::terminal_text;

/// Records that are read at a time during an export.
const EXPORT_PAGE: u32 = 500;

pub(crate) async fn run(
    wanted: CallsArgs,
    session: &mut ControlSession,
    output: &Printer,
) -> Result<(), CliError> {
    match wanted.verb {
        None => list(wanted.filter, wanted.limit, session, output).await,
        Some(CallsVerb::Stats { since, by, client, server }) => {
            let (interval, group) = match by {
                StatisticsArg::Day => (StatisticsInterval::Day, StatisticsGroup::All),
                StatisticsArg::Hour => (StatisticsInterval::Hour, StatisticsGroup::All),
                StatisticsArg::Client => (StatisticsInterval::Day, StatisticsGroup::Client),
                StatisticsArg::Server => (StatisticsInterval::Day, StatisticsGroup::Server),
            };
            let query = CallStatisticsQuery {
                since: ago(since),
                until: None,
                interval,
                group,
                client: client.map(ClientId::new),
                server: server.map(ServerId::new),
                utc_offset: utc_offset(),
            };
            let found = session.run(&CallsStatistics { query }).await?;
            if output.is_json() {
                return output.json(&found);
            }
            let names = names(session).await?;
            describe(&found, group, &names).iter().try_for_each(|line| output.line(line))
        }
        Some(CallsVerb::Export { filter, format }) => export(filter, format, session).await,
    }
}

async fn list(
    wanted: CallFilterArgs,
    limit: Option<u32>,
    session: &mut ControlSession,
    output: &Printer,
) -> Result<(), CliError> {
    if wanted.text.is_some() {
        session.use_operator_key();
    }
    let filter = CallFilter { limit, ..filter(wanted) };
    let calls = session.run(&CallsList { filter }).await?;
    output.show(&calls, |calls| {
        let rows: Vec<Vec<String>> = calls.iter().map(row).collect();
        table(
            &[
                message!("ctl.column.when"),
                message!("ctl.column.client"),
                message!("ctl.column.server"),
                message!("ctl.column.tool"),
                message!("ctl.column.outcome"),
                message!("ctl.column.milliseconds"),
            ],
            &rows,
            &message!("ctl.calls.none"),
        )
    })
}

/// Writes page after page, so that no export is in memory as a whole.
async fn export(
    wanted: CallFilterArgs,
    format: CallExportArg,
    session: &mut ControlSession,
) -> Result<(), CliError> {
    // Arguments and results are for the operator only.
    session.use_operator_key();
    let format = match format {
        CallExportArg::Jsonl => CallExportFormat::JsonLines,
        CallExportArg::Csv => CallExportFormat::Csv,
        CallExportArg::Har => CallExportFormat::Har,
    };
    let mut filter = CallFilter { limit: Some(EXPORT_PAGE), ..filter(wanted) };
    let mut exporter = CallExporter::new(BufWriter::new(io::stdout()), format)?;
    loop {
        let page = session.run(&CallsList { filter: filter.clone() }).await?;
        for record in &page {
            exporter.write(record)?;
        }
        match page.last() {
            Some(last) => filter.older_than = Some(last.cursor()),
            None => break,
        }
    }
    exporter.finish()?;
    Ok(())
}

fn filter(wanted: CallFilterArgs) -> CallFilter {
    let CallFilterArgs { client, server, tool, decision, outcome, text, by_user, since } = wanted;
    CallFilter {
        client: client.map(ClientId::new),
        server: server.map(ServerId::new),
        tool,
        decision: decision.map(|decision| match decision {
            DecisionArg::Allow => Decision::Allow,
            DecisionArg::Ask => Decision::Ask,
            DecisionArg::Deny => Decision::Deny,
        }),
        outcome: outcome.map(|outcome| match outcome {
            OutcomeArg::Ok => OutcomeClass::Ok,
            OutcomeArg::Error => OutcomeClass::Error,
            OutcomeArg::Denied => OutcomeClass::Denied,
            OutcomeArg::Unfinished => OutcomeClass::Unfinished,
        }),
        text,
        by_user,
        call: None,
        since: since.map(ago),
        until: None,
        older_than: None,
        limit: None,
    }
}

fn ago(TimeSpan(span): TimeSpan) -> Timestamp {
    let millis = i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
    Timestamp(SystemClock.now().0.saturating_sub(millis))
}

/// Minutes that the local clock is ahead of UTC now.
fn utc_offset() -> i32 {
    jiff::tz::TimeZone::system().to_offset(jiff::Timestamp::now()).seconds() / 60
}

/// The names of clients and servers by id.
async fn names(session: &mut ControlSession) -> Result<HashMap<String, String>, CliError> {
    let clients = session.run(&ClientsList {}).await?;
    let servers = session.run(&ServersList {}).await?;
    let clients = clients.into_iter().map(|client| (client.id.to_string(), client.name));
    let servers = servers.into_iter().map(|server| (server.config.id.to_string(), server.config.name));
    Ok(clients.chain(servers).collect())
}

fn describe(found: &CallStatistics, group: StatisticsGroup, names: &HashMap<String, String>) -> Vec<String> {
    let CallCounts { ok, errors, denied, unfinished } = found.totals;
    let totals = message!(
        "ctl.stats.totals",
        calls = found.totals.total(),
        ok = ok,
        errors = errors,
        denied = denied,
        unfinished = unfinished,
    );
    let name = |id: &str| names.get(id).cloned().unwrap_or_else(|| id.to_owned());
    let mut counted: BTreeMap<String, CallCounts> = BTreeMap::new();
    for point in &found.points {
        let key = match &point.of {
            Some(id) => name(id),
            None => terminal_text::time(point.at),
        };
        let counts = counted.entry(key).or_default();
        let CallCounts { ok, errors, denied, unfinished } = point.counts;
        counts.add(OutcomeClass::Ok, ok);
        counts.add(OutcomeClass::Error, errors);
        counts.add(OutcomeClass::Denied, denied);
        counts.add(OutcomeClass::Unfinished, unfinished);
    }
    let first = match group {
        StatisticsGroup::All => message!("ctl.column.since"),
        StatisticsGroup::Client => message!("ctl.column.client"),
        StatisticsGroup::Server => message!("ctl.column.server"),
    };
    let rows: Vec<Vec<String>> = counted.into_iter().map(|(key, counts)| count_cells(key, &counts)).collect();
    let none = message!("ctl.calls.none");
    let heading =
        [first, message!("ctl.column.calls"), message!("ctl.column.errors"), message!("ctl.column.denied")];
    let mut lines = vec![terminal_text::message(&totals), String::new()];
    lines.extend(table(&heading, &rows, &none));
    for (title, tools) in
        [(message!("ctl.stats.mostUsed"), &found.most_used), (message!("ctl.stats.slowest"), &found.slowest)]
    {
        if !tools.is_empty() {
            lines.extend([String::new(), terminal_text::message(&title)]);
            lines.extend(tool_table(tools, &name));
        }
    }
    lines
}

fn count_cells(key: String, counts: &CallCounts) -> Vec<String> {
    vec![key, counts.total().to_string(), counts.errors.to_string(), counts.denied.to_string()]
}

fn tool_table(tools: &[ToolStatistics], name: &dyn Fn(&str) -> String) -> Vec<String> {
    let row = |tool: &ToolStatistics| {
        let mut cells = vec![name(tool.server.as_str())];
        cells.extend(count_cells(tool.tool.clone(), &tool.counts));
        cells.extend([tool.average_ms.to_string(), tool.slowest_ms.to_string()]);
        cells
    };
    let rows: Vec<Vec<String>> = tools.iter().map(row).collect();
    table(
        &[
            message!("ctl.column.server"),
            message!("ctl.column.tool"),
            message!("ctl.column.calls"),
            message!("ctl.column.errors"),
            message!("ctl.column.denied"),
            message!("ctl.column.averageMs"),
            message!("ctl.column.slowestMs"),
        ],
        &rows,
        &message!("ctl.calls.none"),
    )
}

fn row(call: &CallRecord) -> Vec<String> {
    vec![
        terminal_text::time(call.at),
        call.client_name.clone(),
        call.server_name.clone(),
        call.exposed_name.clone(),
        terminal_text::truncate(&terminal_text::message(&outcome(&call.outcome)), 60),
        call.duration_ms.to_string(),
    ]
}

fn outcome(outcome: &CallOutcome) -> Message {
    match outcome {
        CallOutcome::Ok => message!("ctl.calls.ok"),
        CallOutcome::Unfit { .. } => message!("ctl.calls.unfit"),
        CallOutcome::ToolError => message!("ctl.calls.toolFailed"),
        CallOutcome::RpcError { code, message } => {
            message!("ctl.calls.error", code = code.to_string(), message = message)
        }
        CallOutcome::Refused => message!("ctl.calls.refused"),
        CallOutcome::StillWaiting => message!("ctl.calls.stillWaiting"),
        CallOutcome::Repeated { call } => message!("ctl.calls.repeated", call = call.to_string()),
        CallOutcome::Cancelled => message!("ctl.calls.cancelled"),
        CallOutcome::Failed { message } => message!("ctl.calls.failed", message = message),
    }
}
