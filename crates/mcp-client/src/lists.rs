//! The lists of a server (tools, resources, prompts), read page by page and item by item. A
//! malformed item is skipped and counted; the others are kept. Items are stored byte for byte as
//! the server wrote them.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::time::Duration;

use gatehouse_common::invisible_chars::one_line;
use gatehouse_mcp_wire::tasks::{TASKS_EXTENSION, declares_extension};
use gatehouse_model::Generation;
use gatehouse_model::server::ServerCounts;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::bounds;
use crate::error::UpstreamError;
use crate::limit::CallLimit;
use crate::request::{RequestParams, RpcOutcome, UpstreamRequest};
use crate::server_connection::ServerConnection;

const PUBLIC: &str = "public";
const PRIVATE: &str = "private";

/// The revision whose core has tasks.
const TASKS_REVISION: &str = "2025-11-25";
/// The revision that has them as an extension.
const TASKS_EXTENSION_REVISION: &str = "2026-07-28";

/// One tool as the server defined it.
#[derive(Clone)]
pub struct ToolDefinition {
    pub name: String,
    /// The whole definition, byte for byte.
    pub raw: Box<RawValue>,
}

impl fmt::Debug for ToolDefinition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolDefinition").field("name", &self.name).finish_non_exhaustive()
    }
}

/// What a server says about caching one of its lists (2026-07-28, Caching).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheHints {
    /// For how long, in milliseconds.
    pub ttl_ms: u64,
    /// Who may share what is cached: `public` or `private`.
    pub scope: String,
}

impl CacheHints {
    /// Those of a list of which these are two parts.
    fn with(self, other: Self) -> Self {
        let scope = if self.scope == PUBLIC { other.scope } else { self.scope };
        Self { ttl_ms: self.ttl_ms.min(other.ttl_ms), scope }
    }
}

/// The known lists of a server. Kept while the server is not connected.
#[derive(Clone, Debug)]
pub struct ServerLists {
    /// The generation of the server that these lists belong to.
    pub generation: Generation,
    pub tools: Vec<ToolDefinition>,
    /// Resources as raw JSON.
    pub resources: Vec<Box<RawValue>>,
    /// Resource templates as raw JSON.
    pub resource_templates: Vec<Box<RawValue>>,
    /// Prompts as raw JSON.
    pub prompts: Vec<Box<RawValue>>,
    /// The declared capabilities; `{}` before the first connection.
    pub capabilities: Box<RawValue>,
    /// The server's instructions for the model.
    pub instructions: Option<String>,
    /// `serverInfo` as raw JSON, if the server sent it.
    pub server_info: Option<Box<RawValue>>,
    /// The revision that the server spoke on the connection that these lists were read from; empty before the first
    /// one.
    pub protocol: String,
    /// What the server says about caching its lists, where it says anything.
    pub caching: BTreeMap<ListKind, CacheHints>,
}

impl ServerLists {
    /// The declared capabilities as flags.
    pub fn declared(&self) -> gatehouse_model::server::DeclaredCapabilities {
        let declared = Declared::read(&self.capabilities);
        gatehouse_model::server::DeclaredCapabilities {
            tools: declared.covers("tools/list"),
            resources: declared.covers("resources/list"),
            subscribe: declared.covers("resources/subscribe"),
            prompts: declared.covers("prompts/list"),
            completions: declared.covers("completion/complete"),
            logging: declared.covers("logging/setLevel"),
        }
    }

    /// Whether the server runs tool calls as tasks, of the one revision that has them.
    #[must_use]
    pub fn has_tasks(&self) -> bool {
        self.protocol == TASKS_REVISION && Declared::read(&self.capabilities).covers("tasks/result")
    }

    /// Whether the server has tasks by the extension of the newest revision.
    #[must_use]
    pub fn has_tasks_extension(&self) -> bool {
        self.protocol == TASKS_EXTENSION_REVISION && declares_extension(&self.capabilities)
    }

    /// Whether no connection has filled them yet. A server that declares nothing has nothing to read either.
    #[must_use]
    pub fn is_unread(&self) -> bool {
        self.capabilities.get() == "{}"
    }

    #[must_use]
    pub fn counts(&self) -> ServerCounts {
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        ServerCounts {
            tools: count(self.tools.len()),
            resources: count(self.resources.len()),
            prompts: count(self.prompts.len()),
        }
    }
}

