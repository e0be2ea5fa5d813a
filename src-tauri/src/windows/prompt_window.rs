//! Creates and places the prompt window. It must never take the keyboard focus by itself: a user who is
//! typing would type into it.

use gatehouse_desktop::{Desktop, PromptSight, PromptWindow, WindowKind};
use tauri::webview::WebviewWindowBuilder;
use tauri::{AppHandle, LogicalSize, PhysicalPosition, PhysicalRect, WebviewUrl, WebviewWindow};

use super::navigation::may_navigate;
use super::prompt_sight;
use crate::shell::preferences;

pub(crate) const PROMPT: &str = WindowKind::Prompt.label();

const WIDTH: f64 = 440.0;
const MIN_HEIGHT: f64 = 120.0;
const MAX_HEIGHT: f64 = 640.0;

pub(crate) struct TauriPromptWindow {
    app: AppHandle,
    window: Option<WebviewWindow>,
}

impl TauriPromptWindow {
    /// A window that is not built yet.
    pub(crate) fn new(app: AppHandle) -> Self {
        Self { app, window: None }
    }

    /// The window; built first if necessary.
    fn window(&mut self) -> Option<&WebviewWindow> {
        if self.window.is_none() {
            match build(&self.app) {
                Ok(window) => self.window = Some(window),
                Err(error) => tracing::error!(%error, "the prompt window could not be built"),
            }
        }
        self.window.as_ref()
    }

    fn present(&mut self, how: fn(&AppHandle, &WebviewWindow) -> tauri::Result<()>) -> bool {
        let app = self.app.clone();
        let Some(window) = self.window() else { return false };
        log_failure("show", how(&app, window));
        true
    }
}

impl PromptWindow for TauriPromptWindow {
    fn preload(&mut self) {
        self.window();
    }

    fn unload(&mut self) {
        if let Some(window) = self.window.take() {
            log_failure("unload", window.destroy());
        }
    }

    fn show(&mut self) -> bool {
        self.present(show)
    }

    fn raise(&mut self) -> bool {
        self.present(raise)
    }

    fn hide(&mut self) {
        if let Some(window) = &self.window {
            log_failure("hide", window.hide());
        }
    }

    fn fit(&mut self, height: f64) {
        if let Some(window) = &self.window {
            log_failure("fit", fit(window, height));
        }
    }

    fn set_title(&mut self, title: &str) {
        if let Some(window) = &self.window {
            log_failure("title", window.set_title(title));
        }
    }

    fn is_minimized(&self) -> bool {
        self.window.as_ref().is_some_and(|window| window.is_minimized().unwrap_or(false))
    }

    fn sight(&self) -> PromptSight {
        let is_shown = self.window.as_ref().is_some_and(|window| window.is_visible().unwrap_or(false));
        if is_shown && !self.is_minimized() { prompt_sight::of_shown_window() } else { PromptSight::Hidden }
    }
}

fn log_failure(what: &str, result: tauri::Result<()>) {
    if let Err(error) = result {
        tracing::warn!(%error, what, "the prompt window could not be changed");
    }
}

/// Builds the window, hidden, with its page loading.
fn build(app: &AppHandle) -> tauri::Result<WebviewWindow> {
    let preferred = preferences::load(app).unwrap_or_default();
    WebviewWindowBuilder::new(app, PROMPT, WebviewUrl::App("prompt.html".into()))
        .title(Desktop::prompt_title(&preferred))
        .inner_size(WIDTH, MAX_HEIGHT)
        .min_inner_size(WIDTH, MAX_HEIGHT)
        .max_inner_size(WIDTH, MAX_HEIGHT)
        .maximizable(false)
        .always_on_top(true)
        .visible_on_all_workspaces(true)
        .focused(false)
        .visible(false)
        .devtools(cfg!(debug_assertions))
        .disable_drag_drop_handler()
        .on_navigation(may_navigate)
        .build()
}

/// Shows the window on the screen that the user looks at, without changing the keyboard focus.
fn show(app: &AppHandle, window: &WebviewWindow) -> tauri::Result<()> {
    position_window(app, window)?;
    window.unminimize()?;
    show_quietly(app, window)
}

