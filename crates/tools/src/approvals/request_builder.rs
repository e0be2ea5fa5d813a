//! Builds the approval request of a call as the UI shows it (PERM-9): the call, its warnings, and what can be
//! answered. It decides nothing, and waits only for a deadline on paths and for the disk.

use std::sync::Arc;

use gatehouse_model::approval::{ServerSummary, ShownArgument, Warning};
use gatehouse_model::grant::FieldChange;
use gatehouse_model::{CallApprovalRequest, GrantId, Rule};
use gatehouse_policy::coverage::DefinitionRef;
use gatehouse_policy::definition::{diff, fingerprint};
use gatehouse_policy::display::reveal;
use gatehouse_policy::rule_messages::CallNames;
use gatehouse_store::Store;

use super::choices_and_warnings::{CallHistory, Offer, offer, permanent_scope, warnings};
use super::limits::shown_bytes;
use super::proposals;
use super::usage_history::UsageHistory;
use crate::catalog::definition_source::DefinitionSource;
use crate::paths::path_lookup::{self, KnownPaths, PathLookup};
use crate::pending_call::PendingCall;
use crate::permissions::PermissionStore;

/// A call that no rule decided.
pub(crate) struct UndecidedCall<'a> {
    pub(crate) pending_call: &'a PendingCall,
    /// Why no rule decided.
    pub(crate) rule: &'a Rule,
    /// The definition that an earlier approval request for this call showed.
    pub(crate) last_shown: Option<&'a DefinitionSource>,
    /// Everything that is sent, as it is shown.
    pub(crate) arguments: Vec<ShownArgument>,
}

/// Builds approval requests for calls.
pub(crate) struct ApprovalRequestBuilder {
    pub(crate) store: Arc<Store>,
    pub(crate) permissions: PermissionStore,
    pub(crate) history: Arc<UsageHistory>,
    /// Looks up paths that are only shown; not the look-up that verdicts wait for.
    pub(crate) paths: Arc<PathLookup>,
}

impl ApprovalRequestBuilder {
    /// The approval request as the UI shows it.
    pub(crate) async fn build(&self, call: UndecidedCall<'_>) -> CallApprovalRequest {
        let UndecidedCall { pending_call, rule, last_shown, arguments } = call;
        let shown = last_shown.and_then(DefinitionSource::definition);
        let changes = match (rule, shown, pending_call.origin.definition()) {
            (Rule::ChangedDefinition { grant }, ..) => self.changes_since(pending_call, grant).await,
            // The definition changed while the request was shown.
            (_, Some((_, shown)), Some((_, now))) => diff(shown.get(), now.get()),
            _ => Vec::new(),
        };
        let past = CallHistory {
            first_use: self.history.is_first_use(pending_call).await,
            programs: self.history.programs_of(pending_call).await,
        };
        let mut paths = KnownPaths::default();
        let missing = paths.missing(proposals::paths(&pending_call.arguments));
        self.paths.look_up(missing, path_lookup::deadline(), &mut paths).await;
        let permissions = self.permissions.now();
        let mut warnings = warnings(pending_call, &permissions, rule, &past);
        if !changes.is_empty() && !warnings.contains(&Warning::DefinitionChanged) {
            warnings.insert(0, Warning::DefinitionChanged);
        }
        let name = pending_call.subject.rule_name();
        let title = match pending_call.origin.tool() {
            Some(definition) => {
                definition.title.clone().unwrap_or_else(|| reveal(&definition.name).into_owned())
            }
            None => reveal(&name).into_owned(),
        };
        let client = pending_call.client_summary();
        let names = CallNames {
            server: &pending_call.config.name,
            client: &client.name,
            subject: &pending_call.subject,
        };
        let permanent = permanent_scope(rule, &warnings, &changes);
        let Offer { choices, denials, conditions } =
            offer(pending_call, &permissions, permanent, &paths, &names);
        CallApprovalRequest {
            client,
            server: ServerSummary::from(&*pending_call.config),
            subject: pending_call.subject.clone(),
            title,
            exposed_name: pending_call.exposed_name.to_string(),
            class: pending_call.class.clone(),
            argument_bytes: u32::try_from(shown_bytes(&arguments)).unwrap_or(u32::MAX),
            arguments: Some(arguments),
            is_abridged: false,
            hash: pending_call.approval_hash.clone(),
            choices,
            denials,
            conditions,
            warnings,
            changes,
            client_waits_until: None,
        }
    }

    /// The differences between the current definition and the one that was last approved for a grant (PERM-8).
    async fn changes_since(&self, pending_call: &PendingCall, grant: &GrantId) -> Vec<FieldChange> {
        let (Some((of, definition)), DefinitionRef::Pinned { pin, .. }) =
            (pending_call.origin.definition(), pending_call.origin.definition_ref())
        else {
            return Vec::new();
        };
        let pinned = {
            let permissions = self.permissions.now();
            let rule = permissions.rules().find(|rule| rule.id == *grant);
            rule.and_then(|rule| rule.pins.get(pin)?.latest().cloned())
        };
        let Some(pinned) = pinned else { return Vec::new() };
        let (store, key) = (self.store.clone(), pinned.clone());
        let before = match tokio::task::spawn_blocking(move || store.definitions().get(&key)).await {
            Ok(Ok(before)) => before,
            Ok(Err(error)) => {
                tracing::warn!(%error, "an earlier definition cannot be read");
                None
            }
            Err(_) => None,
        };
        // Stored definitions have no MAC. If the stored one isn't the pinned one, all fields are shown as new.
        let before = before.filter(|before| fingerprint(of, before).is_ok_and(|found| found == pinned));
        diff(before.as_deref().unwrap_or("{}"), definition.get())
    }
}
