//! Requests to providers over HTTP. No redirect is followed, since the key would go along. Plain http never goes through a
//! proxy, and only to addresses of this computer or a private network, whatever a resolver says.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use futures::Stream;
use gatehouse_common::bounded_body::{BodyTooLarge, BoundedBody};
use gatehouse_common::ip_address::{is_loopback, is_public, pinned_loopback};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{CONTENT_TYPE, HeaderMap, RETRY_AFTER};
use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder, Response, StatusCode};
use url::Url;

use super::answer::AnswerDecoder;
use super::error::ModelError;
use super::error_body::{ReportedError, read_error};
use super::request::WireRequest;
use super::{ModelLimits, ProviderEndpoint, address};
use crate::exchange::ModelEvent;

/// Most of the body of an error that is read, in bytes.
const MAX_ERROR_BYTES: usize = 64 * 1024;
/// "Site is overloaded", which Anthropic answers with.
const OVERLOADED: u16 = 529;

/// One HTTP client for each kind of address.
#[derive(Clone, Debug)]
pub(super) struct HttpClients {
    /// This computer.
    loopback: Client,
    /// Plain http in a private network.
    private: Client,
    /// https anywhere.
    https: Client,
}

impl HttpClients {
    pub(super) fn new(connect: Duration) -> Result<Self, ModelError> {
        let build = |builder: ClientBuilder| {
            builder
                .user_agent(concat!("Gatehouse/", env!("CARGO_PKG_VERSION")))
                .connect_timeout(connect)
                .tcp_keepalive(Duration::from_secs(60))
                .referer(false)
                .redirect(Policy::none())
                // A compressed stream would wait for full blocks.
                .no_gzip()
                .build()
                .map_err(|error| ModelError::Internal { reason: innermost(&error) })
        };
        Ok(Self {
            loopback: build(Client::builder().no_proxy().dns_resolver(Arc::new(LoopbackResolver)))?,
            private: build(Client::builder().no_proxy().dns_resolver(Arc::new(PrivateResolver)))?,
            https: build(Client::builder())?,
        })
    }

    fn of(&self, url: &Url) -> &Client {
        if is_loopback(url) {
            &self.loopback
        } else if url.scheme() == "http" {
            &self.private
        } else {
            &self.https
        }
    }

    /// Sends a request. The answer has a status of success.
    pub(super) async fn send(
        &self,
        endpoint: &ProviderEndpoint,
        wire: &WireRequest,
        limits: ModelLimits,
    ) -> Result<Response, ModelError> {
        let provider = || endpoint.name.clone();
        if !address::is_allowed(&endpoint.base_url) {
            return Err(ModelError::BadAddress { provider: provider() });
        }
        let client = self.of(&wire.url);
        let request = match &wire.body {
            Some(body) => client.post(wire.url.clone()).body(body.clone()),
            None => client.get(wire.url.clone()),
        };
        let sending = request.headers(wire.headers.clone()).send();
        let response = tokio::time::timeout(limits.first_byte, sending)
            .await
            .map_err(|_| timed_out(endpoint, limits.first_byte))?
            .map_err(|error| network_error(endpoint, &error, limits))?;
        let status = response.status();
        if status.is_redirection() {
            return Err(ModelError::Redirected { provider: provider() });
        }
        if status.is_success() {
            return Ok(response);
        }
        let retry_after = retry_after(response.headers(), SystemTime::now());
        let body = read_start(response, limits).await;
        let reported = read_error(&body, endpoint.key.as_ref());
        Err(refused(endpoint, status, retry_after, reported))
    }
}

