//! The tray on the screen. What it shows is in `gatehouse-desktop`. A desktop without a tray is not an
//! error.

mod appindicator;
mod icon;

use std::path::PathBuf;
use std::sync::Arc;

use gatehouse_desktop::{Desktop, TrayAction, TrayIconState, TrayMenu};
use parking_lot::Mutex;
use tauri::image::Image;
use tauri::menu::{Menu, MenuItem, PredefinedMenuItem};
use tauri::tray::{TrayIcon, TrayIconBuilder};
use tauri::{AppHandle, Manager, Wry};

/// The tray, if there is one.
#[derive(Clone, Default)]
pub(crate) struct SystemTray(Arc<Mutex<Option<TrayOnScreen>>>);

struct TrayOnScreen {
    items: TrayItems,
    /// The state of the icon as it was drawn last.
    icon: Option<TrayIconState>,
}

/// The menu and the icon on the screen.
#[derive(Clone)]
struct TrayItems {
    icon: TrayIcon,
    base: Image<'static>,
    status: MenuItem<Wry>,
    show_main: MenuItem<Wry>,
    show_prompt: MenuItem<Wry>,
    toggle_pause: MenuItem<Wry>,
    quit: MenuItem<Wry>,
}

impl SystemTray {
    /// Puts the tray on the screen. It has to be drawn then.
    pub(crate) fn install(&self, app: &AppHandle) {
        if !appindicator::is_available() {
            tracing::warn!("no tray: the desktop's library for it is not installed");
            return;
        }
        match build_tray(app) {
            Ok(items) => *self.0.lock() = Some(TrayOnScreen { items, icon: None }),
            Err(error) => tracing::warn!(%error, "no tray"),
        }
    }

    /// Draws the menu, and the icon if it has changed.
    pub(crate) fn draw(&self, menu: &TrayMenu) {
        // The lock is released first: the toolkit draws on the main thread, which may need it.
        let (items, has_new_icon) = {
            let mut tray = self.0.lock();
            let Some(tray) = tray.as_mut() else { return };
            let before = tray.icon.replace(menu.icon);
            (tray.items.clone(), before != Some(menu.icon))
        };
        let drawn = items.draw_menu(menu);
        let drawn = if has_new_icon { drawn.and_then(|()| items.draw_icon(menu.icon)) } else { drawn };
        if let Err(error) = drawn {
            tracing::warn!(%error, "the tray could not be drawn");
        }
    }
}

impl TrayItems {
    fn draw_menu(&self, menu: &TrayMenu) -> tauri::Result<()> {
        self.icon.set_tooltip(Some(&menu.status))?;
        self.status.set_text(&menu.status)?;
        self.show_main.set_text(&menu.show_main)?;
        self.show_prompt.set_text(&menu.show_prompt)?;
        self.show_prompt.set_enabled(menu.show_prompt_enabled)?;
        self.toggle_pause.set_text(&menu.toggle_pause)?;
        self.toggle_pause.set_enabled(menu.toggle_pause_enabled)?;
        self.quit.set_text(&menu.quit)
    }

    fn draw_icon(&self, state: TrayIconState) -> tauri::Result<()> {
        self.icon.set_icon(Some(icon::draw(&self.base, state)))
    }
}

fn build_tray(app: &AppHandle) -> tauri::Result<TrayItems> {
    let item = |id: &str, enabled| MenuItem::with_id(app, id, "", enabled, None::<&str>);
    let base = app.default_window_icon().map(|icon| {
        let (width, height) = (icon.width(), icon.height());
        Image::new_owned(icon.rgba().to_vec(), width, height)
    });
    let base = base.ok_or(tauri::Error::AssetNotFound("icon".into()))?;
    let status = item("status", false)?;
    let show_main = item(TrayAction::ShowMain.id(), true)?;
    let show_prompt = item(TrayAction::ShowPrompt.id(), false)?;
    let toggle_pause = item(TrayAction::TogglePause.id(), false)?;
    let quit = item(TrayAction::Quit.id(), true)?;
    let line = || PredefinedMenuItem::separator(app);
    let menu = Menu::with_items(
        app,
        &[&status, &line()?, &show_main, &show_prompt, &line()?, &toggle_pause, &line()?, &quit],
    )?;
    let icon = TrayIconBuilder::with_id("gatehouse")
        .icon(base.clone())
        .temp_dir_path(icon_dir(app)?)
        .menu(&menu)
        .on_menu_event(|app, event| {
            if let Some(action) = TrayAction::from_id(event.id().as_ref()) {
                app.state::<Desktop>().on_tray_action(action);
            }
        })
        .build(app)?;
    Ok(TrayItems { icon, base, status, show_main, show_prompt, toggle_pause, quit })
}

/// Desktops read the tray's icon from a file. It is in a private folder, since other users could write
/// to a shared one.
fn icon_dir(app: &AppHandle) -> tauri::Result<PathBuf> {
    Ok(app.path().app_cache_dir()?.join("tray"))
}
