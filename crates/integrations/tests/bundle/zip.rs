//! Writes zip archives for tests, also such as no honest tool writes.

use std::io::Write as _;

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};

/// One entry, with everything that can be wrong about it.
#[derive(Clone)]
pub(crate) struct ZipEntry {
    pub(crate) name: Vec<u8>,
    /// Name in the header before the content, if it is another one.
    pub(crate) local_name: Option<Vec<u8>>,
    pub(crate) content: Vec<u8>,
    pub(crate) flags: u16,
    pub(crate) method: u16,
    /// Type and permissions on Unix.
    pub(crate) mode: u32,
    /// Size that the headers give, if it is not that of the content.
    pub(crate) size: Option<u32>,
    pub(crate) crc: Option<u32>,
}

pub(crate) fn file(name: &str, content: impl Into<Vec<u8>>) -> ZipEntry {
    ZipEntry {
        name: name.into(),
        local_name: None,
        content: content.into(),
        flags: if name.is_ascii() { 0 } else { 0x0800 },
        method: 8,
        mode: 0o100_644,
        size: None,
        crc: None,
    }
}

/// An archive of these entries.
pub(crate) fn zip(entries: &[ZipEntry]) -> Vec<u8> {
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for entry in entries {
        let local = u32::try_from(out.len()).unwrap();
        let packed = match entry.method {
            8 => deflate(&entry.content),
            _ => entry.content.clone(),
        };
        let mut crc = Crc::new();
        crc.update(&entry.content);
        let size = entry.size.unwrap_or(u32::try_from(entry.content.len()).unwrap());
        let mut common = Vec::new();
        for number in [20, entry.flags, entry.method, 0, 0] {
            common.extend(u16::to_le_bytes(number));
        }
        for number in [entry.crc.unwrap_or(crc.sum()), u32::try_from(packed.len()).unwrap(), size] {
            common.extend(u32::to_le_bytes(number));
        }
        let name_length = |name: &[u8]| u16::try_from(name.len()).unwrap().to_le_bytes();
        let local_name = entry.local_name.as_ref().unwrap_or(&entry.name);
        out.extend(b"PK\x03\x04");
        out.extend(&common);
        out.extend(name_length(local_name));
        out.extend([0, 0]);
        out.extend(local_name);
        out.extend(packed);
        // Made by a Unix system.
        directory.extend(b"PK\x01\x02\x14\x03");
        directory.extend(&common);
        directory.extend(name_length(&entry.name));
        directory.extend([0; 8]);
        directory.extend((entry.mode << 16).to_le_bytes());
        directory.extend(local.to_le_bytes());
        directory.extend(&entry.name);
    }
    let start = u32::try_from(out.len()).unwrap();
    let count = u16::try_from(entries.len()).unwrap();
    out.extend(&directory);
    out.extend(b"PK\x05\x06\0\0\0\0");
    out.extend([count, count].map(u16::to_le_bytes).concat());
    out.extend([u32::try_from(directory.len()).unwrap(), start].map(u32::to_le_bytes).concat());
    out.extend([0, 0]);
    out
}

fn deflate(content: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}
