//! Gatehouse's own programs that it starts.

use std::path::PathBuf;

/// `gatehousectl`, which is installed beside the application, or is this program.
pub(crate) fn gatehousectl() -> Option<PathBuf> {
    beside_this("gatehousectl")
}

/// The program of the helper processes, which is any whose `main` begins with [`crate::run_helper_if_requested`]:
/// `gatehouse-helper` if it is there, else this program. The application would load the window toolkit for each of them,
/// which takes a tenth of a second and 10 MiB, and `gatehousectl` takes 4 MiB more than the helper.
#[must_use]
pub fn helper_program() -> Option<PathBuf> {
    beside_this("gatehouse-helper").or_else(|| std::env::current_exe().ok())
}

/// A program in the folder of this one.
fn beside_this(name: &str) -> Option<PathBuf> {
    let this = std::env::current_exe().ok()?;
    let program = this.with_file_name(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    program.is_file().then_some(program)
}
