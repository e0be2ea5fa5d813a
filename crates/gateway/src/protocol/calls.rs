//! One upstream request (a tool call or another access) on its way to its response, for both protocol
//! families.
//!
//! A call isn't owned by the connection that waits for it: when that connection goes away, the call is
//! cancelled or keeps running, depending on the revision, but its future is always polled to completion.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use gatehouse_mcp_wire::raw::Members;
use gatehouse_model::BoxFuture;
use gatehouse_tools::{CallResponse, ProgressCallback, ServerSelection, ToolCall, ToolName};
use hyper::StatusCode;
use serde_json::value::RawValue;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::protocol::accept_header::Accepts;
use crate::protocol::protocol_compat::{self, AdaptError};
use crate::protocol::response::{HandlerResponse, MessageChunks, RpcResponse};
use crate::protocol::rpc_error::HttpRpcError;
use crate::revision::Revision;
use crate::session::event_log::EventLog;
use crate::session::sessions::Session;

/// A response that takes longer than this is sent as an SSE stream, so that the client sees that the
/// connection is alive.
const STREAM_AFTER: Duration = Duration::from_millis(100);

/// What happens to a call when its connection is lost.
#[derive(Debug)]
pub(crate) enum OnDisconnect {
    /// The call is cancelled (stateless revision).
    Cancel,
    /// A call that was already sent upstream continues; one that still waits for approval doesn't (older
    /// revisions). Holds the event log of the call.
    KeepRunning(Arc<EventLog>),
}

/// A running call. Dropping it never drops the call's future: the future is moved to a background task that
/// runs it to completion.
pub(crate) struct DispatchedCall {
    future: Option<BoxFuture<'static, CallResponse>>,
    cancel: CancellationToken,
    on_disconnect: OnDisconnect,
    tasks: TaskTracker,
    runtime: Handle,
}

impl DispatchedCall {
    pub(crate) fn new(
        future: BoxFuture<'static, CallResponse>,
        cancel: CancellationToken,
        on_disconnect: OnDisconnect,
        tasks: &TaskTracker,
    ) -> Self {
        Self { future: Some(future), cancel, on_disconnect, tasks: tasks.clone(), runtime: Handle::current() }
    }
}

impl Future for DispatchedCall {
    type Output = CallResponse;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<CallResponse> {
        let Some(future) = self.future.as_mut() else {
            return Poll::Pending;
        };
        let outcome = std::task::ready!(future.as_mut().poll(cx));
        self.future = None;
        Poll::Ready(outcome)
    }
}

impl Drop for DispatchedCall {
    fn drop(&mut self) {
        if let Some(future) = self.future.take() {
            match &self.on_disconnect {
                OnDisconnect::Cancel => self.cancel.cancel(),
                OnDisconnect::KeepRunning(log) => log.abandon(),
            }
            self.tasks.spawn_on(
                async move {
                    let outcome = future.await;
                    tracing::debug!(?outcome, "a call ended after its client left");
                },
                &self.runtime,
            );
        }
    }
}

/// Parses the params of `tools/call`.
pub(crate) fn parse_tool_call(
    params: &Members<'_>,
    servers: &ServerSelection,
    cancel: CancellationToken,
) -> Result<ToolCall, HttpRpcError> {
    let Some(name) = params.text("name") else {
        return Err(HttpRpcError::new(StatusCode::OK, -32602, "The member `name` must be the tool's name."));
    };
    let rest = params
        .iter()
        .filter(|(name, _)| !matches!(*name, "name" | "arguments" | "_meta"))
        .map(|(name, value)| (name.into(), value.to_owned()))
        .collect();
    let tool = match servers {
        ServerSelection::All => ToolName::Exposed(name.into()),
        ServerSelection::One(server) => ToolName::Own { server: server.clone(), name: name.into() },
    };
    Ok(ToolCall {
        rest,
        meta: params.get("_meta").map(ToOwned::to_owned),
        cancel,
        ..ToolCall::of(tool, params.get("arguments").map(ToOwned::to_owned))
    })
}

/// The client's progress token as raw JSON; `None` if it is neither a string nor a number.
pub(crate) fn progress_token<'a>(meta: Option<&Members<'a>>) -> Option<&'a str> {
    let token = meta?.get("progressToken")?.get();
    token.starts_with(|first: char| first == '"' || first == '-' || first.is_ascii_digit()).then_some(token)
}

