//! The shell around the core: one window, its few commands, links and preferences. It translates and
//! decides nothing; whatever a window may do is in `capabilities/`, and what a command does is in the
//! core. It must never hand a secret to a window.
#![cfg_attr(not(debug_assertions), windows_subsystem = "windows")]

mod address;
mod commands;
mod environment;
mod host;
mod links;
mod preferences;
mod window;

use std::process::ExitCode;

fn main() -> ExitCode {
    gatehouse_app::run_guard_if_asked();
    if let Some(code) = environment::restart_if_steered() {
        return code;
    }
    match window::run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("Gatehouse could not start: {error}");
            ExitCode::FAILURE
        }
    }
}
