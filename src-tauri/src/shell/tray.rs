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
    parts: TrayParts,
    /// The state of the icon as it was drawn last.
    icon: Option<TrayIconState>,
}

/// What is needed to draw it.
#[derive(Clone)]
struct TrayParts {
    app: AppHandle,
    icon: TrayIcon,
    base: Image<'static>,
}

impl SystemTray {
    /// Puts the tray on the screen. It has to be drawn then.
    pub(crate) fn install(&self, app: &AppHandle) {
        if !appindicator::is_available() {
            tracing::warn!("no tray: the desktop's library for it is not installed");
            return;
        }
        match build_tray(app) {
            Ok(parts) => *self.0.lock() = Some(TrayOnScreen { parts, icon: None }),
            Err(error) => tracing::warn!(%error, "no tray"),
        }
    }

    /// Draws the menu, and the icon if it has changed.
    pub(crate) fn draw(&self, menu: &TrayMenu) {
        // The lock is released first: the toolkit draws on the main thread, which may need it.
        let (parts, has_new_icon) = {
            let mut tray = self.0.lock();
            let Some(tray) = tray.as_mut() else { return };
            let before = tray.icon.replace(menu.icon);
            (tray.parts.clone(), before != Some(menu.icon))
        };
        let drawn = parts.draw_menu(menu);
        let drawn = if has_new_icon { drawn.and_then(|()| parts.draw_icon(menu.icon)) } else { drawn };
        if let Err(error) = drawn {
            tracing::warn!(%error, "the tray could not be drawn");
        }
    }
}

impl TrayParts {
    fn draw_menu(&self, menu: &TrayMenu) -> tauri::Result<()> {
        self.icon.set_tooltip(Some(&menu.status))?;
        self.icon.set_menu(Some(build_menu(&self.app, menu)?))
    }

    fn draw_icon(&self, state: TrayIconState) -> tauri::Result<()> {
        self.icon.set_icon(Some(icon::draw(&self.base, state)))
    }
}

/// The menu as the shell describes it. The pending approvals stand below the item that shows them all.
fn build_menu(app: &AppHandle, menu: &TrayMenu) -> tauri::Result<Menu<Wry>> {
    let item = |id: &str, text: &str, is_enabled| {
        // An ampersand would mark the next letter as a shortcut.
        MenuItem::with_id(app, id, text.replace('&', "&&"), is_enabled, None::<&str>)
    };
    let action = |action: &TrayAction, text: &str, is_enabled| item(&action.id(), text, is_enabled);
    let line = || PredefinedMenuItem::separator(app);
    let drawn = Menu::with_items(
        app,
        &[
            &item("status", &menu.status, false)?,
            &line()?,
            &action(&TrayAction::ShowMain, &menu.show_main, true)?,
            &action(&TrayAction::ShowPrompt, &menu.show_prompt, menu.show_prompt_enabled)?,
        ],
    )?;
    for (shown, text) in &menu.approvals {
        drawn.append(&action(shown, text, true)?)?;
    }
    drawn.append_items(&[
        &line()?,
        &action(&TrayAction::TogglePause, &menu.toggle_pause, menu.toggle_pause_enabled)?,
        &line()?,
        &action(&TrayAction::Quit, &menu.quit, true)?,
    ])?;
    Ok(drawn)
}

fn build_tray(app: &AppHandle) -> tauri::Result<TrayParts> {
    let base = app.default_window_icon().map(|icon| {
        let (width, height) = (icon.width(), icon.height());
        Image::new_owned(icon.rgba().to_vec(), width, height)
    });
    let base = base.ok_or(tauri::Error::AssetNotFound("icon".into()))?;
    let icon = TrayIconBuilder::with_id("gatehouse")
        .icon(base.clone())
        .temp_dir_path(icon_dir(app)?)
        .on_menu_event(|app, event| {
            if let Some(action) = TrayAction::from_id(event.id().as_ref()) {
                app.state::<Desktop>().on_tray_action(action);
            }
        })
        .build(app)?;
    Ok(TrayParts { app: app.clone(), icon, base })
}

/// Desktops read the tray's icon from a file. It is in a private folder, since other users could write
/// to a shared one.
fn icon_dir(app: &AppHandle) -> tauri::Result<PathBuf> {
    Ok(app.path().app_cache_dir()?.join("tray"))
}
