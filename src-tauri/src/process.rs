//! The process of the application: its environment, its start time and its data folder.

pub(crate) mod environment;
pub(crate) mod locations;
pub(crate) mod process_start;
