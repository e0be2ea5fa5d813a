//! The Tauri commands that windows may invoke. Each checks which window calls, and passes the request on
//! to the shell. A new command also has to be listed in `gatehouse-desktop` (`window_commands.rs`), in
//! one capability file and in the handler list of the application.
//!
//! Must never run a command for a window that isn't listed for it, and never contain what the command does.

pub(crate) mod main;
pub(crate) mod prompt;

use std::sync::Arc;

use gatehouse_desktop::{PageSink, WindowCommand};
use gatehouse_model::UserError;
use serde::Serialize;
use serde_json::value::RawValue;
use tauri::WebviewWindow;
use tauri::ipc::{Channel, Response};

/// Checks that the calling window may run the command.
fn ensure_window(window: &WebviewWindow, command: WindowCommand) -> Result<(), UserError> {
    command.ensure_from(window.label())
}

/// Sends messages through a channel of a page.
fn page_sink<T: Serialize + Send + Sync + 'static>(channel: Channel<T>) -> PageSink<T> {
    Arc::new(move |message| channel.send(message).is_ok())
}

/// A reply of the core as raw bytes.
fn raw_response(reply: Box<RawValue>) -> Response {
    Response::new(String::from(Box::<str>::from(reply)))
}

#[cfg(test)]
mod tests {
    use gatehouse_desktop::{WINDOW_COMMANDS, WindowKind};
    use serde_json::{Value, json};

    #[test]
    fn capability_files_permit_commands_of_their_window() {
        for (kind, file) in [
            (WindowKind::Main, include_str!("../capabilities/main.json")),
            (WindowKind::Prompt, include_str!("../capabilities/prompt.json")),
        ] {
            let capability: Value = serde_json::from_str(file).unwrap();
            assert_eq!(capability["windows"], json!([kind.label()]));
            let commands = WINDOW_COMMANDS.iter().filter(|command| command.window() == kind);
            let expected: Vec<_> =
                commands.map(|command| format!("allow-{}", command.name().replace('_', "-"))).collect();
            assert_eq!(capability["permissions"], json!(expected));
        }
    }
}
