//! Random bytes of the operating system, for tokens, keys and ids that must not be guessable. There is
//! no fallback to a weaker source: if the system has none, creation fails.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gatehouse_model::Secret;

/// The system's error when it has no random bytes.
pub use getrandom::Error;

/// Random bytes.
pub fn bytes<const N: usize>() -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)?;
    Ok(bytes)
}

/// A new token or key: 256 random bits in base64url.
pub fn token() -> Result<Secret, Error> {
    Ok(Secret::new(URL_SAFE_NO_PAD.encode(bytes::<32>()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_have_256_bits_and_differ() {
        let (one, other) = (token().unwrap(), token().unwrap());
        for token in [&one, &other] {
            assert_eq!(URL_SAFE_NO_PAD.decode(token.reveal()).unwrap().len(), 32);
        }
        assert_ne!(one.reveal(), other.reveal());
        assert_ne!(bytes::<16>().unwrap(), bytes::<16>().unwrap());
    }
}