/// The toolkit's `focused(false)` applies to the first time only, so the window manager is told each
/// time that the user did not request this window.
#[cfg(target_os = "linux")]
fn show_quietly(app: &AppHandle, window: &WebviewWindow) -> tauri::Result<()> {
    use gtk::glib::Cast as _;
    use gtk::prelude::{GtkWindowExt as _, WidgetExt as _};

    let shown = window.clone();
    app.run_on_main_thread(move || match shown.gtk_window() {
        Ok(shown) => {
            shown.set_focus_on_map(false);
            // The user may have used the window before; a user time of 0 says that it is not shown
            // because of a user action.
            if let Some(surface) = shown.window().and_then(|it| it.downcast::<gdkx11::X11Window>().ok()) {
                surface.set_user_time(0);
            }
        }
        Err(error) => tracing::error!(%error, "the prompt may take the keyboard"),
    })?;
    window.show()
}

/// A window that is not focusable does not take the focus.
#[cfg(not(target_os = "linux"))]
fn show_quietly(_: &AppHandle, window: &WebviewWindow) -> tauri::Result<()> {
    window.set_focusable(false)?;
    window.show()?;
    window.set_focusable(true)
}

/// Brings the window to the front with the keyboard focus, since the user requested it.
fn raise(app: &AppHandle, window: &WebviewWindow) -> tauri::Result<()> {
    if !window.is_visible()? {
        position_window(app, window)?;
    }
    window.unminimize()?;
    window.show()?;
    window.set_focus()
}

/// Sets the height that the page needs. Minimum and maximum size are equal, so that only this code can
/// change the size; a window that is not resizable would ignore its own size here.
fn fit(window: &WebviewWindow, height: f64) -> tauri::Result<()> {
    let size = LogicalSize::new(WIDTH, clamp_height(height));
    window.set_min_size(Some(size))?;
    window.set_max_size(Some(size))?;
    window.set_size(size)
}

fn clamp_height(height: f64) -> f64 {
    if height.is_finite() { height.ceil().clamp(MIN_HEIGHT, MAX_HEIGHT) } else { MAX_HEIGHT }
}

/// Centred at the top of the screen with the pointer.
fn position_window(app: &AppHandle, window: &WebviewWindow) -> tauri::Result<()> {
    let pointer = app.cursor_position()?;
    let screen = match app.monitor_from_point(pointer.x, pointer.y)? {
        Some(screen) => Some(screen),
        None => app.primary_monitor()?,
    };
    match screen {
        Some(screen) => {
            let width = (WIDTH * screen.scale_factor()).round();
            window.set_position(top_centre(screen.work_area(), width))
        }
        None => Ok(()),
    }
}

fn top_centre(area: &PhysicalRect<i32, u32>, width: f64) -> PhysicalPosition<i32> {
    let left = ((f64::from(area.size.width) - width) / 2.0).max(0.0);
    #[allow(clippy::cast_possible_truncation, reason = "screens are not that wide")]
    let left = left as i32;
    PhysicalPosition::new(area.position.x.saturating_add(left), area.position.y)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tauri::PhysicalSize;

    #[test]
    fn clamps_height() {
        for (asked, given) in [
            (300.2, 301.0),
            (0.0, MIN_HEIGHT),
            (-7.0, MIN_HEIGHT),
            (9_000.0, MAX_HEIGHT),
            (f64::INFINITY, MAX_HEIGHT),
            (f64::NAN, MAX_HEIGHT),
        ] {
            assert!((clamp_height(asked) - given).abs() < f64::EPSILON, "{asked}");
        }
    }

    #[test]
    fn positions_at_top_centre() {
        for (x, y, width, window, expected) in [
            (0, 0, 1_280, 440.0, (420, 0)),
            (1_920, 27, 2_560, 880.0, (2_760, 27)),
            (-1_280, 0, 1_280, 440.0, (-860, 0)),
            (0, 0, 400, 440.0, (0, 0)),
        ] {
            let area =
                PhysicalRect { position: PhysicalPosition::new(x, y), size: PhysicalSize::new(width, 700) };
            let place = top_centre(&area, window);
            assert_eq!((place.x, place.y), expected);
        }
    }
}
