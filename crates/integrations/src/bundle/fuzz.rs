//! The fuzz target of bundles: archive, signature and manifest of a file with a few changed bytes.

use std::io;

use gatehouse_fuzz::fuzz;
use gatehouse_model::bundle::BundleSignature;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::archive::Archive;
use super::manifest::Manifest;
use super::signature::SignedFile;

const SIGNED: [&[u8]; 2] = [
    include_bytes!("../../tests/bundle/signed-rsa.mcpb"),
    include_bytes!("../../tests/bundle/signed-unsorted.mcpb"),
];

/// What an archive, a signature or a manifest can be confused by.
const TOKENS: &[&[u8]] = &[
    b"PK\x01\x02",
    b"PK\x03\x04",
    b"PK\x05\x06",
    b"PK\x06\x07",
    b"../",
    b"\\",
    b"\xff\xff\xff\xff",
    b"\x00\x00",
    b"\x30\x80",
    b"\x31\x84\xff",
    b"MCPB_SIG_V1",
    b"MCPB_SIG_END",
];

#[derive(Clone, Debug)]
enum ByteEdit {
    Set(Index, u8),
    Cut(Index, usize),
    Insert(Index, &'static [u8]),
}

impl ByteEdit {
    fn apply(&self, bytes: &mut Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        match self {
            Self::Set(at, byte) => {
                let at = at.index(bytes.len());
                bytes[at] = *byte;
            }
            Self::Cut(at, length) => {
                let at = at.index(bytes.len());
                bytes.drain(at..(at + length).min(bytes.len()));
            }
            Self::Insert(at, token) => {
                let at = at.index(bytes.len());
                bytes.splice(at..at, token.iter().copied());
            }
        }
    }
}

/// Fuzz target `bundle`: whatever the bytes are, nothing becomes larger than it says, no name leads out of the folder, and a
/// signature holds for the content that was signed and for no other.
#[test]
fn fuzz_bundle() {
    let edit = prop_oneof![
        (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| ByteEdit::Set(at, byte)),
        (any::<Index>(), 1_usize..8).prop_map(|(at, length)| ByteEdit::Cut(at, length)),
        (any::<Index>(), select(TOKENS)).prop_map(|(at, token)| ByteEdit::Insert(at, token)),
    ];
    let cases = (select(&SIGNED[..]), vec(edit, 0..4));
    fuzz("bundle", &cases, |(file, edits)| {
        let mut bytes = file.to_vec();
        edits.iter().for_each(|edit| edit.apply(&mut bytes));
        let signed = SignedFile::split(&bytes);
        let is_valid = matches!(signed.verify(), BundleSignature::Valid { .. });
        let is_same = signed.content == SignedFile::split(file).content;
        prop_assert!(is_same || !is_valid, "a signature holds for another content");
        let archive = Archive::read(signed.content, signed.appended());
        prop_assert!(!edits.is_empty() || (is_valid && archive.is_ok()), "a whole file is refused");
        let Ok(archive) = archive else { return Ok(()) };
        for entry in archive.entries() {
            let path = entry.path.text();
            prop_assert!(!path.starts_with('/') && !path.split('/').any(|part| part == ".."), "{}", path);
            let mut out = LimitedSink(entry.size);
            drop(archive.unpack(entry, &mut out));
        }
        if let Some(entry) = archive.file("manifest.json") {
            let mut text = Vec::new();
            if archive.unpack(entry, &mut text).is_ok()
                && let Ok(text) = String::from_utf8(text)
            {
                drop(Manifest::read(&text));
            }
        }
        Ok(())
    })
    .unwrap();
}

/// Takes so many bytes and no more.
struct LimitedSink(u64);

impl io::Write for LimitedSink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len() as u64).expect("more than the entry's size was unpacked");
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
