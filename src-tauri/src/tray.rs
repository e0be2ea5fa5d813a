//! The tray: status at a glance, a switch for pausing (PERM-13), and a way to open the windows. A
//! desktop without a tray is not an error. It keeps no state except what it shows.

mod icon;
mod library;

use std::path::PathBuf;
use std::sync::Arc;

use gatehouse_model::command::{Pause, Resume, StatusReport};
use parking_lot::Mutex;
use tauri::image::Image;
use tauri::menu::{Menu, MenuItem, PredefinedMenuItem};
use tauri::tray::{TrayIcon, TrayIconBuilder};
use tauri::{AppHandle, Manager, Wry};

use self::icon::Look;
use crate::host::Host;
use crate::main_window;
use crate::prompt::Prompt;
use crate::prompt::policy::Input;
use crate::words::Words;

const SHOW: &str = "show";
const QUESTION: &str = "question";
const PAUSE: &str = "pause";
const QUIT: &str = "quit";

/// The state to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum View {
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

impl From<&StatusReport> for View {
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

impl View {
    /// In order of importance: pending approvals, then paused or off, then problems.
    fn look(self) -> Look {
        match self {
            Self::NotRunning => Look::Normal,
            Self::Locked | Self::Running { waiting: 1.., .. } => Look::Waiting,
            Self::Running { paused: true, .. } | Self::Running { on: false, .. } => Look::Paused,
            Self::Running { problem: true, .. } => Look::Problem,
            Self::Running { .. } => Look::Normal,
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
pub(crate) struct Tray(Arc<Mutex<Inner>>);

struct Inner {
    view: View,
    words: Words,
    made: Option<Made>,
}

/// The menu and the icon on the screen.
#[derive(Clone)]
struct Made {
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
    pub(crate) fn new(words: Words) -> Self {
        Self(Arc::new(Mutex::new(Inner { view: View::NotRunning, words, made: None })))
    }

    /// Puts the tray on the screen.
    pub(crate) fn put_up(&self, app: &AppHandle) {
        if !library::is_there() {
            tracing::warn!("no tray: the desktop's library for it is not installed");
            return;
        }
        match make(app) {
            Ok(made) => {
                self.0.lock().made = Some(made);
                self.draw(true);
            }
            Err(error) => tracing::warn!(%error, "no tray"),
        }
    }

    /// Shows another state.
    pub(crate) fn view(&self, view: View) {
        let before = std::mem::replace(&mut self.0.lock().view, view);
        if before != view {
            self.draw(before.look() != view.look());
        }
    }

    /// Changes the language.
    pub(crate) fn speak(&self, words: Words) {
        let before = std::mem::replace(&mut self.0.lock().words, words);
        if before != words {
            self.draw(false);
        }
    }

    fn draw(&self, with_icon: bool) {
        // The lock is released first: the toolkit draws on the main thread, which may need it.
        let (view, words, made) = {
            let inner = self.0.lock();
            (inner.view, inner.words, inner.made.clone())
        };
        if let Some(Err(error)) = made.map(|made| made.draw(view, words, with_icon)) {
            tracing::warn!(%error, "the tray could not be drawn");
        }
    }
}

impl Made {
    fn draw(&self, view: View, words: Words, with_icon: bool) -> tauri::Result<()> {
        let status = words.status(view);
        self.icon.set_tooltip(Some(&status))?;
        self.status.set_text(status)?;
        self.show.set_text(words.show())?;
        self.question.set_text(words.question())?;
        self.question.set_enabled(view.has_question())?;
        self.pause.set_text(words.pause(view.is_paused()))?;
        self.pause.set_enabled(view.is_running())?;
        self.quit.set_text(words.quit())?;
        if with_icon {
            self.icon.set_icon(Some(icon::draw(&self.base, view.look())))?;
        }
        Ok(())
    }
}

fn make(app: &AppHandle) -> tauri::Result<Made> {
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
        .temp_dir_path(pictures(app)?)
        .menu(&menu)
        .on_menu_event(|app, event| chosen(app, event.id().as_ref()))
        .build(app)?;
    Ok(Made { icon, base, status, show, question, pause, quit })
}

/// Desktops read the tray's icon from a file. It is in a private folder, since other users could write
/// to a shared one.
fn pictures(app: &AppHandle) -> tauri::Result<PathBuf> {
    Ok(app.path().app_cache_dir()?.join("tray"))
}

/// Handles a click in the menu.
fn chosen(app: &AppHandle, what: &str) {
    match what {
        SHOW => main_window::raise(app),
        QUESTION => app.state::<Prompt>().input(Input::Raise),
        PAUSE => switch(app),
        QUIT => app.exit(0),
        _ => {}
    }
}

/// Pauses or resumes, as the menu item said.
fn switch(app: &AppHandle) {
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
    fn the_picture_says_what_matters_most() {
        let view = |waiting, paused, on, problem| View::Running {
            running: 1,
            servers: 2,
            waiting,
            paused,
            on,
            problem,
        };
        for (view, look) in [
            (View::NotRunning, Look::Normal),
            (View::Locked, Look::Waiting),
            (view(0, false, true, false), Look::Normal),
            (view(0, false, true, true), Look::Problem),
            (view(0, true, true, true), Look::Paused),
            (view(0, false, false, false), Look::Paused),
            (view(1, false, true, true), Look::Waiting),
            (view(3, true, true, false), Look::Waiting),
        ] {
            assert_eq!(view.look(), look, "{view:?}");
        }
    }
}
