//! The global keyboard shortcut that pauses all calls (PERM-13). It only ever pauses; resuming needs the
//! window or the tray, so a process that can inject key presses gains nothing from it.

use gatehouse_desktop::Desktop;
use tauri::{AppHandle, Manager};
use tauri_plugin_global_shortcut::{Builder, GlobalShortcutExt as _, ShortcutState};

/// Unlikely to be typed by accident.
const PAUSE: &str = "CommandOrControl+Alt+Shift+P";

/// Registers the shortcut. Returns whether it works in every application: it is not an error if the desktop does not
/// support shortcuts or another program has it.
pub(crate) fn listen(app: &AppHandle) -> bool {
    let listening = app.plugin(Builder::new().build()).map_err(|error| error.to_string()).and_then(|()| {
        let pressed = |app: &AppHandle, state: ShortcutState| {
            if state == ShortcutState::Pressed {
                app.state::<Desktop>().pause();
            }
        };
        let keys = app.global_shortcut();
        keys.on_shortcut(PAUSE, move |app, _, event| pressed(app, event.state()))
            .map_err(|error| error.to_string())
    });
    if let Err(error) = &listening {
        tracing::warn!(error, keys = PAUSE, "the shortcut that pauses everything is not available");
    }
    listening.is_ok() && !is_wayland()
}

/// Whether the desktop sends a key only to the application that has the keyboard. Registering reports no error then.
fn is_wayland() -> bool {
    cfg!(target_os = "linux") && std::env::var_os("WAYLAND_DISPLAY").is_some_and(|value| !value.is_empty())
}
