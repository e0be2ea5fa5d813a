//! What several crates have to do in the same way, each once: primitives that security depends on, and texts of the
//! core in the user's language. None of the users may keep a list or a rule of its own beside it.

pub mod atomic_file;
pub mod confusables;
pub mod constant_time;
pub mod invisible_chars;
pub mod ip_address;
pub mod messages;
pub mod owner_only;
pub mod random;
pub mod user_environment;
