//! The commands that windows may call. Each is thin: it checks which window asks, and passes on to the
//! core or to the shell. A new one has to be named in `build.rs` and in one capability file too.

pub(crate) mod main;
pub(crate) mod prompt;

use gatehouse_model::{ErrorCode, Problem};
use serde_json::value::RawValue;
use tauri::WebviewWindow;
use tauri::ipc::Response;

/// The capability files say so already; this holds even if one of them is wrong.
fn only(window: &WebviewWindow, label: &str) -> Result<(), Problem> {
    if window.label() == label {
        return Ok(());
    }
    Err(Problem::new(ErrorCode::NotPermitted, "This window may not do that."))
}

/// A reply of the core as the bytes that it is.
fn raw(reply: Box<RawValue>) -> Response {
    Response::new(String::from(Box::<str>::from(reply)))
}
