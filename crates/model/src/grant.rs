//! Permissions: access classes, rules and verdicts (PERM-2 to PERM-8).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::approved_versions::ApprovedVersions;
use crate::binding::ServerBinding;
use crate::error::UserError;
use crate::id::{ApprovalId, CallHash, ClientId, GrantId, ServerId, SessionId};
use crate::message::Message;
use crate::subject::{self, Subject};
use crate::time::Timestamp;

/// Whether a tool only looks or also changes something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum AccessClass {
    /// It looks.
    Read,
    /// It changes or runs something, or we do not know.
    Write,
}

/// Access class of a tool with what led to it (PERM-2).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AccessClassification {
    pub class: AccessClass,
    /// What decided.
    pub reason: ClassReason,
    /// It reaches a target that its arguments name (URL, host, recipient, open world); never part
    /// of "all reads".
    pub reaches_outside: bool,
}

/// What decided an access class.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(tag = "by", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ClassReason {
    /// The user said so.
    Override,
    /// An annotation (`destructiveHint`, `readOnlyHint`).
    Annotation {
        /// Name of the annotation.
        hint: String,
    },
    /// A word in the tool's name.
    Name { word: String },
    /// A word in the tool's description.
    Description { word: String },
    /// The server's read-only label, which the user trusts, and a name that agrees.
    TrustedLabel,
    /// The server's read-only label, which the user does not trust, and a name that agrees: it counts as `write`,
    /// and would be `read` if the user trusted the label.
    UntrustedLabel,
    /// It is a resource, a prompt or a completion: always `read` (PERM-18).
    NotATool,
    /// Nothing said anything: it counts as `write`.
    Default,
}

/// What a rule does with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum RuleEffect {
    /// Lets calls through.
    Allow,
    /// Refuses calls.
    Deny,
}

/// The ways in which a server's page says what runs without asking (PERM-3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum AutoApprove {
    /// Nothing does.
    Ask,
    /// Reads do.
    Reads,
    /// Writes do (and reads do not).
    Writes,
    /// Everything does.
    All,
}

impl AutoApprove {
    /// Whether a class is covered.
    #[must_use]
    pub fn covers(self, class: AccessClass) -> bool {
        match (self, class) {
            (Self::Ask, _) => false,
            (Self::All, _) | (Self::Reads, AccessClass::Read) | (Self::Writes, AccessClass::Write) => true,
            (Self::Reads, AccessClass::Write) | (Self::Writes, AccessClass::Read) => false,
        }
    }
}

/// What a rule covers (PERM-4).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(tag = "width", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Scope {
    /// Exactly one call.
    Call {
        /// Which one.
        hash: CallHash,
    },
    /// One tool (or resource, or prompt) by its name on the server.
    Tool {
        /// Name as the server gives it.
        #[serde(with = "subject::as_rule_name")]
        #[ts(as = "String")]
        tool: Subject,
    },
    /// Every read of the server, except what reaches outside.
    Reads,
    /// Every write of the server. Does not include reads.
    Writes,
    /// Everything of the server.
    Everything,
}

/// Which clients a rule is for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(tag = "clients", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ClientScope {
    /// The client with this token.
    One {
        /// Which one.
        client: ClientId,
    },
    Every,
}

/// How long a rule lasts (PERM-4). Only `Always` is ever written to disk.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(tag = "lifetime", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Lifetime {
    /// Used up by the first call.
    Once,
    /// Until a moment.
    Until {
        /// That moment.
        at: Timestamp,
    },
    /// Until the client's session or bridge ends, at the latest until Gatehouse quits.
    Session { session: SessionId },
    /// Until Gatehouse quits.
    UntilQuit,
    /// Until it is revoked.
    Always,
}

