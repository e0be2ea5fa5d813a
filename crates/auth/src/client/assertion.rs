//! Client assertions (`private_key_jwt`, RFC 7523): signed JWTs used in place of a client secret. Each is
//! made for one request and is valid for a few minutes.

use std::time::Duration;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    self, EcdsaKeyPair, EcdsaSigningAlgorithm, Ed25519KeyPair, RsaEncoding, RsaKeyPair,
};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gatehouse_common::random;
use gatehouse_model::{Secret, Timestamp};
use rustls_pki_types::PrivateKeyDer;
use rustls_pki_types::pem::PemObject as _;
use serde_json::json;

/// Lifetime of an assertion.
const ASSERTION_LIFETIME: Duration = Duration::from_secs(300);

/// Why an assertion can't be made.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AssertionError {
    /// The algorithm isn't supported.
    #[error(
        "The algorithm “{0}” is not known; it must be one of RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, EdDSA."
    )]
    Algorithm(String),
    /// The key can't be parsed, or is of another kind than the algorithm requires.
    #[error("The private key cannot be used: it must be PEM and fit the algorithm {0}.")]
    Key(String),
    /// The operating system provides no random numbers.
    #[error("The system gave no random bytes.")]
    Random,
}

/// The key that assertions are signed with.
#[derive(Clone, Copy)]
pub(crate) struct SigningKey<'a> {
    /// PEM.
    pub(crate) key: &'a Secret,
    /// JWS algorithm, for example `RS256`.
    pub(crate) algorithm: &'a str,
}

/// Signs an assertion that identifies this client to one audience.
pub(crate) fn assertion(
    client: &str,
    audience: &str,
    signing: SigningKey<'_>,
    now: Timestamp,
) -> Result<Secret, AssertionError> {
    let nonce: [u8; 16] = random::bytes().map_err(|_| AssertionError::Random)?;
    let issued = now.0 / 1000;
    let claims = json!({
        "iss": client,
        "sub": client,
        "aud": audience,
        "jti": hex::encode(nonce),
        "iat": issued,
        "exp": issued + i64::try_from(ASSERTION_LIFETIME.as_secs()).unwrap_or_default(),
    });
    let header = json!({ "alg": signing.algorithm, "typ": "JWT" });
    let encode = |value: &serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let signed = format!("{}.{}", encode(&header), encode(&claims));
    let signature = sign(signing.key, signing.algorithm, signed.as_bytes())?;
    Ok(Secret::new(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))))
}

fn sign(key: &Secret, algorithm: &str, message: &[u8]) -> Result<Vec<u8>, AssertionError> {
    let wrong = || AssertionError::Key(algorithm.to_owned());
    let key = PrivateKeyDer::from_pem_slice(key.reveal().as_bytes()).map_err(|_| wrong())?;
    let rsa: &'static dyn RsaEncoding = match algorithm {
        "RS256" => &signature::RSA_PKCS1_SHA256,
        "RS384" => &signature::RSA_PKCS1_SHA384,
        "RS512" => &signature::RSA_PKCS1_SHA512,
        "PS256" => &signature::RSA_PSS_SHA256,
        "PS384" => &signature::RSA_PSS_SHA384,
        "PS512" => &signature::RSA_PSS_SHA512,
        "ES256" => {
            return ecdsa(&signature::ECDSA_P256_SHA256_FIXED_SIGNING, &key, message).ok_or_else(wrong);
        }
        "ES384" => {
            return ecdsa(&signature::ECDSA_P384_SHA384_FIXED_SIGNING, &key, message).ok_or_else(wrong);
        }
        "EdDSA" => {
            let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(key.secret_der()).map_err(|_| wrong())?;
            return Ok(pair.sign(message).as_ref().to_vec());
        }
        other => return Err(AssertionError::Algorithm(other.to_owned())),
    };
    let pair = match &key {
        PrivateKeyDer::Pkcs1(key) => RsaKeyPair::from_der(key.secret_pkcs1_der()),
        other => RsaKeyPair::from_pkcs8(other.secret_der()),
    };
    let pair = pair.map_err(|_| wrong())?;
    let mut out = vec![0; pair.public_modulus_len()];
    pair.sign(rsa, &SystemRandom::new(), message, &mut out).map_err(|_| wrong())?;
    Ok(out)
}