impl Default for ServerLists {
    fn default() -> Self {
        Self {
            generation: Generation::default(),
            tools: Vec::new(),
            resources: Vec::new(),
            resource_templates: Vec::new(),
            prompts: Vec::new(),
            capabilities: crate::json::empty_object(),
            instructions: None,
            server_info: None,
            protocol: String::new(),
            caching: BTreeMap::new(),
        }
    }
}

/// The capabilities that a server declared, which determine the methods that may be sent to it
/// (SRV-13).
#[derive(Clone, Debug, Default)]
pub struct Declared {
    capabilities: serde_json::Map<String, serde_json::Value>,
}

impl Declared {
    /// Parses capabilities; what cannot be parsed counts as not declared.
    pub fn read(raw: &RawValue) -> Self {
        Self { capabilities: serde_json::from_str(raw.get()).unwrap_or_default() }
    }

    /// Whether the server declared that it announces changes of a list.
    pub fn notifies_changes(&self, kind: ListKind) -> bool {
        let family = kind.method().split_once('/').and_then(|(family, _)| self.capabilities.get(family));
        family.and_then(|family| family.get("listChanged")).is_some_and(|tells| tells == true)
    }

    /// Whether the capability `tasks` has this object.
    fn has_tasks(&self, pointer: &str) -> bool {
        let tasks = self.capabilities.get("tasks").and_then(|tasks| tasks.pointer(pointer));
        tasks.is_some_and(serde_json::Value::is_object)
    }

    fn has_tasks_extension(&self) -> bool {
        let extension = self.capabilities.get("extensions").and_then(|all| all.get(TASKS_EXTENSION));
        extension.is_some_and(serde_json::Value::is_object)
    }

    /// Whether the server declared that it supports a method.
    pub fn covers(&self, method: &str) -> bool {
        let has = |name: &str| self.capabilities.get(name).is_some_and(serde_json::Value::is_object);
        match method {
            "resources/subscribe" | "resources/unsubscribe" => self
                .capabilities
                .get("resources")
                .and_then(|resources| resources.get("subscribe"))
                .is_some_and(|subscribe| subscribe == true),
            "completion/complete" => has("completions"),
            "logging/setLevel" => has("logging"),
            "tasks/result" => self.has_tasks("/requests/tools/call"),
            "tasks/get" => self.has_tasks("/requests/tools/call") || self.has_tasks_extension(),
            "tasks/cancel" => self.has_tasks("/cancel") || self.has_tasks_extension(),
            "tasks/update" => self.has_tasks_extension(),
            other => match other.split_once('/').map(|(family, _)| family) {
                Some(family @ ("tools" | "resources" | "prompts")) => has(family),
                Some(_) | None => true,
            },
        }
    }
}

/// One list of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ListKind {
    Tools,
    Resources,
    ResourceTemplates,
    Prompts,
}

impl ListKind {
    /// All lists. The first one that a server declares is the one that it must answer to count as
    /// connected.
    pub const ALL: [Self; 4] = [Self::Tools, Self::Resources, Self::Prompts, Self::ResourceTemplates];

    pub fn method(self) -> &'static str {
        match self {
            Self::Tools => "tools/list",
            Self::Resources => "resources/list",
            Self::ResourceTemplates => "resources/templates/list",
            Self::Prompts => "prompts/list",
        }
    }

    /// The list that a method requests.
    pub fn of_method(method: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.method() == method)
    }

    /// An empty list, as a result.
    pub fn empty(self) -> Box<RawValue> {
        crate::json::raw(&serde_json::json!({ self.member(): [] }))
    }

    fn member(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Resources => "resources",
            Self::ResourceTemplates => "resourceTemplates",
            Self::Prompts => "prompts",
        }
    }

    /// Copies a list from `before`, if it belongs to the same generation.
    pub fn carry_over(self, before: &ServerLists, lists: &mut ServerLists) {
        if before.generation != lists.generation {
            return;
        }
        match self {
            Self::Tools => lists.tools.clone_from(&before.tools),
            Self::Resources => lists.resources.clone_from(&before.resources),
            Self::ResourceTemplates => lists.resource_templates.clone_from(&before.resource_templates),
            Self::Prompts => lists.prompts.clone_from(&before.prompts),
        }
    }

    /// Stores a fetched list.
    pub fn set_items(self, lists: &mut ServerLists, items: Vec<Box<RawValue>>) -> SkippedItems {
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
        SkippedItems::default()
    }
}

/// What was left out of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SkippedItems {
    /// Number of malformed items.
    pub skipped: usize,
    /// The reason, for the first of them.
    pub why: Option<&'static str>,
}

