//! Archives that must be refused, and leave nothing behind.

use gatehouse_integrations::BundleError;

use crate::zip::{ZipEntry, file, zip};
use crate::{Fixture, bundle, key_of, manifest};

fn with(change: impl FnOnce(&mut ZipEntry)) -> Vec<ZipEntry> {
    let mut entry = file("a.txt", "content");
    change(&mut entry);
    vec![entry]
}

fn named(name: &str) -> Vec<ZipEntry> {
    vec![file(name, "x")]
}

fn mode(mode: u32) -> Vec<ZipEntry> {
    with(|entry| entry.mode = mode)
}

#[test]
fn refuses_hostile_entries() {
    let fixture = Fixture::new();
    for (entries, expected) in [
        (named("../outside"), "nameOutside"),
        (named("a/../../outside"), "nameOutside"),
        (named("/etc/cron.d/x"), "nameOutside"),
        (named("C:\\Windows\\x"), "nameOutside"),
        (named("..\\outside"), "nameOutside"),
        (named("C:x"), "nameOutside"),
        (named("a\u{0}b"), "nameHidden"),
        (named("photo\u{202e}gpj.js"), "nameHidden"),
        (named("a\u{200d}b"), "nameHidden"),
        (named("a\u{1b}[2K"), "nameHidden"),
        (named("trailing."), "badName"),
        (named("a//b"), "badName"),
        (named(""), "badName"),
        (mode(0o120_777), "link"),
        (mode(0o020_666), "link"),
        (mode(0o010_644), "link"),
        (mode(0o040_755), "link"),
        (with(|entry| entry.name = b"folder/".to_vec()), "link"),
        ([named("same.txt"), named("same.txt")].concat(), "nameTwice"),
        ([named("same.txt"), named("SAME.txt")].concat(), "nameTwice"),
        ([named("caf\u{e9}"), named("cafe\u{301}")].concat(), "nameTwice"),
        ([named("lib/a"), named("LIB/b")].concat(), "nameTwice"),
        ([named("lib"), named("lib/b")].concat(), "nameTwice"),
        ([named("lib/b"), named("lib")].concat(), "nameTwice"),
        (named("MANIFEST.json"), "nameTwice"),
        (with(|entry| entry.flags = 1), "encrypted"),
        (with(|entry| entry.flags = 0x41), "encrypted"),
        (with(|entry| entry.method = 99), "unknownMethod"),
        (with(|entry| entry.method = 12), "unknownMethod"),
        (with(|entry| entry.crc = Some(7)), "damaged"),
        (with(|entry| entry.size = Some(6)), "damaged"),
        (with(|entry| entry.size = Some(8)), "damaged"),
        (with(|entry| entry.local_name = Some(b"b.txt".to_vec())), "damaged"),
        (with(|entry| (entry.name, entry.flags) = ("é".into(), 0)), "badName"),
    ] {
        let what: Vec<_> = entries.iter().map(|entry| String::from_utf8_lossy(&entry.name)).collect();
        let refused = fixture.read(&bundle(&manifest(|_| {}), &entries)).unwrap_err();
        assert_eq!(key_of(refused), format!("error.bundles.{expected}"), "{what:?}");
        assert!(fixture.unpacked().is_empty(), "{what:?} left {:?}", fixture.unpacked());
    }
}

#[test]
fn refuses_what_is_no_archive() {
    let fixture = Fixture::new();
    let whole = bundle(&manifest(|_| {}), &[]);
    let mut prefixed = b"#!/bin/sh\n".to_vec();
    prefixed.extend(&whole);
    let mut trailing = whole.clone();
    trailing.extend(b"more");
    let mut several_parts = whole.clone();
    let at = several_parts.len() - 18;
    several_parts[at] = 1;
    for (name, bytes) in [
        ("empty", Vec::new()),
        ("text", b"no archive".to_vec()),
        ("cut off", whole[..whole.len() - 5].to_vec()),
        ("only its end", whole[whole.len() - 22..].to_vec()),
        ("behind a script", prefixed),
        ("with more behind it", trailing),
        ("of several parts", several_parts),
    ] {
        assert_eq!(key_of(fixture.read(&bytes).unwrap_err()), "error.bundles.notABundle", "{name}");
    }
    let none = zip(&[file("readme.txt", "no manifest")]);
    assert_eq!(key_of(fixture.read(&none).unwrap_err()), "error.bundles.noManifest");
    assert!(fixture.unpacked().is_empty());
}

