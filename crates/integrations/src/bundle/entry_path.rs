//! Names of the files in a bundle, as paths below its folder.
//!
//! A name must never lead out of the folder, on any system, and must look to a person as it is: what one system takes
//! for a part of a name is a separator, a drive or a stream on another one.

use std::path::{Path, PathBuf};

use gatehouse_common::invisible_chars::is_invisible;
use unicode_normalization::UnicodeNormalization as _;

const MAX_PATH_BYTES: usize = 1024;
const MAX_SEGMENT_BYTES: usize = 255;
const MAX_DEPTH: usize = 48;

/// Why a name is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnsafeName {
    /// It is absolute, goes upwards, or names a drive.
    Outside,
    /// It has characters that people can't see.
    Hidden,
    /// No file can have it on every system.
    Invalid,
}

/// A relative path of ordinary segments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EntryPath(Vec<String>);

impl EntryPath {
    /// Reads the name of an entry; that of a folder ends with a slash.
    pub(super) fn parse(name: &str) -> Result<Self, UnsafeName> {
        if name.chars().any(|c| c.is_control() || is_invisible(c)) {
            return Err(UnsafeName::Hidden);
        }
        // A colon is a drive or a stream of Windows.
        if name.starts_with('/') || name.contains(['\\', ':']) {
            return Err(UnsafeName::Outside);
        }
        let segments: Vec<String> =
            name.strip_suffix('/').unwrap_or(name).split('/').map(str::to_owned).collect();
        if segments.iter().any(|segment| segment == "..") {
            return Err(UnsafeName::Outside);
        }
        let is_valid = name.len() <= MAX_PATH_BYTES
            && segments.len() <= MAX_DEPTH
            && segments.iter().all(|segment| is_valid_segment(segment));
        if is_valid { Ok(Self(segments)) } else { Err(UnsafeName::Invalid) }
    }

    /// The path below a folder.
    pub(super) fn below(&self, folder: &Path) -> PathBuf {
        let mut path = folder.to_owned();
        path.extend(&self.0);
        path
    }

    /// The path with slashes.
    pub(super) fn text(&self) -> String {
        self.0.join("/")
    }

    /// The path and the folders that it is in, outermost first, each as written and as file systems compare it that
    /// ignore case or the form of accents.
    pub(super) fn prefixes(&self) -> impl Iterator<Item = (String, String)> + '_ {
        (1..=self.0.len()).map(|count| {
            let text = self.0.get(..count).unwrap_or_default().join("/");
            let folded = text.nfkc().collect::<String>().to_lowercase().nfkc().collect();
            (text, folded)
        })
    }
}

/// Windows drops dots and spaces at the end of a name, so two names would be one file.
fn is_valid_segment(segment: &str) -> bool {
    !segment.is_empty()
        && segment != "."
        && segment.len() <= MAX_SEGMENT_BYTES
        && !segment.ends_with([' ', '.'])
        && !(cfg!(windows) && is_device(segment))
}

/// Whether Windows takes a name for a device, whatever follows its first dot.
fn is_device(segment: &str) -> bool {
    let stem = segment.split('.').next().unwrap_or_default().trim_end().to_ascii_uppercase();
    let numbered = |prefix: &str| {
        stem.strip_prefix(prefix)
            .is_some_and(|rest| rest.chars().count() == 1 && rest.chars().all(|c| c.is_numeric()))
    };
    matches!(stem.as_str(), "CON" | "PRN" | "AUX" | "NUL" | "CONIN$" | "CONOUT$")
        || numbered("COM")
        || numbered("LPT")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_paths_below_the_folder_only() {
        let long = "x".repeat(256);
        let deep = "a/".repeat(49);
        for (name, expected) in [
            ("manifest.json", Ok("manifest.json")),
            ("server/index.js", Ok("server/index.js")),
            ("server/", Ok("server")),
            ("node_modules/@a/b/.bin", Ok("node_modules/@a/b/.bin")),
            ("文件/é.txt", Ok("文件/é.txt")),
            ("..a/b..c", Ok("..a/b..c")),
            ("/etc/passwd", Err(UnsafeName::Outside)),
            ("../x", Err(UnsafeName::Outside)),
            ("a/../../x", Err(UnsafeName::Outside)),
            ("a/..", Err(UnsafeName::Outside)),
            ("a\\..\\x", Err(UnsafeName::Outside)),
            ("\\\\host\\share", Err(UnsafeName::Outside)),
            ("C:/x", Err(UnsafeName::Outside)),
            ("C:x", Err(UnsafeName::Outside)),
            ("a.txt:stream", Err(UnsafeName::Outside)),
            ("a\0b", Err(UnsafeName::Hidden)),
            ("a\nb", Err(UnsafeName::Hidden)),
            ("a\u{202e}sj.exe", Err(UnsafeName::Hidden)),
            ("a\u{200b}b", Err(UnsafeName::Hidden)),
            ("", Err(UnsafeName::Invalid)),
            ("a//b", Err(UnsafeName::Invalid)),
            ("./a", Err(UnsafeName::Invalid)),
            ("a/.", Err(UnsafeName::Invalid)),
            ("a.", Err(UnsafeName::Invalid)),
            ("a /b", Err(UnsafeName::Invalid)),
            (&long, Err(UnsafeName::Invalid)),
            (&deep, Err(UnsafeName::Invalid)),
        ] {
            assert_eq!(
                EntryPath::parse(name).map(|path| path.text()),
                expected.map(str::to_owned),
                "{name:?}"
            );
        }
    }

    #[test]
    fn folds_case_and_accents() {
        let folded = |name: &str| EntryPath::parse(name).unwrap().prefixes().last().unwrap().1;
        assert_eq!(folded("A/Straße"), folded("a/straße"));
        assert_eq!(folded("caf\u{e9}"), folded("CAFE\u{301}"));
        assert_eq!(folded("\u{fb01}le"), folded("file"));
        assert_ne!(folded("a"), folded("b"));
    }

    #[test]
    fn knows_devices_of_windows() {
        for (name, expected) in [
            ("NUL", true),
            ("nul.txt", true),
            ("aux .js", true),
            ("COM1", true),
            ("lpt².log", true),
            ("COM10", false),
            ("console", false),
            ("auxiliary.js", false),
        ] {
            assert_eq!(is_device(name), expected, "{name}");
        }
    }
}
