//! A full-text index of tools for tool search (TOOL-7): SQLite's FTS5 in memory, ranked by BM25. It knows only the texts
//! that it is given; which tools a client sees is decided by the caller, result by result.

use parking_lot::Mutex;
use rusqlite::{Connection, params};

use crate::error::StoreError;

/// More words of a query than these are not searched for.
const MAX_QUERY_WORDS: usize = 32;

/// The table. It has no content of its own, only the index. The weights are in [`SEARCH`], column by column.
const TABLE: &str = "CREATE VIRTUAL TABLE tools USING fts5(name, title, hint, server, description, content='', \
     tokenize='porter unicode61 remove_diacritics 2')";
const INSERT: &str =
    "INSERT INTO tools (rowid, name, title, hint, server, description) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
const SEARCH: &str =
    "SELECT rowid FROM tools WHERE tools MATCH ?1 ORDER BY bm25(tools, 10.0, 6.0, 6.0, 4.0, 1.0), rowid";

/// What a tool is found by.
#[derive(Clone, Copy, Debug, Default)]
pub struct ToolText<'a> {
    /// Name on the server.
    pub name: &'a str,
    pub title: &'a str,
    /// Words that the server gives for searching (`searchHint`).
    pub hint: &'a str,
    /// Name of the server.
    pub server: &'a str,
    pub description: &'a str,
}

/// The index of a list of tools.
pub struct ToolIndex {
    connection: Mutex<Connection>,
}

impl ToolIndex {
    /// Indexes a list. Blocks for as long as that takes, about 10 µs for each tool.
    ///
    /// # Errors
    /// When SQLite refuses, for example because memory is short.
    pub fn build<'a>(tools: impl Iterator<Item = ToolText<'a>>) -> Result<Self, StoreError> {
        let mut connection = Connection::open_in_memory()?;
        connection.execute_batch(TABLE)?;
        let transaction = connection.transaction()?;
        {
            let mut insert = transaction.prepare(INSERT)?;
            for (at, tool) in tools.enumerate() {
                insert.execute(params![
                    i64::try_from(at).unwrap_or(i64::MAX),
                    separate_words(tool.name),
                    separate_words(tool.title),
                    separate_words(tool.hint),
                    separate_words(tool.server),
                    separate_words(tool.description),
                ])?;
            }
        }
        transaction.commit()?;
        Ok(Self { connection: Mutex::new(connection) })
    }

    /// The places in the list of tools that any word of the query occurs in or is the beginning of a word in, best
    /// first: of those that `accept` says yes to, the first `limit`. Blocks.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn search(
        &self,
        query: &str,
        limit: usize,
        mut accept: impl FnMut(usize) -> bool,
    ) -> Result<Vec<usize>, StoreError> {
        let Some(expression) = match_expression(query) else { return Ok(Vec::new()) };
        let connection = self.connection.lock();
        let mut search = connection.prepare_cached(SEARCH)?;
        let mut rows = search.query([expression])?;
        let mut found = Vec::new();
        while found.len() < limit
            && let Some(row) = rows.next()?
        {
            let at = usize::try_from(row.get::<_, i64>(0)?).unwrap_or(usize::MAX);
            if accept(at) {
                found.push(at);
            }
        }
        Ok(found)
    }
}

/// The query in the syntax of FTS5: each word as a quoted prefix, any of which may match. `None` without words.
fn match_expression(query: &str) -> Option<String> {
    let separated = separate_words(query);
    let mut words: Vec<&str> =
        separated.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    words.truncate(MAX_QUERY_WORDS);
    let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"*")).collect();
    (!quoted.is_empty()).then(|| quoted.join(" OR "))
}

/// Separates what the tokenizer takes for one word: the parts of `camelCase`, which are also kept together, and
/// characters of scripts that are written without spaces.
fn separate_words(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut parts = String::new();
    let (mut before, mut has_parts): (Option<char>, bool) = (None, false);
    for c in text.chars() {
        if is_unspaced(c) {
            out.push(' ');
            out.push(c);
            out.push(' ');
        } else {
            if c.is_uppercase() && before.is_some_and(|before| before.is_lowercase() || before.is_numeric()) {
                parts.push(' ');
                has_parts = true;
            }
            out.push(c);
            parts.push(c);
        }
        before = Some(c);
    }
    if has_parts {
        out.push(' ');
        out.push_str(&parts);
    }
    out
}

/// Whether words of this character's script aren't separated by spaces: Chinese, Japanese, Thai and their like.
fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{0E00}'..='\u{0EFF}' | '\u{1000}'..='\u{109F}' | '\u{1780}'..='\u{17FF}' | '\u{3040}'..='\u{30FF}'
        | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index() -> ToolIndex {
        ToolIndex::build(
            [
                ToolText {
                    name: "read_file",
                    description: "Reads the contents of a file.",
                    ..ToolText::default()
                },
                ToolText { name: "writeFile", description: "Changes a file.", ..ToolText::default() },
                ToolText {
                    name: "create_issue",
                    server: "github",
                    description: "Opens an issue.",
                    ..ToolText::default()
                },
                ToolText {
                    name: "q",
                    hint: "database rows",
                    description: "Runs SQL.",
                    ..ToolText::default()
                },
                ToolText { name: "weather", description: "查询城市天气", ..ToolText::default() },
                ToolText { name: "Müller", title: "Naïve search", ..ToolText::default() },
            ]
            .into_iter(),
        )
        .unwrap()
    }

    fn found(query: &str) -> Vec<usize> {
        index().search(query, 10, |_| true).unwrap()
    }

    #[test]
    fn finds_tools_by_words_of_their_texts() {
        for (query, expected) in [
            ("read file", vec![0, 1]),
            ("files reading", vec![0, 1]),
            ("write", vec![1]),
            ("FILE", vec![1, 0]),
            ("github", vec![2]),
            ("issues", vec![2]),
            ("databases", vec![3]),
            ("天气", vec![4]),
            ("muller", vec![5]),
            ("naive", vec![5]),
            ("read_file", vec![0, 1]),
            ("", vec![]),
            ("\" OR name:* ) NEAR(", vec![]),
            ("nothing-like-it", vec![]),
        ] {
            let mut result = found(query);
            if query == "FILE" {
                result.sort_by_key(|at| usize::MAX - at);
            }
            assert_eq!(result, expected, "{query}");
        }
    }

    #[test]
    fn passes_over_what_is_not_accepted() {
        assert_eq!(index().search("file", 1, |at| at != 0).unwrap(), [1]);
        assert_eq!(index().search("file", 1, |_| true).unwrap().len(), 1);
        assert!(index().search("file", 10, |_| false).unwrap().is_empty());
    }

    #[test]
    fn separates_parts_of_words() {
        assert_eq!(separate_words("getHTTPUrl2Text"), "getHTTPUrl2Text get HTTPUrl2 Text");
        assert_eq!(separate_words("plain words"), "plain words");
        assert_eq!(match_expression("--- !"), None);
        assert_eq!(match_expression("a\"b").as_deref(), Some("\"a\"* OR \"b\"*"));
    }
}
