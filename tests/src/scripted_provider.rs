//! A model provider on loopback that speaks the API of each provider that Gatehouse knows, and whose models write what a
//! test wants: texts, tool calls, pauses, failures. A script says nothing of formats, so that one story can be played with
//! each. Keeps what it was asked, and with which keys.
//!
//! Streams have the events that the documentation of the providers shows, also those that a client may ignore.

mod anthropic;
mod control;
mod documents;
mod gemini;
mod hold;
mod http;
mod openai_chat;
mod openai_responses;
mod script;
mod serve;
mod stream;

use std::collections::{BTreeMap, VecDeque};
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;

use anyhow::{Context, Result};
use gatehouse_model::provider::ProviderApi;
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::Value;

use hold::Holds;
pub use script::{ModelStep, ScriptedAnswer, call, call_without_id, text};

/// Every API that it speaks.
pub const APIS: [ProviderApi; 4] =
    [ProviderApi::OpenAiChat, ProviderApi::OpenAiResponses, ProviderApi::Anthropic, ProviderApi::Gemini];

/// A request as it came.
#[derive(Clone, Debug, Serialize)]
pub struct ProviderRequest {
    pub method: String,
    /// With its query.
    pub path: String,
    /// By their names in lower case.
    pub headers: BTreeMap<String, String>,
    /// Null if there was none.
    pub body: Value,
}

#[derive(Debug, Default)]
struct ProviderState {
    answers: Mutex<VecDeque<ScriptedAnswer>>,
    requests: Mutex<Vec<ProviderRequest>>,
    /// The only key that is taken; any, or none, if absent.
    key: Mutex<Option<String>>,
    /// The ids of its models, where they aren't [`documents::MODELS`].
    models: Mutex<Option<Vec<String>>>,
    holds: Holds,
}

/// The provider. It ends with its process.
#[derive(Debug)]
pub struct ScriptedProvider {
    /// Scheme, host and port.
    pub origin: String,
    state: Arc<ProviderState>,
}

impl ScriptedProvider {
    /// Starts it on a free port.
    pub fn start() -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let origin = format!("http://{}", listener.local_addr()?);
        let state = Arc::new(ProviderState::default());
        let own = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&own);
                // A reader that leaves early is its own affair.
                thread::spawn(move || serve::connection(&state, stream).unwrap_or_default());
            }
        });
        Ok(Self { origin, state })
    }

    /// The address that a provider with this API is added with.
    #[must_use]
    pub fn base_url(&self, api: ProviderApi) -> String {
        match api {
            ProviderApi::OpenAiChat | ProviderApi::OpenAiResponses => format!("{}/v1", self.origin),
            ProviderApi::Anthropic | ProviderApi::Gemini => self.origin.clone(),
        }
    }

    /// Refuses every request without this key.
    pub fn require_key(&self, key: &str) {
        *self.state.key.lock() = Some(key.to_owned());
    }

    /// Adds the answer to a further request.
    pub fn will_answer(&self, steps: impl IntoIterator<Item = ModelStep>) {
        self.will(ScriptedAnswer::Steps(steps.into_iter().collect()));
    }

    /// Adds what is answered to a further request.
    pub fn will(&self, answer: ScriptedAnswer) {
        self.state.answers.lock().push_back(answer);
    }

    /// Lets the answers go on that are held, and those that are about to be.
    pub fn release(&self) {
        self.state.holds.release();
    }

    /// Everything that it was sent, oldest first.
    #[must_use]
    pub fn received(&self) -> Vec<ProviderRequest> {
        self.state.requests.lock().clone()
    }

    /// What it was sent last.
    pub fn last_received(&self) -> Result<ProviderRequest> {
        self.received().pop().context("the provider was sent nothing")
    }

    /// What its models were asked, oldest first.
    #[must_use]
    pub fn requests(&self) -> Vec<Value> {
        self.state.asked()
    }

    /// What its models were asked last.
    pub fn last_request(&self) -> Result<Value> {
        self.requests().pop().context("the model was not asked")
    }

    /// How many readers left while their answer was held.
    #[must_use]
    pub fn readers_that_left(&self) -> usize {
        self.state.holds.left()
    }
}

impl ProviderState {
    /// Whether the key that a request has for an API is taken.
    fn takes(&self, api: ProviderApi, request: &ProviderRequest) -> bool {
        let header = |name: &str| request.headers.get(name).map(String::as_str);
        let given = match api {
            ProviderApi::OpenAiChat | ProviderApi::OpenAiResponses => {
                header("authorization").and_then(|value| value.strip_prefix("Bearer "))
            }
            ProviderApi::Anthropic => header("x-api-key"),
            ProviderApi::Gemini => header("x-goog-api-key"),
        };
        self.key.lock().as_deref().is_none_or(|key| given == Some(key))
    }

    fn asked(&self) -> Vec<Value> {
        let requests = self.requests.lock();
        let bodies = requests.iter().map(|request| &request.body);
        bodies.filter(|body| !body.is_null()).cloned().collect()
    }
}
