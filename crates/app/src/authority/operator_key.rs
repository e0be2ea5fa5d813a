//! The operator key of a data folder: created once, handed to the user, and the only one that is valid
//! from then on. The secret store keeps only what is needed to verify it, not the key itself. A start on
//! a folder whose key is known reveals nothing, so starting Gatehouse does not make a process the
//! operator.

use gatehouse_common::random;
use gatehouse_model::grant::{StoredPermissions, SuspendedPermissions};
use gatehouse_model::provider::StoredModels;
use gatehouse_model::record::AuditEvent;
use gatehouse_model::{ErrorCode, RuleEffect, Secret, ServerConfig, UserError, message};
use gatehouse_store::{ControlKey, SealError, SecretKey, Store, StoreError};

use super::OperatorKeys;

/// Hands a new key to the user; an error means that the user did not receive it.
pub type KeyHandOver = Box<dyn FnOnce(&Secret) -> Result<(), UserError> + Send>;

/// Whether a user can authenticate as the operator on the control socket.
pub enum OperatorKey {
    /// No: approval requests are answered in Gatehouse's own windows.
    None,
    /// Yes, with the key that the data folder knows.
    Stored {
        /// Receives the key if one is created.
        hand_over: KeyHandOver,
        /// Creates a new key even if the folder knows one, or should know one. Permissions given until
        /// then are suspended, and secrets and sign-ins of servers and keys of model providers are no longer usable.
        should_replace: bool,
    },
}

/// The state of the operator key at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperatorKeyState {
    None,
    /// The key that the folder knows is valid.
    Known,
    /// One was created and handed over.
    New,
    /// One was created and handed over, and earlier permissions are suspended.
    Replaced,
    /// One could have been created, but could not be handed over.
    NotHandedOver,
    /// The folder should know one and does not; a new one has to be created.
    Lost,
}

/// Creates an operator key: 256 random bits in base64url.
pub(crate) fn new_operator_key() -> Result<Secret, UserError> {
    random::token().map_err(|e| {
        UserError::new(ErrorCode::Internal, message!("error.app.noKeyMade"))
            .with_cause(message!("error.app.noRandom", reason = e.to_string()))
    })
}

/// Opens or creates the operator key of a data folder. Blocks; the caller holds the folder.
pub(crate) fn load_or_create(
    store: &Store,
    wanted: OperatorKey,
) -> Result<(OperatorKeys, OperatorKeyState), UserError> {
    let without_key = |state| Ok((OperatorKeys::new(None), state));
    let OperatorKey::Stored { hand_over, should_replace } = wanted else {
        return without_key(OperatorKeyState::None);
    };
    let known = store.control_keys().operator().map_err(UserError::from)?;
    let first = known.is_none() && has_no_grants(store);
    match known {
        Some(known) if !should_replace => {
            return Ok((OperatorKeys::new(Some(known)), OperatorKeyState::Known));
        }
        None if !first && !should_replace => return without_key(OperatorKeyState::Lost),
        Some(_) | None => {}
    }
    let key = new_operator_key()?;
    if let Err(error) = hand_over(&key) {
        tracing::warn!(%error, "the operator key could not be handed over");
        return without_key(OperatorKeyState::NotHandedOver);
    }
    if !first {
        // Before the new key is valid, and in this order: if this is interrupted, no stored permission
        // matches more than it should.
        let servers = store.servers().load().servers;
        suspend_grants(store, &servers)?;
        forget_provider_keys(store)?;
        advance_generations(store, servers)?;
    }
    let key = ControlKey::of_operator_key(&key);
    store.control_keys().keep_operator(&key).map_err(UserError::from)?;
    let state = if first { OperatorKeyState::New } else { OperatorKeyState::Replaced };
    Ok((OperatorKeys::new(Some(key)), state))
}

/// Whether no permission was ever given and no client ever added on this folder, so that no stolen key
/// could have been used on it.
fn has_no_grants(store: &Store) -> bool {
    matches!((store.permissions().load(), store.clients().load()), (Ok(None), Ok(None)))
}

/// Starts a new generation of every server, so that earlier secrets and sign-ins can no longer be used.
/// A list with an invalid seal is replaced here, so that it cannot be restored later.
fn advance_generations(store: &Store, mut servers: Vec<ServerConfig>) -> Result<(), StoreError> {
    for server in &mut servers {
        server.generation = server.generation.next();
    }
    store.servers().overwrite(&servers)
}

/// Deletes the keys of all model providers, and what their models are used for beside conversations, so that whoever has
/// the new key neither spends on the account of another nor finds that opinions go where another wanted them.
fn forget_provider_keys(store: &Store) -> Result<(), StoreError> {
    let stored = match store.models().load() {
        Ok(None) => return Ok(()),
        Ok(Some(stored)) => stored,
        Err(error @ (SealError::Locked { .. } | SealError::Unreadable { .. })) => return Err(error.into()),
        // A record that fails verification names no key that would ever be read.
        Err(_) => StoredModels::default(),
    };
    let mut providers = stored.providers;
    for provider in providers.iter_mut().filter(|provider| provider.has_key) {
        store.secrets().delete(&SecretKey::model_provider(&provider.id, &provider.base_url))?;
        provider.has_key = false;
    }
    store.models().overwrite(&StoredModels { providers, ..StoredModels::default() })
}

/// Suspends everything that was allowed under the previous key. Blocks stay in force. Suspended
/// permissions are bound to the new generation of their server, so that they can be confirmed; those
/// that matched no server keep their binding.
fn suspend_grants(store: &Store, servers: &[ServerConfig]) -> Result<(), StoreError> {
    let permissions = match store.permissions().load() {
        Ok(permissions) => permissions.unwrap_or_default(),
        Err(error @ (SealError::Locked { .. } | SealError::Unreadable { .. })) => return Err(error.into()),
        // Permissions that fail verification allow nothing now, but if their seal were repaired later,
        // they would allow everything again, so they are dropped.
        Err(_) => StoredPermissions::default(),
    };
    let (allows, rules): (Vec<_>, Vec<_>) =
        permissions.rules.into_iter().partition(|rule| rule.effect == RuleEffect::Allow);
    let mut suspended: SuspendedPermissions = permissions.suspended;
    suspended.rules.extend(allows);
    suspended.overrides.extend(permissions.overrides);
    suspended.trusted_labels.extend(permissions.trusted_labels);
    let granted = suspended.rules.iter_mut().filter_map(|rule| rule.server.as_mut());
    let classes = suspended.overrides.iter_mut().map(|class| &mut class.server);
    for bound in granted.chain(classes).chain(&mut suspended.trusted_labels) {
        if servers.iter().any(|server| server.binding() == *bound) {
            bound.generation = bound.generation.next();
        }
    }
    let what = message!("audit.settings.keyReplaced").into();
    store.audit().append(AuditEvent::SettingsChanged { what })?;
    store.permissions().overwrite(&StoredPermissions {
        rules,
        paused: permissions.paused,
        suspended,
        ..StoredPermissions::default()
    })
}
