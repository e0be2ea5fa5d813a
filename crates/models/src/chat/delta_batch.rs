//! Puts together what a model writes within a few milliseconds, so that windows aren't flooded with events. The first
//! piece goes out at once, and so does one that comes after a pause.

use std::time::Duration;

use tokio::time::Instant;

/// Shortest time between two events of one conversation.
const INTERVAL: Duration = Duration::from_millis(30);

/// Text that was added to a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TextDelta {
    /// Place of the block in its message.
    pub(super) place: usize,
    /// Bytes of the block's text before this.
    pub(super) offset: usize,
    pub(super) text: String,
}

/// The pieces that wait.
#[derive(Debug, Default)]
pub(super) struct DeltaBatch {
    waiting: Vec<TextDelta>,
    sent: Option<Instant>,
}

impl DeltaBatch {
    /// Adds a piece.
    pub(super) fn add(&mut self, delta: TextDelta) {
        match self.waiting.last_mut() {
            Some(last) if last.place == delta.place && last.offset + last.text.len() == delta.offset => {
                last.text.push_str(&delta.text);
            }
            Some(_) | None => self.waiting.push(delta),
        }
    }

    /// When the pieces that wait are to be sent; `None` if there are none.
    pub(super) fn due(&self) -> Option<Instant> {
        let at = self.sent.map_or_else(Instant::now, |sent| sent + INTERVAL);
        (!self.waiting.is_empty()).then_some(at)
    }

    /// Takes the pieces that are due.
    pub(super) fn take_due(&mut self) -> Vec<TextDelta> {
        match self.due() {
            Some(at) if at <= Instant::now() => self.take_all(),
            Some(_) | None => Vec::new(),
        }
    }

    /// Takes all pieces.
    pub(super) fn take_all(&mut self) -> Vec<TextDelta> {
        if !self.waiting.is_empty() {
            self.sent = Some(Instant::now());
        }
        std::mem::take(&mut self.waiting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delta(place: usize, offset: usize, text: &str) -> TextDelta {
        TextDelta { place, offset, text: text.to_owned() }
    }

    #[tokio::test(start_paused = true)]
    async fn sends_the_first_piece_at_once_and_later_ones_together() {
        let mut batch = DeltaBatch::default();
        assert_eq!(batch.due(), None);
        batch.add(delta(0, 0, "a"));
        assert_eq!(batch.take_due(), [delta(0, 0, "a")]);
        batch.add(delta(0, 1, "b"));
        batch.add(delta(0, 2, "c"));
        batch.add(delta(1, 0, "d"));
        assert!(batch.take_due().is_empty());
        tokio::time::advance(INTERVAL).await;
        assert_eq!(batch.take_due(), [delta(0, 1, "bc"), delta(1, 0, "d")]);
        tokio::time::advance(INTERVAL * 2).await;
        batch.add(delta(1, 1, "e"));
        assert_eq!(batch.take_due(), [delta(1, 1, "e")], "after a pause");
    }
}
