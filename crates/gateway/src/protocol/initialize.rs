//! Results in which an endpoint describes itself: `initialize` and `server/discover`. The endpoint for all servers is
//! Gatehouse; that of one server says what the server says.

use bytes::Bytes;
use gatehouse_mcp_wire::raw::{Members, object, raw};
use gatehouse_mcp_wire::tasks::TASKS_EXTENSION;
use gatehouse_tools::{ServerDescription, ServerSelection, Viewer};
use serde_json::json;
use serde_json::value::RawValue;

use crate::protocol::withheld;
use crate::revision::Revision;
use crate::tool_service::ToolService;

/// Instructions for the model (`instructions`).
const INSTRUCTIONS: &str = "These tools belong to MCP servers that the user runs behind Gatehouse, a permission \
    gateway. A call may wait until the user has looked at it and allowed it; that can take a while and is no \
    error. If a result says that Gatehouse still waits for the user, call the same tool again with exactly the \
    same arguments. If a result says that the user refused, the tool is not broken: do not repeat the call or \
    look for a way around it, but take the user's reason into account, or ask the user how to go on.";

/// Longest instructions of one server that are passed on where all servers are served, and of all servers together, in
/// characters. They are in each conversation of the client.
const MAX_SERVER_INSTRUCTIONS: usize = 2_000;
const MAX_ALL_INSTRUCTIONS: usize = 16_000;

/// The capability `tasks` where all servers are served. Which tasks a client has, Gatehouse knows itself.
const ALL_TASKS: &str = r#"{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}"#;

/// How an endpoint describes itself.
pub(crate) struct EndpointDescription {
    /// Without the tasks of 2025-11-25. The extension for tasks is there if there are such tasks.
    capabilities: Box<RawValue>,
    /// The capability `tasks`, if there are tasks.
    tasks: Option<Box<RawValue>>,
    server_info: Box<RawValue>,
    instructions: Option<String>,
}

fn gatehouse_info() -> serde_json::Value {
    json!({ "name": "Gatehouse", "version": env!("CARGO_PKG_VERSION") })
}

impl EndpointDescription {
    /// The description of the endpoint for these servers; `None` if there is no such server any more.
    pub(crate) fn of(
        tool_service: &dyn ToolService,
        viewer: &Viewer,
        servers: &ServerSelection,
    ) -> Option<Self> {
        let described = tool_service.descriptions(viewer, servers);
        match servers {
            ServerSelection::All => Some(Self::of_all(&described)),
            ServerSelection::One(_) => described.into_iter().next().map(Self::of_one),
        }
    }

    fn of_all(servers: &[ServerDescription]) -> Self {
        let mut capabilities = json!({
            "tools": { "listChanged": true },
            "resources": { "listChanged": true, "subscribe": true },
            "prompts": { "listChanged": true },
        });
        for optional in ["completions", "logging"] {
            if servers.iter().any(|server| declares(&server.capabilities, optional)) {
                capabilities[optional] = json!({});
            }
        }
        if servers.iter().any(|server| server.has_tasks_extension) {
            capabilities["extensions"] = json!({ TASKS_EXTENSION: {} });
        }
        Self {
            capabilities: raw(capabilities.to_string()),
            tasks: servers.iter().any(|server| server.has_tasks).then(|| raw(ALL_TASKS.to_owned())),
            server_info: raw(gatehouse_info().to_string()),
            instructions: Some(joined_instructions(servers)),
        }
    }

    fn of_one(server: ServerDescription) -> Self {
        let fallback = || raw(json!({ "name": server.name, "version": "" }).to_string());
        Self {
            capabilities: if server.has_tasks_extension {
                withheld::without_tasks(&server.capabilities).into_owned()
            } else {
                let rest = withheld::without_tasks_extension(&server.capabilities);
                withheld::without_tasks(&rest).into_owned()
            },
            tasks: if server.has_tasks { member(&server.capabilities, "tasks") } else { None },
            server_info: server.server_info.unwrap_or_else(fallback),
            instructions: server.instructions,
        }
    }

