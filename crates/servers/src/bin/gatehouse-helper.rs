//! `gatehouse-helper`: the program of Gatehouse's helper processes, installed beside the application. Those run as long as a
//! server does, or are started for one piece of data, so it contains nothing else.

use std::process::ExitCode;

fn main() -> ExitCode {
    gatehouse_servers::run_helper_if_requested();
    eprintln!("gatehouse-helper is started by Gatehouse alone, and does nothing else.");
    ExitCode::FAILURE
}
