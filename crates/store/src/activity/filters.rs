//! What calls are filtered by (UI-5): each record has one token in the full-text index for its client, its server, its
//! tool, its decision, how it ended, and whether the user made it. So every filter, also together with a search, reads
//! the index alone and never the records that do not match.
//!
//! The tokens stand in a column of their own, and only that column is searched for them: no text of a call can pass for
//! one.

use gatehouse_model::record::{CallFilter, OutcomeClass};
use gatehouse_model::{CallRecord, Decision};
use sha2::{Digest as _, Sha256};

/// Begins every token. The index takes this character for a letter, and nobody types it.
const MARK: char = '\u{E000}';
/// Bytes of the digest in a token.
const DIGEST_BYTES: usize = 8;

/// The member of a record that a token is for.
#[derive(Clone, Copy)]
enum FilterKind {
    Client,
    Server,
    Tool,
    Decision,
    Outcome,
    ByUser,
}

/// The tokens of a record.
pub(super) fn tokens(record: &CallRecord) -> String {
    [
        token(FilterKind::Client, record.client.as_str()),
        token(FilterKind::Server, record.server.as_str()),
        token(FilterKind::Tool, &record.subject.borrowed().group_name()),
        token(FilterKind::Decision, decision_name(record.verdict.decision)),
        token(FilterKind::Outcome, record.outcome.class().as_str()),
        token(FilterKind::ByUser, user_name(record.by_user)),
    ]
    .join(" ")
}

/// The part of a full-text query that finds what a filter wants besides its words; `None` if that is everything.
pub(super) fn query(filter: &CallFilter) -> Option<String> {
    let wanted = [
        filter.client.as_ref().map(|client| token(FilterKind::Client, client.as_str())),
        filter.server.as_ref().map(|server| token(FilterKind::Server, server.as_str())),
        filter.tool.as_ref().map(|tool| token(FilterKind::Tool, tool)),
        filter.decision.map(|decision| token(FilterKind::Decision, decision_name(decision))),
        filter.outcome.map(|outcome| token(FilterKind::Outcome, OutcomeClass::as_str(outcome))),
        filter.by_user.then(|| token(FilterKind::ByUser, user_name(true))),
    ];
    let wanted: Vec<String> = wanted.into_iter().flatten().map(|token| format!("\"{token}\"")).collect();
    (!wanted.is_empty()).then(|| format!("filters : ({})", wanted.join(" AND ")))
}

fn user_name(by_user: bool) -> &'static str {
    if by_user { "user" } else { "client" }
}

fn decision_name(decision: Decision) -> &'static str {
    match decision {
        Decision::Allow => "allow",
        Decision::Ask => "ask",
        Decision::Deny => "deny",
    }
}

/// A digest, since ids and names have characters that would end a token.
fn token(kind: FilterKind, value: &str) -> String {
    let letter = match kind {
        FilterKind::Client => 'c',
        FilterKind::Server => 's',
        FilterKind::Tool => 't',
        FilterKind::Decision => 'd',
        FilterKind::Outcome => 'o',
        FilterKind::ByUser => 'u',
    };
    let digest = Sha256::digest(value.as_bytes());
    format!("{MARK}{letter}{}", hex::encode(digest.get(..DIGEST_BYTES).unwrap_or_default()))
}
