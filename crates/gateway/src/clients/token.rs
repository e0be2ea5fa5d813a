//! Client tokens: 256 random bits, shown once, stored as SHA-256, compared in constant time.

use gatehouse_common::constant_time;
use gatehouse_model::{ErrorCode, Secret, UserError, message};
use sha2::{Digest as _, Sha256};

/// SHA-256 of a token.
#[derive(Clone, Copy)]
pub(crate) struct TokenDigest([u8; 32]);

impl TokenDigest {
    /// The digest of a token as sent by a client.
    pub(crate) fn hash(token: &str) -> Self {
        Self(Sha256::digest(token.as_bytes()).into())
    }

    /// Parses a stored digest; `None` if the text isn't one, so that it matches no token.
    pub(crate) fn from_hex(text: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        hex::decode_to_slice(text, &mut bytes).ok().map(|()| Self(bytes))
    }

    /// The digest as it is stored.
    pub(crate) fn to_hex(self) -> String {
        hex::encode(self.0)
    }

    /// Compares in constant time.
    pub(crate) fn matches(&self, other: &Self) -> bool {
        constant_time::is_equal(&self.0, &other.0)
    }
}

pub(crate) fn generate() -> Result<Secret, UserError> {
    gatehouse_common::random::token().map_err(|error| no_random(&error))
}

/// Random bytes from the operating system.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], UserError> {
    gatehouse_common::random::bytes().map_err(|error| no_random(&error))
}

fn no_random(error: &gatehouse_common::random::Error) -> UserError {
    UserError::new(ErrorCode::Internal, message!("error.gateway.noRandom")).with_cause(format!("{error}."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digest_matches_only_its_token() {
        let (one, other) = (generate().unwrap(), generate().unwrap());
        let stored = TokenDigest::from_hex(&TokenDigest::hash(one.reveal()).to_hex()).unwrap();
        assert!(stored.matches(&TokenDigest::hash(one.reveal())));
        assert!(!stored.matches(&TokenDigest::hash(other.reveal())));
        assert!(!stored.matches(&TokenDigest::hash("")));
        assert!(TokenDigest::from_hex("short").is_none());
    }
}
