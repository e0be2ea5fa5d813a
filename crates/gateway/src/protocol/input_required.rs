//! Input required: forwards server requests to clients of the stateless revision. The client's call is
//! answered with `input_required` while the call itself keeps running; it is found again by `requestState`
//! when the client sends the same call with its responses. A `requestState` can be used once, only by the
//! client that it was given to, and only for the identical call.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use gatehouse_mcp_wire::raw::{Members, quoted};
use gatehouse_model::server::LogLevel;
use gatehouse_model::{BoxFuture, ClientId};
use gatehouse_tools::{
    ByteBudget, CallResponse, CallSource, ClientFeature, ClientPeer, Peer, ServerRequest,
    ServerRequestResult, ServerSelection, Viewer,
};
use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tokio_util::task::TaskTracker;

use crate::clients::capabilities::ClientCapabilities;
use crate::clients::token;
use crate::session::event_log::EventLog;
use crate::session::server_requests::{CLIENT_RESPONSE_TIMEOUT, forward_log, internal_error};
use crate::session::unclaimed_response::UnclaimedResponse;

/// Prefix of our `requestState` values, which distinguishes them from those of servers.
const STATE_PREFIX: &str = "gatehouse:";
/// Maximum number of calls of one client that wait for its input.
const MAX_WAITING_PER_CLIENT: usize = 64;

/// A server request for the client, with the channel for the response.
struct QueuedRequest {
    request: ServerRequest,
    response: oneshot::Sender<ServerRequestResult>,
}

/// Forwards server requests to a client of the stateless revision.
pub(crate) struct InputRequiredPeer {
    client_capabilities: ClientCapabilities,
    /// The same as the client wrote them.
    declared: Arc<RawValue>,
    logs: Option<LogForwarding>,
    queue: mpsc::UnboundedSender<QueuedRequest>,
}

/// The log messages that a client wants for its call, and where they go.
pub(crate) struct LogForwarding {
    /// The least severe level that is forwarded.
    pub(crate) min_level: LogLevel,
    /// The stream of the call.
    pub(crate) sink: Arc<EventLog>,
}

impl ClientPeer for InputRequiredPeer {
    fn logged(&self, level: LogLevel, params: &RawValue) {
        if let Some(logs) = self.logs.as_ref().filter(|logs| level >= logs.min_level) {
            forward_log(&logs.sink, params);
        }
    }

    fn can(&self, feature: ClientFeature) -> bool {
        self.client_capabilities.supports(feature)
    }

    fn capabilities(&self) -> Arc<RawValue> {
        Arc::clone(&self.declared)
    }

    fn ask(&self, request: ServerRequest) -> BoxFuture<'static, ServerRequestResult> {
        let (response, received) = oneshot::channel();
        let sent = self.queue.send(QueuedRequest { request, response });
        Box::pin(async move {
            if sent.is_err() {
                return Err(internal_error("The call is over."));
            }
            match tokio::time::timeout(CLIENT_RESPONSE_TIMEOUT, received).await {
                Ok(Ok(response)) => response,
                Ok(Err(_)) => Err(internal_error("The client went away.")),
                Err(_) => Err(internal_error("The client did not respond in time.")),
            }
        })
    }
}

/// Identity of a call: client, source, endpoint, method, and params except for the members that belong to input
/// required.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CallIdentity {
    viewer: Viewer,
    source: Option<CallSource>,
    servers: ServerSelection,
    params_key: String,
}

impl CallIdentity {
    pub(crate) fn new(
        viewer: &Viewer,
        peer: &Peer,
        servers: &ServerSelection,
        method: &str,
        params: &Members<'_>,
    ) -> Self {
        let mut params_key = method.to_owned();
        for (name, value) in params.iter() {
            if !matches!(name, "_meta" | "inputResponses" | "requestState") {
                params_key.push('\0');
                params_key.push_str(name);
                params_key.push('\0');
                params_key.push_str(value.get());
            }
        }
        // The stateless revision has no sessions.
        Self { viewer: viewer.clone(), source: peer.source(None), servers: servers.clone(), params_key }
    }
}

/// The calls that wait for input from their clients.
#[derive(Clone)]
pub(crate) struct InputRequiredCalls {
    waiting: Arc<Mutex<HashMap<String, InputRequiredCall>>>,
    tasks: TaskTracker,
    /// Byte budget for the responses of calls whose clients haven't resumed them.
    retained_bytes: Arc<ByteBudget>,
}

struct InputRequiredCall {
    identity: CallIdentity,
    interactive: InteractiveCall,
    /// The server requests that the client has to respond to, by their names in `inputRequests`.
    open_requests: HashMap<String, oneshot::Sender<ServerRequestResult>>,
    deadline: Instant,
    /// Set when the client has resumed the call.
    is_awaited: Arc<AtomicBool>,
}

