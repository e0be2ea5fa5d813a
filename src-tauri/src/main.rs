//! The desktop shell around the core: two windows with their commands, the tray, links and preferences.
//! It makes no decisions: what a window may do is defined in `capabilities/`, and what a command does is
//! in the core. It must never pass a secret to a window.
#![cfg_attr(not(debug_assertions), windows_subsystem = "windows")]

mod application;
mod commands;
mod environment;
mod event_forwarder;
mod host;
mod i18n;
mod links;
mod locations;
mod main_page;
mod main_window;
mod preferences;
mod process_start;
mod prompt;
mod secrets;
mod shortcut;
mod tray;

use std::process::ExitCode;

fn main() -> ExitCode {
    let process_start = process_start::ProcessStart::now();
    gatehouse_app::run_helper_if_requested();
    if let Some(code) = environment::restart_with_clean_environment() {
        return code;
    }
    match application::run(process_start) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("Gatehouse could not start: {error}");
            ExitCode::FAILURE
        }
    }
}
