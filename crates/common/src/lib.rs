//! Primitives that security depends on, each once. What is here has users in several crates; none of them
//! may keep a list or a rule of its own beside it.

pub mod atomic_file;
pub mod confusables;
pub mod constant_time;
pub mod invisible_chars;
pub mod ip_address;
pub mod owner_only;
pub mod random;
pub mod user_environment;
