//! What comes in at the call door and what goes out of it: who calls, what is called, and the raw
//! bytes of the answer. Nothing here decides anything.

use std::fmt;
use std::sync::Arc;

use gatehouse_model::ClientEntry;
use gatehouse_model::ask::{SeenFrom, Subject};
use gatehouse_model::id::{ServerId, SessionId};
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use crate::inquiries::ClientAsk;

/// Which family of protocol revisions a client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Era {
    /// 2025-11-25 and older: there is a session.
    Stateful,
    /// 2026-07-28: there is none.
    Stateless,
}

/// Who calls.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The client that the token belongs to.
    pub client: Arc<ClientEntry>,
    /// Its session, for clients of the stateful revisions.
    pub session: Option<SessionId>,
    /// What it says of itself.
    pub says: Option<String>,
    /// The program that the connection was seen from, never verified.
    pub seen_from: Option<Arc<SeenFrom>>,
    /// Which revisions it speaks.
    pub era: Era,
}

impl Caller {
    /// The user, in Gatehouse's own window.
    pub(crate) fn user() -> Self {
        let client = ClientEntry {
            id: "gatehouse".into(),
            name: "Gatehouse".to_owned(),
            token_sha256: String::new(),
            created: gatehouse_model::Timestamp(0),
        };
        Self { client: Arc::new(client), session: None, says: None, seen_from: None, era: Era::Stateful }
    }
}

/// Takes the params of progress notifications for the client, without its token.
pub type ProgressOut = Arc<dyn Fn(Box<RawValue>) + Send + Sync>;

/// One `tools/call`.
pub struct ToolCall {
    /// The name that the client used.
    pub exposed_name: String,
    /// `arguments`, byte for byte.
    pub arguments: Option<Box<RawValue>>,
    /// The other members of the params, such as `inputResponses`, `requestState` and `task`.
    pub rest: Vec<(Box<str>, Box<RawValue>)>,
    /// `_meta`.
    pub meta: Option<Box<RawValue>>,
    /// Where progress goes; present when the client sent a `progressToken`.
    pub progress: Option<ProgressOut>,
    /// The client, where it can be asked what the server wants to know.
    pub asks: Option<Arc<dyn ClientAsk>>,
    /// Cancelled when the client cancels the call or leaves.
    pub cancel: CancellationToken,
}

impl fmt::Debug for ToolCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolCall").field("exposed_name", &self.exposed_name).finish_non_exhaustive()
    }
}

/// What else of a server can be used (PERM-18).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccessKind {
    /// `resources/read` of a URI.
    ReadResource,
    /// `resources/subscribe` to a URI.
    Subscribe,
    /// `prompts/get` by the prompt's name on the server.
    GetPrompt,
    /// `completion/complete` for a prompt by its name on the server.
    CompletePrompt,
    /// `completion/complete` for a resource template by its URI.
    CompleteResource,
}

impl AccessKind {
    /// The method on the wire.
    #[must_use]
    pub fn method(self) -> &'static str {
        match self {
            Self::ReadResource => "resources/read",
            Self::Subscribe => "resources/subscribe",
            Self::GetPrompt => "prompts/get",
            Self::CompletePrompt | Self::CompleteResource => "completion/complete",
        }
    }

    /// What rules and prompts call it.
    #[must_use]
    pub fn subject(self, target: &str) -> Subject {
        let target = target.to_owned();
        match self {
            Self::ReadResource | Self::Subscribe => Subject::Resource { uri: target },
            Self::GetPrompt => Subject::Prompt { name: target },
            Self::CompletePrompt | Self::CompleteResource => Subject::Completion { reference: target },
        }
    }
}

/// One request that is not a tool call but is judged like one (PERM-18). The member that names the
/// target (`uri`, `name`, `ref`) is written by Gatehouse from `target`, so that what is judged and
/// what is sent cannot differ.
pub struct AccessCall {
    /// The server that it goes to.
    pub server: ServerId,
    /// What is wanted.
    pub kind: AccessKind,
    /// The URI, or the prompt's name on the server.
    pub target: String,
    /// The name that the client used, where it is another one.
    pub exposed_name: String,
    /// All other members of the params but `_meta`, in their order.
    pub rest: Vec<(Box<str>, Box<RawValue>)>,
    /// `_meta`.
    pub meta: Option<Box<RawValue>>,
    /// Where progress goes; present when the client sent a `progressToken`.
    pub progress: Option<ProgressOut>,
    /// The client, where it can be asked what the server wants to know.
    pub asks: Option<Arc<dyn ClientAsk>>,
    /// Cancelled when the client cancels the request or leaves.
    pub cancel: CancellationToken,
}

impl fmt::Debug for AccessCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccessCall")
            .field("server", &self.server)
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}

/// How a call ends for its client: raw bytes either way. A refusal is a result with `isError`.
pub enum CallEnd {
    /// The `result`.
    Result(Box<RawValue>),
    /// The whole JSON-RPC `error` object.
    Error(Box<RawValue>),
}

/// Says which and how long: results are not for logs.
impl fmt::Debug for CallEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Result(raw) => write!(f, "CallEnd::Result({} bytes)", raw.get().len()),
            Self::Error(raw) => write!(f, "CallEnd::Error({} bytes)", raw.get().len()),
        }
    }
}

impl CallEnd {
    /// The bytes, whichever it is.
    #[must_use]
    pub fn body(&self) -> &RawValue {
        match self {
            Self::Result(raw) | Self::Error(raw) => raw,
        }
    }
}
