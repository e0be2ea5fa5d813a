//! Orders of the user outside of approval requests: allow, block, revoke, classify, trust labels.

use std::collections::HashMap;

use gatehouse_model::approval::{AutoApprove, ChoiceLifetime, ChoiceScope, Subject};
use gatehouse_model::command::Authority;
use gatehouse_model::grant::{
    AccessClass, AccessOverride, AutoApproveCoverage, ClientScope, CoveredTools, StoredPermissions,
};
use gatehouse_model::record::AuditEvent;
use gatehouse_model::server::ServerCounts;
use gatehouse_model::{
    ClientEntry, ClientId, ErrorCode, Grant, GrantId, Lifetime, Message, RuleAuthor, RuleEffect,
    ServerBinding, ServerId, ServerStatus, SessionId, UserError, message,
};

use super::auto_approve::AutoApproveSetting;
use super::change::{PermissionChange, is_expired};
use super::current::CurrentPermissions;
use super::permission_store::{AutoApproveSpec, LabelTrust, PermissionStore, RuleSpec};
use super::rule_draft::{RuleDraft, contains, remove_rules, replaces, with_earlier_versions};
use crate::catalog::definition_source::DefinitionSource;

/// Longest reason of a block, in characters.
const LONGEST_REASON: usize = 500;
/// Most blocks in force that were made without the operator key.
const BLOCKS_WITHOUT_KEY: usize = 256;
/// Most conditions of such a block: all of them are tried for each call that they may be about.
const CONDITIONS_WITHOUT_KEY: usize = 1;

fn server_not_found(server: &ServerId) -> UserError {
    UserError::new(ErrorCode::NotFound, message!("error.tools.unknownServer", id = server.to_string()))
}

pub(super) fn rule_not_found(rule: &GrantId) -> UserError {
    UserError::new(ErrorCode::NotFound, message!("error.tools.unknownRule", id = rule.to_string()))
}

fn unknown_tools(servers: &[String]) -> UserError {
    let names = servers.join(", ");
    UserError::new(ErrorCode::ServerUnavailable, message!("error.tools.unknownTools", names = names))
        .with_cause(message!("error.tools.unknownToolsCause"))
        .with_hint(message!("error.tools.unknownToolsHint"))
}

/// Checks the reason of a block.
pub(super) fn check_reason(reason: Option<&str>) -> Result<(), UserError> {
    if reason.is_some_and(|reason| reason.chars().count() > LONGEST_REASON) {
        let what = message!("error.tools.reasonTooLong", count = LONGEST_REASON.to_string());
        return Err(UserError::new(ErrorCode::BadRequest, what));
    }
    Ok(())
}

/// Error for an order whose rule would be for one time only.
pub(super) fn empty_choice_error() -> UserError {
    UserError::new(ErrorCode::BadRequest, message!("error.tools.emptyChoice"))
}

impl PermissionStore {
    /// Adds an allow without an approval request.
    ///
    /// # Errors
    /// If the order is invalid or can't be stored; then nothing is allowed.
    pub async fn grant(&self, order: RuleSpec) -> Result<GrantId, UserError> {
        let draft = self.rule_draft(RuleEffect::Allow, order, None, RuleAuthor::Person)?;
        self.require_known_tool(&draft)?;
        self.insert_rule(draft, PermissionChange::widening()).await
    }

    /// What [`Self::grant`] would allow, in words.
    ///
    /// # Errors
    /// If the order is invalid.
    pub fn describe_grant(&self, order: RuleSpec) -> Result<Message, UserError> {
        let draft = self.rule_draft(RuleEffect::Allow, order, None, RuleAuthor::Person)?;
        self.require_known_tool(&draft)?;
        let rule = self.rule(&draft)?.ok_or_else(empty_choice_error)?;
        Ok(self.describe(&rule, &HashMap::new()).sentence)
    }

    /// Adds a block. A block replaces only blocks that end no later, and one made without the operator key
    /// replaces only others made without it. A block without the key is marked as such, and isn't added if the
    /// same is already blocked for nearly as long.
    ///
    /// # Errors
    /// If the order is invalid; [`ErrorCode::NotPermitted`] for a reason without the operator key, or if there
    /// are too many blocks made without it; also if it can't be stored: then it is in effect only until
    /// Gatehouse quits.
    pub async fn deny(
        &self,
        order: RuleSpec,
        reason: Option<String>,
        by: Authority,
    ) -> Result<GrantId, UserError> {
        if reason.is_some() && by != Authority::Operator {
            return Err(UserError::new(ErrorCode::NotPermitted, message!("error.tools.reasonNeedsKey"))
                .with_cause(message!("error.tools.reasonNeedsKeyCause"))
                .with_hint(message!("error.tools.reasonNeedsKeyHint")));
        }
        check_reason(reason.as_deref())?;
        let draft = self.rule_draft(RuleEffect::Deny, order, reason, by.into())?;
        let plan = match by {
            Authority::Operator => PermissionChange::narrowing_by_person(),
            Authority::Anyone | Authority::Client => PermissionChange::narrowing(),
        };
        self.insert_rule(draft, plan).await
    }

