//! The session of a client of the revisions with sessions (2025-11-25 and older).
//!
//! What the client said to begin it is kept, and said again when Gatehouse was restarted or forgot the session:
//! `initialize`, `notifications/initialized`, the log level and the resource subscriptions. The client notices
//! nothing, except that requests in flight failed and that all lists may have changed.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use bytes::Bytes;
use gatehouse_mcp_wire::envelope::Envelope;
use gatehouse_mcp_wire::headers::{PROTOCOL_VERSION, SESSION_ID};
use gatehouse_mcp_wire::raw::Members;
use hyper::header::{HeaderMap, HeaderValue};
use hyper::{Method, StatusCode};
use parking_lot::Mutex;
use tokio::sync::watch;

use super::http::{HttpClient, RequestHead, SendError};
use super::link::GatewayAccess;
use super::message::{Answer, StdioRequest};

/// One session at the gateway.
pub(super) struct BridgeSession {
    pub(super) access: Arc<GatewayAccess>,
    id: Option<HeaderValue>,
    version: Option<HeaderValue>,
}

impl BridgeSession {
    /// The head of a request in this session.
    pub(super) fn head(&self, method: Method) -> RequestHead {
        let mut headers = common_headers();
        if let Some(id) = &self.id {
            headers.insert(SESSION_ID, id.clone());
        }
        if let Some(version) = &self.version {
            headers.insert(PROTOCOL_VERSION, version.clone());
        }
        RequestHead { method, headers }
    }
}

/// The headers of every request with a body.
pub(super) fn common_headers() -> HeaderMap {
    use hyper::header::{ACCEPT, CONTENT_TYPE};
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers
}

/// What the client said that a new session has to be told. All of it is whole messages.
#[derive(Default)]
struct BridgeHandshake {
    initialize: Option<Arc<StdioRequest>>,
    log_level: Option<Bytes>,
    /// By URI.
    subscriptions: BTreeMap<String, Bytes>,
}

/// The state of a client that uses sessions.
pub(super) struct BridgeSessionState {
    handshake: Mutex<BridgeHandshake>,
    /// `notifications/initialized`, once the client has sent it.
    initialized: watch::Sender<Option<Bytes>>,
    /// Held while a session is opened, so that everything else waits for it.
    pub(super) current: tokio::sync::Mutex<Option<Arc<BridgeSession>>>,
    /// Ids of requests that the gateway sent in the current session and that have no answer.
    server_requests: Mutex<HashSet<Box<str>>>,
}

/// A session that was opened, and the answer to its `initialize`.
pub(super) struct BridgeSessionStart {
    pub(super) session: BridgeSession,
    pub(super) answer: Bytes,
}

/// Why no session was opened.
pub(super) enum OpenError {
    /// Nothing, or nothing of consequence, was sent.
    NotSent(String),
    /// The gateway refused, with this answer.
    Rejected { status: StatusCode, answer: Bytes },
}

impl BridgeSessionState {
    pub(super) fn new() -> Self {
        Self {
            handshake: Mutex::default(),
            initialized: watch::Sender::new(None),
            current: tokio::sync::Mutex::default(),
            server_requests: Mutex::default(),
        }
    }

    /// Begins anew with the client's `initialize`.
    pub(super) fn begin(&self, initialize: &Arc<StdioRequest>) {
        *self.handshake.lock() =
            BridgeHandshake { initialize: Some(Arc::clone(initialize)), ..BridgeHandshake::default() };
        self.initialized.send_replace(None);
        self.server_requests.lock().clear();
    }

    /// Forgets an `initialize` that was refused.
    pub(super) fn abandon(&self) {
        *self.handshake.lock() = BridgeHandshake::default();
    }

    pub(super) fn initialize(&self) -> Option<Arc<StdioRequest>> {
        self.handshake.lock().initialize.clone()
    }

    /// Keeps `notifications/initialized`. From then on the gateway may send messages of its own.
    pub(super) fn mark_initialized(&self, line: Bytes) {
        self.initialized.send_replace(Some(line));
    }

    pub(super) fn initialized(&self) -> Option<Bytes> {
        self.initialized.borrow().clone()
    }

    pub(super) async fn until_initialized(&self) {
        let mut initialized = self.initialized.subscribe();
        // An error means that the bridge is ending.
        drop(initialized.wait_for(Option::is_some).await);
    }

    /// Keeps what a request has set that the gateway accepted.
    pub(super) fn record_accepted(&self, request: &StdioRequest) {
        match &*request.method {
            "logging/setLevel" => self.handshake.lock().log_level = Some(request.line.clone()),
            "resources/subscribe" => {
                if let Some(uri) = &request.name {
                    self.handshake.lock().subscriptions.insert(uri.clone(), request.line.clone());
                }
            }
            "resources/unsubscribe" => {
                if let Some(uri) = &request.name {
                    self.handshake.lock().subscriptions.remove(uri);
                }
            }
            _ => {}
        }
    }

    pub(super) fn log_level(&self) -> Option<Bytes> {
        self.handshake.lock().log_level.clone()
    }

    pub(super) fn subscriptions(&self) -> BTreeMap<String, Bytes> {
        self.handshake.lock().subscriptions.clone()
    }

    /// Records a request of the gateway.
    pub(super) fn open_server_request(&self, id: &str) {
        self.server_requests.lock().insert(id.into());
    }

    /// Takes a request of the gateway that gets its answer, or was withdrawn; `false` if it is of another session.
    pub(super) fn close_server_request(&self, id: &str) -> bool {
        self.server_requests.lock().remove(id)
    }

    /// The requests of a session that has ended.
    pub(super) fn take_server_requests(&self) -> Vec<Box<str>> {
        self.server_requests.lock().drain().collect()
    }
}

/// Sends `initialize`.
pub(super) async fn open(
    http: &Arc<HttpClient>,
    access: &Arc<GatewayAccess>,
    initialize: &StdioRequest,
) -> Result<BridgeSessionStart, OpenError> {
    let head = RequestHead { method: Method::POST, headers: common_headers() };
    // A session that is opened and never used has no effect, so `initialize` may be sent again.
    let response = http.send(access, head, initialize.line.clone()).await.map_err(|error| match error {
        SendError::NotSent(why) | SendError::Lost(why) => OpenError::NotSent(why),
    })?;
    let (status, id) = (response.status, response.headers.get(SESSION_ID).cloned());
    let body = response.body.whole().await.map_err(OpenError::NotSent)?;
    match Answer::read(&initialize.id, &body) {
        Some(Answer { message, code: None }) => {
            let version = agreed_version(&message);
            let session = BridgeSession { access: Arc::clone(access), id, version };
            Ok(BridgeSessionStart { session, answer: message })
        }
        Some(Answer { message, .. }) => Err(OpenError::Rejected { status, answer: message }),
        None => Err(OpenError::NotSent(format!("the gateway answered with HTTP {status}"))),
    }
}

/// The version that the gateway chose.
fn agreed_version(answer: &[u8]) -> Option<HeaderValue> {
    let envelope: Envelope<'_> = serde_json::from_slice(answer).ok()?;
    let version = Members::of(envelope.result?).ok()?.text("protocolVersion")?;
    HeaderValue::from_str(&version).ok()
}
