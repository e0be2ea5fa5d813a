//! The address of a server, and how something is sent to it: headers, token, session, and what each
//! status means. It knows nothing of what the messages say.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use gatehouse_auth::{TokenRequest, TokenSource, issuer_hint};
use gatehouse_model::Secret;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, LOCATION, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use parking_lot::Mutex;
use reqwest::{RequestBuilder, Response};
use tokio::time::Instant;
use url::Url;

use super::LONGEST_BODY;
use super::events::{self, Events};
use crate::connection::error::{ConnectError, RequestError};
use crate::connection::foreign;

pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
pub(super) const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
/// Headers that are Gatehouse's own.
const RESERVED: &[&str] = &[
    "accept",
    "content-type",
    "content-length",
    "host",
    "connection",
    "transfer-encoding",
    "mcp-session-id",
    "mcp-protocol-version",
    "mcp-method",
    "mcp-name",
    "last-event-id",
];
/// Longest body that is read of an answer that is an error.
const LONGEST_ERROR: usize = 64 * 1024;
/// How much of it is shown.
const SHOWN: usize = 300;
/// How long reaching the server may take, before anything is sent.
const REACH: Duration = Duration::from_secs(15);
/// How long a token is used without asking for it again.
const TOKEN_KEPT: Duration = Duration::from_secs(5);

/// The address of a server.
pub(super) struct Endpoint {
    client: reqwest::Client,
    url: Url,
    headers: HeaderMap,
    tokens: Arc<dyn TokenSource>,
    ask: TokenRequest,
    token: Mutex<Option<(Instant, Option<Secret>)>>,
    session: Mutex<Option<HeaderValue>>,
    fault: Mutex<Option<RequestError>>,
}

/// What the server answered to a message.
pub(super) struct Posted {
    /// The status.
    pub(super) status: StatusCode,
    /// The body.
    pub(super) body: PostedBody,
    /// The session that it names.
    pub(super) session: Option<String>,
}

/// The body of an answer.
pub(super) enum PostedBody {
    /// Nothing: taken note of.
    Accepted,
    /// One message, whole.
    Json(Bytes),
    /// A stream of messages.
    Events(Events),
}

