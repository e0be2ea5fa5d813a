//! The Tauri commands that windows may invoke. Each checks which window calls, and passes the request on
//! to the core or to the shell. A new command also has to be listed in `build.rs` and in one capability
//! file.

pub(crate) mod main;
pub(crate) mod prompt;

use gatehouse_model::{ErrorCode, UserError};
use serde_json::value::RawValue;
use tauri::WebviewWindow;
use tauri::ipc::Response;

/// Checks the calling window. The capability files enforce the same; this is defence in depth in case
/// one of them is wrong.
fn ensure_window(window: &WebviewWindow, label: &str) -> Result<(), UserError> {
    if window.label() == label {
        return Ok(());
    }
    Err(UserError::new(ErrorCode::NotPermitted, "This window may not do that."))
}

/// A reply of the core as raw bytes.
fn raw_response(reply: Box<RawValue>) -> Response {
    Response::new(String::from(Box::<str>::from(reply)))
}
