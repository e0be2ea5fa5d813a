//! The endpoints of the authorization server over HTTP: metadata, registration, the pages in the browser, tokens.
//!
//! They are served without a token, so bodies are small, answers come soon, and each connection is closed after one.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use gatehouse_model::approval::PeerProcess;
use gatehouse_model::messages::Language;
use gatehouse_model::{Message, message};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use hyper::header::{
    ACCEPT_LANGUAGE, CACHE_CONTROL, CONNECTION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderMap, HeaderName,
    HeaderValue, LOCATION, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, StatusCode, Uri};
use serde_json::{Value, json};

use crate::authorization::client_id;
use crate::authorization::consents::{ConsentOutcome, PolledConsent};
use crate::authorization::oauth_error::OAuthError;
use crate::authorization::params::OAuthParams;
use crate::authorization::redirect_uri::ClientRedirectUri;
use crate::authorization::server::{
    AuthorizationServer, AuthorizeRequest, AuthorizeResponse, RequestedResource, TokenRequest,
};
use crate::clients::oauth_tokens::{ACCESS_LIFETIME, IssuedTokens};
use crate::clients::token;
use crate::http::allowed_hosts::AllowedHosts;
use crate::http::oauth_page::{self, OAuthPage};
use crate::http::oauth_route::{self, OAuthRoute};
use crate::http::peer_process::{ConnectionPeer, LoopbackTarget, PeerResolver};
use crate::http::request_guard;
use crate::http::response::{self, GatewayBody};
use crate::http::route;
use crate::protocol::response::MessageChunks;

/// Maximum size of a body, in bytes.
const MAX_BODY_BYTES: usize = 16 * 1024;

/// Time limit for reading a body.
const BODY_TIMEOUT: Duration = Duration::from_secs(5);

/// What a browser says of a request: what it is for, where it comes from, and whether it is only loaded ahead.
const FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const PURPOSE: HeaderName = HeaderName::from_static("sec-purpose");

/// A request whose body wasn't read.
type UnreadRequest = (Parts, Incoming);

/// What the endpoints need to know of a request beside itself.
pub(crate) struct OAuthContext<'a> {
    /// The origin under which the gateway was reached.
    pub(crate) origin: String,
    pub(crate) hosts: &'a AllowedHosts,
    /// The gateway's port.
    pub(crate) port: u16,
    pub(crate) peer: &'a ConnectionPeer,
    pub(crate) peer_resolver: &'a PeerResolver,
}

/// Serves one request.
pub(crate) async fn serve(
    server: &Arc<AuthorizationServer>,
    route: OAuthRoute,
    context: OAuthContext<'_>,
    request: Request<Incoming>,
) -> Response<GatewayBody> {
    let (head, body) = request.into_parts();
    match (route, head.method.clone()) {
        (OAuthRoute::ProtectedResource(endpoint), Method::GET) => {
            json(StatusCode::OK, &resource_metadata(&context.origin, &route::path_of(&endpoint)))
        }
        (OAuthRoute::AuthorizationServer, Method::GET) => {
            json(StatusCode::OK, &server_metadata(&context.origin))
        }
        (OAuthRoute::Authorize, Method::GET) => authorize(server, context, &head).await,
        (OAuthRoute::Wait, Method::GET) => wait(server, &head).await,
        (OAuthRoute::Token, Method::POST) => match token(server, &context, (head, body)).await {
            Ok(issued) => json(StatusCode::OK, &token_response(&issued)),
            Err(error) => oauth_error(&error),
        },
        (OAuthRoute::Register, Method::POST) => match register((head, body)).await {
            Ok(registered) => json(StatusCode::CREATED, &registered),
            Err(error) => oauth_error(&error),
        },
        (OAuthRoute::Revoke, Method::POST) => match revoke(server, (head, body)).await {
            Ok(()) => json(StatusCode::OK, &json!({})),
            Err(error) => oauth_error(&error),
        },
        (OAuthRoute::UnknownMetadata, _) => json(StatusCode::NOT_FOUND, &json!({ "error": "not_found" })),
        (OAuthRoute::Token | OAuthRoute::Register | OAuthRoute::Revoke, _) => {
            response::method_not_allowed("POST")
        }
        (
            OAuthRoute::ProtectedResource(_)
            | OAuthRoute::AuthorizationServer
            | OAuthRoute::Authorize
            | OAuthRoute::Wait,
            _,
        ) => response::method_not_allowed("GET"),
    }
}

