//! Sends HTTP requests to a server: headers, token, session, redirects, and the meaning of each
//! status. It doesn't interpret the messages.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use gatehouse_auth::{AuthError, AuthRecovery, AuthRejection, TokenSource, issuer_hint};
use gatehouse_common::bounded_body::{BodyTooLarge, BoundedBody};
use gatehouse_common::invisible_chars::one_line;
use gatehouse_common::ip_address::{is_loopback, pinned_loopback};
use gatehouse_model::server::HeaderProgram;
use gatehouse_model::{Secret, ServerConfig, message};
use http::header::{
    ACCEPT, AUTHORIZATION, CONNECTION, CONTENT_TYPE, LOCATION, RETRY_AFTER, SEC_WEBSOCKET_ACCEPT,
    SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION, UPGRADE, WWW_AUTHENTICATE,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use parking_lot::Mutex;
use reqwest::{RequestBuilder, Response, Upgraded};
use tokio::time::Instant;
use url::Url;

use super::events::{self, Events};
use crate::bounds;
use crate::error::classification;
use crate::error::{ConnectError, NetworkError, RequestError};
use crate::host::ServerHost;
use crate::limit::RequestClock;
use crate::redact::Redactor;

pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
pub(super) const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
/// Headers that only Gatehouse may set.
const RESERVED: &[&str] = &[
    "accept",
    "content-type",
    "content-length",
    "host",
    "connection",
    "upgrade",
    "transfer-encoding",
    "mcp-session-id",
    "mcp-protocol-version",
    "mcp-method",
    "mcp-name",
    "last-event-id",
];
/// Longest body of an error response that is read, in bytes.
const MAX_ERROR_BYTES: usize = 64 * 1024;
/// How much of it is shown, in characters.
const MAX_SHOWN_CHARS: usize = 300;
/// Time limit for establishing a TCP and TLS connection.
const REACH_TIMEOUT: Duration = Duration::from_secs(15);
/// How often a request is sent again with a new token.
const MAX_TOKEN_ATTEMPTS: usize = 3;
/// How long a token is used before the token source is asked again.
const TOKEN_CACHE_TIME: Duration = Duration::from_secs(5);

/// Sources of headers that are not in the server's settings.
pub(crate) struct CredentialSources {
    /// Bearer tokens.
    pub(crate) tokens: Arc<dyn TokenSource>,
    /// The server that the tokens are for.
    pub(crate) server: Arc<ServerConfig>,
    /// A program that prints headers.
    pub(crate) program: Option<HeaderProgramSource>,
    /// Learns the secrets that are sent.
    pub(crate) redactor: Redactor,
}

/// A program that prints headers, and what runs it.
pub(crate) struct HeaderProgramSource {
    pub(crate) program: HeaderProgram,
    pub(crate) host: Arc<dyn ServerHost>,
}

/// The HTTP endpoint of a server.
pub(crate) struct Endpoint {
    client: reqwest::Client,
    url: Url,
    headers: HeaderMap,
    sources: CredentialSources,
    program_headers: Mutex<HeaderMap>,
    token: Mutex<Option<(Instant, Option<Secret>)>>,
    session: Mutex<Option<HeaderValue>>,
    version: Mutex<Option<HeaderValue>>,
    last_error: Mutex<Option<RequestError>>,
}

/// The clock of the request that a message belongs to, if any.
pub(super) type CallClock<'a> = Option<&'a Arc<RequestClock>>;

pub(super) struct PostResponse {
    pub(super) status: StatusCode,
    pub(super) body: PostResponseBody,
    /// Value of `Mcp-Session-Id`.
    pub(super) session: Option<String>,
}

pub(super) enum PostResponseBody {
    /// None: the message was accepted.
    Accepted,
    /// One message.
    Json(Bytes),
    /// A stream of messages.
    Events(Events),
}

impl Endpoint {
    /// Validates the address and headers of the settings and creates the HTTP client.
    pub(crate) fn new(
        url: &str,
        fields: &[(String, Secret)],
        sources: CredentialSources,
    ) -> Result<Self, ConnectError> {
        let url = Url::parse(&http_address(url.trim())).map_err(|error| {
            ConnectError::bad_config(message!("error.servers.config.badAddress", reason = error.to_string()))
        })?;
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(ConnectError::bad_config(message!("error.servers.config.otherScheme")));
        }
        Ok(Self {
            client: client(&url)?,
            url,
            headers: header_map(fields.iter().map(|(name, value)| (name.as_str(), value.reveal())))?,
            sources,
            program_headers: Mutex::default(),
            token: Mutex::default(),
            session: Mutex::default(),
            version: Mutex::default(),
            last_error: Mutex::default(),
        })
    }

    /// The address as text.
    pub(super) fn url(&self) -> &str {
        self.url.as_str()
    }

    /// Removes the secrets that were sent from what the server says.
    pub(super) fn redactor(&self) -> &Redactor {
        &self.sources.redactor
    }

    pub(crate) fn address(&self) -> &Url {
        &self.url
    }

    /// Runs the header program, if there is one, and stores its headers. `false` if there is none.
    pub(crate) async fn refresh_headers(&self) -> Result<bool, ConnectError> {
        let Some(source) = &self.sources.program else { return Ok(false) };
        let program_headers = source.host.run_header_program(&source.program).await?;
        let headers =
            header_map(program_headers.iter().map(|(name, value)| (name.as_str(), value.as_str())))?;
        for (_, value) in &program_headers {
            self.sources.redactor.add_header(value);
        }
        *self.program_headers.lock() = headers;
        Ok(true)
    }

    /// Sets the protocol revision of subsequent requests.
    pub(super) fn set_version(&self, protocol: &str) {
        *self.version.lock() = HeaderValue::from_str(protocol).ok();
    }

    /// The headers that every message carries after the handshake.
    pub(crate) fn session_headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if let Some(version) = self.version.lock().clone() {
            headers.insert(VERSION, version);
        }
        if let Some(session) = self.session.lock().clone() {
            headers.insert(SESSION, session);
        }
        headers
    }

    /// Sets the session of subsequent requests.
    pub(super) fn set_session(&self, session: Option<&str>) {
        *self.session.lock() = session.and_then(|session| HeaderValue::from_str(session).ok());
    }

    /// The last error: the cause of a failed handshake.
    pub(super) fn take_last_error(&self) -> Option<RequestError> {
        self.last_error.lock().take()
    }

    fn record_error(&self, error: RequestError) -> RequestError {
        if matches!(error, RequestError::NeedsAuth { .. }) {
            *self.token.lock() = None;
        }
        *self.last_error.lock() = Some(error.clone());
        error
    }

    /// POSTs one message. `more` holds additional headers, including the session.
    pub(super) async fn post(
        &self,
        message: Vec<u8>,
        more: HeaderMap,
        clock: CallClock<'_>,
    ) -> Result<PostResponse, RequestError> {
        let with_session = more.contains_key(SESSION);
        let request = self
            .request(Method::POST, more)
            .await?
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream")
            .body(message);
        let response = self.send(request, clock).await?;
        let status = response.status();
        if !status.is_success() {
            return self.refused(response, with_session).await;
        }
        let session = text(response.headers(), &SESSION);
        let body = match content_type(&response) {
            ContentKind::Events => PostResponseBody::Events(events::from_response(response)),
            _ if status == StatusCode::ACCEPTED || status == StatusCode::NO_CONTENT => {
                PostResponseBody::Accepted
            }
            ContentKind::Json => PostResponseBody::Json(self.read(response, bounds::MESSAGE).await?),
            ContentKind::None if response.content_length() == Some(0) => PostResponseBody::Accepted,
            ContentKind::None | ContentKind::Other => {
                return Err(
                    self.record_error(RequestError::protocol(message!("error.servers.protocol.noMcp")))
                );
            }
        };
        Ok(PostResponse { status, body, session })
    }

    /// Opens an event stream; `None` if the server offers none.
    pub(super) async fn get(
        &self,
        last_event: Option<&str>,
        more: HeaderMap,
    ) -> Result<Option<Events>, RequestError> {
        let mut request = self.request(Method::GET, more).await?.header(ACCEPT, "text/event-stream");
        if let Some(id) = last_event.and_then(|id| HeaderValue::from_str(id).ok()) {
            request = request.header(LAST_EVENT, id);
        }
        let response = self.send(request, None).await?;
        match response.status() {
            // 405 means that none is offered; some servers answer 404.
            StatusCode::METHOD_NOT_ALLOWED | StatusCode::NOT_FOUND | StatusCode::NOT_IMPLEMENTED => Ok(None),
            status if !status.is_success() => match self.refused(response, false).await {
                Ok(_) => Err(self.record_error(RequestError::Status {
                    status: status.as_u16(),
                    body: String::new(),
                    retry_after: None,
                })),
                Err(error) => Err(error),
            },
            _ if matches!(content_type(&response), ContentKind::Events) => {
                Ok(Some(events::from_response(response)))
            }
            _ => Ok(None),
        }
    }

    /// Deletes the session.
    pub(super) async fn delete(&self, more: HeaderMap) -> Result<(), RequestError> {
        let request = self.request(Method::DELETE, more).await?;
        let status = self.send(request, None).await?.status();
        tracing::debug!(%status, "the session was given back");
        Ok(())
    }

    async fn request(&self, method: Method, more: HeaderMap) -> Result<RequestBuilder, RequestError> {
        self.request_to(method, self.url.clone(), more).await
    }

    async fn request_to(
        &self,
        method: Method,
        url: Url,
        more: HeaderMap,
    ) -> Result<RequestBuilder, RequestError> {
        let mut headers = self.headers.clone();
        headers.extend(self.program_headers.lock().clone());
        if !headers.contains_key(AUTHORIZATION)
            && let Some(token) = self.bearer().await?
        {
            headers.extend(self.authorization(&token));
        }
        headers.extend(more);
        Ok(self.client.request(method, url).headers(headers))
    }

    /// The `Authorization` header with a token; empty if the token isn't a valid header value.
    fn authorization(&self, token: &Secret) -> HeaderMap {
        self.sources.redactor.add_token(token);
        let mut headers = HeaderMap::new();
        if let Ok(mut value) = HeaderValue::from_str(&format!("Bearer {}", token.reveal())) {
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        headers
    }

    async fn bearer(&self) -> Result<Option<Secret>, RequestError> {
        let kept = self.token.lock().clone();
        if let Some((since, token)) = kept
            && since.elapsed() < TOKEN_CACHE_TIME
        {
            return Ok(token);
        }
        match self.sources.tokens.bearer(&self.sources.server).await {
            Ok(token) => {
                *self.token.lock() = Some((Instant::now(), token.clone()));
                Ok(token)
            }
            Err(error) => Err(self.token_error(&error)),
        }
    }

    fn token_error(&self, error: &AuthError) -> RequestError {
        tracing::warn!(server = %self.sources.server.id, %error, "there is no token");
        self.record_error(match error {
            AuthError::Unreachable(why) => RequestError::Network(NetworkError {
                text: message!("error.servers.network.signInNotRenewed", reason = why.clone()).into(),
                is_permanent: false,
            }),
            _ => RequestError::NeedsAuth { issuer: None },
        })
    }

    /// Returns a new token to repeat the request with, if the response rejects the current one and
    /// the token source can obtain another. While the user is signing in, the request's clock is
    /// paused. `sent` is the token that the rejected request carried; `is_retry` says whether an
    /// earlier one was rejected before.
    async fn recover_token(
        &self,
        response: &Response,
        sent: impl FnOnce() -> Option<Secret>,
        is_retry: bool,
        clock: CallClock<'_>,
    ) -> Result<Option<Secret>, RequestError> {
        let status = response.status();
        let challenges: Vec<String> = response
            .headers()
            .get_all(WWW_AUTHENTICATE)
            .iter()
            .filter_map(|value| value.to_str().ok().map(str::to_owned))
            .collect();
        let lacks_rights = status == StatusCode::FORBIDDEN
            && challenges.iter().any(|challenge| challenge.contains("insufficient_scope"));
        let otherwise = self.headers.contains_key(AUTHORIZATION)
            || self.program_headers.lock().contains_key(AUTHORIZATION);
        if otherwise || !(lacks_rights || status == StatusCode::UNAUTHORIZED) {
            return Ok(None);
        }
        let refusal = AuthRejection {
            status: status.as_u16(),
            challenges,
            sent: sent(),
            can_wait: clock.is_some(),
            is_retry,
        };
        let held = clock.map(RequestClock::pause);
        let next = self.sources.tokens.recover(&self.sources.server, refusal).await;
        drop(held);
        let error = match next {
            Ok(AuthRecovery::Retry(token)) => {
                *self.token.lock() = Some((Instant::now(), Some(token.clone())));
                return Ok(Some(token));
            }
            Ok(AuthRecovery::SignIn { issuer }) => RequestError::NeedsAuth { issuer },
            Ok(AuthRecovery::Register { reason }) => RequestError::Unregistered { reason },
            Ok(AuthRecovery::Refused { reason }) => RequestError::NoSignIn { reason },
            Err(error) => return Err(self.token_error(&error)),
        };
        Err(self.record_error(error))
    }

    async fn send(&self, request: RequestBuilder, clock: CallClock<'_>) -> Result<Response, RequestError> {
        let again = request.try_clone();
        let unreachable = |error: reqwest::Error| {
            self.record_error(RequestError::Network(classification::classify_network_error(&error)))
        };
        let mut response = request.send().await.map_err(unreachable)?;
        let Some(again) = again else { return Ok(response) };
        if response.status() == StatusCode::UNAUTHORIZED
            && self.sources.program.is_some()
            && let Some(request) = again.try_clone()
        {
            // The headers that the program printed may have expired.
            match self.refresh_headers().await {
                Ok(_) => {
                    let headers = self.program_headers.lock().clone();
                    response = request.headers(headers).send().await.map_err(unreachable)?;
                }
                Err(error) => {
                    tracing::warn!(server = %self.sources.server.id, %error, "the headers could not be printed anew");
                }
            }
        }
        let mut last = None;
        for _ in 0..MAX_TOKEN_ATTEMPTS {
            let Some(request) = again.try_clone() else { break };
            // The token that this request carried, not the newest one: another request may have
            // renewed it meanwhile.
            let is_retry = last.is_some();
            let sent = || last.take().or_else(|| bearer_of(&again));
            let Some(token) = self.recover_token(&response, sent, is_retry, clock).await? else { break };
            last = Some(token.clone());
            response = request.headers(self.authorization(&token)).send().await.map_err(unreachable)?;
        }
        Ok(response)
    }

    /// POSTs a message whose response arrives on another stream.
    pub(crate) async fn post_to(
        &self,
        address: Url,
        message: Vec<u8>,
        more: HeaderMap,
    ) -> Result<(), RequestError> {
        let request = self
            .request_to(Method::POST, address, more)
            .await?
            .header(CONTENT_TYPE, "application/json")
            .body(message);
        let response = self.send(request, None).await?;
        if response.status().is_success() { Ok(()) } else { self.refused(response, false).await.map(drop) }
    }

    /// Opens the event stream that carries all messages of the server (HTTP+SSE transport).
    pub(crate) async fn stream(&self) -> Result<Events, RequestError> {
        let request = self.request(Method::GET, HeaderMap::new()).await?.header(ACCEPT, "text/event-stream");
        let response = self.send(request, None).await?;
        let status = response.status();
        if !status.is_success() {
            return match self.refused(response, false).await {
                Ok(_) => Err(self.record_error(RequestError::Status {
                    status: status.as_u16(),
                    body: String::new(),
                    retry_after: None,
                })),
                Err(error) => Err(error),
            };
        }
        if matches!(content_type(&response), ContentKind::Events) {
            return Ok(events::from_response(response));
        }
        Err(self.record_error(RequestError::protocol(message!("error.servers.protocol.noEvents"))))
    }

    /// Upgrades a connection to WebSocket (RFC 6455, section 4.1).
    pub(crate) async fn upgrade(&self, key: &str, accept: &str) -> Result<Upgraded, RequestError> {
        let request = self
            .request(Method::GET, HeaderMap::new())
            .await?
            .version(http::Version::HTTP_11)
            .header(CONNECTION, "Upgrade")
            .header(UPGRADE, "websocket")
            .header(SEC_WEBSOCKET_VERSION, "13")
            .header(SEC_WEBSOCKET_KEY, key)
            .header(SEC_WEBSOCKET_PROTOCOL, "mcp");
        let response = self.send(request, None).await?;
        let status = response.status();
        if status != StatusCode::SWITCHING_PROTOCOLS {
            return match self.refused(response, false).await {
                Ok(_) => Err(self.record_error(RequestError::protocol(message!(
                    "error.servers.protocol.noWebSocket",
                    status = status.to_string()
                )))),
                Err(error) => Err(error),
            };
        }
        if text(response.headers(), &SEC_WEBSOCKET_ACCEPT).as_deref() != Some(accept) {
            return Err(
                self.record_error(RequestError::protocol(message!("error.servers.protocol.badWebSocket")))
            );
        }
        if text(response.headers(), &SEC_WEBSOCKET_PROTOCOL).is_some_and(|protocol| protocol != "mcp") {
            return Err(self
                .record_error(RequestError::protocol(message!("error.servers.protocol.otherSubprotocol"))));
        }
        response.upgrade().await.map_err(|error| {
            self.record_error(RequestError::Network(classification::classify_network_error(&error)))
        })
    }

    /// Interprets a response that is not a success. A JSON-RPC error in its body counts as a
    /// response.
    async fn refused(&self, response: Response, with_session: bool) -> Result<PostResponse, RequestError> {
        let status = response.status();
        let error = match status {
            StatusCode::UNAUTHORIZED => {
                let challenges = response.headers().get_all(WWW_AUTHENTICATE).iter();
                let issuer = challenges.filter_map(|value| value.to_str().ok()).find_map(issuer_hint);
                RequestError::NeedsAuth { issuer }
            }
            StatusCode::FORBIDDEN => RequestError::Forbidden,
            StatusCode::NOT_FOUND if with_session => RequestError::SessionGone,
            _ => {
                let is_json = matches!(content_type(&response), ContentKind::Json);
                let retry_after =
                    text(response.headers(), &RETRY_AFTER).and_then(|text| text.trim().parse().ok());
                let to = text(response.headers(), &LOCATION).map(|to| self.sources.redactor.text(to));
                let body = self.read(response, MAX_ERROR_BYTES).await.unwrap_or_default();
                // Redact before truncating: half a secret would not be recognised.
                let words = self.sources.redactor.text(String::from_utf8_lossy(&body).into_owned());
                if status == StatusCode::BAD_REQUEST
                    && with_session
                    && classification::is_invalid_session(&words)
                {
                    RequestError::SessionGone
                } else if is_json && status != StatusCode::TOO_MANY_REQUESTS && is_rpc_error(&body) {
                    return Ok(PostResponse { status, body: PostResponseBody::Json(body), session: None });
                } else {
                    let body = match to {
                        Some(to) if status.is_redirection() => {
                            format!("it points to {}", one_line(&to, MAX_SHOWN_CHARS))
                        }
                        _ => one_line(&words, MAX_SHOWN_CHARS),
                    };
                    RequestError::Status { status: status.as_u16(), body, retry_after }
                }
            }
        };
        Err(self.record_error(error))
    }

    async fn read(&self, mut response: Response, longest: usize) -> Result<Bytes, RequestError> {
        let too_long = |BodyTooLarge| {
            self.record_error(RequestError::protocol(message!(
                "error.servers.protocol.tooLong",
                limit = (longest / 1024).to_string()
            )))
        };
        let length = response.content_length().unwrap_or(0);
        let mut whole = BoundedBody::announced(longest, length).map_err(too_long)?;
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) => whole.push(chunk).map_err(too_long)?,
                Ok(None) => return Ok(whole.into_bytes()),
                Err(error) => {
                    return Err(self.record_error(RequestError::Network(
                        classification::classify_network_error(&error),
                    )));
                }
            }
        }
    }
}

