//! Primitives that several crates need to do in the same way, above all those that security depends on. No
//! other crate may keep its own variant of a list or rule defined here.

pub mod atomic_file;
pub mod bounded_body;
pub mod confusables;
pub mod constant_time;
pub mod display_name;
pub mod invisible_chars;
pub mod ip_address;
pub mod name_words;
pub mod owner_only;
pub mod random;
pub mod regular_file;
pub mod secret_names;
pub mod url_password;
pub mod user_environment;

/// Rendering of the core's texts in the user's language.
pub use gatehouse_model::messages;
