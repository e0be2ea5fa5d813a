//! What outlives one request: sessions, event logs that can be resumed, responses that wait for their client, and
//! resource subscriptions.
//!
//! Knows no HTTP, and parses no request. Never shows one client what belongs to another, and holds nothing without a
//! limit.

pub(crate) mod changed_lists;
pub(crate) mod client_sessions;
pub(crate) mod event_log;
pub(crate) mod identity;
pub(crate) mod resource_subscriptions;
pub(crate) mod saved_sessions;
pub(crate) mod server_requests;
pub(crate) mod sessions;
pub(crate) mod snapshots;
pub(crate) mod sse_connections;
pub(crate) mod unclaimed_response;
