//! The gateway as an OAuth 2.1 authorization server for its own endpoints, so that unknown clients can ask for access
//! (GATE-3): who a client says it is, the person's consent, codes and tokens.
//!
//! Nothing is granted without the answer to an approval request. Only public clients with PKCE are served, and only with
//! redirect URIs on loopback. What a client says of itself is shown and never trusted. Knows no HTTP; never logs a code
//! or a token.

pub(crate) mod client_id;
pub(crate) mod client_metadata;
pub(crate) mod codes;
pub(crate) mod consents;
pub(crate) mod oauth_error;
pub(crate) mod params;
pub(crate) mod redirect_uri;
pub(crate) mod server;

pub use client_id::ClientDocuments;
