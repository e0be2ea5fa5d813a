//! What all requests of one client share, and the session of a client that has one.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use gatehouse_mcp_wire::envelope::Envelope;
use gatehouse_mcp_wire::raw::{Members, quoted};
use hyper::{Method, StatusCode};
use tokio::sync::{Semaphore, watch};
use tokio_util::task::TaskTracker;

use super::events::{SseEventReader, is_stream};
use super::http::HttpClient;
use super::in_flight::InFlightRequests;
use super::link::{Link, RETRY_PAUSE};
use super::log::Log;
use super::message::{CONNECTION_CLOSED, Family, StdioMessage, StdioRequest, cancelled_id, error, parse};
use super::session::{self, BridgeSession, BridgeSessionState, OpenError};
use super::stateless::ToolHeaders;
use super::stdio::Output;

/// Most requests that are at the gateway at once. It takes up to 160 connections of one client.
const MAX_CONNECTIONS: usize = 128;

/// How long one of the messages that restore a session may take.
const RESTORE_TIMEOUT: Duration = Duration::from_secs(5);

/// Pause before the stream for the gateway's own messages is opened again.
const LISTEN_PAUSE: Duration = Duration::from_millis(250);

/// How long the end of a session may take.
const END_TIMEOUT: Duration = Duration::from_secs(1);

/// The code of an unknown resource in the revisions with sessions.
const RESOURCE_NOT_FOUND: i64 = -32002;

pub(super) const RESOURCE_UPDATED: &str = "notifications/resources/updated";

const LISTS_CHANGED: [&str; 3] = [
    "notifications/tools/list_changed",
    "notifications/resources/list_changed",
    "notifications/prompts/list_changed",
];

pub(super) struct Bridge {
    pub(super) link: Link,
    pub(super) http: Arc<HttpClient>,
    pub(super) out: Output,
    pub(super) log: Log,
    pub(super) in_flight: Arc<InFlightRequests>,
    pub(super) sessions: BridgeSessionState,
    pub(super) tools: ToolHeaders,
    pub(super) slots: Semaphore,
    /// Work that no request waits for.
    pub(super) background: TaskTracker,
    /// Counts the changes of the list of resources.
    resource_list_changes: watch::Sender<u64>,
}

/// Why there is no session.
pub(super) enum SessionError {
    /// The client hasn't sent `initialize`.
    NotInitialized,
    Refused(String),
}

impl Bridge {
    pub(super) fn new(link: Link, out: Output, log: Log, background: TaskTracker) -> Self {
        Self {
            http: Arc::new(HttpClient::new(link.clone(), background.clone())),
            link,
            out,
            log,
            in_flight: Arc::default(),
            sessions: BridgeSessionState::new(),
            tools: ToolHeaders::default(),
            slots: Semaphore::new(MAX_CONNECTIONS),
            background,
            resource_list_changes: watch::Sender::new(0),
        }
    }

    /// Opens the client's session in place of an earlier one. Returns the answer to its `initialize`.
    pub(super) async fn initialize(&self, request: &StdioRequest) -> Bytes {
        let mut current = self.sessions.current.lock().await;
        if let Some(before) = current.take() {
            self.end_session(&before).await;
        }
        loop {
            let access = match self.link.access().await {
                Ok(access) => access,
                Err(why) => {
                    self.sessions.abandon();
                    return error(&request.id, CONNECTION_CLOSED, &why);
                }
            };
            match session::open(&self.http, &access, request).await {
                Ok(opened) => {
                    *current = Some(Arc::new(opened.session));
                    return opened.answer;
                }
                Err(OpenError::NotSent(why)) => {
                    self.log.line(&format!("no session was opened: {why}"));
                    tokio::time::sleep(RETRY_PAUSE).await;
                }
                Err(OpenError::Rejected { status: StatusCode::UNAUTHORIZED, .. }) => {
                    self.link.renew(&access).await;
                }
                Err(OpenError::Rejected { answer, .. }) => {
                    self.sessions.abandon();
                    return answer;
                }
            }
        }
    }