    /// Revokes an allow, with effect from the next call on.
    ///
    /// # Errors
    /// If there is no such allow; also if it can't be stored: then the allow is back after a restart.
    pub async fn revoke(&self, rule: &GrantId) -> Result<(), UserError> {
        self.remove_rule(rule, RuleEffect::Allow).await
    }

    /// Removes a block.
    ///
    /// # Errors
    /// If there is no such block or it can't be stored; then the block stays.
    pub async fn unblock(&self, rule: &GrantId) -> Result<(), UserError> {
        self.remove_rule(rule, RuleEffect::Deny).await
    }

    /// Sets the auto-approve setting of a server for every client (PERM-3). Allows of single tools and of
    /// single clients stay.
    ///
    /// # Errors
    /// If there is no such server, its tools aren't known, or it can't be stored.
    pub async fn set_auto_approve(&self, server: &ServerId, to: AutoApprove) -> Result<(), UserError> {
        self.apply_auto_approve(AutoApproveSpec { server: Some(server.clone()), client: None, to })
            .await
            .map(drop)
    }

    /// Sets the auto-approve setting of one server or of every current server, for every client or for one.
    /// Replaces only the previous setting for the same clients. All servers are changed or none. The rule
    /// covers the tools that are known when it is set (PERM-8), so servers whose tools aren't known are left
    /// out. Returns the covered tools and the servers left out.
    ///
    /// # Errors
    /// If there is no such server; [`ErrorCode::ServerUnavailable`] if the tools of none of the servers are
    /// known; if it can't be stored.
    pub async fn apply_auto_approve(&self, order: AutoApproveSpec) -> Result<AutoApproveCoverage, UserError> {
        let is_covered =
            |setting: &AutoApproveSetting| !setting.sets_rule() || self.has_known_tools(&setting.server);
        let (auto_approve_settings, unknown): (Vec<AutoApproveSetting>, Vec<AutoApproveSetting>) =
            self.auto_approve_settings(&order)?.into_iter().partition(is_covered);
        let name = |setting: &AutoApproveSetting| {
            let server = &setting.server.server;
            self.server_name(server).unwrap_or_else(|| server.to_string())
        };
        let unknown: Vec<String> = unknown.iter().map(name).collect();
        if auto_approve_settings.is_empty() && !unknown.is_empty() {
            return Err(unknown_tools(&unknown));
        }
        let set = auto_approve_settings.clone();
        self.change(move |store, now| {
            let asks = order.to == AutoApprove::Ask;
            let mut plan =
                if asks { PermissionChange::narrowing_by_person() } else { PermissionChange::widening() };
            let mut permissions = now.stored.clone();
            for setting in set {
                let id = GrantId::from_random(store.state.ids.next());
                let rule = store.auto_approve_rule(&setting, id);
                let rule = rule.map(|rule| with_earlier_versions(rule, &permissions.rules));
                let gone = remove_rules(&mut permissions.rules, |rule| setting.replaces(rule));
                plan.audit.extend(gone.into_iter().map(|rule| AuditEvent::Revoked { rule }));
                let (server, client, to) =
                    (setting.server.server.clone(), setting.client.clone(), setting.to);
                plan.audit.push(AuditEvent::AutoApproveSet { server, client, to });
                if let Some(rule) = rule {
                    plan.keep.extend(store.definitions(&rule));
                    plan.audit.push(AuditEvent::Granted { rule: Box::new(rule.clone()) });
                    permissions.rules.push(rule);
                }
            }
            plan.permissions = Some(permissions);
            Ok(plan)
        })
        .await?;
        let now = self.now();
        let covered = |setting: &AutoApproveSetting| {
            let rule = now.stored.rules.iter().find(|rule| setting.replaces(rule));
            CoveredTools {
                server: setting.server.server.clone(),
                name: name(setting),
                tools: rule.map(|rule| rule.pins.keys().cloned().collect()).unwrap_or_default(),
            }
        };
        Ok(AutoApproveCoverage { servers: auto_approve_settings.iter().map(covered).collect(), unknown })
    }

