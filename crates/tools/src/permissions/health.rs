//! The health of permissions (UI-7): reads how rules and servers were used, and narrows an allow to the tools that were.
//! What is said of a rule is decided in the policy crate; here it is only carried out. Narrowing never allows more, and
//! is refused unless that is certain.

use std::collections::HashMap;
use std::sync::Arc;

use gatehouse_model::health::{FindingKind, UnusedServer};
use gatehouse_model::record::AuditEvent;
use gatehouse_model::{
    ErrorCode, Grant, GrantId, Message, RuleEffect, ServerId, Timestamp, UserError, message,
};
use gatehouse_policy::findings::{GrantFinding, GrantUse, UNUSED_AFTER, findings, is_narrower, narrowed};
use gatehouse_store::{ServerUse, StoreError};

use super::change::PermissionChange;
use super::permission_store::PermissionStore;
use super::user_changes::rule_not_found;

/// What calls tell of permissions and servers.
#[derive(Clone, Debug)]
pub struct PermissionHealth {
    /// Since when calls are counted.
    pub recorded_since: Timestamp,
    /// Allows of which there is something to say.
    pub rules: Vec<(Grant, FindingKind)>,
    pub servers: Vec<UnusedServer>,
}

/// How rules and servers were used.
struct RecordedUse {
    since: Timestamp,
    rules: HashMap<GrantId, GrantUse>,
    servers: HashMap<ServerId, ServerUse>,
}

impl PermissionStore {
    /// What calls tell of permissions and servers.
    ///
    /// # Errors
    /// If the store can't be read.
    pub async fn health(&self) -> Result<PermissionHealth, UserError> {
        let RecordedUse { since, rules: uses, servers } = self.recorded_use().await?;
        let now = self.time();
        let current = Arc::clone(&self.now());
        let use_of = |rule: &GrantId| uses.get(rule).cloned().unwrap_or_default();
        let found = findings(&current.stored.rules, use_of, since, now);
        let rules = found.into_iter().map(|(rule, finding)| (rule.clone(), finding_kind(finding))).collect();
        let is_long_ago = |at: Timestamp| at.plus(UNUSED_AFTER) <= now;
        let configs = self.state.servers.handles().into_iter().map(|handle| handle.config());
        let unused = configs.filter(|config| config.enabled && is_long_ago(since)).filter_map(|config| {
            let ServerUse { first_seen, last_call, .. } = servers.get(&config.id)?;
            (is_long_ago(*first_seen) && last_call.is_none_or(is_long_ago)).then(|| UnusedServer {
                server: config.id.clone(),
                name: config.name.clone(),
                last_call: *last_call,
            })
        });
        Ok(PermissionHealth { recorded_since: since, rules, servers: unused.collect() })
    }

    async fn recorded_use(&self) -> Result<RecordedUse, UserError> {
        let store = Arc::clone(&self.state.store);
        let read = tokio::task::spawn_blocking(move || {
            let activity = store.activity();
            // Records of the last moments may not be on disk yet.
            activity.flush();
            let mut rules: HashMap<GrantId, GrantUse> = HashMap::new();
            for one in activity.rule_uses()? {
                let known = rules.entry(one.rule).or_default();
                known.last = known.last.max(Some(one.last));
                known.used.insert(one.tool);
            }
            let servers = activity.server_uses()?.into_iter().map(|one| (one.server.clone(), one)).collect();
            Ok::<_, StoreError>(RecordedUse { since: activity.recorded_since()?, rules, servers })
        });
        match read.await {
            Ok(read) => Ok(read?),
            Err(error) => Err(UserError::new(ErrorCode::Internal, message!("error.tools.useUnread"))
                .with_cause(format!("{error}."))),
        }
    }

    /// Replaces an allow by one for nothing but the tools that it let run so far; returns the id of that one.
    ///
    /// # Errors
    /// If there is no such allow, or it is no wider than it was needed. Also if it can't be stored: then the wide one is
    /// back after a restart.
    pub async fn narrow(&self, rule: &GrantId) -> Result<GrantId, UserError> {
        let uses = self.recorded_use().await?.rules;
        let used = uses.get(rule).map(|known| known.used.clone()).unwrap_or_default();
        let (id, new) = (rule.clone(), GrantId::from_random(self.state.ids.next()));
        let narrow_id = new.clone();
        self.change(move |store, now| {
            let is_it = |rule: &&Grant| rule.id == id && rule.effect == RuleEffect::Allow;
            let old = now.stored.rules.iter().find(is_it).ok_or_else(|| rule_not_found(&id))?;
            let mut narrow =
                narrowed(old, &used).ok_or_else(|| refusal(message!("error.tools.notTooWide")))?;
            narrow.id = narrow_id;
            narrow.created = store.time();
            let is_certain =
                store.with_subjects(old.server.as_ref(), None, |items| is_narrower(&narrow, old, items));
            if !is_certain {
                return Err(refusal(message!("error.tools.notTooWide")));
            }
            let mut plan = PermissionChange::narrowing_by_person();
            let mut permissions = now.stored.clone();
            permissions.rules.retain(|rule| rule.id != id);
            permissions.rules.push(narrow.clone());
            plan.audit.push(AuditEvent::Revoked { rule: id.clone() });
            plan.audit.push(AuditEvent::Granted { rule: Box::new(narrow) });
            plan.permissions = Some(permissions);
            Ok(plan)
        })
        .await?;
        Ok(new)
    }
}

fn refusal(what: Message) -> UserError {
    UserError::new(ErrorCode::BadRequest, what)
}

fn finding_kind(finding: GrantFinding) -> FindingKind {
    match finding {
        GrantFinding::Unused { last } => FindingKind::Unused { last_used: last },
        GrantFinding::TooWide { used, unused } => FindingKind::TooWide { used, unused },
    }
}
