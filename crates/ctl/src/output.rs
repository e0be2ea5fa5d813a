//! Standard output: JSON, or plain text and aligned tables without colour.

use std::io::{self, IsTerminal as _, Write as _};

use gatehouse_model::Message;
use serde::Serialize;
use unicode_width::UnicodeWidthStr as _;

use crate::error::CliError;
use crate::json::to_json;
use crate::terminal_text;

/// How results are written.
pub(crate) struct Printer {
    json: bool,
}

impl Printer {
    pub(crate) fn new(json: bool) -> Self {
        Self { json }
    }

    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Writes one line and flushes.
    pub(crate) fn line(&self, line: &str) -> Result<(), CliError> {
        let mut out = io::stdout().lock();
        writeln!(out, "{line}")?;
        Ok(out.flush()?)
    }

    /// Writes text that ends with a line end.
    pub(crate) fn text(&self, text: &str) -> Result<(), CliError> {
        self.line(text.strip_suffix('\n').unwrap_or(text))
    }

    /// Writes JSON on one line.
    pub(crate) fn json(&self, value: &impl Serialize) -> Result<(), CliError> {
        self.line(&to_json(value).map_err(io::Error::from)?)
    }

    /// Writes a value as JSON or as text.
    pub(crate) fn show<T: Serialize>(
        &self,
        value: &T,
        words: impl FnOnce(&T) -> Vec<String>,
    ) -> Result<(), CliError> {
        if self.json {
            return self.json(value);
        }
        words(value).iter().try_for_each(|line| self.line(line))
    }

    /// Confirms that a command succeeded.
    pub(crate) fn done(&self, what: &Message) -> Result<(), CliError> {
        if self.json { self.json(&()) } else { self.line(&terminal_text::message(what)) }
    }

    /// Writes a message to standard error.
    pub(crate) fn note(&self, words: &str) {
        // If standard error is closed, there is nowhere to report the error.
        writeln!(io::stderr(), "{words}").unwrap_or(());
    }
}

/// Whether standard input and standard output are both a terminal.
pub(crate) fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// Waits until nobody reads standard output any more, where it is a pipe; else for ever. A write would notice it only
/// when there is something to write.
#[cfg(unix)]
pub(crate) async fn closed() {
    use std::os::fd::AsFd as _;
    use tokio::io::Interest;
    use tokio::net::unix::pipe;
    // Only watched: what is written goes through standard output itself. Files cannot be watched, and are never closed
    // by a reader.
    let watched = io::stdout().as_fd().try_clone_to_owned();
    if let Ok(out) = watched.and_then(pipe::Sender::from_owned_fd_unchecked)
        && out.ready(Interest::ERROR).await.is_ok()
    {
        return;
    }
    std::future::pending().await
}

#[cfg(not(unix))]
pub(crate) async fn closed() {
    std::future::pending().await
}

/// Rows as aligned lines under a heading; `empty` if there are none.
pub(crate) fn table(heading: &[Message], rows: &[Vec<String>], empty: &Message) -> Vec<String> {
    if rows.is_empty() {
        return vec![terminal_text::message(empty)];
    }
    let heading = heading.iter().map(terminal_text::message).collect::<Vec<_>>();
    let all: Vec<Vec<String>> = std::iter::once(heading)
        .chain(rows.iter().map(|row| row.iter().map(|cell| terminal_text::line(cell)).collect()))
        .collect();
    let columns = all.iter().map(Vec::len).max().unwrap_or(0);
    // In columns of the terminal: wide characters, such as Chinese ones, take two.
    let width = |column: usize| {
        all.iter().filter_map(|row| row.get(column)).map(|cell| cell.width()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let pad = |(cell, width): (&String, &usize)| {
            format!("{cell}{}", " ".repeat(width.saturating_sub(cell.width())))
        };
        let cells = row.iter().zip(&widths).map(pad);
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    all.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aligns_table_columns() {
        let rows = [vec!["a".into(), "b".into()], vec!["long one".into(), "c\nd".into()]];
        // A key that isn't in the catalog is its own text.
        let heading = |cells: [&str; 2]| cells.map(Message::new);
        let none = Message::new("none");
        assert_eq!(
            table(&heading(["NAME", "X"]), &rows, &none),
            ["NAME      X", "a         b", "long one  c d"]
        );
        assert_eq!(table(&heading(["NAME", "X"]), &[], &none), ["none"]);
        let wide = [vec!["文件".into(), "b".into()], vec!["abc".into(), "d".into()]];
        assert_eq!(table(&heading(["N", "X"]), &wide, &none), ["N     X", "文件  b", "abc   d"]);
    }
}
