//! Requests of a server during a call: elicitation, sampling, roots (SRV-15). Passed to the client of that
//! call if it can answer them, otherwise to the user. A failure is never taken as consent.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use gatehouse_mcp_wire::raw::raw;
use gatehouse_model::ask::{AskClient as Asker, AskServer, ElicitationAsk, Elicited, SamplingAsk};
use gatehouse_model::server::LogLevel;
use gatehouse_model::{Answer, Ask, AskUser as _, BoxFuture, ServerId};
use gatehouse_policy::show::clean_text;
use gatehouse_servers::{ELICIT, ROOTS, Respond, Responder, SAMPLE, ServerAnswer, ServerRequest, roots_of};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use url::Url;

use crate::manager::Inner;
use crate::matter::Matter;
use crate::runs::RunId;
use crate::texts::rpc_error;

/// Most requests of one server that may wait for the user at a time.
const MOST: usize = 3;
/// Longest message that is shown, in characters.
const LONGEST: usize = 4000;
/// Error code for a sampling request that the user rejected (MCP, Sampling).
const REJECTED: i32 = -1;
const INTERNAL: i32 = -32603;

/// Kind of a server's request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Inquiry {
    /// Elicitation in form mode.
    Form,
    /// Elicitation in URL mode: a page that the user opens.
    Url,
    /// `sampling/createMessage`
    Sampling,
    /// `roots/list`: the folders that the server may work in.
    Roots,
}

impl Inquiry {
    /// The kind of a request; `None` if it isn't supported.
    #[must_use]
    pub fn of(request: &ServerRequest) -> Option<Self> {
        #[derive(Deserialize)]
        struct Mode {
            mode: Option<String>,
        }
        match &*request.method {
            ELICIT => match serde_json::from_str::<Mode>(request.params.get()).ok()?.mode.as_deref() {
                None | Some("form") => Some(Self::Form),
                Some("url") => Some(Self::Url),
                Some(_) => None,
            },
            SAMPLE => Some(Self::Sampling),
            ROOTS => Some(Self::Roots),
            _ => None,
        }
    }
}

/// The client of a call, as the one that answers a server's requests.
pub trait ClientAsk: Send + Sync {
    /// Whether the client declared the capability to answer this.
    fn can(&self, what: Inquiry) -> bool;

    /// Sends a request to the client. Dropping the future withdraws it.
    fn ask(&self, request: ServerRequest) -> BoxFuture<'static, ServerAnswer>;

    /// Forwards the params of the server's `notifications/message` about the call, if the client wants this
    /// level.
    fn logged(&self, level: LogLevel, params: &RawValue);
}

/// Answers a server's requests during one call.
#[derive(Clone)]
pub(crate) struct OfCall {
    inner: Weak<Inner>,
    client: Option<Arc<dyn ClientAsk>>,
    asker: Arc<Asker>,
    until_done: bool,
    /// The run that identical calls share. It is no longer shared once the client itself is asked.
    run: Option<RunId>,
}

impl OfCall {
    pub(crate) fn new(
        inner: &Arc<Inner>,
        matter: &Matter,
        client: Option<Arc<dyn ClientAsk>>,
        run: Option<RunId>,
    ) -> Self {
        Self { inner: Arc::downgrade(inner), client, asker: Arc::new(matter.asks()), until_done: false, run }
    }

    /// The same for pages that must be completed before the call can go on.
    pub(crate) fn until_done(&self) -> Self {
        Self { until_done: true, ..self.clone() }
    }

    /// Whether the client can answer this itself.
    pub(crate) fn can(&self, what: Inquiry) -> bool {
        self.client.as_ref().is_some_and(|client| client.can(what))
    }

    pub(crate) fn responder(&self) -> Responder {
        let session = self.asker.session.as_ref().map_or("", |session| session.as_str());
        Responder { whose: format!("{} {session}", self.asker.id).into(), respond: Arc::new(self.clone()) }
    }
}

impl Respond for OfCall {
    fn respond(&self, request: ServerRequest) -> BoxFuture<'static, ServerAnswer> {
        let able = Inquiry::of(&request).is_some_and(|what| self.can(what));
        match &self.client {
            Some(client) if able => {
                // Identical calls would wait for input that only this client can give, so the run is no longer
                // shared.
                if let Some(run) = &self.run {
                    run.unshare();
                }
                client.ask(request)
            }
            Some(_) | None => {
                let whom = Whom { client: Some((*self.asker).clone()), until_done: self.until_done };
                ask_user(&self.inner, request, whom)
            }
        }
    }

    fn logged(&self, level: LogLevel, params: &RawValue) {
        if let Some(client) = &self.client {
            client.logged(level, params);
        }
    }
}

/// Answers requests that can't be attributed to a call.
pub(crate) struct Unclaimed(pub(crate) Weak<Inner>);

impl Respond for Unclaimed {
    fn respond(&self, request: ServerRequest) -> BoxFuture<'static, ServerAnswer> {
        ask_user(&self.0, request, Whom { client: None, until_done: false })
    }
}

struct Whom {
    client: Option<Asker>,
    until_done: bool,
}

