//! Reads the zip archive of a bundle, from memory.
//!
//! It reads only what tools for bundles write, and refuses the rest: several parts, ZIP64, encryption, other methods than
//! deflate, entries that overlap, links, and names that would be the same file on any system. General libraries for zip
//! files keep one of several entries with the same name and say nothing, so what they cannot show could not be refused.
//! Nothing is believed of what the archive says about sizes: each is a limit, and is counted while an entry is unpacked.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::ops::Range;

use flate2::Crc;
use flate2::bufread::DeflateDecoder;
use gatehouse_common::invisible_chars::one_line;

use super::entry_path::{EntryPath, UnsafeName};
use super::error::BundleError;

/// Largest archive, in bytes.
pub(super) const MAX_ARCHIVE_BYTES: u64 = 200 * 1024 * 1024;
const MAX_ENTRIES: usize = 20_000;
/// Most files and folders together, also those that only the names of others imply.
const MAX_PATHS: usize = 40_000;
/// Largest size of all files together when they are unpacked, in bytes.
const MAX_UNPACKED_BYTES: u64 = 1024 * 1024 * 1024;
/// How many times larger than the archive its files may be, once they are larger than `RATIO_FREE_BYTES`.
const MAX_RATIO: u64 = 60;
const RATIO_FREE_BYTES: u64 = 16 * 1024 * 1024;
/// Longest name that an error shows, in characters.
const SHOWN_NAME_CHARS: usize = 120;

const END_RECORD: &[u8; 4] = b"PK\x05\x06";
const END_RECORD_BYTES: usize = 22;
const CENTRAL_HEADER: &[u8; 4] = b"PK\x01\x02";
const CENTRAL_HEADER_BYTES: usize = 46;
const LOCAL_HEADER: &[u8; 4] = b"PK\x03\x04";
const LOCAL_HEADER_BYTES: usize = 30;

/// Flags of an entry: encrypted, strongly encrypted, masked headers.
const ENCRYPTED: u16 = 0x2041;
const UTF8: u16 = 0x0800;

/// An archive whose list of entries was checked.
pub(super) struct Archive<'a> {
    bytes: &'a [u8],
    entries: Vec<ArchiveEntry>,
}

pub(super) struct ArchiveEntry {
    pub(super) path: EntryPath,
    pub(super) kind: EntryKind,
    /// Size when it is unpacked, in bytes.
    pub(super) size: u64,
    is_deflated: bool,
    crc: u32,
    data: Range<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryKind {
    Folder,
    File {
        /// Whether the archive says that it is a program.
        executable: bool,
    },
}

impl<'a> Archive<'a> {
    /// Reads the list of entries. `appended` is how many bytes stood behind the archive in its file, which some tools
    /// count as the archive's comment.
    pub(super) fn read(bytes: &'a [u8], appended: usize) -> Result<Self, BundleError> {
        let directory = find_directory(bytes, appended).ok_or(BundleError::NotABundle)?;
        if directory.count > MAX_ENTRIES {
            return Err(BundleError::TooManyFiles { limit: MAX_ENTRIES });
        }
        let mut entries = Vec::with_capacity(directory.count);
        let mut at = directory.range.start;
        for _ in 0..directory.count {
            let (entry, next) = read_entry(bytes, at, directory.range.start)?;
            entries.push(entry);
            at = next;
        }
        if at != directory.range.end {
            return Err(BundleError::NotABundle);
        }
        let archive = Self { bytes, entries };
        archive.check_sizes()?;
        archive.check_places()?;
        archive.check_names()?;
        Ok(archive)
    }

    pub(super) fn entries(&self) -> &[ArchiveEntry] {
        &self.entries
    }

    /// The file with this path.
    pub(super) fn file(&self, path: &str) -> Option<&ArchiveEntry> {
        let is_file = |entry: &&ArchiveEntry| matches!(entry.kind, EntryKind::File { .. });
        self.entries.iter().filter(is_file).find(|entry| entry.path.text() == path)
    }