/// A call and the server requests that it produces.
pub(crate) struct InteractiveCall {
    identity: CallIdentity,
    future: BoxFuture<'static, CallResponse>,
    queue: mpsc::UnboundedReceiver<QueuedRequest>,
    cancel: CancellationToken,
    calls: InputRequiredCalls,
}

/// Cancels a call whose client didn't resume it in time.
impl Drop for InputRequiredCall {
    fn drop(&mut self) {
        if self.deadline <= Instant::now() {
            self.interactive.cancel.cancel();
        }
    }
}

impl InputRequiredCalls {
    /// Starts empty. Calls that wait for input are run on `tasks`.
    pub(crate) fn new(tasks: TaskTracker, retained_bytes: Arc<ByteBudget>) -> Self {
        Self { waiting: Arc::default(), tasks, retained_bytes }
    }

    /// Returns the handler for the server requests of a new call, and their receiving end, which is joined
    /// with the call by [`RequestQueue::attach`].
    pub(crate) fn start(
        &self,
        declared: &RawValue,
        logs: Option<LogForwarding>,
    ) -> (InputRequiredPeer, RequestQueue) {
        let (queue, receiver) = mpsc::unbounded_channel();
        let client_capabilities = ClientCapabilities::parse(Some(declared));
        (
            InputRequiredPeer { client_capabilities, declared: declared.to_owned().into(), logs, queue },
            RequestQueue { queue: receiver, calls: self.clone() },
        )
    }

    /// Resumes the call that `requestState` in these params refers to. `Ok(None)` if there is no state or it
    /// isn't ours.
    ///
    /// # Errors
    /// When the state is ours but expired, was used already, or belongs to another call or client.
    pub(crate) fn resume(
        &self,
        identity: &CallIdentity,
        params: &Members<'_>,
    ) -> Result<Option<InteractiveCall>, &'static str> {
        let Some(state) = params.text("requestState").filter(|state| state.starts_with(STATE_PREFIX)) else {
            return Ok(None);
        };
        let mut waiting = self.waiting.lock();
        let is_match = waiting
            .get(&*state)
            .is_some_and(|call| call.identity == *identity && call.deadline > Instant::now());
        if !is_match {
            return Err("This requestState is not, or no longer, that of this call.");
        }
        let Some(mut call) = waiting.remove(&*state) else { return Ok(None) };
        drop(waiting);
        let responses = params.get("inputResponses").and_then(|raw| Members::of(raw).ok());
        for (name, request) in call.open_requests.drain() {
            let response =
                responses.as_ref().and_then(|responses| responses.get(&name)).map(ToOwned::to_owned);
            if request
                .send(response.ok_or_else(|| internal_error("The client sent no response to this request.")))
                .is_err()
            {
                tracing::debug!("a client responded to a server that no longer waits");
            }
        }
        call.deadline = Instant::now() + CLIENT_RESPONSE_TIMEOUT;
        Ok(Some(call.into_interactive()))
    }

    /// Drops calls whose clients didn't resume them in time.
    pub(crate) fn drop_expired(&self) {
        let now = Instant::now();
        self.waiting.lock().retain(|_, call| call.deadline > now);
    }

    /// Cancels the waiting calls of one client.
    pub(crate) fn end_for_client(&self, client: &ClientId) {
        let ended: Vec<InputRequiredCall> = {
            let mut waiting = self.waiting.lock();
            waiting
                .extract_if(|_, call| call.identity.viewer.client == *client)
                .map(|(_, call)| call)
                .collect()
        };
        for call in ended {
            call.interactive.cancel.cancel();
        }
    }

    /// Lets a call run on in a task of its own, and returns the `input_required` result for its client.
    fn suspend(&self, interactive: InteractiveCall, queue: Vec<QueuedRequest>) -> CallResponse {
        let Ok(random) = token::random::<16>() else {
            return CallResponse::Error(internal_error("The system gives no random numbers."));
        };
        let state = format!("{STATE_PREFIX}{}", hex::encode(random));
        let mut requests = String::new();
        let mut open_requests = HashMap::new();
        for (number, QueuedRequest { request, response }) in queue.into_iter().enumerate() {
            // The server's own key, so that the client sees what the server wrote.
            let own = request.key.as_deref().filter(|key| !open_requests.contains_key(*key));
            let name = own.map_or_else(|| free_name(number, &open_requests), str::to_owned);
            if number > 0 {
                requests.push(',');
            }
            requests.push_str(&format!(
                r#"{}:{{"method":"{}","params":{}}}"#,
                quoted(&name),
                request.method,
                request.params.get()
            ));
            open_requests.insert(name, response);
        }
        let InteractiveCall { identity, future, queue, cancel, calls } = interactive;
        // The call keeps running, so that nothing it holds is blocked meanwhile.
        let is_awaited = Arc::new(AtomicBool::new(false));
        let (budget, client) = (Arc::clone(&self.retained_bytes), identity.viewer.client.clone());
        let is_awaited_by_client = Arc::clone(&is_awaited);
        let running = self.tasks.spawn(async move {
            UnclaimedResponse::new(future.await, is_awaited_by_client, &budget, &client)
        });
        let future: BoxFuture<'static, CallResponse> = Box::pin(async move {
            match running.await {
                Ok(response) => response.take(),
                Err(_) => CallResponse::Error(internal_error("The call ended unexpectedly.")),
            }
        });
        let interactive = InteractiveCall { identity: identity.clone(), future, queue, cancel, calls };
        let mut waiting = self.waiting.lock();
        if waiting.values().filter(|other| other.identity.viewer.client == identity.viewer.client).count()
            >= MAX_WAITING_PER_CLIENT
        {
            interactive.cancel.cancel();
            return CallResponse::Error(internal_error("Too many calls of this client wait for its input."));
        }
        let deadline = Instant::now() + CLIENT_RESPONSE_TIMEOUT;
        waiting.insert(
            state.clone(),
            InputRequiredCall { identity, interactive, open_requests, deadline, is_awaited },
        );
        let text = format!(
            r#"{{"resultType":"input_required","inputRequests":{{{requests}}},"requestState":"{state}"}}"#
        );
        RawValue::from_string(text).map_or_else(
            |_| CallResponse::Error(internal_error("A request of the server could not be forwarded.")),
            CallResponse::Result,
        )
    }
}

