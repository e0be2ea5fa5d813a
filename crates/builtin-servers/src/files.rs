//! The built-in server `Files`: list, read, search, write and delete in one folder. [`Folder`]
//! ensures that no path leads outside of it.

use std::path::Path;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use cap_std::fs::{Dir, FileType};
use gatehouse_model::UserText;
use serde_json::{Map, Value, json};

use crate::folder::{Folder, FolderError};
use crate::tool::{
    ToolAccess, ToolError, ToolOutput, choice_argument, optional_text, reject_unknown, schema, text_argument,
    tool,
};

/// Largest file that is read or written, in bytes.
const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;
/// Largest file that is searched, in bytes.
const MAX_SEARCHED_BYTES: u64 = 1024 * 1024;
/// Most entries in a listing.
const MAX_ENTRIES: usize = 2_000;
/// Most hits of a search.
const MAX_HITS: usize = 200;
/// Limits of a search: visited entries, depth and time.
const MAX_VISITED: usize = 100_000;
const MAX_DEPTH: usize = 64;
const MAX_SEARCH_TIME: Duration = Duration::from_secs(20);

pub(super) struct Files {
    folder: Folder,
}

impl Files {
    pub(super) fn open(folder: &Path) -> Result<Self, UserText> {
        Ok(Self { folder: Folder::open(folder)? })
    }
}

impl From<FolderError> for ToolError {
    fn from(fault: FolderError) -> Self {
        Self::message(fault.to_string())
    }
}

pub(super) fn tools() -> Vec<Value> {
    let text = |what: &str| json!({ "type": "string", "description": what });
    let encoding = json!({
        "type": "string",
        "enum": ["text", "base64"],
        "default": "text",
        "description": "\"base64\" for what is no UTF-8 text.",
    });
    vec![
        tool(
            "list_directory",
            "List a folder",
            "Lists what is in a folder.",
            ToolAccess::Reads,
            schema(json!({ "path": text("The folder; the top one if left out.") }), &[]),
        ),
        tool(
            "read_file",
            "Read a file",
            "Reads a whole file of at most 4 MiB.",
            ToolAccess::Reads,
            schema(json!({ "path": text("The file."), "encoding": encoding }), &["path"]),
        ),
        tool(
            "search_files",
            "Search files",
            "Finds files by a part of their name or of their text, whatever the case.",
            ToolAccess::Reads,
            schema(
                json!({
                    "query": text("What to look for."),
                    "path": text("The folder to look in; the top one if left out."),
                    "in": { "type": "string", "enum": ["names", "contents", "both"], "default": "both",
                            "description": "Where to look." },
                }),
                &["query"],
            ),
        ),
        tool(
            "write_file",
            "Write a file",
            "Makes a file hold this and nothing else; makes it, and the folders on the way, if need be.",
            ToolAccess::Destroys,
            schema(
                json!({ "path": text("The file."), "content": text("What it is to hold."), "encoding": encoding }),
                &["path", "content"],
            ),
        ),
        tool(
            "delete_file",
            "Delete a file",
            "Deletes one file for good.",
            ToolAccess::Destroys,
            schema(json!({ "path": text("The file.") }), &["path"]),
        ),
    ]
}

pub(super) fn run(
    tool: &str,
    arguments: &Map<String, Value>,
    files: &Files,
) -> Result<ToolOutput, ToolError> {
    match tool {
        "list_directory" => {
            reject_unknown(arguments, &["path"])?;
            list(&files.folder, optional_text(arguments, "path")?.unwrap_or(""))
        }
        "read_file" => {
            reject_unknown(arguments, &["path", "encoding"])?;
            let encoding = choice_argument(arguments, "encoding", &["text", "base64"])?;
            read(&files.folder, text_argument(arguments, "path")?, encoding == Some("base64"))
        }
        "search_files" => {
            reject_unknown(arguments, &["query", "path", "in"])?;
            let place = choice_argument(arguments, "in", &["names", "contents", "both"])?.unwrap_or("both");
            let query = text_argument(arguments, "query")?;
            if query.is_empty() {
                return Err(ToolError::message("The argument \"query\" is empty."));
            }
            let search = FileSearch::new(query, place != "contents", place != "names");
            search.run(&files.folder, optional_text(arguments, "path")?.unwrap_or(""))
        }
        "write_file" => {
            reject_unknown(arguments, &["path", "content", "encoding"])?;
            let encoding = choice_argument(arguments, "encoding", &["text", "base64"])?;
            let (path, content) = (text_argument(arguments, "path")?, text_argument(arguments, "content")?);
            write(&files.folder, path, content, encoding == Some("base64"))
        }
        "delete_file" => {
            reject_unknown(arguments, &["path"])?;
            let path = text_argument(arguments, "path")?;
            files.folder.delete(path)?;
            Ok(ToolOutput { text: format!("Deleted {path}."), structured: None })
        }
        _ => Err(ToolError::NoSuchTool),
    }
}

