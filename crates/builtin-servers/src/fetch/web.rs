//! Fetches a web page. The page and all servers on the way are untrusted: each address is checked
//! before it is connected to, redirects are followed here and not by the HTTP client, and size and
//! time are limited regardless of what the server claims.
//!
//! Configured proxies are not used: a proxy would resolve names itself, which would make the
//! address check ineffective. On networks that reach the internet only through a proxy, pages
//! cannot be fetched.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_common::bounded_body::{BodyTooLarge, BoundedBody};
use gatehouse_common::ip_address::ip_literal;
use gatehouse_mcp_client::classify_network_error;
use http::HeaderMap;
use http::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE, LOCATION};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, StatusCode};
use url::Url;

use super::address::{AddressRefused, AddressRule, CheckedResolver, Lookup};
use super::charset;
use crate::tool::ToolError;

/// Longest URL that is accepted, in bytes.
const LONGEST_URL: usize = 8 * 1024;
const ACCEPTED: &str = "text/html, application/xhtml+xml, text/*;q=0.9, application/json;q=0.9, */*;q=0.5";
/// Content types that are text although they don't begin with `text/`.
const TEXT_TYPES: &[&str] = &[
    "application/json",
    "application/javascript",
    "application/ecmascript",
    "application/x-javascript",
    "application/x-ndjson",
    "application/jsonl",
    "application/xml",
    "application/yaml",
    "application/x-yaml",
    "application/toml",
    "application/sql",
    "application/graphql",
    "application/x-sh",
];

pub(super) struct FetchLimits {
    /// Size of a page after decompression, in bytes.
    pub(super) bytes: usize,
    /// Time from the first look-up to the last byte.
    pub(super) whole: Duration,
    /// Time for establishing a connection.
    pub(super) connect: Duration,
    /// Number of redirects.
    pub(super) redirects: usize,
}

impl Default for FetchLimits {
    fn default() -> Self {
        Self {
            bytes: 5 * 1024 * 1024,
            whole: Duration::from_secs(30),
            connect: Duration::from_secs(10),
            redirects: 5,
        }
    }
}

/// Fetches pages.
pub(super) struct WebClient {
    client: Result<Client, String>,
    rule: AddressRule,
    limits: FetchLimits,
}

pub(super) struct FetchedPage {
    /// Its URL after redirects.
    pub(super) url: Url,
    pub(super) status: u16,
    /// The content type without parameters; empty if there is none.
    pub(super) content_type: String,
    pub(super) body: PageBody,
}

/// Content of a page.
pub(super) enum PageBody {
    Html(String),
    Text(String),
    /// Not text; the content is dropped.
    NotText {
        size: Option<u64>,
    },
}

