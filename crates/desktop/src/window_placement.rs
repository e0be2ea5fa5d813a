//! Where the main window was when it was closed, and whether it can be there again. All figures are physical pixels.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Height of the strip at the top by which a window can be moved, at least.
const TITLE_HEIGHT: i64 = 32;
/// How much of that strip has to be on a screen, so that the window can be reached.
const MIN_VISIBLE: i64 = 120;
/// Larger windows are errors in the file.
const MAX_SIDE: u32 = 32_768;

/// Position and size of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WindowPlacement {
    pub x: i32,
    pub y: i32,
    pub width: u32,
    pub height: u32,
    pub is_maximized: bool,
}

/// The part of a screen that windows may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScreenArea {
    pub x: i32,
    pub y: i32,
    pub width: u32,
    pub height: u32,
}

impl WindowPlacement {
    /// Parses a stored placement; `None` if it cannot be parsed or makes no sense.
    #[must_use]
    pub fn from_stored(value: Value) -> Option<Self> {
        let placement: Self = serde_json::from_value(value).ok()?;
        let is_side = |side: u32| (1..=MAX_SIDE).contains(&side);
        (is_side(placement.width) && is_side(placement.height)).then_some(placement)
    }

    /// What is stored when the window is like this now. A maximised window keeps the place that it goes back to.
    #[must_use]
    pub fn after(self, stored: Option<Self>) -> Self {
        match stored {
            Some(stored) if self.is_maximized => Self { is_maximized: true, ..stored },
            Some(_) | None => self,
        }
    }

    /// The placement on the screens that there are now, no larger than its screen; `None` if the user could not reach
    /// the window there.
    #[must_use]
    pub fn fit(self, screens: &[ScreenArea]) -> Option<Self> {
        let screen = screens.iter().copied().find(|screen| self.is_reachable_on(*screen))?;
        Some(Self { width: self.width.min(screen.width), height: self.height.min(screen.height), ..self })
    }

    fn is_reachable_on(self, screen: ScreenArea) -> bool {
        let (left, top) = (i64::from(self.x), i64::from(self.y));
        let (screen_left, screen_top) = (i64::from(screen.x), i64::from(screen.y));
        let right = (left + i64::from(self.width)).min(screen_left + i64::from(screen.width));
        let bottom = screen_top + i64::from(screen.height);
        right - left.max(screen_left) >= MIN_VISIBLE && top >= screen_top && top + TITLE_HEIGHT <= bottom
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn placement(x: i32, y: i32, width: u32, height: u32) -> WindowPlacement {
        WindowPlacement { x, y, width, height, is_maximized: false }
    }

    #[test]
    fn fits_only_where_it_can_be_reached() {
        let screens = [
            ScreenArea { x: 0, y: 27, width: 1_920, height: 1_053 },
            ScreenArea { x: -1_280, y: 0, width: 1_280, height: 800 },
        ];
        for (at, expected) in [
            ((100, 100, 1_120, 720), Some((100, 100, 1_120, 720))),
            ((-1_280, 0, 1_120, 720), Some((-1_280, 0, 1_120, 720))),
            // Larger than its screen.
            ((0, 27, 3_000, 2_000), Some((0, 27, 1_920, 1_053))),
            // Partly outside, but its title can be caught.
            ((1_800, 500, 1_120, 720), Some((1_800, 500, 1_120, 720))),
            ((1_850, 500, 1_120, 720), None),
            // On a screen that is gone.
            ((2_000, 100, 1_120, 720), None),
            ((100, -400, 1_120, 720), None),
            ((100, 1_070, 1_120, 720), None),
            ((i32::MAX, i32::MAX, u32::MAX, u32::MAX), None),
        ] {
            let (x, y, width, height) = at;
            let found = placement(x, y, width, height).fit(&screens);
            let expected = expected.map(|(x, y, width, height)| placement(x, y, width, height));
            assert_eq!(found, expected, "{at:?}");
        }
        assert_eq!(placement(0, 27, 1_120, 720).fit(&[]), None);
    }

    #[test]
    fn keeps_place_of_maximized_window() {
        let normal = placement(10, 20, 1_120, 720);
        let maximized = WindowPlacement { is_maximized: true, ..placement(0, 0, 1_920, 1_080) };
        assert_eq!(maximized.after(Some(normal)), WindowPlacement { is_maximized: true, ..normal });
        assert_eq!(maximized.after(None), maximized);
        assert_eq!(normal.after(Some(maximized)), normal);
    }

    #[test]
    fn ignores_stored_nonsense() {
        let good = placement(-5, 20, 1_120, 720);
        assert_eq!(WindowPlacement::from_stored(serde_json::to_value(good).unwrap()), Some(good));
        for bad in [
            json!(null),
            json!({}),
            json!({"x": 0, "y": 0, "width": 0, "height": 720, "isMaximized": false}),
            json!({"x": 0, "y": 0, "width": 99_999, "height": 720, "isMaximized": false}),
            json!({"x": 0, "y": 0, "width": -1, "height": 720, "isMaximized": false}),
        ] {
            assert_eq!(WindowPlacement::from_stored(bad.clone()), None, "{bad}");
        }
    }
}
