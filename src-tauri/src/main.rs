//! The desktop shell in Tauri: two windows with their commands, the tray, links and preferences. What
//! the shell does is in `gatehouse-desktop`, and what a command does is in the core; what a window may
//! do is defined in `capabilities/`. It must never pass a secret to a window.
#![cfg_attr(not(debug_assertions), windows_subsystem = "windows")]

mod application;
mod commands;
mod platform;
mod process;
mod shell;
mod windows;

use std::process::ExitCode;

fn main() -> ExitCode {
    let process_start = process::process_start::ProcessStart::now();
    gatehouse_app::run_helper_if_requested();
    if let Some(code) = process::environment::clean_environment() {
        return code;
    }
    #[cfg(target_os = "linux")]
    if process::single_instance::hand_over() {
        return ExitCode::SUCCESS;
    }
    match application::run(process_start) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("Gatehouse could not start: {error}");
            ExitCode::FAILURE
        }
    }
}
