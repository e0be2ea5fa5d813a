//! Permissions that went with a server or a rule that was removed, and bringing them back while the removal can be
//! undone.
//!
//! They are restored exactly as they were, with the same bindings and definitions, and only where these still hold: an
//! undo never allows more than was allowed before.

use gatehouse_model::grant::{AccessOverride, ClientScope};
use gatehouse_model::record::AuditEvent;
use gatehouse_model::{
    ClientId, ErrorCode, Grant, GrantId, Lifetime, RuleEffect, ServerBinding, ServerId, UserError, message,
};

use super::change::{PermissionChange, is_expired};
use super::permission_store::PermissionStore;
use super::rule_draft::remove_rules;

/// Permissions that were removed together.
#[derive(Clone, Debug, Default)]
pub struct RemovedPermissions {
    rules: Vec<Grant>,
    overrides: Vec<AccessOverride>,
    trusted_labels: Vec<ServerBinding>,
    /// The rule that came in place of the removed one.
    successor: Option<GrantId>,
}

impl RemovedPermissions {
    /// The same, with the rule that came in place of the removed one: it goes when that comes back.
    #[must_use]
    pub fn replaced_by(self, successor: GrantId) -> Self {
        Self { successor: Some(successor), ..self }
    }

    #[must_use]
    pub fn rules(&self) -> &[Grant] {
        &self.rules
    }

    /// Drops the allows with a limited lifetime: a pause ends them for good (PERM-13).
    pub fn drop_temporary_allows(&mut self) {
        self.rules.retain(|rule| !is_temporary_allow(rule));
    }

    /// Drops the rules for clients of which `is_there` says that they are gone.
    pub fn retain_clients(&mut self, is_there: impl Fn(&ClientId) -> bool) {
        self.rules.retain(|rule| match &rule.clients {
            ClientScope::One { client } => is_there(client),
            ClientScope::Every => true,
        });
    }
}

fn is_temporary_allow(rule: &Grant) -> bool {
    rule.effect == RuleEffect::Allow && rule.lifetime != Lifetime::Always
}

impl PermissionStore {
    /// All permissions of a server that is about to be removed.
    #[must_use]
    pub fn of_server(&self, server: &ServerId) -> RemovedPermissions {
        let now = self.now();
        let is_own = |bound: &ServerBinding| bound.server == *server;
        let rules = now.rules().filter(|rule| rule.server.as_ref().is_some_and(is_own));
        RemovedPermissions {
            rules: rules.cloned().collect(),
            overrides: now.stored.overrides.iter().filter(|user| is_own(&user.server)).cloned().collect(),
            trusted_labels: now.stored.trusted_labels.iter().filter(|bound| is_own(bound)).cloned().collect(),
            successor: None,
        }
    }

    /// A rule that is about to be removed.
    #[must_use]
    pub fn of_rule(&self, rule: &GrantId) -> RemovedPermissions {
        let rules = self.now().rules().filter(|known| known.id == *rule).cloned().collect();
        RemovedPermissions { rules, ..RemovedPermissions::default() }
    }

    /// Restores permissions that were removed. What is bound to a server that is gone or has changed since, what has
    /// expired and what exists again is left out. `by` is who orders it, for the audit.
    ///
    /// # Errors
    /// [`ErrorCode::Paused`] for an allow with a limited lifetime while everything is paused; if the permissions can't
    /// be stored. Nothing is restored then.
    pub async fn restore(&self, removed: RemovedPermissions, by: &'static str) -> Result<(), UserError> {
        self.change(move |store, now| {
            let moment = store.time();
            let is_bound = |bound: &ServerBinding| store.binding(&bound.server).as_ref() == Some(bound);
            let is_valid = |rule: &Grant| match (&rule.server, rule.effect) {
                (None, _) => true,
                (Some(bound), RuleEffect::Allow) => is_bound(bound),
                (Some(bound), RuleEffect::Deny) => store.binding(&bound.server).is_some(),
            };
            let is_new = |rule: &Grant| !now.rules().any(|known| known.id == rule.id);
            let RemovedPermissions { mut rules, overrides, trusted_labels, successor } = removed;
            rules.retain(|rule| is_valid(rule) && is_new(rule) && !is_expired(rule, moment));
            if store.paused() && rules.iter().any(is_temporary_allow) {
                return Err(UserError::new(ErrorCode::Paused, message!("error.tools.paused"))
                    .with_hint(message!("error.tools.pausedHint")));
            }
            let mut plan = PermissionChange::widening();
            let mut permissions = now.stored.clone();
            // Only where the removed rule does come back.
            if let Some(successor) = successor.filter(|_| !rules.is_empty()) {
                let gone = remove_rules(&mut permissions.rules, |rule| rule.id == successor);
                plan.audit.extend(gone.into_iter().map(|rule| AuditEvent::Revoked { rule }));
            }
            for rule in rules {
                plan.audit.push(AuditEvent::Granted { rule: Box::new(rule.clone()) });
                if rule.lifetime == Lifetime::Always {
                    permissions.rules.push(rule);
                } else {
                    plan.add.push(rule);
                }
            }
            for user in overrides.into_iter().filter(|user| is_bound(&user.server)) {
                let known = &permissions.overrides;
                if known.iter().any(|known| known.server == user.server && known.tool == user.tool) {
                    continue;
                }
                let (server, tool) = (user.server.server.clone(), user.tool.clone());
                plan.audit.push(AuditEvent::ClassSet { server, tool, now: Some(user.clone()) });
                permissions.overrides.push(user);
            }
            for bound in trusted_labels.into_iter().filter(is_bound) {
                if !permissions.trusted_labels.contains(&bound) {
                    let (server, by) = (bound.server.clone(), Some(by.to_owned()));
                    plan.audit.push(AuditEvent::LabelsTrusted { server, trusted: true, by });
                    permissions.trusted_labels.push(bound);
                }
            }
            if permissions != now.stored {
                plan.permissions = Some(permissions);
            }
            Ok(plan)
        })
        .await
    }
}
