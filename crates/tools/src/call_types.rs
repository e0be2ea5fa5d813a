//! The plain types of calls: the caller, what it sends, and what it gets back. They decide nothing and know no
//! other part of this crate.

pub(crate) mod call_key;
pub(crate) mod client_peer;
pub(crate) mod peer;
pub(crate) mod response;

use std::fmt;
use std::future::pending;
use std::sync::Arc;

pub use gatehouse_mcp_wire::ProtocolFamily;
use gatehouse_model::ClientEntry;
use gatehouse_model::approval::Subject;
use gatehouse_model::id::{ServerId, SessionId};
use serde_json::value::RawValue;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use client_peer::ClientPeer;
use peer::Peer;

/// Longest URI or name of a target, in bytes: it is announced, listed and recorded with each request.
pub(crate) const LONGEST_TARGET: usize = 8 * 1024;
/// Longest name in logs and errors, in characters.
const MAX_LOGGED_NAME_CHARS: usize = 64;

/// The client that makes a call.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The client that the token belongs to.
    pub client: Arc<ClientEntry>,
    /// Set for clients of the stateful protocol revisions.
    pub session: Option<SessionId>,
    /// How the client identifies itself (`clientInfo`); unverified.
    pub client_info: Option<String>,
    pub peer: Peer,
    pub protocol_family: ProtocolFamily,
}

impl Caller {
    /// The user, calling from Gatehouse's own window.
    pub(crate) fn user() -> Self {
        let client = ClientEntry {
            id: "gatehouse".into(),
            name: "Gatehouse".to_owned(),
            token_sha256: String::new(),
            created: gatehouse_model::Timestamp(0),
        };
        Self {
            client: Arc::new(client),
            session: None,
            client_info: None,
            peer: Peer::unseen(),
            protocol_family: ProtocolFamily::Stateful,
        }
    }
}

/// Sends the params of a progress notification to the client. The `progressToken` is added by the receiver.
pub type ProgressCallback = Arc<dyn Fn(Box<RawValue>) + Send + Sync>;

/// Whether the client of a call is still connected to receive its result. It may disconnect and come back
/// before the call ends.
#[derive(Clone, Debug)]
pub struct ClientPresence(watch::Receiver<bool>);

impl ClientPresence {
    #[must_use]
    pub fn new(is_present: watch::Receiver<bool>) -> Self {
        Self(is_present)
    }

    /// Whether the client is connected now.
    #[must_use]
    pub fn is_present(&self) -> bool {
        *self.0.borrow()
    }

    /// A copy that observes changes from now on; `None` while the client is connected.
    pub(crate) fn if_absent(&self) -> Option<Self> {
        let mut is_present = self.0.clone();
        let left = !*is_present.borrow_and_update();
        left.then_some(Self(is_present))
    }

    /// Whether the client has been connected at any time since [`Self::if_absent`].
    pub(crate) fn was_present_since(&self) -> bool {
        let is_present = self.0.borrow();
        *is_present || is_present.has_changed()
    }

    /// Waits until the client is connected (`there`) or disconnected.
    pub(crate) async fn wait_for_presence(&self, there: bool) {
        let mut is_present = self.0.clone();
        if is_present.wait_for(|now| *now == there).await.is_err() {
            // The sender is gone, so the value can't change any more.
            pending::<()>().await;
        }
    }
}

pub struct ToolCall {
    /// The exposed name that the client used.
    pub exposed_name: String,
    /// `arguments`, byte for byte.
    pub arguments: Option<Box<RawValue>>,
    /// The other members of the params, such as `inputResponses`, `requestState` and `task`.
    pub rest: Vec<(Box<str>, Box<RawValue>)>,
    pub meta: Option<Box<RawValue>>,
    /// Progress sink; set if the client sent a `progressToken`.
    pub progress: Option<ProgressCallback>,
    /// The client, if it can answer the server's requests.
    pub client_peer: Option<Arc<dyn ClientPeer>>,
    /// Set if a disconnect doesn't cancel the call.
    pub presence: Option<ClientPresence>,
    /// Cancelled when the client cancels the call, or disconnects and can't come back.
    pub cancel: CancellationToken,
}

