//! A request as it came in, parsed strictly and only once (PERM-7). From here on, policy, approval request,
//! hash and server all use the same bytes.

use std::borrow::Cow;
use std::future::pending;
use std::sync::{Arc, OnceLock};

use gatehouse_mcp_wire::json::Json;
use gatehouse_mcp_wire::raw::{object, quoted, raw};
use gatehouse_mcp_wire::tasks::{CREATED_TASK, TASK, TaskIdPlace, declares_extension};
use gatehouse_model::ServerId;
use gatehouse_model::approval::{ShownArgument, Subject};
use gatehouse_policy::display::{render_arguments, reveal};
use gatehouse_servers::{CallingClient, CancelReason, RequestParams};
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use crate::call_types::approval_wait::ApprovalWait;
use crate::call_types::call_key::CallKey;
use crate::call_types::call_observer::CallObserver;
use crate::call_types::client_peer::ClientPeer;
use crate::call_types::response::{CallResponse, FinishedCall, NOT_RUN, rpc_error};
use crate::call_types::{
    AccessCall, AccessKind, Caller, ClientPresence, LONGEST_TARGET, ProtocolFamily, ToolCall, ToolName,
    shorten_name,
};
use crate::calls::input_required::{CarriedApproval, OpenRounds, RoundStep};
use crate::calls::progress::ProgressReporter;
use crate::calls::refusal_messages::SubjectWording;
use crate::calls::strict_params::{
    ExtraMembers, ParamMembers, ROUND_MEMBERS, invalid_params, parse_strict, reference, validate_members,
};
use crate::task_table::ClientTask;

pub(crate) enum RequestTarget {
    Tool(ToolName),
    /// Another use of a server (see [`AccessKind`]).
    Access {
        server: ServerId,
        kind: AccessKind,
        target: String,
        exposed: Arc<str>,
    },
}

impl RequestTarget {
    /// The response where the target doesn't exist, or the client isn't to know that it does.
    pub(crate) fn not_found(&self) -> CallResponse {
        match self {
            Self::Tool(name) => {
                invalid_params(&format!("There is no tool named “{}”.", reveal(shorten_name(name.as_str()))))
            }
            Self::Access { .. } => invalid_params("There is no such server."),
        }
    }

    /// The end of a request for this target: only tool results have `isError`, so for anything else a message
    /// of Gatehouse's own becomes an error.
    pub(crate) fn fit(&self, finished: FinishedCall) -> FinishedCall {
        match (self, &finished.own_text) {
            (Self::Access { .. }, Some(text)) => {
                FinishedCall { end: CallResponse::Error(rpc_error(NOT_RUN, text)), ..finished }
            }
            (Self::Access { .. }, None) | (Self::Tool(_), _) => finished,
        }
    }
}

/// A parsed request, ready to be judged.
pub(crate) struct ClientRequest {
    pub(crate) caller: Arc<Caller>,
    pub(crate) target: RequestTarget,
    pub(crate) arguments: Arc<Json>,
    /// The text that the call hash covers.
    pub(crate) hash_input: Box<str>,
    /// The members of a next round, as they are sent; empty if there are none.
    pub(crate) round: Box<str>,
    pub(crate) step: RoundStep,
    /// The round that the request continues, looked up once.
    known_round: OnceLock<Option<(CallKey, CarriedApproval)>>,
    /// Size of the arguments in bytes.
    pub(crate) size: usize,
    /// Members that aren't arguments, each as an object of its own; shown and hashed together with the
    /// arguments.
    pub(crate) extra_members: Arc<[Json]>,
    /// For a tool, its arguments come first, if the client sent any; the tool's name is added when the call is sent.
    members: ParamMembers,
    meta: Option<Box<RawValue>>,
    pub(crate) progress: Option<Arc<ProgressReporter>>,
    /// The task that the call became, whose progress goes on.
    pub(crate) task: Arc<OnceLock<Arc<ClientTask>>>,
    /// The client, if it can answer the server's requests.
    pub(crate) client_peer: Option<Arc<dyn ClientPeer>>,
    pub(crate) presence: Option<ClientPresence>,
    /// Shortens the wait for the user, and is told if its end ends the call.
    pub(crate) approval_wait: Option<Arc<ApprovalWait>>,
    /// Follows the call while it runs.
    pub(crate) observer: Option<Arc<dyn CallObserver>>,
    pub(crate) cancel: CancellationToken,
    pub(crate) cancel_reason: CancelReason,
}

