//! The pending approvals as known to this watch, and how events change them.

use gatehouse_model::approval::ApprovalRequest;
use gatehouse_model::{ApprovalId, CallHash, Event, PendingApproval};

/// The pending approvals in the order in which they arrived.
#[derive(Default)]
pub(super) struct PendingApprovals {
    pending: Vec<PendingApproval>,
}

/// A change of the pending approvals.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ApprovalChange {
    /// A new approval request, or one that is for another call than before.
    Added(Box<PendingApproval>),
    /// Whether its client still waits changed.
    WaitingChanged(ApprovalId, bool),
    /// An approval request has ended.
    Removed(ApprovalId, ApprovalOutcome),
}

/// How an approval request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ApprovalOutcome {
    /// It was answered, here or elsewhere.
    Answered { allowed: bool },
    /// Nobody answered in time, or how it ended isn't known.
    Expired,
    /// What asked for it has ended.
    Withdrawn,
}

impl PendingApprovals {
    pub(super) fn pending(&self) -> &[PendingApproval] {
        &self.pending
    }

    /// The approval requests whose details are complete.
    pub(super) fn known(&self) -> Vec<ApprovalId> {
        let is_whole = |pending: &&PendingApproval| match &pending.request {
            ApprovalRequest::Call(call) => call.arguments.is_some(),
            ApprovalRequest::Client(_)
            | ApprovalRequest::Command(_)
            | ApprovalRequest::ConfigChange(_)
            | ApprovalRequest::Elicitation(_)
            | ApprovalRequest::Sampling(_)
            | ApprovalRequest::StepUp(_) => true,
        };
        self.pending.iter().filter(is_whole).map(|pending| pending.id.clone()).collect()
    }

    pub(super) fn find(&self, id: &ApprovalId) -> Option<&PendingApproval> {
        self.pending.iter().find(|pending| pending.id == *id)
    }

    /// Applies an event that ends an approval request.
    pub(super) fn apply_event(&mut self, event: &Event) -> Vec<ApprovalChange> {
        match event {
            Event::ApprovalResolved { approval, allowed } => {
                self.remove(approval, ApprovalOutcome::Answered { allowed: *allowed })
            }
            Event::ApprovalExpired { approval } => self.remove(approval, ApprovalOutcome::Expired),
            Event::ApprovalWithdrawn { approval } => self.remove(approval, ApprovalOutcome::Withdrawn),
            _ => Vec::new(),
        }
    }

    /// Applies a snapshot.
    pub(super) fn replace(&mut self, all: Vec<PendingApproval>) -> Vec<ApprovalChange> {
        let gone: Vec<ApprovalId> = self
            .pending
            .iter()
            .map(|old| old.id.clone())
            .filter(|id| !all.iter().any(|new| new.id == *id))
            .collect();
        let mut changes: Vec<ApprovalChange> =
            gone.iter().flat_map(|id| self.remove(id, ApprovalOutcome::Expired)).collect();
        changes.extend(self.add(all));
        changes
    }

    /// Adds approval requests; the end of others is reported by events.
    pub(super) fn add(&mut self, all: Vec<PendingApproval>) -> Vec<ApprovalChange> {
        all.into_iter().flat_map(|pending| self.upsert(pending)).collect()
    }

    fn upsert(&mut self, mut pending: PendingApproval) -> Vec<ApprovalChange> {
        let Some(old) = self.pending.iter_mut().find(|old| old.id == pending.id) else {
            self.pending.push(pending.clone());
            return vec![ApprovalChange::Added(Box::new(pending))];
        };
        // Known details are not sent again. They belong to one call and are not used for another.
        if let (ApprovalRequest::Call(new), ApprovalRequest::Call(old)) =
            (&mut pending.request, &mut old.request)
            && new.arguments.is_none()
            && new.hash == old.hash
            && let Some(details) = old.take_details()
        {
            new.put_details(details);
        }
        let before = std::mem::replace(old, pending.clone());
        if hash(&before) != hash(&pending) {
            return vec![ApprovalChange::Added(Box::new(pending))];
        }
        if before.waiting != pending.waiting {
            return vec![ApprovalChange::WaitingChanged(pending.id, pending.waiting)];
        }
        Vec::new()
    }

