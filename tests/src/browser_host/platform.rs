//! The toolkit's side of the shell, without windows: what would be done to a window or to the user's
//! browser is only recorded.

use gatehouse_desktop::{
    BrowserLauncher, LanguagePreference, Platform, Preferences, PreferencesStore, PromptWindow, Theme,
    TrayDisplay, TrayMenu,
};
use gatehouse_model::UserError;
use parking_lot::Mutex;

/// Records actions, and keeps preferences in memory.
pub(super) struct BrowserPlatform {
    actions: Mutex<Vec<String>>,
    preferences: Mutex<Preferences>,
}

impl Default for BrowserPlatform {
    fn default() -> Self {
        let preferences = Preferences {
            theme: Theme::Light,
            language: LanguagePreference::English,
            said_keeps_running: false,
        };
        Self { actions: Mutex::default(), preferences: Mutex::new(preferences) }
    }
}

impl BrowserPlatform {
    fn record(&self, action: String) {
        self.actions.lock().push(action);
    }

    pub(super) fn actions(&self) -> Vec<String> {
        self.actions.lock().clone()
    }
}

impl BrowserLauncher for BrowserPlatform {
    fn launch_browser(&self, url: &str) -> Result<(), String> {
        self.record(format!("browser {url}"));
        Ok(())
    }
}

impl PreferencesStore for BrowserPlatform {
    fn load_preferences(&self) -> Result<Preferences, UserError> {
        Ok(*self.preferences.lock())
    }

    fn save_preferences(&self, preferences: Preferences) -> Result<(), UserError> {
        *self.preferences.lock() = preferences;
        Ok(())
    }
}

impl TrayDisplay for BrowserPlatform {
    fn draw_tray(&self, _: &TrayMenu) {}
}

impl Platform for BrowserPlatform {
    fn raise_main(&self) {
        self.record("raise_main".to_owned());
    }

    fn hide_main(&self) {
        self.record("hide_main".to_owned());
    }

    fn exit(&self) {
        self.record("exit".to_owned());
    }
}

/// The prompt's page is open in a browser all the time, whether the shell shows its window or not.
pub(super) struct InvisiblePrompt;

impl PromptWindow for InvisiblePrompt {
    fn preload(&mut self) {}

    fn show(&mut self) -> bool {
        true
    }

    fn raise(&mut self) -> bool {
        true
    }

    fn hide(&mut self) {}

    fn fit(&mut self, _: f64) {}

    fn set_title(&mut self, _: &str) {}

    fn is_minimized(&self) -> bool {
        false
    }
}
