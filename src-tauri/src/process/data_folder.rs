//! The data folder: the same as `gatehousectl` uses.

use std::path::PathBuf;

use tauri::{AppHandle, Manager, Runtime};

pub(crate) fn data_dir<R: Runtime>(app: &AppHandle<R>) -> tauri::Result<PathBuf> {
    if let Some(named) = data_dir_override() {
        return Ok(named);
    }
    let name = if cfg!(target_os = "linux") { "gatehouse" } else { "Gatehouse" };
    Ok(app.path().data_dir()?.join(name))
}

/// The data folder set in the environment.
pub(crate) fn data_dir_override() -> Option<PathBuf> {
    std::env::var_os("GATEHOUSE_DATA_DIR").filter(|value| !value.is_empty()).map(PathBuf::from)
}
