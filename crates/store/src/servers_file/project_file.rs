//! Reads the servers that a project asks for: `.mcp.json` in its folder. Anybody who can write to the project writes this
//! file, so nothing of it takes effect before the user has seen it. A link is never followed, since it could show the user
//! another file than the project's.

use std::collections::HashSet;
use std::path::Path;

use gatehouse_common::regular_file::{self, SymbolicLinks, UnreadFile};
use gatehouse_mcp_wire::json;
use gatehouse_model::approval::{ConfigChangeKind, ConfigChangeRequest};
use gatehouse_model::server::ServerDraft;
use gatehouse_model::{ErrorCode, Message, ServerConfig, Transport, UserError, message};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::changes::diff_fields;
use super::document::{self, InvalidDocument, RawEntry};
use super::entry::{self, ServerEntry};
use super::merge::{all_sentences, entry_error};
use super::name::fold_case;
use super::rules::validate_name;

/// Name of the file.
pub const PROJECT_FILE: &str = ".mcp.json";

/// Longest file that is read, in bytes.
const MAX_BYTES: u64 = 1024 * 1024;

/// Most servers of one file.
const MAX_ENTRIES: usize = 64;

/// What a project file asks for.
#[derive(Debug, Default)]
pub struct ProjectFile {
    /// The names of all servers, also of those with problems.
    pub names: Vec<String>,
    pub entries: Vec<ProjectServerEntry>,
    /// What is wrong with the other entries.
    pub problems: Vec<UserError>,
}

/// One server of a project file.
#[derive(Clone, Debug, PartialEq)]
pub struct ProjectServerEntry {
    /// SHA-256 of the entry as it is written, lower-case hexadecimal.
    pub digest: String,
    /// Its settings under its name in the file. A program works in the project's folder if the entry doesn't say otherwise.
    pub draft: ServerDraft,
}

/// Puts an entry with its name into the shape of `servers.json`, or says why it can't be.
type TranslateEntry<'a> = dyn Fn(&str, Value) -> Result<Map<String, Value>, Message> + 'a;

/// Reads the file of a folder; it has no entries if there is none. Blocks on the disk.
///
/// # Errors
/// When the file can't be read, is a link, is too large, isn't JSON, or has too many servers.
pub fn read_project_file(folder: &Path, translate: &TranslateEntry<'_>) -> Result<ProjectFile, UserError> {
    let shown = folder.join(PROJECT_FILE).display().to_string();
    let unreadable = |cause: String| {
        UserError::new(ErrorCode::BadConfig, message!("error.store.projectFileUnreadable", file = &shown))
            .with_cause(cause)
    };
    let Some(text) = read_text(&folder.join(PROJECT_FILE)).map_err(unreadable)? else {
        return Ok(ProjectFile::default());
    };
    let document = document::read(&text).map_err(|invalid| match invalid {
        InvalidDocument::Broken { line, column, reason } => {
            let (line, column) = (line.to_string(), column.to_string());
            let what = message!("error.store.fileBroken", file = &shown, line = line, column = column);
            UserError::new(ErrorCode::BadConfig, what).with_cause(format!("{reason}."))
        }
        InvalidDocument::Newer { .. } => {
            UserError::new(ErrorCode::NewerVersion, message!("error.store.fileNewer", file = &shown))
        }
    })?;
    if document.entries.len() > MAX_ENTRIES {
        let most = MAX_ENTRIES.to_string();
        let what = message!("error.store.projectFileTooMany", file = &shown, most = most);
        return Err(UserError::new(ErrorCode::BadConfig, what));
    }
    let mut file = ProjectFile::default();
    let mut names = HashSet::new();
    for RawEntry { name, raw, line } in document.entries {
        file.names.push(name.clone());
        let read = match validate_name(&name, None, &[]) {
            _ if !names.insert(fold_case(&name)) => Err(message!("problem.name.twice")),
            Some(problem) => Err(problem.sentence()),
            None => read_entry(&name, &raw, translate),
        };
        match read {
            Ok(entry) => file.entries.push(ProjectServerEntry {
                digest: hex::encode(Sha256::digest(raw.get().as_bytes())),
                draft: draft(name, entry, folder),
            }),
            Err(cause) => file.problems.push(entry_error(&shown, &name, line, cause)),
        }
    }
    Ok(file)
}

fn read_entry(name: &str, raw: &RawValue, translate: &TranslateEntry<'_>) -> Result<ServerEntry, Message> {
    // Before it is translated: a member that stands twice is one value afterwards.
    json::read(raw.get()).map_err(|defect| entry::defect_problem(defect).sentence())?;
    let unreadable = |_| message!("problem.unreadable");
    let value = serde_json::from_str(raw.get()).map_err(unreadable)?;
    let translated = to_raw_value(&translate(name, value)?).map_err(unreadable)?;
    entry::read_stored(&translated).map_err(|problems| all_sentences(&problems))
}

