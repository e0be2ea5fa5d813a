//! The tray: status at a glance, a switch for pausing (PERM-13), and a way to open the windows. A
//! desktop without a tray is not an error. It keeps no state except what it shows.

mod appindicator;
mod icon;

use std::path::PathBuf;
use std::sync::Arc;

use gatehouse_model::command::{Pause, Resume, StatusReport};
use parking_lot::Mutex;
use tauri::image::Image;
use tauri::menu::{Menu, MenuItem, PredefinedMenuItem};
use tauri::tray::{TrayIcon, TrayIconBuilder};
use tauri::{AppHandle, Manager, Wry};

use self::icon::TrayIconState;
use crate::host::Host;
use crate::i18n::Locale;
use crate::main_window;
use crate::prompt::Prompt;
use crate::prompt::policy::PromptInput;

const SHOW: &str = "show";
const QUESTION: &str = "question";
const PAUSE: &str = "pause";
const QUIT: &str = "quit";

/// The state to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TrayView {
    /// The core was not started yet, or could not be.
    NotRunning,
    /// The core waits for the passphrase of the vault.
    Locked,
    /// The core runs.
    Running {
        /// Number of connected servers.
        running: u32,
        /// Number of servers.
        servers: u32,
        /// Number of pending approvals.
        waiting: u32,
        /// Whether calls are paused.
        paused: bool,
        /// Whether MCP is on.
        on: bool,
        /// Whether there is a problem.
        problem: bool,
    },
}

impl From<&StatusReport> for TrayView {
    fn from(report: &StatusReport) -> Self {
        Self::Running {
            running: report.running,
            servers: report.servers,
            waiting: report.waiting,
            paused: report.paused,
            on: report.switched_on,
            problem: !report.problems.is_empty(),
        }
    }
}

impl TrayView {
    /// In order of importance: pending approvals, then paused or off, then problems.
    fn icon_state(self) -> TrayIconState {
        match self {
            Self::NotRunning => TrayIconState::Normal,
            Self::Locked | Self::Running { waiting: 1.., .. } => TrayIconState::Waiting,
            Self::Running { paused: true, .. } | Self::Running { on: false, .. } => TrayIconState::Paused,
            Self::Running { problem: true, .. } => TrayIconState::Problem,
            Self::Running { .. } => TrayIconState::Normal,
        }
    }

    fn has_question(self) -> bool {
        matches!(self, Self::Running { waiting: 1.., .. })
    }

    fn is_paused(self) -> bool {
        matches!(self, Self::Running { paused: true, .. })
    }

    fn is_running(self) -> bool {
        matches!(self, Self::Running { .. })
    }
}

/// The tray, if there is one.
#[derive(Clone)]
pub(crate) struct Tray(Arc<Mutex<TrayState>>);

struct TrayState {
    view: TrayView,
    locale: Locale,
    items: Option<TrayItems>,
}

/// The menu and the icon on the screen.
#[derive(Clone)]
struct TrayItems {
    icon: TrayIcon,
    base: Image<'static>,
    status: MenuItem<Wry>,
    show: MenuItem<Wry>,
    question: MenuItem<Wry>,
    pause: MenuItem<Wry>,
    quit: MenuItem<Wry>,
}

impl Tray {
    /// A tray that is not on the screen yet.
    pub(crate) fn new(locale: Locale) -> Self {
        Self(Arc::new(Mutex::new(TrayState { view: TrayView::NotRunning, locale, items: None })))
    }

    /// Puts the tray on the screen.
    pub(crate) fn install(&self, app: &AppHandle) {
        if !appindicator::is_available() {
            tracing::warn!("no tray: the desktop's library for it is not installed");
            return;
        }
        match build_tray(app) {
            Ok(items) => {
                self.0.lock().items = Some(items);
                self.draw(true);
            }
            Err(error) => tracing::warn!(%error, "no tray"),
        }
    }

    /// Shows another state.
    pub(crate) fn set_view(&self, view: TrayView) {
        let before = std::mem::replace(&mut self.0.lock().view, view);
        if before != view {
            self.draw(before.icon_state() != view.icon_state());
        }
    }

    /// Changes the language.
    pub(crate) fn set_locale(&self, locale: Locale) {
        let before = std::mem::replace(&mut self.0.lock().locale, locale);
        if before != locale {
            self.draw(false);
        }
    }

