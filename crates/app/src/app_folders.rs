//! Where other applications have their settings and programs on this computer, by the environment that the user gave to
//! Gatehouse.

use std::path::PathBuf;

use gatehouse_common::user_environment;
use gatehouse_integrations::{BaseFolders, System};
use gatehouse_model::{ErrorCode, UserError, message};

/// The folders that settings files of applications are in.
///
/// # Errors
/// When the home folder is unknown.
pub(crate) fn base_folders() -> Result<BaseFolders, UserError> {
    let home = dirs::home_dir()
        .ok_or_else(|| UserError::new(ErrorCode::NotFound, message!("error.connect.noHome")))?;
    Ok(BaseFolders::new(System::current(), home, user_environment::variable))
}

/// The folders that programs are found in.
pub(crate) fn program_folders() -> Vec<PathBuf> {
    let path = user_environment::variable("PATH").unwrap_or_default();
    std::env::split_paths(&path).filter(|folder| folder.is_absolute()).collect()
}
