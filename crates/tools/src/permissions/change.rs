//! Changing permissions: a plan is made, stored, and only then takes effect. One change at a time.

use std::sync::Arc;

use gatehouse_model::grant::StoredPermissions;
use gatehouse_model::record::AuditEvent;
use gatehouse_model::{
    ErrorCode, Event, Fingerprint, Grant, GrantId, RuleAuthor, RuleEffect, Timestamp, UserError, message,
};
use gatehouse_policy::coverage::is_unbound;

use super::current::CurrentPermissions;
use super::permission_store::{PermissionStore, unreadable};
use super::rule_draft::{contains, insert_rule, replaces, with_earlier_versions};

/// A planned change.
pub(crate) struct PermissionChange {
    /// The new stored permissions; `None` if they don't change.
    pub(crate) permissions: Option<StoredPermissions>,
    /// Rules with a limited lifetime to add.
    pub(crate) add: Vec<Grant>,
    /// Rules with a limited lifetime to drop.
    pub(crate) drop: Vec<GrantId>,
    /// Audit entries to write.
    pub(crate) audit: Vec<AuditEvent>,
    /// Definitions to store.
    pub(crate) keep: Vec<(Fingerprint, Box<str>)>,
    kind: ChangeKind,
}

/// Whether a change allows more, and who may order it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ChangeKind {
    /// Allows nothing more, and may come from any origin.
    Narrowing,
    /// Allows nothing more, ordered by a user.
    NarrowingByPerson,
    /// May allow more; only a user can order it.
    Widening,
}

impl ChangeKind {
    /// Whether it takes effect even if it can't be stored.
    fn is_narrowing(self) -> bool {
        match self {
            Self::Narrowing | Self::NarrowingByPerson => true,
            Self::Widening => false,
        }
    }

    /// Whether a user ordered it. Only such a change may remove a block, and only such a change may be stored in
    /// place of permissions that couldn't be verified.
    fn is_by_person(self) -> bool {
        match self {
            Self::NarrowingByPerson | Self::Widening => true,
            Self::Narrowing => false,
        }
    }
}

impl PermissionChange {
    /// A plan that allows nothing more and may come from any origin.
    pub(crate) fn narrowing() -> Self {
        Self::new(ChangeKind::Narrowing)
    }

    /// A plan that allows nothing more, ordered by a user.
    pub(crate) fn narrowing_by_person() -> Self {
        Self::new(ChangeKind::NarrowingByPerson)
    }

    /// A plan that only a user can order.
    pub(crate) fn widening() -> Self {
        Self::new(ChangeKind::Widening)
    }

    fn new(kind: ChangeKind) -> Self {
        Self {
            permissions: None,
            add: Vec::new(),
            drop: Vec::new(),
            audit: Vec::new(),
            keep: Vec::new(),
            kind,
        }
    }

    /// Adds a rule to the plan and drops the rules that it replaces, whose approved definitions it keeps. A rule made without the operator key
    /// isn't added if a rule in force already contains it.
    pub(crate) fn insert_rule(
        &mut self,
        rule: Grant,
        now: &CurrentPermissions,
        keep: Vec<(Fingerprint, Box<str>)>,
    ) {
        if rule.author == RuleAuthor::Unprivileged && now.rules().any(|old| contains(old, &rule)) {
            return;
        }
        self.keep.extend(keep);
        let stored = self.permissions.as_ref().unwrap_or(&now.stored).rules.iter();
        let rule = with_earlier_versions(rule, stored.chain(&now.timed));
        if rule.lifetime == gatehouse_model::Lifetime::Always {
            let permissions = self.permissions.get_or_insert_with(|| now.stored.clone());
            let gone = insert_rule(&mut permissions.rules, rule.clone());
            self.audit.extend(gone.into_iter().map(|rule| AuditEvent::Revoked { rule }));
        } else {
            for old in now.timed.iter().filter(|old| replaces(&rule, old)) {
                self.drop.push(old.id.clone());
                self.audit.push(AuditEvent::Revoked { rule: old.id.clone() });
            }
            insert_rule(&mut self.add, rule.clone());
        }
        self.audit.push(AuditEvent::Granted { rule: Box::new(rule) });
    }