fn ask_user(inner: &Weak<Inner>, request: ServerRequest, whom: Whom) -> BoxFuture<'static, ServerAnswer> {
    let inner = Weak::clone(inner);
    Box::pin(async move {
        match inner.upgrade() {
            Some(inner) => inner.asked(request, whom).await,
            None => Err(rpc_error(INTERNAL, "Gatehouse is shutting down.")),
        }
    })
}

/// Number of requests per server that wait for the user.
#[derive(Default)]
pub(crate) struct Waiting(Mutex<HashMap<ServerId, usize>>);

/// One counted request. Dropping this decrements the count.
struct Place<'a>(&'a Waiting, ServerId);

impl Waiting {
    fn enter(&self, server: &ServerId) -> Option<Place<'_>> {
        let mut waiting = self.0.lock();
        let count = waiting.entry(server.clone()).or_default();
        if *count >= MOST {
            return None;
        }
        *count += 1;
        Some(Place(self, server.clone()))
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut waiting = self.0.0.lock();
        if let Some(count) = waiting.get_mut(&self.1) {
            *count -= 1;
            if *count == 0 {
                waiting.remove(&self.1);
            }
        }
    }
}

impl Inner {
    /// Answers a request: roots from the server's settings, everything else by asking the user.
    async fn asked(&self, request: ServerRequest, whom: Whom) -> ServerAnswer {
        let refused = |why: &str| Err(rpc_error(INTERNAL, why));
        if self.rights.inner.paused() || !self.servers.is_on() {
            return refused("The user has stopped everything for now.");
        }
        if &*request.method == ROOTS {
            let now = self.servers.get(&request.server.id).map(|handle| handle.config());
            return Ok(roots_of(now.as_deref().unwrap_or(&request.server)));
        }
        let Some(place) = self.inquiries.enter(&request.server.id) else {
            return refused("Too many questions of this server wait for the user already.");
        };
        let Some(ask) = question(&request, whom) else { return refused("This cannot be asked.") };
        let sampling = matches!(ask, Ask::Sampling(_));
        let answer = self.approvals.ask(ask).await;
        drop(place);
        if sampling { sampled(answer) } else { elicited(answer) }
    }
}

fn question(request: &ServerRequest, whom: Whom) -> Option<Ask> {
    let params: Map<String, Value> = serde_json::from_str(request.params.get()).ok()?;
    let config = &request.server;
    let server = AskServer {
        id: config.id.clone(),
        generation: config.generation,
        name: config.name.clone(),
        description: config.look.description.clone(),
        icon: config.icon().to_owned(),
    };
    let Whom { client, until_done } = whom;
    let want = match Inquiry::of(request)? {
        Inquiry::Roots => return None,
        Inquiry::Sampling => {
            let messages = params.get("messages")?.as_array()?.iter().map(line).collect();
            let system = params.get("systemPrompt").and_then(Value::as_str).map(shown);
            let request = request.params.get().to_owned();
            return Some(Ask::Sampling(SamplingAsk { server, client, system, messages, request }));
        }
        Inquiry::Form => Elicited::Form { schema: params.get("requestedSchema")?.to_string() },
        Inquiry::Url => {
            let url = params.get("url")?.as_str()?.to_owned();
            let host = Url::parse(&url).ok()?.host_str()?.to_owned();
            Elicited::Url { url, host, until_done }
        }
    };
    let message = shown(params.get("message")?.as_str()?);
    Some(Ask::Elicitation(ElicitationAsk { server, client, message, want }))
}

fn shown(text: &str) -> String {
    let cut: String = text.chars().take(LONGEST).collect();
    clean_text(&cut).into_owned()
}

/// A message as `role: text`.
fn line(message: &Value) -> String {
    let role = message.get("role").and_then(Value::as_str).unwrap_or("?");
    let content = message.get("content").cloned().unwrap_or_default();
    let parts = if let Value::Array(parts) = content { parts } else { vec![content] };
    let texts: Vec<String> = parts
        .iter()
        .map(|part| match part.get("text").and_then(Value::as_str) {
            Some(text) => text.to_owned(),
            None => format!("[{}]", part.get("type").and_then(Value::as_str).unwrap_or("?")),
        })
        .collect();
    shown(&format!("{role}: {}", texts.join(" ")))
}

fn elicited(answer: Answer) -> ServerAnswer {
    let answer = match answer {
        Answer::Accept { content } => match content.map(|content| serde_json::from_str::<Value>(&content)) {
            None => json!({ "action": "accept", "content": {} }),
            Some(Ok(content)) => json!({ "action": "accept", "content": content }),
            Some(Err(_)) => json!({ "action": "cancel" }),
        },
        Answer::Decline | Answer::Deny { .. } => json!({ "action": "decline" }),
        Answer::Cancel | Answer::Allow { .. } => json!({ "action": "cancel" }),
    };
    Ok(raw(answer.to_string()))
}

fn sampled(answer: Answer) -> ServerAnswer {
    match answer {
        Answer::Accept { content: Some(content) } => {
            RawValue::from_string(content).map_err(|_| rpc_error(INTERNAL, "The answer is no JSON."))
        }
        Answer::Accept { content: None }
        | Answer::Decline
        | Answer::Deny { .. }
        | Answer::Cancel
        | Answer::Allow { .. } => Err(rpc_error(REJECTED, "The user rejected the sampling request.")),
    }
}
