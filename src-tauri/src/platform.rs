//! Tauri's side of the shell: it does what `gatehouse-desktop` tells it, and contains no rules.

use gatehouse_desktop::{BrowserLauncher, Platform, Preferences, PreferencesStore, TrayDisplay, TrayMenu};
use gatehouse_model::UserError;
use tauri::AppHandle;

use crate::shell::preferences;
use crate::shell::tray::SystemTray;
use crate::windows::main_window;

/// The toolkit.
pub(crate) struct TauriPlatform {
    app: AppHandle,
    tray: SystemTray,
}

impl TauriPlatform {
    pub(crate) fn new(app: AppHandle, tray: SystemTray) -> Self {
        Self { app, tray }
    }
}

impl BrowserLauncher for TauriPlatform {
    fn launch_browser(&self, url: &str) -> Result<(), String> {
        open::that_detached(url).map_err(|error| error.to_string())
    }
}

impl PreferencesStore for TauriPlatform {
    fn load_preferences(&self) -> Result<Preferences, UserError> {
        preferences::load(&self.app)
    }

    fn save_preferences(&self, preferences: Preferences) -> Result<(), UserError> {
        preferences::save(&self.app, preferences)
    }
}

impl TrayDisplay for TauriPlatform {
    fn draw_tray(&self, menu: &TrayMenu) {
        self.tray.draw(menu);
    }
}

impl Platform for TauriPlatform {
    fn raise_main(&self) {
        main_window::raise(&self.app);
    }

    fn hide_main(&self) {
        main_window::hide(&self.app);
    }

    fn exit(&self) {
        self.app.exit(0);
    }
}
