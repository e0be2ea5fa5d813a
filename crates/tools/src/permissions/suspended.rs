//! Permissions that were granted under an operator key that was since replaced by someone without that key.
//! They have no effect until the user confirms them. A confirmed rule stays marked as such, because an
//! attacker may have slipped it in among the user's own.

use std::collections::HashMap;

use gatehouse_model::grant::{RuleView, SuspendedPermissions};
use gatehouse_model::record::AuditEvent;
use gatehouse_model::{ErrorCode, Grant, GrantId, RuleAuthor, UserError, message};

use super::change::PermissionChange;
use super::permission_store::PermissionStore;
use super::view::RuleWords;

impl PermissionStore {
    /// The suspended rules with their descriptions.
    pub fn suspended(&self) -> Vec<RuleView> {
        let now = self.now();
        let view = |rule: &Grant| {
            let RuleWords { sentence, note } = self.describe(rule, &HashMap::new());
            RuleView { rule: rule.clone(), sentence, note, last_used: None, reach: None }
        };
        now.stored.suspended.rules.iter().map(view).collect()
    }

    #[must_use]
    pub fn has_suspended(&self) -> bool {
        self.now().stored.suspended != SuspendedPermissions::default()
    }

    /// Restores suspended rules and drops the others. Without a selection, all rules are restored, together
    /// with the access classes and trusted labels. Each has its own audit entry.
    ///
    /// # Errors
    /// If one of the rules isn't suspended, or it can't be stored; then nothing has changed.
    pub async fn confirm(&self, rules: Option<Vec<GrantId>>) -> Result<(), UserError> {
        self.change(move |store, now| {
            let author = RuleAuthor::Confirmed { at: store.time() };
            let mut permissions = now.stored.clone();
            let suspended = std::mem::take(&mut permissions.suspended);
            if let Some(id) =
                rules.iter().flatten().find(|id| !suspended.rules.iter().any(|rule| rule.id == **id))
            {
                return Err(UserError::new(
                    ErrorCode::NotFound,
                    message!("error.tools.notSuspended", id = id.to_string()),
                ));
            }
            let mut plan = PermissionChange::widening();
            for rule in suspended.rules {
                if rules.as_ref().is_none_or(|wanted| wanted.contains(&rule.id)) {
                    let rule = Grant { author, ..rule };
                    plan.audit.push(AuditEvent::Granted { rule: Box::new(rule.clone()) });
                    permissions.rules.push(rule);
                } else {
                    plan.audit.push(AuditEvent::Revoked { rule: rule.id });
                }
            }
            if rules.is_none() {
                // What the user has set since then takes precedence.
                let classes = suspended.overrides.into_iter().filter(|old| {
                    !now.stored.overrides.iter().any(|new| new.server == old.server && new.tool == old.tool)
                });
                for class in classes {
                    let (server, tool) = (class.server.server.clone(), class.tool.clone());
                    plan.audit.push(AuditEvent::ClassSet { server, tool, now: Some(class.clone()) });
                    permissions.overrides.push(class);
                }
                let labels = suspended
                    .trusted_labels
                    .into_iter()
                    .filter(|old| !now.stored.trusted_labels.iter().any(|new| new.server == old.server));
                for bound in labels {
                    let server = bound.server.clone();
                    plan.audit.push(AuditEvent::LabelsTrusted { server, trusted: true, by: None });
                    permissions.trusted_labels.push(bound);
                }
            }
            plan.permissions = Some(permissions);
            Ok(plan)
        })
        .await
    }
}
