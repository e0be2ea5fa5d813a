//! Auto-approve settings: Ask, Reads, Writes, All (PERM-3), and the one rule that each of them sets on a
//! server. Pure: the items to pin are passed in.

use gatehouse_model::approval::AutoApprove;
use gatehouse_model::grant::ClientScope;
use gatehouse_model::{
    ClientId, Grant, GrantId, Lifetime, RuleAuthor, RuleEffect, Scope, ServerBinding, Timestamp,
};
use gatehouse_policy::coverage::SubjectFacts;

use super::rule_draft::pins_of;

/// The auto-approve setting of one server.
#[derive(Clone, Debug)]
pub(crate) struct AutoApproveSetting {
    pub(crate) server: ServerBinding,
    /// Only for this client; for every client if absent.
    pub(crate) client: Option<ClientId>,
    pub(crate) to: AutoApprove,
}

impl AutoApproveSetting {
    fn clients(&self) -> ClientScope {
        match &self.client {
            Some(client) => ClientScope::One { client: client.clone() },
            None => ClientScope::Every,
        }
    }

    /// Whether the setting consists of a rule.
    pub(crate) fn sets_rule(&self) -> bool {
        self.to != AutoApprove::Ask
    }

    /// Whether a rule is the previous setting of the same server for the same clients.
    pub(crate) fn replaces(&self, rule: &Grant) -> bool {
        rule.effect == RuleEffect::Allow
            && rule.lifetime == Lifetime::Always
            && rule.server.as_ref().is_some_and(|bound| bound.server == self.server.server)
            && rule.clients == self.clients()
            && rule.conditions.is_empty()
            && matches!(rule.width, Scope::Reads | Scope::Writes | Scope::Everything)
    }

    /// The rule; `None` for [`AutoApprove::Ask`].
    pub(crate) fn rule(&self, id: GrantId, now: Timestamp, items: &[SubjectFacts<'_>]) -> Option<Grant> {
        let width = match self.to {
            AutoApprove::Ask => return None,
            AutoApprove::Reads => Scope::Reads,
            AutoApprove::Writes => Scope::Writes,
            AutoApprove::All => Scope::Everything,
        };
        Some(Grant {
            id,
            effect: RuleEffect::Allow,
            pins: pins_of(&width, items),
            server: Some(self.server.clone()),
            width,
            clients: self.clients(),
            lifetime: Lifetime::Always,
            conditions: Vec::new(),
            program: None,
            created: now,
            author: RuleAuthor::Person,
            reason: None,
        })
    }
}