impl ClientRequest {
    /// Parses a tool call.
    pub(crate) fn tool(caller: Caller, call: ToolCall) -> Result<Self, CallResponse> {
        let ToolCall {
            tool,
            arguments,
            rest,
            meta,
            progress,
            client_peer,
            presence,
            approval_wait,
            observer,
            cancel,
            cancel_reason,
        } = call;
        // Absent arguments are judged like an empty object, and stay absent.
        let text = arguments.as_deref().map_or("", RawValue::get).to_owned();
        let parsed = arguments
            .as_deref()
            .map_or(Ok(Json::Object(Vec::new())), |arguments| parse_strict("arguments", arguments.get()))?;
        if !matches!(parsed, Json::Object(_)) {
            return Err(invalid_params("The arguments of a tool call have to be an object."));
        }
        validate_members(&rest, &["name", "arguments"])?;
        let size = text.len();
        let mut hash_input = text;
        let mut extras =
            ExtraMembers::read(rest.iter().map(|(name, value)| (&**name, &**value)), meta.as_deref())?;
        extras.add_capabilities(client_peer.as_deref())?;
        hash_input.push_str(&extras.hash_input);
        let step = OpenRounds::step(&rest);
        let mut members: ParamMembers = Vec::with_capacity(rest.len() + 1);
        members.extend(arguments.map(|arguments| ("arguments".into(), arguments)));
        members.extend(rest);
        Ok(Self {
            caller: Arc::new(caller),
            target: RequestTarget::Tool(tool),
            arguments: Arc::new(parsed),
            hash_input: hash_input.into(),
            round: extras.round.into(),
            step,
            known_round: OnceLock::new(),
            size,
            extra_members: extras.shown.into(),
            members,
            meta,
            progress: progress.map(|out| Arc::new(ProgressReporter::new(out))),
            task: Arc::default(),
            client_peer,
            presence,
            approval_wait,
            observer,
            cancel,
            cancel_reason,
        })
    }

    /// Parses a request that isn't a tool call.
    pub(crate) fn access(caller: Caller, call: AccessCall) -> Result<Self, CallResponse> {
        let AccessCall {
            server,
            kind,
            target,
            exposed_name,
            ref_members,
            rest,
            meta,
            progress,
            client_peer,
            presence,
            cancel,
            cancel_reason,
        } = call;
        if target.len() > LONGEST_TARGET {
            return Err(invalid_params(&format!("A URI or name may have {} KiB.", LONGEST_TARGET / 1024)));
        }
        let own = match kind {
            AccessKind::ReadResource | AccessKind::Subscribe => Some(("uri", quoted(&target))),
            AccessKind::GetPrompt => Some(("name", quoted(&target))),
            AccessKind::CompletePrompt => {
                Some(("ref", reference("ref/prompt", "name", &target, &ref_members)?))
            }
            AccessKind::CompleteResource => {
                Some(("ref", reference("ref/resource", "uri", &target, &ref_members)?))
            }
            AccessKind::Custom => None,
        };
        let own_names: Vec<&str> = own.iter().map(|(name, _)| *name).collect();
        validate_members(&rest, &own_names)?;
        let step = OpenRounds::step(&rest);
        let mut members: ParamMembers = Vec::with_capacity(rest.len() + 1);
        members.extend(own.map(|(name, value)| (name.into(), raw(value))));
        members.extend(rest);
        let text = object(
            members
                .iter()
                .filter(|(name, _)| !ROUND_MEMBERS.contains(&&**name))
                .map(|(name, value)| (&**name, &**value)),
        );
        let arguments = parse_strict("params", &text)?;
        // All other members are shown like arguments.
        let round = members.iter().filter(|(name, _)| ROUND_MEMBERS.contains(&&**name));
        let mut extras = ExtraMembers::read(round.map(|(name, value)| (&**name, &**value)), meta.as_deref())?;
        extras.add_capabilities(client_peer.as_deref())?;
        Ok(Self {
            caller: Arc::new(caller),
            hash_input: format!("{}\0{text}{}", kind.method(&target), extras.hash_input).into(),
            target: RequestTarget::Access { server, kind, target, exposed: exposed_name.into() },
            arguments: Arc::new(arguments),
            round: extras.round.into(),
            step,
            known_round: OnceLock::new(),
            size: text.len(),
            extra_members: extras.shown.into(),
            members,
            meta,
            progress: progress.map(|out| Arc::new(ProgressReporter::new(out))),
            task: Arc::default(),
            client_peer,
            presence,
            approval_wait: None,
            observer: None,
            cancel,
            cancel_reason,
        })
    }