    /// Binds a grant that waits for its first use to a program. A grant that is bound already, or gone, isn't
    /// changed.
    pub(crate) fn bind(&mut self, id: &GrantId, program: &str, now: &CurrentPermissions) {
        let waits = |rule: &Grant| rule.id == *id && is_unbound(rule);
        let stored = &self.permissions.as_ref().unwrap_or(&now.stored).rules;
        let is_stored = stored.iter().any(waits);
        let timed = now.timed.iter().find(|rule| waits(rule)).filter(|_| !self.drop.contains(id));
        if is_stored {
            let permissions = self.permissions.get_or_insert_with(|| now.stored.clone());
            for rule in permissions.rules.iter_mut().filter(|rule| waits(rule)) {
                rule.program = Some(program.to_owned());
            }
        } else if let Some(rule) = timed {
            self.drop.push(id.clone());
            self.add.push(Grant { program: Some(program.to_owned()), ..rule.clone() });
        } else {
            return;
        }
        self.audit.push(AuditEvent::GrantBound { rule: id.clone(), program: Some(program.to_owned()) });
    }
}

impl PermissionStore {
    /// Makes a plan and carries it out, even if the caller is dropped.
    pub(crate) async fn change<F>(&self, plan: F) -> Result<(), UserError>
    where
        F: FnOnce(&PermissionStore, &CurrentPermissions) -> Result<PermissionChange, UserError>
            + Send
            + 'static,
    {
        let store = self.clone();
        let done = self.state.tracker.spawn(async move { store.apply(plan).await }).await;
        done.unwrap_or_else(|_| {
            Err(UserError::new(ErrorCode::Internal, message!("error.tools.permissionsUnchanged")))
        })
    }

    async fn apply<F>(self, plan: F) -> Result<(), UserError>
    where
        F: FnOnce(&PermissionStore, &CurrentPermissions) -> Result<PermissionChange, UserError>,
    {
        let writing = self.state.writer.lock().await;
        self.reverify().await;
        let base = self.state.now.load_full();
        let plan = plan(&self, &base)?;
        let mut written = Ok(());
        if base.problem.as_ref().is_some_and(|problem| problem.code == ErrorCode::SecretsUnavailable)
            && plan.permissions.is_some()
        {
            // A locked keychain may hold permissions that must not be overwritten.
            written = base.problem.clone().map_or(Ok(()), Err);
        } else if plan.permissions.is_some() || !plan.audit.is_empty() {
            written = self.write(&plan).await;
        }
        if written.is_ok() || plan.kind.is_narrowing() {
            let saved = written.is_ok() && plan.permissions.is_some();
            self.publish(plan, saved);
        }
        drop(writing);
        written
    }

    /// Tries again to verify permissions that couldn't be verified; returns whether they are verified now.
    pub(crate) async fn recheck(&self) -> bool {
        if self.now().verified {
            return true;
        }
        let writing = self.state.writer.lock().await;
        self.reverify().await;
        drop(writing);
        self.now().verified
    }

    /// As `recheck`, with the writer lock held: the keychain may be unlocked now.
    async fn reverify(&self) {
        if !self.now().problem.as_ref().is_some_and(|problem| problem.code == ErrorCode::SecretsUnavailable) {
            return;
        }
        let store = self.state.store.clone();
        let Ok(Ok(permissions)) = tokio::task::spawn_blocking(move || store.permissions().load()).await
        else {
            return;
        };
        let permissions = permissions.unwrap_or_default();
        let publishing = self.state.publishing.lock();
        let timed = self.now().timed.clone();
        if permissions.paused {
            self.set_paused(true);
        }
        self.state.now.store(Arc::new(CurrentPermissions::new(permissions, timed, None)));
        drop(publishing);
        self.emit_changed();
    }

