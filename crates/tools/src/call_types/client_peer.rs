//! The client of a call as the one that answers a server's requests, and the kinds of these requests.

use std::sync::Arc;

use gatehouse_model::BoxFuture;
use gatehouse_model::server::LogLevel;
use gatehouse_servers::{
    ELICITATION_CREATE, ROOTS_LIST, SAMPLING_CREATE_MESSAGE, ServerRequest, ServerRequestResult,
};
use serde::Deserialize;
use serde_json::value::RawValue;

/// Kind of a server's request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClientFeature {
    /// Elicitation in form mode.
    Form,
    /// Elicitation in URL mode: a page that the user opens.
    Url,
    /// `sampling/createMessage`
    Sampling,
    /// `roots/list`: the folders that the server may work in.
    Roots,
}

impl ClientFeature {
    /// The kind of a request; `None` if it isn't supported.
    #[must_use]
    pub fn of(request: &ServerRequest) -> Option<Self> {
        #[derive(Deserialize)]
        struct Mode {
            mode: Option<String>,
        }
        match &*request.method {
            ELICITATION_CREATE => {
                match serde_json::from_str::<Mode>(request.params.get()).ok()?.mode.as_deref() {
                    None | Some("form") => Some(Self::Form),
                    Some("url") => Some(Self::Url),
                    Some(_) => None,
                }
            }
            SAMPLING_CREATE_MESSAGE => Some(Self::Sampling),
            ROOTS_LIST => Some(Self::Roots),
            _ => None,
        }
    }
}

/// The client of a call, as the one that answers a server's requests.
pub trait ClientPeer: Send + Sync {
    /// Whether the client declared the capability to answer this.
    fn can(&self, what: ClientFeature) -> bool;

    /// The capabilities that the client declared, as a JSON object. A server of the stateless revision is told
    /// of exactly these with the client's call.
    fn capabilities(&self) -> Arc<RawValue>;

    /// Sends a request to the client. Dropping the future withdraws it.
    fn ask(&self, request: ServerRequest) -> BoxFuture<'static, ServerRequestResult>;

    /// Forwards the params of the server's `notifications/message` about the call, if the client wants this
    /// level.
    fn logged(&self, level: LogLevel, params: &RawValue);

    /// Forwards a notification of the server about the call that the protocol doesn't have, if the client can know which
    /// server it comes from.
    fn notified(&self, _method: &str, _params: &str) {}
}