/// Who made a rule. It decides no call, only which rules another one may replace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(tag = "author", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum RuleAuthor {
    /// A person, in one of Gatehouse's own windows or with the operator key. Rules that were kept before authors were
    /// count as this, so that nobody without the key can replace them.
    #[default]
    Person,
    /// A caller that did not prove to have the operator key. Such a rule is always a deny.
    Unprivileged,
    /// Not verified: the rule was suspended because the operator key was made anew without the one before it. A person
    /// confirmed it since.
    Confirmed {
        /// When it was confirmed.
        at: Timestamp,
    },
}

/// One rule: an allow (grant) or a deny.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Grant {
    pub id: GrantId,
    /// Allow or deny.
    pub effect: RuleEffect,
    /// The server; `None` means every server and is legal for a deny only.
    pub server: Option<ServerBinding>,
    /// What it covers.
    pub width: Scope,
    pub clients: ClientScope,
    /// How long it lasts.
    pub lifetime: Lifetime,
    /// Conditions on the arguments; all must hold.
    #[serde(default)]
    pub conditions: Vec<Condition>,
    /// Tools and definitions that existed when an allow was given; others ask (PERM-8). Keyed by
    /// the tool's name on the server. Has several definitions of a tool if each was approved.
    #[serde(default)]
    pub pins: BTreeMap<String, ApprovedVersions>,
    /// The program that an allow for one client is bound to (PERM-9): the one that it was given to, or that used it
    /// first with a person's leave. Before that it covers nothing.
    #[serde(default)]
    pub program: Option<String>,
    /// When it was given.
    pub created: Timestamp,
    #[serde(default)]
    pub author: RuleAuthor,
    /// For a deny: what the model gets to read.
    #[serde(default)]
    pub reason: Option<String>,
}

/// A condition on one argument (PERM-5).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// JSON Pointer (RFC 6901) to the argument.
    pub pointer: String,
    /// What must hold for it.
    pub test: ConditionTest,
}

/// What must hold for an argument. Everything but `Equals` and `OneOf` is about text.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(tag = "test", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ConditionTest {
    /// The same JSON value (compared in canonical form).
    Equals {
        /// JSON text.
        value: String,
    },
    /// One of these JSON values.
    OneOf {
        /// JSON texts.
        values: Vec<String>,
    },
    /// Text that starts so.
    StartsWith {
        /// The start.
        text: String,
    },
    /// A path inside a folder once `..` and links are resolved.
    Inside {
        /// Absolute path of the folder.
        folder: String,
    },
    /// An http, https, ws, wss or ftp URL whose host and port are these.
    HostIs {
        /// Host in ASCII form.
        host: String,
        /// Port; the usual one of the URL's scheme where absent.
        #[serde(default)]
        port: Option<u16>,
    },
    /// Text that matches a glob.
    Glob {
        /// The pattern; `*` does not cross `/`.
        pattern: String,
    },
}

/// What is to happen with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// It runs.
    Allow,
    /// A person decides.
    Ask,
    /// It is refused.
    Deny,
}

/// Decision with the rule that made it (PERM-6).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Verdict {
    /// Allow, ask or deny.
    pub decision: Decision,
    pub rule: Rule,
}

/// The rules in the order in which they are tried (PERM-6), but for one: a late ticket is looked for
/// before a changed definition. Its hash holds the definition as it is now, so it was given for just
/// that, and a grant that is suspended for the definition's sake does not take it back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "rule", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Rule {
    /// The enterprise policy file forbids it.
    PolicyFile {
        /// Reason that the file gives.
        reason: String,
    },
    /// Everything is paused.
    Paused,
    /// MCP is switched off.
    SwitchedOff,
    /// The client's profile does not show it (GATE-4).
    HiddenByProfile {
        /// Name of the profile.
        profile: String,
    },
    /// The client has made as many calls as its profile lets it make in a minute.
    RateLimited { per_minute: u32 },
    /// The user denied it.
    ExplicitDeny {
        grant: GrantId,
        /// What the user said, if anything.
        reason: Option<String>,
    },
    /// The stored permissions cannot be read or verified: everything asks.
    // The name that records are stored with.
    #[serde(rename = "rights_unverified")]
    PermissionsUnverified,
    /// A grant would cover it, but the tool's definition is none that it was given for.
    ChangedDefinition { grant: GrantId },
    /// A grant for this client would cover it, but is bound to no program yet: a person is asked about its first use.
    UnboundGrant { grant: GrantId },
    /// The user allowed this very call after the client had given up.
    LateTicket {
        /// The approval request that was answered.
        ask: ApprovalId,
    },
    /// A grant with conditions on the arguments.
    ConditionedGrant { grant: GrantId },
    /// A grant for a time, a session or until Gatehouse quits.
    TimedGrant { grant: GrantId },
    /// An always-grant (the auto-approve list).
    AlwaysGrant { grant: GrantId },
    /// The user was asked and answered.
    Answered { ask: ApprovalId },
    /// The approval request ended without an answer: time-out, lost window, shutdown.
    Unanswered { ask: ApprovalId },
    /// The user made the call in Gatehouse's own window.
    ByUser,
    /// Nothing else applies.
    DefaultAsk,
}

