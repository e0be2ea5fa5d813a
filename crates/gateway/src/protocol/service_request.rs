//! Parses what a client requests from an upstream server: calling a tool, reading or subscribing to a
//! resource, getting a prompt, or completing an argument (PERM-18), and about tasks that its calls became. Resolves the
//! server that it goes to; whether it is permitted is decided behind [`ToolService`].

use std::borrow::Cow;
use std::sync::Arc;

use gatehouse_mcp_wire::raw::Members;
use gatehouse_model::BoxFuture;
use gatehouse_tools::{
    AccessCall, AccessKind, CallResponse, Caller, CancelReason, ClientPeer, ClientPresence, ProgressCallback,
    ResolvedTarget, ServerSelection, TaskCall, TaskRequest, ToolCall, Viewer,
};
use hyper::StatusCode;
use tokio_util::sync::CancellationToken;

use crate::protocol::calls;
use crate::protocol::request::RpcRequest;
use crate::protocol::rpc_error::HttpRpcError;
use crate::revision::Revision;
use crate::session::resource_subscriptions::{ResourceRef, ResourceSubscription};
use crate::tool_service::ToolService;

/// One upstream request.
#[derive(Debug)]
pub(crate) enum ServiceRequest {
    /// `tools/call`
    Tool(ToolCall),
    /// Any other access.
    Access(AccessCall),
    /// `tasks/…`
    Task(TaskCall),
}

