//! Model providers: where models are reached, in which wire format, and what they are used for.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::id::ProviderId;

/// The wire format that a provider speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum ProviderApi {
    /// OpenAI's chat completions, which many other programs speak: `POST {base}/chat/completions`
    OpenAiChat,
    /// OpenAI's responses: `POST {base}/responses`
    OpenAiResponses,
    /// Anthropic's messages: `POST {base}/v1/messages`
    Anthropic,
    /// Gemini: `POST {base}/v1beta/models/{model}:streamGenerateContent`
    Gemini,
}

/// A provider as the user enters it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProviderDraft {
    /// Unique without regard to case.
    pub name: String,
    pub api: ProviderApi,
    /// Address before the path of the API: `https`, or `http` on this computer or in a private network.
    pub base_url: String,
    /// The model that new conversations use.
    #[serde(default)]
    pub default_model: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ProviderView {
    pub id: ProviderId,
    pub name: String,
    pub api: ProviderApi,
    pub base_url: String,
    pub default_model: Option<String>,
    /// Whether a key is stored for this address.
    pub has_key: bool,
}

/// A provider as it is stored. Its key is in the secret store, bound to its id and address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredProvider {
    pub id: ProviderId,
    pub name: String,
    pub api: ProviderApi,
    /// As it was checked, without a slash at its end.
    pub base_url: String,
    #[serde(default)]
    pub default_model: Option<String>,
    /// Whether a key was stored for this address.
    pub has_key: bool,
}

/// The providers and what their models are used for, sealed as one record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StoredModels {
    pub providers: Vec<StoredProvider>,
    /// The model for sampling requests.
    pub sampling: Option<ModelChoice>,
    /// The model for opinions about calls.
    pub opinion: Option<ModelChoice>,
}

/// A model of a provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModelChoice {
    pub provider: ProviderId,
    /// Its id at the provider.
    pub model: String,
}

/// A model that a provider lists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ModelInfo {
    /// Its id at the provider.
    pub id: String,
    /// Its name for people, where the provider has one.
    pub name: Option<String>,
}

/// The providers, and what their models are used for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ModelsView {
    pub providers: Vec<ProviderView>,
    /// The model that can write answers to servers' sampling requests, for the user to check and send.
    pub sampling: Option<ModelChoice>,
    /// The model that gives an opinion about the risk of calls (PERM-17); none is asked where absent.
    pub opinion: Option<ModelChoice>,
}

/// An answer to a sampling request that a model wrote. Nothing is sent before the user does it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SamplingDraft {
    /// The result of `sampling/createMessage` as JSON text.
    pub content: String,
    /// The text in it.
    pub text: String,
    /// Name of the provider and id of the model.
    pub model: String,
    /// Whether the server offered tools, which the model was not given: Gatehouse does not declare `sampling.tools`.
    pub tools_left_out: bool,
}

/// How much a call can do harm, in a model's opinion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum RiskLevel {
    Low,
    Medium,
    High,
}

/// A model's opinion about a call (PERM-17). It decides nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RiskOpinion {
    pub level: RiskLevel,
    /// One sentence of at most 18 words, cleaned of hidden characters.
    pub sentence: String,
    /// Name of the provider and id of the model.
    pub model: String,
}
