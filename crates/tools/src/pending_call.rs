//! A pending call: everything that an approval is bound to, with its hash (PERM-7). The same value is used by
//! the policy, the approval request and the check before dispatch.

use std::sync::Arc;

use gatehouse_mcp_wire::json::Json;
use gatehouse_model::approval::{ClientSummary, PeerProcess, Program, Subject};
use gatehouse_model::grant::{AccessClassification, Condition, Verdict};
use gatehouse_model::verdict_trace::JudgedCheck;
use gatehouse_model::{
    ApprovalId, CallHash, ErrorCode, Generation, ServerBinding, ServerConfig, ServerId, Timestamp, UserError,
    message,
};
use gatehouse_policy::conditions::{ConditionOutcome, Conditions};
use gatehouse_policy::coverage::SubjectFacts;
use gatehouse_policy::display::{argument_values, clean_text, render_arguments, render_unmasked};
use gatehouse_policy::verdict::{CallFacts, PolicyContext};

use crate::call_types::Caller;
use crate::call_types::call_key::CallKey;
use crate::catalog::catalog_tool::CatalogTool;
use crate::catalog::definition_source::DefinitionSource;
use crate::paths::path_lookup::KnownPaths;
use crate::permissions::current::CurrentPermissions;

/// A pending call, as it is judged.
pub(crate) struct PendingCall {
    pub(crate) caller: Arc<Caller>,
    pub(crate) config: Arc<ServerConfig>,
    /// The server's generation and identity, to which the hash and every rule is bound (SRV-16).
    pub(crate) binding: ServerBinding,
    pub(crate) subject: Subject,
    pub(crate) exposed_name: Arc<str>,
    pub(crate) class: AccessClassification,
    pub(crate) origin: DefinitionSource,
    pub(crate) arguments: Arc<Json>,
    /// Other parts of the request, shown after the arguments.
    pub(crate) extra_members: Arc<[Json]>,
    /// Hash of the exact call; used by rules for one call.
    pub(crate) hash: CallHash,
    /// Hash that an answer must repeat: the call and the process it came from.
    pub(crate) approval_hash: CallHash,
    /// Key of late approvals (tickets) and shared runs.
    pub(crate) key: CallKey,
    /// Key of the call without its round.
    pub(crate) round_key: CallKey,
    /// Whether the call has input for a round that Gatehouse doesn't know.
    pub(crate) is_unknown_round: bool,
}

/// What affects a verdict besides the rules.
#[derive(Clone, Copy)]
pub(crate) struct PolicyInputs<'a> {
    /// Why the managed policy forbids the server.
    pub(crate) blocked_by_file: Option<&'a str>,
    pub(crate) paused: bool,
    /// A late approval of this exact call.
    pub(crate) ticket: Option<&'a ApprovalId>,
    pub(crate) now: Timestamp,
    /// Where the paths in [`PendingCall::paths`] lead.
    pub(crate) paths: &'a KnownPaths,
}

impl PendingCall {
    pub(crate) fn server(&self) -> &ServerId {
        &self.config.id
    }

    pub(crate) fn generation(&self) -> Generation {
        self.config.generation
    }

