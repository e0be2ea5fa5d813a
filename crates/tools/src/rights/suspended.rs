//! What was allowed under an operator key that was replaced by somebody who did not have it. It counts
//! for nothing until the person confirms it, and a rule that was confirmed is marked as such from then on: it may
//! have been slipped in among the person's own.

use gatehouse_model::grant::{RuleView, Suspended};

use super::change::Plan;
use super::*;

impl RightsKeeper {
    /// The suspended rules with their sentences.
    #[must_use]
    pub fn suspended(&self) -> Vec<RuleView> {
        let now = self.inner.now();
        let view = |rule: &Grant| {
            let RuleWords { sentence, note } = self.describe(rule, &HashMap::new());
            RuleView { rule: rule.clone(), sentence, note, last_used: None, reach: None }
        };
        now.rights.suspended.rules.iter().map(view).collect()
    }

    /// Whether anything is suspended.
    #[must_use]
    pub fn has_suspended(&self) -> bool {
        self.inner.now().rights.suspended != Suspended::default()
    }

    /// Lets suspended rules count again and forgets the others; without a choice all of them, with the
    /// classes and labels that were set. The audit names each of them.
    ///
    /// # Errors
    /// When one of the rules is not suspended, or it cannot be written down; then nothing has changed.
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
                    // What was set since is the person's present word.
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
