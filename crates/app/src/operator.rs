//! The operator key of a data folder: created once, handed to the user, and the only one that is valid
//! from then on. The secret store keeps only what is needed to verify it, not the key itself. A start on
//! a folder whose key is known reveals nothing, so starting Gatehouse does not make a process the
//! operator.

use gatehouse_common::random;
use gatehouse_model::grant::{Rights, Suspended};
use gatehouse_model::record::AuditEvent;
use gatehouse_model::{Effect, ErrorCode, Problem, Secret, ServerConfig};
use gatehouse_store::{ControlKey, SealError, Store, StoreError};

use crate::authority::OperatorKeys;

/// Hands a new key to the user; an error means that the user did not receive it.
pub type HandOver = Box<dyn FnOnce(&Secret) -> Result<(), Problem> + Send>;

/// Whether a user can authenticate as the operator on the control socket.
pub enum OperatorKey {
    /// No: approval requests are answered in Gatehouse's own windows.
    None,
    /// Yes, with the key that the data folder knows.
    Kept {
        /// Receives the key if one is created.
        hand_over: HandOver,
        /// Creates a new key even if the folder knows one, or should know one. Permissions given until
        /// then are suspended, and secrets and sign-ins of servers are no longer usable.
        anew: bool,
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
    Anew,
    /// One could have been created, but could not be handed over.
    NotHandedOver,
    /// The folder should know one and does not; a new one has to be created.
    Lost,
}

/// Creates an operator key: 256 random bits in base64url.
///
/// # Errors
/// If the system's random number generator fails.
pub(crate) fn new_operator_key() -> Result<Secret, Problem> {
    random::token().map_err(|e| {
        Problem::new(ErrorCode::Internal, "No operator key could be made.")
            .why(format!("The system gave no random bits: {e}."))
    })
}

/// Opens or creates the operator key of a data folder. Blocks; the caller holds the folder.
pub(crate) fn open(store: &Store, wanted: OperatorKey) -> Result<(OperatorKeys, OperatorKeyState), Problem> {
    let nobody = |state| Ok((OperatorKeys::new(None), state));
    let OperatorKey::Kept { hand_over, anew } = wanted else { return nobody(OperatorKeyState::None) };
    let known = store.control_keys().operator().map_err(Problem::from)?;
    let first = known.is_none() && is_blank(store);
    match known {
        Some(known) if !anew => return Ok((OperatorKeys::new(Some(known)), OperatorKeyState::Known)),
        None if !first && !anew => return nobody(OperatorKeyState::Lost),
        Some(_) | None => {}
    }
    let key = new_operator_key()?;
    if let Err(problem) = hand_over(&key) {
        tracing::warn!(%problem, "the operator key could not be handed over");
        return nobody(OperatorKeyState::NotHandedOver);
    }
    if !first {
        // Before the new key is valid, and in this order: if this is interrupted, no stored permission
        // matches more than it should.
        let servers = store.servers().load().servers;
        suspend(store, &servers)?;
        unbind(store, servers)?;
    }
    let key = ControlKey::of_operator_key(&key);
    store.control_keys().keep_operator(&key).map_err(Problem::from)?;
    let state = if first { OperatorKeyState::New } else { OperatorKeyState::Anew };
    Ok((OperatorKeys::new(Some(key)), state))
}

/// Whether no permission was ever given and no client ever added on this folder, so that no stolen key
/// could have been used on it.
fn is_blank(store: &Store) -> bool {
    matches!((store.rights().load(), store.clients().load()), (Ok(None), Ok(None)))
}

/// Starts a new generation of every server, so that earlier secrets and sign-ins can no longer be used.
/// A list with an invalid seal is replaced here, so that it cannot be restored later.
fn unbind(store: &Store, mut servers: Vec<ServerConfig>) -> Result<(), StoreError> {
    for server in &mut servers {
        server.generation = server.generation.next();
    }
    store.servers().save_anew(&servers)
}

/// Suspends everything that was allowed under the previous key. Blocks stay in force. Suspended
/// permissions are bound to the new generation of their server, so that they can be confirmed; those
/// that matched no server keep their binding.
fn suspend(store: &Store, servers: &[ServerConfig]) -> Result<(), StoreError> {
    let rights = match store.rights().load() {
        Ok(rights) => rights.unwrap_or_default(),
        Err(error @ (SealError::Locked { .. } | SealError::Unreadable { .. })) => return Err(error.into()),
        // Permissions that fail verification allow nothing now, but if their seal were repaired later,
        // they would allow everything again, so they are dropped.
        Err(_) => Rights::default(),
    };
    let (allows, rules): (Vec<_>, Vec<_>) =
        rights.rules.into_iter().partition(|rule| rule.effect == Effect::Allow);
    let mut suspended: Suspended = rights.suspended;
    suspended.rules.extend(allows);
    suspended.overrides.extend(rights.overrides);
    suspended.trusted_labels.extend(rights.trusted_labels);
    let granted = suspended.rules.iter_mut().filter_map(|rule| rule.server.as_mut());
    let classes = suspended.overrides.iter_mut().map(|class| &mut class.server);
    for bound in granted.chain(classes).chain(&mut suspended.trusted_labels) {
        if servers.iter().any(|server| server.binding() == *bound) {
            bound.generation = bound.generation.next();
        }
    }
    let what = "an operator key was made anew without the one before it; what was allowed is suspended";
    store.audit().append(AuditEvent::SettingsChanged { what: what.to_owned() })?;
    store.rights().save_anew(&Rights { rules, paused: rights.paused, suspended, ..Rights::default() })
}
