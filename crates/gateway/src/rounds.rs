//! Input required: forwards server requests to clients of the stateless revision. The client's call is
//! answered with `input_required` while the call itself keeps running; it is found again by `requestState`
//! when the client sends the same call with its answers. A `requestState` can be used once, only by the
//! client that it was given to, and only for the identical call.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use gatehouse_mcp_wire::raw::Members;
use gatehouse_model::server::LogLevel;
use gatehouse_model::{BoxFuture, ClientId};
use gatehouse_tools::{ByteBudget, CallEnd, CallSource, ClientAsk, Inquiry, ServerAnswer, ServerRequest};
use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tokio_util::task::TaskTracker;

use crate::abilities::Abilities;
use crate::event_log::EventLog;
use crate::inquiries::{PATIENCE, error, pass_on};
use crate::intake::Asked;
use crate::kept_end::KeptEnd;
use crate::token;

/// Prefix of our `requestState` values, which distinguishes them from those of servers.
const MARK: &str = "gatehouse:";
/// Maximum number of calls of one client that wait for its input.
const MOST: usize = 64;

/// A server request for the client, with the channel for the answer.
struct Want {
    request: ServerRequest,
    answer: oneshot::Sender<ServerAnswer>,
}

/// Forwards server requests to a client of the stateless revision.
pub(crate) struct RoundAsk {
    abilities: Abilities,
    logs: Option<Logs>,
    wants: mpsc::UnboundedSender<Want>,
}

/// The log messages that a client wants for its call, and where they go.
pub(crate) struct Logs {
    /// The least severe level that is forwarded.
    pub(crate) least: LogLevel,
    /// The stream of the call.
    pub(crate) into: Arc<EventLog>,
}

impl ClientAsk for RoundAsk {
    fn logged(&self, level: LogLevel, params: &RawValue) {
        if let Some(logs) = self.logs.as_ref().filter(|logs| level >= logs.least) {
            pass_on(&logs.into, params);
        }
    }

    fn can(&self, what: Inquiry) -> bool {
        self.abilities.cover(what)
    }

    fn ask(&self, request: ServerRequest) -> BoxFuture<'static, ServerAnswer> {
        let (answer, wait) = oneshot::channel();
        let asked = self.wants.send(Want { request, answer });
        Box::pin(async move {
            if asked.is_err() {
                return Err(error("The call is over."));
            }
            match tokio::time::timeout(PATIENCE, wait).await {
                Ok(Ok(answer)) => answer,
                Ok(Err(_)) => Err(error("The client went away.")),
                Err(_) => Err(error("The client did not answer in time.")),
            }
        })
    }
}

/// Identity of a call: client, source, method, and params except for the members that belong to input
/// required.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    client: ClientId,
    source: Option<CallSource>,
    exact: String,
}

impl Call {
    pub(crate) fn of(asked: &Asked<'_>) -> Self {
        let params = asked.params;
        let mut exact = asked.method.to_owned();
        for (name, value) in params.iter() {
            if !matches!(name, "_meta" | "inputResponses" | "requestState") {
                exact.push('\0');
                exact.push_str(name);
                exact.push('\0');
                exact.push_str(value.get());
            }
        }
        // The stateless revision has no sessions.
        Self { client: asked.client.entry.id.clone(), source: asked.peer.source(None), exact }
    }
}

/// The calls that wait for input from their clients.
#[derive(Clone)]
pub(crate) struct Parked {
    waiting: Arc<Mutex<HashMap<String, Waiting>>>,
    tasks: TaskTracker,
    /// Byte budget for the outcomes of calls whose clients haven't come back.
    kept_bytes: Arc<ByteBudget>,
}

struct Waiting {
    call: Call,
    turn: Turn,
    open: HashMap<String, oneshot::Sender<ServerAnswer>>,
    until: Instant,
    /// Set when the client has come back.
    is_awaited: Arc<AtomicBool>,
}

/// A call and the server requests that it produces.
pub(crate) struct Turn {
    call: Call,
    future: BoxFuture<'static, CallEnd>,
    wants: mpsc::UnboundedReceiver<Want>,
    cancel: CancellationToken,
    parked: Parked,
}

/// Cancels a call whose client didn't come back in time.
impl Drop for Waiting {
    fn drop(&mut self) {
        if self.until <= Instant::now() {
            self.turn.cancel.cancel();
        }
    }
}

impl Parked {
    /// Starts empty. Calls that wait for input are run on `tasks`.
    pub(crate) fn new(tasks: TaskTracker, kept_bytes: Arc<ByteBudget>) -> Self {
        Self { waiting: Arc::default(), tasks, kept_bytes }
    }

    /// Returns the handler for the server requests of a new call, and their receiving end, which is joined
    /// with the call by [`Questions::of`].
    pub(crate) fn begin(&self, abilities: Abilities, logs: Option<Logs>) -> (RoundAsk, Questions) {
        let (wants, taken) = mpsc::unbounded_channel();
        (RoundAsk { abilities, logs, wants }, Questions { wants: taken, parked: self.clone() })
    }