    /// The session. If Gatehouse was restarted or forgot it, a new one is opened in the same way.
    pub(super) async fn session(self: &Arc<Self>) -> Result<Arc<BridgeSession>, SessionError> {
        let mut current = self.sessions.current.lock().await;
        loop {
            let access = self.link.access().await.map_err(SessionError::Refused)?;
            if let Some(session) = current.as_ref().filter(|session| Arc::ptr_eq(&session.access, &access)) {
                return Ok(Arc::clone(session));
            }
            let initialize = self.sessions.initialize().ok_or(SessionError::NotInitialized)?;
            match session::open(&self.http, &access, &initialize).await {
                Ok(opened) => {
                    let session = Arc::new(opened.session);
                    self.log.line("the session was opened again");
                    self.restore(&session).await;
                    *current = Some(Arc::clone(&session));
                    return Ok(session);
                }
                Err(OpenError::NotSent(why)) => {
                    self.log.line(&format!("no session was opened: {why}"));
                    tokio::time::sleep(RETRY_PAUSE).await;
                }
                Err(OpenError::Rejected { status: StatusCode::UNAUTHORIZED, .. }) => {
                    self.link.renew(&access).await;
                }
                Err(OpenError::Rejected { .. }) => {
                    return Err(SessionError::Refused(
                        "Gatehouse doesn't open this session again.".to_owned(),
                    ));
                }
            }
        }
    }

    /// The answer to a request that was not sent.
    pub(super) fn not_running(&self, id: &str) -> Bytes {
        error(id, CONNECTION_CLOSED, &format!("Nothing was sent: {}", self.link.reason()))
    }

    /// Forgets a session that the gateway doesn't know any more.
    pub(super) async fn forget(&self, session: &Arc<BridgeSession>) {
        let mut current = self.sessions.current.lock().await;
        if current.as_ref().is_some_and(|current| Arc::ptr_eq(current, session)) {
            *current = None;
        }
    }