fn ecdsa(
    algorithm: &'static EcdsaSigningAlgorithm,
    key: &PrivateKeyDer<'_>,
    message: &[u8],
) -> Option<Vec<u8>> {
    let pair = EcdsaKeyPair::from_private_key_der(algorithm, key.secret_der()).ok()?;
    let signature = pair.sign(&SystemRandom::new(), message).ok()?;
    Some(signature.as_ref().to_vec())
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::encoding::AsDer;
    use aws_lc_rs::rsa::KeySize;
    use aws_lc_rs::signature::{KeyPair as _, UnparsedPublicKey, VerificationAlgorithm};
    use base64::engine::general_purpose::STANDARD;

    use super::*;

    fn pem(label: &str, der: &[u8]) -> Secret {
        Secret::new(format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", STANDARD.encode(der)))
    }

    fn verify(key: &Secret, algorithm: &str, with: &'static dyn VerificationAlgorithm, public: &[u8]) {
        let made =
            assertion("me", "https://id.example", SigningKey { key, algorithm }, Timestamp(5_000)).unwrap();
        let (signed, signature) = made.reveal().rsplit_once('.').unwrap();
        let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
        UnparsedPublicKey::new(with, public).verify(signed.as_bytes(), &signature).unwrap();
        let header = URL_SAFE_NO_PAD.decode(signed.split('.').next().unwrap()).unwrap();
        assert_eq!(String::from_utf8(header).unwrap(), format!(r#"{{"alg":"{algorithm}","typ":"JWT"}}"#));
    }

    #[test]
    fn signs_with_each_algorithm() {
        let rsa = RsaKeyPair::generate(KeySize::Rsa2048).unwrap();
        let key =
            pem("PRIVATE KEY", AsDer::<aws_lc_rs::encoding::Pkcs8V1Der<'_>>::as_der(&rsa).unwrap().as_ref());
        let public = rsa.public_key().as_ref();
        verify(&key, "RS256", &signature::RSA_PKCS1_2048_8192_SHA256, public);
        verify(&key, "PS384", &signature::RSA_PSS_2048_8192_SHA384, public);
        let pair = EcdsaKeyPair::generate(&signature::ECDSA_P256_SHA256_FIXED_SIGNING).unwrap();
        let public = pair.public_key().as_ref();
        let key = pem("PRIVATE KEY", pair.to_pkcs8v1().unwrap().as_ref());
        verify(&key, "ES256", &signature::ECDSA_P256_SHA256_FIXED, public);
        let sec1 =
            AsDer::<aws_lc_rs::encoding::EcPrivateKeyRfc5915Der<'_>>::as_der(&pair.private_key()).unwrap();
        verify(&pem("EC PRIVATE KEY", sec1.as_ref()), "ES256", &signature::ECDSA_P256_SHA256_FIXED, public);
        let pair = Ed25519KeyPair::generate().unwrap();
        let key = pem("PRIVATE KEY", pair.to_pkcs8v1().unwrap().as_ref());
        verify(&key, "EdDSA", &signature::ED25519, pair.public_key().as_ref());
    }

    #[test]
    fn key_errors_do_not_contain_the_key() {
        let pair = EcdsaKeyPair::generate(&signature::ECDSA_P256_SHA256_FIXED_SIGNING).unwrap();
        let key = pem("PRIVATE KEY", pair.to_pkcs8v1().unwrap().as_ref());
        let fault = |key: &Secret, algorithm| {
            assertion("me", "x", SigningKey { key, algorithm }, Timestamp(0)).unwrap_err()
        };
        assert_eq!(fault(&key, "HS256"), AssertionError::Algorithm("HS256".to_owned()));
        assert_eq!(fault(&key, "RS256"), AssertionError::Key("RS256".to_owned()));
        assert_eq!(fault(&key, "ES384"), AssertionError::Key("ES384".to_owned()));
        assert_eq!(fault(&Secret::new("s3cr3t"), "ES256"), AssertionError::Key("ES256".to_owned()));
    }
}
