//! Dynamic client registration (RFC 7591).

use std::time::Duration;

use gatehouse_common::invisible_chars::one_line;
use gatehouse_model::sign_in::TokenEndpointAuthMethod;
use gatehouse_model::{ErrorCode, Secret, Timestamp, UserError, UserText, message};
use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

use crate::discovery::metadata::ServerMetadata;
use crate::error::{AuthError, unusable};
use crate::http_client::{AuthHttpClient, HttpResponse, host, http_status};
use crate::oauth_error::{MAX_TEXT_CHARS, with_detail};
use crate::session::token_store::Registration;

/// Client authentication methods, in order of preference.
const METHODS: [(TokenEndpointAuthMethod, &str); 3] = [
    (TokenEndpointAuthMethod::ClientSecretBasic, "client_secret_basic"),
    (TokenEndpointAuthMethod::ClientSecretPost, "client_secret_post"),
    (TokenEndpointAuthMethod::None, "none"),
];

#[derive(Deserialize)]
struct RegistrationResponse {
    client_id: String,
    client_secret: Option<Secret>,
    client_secret_expires_at: Option<u64>,
    token_endpoint_auth_method: Option<String>,
}

#[derive(Default, Deserialize)]
struct RegistrationErrorResponse {
    error: Option<String>,
    error_description: Option<String>,
}

/// The error for when registration isn't possible.
pub(crate) fn client_id_required(cause: impl Into<UserText>) -> AuthError {
    let message = message!("error.auth.needsClientId");
    let error = UserError::new(ErrorCode::NeedsClientRegistration, message).with_cause(cause);
    AuthError::Refused(error.with_hint(message!("error.auth.needsClientIdHint")))
}

/// Returns the registration endpoint, or an error that says why registration isn't possible.
pub(crate) fn require_registration_endpoint(server: &ServerMetadata) -> Result<&Url, AuthError> {
    let name = || Url::parse(&server.issuer).map_or_else(|_| server.issuer.clone(), |url| host(&url));
    let endpoint = server
        .registration_endpoint
        .as_ref()
        .ok_or_else(|| client_id_required(message!("error.auth.cause.noRegistration", host = name())))?;
    if methods(server).is_empty() {
        return Err(client_id_required(message!("error.auth.cause.noMethod", host = name())));
    }
    Ok(endpoint)
}

/// The redirect URI of a registration.
#[derive(Clone, Copy)]
pub(crate) struct RedirectUri<'a> {
    pub(crate) url: &'a Url,
    /// As sent, exactly as the user entered it.
    pub(crate) text: &'a str,
}

/// Registers Gatehouse with this redirect URI. If the server answers
/// `invalid_client_metadata` for a client authentication method, the next one is tried.
pub(crate) async fn register(
    web: &AuthHttpClient,
    server: &ServerMetadata,
    redirect: RedirectUri<'_>,
) -> Result<Registration, AuthError> {
    let endpoint = require_registration_endpoint(server)?;
    let mut cause = UserText::Plain(String::new());
    for (method, word) in methods(server) {
        let response = web.post_json(endpoint, &registration_request(server, redirect.text, word)).await?;
        if (200..300).contains(&response.status) {
            return parse_registration(server, redirect.url, method, &response);
        }
        let host = host(endpoint);
        if response.status == 429 || response.status >= 500 {
            return Err(AuthError::Unreachable(http_status(&host, response.status)));
        }
        let denied: RegistrationErrorResponse = serde_json::from_slice(&response.body).unwrap_or_default();
        let detail =
            denied.error_description.or(denied.error.clone()).map(|text| one_line(&text, MAX_TEXT_CHARS));
        cause = with_detail(message!("error.auth.cause.notRegistered", host = host), detail);
        if denied.error.as_deref() != Some("invalid_client_metadata") {
            break;
        }
    }
    Err(client_id_required(cause))
}

fn methods(server: &ServerMetadata) -> Vec<(TokenEndpointAuthMethod, &'static str)> {
    let offered = server.methods();
    if offered.is_empty() {
        // If the server lists no methods, the default is `client_secret_basic`; some such servers only
        // support public clients.
        return vec![METHODS[0], METHODS[2]];
    }
    METHODS.into_iter().filter(|(_, word)| offered.iter().any(|offer| offer == word)).collect()
}

fn registration_request(server: &ServerMetadata, redirect: &str, method: &str) -> Value {
    let mut grants = vec!["authorization_code"];
    if server.can_grant("refresh_token") {
        grants.push("refresh_token");
    }
    json!({
        "client_name": "Gatehouse",
        "application_type": "native",
        "redirect_uris": [redirect],
        "grant_types": grants,
        "response_types": ["code"],
        "token_endpoint_auth_method": method,
    })
}

fn parse_registration(
    server: &ServerMetadata,
    redirect: &Url,
    requested: TokenEndpointAuthMethod,
    response: &HttpResponse,
) -> Result<Registration, AuthError> {
    let registered: RegistrationResponse = serde_json::from_slice(&response.body)
        .map_err(|_| unusable(message!("error.auth.cause.registeredAsNothing")))?;
    if registered.client_id.is_empty() {
        return Err(unusable(message!("error.auth.cause.registeredWithoutId")));
    }
    let secret = registered.client_secret.filter(|secret| !secret.reveal().is_empty());
    let named = registered.token_endpoint_auth_method.as_deref();
    let known = METHODS.into_iter().find(|(_, word)| named == Some(word)).map(|(method, _)| method);
    let method = if secret.is_none() { TokenEndpointAuthMethod::None } else { known.unwrap_or(requested) };
    let expires = registered.client_secret_expires_at.filter(|at| *at != 0 && secret.is_some());
    Ok(Registration {
        issuer: server.issuer.clone(),
        id: registered.client_id,
        secret,
        method,
        redirect: redirect.clone(),
        expires: expires.map(|at| Timestamp(0).plus(Duration::from_secs(at))),
    })
}