    /// Sets or clears the access class that the user gives a tool.
    pub async fn classify(
        &self,
        server: &ServerId,
        tool: &str,
        class: Option<AccessClass>,
    ) -> Result<(), UserError> {
        let (server, tool) = (server.clone(), tool.to_owned());
        self.change(move |store, now| {
            let bound = store.require_binding(&server)?;
            let mut plan = PermissionChange::widening();
            let mut permissions = now.stored.clone();
            permissions.overrides.retain(|user| user.server.server != server || user.tool != tool);
            let holds = class.map(|class| AccessOverride { server: bound, tool: tool.clone(), class });
            permissions.overrides.extend(holds.clone());
            plan.audit.push(AuditEvent::ClassSet { server, tool, now: holds });
            plan.permissions = Some(permissions);
            Ok(plan)
        })
        .await
    }

    /// Sets whether a server's read-only labels are trusted (PERM-2).
    ///
    /// # Errors
    /// [`ErrorCode::StaleAnswer`] if the order is about another generation of the server than there is now, or if
    /// it can't be stored.
    pub async fn trust_labels(&self, order: LabelTrust) -> Result<(), UserError> {
        let LabelTrust { server, generation, trusted, by } = order;
        self.change(move |store, now| {
            if generation.is_some() && generation != store.binding(&server).map(|bound| bound.generation) {
                let place = message!("error.tools.labelsStale");
                return Err(UserError::new(ErrorCode::StaleAnswer, place));
            }
            let mut plan =
                if trusted { PermissionChange::widening() } else { PermissionChange::narrowing_by_person() };
            let mut permissions = now.stored.clone();
            permissions.trusted_labels.retain(|other| other.server != server);
            if trusted {
                permissions.trusted_labels.push(store.require_binding(&server)?);
            }
            plan.audit.push(AuditEvent::LabelsTrusted { server, trusted, by: Some(by.to_owned()) });
            plan.permissions = Some(permissions);
            Ok(plan)
        })
        .await
    }

    /// Drops all permissions of a server that was removed.
    ///
    /// # Errors
    /// If it can't be stored; the permissions have no effect all the same.
    pub async fn server_removed(&self, server: &ServerId) -> Result<(), UserError> {
        self.server_gone(server, None).await
    }

    /// Drops all permissions of a server that was removed (`but` is `None`), or those for other generations
    /// than `but`. Denies stay as long as the server exists.
    ///
    /// # Errors
    /// If it can't be stored; the permissions have no effect all the same.
    pub(crate) async fn server_gone(
        &self,
        server: &ServerId,
        but: Option<ServerBinding>,
    ) -> Result<(), UserError> {
        let (server, is_there) = (server.clone(), but.is_some());
        let gone = move |bound: &ServerBinding| bound.server == server && Some(bound) != but.as_ref();
        let rule_goes = {
            let gone = gone.clone();
            move |rule: &Grant| {
                rule.server.as_ref().is_some_and(&gone) && !(is_there && rule.effect == RuleEffect::Deny)
            }
        };
        let now = self.now().clone();
        let has_some = now.rules().any(&rule_goes)
            || now.stored.overrides.iter().any(|user| gone(&user.server))
            || now.stored.trusted_labels.iter().any(&gone);
        if !has_some {
            return Ok(());
        }
        let also = gone;
        self.drop_rules(rule_goes, move |permissions| {
            permissions.overrides.retain(|user| !also(&user.server));
            permissions.trusted_labels.retain(|bound| !also(bound));
        })
        .await
    }

    /// Remembers the name of a new client, for describing rules.
    pub fn client_added(&self, client: &ClientEntry) {
        self.remember_client(client);
    }

    /// Drops all rules for a client whose access was revoked.
    ///
    /// # Errors
    /// If it can't be stored; the rules have no effect all the same.
    pub async fn client_removed(&self, client: &ClientId) -> Result<(), UserError> {
        let scope = ClientScope::One { client: client.clone() };
        self.drop_rules(move |rule| rule.clients == scope, |_| {}).await
    }
}

impl PermissionStore {
    /// The settings that an order means, one per server.
    pub(crate) fn auto_approve_settings(
        &self,
        order: &AutoApproveSpec,
    ) -> Result<Vec<AutoApproveSetting>, UserError> {
        let servers = match &order.server {
            Some(server) => vec![self.require_binding(server)?],
            None => self.bindings(),
        };
        let setting = |server| AutoApproveSetting { server, client: order.client.clone(), to: order.to };
        Ok(servers.into_iter().map(setting).collect())
    }

