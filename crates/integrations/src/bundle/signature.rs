//! The signature that a bundle may have behind its archive: `MCPB_SIG_V1`, the length of what follows in four bytes,
//! little-endian, a detached PKCS#7 signature in DER (RFC 5652), `MCPB_SIG_END`.
//!
//! It is checked that the content is what was signed, and that the signature was made with the key in the certificate
//! beside it. Nobody is asked whether that certificate is anybody's: anyone can make one with any name, so the name is
//! shown as a claim and never as verified.

use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA384_ASN1, ECDSA_P256_SHA512_ASN1, ECDSA_P384_SHA256_ASN1,
    ECDSA_P384_SHA384_ASN1, ECDSA_P384_SHA512_ASN1, RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA384,
    RSA_PKCS1_2048_8192_SHA512, UnparsedPublicKey, VerificationAlgorithm,
};
use gatehouse_common::invisible_chars::one_line;
use gatehouse_model::bundle::BundleSignature;
use sha2::{Digest as _, Sha256, Sha384, Sha512};

use super::der::{
    BIT_STRING, DerElement, DerReader, INTEGER, OBJECT_ID, OCTET_STRING, SEQUENCE, SET, context,
};

const HEADER: &[u8] = b"MCPB_SIG_V1";
const FOOTER: &[u8] = b"MCPB_SIG_END";
/// Longest signature with its certificates, in bytes.
const MAX_SIGNATURE_BYTES: usize = 64 * 1024;
/// Longest name of a signer that is shown, in characters.
const SHOWN_SIGNER_CHARS: usize = 100;

// The contents of object identifiers.
const SIGNED_DATA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x02];
const MESSAGE_DIGEST: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x04];
const SHA_256: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01];
const SHA_384: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x02];
const SHA_512: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x03];
const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
const EC: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
const P_256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];
const P_384: &[u8] = &[0x2b, 0x81, 0x04, 0x00, 0x22];
/// What a signature algorithm begins with if it is RSA with PKCS#1 padding, with or without a digest in its name.
const RSA_PKCS1: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01];
const RSA_PSS: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0a];
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
const ORGANIZATION: &[u8] = &[0x55, 0x04, 0x0a];

/// A file without its signature, and the signature.
pub(super) struct SignedFile<'a> {
    pub(super) content: &'a [u8],
    /// Everything behind the content.
    block: &'a [u8],
    signature: Option<&'a [u8]>,
}

impl<'a> SignedFile<'a> {
    /// Takes the signature off. A file that does not end with one is content from the first byte to the last.
    pub(super) fn split(file: &'a [u8]) -> Self {
        Self::find(file).unwrap_or(Self { content: file, block: &[], signature: None })
    }

    fn find(file: &'a [u8]) -> Option<Self> {
        let before_footer = file.strip_suffix(FOOTER)?;
        let frame = HEADER.len() + 4;
        let window = before_footer.len().saturating_sub(MAX_SIGNATURE_BYTES + frame);
        // From the end, and only where the length leads to the footer: a signature may hold the same bytes as a header.
        (window..before_footer.len()).rev().find_map(|at| {
            let rest = before_footer.get(at..)?.strip_prefix(HEADER)?;
            let (length, signature) = rest.split_first_chunk::<4>()?;
            let is_whole = u32::from_le_bytes(*length) as usize == signature.len();
            is_whole.then(|| Self {
                content: file.get(..at).unwrap_or_default(),
                block: file.get(at..).unwrap_or_default(),
                signature: Some(signature),
            })
        })
    }

    /// How many bytes stand behind the content.
    pub(super) fn appended(&self) -> usize {
        self.block.len()
    }

    /// Checks the signature against the content.
    pub(super) fn verify(&self) -> BundleSignature {
        let Some(signature) = self.signature else { return BundleSignature::None };
        let Some(signed) = SignedContent::read(signature) else { return BundleSignature::Unreadable };
        let signer = one_line(&signed.signer, SHOWN_SIGNER_CHARS);
        match signed.matches(self.content) {
            Some(true) => BundleSignature::Valid { signer },
            Some(false) => BundleSignature::Mismatch,
            None => BundleSignature::Unreadable,
        }
    }
}

