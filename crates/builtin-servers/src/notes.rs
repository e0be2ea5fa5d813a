//! The built-in server `Notes`: a small persistent memory in one file. The file is replaced
//! atomically, is readable by the user only, and is never overwritten if it cannot be parsed.

use std::path::PathBuf;
use std::sync::Arc;
use std::{fs, io};

use gatehouse_common::atomic_file;
use gatehouse_model::{Clock, Timestamp};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::tool::{ToolAccess, ToolError, ToolOutput, reject_unknown, schema, text_argument, tool};

const VERSION: u32 = 1;
const MOST_NOTES: usize = 10_000;
const LONGEST_NOTE: usize = 64 * 1024;

/// The file of notes.
pub(crate) struct Notebook {
    path: PathBuf,
    clock: Arc<dyn Clock>,
    io_lock: Mutex<()>,
}

#[derive(Serialize, Deserialize)]
struct NotesFile {
    version: u32,
    next_id: u64,
    notes: Vec<Note>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Note {
    id: u64,
    at: Timestamp,
    text: String,
}

pub(super) fn tools() -> Vec<Value> {
    let text = |what: &str| json!({ "type": "string", "description": what });
    vec![
        tool(
            "add_note",
            "Add a note",
            "Keeps a note. It lasts until it is deleted.",
            ToolAccess::Adds,
            schema(json!({ "text": text("The note.") }), &["text"]),
        ),
        tool(
            "list_notes",
            "List notes",
            "Lists all notes, newest first.",
            ToolAccess::Reads,
            schema(json!({}), &[]),
        ),
        tool(
            "search_notes",
            "Search notes",
            "Finds the notes that hold all of the words, in any order and case, newest first.",
            ToolAccess::Reads,
            schema(json!({ "query": text("The words.") }), &["query"]),
        ),
        tool(
            "delete_note",
            "Delete a note",
            "Deletes one note for good.",
            ToolAccess::Destroys,
            schema(
                json!({ "id": { "type": "integer", "minimum": 1, "description": "Number of the note." } }),
                &["id"],
            ),
        ),
    ]
}

pub(super) fn run(
    tool: &str,
    arguments: &Map<String, Value>,
    notebook: &Notebook,
) -> Result<ToolOutput, ToolError> {
    match tool {
        "add_note" => {
            reject_unknown(arguments, &["text"])?;
            let note = notebook.add(text_argument(arguments, "text")?)?;
            Ok(ToolOutput { text: format!("Kept as note {}.", note.id), structured: Some(shown(&note)) })
        }
        "list_notes" => {
            reject_unknown(arguments, &[])?;
            Ok(listing(&notebook.find(&[])?))
        }
        "search_notes" => {
            reject_unknown(arguments, &["query"])?;
            let query = text_argument(arguments, "query")?.to_lowercase();
            let words: Vec<&str> = query.split_whitespace().collect();
            if words.is_empty() {
                return Err(ToolError::message("The argument \"query\" holds no word."));
            }
            Ok(listing(&notebook.find(&words)?))
        }
        "delete_note" => {
            reject_unknown(arguments, &["id"])?;
            let id = arguments
                .get("id")
                .and_then(Value::as_u64)
                .ok_or_else(|| ToolError::message("The argument \"id\" has to be the number of a note."))?;
            let note = notebook.delete(id)?;
            Ok(ToolOutput { text: format!("Deleted note {id}."), structured: Some(shown(&note)) })
        }
        _ => Err(ToolError::NoSuchTool),
    }
}

fn listing(notes: &[Note]) -> ToolOutput {
    let text = if notes.is_empty() {
        "There are no such notes.".to_owned()
    } else {
        notes.iter().map(|note| format!("{}: {}", note.id, note.text)).collect::<Vec<_>>().join("\n\n")
    };
    ToolOutput { text, structured: Some(json!({ "notes": notes.iter().map(shown).collect::<Vec<_>>() })) }
}

fn shown(note: &Note) -> Value {
    let at = jiff::Timestamp::from_millisecond(note.at.0).map(|at| at.to_string()).unwrap_or_default();
    json!({ "id": note.id, "at": at, "text": note.text })
}

impl Notebook {
    pub(crate) fn new(path: PathBuf, clock: Arc<dyn Clock>) -> Self {
        Self { path, clock, io_lock: Mutex::new(()) }
    }

    fn add(&self, text: &str) -> Result<Note, ToolError> {
        if text.trim().is_empty() {
            return Err(ToolError::message("An empty note is not kept."));
        }
        if text.len() > LONGEST_NOTE {
            return Err(ToolError::message(format!("A note has at most {} KiB.", LONGEST_NOTE / 1024)));
        }
        let _guard = self.io_lock.lock();
        let mut notes_file = self.read()?;
        if notes_file.notes.len() >= MOST_NOTES {
            return Err(ToolError::message(format!(
                "There are {MOST_NOTES} notes already; delete some first."
            )));
        }
        let note = Note { id: notes_file.next_id, at: self.clock.now(), text: text.to_owned() };
        notes_file.next_id = notes_file.next_id.saturating_add(1);
        notes_file.notes.push(note.clone());
        self.write(&notes_file)?;
        Ok(note)
    }

