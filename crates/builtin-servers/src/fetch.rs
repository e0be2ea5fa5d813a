//! The built-in server `Fetch`: returns one web page as text.
//!
//! Security: it must never reach an address outside the public internet, unless the user has
//! allowed that for this server; `web` and `address` ensure this. It keeps no state between calls.

mod address;
mod charset;
mod html;
mod web;

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_common::ip_address::is_public;
use serde_json::{Map, Value, json};

use crate::tool::{ToolAccess, ToolError, ToolOutput, reject_unknown, schema, text_argument, tool};
use address::{AddressRule, SystemLookup};
use web::{FetchLimits, FetchedPage, PageBody, WebClient};

/// Default number of characters to return.
const DEFAULT_CHARS: u64 = 20_000;
/// Largest number of characters that may be requested.
const MAX_CHARS: u64 = 100_000;

pub(super) struct Fetch {
    web: WebClient,
}

impl Fetch {
    /// `allow_private` permits every address, including those of this machine.
    pub(super) fn new(allow_private: bool) -> Self {
        let rule: AddressRule = if allow_private { |_| true } else { is_public };
        Self { web: WebClient::new(rule, Arc::new(SystemLookup), FetchLimits::default()) }
    }
}

/// Downloads small files from the public internet for Gatehouse itself, under the rules for addresses that `Fetch` has,
/// whatever the user allowed that server. Only https; nothing of the user is sent.
pub struct PublicDownloads {
    web: WebClient,
}

impl PublicDownloads {
    /// At most so many bytes each, within so much time.
    #[must_use]
    pub fn new(bytes: usize, whole: Duration) -> Self {
        let limits = FetchLimits { bytes, whole, ..FetchLimits::default() };
        Self { web: WebClient::new(is_public, Arc::new(SystemLookup), limits) }
    }

    /// The bytes at an address, asked for as `accepted`. The error says for logs why there are none.
    pub async fn get(&self, address: &str, accepted: &'static str) -> Result<Vec<u8>, String> {
        // A redirect to an address without encryption is refused as it is for `Fetch`.
        if !address.starts_with("https://") {
            return Err("The address has to begin with https://.".to_owned());
        }
        self.web.download(address, accepted).await.map_err(|error| error.to_string())
    }
}

pub(super) fn tools() -> Vec<Value> {
    let mut fetch = tool(
        "fetch",
        "Fetch a web page",
        "Gets one web page as readable text. HTML becomes Markdown; JSON and other text is given as it is.",
        ToolAccess::Reads,
        schema(
            json!({
                "url": { "type": "string", "description": "The address; it begins with https:// or http://." },
                "max_chars": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": MAX_CHARS,
                    "default": DEFAULT_CHARS,
                    "description": "How many characters to give at most.",
                },
                "start": {
                    "type": "integer",
                    "minimum": 0,
                    "default": 0,
                    "description": "How many characters to leave out first, to go on where the last answer ended.",
                },
                "raw": {
                    "type": "boolean",
                    "default": false,
                    "description": "Whether to give HTML as it is.",
                },
            }),
            &["url"],
        ),
    );
    if let Some(hint) = fetch.pointer_mut("/annotations/openWorldHint") {
        *hint = Value::Bool(true);
    }
    vec![fetch]
}

pub(super) async fn run(
    tool: &str,
    arguments: &Map<String, Value>,
    fetch: &Fetch,
) -> Result<ToolOutput, ToolError> {
    if tool != "fetch" {
        return Err(ToolError::NoSuchTool);
    }
    reject_unknown(arguments, &["url", "max_chars", "start", "raw"])?;
    let url = text_argument(arguments, "url")?;
    let part = TextRange {
        start: number(arguments, "start", 0..=u64::MAX)?.unwrap_or(0),
        most: number(arguments, "max_chars", 1..=MAX_CHARS)?.unwrap_or(DEFAULT_CHARS),
    };
    let raw = match arguments.get("raw") {
        None | Some(Value::Null) => false,
        Some(Value::Bool(raw)) => *raw,
        Some(_) => return Err(ToolError::message("The argument \"raw\" is true or false.")),
    };
    let answer = fetch.web.get(url).await?;
    // Converting a large page takes a while.
    tokio::task::spawn_blocking(move || render_page(answer, &part, raw))
        .await
        .map_err(|_| ToolError::message("The page could not be read as text."))
}