/// The error of an HTTP error status.
fn refused(
    endpoint: &ProviderEndpoint,
    status: StatusCode,
    retry_after: Option<Duration>,
    reported: ReportedError,
) -> ModelError {
    let provider = endpoint.name.clone();
    let is_busy = matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE)
        || status.as_u16() == OVERLOADED;
    if is_busy && !reported.is_permanent {
        let retry_after = retry_after.or(reported.retry_after);
        return ModelError::Busy {
            provider,
            status: Some(status.as_u16()),
            said: reported.said,
            retry_after,
        };
    }
    ModelError::Rejected { provider, status: status.as_u16(), said: reported.said }
}

/// The events of an answer. Ends after the first error and after [`ModelEvent::Ended`].
pub(super) fn events(
    response: Response,
    endpoint: &ProviderEndpoint,
    limits: ModelLimits,
) -> impl Stream<Item = Result<ModelEvent, ModelError>> + Send + use<> {
    let is_json = response
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok())
        .is_some_and(|kind| kind.trim_start().starts_with("application/json"));
    let reading = Reading {
        decoder: AnswerDecoder::new(endpoint, limits),
        response: Some(response),
        endpoint: endpoint.clone(),
        limits,
        is_json,
    };
    futures::stream::unfold(reading, |mut reading| async move {
        let event = reading.next().await?;
        if event.is_err() {
            reading.response = None;
        }
        Some((event, reading))
    })
}

/// An answer that is being read.
struct Reading {
    decoder: AnswerDecoder,
    /// None once there is nothing more to read.
    response: Option<Response>,
    endpoint: ProviderEndpoint,
    limits: ModelLimits,
    /// Whether it is one document instead of a stream.
    is_json: bool,
}

impl Reading {
    async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        if let Some(response) = self.response.take_if(|_| self.is_json) {
            return Some(Err(error_document(response, &self.endpoint, self.limits).await));
        }
        loop {
            if let Some(event) = self.decoder.next_event() {
                return Some(event);
            }
            if self.decoder.is_over() {
                self.response = None;
            }
            let response = self.response.as_mut()?;
            match next_chunk(response, &self.endpoint, self.limits).await {
                Ok(Some(chunk)) => self.decoder.push(&chunk),
                Ok(None) => {
                    self.response = None;
                    self.decoder.finish();
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// Some servers answer a failed request for a stream with a status of success and an error document.
async fn error_document(response: Response, endpoint: &ProviderEndpoint, limits: ModelLimits) -> ModelError {
    let provider = endpoint.name.clone();
    let reported = read_error(&read_start(response, limits).await, endpoint.key.as_ref());
    match reported.said.filter(|_| reported.is_structured) {
        Some(said) => ModelError::Failed { provider, said: Some(said) },
        None => ModelError::Unreadable { provider, reason: "it is no event stream".to_owned() },
    }
}

/// A whole document.
pub(super) async fn document(
    mut response: Response,
    endpoint: &ProviderEndpoint,
    limits: ModelLimits,
    max_bytes: usize,
) -> Result<Bytes, ModelError> {
    let mut body = BoundedBody::new(max_bytes);
    while let Some(chunk) = next_chunk(&mut response, endpoint, limits).await? {
        body.push(chunk).map_err(|BodyTooLarge| ModelError::too_long(&endpoint.name, max_bytes))?;
    }
    Ok(body.into_bytes())
}

/// The start of a body, as much as comes.
async fn read_start(mut response: Response, limits: ModelLimits) -> Vec<u8> {
    let mut start = Vec::new();
    while start.len() < MAX_ERROR_BYTES {
        match tokio::time::timeout(limits.connect, response.chunk()).await {
            Ok(Ok(Some(chunk))) => start.extend_from_slice(&chunk),
            _ => break,
        }
    }
    start.truncate(MAX_ERROR_BYTES);
    start
}

async fn next_chunk(
    response: &mut Response,
    endpoint: &ProviderEndpoint,
    limits: ModelLimits,
) -> Result<Option<Bytes>, ModelError> {
    match tokio::time::timeout(limits.silence, response.chunk()).await {
        Ok(Ok(chunk)) => Ok(chunk),
        // The connection broke: what was wrong below it helps nobody.
        Ok(Err(_)) => Err(ModelError::CutShort { provider: endpoint.name.clone() }),
        Err(_) => Err(timed_out(endpoint, limits.silence)),
    }
}

fn timed_out(endpoint: &ProviderEndpoint, limit: Duration) -> ModelError {
    ModelError::TimedOut { provider: endpoint.name.clone(), seconds: limit.as_secs().max(1) }
}

fn network_error(endpoint: &ProviderEndpoint, error: &reqwest::Error, limits: ModelLimits) -> ModelError {
    if error.is_timeout() {
        return timed_out(endpoint, limits.connect);
    }
    ModelError::Unreachable { provider: endpoint.name.clone(), reason: innermost(error) }
}

/// The innermost cause, which names neither the URL nor what was sent.
fn innermost(error: &reqwest::Error) -> String {
    let mut last: &dyn std::error::Error = error;
    while let Some(source) = last.source() {
        last = source;
    }
    last.to_string()
}

/// How long a provider wants to be left alone: milliseconds (OpenAI), seconds, or a date.
fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |value: Option<&reqwest::header::HeaderValue>| Some(value?.to_str().ok()?.trim().to_owned());
    let exact = text(headers.get("retry-after-ms")).and_then(|value| value.parse().ok());
    if let Some(milliseconds) = exact {
        return Some(Duration::from_millis(milliseconds));
    }
    let value = text(headers.get(RETRY_AFTER))?;
    if let Ok(seconds) = value.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(&value).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

/// Finds only this computer, under the names that are reserved for it.
struct LoopbackResolver;

impl Resolve for LoopbackResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let found = Url::parse(&format!("http://{}/", name.as_str()))
            .ok()
            .and_then(|url| pinned_loopback(&url).map(|(_, addresses)| addresses));
        Box::pin(async move { addresses(found.unwrap_or_default().iter().copied()) })
    }
}

/// Finds only addresses that are not public.
struct PrivateResolver;

impl Resolve for PrivateResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            addresses(found.filter(|address| !is_public(address.ip())))
        })
    }
}

