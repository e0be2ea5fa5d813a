//! The formats.

use gatehouse_model::provider::ProviderApi;

/// A format of tool definitions, calls and results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ToolFormat {
    /// As MCP has them: nothing is changed.
    Mcp,
    OpenAiChat,
    OpenAiResponses,
    Anthropic,
    Gemini,
}

impl ToolFormat {
    pub const ALL: [Self; 5] =
        [Self::Mcp, Self::OpenAiChat, Self::OpenAiResponses, Self::Anthropic, Self::Gemini];
}

impl From<ProviderApi> for ToolFormat {
    fn from(api: ProviderApi) -> Self {
        match api {
            ProviderApi::OpenAiChat => Self::OpenAiChat,
            ProviderApi::OpenAiResponses => Self::OpenAiResponses,
            ProviderApi::Anthropic => Self::Anthropic,
            ProviderApi::Gemini => Self::Gemini,
        }
    }
}