/// An optional argument that is a whole number in this range.
fn number(
    arguments: &Map<String, Value>,
    name: &str,
    range: RangeInclusive<u64>,
) -> Result<Option<u64>, ToolError> {
    let (least, most) = (range.start(), range.end());
    match arguments.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match value.as_u64().filter(|number| range.contains(number)) {
            Some(number) => Ok(Some(number)),
            None if *most == u64::MAX => Err(ToolError::message(format!(
                "The argument \"{name}\" has to be a whole number, {least} or more."
            ))),
            None => Err(ToolError::message(format!(
                "The argument \"{name}\" has to be a whole number from {least} to {most}."
            ))),
        },
    }
}

/// The requested part of a text, in characters.
struct TextRange {
    start: u64,
    most: u64,
}

/// A part of a text.
struct TextSlice<'a> {
    text: &'a str,
    /// Start of the next part; `None` if this is the last one.
    next: Option<u64>,
    /// Length of the whole text in characters.
    whole: u64,
}

impl TextRange {
    fn of<'a>(&self, text: &'a str) -> TextSlice<'a> {
        let end = self.start.saturating_add(self.most);
        let (mut from, mut to, mut whole) = (text.len(), text.len(), 0);
        for (at, _) in text.char_indices() {
            if whole == self.start {
                from = at;
            }
            if whole == end {
                to = at;
            }
            whole += 1;
        }
        TextSlice { text: text.get(from..to).unwrap_or_default(), next: (end < whole).then_some(end), whole }
    }
}

fn render_page(answer: FetchedPage, part: &TextRange, raw: bool) -> ToolOutput {
    let FetchedPage { url, status, content_type, body } = answer;
    let (title, whole) = match body {
        PageBody::Html(source) if !raw => {
            let page = html::read(&source, &url);
            (page.title, page.text)
        }
        PageBody::Html(text) | PageBody::Text(text) => (None, text),
        PageBody::NotText { size } => return not_text(url.as_str(), status, &content_type, size),
    };
    let cut = part.of(&whole);
    let mut head = Vec::new();
    head.extend(title.iter().map(|title| format!("Title: {title}")));
    head.push(format!("Address: {url}"));
    if !(200..300).contains(&status) {
        head.push(format!("The server answered with the status {status}."));
    }
    let remark = match cut.next {
        Some(next) => Some(format!(
            "[These are the characters {} to {next} of {}. Ask again with \"start\": {next} for more.]",
            part.start, cut.whole
        )),
        None if cut.whole == 0 => Some("[There is no text on this page.]".to_owned()),
        None if cut.text.is_empty() => {
            Some(format!("[The page has {} characters, so there is nothing more.]", cut.whole))
        }
        None => None,
    };
    let text = [Some(&*head.join("\n")), Some(cut.text), remark.as_deref()]
        .into_iter()
        .flatten()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("\n\n");
    let mut data = Map::new();
    data.insert("url".to_owned(), url.as_str().into());
    data.insert("status".to_owned(), status.into());
    data.insert("contentType".to_owned(), content_type.into());
    if let Some(title) = title {
        data.insert("title".to_owned(), title.into());
    }
    data.insert("text".to_owned(), cut.text.into());
    data.insert("truncated".to_owned(), cut.next.is_some().into());
    if let Some(next) = cut.next {
        data.insert("nextStart".to_owned(), next.into());
    }
    ToolOutput { text, structured: Some(Value::Object(data)) }
}

fn not_text(url: &str, status: u16, content_type: &str, size: Option<u64>) -> ToolOutput {
    let what = if content_type.is_empty() { "of no known type" } else { content_type };
    let length = size.map_or_else(|| "of unknown size".to_owned(), |size| format!("{size} bytes"));
    let mut data = json!({
        "url": url,
        "status": status,
        "contentType": content_type,
        "text": "",
        "truncated": false,
    });
    if let (Some(size), Some(data)) = (size, data.as_object_mut()) {
        data.insert("size".to_owned(), size.into());
    }
    ToolOutput {
        text: format!("{url} is no text ({what}, {length}), so it is not given."),
        structured: Some(data),
    }
}

#[cfg(test)]
mod tests;
