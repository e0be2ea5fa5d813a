//! Simulation (PERM-15): what a draft of other rules would have done with past calls.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::approval::{AutoApprove, GrantChoice, Subject};
use crate::grant::{Decision, Rule, RuleEffect};
use crate::id::{CallId, ClientId, GrantId, ServerId};
use crate::time::Timestamp;

/// Other rules than those that hold: what would be taken back, set and added, in this order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct PolicyDraft {
    /// Rules that would be taken back.
    pub without: Vec<GrantId>,
    /// What would run without asking, by server and client.
    pub auto_approve: Vec<DraftAutoApprove>,
    /// Rules that would be added.
    pub rules: Vec<DraftRule>,
}

/// What would run without asking.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DraftAutoApprove {
    /// Id or name of the server; every server that there is now where absent.
    #[serde(default)]
    pub server: Option<String>,
    /// For this client (id or name); every client where absent.
    #[serde(default)]
    pub client: Option<String>,
    pub to: AutoApprove,
}

/// A rule that would be added.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DraftRule {
    /// Allow or deny.
    pub effect: RuleEffect,
    /// Id or name of the server; every server where absent, which only a deny may be for.
    #[serde(default)]
    pub server: Option<String>,
    /// Tool on the server; needed for the width `tool`.
    #[serde(default)]
    pub tool: Option<String>,
    /// For this client (id or name); every client where absent.
    #[serde(default)]
    pub client: Option<String>,
    /// How long and how wide.
    pub choice: GrantChoice,
}

/// How many calls come to which decision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct DecisionCounts {
    /// They would run.
    pub allowed: u32,
    /// The user would be asked.
    pub asked: u32,
    /// They would be refused.
    pub denied: u32,
}

/// What a simulation found. Calls are judged as if they came now, with the tools as they are now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SimulationReport {
    /// Calls that were judged.
    pub calls: u32,
    /// Calls that could not be judged: their server or tool is gone.
    pub gone: u32,
    /// Calls whose arguments are not kept whole; a rule with conditions counts for them only if it denies.
    pub incomplete: u32,
    /// Whether there were more calls than are looked at; then these are the newest.
    pub cut: bool,
    /// By the rules that hold.
    pub now: DecisionCounts,
    pub draft: DecisionCounts,
    /// Where the two differ, most calls first.
    pub changes: Vec<SimulatedChange>,
}

/// Calls of one kind that the draft decides in another way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SimulatedChange {
    pub client: ClientId,
    pub server: ServerId,
    /// What was used.
    pub subject: Subject,
    /// By the rules that hold.
    pub now: Decision,
    pub draft: Decision,
    /// The draft's rule for the newest of them.
    pub rule: Rule,
    /// How many calls.
    pub calls: u32,
    /// The newest of them.
    pub last: CallId,
    pub at: Timestamp,
}
