//! Who may do what (PERM-16): the key that proves a person at the terminal, and the check that
//! comes before every command. A missing, wrong or unset key never gives the operator's authority.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gatehouse_model::command::{Command, Right};
use gatehouse_model::{ErrorCode, Problem, Secret};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// On whose word a command comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Authority {
    /// Anybody who runs as this user.
    Anyone,
    /// A person: one of Gatehouse's own windows, or a caller who showed the operator key.
    Operator,
}

/// Makes an operator key: 256 random bits in base64url.
///
/// # Errors
/// When the system has no randomness to give.
pub fn new_operator_key() -> Result<Secret, Problem> {
    let mut bits = [0_u8; 32];
    getrandom::fill(&mut bits).map_err(|e| {
        Problem::new(ErrorCode::Internal, "No operator key could be made.")
            .why(format!("The system gave no random bits: {e}."))
    })?;
    Ok(Secret::new(URL_SAFE_NO_PAD.encode(bits)))
}

/// Keeps the digest of the operator key, to compare others with.
pub(crate) struct KeyCheck(Option<[u8; 32]>);

impl KeyCheck {
    pub(crate) fn new(key: Option<&Secret>) -> Self {
        Self(key.map(digest))
    }

    /// The authority that a caller has who showed this key, or none.
    pub(crate) fn authority(&self, shown: Option<&Secret>) -> Result<Authority, Problem> {
        let Some(shown) = shown else { return Ok(Authority::Anyone) };
        let right = self.0.is_some_and(|key| key.ct_eq(&digest(shown)).into());
        if right {
            return Ok(Authority::Operator);
        }
        Err(Problem::new(ErrorCode::NotPermitted, "The operator key is not right.")
            .why("It is made anew each time Gatehouse starts.")
            .todo("Take it from the terminal in which `gatehousectl serve` was started."))
    }
}

fn digest(key: &Secret) -> [u8; 32] {
    Sha256::digest(key.reveal().as_bytes()).into()
}

/// Refuses a command that the caller may not give.
pub(crate) fn check(command: &Command, authority: Authority) -> Result<(), Problem> {
    match (command.right(), authority) {
        (Right::Anyone, Authority::Anyone | Authority::Operator) | (Right::Operator, Authority::Operator) => {
            Ok(())
        }
        (Right::Operator, Authority::Anyone) => Err(Problem::new(
            ErrorCode::NotPermitted,
            format!("{} needs the operator key.", command.name()),
        )
        .why("It widens what may run, so only a person may ask for it.")
        .todo(
            "Use a window of Gatehouse, or the operator key that `gatehousectl serve` wrote to its terminal.",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_256_bits_and_is_another_each_time() {
        let (one, two) = (new_operator_key().unwrap(), new_operator_key().unwrap());
        assert_eq!(one.reveal().len(), 43);
        assert_ne!(one, two);
    }

    #[test]
    fn only_the_right_key_gives_the_operators_authority() {
        let key = Secret::new("right");
        let check = KeyCheck::new(Some(&key));
        assert_eq!(check.authority(None), Ok(Authority::Anyone));
        assert_eq!(check.authority(Some(&key)), Ok(Authority::Operator));
        for wrong in ["", "righ", "right ", "wrong"] {
            assert_eq!(check.authority(Some(&Secret::new(wrong))).unwrap_err().code, ErrorCode::NotPermitted);
        }
    }

    #[test]
    fn without_a_key_nobody_is_the_operator() {
        let check = KeyCheck::new(None);
        assert_eq!(check.authority(None), Ok(Authority::Anyone));
        assert!(check.authority(Some(&Secret::new(""))).is_err());
    }
}
