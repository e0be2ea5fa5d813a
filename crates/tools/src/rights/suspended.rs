//! Permissions that were granted under an operator key that was since replaced by someone without that key.
//! They have no effect until the user confirms them. A confirmed rule stays marked as such, because an
//! attacker may have slipped it in among the user's own.

use gatehouse_model::grant::{RuleView, Suspended};

use super::change::Plan;
use super::*;

impl RightsKeeper {
    /// The suspended rules with their descriptions.
    #[must_use]
    pub fn suspended(&self) -> Vec<RuleView> {
        let now = self.inner.now();
        let view = |rule: &Grant| {
            let RuleWords { sentence, note } = self.describe(rule, &HashMap::new());
            RuleView { rule: rule.clone(), sentence, note, last_used: None, reach: None }
        };
        now.rights.suspended.rules.iter().map(view).collect()
    }

    #[must_use]
    pub fn has_suspended(&self) -> bool {
        self.inner.now().rights.suspended != Suspended::default()
    }

    /// Restores suspended rules and drops the others. Without a selection, all rules are restored, together
    /// with the access classes and trusted labels. Each has its own audit entry.
    ///
    /// # Errors
    /// If one of the rules isn't suspended, or it can't be stored; then nothing has changed.
    pub async fn confirm(&self, rules: Option<Vec<GrantId>>) -> Result<(), Problem> {
        self.inner
            .change(move |keeper, now| {
                let author = RuleAuthor::Confirmed { at: keeper.time() };
                let mut rights = now.rights.clone();
                let suspended = std::mem::take(&mut rights.suspended);
                if let Some(id) =
                    rules.iter().flatten().find(|id| !suspended.rules.iter().any(|rule| rule.id == **id))
                {
                    return Err(Problem::new(ErrorCode::NotFound, format!("No rule {id} is suspended.")));
                }
                let mut plan = Plan::widening();
                for rule in suspended.rules {
                    if rules.as_ref().is_none_or(|wanted| wanted.contains(&rule.id)) {
                        let rule = Grant { author, ..rule };
                        plan.audit.push(AuditEvent::Granted { rule: Box::new(rule.clone()) });
                        rights.rules.push(rule);
                    } else {
                        plan.audit.push(AuditEvent::Revoked { rule: rule.id });
                    }
                }
                if rules.is_none() {
                    // What the user has set since then takes precedence.
                    let classes = suspended.overrides.into_iter().filter(|old| {
                        !now.rights
                            .overrides
                            .iter()
                            .any(|new| new.server == old.server && new.tool == old.tool)
                    });
                    for class in classes {
                        let (server, tool) = (class.server.server.clone(), class.tool.clone());
                        plan.audit.push(AuditEvent::ClassSet { server, tool, now: Some(class.clone()) });
                        rights.overrides.push(class);
                    }
                    let labels = suspended
                        .trusted_labels
                        .into_iter()
                        .filter(|old| !now.rights.trusted_labels.iter().any(|new| new.server == old.server));
                    for bound in labels {
                        let server = bound.server.clone();
                        plan.audit.push(AuditEvent::LabelsTrusted { server, trusted: true });
                        rights.trusted_labels.push(bound);
                    }
                }
                plan.rights = Some(rights);
                Ok(plan)
            })
            .await
    }
}
