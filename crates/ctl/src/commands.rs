//! One module for each verb of the command line: it runs commands of the core and prints the replies.
//!
//! Must never decide what is allowed, and never print text of a server or a client without
//! [`crate::terminal_text`].

pub(crate) mod approvals;
pub(crate) mod audit;
pub(crate) mod bridge;
pub(crate) mod call_records;
pub(crate) mod calls;
pub(crate) mod clients;
pub(crate) mod configuration;
mod findings;
pub(crate) mod models;
pub(crate) mod operator_key;
pub(crate) mod policy;
pub(crate) mod profiles;
pub(crate) mod serve;
pub(crate) mod servers;
pub(crate) mod settings;
mod sign_in;
mod simulate;
pub(crate) mod status;
pub(crate) mod tools;
pub(crate) mod undo;
mod watch;
