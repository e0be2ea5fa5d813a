//! The main window: creating, raising and closing it. It exists only while the user looks at it: a hidden page would keep
//! its process and its memory.

use parking_lot::Mutex;
use tauri::webview::WebviewWindowBuilder;
use tauri::{AppHandle, Manager, Monitor, PhysicalPosition, PhysicalSize, WebviewUrl, WebviewWindow};

use gatehouse_desktop::{ScreenArea, WindowKind, WindowPlacement};

use super::navigation::may_navigate;
use crate::shell::preferences;

pub(crate) const MAIN: &str = WindowKind::Main.label();

/// State of the application: where the main window is in its life.
#[derive(Default)]
pub(crate) struct MainWindowState(Mutex<MainWindowPhase>);

#[derive(Default)]
struct MainWindowPhase {
    /// The route of the page when the window was closed, with its `#`.
    route: Option<String>,
    is_opening: bool,
    is_closing: bool,
    /// Whether the user wants it back although it is still closing.
    is_wanted: bool,
}

/// Creates the window from the configuration, at the page at which it was closed.
pub(crate) fn open(app: &AppHandle) -> tauri::Result<()> {
    let config = app.config().app.windows.iter().find(|window| window.label == MAIN);
    let mut config = config.ok_or(tauri::Error::WindowNotFound)?.clone();
    if let Some(route) = app.state::<MainWindowState>().0.lock().route.take() {
        config.url = WebviewUrl::App(route.into());
    }
    let placement = preferences::load_placement(app).and_then(|stored| stored.fit(&screens(app)));
    // It appears where it was, and doesn't jump there.
    config.visible = placement.is_none();
    let window = WebviewWindowBuilder::from_config(app, &config)?
        .devtools(cfg!(debug_assertions))
        .on_navigation(may_navigate)
        .build()?;
    if let Some(placement) = placement {
        log_failure("place", place(&window, placement));
        window.show()?;
    }
    Ok(())
}

/// The screens that there are now.
fn screens(app: &AppHandle) -> Vec<ScreenArea> {
    let monitors = app.available_monitors().unwrap_or_default();
    let area = |monitor: &Monitor| {
        let area = monitor.work_area();
        let (x, y) = (area.position.x, area.position.y);
        ScreenArea { x, y, width: area.size.width, height: area.size.height }
    };
    monitors.iter().map(area).collect()
}

fn place(window: &WebviewWindow, placement: WindowPlacement) -> tauri::Result<()> {
    let WindowPlacement { x, y, width, height, is_maximized } = placement;
    window.set_size(PhysicalSize::new(width, height))?;
    window.set_position(PhysicalPosition::new(x, y))?;
    if is_maximized { window.maximize() } else { Ok(()) }
}

/// Stores where the window is, for the next time. Nothing happens if it is closed or minimised.
pub(crate) fn save_placement(app: &AppHandle) {
    let Some(window) = app.get_webview_window(MAIN) else { return };
    let current = || -> tauri::Result<Option<WindowPlacement>> {
        if window.is_minimized()? {
            return Ok(None);
        }
        let (position, size) = (window.outer_position()?, window.inner_size()?);
        let is_maximized = window.is_maximized()?;
        let (width, height) = (size.width, size.height);
        Ok(Some(WindowPlacement { x: position.x, y: position.y, width, height, is_maximized }))
    };
    match current() {
        Ok(Some(placement)) => {
            let placement = placement.after(preferences::load_placement(app));
            if let Err(error) = preferences::save_placement(app, placement) {
                tracing::warn!(%error, "the place of the main window was not stored");
            }
        }
        Ok(None) => {}
        Err(error) => log_failure("measure", Err(error)),
    }
}

/// Brings the window to the front; opens it if it is closed.
pub(crate) fn raise(app: &AppHandle) {
    let state = app.state::<MainWindowState>();
    let mut phase = state.0.lock();
    if phase.is_closing {
        phase.is_wanted = true;
        return;
    }
    if let Some(window) = app.get_webview_window(MAIN) {
        drop(phase);
        log_failure("raise", bring_to_front(&window));
    } else if !std::mem::replace(&mut phase.is_opening, true) {
        drop(phase);
        let app = app.clone();
        // On Windows, a window cannot be built inside a synchronous command or an event handler.
        tauri::async_runtime::spawn_blocking(move || {
            log_failure("open", open(&app));
            app.state::<MainWindowState>().0.lock().is_opening = false;
        });
    }
}

/// Whether the window is just being built.
#[cfg(target_os = "linux")]
pub(super) fn is_opening(app: &AppHandle) -> bool {
    app.state::<MainWindowState>().0.lock().is_opening
}

/// Whether the user works in the window.
pub(crate) fn is_focused(app: &AppHandle) -> bool {
    app.get_webview_window(MAIN)
        .is_some_and(|window| window.is_visible().unwrap_or(false) && window.is_focused().unwrap_or(false))
}

/// Closes the window; everything else keeps running.
pub(crate) fn close(app: &AppHandle) {
    let Some(window) = app.get_webview_window(MAIN) else { return };
    save_placement(app);
    let route = window.url().ok().and_then(|url| url.fragment().map(|fragment| format!("#{fragment}")));
    let state = app.state::<MainWindowState>();
    {
        let mut phase = state.0.lock();
        phase.route = route;
        phase.is_closing = true;
    }
    let destroyed = window.destroy();
    if destroyed.is_err() {
        state.0.lock().is_closing = false;
    }
    log_failure("close", destroyed);
}

/// The window is gone.
pub(super) fn on_destroyed(app: &AppHandle) {
    let is_wanted = {
        let state = app.state::<MainWindowState>();
        let mut phase = state.0.lock();
        phase.is_closing = false;
        std::mem::take(&mut phase.is_wanted)
    };
    if is_wanted {
        raise(app);
    }
}

fn bring_to_front(window: &WebviewWindow) -> tauri::Result<()> {
    window.unminimize()?;
    window.show()?;
    window.set_focus()
}

fn log_failure(what: &str, result: tauri::Result<()>) {
    if let Err(error) = result {
        tracing::warn!(%error, what, "the main window could not be changed");
    }
}