impl WebClient {
    pub(super) fn new(rule: AddressRule, lookup: Arc<dyn Lookup>, limits: FetchLimits) -> Self {
        let client = Client::builder()
            .user_agent(concat!("Gatehouse/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(limits.connect)
            .dns_resolver(Arc::new(CheckedResolver { rule, lookup }))
            .redirect(Policy::none())
            .referer(false)
            .no_proxy()
            // No connection is reused, so that each call resolves, checks and connects anew.
            .pool_max_idle_per_host(0)
            .build()
            .map_err(|error| classify_network_error(&error).text.to_string());
        Self { client, rule, limits }
    }

    pub(super) async fn get(&self, address: &str) -> Result<FetchedPage, ToolError> {
        self.in_time(async {
            let (url, response) = self.follow(address, ACCEPTED).await?;
            self.read(url, response).await
        })
        .await
    }

    /// The bytes at an address, which are of whatever type.
    pub(super) async fn download(&self, address: &str, accepted: &'static str) -> Result<Vec<u8>, ToolError> {
        self.in_time(async {
            let (url, response) = self.follow(address, accepted).await?;
            if response.status() != StatusCode::OK {
                let status = response.status().as_u16();
                return Err(ToolError::message(format!("The server answered with the status {status}.")));
            }
            reject_packed(&response)?;
            self.bytes(&url, response).await
        })
        .await
    }

    async fn in_time<T>(&self, work: impl Future<Output = Result<T, ToolError>>) -> Result<T, ToolError> {
        let whole = self.limits.whole;
        tokio::time::timeout(whole, work).await.unwrap_or_else(|_| {
            Err(ToolError::message(format!(
                "The page did not come within {} seconds. Try again later.",
                whole.as_secs_f32()
            )))
        })
    }

    /// The response at an address, after redirects.
    async fn follow(&self, address: &str, accepted: &'static str) -> Result<(Url, Response), ToolError> {
        let client = self
            .client
            .as_ref()
            .map_err(|why| ToolError::message(format!("The HTTP client cannot be made: {why}.")))?;
        let mut url = parse(address)?;
        for _ in 0..=self.limits.redirects {
            self.check(&url)?;
            let asked = client.get(url.clone()).header(ACCEPT, accepted).send().await;
            let response = asked.map_err(|error| failed(&url, &error))?;
            match location(&response) {
                Some(target) => url = redirected(&url, &target)?,
                None => return Ok((url, response)),
            }
        }
        Err(ToolError::message(format!(
            "The address leads on to another more than {} times, so it was given up.",
            self.limits.redirects
        )))
    }

    /// Checks a URL, including its host if that is an IP address. The addresses of host names are
    /// checked when they are resolved.
    fn check(&self, url: &Url) -> Result<(), ToolError> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(ToolError::message(format!(
                "Fetch gets addresses that begin with https:// or http:// and no {}: ones.",
                url.scheme()
            )));
        }
        if url.as_str().len() > LONGEST_URL {
            return Err(ToolError::message(format!("An address has at most {LONGEST_URL} bytes.")));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(ToolError::message(
                "Fetch takes no address with a user name or password in it. Leave them out.",
            ));
        }
        if !url.has_host() {
            return Err(ToolError::message("The address names no server."));
        }
        match ip_literal(url) {
            Some(address) if !(self.rule)(address) => {
                Err(ToolError::message(AddressRefused { name: None, address }.to_string()))
            }
            Some(_) | None => Ok(()),
        }
    }

    async fn read(&self, url: Url, response: Response) -> Result<FetchedPage, ToolError> {
        let status = response.status().as_u16();
        let said = header(response.headers(), &CONTENT_TYPE).unwrap_or_default();
        let content_type = said.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let form = PageFormat::of(&content_type);
        let answer =
            |body| FetchedPage { url: url.clone(), status, content_type: content_type.clone(), body };
        if form == PageFormat::Other {
            return Ok(answer(PageBody::NotText { size: response.content_length() }));
        }
        reject_packed(&response)?;
        let bytes = self.bytes(&url, response).await?;
        let charset = charset::parameter(&said);
        let form = if form == PageFormat::Unsaid { PageFormat::by_look(&bytes) } else { form };
        Ok(answer(match form {
            PageFormat::Html => PageBody::Html(charset::decode(&bytes, charset.as_deref(), true)),
            PageFormat::Text => PageBody::Text(charset::decode(&bytes, charset.as_deref(), false)),
            PageFormat::Unsaid | PageFormat::Other => {
                PageBody::NotText { size: u64::try_from(bytes.len()).ok() }
            }
        }))
    }

    /// The body of a response, within the limit.
    async fn bytes(&self, url: &Url, mut response: Response) -> Result<Vec<u8>, ToolError> {
        let mut body = BoundedBody::new(self.limits.bytes);
        while let Some(chunk) = response.chunk().await.map_err(|error| failed(url, &error))? {
            body.push(chunk).map_err(|BodyTooLarge| {
                ToolError::message(format!(
                    "The page is larger than {} KiB, which is the most that is read.",
                    self.limits.bytes / 1024
                ))
            })?;
        }
        Ok(body.into_bytes().into())
    }
}

/// The HTTP client removes the header when it decompresses a response, so one that is left names an unsupported encoding.
fn reject_packed(response: &Response) -> Result<(), ToolError> {
    match header(response.headers(), &CONTENT_ENCODING) {
        Some(packed) if !packed.eq_ignore_ascii_case("identity") => {
            Err(ToolError::message(format!("The server packed the page as \"{packed}\", unasked.")))
        }
        _ => Ok(()),
    }
}

/// How the content of a page is treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PageFormat {
    Html,
    Text,
    Unsaid,
    Other,
}

