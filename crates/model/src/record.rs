//! Records: calls (DATA-3) and the audit log (PERM-14).

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::approval::{ApprovalRequest, AutoApprove, ElicitationMode, Subject};
use crate::error::ErrorCode;
use crate::grant::{AccessOverride, Decision, Grant, Verdict};
use crate::id::{ApprovalId, CallHash, CallId, ClientId, GrantId, ProfileId, ProviderId, ServerId};
use crate::message::Message;
use crate::profile::ProfileSettings;
use crate::text::UserText;
use crate::time::Timestamp;
use crate::verdict_trace::JudgedCheck;

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "outcome", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum CallOutcome {
    /// With a result.
    Ok,
    /// With a result that is not what the tool's `outputSchema` promises; it was passed on (TOOL-5).
    Unfit {
        /// What does not fit.
        problem: String,
    },
    /// With a result that has `isError`.
    ToolError,
    /// With a JSON-RPC error.
    RpcError { code: i32, message: String },
    /// It was refused and never sent.
    Refused,
    /// The client was told that the user has not answered yet.
    StillWaiting,
    /// With the result of an identical call that had run before, or ran at that time; nothing was sent.
    Repeated {
        /// The call that ran.
        call: CallId,
    },
    /// The client cancelled it.
    Cancelled,
    /// It failed on the way (time-out, lost connection).
    Failed {
        /// What happened.
        message: String,
    },
}

/// How a call ended, roughly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeClass {
    /// With a result.
    Ok,
    /// The tool or the server failed.
    Error,
    /// It was refused and never sent.
    Denied,
    /// It was cancelled, or the client was told to call again.
    Unfinished,
}

impl OutcomeClass {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Ok, Self::Error, Self::Denied, Self::Unfinished];

    /// Its name where calls are stored.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Denied => "denied",
            Self::Unfinished => "unfinished",
        }
    }
}

impl CallOutcome {
    /// How it ended, roughly.
    #[must_use]
    pub fn class(&self) -> OutcomeClass {
        match self {
            Self::Ok | Self::Unfit { .. } | Self::Repeated { .. } => OutcomeClass::Ok,
            Self::ToolError | Self::RpcError { .. } | Self::Failed { .. } => OutcomeClass::Error,
            Self::Refused => OutcomeClass::Denied,
            Self::StillWaiting | Self::Cancelled => OutcomeClass::Unfinished,
        }
    }

    /// The same without its texts, which may repeat words of the server or of the arguments.
    #[must_use]
    pub fn without_texts(self) -> Self {
        match self {
            Self::Unfit { problem: _ } => Self::Unfit { problem: String::new() },
            Self::RpcError { code, message: _ } => Self::RpcError { code, message: String::new() },
            Self::Failed { message: _ } => Self::Failed { message: String::new() },
            other @ (Self::Ok
            | Self::ToolError
            | Self::Refused
            | Self::StillWaiting
            | Self::Repeated { .. }
            | Self::Cancelled) => other,
        }
    }
}

/// One call as it is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CallRecord {
    pub id: CallId,
    /// When it came in.
    pub at: Timestamp,
    pub client: ClientId,
    /// Name of the client at that time.
    pub client_name: String,
    pub server: ServerId,
    /// Name of the server at that time.
    pub server_name: String,
    pub subject: Subject,
    /// Name that the client used.
    pub exposed_name: String,
    /// The program that the client was seen from; absent where it is not known.
    #[serde(default)]
    pub program: Option<String>,
    /// Whether the user made it in Gatehouse's own window: as the user, or as this client.
    #[serde(default)]
    pub by_user: bool,
    /// What decided.
    pub verdict: Verdict,
    /// How it was judged, check by check; absent where that was not recorded.
    #[serde(default)]
    pub judged: Option<Vec<JudgedCheck>>,
    /// How it ended.
    pub outcome: CallOutcome,
    /// Time spent waiting for a person, in milliseconds.
    pub waited_ms: u32,
    /// Time in all, in milliseconds.
    pub duration_ms: u32,
    /// Bytes of the arguments.
    pub bytes_in: u32,
    /// Bytes of the result.
    pub bytes_out: u32,
    /// Arguments as JSON text, secrets masked, capped; absent where the server's `recordBodies` was off.
    pub arguments: Option<String>,
    /// Result as JSON text, secrets masked, capped; absent where the server's `recordBodies` was off.
    pub result: Option<String>,
}

