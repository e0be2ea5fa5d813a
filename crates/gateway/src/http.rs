//! HTTP/1.1 on loopback: connections and their limits, the request guard, bodies and responses, the endpoints of the
//! authorization server, and the peer process of a connection.
//!
//! Passes a request to [`crate::protocol`] or [`crate::authorization`] and writes what it returns. Never reads the body of
//! a message before the client's token was verified, and never looks into a message.

pub(crate) mod allowed_hosts;
pub(crate) mod connection_limits;
pub(crate) mod connections;
pub(crate) mod handler;
pub(crate) mod oauth_endpoints;
pub(crate) mod oauth_page;
pub(crate) mod oauth_route;
pub mod peer_process;
pub(crate) mod request_guard;
pub(crate) mod response;
pub(crate) mod route;
