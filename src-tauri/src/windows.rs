//! The windows. They show Gatehouse's own pages and cannot be navigated to another address.
//!
//! Must never decide when the prompt is shown: that is `gatehouse_desktop`'s prompt policy.

pub(crate) mod main_window;
mod navigation;
mod prompt_sight;
pub(crate) mod prompt_window;
