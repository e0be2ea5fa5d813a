//! Mouse input and screen capture over one connection to the display, so that a click does not start a
//! program. For benchmarks, which cannot use the web view's WebDriver.

use anyhow::{Context, Result, ensure};
use x11rb::connection::Connection as _;
use x11rb::protocol::xproto::{
    BUTTON_PRESS_EVENT, BUTTON_RELEASE_EVENT, ConnectionExt as _, ImageFormat, MOTION_NOTIFY_EVENT, Window,
};
use x11rb::protocol::xtest::ConnectionExt as _;
use x11rb::rust_connection::RustConnection;

use super::desktop::Desktop;

/// A position on the screen, in pixels from its upper left corner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScreenPoint {
    pub x: i16,
    pub y: i16,
}

#[derive(Debug)]
pub struct Pointer {
    display: RustConnection,
    root: Window,
    size: (u16, u16),
}

impl Pointer {
    /// Connects to the display of a desktop.
    pub fn connect(desktop: &Desktop) -> Result<Self> {
        let (display, at) = RustConnection::connect(Some(desktop.display()))?;
        display.xtest_get_version(2, 2)?.reply().context("no XTEST")?;
        let screen = display.setup().roots.get(at).context("no screen")?;
        let (root, size) = (screen.root, (screen.width_in_pixels, screen.height_in_pixels));
        Ok(Self { display, root, size })
    }

    /// The centre of the leftmost area on the screen that has one of these colours (red, green, blue) and is at
    /// least 20 by 20 pixels large.
    pub fn find(&self, colours: &[[u8; 3]]) -> Result<Option<ScreenPoint>> {
        let (width, height) = self.size;
        let image = self
            .display
            .get_image(ImageFormat::Z_PIXMAP, self.root, 0, 0, width, height, u32::MAX)?
            .reply()?;
        ensure!(image.data.len() == usize::from(width) * usize::from(height) * 4, "pixels of another size");
        let is = |[red, green, blue]: [u8; 3], x: usize, y: usize| {
            let at = (y * usize::from(width) + x) * 4;
            image.data.get(at..at + 3) == Some(&[blue, green, red])
        };
        const SIDE: usize = 20;
        for x in 0..usize::from(width) - SIDE {
            for y in 0..usize::from(height) - SIDE {
                // The corners are round and letters cover the area: only its upper and left edges are
                // checked.
                let is_corner = |colour: [u8; 3]| {
                    is(colour, x, y)
                        && (0..SIDE).all(|step| is(colour, x, y + step))
                        && (0..SIDE).all(|step| is(colour, x + step, y))
                };
                if colours.iter().copied().any(is_corner) {
                    let side = i16::try_from(SIDE / 2)?;
                    return Ok(Some(ScreenPoint {
                        x: i16::try_from(x)? + side,
                        y: i16::try_from(y)? + side,
                    }));
                }
            }
        }
        Ok(None)
    }

    /// Moves the pointer.
    pub fn move_to(&self, at: ScreenPoint) -> Result<()> {
        self.display.xtest_fake_input(MOTION_NOTIFY_EVENT, 0, 0, self.root, at.x, at.y, 0)?;
        self.display.sync()
    }

    /// Presses and releases the first button. Returns when the display has processed both.
    pub fn click(&self) -> Result<()> {
        for kind in [BUTTON_PRESS_EVENT, BUTTON_RELEASE_EVENT] {
            self.display.xtest_fake_input(kind, 1, 0, self.root, 0, 0, 0)?;
        }
        self.display.sync()
    }
}

/// Waits until the display has processed all requests.
trait SyncDisplay {
    fn sync(&self) -> Result<()>;
}

impl SyncDisplay for RustConnection {
    fn sync(&self) -> Result<()> {
        self.get_input_focus()?.reply()?;
        Ok(())
    }
}