#[derive(Debug)]
pub struct FetchedList {
    pub items: Vec<Box<RawValue>>,
    /// Why it may be incomplete.
    pub cut: Option<&'static str>,
    /// Its time-to-live according to the server (2026-07-28, Caching); the shortest of its pages.
    pub fresh_for: Option<Duration>,
    /// What its server says about caching it; the strictest of its pages.
    pub caching: Option<CacheHints>,
}

/// Why a list could not be fetched.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FetchError {
    /// The server answered with an error, so the connection works.
    #[error("it answered {method} with an error: {error}")]
    Refused { method: &'static str, error: String },
    /// The server answered with something other than a list, so the connection works.
    #[error("its answer to {method} is no list")]
    NoList { method: &'static str },
    /// No response.
    #[error(transparent)]
    ServerConnection(#[from] UpstreamError),
}

/// Fetches a list completely, or as far as the limits allow. A repeated cursor ends the list.
pub async fn fetch(
    connection: &dyn ServerConnection,
    kind: ListKind,
    page_limit: Duration,
) -> Result<FetchedList, FetchError> {
    let mut fetched = FetchedList { items: Vec::new(), cut: None, fresh_for: None, caching: None };
    let pages = fetch_pages(connection, kind, page_limit, &mut fetched);
    match tokio::time::timeout(bounds::LIST_TIME, pages).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => return Err(error),
        Err(_) => fetched.cut = Some("the list takes more than two minutes to read"),
    }
    Ok(fetched)
}

async fn fetch_pages(
    connection: &dyn ServerConnection,
    kind: ListKind,
    page_limit: Duration,
    fetched: &mut FetchedList,
) -> Result<(), FetchError> {
    let method = kind.method();
    let redactor = connection.redactor();
    let mut cursor: Option<String> = None;
    let mut seen = HashSet::new();
    let mut bytes = 0;
    for _ in 0..bounds::LIST_PAGES {
        let params = match &cursor {
            Some(cursor) => RequestParams::none().with_text("cursor", cursor),
            None => RequestParams::none(),
        };
        let request = UpstreamRequest::new(method, params);
        let page = match connection.request(request, CallLimit::total(page_limit)).await? {
            RpcOutcome::Result(page) => page,
            RpcOutcome::Error(error) => {
                return Err(FetchError::Refused { method, error: error_text(&error) });
            }
        };
        let page = redactor.raw(&page);
        let page = read_page(&page, kind.member()).ok_or(FetchError::NoList { method })?;
        fetched.fresh_for = fetched.fresh_for.into_iter().chain(page.fresh_for).min();
        fetched.caching = fetched.caching.take().into_iter().chain(page.caching).reduce(CacheHints::with);
        for item in page.items {
            bytes += item.get().len();
            if fetched.items.len() >= bounds::LIST_ITEMS {
                fetched.cut = Some("the list has more than 20,000 items");
                return Ok(());
            }
            if bytes > bounds::LIST_BYTES {
                fetched.cut = Some("the list is larger than 32 MiB");
                return Ok(());
            }
            fetched.items.push(item.to_owned());
        }
        match page.next {
            None => return Ok(()),
            Some(next) => {
                if !seen.insert(next.clone()) {
                    fetched.cut = Some("the server gave the same page mark twice");
                    return Ok(());
                }
                cursor = Some(next);
            }
        }
    }
    fetched.cut = Some("the list has more than 1,000 pages");
    Ok(())
}

/// The message of a JSON-RPC error, shortened to one line for display.
pub fn error_text(error: &RawValue) -> String {
    #[derive(Deserialize)]
    struct ErrorMessage {
        message: String,
    }
    match serde_json::from_str::<ErrorMessage>(error.get()) {
        Ok(ErrorMessage { message }) => one_line(&message, 200),
        Err(_) => "without words".to_owned(),
    }
}

struct ListPage<'a> {
    items: Vec<&'a RawValue>,
    next: Option<String>,
    fresh_for: Option<Duration>,
    caching: Option<CacheHints>,
}

fn read_page<'a>(page: &'a RawValue, member: &str) -> Option<ListPage<'a>> {
    let members: BTreeMap<Cow<'a, str>, &'a RawValue> = serde_json::from_str(page.get()).ok()?;
    let items: Vec<&RawValue> = serde_json::from_str(members.get(member)?.get()).ok()?;
    let next = members.get("nextCursor").and_then(|next| serde_json::from_str(next.get()).ok().flatten());
    let millis = members.get("ttlMs").and_then(|ttl| serde_json::from_str::<u64>(ttl.get()).ok());
    let scope = members.get("cacheScope").and_then(|scope| serde_json::from_str::<String>(scope.get()).ok());
    let caching = millis.map(|ttl_ms| {
        let scope = scope.filter(|scope| scope == PUBLIC).unwrap_or_else(|| PRIVATE.to_owned());
        CacheHints { ttl_ms, scope }
    });
    Some(ListPage { items, next, fresh_for: millis.map(Duration::from_millis), caching })
}

