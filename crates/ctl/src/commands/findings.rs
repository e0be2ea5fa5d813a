//! The health of permissions, in words.

use gatehouse_model::health::{FindingKind, FindingsReport, RuleFinding, UnusedServer};
use gatehouse_model::{Message, Timestamp, message};

use crate::output::table;
use crate::terminal_text;

/// Longest list of tools, in characters.
const TOOLS_LENGTH: usize = 60;

/// What is said of rules, then of servers.
pub(crate) fn describe(found: &FindingsReport) -> Vec<String> {
    let rows: Vec<Vec<String>> = found.rules.iter().map(rule_row).collect();
    let none = message!("ctl.findings.none", since = terminal_text::time(found.recorded_since));
    if found.rules.is_empty() && found.servers.is_empty() {
        return vec![terminal_text::message(&none)];
    }
    let heading = [message!("ctl.column.rule"), message!("ctl.column.what"), message!("ctl.column.why")];
    let mut lines = Vec::new();
    if !rows.is_empty() {
        lines.extend(table(&heading, &rows, &none));
    }
    lines.extend(found.servers.iter().map(|server| terminal_text::message(&server_line(server))));
    lines
}

fn rule_row(found: &RuleFinding) -> Vec<String> {
    let what = match &found.finding {
        FindingKind::Unused { last_used } => unused(*last_used),
        FindingKind::TooWide { used, unused } => message!(
            "ctl.findings.tooWide",
            used = terminal_text::truncate(&used.join(", "), TOOLS_LENGTH),
            unused = terminal_text::truncate(&unused.join(", "), TOOLS_LENGTH),
        ),
    };
    vec![found.rule.to_string(), terminal_text::message(&found.sentence), terminal_text::message(&what)]
}

fn unused(last: Option<Timestamp>) -> Message {
    match last {
        Some(at) => message!("ctl.findings.unusedSince", at = terminal_text::time(at)),
        None => message!("ctl.findings.neverUsed"),
    }
}

fn server_line(server: &UnusedServer) -> Message {
    match server.last_call {
        Some(at) => {
            message!("ctl.findings.serverUnused", server = &server.name, at = terminal_text::time(at))
        }
        None => message!("ctl.findings.serverNeverUsed", server = &server.name),
    }
}
