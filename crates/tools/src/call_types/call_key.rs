//! The identity of a call for everything that outlives it: late approvals, shared runs, rounds.

use gatehouse_model::{CallHash, SessionId};

use super::peer::CallSource;

/// What makes two calls identical for late approvals and shared runs: the exact call (which includes the
/// client) and its source.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CallKey {
    hash: CallHash,
    source: Option<CallSource>,
}

impl CallKey {
    pub(crate) fn new(hash: &CallHash, source: Option<CallSource>) -> Self {
        Self { hash: hash.clone(), source }
    }

    /// Whether the source of the call is known. If it isn't, no run is shared and no answer outlives its call.
    pub(crate) fn identifies_caller(&self) -> bool {
        self.source.is_some()
    }

    /// The session of its calls, if another session is another source.
    pub(crate) fn session(&self) -> Option<&SessionId> {
        self.source.as_ref().and_then(CallSource::session)
    }
}