impl Rule {
    /// The user's rule that decided, if it was one.
    pub fn deciding_grant(&self) -> Option<&GrantId> {
        match self {
            Self::ExplicitDeny { grant, .. }
            | Self::ConditionedGrant { grant }
            | Self::TimedGrant { grant }
            | Self::AlwaysGrant { grant } => Some(grant),
            // These rules would have allowed the call, but did not apply.
            Self::ChangedDefinition { .. }
            | Self::UnboundGrant { .. }
            | Self::PolicyFile { .. }
            | Self::Paused
            | Self::SwitchedOff
            | Self::HiddenByProfile { .. }
            | Self::RateLimited { .. }
            | Self::PermissionsUnverified
            | Self::LateTicket { .. }
            | Self::Answered { .. }
            | Self::Unanswered { .. }
            | Self::ByUser
            | Self::DefaultAsk => None,
        }
    }
}

/// One difference between two definitions of a tool (PERM-8).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct FieldChange {
    /// JSON Pointer within the definition.
    pub pointer: String,
    /// Which sort of field it is.
    pub concern: FieldConcern,
    /// JSON text before; absent when the field is new.
    pub before: Option<String>,
    /// JSON text after; absent when the field is gone.
    pub after: Option<String>,
}

/// What a changed field of a definition is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum FieldConcern {
    /// What the model reads: title, description.
    Words,
    /// How it is called: schemas.
    Shape,
    /// What it claims about safety: annotations.
    Safety,
}

/// The user's own word on one tool's access class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AccessOverride {
    pub server: ServerBinding,
    /// Name of the tool on the server.
    pub tool: String,
    pub class: AccessClass,
}

/// Everything that grants permissions, sealed as one (PERM-16).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", default)]
pub struct StoredPermissions {
    /// Always-grants and always-denies.
    pub rules: Vec<Grant>,
    /// The user's access classes.
    pub overrides: Vec<AccessOverride>,
    /// Servers whose read-only labels the user trusts.
    pub trusted_labels: Vec<ServerBinding>,
    /// Everything is paused until the user resumes, also past a restart (PERM-13).
    pub paused: bool,
    /// What counts for nothing until the user confirms it.
    pub suspended: SuspendedPermissions,
}

/// What was allowed under an operator key that was replaced by somebody who did not have it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", default)]
pub struct SuspendedPermissions {
    /// Always-grants.
    pub rules: Vec<Grant>,
    /// The user's access classes.
    pub overrides: Vec<AccessOverride>,
    /// Servers whose read-only labels the user trusted.
    pub trusted_labels: Vec<ServerBinding>,
}

/// Permissions as they are shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PolicyView {
    /// Whether the stored permissions could be verified; if not, everything asks.
    pub verified: bool,
    /// Why not.
    pub problem: Option<UserError>,
    /// Whether everything is paused.
    pub paused: bool,
    /// Every rule, also those that last only for a while.
    pub rules: Vec<RuleView>,
    /// What is set to run without asking, for each server that there is, for every client and for each one.
    pub auto_approve: Vec<AutoApproveView>,
    /// The user's access classes.
    pub overrides: Vec<AccessOverride>,
    /// Servers whose read-only labels the user trusts.
    pub trusted_labels: Vec<ServerBinding>,
}

