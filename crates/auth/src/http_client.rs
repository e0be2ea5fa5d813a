//! HTTP requests to authorization servers, and for the documents of clients, restricted against SSRF: https only (http on
//! loopback), private addresses only if the MCP server itself is private, redirects only within the origin, limited
//! response size and time. What was sent is never part of an error.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use gatehouse_common::bounded_body::{BodyTooLarge, BoundedBody};
use gatehouse_common::ip_address::{
    ip_literal, is_https_or_loopback, is_loopback, is_public, pinned_loopback,
};
use gatehouse_model::{Message, Secret, UserText, message};
use parking_lot::Mutex;
use reqwest::header::{ACCEPT, HeaderMap};
use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder, Response};
use serde::de::DeserializeOwned;
use url::Url;

use crate::error::{AuthError, unusable};

/// Maximum size of a response, in bytes.
const MAX_BODY_BYTES: usize = 256 * 1024;
/// Time limit for a whole request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum number of redirects.
const MAX_REDIRECTS: usize = 3;

/// Makes requests on behalf of one server.
pub(crate) struct AuthHttpClient {
    private: bool,
    follows_redirects: bool,
    clients: Mutex<HashMap<String, Client>>,
}

pub(crate) struct HttpResponse {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

/// Why there is no usable response.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HttpError {
    /// The URL isn't allowed.
    #[error("{0}")]
    Forbidden(UserText),
    /// No response; a retry may succeed.
    #[error("{0}")]
    Network(UserText),
    /// An HTTP error status.
    #[error("{}", http_status(.host, *.status))]
    Status { host: String, status: u16 },
    /// The response is invalid.
    #[error("{0}")]
    Unusable(UserText),
}

impl HttpError {
    /// Whether a retry may succeed.
    pub(crate) fn is_temporary(&self) -> bool {
        match self {
            Self::Network(_) => true,
            Self::Status { status, .. } => *status == 429 || *status >= 500,
            Self::Forbidden(_) | Self::Unusable(_) => false,
        }
    }

    /// What happened: a sentence.
    pub(crate) fn into_text(self) -> UserText {
        match self {
            Self::Forbidden(text) | Self::Network(text) | Self::Unusable(text) => text,
            Self::Status { host, status } => http_status(&host, status),
        }
    }
}

impl From<HttpError> for AuthError {
    fn from(error: HttpError) -> Self {
        if error.is_temporary() { Self::Unreachable(error.into_text()) } else { unusable(error.into_text()) }
    }
}

impl AuthHttpClient {
    /// For an MCP server at this URL. Private addresses are allowed if the server is on loopback or all its
    /// addresses are private.
    pub(crate) async fn of(server: &Url) -> Self {
        let private = is_loopback(server)
            || match ip_literal(server) {
                Some(address) => !is_public(address),
                None => match lookup(server).await {
                    Ok(found) => !found.is_empty() && !found.iter().any(|address| is_public(*address)),
                    Err(_) => false,
                },
            };
        Self { private, follows_redirects: true, clients: Mutex::default() }
    }

    /// For documents on the public internet whose address is what they are known by: no redirect is followed.
    pub(crate) fn of_public_documents() -> Self {
        Self { private: false, follows_redirects: false, clients: Mutex::default() }
    }

