//! Permissions: the rules in force, how they are made from the user's choices, and what they mean for the tools
//! in the catalog.
//!
//! [`PermissionStore`] is the only owner of permissions. Nothing here knows approval requests or calls on their
//! way; a rule is only ever made from an order of the user.

pub(crate) mod auto_approve;
mod change;
pub(crate) mod current;
pub(crate) mod effective;
mod health;
mod imported;
mod permission_store;
mod removed;
pub(crate) mod rule_draft;
pub(crate) mod simulation;
mod suspended;
mod user_changes;
mod view;

pub(crate) use change::PermissionChange;
pub use health::PermissionHealth;
pub use imported::{ImportedClass, ImportedPermissions, ImportedRule};
pub(crate) use permission_store::PermissionStoreDeps;
pub use permission_store::{AutoApproveSpec, LabelTrust, PermissionStore, RuleSpec};
pub use removed::RemovedPermissions;
pub use view::RuleWords;
