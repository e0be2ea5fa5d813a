//! Gatehouse's helper processes (child guard, schema worker and image worker) are one of its own programs, started with
//! a hidden argument.

use gatehouse_mcp_client::schema_check;

use crate::icons;
use crate::processes::guard;

/// Runs as a helper process and doesn't return if the program was started as one. Must be the first
/// call in `main`, before any thread is started.
pub fn run_helper_if_requested() {
    let mut args = std::env::args().skip(1);
    match args.next().as_deref() {
        Some(guard::ARGUMENT) => {
            if let Some(run) = args.next() {
                guard::run_guard(&run);
            }
        }
        Some(schema_check::ARGUMENT) => schema_check::serve(),
        Some(icons::ARGUMENT) => icons::serve(),
        Some(_) | None => return,
    }
    std::process::exit(0);
}
