//! Grants: requests to token endpoints, and how their responses become a sign-in. A grant is made for one
//! issuer and one resource.
//!
//! Must never open a browser, wait for the user, or store what was granted: callers do that, under their locks.

pub(crate) mod client_credentials;
pub(crate) mod enterprise_auth;
pub(crate) mod grant_request;
pub(crate) mod token_endpoint;