/// How far a call is, as its server says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CallProgress {
    pub progress: f64,
    pub total: Option<f64>,
    /// `message`, without hidden characters, on one line, at most 200 characters.
    pub message: Option<String>,
}

/// A call that has begun and not ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RunningCall {
    pub call: CallId,
    /// When it came in.
    pub at: Timestamp,
    pub client: ClientId,
    pub server: ServerId,
    /// Which tool (name on the server); also a resource or prompt.
    pub tool: String,
    /// Whether it is with its server, and can be cancelled; before that it waits for a decision.
    pub sent: bool,
    /// How far it is, where its server says so.
    pub progress: Option<CallProgress>,
    /// The state of the task that it became, where it became one (TOOL-10).
    pub task: Option<CallTaskState>,
    /// What the user calls this run, where it is one of the user's own.
    pub run: Option<String>,
}

/// The state of a task, as its server says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum CallTaskState {
    Working,
    /// It waits for input of its client, or of the user.
    InputRequired,
    Completed,
    Failed,
    Cancelled,
}

/// The place of a call in the list of calls: both values are those of its record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CallCursor {
    /// When it came in.
    pub at: Timestamp,
    pub id: CallId,
}

/// What to list of the calls.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", default)]
pub struct CallFilter {
    /// Only from this client.
    pub client: Option<ClientId>,
    /// Only to this server.
    pub server: Option<ServerId>,
    /// Only of this tool (name on the server), or of this prompt as `prompt:` and its name; `resource:`,
    /// `completion:` and `request:` are all of their kind.
    pub tool: Option<String>,
    /// Only what was decided so.
    pub decision: Option<Decision>,
    /// Only what ended so.
    pub outcome: Option<OutcomeClass>,
    /// Only where tool, arguments or result hold these words.
    pub text: Option<String>,
    /// Only those that the user made in Gatehouse's own window.
    pub by_user: bool,
    /// Only this call.
    pub call: Option<CallCursor>,
    /// Only what came in then or later.
    pub since: Option<Timestamp>,
    /// Only what came in before then.
    pub until: Option<Timestamp>,
    /// Only what comes after this call in the list; for reading on from the last one of a page.
    pub older_than: Option<CallCursor>,
    /// At most so many, newest first; 100 where absent.
    pub limit: Option<u32>,
}

impl CallRecord {
    /// Its position in the list of calls.
    pub fn cursor(&self) -> CallCursor {
        CallCursor { at: self.at, id: self.id.clone() }
    }
}