/// The text of a regular file, `None` if there is no file.
fn read_text(path: &Path) -> Result<Option<String>, String> {
    let read = regular_file::read(path, MAX_BYTES, SymbolicLinks::Refuse).map_err(|unread| match unread {
        UnreadFile::NotRegular => "It is not a regular file.".to_owned(),
        UnreadFile::TooLarge => "It is larger than 1 MiB.".to_owned(),
        UnreadFile::Io(error) => format!("{error}."),
    })?;
    let text = read.map(String::from_utf8).transpose();
    text.map_err(|_| "It is not UTF-8.".to_owned())
}

/// Settings of an entry.
fn draft(name: String, entry: ServerEntry, folder: &Path) -> ServerDraft {
    let mut draft = ServerDraft { enabled: true, ..entry.into_draft(name) };
    if let Transport::Stdio { cwd: cwd @ None, .. } = &mut draft.transport {
        *cwd = folder.to_str().map(str::to_owned);
    }
    draft
}

/// The request to the user for a server of a project file, which is new or changed.
#[must_use]
pub fn project_change(
    folder: &Path,
    profile: &str,
    before: Option<&ServerConfig>,
    after: &ServerConfig,
) -> ConfigChangeRequest {
    ConfigChangeRequest {
        file: folder.join(PROJECT_FILE).display().to_string(),
        server: after.name.clone(),
        changes: diff_fields(before, Some(after)),
        action: if before.is_some() { ConfigChangeKind::Changed } else { ConfigChangeKind::Added },
        profile: Some(profile.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder_with(text: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(PROJECT_FILE), text).unwrap();
        folder
    }

    fn read(folder: &Path) -> Result<ProjectFile, UserError> {
        read_project_file(folder, &|_, value| match value {
            Value::Object(entry) => Ok(entry),
            _ => Err(message!("import.problem.noObject")),
        })
    }

    #[test]
    fn reads_programs_and_addresses() {
        let folder = folder_with(
            r#"{"mcpServers":{"a":{"command":"run","args":["x"]},"b":{"type":"http","url":"http://h/"},"c":{"command":"x","cwd":"/there"},"d":{}}}"#,
        );
        let file = read(folder.path()).unwrap();
        let cwd_of = |at: usize| match &file.entries[at].draft.transport {
            Transport::Stdio { cwd, .. } => cwd.clone(),
            _ => None,
        };
        assert_eq!(cwd_of(0).as_deref(), folder.path().to_str());
        assert_eq!(cwd_of(2).as_deref(), Some("/there"));
        assert!(file.entries[1].draft.transport.remote().is_some());
        assert_eq!((file.entries.len(), file.problems.len()), (3, 1));
        assert!(file.problems[0].to_string().contains("“d”"), "{}", file.problems[0]);
    }

    #[test]
    fn digest_changes_with_the_entry() {
        let digest = |text: &str| {
            let folder = folder_with(&format!(r#"{{"mcpServers":{{"a":{text}}}}}"#));
            read(folder.path()).unwrap().entries[0].digest.clone()
        };
        assert_eq!(digest(r#"{"command":"x"}"#), digest(r#"{"command":"x"}"#));
        assert_ne!(digest(r#"{"command":"x"}"#), digest(r#"{"command":"y"}"#));
    }

    #[test]
    fn refuses_what_is_too_large_too_many_or_no_regular_file() {
        let many: Vec<String> = (0..65).map(|n| format!(r#""s{n}":{{"command":"x"}}"#)).collect();
        let large = format!(r#"{{"x":"{}"}}"#, "x".repeat(1024 * 1024));
        for text in [format!(r#"{{"mcpServers":{{{}}}}}"#, many.join(",")), large, "{".to_owned()] {
            assert!(read(folder_with(&text).path()).is_err(), "{:.40}", text);
        }
        let empty = tempfile::tempdir().unwrap();
        assert!(read(empty.path()).unwrap().entries.is_empty(), "no file");
        #[cfg(unix)]
        {
            let outside = folder_with("{}");
            let link = empty.path().join(PROJECT_FILE);
            std::os::unix::fs::symlink(outside.path().join(PROJECT_FILE), link).unwrap();
            assert!(read(empty.path()).is_err(), "a link");
        }
    }

    #[cfg(unix)]
    #[test]
    fn opens_nothing_but_regular_files_and_never_waits() {
        let folder = folder_with("{}");
        let at = |name: &str| folder.path().join(name);
        std::os::unix::fs::symlink(at(PROJECT_FILE), at("link")).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
        std::fs::create_dir(at("folder")).unwrap();
        assert_eq!(read_text(&at(PROJECT_FILE)), Ok(Some("{}".to_owned())));
        assert_eq!(read_text(&at("missing")), Ok(None));
        for name in ["link", "pipe", "folder"] {
            assert!(read_text(&at(name)).is_err(), "{name}");
        }
    }
}
