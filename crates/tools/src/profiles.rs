//! Profiles of clients (GATE-4): which servers and tools a client sees, and how many calls it may make.
//!
//! [`ProfileStore`] is their only owner. A profile only narrows: nothing here allows a call, and what isn't hidden is
//! judged by the policy as for any other client.

pub(crate) mod active_profile;
pub(crate) mod effective_profile;
mod profile_store;
pub(crate) mod rate_limits;

pub use effective_profile::CatalogViewKey;
pub use profile_store::ProfileStore;
pub(crate) use profile_store::ProfileStoreDeps;