    /// Whether the tools of a server are known: it is connected, or was since Gatehouse started.
    fn has_known_tools(&self, bound: &ServerBinding) -> bool {
        let Some(handle) = self.state.servers.get(&bound.server) else { return false };
        let lists = handle.lists();
        let is_connected = matches!(handle.status(), ServerStatus::Connected { .. });
        lists.generation == bound.generation && (is_connected || lists.counts() != ServerCounts::default())
    }

    /// The rule of an auto-approve setting, with the tools that are known now.
    pub(crate) fn auto_approve_rule(&self, setting: &AutoApproveSetting, id: GrantId) -> Option<Grant> {
        self.with_subjects(Some(&setting.server), None, |items| setting.rule(id, self.time(), items))
    }

    /// Rejects a draft for a tool that isn't known.
    pub(crate) fn require_known_tool(&self, draft: &RuleDraft) -> Result<(), UserError> {
        let (ChoiceScope::Tool, Some(tool)) = (draft.choice.width, &draft.subject) else { return Ok(()) };
        let catalog = self.state.catalog.load();
        let subject = Subject::from_rule_name(tool);
        let Subject::Tool { name } = &subject else {
            let is_known =
                draft.server.as_ref().is_none_or(|ServerBinding { server, generation, .. }| {
                    !matches!(
                        catalog.subject_info(server, *generation, &subject).origin,
                        DefinitionSource::Unknown
                    )
                });
            if is_known || draft.effect == RuleEffect::Deny {
                return Ok(());
            }
            return Err(UserError::new(
                ErrorCode::NotFound,
                message!("error.tools.goneFromServer", name = tool),
            )
            .with_hint(message!("error.tools.startForLists")));
        };
        let (known, what) = match &draft.server {
            Some(bound) => (
                catalog.find(&bound.server, name).is_some(),
                message!("error.tools.noSuchToolOnServer", name = tool),
            ),
            None => (
                catalog.tools().iter().any(|known| known.name() == name),
                message!("error.tools.noSuchTool", name = tool),
            ),
        };
        if known {
            return Ok(());
        }
        Err(UserError::new(ErrorCode::NotFound, what).with_hint(message!("error.tools.startForTools")))
    }

    pub(crate) fn rule_draft(
        &self,
        effect: RuleEffect,
        order: RuleSpec,
        reason: Option<String>,
        author: RuleAuthor,
    ) -> Result<RuleDraft, UserError> {
        let RuleSpec { server, tool, client, choice } = order;
        let wrong = |what: Message| UserError::new(ErrorCode::BadRequest, what);
        if choice.lifetime == ChoiceLifetime::Once || choice.width == ChoiceScope::Call {
            return Err(wrong(message!("error.tools.ruleForOneCall")));
        }
        if author == RuleAuthor::Unprivileged && choice.conditions.len() > CONDITIONS_WITHOUT_KEY {
            let what =
                message!("error.tools.conditionsWithoutKey", count = CONDITIONS_WITHOUT_KEY.to_string());
            return Err(UserError::new(ErrorCode::NotPermitted, what)
                .with_hint(message!("error.tools.conditionsWithoutKeyHint")));
        }
        let server = server.map(|id| self.require_binding(&id)).transpose()?;
        Ok(RuleDraft {
            effect,
            server,
            subject: tool,
            hash: None,
            client,
            session: None,
            program: None,
            choice,
            author,
            reason,
            shown: None,
        })
    }

    /// The current generation and identity of a server, to which rules are bound.
    pub(super) fn require_binding(&self, server: &ServerId) -> Result<ServerBinding, UserError> {
        self.binding(server).ok_or_else(|| server_not_found(server))
    }

    /// Whether a block exceeds the limit for blocks made without the operator key. Blocks made with the key
    /// don't count, nor does a block that adds nothing or replaces another.
    fn is_one_too_many(&self, rule: &Grant, now: &CurrentPermissions) -> bool {
        if rule.author != RuleAuthor::Unprivileged || now.rules().any(|old| contains(old, rule)) {
            return false;
        }
        let moment = self.time();
        let counts = |old: &&Grant| {
            old.author == RuleAuthor::Unprivileged && !is_expired(old, moment) && !replaces(rule, old)
        };
        now.rules().filter(counts).count() >= BLOCKS_WITHOUT_KEY
    }

