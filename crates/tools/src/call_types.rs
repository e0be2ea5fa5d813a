//! The plain types of calls: the caller, what it sends, and what it gets back. They decide nothing and know no
//! other part of this crate.

pub(crate) mod approval_wait;
pub(crate) mod call_key;
pub(crate) mod call_observer;
pub(crate) mod chat_caller;
pub(crate) mod client_peer;
pub(crate) mod peer;
pub(crate) mod practice_caller;
pub(crate) mod response;
pub(crate) mod user_run;
pub(crate) mod viewer;

use std::borrow::Cow;
use std::fmt;
use std::future::pending;
use std::sync::Arc;

pub use gatehouse_mcp_wire::ProtocolFamily;
use gatehouse_model::ClientEntry;
use gatehouse_model::approval::Subject;
use gatehouse_model::id::{ClientId, ServerId, SessionId};
use gatehouse_servers::{CancelReason, WireTap};
use serde_json::value::RawValue;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use approval_wait::ApprovalWait;
use call_observer::CallObserver;
use client_peer::ClientPeer;
use peer::{CallSource, Peer};
use user_run::UserRun;
use viewer::{Narrowing, Viewer};

/// Longest URI or name of a target, in bytes: it is announced, listed and recorded with each request.
pub(crate) const LONGEST_TARGET: usize = 8 * 1024;
/// Longest name in logs and errors, in characters.
const MAX_LOGGED_NAME_CHARS: usize = 64;

/// Id of the user as a caller; no client has it.
const USER: &str = "gatehouse";

/// Id of Gatehouse's own conversations as a caller. Ids of clients are made of random numbers, and the list of clients has
/// none with this one.
const CHAT: &str = "chat";

/// Id of the client of the practice request as a caller.
const PRACTICE: &str = "practice";

/// Whether this is the id of Gatehouse's own conversations, and no client's.
#[must_use]
pub fn is_chat(client: &ClientId) -> bool {
    client.as_str() == CHAT
}

/// Whether this is the id of the user, and no client's.
pub(crate) fn is_user(client: &ClientId) -> bool {
    client.as_str() == USER
}

/// The client that makes a call.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The client that the token belongs to.
    pub client: Arc<ClientEntry>,
    /// What narrows its view of the catalog on the connection of the call.
    pub narrowing: Narrowing,
    /// Set for clients of the stateful protocol revisions.
    pub session: Option<SessionId>,
    /// How the client identifies itself (`clientInfo`); unverified.
    pub client_info: Option<String>,
    pub peer: Peer,
    pub protocol_family: ProtocolFamily,
    /// Set if the user makes the call in Gatehouse's own window, as the user or as this client.
    pub user_run: Option<Arc<UserRun>>,
}

impl Caller {
    /// Whether this is the user, and no client.
    pub(crate) fn is_user(&self) -> bool {
        is_user(&self.client.id)
    }

    /// Whether Gatehouse itself waits for the response, so that no client gives up: the user, also as a client,
    /// Gatehouse's own conversations, and the practice request.
    pub(crate) fn is_patient(&self) -> bool {
        self.user_run.is_some() || is_chat(&self.client.id) || self.client.id.as_str() == PRACTICE
    }

    /// The source of its calls, as far as known. Each conversation is one, although all are run by the same program.
    pub(crate) fn source(&self) -> Option<CallSource> {
        if is_chat(&self.client.id) {
            return self.session.clone().map(CallSource::Session);
        }
        self.peer.source(self.session.as_ref())
    }

    /// Sees the messages of the user's own requests.
    pub(crate) fn wire(&self) -> Option<Arc<dyn WireTap>> {
        self.user_run.clone().map(|run| run as Arc<dyn WireTap>)
    }

    /// The client as this connection sees the catalog.
    #[must_use]
    pub fn viewer(&self) -> Viewer {
        Viewer { client: self.client.id.clone(), narrowing: self.narrowing.clone() }
    }

    /// The user in Gatehouse's own window, as this client or as the user.
    pub(crate) fn user(run: &Arc<UserRun>, narrowing: Narrowing) -> Self {
        let user = || {
            Arc::new(ClientEntry {
                id: USER.into(),
                name: "Gatehouse".to_owned(),
                token_sha256: String::new(),
                created: gatehouse_model::Timestamp(0),
                access: gatehouse_model::ClientAccess::Token,
            })
        };
        Self {
            client: run.client().cloned().unwrap_or_else(user),
            narrowing,
            session: None,
            client_info: None,
            // No call of the client itself is from the same source, so nothing that is kept for the client is shared.
            peer: Peer::unseen(),
            protocol_family: ProtocolFamily::Stateful,
            user_run: Some(Arc::clone(run)),
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

/// A tool as a client names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolName {
    /// By its exposed name, where the tools of all servers are listed together.
    Exposed(Box<str>),
    /// By the server's own name for it, where only this server is listed.
    Own { server: ServerId, name: Box<str> },
}

impl ToolName {
    /// The name that the client used.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Exposed(name) | Self::Own { name, .. } => name,
        }
    }
}

pub struct ToolCall {
    pub tool: ToolName,
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
    /// Set if the client has another way than a text to be told to call again.
    pub approval_wait: Option<Arc<ApprovalWait>>,
    /// Follows the call while it runs.
    pub observer: Option<Arc<dyn CallObserver>>,
    /// Cancelled when the client cancels the call, or disconnects and can't come back.
    pub cancel: CancellationToken,
    /// Why, in the client's words, if it cancels.
    pub cancel_reason: CancelReason,
}

