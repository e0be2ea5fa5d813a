//! HTTP/1.1 on loopback: connections and their limits, the request guard, bodies and responses, and the peer process
//! of a connection.
//!
//! Passes a request to [`crate::protocol`] and writes what it returns. Never reads a body before the client's token
//! was verified, and never looks into a message.

pub(crate) mod connection_limits;
pub(crate) mod connections;
pub(crate) mod handler;
pub mod peer_process;
pub(crate) mod request_guard;
pub(crate) mod response;
