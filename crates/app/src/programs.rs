//! Gatehouse's own programs that it starts.

use std::path::PathBuf;

/// `gatehousectl`, which is installed beside the application, or is this program.
pub(crate) fn gatehousectl() -> Option<PathBuf> {
    let this = std::env::current_exe().ok()?;
    let program = this.with_file_name(format!("gatehousectl{}", std::env::consts::EXE_SUFFIX));
    program.is_file().then_some(program)
}

/// The program of the helper processes, which is any whose `main` begins with [`crate::run_helper_if_requested`]. On Linux
/// it is `gatehousectl` if it is there: the application itself would load the window toolkit for each of them, which takes a
/// tenth of a second and 10 MiB. Elsewhere all programs share what is loaded of it, and the application runs itself.
#[must_use]
pub fn helper_program() -> Option<PathBuf> {
    let small = if cfg!(target_os = "linux") { gatehousectl() } else { None };
    small.or_else(|| std::env::current_exe().ok())
}