fn resource_metadata(origin: &str, path: &str) -> Value {
    json!({
        "resource": format!("{origin}{path}"),
        "authorization_servers": [origin],
        "bearer_methods_supported": ["header"],
        "resource_name": "Gatehouse",
    })
}

fn server_metadata(origin: &str) -> Value {
    let at = |path: &str| format!("{origin}{path}");
    json!({
        "issuer": origin,
        "authorization_endpoint": at(oauth_route::AUTHORIZE),
        "token_endpoint": at(oauth_route::TOKEN),
        "registration_endpoint": at(oauth_route::REGISTER),
        "revocation_endpoint": at(oauth_route::REVOKE),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_methods_supported": ["none"],
        "revocation_endpoint_auth_methods_supported": ["none"],
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": true,
        "client_id_metadata_document_supported": true,
    })
}

async fn authorize(
    server: &Arc<AuthorizationServer>,
    context: OAuthContext<'_>,
    head: &Parts,
) -> Response<GatewayBody> {
    let (headers, uri) = (&head.headers, &head.uri);
    let says =
        |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if !matches!(says(&FETCH_DEST), "" | "document") {
        return page(
            headers,
            StatusCode::FORBIDDEN,
            &OAuthPage::Refused(message!("page.authorize.embedded")),
        );
    }
    // A foreign page must not make Gatehouse ask without a click of the person. What any program serves on this computer
    // counts as the same site.
    if matches!(says(&FETCH_SITE), "cross-site" | "same-site") || says(&PURPOSE).contains("prefetch") {
        let address = uri.path_and_query().map(ToString::to_string).unwrap_or_default();
        return page(headers, StatusCode::OK, &OAuthPage::Confirm { address });
    }
    let params = query(uri);
    let receiver = params.get("redirect_uri").ok().flatten().and_then(ClientRedirectUri::parse);
    let target = receiver.and_then(|uri| uri.target());
    let (peer, receiver) =
        tokio::join!(context.peer.peer(context.peer_resolver), find_receiver(&context, target));
    let resource = requested_resource(&context, &params).unwrap_or(Ok(None));
    let begun = server.authorize(AuthorizeRequest {
        params,
        resource,
        issuer: context.origin,
        seen_from: peer.seen_from.map(|seen| (*seen).clone()),
        receiver,
    });
    match begun {
        AuthorizeResponse::Wait(id) => see_other(&format!("{}?id={}", oauth_route::WAIT, id.reveal())),
        AuthorizeResponse::Ended(outcome) => ended(headers, &outcome),
    }
}

async fn find_receiver(
    context: &OAuthContext<'_>,
    target: Option<(Option<IpAddr>, u16)>,
) -> Option<PeerProcess> {
    let (ip, port) = target?;
    context.peer_resolver.listener(LoopbackTarget { ip, port }).await
}

async fn wait(server: &Arc<AuthorizationServer>, head: &Parts) -> Response<GatewayBody> {
    let (headers, params) = (&head.headers, query(&head.uri));
    let id = params.get("id").ok().flatten().unwrap_or_default();
    match server.poll(id).await {
        PolledConsent::StillWaiting => page(headers, StatusCode::OK, &OAuthPage::Waiting),
        PolledConsent::Ended(outcome) => ended(headers, &outcome),
        PolledConsent::Unknown => refused(headers, message!("page.authorize.ended")),
    }
}

fn ended(headers: &HeaderMap, outcome: &ConsentOutcome) -> Response<GatewayBody> {
    match outcome {
        ConsentOutcome::Redirect(address) => see_other(address.reveal()),
        ConsentOutcome::Refused(why) => refused(headers, why.clone()),
    }
}

async fn token(
    server: &Arc<AuthorizationServer>,
    context: &OAuthContext<'_>,
    request: UnreadRequest,
) -> Result<IssuedTokens, OAuthError> {
    let params = form(request).await?;
    let resource = requested_resource(context, &params);
    server.token(TokenRequest { params, resource }).await
}

async fn revoke(server: &Arc<AuthorizationServer>, request: UnreadRequest) -> Result<(), OAuthError> {
    server.revoke(&form(request).await?).await
}