/// The token that a request carries.
fn bearer_of(request: &RequestBuilder) -> Option<Secret> {
    let request = request.try_clone()?.build().ok()?;
    let value = request.headers().get(AUTHORIZATION)?.to_str().ok()?;
    value.strip_prefix("Bearer ").map(Secret::new)
}

/// Parses the headers of the settings, or those that a program printed.
fn header_map<'a>(fields: impl Iterator<Item = (&'a str, &'a str)>) -> Result<HeaderMap, ConnectError> {
    let mut headers = HeaderMap::new();
    for (name, value) in fields {
        let bad = || {
            let name = name.escape_debug().to_string();
            ConnectError::bad_config(message!("error.servers.config.badHeader", name = name))
        };
        let header = HeaderName::from_bytes(name.trim().as_bytes()).map_err(|_| bad())?;
        if RESERVED.contains(&header.as_str()) || header.as_str().starts_with("sec-websocket-") {
            let name = header.as_str();
            return Err(ConnectError::bad_config(message!("error.servers.config.ownHeader", name = name)));
        }
        let mut value = HeaderValue::from_str(value.trim()).map_err(|_| bad())?;
        value.set_sensitive(true);
        headers.insert(header, value);
    }
    Ok(headers)
}

/// Maps `ws:` to `http:` and `wss:` to `https:`, because a WebSocket begins as an HTTP request.
fn http_address(url: &str) -> String {
    let lower = url.to_ascii_lowercase();
    match (lower.starts_with("ws://"), lower.starts_with("wss://")) {
        (true, _) => format!("http{}", url.get(2..).unwrap_or_default()),
        (_, true) => format!("https{}", url.get(3..).unwrap_or_default()),
        (false, false) => url.to_owned(),
    }
}