impl Endpoint {
    /// Checks an entry's address and headers and makes its HTTP client.
    pub(super) fn new(
        url: &str,
        fields: &[(String, Secret)],
        tokens: Arc<dyn TokenSource>,
        ask: TokenRequest,
    ) -> Result<Self, ConnectError> {
        let wrong = |what: String| ConnectError::BadConfig { what };
        let url =
            Url::parse(url.trim()).map_err(|error| wrong(format!("The address cannot be read: {error}.")))?;
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(wrong("The address must begin with https:// or http://.".to_owned()));
        }
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            let bad = || wrong(format!("The header \"{}\" cannot be sent as it is.", name.escape_debug()));
            let header = HeaderName::from_bytes(name.trim().as_bytes()).map_err(|_| bad())?;
            if RESERVED.contains(&header.as_str()) {
                return Err(wrong(format!("The header \"{header}\" is set by Gatehouse itself.")));
            }
            let mut value = HeaderValue::from_str(value.reveal().trim()).map_err(|_| bad())?;
            value.set_sensitive(true);
            headers.insert(header, value);
        }
        Ok(Self {
            client: client(&url)?,
            url,
            headers,
            tokens,
            ask,
            token: Mutex::default(),
            session: Mutex::default(),
            fault: Mutex::default(),
        })
    }

    /// The address as text.
    pub(super) fn url(&self) -> &str {
        self.url.as_str()
    }

    /// The session of the requests to come.
    pub(super) fn set_session(&self, session: Option<&str>) {
        *self.session.lock() = session.and_then(|session| HeaderValue::from_str(session).ok());
    }

    /// The session, if the server gave one.
    pub(super) fn session(&self) -> Option<HeaderValue> {
        self.session.lock().clone()
    }

    /// What went wrong last, for the reason of a handshake that failed.
    pub(super) fn take_fault(&self) -> Option<RequestError> {
        self.fault.lock().take()
    }

    fn failed(&self, error: RequestError) -> RequestError {
        if matches!(error, RequestError::NeedsAuth { .. }) {
            *self.token.lock() = None;
        }
        *self.fault.lock() = Some(error.clone());
        error
    }

    /// Sends one message. `more` holds the headers of this message and its session.
    pub(super) async fn post(&self, message: Vec<u8>, more: HeaderMap) -> Result<Posted, RequestError> {
        let with_session = more.contains_key(SESSION);
        let request = self
            .request(Method::POST, more)
            .await?
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream")
            .body(message);
        let response = self.send(request).await?;
        let status = response.status();
        if !status.is_success() {
            return self.refused(response, with_session).await;
        }
        let session = text(response.headers(), &SESSION);
        let body = match content_type(&response) {
            Kind::Events => PostedBody::Events(events::of_response(response)),
            _ if status == StatusCode::ACCEPTED || status == StatusCode::NO_CONTENT => PostedBody::Accepted,
            Kind::Json => PostedBody::Json(self.read(response, LONGEST_BODY).await?),
            Kind::None if response.content_length() == Some(0) => PostedBody::Accepted,
            Kind::None | Kind::Other => {
                return Err(self.failed(RequestError::Protocol(
                    "its answer is neither JSON nor a stream of events. Check that the address is that of an MCP server."
                        .to_owned(),
                )));
            }
        };
        Ok(Posted { status, body, session })
    }

    /// Opens a stream of events; `None` where the server has none.
    pub(super) async fn get(
        &self,
        last_event: Option<&str>,
        more: HeaderMap,
    ) -> Result<Option<Events>, RequestError> {
        let mut request = self.request(Method::GET, more).await?.header(ACCEPT, "text/event-stream");
        if let Some(id) = last_event.and_then(|id| HeaderValue::from_str(id).ok()) {
            request = request.header(LAST_EVENT, id);
        }
        let response = self.send(request).await?;
        match response.status() {
            // Not offering one is said with 405; some say it with 404.
            StatusCode::METHOD_NOT_ALLOWED | StatusCode::NOT_FOUND | StatusCode::NOT_IMPLEMENTED => Ok(None),
            status if !status.is_success() => match self.refused(response, false).await {
                Ok(_) => Err(self.failed(RequestError::Status {
                    status: status.as_u16(),
                    body: String::new(),
                    retry_after: None,
                })),
                Err(error) => Err(error),
            },
            _ if matches!(content_type(&response), Kind::Events) => Ok(Some(events::of_response(response))),
            _ => Ok(None),
        }
    }

    /// Ends the session.
    pub(super) async fn delete(&self, more: HeaderMap) -> Result<(), RequestError> {
        let request = self.request(Method::DELETE, more).await?;
        let status = self.send(request).await?.status();
        tracing::debug!(%status, "the session was given back");
        Ok(())
    }

    async fn request(&self, method: Method, more: HeaderMap) -> Result<RequestBuilder, RequestError> {
        let mut headers = self.headers.clone();
        if !headers.contains_key(AUTHORIZATION)
            && let Some(token) = self.bearer().await?
            && let Ok(mut value) = HeaderValue::from_str(&format!("Bearer {}", token.reveal()))
        {
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        headers.extend(more);
        Ok(self.client.request(method, self.url.clone()).headers(headers))
    }

    async fn bearer(&self) -> Result<Option<Secret>, RequestError> {
        let kept = self.token.lock().clone();
        if let Some((since, token)) = kept
            && since.elapsed() < TOKEN_KEPT
        {
            return Ok(token);
        }
        match self.tokens.bearer(&self.ask).await {
            Ok(token) => {
                *self.token.lock() = Some((Instant::now(), token.clone()));
                Ok(token)
            }
            Err(error) => {
                tracing::warn!(server = %self.ask.server, %error, "the stored sign-in cannot be read");
                Err(self.failed(RequestError::NeedsAuth { issuer: None }))
            }
        }
    }

    async fn send(&self, request: RequestBuilder) -> Result<Response, RequestError> {
        request
            .send()
            .await
            .map_err(|error| self.failed(RequestError::Network(foreign::network_fault(&error))))
    }

    /// What an answer that is no success means. A JSON-RPC error in its body is an answer.
    async fn refused(&self, response: Response, with_session: bool) -> Result<Posted, RequestError> {
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
                let is_json = matches!(content_type(&response), Kind::Json);
                let retry_after =
                    text(response.headers(), &RETRY_AFTER).and_then(|text| text.trim().parse().ok());
                let to = text(response.headers(), &LOCATION);
                let body = self.read(response, LONGEST_ERROR).await.unwrap_or_default();
                let words = String::from_utf8_lossy(&body);
                if status == StatusCode::BAD_REQUEST && with_session && foreign::names_invalid_session(&words)
                {
                    RequestError::SessionGone
                } else if is_json && status != StatusCode::TOO_MANY_REQUESTS && is_rpc_error(&body) {
                    return Ok(Posted { status, body: PostedBody::Json(body), session: None });
                } else {
                    let body = match to {
                        Some(to) if status.is_redirection() => {
                            format!("it points to {}", to.chars().take(SHOWN).collect::<String>())
                        }
                        _ => words.trim().chars().filter(|piece| !piece.is_control()).take(SHOWN).collect(),
                    };
                    RequestError::Status { status: status.as_u16(), body, retry_after }
                }
            }
        };
        Err(self.failed(error))
    }

    async fn read(&self, mut response: Response, longest: usize) -> Result<Bytes, RequestError> {
        let too_long =
            || RequestError::Protocol(format!("it sent an answer of more than {} KiB.", longest / 1024));
        let length = response.content_length().and_then(|length| usize::try_from(length).ok());
        if length.is_some_and(|length| length > longest) {
            return Err(self.failed(too_long()));
        }
        let mut whole = BytesMut::new();
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) if whole.is_empty() && length == Some(chunk.len()) => {
                    // All of it in one piece: nothing is copied. The end is read all the same, so
                    // that the connection can serve again.
                    while let Ok(Some(_)) = response.chunk().await {}
                    return Ok(chunk);
                }
                Ok(Some(chunk)) if whole.len() + chunk.len() > longest => return Err(self.failed(too_long())),
                Ok(Some(chunk)) => whole.extend_from_slice(&chunk),
                Ok(None) => return Ok(whole.freeze()),
                Err(error) => return Err(self.failed(RequestError::Network(foreign::network_fault(&error)))),
            }
        }
    }
}

