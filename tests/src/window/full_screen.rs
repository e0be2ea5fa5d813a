//! A window of another program that fills the whole screen and has the keyboard, like a film or a presentation.

use anyhow::{Context, Result};
use x11rb::COPY_DEPTH_FROM_PARENT;
use x11rb::connection::Connection as _;
use x11rb::protocol::xproto::{AtomEnum, ConnectionExt as _, CreateWindowAux, PropMode, Window, WindowClass};
use x11rb::rust_connection::RustConnection;
use x11rb::wrapper::ConnectionExt as _;

use super::desktop::Desktop;
use crate::eventually::eventually_holds;

/// The window; it is closed when this is dropped.
#[derive(Debug)]
pub struct FullScreenWindow {
    _display: RustConnection,
}

impl FullScreenWindow {
    /// Opens it and waits until it has the keyboard.
    pub fn open(desktop: &Desktop) -> Result<Self> {
        let (display, at) = RustConnection::connect(Some(desktop.display()))?;
        let screen = display.setup().roots.get(at).context("no screen")?;
        let window = display.generate_id()?;
        let visual = screen.root_visual;
        let colours = CreateWindowAux::new().background_pixel(screen.black_pixel);
        display
            .create_window(
                COPY_DEPTH_FROM_PARENT,
                window,
                screen.root,
                0,
                0,
                640,
                480,
                0,
                WindowClass::INPUT_OUTPUT,
                visual,
                &colours,
            )?
            .check()?;
        let atom = |name: &[u8]| -> Result<u32> { Ok(display.intern_atom(false, name)?.reply()?.atom) };
        let states = [atom(b"_NET_WM_STATE_FULLSCREEN")?];
        let property = atom(b"_NET_WM_STATE")?;
        display.change_property32(PropMode::REPLACE, window, property, AtomEnum::ATOM, &states)?.check()?;
        display.map_window(window)?.check()?;
        let (root, active) = (screen.root, atom(b"_NET_ACTIVE_WINDOW")?);
        eventually_holds("the window in full screen to have the keyboard", || {
            let reply = display.get_property(false, root, active, AtomEnum::WINDOW, 0, 1)?.reply()?;
            let found: Option<Window> = reply.value32().and_then(|mut values| values.next());
            Ok(found == Some(window))
        })?;
        Ok(Self { _display: display })
    }
}
