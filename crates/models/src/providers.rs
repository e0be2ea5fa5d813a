//! Streaming clients for the APIs of model providers: a [`ModelRequest`] in the provider's format, and its answer as
//! [`ModelEvent`]s while it is written.
//!
//! Keys go to the address that the user entered and nowhere else: in the header that the API wants, never along a redirect,
//! never into an error. What a model wrote as arguments stays byte for byte. Nothing here runs a tool.
//!
//! [`WireRequest`] and [`AnswerDecoder`] do no I/O; [`ModelClient`] carries the bytes between them and the provider.

use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::BoxStream;
use gatehouse_model::Secret;
use gatehouse_model::provider::{ModelInfo, ProviderApi};
use url::Url;

pub use address::check_base_url;
pub use answer::AnswerDecoder;
pub use error::ModelError;
pub use request::WireRequest;

use crate::exchange::{ModelEvent, ModelRequest, StopReason};

mod address;
mod answer;
mod error;
mod error_body;
mod http;
mod model_list;
mod request;

/// Where a provider is reached.
#[derive(Clone, Debug)]
pub struct ProviderEndpoint {
    pub api: ProviderApi,
    /// As [`check_base_url`] takes it.
    pub base_url: Url,
    /// Local servers need none.
    pub key: Option<Secret>,
    /// The name that the user gave the provider, for errors.
    pub name: String,
}

/// Limits of a request.
#[derive(Clone, Copy, Debug)]
pub struct ModelLimits {
    /// Time for connecting.
    pub connect: Duration,
    /// Time from sending the request until the answer begins. Local servers load the model in it.
    pub first_byte: Duration,
    /// Longest time without a byte of the answer. There is no limit for the whole answer.
    pub silence: Duration,
    /// Size of one event of the stream, in bytes. OpenAI repeats the whole request in some.
    pub event_bytes: usize,
    /// Size of an answer, in bytes.
    pub answer_bytes: usize,
    /// How often a busy provider is tried again.
    pub retries: u32,
    /// Longest wait before that. A provider that asks for a longer one is not tried again.
    pub longest_wait: Duration,
}

impl Default for ModelLimits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(300),
            silence: Duration::from_secs(300),
            event_bytes: 16 * 1024 * 1024,
            answer_bytes: 64 * 1024 * 1024,
            retries: 3,
            longest_wait: Duration::from_secs(30),
        }
    }
}

/// A whole answer, for callers that need no stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelAnswer {
    /// All of its text, without reasoning.
    pub text: String,
    pub stop: StopReason,
    /// As the provider reports it; zero where it doesn't.
    pub usage: gatehouse_model::chat::TokenUsage,
}

/// Sends requests to providers. Clones share their connections.
#[derive(Clone, Debug)]
pub struct ModelClient {
    http: http::HttpClients,
    limits: ModelLimits,
}

impl ModelClient {
    /// A client with the usual limits.
    ///
    /// # Errors
    /// If no HTTP client can be made.
    pub fn new() -> Result<Self, ModelError> {
        Self::with_limits(ModelLimits::default())
    }

    /// A client with other limits.
    ///
    /// # Errors
    /// If no HTTP client can be made.
    pub fn with_limits(limits: ModelLimits) -> Result<Self, ModelError> {
        Ok(Self { http: http::HttpClients::new(limits.connect)?, limits })
    }

    /// The models that a provider lists, in its order.
    ///
    /// # Errors
    /// If it can't be reached, or its list can't be read.
    pub async fn list_models(&self, endpoint: &ProviderEndpoint) -> Result<Vec<ModelInfo>, ModelError> {
        model_list::list(&self.http, self.limits, endpoint).await
    }

    /// Sends a request; returns once the answer has begun. The last item of the stream is [`ModelEvent::Ended`] or an error.
    /// Dropping the future or the stream ends the request. A busy provider is tried again, but only before the first event.
    ///
    /// # Errors
    /// If the provider can't be reached, refuses, or reports an error before the first event.
    pub async fn stream(
        &self,
        endpoint: &ProviderEndpoint,
        request: &ModelRequest,
    ) -> Result<BoxStream<'static, Result<ModelEvent, ModelError>>, ModelError> {
        let mut wire = WireRequest::new(endpoint, request)?;
        let mut attempt = 0;
        loop {
            match self.begin(endpoint, &wire).await {
                Err(error) if wire.is_answered_without_encrypted_reasoning(&error) => {
                    wire = WireRequest::without_encrypted_reasoning(endpoint, request)?;
                }
                Err(error) => {
                    let wait = self.wait_before_retry(&error, attempt).ok_or(error)?;
                    attempt += 1;
                    tokio::time::sleep(wait).await;
                }
                begun => return begun,
            }
        }
    }

    /// The whole answer to a request.
    ///
    /// # Errors
    /// As [`Self::stream`], and if the answer doesn't come to its end.
    pub async fn complete(
        &self,
        endpoint: &ProviderEndpoint,
        request: &ModelRequest,
    ) -> Result<ModelAnswer, ModelError> {
        let mut events = self.stream(endpoint, request).await?;
        let mut answer =
            ModelAnswer { text: String::new(), stop: StopReason::Finished, usage: Default::default() };
        while let Some(event) = events.next().await {
            match event? {
                ModelEvent::Text { text, .. } => answer.text.push_str(&text),
                ModelEvent::Usage { input, output } => {
                    answer.usage = gatehouse_model::chat::TokenUsage { input, output };
                }
                ModelEvent::Ended(stop) => answer.stop = stop,
                _ => {}
            }
        }
        Ok(answer)
    }

    /// Sends a request once and waits for the first event.
    async fn begin(
        &self,
        endpoint: &ProviderEndpoint,
        wire: &WireRequest,
    ) -> Result<BoxStream<'static, Result<ModelEvent, ModelError>>, ModelError> {
        let response = self.http.send(endpoint, wire, self.limits).await?;
        let mut events = http::events(response, endpoint, self.limits).boxed();
        match events.next().await {
            Some(Ok(first)) => Ok(futures::stream::once(async { Ok(first) }).chain(events).boxed()),
            Some(Err(error)) => Err(error),
            None => Err(ModelError::CutShort { provider: endpoint.name.clone() }),
        }
    }

    /// How long to wait until the provider is tried again; none if it is not.
    fn wait_before_retry(&self, error: &ModelError, attempt: u32) -> Option<Duration> {
        let ModelError::Busy { retry_after, .. } = error else { return None };
        let wait = retry_after.unwrap_or_else(|| Duration::from_secs(1 << attempt.min(10)));
        (attempt < self.limits.retries && wait <= self.limits.longest_wait).then_some(wait)
    }
}
