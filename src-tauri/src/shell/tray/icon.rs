//! The tray's icon: the application icon with a mark for the state: nothing, a disc for pending
//! approvals, two bars on grey while paused, a triangle for problems. The marks differ in shape too, for
//! users who cannot distinguish the colours.

use gatehouse_desktop::TrayIconState;
use tauri::image::Image;

const AMBER: [u8; 4] = [0xf5, 0x9f, 0x00, 0xff];
const RED: [u8; 4] = [0xe0, 0x31, 0x31, 0xff];
const SLATE: [u8; 4] = [0x34, 0x3a, 0x40, 0xff];

/// Draws the icon with its mark.
pub(super) fn draw(base: &Image<'_>, look: TrayIconState) -> Image<'static> {
    let (width, height) = (base.width(), base.height());
    let mut rgba = base.rgba().to_vec();
    let across = usize::try_from(width).unwrap_or(usize::MAX).max(1);
    for (index, pixel) in rgba.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        if look == TrayIconState::Paused {
            *pixel = grey(*pixel);
        }
        // The mark is in the lower right quarter, with coordinates from 0 to 1.
        let at = |place: usize, size: u32| {
            let place = u16::try_from(place).map_or(f64::MAX, f64::from);
            (place + 0.5) / f64::from(size) * 2.0 - 1.0
        };
        if let Some(colour) = mark(look, at(index % across, width), at(index / across, height)) {
            *pixel = colour;
        }
    }
    Image::new_owned(rgba, width, height)
}

/// The mark's colour at a point of the quarter; `None` outside of the mark.
fn mark(look: TrayIconState, x: f64, y: f64) -> Option<[u8; 4]> {
    if !(0.0..=1.0).contains(&x) || !(0.0..=1.0).contains(&y) {
        return None;
    }
    match look {
        TrayIconState::Normal => None,
        TrayIconState::Waiting => ((x - 0.5).hypot(y - 0.5) <= 0.48).then_some(AMBER),
        TrayIconState::Paused => {
            let bar = (0.1..0.4).contains(&x) || (0.6..0.9).contains(&x);
            bar.then_some(SLATE)
        }
        TrayIconState::Problem => ((x - 0.5).abs() <= y / 2.0).then_some(RED),
    }
}

fn grey([red, green, blue, alpha]: [u8; 4]) -> [u8; 4] {
    let sum = u16::from(red) + u16::from(green) + u16::from(blue);
    let mean = u8::try_from(sum / 3).unwrap_or(u8::MAX);
    [mean, mean, mean, alpha]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_differ_and_stay_in_their_quarter() {
        let base = Image::new_owned([10, 200, 60, 255].repeat(32 * 32), 32, 32);
        let normal = draw(&base, TrayIconState::Normal);
        assert_eq!(normal.rgba(), base.rgba());
        let mut seen = vec![normal.rgba().to_vec()];
        for (look, elsewhere) in [
            (TrayIconState::Waiting, [10, 200, 60, 255]),
            (TrayIconState::Problem, [10, 200, 60, 255]),
            (TrayIconState::Paused, [90, 90, 90, 255]),
        ] {
            let drawn = draw(&base, look);
            let pixel = |x: usize, y: usize| drawn.rgba()[(y * 32 + x) * 4..][..4].to_vec();
            assert_eq!(pixel(2, 2), elsewhere, "{look:?}");
            assert_eq!(pixel(31, 2), elsewhere, "{look:?}");
            assert!(!seen.contains(&drawn.rgba().to_vec()), "{look:?}");
            seen.push(drawn.rgba().to_vec());
        }
    }
}