/// Returns a progress sink that writes progress notifications into an event log, with the client's own token.
pub(crate) fn progress_callback(log: &Arc<EventLog>, token: &str) -> ProgressCallback {
    let (log, token) = (Arc::clone(log), token.to_owned());
    Arc::new(move |params: Box<RawValue>| {
        if let Some(params) = protocol_compat::with_progress_token(&params, &token) {
            let pieces = [
                &br#"{"jsonrpc":"2.0","method":"notifications/progress","params":"#[..],
                params.as_bytes(),
                b"}",
            ];
            log.push(pieces.into_iter());
        }
    })
}

/// The response to a finished call, with its HTTP status.
fn response(outcome: CallResponse, revision: Revision, has_cache_hints: bool) -> (StatusCode, RpcResponse) {
    let adapt =
        if has_cache_hints { protocol_compat::adapt_read_result } else { protocol_compat::adapt_result };
    match outcome {
        CallResponse::Result(raw) => match adapt(raw, revision) {
            Ok(adapted) => (StatusCode::OK, RpcResponse::Result { head: adapted.head, rest: adapted.rest }),
            Err(AdaptError::NotAnObject) => {
                internal_error_response("The server answered with a result that is not an object.")
            }
            Err(AdaptError::UnknownType) => internal_error_response(
                "The server wants something (input or a task) that this client's revision of the protocol cannot carry.",
            ),
        },
        CallResponse::Error(raw) => {
            let status = match protocol_compat::error_code(&raw) {
                Some(-32601) if revision == Revision::STATELESS => StatusCode::NOT_FOUND,
                Some(-32022 | -32021) if revision == Revision::STATELESS => StatusCode::BAD_REQUEST,
                // Also -32020 (header mismatch): a client that reads it with HTTP 400 sends its call again with other
                // headers, but this one reached the server and may have had its effect.
                Some(_) | None => StatusCode::OK,
            };
            (status, RpcResponse::Error(protocol_compat::adapt_error(raw, revision)))
        }
    }
}

fn internal_error_response(message: &'static str) -> (StatusCode, RpcResponse) {
    (StatusCode::OK, RpcResponse::from(&HttpRpcError::new(StatusCode::OK, -32603, message)))
}

/// A running call with everything that its response needs.
pub(crate) struct CallExchange {
    pub(crate) running: DispatchedCall,
    /// Receives the events if the response becomes a stream.
    pub(crate) log: Arc<EventLog>,
    /// The JSON-RPC id of the request, byte for byte as the client sent it.
    pub(crate) id: String,
    pub(crate) revision: Revision,
    /// The response types that the client accepts.
    pub(crate) accepts: Accepts,
    /// Whether the result is cacheable in the stateless revision and so needs `ttlMs` and `cacheScope`.
    pub(crate) has_cache_hints: bool,
    /// What happens to the stream, if the response becomes one.
    pub(crate) stream: CallStream,
    /// Cancelled if the client itself cancels the call, which then gets no response (MCP, Cancellation).
    pub(crate) cancelled_by_client: CancellationToken,
}

pub(crate) enum CallStream {
    /// Can't be resumed. Losing its connection cancels the call (stateless revision).
    Transient,
    /// Is stored in a session under its number, so that it can be resumed (older revisions).
    Resumable { session: Arc<Session>, number: u64 },
    /// Is the session's only stream (HTTP+SSE), which doesn't end with the call.
    Shared,
}

/// State of an exchange once [`STREAM_AFTER`] has passed or the first event was written.
enum ExchangeStart {
    /// The call finished in time; the response is complete.
    Completed(HandlerResponse),
    /// The response becomes an SSE stream.
    Streaming(CallExchange),
}

impl CallExchange {
    /// Returns the response: complete, or a stream to which the call writes its result in a task of its own.
    pub(crate) async fn respond(self) -> HandlerResponse {
        if matches!(self.stream, CallStream::Shared) {
            let tasks = self.running.tasks.clone();
            tasks.spawn(self.run_to_end());
            return HandlerResponse::empty(StatusCode::ACCEPTED);
        }
        let exchange = match self.begin().await {
            ExchangeStart::Completed(response) => return response,
            ExchangeStart::Streaming(exchange) => exchange,
        };
        let log = Arc::clone(&exchange.log);
        let reader = match &exchange.stream {
            CallStream::Resumable { session, number } => {
                if exchange.revision.primes_streams() && log.is_drained() {
                    log.prime();
                }
                session.store_stream(*number, &log);
                log.read()
            }
            CallStream::Transient | CallStream::Shared => {
                let cancel = exchange.running.cancel.clone();
                log.read().on_disconnect(move || cancel.cancel())
            }
        };
        let tasks = exchange.running.tasks.clone();
        tasks.spawn(exchange.run_to_end());
        HandlerResponse::events(reader)
    }

