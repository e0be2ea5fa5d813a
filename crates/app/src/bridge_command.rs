//! The command line by which AI applications start `gatehousectl bridge`. It stands in their settings files, so it has an
//! absolute path that stays, and no secret.

use std::path::{Path, PathBuf};

use gatehouse_integrations::connect::EntryCommand;
use gatehouse_integrations::{BaseFolders, System};
use gatehouse_model::{App, ErrorCode, UserError, message};

use crate::programs;

/// Parts of paths at which a system mounts or copies a program for one start only.
const MOVING: [&str; 2] = [".mount_", "AppTranslocation"];

/// The command that starts a bridge for a client.
///
/// # Errors
/// When `gatehousectl` isn't beside this program, or not at a path that stays.
pub(crate) fn bridge_command(
    app: App,
    folders: &BaseFolders,
    data_dir: &Path,
    client: &str,
) -> Result<EntryCommand, UserError> {
    let program = programs::gatehousectl()
        .ok_or_else(|| UserError::new(ErrorCode::NotFound, message!("error.app.noBridgeProgram")))?;
    let is_moving = |part: &std::ffi::OsStr| {
        part.to_str().is_some_and(|part| MOVING.iter().any(|start| part.starts_with(start)))
    };
    if program.iter().any(is_moving) {
        let what = message!("error.connect.movableProgram", app = app.display_name());
        return Err(
            UserError::new(ErrorCode::NotFound, what).with_hint(message!("error.connect.movableProgramHint"))
        );
    }
    let mut arguments = Vec::new();
    if !is_default(folders, data_dir) {
        arguments.extend(["--data-dir".to_owned(), text(data_dir)?]);
    }
    arguments.extend(["bridge".to_owned(), format!("--client={client}")]);
    Ok(EntryCommand { program: text(&program)?, arguments })
}

/// Whether a bridge finds this data folder by itself. Applications may start it with little more than the home folder
/// in its environment.
fn is_default(folders: &BaseFolders, data_dir: &Path) -> bool {
    let default: PathBuf = match System::current() {
        System::Linux => folders.home().join(".local").join("share").join("gatehouse"),
        System::MacOs | System::Windows => folders.app_config().join("Gatehouse"),
    };
    default.canonicalize().is_ok_and(|default| default == data_dir)
}

fn text(path: &Path) -> Result<String, UserError> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        let path = path.display().to_string();
        UserError::new(ErrorCode::BadConfig, message!("error.connect.oddPath", path = path))
    })
}
