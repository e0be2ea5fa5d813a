//! Reads answers of the registry. An entry that can't be read is counted and left out: it never hides the others.

use gatehouse_common::invisible_chars::is_invisible;
use gatehouse_model::registry::{RegistryEntry, RegistryStatus};
use gatehouse_model::server::RegistrySource;
use serde_json::Value;
use url::Url;

use super::fields::Fields;
use super::options::{self, ParsedOption};

/// Most entries of an answer that are shown. The registry has been asked for fewer.
const MAX_ENTRIES: usize = 200;
/// Most options of an entry.
const MAX_OPTIONS: usize = 16;
const MAX_NAME_BYTES: usize = 200;
const MAX_VERSION_BYTES: usize = 255;
const MAX_TITLE_CHARS: usize = 100;
const MAX_DESCRIPTION_CHARS: usize = 500;
const MAX_URL_BYTES: usize = 2048;

/// What the registry itself says about a version.
const OFFICIAL: &str = "io.modelcontextprotocol.registry/official";

/// An answer with a list of entries.
#[derive(Debug, Default)]
pub(super) struct ParsedPage {
    pub(super) entries: Vec<ParsedEntry>,
    pub(super) next_cursor: Option<String>,
    pub(super) omitted: u32,
}

/// One version of an entry, with the recipes of its options in their order.
#[derive(Clone, Debug)]
pub(super) struct ParsedEntry {
    pub(super) view: RegistryEntry,
    pub(super) options: Vec<ParsedOption>,
}

impl ParsedEntry {
    pub(super) fn source(&self) -> RegistrySource {
        RegistrySource { name: self.view.name.clone(), version: self.view.version.clone() }
    }
}

/// Reads a list of entries; `None` if the answer is none.
pub(super) fn read_page(body: &[u8]) -> Option<ParsedPage> {
    let answer: Value = serde_json::from_slice(body).ok()?;
    let list = answer.get("servers")?.as_array()?;
    let mut page = ParsedPage::default();
    for value in list.iter().take(MAX_ENTRIES) {
        match entry(value) {
            Some(entry) => page.entries.push(entry),
            None => page.omitted += 1,
        }
    }
    let excess = u32::try_from(list.len().saturating_sub(MAX_ENTRIES)).unwrap_or(u32::MAX);
    page.omitted = page.omitted.saturating_add(excess);
    page.next_cursor = Fields::of(&answer).object("metadata").raw("nextCursor").map(str::to_owned);
    Some(page)
}

/// Reads the answer about one version.
pub(super) fn read_entry(body: &[u8]) -> Option<ParsedEntry> {
    entry(&serde_json::from_slice(body).ok()?)
}

fn entry(value: &Value) -> Option<ParsedEntry> {
    let fields = Fields::of(value);
    let server = fields.object("server");
    let official = fields.object("_meta").object(OFFICIAL);
    let name = server.raw("name").filter(|name| is_entry_name(name))?.to_owned();
    let version = server.raw("version").filter(|version| is_entry_version(version))?.to_owned();
    let packages = server.list("packages").iter().map(options::package);
    let remotes = server.list("remotes").iter().map(options::remote);
    let mut options: Vec<ParsedOption> = packages.chain(remotes).flatten().take(MAX_OPTIONS).collect();
    number_ids(&mut options);
    let view = RegistryEntry {
        name,
        title: server.shown("title", MAX_TITLE_CHARS),
        description: server.shown("description", MAX_DESCRIPTION_CHARS).unwrap_or_default(),
        version,
        is_latest: official.flag("isLatest"),
        status: match official.raw("status").or(server.raw("status")) {
            Some("deprecated") => RegistryStatus::Deprecated,
            Some("deleted") => RegistryStatus::Deleted,
            _ => RegistryStatus::Active,
        },
        status_message: official.shown("statusMessage", MAX_DESCRIPTION_CHARS),
        published_at: official.shown("publishedAt", 40),
        repository: server.object("repository").raw("url").and_then(web_page),
        website: server.raw("websiteUrl").and_then(web_page),
        options: options.iter().map(|option| option.view.clone()).collect(),
    };
    Some(ParsedEntry { view, options })
}

/// Gives options of the same name ids of their own.
fn number_ids(options: &mut [ParsedOption]) {
    for index in 0..options.len() {
        let (before, rest) = options.split_at_mut(index);
        if let Some(option) = rest.first_mut()
            && before.iter().any(|other| other.view.id == option.view.id)
        {
            option.view.id = format!("{}#{index}", option.view.id);
        }
    }
}

/// Whether a text is the name of an entry: a namespace and a name.
pub(crate) fn is_entry_name(name: &str) -> bool {
    let is_part = |part: &str, more: &str| {
        part.starts_with(|c: char| c.is_ascii_alphanumeric())
            && part.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c))
    };
    name.len() <= MAX_NAME_BYTES
        && name.split_once('/').is_some_and(|(space, name)| is_part(space, ".-") && is_part(name, "._-"))
}

/// Whether a text can be the version of an entry.
pub(crate) fn is_entry_version(version: &str) -> bool {
    !version.is_empty()
        && version.len() <= MAX_VERSION_BYTES
        && !version.contains(char::is_whitespace)
        && !version.chars().any(is_invisible)
}

/// An address that the browser may open.
fn web_page(text: &str) -> Option<String> {
    let url = Url::parse(text).ok().filter(|url| url.scheme() == "https" && url.has_host())?;
    let is_plain = url.username().is_empty() && url.password().is_none();
    (is_plain && url.as_str().len() <= MAX_URL_BYTES).then(|| url.into())
}
