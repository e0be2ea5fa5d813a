//! The log of the bridge: on standard error, and only if it was asked for. It never contains a message or a token.

use std::io::Write as _;

use crate::terminal_text;

#[derive(Clone, Copy)]
pub(super) struct Log {
    is_on: bool,
}

impl Log {
    pub(super) fn new(is_on: bool) -> Self {
        Self { is_on }
    }

    pub(super) fn line(self, text: &str) {
        if self.is_on {
            // If standard error is closed, there is nowhere to report it.
            writeln!(std::io::stderr(), "gatehousectl bridge: {}", terminal_text::line(text)).unwrap_or(());
        }
    }
}