impl PageFormat {
    fn of(content_type: &str) -> Self {
        match content_type {
            "text/html" | "application/xhtml+xml" => Self::Html,
            "" => Self::Unsaid,
            text if text.starts_with("text/") || TEXT_TYPES.contains(&text) => Self::Text,
            text if text.ends_with("+json") || text.ends_with("+xml") => Self::Text,
            _ => Self::Other,
        }
    }

    /// Guesses the form of a page without a content type.
    fn by_look(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => {
                let start: String = text.trim_start().chars().take(14).collect::<String>().to_lowercase();
                let is_html = start.starts_with("<!doctype html") || start.starts_with("<html");
                if is_html { Self::Html } else { Self::Text }
            }
            _ => Self::Other,
        }
    }
}

fn parse(address: &str) -> Result<Url, ToolError> {
    Url::parse(address.trim()).map_err(|error| {
        ToolError::message(format!(
            "The address cannot be read: {error}. It has to begin with https:// or http://."
        ))
    })
}

fn header(headers: &HeaderMap, name: &http::HeaderName) -> Option<String> {
    Some(String::from_utf8_lossy(headers.get(name)?.as_bytes()).trim().to_owned())
}

/// The target of a redirect.
fn location(response: &Response) -> Option<String> {
    match response.status() {
        StatusCode::MOVED_PERMANENTLY
        | StatusCode::FOUND
        | StatusCode::SEE_OTHER
        | StatusCode::TEMPORARY_REDIRECT
        | StatusCode::PERMANENT_REDIRECT => header(response.headers(), &LOCATION),
        _ => None,
    }
}

fn redirected(from: &Url, target: &str) -> Result<Url, ToolError> {
    let url = from.join(target).map_err(|error| {
        ToolError::message(format!("{from} leads on to an address that cannot be read: {error}."))
    })?;
    if from.scheme() == "https" && url.scheme() == "http" {
        return Err(ToolError::message(format!(
            "{from} leads on to {url}, which is not encrypted, so it was not followed. Ask for that address itself if it is meant."
        )));
    }
    Ok(url)
}

fn failed(url: &Url, error: &reqwest::Error) -> ToolError {
    if let Some(refused) = AddressRefused::find_in(error) {
        return ToolError::message(refused.to_string());
    }
    let why = classify_network_error(error).text;
    ToolError::message(if error.is_connect() {
        format!("{url} cannot be reached: {why}. Fetch connects directly, without a proxy.")
    } else {
        format!("{url} could not be fetched: {why}.")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_redirect_from_https_to_http() {
        let table = [
            ("http://a.example/x/y", "z", Some("http://a.example/x/z")),
            ("http://a.example/", "https://b.example/", Some("https://b.example/")),
            ("https://a.example/", "//b.example/c", Some("https://b.example/c")),
            ("https://a.example/", "http://a.example/", None),
            ("https://a.example/", "http://[", None),
        ];
        for (from, target, expected) in table {
            let to = redirected(&Url::parse(from).unwrap(), target).ok();
            assert_eq!(to.as_ref().map(Url::as_str), expected, "{from} -> {target}");
        }
    }

    #[test]
    fn detects_page_format() {
        let table = [
            ("text/html", PageFormat::Html),
            ("application/xhtml+xml", PageFormat::Html),
            ("text/markdown", PageFormat::Text),
            ("application/json", PageFormat::Text),
            ("application/ld+json", PageFormat::Text),
            ("application/rss+xml", PageFormat::Text),
            ("application/pdf", PageFormat::Other),
            ("image/png", PageFormat::Other),
            ("application/octet-stream", PageFormat::Other),
            ("", PageFormat::Unsaid),
        ];
        for (content_type, expected) in table {
            assert_eq!(PageFormat::of(content_type), expected, "{content_type}");
        }
        assert_eq!(PageFormat::by_look(b" <!DOCTYPE HTML><p>x"), PageFormat::Html);
        assert_eq!(PageFormat::by_look(b"<html lang=en>"), PageFormat::Html);
        assert_eq!(PageFormat::by_look("häh?".as_bytes()), PageFormat::Text);
        assert_eq!(PageFormat::by_look(b"\x7fELF\0"), PageFormat::Other);
        assert_eq!(PageFormat::by_look(b"\x89PNG"), PageFormat::Other);
    }
}
