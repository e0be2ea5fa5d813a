//! Tauri's side of the shell: it does what `gatehouse-desktop` tells it, and contains no rules.

use std::path::PathBuf;

use gatehouse_desktop::{
    BrowserLauncher, LoginItem, NotificationDisplay, NotificationTag, Platform, Preferences,
    PreferencesStore, SystemNotification, TrayDisplay, TrayMenu, UpdateProgress, UpdateSource,
};
use gatehouse_model::{BoxFuture, UserError};
use rfd::AsyncFileDialog;
use tauri::AppHandle;
use tauri_plugin_autostart::ManagerExt as _;
use tokio::sync::oneshot;

use crate::shell::notifications::SystemNotifications;
use crate::shell::preferences;
use crate::shell::tray::SystemTray;
use crate::shell::updates::SystemUpdates;
use crate::windows::main_window;

/// The toolkit.
pub(crate) struct TauriPlatform {
    app: AppHandle,
    tray: SystemTray,
    notifications: SystemNotifications,
    updates: SystemUpdates,
}

impl TauriPlatform {
    pub(crate) fn new(app: AppHandle, tray: SystemTray, notifications: SystemNotifications) -> Self {
        let updates = SystemUpdates::new(app.clone());
        Self { app, tray, notifications, updates }
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

impl NotificationDisplay for TauriPlatform {
    fn show_notification(&self, notification: SystemNotification) {
        self.notifications.show(notification);
    }

    fn close_notification(&self, tag: &NotificationTag) {
        self.notifications.close(tag);
    }

    fn set_badge(&self, count: u32) {
        self.notifications.set_badge(count);
    }

    fn is_main_focused(&self) -> bool {
        main_window::is_focused(&self.app)
    }
}

impl LoginItem for TauriPlatform {
    fn starts_at_login(&self) -> Result<bool, String> {
        self.app.autolaunch().is_enabled().map_err(|error| error.to_string())
    }

    fn set_starts_at_login(&self, starts: bool) -> Result<(), String> {
        let item = self.app.autolaunch();
        let changed = if starts { item.enable() } else { item.disable() };
        changed.map_err(|error| error.to_string())
    }
}

impl UpdateSource for TauriPlatform {
    fn has_updates(&self) -> bool {
        self.updates.is_configured()
    }

    fn find_update(&self) -> BoxFuture<'_, Result<Option<String>, String>> {
        Box::pin(self.updates.find())
    }

    fn install_update(&self, on_progress: UpdateProgress) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(self.updates.install(on_progress))
    }
}

impl Platform for TauriPlatform {
    fn raise_main(&self) {
        main_window::raise(&self.app);
    }

    fn close_main(&self) {
        main_window::close(&self.app);
    }

    fn pick_file(&self, endings: Vec<String>) -> BoxFuture<'static, Option<PathBuf>> {
        // A dialog is opened by the main thread, and waited for elsewhere.
        let (opened, opening) = oneshot::channel();
        let open = move || {
            let dialog = AsyncFileDialog::new().add_filter(endings.join(", "), &endings);
            drop(opened.send(dialog.pick_file()));
        };
        if let Err(error) = self.app.run_on_main_thread(open) {
            tracing::warn!(%error, "the dialog for a file cannot be opened");
        }
        Box::pin(async move { Some(opening.await.ok()?.await?.path().to_owned()) })
    }

    fn exit(&self) {
        self.app.exit(0);
    }
}