fn list(folder: &Folder, path: &str) -> Result<ToolOutput, ToolError> {
    let mut found = Vec::new();
    for entry in folder.entries(path)? {
        let name = entry.file_name().to_string_lossy().into_owned();
        let kind = entry.file_type().map_or("other", kind_word);
        let size = (kind == "file").then(|| entry.metadata().map(|metadata| metadata.len()).ok()).flatten();
        found.push((name, kind, size));
    }
    found.sort();
    let all = found.len();
    found.truncate(MAX_ENTRIES);
    let mut lines: Vec<String> = found
        .iter()
        .map(|(name, kind, size)| match size {
            Some(size) => format!("{kind} {name} ({size} bytes)"),
            None => format!("{kind} {name}"),
        })
        .collect();
    if all > MAX_ENTRIES {
        lines.push(format!("… and {} more", all - MAX_ENTRIES));
    }
    let text = if lines.is_empty() { "The folder is empty.".to_owned() } else { lines.join("\n") };
    let entries: Vec<Value> = found
        .into_iter()
        .map(|(name, kind, size)| match size {
            Some(size) => json!({ "name": name, "kind": kind, "size": size }),
            None => json!({ "name": name, "kind": kind }),
        })
        .collect();
    Ok(ToolOutput { text, structured: Some(json!({ "entries": entries, "total": all })) })
}

fn kind_word(kind: FileType) -> &'static str {
    if kind.is_file() {
        "file"
    } else if kind.is_dir() {
        "folder"
    } else if kind.is_symlink() {
        "link"
    } else {
        "other"
    }
}

fn read(folder: &Folder, path: &str, base64: bool) -> Result<ToolOutput, ToolError> {
    let bytes = folder.read(path, MAX_FILE_BYTES)?;
    let text = if base64 {
        BASE64.encode(bytes)
    } else {
        String::from_utf8(bytes).map_err(|_| {
            ToolError::message(format!("\"{path}\" is no UTF-8 text. Read it with the encoding \"base64\"."))
        })?
    };
    Ok(ToolOutput { text, structured: None })
}

fn write(folder: &Folder, path: &str, content: &str, base64: bool) -> Result<ToolOutput, ToolError> {
    let decoded;
    let bytes = if base64 {
        decoded = BASE64
            .decode(content)
            .map_err(|_| ToolError::message("The argument \"content\" is no base64."))?;
        decoded.as_slice()
    } else {
        content.as_bytes()
    };
    let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    if size > MAX_FILE_BYTES {
        return Err(FolderError::TooLarge { path: path.to_owned(), size, limit: MAX_FILE_BYTES }.into());
    }
    let new = folder.write(path, bytes)?;
    let did = if new { "Made" } else { "Replaced" };
    Ok(ToolOutput { text: format!("{did} {path} ({size} bytes)."), structured: None })
}

/// One search; symbolic links are not followed.
struct FileSearch {
    query: String,
    names: bool,
    contents: bool,
    hits: Vec<Value>,
    lines: Vec<String>,
    visited: usize,
    until: Instant,
    /// Why the search ended early.
    cut: Option<&'static str>,
}