    fn remove(&mut self, id: &ApprovalId, outcome: ApprovalOutcome) -> Vec<ApprovalChange> {
        let before = self.pending.len();
        self.pending.retain(|pending| pending.id != *id);
        if self.pending.len() == before {
            Vec::new()
        } else {
            vec![ApprovalChange::Removed(id.clone(), outcome)]
        }
    }
}

/// The hash that an answer has to repeat.
pub(crate) fn hash(pending: &PendingApproval) -> Option<&CallHash> {
    match &pending.request {
        ApprovalRequest::Call(call) => Some(&call.hash),
        ApprovalRequest::Client(_)
        | ApprovalRequest::Command(_)
        | ApprovalRequest::ConfigChange(_)
        | ApprovalRequest::Elicitation(_)
        | ApprovalRequest::Sampling(_)
        | ApprovalRequest::StepUp(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use gatehouse_model::Timestamp;
    use gatehouse_model::approval::ClientAccessRequest;

    use super::*;
    use crate::approval_list::tests::asked;

    fn ask(id: &str, waiting: bool) -> PendingApproval {
        let request = ApprovalRequest::Client(ClientAccessRequest {
            says: "x".into(),
            client_id: "https://client.example/id.json".into(),
            redirect_uri: "http://127.0.0.1/".into(),
            server: None,
            known_as: None,
            resembles: None,
            seen_from: None,
            receiver: None,
        });
        PendingApproval {
            id: ApprovalId::new(id),
            requested_at: Timestamp(0),
            expires_at: Timestamp(9),
            request,
            waiting,
            model: None,
        }
    }

    #[test]
    fn reports_each_approval_once() {
        let mut pending_approvals = PendingApprovals::default();
        assert!(matches!(pending_approvals.add(vec![ask("ask-1", true)])[..], [ApprovalChange::Added(_)]));
        assert!(pending_approvals.add(vec![ask("ask-1", true)]).is_empty());
        assert_eq!(
            pending_approvals.add(vec![ask("ask-1", false)]),
            [ApprovalChange::WaitingChanged("ask-1".into(), false)]
        );
        let gone = Event::ApprovalResolved { approval: "ask-1".into(), allowed: true };
        assert_eq!(
            pending_approvals.apply_event(&gone),
            [ApprovalChange::Removed("ask-1".into(), ApprovalOutcome::Answered { allowed: true })]
        );
        assert!(pending_approvals.apply_event(&gone).is_empty());
    }

    #[test]
    fn known_details_stay_with_their_call() {
        let mut pending_approvals = PendingApprovals::default();
        pending_approvals.add(vec![asked("ask-1", Some("1"), false), ask("ask-2", true)]);
        assert_eq!(pending_approvals.known(), [ApprovalId::new("ask-1"), ApprovalId::new("ask-2")]);
        assert!(pending_approvals.add(vec![asked("ask-1", None, false)]).is_empty());
        assert_eq!(pending_approvals.find(&"ask-1".into()), Some(&asked("ask-1", Some("1"), false)));
        let mut other = asked("ask-1", None, false);
        let ApprovalRequest::Call(call) = &mut other.request else { panic!("no call") };
        call.hash = CallHash::new("another");
        assert_eq!(pending_approvals.add(vec![other.clone()]), [ApprovalChange::Added(Box::new(other))]);
        assert_eq!(pending_approvals.known(), [ApprovalId::new("ask-2")]);
    }

    #[test]
    fn snapshot_replaces_missed_events() {
        let mut pending_approvals = PendingApprovals::default();
        pending_approvals.add(vec![ask("ask-1", true)]);
        let changes = pending_approvals.replace(vec![ask("ask-2", true)]);
        assert!(
            matches!(&changes[..], [ApprovalChange::Removed(gone, ApprovalOutcome::Expired), ApprovalChange::Added(_)] if gone.as_str() == "ask-1")
        );
    }
}
