//! HTTP requests to a registry. Answers are limited in size and time, no redirect is followed, and nothing is sent but the
//! request itself.

use std::time::Duration;

use gatehouse_common::bounded_body::{BodyTooLarge, BoundedBody};
use gatehouse_common::ip_address::{is_loopback, pinned_loopback};
use reqwest::header::{ACCEPT, ETAG, IF_NONE_MATCH};
use reqwest::redirect::Policy;
use reqwest::{Client, StatusCode};
use url::Url;

use super::address::host;
use super::error::RegistryError;

/// Limits of a request.
#[derive(Clone, Copy, Debug)]
pub struct RegistryLimits {
    /// Time for the whole request.
    pub whole: Duration,
    /// Time for connecting.
    pub connect: Duration,
    /// Size of an answer after decompression, in bytes.
    pub bytes: usize,
}

impl Default for RegistryLimits {
    fn default() -> Self {
        Self { whole: Duration::from_secs(20), connect: Duration::from_secs(10), bytes: 8 * 1024 * 1024 }
    }
}

/// An answer of the registry.
pub(super) enum HttpAnswer {
    /// What was known under the given tag still holds.
    Unchanged,
    New {
        body: Vec<u8>,
        etag: Option<String>,
    },
}

/// Gets a document. `etag` is the tag of a known answer.
pub(super) async fn get(
    url: &Url,
    etag: Option<&str>,
    limits: RegistryLimits,
) -> Result<HttpAnswer, RegistryError> {
    let client = client(url, limits).map_err(|error| network_error(url, &error, limits))?;
    let mut request = client.get(url.clone()).header(ACCEPT, "application/json");
    if let Some(etag) = etag {
        request = request.header(IF_NONE_MATCH, etag);
    }
    let mut response = request.send().await.map_err(|error| network_error(url, &error, limits))?;
    let status = response.status();
    if status == StatusCode::NOT_MODIFIED && etag.is_some() {
        return Ok(HttpAnswer::Unchanged);
    }
    if status.is_redirection() {
        return Err(RegistryError::Redirected { host: host(url) });
    }
    if status != StatusCode::OK {
        return Err(RegistryError::Status { host: host(url), status: status.as_u16() });
    }
    let etag = response.headers().get(ETAG).and_then(|tag| tag.to_str().ok()).map(str::to_owned);
    let mut body = BoundedBody::new(limits.bytes);
    while let Some(chunk) = response.chunk().await.map_err(|error| network_error(url, &error, limits))? {
        body.push(chunk).map_err(|BodyTooLarge| RegistryError::TooLarge { host: host(url) })?;
    }
    Ok(HttpAnswer::New { body: body.into_bytes().into(), etag })
}

/// A client for one request: they are rare, so that a pool of connections would be of no use.
fn client(url: &Url, limits: RegistryLimits) -> reqwest::Result<Client> {
    let mut builder = Client::builder()
        .user_agent(concat!("Gatehouse/", env!("CARGO_PKG_VERSION")))
        .timeout(limits.whole)
        .connect_timeout(limits.connect)
        .referer(false)
        .redirect(Policy::none());
    if is_loopback(url) {
        builder = builder.no_proxy();
        if let Some((domain, addresses)) = pinned_loopback(url) {
            builder = builder.resolve_to_addrs(domain, addresses);
        }
    }
    builder.build()
}

/// Describes an error of the HTTP client by its innermost cause.
fn network_error(url: &Url, error: &reqwest::Error, limits: RegistryLimits) -> RegistryError {
    let host = host(url);
    if error.is_timeout() {
        return RegistryError::TimedOut { host, seconds: limits.whole.as_secs().max(1) };
    }
    let mut last: &dyn std::error::Error = error;
    while let Some(source) = last.source() {
        last = source;
    }
    RegistryError::Unreachable { host, reason: last.to_string() }
}
