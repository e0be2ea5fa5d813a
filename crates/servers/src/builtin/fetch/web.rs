//! Fetches a web page. The page and all servers on the way are untrusted: each address is checked
//! before it is connected to, redirects are followed here and not by the HTTP client, and size and
//! time are limited regardless of what the server claims.
//!
//! Configured proxies are not used: a proxy would resolve names itself, which would make the
//! address check ineffective. On networks that reach the internet only through a proxy, pages
//! cannot be fetched.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_common::ip_address::literal;
use http::HeaderMap;
use http::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE, LOCATION};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, StatusCode};
use url::Url;

use super::address::{Checked, Lookup, Refused, Rule};
use super::{ToolFault, charset};
use crate::connection::foreign;

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

/// Limits of a fetch.
pub(super) struct Limits {
    /// Size of a page after decompression, in bytes.
    pub(super) bytes: usize,
    /// Time from the first look-up to the last byte.
    pub(super) whole: Duration,
    /// Time for establishing a connection.
    pub(super) connect: Duration,
    /// Number of redirects.
    pub(super) redirects: usize,
}

impl Default for Limits {
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
pub(super) struct Web {
    client: Result<Client, String>,
    rule: Rule,
    limits: Limits,
}

/// A fetched page.
pub(super) struct Answer {
    /// Its URL after redirects.
    pub(super) url: Url,
    pub(super) status: u16,
    /// The content type without parameters; empty if there is none.
    pub(super) content_type: String,
    pub(super) body: Body,
}

/// Content of a page.
pub(super) enum Body {
    Html(String),
    Text(String),
    /// Not text; the content is dropped.
    NotText {
        size: Option<u64>,
    },
}

impl Web {
    pub(super) fn new(rule: Rule, lookup: Arc<dyn Lookup>, limits: Limits) -> Self {
        let client = Client::builder()
            .user_agent(concat!("Gatehouse/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(limits.connect)
            .dns_resolver(Arc::new(Checked { rule, lookup }))
            .redirect(Policy::none())
            .referer(false)
            .no_proxy()
            // No connection is reused, so that each call resolves, checks and connects anew.
            .pool_max_idle_per_host(0)
            .build()
            .map_err(|error| foreign::network_fault(&error).text);
        Self { client, rule, limits }
    }

    /// Fetches a page.
    pub(super) async fn get(&self, address: &str) -> Result<Answer, ToolFault> {
        let whole = self.limits.whole;
        tokio::time::timeout(whole, self.follow(address)).await.unwrap_or_else(|_| {
            Err(ToolFault::said(format!(
                "The page did not come within {} seconds. Try again later.",
                whole.as_secs_f32()
            )))
        })
    }

    async fn follow(&self, address: &str) -> Result<Answer, ToolFault> {
        let client = self
            .client
            .as_ref()
            .map_err(|why| ToolFault::said(format!("The HTTP client cannot be made: {why}.")))?;
        let mut url = parse(address)?;
        for _ in 0..=self.limits.redirects {
            self.check(&url)?;
            let asked = client.get(url.clone()).header(ACCEPT, ACCEPTED).send().await;
            let response = asked.map_err(|error| failed(&url, &error))?;
            match location(&response) {
                Some(target) => url = redirected(&url, &target)?,
                None => return self.read(url, response).await,
            }
        }
        Err(ToolFault::said(format!(
            "The address leads on to another more than {} times, so it was given up.",
            self.limits.redirects
        )))
    }

    /// Checks a URL, including its host if that is an IP address. The addresses of host names are
    /// checked when they are resolved.
    fn check(&self, url: &Url) -> Result<(), ToolFault> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(ToolFault::said(format!(
                "Fetch gets addresses that begin with https:// or http:// and no {}: ones.",
                url.scheme()
            )));
        }
        if url.as_str().len() > LONGEST_URL {
            return Err(ToolFault::said(format!("An address has at most {LONGEST_URL} bytes.")));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(ToolFault::said(
                "Fetch takes no address with a user name or password in it. Leave them out.",
            ));
        }
        if !url.has_host() {
            return Err(ToolFault::said("The address names no server."));
        }
        match literal(url) {
            Some(address) if !(self.rule)(address) => {
                Err(ToolFault::said(Refused { name: None, address }.to_string()))
            }
            Some(_) | None => Ok(()),
        }
    }