enum ContentKind {
    Json,
    Events,
    Other,
    None,
}

fn content_type(response: &Response) -> ContentKind {
    let Some(text) = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()) else {
        return ContentKind::None;
    };
    let essence = text.split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case("application/json") {
        ContentKind::Json
    } else if essence.eq_ignore_ascii_case("text/event-stream") {
        ContentKind::Events
    } else {
        ContentKind::Other
    }
}

fn text(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}

fn is_rpc_error(body: &[u8]) -> bool {
    use crate::connection::envelope::{Incoming, read};
    matches!(read(body), Ok(Incoming::Response { outcome: Err(_), .. }))
}

fn client(url: &Url) -> Result<reqwest::Client, ConnectError> {
    let mut builder = reqwest::Client::builder()
        .user_agent(concat!("Gatehouse/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(REACH_TIMEOUT)
        .tcp_keepalive(Duration::from_secs(60))
        .referer(false)
        .redirect(same_origin());
    // This machine is never reached through a proxy, nor by what a resolver says: nothing may be encrypted.
    if is_loopback(url) {
        builder = builder.no_proxy();
        if let Some((domain, addresses)) = pinned_loopback(url) {
            builder = builder.resolve_to_addrs(domain, addresses);
        }
    }
    builder.build().map_err(|error| {
        let reason = classification::classify_network_error(&error).text;
        ConnectError::bad_config(message!("error.servers.config.noHttpClient", reason = reason))
    })
}

/// Follows a redirect only if it preserves method and body (307, 308), and only on the same origin:
/// headers with secrets must not be sent anywhere else.
fn same_origin() -> reqwest::redirect::Policy {
    reqwest::redirect::Policy::custom(|attempt| {
        let keeps =
            matches!(attempt.status(), StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT);
        let same = attempt.previous().first().is_some_and(|first| first.origin() == attempt.url().origin());
        if keeps && same && attempt.previous().len() <= 5 { attempt.follow() } else { attempt.stop() }
    })
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[tokio::test]
    async fn names_below_localhost_lead_to_this_machine() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let serving = tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    assert_ne!(stream.read_buf(&mut head).await.unwrap(), 0);
                }
                let response = b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n";
                stream.write_all(response).await.unwrap();
            }
        });
        for name in ["localhost", "no-such-name.localhost", "a.b.localhost.", "127.0.0.1"] {
            let url = Url::parse(&format!("http://{name}:{port}/")).unwrap();
            let response = client(&url).unwrap().get(url).send().await.unwrap();
            assert_eq!(response.status(), StatusCode::NO_CONTENT, "{name}");
        }
        serving.abort();
    }
}