async fn register((head, body): UnreadRequest) -> Result<Value, OAuthError> {
    if !request_guard::is_json(&head.headers) {
        return Err(OAuthError::new("invalid_client_metadata", "The body must be application/json."));
    }
    let body = read_body(body).await?;
    let nonce = token::random().map_err(|error| OAuthError::not_stored(&error))?;
    client_id::register(&body, nonce)
}

fn token_response(issued: &IssuedTokens) -> Value {
    json!({
        "access_token": issued.access.reveal(),
        "token_type": "Bearer",
        "expires_in": ACCESS_LIFETIME.as_secs(),
        "refresh_token": issued.refresh.reveal(),
    })
}

/// What the parameter `resource` names (RFC 8707); `None` if there is none.
fn requested_resource(context: &OAuthContext<'_>, params: &OAuthParams) -> Option<RequestedResource> {
    match params.get("resource") {
        Ok(text) => text.map(|text| endpoint_at(context, text).ok_or_else(OAuthError::invalid_target)),
        Err(error) => Some(Err(error)),
    }
}

/// The only server of the endpoint at an address of this gateway, or none if it is for all servers.
fn endpoint_at(context: &OAuthContext<'_>, address: &str) -> Option<Option<String>> {
    let uri: Uri = address.parse().ok().filter(|_| !address.contains('#'))?;
    let is_ours = uri.scheme_str() == Some("http")
        && context.hosts.check(uri.authority()?.as_str(), context.port).is_some();
    if !is_ours || uri.query().is_some() {
        return None;
    }
    match uri.path() {
        "" | "/" => Some(None),
        path => oauth_route::endpoint_route(path).map(|route| route.server),
    }
}

fn query(uri: &Uri) -> OAuthParams {
    OAuthParams::parse(uri.query().unwrap_or_default().as_bytes())
}

async fn form((head, body): UnreadRequest) -> Result<OAuthParams, OAuthError> {
    if !request_guard::is_content_type(&head.headers, "application/x-www-form-urlencoded") {
        return Err(OAuthError::invalid_request("The body must be application/x-www-form-urlencoded."));
    }
    read_body(body).await.map(|body| OAuthParams::parse(&body))
}

async fn read_body(body: Incoming) -> Result<Bytes, OAuthError> {
    let collected = Limited::new(body, MAX_BODY_BYTES).collect();
    match tokio::time::timeout(BODY_TIMEOUT, collected).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(_)) | Err(_) => {
            Err(OAuthError::invalid_request("The body is larger than 16 KiB, or did not come in time."))
        }
    }
}

fn oauth_error(error: &OAuthError) -> Response<GatewayBody> {
    let status = if error.code == "server_error" {
        StatusCode::INTERNAL_SERVER_ERROR
    } else {
        StatusCode::BAD_REQUEST
    };
    json(status, &json!({ "error": error.code, "error_description": &*error.description }))
}

fn refused(headers: &HeaderMap, why: Message) -> Response<GatewayBody> {
    page(headers, StatusCode::BAD_REQUEST, &OAuthPage::Refused(why))
}

fn page(headers: &HeaderMap, status: StatusCode, page: &OAuthPage) -> Response<GatewayBody> {
    let accepted = headers.get(ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
    let language = Language::of_accept_language(accepted.unwrap_or_default());
    let mut response = respond(status, page.html(language).into());
    let set = response.headers_mut();
    set.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    set.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    set.insert(
        CONTENT_SECURITY_POLICY,
        HeaderValue::from_str(oauth_page::content_security_policy())
            .unwrap_or(HeaderValue::from_static("default-src 'none'")),
    );
    response
}

fn json(status: StatusCode, value: &Value) -> Response<GatewayBody> {
    let mut response = respond(status, value.to_string().into());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn see_other(address: &str) -> Response<GatewayBody> {
    let Ok(location) = HeaderValue::from_str(address) else {
        return respond(StatusCode::INTERNAL_SERVER_ERROR, Bytes::new());
    };
    let mut response = respond(StatusCode::SEE_OTHER, Bytes::new());
    response.headers_mut().insert(LOCATION, location);
    response
}

/// A response that is stored nowhere and names this address to nobody.
fn respond(status: StatusCode, body: Bytes) -> Response<GatewayBody> {
    let mut response = Response::new(GatewayBody::Whole(MessageChunks::single(body)));
    *response.status_mut() = status;
    let set = response.headers_mut();
    set.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    set.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    set.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    set.insert(CONNECTION, HeaderValue::from_static("close"));
    response
}
