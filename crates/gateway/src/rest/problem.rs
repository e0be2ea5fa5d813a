//! Errors of the API itself, as problem details (RFC 9457): what happened, and what to do.
//!
//! What becomes of a call isn't one of them: a refused or failed call is a result in the provider's format.

use std::borrow::Cow;

use hyper::StatusCode;
use hyper::header::{ALLOW, HeaderName, HeaderValue, WWW_AUTHENTICATE};
use serde_json::json;

use crate::protocol::rpc_error::HttpRpcError;
use crate::rest::endpoint::RestEndpoint;
use crate::rest::exchange::RestResponse;

const MEDIA_TYPE: &str = "application/problem+json";

/// An error of the API.
#[derive(Debug)]
pub(crate) struct ProblemDetails {
    status: StatusCode,
    detail: Cow<'static, str>,
    header: Option<(HeaderName, HeaderValue)>,
}

impl ProblemDetails {
    pub(crate) fn new(status: StatusCode, detail: impl Into<Cow<'static, str>>) -> Self {
        Self { status, detail: detail.into(), header: None }
    }

    /// HTTP 400: the request has to be written in another way.
    pub(crate) fn bad_request(detail: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, detail)
    }

    /// HTTP 405, with the method that is served.
    pub(crate) fn method_not_allowed(endpoint: RestEndpoint) -> Self {
        let method = endpoint.method();
        let detail = format!("This method is not served here. Use {method}.");
        let header = HeaderValue::from_str(method.as_str()).ok().map(|method| (ALLOW, method));
        Self { header, ..Self::new(StatusCode::METHOD_NOT_ALLOWED, detail) }
    }

    pub(crate) fn into_response(self) -> RestResponse {
        let title = self.status.canonical_reason().unwrap_or("Error");
        let body = json!({
            "type": "about:blank",
            "title": title,
            "status": self.status.as_u16(),
            "detail": self.detail,
        });
        RestResponse {
            status: self.status,
            media_type: MEDIA_TYPE,
            headers: self.header.into_iter().collect(),
            body: body.to_string().into(),
        }
    }
}

impl From<HttpRpcError> for ProblemDetails {
    fn from(rpc_error: HttpRpcError) -> Self {
        let challenge = rpc_error.challenge().and_then(|challenge| HeaderValue::from_str(challenge).ok());
        Self {
            status: rpc_error.status(),
            header: challenge.map(|challenge| (WWW_AUTHENTICATE, challenge)),
            detail: rpc_error.into_message(),
        }
    }
}
