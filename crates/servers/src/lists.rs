//! What a server offers: its lists, read page by page and item by item. An item that makes no sense
//! is left out and counted, never a reason to lose the others; the bytes of an item are kept as the
//! server wrote them.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::time::Duration;

use gatehouse_model::Generation;
use gatehouse_model::server::Counts;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::actor::link::{Link, LinkError, LinkRequest};
use crate::outgoing::{OutgoingParams, Reply};

/// No list has more pages than this.
const PAGES: usize = 1_000;

/// One tool as the server defined it.
#[derive(Clone)]
pub struct ToolDefinition {
    /// Its name.
    pub name: String,
    /// The whole definition, byte for byte.
    pub raw: Box<RawValue>,
}

impl fmt::Debug for ToolDefinition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolDefinition").field("name", &self.name).finish_non_exhaustive()
    }
}

/// What a server offers, as far as it is known. Kept while the server is not connected.
#[derive(Clone, Debug)]
pub struct Lists {
    /// The generation of the server that these lists are of.
    pub generation: Generation,
    /// Its tools.
    pub tools: Vec<ToolDefinition>,
    /// Its resources, each as the server wrote it.
    pub resources: Vec<Box<RawValue>>,
    /// Its resource templates, each as the server wrote it.
    pub resource_templates: Vec<Box<RawValue>>,
    /// Its prompts, each as the server wrote it.
    pub prompts: Vec<Box<RawValue>>,
    /// The capabilities that it declared: `{}` before the first connection.
    pub capabilities: Box<RawValue>,
    /// Its instructions for the model.
    pub instructions: Option<String>,
}

impl Lists {
    /// How many of each.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Counts {
            tools: count(self.tools.len()),
            resources: count(self.resources.len()),
            prompts: count(self.prompts.len()),
        }
    }
}

impl Default for Lists {
    fn default() -> Self {
        Self {
            generation: Generation::default(),
            tools: Vec::new(),
            resources: Vec::new(),
            resource_templates: Vec::new(),
            prompts: Vec::new(),
            capabilities: crate::json::empty_object(),
            instructions: None,
        }
    }
}

/// The capabilities that a server declared: what it can be asked (SRV-13).
#[derive(Clone, Debug, Default)]
pub(crate) struct Declared {
    capabilities: serde_json::Map<String, serde_json::Value>,
}

impl Declared {
    /// Reads them; what cannot be read counts as not declared.
    pub(crate) fn read(raw: &RawValue) -> Self {
        Self { capabilities: serde_json::from_str(raw.get()).unwrap_or_default() }
    }

    /// Whether the server said that it can be asked this method.
    pub(crate) fn cover(&self, method: &str) -> bool {
        let has = |name: &str| self.capabilities.get(name).is_some_and(serde_json::Value::is_object);
        match method {
            "resources/subscribe" | "resources/unsubscribe" => self
                .capabilities
                .get("resources")
                .and_then(|resources| resources.get("subscribe"))
                .is_some_and(|subscribe| subscribe == true),
            "completion/complete" => has("completions"),
            "logging/setLevel" => has("logging"),
            other => match other.split_once('/').map(|(family, _)| family) {
                Some(family @ ("tools" | "resources" | "prompts")) => has(family),
                Some(_) | None => true,
            },
        }
    }
}

/// One list of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum ListKind {
    Tools,
    Resources,
    ResourceTemplates,
    Prompts,
}

impl ListKind {
    /// All of them; the first that a server declared is the one that it has to answer.
    pub(crate) const ALL: [Self; 4] = [Self::Tools, Self::Resources, Self::Prompts, Self::ResourceTemplates];

    pub(crate) fn method(self) -> &'static str {
        match self {
            Self::Tools => "tools/list",
            Self::Resources => "resources/list",
            Self::ResourceTemplates => "resources/templates/list",
            Self::Prompts => "prompts/list",
        }
    }

    fn member(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Resources => "resources",
            Self::ResourceTemplates => "resourceTemplates",
            Self::Prompts => "prompts",
        }
    }

    /// Puts a fetched list in its place.
    pub(crate) fn put(self, lists: &mut Lists, items: Vec<Box<RawValue>>) -> Shortfall {
        match self {
            Self::Tools => {
                let (tools, shortfall) = read_tools(items);
                lists.tools = tools;
                return shortfall;
            }
            Self::Resources => lists.resources = items,
            Self::ResourceTemplates => lists.resource_templates = items,
            Self::Prompts => lists.prompts = items,
        }
        Shortfall::default()
    }
}