/// Something that must never be lost (PERM-14).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[serde(tag = "audit", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum AuditEvent {
    /// A person answered an approval request about a call.
    Decided {
        ask: ApprovalId,
        /// Exactly which call.
        hash: CallHash,
        client: ClientId,
        server: ServerId,
        /// What was asked about.
        subject: Subject,
        allowed: bool,
        /// Reason of a deny.
        reason: Option<String>,
        /// Who answered: `operator` or `window`; absent in old entries.
        #[serde(default)]
        by: Option<String>,
    },
    /// An approval request about a call ended without an answer.
    Lapsed {
        ask: ApprovalId,
        /// Exactly which call.
        hash: CallHash,
    },
    /// A rule was added, or one that was suspended counts again: its author says so.
    Granted { rule: Box<Grant> },
    /// A rule was revoked.
    Revoked { rule: GrantId },
    /// A grant was bound to the program that used it first.
    GrantBound {
        rule: GrantId,
        /// The program; absent where the binding could not be written, and the grant waits as before.
        program: Option<String>,
    },
    /// What runs without asking on a server was set.
    AutoApproveSet {
        server: ServerId,
        /// For which client; for every client where absent.
        #[serde(default)]
        client: Option<ClientId>,
        to: AutoApprove,
    },
    /// The user set or cleared a tool's access class.
    ClassSet {
        /// The override; absent class means cleared.
        server: ServerId,
        /// Tool on the server.
        tool: String,
        /// The override that now holds.
        now: Option<AccessOverride>,
    },
    /// The user began or ceased to trust a server's read-only labels.
    LabelsTrusted {
        server: ServerId,
        /// Whether they are trusted now.
        trusted: bool,
        /// Who did it: `operator` or `window`; absent in old entries, and where suspended permissions were
        /// confirmed.
        #[serde(default)]
        by: Option<String>,
    },
    /// A server was added, changed or removed.
    ServerChanged {
        server: ServerId,
        name: String,
        /// What was done: `added`, `edited`, `renamed`, `removed`, `enabled`, `disabled`.
        what: String,
    },
    /// MCP was switched on or off, or it was changed how long things are kept.
    SettingsChanged {
        /// What was done. A plain text in older entries.
        what: UserText,
    },
    /// A hand edit of a file was confirmed or refused.
    HandEdit { file: String, server: String, confirmed: bool },
    /// A client was added, revoked, or got a new token.
    ClientChanged {
        client: ClientId,
        name: String,
        /// What was done: `added`, `rotated`, `revoked`.
        what: String,
    },
    /// A profile was added, changed or removed.
    ProfileChanged {
        profile: ProfileId,
        name: String,
        /// What it says now; absent where it was removed.
        now: Option<Box<ProfileSettings>>,
    },
    /// A client was given a profile, another one, or none.
    ProfileAssigned {
        client: ClientId,
        /// Name of the profile; absent where it has none now.
        profile: Option<String>,
    },
    /// Sign-in to a server succeeded, failed or ended. No token, code or secret is part of it.
    SignIn {
        server: ServerId,
        /// What happened.
        what: SignInOutcome,
        /// Authorization server, where it is known.
        #[serde(default)]
        issuer: Option<String>,
        /// The account, as far as the authorization server says so.
        #[serde(default)]
        account: Option<String>,
        /// Why it failed.
        #[serde(default)]
        reason: Option<ErrorCode>,
    },
    /// A request of a server's to the user was answered in Gatehouse, or nobody answered it. What was
    /// entered is not part of it.
    ServerRequestAnswered {
        /// The pending request.
        ask: ApprovalId,
        request: ServerRequestKind,
        server: ServerId,
        /// The client whose call it belongs to, where that is certain.
        client: Option<ClientId>,
        answer: ServerRequestAnswer,
        /// Who answered: `operator` or `window`; absent where nobody did.
        by: Option<String>,
    },
    /// A request of an unknown client for access was answered, or nobody answered it.
    ClientAccessAnswered {
        /// The pending request.
        ask: ApprovalId,
        /// The name that the client gives itself.
        name: String,
        /// Its OAuth client id.
        client_id: String,
        answer: ServerRequestAnswer,
        /// Who answered: `operator` or `window`; absent where nobody did.
        by: Option<String>,
    },
    /// A command that a program proposed to the window was confirmed or declined, or nobody answered it. It has an entry of
    /// its own for what it changed.
    CommandAnswered {
        /// The pending request.
        ask: ApprovalId,
        /// Name of the command.
        command: String,
        /// What it does, with names in place of ids.
        what: Message,
        /// The program that proposed it, never verified; absent where none was seen.
        program: Option<String>,
        answer: ServerRequestAnswer,
        /// Who answered: `operator` or `window`; absent where nobody did.
        by: Option<String>,
    },
    /// A model provider was added, changed or removed. No key is part of it.
    ModelProviderChanged {
        provider: ProviderId,
        name: String,
        /// Where it is reached now, or was reached.
        base_url: String,
        change: ModelProviderChange,
        /// Whether a key is stored for it now.
        has_key: bool,
    },
    /// Other models, or none, are used for servers' sampling requests and for opinions about calls.
    ModelsAssigned {
        /// Name of the provider and id of the model; absent where there is none now.
        sampling: Option<String>,
        /// The same for opinions.
        opinion: Option<String>,
    },
    /// The user let a model write an answer to a server's sampling request, which its provider got for that.
    SamplingGenerated {
        /// The pending request.
        ask: ApprovalId,
        server: ServerId,
        /// Name of the provider and id of the model.
        model: String,
    },
    /// Everything was paused or resumed.
    Paused {
        /// Whether it is paused now.
        paused: bool,
    },
    /// Stored permissions could not be verified.
    // The name that entries are stored with.
    #[serde(rename = "rights_rejected")]
    PermissionsRejected { reason: String },
    /// Gatehouse started or stopped.
    Lifecycle {
        /// What: `started`, `stopped`.
        what: String,
    },
}