    /// Unpacks an entry. It never writes more than the size that the entry has.
    ///
    /// # Errors
    /// [`BundleError::Damaged`] if the content is not what the list of entries says.
    pub(super) fn unpack(&self, entry: &ArchiveEntry, out: &mut dyn Write) -> Result<(), BundleError> {
        let damaged = || BundleError::Damaged { name: shown(&entry.path.text()) };
        let packed = self.bytes.get(entry.data.clone()).ok_or_else(damaged)?;
        let mut source: Box<dyn Read + '_> =
            if entry.is_deflated { Box::new(DeflateDecoder::new(packed)) } else { Box::new(packed) };
        let (mut crc, mut size) = (Crc::new(), 0_u64);
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let count = source.read(&mut buffer).map_err(|_| damaged())?;
            let Some(part) = buffer.get(..count).filter(|part| !part.is_empty()) else { break };
            size += part.len() as u64;
            if size > entry.size {
                return Err(damaged());
            }
            crc.update(part);
            out.write_all(part).map_err(BundleError::Unwritten)?;
        }
        if size == entry.size && crc.sum() == entry.crc { Ok(()) } else { Err(damaged()) }
    }

    /// Refuses archives that would become too large (zip bombs).
    fn check_sizes(&self) -> Result<(), BundleError> {
        let mut total = 0_u64;
        for entry in &self.entries {
            total = total.saturating_add(entry.size);
        }
        let by_ratio = (self.bytes.len() as u64).saturating_mul(MAX_RATIO).max(RATIO_FREE_BYTES);
        if total > MAX_UNPACKED_BYTES.min(by_ratio) { Err(BundleError::TooMuchContent) } else { Ok(()) }
    }

    /// Refuses entries that share bytes, by which a small archive has huge content.
    fn check_places(&self) -> Result<(), BundleError> {
        let mut places: Vec<&Range<usize>> = self.entries.iter().map(|entry| &entry.data).collect();
        places.sort_by_key(|place| (place.start, place.end));
        let overlap = places.windows(2).any(|pair| match pair {
            [first, second] => first.end > second.start,
            _ => false,
        });
        if overlap { Err(BundleError::TooMuchContent) } else { Ok(()) }
    }

    /// Refuses a name that occurs twice, also in another case or with accents in another form, a file that is a folder
    /// elsewhere, and more folders than a bundle has.
    fn check_names(&self) -> Result<(), BundleError> {
        // By folded path: the path as written, and whether an entry is it, as opposed to lying in it.
        let mut known: HashMap<String, (String, Option<EntryKind>)> = HashMap::new();
        for entry in &self.entries {
            let twice = || BundleError::NameTwice { name: shown(&entry.path.text()) };
            let whole = entry.path.text();
            for (text, folded) in entry.path.prefixes() {
                let kind = (text == whole).then_some(entry.kind);
                match known.get_mut(&folded) {
                    None => drop(known.insert(folded, (text, kind))),
                    Some((written, _)) if *written != text => return Err(twice()),
                    // A folder may be listed after what is in it.
                    Some((_, known_kind @ None)) if matches!(kind, None | Some(EntryKind::Folder)) => {
                        *known_kind = kind;
                    }
                    Some((_, Some(EntryKind::Folder))) if kind.is_none() => {}
                    Some(_) => return Err(twice()),
                }
            }
            if known.len() > MAX_PATHS {
                return Err(BundleError::TooMuchContent);
            }
        }
        Ok(())
    }
}

/// Where the list of entries is.
struct CentralDirectory {
    range: Range<usize>,
    count: usize,
}

/// Finds the list of entries by the record at the end, which only its comment follows.
fn find_directory(bytes: &[u8], appended: usize) -> Option<CentralDirectory> {
    let last = bytes.len().checked_sub(END_RECORD_BYTES)?;
    let first = last.saturating_sub(usize::from(u16::MAX));
    (first..=last).rev().find_map(|at| {
        let comment = usize::from(u16_at(bytes, at + 20)?);
        let rest = last - at;
        let is_end = bytes.get(at..at + 4)? == END_RECORD && (comment == rest || comment == rest + appended);
        let one_part = u16_at(bytes, at + 4)? == 0 && u16_at(bytes, at + 6)? == 0;
        let (count, total) = (u16_at(bytes, at + 8)?, u16_at(bytes, at + 10)?);
        let (size, start) = (usize_at(bytes, at + 12)?, usize_at(bytes, at + 16)?);
        let end = start.checked_add(size)?;
        (is_end && one_part && count == total && end == at)
            .then(|| CentralDirectory { range: start..end, count: usize::from(count) })
    })
}