/// What a setting of what runs without asking covers (PERM-3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AutoApproveCoverage {
    /// The servers that it was set on.
    pub servers: Vec<CoveredTools>,
    /// Names of the servers that it was not set on, because their tools are not known: they have not
    /// been connected since Gatehouse started.
    pub unknown: Vec<String>,
}

/// The tools of one server that a setting covers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CoveredTools {
    pub server: ServerId,
    pub name: String,
    /// Names of the tools on the server.
    pub tools: Vec<String>,
}

/// A rule and its sentence in words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RuleView {
    pub rule: Grant,
    /// The rule in words, as in "Always allow files: write_file, for Claude Code".
    pub sentence: Message,
    /// What is said of it where it is not certain to be a person's own, as in "added without the operator key".
    pub note: Option<Message>,
    /// When it last decided a call, as far as calls are kept.
    pub last_used: Option<Timestamp>,
    /// What it comes to; `None` for a deny, for a rule for one exact call, and for one that is suspended.
    pub reach: Option<RuleCoverage>,
}

/// What an allow comes to for the tools that are known now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RuleCoverage {
    /// Tools that it is for.
    pub covered: u32,
    /// Tools that it was given for, in a definition that nobody approved for it: they ask (PERM-8).
    pub changed: Vec<String>,
    /// Tools that came later, and ask.
    pub later: u32,
    /// Whether it waits for its first use: it is for one client, and bound to no program yet.
    pub waits_for_first_use: bool,
}

/// What happens with calls of a tool, whoever makes them, by the rules that hold until they are taken back and
/// whatever the arguments are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ToolPermission {
    /// Allow, ask or deny.
    pub decision: Decision,
    /// Rules for this tool alone, on its server, for every client.
    pub own_rules: Vec<GrantId>,
    /// A wider rule that holds for it as well.
    pub wider_rule: Option<GrantId>,
    /// It was allowed, and its definition is another one since: it asks (PERM-8).
    pub changed: bool,
}

/// What is set to run without asking on a server (PERM-3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AutoApproveView {
    pub server: ServerId,
    /// For this client; every client where absent.
    pub client: Option<ClientId>,
    /// What is set.
    pub setting: AutoApprove,
    /// Tools that run without asking by all rules for these clients, once those that wait for their first use are
    /// bound.
    pub allowed: u32,
    /// Whether what is set waits for its first use: a person is asked about it once, and it is bound to the program
    /// that the client is seen from then.
    pub waits_for_first_use: bool,
    /// Tools that would run too if the setting were given again.
    pub late: UncoveredToolCounts,
}

/// Tools that each setting is meant for and that still ask: they came later, or changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct UncoveredToolCounts {
    /// Of all reads.
    pub reads: u32,
    /// Of all writes.
    pub writes: u32,
    /// Of everything.
    pub all: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_that_was_kept_before_authors_were_counts_as_a_persons() {
        let old = r#"{"id":"g","effect":"deny","server":null,"width":{"width":"everything"},"clients":{"clients":"every"},"lifetime":{"lifetime":"always"},"created":0}"#;
        let rule: Grant = serde_json::from_str(old).unwrap();
        assert_eq!(rule.author, RuleAuthor::Person);
        for (author, kept) in [
            (RuleAuthor::Person, r#"{"author":"person"}"#),
            (RuleAuthor::Unprivileged, r#"{"author":"unprivileged"}"#),
            (RuleAuthor::Confirmed { at: Timestamp(7) }, r#"{"author":"confirmed","at":7}"#),
        ] {
            assert_eq!(serde_json::to_string(&author).unwrap(), kept);
            assert_eq!(serde_json::from_str::<RuleAuthor>(kept).unwrap(), author);
        }
    }
}
