//! The windows. They show Gatehouse's own pages and cannot be navigated to another address.
//!
//! Must never decide when the prompt is shown: that is `gatehouse_desktop`'s prompt policy.

pub(crate) mod main_window;
mod navigation;
#[cfg(target_os = "linux")]
mod network_process;
mod prompt_sight;
pub(crate) mod prompt_window;

use tauri::{AppHandle, Window};

use self::main_window::MAIN;

/// A window is gone.
pub(crate) fn on_destroyed(app: &AppHandle, window: &Window) {
    if window.label() == MAIN {
        main_window::on_destroyed(app);
    }
    #[cfg(target_os = "linux")]
    network_process::on_window_destroyed(app);
}
