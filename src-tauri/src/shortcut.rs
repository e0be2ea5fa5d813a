//! The keys that pause everything from wherever one is (PERM-13). They only ever pause: to go on takes the
//! window or the tray, so whoever can press keys in the user's place gains nothing by them.

use gatehouse_model::command::Pause;
use tauri::{AppHandle, Manager};
use tauri_plugin_global_shortcut::{Builder, GlobalShortcutExt as _, ShortcutState};

use crate::host::Host;

/// Far from what one types.
const PAUSE: &str = "CommandOrControl+Alt+Shift+P";

/// Listens for the keys. A desktop that gives them to somebody else, or to nobody, is no error.
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