fn addresses(
    found: impl Iterator<Item = SocketAddr>,
) -> Result<Addrs, Box<dyn std::error::Error + Send + Sync>> {
    let found: Vec<SocketAddr> = found.collect();
    if found.is_empty() {
        return Err("the name leads to no address in a private network".into());
    }
    Ok(Box::new(found.into_iter()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_how_long_to_wait() {
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        for (name, value, expected) in [
            ("retry-after", "7", Some(Duration::from_secs(7))),
            ("retry-after", " 0 ", Some(Duration::ZERO)),
            ("retry-after", "Sun, 06 Nov 1994 08:49:40 GMT", Some(Duration::from_secs(3))),
            ("retry-after", "Sun, 06 Nov 1994 08:49:30 GMT", Some(Duration::ZERO)),
            ("retry-after", "soon", None),
            ("retry-after", "-1", None),
            ("retry-after-ms", "250", Some(Duration::from_millis(250))),
            ("x-other", "1", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(reqwest::header::HeaderName::from_static(name), value.parse().unwrap());
            assert_eq!(retry_after(&headers, now), expected, "{name}: {value}");
        }
    }

    #[tokio::test]
    async fn resolvers_find_no_public_address() {
        let local = LoopbackResolver.resolve("app.localhost".parse().unwrap()).await.unwrap();
        assert!(local.into_iter().all(|address| address.ip().is_loopback()));
        assert!(LoopbackResolver.resolve("example.com".parse().unwrap()).await.is_err());
        let private = PrivateResolver.resolve("localhost".parse().unwrap()).await.unwrap();
        assert!(private.into_iter().all(|address| !is_public(address.ip())));
        assert!(PrivateResolver.resolve("8.8.8.8".parse().unwrap()).await.is_err());
    }
}
