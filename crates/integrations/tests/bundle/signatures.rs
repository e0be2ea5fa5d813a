//! Signatures of bundles. The files were signed with OpenSSL's `cms -sign`, with keys that were thrown away:
//!
//! - `signed-rsa.mcpb` and `signed-ec.mcpb`: RSA with 2,048 bits, and P-256.
//! - `signed-unsorted.mcpb`: its signed attributes stand in the order in which the usual tool for bundles writes them, which
//!   DER does not allow.
//! - `signed-comment.mcpb`: the archive counts the signature as its comment, as newer tools write it.

use gatehouse_model::bundle::BundleSignature;

use crate::{Fixture, bundle, key_of, manifest};

const RSA: &[u8] = include_bytes!("signed-rsa.mcpb");
const EC: &[u8] = include_bytes!("signed-ec.mcpb");
const UNSORTED: &[u8] = include_bytes!("signed-unsorted.mcpb");
const COMMENT: &[u8] = include_bytes!("signed-comment.mcpb");
const HEADER: &[u8] = b"MCPB_SIG_V1";
const FOOTER: &[u8] = b"MCPB_SIG_END";

fn block(signature: &[u8]) -> Vec<u8> {
    let length = u32::try_from(signature.len()).unwrap().to_le_bytes();
    [HEADER, &length, signature, FOOTER].concat()
}

/// The archive and the signature of a file.
fn parts(file: &[u8]) -> (&[u8], &[u8]) {
    let at = file.windows(HEADER.len()).rposition(|part| part == HEADER).unwrap();
    (&file[..at], &file[at + HEADER.len() + 4..file.len() - FOOTER.len()])
}

#[test]
fn verifies_signatures() {
    let publisher = |signer: &str| BundleSignature::Valid { signer: signer.to_owned() };
    for (name, file, expected) in [
        ("rsa", RSA, publisher("Example Publisher")),
        ("ec", EC, publisher("Curve Publisher")),
        ("unsorted", UNSORTED, publisher("Example Publisher")),
        ("comment", COMMENT, publisher("Example Publisher")),
        ("none", parts(RSA).0, BundleSignature::None),
    ] {
        let preview = Fixture::new().read(file).unwrap();
        assert_eq!((preview.signature, preview.refused), (expected, None), "{name}");
    }
}

#[test]
fn signature_is_no_part_of_the_content() {
    let fixture = Fixture::new();
    let names = [RSA, EC, parts(RSA).0].map(|file| fixture.read(file).unwrap().bundle);
    assert!(names.iter().all(|name| *name == names[0]), "{names:?}");
}

#[test]
fn refuses_content_that_was_not_signed() {
    let other = bundle(&manifest(|_| {}), &[]);
    let (_, signature) = parts(RSA);
    let mut broken = signature.to_vec();
    // The signature itself is the last element.
    *broken.last_mut().unwrap() ^= 1;
    for file in [[other.as_slice(), &block(signature)].concat(), [parts(RSA).0, &block(&broken)].concat()] {
        let fixture = Fixture::new();
        let preview = fixture.read(&file).unwrap();
        assert_eq!(preview.signature, BundleSignature::Mismatch);
        assert_eq!(preview.refused.unwrap().key, "error.bundles.signatureMismatch");
        let refused = fixture.store.configure(&preview.bundle, &serde_json::Map::new(), &[]);
        assert_eq!(key_of(refused.unwrap_err()), "error.bundles.signatureMismatch");
    }
}

#[test]
fn no_name_is_shown_for_what_cannot_be_checked() {
    let (content, signature) = parts(RSA);
    for cut in [0, 1, 20, signature.len() / 2, signature.len() - 1] {
        let file = [content, &block(&signature[..cut])].concat();
        let preview = Fixture::new().read(&file).unwrap();
        assert_eq!(preview.signature, BundleSignature::Unreadable, "cut at {cut}");
    }
}

#[test]
fn a_frame_that_does_not_fit_is_content() {
    let (content, signature) = parts(RSA);
    let mut wrong = block(signature);
    wrong[HEADER.len()] ^= 1;
    assert_eq!(
        key_of(Fixture::new().read(&[content, &wrong].concat()).unwrap_err()),
        "error.bundles.notABundle"
    );
}
