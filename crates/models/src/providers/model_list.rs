//! The models that a provider lists.

use gatehouse_common::invisible_chars::{has_hidden, one_line};
use gatehouse_model::provider::{ModelInfo, ProviderApi};
use serde::Deserialize;

use super::error::ModelError;
use super::http::{HttpClients, document};
use super::request::WireRequest;
use super::{ModelLimits, ProviderEndpoint};

/// Size of one page, in bytes.
const MAX_PAGE_BYTES: usize = 8 * 1024 * 1024;
/// Pages that are read.
const MAX_PAGES: usize = 10;
/// Longest id of a model, in bytes.
const MAX_ID_BYTES: usize = 256;
/// Longest name of a model, in characters.
const MAX_NAME_CHARS: usize = 128;

/// A page of any API.
#[derive(Deserialize)]
struct ModelPage {
    /// OpenAI, Anthropic.
    #[serde(default)]
    data: Option<Vec<ListedModel>>,
    /// Gemini.
    #[serde(default)]
    models: Option<Vec<ListedModel>>,
    /// Anthropic: whether there are more, and after which one.
    #[serde(default)]
    has_more: Option<bool>,
    #[serde(default)]
    last_id: Option<String>,
    /// Gemini.
    #[serde(default, rename = "nextPageToken")]
    next_page_token: Option<String>,
}

#[derive(Deserialize)]
struct ListedModel {
    #[serde(default)]
    id: Option<String>,
    /// Gemini: `models/` and the id.
    #[serde(default)]
    name: Option<String>,
    /// Anthropic.
    #[serde(default)]
    display_name: Option<String>,
    /// Gemini.
    #[serde(default, rename = "displayName")]
    gemini_name: Option<String>,
    /// Gemini.
    #[serde(default, rename = "supportedGenerationMethods")]
    methods: Option<Vec<String>>,
}

/// Reads all pages. Models that can't write are left out where the provider says so.
pub(super) async fn list(
    http: &HttpClients,
    limits: ModelLimits,
    endpoint: &ProviderEndpoint,
) -> Result<Vec<ModelInfo>, ModelError> {
    let mut models = Vec::new();
    let mut after = None;
    for _ in 0..MAX_PAGES {
        let wire = WireRequest::model_list(endpoint, after.as_deref())?;
        let response = http.send(endpoint, &wire, limits).await?;
        let body = document(response, endpoint, limits, MAX_PAGE_BYTES).await?;
        let page: ModelPage = serde_json::from_slice(&body).map_err(|_| unreadable(endpoint))?;
        after = next_page(endpoint.api, &page);
        let listed = page.data.or(page.models).ok_or_else(|| unreadable(endpoint))?;
        models.extend(listed.into_iter().filter_map(model_info));
        if after.is_none() {
            break;
        }
    }
    Ok(models)
}

fn unreadable(endpoint: &ProviderEndpoint) -> ModelError {
    ModelError::Unreadable { provider: endpoint.name.clone(), reason: "it is no list of models".to_owned() }
}

fn next_page(api: ProviderApi, page: &ModelPage) -> Option<String> {
    match api {
        ProviderApi::OpenAiChat | ProviderApi::OpenAiResponses => None,
        ProviderApi::Anthropic => page.last_id.clone().filter(|_| page.has_more == Some(true)),
        ProviderApi::Gemini => page.next_page_token.clone(),
    }
    .filter(|after| !after.is_empty())
}

fn model_info(model: ListedModel) -> Option<ModelInfo> {
    let can_write = |methods: &Vec<String>| methods.iter().any(|method| method == "generateContent");
    if !model.methods.as_ref().is_none_or(can_write) {
        return None;
    }
    let id = model.id.or_else(|| Some(model.name?.trim_start_matches("models/").to_owned()))?;
    if id.is_empty() || id.len() > MAX_ID_BYTES || has_hidden(&id) {
        return None;
    }
    let name = model.display_name.or(model.gemini_name).map(|name| one_line(&name, MAX_NAME_CHARS));
    Some(ModelInfo { id, name: name.filter(|name| !name.is_empty()) })
}