/// What happened to a model provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum ModelProviderChange {
    Added,
    /// Its settings or its key were changed.
    Edited,
    /// It was removed with its key.
    Removed,
}

/// What happened to the sign-in of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum SignInOutcome {
    /// Tokens were obtained.
    SignedIn,
    /// An attempt failed or was refused.
    Failed,
    /// The tokens were deleted at the user's wish.
    SignedOut,
    /// The authorization server confirmed that it revoked the tokens.
    TokensRevoked,
    /// The authorization server does not accept the tokens any more, and they were deleted.
    Expired,
}

/// Kinds of requests that a server makes to the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum ServerRequestKind {
    /// Elicitation of a form.
    Form,
    /// Elicitation of a page to open.
    Url,
    /// A model's answer.
    Sampling,
    /// More OAuth scopes.
    StepUp,
}

/// The user's answer to a request of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum ServerRequestAnswer {
    Accepted,
    Declined,
    /// Closed without an answer.
    Cancelled,
    /// Nobody answered in time.
    Unanswered,
}

/// One entry of the audit chain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditEntry {
    /// 1 for the first entry.
    pub seq: u64,
    pub at: Timestamp,
    pub event: AuditEvent,
    /// SHA-256 over the previous entry and this entry, lower-case hexadecimal.
    pub hash: String,
}

/// One entry of the audit as it is listed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AuditEntryView {
    /// 1 for the first entry.
    #[ts(type = "number")]
    pub seq: u64,
    pub at: Timestamp,
    pub event: AuditEvent,
    /// SHA-256 over the entry before this one and this entry, lower-case hexadecimal.
    pub hash: String,
    /// The rule that was added, bound or revoked, in words, with the names that its server and client have now, or had last.
    /// Absent where the entry that added it is not among those that are listed.
    pub rule: Option<Message>,
    /// For a rule that was added: what is said of it where it is not certain to be a person's own.
    pub note: Option<Message>,
}

impl ServerRequestKind {
    /// The kind of a request, with its server and the client whose call it belongs to. `None` for
    /// requests that do not come from a server.
    #[must_use]
    pub fn of(ask: &ApprovalRequest) -> Option<(Self, ServerId, Option<ClientId>)> {
        match ask {
            ApprovalRequest::Elicitation(wanted) => {
                let kind = match wanted.want {
                    ElicitationMode::Form { .. } => Self::Form,
                    ElicitationMode::Url { .. } => Self::Url,
                };
                Some((kind, wanted.server.id.clone(), wanted.client.as_ref().map(|client| client.id.clone())))
            }
            ApprovalRequest::Sampling(wanted) => Some((
                Self::Sampling,
                wanted.server.id.clone(),
                wanted.client.as_ref().map(|client| client.id.clone()),
            )),
            ApprovalRequest::StepUp(wanted) => Some((Self::StepUp, wanted.server.id.clone(), None)),
            ApprovalRequest::Call(_)
            | ApprovalRequest::Client(_)
            | ApprovalRequest::Command(_)
            | ApprovalRequest::ConfigChange(_) => None,
        }
    }
}

/// What a check of the audit found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "result", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum AuditVerdict {
    /// The chain is whole and its head carries our seal.
    Whole {
        #[ts(type = "number")]
        entries: u64,
    },
    /// The chain is broken.
    Broken {
        /// First entry that does not fit.
        #[ts(type = "number")]
        seq: u64,
        reason: Message,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_decisions_written_without_answerer() {
        let old = r#"{"audit":"decided","ask":"a","hash":"h","client":"c","server":"s","subject":{"kind":"tool","name":"t"},"allowed":true,"reason":null}"#;
        let AuditEvent::Decided { by, allowed, .. } = serde_json::from_str(old).unwrap() else { panic!() };
        assert_eq!((by, allowed), (None, true));
    }

    #[test]
    fn reads_settings_changes_written_as_text() {
        let old = r#"{"audit":"settings_changed","what":"MCP switched on"}"#;
        let event: AuditEvent = serde_json::from_str(old).unwrap();
        assert_eq!(event, AuditEvent::SettingsChanged { what: "MCP switched on".into() });
        assert_eq!(serde_json::to_string(&event).unwrap(), old);
    }
}
