//! Finds the target of a request in the current catalog and computes what its approval is bound to, with its
//! hashes. Never from stale data: if the catalog is older than the server's lists, it is rebuilt first.

use std::sync::Arc;

use gatehouse_model::CallHash;
use gatehouse_model::approval::Subject;
use gatehouse_model::record::CallOutcome;
use gatehouse_policy::call_hash::{ApprovalHashInput, CallHashInput, approval_hash, call_hash};

use super::call_state::ResolvedCall;
use super::client_request::{ClientRequest, RequestTarget};
use super::pipeline_state::{CONSTANTLY_CHANGING, CallPipeline, MAX_EVALUATIONS};
use crate::call_types::ToolName;
use crate::call_types::call_key::CallKey;
use crate::call_types::response::{CallResponse, FinishedCall};
use crate::catalog::definition_source::{DefinitionSource, SubjectInfo};
use crate::pending_call::PendingCall;

impl CallPipeline {
    /// Resolves the target of a request in the current state.
    pub(super) async fn resolve(&self, request: &ClientRequest) -> Result<ResolvedCall, CallResponse> {
        for _ in 0..MAX_EVALUATIONS {
            match self.look_up(request)? {
                Some(resolved) => return Ok(resolved),
                None => self.refresh().await,
            }
        }
        let refused = FinishedCall::with_text(CONSTANTLY_CHANGING, CallOutcome::Refused);
        Err(request.target.fit(refused).end)
    }

    /// As `resolve`; `None` if the catalog is older than the server's lists.
    fn look_up(&self, request: &ClientRequest) -> Result<Option<ResolvedCall>, CallResponse> {
        let permissions = self.deps.permissions.now();
        let (handle, (config, binding), subject, exposed_name, known) = match &request.target {
            RequestTarget::Tool(name) => {
                let catalog = self.deps.catalog.load();
                let mode = self.deps.profiles.of(&request.caller.viewer()).naming();
                let found = match name {
                    ToolName::Exposed(name) => catalog.named(mode).by_exposed(name),
                    ToolName::Own { server, name } => catalog.find(server, name),
                };
                let Some(tool) = found else {
                    return Err(request.target.not_found());
                };
                let Some(handle) = self.deps.servers.get(tool.server()) else { return Ok(None) };
                let present = handle.config();
                if !present.enabled
                    || present.generation != tool.generation()
                    || !Arc::ptr_eq(&handle.lists(), &tool.tool_server.lists)
                {
                    return Ok(None);
                }
                let subject = Subject::Tool { name: tool.name().to_owned() };
                let known = SubjectInfo {
                    class: permissions.class_of(tool).clone(),
                    origin: DefinitionSource::Tool(tool.definition.clone()),
                    lists: Some(tool.tool_server.lists.clone()),
                };
                let present = (present, tool.tool_server.binding.clone());
                (handle, present, subject, tool.exposed.clone(), known)
            }
            RequestTarget::Access { server, kind, target, exposed } => {
                let handle = self.deps.servers.get(server).filter(|handle| handle.config().enabled);
                let Some(handle) = handle else { return Err(request.target.not_found()) };
                let (config, subject) = (handle.config(), kind.subject(target));
                let known = self.deps.catalog.load().subject_info(server, config.generation, &subject);
                if known.lists.as_ref().is_some_and(|lists| !Arc::ptr_eq(lists, &handle.lists())) {
                    return Ok(None);
                }
                let binding = config.binding();
                (handle, (config, binding), subject, exposed.clone(), known)
            }
        };
        let SubjectInfo { class, origin, lists } = known;
        let hash_of = |hash_input: &str| {
            call_hash(&CallHashInput {
                client: &request.caller.client.id,
                server: &binding,
                subject: &subject.rule_name(),
                fingerprint: origin.fingerprint(),
                arguments: hash_input,
            })
        };
        let caller = &request.caller;
        let source = caller.source();
        let key_of = |hash: &CallHash| CallKey::new(hash, source.clone());
        let (mut hash, mut is_unknown_round) = (hash_of(&request.hash_input), false);
        let round_key = key_of(&hash);
        if !request.round.is_empty() && request.continued_round(&round_key, &self.rounds).is_none() {
            hash = hash_of(&format!("{}{}", request.hash_input, request.round));
            is_unknown_round = true;
        }
        // The approval request shows the round, so a late answer is valid only for the call with exactly this
        // round.
        let key = if request.round.is_empty() {
            round_key.clone()
        } else {
            key_of(&hash_of(&format!("{}{}", request.hash_input, request.round)))
        };
        let approval_hash = approval_hash(&ApprovalHashInput {
            call: &hash,
            program: caller.peer.program().map(|program| program.path.as_str()),
            peer: caller.peer.hashed_id(source.as_ref()).as_deref(),
            client_info: caller.client_info.as_deref(),
            session: caller.session.as_ref(),
            round: &request.round,
        });
        let pending_call = Arc::new(PendingCall {
            caller: request.caller.clone(),
            config,
            binding,
            subject,
            exposed_name,
            class,
            origin,
            arguments: request.arguments.clone(),
            extra_members: request.extra_members.clone(),
            hash,
            approval_hash,
            key,
            round_key,
            is_unknown_round,
        });
        Ok(Some(ResolvedCall { pending_call, handle, lists }))
    }
}
