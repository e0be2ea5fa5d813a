//! Permanent permissions that a person imports from another Gatehouse (DATA-4). Each is bound to a server as it is here,
//! and to no program: an allow for one client asks at its first use. An allow covers the definitions that it was given for
//! there and no others (PERM-8), so it never reaches further than it did.

use std::collections::BTreeMap;

use gatehouse_model::grant::{AccessClass, AccessOverride, ClientScope, Condition};
use gatehouse_model::record::AuditEvent;
use gatehouse_model::{
    ApprovedVersions, ClientId, ErrorCode, Fingerprint, Generation, Grant, GrantId, IdentityHash, Lifetime,
    MAX_APPROVED_VERSIONS, Message, RuleAuthor, RuleEffect, Scope, ServerBinding, ServerId, Timestamp,
    UserError, message,
};
use gatehouse_policy::rule_messages::{RuleNames, describe_rule};

use super::change::PermissionChange;
use super::permission_store::PermissionStore;
use super::rule_draft::check_limits;
use super::user_changes::check_reason;

/// Most tools that an imported rule was given for.
const MOST_DEFINITIONS: usize = 10_000;

/// A permanent rule that is imported.
#[derive(Clone, Debug)]
pub struct ImportedRule {
    pub effect: RuleEffect,
    /// The server; every server if absent, which is valid only for blocks.
    pub server: Option<ServerId>,
    /// Only for this client; for every client if absent.
    pub client: Option<ClientId>,
    pub scope: Scope,
    pub conditions: Vec<Condition>,
    /// The definitions that an allow was given for.
    pub definitions: BTreeMap<String, ApprovedVersions>,
    /// What the model gets to read when the rule blocks a call.
    pub reason: Option<String>,
}

/// The user's access class of a tool that is imported.
#[derive(Clone, Debug)]
pub struct ImportedClass {
    pub server: ServerId,
    /// Name of the tool on the server.
    pub tool: String,
    pub class: AccessClass,
}

/// Permissions that are imported together.
#[derive(Clone, Debug)]
pub struct ImportedPermissions {
    pub rules: Vec<ImportedRule>,
    pub classes: Vec<ImportedClass>,
    /// Servers whose read-only labels are trusted.
    pub trusted_labels: Vec<ServerId>,
}

impl ImportedRule {
    /// Checks what doesn't depend on the servers and clients that there are.
    ///
    /// # Errors
    /// What is wrong with the rule first.
    pub fn validate(&self) -> Result<(), UserError> {
        let wrong = |what: Message| Err(UserError::new(ErrorCode::BadRequest, what));
        let subject = match &self.scope {
            Scope::Call { .. } => return wrong(message!("error.tools.ruleForOneCall")),
            Scope::Tool { tool } => Some(tool.rule_name()),
            Scope::Reads | Scope::Writes | Scope::Everything => None,
        };
        if self.effect == RuleEffect::Allow && self.server.is_none() {
            return wrong(message!("error.tools.noServer"));
        }
        check_limits(subject.as_deref(), &self.conditions)?;
        check_reason(self.reason.as_deref())?;
        let is_valid = |versions: &ApprovedVersions| {
            versions.iter().count() <= MAX_APPROVED_VERSIONS && versions.iter().all(is_fingerprint)
        };
        if self.definitions.len() > MOST_DEFINITIONS || !self.definitions.values().all(is_valid) {
            return wrong(message!("error.tools.badDefinitions"));
        }
        Ok(())
    }

    /// The rule in words, with these names of its server and its client.
    #[must_use]
    pub fn describe(&self, server: Option<&str>, client: Option<&str>) -> Message {
        let names = RuleNames { server, client };
        let binding = self.server.clone().map(|server| ServerBinding {
            server,
            generation: Generation::default(),
            identity: IdentityHash::new(""),
        });
        describe_rule(&self.grant(GrantId::new(""), binding, Timestamp(0)), &names)
    }

    fn grant(&self, id: GrantId, server: Option<ServerBinding>, created: Timestamp) -> Grant {
        let pins = match self.effect {
            RuleEffect::Allow => self.definitions.clone(),
            RuleEffect::Deny => BTreeMap::new(),
        };
        Grant {
            id,
            effect: self.effect,
            server,
            width: self.scope.clone(),
            clients: match &self.client {
                Some(client) => ClientScope::One { client: client.clone() },
                None => ClientScope::Every,
            },
            lifetime: Lifetime::Always,
            conditions: self.conditions.clone(),
            pins,
            program: None,
            created,
            author: RuleAuthor::Person,
            reason: self.reason.clone(),
        }
    }
}