    fn draw(&self, with_icon: bool) {
        // The lock is released first: the toolkit draws on the main thread, which may need it.
        let (view, locale, items) = {
            let inner = self.0.lock();
            (inner.view, inner.locale, inner.items.clone())
        };
        if let Some(Err(error)) = items.map(|items| items.draw(view, locale, with_icon)) {
            tracing::warn!(%error, "the tray could not be drawn");
        }
    }
}

impl TrayItems {
    fn draw(&self, view: TrayView, locale: Locale, with_icon: bool) -> tauri::Result<()> {
        let status = locale.status(view);
        self.icon.set_tooltip(Some(&status))?;
        self.status.set_text(status)?;
        self.show.set_text(locale.show())?;
        self.question.set_text(locale.question())?;
        self.question.set_enabled(view.has_question())?;
        self.pause.set_text(locale.pause(view.is_paused()))?;
        self.pause.set_enabled(view.is_running())?;
        self.quit.set_text(locale.quit())?;
        if with_icon {
            self.icon.set_icon(Some(icon::draw(&self.base, view.icon_state())))?;
        }
        Ok(())
    }
}

fn build_tray(app: &AppHandle) -> tauri::Result<TrayItems> {
    let item = |id: &str, enabled| MenuItem::with_id(app, id, "", enabled, None::<&str>);
    let base = app.default_window_icon().map(|icon| {
        let (width, height) = (icon.width(), icon.height());
        Image::new_owned(icon.rgba().to_vec(), width, height)
    });
    let base = base.ok_or(tauri::Error::AssetNotFound("icon".into()))?;
    let (status, show, question) = (item("status", false)?, item(SHOW, true)?, item(QUESTION, false)?);
    let (pause, quit) = (item(PAUSE, false)?, item(QUIT, true)?);
    let line = || PredefinedMenuItem::separator(app);
    let menu =
        Menu::with_items(app, &[&status, &line()?, &show, &question, &line()?, &pause, &line()?, &quit])?;
    let icon = TrayIconBuilder::with_id("gatehouse")
        .icon(base.clone())
        .temp_dir_path(icon_dir(app)?)
        .menu(&menu)
        .on_menu_event(|app, event| handle_menu_event(app, event.id().as_ref()))
        .build(app)?;
    Ok(TrayItems { icon, base, status, show, question, pause, quit })
}

/// Desktops read the tray's icon from a file. It is in a private folder, since other users could write
/// to a shared one.
fn icon_dir(app: &AppHandle) -> tauri::Result<PathBuf> {
    Ok(app.path().app_cache_dir()?.join("tray"))
}

/// Handles a click in the menu.
fn handle_menu_event(app: &AppHandle, what: &str) {
    match what {
        SHOW => main_window::raise(app),
        QUESTION => app.state::<Prompt>().input(PromptInput::Raise),
        PAUSE => toggle_pause(app),
        QUIT => app.exit(0),
        _ => {}
    }
}

/// Pauses or resumes, as the menu item said.
fn toggle_pause(app: &AppHandle) {
    let host = app.state::<Host>().inner().clone();
    let paused = app.state::<Tray>().0.lock().view.is_paused();
    app.state::<Host>().spawn(async move {
        let done = if paused { host.run(&Resume {}).await } else { host.run(&Pause {}).await };
        if let Err(problem) = done {
            tracing::error!(%problem, paused, "the tray's switch did not take");
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn icon_shows_most_important_state() {
        let view = |waiting, paused, on, problem| TrayView::Running {
            running: 1,
            servers: 2,
            waiting,
            paused,
            on,
            problem,
        };
        for (view, icon_state) in [
            (TrayView::NotRunning, TrayIconState::Normal),
            (TrayView::Locked, TrayIconState::Waiting),
            (view(0, false, true, false), TrayIconState::Normal),
            (view(0, false, true, true), TrayIconState::Problem),
            (view(0, true, true, true), TrayIconState::Paused),
            (view(0, false, false, false), TrayIconState::Paused),
            (view(1, false, true, true), TrayIconState::Waiting),
            (view(3, true, true, false), TrayIconState::Waiting),
        ] {
            assert_eq!(view.icon_state(), icon_state, "{view:?}");
        }
    }
}