/// Reads an entry of the list at a place, and answers the place of the next one. The contents of all entries are before
/// `limit`.
fn read_entry(bytes: &[u8], at: usize, limit: usize) -> Result<(ArchiveEntry, usize), BundleError> {
    let header = CentralHeader::read(bytes, at).ok_or(BundleError::NotABundle)?;
    let name = std::str::from_utf8(header.name).map_err(|_| BundleError::NotABundle)?;
    let shown_name = || shown(name);
    // Without the flag, other characters than ASCII mean something else to each program.
    let path = match EntryPath::parse(name) {
        Ok(path) if name.is_ascii() || header.flags & UTF8 != 0 => path,
        Ok(_) | Err(UnsafeName::Invalid) => return Err(BundleError::BadName { name: shown_name() }),
        Err(UnsafeName::Outside) => return Err(BundleError::NameOutside { name: shown_name() }),
        Err(UnsafeName::Hidden) => return Err(BundleError::NameHidden { name: shown_name() }),
    };
    if header.flags & ENCRYPTED != 0 {
        return Err(BundleError::Encrypted { name: shown_name() });
    }
    let is_deflated = match header.method {
        0 => false,
        8 => true,
        _ => return Err(BundleError::UnknownMethod { name: shown_name() }),
    };
    let kind = entry_kind(name, header.mode).ok_or_else(|| BundleError::Link { name: shown_name() })?;
    let damaged = || BundleError::Damaged { name: shown_name() };
    let data = content_place(bytes, &header, limit).ok_or_else(damaged)?;
    if kind == EntryKind::Folder && header.size != 0 {
        return Err(damaged());
    }
    let entry = ArchiveEntry { path, kind, size: header.size, is_deflated, crc: header.crc, data };
    Ok((entry, header.end))
}

/// What an entry is: by the type in its Unix mode, else by its name. `None` for a link or a device.
fn entry_kind(name: &str, mode: u32) -> Option<EntryKind> {
    let is_folder = name.ends_with('/');
    match (mode & 0o170_000, is_folder) {
        (0 | 0o040_000, true) => Some(EntryKind::Folder),
        (0 | 0o100_000, false) => Some(EntryKind::File { executable: mode & 0o111 != 0 }),
        _ => None,
    }
}

/// An entry of the list at the end.
struct CentralHeader<'a> {
    flags: u16,
    method: u16,
    crc: u32,
    packed: usize,
    size: u64,
    /// Type and permissions on Unix.
    mode: u32,
    /// Place of the header before the content.
    local: usize,
    name: &'a [u8],
    /// Where the next one begins.
    end: usize,
}

impl<'a> CentralHeader<'a> {
    fn read(bytes: &'a [u8], at: usize) -> Option<Self> {
        if bytes.get(at..at.checked_add(4)?)? != CENTRAL_HEADER || u16_at(bytes, at + 34)? != 0 {
            return None;
        }
        let name_start = at + CENTRAL_HEADER_BYTES;
        let name_end = name_start + usize::from(u16_at(bytes, at + 28)?);
        let end = name_end + usize::from(u16_at(bytes, at + 30)?) + usize::from(u16_at(bytes, at + 32)?);
        if bytes.len() < end {
            return None;
        }
        Some(Self {
            flags: u16_at(bytes, at + 8)?,
            method: u16_at(bytes, at + 10)?,
            crc: u32_at(bytes, at + 16)?,
            packed: usize_at(bytes, at + 20)?,
            size: u64::from(u32_at(bytes, at + 24)?),
            mode: u32_at(bytes, at + 38)? >> 16,
            local: usize_at(bytes, at + 42)?,
            name: bytes.get(name_start..name_end)?,
            end,
        })
    }
}

/// Where the content of an entry is. The header before it must agree with the list.
fn content_place(bytes: &[u8], header: &CentralHeader<'_>, limit: usize) -> Option<Range<usize>> {
    let at = header.local;
    let name_start = at.checked_add(LOCAL_HEADER_BYTES)?;
    let name_end = name_start.checked_add(usize::from(u16_at(bytes, at.checked_add(26)?)?))?;
    let start = name_end.checked_add(usize::from(u16_at(bytes, at + 28)?))?;
    let end = start.checked_add(header.packed)?;
    let agrees = bytes.get(at..at + 4)? == LOCAL_HEADER
        && bytes.get(name_start..name_end)? == header.name
        && u16_at(bytes, at + 8)? == header.method
        && u16_at(bytes, at + 6)? & ENCRYPTED == 0;
    (agrees && end <= limit).then_some(start..end)
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at.checked_add(2)?)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

fn usize_at(bytes: &[u8], at: usize) -> Option<usize> {
    usize::try_from(u32_at(bytes, at)?).ok()
}

/// A name of an entry as errors show it.
fn shown(name: &str) -> String {
    one_line(name, SHOWN_NAME_CHARS)
}
