//! Whether something covers the screen that the prompt is on. Only X11 says so: there, the prompt is on every
//! workspace and above every window but one in full screen.

use gatehouse_desktop::PromptSight;

/// Whether a window that is shown, and not minimised, can be seen.
#[cfg(not(target_os = "linux"))]
pub(super) fn of_shown_window() -> PromptSight {
    PromptSight::Visible
}

/// Whether a window that is shown, and not minimised, can be seen. Wayland neither keeps it above others nor says
/// whether it can be seen.
#[cfg(target_os = "linux")]
pub(super) fn of_shown_window() -> PromptSight {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_x11 = std::env::var("GDK_BACKEND").is_ok_and(|backend| backend.starts_with("x11"));
    if is_set("WAYLAND_DISPLAY") && !is_x11 {
        return PromptSight::Unknown;
    }
    match x11::is_full_screen_active() {
        Some(true) => PromptSight::Hidden,
        Some(false) => PromptSight::Visible,
        None => PromptSight::Unknown,
    }
}

#[cfg(target_os = "linux")]
mod x11 {
    use x11rb::connection::Connection as _;
    use x11rb::protocol::xproto::{AtomEnum, ConnectionExt as _, Window};
    use x11rb::rust_connection::RustConnection;

    /// Most values of a property that are read.
    const MOST_VALUES: u32 = 64;

    /// Whether the window that the user works in is in full screen. `None` if the window manager does not say.
    pub(super) fn is_full_screen_active() -> Option<bool> {
        let (connection, screen) = RustConnection::connect(None).ok()?;
        let root = connection.setup().roots.get(screen)?.root;
        let active = values(&connection, root, "_NET_ACTIVE_WINDOW", AtomEnum::WINDOW)?;
        let full_screen = atom(&connection, "_NET_WM_STATE_FULLSCREEN")?;
        let is_full_screen = |window: &Window| {
            values(&connection, *window, "_NET_WM_STATE", AtomEnum::ATOM)
                .is_some_and(|states| states.contains(&full_screen))
        };
        // No window is active where the user looks at the desktop itself.
        Some(active.first().is_some_and(is_full_screen))
    }

    fn atom(connection: &RustConnection, name: &str) -> Option<u32> {
        Some(connection.intern_atom(false, name.as_bytes()).ok()?.reply().ok()?.atom)
    }

    fn values(connection: &RustConnection, window: Window, name: &str, kind: AtomEnum) -> Option<Vec<u32>> {
        let property = atom(connection, name)?;
        let asked = connection.get_property(false, window, property, kind, 0, MOST_VALUES).ok()?;
        Some(asked.reply().ok()?.value32()?.collect())
    }
}