impl ServiceRequest {
    /// Parses a request of a viewer; `None` if the method isn't one that goes to a server.
    pub(crate) fn parse(
        request: &RpcRequest<'_>,
        viewer: &Viewer,
        revision: Revision,
        cancel: CancellationToken,
    ) -> Result<Option<Self>, HttpRpcError> {
        let (params, servers) = (request.params, request.origin.servers);
        let tool_service = &*request.state.tool_service;
        // `name_member` is the member of the params that names the target.
        let access =
            |kind: AccessKind, target: ResolvedTarget, exposed_name: Cow<'_, str>, name_member: &str| {
                AccessCall {
                    rest: params
                        .iter()
                        .filter(|(name, _)| *name != name_member && *name != "_meta")
                        .map(|(name, value)| (name.into(), value.to_owned()))
                        .collect(),
                    meta: params.get("_meta").map(ToOwned::to_owned),
                    cancel: cancel.clone(),
                    ..AccessCall::new(target.server, kind, target.target, exposed_name.into_owned())
                }
            };
        Ok(Some(match request.method {
            "tools/call" if params.get("task").is_some() && !revision.has_tasks() => {
                return Err(invalid_params("A call can run as a task only in the revision 2025-11-25."));
            }
            "tools/call" => Self::Tool(calls::parse_tool_call(params, servers, cancel.clone())?),
            method @ ("resources/read" | "resources/subscribe") => {
                let uri = text(params, "uri")?;
                let target = tool_service
                    .resource(viewer, servers, &uri)
                    .ok_or_else(|| resource_not_found(&uri, revision))?;
                let is_read = method == "resources/read";
                let kind = if is_read { AccessKind::ReadResource } else { AccessKind::Subscribe };
                Self::Access(access(kind, target, uri, "uri"))
            }
            "prompts/get" => {
                let name = text(params, "name")?;
                let target = tool_service
                    .prompt(viewer, servers, &name)
                    .ok_or_else(|| invalid_params("There is no such prompt."))?;
                Self::Access(access(AccessKind::GetPrompt, target, name, "name"))
            }
            "completion/complete" => {
                let invalid_reference = || {
                    invalid_params(
                        "The member `ref` must be a reference of the type ref/prompt or ref/resource.",
                    )
                };
                let reference =
                    params.get("ref").and_then(|raw| Members::of(raw).ok()).ok_or_else(invalid_reference)?;
                let (kind, target, name) = match reference.text("type").as_deref() {
                    Some("ref/prompt") => {
                        let name = text(&reference, "name")?;
                        (AccessKind::CompletePrompt, tool_service.prompt(viewer, servers, &name), name)
                    }
                    Some("ref/resource") => {
                        let uri = text(&reference, "uri")?;
                        (AccessKind::CompleteResource, tool_service.template(viewer, servers, &uri), uri)
                    }
                    Some(_) | None => return Err(invalid_reference()),
                };
                let target =
                    target.ok_or_else(|| invalid_params("There is no such prompt or resource template."))?;
                if !target.has_completions {
                    // Rejected here, before an approval request is made.
                    return Err(invalid_params(format!(
                        "The server “{}” completes no arguments.",
                        target.server_name
                    )));
                }
                let member = if kind == AccessKind::CompletePrompt { "name" } else { "uri" };
                let ref_members = reference
                    .iter()
                    .filter(|(name, _)| !["type", member].contains(name))
                    .map(|(name, value)| (name.into(), value.to_owned()))
                    .collect();
                Self::Access(AccessCall { ref_members, ..access(kind, target, name, "ref") })
            }
            method => match task_request(method, params, revision)? {
                Some(task_request) => {
                    let server = match servers {
                        ServerSelection::All => None,
                        ServerSelection::One(server) => Some(server.clone()),
                    };
                    Self::Task(TaskCall {
                        server,
                        request: task_request,
                        client_peer: None,
                        presence: None,
                        cancel,
                        cancel_reason: CancelReason::default(),
                    })
                }
                None => return Ok(Self::custom(request, method, cancel)),
            },
        }))
    }

    /// A request that the protocol doesn't have. It is for one server, so it exists only at that server's own endpoint.
    fn custom(request: &RpcRequest<'_>, method: &str, cancel: CancellationToken) -> Option<Self> {
        let ServerSelection::One(server) = request.origin.servers else { return None };
        if !is_custom(method) {
            return None;
        }
        let members = request.params.iter().filter(|(name, _)| *name != "_meta");
        Some(Self::Access(AccessCall {
            rest: members.map(|(name, value)| (name.into(), value.to_owned())).collect(),
            meta: request.params.get("_meta").map(ToOwned::to_owned),
            cancel,
            ..AccessCall::new(server.clone(), AccessKind::Custom, method.to_owned(), method.to_owned())
        }))
    }

    /// Sets the reason of a cancellation, which is known when the client cancels.
    pub(crate) fn set_cancel_reason(&mut self, reason: CancelReason) {
        match self {
            Self::Tool(call) => call.cancel_reason = reason,
            Self::Access(call) => call.cancel_reason = reason,
            Self::Task(call) => call.cancel_reason = reason,
        }
    }

    /// Sets the progress sink.
    pub(crate) fn set_progress_callback(&mut self, progress: ProgressCallback) {
        match self {
            Self::Tool(call) => call.progress = Some(progress),
            Self::Access(call) => call.progress = Some(progress),
            // A task reports its progress with the token of its call.
            Self::Task(_) => {}
        }
    }

    /// Sets the signal for whether the client still waits.
    pub(crate) fn set_client_presence(&mut self, presence: ClientPresence) {
        match self {
            Self::Tool(call) => call.presence = Some(presence),
            Self::Access(call) => call.presence = Some(presence),
            Self::Task(call) => call.presence = Some(presence),
        }
    }

    /// Sets the handler for requests that the server sends to the client during this call.
    pub(crate) fn set_client_peer(&mut self, peer: Arc<dyn ClientPeer>) {
        match self {
            Self::Tool(call) => call.client_peer = Some(peer),
            Self::Access(call) => call.client_peer = Some(peer),
            Self::Task(call) => call.client_peer = Some(peer),
        }
    }

    /// The subscription that this request makes, if it succeeds.
    pub(crate) fn subscription(&self) -> Option<ResourceSubscription> {
        match self {
            Self::Access(call) if call.kind == AccessKind::Subscribe => {
                let resource = ResourceRef { server: call.server.clone(), target: call.target.clone() };
                Some(ResourceSubscription { resource, uri: call.exposed_name.clone() })
            }
            Self::Tool(_) | Self::Access(_) | Self::Task(_) => None,
        }
    }

    /// Whether the result is cacheable in the stateless revision (`ttlMs`, `cacheScope`).
    pub(crate) fn has_cache_hints(&self) -> bool {
        matches!(self, Self::Access(call) if call.kind == AccessKind::ReadResource)
    }

    /// Starts the request.
    pub(crate) fn dispatch(
        self,
        tool_service: &dyn ToolService,
        caller: Caller,
    ) -> BoxFuture<'static, CallResponse> {
        match self {
            Self::Tool(call) => tool_service.call(caller, call),
            Self::Access(call) => tool_service.access(caller, call),
            Self::Task(call) => tool_service.task_call(caller, call),
        }
    }
}

