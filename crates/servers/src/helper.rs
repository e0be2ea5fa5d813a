//! The helper processes of Gatehouse are the same program, started with a hidden argument.

use crate::{guard, schema_check};

/// Becomes a helper process, and does not return, when the program was started as one. Has to be the
/// first thing in `main`, before any thread is started.
pub fn run_helper_if_asked() {
    let mut args = std::env::args().skip(1);
    match args.next().as_deref() {
        Some(guard::ARGUMENT) => {
            if let Some(run) = args.next() {
                guard::guard(&run);
            }
        }
        Some(schema_check::ARGUMENT) => schema_check::serve(),
        Some(_) | None => return,
    }
    std::process::exit(0);
}
