//! The windows. They show Gatehouse's own pages and cannot be navigated to another address.

pub(crate) mod main_window;
mod navigation;
pub(crate) mod prompt_window;
