//! The process of the application: its environment, its start time, its data folder, and that there is one.
//!
//! Must never let a variable through that could load code into the window or control it.

pub(crate) mod data_folder;
pub(crate) mod environment;
pub(crate) mod process_start;
pub(crate) mod single_instance;
pub(crate) mod start_mode;
