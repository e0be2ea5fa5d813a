//! The desktop shell around the core: two windows with their commands, the tray, links and preferences.
//! It makes no decisions: what a window may do is defined in `capabilities/`, and what a command does is
//! in the core. It must never pass a secret to a window.
#![cfg_attr(not(debug_assertions), windows_subsystem = "windows")]

mod address;
mod commands;
mod environment;
mod host;
mod links;
mod main_window;
mod pages;
mod preferences;
mod prompt;
mod pump;
mod secrets;
mod shortcut;
mod started;
mod tray;
mod window;
mod words;

use std::process::ExitCode;

fn main() -> ExitCode {
    let started = started::Started::now();
    gatehouse_app::run_helper_if_asked();
    if let Some(code) = environment::restart_if_unknown() {
        return code;
    }
    match window::run(started) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("Gatehouse could not start: {error}");
            ExitCode::FAILURE
        }
    }
}
