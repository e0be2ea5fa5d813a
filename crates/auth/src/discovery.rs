//! Discovery: which authorization server a server accepts tokens of, and what that one offers (RFC 9728,
//! RFC 8414, RFC 9207). Everything here comes from the other side: metadata for another resource or issuer is
//! an error, and nothing is fetched from an address that [`crate::http_client`] refuses.
//!
//! Must never read or store a token, and never decide for the user whom to sign in with.

pub(crate) mod metadata;
pub(crate) mod resolve;
pub(crate) mod resource_identifier;
pub(crate) mod www_authenticate;
