//! Requests as they go over the wire: URL, headers and body in each API's format. The key is in the one header that the
//! API wants, marked as sensitive.
//!
//! Arguments of tool calls, definitions of tools and what a provider wants back are written as they are, byte for byte.

use std::fmt;

use bytes::Bytes;
use gatehouse_model::Secret;
use gatehouse_model::provider::ProviderApi;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use serde::Serialize;
use serde_json::value::RawValue;
use url::Url;

use super::ProviderEndpoint;
use super::address::below;
use super::error::ModelError;
use crate::adapters::{self, ToolFormat};
use crate::exchange::{ModelRequest, ProviderItem, ToolResult};

mod anthropic;
mod gemini;
mod openai_chat;
mod openai_responses;

/// The version of Anthropic's API.
const ANTHROPIC_VERSION: &str = "2023-06-01";
/// Models on a page of a list, where a provider has pages.
const MODELS_ON_PAGE: &str = "1000";

/// A request to a provider. `Debug` shows neither key nor body.
#[derive(Clone)]
pub struct WireRequest {
    pub url: Url,
    pub headers: HeaderMap,
    /// What is posted; a `GET` where absent.
    pub body: Option<Bytes>,
    /// Whether it asks for reasoning that can be sent back, which models without reasoning refuse.
    wants_encrypted_reasoning: bool,
}

impl fmt::Debug for WireRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WireRequest").field("url", &self.url.as_str()).finish_non_exhaustive()
    }
}

impl WireRequest {
    /// Asks for a streamed answer.
    ///
    /// # Errors
    /// If the address or the key can't be used.
    pub fn new(endpoint: &ProviderEndpoint, request: &ModelRequest) -> Result<Self, ModelError> {
        let wants_encrypted_reasoning = endpoint.api == ProviderApi::OpenAiResponses;
        Self::build(endpoint, request, wants_encrypted_reasoning)
    }

    /// As [`Self::new`], for a model of OpenAI that has no reasoning.
    pub(super) fn without_encrypted_reasoning(
        endpoint: &ProviderEndpoint,
        request: &ModelRequest,
    ) -> Result<Self, ModelError> {
        Self::build(endpoint, request, false)
    }

    fn build(
        endpoint: &ProviderEndpoint,
        request: &ModelRequest,
        wants_encrypted_reasoning: bool,
    ) -> Result<Self, ModelError> {
        let (url, body) = match endpoint.api {
            ProviderApi::OpenAiChat => {
                let url = below(&endpoint.base_url, &["chat", "completions"]);
                (url, to_json(&openai_chat::body(&endpoint.base_url, request)))
            }
            ProviderApi::OpenAiResponses => {
                let url = below(&endpoint.base_url, &["responses"]);
                (url, to_json(&openai_responses::body(request, wants_encrypted_reasoning)))
            }
            ProviderApi::Anthropic => {
                let url = below(&endpoint.base_url, &["v1", "messages"]);
                (url, to_json(&anthropic::body(request)))
            }
            ProviderApi::Gemini => {
                let model = request.model.trim_start_matches("models/");
                let action = format!("{model}:streamGenerateContent");
                let url = below(&endpoint.base_url, &["v1beta", "models", &action]).map(|mut url| {
                    url.query_pairs_mut().append_pair("alt", "sse");
                    url
                });
                (url, to_json(&gemini::body(request)))
            }
        };
        let mut headers = headers(endpoint)?;
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Ok(Self {
            url: url.ok_or_else(|| bad_address(endpoint))?,
            headers,
            body: Some(body?),
            wants_encrypted_reasoning,
        })
    }

    /// Asks for a page of the list of models: the first one, or the one after.
    pub(super) fn model_list(endpoint: &ProviderEndpoint, after: Option<&str>) -> Result<Self, ModelError> {
        let (segments, size, cursor): (&[&str], _, _) = match endpoint.api {
            ProviderApi::OpenAiChat | ProviderApi::OpenAiResponses => (&["models"], None, "after"),
            ProviderApi::Anthropic => (&["v1", "models"], Some("limit"), "after_id"),
            ProviderApi::Gemini => (&["v1beta", "models"], Some("pageSize"), "pageToken"),
        };
        let mut url = below(&endpoint.base_url, segments).ok_or_else(|| bad_address(endpoint))?;
        if let Some(size) = size {
            url.query_pairs_mut().append_pair(size, MODELS_ON_PAGE);
        }
        if let Some(after) = after {
            url.query_pairs_mut().append_pair(cursor, after);
        }
        let mut headers = headers(endpoint)?;
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        Ok(Self { url, headers, body: None, wants_encrypted_reasoning: false })
    }

    /// Whether the same request without encrypted reasoning may succeed: OpenAI refuses to encrypt what a model doesn't
    /// have.
    pub(super) fn is_answered_without_encrypted_reasoning(&self, error: &ModelError) -> bool {
        let ModelError::Rejected { status: 400, said: Some(said), .. } = error else { return false };
        self.wants_encrypted_reasoning
            && said.to_ascii_lowercase().replace('_', " ").contains("encrypted content")
    }
}

fn bad_address(endpoint: &ProviderEndpoint) -> ModelError {
    ModelError::BadAddress { provider: endpoint.name.clone() }
}

/// The headers that identify the user.
fn headers(endpoint: &ProviderEndpoint) -> Result<HeaderMap, ModelError> {
    let mut headers = HeaderMap::new();
    if endpoint.api == ProviderApi::Anthropic {
        headers.insert("anthropic-version", HeaderValue::from_static(ANTHROPIC_VERSION));
    }
    let Some(key) = endpoint.key.as_ref().map(Secret::reveal).map(str::trim).filter(|key| !key.is_empty())
    else {
        return Ok(headers);
    };
    let (name, value) = match endpoint.api {
        ProviderApi::OpenAiChat | ProviderApi::OpenAiResponses => (AUTHORIZATION, format!("Bearer {key}")),
        ProviderApi::Anthropic => (HeaderName::from_static("x-api-key"), key.to_owned()),
        ProviderApi::Gemini => (HeaderName::from_static("x-goog-api-key"), key.to_owned()),
    };
    let mut value = HeaderValue::try_from(Secret::new(value).reveal())
        .map_err(|_| ModelError::BadKey { provider: endpoint.name.clone() })?;
    value.set_sensitive(true);
    headers.insert(name, value);
    Ok(headers)
}

fn to_json(body: &impl Serialize) -> Result<Bytes, ModelError> {
    serde_json::to_vec(body)
        .map(Bytes::from)
        .map_err(|error| ModelError::Internal { reason: error.to_string() })
}

/// What a provider wants back, if it is this one.
fn item_of(item: &ProviderItem, api: ProviderApi) -> Option<&RawValue> {
    (item.api == api).then_some(&*item.json)
}

/// The results of a message in a provider's format.
fn rendered(results: &[ToolResult], format: ToolFormat, id: fn(&str) -> String) -> Vec<Box<RawValue>> {
    let render = |result: &ToolResult| {
        adapters::render_result(format, &id(&result.call), &result.name, &result.result).json
    };
    results.iter().map(render).collect()
}
