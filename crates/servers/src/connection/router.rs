//! Where a message of the server's goes when it is not rmcp's business: notifications are taken
//! here, in the order of the wire, before anything else sees them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use gatehouse_model::Clock;
use gatehouse_model::server::LogLine;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::mpsc::{self, error::TrySendError};
use tokio_util::task::TaskTracker;

use super::Inbound;
use super::calls::Calls;

/// Longest log line that is made of one notification, in characters.
const LOG_LINE: usize = 8 * 1024;

/// Takes what the server says by itself.
pub(super) struct Router {
    /// The requests that wait.
    pub(super) calls: Calls,
    inbound: mpsc::Sender<Inbound>,
    owed: [Arc<AtomicBool>; 3],
    clock: Arc<dyn Clock>,
    tasks: TaskTracker,
}

impl Router {
    /// Sends everything but progress to `inbound`.
    pub(super) fn new(inbound: mpsc::Sender<Inbound>, clock: Arc<dyn Clock>, tasks: TaskTracker) -> Self {
        Self { calls: Calls::default(), inbound, owed: Default::default(), clock, tasks }
    }

    /// Takes one notification.
    pub(super) fn notification(&self, method: &str, params: Option<&RawValue>) {
        match method {
            "notifications/progress" => {
                if !params.is_some_and(|params| self.calls.progress(params)) {
                    tracing::trace!("progress came that nobody waits for");
                }
            }
            "notifications/tools/list_changed" => self.change(0, Inbound::ToolsChanged),
            "notifications/prompts/list_changed" => self.change(1, Inbound::PromptsChanged),
            "notifications/resources/list_changed" => self.change(2, Inbound::ResourcesChanged),
            "notifications/resources/updated" => {
                #[derive(Deserialize)]
                struct Params {
                    uri: String,
                }
                if let Some(Params { uri }) =
                    params.and_then(|params| serde_json::from_str(params.get()).ok())
                {
                    self.offer(Inbound::ResourceUpdated { uri });
                }
            }
            "notifications/message" => {
                if let Some(text) = params.and_then(log_text) {
                    self.offer(Inbound::Log { line: LogLine { at: self.clock.now(), text } });
                }
            }
            other => tracing::trace!(method = other, "a notification is passed over"),
        }
    }

    /// Passes on a line of standard error.
    pub(super) fn stderr(&self, text: String) -> LogLine {
        let line = LogLine { at: self.clock.now(), text };
        self.offer(Inbound::Stderr(line.clone()));
        line
    }

    /// A log line or an update that may be lost when nobody takes it.
    fn offer(&self, inbound: Inbound) {
        if let Err(TrySendError::Full(_)) = self.inbound.try_send(inbound) {
            tracing::debug!("a server says more than is taken; a line of it is lost");
        }
    }

    /// A change that must arrive: where there is no room now, one of its kind waits for it.
    fn change(&self, kind: usize, change: Inbound) {
        let Err(TrySendError::Full(change)) = self.inbound.try_send(change) else { return };
        let Some(owed) = self.owed.get(kind).map(Arc::clone) else { return };
        if owed.swap(true, Ordering::AcqRel) {
            return;
        }
        let inbound = self.inbound.clone();
        self.tasks.spawn(async move {
            let permit = inbound.reserve().await;
            owed.store(false, Ordering::Release);
            if let Ok(permit) = permit {
                permit.send(change);
            }
        });
    }
}

/// `level logger: data` of a `notifications/message`.
fn log_text(params: &RawValue) -> Option<String> {
    #[derive(Deserialize)]
    struct Params<'a> {
        #[serde(default)]
        level: Option<String>,
        #[serde(default)]
        logger: Option<String>,
        #[serde(borrow)]
        data: &'a RawValue,
    }
    let Params { level, logger, data } = serde_json::from_str(params.get()).ok()?;
    let data = serde_json::from_str::<String>(data.get()).unwrap_or_else(|_| data.get().to_owned());
    let mut text = level.unwrap_or_default();
    if let Some(logger) = logger {
        text.push(' ');
        text.push_str(&logger);
    }
    text.push_str(": ");
    text.extend(data.chars().take(LOG_LINE));
    Some(text)
}

#[cfg(test)]
mod tests {
    use gatehouse_model::SystemClock;

    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    fn router(room: usize) -> (Router, mpsc::Receiver<Inbound>) {
        let (inbound, taken) = mpsc::channel(room);
        (Router::new(inbound, Arc::new(SystemClock), TaskTracker::new()), taken)
    }

    #[tokio::test]
    async fn a_change_waits_for_room_and_is_not_doubled() {
        let (router, mut taken) = router(1);
        router.notification("notifications/message", Some(&raw(r#"{"level":"info","data":"hello"}"#)));
        for _ in 0..3 {
            router.notification("notifications/tools/list_changed", None);
        }
        let Some(Inbound::Log { line }) = taken.recv().await else { panic!("a log line") };
        assert_eq!(line.text, "info: hello");
        assert_eq!(taken.recv().await, Some(Inbound::ToolsChanged));
        drop(router);
        assert_eq!(taken.recv().await, None);
    }

    #[tokio::test]
    async fn log_lines_are_lost_rather_than_waited_for() {
        let (router, mut taken) = router(1);
        for number in 0..3 {
            router.notification("notifications/message", Some(&raw(&format!(r#"{{"data":{number}}}"#))));
        }
        drop(router);
        assert!(matches!(taken.recv().await, Some(Inbound::Log { line }) if line.text == ": 0"));
        assert_eq!(taken.recv().await, None);
    }
}