/// The parts of a signature, by one signer.
struct SignedContent<'a> {
    digest: DigestKind,
    /// The signed attributes as they are encoded, with the tag of a set, and the digest of the content in them.
    attributes: Option<(Vec<u8>, &'a [u8])>,
    signature_algorithm: &'a [u8],
    signature: &'a [u8],
    key: PublicKeyInfo<'a>,
    signer: String,
}

#[derive(Clone, Copy)]
enum DigestKind {
    Sha256,
    Sha384,
    Sha512,
}

#[derive(Clone, Copy)]
enum KeyKind {
    Rsa,
    P256,
    P384,
}

struct PublicKeyInfo<'a> {
    kind: KeyKind,
    bits: &'a [u8],
}

impl<'a> SignedContent<'a> {
    fn read(signature: &'a [u8]) -> Option<Self> {
        let mut info = DerReader::new(signature).inside(SEQUENCE)?;
        if info.expect(OBJECT_ID)?.content != SIGNED_DATA {
            return None;
        }
        let mut data = info.inside(context(0))?.inside(SEQUENCE)?;
        data.expect(INTEGER)?;
        data.expect(SET)?;
        data.expect(SEQUENCE)?;
        let certificates = data.optional(context(0))?;
        data.optional(context(1));
        let mut signers = data.inside(SET)?;
        let mut signer = signers.inside(SEQUENCE)?;
        // With several signers it would not be clear whose name to show.
        if !signers.is_empty() {
            return None;
        }
        signer.expect(INTEGER)?;
        let id = signer.any()?;
        let digest = DigestKind::read(signer.inside(SEQUENCE)?.expect(OBJECT_ID)?.content)?;
        let attributes = match signer.optional(context(0)) {
            Some(element) => Some((as_set(element), digest_attribute(element)?)),
            None => None,
        };
        let signature_algorithm = signer.inside(SEQUENCE)?.expect(OBJECT_ID)?.content;
        let signature = signer.expect(OCTET_STRING)?.content;
        let certificate = Certificate::of_signer(certificates, id)?;
        Some(Self {
            digest,
            attributes,
            signature_algorithm,
            signature,
            key: PublicKeyInfo::read(certificate.key)?,
            signer: common_name(certificate.subject),
        })
    }

    /// Whether the content was signed; `None` if the algorithms are not known.
    fn matches(&self, content: &[u8]) -> Option<bool> {
        let algorithm = self.algorithm()?;
        let message = match &self.attributes {
            Some((_, digest)) if self.digest.of(content) != *digest => return Some(false),
            Some((attributes, _)) => attributes.as_slice(),
            None => content,
        };
        Some(UnparsedPublicKey::new(algorithm, self.key.bits).verify(message, self.signature).is_ok())
    }

    fn algorithm(&self) -> Option<&'static dyn VerificationAlgorithm> {
        let is_pkcs1 = self.signature_algorithm.starts_with(RSA_PKCS1) && self.signature_algorithm != RSA_PSS;
        Some(match (self.key.kind, self.digest) {
            (KeyKind::Rsa, _) if !is_pkcs1 => return None,
            (KeyKind::Rsa, DigestKind::Sha256) => &RSA_PKCS1_2048_8192_SHA256,
            (KeyKind::Rsa, DigestKind::Sha384) => &RSA_PKCS1_2048_8192_SHA384,
            (KeyKind::Rsa, DigestKind::Sha512) => &RSA_PKCS1_2048_8192_SHA512,
            (KeyKind::P256, DigestKind::Sha256) => &ECDSA_P256_SHA256_ASN1,
            (KeyKind::P256, DigestKind::Sha384) => &ECDSA_P256_SHA384_ASN1,
            (KeyKind::P256, DigestKind::Sha512) => &ECDSA_P256_SHA512_ASN1,
            (KeyKind::P384, DigestKind::Sha256) => &ECDSA_P384_SHA256_ASN1,
            (KeyKind::P384, DigestKind::Sha384) => &ECDSA_P384_SHA384_ASN1,
            (KeyKind::P384, DigestKind::Sha512) => &ECDSA_P384_SHA512_ASN1,
        })
    }
}