    /// The notes that contain all of these lower-case words, newest first.
    fn find(&self, words: &[&str]) -> Result<Vec<Note>, ToolError> {
        let _guard = self.io_lock.lock();
        let mut notes = self.read()?.notes;
        notes.retain(|note| {
            let text = note.text.to_lowercase();
            words.iter().all(|word| text.contains(word))
        });
        notes.reverse();
        Ok(notes)
    }

    fn delete(&self, id: u64) -> Result<Note, ToolError> {
        let _guard = self.io_lock.lock();
        let mut notes_file = self.read()?;
        let place = notes_file
            .notes
            .iter()
            .position(|note| note.id == id)
            .ok_or_else(|| ToolError::message(format!("There is no note {id}.")))?;
        let note = notes_file.notes.remove(place);
        self.write(&notes_file)?;
        Ok(note)
    }

    fn read(&self) -> Result<NotesFile, ToolError> {
        let text = match fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(NotesFile { version: VERSION, next_id: 1, notes: Vec::new() });
            }
            Err(error) => return Err(ToolError::message(format!("The notes cannot be read: {error}."))),
        };
        let notes_file: NotesFile = serde_json::from_str(&text).map_err(|error| {
            ToolError::message(format!(
                "The file of notes is broken and is left as it is: {error}. Repair it or move it away."
            ))
        })?;
        if notes_file.version > VERSION {
            return Err(ToolError::message(
                "The file of notes was written by a newer version and is left as it is.",
            ));
        }
        Ok(notes_file)
    }

    fn write(&self, notes_file: &NotesFile) -> Result<(), ToolError> {
        let text = serde_json::to_string_pretty(notes_file)
            .map_err(|error| ToolError::message(format!("The notes cannot be written: {error}.")))?;
        atomic_file::replace(&self.path, text.as_bytes())
            .map_err(|error| ToolError::message(format!("The notes cannot be written: {error}.")))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn notebook(folder: &Path) -> Notebook {
        Notebook::new(folder.join("notes.json"), Arc::new(gatehouse_model::SystemClock))
    }

    fn ask(notebook: &Notebook, tool: &str, arguments: Value) -> Result<ToolOutput, String> {
        let Value::Object(arguments) = arguments else { panic!("no object") };
        run(tool, &arguments, notebook).map_err(|fault| fault.to_string())
    }

    fn found(notebook: &Notebook, query: &str) -> Vec<u64> {
        let outcome = ask(notebook, "search_notes", json!({ "query": query })).unwrap();
        let structured = outcome.structured.unwrap();
        structured["notes"].as_array().unwrap().iter().map(|note| note["id"].as_u64().unwrap()).collect()
    }

    #[test]
    fn stores_finds_and_deletes_notes_without_reusing_ids() {
        let folder = tempfile::tempdir().unwrap();
        let book = notebook(folder.path());
        for text in ["Buy milk", "Call Ada about the milk run", "Passport is in the blue box"] {
            ask(&book, "add_note", json!({ "text": text })).unwrap();
        }
        assert_eq!(found(&book, "MILK"), [2, 1]);
        assert_eq!(found(&book, "milk ada"), [2]);
        assert_eq!(found(&book, "nothing"), [0; 0]);
        ask(&book, "delete_note", json!({ "id": 3 })).unwrap();
        let again = notebook(folder.path());
        ask(&again, "add_note", json!({ "text": "new" })).unwrap();
        assert_eq!(found(&again, "new"), [4]);
        let listed = ask(&again, "list_notes", json!({})).unwrap().text;
        assert_eq!(listed, "4: new\n\n2: Call Ada about the milk run\n\n1: Buy milk");
    }

    #[test]
    fn leaves_broken_or_newer_file_untouched() {
        for text in ["{ not json", r#"{"version":99,"next_id":1,"notes":[]}"#] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("notes.json");
            fs::write(&path, text).unwrap();
            let book = notebook(folder.path());
            assert!(ask(&book, "add_note", json!({ "text": "x" })).err().unwrap().contains("left as it is"));
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
    }

    #[test]
    fn rejects_invalid_arguments() {
        let folder = tempfile::tempdir().unwrap();
        let book = notebook(folder.path());
        let table = [
            ("add_note", json!({ "text": "  " }), "empty note"),
            ("add_note", json!({ "text": "x".repeat(LONGEST_NOTE + 1) }), "at most 64 KiB"),
            ("add_note", json!({}), "\"text\" is missing"),
            ("search_notes", json!({ "query": " " }), "holds no word"),
            ("delete_note", json!({ "id": "1" }), "number of a note"),
            ("delete_note", json!({ "id": 7 }), "no note 7"),
            ("burn_notes", json!({}), "no such tool"),
        ];
        for (tool, arguments, expected) in table {
            let said = ask(&book, tool, arguments).err().unwrap();
            assert!(said.contains(expected), "{tool}: {said}");
        }
        assert!(!folder.path().join("notes.json").exists());
    }

    #[cfg(unix)]
    #[test]
    fn restricts_file_to_owner() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        ask(&notebook(folder.path()), "add_note", json!({ "text": "x" })).unwrap();
        let mode = fs::metadata(folder.path().join("notes.json")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
    }
}