    /// The approval or rule under which the round that this request continues was issued, if Gatehouse issued
    /// or passed on that round for exactly this call. It is looked up, and thereby used up, once.
    pub(crate) fn continued_round(&self, key: &CallKey, rounds: &OpenRounds) -> Option<&CarriedApproval> {
        if self.round.is_empty() {
            return None;
        }
        let known = self.known_round.get_or_init(|| Some((key.clone(), rounds.take(key, &self.step)?)));
        known.as_ref().filter(|(of, _)| of == key).map(|(_, carried)| carried)
    }

    /// Whether the client isn't there to receive the response.
    pub(crate) fn is_client_gone(&self) -> bool {
        self.cancel.is_cancelled() || self.presence.as_ref().is_some_and(|client| !client.is_present())
    }

    /// Waits until the client is connected (`there`) or disconnected.
    pub(crate) async fn wait_for_client(&self, there: bool) {
        match &self.presence {
            Some(client) => client.wait_for_presence(there).await,
            None if there => {}
            None => pending().await,
        }
    }

    /// Where the id of the task stands in a result, if it is a tool call that the server may run as a task.
    pub(crate) fn created_task(&self) -> Option<TaskIdPlace> {
        if !matches!(self.target, RequestTarget::Tool(_)) {
            return None;
        }
        match self.caller.protocol_family {
            ProtocolFamily::Stateful => {
                self.members.iter().any(|(name, _)| &**name == "task").then_some(CREATED_TASK)
            }
            ProtocolFamily::Stateless => {
                let client = self.client_peer.as_ref();
                client.is_some_and(|client| declares_extension(&client.capabilities())).then_some(TASK)
            }
        }
    }

    /// Number of bytes that are kept with the call: its arguments and everything that is shown beside them.
    pub(crate) fn kept_bytes(&self) -> usize {
        self.hash_input.len() + self.round.len()
    }

    /// What its server is told of the client.
    pub(crate) fn calling_client(&self) -> CallingClient {
        CallingClient {
            protocol_family: self.caller.protocol_family,
            capabilities: self.client_peer.as_ref().map(|client| client.capabilities()),
        }
    }

    /// How messages refer to it.
    pub(crate) fn words(&self) -> SubjectWording {
        SubjectWording::of(&match &self.target {
            RequestTarget::Tool(tool) => Subject::Tool { name: tool.as_str().to_owned() },
            RequestTarget::Access { kind, target, .. } => kind.subject(target),
        })
    }

    /// The JSON-RPC method.
    pub(crate) fn method(&self) -> Cow<'static, str> {
        match &self.target {
            RequestTarget::Tool(_) => "tools/call".into(),
            RequestTarget::Access { kind, target, .. } => kind.method(target),
        }
    }

    /// The params as they are sent; `name` is the tool's own name, as its server wrote it.
    pub(crate) fn params(&self, name: Option<&RawValue>) -> RequestParams {
        let mut members = Vec::with_capacity(self.members.len() + 1);
        if let Some(name) = name {
            members.push(("name".into(), name.to_owned()));
        }
        members.extend(self.members.iter().cloned());
        RequestParams { members, meta: self.meta.clone() }
    }

    /// Everything that the approval request shows: all arguments and what is sent with them.
    pub(crate) fn shown(&self) -> Vec<ShownArgument> {
        let extra = self.extra_members.iter().flat_map(render_arguments);
        let extra = extra.map(|shown| ShownArgument { extra: true, ..shown });
        render_arguments(&self.arguments).into_iter().chain(extra).collect()
    }
}

#[cfg(test)]
mod tests;