/// What was left out of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shortfall {
    /// Items that make no sense.
    pub(crate) skipped: usize,
    /// Why, for the first of them.
    pub(crate) why: Option<&'static str>,
}

/// A list as it was fetched.
#[derive(Debug)]
pub(crate) struct Fetched {
    pub(crate) items: Vec<Box<RawValue>>,
    /// Why it may not be whole.
    pub(crate) cut: Option<&'static str>,
}

/// Why a list could not be fetched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FetchError {
    /// The server answered with an error; it lives.
    #[error("it answered {method} with an error: {error}")]
    Refused { method: &'static str, error: String },
    /// The server answered with something else than a list; it lives.
    #[error("its answer to {method} is no list")]
    NoList { method: &'static str },
    /// No answer.
    #[error(transparent)]
    Link(#[from] LinkError),
}

/// Fetches a list to its end: at most 1,000 pages, and no cursor twice.
pub(crate) async fn fetch(link: &dyn Link, kind: ListKind, page_limit: Duration) -> Result<Fetched, FetchError> {
    let method = kind.method();
    let mut items = Vec::new();
    let mut cursor: Option<String> = None;
    let mut seen = HashSet::new();
    for _ in 0..PAGES {
        let params = match &cursor {
            Some(cursor) => OutgoingParams::none().with_text("cursor", cursor),
            None => OutgoingParams::none(),
        };
        let page = match link.request(LinkRequest::own(method, params, page_limit)).await? {
            Reply::Result(page) => page,
            Reply::Error(error) => return Err(FetchError::Refused { method, error: error_text(&error) }),
        };
        let page = read_page(&page, kind.member()).ok_or(FetchError::NoList { method })?;
        items.extend(page.items.into_iter().map(ToOwned::to_owned));
        match page.next {
            None => return Ok(Fetched { items, cut: None }),
            Some(next) => {
                if !seen.insert(next.clone()) {
                    return Ok(Fetched { items, cut: Some("the server gave the same page mark twice") });
                }
                cursor = Some(next);
            }
        }
    }
    Ok(Fetched { items, cut: Some("the list has more than 1,000 pages") })
}

/// The message of a JSON-RPC error, short enough for a log.
pub(crate) fn error_text(error: &RawValue) -> String {
    #[derive(Deserialize)]
    struct Text {
        message: String,
    }
    match serde_json::from_str::<Text>(error.get()) {
        Ok(Text { message }) => message.chars().take(200).collect(),
        Err(_) => "without words".to_owned(),
    }
}

struct Page<'a> {
    items: Vec<&'a RawValue>,
    next: Option<String>,
}

fn read_page<'a>(page: &'a RawValue, member: &str) -> Option<Page<'a>> {
    let members: BTreeMap<Cow<'a, str>, &'a RawValue> = serde_json::from_str(page.get()).ok()?;
    let items: Vec<&RawValue> = serde_json::from_str(members.get(member)?.get()).ok()?;
    let next = members.get("nextCursor").and_then(|next| serde_json::from_str(next.get()).ok().flatten());
    Some(Page { items, next })
}

/// Keeps the tools that can be called: each has a name of its own and an object for an input schema.
fn read_tools(items: Vec<Box<RawValue>>) -> (Vec<ToolDefinition>, Shortfall) {
    let mut names = HashSet::new();
    let mut shortfall = Shortfall::default();
    let mut tools = Vec::with_capacity(items.len());
    for raw in items {
        match tool_name(&raw).and_then(|name| {
            names.insert(name.clone()).then_some(name).ok_or("its name is that of an earlier tool")
        }) {
            Ok(name) => tools.push(ToolDefinition { name, raw }),
            Err(why) => {
                shortfall.skipped += 1;
                shortfall.why.get_or_insert(why);
            }
        }
    }
    (tools, shortfall)
}

fn tool_name(raw: &RawValue) -> Result<String, &'static str> {
    #[derive(Deserialize)]
    struct Head<'a> {
        #[serde(borrow)]
        name: Option<&'a RawValue>,
        #[serde(borrow, rename = "inputSchema")]
        input_schema: Option<&'a RawValue>,
    }
    let head: Head<'_> = serde_json::from_str(raw.get()).map_err(|_| "it is no object")?;
    let name: String = head
        .name
        .and_then(|name| serde_json::from_str(name.get()).ok())
        .filter(|name: &String| !name.is_empty())
        .ok_or("it has no name")?;
    match head.input_schema.map(|schema| schema.get().trim_start()) {
        Some(schema) if schema.starts_with('{') => Ok(name),
        Some(_) => Err("its input schema is no object"),
        None => Err("it has no input schema"),
    }
}
