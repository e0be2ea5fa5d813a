//! The operator key of a data folder: made once, handed to the person, and from then on the only one
//! that counts. What is kept of it, in the store for secrets, can check it and not say it. A start on a
//! folder whose key is known hands out nothing, so whoever starts Gatehouse is not the operator by that.

use gatehouse_common::random;
use gatehouse_model::grant::{Rights, Suspended};
use gatehouse_model::record::AuditEvent;
use gatehouse_model::{Effect, ErrorCode, Problem, Secret, ServerConfig};
use gatehouse_store::{ControlKey, SealError, Store, StoreError};

use crate::authority::OperatorKeys;

/// Gives a new key to the person; an error means that it reached nobody.
pub type HandOver = Box<dyn FnOnce(&Secret) -> Result<(), Problem> + Send>;

/// Whether somebody can prove on the control socket to be the operator.
pub enum OperatorKey {
    /// Nobody: Gatehouse's own windows answer.
    None,
    /// Whoever has the key that the folder knows.
    Kept {
        /// Takes the key when one is made.
        hand_over: HandOver,
        /// Makes another one although the folder knows one, or ought to. What was allowed until then
        /// is suspended, and secrets and sign-ins of servers serve no more.
        anew: bool,
    },
}

/// What became of the operator key at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperatorKeyState {
    /// There is none.
    None,
    /// The one that the folder knows counts.
    Known,
    /// One was made and handed over.
    New,
    /// One was made and handed over, and what was allowed before is suspended.
    Anew,
    /// One could have been made, but there was nobody to hand it to.
    NotHandedOver,
    /// The folder ought to know one and does not; one has to be made anew.
    Lost,
}

/// Makes an operator key: 256 random bits in base64url.
///
/// # Errors
/// When the system has no randomness to give.
pub(crate) fn new_operator_key() -> Result<Secret, Problem> {
    random::token().map_err(|e| {
        Problem::new(ErrorCode::Internal, "No operator key could be made.")
            .why(format!("The system gave no random bits: {e}."))
    })
}

/// The key that counts on a folder from now on. Blocks; the caller holds the folder.
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
        // Before the key counts. In this order: broken off in between, nothing of before matches too much.
        let servers = store.servers().load().servers;
        suspend(store, &servers)?;
        unbind(store, servers)?;
    }
    let key = ControlKey::of_operator_key(&key);
    store.control_keys().keep_operator(&key).map_err(Problem::from)?;
    let state = if first { OperatorKeyState::New } else { OperatorKeyState::Anew };
    Ok((OperatorKeys::new(Some(key)), state))
}

/// Whether nothing was ever given on this folder that a key could be stolen for.
fn is_blank(store: &Store) -> bool {
    matches!((store.rights().load(), store.clients().load()), (Ok(None), Ok(None)))
}

/// Makes every server the next generation of itself, so that no secret and no sign-in that was given to
/// it before serves it. A list whose seal does not hold ends here, so that it cannot be put back later.
fn unbind(store: &Store, mut servers: Vec<ServerConfig>) -> Result<(), StoreError> {
    for server in &mut servers {
        server.generation = server.generation.next();
    }
    store.servers().save_anew(&servers)
}

/// Lets nothing count that was allowed under the key before. Blocks stay. What is suspended is bound to
/// what the servers are from now on, so that it can be confirmed; what matched no server stays so.
fn suspend(store: &Store, servers: &[ServerConfig]) -> Result<(), StoreError> {
    let rights = match store.rights().load() {
        Ok(rights) => rights.unwrap_or_default(),
        Err(error @ (SealError::Locked { .. } | SealError::Unreadable { .. })) => return Err(error.into()),
        // It confers nothing as it is; were it put right later, it would confer all that it did.
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
