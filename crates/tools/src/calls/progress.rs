//! Progress notifications to a client that asked for them: tiny increasing values while the user decides
//! (PERM-11), then the server's own. Values that don't increase are dropped, as the protocol requires.

use std::fmt;

use gatehouse_common::invisible_chars::one_line;
use gatehouse_mcp_wire::raw::{Members, object, raw};
use gatehouse_model::record::CallProgress;
use gatehouse_servers::Progress;
use parking_lot::Mutex;

use crate::call_types::ProgressCallback;

/// Increase of the value with each notification while waiting.
const WAITING_STEP: f64 = 1e-6;

/// Progress sink of one call that keeps values increasing.
pub(crate) struct ProgressReporter {
    out: ProgressCallback,
    last: Mutex<Option<f64>>,
}

impl fmt::Debug for ProgressReporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProgressReporter").field("last", &*self.last.lock()).finish_non_exhaustive()
    }
}

impl ProgressReporter {
    pub(crate) fn new(out: ProgressCallback) -> Self {
        Self { out, last: Mutex::new(None) }
    }

    /// Tells the client that the user hasn't decided yet.
    pub(crate) fn report_waiting(&self) {
        let mut last = self.last.lock();
        let value = last.unwrap_or(0.0) + WAITING_STEP;
        *last = Some(value);
        // Sent with the lock held, so that notifications stay in order; `out` never blocks.
        (self.out)(raw(format!(
            r#"{{"progress":{value:.6},"message":"Waiting for the user to allow or deny this call in Gatehouse."}}"#
        )));
    }

    /// Relays the server's progress, without its token.
    pub(crate) fn relay(&self, progress: &Progress) {
        let mut last = self.last.lock();
        if last.is_some_and(|last| progress.progress <= last) {
            return;
        }
        // If the client got no waiting notifications, the server's values are relayed unchecked.
        if last.is_some() {
            *last = Some(progress.progress);
        }
        let Ok(members) = Members::of(&progress.raw) else { return };
        (self.out)(raw(object(members.iter().filter(|(name, _)| *name != "progressToken"))));
    }
}

/// Longest progress message that is shown, in characters.
const MAX_MESSAGE_CHARS: usize = 200;

/// Progress as the UI shows it: the message on one line, without invisible characters, and cut.
pub(crate) fn progress_view(progress: &Progress) -> CallProgress {
    let members = Members::of(&progress.raw).ok();
    let total = members.as_ref().and_then(|members| serde_json::from_str(members.get("total")?.get()).ok());
    let message = members.as_ref().and_then(|members| members.text("message")).map(|message| {
        let line = one_line(&message, MAX_MESSAGE_CHARS + 1);
        match line.char_indices().nth(MAX_MESSAGE_CHARS) {
            Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
            None => line,
        }
    });
    CallProgress { progress: progress.progress, total, message: message.filter(|text| !text.is_empty()) }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::value::RawValue;

    use super::*;

    fn progress_of(progress: f64, rest: &str) -> Progress {
        let raw = RawValue::from_string(format!(r#"{{"progressToken":"g1","progress":{progress}{rest}}}"#))
            .unwrap();
        Progress { progress, raw }
    }

    #[test]
    fn reported_values_only_rise() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let to = seen.clone();
        let reporter = ProgressReporter::new(Arc::new(move |raw| to.lock().push(raw.get().to_owned())));
        reporter.report_waiting();
        reporter.report_waiting();
        reporter.relay(&progress_of(0.0, ""));
        reporter.relay(&progress_of(0.5, r#","total":1,"x":null"#));
        reporter.relay(&progress_of(0.5, ""));
        reporter.relay(&progress_of(1.0, ""));
        let seen = seen.lock();
        assert_eq!(seen.len(), 4, "{seen:?}");
        assert!(seen[0].starts_with(r#"{"progress":0.000001,"#));
        assert!(seen[1].starts_with(r#"{"progress":0.000002,"#));
        assert_eq!(seen[2], r#"{"progress":0.5,"total":1,"x":null}"#);
        assert_eq!(seen[3], r#"{"progress":1}"#);
    }

    #[test]
    fn cleans_and_truncates_messages() {
        let shown = progress_view(&progress_of(1.0, r#","total":4,"message":"a\u202eb\u200b\n\tc""#));
        assert_eq!((shown.progress, shown.total, shown.message.as_deref()), (1.0, Some(4.0), Some("ab c")));
        let long = progress_view(&progress_of(1.0, &format!(r#","message":"{}""#, "ä".repeat(5000))));
        assert_eq!(long.message.map(|text| text.chars().count()), Some(MAX_MESSAGE_CHARS + 1));
        assert_eq!(progress_view(&progress_of(1.0, r#","message":"\u200b""#)).message, None);
    }

    #[test]
    fn relays_all_values_when_nobody_waited() {
        let seen = Arc::new(Mutex::new(0));
        let to = seen.clone();
        let reporter = ProgressReporter::new(Arc::new(move |_| *to.lock() += 1));
        reporter.relay(&progress_of(0.0, ""));
        reporter.relay(&progress_of(0.0, ""));
        assert_eq!(*seen.lock(), 2);
    }
}