/// Whether a text can be the fingerprint of a definition: SHA-256 in lower-case hexadecimal.
fn is_fingerprint(fingerprint: &Fingerprint) -> bool {
    let text = fingerprint.as_str();
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

impl PermissionStore {
    /// Adds permissions, all or none. Each replaces what is set here for the same. `by` is who orders it, for the audit.
    ///
    /// # Errors
    /// If a rule is invalid, a server is gone, or it can't be stored; then nothing has changed.
    pub async fn import(&self, imported: ImportedPermissions, by: &'static str) -> Result<(), UserError> {
        imported.rules.iter().try_for_each(ImportedRule::validate)?;
        self.change(move |store, now| {
            let mut plan = PermissionChange::widening();
            for rule in imported.rules {
                let binding = rule.server.as_ref().map(|server| store.require_binding(server)).transpose()?;
                let rule = rule.grant(store.new_rule_id(), binding, store.time());
                let keep = store.definitions(&rule);
                plan.insert_rule(rule, now, keep);
            }
            let mut permissions = plan.permissions.take().unwrap_or_else(|| now.stored.clone());
            for ImportedClass { server, tool, class } in imported.classes {
                permissions.overrides.retain(|user| user.server.server != server || user.tool != tool);
                let user =
                    AccessOverride { server: store.require_binding(&server)?, tool: tool.clone(), class };
                permissions.overrides.push(user.clone());
                plan.audit.push(AuditEvent::ClassSet { server, tool, now: Some(user) });
            }
            for server in imported.trusted_labels {
                permissions.trusted_labels.retain(|bound| bound.server != server);
                permissions.trusted_labels.push(store.require_binding(&server)?);
                plan.audit.push(AuditEvent::LabelsTrusted { server, trusted: true, by: Some(by.to_owned()) });
            }
            plan.permissions = Some(permissions);
            Ok(plan)
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use gatehouse_model::approval::Subject;
    use gatehouse_model::grant::ConditionTest;

    use super::*;

    fn rule(effect: RuleEffect, server: Option<&str>, scope: Scope) -> ImportedRule {
        ImportedRule {
            effect,
            server: server.map(ServerId::from),
            client: None,
            scope,
            conditions: Vec::new(),
            definitions: BTreeMap::new(),
            reason: None,
        }
    }

    #[test]
    fn refuses_rules_that_nobody_could_have_made() {
        let allow = rule(RuleEffect::Allow, Some("s"), Scope::Everything);
        let deny = rule(RuleEffect::Deny, None, Scope::Tool { tool: Subject::from_rule_name("write") });
        assert!(allow.validate().is_ok() && deny.validate().is_ok());
        let fingerprint = |text: &str| -> BTreeMap<String, ApprovedVersions> {
            [("t".to_owned(), Fingerprint::from(text).into())].into()
        };
        let known = ImportedRule { definitions: fingerprint(&"0a".repeat(32)), ..allow.clone() };
        assert!(known.validate().is_ok());
        let test = ConditionTest::StartsWith { text: String::new() };
        let impossible = Condition { pointer: "/path".to_owned(), test };
        for wrong in [
            ImportedRule { server: None, ..allow.clone() },
            ImportedRule { scope: Scope::Call { hash: "h".into() }, ..allow.clone() },
            ImportedRule { conditions: vec![impossible], ..allow.clone() },
            ImportedRule { definitions: fingerprint("short"), ..allow },
            ImportedRule { reason: Some("x".repeat(501)), ..deny },
        ] {
            assert_eq!(wrong.validate().unwrap_err().code, ErrorCode::BadRequest, "{wrong:?}");
        }
    }

    #[test]
    fn waits_for_its_first_use_and_covers_what_it_was_given_for() {
        let definitions: BTreeMap<String, ApprovedVersions> =
            [("t".to_owned(), Fingerprint::from("a").into())].into();
        let allow = ImportedRule {
            client: Some("c".into()),
            definitions: definitions.clone(),
            ..rule(RuleEffect::Allow, Some("s"), Scope::Reads)
        };
        let grant = allow.grant("g".into(), None, Timestamp(1));
        assert_eq!((grant.program, grant.pins), (None, definitions));
        assert_eq!((grant.lifetime, grant.author), (Lifetime::Always, RuleAuthor::Person));
    }
}