impl ToolCall {
    /// A call without further members, progress or client, that nobody cancels.
    #[must_use]
    pub fn new(exposed_name: String, arguments: Option<Box<RawValue>>) -> Self {
        Self {
            exposed_name,
            arguments,
            rest: Vec::new(),
            meta: None,
            progress: None,
            client_peer: None,
            presence: None,
            cancel: CancellationToken::new(),
        }
    }
}

impl fmt::Debug for ToolCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolCall").field("exposed_name", &self.exposed_name).finish_non_exhaustive()
    }
}

/// A name, cut for logs and errors.
pub(crate) fn shorten_name(name: &str) -> &str {
    let end = name.char_indices().nth(MAX_LOGGED_NAME_CHARS).map(|(at, _)| at);
    end.and_then(|end| name.get(..end)).unwrap_or(name)
}

/// Uses of a server other than tool calls (PERM-18).
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
    /// The JSON-RPC method.
    pub fn method(self) -> &'static str {
        match self {
            Self::ReadResource => "resources/read",
            Self::Subscribe => "resources/subscribe",
            Self::GetPrompt => "prompts/get",
            Self::CompletePrompt | Self::CompleteResource => "completion/complete",
        }
    }

    /// The subject that rules and approval requests use.
    pub fn subject(self, target: &str) -> Subject {
        let target = target.to_owned();
        match self {
            Self::ReadResource | Self::Subscribe => Subject::Resource { uri: target },
            Self::GetPrompt => Subject::Prompt { name: target },
            Self::CompletePrompt | Self::CompleteResource => Subject::Completion { reference: target },
        }
    }
}

/// A request that isn't a tool call but is judged like one (PERM-18). Gatehouse writes the member that names
/// the target (`uri`, `name`, `ref`) from `target`, so that what is judged and what is sent can't differ.
pub struct AccessCall {
    pub server: ServerId,
    pub kind: AccessKind,
    /// The URI, or the prompt's name on the server.
    pub target: String,
    /// The exposed name or URI that the client used.
    pub exposed_name: String,
    /// All other members of the params except `_meta`, in their order.
    pub rest: Vec<(Box<str>, Box<RawValue>)>,
    pub meta: Option<Box<RawValue>>,
    /// Progress sink; set if the client sent a `progressToken`.
    pub progress: Option<ProgressCallback>,
    /// The client, if it can answer the server's requests.
    pub client_peer: Option<Arc<dyn ClientPeer>>,
    /// Set if a disconnect doesn't cancel the call.
    pub presence: Option<ClientPresence>,
    /// Cancelled when the client cancels the request, or disconnects and can't come back.
    pub cancel: CancellationToken,
}

impl AccessCall {
    /// A request without further members, progress or client, that nobody cancels.
    #[must_use]
    pub fn new(server: ServerId, kind: AccessKind, target: String, exposed_name: String) -> Self {
        Self {
            server,
            kind,
            target,
            exposed_name,
            rest: Vec::new(),
            meta: None,
            progress: None,
            client_peer: None,
            presence: None,
            cancel: CancellationToken::new(),
        }
    }
}

impl fmt::Debug for AccessCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccessCall")
            .field("server", &self.server)
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remembers_presence_between_absences() {
        let is_present = watch::Sender::new(true);
        let client = ClientPresence::new(is_present.subscribe());
        assert!(client.if_absent().is_none());
        is_present.send_replace(false);
        let left = client.if_absent().unwrap();
        assert!(!left.was_present_since());
        let read_to_the_end = left.clone();
        is_present.send_replace(true);
        is_present.send_replace(false);
        drop(is_present);
        assert!(read_to_the_end.was_present_since());
    }
}