enum Kind {
    Json,
    Events,
    Other,
    None,
}

fn content_type(response: &Response) -> Kind {
    let Some(text) = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()) else {
        return Kind::None;
    };
    let essence = text.split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case("application/json") {
        Kind::Json
    } else if essence.eq_ignore_ascii_case("text/event-stream") {
        Kind::Events
    } else {
        Kind::Other
    }
}

fn text(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}

fn is_rpc_error(body: &[u8]) -> bool {
    use crate::connection::envelope::{Incoming, read};
    matches!(read(body), Ok(Incoming::Response { outcome: Err(_), .. }))
}

/// Whether an address is on this machine, where no proxy belongs in between.
fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

fn client(url: &Url) -> Result<reqwest::Client, ConnectError> {
    let mut builder = reqwest::Client::builder()
        .user_agent(concat!("Gatehouse/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(REACH)
        .tcp_keepalive(Duration::from_secs(60))
        .referer(false)
        .redirect(same_origin());
    if is_loopback(url) {
        builder = builder.no_proxy();
    }
    builder.build().map_err(|error| ConnectError::BadConfig {
        what: format!("The HTTP client cannot be made: {}.", foreign::network_fault(&error).text),
    })
}

/// Follows a redirect only where it keeps method and body, and only on the same origin: anywhere
/// else the headers are nobody's business.
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
    use super::*;

    #[test]
    fn addresses_on_this_machine_are_known() {
        let table = [
            ("http://localhost:1/mcp", true),
            ("http://a.localhost/", true),
            ("http://127.9.9.9/", true),
            ("http://[::1]:80/", true),
            ("http://localhost.example/", false),
            ("https://10.0.0.1/", false),
        ];
        for (url, expected) in table {
            assert_eq!(is_loopback(&Url::parse(url).unwrap()), expected, "{url}");
        }
    }
}
