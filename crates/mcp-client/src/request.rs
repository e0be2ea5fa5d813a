//! Requests to a server and its responses, as raw JSON. The call pipeline makes an
//! [`UpstreamRequest`] and gets back an [`RpcOutcome`]; nothing between it and the transport changes
//! either.
//!
//! Gatehouse writes only the envelope of a message; params and results are kept byte for byte as
//! their author wrote them and are never reserialised. Only `_meta` is parsed, because both
//! revision families require members of the sender's own in it.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, OnceLock};

use gatehouse_mcp_wire::ProtocolFamily;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use crate::server_requests::Responder;

/// Longest reason of a cancellation that is passed on, in bytes.
const MAX_REASON_BYTES: usize = 4 * 1024;

/// The params of a request, member by member in their order, each as raw JSON.
#[derive(Clone, Debug, Default)]
pub struct RequestParams {
    /// All members but `_meta`.
    pub members: Vec<(Box<str>, Box<RawValue>)>,
    /// `_meta`, an object. Gatehouse's own members replace those of the same name.
    pub meta: Option<Box<RawValue>>,
}

impl RequestParams {
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Adds a member whose value is JSON text.
    #[must_use]
    pub fn with(mut self, name: &str, value: Box<RawValue>) -> Self {
        self.members.push((name.into(), value));
        self
    }

    /// Adds a member whose value is a string.
    #[must_use]
    pub fn with_text(self, name: &str, text: &str) -> Self {
        match serde_json::value::to_raw_value(text) {
            Ok(value) => self.with(name, value),
            // A string can always be serialised.
            Err(_) => self,
        }
    }

    /// The raw value of a member.
    pub fn get(&self, name: &str) -> Option<&RawValue> {
        self.members.iter().find(|(member, _)| &**member == name).map(|(_, value)| &**value)
    }

    /// The value of a member that is a string.
    pub fn text(&self, name: &str) -> Option<String> {
        serde_json::from_str(self.get(name)?.get()).ok()
    }
}

/// One request to a server.
pub struct UpstreamRequest {
    pub method: Cow<'static, str>,
    pub params: RequestParams,
    /// Receives progress notifications. A progress token is sent only if this is set.
    pub progress: Option<ProgressSink>,
    /// Answers requests that the server makes while it processes this one; if absent, the fallback
    /// handler does, which asks the user.
    pub responder: Option<Responder>,
    /// Cancels the request, here and upstream, as dropping its future does.
    pub cancel: CancellationToken,
    /// Why, if it is cancelled.
    pub cancel_reason: CancelReason,
    /// The client whose call it is; `None` for a request of Gatehouse's own.
    pub client: Option<CallingClient>,
    /// Sees its messages.
    pub wire: Option<Arc<dyn WireTap>>,
}

/// Sees the messages of one request as they stand on the wire. It changes nothing, and must return at once.
pub trait WireTap: Send + Sync {
    /// The message that is about to be sent to the server.
    fn sent(&self, message: &[u8]);

    /// The server's response.
    fn received(&self, message: &[u8]);
}

/// What the client of a call speaks, and what it can be asked.
#[derive(Clone, Debug)]
pub struct CallingClient {
    pub protocol_family: ProtocolFamily,
    /// The capabilities that the server is told of on the stateless revision, where each request declares
    /// them; `None` for Gatehouse's own, for a caller that cannot be asked anything itself.
    pub capabilities: Option<Arc<RawValue>>,
}

impl UpstreamRequest {
    /// A request of Gatehouse's own, without progress and responder.
    #[must_use]
    pub fn new(method: &'static str, params: RequestParams) -> Self {
        Self {
            method: method.into(),
            params,
            progress: None,
            responder: None,
            cancel: CancellationToken::new(),
            cancel_reason: CancelReason::default(),
            client: None,
            wire: None,
        }
    }
}

/// Prints only the method, because params must not appear in logs.
impl fmt::Debug for UpstreamRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UpstreamRequest").field("method", &self.method).finish_non_exhaustive()
    }
}

/// Why a request is cancelled, in the words of whoever cancels it: the `reason` of `notifications/cancelled`. Clones
/// share it. It has to be set before the request is cancelled.
#[derive(Clone, Debug, Default)]
pub struct CancelReason(Arc<OnceLock<Box<str>>>);

impl CancelReason {
    /// Sets the reason, truncated if it is long. Only the first one counts.
    pub fn set(&self, reason: &str) {
        let end = reason.floor_char_boundary(MAX_REASON_BYTES);
        self.0.get_or_init(|| reason.get(..end).unwrap_or_default().into());
    }

    /// The reason, if one was given.
    pub fn get(&self) -> Option<&str> {
        self.0.get().map(|reason| &**reason)
    }
}

/// One progress notification of a call.
#[derive(Clone, Debug)]
pub struct Progress {
    pub progress: f64,
    /// The notification's whole params.
    pub raw: Box<RawValue>,
}

impl Progress {
    /// Parses the params of a notification; `None` if they have no numeric `progress`.
    pub(crate) fn read(params: &RawValue) -> Option<Self> {
        #[derive(Deserialize)]
        struct Params {
            progress: f64,
        }
        let Params { progress } = serde_json::from_str(params.get()).ok()?;
        Some(Self { progress, raw: params.to_owned() })
    }
}

/// Receives the progress of one call, in the server's order and before the call's result is
/// delivered. It is called by the task that reads messages, so it must be quick and must not block.
pub type ProgressSink = Arc<dyn Fn(Progress) + Send + Sync>;

/// The response of a server, byte for byte.
pub enum RpcOutcome {
    /// The `result`.
    Result(Box<RawValue>),
    /// The whole `error` object.
    Error(Box<RawValue>),
}

impl RpcOutcome {
    /// The result, or `None` if the server answered with an error.
    pub fn result(&self) -> Option<&RawValue> {
        match self {
            Self::Result(raw) => Some(raw),
            Self::Error(_) => None,
        }
    }
}

/// Prints only the kind and the length, because results must not appear in logs.
impl fmt::Debug for RpcOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Result(raw) => write!(f, "RpcOutcome::Result({} bytes)", raw.get().len()),
            Self::Error(raw) => write!(f, "RpcOutcome::Error({} bytes)", raw.get().len()),
        }
    }
}
