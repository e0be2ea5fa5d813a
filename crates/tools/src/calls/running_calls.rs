//! Calls in progress: a list with their progress, and a way to cancel those that were sent. Doesn't decide
//! whether a call may run.

use std::collections::HashMap;
use std::sync::Arc;

use gatehouse_model::CallId;
use gatehouse_model::record::{CallProgress, CallTaskState, RunningCall};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

/// Calls in progress. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct RunningCalls(Arc<Mutex<HashMap<CallId, RunningEntry>>>);

struct RunningEntry {
    shown: RunningCall,
    /// Cancels the call; set only while it is with its server.
    cancel: Option<CancellationToken>,
}

impl RunningCalls {
    /// Adds a call, until the guard is dropped.
    pub(crate) fn begin(&self, shown: RunningCall) -> RunningGuard {
        let call = shown.call.clone();
        self.0.lock().insert(call.clone(), RunningEntry { shown, cancel: None });
        RunningGuard { calls: self.clone(), call }
    }

    /// Marks a call as sent, until the guard is dropped.
    pub(crate) fn mark_sent(&self, call: &CallId, cancel: &CancellationToken) -> SentGuard {
        self.set_cancel(call, Some(cancel.clone()));
        SentGuard { calls: self.clone(), call: call.clone() }
    }

    /// Records the progress of a call.
    pub(crate) fn set_progress(&self, call: &CallId, progress: &CallProgress) {
        if let Some(entry) = self.0.lock().get_mut(call) {
            entry.shown.progress = Some(progress.clone());
        }
    }

    /// Records the state of the task that a call became. `true` if it was in another one.
    pub(crate) fn set_task(&self, call: &CallId, state: CallTaskState) -> bool {
        let mut calls = self.0.lock();
        calls.get_mut(call).is_some_and(|entry| entry.shown.task.replace(state) != Some(state))
    }

    /// All calls in progress, oldest first.
    pub(crate) fn list(&self) -> Vec<RunningCall> {
        let mut all: Vec<RunningCall> = self.0.lock().values().map(|entry| entry.shown.clone()).collect();
        all.sort_by(|a, b| (a.at, a.call.as_str()).cmp(&(b.at, b.call.as_str())));
        all
    }

    /// Cancels a call that is with its server; returns false if there is none.
    pub(crate) fn cancel(&self, call: &CallId) -> bool {
        let cancel = self.0.lock().get(call).and_then(|entry| entry.cancel.clone());
        cancel.inspect(CancellationToken::cancel).is_some()
    }

    fn set_cancel(&self, call: &CallId, cancel: Option<CancellationToken>) {
        if let Some(entry) = self.0.lock().get_mut(call) {
            entry.shown.sent = cancel.is_some();
            entry.cancel = cancel;
        }
    }
}

/// Removes a call when it is dropped.
pub(crate) struct RunningGuard {
    calls: RunningCalls,
    call: CallId,
}

impl Drop for RunningGuard {
    fn drop(&mut self) {
        self.calls.0.lock().remove(&self.call);
    }
}

/// Marks a call as no longer with its server when it is dropped.
pub(crate) struct SentGuard {
    calls: RunningCalls,
    call: CallId,
}

impl Drop for SentGuard {
    fn drop(&mut self) {
        self.calls.set_cancel(&self.call, None);
    }
}

#[cfg(test)]
mod tests {
    use gatehouse_model::Timestamp;

    use super::*;

    #[test]
    fn cancels_only_sent_calls() {
        let calls = RunningCalls::default();
        let call = CallId::from("call-1");
        let shown = RunningCall {
            call: call.clone(),
            at: Timestamp(1),
            client: "c".into(),
            server: "s".into(),
            tool: "t".to_owned(),
            sent: false,
            progress: None,
            task: None,
            run: None,
        };
        let guard = calls.begin(shown);
        assert!(!calls.cancel(&call));
        let token = CancellationToken::new();
        let sent = calls.mark_sent(&call, &token);
        calls.set_progress(&call, &CallProgress { progress: 1.0, total: Some(2.0), message: None });
        assert!(calls.list().iter().all(|one| one.sent && one.progress.is_some()));
        assert!(calls.cancel(&call) && token.is_cancelled());
        let states = [CallTaskState::Working, CallTaskState::Working, CallTaskState::Completed];
        assert_eq!(states.map(|state| calls.set_task(&call, state)), [true, false, true]);
        drop(sent);
        assert!(!calls.cancel(&call));
        drop(guard);
        assert!(calls.list().is_empty());
    }
}