    /// Writes the audit first and the permissions afterwards: nothing takes effect without an audit entry.
    async fn write(&self, plan: &PermissionChange) -> Result<(), UserError> {
        let store = self.state.store.clone();
        let (audit, keep, permissions) = (plan.audit.clone(), plan.keep.clone(), plan.permissions.clone());
        let is_by_person = plan.kind.is_by_person();
        let undone: Vec<AuditEvent> = audit
            .iter()
            .filter_map(|event| match event {
                AuditEvent::Granted { rule } => Some(AuditEvent::Revoked { rule: rule.id.clone() }),
                AuditEvent::GrantBound { rule, .. } => {
                    Some(AuditEvent::GrantBound { rule: rule.clone(), program: None })
                }
                _ => None,
            })
            .collect();
        let written = tokio::task::spawn_blocking(move || {
            for event in audit {
                store.audit().append(event)?;
            }
            if !keep.is_empty() {
                store
                    .definitions()
                    .keep_all(keep.iter().map(|(fingerprint, text)| (fingerprint, &**text)))?;
            }
            let Some(permissions) = permissions else { return Ok(()) };
            let saved = match is_by_person {
                true => store.permissions().overwrite(&permissions),
                false => store.permissions().save(&permissions),
            };
            saved.inspect_err(|_| {
                for event in undone {
                    if let Err(error) = store.audit().append(event) {
                        tracing::error!(%error, "the audit could not be written");
                    }
                }
            })
        })
        .await;
        match written {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => {
                tracing::error!(%error, "a change of permissions could not be written");
                Err(error.into())
            }
            Err(_) => Err(unreadable("writing them failed")),
        }
    }

    /// Makes a plan take effect.
    fn publish(&self, plan: PermissionChange, saved: bool) {
        let publishing = self.state.publishing.lock();
        let now = self.state.now.load_full();
        let moment = self.time();
        let mut timed: Vec<Grant> = now
            .timed
            .iter()
            .filter(|rule| !plan.drop.contains(&rule.id) && !is_expired(rule, moment))
            .cloned()
            .collect();
        // An allow that was being made when the pause began must not get around it.
        let paused = self.paused();
        timed.extend(plan.add.into_iter().filter(|rule| rule.effect == RuleEffect::Deny || !paused));
        let permissions = plan.permissions.unwrap_or_else(|| now.stored.clone());
        let problem = if saved { None } else { now.problem.clone() };
        self.state.now.store(Arc::new(CurrentPermissions::new(permissions, timed, problem)));
        drop(publishing);
        self.emit_changed();
    }

    /// Drops rules with a limited lifetime, immediately.
    pub(crate) fn drop_temporary(&self, ends: impl Fn(&Grant) -> bool) -> Vec<GrantId> {
        let publishing = self.state.publishing.lock();
        let now = self.state.now.load_full();
        let (gone, timed): (Vec<Grant>, Vec<Grant>) = now.timed.iter().cloned().partition(|rule| ends(rule));
        if !gone.is_empty() {
            self.state.now.store(Arc::new(CurrentPermissions::new(
                now.stored.clone(),
                timed,
                now.problem.clone(),
            )));
        }
        drop(publishing);
        if !gone.is_empty() {
            self.emit_changed();
        }
        gone.into_iter().map(|rule| rule.id).collect()
    }

    fn emit_changed(&self) {
        self.state.changes.send_modify(|count| *count = count.wrapping_add(1));
        self.state.events.emit(Event::PermissionsChanged { verified: self.now().verified });
    }

    /// Writes audit entries durably.
    pub(crate) async fn audit(&self, events: Vec<AuditEvent>) -> Result<(), UserError> {
        if events.is_empty() {
            return Ok(());
        }
        let store = self.state.store.clone();
        let written = tokio::task::spawn_blocking(move || {
            events.into_iter().try_for_each(|event| store.audit().append(event).map(drop))
        })
        .await;
        match written {
            Ok(written) => written.map_err(|error| {
                tracing::error!(%error, "the audit could not be written");
                error.into()
            }),
            Err(_) => Err(UserError::new(ErrorCode::Storage, message!("error.tools.auditUnwritten"))),
        }
    }
}

pub(super) fn is_expired(rule: &Grant, now: Timestamp) -> bool {
    matches!(rule.lifetime, gatehouse_model::Lifetime::Until { at } if at <= now)
}
