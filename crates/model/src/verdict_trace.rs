//! How a call was judged, check by check (UI-5). Kept with the record of the call, so that it can be told later although
//! the rules are others by then. Only ids of rules are in it, nothing of what the call contained.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::id::GrantId;

/// Most rules that are listed for one check.
pub const MAX_JUDGED_RULES: usize = 16;

/// One check of a call. The checks stand in the order in which they are made, and the last one decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct JudgedCheck {
    pub check: PolicyCheck,
    /// The user's rules that were looked at, at most [`MAX_JUDGED_RULES`].
    pub rules: Vec<JudgedRule>,
    /// How many more there were.
    pub more: u32,
}

impl JudgedCheck {
    /// A check that looks at no rules.
    #[must_use]
    pub fn new(check: PolicyCheck) -> Self {
        Self { check, rules: Vec::new(), more: 0 }
    }
}

/// The checks of the policy, in the order in which they are made (PERM-6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum PolicyCheck {
    /// Whether the administrator's policy forbids the server.
    ManagedPolicy,
    /// Whether everything is paused.
    Pause,
    /// The denies.
    Denies,
    /// Whether the user allowed this very call after the client had given up.
    LateApproval,
    /// Whether the stored permissions can be verified.
    Verification,
    /// The allows.
    Allows,
    /// Nothing decided before: the user is asked.
    Default,
    /// Whether the client's profile shows it.
    Profile,
}

/// One of the user's rules that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct JudgedRule {
    pub rule: GrantId,
    pub finding: RuleFit,
}

/// Why a rule decided a call, or why it did not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum RuleFit {
    /// It decided.
    Decided,
    /// It fits, but another rule comes before it.
    Outranked,
    /// It is for other calls.
    NotCovered,
    /// The tool came after the rule.
    AddedLater,
    /// The tool's definition is none that the rule was given for.
    ChangedDefinition,
    /// It is for another client or session, or has expired.
    NotInForce,
    /// It is bound to another program.
    OtherProgram,
    /// It is bound to no program yet.
    Unbound,
    /// Its conditions on the arguments do not hold.
    ConditionsFailed,
}