    /// Waits for the result as long as it may still be sent as plain JSON.
    async fn begin(mut self) -> ExchangeStart {
        if !self.accepts.events {
            let outcome = (&mut self.running).await;
            let response = if self.cancelled_by_client.is_cancelled() {
                HandlerResponse::empty(StatusCode::ACCEPTED)
            } else {
                self.json_response(outcome)
            };
            return ExchangeStart::Completed(response);
        }
        let early = {
            let stream_timer = tokio::time::sleep(STREAM_AFTER);
            tokio::pin!(stream_timer);
            let log = &self.log;
            let running = &mut self.running;
            std::future::poll_fn(|cx| {
                let polled = Pin::new(&mut *running).poll(cx);
                if !log.is_drained() {
                    // Progress is sent at once, which needs a stream, and always before the result.
                    return Poll::Ready(match polled {
                        Poll::Ready(outcome) => Some(outcome),
                        Poll::Pending => None,
                    });
                }
                match polled {
                    Poll::Ready(outcome) => Poll::Ready(Some(outcome)),
                    Poll::Pending => {
                        log.wake_on_event(cx.waker());
                        if log.is_drained() {
                            stream_timer.as_mut().poll(cx).map(|()| None)
                        } else {
                            Poll::Ready(None)
                        }
                    }
                }
            })
            .await
        };
        match early {
            Some(outcome)
                if self.log.is_drained() && self.accepts.json && !self.cancelled_by_client.is_cancelled() =>
            {
                ExchangeStart::Completed(self.json_response(outcome))
            }
            Some(outcome) => {
                self.running.future = Some(Box::pin(std::future::ready(outcome)));
                ExchangeStart::Streaming(self)
            }
            None => ExchangeStart::Streaming(self),
        }
    }

    fn json_response(&self, outcome: CallResponse) -> HandlerResponse {
        let (status, response) = response(outcome, self.revision, self.has_cache_hints);
        HandlerResponse::message(status, MessageChunks::response(&self.id, &response))
    }

    /// Waits for the result and writes it into the log as the last event.
    async fn run_to_end(self) {
        let Self { running, log, id, revision, has_cache_hints, stream, cancelled_by_client, .. } = self;
        let outcome = running.await;
        if cancelled_by_client.is_cancelled() {
            if !matches!(stream, CallStream::Shared) {
                // Nor is there anything to come back for.
                log.discard();
                log.end();
            }
            return;
        }
        let (_, response) = response(outcome, revision, has_cache_hints);
        let message = MessageChunks::response(&id, &response);
        match stream {
            CallStream::Shared => log.deliver(message.pieces()).await,
            CallStream::Transient | CallStream::Resumable { .. } => log.finish(message.pieces()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn preserves_forwarded_bytes() {
        let params: Members<'_> = serde_json::from_str(
            r#"{"requestState":"s","name":"a\u0062","arguments":{"z":1, "n":10000000000000000001},"_meta":{"progressToken":7.0}}"#,
        )
        .unwrap();
        let call = parse_tool_call(&params, &ServerSelection::All, CancellationToken::new()).unwrap();
        assert_eq!(call.tool, ToolName::Exposed("ab".into()));
        assert_eq!(call.arguments.unwrap().get(), r#"{"z":1, "n":10000000000000000001}"#);
        assert_eq!(call.rest[0].0.as_ref(), "requestState");
        assert_eq!(call.rest[0].1.get(), r#""s""#);
        let meta = Members::of(call.meta.as_deref().unwrap()).unwrap();
        assert_eq!(progress_token(Some(&meta)), Some("7.0"));
    }

    #[test]
    fn rejects_call_without_tool_name() {
        for params in ["{}", r#"{"name":7}"#, r#"{"name":null}"#] {
            let params: Members<'_> = serde_json::from_str(params).unwrap();
            let call = parse_tool_call(&params, &ServerSelection::All, CancellationToken::new());
            assert_eq!(call.unwrap_err().code, -32602);
        }
    }
}