impl FileSearch {
    fn new(query: &str, names: bool, contents: bool) -> Self {
        Self {
            query: query.to_lowercase(),
            names,
            contents,
            hits: Vec::new(),
            lines: Vec::new(),
            visited: 0,
            until: Instant::now() + MAX_SEARCH_TIME,
            cut: None,
        }
    }

    fn run(mut self, folder: &Folder, path: &str) -> Result<ToolOutput, ToolError> {
        let top = folder.dir(path)?;
        let prefix = path.trim_end_matches('/');
        self.walk(&top, prefix, 0);
        if let Some(cut) = self.cut {
            self.lines.push(format!("Not all was searched: {cut}."));
        }
        let text =
            if self.lines.is_empty() { "Nothing was found.".to_owned() } else { self.lines.join("\n") };
        Ok(ToolOutput {
            text,
            structured: Some(json!({ "hits": self.hits, "complete": self.cut.is_none() })),
        })
    }

    fn walk(&mut self, dir: &Dir, prefix: &str, depth: usize) {
        let Ok(entries) = dir.entries() else { return };
        let mut entries: Vec<_> = entries.filter_map(Result::ok).collect();
        entries.sort_by_key(cap_std::fs::DirEntry::file_name);
        for entry in entries {
            self.visited += 1;
            self.cut = if self.hits.len() >= MAX_HITS {
                Some("there are too many hits")
            } else if self.visited > MAX_VISITED {
                Some("there are too many files")
            } else if Instant::now() > self.until {
                Some("it took too long")
            } else {
                self.cut
            };
            if self.is_done() {
                return;
            }
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}/{name}") };
            let Ok(kind) = entry.file_type() else { continue };
            if self.names && name.to_lowercase().contains(&self.query) {
                self.lines.push(path.clone());
                self.hits.push(json!({ "path": path }));
            }
            if kind.is_dir() && depth < MAX_DEPTH {
                if let Ok(below) = entry.open_dir() {
                    self.walk(&below, &path, depth + 1);
                    if self.is_done() {
                        return;
                    }
                }
            } else if kind.is_file() && self.contents {
                self.search_file(dir, &entry.file_name(), &path);
            }
        }
    }

    fn is_done(&self) -> bool {
        self.cut.is_some()
    }

    fn search_file(&mut self, dir: &Dir, name: &std::ffi::OsStr, path: &str) {
        let Ok(metadata) = dir.symlink_metadata(name) else { return };
        if !metadata.is_file() || metadata.len() > MAX_SEARCHED_BYTES {
            return;
        }
        let Ok(text) = dir.read_to_string(name) else { return };
        for (index, line) in text.lines().enumerate() {
            if self.hits.len() >= MAX_HITS {
                return;
            }
            if line.to_lowercase().contains(&self.query) {
                let number = index + 1;
                let shown: String = line.trim().chars().take(200).collect();
                self.lines.push(format!("{path}:{number}: {shown}"));
                self.hits.push(json!({ "path": path, "line": number, "text": shown }));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn ask(files: &Files, tool: &str, arguments: Value) -> Result<ToolOutput, String> {
        let Value::Object(arguments) = arguments else { panic!("no object") };
        run(tool, &arguments, files).map_err(|fault| fault.to_string())
    }

    fn message(files: &Files, tool: &str, arguments: Value) -> String {
        match ask(files, tool, arguments) {
            Ok(outcome) => outcome.text,
            Err(fault) => fault,
        }
    }

    fn files() -> (tempfile::TempDir, Files) {
        let ground = tempfile::tempdir().unwrap();
        fs::create_dir(ground.path().join("sub")).unwrap();
        fs::write(ground.path().join("plan.txt"), "buy milk\nCall Ada").unwrap();
        fs::write(ground.path().join("sub/picture.bin"), [0xff, 0x00, 0xfe]).unwrap();
        let files = Files::open(ground.path()).unwrap();
        (ground, files)
    }

    #[test]
    fn round_trips_text_and_base64() {
        let (_ground, files) = files();
        assert_eq!(message(&files, "read_file", json!({ "path": "plan.txt" })), "buy milk\nCall Ada");
        assert!(message(&files, "read_file", json!({ "path": "sub/picture.bin" })).contains("no UTF-8"));
        assert_eq!(
            message(&files, "read_file", json!({ "path": "sub/picture.bin", "encoding": "base64" })),
            "/wD+"
        );
        let written = message(
            &files,
            "write_file",
            json!({ "path": "n/x.bin", "content": "/wD+", "encoding": "base64" }),
        );
        assert_eq!(written, "Made n/x.bin (3 bytes).");
        assert_eq!(message(&files, "read_file", json!({ "path": "n/x.bin", "encoding": "base64" })), "/wD+");
        assert_eq!(
            message(&files, "write_file", json!({ "path": "n/x.bin", "content": "é" })),
            "Replaced n/x.bin (2 bytes)."
        );
        assert_eq!(message(&files, "delete_file", json!({ "path": "n/x.bin" })), "Deleted n/x.bin.");
        assert!(message(&files, "read_file", json!({ "path": "n/x.bin" })).contains("There is no"));
    }

    #[test]
    fn lists_and_searches_files() {
        let (_ground, files) = files();
        assert_eq!(message(&files, "list_directory", json!({})), "file plan.txt (17 bytes)\nfolder sub");
        assert_eq!(message(&files, "list_directory", json!({ "path": "sub" })), "file picture.bin (3 bytes)");
        assert_eq!(message(&files, "search_files", json!({ "query": "ADA" })), "plan.txt:2: Call Ada");
        assert_eq!(message(&files, "search_files", json!({ "query": "pic" })), "sub/picture.bin");
        assert_eq!(
            message(&files, "search_files", json!({ "query": "pic", "in": "contents" })),
            "Nothing was found."
        );
        assert_eq!(
            message(&files, "search_files", json!({ "query": "i", "path": "sub", "in": "names" })),
            "sub/picture.bin"
        );
    }

    #[test]
    fn limits_search_hits() {
        let (ground, files) = files();
        fs::write(ground.path().join("many.txt"), "needle\n".repeat(MAX_HITS * 2)).unwrap();
        let outcome = ask(&files, "search_files", json!({ "query": "needle" })).unwrap();
        let structured = outcome.structured.unwrap();
        assert_eq!(structured["hits"].as_array().unwrap().len(), MAX_HITS);
        assert_eq!(structured["complete"], false);
    }

    #[cfg(unix)]
    #[test]
    fn search_does_not_follow_symlinks() {
        let (ground, files) = files();
        let other = tempfile::tempdir().unwrap();
        fs::write(other.path().join("secret.txt"), "hidden needle").unwrap();
        std::os::unix::fs::symlink(other.path(), ground.path().join("door")).unwrap();
        std::os::unix::fs::symlink(other.path().join("secret.txt"), ground.path().join("file")).unwrap();
        std::os::unix::fs::symlink(".", ground.path().join("loop")).unwrap();
        assert_eq!(message(&files, "search_files", json!({ "query": "needle" })), "Nothing was found.");
    }

    #[test]
    fn rejects_invalid_arguments() {
        let (_ground, files) = files();
        let table = [
            ("read_file", json!({ "path": "../x" }), "outside the folder"),
            ("read_file", json!({ "path": "/etc/passwd" }), "outside the folder"),
            ("read_file", json!({}), "\"path\" is missing"),
            ("read_file", json!({ "path": "plan.txt", "encoding": "utf-16" }), "one of: text, base64"),
            ("write_file", json!({ "path": "x", "content": "%", "encoding": "base64" }), "no base64"),
            ("write_file", json!({ "path": "../x", "content": "" }), "may not hold \"..\""),
            (
                "write_file",
                json!({ "path": "x", "content": "x".repeat(4 * 1024 * 1024 + 1) }),
                "at most 4194304",
            ),
            ("search_files", json!({ "query": "" }), "is empty"),
            ("delete_file", json!({ "path": "sub" }), "a folder"),
            ("delete_file", json!({ "path": "." }), "the folder itself"),
            ("format_disk", json!({}), "no such tool"),
        ];
        for (tool, arguments, expected) in table {
            let answer = ask(&files, tool, arguments).err().unwrap();
            assert!(answer.contains(expected), "{tool}: {answer}");
        }
    }
}