impl ToolCall {
    /// A call by an exposed name, without further members, progress or client, that nobody cancels.
    #[must_use]
    pub fn new(exposed_name: String, arguments: Option<Box<RawValue>>) -> Self {
        Self::of(ToolName::Exposed(exposed_name.into()), arguments)
    }

    /// As [`Self::new`], with any kind of name.
    #[must_use]
    pub fn of(tool: ToolName, arguments: Option<Box<RawValue>>) -> Self {
        Self {
            tool,
            arguments,
            rest: Vec::new(),
            meta: None,
            progress: None,
            client_peer: None,
            presence: None,
            approval_wait: None,
            observer: None,
            cancel: CancellationToken::new(),
            cancel_reason: CancelReason::default(),
        }
    }
}

impl fmt::Debug for ToolCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolCall").field("tool", &self.tool).finish_non_exhaustive()
    }
}

/// A request about the tasks that calls became (TOOL-10).
pub struct TaskCall {
    /// Set if the endpoint is that of one server: tasks of others don't exist there.
    pub server: Option<ServerId>,
    pub request: TaskRequest,
    /// The client, if it can answer the server's requests.
    pub client_peer: Option<Arc<dyn ClientPeer>>,
    /// Set if a disconnect doesn't cancel the request.
    pub presence: Option<ClientPresence>,
    /// Cancelled when the client cancels the request, or disconnects and can't come back.
    pub cancel: CancellationToken,
    /// Why, in the client's words, if it cancels.
    pub cancel_reason: CancelReason,
}

/// What is requested. A task is named by the id that its client knows.
#[derive(Clone)]
pub enum TaskRequest {
    /// `tasks/list`
    List,
    /// `tasks/get`
    Get { task: String },
    /// `tasks/result`
    Result { task: String },
    /// `tasks/cancel`
    Cancel { task: String },
    /// `tasks/update` of the extension, with its `inputResponses`.
    Update { task: String, responses: Box<RawValue> },
}

impl TaskCall {
    /// Whether somebody waits for the response.
    pub(crate) fn is_awaited(&self) -> bool {
        !self.cancel.is_cancelled() && self.presence.as_ref().is_none_or(ClientPresence::is_present)
    }
}

/// Prints only the kind, because what a client answers must not appear in logs, and its tasks are its own.
impl fmt::Debug for TaskRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::List => "List",
            Self::Get { .. } => "Get",
            Self::Result { .. } => "Result",
            Self::Cancel { .. } => "Cancel",
            Self::Update { .. } => "Update",
        })
    }
}

impl fmt::Debug for TaskCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskCall").field("request", &self.request).finish_non_exhaustive()
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
    /// A request that the protocol doesn't have, by its method.
    Custom,
}

impl AccessKind {
    /// The JSON-RPC method; `target` is that of a request that the protocol doesn't have.
    pub fn method(self, target: &str) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::ReadResource => "resources/read",
            Self::Subscribe => "resources/subscribe",
            Self::GetPrompt => "prompts/get",
            Self::CompletePrompt | Self::CompleteResource => "completion/complete",
            Self::Custom => return Cow::Owned(target.to_owned()),
        })
    }

    /// The subject that rules and approval requests use.
    pub fn subject(self, target: &str) -> Subject {
        let target = target.to_owned();
        match self {
            Self::ReadResource | Self::Subscribe => Subject::Resource { uri: target },
            Self::GetPrompt => Subject::Prompt { name: target },
            Self::CompletePrompt | Self::CompleteResource => Subject::Completion { reference: target },
            Self::Custom => Subject::Request { method: target },
        }
    }
}

/// A request that isn't a tool call but is judged like one (PERM-18). Gatehouse writes the member that names
/// the target (`uri`, `name`, `ref`, or the method) from `target`, so that what is judged and what is sent can't differ.
pub struct AccessCall {
    pub server: ServerId,
    pub kind: AccessKind,
    /// The URI, the prompt's name on the server, or the method.
    pub target: String,
    /// The exposed name or URI that the client used.
    pub exposed_name: String,
    /// For a completion, the other members of its `ref`, such as `title`, in their order.
    pub ref_members: Vec<(Box<str>, Box<RawValue>)>,
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
    /// Why, in the client's words, if it cancels.
    pub cancel_reason: CancelReason,
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
            ref_members: Vec::new(),
            rest: Vec::new(),
            meta: None,
            progress: None,
            client_peer: None,
            presence: None,
            cancel: CancellationToken::new(),
            cancel_reason: CancelReason::default(),
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

    #[test]
    fn input_for_a_task_is_not_printed() {
        let responses = RawValue::from_string(r#"{"password":"secret"}"#.to_owned()).unwrap();
        let call = TaskCall {
            server: None,
            request: TaskRequest::Update { task: "id-of-the-task".to_owned(), responses },
            client_peer: None,
            presence: None,
            cancel: CancellationToken::new(),
            cancel_reason: CancelReason::default(),
        };
        let printed = format!("{call:?}");
        assert!(printed.contains("Update"), "{printed}");
        assert!(!printed.contains("secret") && !printed.contains("id-of-the-task"), "{printed}");
    }
}
