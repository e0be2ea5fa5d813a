//! The global keyboard shortcut that pauses all calls (PERM-13). It only ever pauses; resuming needs the
//! window or the tray, so a process that can inject key presses gains nothing from it.

use gatehouse_model::command::Pause;
use tauri::{AppHandle, Manager};
use tauri_plugin_global_shortcut::{Builder, GlobalShortcutExt as _, ShortcutState};

use crate::host::Host;

/// Unlikely to be typed by accident.
const PAUSE: &str = "CommandOrControl+Alt+Shift+P";

/// Registers the shortcut. It is not an error if the desktop does not support shortcuts or another
/// program has it.
pub(crate) fn listen(app: &AppHandle) {
    let listening = app.plugin(Builder::new().build()).map_err(|error| error.to_string()).and_then(|()| {
        let pressed = |app: &AppHandle, state: ShortcutState| {
            if state == ShortcutState::Pressed {
                pause(app);
            }
        };
        let keys = app.global_shortcut();
        keys.on_shortcut(PAUSE, move |app, _, event| pressed(app, event.state()))
            .map_err(|error| error.to_string())
    });
    if let Err(error) = listening {
        tracing::warn!(error, keys = PAUSE, "the keys that pause everything are not to be had");
    }
}

fn pause(app: &AppHandle) {
    let host = app.state::<Host>().inner().clone();
    app.state::<Host>().spawn(async move {
        if let Err(problem) = host.run(&Pause {}).await {
            tracing::error!(%problem, "everything should have been paused and was not");
        }
    });
}
