//! The paths of the API, each with its only method.

use hyper::Method;

/// What all of its paths begin with.
const PREFIX: &str = "/v1/";

/// An address of the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RestEndpoint {
    Tools,
    ToolCall,
    /// The OpenAPI description.
    OpenApi,
}

impl RestEndpoint {
    /// The address with this path, without the slashes around it.
    pub(crate) fn at(path: &str) -> Option<Self> {
        [Self::Tools, Self::ToolCall, Self::OpenApi].into_iter().find(|endpoint| endpoint.path() == path)
    }

    /// Its path, without the slash before it.
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Tools => "v1/tools",
            Self::ToolCall => "v1/tools/call",
            Self::OpenApi => "v1/openapi.json",
        }
    }

    pub(crate) fn method(self) -> Method {
        match self {
            Self::Tools | Self::OpenApi => Method::GET,
            Self::ToolCall => Method::POST,
        }
    }
}

/// Whether a path belongs to the API, also if nothing is there.
pub(crate) fn is_rest_path(path: &str) -> bool {
    path.starts_with(PREFIX)
}
