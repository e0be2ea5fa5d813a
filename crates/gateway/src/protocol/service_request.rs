//! Parses what a client requests from an upstream server: calling a tool, reading or subscribing to a
//! resource, getting a prompt, or completing an argument (PERM-18). Resolves the server that it goes to;
//! whether it is permitted is decided behind [`ToolService`].

use std::borrow::Cow;
use std::sync::Arc;

use gatehouse_mcp_wire::raw::Members;
use gatehouse_model::BoxFuture;
use gatehouse_tools::{
    AccessCall, AccessKind, CallResponse, Caller, ClientPeer, ClientPresence, ProgressCallback,
    ResolvedTarget, ToolCall,
};
use hyper::StatusCode;
use tokio_util::sync::CancellationToken;

use crate::protocol::calls;
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
}

impl ServiceRequest {
    /// Parses a request; `None` if the method isn't one that goes to a server.
    pub(crate) fn parse(
        method: &str,
        params: &Members<'_>,
        tool_service: &dyn ToolService,
        revision: Revision,
        cancel: CancellationToken,
    ) -> Result<Option<Self>, HttpRpcError> {
        // `name_member` is the member of the params that names the target.
        let access =
            |kind: AccessKind, target: ResolvedTarget, exposed_name: Cow<'_, str>, name_member: &str| {
                Self::Access(AccessCall {
                    rest: params
                        .iter()
                        .filter(|(name, _)| *name != name_member && *name != "_meta")
                        .map(|(name, value)| (name.into(), value.to_owned()))
                        .collect(),
                    meta: params.get("_meta").map(ToOwned::to_owned),
                    cancel: cancel.clone(),
                    ..AccessCall::new(target.server, kind, target.target, exposed_name.into_owned())
                })
            };
        Ok(Some(match method {
            "tools/call" => Self::Tool(calls::parse_tool_call(params, cancel.clone())?),
            "resources/read" | "resources/subscribe" => {
                let uri = text(params, "uri")?;
                let target = tool_service.resource(&uri).ok_or_else(|| resource_not_found(&uri, revision))?;
                let is_read = method == "resources/read";
                let kind = if is_read { AccessKind::ReadResource } else { AccessKind::Subscribe };
                access(kind, target, uri, "uri")
            }
            "prompts/get" => {
                let name = text(params, "name")?;
                let target =
                    tool_service.prompt(&name).ok_or_else(|| invalid_params("There is no such prompt."))?;
                access(AccessKind::GetPrompt, target, name, "name")
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
                        (AccessKind::CompletePrompt, tool_service.prompt(&name), name)
                    }
                    Some("ref/resource") => {
                        let uri = text(&reference, "uri")?;
                        (AccessKind::CompleteResource, tool_service.template(&uri), uri)
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
                access(kind, target, name, "ref")
            }
            _ => return Ok(None),
        }))
    }

    /// Sets the progress sink.
    pub(crate) fn set_progress_callback(&mut self, progress: ProgressCallback) {
        match self {
            Self::Tool(call) => call.progress = Some(progress),
            Self::Access(call) => call.progress = Some(progress),
        }
    }

    /// Sets the signal for whether the client still waits.
    pub(crate) fn set_client_presence(&mut self, presence: ClientPresence) {
        match self {
            Self::Tool(call) => call.presence = Some(presence),
            Self::Access(call) => call.presence = Some(presence),
        }
    }

    /// Sets the handler for requests that the server sends to the client during this call.
    pub(crate) fn set_client_peer(&mut self, peer: Arc<dyn ClientPeer>) {
        match self {
            Self::Tool(call) => call.client_peer = Some(peer),
            Self::Access(call) => call.client_peer = Some(peer),
        }
    }

    /// The subscription that this request makes, if it succeeds.
    pub(crate) fn subscription(&self) -> Option<ResourceSubscription> {
        match self {
            Self::Access(call) if call.kind == AccessKind::Subscribe => {
                let resource = ResourceRef { server: call.server.clone(), target: call.target.clone() };
                Some(ResourceSubscription { resource, uri: call.exposed_name.clone() })
            }
            Self::Tool(_) | Self::Access(_) => None,
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
        }
    }
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