/// Parses a request about tasks, which differ between the revisions that have them; `None` if it is another one.
fn task_request(
    method: &str,
    params: &Members<'_>,
    revision: Revision,
) -> Result<Option<TaskRequest>, HttpRpcError> {
    let task = || text(params, "taskId").map(Cow::into_owned);
    let (has_core, has_extension) = (revision.has_tasks(), revision.has_tasks_extension());
    Ok(Some(match method {
        // All tasks are in one page.
        "tasks/list" if has_core && params.get("cursor").is_some() => {
            return Err(invalid_params("This cursor was not given out by Gatehouse."));
        }
        "tasks/list" if has_core => TaskRequest::List,
        "tasks/result" if has_core => TaskRequest::Result { task: task()? },
        "tasks/get" if has_core || has_extension => TaskRequest::Get { task: task()? },
        "tasks/cancel" if has_core || has_extension => TaskRequest::Cancel { task: task()? },
        "tasks/update" if has_extension => {
            let responses = params.get("inputResponses").map(ToOwned::to_owned);
            let responses =
                responses.ok_or_else(|| invalid_params("The member `inputResponses` must be an object."))?;
            TaskRequest::Update { task: task()?, responses }
        }
        _ => return Ok(None),
    }))
}

/// The first parts of the protocol's methods. What begins with one of them in any case is none of a server's own.
const RESERVED_PREFIXES: [&str; 15] = [
    "completion",
    "elicitation",
    "initialize",
    "initialized",
    "logging",
    "notifications",
    "ping",
    "prompts",
    "resources",
    "roots",
    "sampling",
    "server",
    "subscriptions",
    "tasks",
    "tools",
];

/// Longest method that the protocol doesn't have, in bytes. It is shown with each request.
const MAX_CUSTOM_METHOD: usize = 128;

/// Whether a method can be one of a server's own: plain, and none that the protocol or JSON-RPC may have.
fn is_custom(method: &str) -> bool {
    let is_plain = method.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/_-.:".contains(&byte));
    let first = method.split('/').next().unwrap_or_default();
    let is_reserved = RESERVED_PREFIXES.iter().any(|known| first.eq_ignore_ascii_case(known));
    is_plain
        && method.starts_with(|first: char| first.is_ascii_alphanumeric())
        && method.len() <= MAX_CUSTOM_METHOD
        && !is_reserved
        && !method.starts_with("rpc.")
}

fn text<'a>(params: &Members<'a>, member: &str) -> Result<Cow<'a, str>, HttpRpcError> {
    params.text(member).ok_or_else(|| invalid_params(format!("The member `{member}` must be a text.")))
}

fn invalid_params(message: impl Into<Cow<'static, str>>) -> HttpRpcError {
    HttpRpcError::new(StatusCode::OK, -32602, message)
}

fn resource_not_found(uri: &str, revision: Revision) -> HttpRpcError {
    let code = if revision.has_result_type() { -32602 } else { -32002 };
    HttpRpcError::new(StatusCode::OK, code, "There is no such resource.")
        .with_data(&serde_json::json!({ "uri": uri }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_of_the_protocol_are_none_of_a_server() {
        for method in ["vendor/move", "x", "toolbox/open", "com.example:move", "Vendor/9-a_b"] {
            assert!(is_custom(method), "{method}");
        }
        let long = "x".repeat(129);
        for method in [
            "",
            "/x",
            "tools/call",
            "Tools/Call",
            "tools",
            "tasks/update",
            "notifications/x",
            "initialize",
            "subscriptions/listen",
            "server/discover",
            "rpc.discover",
            "vendor/m\u{f6}ve",
            "vendor move",
            "vendor\n",
            "a\"b",
            &long,
        ] {
            assert!(!is_custom(method), "{method}");
        }
    }
}
