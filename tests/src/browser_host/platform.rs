//! The toolkit's side of the shell, without windows: what would be done to a window or to the user's
//! browser is only recorded.

use std::path::PathBuf;

use gatehouse_desktop::{
    BrowserLauncher, LanguagePreference, LoginItem, NotificationDisplay, NotificationTag, Platform,
    Preferences, PreferencesStore, PromptSight, PromptWindow, SystemNotification, Theme, TrayDisplay,
    TrayMenu, UpdateProgress, UpdateSource,
};
use gatehouse_model::{BoxFuture, UserError};
use parking_lot::Mutex;

/// Records actions, and keeps preferences in memory.
pub(super) struct BrowserPlatform {
    actions: Mutex<Vec<String>>,
    preferences: Mutex<Preferences>,
    starts_at_login: Mutex<bool>,
}

impl Default for BrowserPlatform {
    fn default() -> Self {
        let preferences = Preferences {
            theme: Theme::Light,
            language: LanguagePreference::English,
            // Pages are tested as after the first steps, but for those that are about them.
            first_run_done: true,
            ..Preferences::default()
        };
        Self {
            actions: Mutex::default(),
            preferences: Mutex::new(preferences),
            starts_at_login: Mutex::new(false),
        }
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

impl NotificationDisplay for BrowserPlatform {
    fn show_notification(&self, notification: SystemNotification) {
        self.record(format!("notification {} | {}", notification.title, notification.body));
    }

    fn close_notification(&self, tag: &NotificationTag) {
        self.record(format!("notification closed {tag:?}"));
    }

    fn set_badge(&self, count: u32) {
        self.record(format!("badge {count}"));
    }

    fn is_main_focused(&self) -> bool {
        false
    }
}

impl LoginItem for BrowserPlatform {
    fn starts_at_login(&self) -> Result<bool, String> {
        Ok(*self.starts_at_login.lock())
    }

    fn set_starts_at_login(&self, starts: bool) -> Result<(), String> {
        *self.starts_at_login.lock() = starts;
        Ok(())
    }
}

impl UpdateSource for BrowserPlatform {
    /// As in a build that names no source of updates.
    fn has_updates(&self) -> bool {
        false
    }

    fn find_update(&self) -> BoxFuture<'_, Result<Option<String>, String>> {
        Box::pin(async { Ok(None) })
    }

    fn install_update(&self, _: UpdateProgress) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async { Err("there is no update".to_owned()) })
    }
}

impl Platform for BrowserPlatform {
    fn raise_main(&self) {
        self.record("raise_main".to_owned());
    }

    fn close_main(&self) {
        self.record("close_main".to_owned());
    }

    /// There is no system dialog; nothing is chosen.
    fn pick_file(&self, endings: Vec<String>) -> BoxFuture<'static, Option<PathBuf>> {
        self.record(format!("pick_file {}", endings.join(" ")));
        Box::pin(async { None })
    }

    fn exit(&self) {
        self.record("exit".to_owned());
    }
}

/// The prompt's page is open in a browser all the time, whether the shell shows its window or not.
pub(super) struct InvisiblePrompt;

impl PromptWindow for InvisiblePrompt {
    fn preload(&mut self) {}

    fn unload(&mut self) {}

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

    fn sight(&self) -> PromptSight {
        PromptSight::Visible
    }
}