    /// Checks whether a URL may be used at all, for a request or to be opened in a browser.
    pub(crate) fn check(&self, url: &Url) -> Result<(), HttpError> {
        let host = host(url);
        if !is_https_or_loopback(url) {
            return Err(HttpError::Forbidden(message!("error.auth.cause.notHttps", host = host).into()));
        }
        if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
            return Err(HttpError::Forbidden(message!("error.auth.cause.badParts", host = host).into()));
        }
        if !self.private && (is_loopback(url) || ip_literal(url).is_some_and(|address| !is_public(address))) {
            return Err(private(&host));
        }
        Ok(())
    }

    /// Fetches a JSON document.
    pub(crate) async fn get<T: DeserializeOwned>(&self, url: &Url) -> Result<T, HttpError> {
        let response = self.send(url, |client| client.get(url.clone())).await?;
        if response.status != 200 {
            return Err(HttpError::Status { host: host(url), status: response.status });
        }
        serde_json::from_slice(&response.body).map_err(|error| {
            let reason = describe_json_error(&error);
            HttpError::Unusable(
                message!("error.auth.cause.unreadable", host = host(url), reason = reason).into(),
            )
        })
    }

    pub(crate) async fn post_json(
        &self,
        url: &Url,
        body: &serde_json::Value,
    ) -> Result<HttpResponse, HttpError> {
        self.send(url, |client| client.post(url.clone()).json(body)).await
    }

    pub(crate) async fn post_form(
        &self,
        url: &Url,
        headers: HeaderMap,
        form: &[(&'static str, Secret)],
    ) -> Result<HttpResponse, HttpError> {
        let body = url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs(form.iter().map(|(name, value)| (name, value.reveal())))
            .finish();
        self.send(url, |client| {
            client
                .post(url.clone())
                .headers(headers)
                .header(reqwest::header::CONTENT_TYPE, "application/x-www-form-urlencoded")
                .body(body)
        })
        .await
    }

    async fn send(
        &self,
        url: &Url,
        request: impl FnOnce(&Client) -> RequestBuilder,
    ) -> Result<HttpResponse, HttpError> {
        self.check(url)?;
        let client = self.client(url).await?;
        let request = request(&client).header(ACCEPT, "application/json");
        let response = request.send().await.map_err(|error| network_error(url, error))?;
        read(url, response).await
    }

    /// An HTTP client that is pinned to the addresses of a lookup that was checked, which prevents DNS
    /// rebinding. A host that can't be resolved here can still be reached through a proxy.
    async fn client(&self, url: &Url) -> Result<Client, HttpError> {
        let name = host(url);
        if let Some(client) = self.clients.lock().get(&name) {
            return Ok(client.clone());
        }
        let mut builder = Client::builder()
            .user_agent(concat!("Gatehouse/", env!("CARGO_PKG_VERSION")))
            .timeout(REQUEST_TIMEOUT)
            .referer(false)
            .redirect(if self.follows_redirects { same_origin() } else { Policy::none() });
        if is_loopback(url) {
            builder = builder.no_proxy();
            if let Some((domain, addresses)) = pinned_loopback(url) {
                builder = builder.resolve_to_addrs(domain, addresses);
            }
        } else if ip_literal(url).is_none() {
            let found = lookup(url).await.unwrap_or_default();
            let allowed: Vec<SocketAddr> = found
                .iter()
                .filter(|address| self.private || is_public(**address))
                .map(|address| SocketAddr::new(*address, 0))
                .collect();
            if allowed.is_empty() && !found.is_empty() {
                return Err(private(&name));
            }
            builder = builder.resolve_to_addrs(url.host_str().unwrap_or_default(), &allowed);
        }
        let client = builder.build().map_err(|error| network_error(url, error))?;
        self.clients.lock().insert(name, client.clone());
        Ok(client)
    }
}

async fn read(url: &Url, mut response: Response) -> Result<HttpResponse, HttpError> {
    let status = response.status().as_u16();
    let mut body = BoundedBody::new(MAX_BODY_BYTES);
    while let Some(chunk) = response.chunk().await.map_err(|error| network_error(url, error))? {
        body.push(chunk).map_err(|BodyTooLarge| {
            HttpError::Unusable(message!("error.auth.cause.tooLong", host = host(url)).into())
        })?;
    }
    Ok(HttpResponse { status, body: body.into_bytes().into() })
}

fn same_origin() -> Policy {
    Policy::custom(|attempt| {
        let same = attempt.previous().first().is_some_and(|first| first.origin() == attempt.url().origin());
        if same && attempt.previous().len() <= MAX_REDIRECTS { attempt.follow() } else { attempt.stop() }
    })
}

async fn lookup(url: &Url) -> Result<Vec<IpAddr>, std::io::Error> {
    let name = url.host_str().unwrap_or_default().to_owned();
    let port = url.port_or_known_default().unwrap_or(443);
    let looking = tokio::net::lookup_host((name, port));
    let found =
        tokio::time::timeout(REQUEST_TIMEOUT, looking).await.map_err(|_| std::io::ErrorKind::TimedOut)??;
    Ok(found.map(|address| address.ip()).collect())
}

/// The host with its port, for messages.
pub(crate) fn host(url: &Url) -> String {
    let name = url.host_str().unwrap_or("the address");
    url.port().map_or_else(|| name.to_owned(), |port| format!("{name}:{port}"))
}

/// Says that a host answered with an HTTP error status.
pub(crate) fn http_status(host: &str, status: u16) -> UserText {
    message!("error.auth.cause.httpStatus", host = host, status = status.to_string()).into()
}

fn private(host: &str) -> HttpError {
    HttpError::Forbidden(message!("error.auth.cause.private", host = host).into())
}

/// Describes an error of the HTTP client without the URL, which may contain secrets and is named by the
/// message around it.
fn network_error(url: &Url, error: reqwest::Error) -> HttpError {
    let error = error.without_url();
    let host = host(url);
    if error.is_timeout() {
        let seconds = REQUEST_TIMEOUT.as_secs().to_string();
        return HttpError::Network(
            message!("error.auth.cause.timedOut", host = host, seconds = seconds).into(),
        );
    }
    let mut last: &dyn std::error::Error = &error;
    while let Some(source) = last.source() {
        last = source;
    }
    HttpError::Network(
        message!("error.auth.cause.unreachable", host = host, reason = last.to_string()).into(),
    )
}

/// Describes what is wrong with a document, without its content.
fn describe_json_error(error: &serde_json::Error) -> Message {
    let line = error.line().to_string();
    match error.classify() {
        serde_json::error::Category::Data => message!("error.auth.cause.badField", line = line),
        _ => message!("error.auth.cause.noJson", line = line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn web(private: bool) -> AuthHttpClient {
        AuthHttpClient { private, follows_redirects: true, clients: Mutex::default() }
    }

    #[test]
    fn checks_allowed_addresses() {
        for (address, public, own) in [
            ("https://id.example/token", true, true),
            ("https://1.1.1.1/", true, true),
            ("http://id.example/", false, false),
            ("http://192.168.0.1/", false, false),
            ("https://192.168.0.1/", false, true),
            ("https://[fd00::1]/", false, true),
            ("https://169.254.169.254/", false, true),
            ("http://127.0.0.1:1/", false, true),
            ("http://localhost/", false, true),
            ("https://localhost/", false, true),
            ("http://localhost./", false, true),
            ("https://localhost./", false, true),
            ("http://id.localhost:1/", false, true),
            ("https://id.localhost/", false, true),
            ("http://[::ffff:127.0.0.1]/", false, true),
            ("https://[::ffff:127.0.0.1]/", false, true),
            ("http://localhost.evil.example/", false, false),
            ("https://user@id.example/", false, false),
            ("https://id.example/#part", false, false),
            ("file:///etc/passwd", false, false),
            ("javascript:alert(1)", false, false),
        ] {
            let url = Url::parse(address).unwrap();
            assert_eq!(web(false).check(&url).is_ok(), public, "{address}");
            assert_eq!(web(true).check(&url).is_ok(), own, "{address}");
        }
    }

    #[tokio::test]
    async fn detects_private_servers() {
        for (address, private) in [
            ("http://localhost:1/mcp", true),
            ("https://10.0.0.1/mcp", true),
            ("https://[::1]/mcp", true),
            ("https://1.1.1.1/mcp", false),
        ] {
            assert_eq!(AuthHttpClient::of(&Url::parse(address).unwrap()).await.private, private, "{address}");
        }
    }

    /// These names must not depend on a resolver: what is sent to them isn't encrypted.
    #[tokio::test]
    async fn names_below_localhost_lead_to_this_machine() {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let serving = tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    assert_ne!(stream.read_buf(&mut head).await.unwrap(), 0);
                }
                let response = b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\nconnection: close\r\n\r\ntrue";
                stream.write_all(response).await.unwrap();
            }
        });
        for name in ["localhost", "localhost.", "no-such-name.localhost", "a.b.localhost.", "127.0.0.1"] {
            let url = Url::parse(&format!("http://{name}:{port}/")).unwrap();
            assert_eq!(web(true).get::<bool>(&url).await, Ok(true), "{name}");
        }
        serving.abort();
    }
}
