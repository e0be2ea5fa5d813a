//! What comes in at the call door and what goes out of it: who calls, what is called, and the raw
//! bytes of the answer. Nothing here decides anything.

use std::fmt;
use std::future::pending;
use std::sync::Arc;

use gatehouse_model::ClientEntry;
use gatehouse_model::ask::Subject;
use gatehouse_model::id::{ServerId, SessionId};
use serde_json::value::RawValue;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::inquiries::ClientAsk;
use crate::peer::Peer;

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
    /// The other end of its connection.
    pub peer: Peer,
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
        Self { client: Arc::new(client), session: None, says: None, peer: Peer::unseen(), era: Era::Stateful }
    }
}

/// Takes the params of progress notifications for the client, without its token.
pub type ProgressOut = Arc<dyn Fn(Box<RawValue>) + Send + Sync>;

/// Whether the client of a call still listens for its answer, as far as its connection shows. It may stop, and
/// may come back before the answer is there.
#[derive(Clone, Debug)]
pub struct Listening(watch::Receiver<bool>);

impl Listening {
    /// Follows this value.
    #[must_use]
    pub fn new(is_there: watch::Receiver<bool>) -> Self {
        Self(is_there)
    }

    pub(crate) fn is_there(&self) -> bool {
        *self.0.borrow()
    }

    /// The same from now on; `None` while the client is there.
    pub(crate) fn once_left(&self) -> Option<Self> {
        let mut is_there = self.0.clone();
        let left = !*is_there.borrow_and_update();
        left.then_some(Self(is_there))
    }

    /// Whether the client was there at any time since it had left.
    pub(crate) fn has_been_there(&self) -> bool {
        let is_there = self.0.borrow();
        *is_there || is_there.has_changed()
    }

    /// Waits until the client is there, or is not.
    pub(crate) async fn becomes(&self, there: bool) {
        let mut is_there = self.0.clone();
        if is_there.wait_for(|now| *now == there).await.is_err() {
            // Nobody is left who could change it.
            pending::<()>().await;
        }
    }
}

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
    /// Whether the client still listens, where leaving is not the same as cancelling.
    pub listening: Option<Listening>,
    /// Cancelled when the client cancels the call, or leaves and may not come back.
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
    /// Whether the client still listens, where leaving is not the same as cancelling.
    pub listening: Option<Listening>,
    /// Cancelled when the client cancels the request, or leaves and may not come back.
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
#[derive(Clone)]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_was_back_in_between_is_known_to_have_been() {
        let is_there = watch::Sender::new(true);
        let client = Listening::new(is_there.subscribe());
        assert!(client.once_left().is_none());
        is_there.send_replace(false);
        let left = client.once_left().unwrap();
        assert!(!left.has_been_there());
        let read_to_the_end = left.clone();
        is_there.send_replace(true);
        is_there.send_replace(false);
        drop(is_there);
        assert!(read_to_the_end.has_been_there());
    }
}
