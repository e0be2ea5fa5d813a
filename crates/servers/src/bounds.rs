//! How much of everything one server may send. What is more is a fault of that server alone and never
//! takes memory, time or disk from the others. Time limits that people set are in
//! [`gatehouse_model::server::Limits`]; those of schemas are in [`crate::schema_check`].

use std::time::Duration;

/// Longest message, in bytes: a result may hold a large file, and all of it is in memory once.
pub(crate) const MESSAGE: usize = 64 * 1024 * 1024;

/// Pages of one list. The largest known servers have a few dozen.
pub(crate) const LIST_PAGES: usize = 1_000;

/// Items of one list. Clients cannot use thousands of tools; lists of resources can be longer.
pub(crate) const LIST_ITEMS: usize = 20_000;

/// Bytes of one list, all pages together. It is kept for as long as the server is.
pub(crate) const LIST_BYTES: usize = 32 * 1024 * 1024;

/// Time for one list, all pages together: each page has a limit of its own, and a thousand slow ones
/// would keep the list busy for hours.
pub(crate) const LIST_TIME: Duration = Duration::from_secs(120);

/// Characters of one log line that is made of a notification, its logger's name among them. Each line
/// is kept, shown and written to a file.
pub(crate) const LOG_LINE: usize = 8 * 1024;

/// Bytes of one notification about progress. Each goes to a client and to the windows.
pub(crate) const PROGRESS: usize = 64 * 1024;

/// Bytes of the address in one notification about a resource.
pub(crate) const RESOURCE_URI: usize = 8 * 1024;

/// Questions that wait for an answer at a time.
pub(crate) const QUESTIONS: usize = 64;

/// Bytes of one question. Sixty-four of them wait at most, and each is shown to a person.
pub(crate) const QUESTION: usize = 1024 * 1024;

/// Messages that wait for the handshake's side of a connection.
pub(crate) const HANDSHAKE_MESSAGES: usize = 256;
