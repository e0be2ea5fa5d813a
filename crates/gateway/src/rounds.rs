//! Asking a client of the stateless revision what a server wants to know: its call is answered with
//! `input_required`, runs on without it, and is found again by `requestState` when the client sends
//! the same call with its answers. A state is good once, for the client that it was given to, and for
//! the very same call.

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

/// How a state of ours begins.
const MARK: &str = "gatehouse:";
/// Most calls of one client that wait for its answers.
const MOST: usize = 64;

/// A question for the client, with the way back.
struct Want {
    request: ServerRequest,
    answer: oneshot::Sender<ServerAnswer>,
}

/// A client of the stateless revision.
pub(crate) struct RoundAsk {
    abilities: Abilities,
    logs: Option<Logs>,
    wants: mpsc::UnboundedSender<Want>,
}

/// What a client wants to hear of what the server logs about its call, and where it hears it.
pub(crate) struct Logs {
    /// From which level on.
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

/// What tells one call from another: client, where it comes from, method, and params but for what belongs to a
/// round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    client: ClientId,
    source: Option<CallSource>,
    exact: String,
}

impl Call {
    /// Reads it off a request.
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
        // The revision has no sessions.
        Self { client: asked.client.entry.id.clone(), source: asked.peer.source(None), exact }
    }
}

/// The calls that run on while their clients answer.
#[derive(Clone)]
pub(crate) struct Parked {
    waiting: Arc<Mutex<HashMap<String, Waiting>>>,
    tasks: TaskTracker,
    /// What the results of calls count in whose clients are away.
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

/// A call and the questions that come of it.
pub(crate) struct Turn {
    call: Call,
    future: BoxFuture<'static, CallEnd>,
    wants: mpsc::UnboundedReceiver<Want>,
    cancel: CancellationToken,
    parked: Parked,
}

/// Cancels a call that nobody comes back for.
impl Drop for Waiting {
    fn drop(&mut self) {
        if self.until <= Instant::now() {
            self.turn.cancel.cancel();
        }
    }
}

impl Parked {
    /// Nothing waits. Calls that do are run by these tasks.
    pub(crate) fn new(tasks: TaskTracker, kept_bytes: Arc<ByteBudget>) -> Self {
        Self { waiting: Arc::default(), tasks, kept_bytes }
    }

    /// The asking side of a new call, and what makes its future answer by rounds.
    pub(crate) fn begin(&self, abilities: Abilities, logs: Option<Logs>) -> (RoundAsk, Questions) {
        let (wants, taken) = mpsc::unbounded_channel();
        (RoundAsk { abilities, logs, wants }, Questions { wants: taken, parked: self.clone() })
    }

    /// Goes on with the call that these params name the state of. `Ok(None)` where the state is not ours.
    ///
    /// # Errors
    /// When it is ours, but not for this call of this client, or no longer good.
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

    /// Lets go of what nobody came back for in time.
    pub(crate) fn sweep(&self) {
        let now = Instant::now();
        self.waiting.lock().retain(|_, parked| parked.until > now);
    }

    /// Ends the calls of one client.
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
        // It runs on, so that nothing that it holds stands still.
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

/// The questions of a call that has not begun yet.
pub(crate) struct Questions {
    wants: mpsc::UnboundedReceiver<Want>,
    parked: Parked,
}

impl Questions {
    /// Joins them with their call.
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
    /// Runs to the end of the call, or to a round that the client has to answer first. `lost` cancels the
    /// call as long as it has not come to such a round: from there on it belongs to no connection.
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