    async fn read(&self, url: Url, mut response: Response) -> Result<Answer, ToolFault> {
        let status = response.status().as_u16();
        let said = header(response.headers(), &CONTENT_TYPE).unwrap_or_default();
        let content_type = said.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let form = Form::of(&content_type);
        let answer = |body| Answer { url: url.clone(), status, content_type: content_type.clone(), body };
        if form == Form::Other {
            return Ok(answer(Body::NotText { size: response.content_length() }));
        }
        // The HTTP client removes this header when it decompresses a response, so one that is left
        // names an unsupported encoding.
        if let Some(packed) = header(response.headers(), &CONTENT_ENCODING)
            && !packed.eq_ignore_ascii_case("identity")
        {
            return Err(ToolFault::said(format!("The server packed the page as \"{packed}\", unasked.")));
        }
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| failed(&url, &error))? {
            if bytes.len() + chunk.len() > self.limits.bytes {
                return Err(ToolFault::said(format!(
                    "The page is larger than {} KiB, which is the most that is read.",
                    self.limits.bytes / 1024
                )));
            }
            bytes.extend_from_slice(&chunk);
        }
        let charset = charset::parameter(&said);
        let form = if form == Form::Unsaid { Form::by_look(&bytes) } else { form };
        Ok(answer(match form {
            Form::Html => Body::Html(charset::decode(&bytes, charset.as_deref(), true)),
            Form::Text => Body::Text(charset::decode(&bytes, charset.as_deref(), false)),
            Form::Unsaid | Form::Other => Body::NotText { size: u64::try_from(bytes.len()).ok() },
        }))
    }
}

/// How the content of a page is treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Html,
    Text,
    Unsaid,
    Other,
}

impl Form {
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

fn parse(address: &str) -> Result<Url, ToolFault> {
    Url::parse(address.trim()).map_err(|error| {
        ToolFault::said(format!(
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

fn redirected(from: &Url, target: &str) -> Result<Url, ToolFault> {
    let url = from.join(target).map_err(|error| {
        ToolFault::said(format!("{from} leads on to an address that cannot be read: {error}."))
    })?;
    if from.scheme() == "https" && url.scheme() == "http" {
        return Err(ToolFault::said(format!(
            "{from} leads on to {url}, which is not encrypted, so it was not followed. Ask for that address itself if it is meant."
        )));
    }
    Ok(url)
}

fn failed(url: &Url, error: &reqwest::Error) -> ToolFault {
    if let Some(refused) = Refused::within(error) {
        return ToolFault::said(refused.to_string());
    }
    let why = foreign::network_fault(error).text;
    ToolFault::said(if error.is_connect() {
        format!("{url} cannot be reached: {why}. Fetch connects directly, without a proxy.")
    } else {
        format!("{url} could not be fetched: {why}.")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_do_not_leave_encryption() {
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
    fn forms_follow_from_types_and_looks() {
        let table = [
            ("text/html", Form::Html),
            ("application/xhtml+xml", Form::Html),
            ("text/markdown", Form::Text),
            ("application/json", Form::Text),
            ("application/ld+json", Form::Text),
            ("application/rss+xml", Form::Text),
            ("application/pdf", Form::Other),
            ("image/png", Form::Other),
            ("application/octet-stream", Form::Other),
            ("", Form::Unsaid),
        ];
        for (content_type, expected) in table {
            assert_eq!(Form::of(content_type), expected, "{content_type}");
        }
        assert_eq!(Form::by_look(b" <!DOCTYPE HTML><p>x"), Form::Html);
        assert_eq!(Form::by_look(b"<html lang=en>"), Form::Html);
        assert_eq!(Form::by_look("häh?".as_bytes()), Form::Text);
        assert_eq!(Form::by_look(b"\x7fELF\0"), Form::Other);
        assert_eq!(Form::by_look(b"\x89PNG"), Form::Other);
    }
}
