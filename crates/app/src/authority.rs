//! Authorization of commands (PERM-16): which key a caller on the control socket proved to know, and the
//! check made before every command. A caller that proved nothing never has the operator's authority.

use gatehouse_model::command::{Authority, Command, CommandRule};
use gatehouse_model::{ErrorCode, Problem};
use gatehouse_store::ControlKey;
use parking_lot::RwLock;

/// The key that the peer of a connection proved to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Proved {
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
    held: RwLock<(u64, Option<ControlKey>)>,
    /// Held while a key is replaced, until the new one is stored and in force.
    replacing: tokio::sync::Mutex<()>,
}

impl OperatorKeys {
    pub(crate) fn new(key: Option<ControlKey>) -> Self {
        Self { held: RwLock::new((0, key)), replacing: tokio::sync::Mutex::default() }
    }

    /// The key, and the [`Proved`] value of a peer that knows it.
    pub(crate) fn key(&self) -> Option<(Proved, ControlKey)> {
        let held = self.held.read();
        held.1.clone().map(|key| (Proved::OperatorKey(held.0), key))
    }

    /// Waits for a replacement that is under way. The caller has to check again afterwards whether the
    /// proof it holds is still valid.
    pub(crate) async fn alone(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.replacing.lock().await
    }

    /// Replaces the key.
    pub(crate) fn replace(&self, key: ControlKey) {
        let mut held = self.held.write();
        *held = (held.0.wrapping_add(1), Some(key));
    }

    /// The authority that a proof gives; `None` if its key was replaced.
    pub(crate) fn authority(&self, proved: Proved) -> Option<Authority> {
        match proved {
            Proved::Nothing => Some(Authority::Anyone),
            Proved::Token => Some(Authority::Client),
            Proved::OperatorKey(number) => (self.held.read().0 == number).then_some(Authority::Operator),
        }
    }
}

/// Refuses a command if the caller's authority is insufficient.
pub(crate) fn check(command: &Command, authority: Authority) -> Result<(), Problem> {
    let rule = command.rule();
    if authority >= rule.needs {
        return Ok(());
    }
    Err(not_permitted(rule))
}

/// The error for a caller with insufficient authority.
pub(crate) fn not_permitted(rule: CommandRule) -> Problem {
    let (what, todo) = match rule.needs {
        Authority::Client => (
            "has to come from a client that proved to have its token.",
            "Use `gatehousectl call`, which does not show the token to whatever holds the socket.",
        ),
        Authority::Anyone | Authority::Operator => (
            "needs the operator key.",
            "Use a window of Gatehouse, or the operator key that `gatehousectl serve` wrote to its terminal.",
        ),
    };
    Problem::new(ErrorCode::NotPermitted, format!("{} {what}", rule.name)).why(rule.reason).todo(todo)
}

#[cfg(test)]
mod tests {
    use gatehouse_model::Secret;

    use super::*;

    #[test]
    fn what_was_proved_with_a_key_that_was_replaced_counts_no_more() {
        let key = |text| ControlKey::of_operator_key(&Secret::new(text));
        let keys = OperatorKeys::new(Some(key("one")));
        let (proved, _) = keys.key().unwrap();
        assert_eq!(keys.authority(proved), Some(Authority::Operator));
        keys.replace(key("two"));
        assert_eq!(keys.authority(proved), None);
        assert_eq!(keys.authority(keys.key().unwrap().0), Some(Authority::Operator));
        assert_eq!(keys.authority(Proved::Nothing), Some(Authority::Anyone));
        assert_eq!(keys.authority(Proved::Token), Some(Authority::Client));
    }

    #[test]
    fn without_a_key_nobody_is_the_operator() {
        assert!(OperatorKeys::new(None).key().is_none());
    }
}
