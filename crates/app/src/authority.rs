//! Authorization of commands (PERM-16): which key a caller on the control socket proved to know, and the
//! check made before every command. A caller that proved nothing never has the operator's authority.

pub(crate) mod operator_key;
mod proposable;

use gatehouse_model::command::{Authority, Command, CommandRule};
use gatehouse_model::{ErrorCode, UserError, message};
use gatehouse_store::ControlKey;
use parking_lot::RwLock;

pub(crate) use self::proposable::can_be_proposed;

/// The key that the peer of a connection proved to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Credential {
    Nothing,
    /// A client token.
    Token,
    /// The operator key with this number.
    OperatorKey(u64),
}

/// The operator key in force. Every replacement gets a new number, so a proof made with an earlier key
/// is no longer valid.
#[derive(Default)]
pub(crate) struct OperatorKeys {
    current: RwLock<(u64, Option<ControlKey>)>,
    /// Held while a key is replaced, until the new one is stored and in force.
    rotation: tokio::sync::Mutex<()>,
}

impl OperatorKeys {
    pub(crate) fn new(key: Option<ControlKey>) -> Self {
        Self { current: RwLock::new((0, key)), rotation: tokio::sync::Mutex::default() }
    }

    /// The key, and the [`Credential`] value of a peer that knows it.
    pub(crate) fn key(&self) -> Option<(Credential, ControlKey)> {
        let current = self.current.read();
        current.1.clone().map(|key| (Credential::OperatorKey(current.0), key))
    }

    /// Waits for a replacement that is under way. The caller has to check again afterwards whether the
    /// proof it holds is still valid.
    pub(crate) async fn lock_rotation(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.rotation.lock().await
    }

    pub(crate) fn replace(&self, key: ControlKey) {
        let mut current = self.current.write();
        *current = (current.0.wrapping_add(1), Some(key));
    }

    /// The authority that a proof gives; `None` if its key was replaced.
    pub(crate) fn authority(&self, credential: Credential) -> Option<Authority> {
        match credential {
            Credential::Nothing => Some(Authority::Anyone),
            Credential::Token => Some(Authority::Client),
            Credential::OperatorKey(number) => {
                (self.current.read().0 == number).then_some(Authority::Operator)
            }
        }
    }
}

/// Refuses a command if the caller's authority is insufficient.
pub(crate) fn check(command: &Command, authority: Authority) -> Result<(), UserError> {
    let rule = command.rule();
    if authority >= rule.needs {
        return Ok(());
    }
    Err(not_permitted(rule))
}

/// The error for a caller with insufficient authority.
pub(crate) fn not_permitted(rule: CommandRule) -> UserError {
    let (what, hint) = match rule.needs {
        Authority::Client => (
            message!("error.app.needsClientToken", command = rule.name),
            message!("error.app.needsClientTokenHint"),
        ),
        Authority::Anyone | Authority::Operator => (
            message!("error.app.needsOperatorKey", command = rule.name),
            message!("error.app.needsOperatorKeyHint"),
        ),
    };
    UserError::new(ErrorCode::NotPermitted, what).with_cause(rule.reason).with_hint(hint)
}

#[cfg(test)]
mod tests {
    use gatehouse_model::Secret;

    use super::*;

    #[test]
    fn revokes_credentials_of_replaced_key() {
        let key = |text| ControlKey::of_operator_key(&Secret::new(text));
        let keys = OperatorKeys::new(Some(key("one")));
        let (credential, _) = keys.key().unwrap();
        assert_eq!(keys.authority(credential), Some(Authority::Operator));
        keys.replace(key("two"));
        assert_eq!(keys.authority(credential), None);
        assert_eq!(keys.authority(keys.key().unwrap().0), Some(Authority::Operator));
        assert_eq!(keys.authority(Credential::Nothing), Some(Authority::Anyone));
        assert_eq!(keys.authority(Credential::Token), Some(Authority::Client));
    }

    #[test]
    fn no_operator_without_key() {
        assert!(OperatorKeys::new(None).key().is_none());
    }
}
