//! One call as it is judged: everything that an approval is for, with its hash (PERM-7). The same
//! value goes to policy, to the prompt and to the check before dispatch.

use std::sync::Arc;

use gatehouse_model::ask::{AskClient, Program, SeenFrom, Subject};
use gatehouse_model::grant::{Classified, Verdict};
use gatehouse_model::{AskId, CallHash, Fingerprint, Generation, ServerConfig, ServerId, Timestamp};
use gatehouse_policy::json::Json;
use gatehouse_policy::show::{argument_values, clean_text, unmasked};
use gatehouse_policy::verdict::{CallFacts, Standing};

use crate::call::Caller;
use crate::definition::Definition;
use crate::paths;
use crate::standing::RightsNow;

/// One call as it is judged.
pub(crate) struct Matter {
    pub(crate) caller: Arc<Caller>,
    pub(crate) config: Arc<ServerConfig>,
    pub(crate) subject: Subject,
    pub(crate) exposed_name: Arc<str>,
    pub(crate) class: Classified,
    /// The tool's definition; `None` for what is not a tool.
    pub(crate) definition: Option<Arc<Definition>>,
    pub(crate) arguments: Arc<Json>,
    /// What is shown after the arguments.
    pub(crate) beside: Arc<[Json]>,
    pub(crate) hash: CallHash,
}

/// What counts beside the rules when a call is judged.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Beside<'a> {
    /// Why the computer's administrator forbids the server.
    pub(crate) blocked_by_file: Option<&'a str>,
    /// Everything is paused.
    pub(crate) paused: bool,
    /// A late approval of this very call.
    pub(crate) ticket: Option<&'a AskId>,
}

impl Matter {
    pub(crate) fn server(&self) -> &ServerId {
        &self.config.id
    }

    pub(crate) fn generation(&self) -> Generation {
        self.config.generation
    }

    pub(crate) fn fingerprint(&self) -> Option<&Fingerprint> {
        self.definition.as_ref().map(|definition| &definition.fingerprint)
    }

    /// The program that the client was seen from.
    pub(crate) fn program(&self) -> Option<&str> {
        self.caller.seen_from.as_ref().map(|seen| seen.program.path.as_str())
    }

    /// The client as a prompt shows it.
    pub(crate) fn asks(&self) -> AskClient {
        let caller = &self.caller;
        let plain = |program: &Program| Program {
            name: clean_text(&program.name).into_owned(),
            path: clean_text(&program.path).into_owned(),
        };
        AskClient {
            id: caller.client.id.clone(),
            name: caller.client.name.clone(),
            says: caller.says.as_deref().map(|says| clean_text(says).into_owned()),
            seen_from: caller.seen_from.as_ref().map(|seen| SeenFrom {
                program: plain(&seen.program),
                parents: seen.parents.iter().map(plain).collect(),
            }),
            session: caller.session.clone(),
        }
    }

    /// One of the arguments that are shown, by its place among them, with nothing masked.
    pub(crate) fn unmasked(&self, place: usize) -> Option<String> {
        let beside = self.beside.iter().flat_map(argument_values);
        argument_values(&self.arguments).into_iter().chain(beside).nth(place).map(unmasked)
    }

    /// What the policy says.
    pub(crate) fn judge(&self, rights: &RightsNow, beside: Beside<'_>, now: Timestamp) -> Verdict {
        let Beside { blocked_by_file, paused, ticket } = beside;
        rights.book.decide(&CallFacts {
            client: &self.caller.client.id,
            session: self.caller.session.as_ref(),
            program: self.program(),
            server: self.server(),
            generation: self.generation(),
            subject: &self.subject.rule_name(),
            class: &self.class,
            fingerprint: self.fingerprint(),
            arguments: &self.arguments,
            hash: &self.hash,
            now,
            resolve_path: &paths::resolve,
            standing: Standing { blocked_by_file, paused, verified: rights.verified, ticket },
        })
    }
}
