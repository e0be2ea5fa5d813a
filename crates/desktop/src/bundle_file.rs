//! Bundle files that are dropped on the main window (UI-2). Only their names are looked at here; the page has the core read
//! one and shows what it would do, as when it is picked. A drop must never do more than that.

use std::ffi::OsStr;
use std::path::PathBuf;

/// The endings of bundle files.
const ENDINGS: [&str; 2] = ["mcpb", "dxt"];

/// The path of the first bundle file among these. All others are ignored.
pub(crate) fn bundle_file_in(paths: &[PathBuf]) -> Option<String> {
    let is_bundle = |path: &&PathBuf| {
        let ending = path.extension().and_then(OsStr::to_str).unwrap_or_default();
        path.is_absolute() && ENDINGS.iter().any(|known| ending.eq_ignore_ascii_case(known))
    };
    paths.iter().filter(is_bundle).find_map(|path| path.to_str()).map(str::to_owned)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn finds_the_first_bundle_among_dropped_files() {
        let table: [(&[&str], Option<&str>); 6] = [
            (&[], None),
            (&["/a/notes.txt", "/a/mcpb", "/a/.mcpb", "/a/x.mcpb.zip"], None),
            (&["/a/notes.txt", "/a/b c.mcpb", "/a/second.mcpb"], Some("/a/b c.mcpb")),
            (&["/a/OLD.DXT"], Some("/a/OLD.DXT")),
            (&["relative.mcpb", "/a/文件.mcpb"], Some("/a/文件.mcpb")),
            (&["relative.mcpb"], None),
        ];
        for (paths, expected) in table {
            let paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
            assert_eq!(bundle_file_in(&paths).as_deref(), expected, "{paths:?}");
        }
    }
}