impl DigestKind {
    fn read(id: &[u8]) -> Option<Self> {
        match id {
            SHA_256 => Some(Self::Sha256),
            SHA_384 => Some(Self::Sha384),
            SHA_512 => Some(Self::Sha512),
            _ => None,
        }
    }

    fn of(self, content: &[u8]) -> Vec<u8> {
        match self {
            Self::Sha256 => Sha256::digest(content).to_vec(),
            Self::Sha384 => Sha384::digest(content).to_vec(),
            Self::Sha512 => Sha512::digest(content).to_vec(),
        }
    }
}

impl<'a> PublicKeyInfo<'a> {
    /// Reads a `SubjectPublicKeyInfo`.
    fn read(mut info: DerReader<'a>) -> Option<Self> {
        let mut algorithm = info.inside(SEQUENCE)?;
        let kind = match algorithm.expect(OBJECT_ID)?.content {
            RSA => KeyKind::Rsa,
            EC => match algorithm.expect(OBJECT_ID)?.content {
                P_256 => KeyKind::P256,
                P_384 => KeyKind::P384,
                _ => return None,
            },
            _ => return None,
        };
        // The first byte says how many bits of the last one are unused.
        let bits = info.expect(BIT_STRING)?.content.strip_prefix(&[0])?;
        Some(Self { kind, bits })
    }
}

/// The parts of a certificate that are used.
struct Certificate<'a> {
    subject: DerElement<'a>,
    key: DerReader<'a>,
}

impl<'a> Certificate<'a> {
    /// The certificate that a signer names by its issuer and serial number.
    fn of_signer(certificates: DerElement<'a>, id: DerElement<'a>) -> Option<Self> {
        let mut wanted = id.reader();
        let (issuer, serial) = (wanted.expect(SEQUENCE)?, wanted.expect(INTEGER)?);
        let mut all = certificates.reader();
        while let Some(element) = all.any() {
            let Some(mut body) = element.reader().inside(SEQUENCE) else { continue };
            body.optional(context(0));
            if body.expect(INTEGER)? != serial {
                continue;
            }
            body.expect(SEQUENCE)?;
            if body.expect(SEQUENCE)? != issuer {
                continue;
            }
            body.expect(SEQUENCE)?;
            return Some(Self { subject: body.expect(SEQUENCE)?, key: body.inside(SEQUENCE)? });
        }
        None
    }
}

/// The signed attributes as they are signed: with the tag of a set.
fn as_set(element: DerElement<'_>) -> Vec<u8> {
    let mut bytes = element.whole.to_vec();
    if let Some(tag) = bytes.first_mut() {
        *tag = SET;
    }
    bytes
}

/// The digest of the content in the signed attributes.
fn digest_attribute(attributes: DerElement<'_>) -> Option<&[u8]> {
    let mut all = attributes.reader();
    while let Some(attribute) = all.any() {
        let mut parts = attribute.reader();
        if parts.expect(OBJECT_ID)?.content == MESSAGE_DIGEST {
            return Some(parts.inside(SET)?.expect(OCTET_STRING)?.content);
        }
    }
    None
}

/// The name that a certificate is issued for: its common name, else its organisation.
fn common_name(subject: DerElement<'_>) -> String {
    let find = |wanted: &[u8]| {
        let mut sets = subject.reader();
        while let Some(set) = sets.any() {
            let mut parts = set.reader().inside(SEQUENCE)?;
            if parts.expect(OBJECT_ID)?.content == wanted {
                return Some(String::from_utf8_lossy(parts.any()?.content).into_owned());
            }
        }
        None
    };
    find(COMMON_NAME).or_else(|| find(ORGANIZATION)).unwrap_or_default()
}