    async fn insert_rule(&self, draft: RuleDraft, mut plan: PermissionChange) -> Result<GrantId, UserError> {
        let rule = self.rule(&draft)?.ok_or_else(empty_choice_error)?;
        if self.paused() && rule.effect == RuleEffect::Allow && rule.lifetime != Lifetime::Always {
            return Err(UserError::new(ErrorCode::Paused, message!("error.tools.paused"))
                .with_hint(message!("error.tools.pausedHint")));
        }
        let wanted = rule.clone();
        self.change(move |store, now| {
            if store.is_one_too_many(&rule, now) {
                let what = message!("error.tools.tooManyBlocks", count = BLOCKS_WITHOUT_KEY.to_string());
                return Err(UserError::new(ErrorCode::NotPermitted, what)
                    .with_hint(message!("error.tools.tooManyBlocksHint")));
            }
            let keep = store.definitions(&rule);
            plan.insert_rule(rule, now, keep);
            Ok(plan)
        })
        .await?;
        // A block that an existing one contains isn't added; the id of the existing one is returned.
        let now = self.now();
        let in_force = now.rules().find(|rule| rule.id == wanted.id);
        let in_force = in_force.or_else(|| now.rules().find(|rule| contains(rule, &wanted)));
        Ok(in_force.map_or(wanted.id.clone(), |rule| rule.id.clone()))
    }

    async fn remove_rule(&self, rule: &GrantId, effect: RuleEffect) -> Result<(), UserError> {
        let id = rule.clone();
        self.change(move |_, now| {
            let rule = now.rules().find(|rule| rule.id == id).ok_or_else(|| rule_not_found(&id))?;
            if rule.effect != effect {
                return Err(match effect {
                    RuleEffect::Allow => {
                        UserError::new(ErrorCode::BadRequest, message!("error.tools.ruleBlocks"))
                            .with_hint(message!("error.tools.ruleBlocksHint"))
                    }
                    RuleEffect::Deny => {
                        UserError::new(ErrorCode::BadRequest, message!("error.tools.ruleAllows"))
                            .with_hint(message!("error.tools.ruleAllowsHint"))
                    }
                });
            }
            let mut plan = if effect == RuleEffect::Allow {
                PermissionChange::narrowing_by_person()
            } else {
                PermissionChange::widening()
            };
            plan.audit.push(AuditEvent::Revoked { rule: id.clone() });
            if rule.lifetime == Lifetime::Always {
                let mut permissions = now.stored.clone();
                permissions.rules.retain(|rule| rule.id != id);
                plan.permissions = Some(permissions);
            } else {
                plan.drop.push(id);
            }
            Ok(plan)
        })
        .await
    }

    /// Drops all rules that `gone` selects, and what `also` removes.
    async fn drop_rules(
        &self,
        gone: impl Fn(&Grant) -> bool + Send + 'static,
        also: impl FnOnce(&mut StoredPermissions) + Send + 'static,
    ) -> Result<(), UserError> {
        self.change(move |_, now| {
            let mut plan = PermissionChange::narrowing();
            let mut permissions = now.stored.clone();
            permissions.rules.retain(|rule| !gone(rule));
            also(&mut permissions);
            plan.drop = now.timed.iter().filter(|rule| gone(rule)).map(|rule| rule.id.clone()).collect();
            plan.audit = now
                .rules()
                .filter(|rule| gone(rule))
                .map(|rule| AuditEvent::Revoked { rule: rule.id.clone() })
                .collect();
            if permissions != now.stored {
                plan.permissions = Some(permissions);
            }
            Ok(plan)
        })
        .await
    }

    /// Ends the rules of a session.
    pub(crate) fn session_ended(&self, session: &SessionId) {
        self.drop_temporary(
            |rule| matches!(&rule.lifetime, Lifetime::Session { session: of } if of == session),
        );
    }

    /// Drops the allows with a limited lifetime (PERM-13).
    pub(crate) fn drop_temporary_allows(&self) -> Vec<GrantId> {
        self.drop_temporary(|rule| rule.effect == RuleEffect::Allow)
    }

    /// Stores that everything is paused, or resumed.
    pub(crate) async fn persist_pause(&self, paused: bool, ended: Vec<GrantId>) -> Result<(), UserError> {
        self.change(move |_, now| {
            let mut plan = if paused { PermissionChange::narrowing() } else { PermissionChange::widening() };
            plan.audit = ended.into_iter().map(|rule| AuditEvent::Revoked { rule }).collect();
            plan.audit.push(AuditEvent::Paused { paused });
            if now.stored.paused != paused && now.verified {
                plan.permissions = Some(StoredPermissions { paused, ..now.stored.clone() });
            }
            Ok(plan)
        })
        .await
    }
}
