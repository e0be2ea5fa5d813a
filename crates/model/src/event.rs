//! All events of the core as one enum (EVT-1): the same for windows, tray, command line and tests.

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;
use ts_rs::TS;

use crate::approval::PendingApproval;
use crate::error::UserError;
use crate::grant::Verdict;
use crate::id::{ApprovalId, CallId, ClientId, ConversationId, MessageId, ServerId};
use crate::record::{CallOutcome, CallTaskState};
use crate::server::LogLine;
use crate::sign_in::SignInState;
use crate::status::{ServerStatus, StatusCause};
use crate::time::Timestamp;

/// Version of the event format.
pub const EVENT_VERSION: u32 = 1;

/// An event with its place in the order of things.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct EventEnvelope {
    /// [`EVENT_VERSION`]
    pub version: u32,
    /// Rises by one with each event since Gatehouse started; a gap means that the listener lagged
    /// and has to read the snapshot again.
    #[ts(type = "number")]
    pub seq: u64,
    pub at: Timestamp,
    pub event: Event,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[serde(tag = "event", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Event {
    ServerAdded {
        server: ServerId,
        name: String,
    },
    ServerRemoved {
        server: ServerId,
        name: String,
    },
    /// A server runs.
    ServerStarted {
        server: ServerId,
    },
    /// A server runs no longer.
    ServerStopped {
        server: ServerId,
    },
    StatusChanged {
        server: ServerId,
        /// The new status.
        status: ServerStatus,
        cause: StatusCause,
    },
    /// The list of running servers.
    RunningServers {
        /// All that run now.
        servers: Vec<ServerId>,
    },
    /// The catalogue of tools changed.
    ToolsChanged {
        server: ServerId,
    },
    /// A list of prompts changed.
    PromptsChanged {
        server: ServerId,
    },
    /// A list of resources, or one resource, changed.
    ResourcesChanged {
        server: ServerId,
        /// The one resource, where it is one.
        uri: Option<String>,
    },
    /// The configuration changed.
    ConfigChanged {
        /// What changed it.
        cause: ConfigCause,
        server: Option<ServerId>,
        /// Its name by now.
        name: Option<String>,
        /// Whether a hand edit waits for confirmation.
        unconfirmed: bool,
        /// What is wrong with the file, if something is.
        problem: Option<UserError>,
    },
    CallStarted {
        call: CallId,
        client: ClientId,
        server: ServerId,
        /// Which tool (name on the server).
        tool: String,
        /// Its input on one line, secrets masked (TOOL-11).
        input: String,
    },
    CallProgress {
        call: CallId,
        progress: f64,
        total: Option<f64>,
        message: Option<String>,
    },
    /// The task that a call became is in another state.
    CallTaskChanged {
        call: CallId,
        state: CallTaskState,
    },
    /// A call ended.
    CallFinished {
        call: CallId,
        /// What decided.
        verdict: Verdict,
        /// How it ended.
        outcome: CallOutcome,
        /// How long it took in all, waiting included, in milliseconds.
        duration_ms: u32,
    },
    /// An approval request waits for an answer.
    ApprovalRequested {
        pending: PendingApproval,
    },
    /// An approval request changed: its client no longer waits, or what it shows is another thing.
    ApprovalChanged {
        /// The request as it is now.
        pending: PendingApproval,
    },
    /// An approval request was answered.
    ApprovalResolved {
        approval: ApprovalId,
        allowed: bool,
    },
    /// An approval request ended without an answer.
    ApprovalExpired {
        approval: ApprovalId,
    },
    /// An approval request is no longer needed: the call or change that it was about has ended.
    ApprovalWithdrawn {
        approval: ApprovalId,
    },
    /// A server wants the user to sign in.
    SignInNeeded {
        server: ServerId,
        /// Authorization server, where it is known.
        issuer: Option<String>,
    },
    /// The sign-in of a server is another one than before.
    SignInChanged {
        server: ServerId,
        /// As it stands.
        sign_in: SignInState,
    },
    ClientConnected {
        client: ClientId,
        /// What it says of itself.
        says: Option<String>,
    },
    /// A client's session ended.
    ClientGone {
        client: ClientId,
    },
    /// A client began or ceased to work with an old tool list (GATE-7).
    ClientToolList {
        client: ClientId,
        is_stale: bool,
    },
    /// A server wrote a line to its log.
    LogLine {
        server: ServerId,
        line: LogLine,
    },
    /// Everything was paused or resumed.
    PauseChanged {
        /// Whether it is paused now.
        paused: bool,
    },
    /// MCP was switched on or off.
    SwitchChanged {
        /// Whether it is on now.
        on: bool,
    },
    /// A profile changed, or the profile of a client.
    ProfilesChanged,
    /// The model providers changed, or what their models are used for.
    ModelsChanged,
    /// A conversation changed in more than what its deltas say: it has to be read again.
    ConversationChanged {
        conversation: ConversationId,
    },
    /// A model wrote more text.
    ConversationDelta {
        conversation: ConversationId,
        message: MessageId,
        /// Which of its blocks, from 0.
        block: u32,
        /// Bytes (UTF-8) of the block's text before this.
        offset: u32,
        /// What is added at its end: to the text, or to the arguments of a tool call.
        text: String,
    },
    /// Permissions were granted, revoked or could not be verified.
    PermissionsChanged {
        verified: bool,
    },
}

/// What changed the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, TS, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum ConfigCause {
    /// A server was added.
    Added,
    /// A server was edited.
    Edited,
    /// A server was renamed.
    Renamed,
    /// A server was removed.
    Removed,
    /// The removal of a server was undone.
    Restored,
    /// A server was switched on.
    Enabled,
    /// A server was switched off.
    Disabled,
    /// The settings of Gatehouse as a whole.
    Settings,
    /// A file was changed by hand.
    File,
}

impl ConfigCause {
    /// Its name in events and in the audit log.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}
