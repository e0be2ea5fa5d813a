//! The badge on the application's icon on Windows and macOS, which set it for a window.

use tauri::{AppHandle, Manager as _};

/// Shows the number; none for zero. The main window may be closed, so any window will do.
pub(super) fn set(app: &AppHandle, count: u32) {
    for window in app.webview_windows().values() {
        #[cfg(target_os = "macos")]
        let shown = window.set_badge_count(if count == 0 { None } else { Some(i64::from(count)) });
        #[cfg(not(target_os = "macos"))]
        let shown = window.set_overlay_icon(if count == 0 { None } else { Some(mark()) });
        if let Err(error) = shown {
            tracing::warn!(%error, "no badge");
        }
    }
}

/// The mark on the icon in the task bar: a disc, like that of the tray.
#[cfg(not(target_os = "macos"))]
fn mark() -> tauri::image::Image<'static> {
    const SIZE: u32 = 16;
    let inside = |place: u32| (f64::from(place) + 0.5) / f64::from(SIZE) * 2.0 - 1.0;
    let pixel = |index: u32| {
        let is_inside = inside(index % SIZE).hypot(inside(index / SIZE)) <= 0.9;
        if is_inside { [0xf5, 0x9f, 0x00, 0xff] } else { [0; 4] }
    };
    tauri::image::Image::new_owned((0..SIZE * SIZE).flat_map(pixel).collect(), SIZE, SIZE)
}