/// Keeps the tools that can be called: each needs a unique name, and an object as input schema if it has one.
fn read_tools(items: Vec<Box<RawValue>>) -> (Vec<ToolDefinition>, SkippedItems) {
    let mut names = HashSet::new();
    let mut shortfall = SkippedItems::default();
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
    struct ToolHead<'a> {
        #[serde(borrow)]
        name: Option<&'a RawValue>,
        #[serde(borrow, rename = "inputSchema")]
        input_schema: Option<&'a RawValue>,
    }
    let head: ToolHead<'_> = serde_json::from_str(raw.get()).map_err(|_| "it is no object")?;
    let name: String = head
        .name
        .and_then(|name| serde_json::from_str(name.get()).ok())
        .filter(|name: &String| !name.is_empty())
        .ok_or("it has no name")?;
    match head.input_schema.map(|schema| schema.get().trim_start()) {
        Some(schema) if schema.starts_with('{') => Ok(name),
        // It takes any arguments.
        Some("null") | None => Ok(name),
        Some(_) => Err("its input schema is no object"),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use gatehouse_mcp_wire::ProtocolFamily;
    use gatehouse_model::BoxFuture;
    use gatehouse_model::status::{FailureKind, ServerInfo};
    use serde_json::json;

    use super::*;
    use crate::connection::{Handshake, LifecycleHint};
    use crate::json;
    use crate::server_connection::ConnectionEnd;

    /// Answers page requests by applying a function to the cursor.
    struct PagedServer<F> {
        handshake: Handshake,
        page: F,
        asked: AtomicUsize,
    }

    fn pages<F: Fn(Option<String>) -> RpcOutcome + Send + Sync>(page: F) -> PagedServer<F> {
        let handshake = Handshake {
            protocol: String::new(),
            protocol_family: ProtocolFamily::Stateful,
            info: ServerInfo::default(),
            capabilities: json::empty_object(),
            raw_info: None,
            lifecycle: LifecycleHint::Auto,
        };
        PagedServer { handshake, page, asked: AtomicUsize::new(0) }
    }

    impl<F: Fn(Option<String>) -> RpcOutcome + Send + Sync> ServerConnection for PagedServer<F> {
        fn watch(&self, _: std::collections::BTreeSet<String>) {}

        fn set_log_level(&self, _: Option<gatehouse_model::server::LogLevel>) {}

        fn handshake(&self) -> &Handshake {
            &self.handshake
        }

        fn request(
            &self,
            request: UpstreamRequest,
            _: CallLimit,
        ) -> BoxFuture<'_, Result<RpcOutcome, UpstreamError>> {
            self.asked.fetch_add(1, Ordering::SeqCst);
            Box::pin(std::future::ready(Ok((self.page)(request.params.text("cursor")))))
        }

        fn closed(&self) -> BoxFuture<'_, ConnectionEnd> {
            Box::pin(std::future::ready(ConnectionEnd::Closed {
                kind: FailureKind::Unknown,
                reason: "".into(),
            }))
        }

        fn close(&self) -> BoxFuture<'_, ()> {
            Box::pin(std::future::ready(()))
        }
    }

    fn answer(value: &serde_json::Value) -> RpcOutcome {
        RpcOutcome::Result(json::raw(value))
    }

    async fn tools(connection: &dyn ServerConnection) -> Result<FetchedList, FetchError> {
        fetch(connection, ListKind::Tools, Duration::from_secs(1)).await
    }

    #[tokio::test]
    async fn fetches_all_pages() {
        let connection = pages(|cursor| {
            let number: u32 = cursor.map_or(0, |cursor| cursor.parse().unwrap());
            let next = if number < 4 { json!((number + 1).to_string()) } else { json!(null) };
            let scope = if number == 2 { "private" } else { "public" };
            let (ttl, tools) = (9 - number, json!([{ "name": number }]));
            answer(&json!({ "tools": tools, "nextCursor": next, "ttlMs": ttl, "cacheScope": scope }))
        });
        let fetched = tools(&connection).await.unwrap();
        assert_eq!(fetched.items.len(), 5);
        assert_eq!(fetched.cut, None);
        assert_eq!(fetched.fresh_for, Some(Duration::from_millis(5)), "the shortest of its pages");
        assert_eq!(fetched.caching, Some(CacheHints { ttl_ms: 5, scope: "private".to_owned() }));
    }

    #[tokio::test]
    async fn cuts_endless_list() {
        let circle = pages(|cursor| {
            let next = if cursor.as_deref() == Some("a") { "b" } else { "a" };
            answer(&json!({ "tools": [1], "nextCursor": next }))
        });
        let fetched = tools(&circle).await.unwrap();
        assert_eq!((fetched.items.len(), fetched.cut.is_some()), (3, true));

        let count = AtomicUsize::new(0);
        let endless = pages(|_| {
            let next = count.fetch_add(1, Ordering::SeqCst).to_string();
            answer(&json!({ "tools": [1], "nextCursor": next }))
        });
        let fetched = tools(&endless).await.unwrap();
        assert_eq!((fetched.items.len(), fetched.cut.is_some()), (bounds::LIST_PAGES, true));
        assert_eq!(endless.asked.load(Ordering::SeqCst), bounds::LIST_PAGES);
    }

    #[tokio::test]
    async fn reports_invalid_list() {
        for page in [json!({}), json!([]), json!({ "tools": {} }), json!(null)] {
            let connection = pages(|_| answer(&page));
            assert_eq!(
                tools(&connection).await.unwrap_err(),
                FetchError::NoList { method: "tools/list" },
                "{page}"
            );
        }
        let connection =
            pages(|_| RpcOutcome::Error(json::raw(&json!({ "code": -1, "message": "not today" }))));
        let said = tools(&connection).await.unwrap_err().to_string();
        assert_eq!(said, "it answered tools/list with an error: not today");
    }

    #[test]
    fn malformed_tool_does_not_hide_others() {
        let text = r#"[
            {"name":"good","inputSchema":{"type":"object","b":1,"a":12345678901234567890123},"x-unknown":null},
            {"name":"no schema"}, {"name":"null schema","inputSchema":null}, {"name":"odd schema","inputSchema":[]}, {"inputSchema":{}},
            {"name":"","inputSchema":{}}, {"name":7,"inputSchema":{}}, "tool", null,
            {"name":"good","inputSchema":{},"description":"the same name again"},
            {"name":"also good","inputSchema":{},"icons":[{"sizes":3}],"annotations":"odd"}
        ]"#;
        let items: Vec<Box<RawValue>> = serde_json::from_str(text).unwrap();
        let mut lists = ServerLists::default();
        let shortfall = ListKind::Tools.set_items(&mut lists, items);
        let names: Vec<&str> = lists.tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["good", "no schema", "null schema", "also good"]);
        assert_eq!(shortfall, SkippedItems { skipped: 7, why: Some("its input schema is no object") });
        assert_eq!(
            lists.tools[0].raw.get(),
            r#"{"name":"good","inputSchema":{"type":"object","b":1,"a":12345678901234567890123},"x-unknown":null}"#,
            "byte for byte"
        );
    }

    #[test]
    fn covers_only_declared_capabilities() {
        let some = r#"{"tools":{},"resources":{"subscribe":false},"prompts":null,"logging":{},"odd":[1]}"#;
        let subscribing = r#"{"resources":{"subscribe":true},"completions":{}}"#;
        let tasks = r#"{"tasks":{"requests":{"tools":{"call":{}}},"list":{}}}"#;
        let extension = r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;
        let table = [
            (some, "tools/call", true),
            (some, "tools/list", true),
            (some, "resources/read", true),
            (some, "resources/subscribe", false),
            (some, "prompts/get", false),
            (some, "completion/complete", false),
            (some, "logging/setLevel", true),
            (some, "ping", true),
            (subscribing, "resources/subscribe", true),
            (subscribing, "resources/unsubscribe", true),
            (subscribing, "completion/complete", true),
            (subscribing, "tools/call", false),
            (tasks, "tasks/get", true),
            (tasks, "tasks/result", true),
            (tasks, "tasks/cancel", false),
            (subscribing, "tasks/get", false),
            (extension, "tasks/get", true),
            (extension, "tasks/update", true),
            (extension, "tasks/cancel", true),
            (extension, "tasks/result", false),
            (tasks, "tasks/update", false),
            ("[]", "tools/call", false),
            ("{}", "server/discover", true),
        ];
        for (capabilities, method, expected) in table {
            let raw: Box<RawValue> = serde_json::from_str(capabilities).unwrap();
            assert_eq!(Declared::read(&raw).covers(method), expected, "{capabilities} {method}");
        }
    }
}