    /// The result of `initialize`.
    pub(crate) fn initialize(&self, agreed: Revision) -> Bytes {
        let capabilities = withheld::without_tasks_extension(&self.capabilities);
        let capabilities = match &self.tasks {
            Some(tasks) if agreed.has_tasks() => with_member(&capabilities, "tasks", tasks),
            Some(_) | None => capabilities.get().to_owned(),
        };
        format!(
            r#"{{"protocolVersion":"{}","capabilities":{},"serverInfo":{}{}}}"#,
            agreed.as_str(),
            capabilities,
            self.server_info,
            self.instructions_member()
        )
        .into()
    }

    /// The result of `server/discover`.
    pub(crate) fn discover(&self) -> Bytes {
        format!(
            r#"{{"resultType":"complete","supportedVersions":["{}"],"capabilities":{}{},"ttlMs":{DISCOVER_TTL_MS},"cacheScope":"private","_meta":{{"io.modelcontextprotocol/serverInfo":{}}}}}"#,
            Revision::STATELESS.as_str(),
            self.capabilities,
            self.instructions_member(),
            self.server_info
        )
        .into()
    }

    fn instructions_member(&self) -> String {
        match &self.instructions {
            Some(instructions) => format!(r#","instructions":{}"#, json!(instructions)),
            None => String::new(),
        }
    }
}

/// How long a client of the stateless revision may cache what an endpoint says of itself, in milliseconds. Servers
/// come and go, and with them capabilities.
const DISCOVER_TTL_MS: u32 = 60_000;

/// Gatehouse's own instructions, and those of each server under its name. A text that is too long is cut, and so is the
/// whole. Each line of a server is quoted, so that none of them passes for what Gatehouse or another server says.
fn joined_instructions(servers: &[ServerDescription]) -> String {
    let mut all = INSTRUCTIONS.to_owned();
    let mut room = MAX_ALL_INSTRUCTIONS;
    for server in servers {
        let Some(instructions) = server.instructions.as_deref().map(quoted_lines) else { continue };
        let text: String = instructions.chars().take(room.min(MAX_SERVER_INSTRUCTIONS)).collect();
        if text.is_empty() {
            continue;
        }
        room -= text.chars().count();
        let is_cut = text.len() < instructions.len();
        all.push_str(&format!(
            "\n\nThe server “{}” says about its own tools:\n{text}{}",
            server.name,
            if is_cut { "…" } else { "" }
        ));
    }
    all
}

/// A text with `> ` before each of its lines, by whatever character a reader may end a line; empty if there is no text.
fn quoted_lines(text: &str) -> String {
    let is_line_end = |c: char| {
        matches!(
            c,
            '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}'
        )
    };
    // No more than can be used: a server may send megabytes.
    let text: String = text.trim().chars().take(MAX_SERVER_INSTRUCTIONS).collect();
    if text.is_empty() {
        return String::new();
    }
    let lines = text.replace("\r\n", "\n");
    let lines = lines.split(is_line_end).map(|line| format!("> {line}"));
    lines.collect::<Vec<_>>().join("\n")
}

fn declares(capabilities: &RawValue, name: &str) -> bool {
    member(capabilities, name).is_some_and(|declared| declared.get().starts_with('{'))
}

fn member(capabilities: &RawValue, name: &str) -> Option<Box<RawValue>> {
    Members::of(capabilities).ok()?.get(name).map(ToOwned::to_owned)
}

/// Capabilities with one more, which they lack.
fn with_member(capabilities: &RawValue, name: &str, value: &RawValue) -> String {
    let members = Members::of(capabilities).unwrap_or_default();
    object(members.iter().chain([(name, value)]))
}

/// The result at the graceful end of `subscriptions/listen`.
pub(crate) fn listen_ended(subscription: &str) -> Bytes {
    format!(
        r#"{{"resultType":"complete","_meta":{{"io.modelcontextprotocol/subscriptionId":{subscription},"io.modelcontextprotocol/serverInfo":{}}}}}"#,
        gatehouse_info()
    )
    .into()
}