    /// The item that rules are matched against.
    pub(crate) fn subject_facts(&self) -> SubjectFacts<'_> {
        SubjectFacts {
            server: &self.binding,
            subject: self.subject.borrowed(),
            class: &self.class,
            definition: self.origin.definition_ref(),
        }
    }

    /// The program to which an answer may bind an allow: none for a call that the user makes as a client, which no program
    /// made that the request could show.
    pub(crate) fn shown_program(&self) -> Option<&str> {
        self.program().filter(|_| self.caller.user_run.is_none())
    }

    /// The program to which rules are bound: that of the peer process, `None` if it is unknown what that runs. A client as
    /// which the user calls counts as the program that its permissions are bound to.
    pub(crate) fn program(&self) -> Option<&str> {
        if let Some(run) = &self.caller.user_run {
            return run.program();
        }
        self.seen_program().filter(|program| program.is_known).map(|program| program.path.as_str())
    }

    /// The program of the peer process, if known.
    pub(crate) fn seen_program(&self) -> Option<&Program> {
        self.caller.peer.program()
    }

    /// Whether it is a call of this tool in its current definition.
    pub(crate) fn is_call_of(&self, tool: &CatalogTool) -> bool {
        tool.binding() == &self.binding && self.origin.fingerprint() == Some(tool.fingerprint())
    }

    /// The client as the approval request shows it.
    pub(crate) fn client_summary(&self) -> ClientSummary {
        let caller = &self.caller;
        let plain = |program: &Program| Program {
            name: clean_text(&program.name).into_owned(),
            path: clean_text(&program.path).into_owned(),
            is_known: program.is_known,
        };
        ClientSummary {
            id: caller.client.id.clone(),
            name: caller.client.name.clone(),
            says: caller.client_info.as_deref().map(|says| clean_text(says).into_owned()),
            seen_from: caller.peer.seen_from.as_ref().map(|seen| PeerProcess {
                program: plain(&seen.program),
                parents: seen.parents.iter().map(plain).collect(),
            }),
            session: caller.session.clone(),
            by_user: caller.user_run.is_some(),
        }
    }

    /// One of the shown arguments, unmasked, by its index.
    pub(crate) fn render_unmasked(&self, index: usize) -> Option<String> {
        let extra = self.extra_members.iter().flat_map(argument_values);
        argument_values(&self.arguments).into_iter().chain(extra).nth(index).map(render_unmasked)
    }

    /// Checks that the conditions of an allow hold for this call, given where the paths in it lead.
    ///
    /// # Errors
    /// If they don't, or if they would write a masked value into a rule.
    pub(crate) fn check_conditions(
        &self,
        conditions: &[Condition],
        paths: &KnownPaths,
    ) -> Result<(), UserError> {
        if conditions.is_empty() {
            return Ok(());
        }
        let is_masked = |condition: &Condition| {
            let masked = render_arguments(&self.arguments).into_iter().filter(|shown| shown.masked);
            masked.map(|shown| pointer_of(&shown.name)).any(|place| {
                condition
                    .pointer
                    .strip_prefix(&*place)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            })
        };
        if conditions.iter().any(is_masked) {
            return Err(UserError::new(ErrorCode::BadRequest, message!("error.tools.secretCondition")));
        }
        let holds = Conditions::new(conditions).evaluate(&self.arguments, &|path: &str| paths.resolve(path));
        if holds == ConditionOutcome::Yes {
            return Ok(());
        }
        Err(UserError::new(ErrorCode::BadRequest, message!("error.tools.conditionMismatch"))
            .with_hint(message!("error.tools.conditionMismatchHint")))
    }

    pub(crate) fn decide(&self, permissions: &CurrentPermissions, inputs: PolicyInputs<'_>) -> Verdict {
        self.with_facts(permissions, inputs, |facts| permissions.rule_set.decide(facts))
    }

    /// The checks that [`Self::decide`] makes.
    pub(crate) fn trace(
        &self,
        permissions: &CurrentPermissions,
        inputs: PolicyInputs<'_>,
    ) -> Vec<JudgedCheck> {
        self.with_facts(permissions, inputs, |facts| permissions.rule_set.trace(facts))
    }

    /// The paths that [`Self::decide`] needs.
    pub(crate) fn paths(&self, permissions: &CurrentPermissions, inputs: PolicyInputs<'_>) -> Vec<String> {
        self.with_facts(permissions, inputs, |facts| permissions.rule_set.paths(facts))
    }

    fn with_facts<R>(
        &self,
        permissions: &CurrentPermissions,
        inputs: PolicyInputs<'_>,
        work: impl FnOnce(&CallFacts<'_>) -> R,
    ) -> R {
        let PolicyInputs { blocked_by_file, paused, ticket, now, paths } = inputs;
        work(&CallFacts {
            client: &self.caller.client.id,
            session: self.caller.session.as_ref(),
            program: self.program(),
            server: &self.binding,
            subject: self.subject.borrowed(),
            class: &self.class,
            definition: self.origin.definition_ref(),
            arguments: &self.arguments,
            hash: &self.hash,
            now,
            resolve_path: &|path: &str| paths.resolve(path),
            context: PolicyContext { blocked_by_file, paused, verified: permissions.verified, ticket },
        })
    }
}

/// The JSON Pointer to a member of the arguments.
fn pointer_of(name: &str) -> String {
    format!("/{}", name.replace('~', "~0").replace('/', "~1"))
}
