//! The pending approvals as known to this watch, and how events change them.

use gatehouse_model::ask::Ask;
use gatehouse_model::{AskId, CallHash, Event, PendingAsk};

/// The pending approvals in the order in which they arrived.
#[derive(Default)]
pub(super) struct Board {
    pending: Vec<PendingAsk>,
}

/// A change of the pending approvals.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Change {
    /// A new approval request, or one that is for another call than before.
    Asked(Box<PendingAsk>),
    /// Whether its client still waits changed.
    Waits(AskId, bool),
    /// An approval request has ended.
    Gone(AskId, How),
}

/// How an approval request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// It was answered, here or elsewhere.
    Answered {
        /// Whether it was allowed.
        allowed: bool,
    },
    /// It expired or was withdrawn.
    Over,
}

impl Board {
    pub(super) fn pending(&self) -> &[PendingAsk] {
        &self.pending
    }

    /// The approval requests whose details are complete.
    pub(super) fn known(&self) -> Vec<AskId> {
        let is_whole = |pending: &&PendingAsk| match &pending.ask {
            Ask::Call(call) => call.arguments.is_some(),
            Ask::Client(_)
            | Ask::ConfigChange(_)
            | Ask::Elicitation(_)
            | Ask::Sampling(_)
            | Ask::StepUp(_) => true,
        };
        self.pending.iter().filter(is_whole).map(|pending| pending.id.clone()).collect()
    }

    pub(super) fn find(&self, id: &AskId) -> Option<&PendingAsk> {
        self.pending.iter().find(|pending| pending.id == *id)
    }

    /// Applies an event that ends an approval request.
    pub(super) fn hear(&mut self, event: &Event) -> Vec<Change> {
        match event {
            Event::ApprovalResolved { ask, allowed } => {
                self.drop_one(ask, How::Answered { allowed: *allowed })
            }
            Event::ApprovalExpired { ask } => self.drop_one(ask, How::Over),
            _ => Vec::new(),
        }
    }

    /// Applies a snapshot.
    pub(super) fn replace(&mut self, all: Vec<PendingAsk>) -> Vec<Change> {
        let gone: Vec<AskId> = self
            .pending
            .iter()
            .map(|old| old.id.clone())
            .filter(|id| !all.iter().any(|new| new.id == *id))
            .collect();
        let mut changes: Vec<Change> = gone.iter().flat_map(|id| self.drop_one(id, How::Over)).collect();
        changes.extend(self.add(all));
        changes
    }

    /// Adds approval requests; the end of others is reported by events.
    pub(super) fn add(&mut self, all: Vec<PendingAsk>) -> Vec<Change> {
        all.into_iter().flat_map(|pending| self.put(pending)).collect()
    }

    fn put(&mut self, mut pending: PendingAsk) -> Vec<Change> {
        let Some(old) = self.pending.iter_mut().find(|old| old.id == pending.id) else {
            self.pending.push(pending.clone());
            return vec![Change::Asked(Box::new(pending))];
        };
        // Known details are not sent again. They belong to one call and are not used for another.
        if let (Ask::Call(new), Ask::Call(old)) = (&mut pending.ask, &mut old.ask)
            && new.arguments.is_none()
            && new.hash == old.hash
            && let Some(details) = old.take_details()
        {
            new.put_details(details);
        }
        let before = std::mem::replace(old, pending.clone());
        if hash(&before) != hash(&pending) {
            return vec![Change::Asked(Box::new(pending))];
        }
        if before.waiting != pending.waiting {
            return vec![Change::Waits(pending.id, pending.waiting)];
        }
        Vec::new()
    }

    fn drop_one(&mut self, id: &AskId, how: How) -> Vec<Change> {
        let before = self.pending.len();
        self.pending.retain(|pending| pending.id != *id);
        if self.pending.len() == before { Vec::new() } else { vec![Change::Gone(id.clone(), how)] }
    }
}

/// The hash that an answer has to repeat.
pub(super) fn hash(pending: &PendingAsk) -> Option<&CallHash> {
    match &pending.ask {
        Ask::Call(call) => Some(&call.hash),
        Ask::Client(_) | Ask::ConfigChange(_) | Ask::Elicitation(_) | Ask::Sampling(_) | Ask::StepUp(_) => {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use gatehouse_model::Timestamp;
    use gatehouse_model::ask::ClientAsk;

    use super::*;
    use crate::questions::tests::asked;

    fn ask(id: &str, waiting: bool) -> PendingAsk {
        let ask = Ask::Client(ClientAsk {
            says: "x".into(),
            redirect_uri: "http://127.0.0.1/".into(),
            seen_from: None,
        });
        PendingAsk { id: AskId::new(id), asked_at: Timestamp(0), expires_at: Timestamp(9), ask, waiting }
    }

    #[test]
    fn each_question_is_shown_once_and_leaves_once() {
        let mut board = Board::default();
        assert!(matches!(board.add(vec![ask("ask-1", true)])[..], [Change::Asked(_)]));
        assert!(board.add(vec![ask("ask-1", true)]).is_empty());
        assert_eq!(board.add(vec![ask("ask-1", false)]), [Change::Waits("ask-1".into(), false)]);
        let gone = Event::ApprovalResolved { ask: "ask-1".into(), allowed: true };
        assert_eq!(board.hear(&gone), [Change::Gone("ask-1".into(), How::Answered { allowed: true })]);
        assert!(board.hear(&gone).is_empty());
    }

    #[test]
    fn known_details_stay_with_their_call() {
        let mut board = Board::default();
        board.add(vec![asked("ask-1", Some("1"), false), ask("ask-2", true)]);
        assert_eq!(board.known(), [AskId::new("ask-1"), AskId::new("ask-2")]);
        assert!(board.add(vec![asked("ask-1", None, false)]).is_empty());
        assert_eq!(board.find(&"ask-1".into()), Some(&asked("ask-1", Some("1"), false)));
        let mut other = asked("ask-1", None, false);
        let Ask::Call(call) = &mut other.ask else { panic!("no call") };
        call.hash = CallHash::new("another");
        assert_eq!(board.add(vec![other.clone()]), [Change::Asked(Box::new(other))]);
        assert_eq!(board.known(), [AskId::new("ask-2")]);
    }

    #[test]
    fn a_snapshot_brings_what_was_missed() {
        let mut board = Board::default();
        board.add(vec![ask("ask-1", true)]);
        let changes = board.replace(vec![ask("ask-2", true)]);
        assert!(
            matches!(&changes[..], [Change::Gone(gone, How::Over), Change::Asked(_)] if gone.as_str() == "ask-1")
        );
    }
}
