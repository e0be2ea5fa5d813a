//! Forwards server requests (elicitation, sampling, roots) to clients of the older revisions: as a request on
//! the SSE stream of the client's own call, which the client answers with a POST in the same session.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_mcp_wire::raw::Members;
use gatehouse_model::BoxFuture;
use gatehouse_model::server::LogLevel;
use gatehouse_tools::{ClientAsk, Inquiry, ServerAnswer, ServerRequest};
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};

use crate::event_log::EventLog;
use crate::sessions::Session;

/// How long a client, and the person using it, may take to answer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(600);

const INTERNAL: i32 = -32603;

/// Forwards server requests to the client of a session, on the stream of one of its calls.
pub(crate) struct SessionAsk {
    pub(crate) session: Arc<Session>,
    /// The event log of the call's stream.
    pub(crate) log: Arc<EventLog>,
}

/// Forwards a log message of a server on the stream of the call that it belongs to.
pub(crate) fn pass_on(log: &EventLog, params: &RawValue) {
    let pieces = [
        &br#"{"jsonrpc":"2.0","method":"notifications/message","params":"#[..],
        params.get().as_bytes(),
        b"}",
    ];
    log.push(pieces.into_iter());
}

impl ClientAsk for SessionAsk {
    fn logged(&self, level: LogLevel, params: &RawValue) {
        if self.session.log_level().is_some_and(|least| level >= least) {
            pass_on(&self.log, params);
        }
    }

    fn can(&self, what: Inquiry) -> bool {
        self.session.abilities.cover(what)
    }

    fn ask(&self, request: ServerRequest) -> BoxFuture<'static, ServerAnswer> {
        let (session, log) = (Arc::clone(&self.session), Arc::clone(&self.log));
        Box::pin(async move {
            let Some((id, answer)) = session.ask() else {
                return Err(error("Too many questions wait for this client."));
            };
            let params = with_elicitation_id(request.params.get(), &id);
            let text =
                format!(r#"{{"jsonrpc":"2.0","id":"{id}","method":"{}","params":{params}}}"#, request.method);
            log.push(std::iter::once(text.as_bytes()));
            let withdrawn = Withdrawn { session: &session, log: &log, id: &id };
            let answer = tokio::select! {
                answer = answer => answer.unwrap_or_else(|_| Err(error("The client went away."))),
                () = tokio::time::sleep(PATIENCE) => Err(error("The client did not answer in time.")),
                () = session.ended.cancelled() => Err(error("The client's session ended.")),
            };
            drop(withdrawn);
            answer
        })
    }
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

/// On drop, tells the client that its answer is no longer needed, if the request is still open.
struct Withdrawn<'a> {
    session: &'a Session,
    log: &'a EventLog,
    id: &'a str,
}

impl Drop for Withdrawn<'_> {
    fn drop(&mut self) {
        if self.session.forget_ask(self.id) {
            let text = format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":"{}","reason":"The server no longer waits."}}}}"#,
                self.id
            );
            self.log.push(std::iter::once(text.as_bytes()));
        }
    }
}

/// A JSON-RPC error object (internal error) with this message.
pub(crate) fn error(message: &str) -> Box<RawValue> {
    to_raw_value(&json!({ "code": INTERNAL, "message": message }))
        .unwrap_or_else(|_| RawValue::NULL.to_owned())
}