#[test]
fn refuses_bombs() {
    let fixture = Fixture::new();
    let manifest = manifest(|_| {});
    let zeros = file("zeros", vec![0; 20 * 1024 * 1024]);
    let small = bundle(&manifest, std::slice::from_ref(&zeros));
    assert!(small.len() < 64 * 1024, "{}", small.len());
    assert!(matches!(fixture.read(&small).unwrap_err(), BundleError::TooMuchContent));

    // The headers say that it is small.
    let liar = ZipEntry { size: Some(10), ..zeros };
    assert!(matches!(fixture.read(&bundle(&manifest, &[liar])).unwrap_err(), BundleError::Damaged { .. }));

    let many: Vec<ZipEntry> = (0..20_001).map(|number| file(&format!("f{number}"), "")).collect();
    assert!(matches!(
        fixture.read(&bundle(&manifest, &many)).unwrap_err(),
        BundleError::TooManyFiles { limit: 20_000 }
    ));
    // Few files, each within many folders of its own.
    let folders = |number: usize| (0..40).map(|depth| format!("{number}-{depth}/")).collect::<String>();
    let deep: Vec<ZipEntry> = (0..1_001).map(|number| file(&format!("{}f", folders(number)), "")).collect();
    assert!(matches!(fixture.read(&bundle(&manifest, &deep)).unwrap_err(), BundleError::TooMuchContent));
    let long = file("manifest.json", vec![b' '; 1024 * 1024 + 1]);
    assert!(matches!(fixture.read(&zip(&[long])).unwrap_err(), BundleError::TooMuchContent));
    assert!(fixture.unpacked().is_empty());
}

#[test]
fn refuses_entries_that_share_their_content() {
    let fixture = Fixture::new();
    let inner = file("inner", "the same bytes for both");
    // All of it up to the list of entries, which names it.
    let alone = zip(std::slice::from_ref(&inner));
    let directory = alone.windows(4).position(|part| part == b"PK\x01\x02").unwrap();
    let mut outer = file("outer", &alone[..directory]);
    outer.method = 0;
    let mut bytes = bundle(&manifest(|_| {}), &[inner, outer]);
    let position = |name: &[u8], bytes: &[u8]| bytes.windows(5).rposition(|part| part == name).unwrap();
    // The content of the outer one is the last before the list, and its name in the header before that.
    let list = bytes.windows(4).position(|part| part == b"PK\x01\x02").unwrap();
    let start = u32::try_from(list - directory).unwrap();
    let listed = position(b"inner", &bytes);
    bytes[listed - 4..listed].copy_from_slice(&start.to_le_bytes());
    let refused = fixture.read(&bytes).unwrap_err();
    assert!(matches!(refused, BundleError::TooMuchContent), "{refused}");
    assert!(fixture.unpacked().is_empty());
}

#[test]
fn every_cut_and_flipped_byte_is_an_error_or_the_same_content() {
    let fixture = Fixture::new();
    let whole = bundle(&manifest(|_| {}), &[file("more.txt", "more")]);
    let preview = fixture.read(&whole).unwrap();
    let script = std::path::Path::new(&preview.folder).join("server/index.js");
    let expected = std::fs::read(&script).unwrap();
    for at in 0..whole.len() {
        assert!(fixture.read(&whole[..at]).is_err(), "cut at {at}");
        let mut flipped = whole.clone();
        flipped[at] ^= 0x55;
        if let Ok(read) = fixture.read(&flipped) {
            let there = std::fs::read(std::path::Path::new(&read.folder).join("server/index.js"));
            assert!(there.is_err() || there.unwrap() == expected, "flipped at {at}");
        }
    }
}
