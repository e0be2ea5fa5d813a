//! The data folder on disk: who may have it open, owner-only files, and its two databases.
//!
//! Must never write a file in place, and never touch a folder without its lock.

pub(crate) mod database;
pub(crate) mod folder;
pub(crate) mod owner;