    /// Resumes the call that `requestState` in these params refers to. `Ok(None)` if there is no state or it
    /// isn't ours.
    ///
    /// # Errors
    /// When the state is ours but expired, was used already, or belongs to another call or client.
    pub(crate) fn resume(&self, call: &Call, params: &Members<'_>) -> Result<Option<Turn>, &'static str> {
        let Some(state) = params.text("requestState").filter(|state| state.starts_with(MARK)) else {
            return Ok(None);
        };
        let mut waiting = self.waiting.lock();
        let fits =
            waiting.get(&*state).is_some_and(|parked| parked.call == *call && parked.until > Instant::now());
        if !fits {
            return Err("This requestState is not, or no longer, that of this call.");
        }
        let Some(mut parked) = waiting.remove(&*state) else { return Ok(None) };
        drop(waiting);
        let answers = params.get("inputResponses").and_then(|raw| Members::of(raw).ok());
        for (name, open) in parked.open.drain() {
            let answer = answers.as_ref().and_then(|answers| answers.get(&name)).map(ToOwned::to_owned);
            if open.send(answer.ok_or_else(|| error("The client left this out."))).is_err() {
                tracing::debug!("a server no longer waits for an answer that came");
            }
        }
        parked.until = Instant::now() + PATIENCE;
        Ok(Some(parked.into_turn()))
    }

    /// Drops calls whose clients didn't come back in time.
    pub(crate) fn sweep(&self) {
        let now = Instant::now();
        self.waiting.lock().retain(|_, parked| parked.until > now);
    }

    /// Cancels the waiting calls of one client.
    pub(crate) fn end_of(&self, client: &ClientId) {
        let ended: Vec<Waiting> = {
            let mut waiting = self.waiting.lock();
            waiting.extract_if(|_, parked| parked.call.client == *client).map(|(_, one)| one).collect()
        };
        for parked in ended {
            parked.turn.cancel.cancel();
        }
    }

    fn park(&self, turn: Turn, wants: Vec<Want>) -> CallEnd {
        let Ok(random) = token::random::<16>() else {
            return CallEnd::Error(error("The system gives no random numbers."));
        };
        let state = format!("{MARK}{}", hex::encode(random));
        let mut requests = String::new();
        let mut open = HashMap::new();
        for (number, Want { request, answer }) in wants.into_iter().enumerate() {
            let name = format!("q{}", number + 1);
            if number > 0 {
                requests.push(',');
            }
            requests.push_str(&format!(
                r#""{name}":{{"method":"{}","params":{}}}"#,
                request.method,
                request.params.get()
            ));
            open.insert(name, answer);
        }
        let Turn { call, future, wants, cancel, parked } = turn;
        // The call keeps running, so that nothing it holds is blocked meanwhile.
        let is_awaited = Arc::new(AtomicBool::new(false));
        let (budget, client, flag) =
            (Arc::clone(&self.kept_bytes), call.client.clone(), Arc::clone(&is_awaited));
        let running = self.tasks.spawn(async move { KeptEnd::new(future.await, flag, (&budget, &client)) });
        let future: BoxFuture<'static, CallEnd> = Box::pin(async move {
            match running.await {
                Ok(end) => end.take(),
                Err(_) => CallEnd::Error(error("The call broke off.")),
            }
        });
        let turn = Turn { call: call.clone(), future, wants, cancel, parked };
        let mut waiting = self.waiting.lock();
        if waiting.values().filter(|other| other.call.client == call.client).count() >= MOST {
            turn.cancel.cancel();
            return CallEnd::Error(error("Too many calls of this client wait for its answers."));
        }
        let until = Instant::now() + PATIENCE;
        waiting.insert(state.clone(), Waiting { call, turn, open, until, is_awaited });
        let text = format!(
            r#"{{"resultType":"input_required","inputRequests":{{{requests}}},"requestState":"{state}"}}"#
        );
        RawValue::from_string(text)
            .map_or_else(|_| CallEnd::Error(error("A question could not be passed on.")), CallEnd::Result)
    }
}

impl Waiting {
    fn into_turn(self) -> Turn {
        let never = mpsc::unbounded_channel().1;
        let mut parked = self;
        parked.is_awaited.store(true, Ordering::SeqCst);
        let empty = Turn {
            call: parked.call.clone(),
            future: Box::pin(std::future::pending()),
            wants: never,
            cancel: CancellationToken::new(),
            parked: parked.turn.parked.clone(),
        };
        std::mem::replace(&mut parked.turn, empty)
    }
}

/// The receiving end for the server requests of a call that hasn't started.
pub(crate) struct Questions {
    wants: mpsc::UnboundedReceiver<Want>,
    parked: Parked,
}

impl Questions {
    /// Joins it with its call.
    pub(crate) fn of(
        self,
        call: Call,
        future: BoxFuture<'static, CallEnd>,
        cancel: CancellationToken,
    ) -> Turn {
        Turn { call, future, wants: self.wants, cancel, parked: self.parked }
    }
}

impl Turn {
    /// Runs until the call ends or needs input from the client. `lost` cancels the call until it needs input
    /// for the first time in this request: from then on it doesn't depend on a connection.
    pub(crate) fn run(self, lost: CancellationToken) -> BoxFuture<'static, CallEnd> {
        Box::pin(Running { lost: Some(Box::pin(lost.cancelled_owned())), turn: Some(self) })
    }
}

struct Running {
    turn: Option<Turn>,
    lost: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
}

impl Future for Running {
    type Output = CallEnd;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<CallEnd> {
        let this = &mut *self;
        let Some(turn) = this.turn.as_mut() else { return Poll::Pending };
        if this.lost.as_mut().is_some_and(|lost| lost.as_mut().poll(cx).is_ready()) {
            this.lost = None;
            turn.cancel.cancel();
        }
        if let Poll::Ready(end) = turn.future.as_mut().poll(cx) {
            this.turn = None;
            return Poll::Ready(end);
        }
        let mut wants = Vec::new();
        while let Poll::Ready(Some(want)) = turn.wants.poll_recv(cx) {
            wants.push(want);
        }
        if wants.is_empty() {
            return Poll::Pending;
        }
        match this.turn.take() {
            Some(turn) => {
                let parked = turn.parked.clone();
                Poll::Ready(parked.park(turn, wants))
            }
            None => Poll::Pending,
        }
    }
}
