//! What requests for access by OAuth meet in these tests: a user, the documents of clients, and a clock that can be put
//! forward.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::time::Duration;

use gatehouse_gateway::ClientDocuments;
use gatehouse_model::approval::ClientAccessRequest;
use gatehouse_model::{
    ApprovalAnswer, ApprovalRequest, AskUser, BoxFuture, Clock, SystemClock, Timestamp, UserText,
};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::watch;

/// The system's clock, which tests can put forward.
#[derive(Debug, Default)]
pub(crate) struct ShiftedClock {
    ahead: AtomicI64,
}

impl ShiftedClock {
    pub(crate) fn advance(&self, span: Duration) {
        self.ahead.fetch_add(i64::try_from(span.as_millis()).unwrap(), Ordering::SeqCst);
    }
}

impl Clock for ShiftedClock {
    fn now(&self) -> Timestamp {
        Timestamp(SystemClock.now().0 + self.ahead.load(Ordering::SeqCst))
    }
}

/// A user who answers requests for access as told.
pub(crate) struct ScriptedUser {
    /// The requests that were put to the user.
    pub(crate) asked: Mutex<Vec<ClientAccessRequest>>,
    /// The answer to all requests; none is answered before there is one.
    pub(crate) answer: watch::Sender<Option<ApprovalAnswer>>,
    /// How many requests ended without being answered.
    pub(crate) withdrawn: AtomicUsize,
}

impl ScriptedUser {
    pub(crate) fn new() -> Arc<Self> {
        let (asked, withdrawn) = (Mutex::default(), AtomicUsize::new(0));
        Arc::new(Self { asked, answer: watch::Sender::new(None), withdrawn })
    }

    pub(crate) fn allows(&self) {
        self.answer.send_replace(Some(ApprovalAnswer::Accept { content: None }));
    }
}

/// Counts a request that is dropped before it was answered.
struct UnansweredAccess<'a>(&'a AtomicUsize);

impl Drop for UnansweredAccess<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl AskUser for ScriptedUser {
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer> {
        let ApprovalRequest::Client(request) = request else { panic!("another request") };
        self.asked.lock().push(request);
        let mut answers = self.answer.subscribe();
        Box::pin(async move {
            let unanswered = UnansweredAccess(&self.withdrawn);
            let answer = answers.wait_for(Option::is_some).await.map(|answer| (*answer).clone());
            std::mem::forget(unanswered);
            answer.unwrap().unwrap()
        })
    }
}

/// Client ID Metadata Documents by address.
#[derive(Default)]
pub(crate) struct ScriptedDocuments(pub(crate) Mutex<HashMap<String, Value>>);

impl ClientDocuments for ScriptedDocuments {
    fn fetch(&self, address: String) -> BoxFuture<'static, Result<Value, UserText>> {
        let found = self.0.lock().get(&address).cloned();
        Box::pin(std::future::ready(found.ok_or_else(|| "There is none.".into())))
    }
}
