//! Who Gatehouse is to an authorization server: the client id, how it is obtained, and how the client proves
//! itself (client secret or signed assertion).
//!
//! Must never send anything to a token endpoint, and never use a registration or a secret for another issuer,
//! server or generation than the one it belongs to.

pub(crate) mod assertion;
pub(crate) mod authentication;
pub(crate) mod identity;
pub(crate) mod registration;
pub(crate) mod secret_references;