    /// Tells a new session what the client told the one before, and the client what it can't know.
    async fn restore(self: &Arc<Self>, session: &Arc<BridgeSession>) {
        for id in self.sessions.take_server_requests() {
            let text = format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id},"reason":"Gatehouse was restarted."}}}}"#
            );
            self.out.send(text.into()).await;
        }
        let Some(initialized) = self.sessions.initialized() else { return };
        self.restore_message(session, initialized).await;
        if let Some(log_level) = self.sessions.log_level() {
            self.restore_message(session, log_level).await;
        }
        for (uri, subscription) in self.sessions.subscriptions() {
            // Subscribing may wait until the user has allowed it.
            let (bridge, session) = (Arc::clone(self), Arc::clone(session));
            self.background.spawn(async move { bridge.subscribe_again(&session, &uri, &subscription).await });
        }
        for method in LISTS_CHANGED {
            self.out.send(format!(r#"{{"jsonrpc":"2.0","method":"{method}"}}"#).into()).await;
        }
    }

    /// Subscribes to a resource in a new session. After a restart its server may not have connected yet; the list of
    /// resources changes when it has. The resource may have changed too while there was no session.
    async fn subscribe_again(&self, session: &BridgeSession, uri: &str, subscription: &Bytes) {
        let mut changes = self.resource_list_changes.subscribe();
        loop {
            changes.mark_unchanged();
            let answer = post(&self.http, session, subscription.clone()).await;
            let is_unknown = answer.is_some_and(|answer| error_code(&answer) == Some(RESOURCE_NOT_FOUND));
            if !is_unknown {
                let uri = quoted(uri);
                let text =
                    format!(r#"{{"jsonrpc":"2.0","method":"{RESOURCE_UPDATED}","params":{{"uri":{uri}}}}}"#);
                return self.out.send(text.into()).await;
            }
            tokio::select! {
                changed = changes.changed() => if changed.is_err() { return },
                () = self.link.lost(&session.access) => return,
            }
        }
    }

    async fn restore_message(&self, session: &BridgeSession, line: Bytes) {
        if tokio::time::timeout(RESTORE_TIMEOUT, post(&self.http, session, line)).await.is_err() {
            self.log.line("a session was not restored in time");
        }
    }

    /// Passes on a message of the gateway that is no answer.
    pub(super) async fn forward(&self, data: String) {
        self.note(&data);
        self.out.send(data.into()).await;
    }

    /// Keeps what a message of the gateway says about its requests and lists.
    fn note(&self, data: &str) {
        match parse(data.as_bytes()) {
            Ok(StdioMessage::Request { id, .. }) => self.sessions.open_server_request(id),
            Ok(StdioMessage::Notification { method, params }) => match &*method {
                "notifications/cancelled" => {
                    if let Some(id) = cancelled_id(params) {
                        self.sessions.close_server_request(id);
                    }
                }
                "notifications/resources/list_changed" => {
                    self.resource_list_changes.send_modify(|count| *count += 1);
                }
                _ => {}
            },
            Ok(StdioMessage::Response { .. }) | Err(_) => {}
        }
    }

    /// Keeps what a request that the gateway accepted has changed.
    pub(super) fn record_accepted(&self, request: &StdioRequest, answer: &[u8]) {
        match request.family {
            Family::Stateful => self.sessions.record_accepted(request),
            Family::Stateless { .. } => {
                if &*request.method == "tools/list" {
                    self.tools.learn(answer);
                }
            }
        }
    }

    /// Sends a notification of the client, or its answer to a request of the gateway.
    pub(super) async fn post_message(self: &Arc<Self>, line: Bytes) {
        match self.session().await {
            Ok(session) => drop(post(&self.http, &session, line).await),
            Err(_) => self.log.line("a message was dropped: there is no session"),
        }
    }

    /// Keeps the stream for what the gateway says by itself. Never returns.
    pub(super) async fn keep_listening(self: &Arc<Self>) {
        loop {
            self.sessions.until_initialized().await;
            if let Ok(session) = self.session().await {
                self.listen(&session).await;
            }
            tokio::time::sleep(LISTEN_PAUSE).await;
        }
    }

    async fn listen(&self, session: &Arc<BridgeSession>) {
        let Ok(response) = self.http.send(&session.access, session.head(Method::GET), Bytes::new()).await
        else {
            return;
        };
        if response.status == StatusCode::NOT_FOUND {
            self.forget(session).await;
        }
        if !is_stream(&response) {
            return;
        }
        let mut reader = SseEventReader::new(response.body, None);
        while let Ok(Some(data)) = reader.next().await {
            self.forward(data).await;
        }
    }

    /// Ends the session, if there is one.
    pub(super) async fn end(&self) {
        let end = async {
            if let Some(session) = self.sessions.current.lock().await.take() {
                self.end_session(&session).await;
            }
        };
        if tokio::time::timeout(END_TIMEOUT, end).await.is_err() {
            self.log.line("the session was not ended in time");
        }
    }

    async fn end_session(&self, session: &BridgeSession) {
        if !self.link.is_current(&session.access) {
            return;
        }
        let head = session.head(Method::DELETE);
        if let Err(error) = self.http.send(&session.access, head, Bytes::new()).await {
            self.log.line(&format!("the session was not ended: {error:?}"));
        }
    }
}

/// Sends a message. Returns its answer, which isn't passed on.
async fn post(http: &Arc<HttpClient>, session: &BridgeSession, line: Bytes) -> Option<Bytes> {
    let response = http.send(&session.access, session.head(Method::POST), line).await.ok()?;
    if !is_stream(&response) {
        return response.body.whole().await.ok();
    }
    let mut reader = SseEventReader::new(response.body, None);
    while let Ok(Some(data)) = reader.next().await {
        if matches!(parse(data.as_bytes()), Ok(StdioMessage::Response { .. })) {
            return Some(data.into());
        }
    }
    None
}

/// The code of an answer that is an error.
fn error_code(answer: &[u8]) -> Option<i64> {
    let envelope: Envelope<'_> = serde_json::from_slice(answer).ok()?;
    Members::of(envelope.error?).ok()?.get("code")?.get().parse().ok()
}
