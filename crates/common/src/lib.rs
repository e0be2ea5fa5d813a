//! Primitives that several crates need to do in the same way: those that security depends on, and the
//! rendering of the core's texts in the user's language. No other crate may keep its own variant of a
//! list or rule defined here.

pub mod atomic_file;
pub mod confusables;
pub mod constant_time;
pub mod invisible_chars;
pub mod ip_address;
mod language;
mod message_format;
pub mod messages;
pub mod owner_only;
pub mod random;
pub mod user_environment;
