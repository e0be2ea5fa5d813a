//! What is no stream: the bodies of error statuses, and lists of models.

use gatehouse_model::provider::ProviderApi;
use serde_json::{Value, json};

/// The ids of the usual models.
pub(super) const MODELS: [&str; 2] = ["small", "large"];

/// The body of an error status.
pub(super) fn error_body(api: ProviderApi, status: u16, message: &str) -> Value {
    match api {
        ProviderApi::OpenAiChat | ProviderApi::OpenAiResponses => {
            let (kind, code) = match status {
                401 => ("invalid_request_error", Some("invalid_api_key")),
                429 => ("requests", Some("rate_limit_exceeded")),
                500.. => ("server_error", None),
                _ => ("invalid_request_error", None),
            };
            json!({ "error": { "message": message, "type": kind, "param": null, "code": code } })
        }
        ProviderApi::Anthropic => {
            let kind = match status {
                401 => "authentication_error",
                404 => "not_found_error",
                429 => "rate_limit_error",
                529 => "overloaded_error",
                500.. => "api_error",
                _ => "invalid_request_error",
            };
            json!({ "type": "error", "error": { "type": kind, "message": message }, "request_id": "req_1" })
        }
        ProviderApi::Gemini => {
            let name = match status {
                401 => "UNAUTHENTICATED",
                404 => "NOT_FOUND",
                429 => "RESOURCE_EXHAUSTED",
                503 => "UNAVAILABLE",
                500.. => "INTERNAL",
                _ => "INVALID_ARGUMENT",
            };
            json!({ "error": { "code": status, "message": message, "status": name } })
        }
    }
}

/// The only page of the list of models.
pub(super) fn model_list(api: ProviderApi, ids: &[String]) -> Value {
    let each = |model: fn(&String) -> Value| ids.iter().map(model).collect::<Value>();
    match api {
        ProviderApi::OpenAiChat | ProviderApi::OpenAiResponses => {
            let models = each(|id| json!({ "id": id, "object": "model", "created": 0, "owned_by": "test" }));
            json!({ "object": "list", "data": models })
        }
        ProviderApi::Anthropic => {
            let models = each(
                |id| json!({ "type": "model", "id": id, "display_name": id, "created_at": "2026-01-01T00:00:00Z" }),
            );
            json!({ "data": models, "has_more": false, "first_id": ids.first(), "last_id": ids.last() })
        }
        ProviderApi::Gemini => {
            let models = each(|id| {
                let methods = ["generateContent", "countTokens"];
                json!({ "name": format!("models/{id}"), "displayName": id, "supportedGenerationMethods": methods })
            });
            json!({ "models": models })
        }
    }
}
