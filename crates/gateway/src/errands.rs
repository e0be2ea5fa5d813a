//! Parses what a client requests from an upstream server: calling a tool, reading or subscribing to a
//! resource, getting a prompt, or completing an argument (PERM-18). Resolves the server that it goes to;
//! whether it is permitted is decided behind [`ToolDoor`].

use std::borrow::Cow;
use std::sync::Arc;

use gatehouse_mcp_wire::raw::Members;
use gatehouse_model::BoxFuture;
use gatehouse_tools::{
    AccessCall, AccessKind, CallEnd, Caller, ClientAsk, Listening, Place, ProgressOut, ToolCall,
};
use hyper::StatusCode;
use tokio_util::sync::CancellationToken;

use crate::calls;
use crate::door::ToolDoor;
use crate::fault::Fault;
use crate::revision::Revision;
use crate::watches::Watched;

/// One upstream request.
#[derive(Debug)]
pub(crate) enum Errand {
    /// `tools/call`
    Tool(ToolCall),
    /// Any other access.
    Access(AccessCall),
}

impl Errand {
    /// Parses a request; `None` if the method isn't one that goes to a server.
    pub(crate) fn read(
        (method, params): (&str, &Members<'_>),
        door: &dyn ToolDoor,
        revision: Revision,
        cancel: CancellationToken,
    ) -> Result<Option<Self>, Fault> {
        let access = |kind: AccessKind, place: Place, exposed: Cow<'_, str>, own: &str| {
            Self::Access(AccessCall {
                server: place.server,
                kind,
                target: place.target,
                exposed_name: exposed.into_owned(),
                rest: params
                    .iter()
                    .filter(|(name, _)| *name != own && *name != "_meta")
                    .map(|(name, value)| (name.into(), value.to_owned()))
                    .collect(),
                meta: params.get("_meta").map(ToOwned::to_owned),
                progress: None,
                asks: None,
                listening: None,
                cancel: cancel.clone(),
            })
        };
        Ok(Some(match method {
            "tools/call" => Self::Tool(calls::read(params, cancel.clone())?),
            "resources/read" | "resources/subscribe" => {
                let uri = text(params, "uri")?;
                let place = door.resource(&uri).ok_or_else(|| no_resource(&uri, revision))?;
                let reads = method == "resources/read";
                let kind = if reads { AccessKind::ReadResource } else { AccessKind::Subscribe };
                access(kind, place, uri, "uri")
            }
            "prompts/get" => {
                let name = text(params, "name")?;
                let place = door.prompt(&name).ok_or_else(|| invalid("There is no such prompt."))?;
                access(AccessKind::GetPrompt, place, name, "name")
            }
            "completion/complete" => {
                let wrong = || {
                    invalid("The member `ref` must be a reference of the type ref/prompt or ref/resource.")
                };
                let reference = params.get("ref").and_then(|raw| Members::of(raw).ok()).ok_or_else(wrong)?;
                let (kind, place, name) = match reference.text("type").as_deref() {
                    Some("ref/prompt") => {
                        let name = text(&reference, "name")?;
                        (AccessKind::CompletePrompt, door.prompt(&name), name)
                    }
                    Some("ref/resource") => {
                        let uri = text(&reference, "uri")?;
                        (AccessKind::CompleteResource, door.template(&uri), uri)
                    }
                    Some(_) | None => return Err(wrong()),
                };
                let place = place.ok_or_else(|| invalid("There is nothing that this reference names."))?;
                if !place.completes {
                    // Rejected here, before anyone is asked for approval.
                    return Err(invalid(format!(
                        "The server “{}” completes no arguments.",
                        place.server_name
                    )));
                }
                access(kind, place, name, "ref")
            }
            _ => return Ok(None),
        }))
    }

    /// Sets the progress sink.
    pub(crate) fn report_to(&mut self, progress: ProgressOut) {
        match self {
            Self::Tool(call) => call.progress = Some(progress),
            Self::Access(call) => call.progress = Some(progress),
        }
    }

    /// Sets the signal for whether the client still listens.
    pub(crate) fn listened_to(&mut self, listening: Listening) {
        match self {
            Self::Tool(call) => call.listening = Some(listening),
            Self::Access(call) => call.listening = Some(listening),
        }
    }

    /// Sets the handler for requests that the server sends to the client during this call.
    pub(crate) fn asks_of(&mut self, client: Arc<dyn ClientAsk>) {
        match self {
            Self::Tool(call) => call.asks = Some(client),
            Self::Access(call) => call.asks = Some(client),
        }
    }

    /// The resource and the URI that the client knows it by, if this is a subscription.
    pub(crate) fn subscribes_to(&self) -> Option<(Watched, String)> {
        match self {
            Self::Access(call) if call.kind == AccessKind::Subscribe => {
                let watched = Watched { server: call.server.clone(), target: call.target.clone() };
                Some((watched, call.exposed_name.clone()))
            }
            Self::Tool(_) | Self::Access(_) => None,
        }
    }

    /// Whether the result is cacheable in the stateless revision (`ttlMs`, `cacheScope`).
    pub(crate) fn says_how_fresh(&self) -> bool {
        matches!(self, Self::Access(call) if call.kind == AccessKind::ReadResource)
    }

    /// Starts the request.
    pub(crate) fn begin(self, door: &dyn ToolDoor, caller: Caller) -> BoxFuture<'static, CallEnd> {
        match self {
            Self::Tool(call) => door.call(caller, call),
            Self::Access(call) => door.access(caller, call),
        }
    }
}

fn text<'a>(params: &Members<'a>, member: &str) -> Result<Cow<'a, str>, Fault> {
    params.text(member).ok_or_else(|| invalid(format!("The member `{member}` must be a text.")))
}

fn invalid(message: impl Into<Cow<'static, str>>) -> Fault {
    Fault::new(StatusCode::OK, -32602, message)
}

fn no_resource(uri: &str, revision: Revision) -> Fault {
    let code = if revision.has_result_type() { -32602 } else { -32002 };
    Fault::new(StatusCode::OK, code, "There is no such resource.")
        .with_data(&serde_json::json!({ "uri": uri }))
}
