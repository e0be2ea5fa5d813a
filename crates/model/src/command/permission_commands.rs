//! Commands about approval requests, rules, and removals that can be undone.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::authority::{Authority, TypedCommand};
use super::table::commands;
use super::values::{PracticeResult, Removal};
use crate::approval::{AutoApprove, GrantChoice, PendingApproval, RevealedArgument, SubmittedAnswer};
use crate::grant::{AutoApproveCoverage, PolicyView, RuleView};
use crate::health::FindingsReport;
use crate::id::{ApprovalId, CallHash, GrantId, RemovalId};
use crate::provider::{RiskOpinion, SamplingDraft};
use crate::simulation::{PolicyDraft, SimulationReport};
use crate::time::Timestamp;

commands! {
    permission_commands {
        /// The approval requests that wait, with the whole arguments (secrets masked) and what is offered of as many as one
        /// reply has room for, which is one at least. The others say that they are abridged; they come when the list
        /// is asked for again.
        "approvals.list" ApprovalsList {
            /// Approval requests that the reader has already; their arguments and what they offer are left out.
            #[serde(default)]
            known: Vec<ApprovalId>,
        } -> Vec<PendingApproval>, Operator: "It shows the arguments of calls that wait.";
        /// One argument of a waiting call without its mask, because the user asked to see it.
        "approvals.reveal" ApprovalsReveal {
            id: ApprovalId,
            /// The hash that was shown.
            hash: CallHash,
            /// Which argument, from 0, in the order in which they were shown.
            argument: u32,
        } -> RevealedArgument, Operator: "It shows what is masked.";
        /// Answers approval requests. All answers of one request are for approval requests that were shown together.
        "approvals.answer" ApprovalsAnswer {
            answers: Vec<SubmittedAnswer>,
        } -> (), Operator: "It lets calls run.";
        /// Lets the model for sampling write an answer to a waiting sampling request. Nothing is sent to the server.
        "approvals.generate" ApprovalsGenerate {
            id: ApprovalId,
            /// What `servers.stopRun` is to call this run; it is not stopped by itself where absent.
            #[serde(default)]
            run: Option<String>,
        } -> SamplingDraft, Operator: "It sends what a server wants to know to a model's provider.";
        /// A model's opinion about a waiting call (PERM-17); none where that is off. It decides nothing.
        "approvals.opinion" ApprovalsOpinion {
            id: ApprovalId,
            /// The hash that was shown.
            hash: CallHash,
        } -> Option<RiskOpinion>, Operator: "It sends the masked arguments of a call to a model's provider.";
        /// Makes a call of the built-in clock that needs approval, to show what a request looks like. Waits for the answer.
        "approvals.practice" ApprovalsPractice {} -> PracticeResult, Operator: "It puts a request to the user.";

        /// All rules.
        "policy.show" PolicyShow {} -> PolicyView,
            Anyone: "It only looks; paths of addresses and values of conditions are for the operator.";
        /// Sets what runs without asking, on one server or on every server that there is now, for every
        /// client or for one.
        "policy.autoApprove" PolicyAutoApprove {
            /// Id or name of the server; every server that there is now where absent.
            #[serde(default)]
            server: Option<String>,
            /// For this client (id or name); every client where absent.
            #[serde(default)]
            client: Option<String>,
            to: AutoApprove,
        } -> AutoApproveCoverage, Operator: "It widens what may run without approval.";
        /// Judges calls that were made by the present rules and by a draft of others, and says where they
        /// differ. Nothing changes (PERM-15).
        "policy.simulate" PolicySimulate {
            /// Calls since then.
            since: Timestamp,
            /// The other rules.
            draft: PolicyDraft,
            /// What `servers.stopRun` is to call this run; it is not stopped by itself where absent.
            #[serde(default)]
            run: Option<String>,
        } -> SimulationReport, Operator: "With conditions in the draft it tells what was in the arguments of calls.";
        /// Allows a tool or more, without approval.
        "policy.grant" PolicyGrant {
            /// Id or name of the server.
            server: String,
            /// Tool on the server; needed for the width `tool`.
            tool: Option<String>,
            /// For this client (id or name); every client where absent.
            client: Option<String>,
            /// How long and how wide.
            choice: GrantChoice,
        } -> (), Operator: "It widens what may run without approval.";
        /// Blocks a tool or more.
        "policy.deny" PolicyDeny {
            /// Id or name of the server; every server where absent.
            server: Option<String>,
            /// Tool on the server; needed for the width `tool`.
            tool: Option<String>,
            /// For this client (id or name); every client where absent.
            client: Option<String>,
            /// How long and how wide.
            choice: GrantChoice,
            /// What the model gets to read.
            reason: Option<String>,
        } -> (), Anyone: "It only adds a block; without the operator's word it replaces none but a shorter one that was made without it.";
        /// What was allowed under an operator key that was made anew since; it counts for nothing.
        "policy.suspended" PolicySuspended {} -> Vec<RuleView>,
            Anyone: "It only looks; paths of addresses and values of conditions are for the operator.";
        /// Lets suspended rules count again, and forgets the others.
        "policy.confirm" PolicyConfirm {
            /// Which; where absent all of them, with the classes and labels that were set.
            #[serde(default)]
            rules: Option<Vec<GrantId>>,
        } -> (), Operator: "It widens what may run without approval.";
        /// Takes back an allow.
        "policy.revoke" PolicyRevoke {
            rule: GrantId,
        } -> Option<Removal>, Operator: "It destroys a rule that the user made.";
        /// Says which allows and servers nobody needs any more, and which allows are wider than they were ever needed.
        "policy.findings" PolicyFindings {} -> FindingsReport,
            Anyone: "It only looks; paths of addresses and values of conditions are for the operator.";
        /// Replaces an allow that is wider than it was ever needed by one for the tools that were used.
        "policy.narrow" PolicyNarrow {
            rule: GrantId,
        } -> Option<Removal>, Operator: "It destroys a rule that the user made.";
        /// Takes back a deny.
        "policy.unblock" PolicyUnblock {
            rule: GrantId,
        } -> Option<Removal>, Operator: "It widens what may run.";

        /// Brings back what was removed last, or by the removal of this id: a server with its secrets and permissions, a
        /// profile with the servers of its projects, or a rule.
        "removals.undo" RemovalsUndo {
            #[serde(default)]
            removal: Option<RemovalId>,
        } -> (), Operator: "It starts a server that was removed, and lets rules count again.";
    }
}