/// A name for a request that has no key of its own.
fn free_name<T>(number: usize, taken: &HashMap<String, T>) -> String {
    let mut names = (number + 1..).map(|number| format!("q{number}"));
    names.find(|name| !taken.contains_key(name)).unwrap_or_default()
}

impl InputRequiredCall {
    fn into_interactive(mut self) -> InteractiveCall {
        self.is_awaited.store(true, Ordering::SeqCst);
        // `self` implements `Drop`, so its call can only be replaced.
        let placeholder = InteractiveCall {
            identity: self.identity.clone(),
            future: Box::pin(std::future::pending()),
            queue: mpsc::unbounded_channel().1,
            cancel: CancellationToken::new(),
            calls: self.interactive.calls.clone(),
        };
        std::mem::replace(&mut self.interactive, placeholder)
    }
}

/// The receiving end for the server requests of a call that hasn't started.
pub(crate) struct RequestQueue {
    queue: mpsc::UnboundedReceiver<QueuedRequest>,
    calls: InputRequiredCalls,
}

impl RequestQueue {
    /// Joins it with its call.
    pub(crate) fn attach(
        self,
        identity: CallIdentity,
        future: BoxFuture<'static, CallResponse>,
        cancel: CancellationToken,
    ) -> InteractiveCall {
        InteractiveCall { identity, future, queue: self.queue, cancel, calls: self.calls }
    }
}

impl InteractiveCall {
    /// Runs until the call ends or needs input from the client. `connection_lost` cancels the call until it needs
    /// input for the first time in this request: from then on it doesn't depend on a connection.
    pub(crate) fn run(self, connection_lost: CancellationToken) -> BoxFuture<'static, CallResponse> {
        Box::pin(InteractiveCallFuture {
            connection_lost: Some(Box::pin(connection_lost.cancelled_owned())),
            interactive: Some(self),
        })
    }
}

struct InteractiveCallFuture {
    interactive: Option<InteractiveCall>,
    connection_lost: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
}

impl Future for InteractiveCallFuture {
    type Output = CallResponse;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<CallResponse> {
        let this = &mut *self;
        let Some(interactive) = this.interactive.as_mut() else { return Poll::Pending };
        if this.connection_lost.as_mut().is_some_and(|lost| lost.as_mut().poll(cx).is_ready()) {
            this.connection_lost = None;
            interactive.cancel.cancel();
        }
        if let Poll::Ready(response) = interactive.future.as_mut().poll(cx) {
            this.interactive = None;
            return Poll::Ready(response);
        }
        let mut queue = Vec::new();
        while let Poll::Ready(Some(queued)) = interactive.queue.poll_recv(cx) {
            queue.push(queued);
        }
        if queue.is_empty() {
            return Poll::Pending;
        }
        match this.interactive.take() {
            Some(interactive) => {
                let calls = interactive.calls.clone();
                Poll::Ready(calls.suspend(interactive, queue))
            }
            None => Poll::Pending,
        }
    }
}
