//! Forwards server requests (elicitation, sampling, roots) to clients of the older revisions: as a request on
//! the SSE stream of the client's own call, which the client responds to with a POST in the same session.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_mcp_wire::raw::{Members, quoted};
use gatehouse_model::BoxFuture;
use gatehouse_model::server::LogLevel;
use gatehouse_tools::{ClientFeature, ClientPeer, ServerRequest, ServerRequestResult, ServerSelection};
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};

use crate::session::event_log::EventLog;
use crate::session::sessions::{ElicitationRef, OpenRequest, Session};

/// How long a client, and the person using it, may take to respond.
pub(crate) const CLIENT_RESPONSE_TIMEOUT: Duration = Duration::from_secs(600);

const INTERNAL: i32 = -32603;

/// Forwards server requests to the client of a session, on the stream of one of its calls.
pub(crate) struct SessionPeer {
    pub(crate) session: Arc<Session>,
    /// The event log of the call's stream.
    pub(crate) log: Arc<EventLog>,
}

/// Forwards a log message of a server on the stream of the call that it belongs to.
pub(crate) fn forward_log(log: &EventLog, params: &RawValue) {
    let pieces = [
        &br#"{"jsonrpc":"2.0","method":"notifications/message","params":"#[..],
        params.get().as_bytes(),
        b"}",
    ];
    log.push(pieces.into_iter());
}

impl ClientPeer for SessionPeer {
    fn logged(&self, level: LogLevel, params: &RawValue) {
        if self.session.wants_log(level) {
            forward_log(&self.log, params);
        }
    }

    fn notified(&self, method: &str, params: &str) {
        if self.session.servers != ServerSelection::All {
            let text = format!(r#"{{"jsonrpc":"2.0","method":{},"params":{params}}}"#, quoted(method));
            self.log.push(std::iter::once(text.as_bytes()));
        }
    }

    fn can(&self, feature: ClientFeature) -> bool {
        self.session.client_capabilities.supports(feature)
    }

    fn capabilities(&self) -> Arc<RawValue> {
        self.session.client_capabilities.declaration().into()
    }

    fn ask(&self, request: ServerRequest) -> BoxFuture<'static, ServerRequestResult> {
        let (session, log) = (Arc::clone(&self.session), Arc::clone(&self.log));
        Box::pin(async move {
            let Some(OpenRequest { id, response }) = session.open_request() else {
                return Err(internal_error("Too many requests wait for this client."));
            };
            if let Some(elicitation) = elicitation_id(&request.params) {
                let server = request.server.id.clone();
                session.remember_elicitation(ElicitationRef { server, id: elicitation });
            }
            let params = with_elicitation_id(request.params.get(), &id);
            let text =
                format!(r#"{{"jsonrpc":"2.0","id":"{id}","method":"{}","params":{params}}}"#, request.method);
            log.push(std::iter::once(text.as_bytes()));
            let cancel_notice = CancelNotice { session: &session, log: &log, id: &id };
            let result = tokio::select! {
                response = response => response.unwrap_or_else(|_| Err(internal_error("The client went away."))),
                () = tokio::time::sleep(CLIENT_RESPONSE_TIMEOUT) => Err(internal_error("The client did not respond in time.")),
                () = session.ended.cancelled() => Err(internal_error("The client's session ended.")),
            };
            drop(cancel_notice);
            result
        })
    }
}

/// The id that the server gave to a URL-mode elicitation.
fn elicitation_id(params: &RawValue) -> Option<String> {
    let members = Members::of(params).ok()?;
    let is_url = members.text("mode").as_deref() == Some("url");
    members.text("elicitationId").filter(|_| is_url).map(Into::into)
}

/// Adds `elicitationId` to a URL-mode elicitation that has none: these revisions require it, and servers of
/// the newest revision don't send one.
fn with_elicitation_id<'a>(params: &'a str, id: &str) -> Cow<'a, str> {
    let read = RawValue::from_string(params.to_owned());
    let Some(members) = read.as_ref().ok().and_then(|raw| Members::of(raw).ok()) else {
        return params.into();
    };
    if members.text("mode").as_deref() != Some("url") || members.get("elicitationId").is_some() {
        return params.into();
    }
    match params.trim_start().strip_prefix('{') {
        Some(rest) => format!(r#"{{"elicitationId":"{id}",{rest}"#).into(),
        None => params.into(),
    }
}

/// On drop, tells the client that its response is no longer needed, if the request is still open.
struct CancelNotice<'a> {
    session: &'a Session,
    log: &'a EventLog,
    id: &'a str,
}

impl Drop for CancelNotice<'_> {
    fn drop(&mut self) {
        if self.session.withdraw_request(self.id) {
            let text = format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":"{}","reason":"The server no longer waits."}}}}"#,
                self.id
            );
            self.log.push(std::iter::once(text.as_bytes()));
        }
    }
}

/// A JSON-RPC error object (internal error) with this message.
pub(crate) fn internal_error(message: &str) -> Box<RawValue> {
    to_raw_value(&json!({ "code": INTERNAL, "message": message }))
        .unwrap_or_else(|_| RawValue::NULL.to_owned())
}
