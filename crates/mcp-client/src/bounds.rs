//! Limits on what one server may send. Exceeding them is an error of that server alone and never
//! uses memory, time or disk space of the others. Time limits that users set are in
//! [`gatehouse_model::server::ServerLimits`]; those of schemas are in [`crate::schema_check`].

use std::time::Duration;

/// Longest message, in bytes: a result may contain a large file, and all of it is in memory once.
pub(crate) const MESSAGE: usize = 64 * 1024 * 1024;

/// Pages of one list. The largest known servers have a few dozen.
pub(crate) const LIST_PAGES: usize = 1_000;

/// Items of one list. Clients cannot use thousands of tools; lists of resources can be longer.
pub(crate) const LIST_ITEMS: usize = 20_000;

/// Bytes of one list, all pages together. It is kept as long as the server exists.
pub(crate) const LIST_BYTES: usize = 32 * 1024 * 1024;

/// Time for one list, all pages together: each page has a limit of its own, and a thousand slow
/// ones would keep the list busy for hours.
pub(crate) const LIST_TIME: Duration = Duration::from_secs(120);

/// Characters of one log line made from a notification, including its logger's name. Each line is
/// kept, shown and written to a file.
pub(crate) const LOG_LINE: usize = 8 * 1024;

/// Bytes of the params of one progress notification. Each is sent to a client and to the windows.
pub(crate) const PROGRESS: usize = 64 * 1024;

/// Calls of one connection whose progress is passed on after they became tasks.
pub(crate) const TASKS_WITH_PROGRESS: usize = 256;

/// Bytes of the URI in a resource update notification.
pub(crate) const RESOURCE_URI: usize = 8 * 1024;

/// Bytes of the params of a notification that is passed on to clients, and of its method. Up to a thousand of them wait
/// for the gateway.
pub(crate) const FORWARDED_PARAMS: usize = 16 * 1024;
pub(crate) const FORWARDED_METHOD: usize = 256;

/// Pending requests of a server to its client.
pub(crate) const SERVER_REQUESTS: usize = 64;

/// Bytes of the params of such a request. At most [`SERVER_REQUESTS`] are pending, and each is shown to
/// the user.
pub(crate) const SERVER_REQUEST_BYTES: usize = 1024 * 1024;

/// Messages that are queued for rmcp during the handshake.
pub(crate) const HANDSHAKE_MESSAGES: usize = 256;
