//! Progress to a client that asked for it: tiny rising values while a person decides (PERM-11),
//! the server's own afterwards. What would not rise is dropped, as the protocol wants it.

use std::fmt;

use gatehouse_servers::Progress;
use parking_lot::Mutex;

use crate::call::ProgressOut;
use crate::raw::{Members, object, raw};

/// How much the value rises with each sign of life.
const STEP: f64 = 1e-6;

/// The way to one call's client.
pub(crate) struct Rising {
    out: ProgressOut,
    last: Mutex<Option<f64>>,
}

impl fmt::Debug for Rising {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rising").field("last", &*self.last.lock()).finish_non_exhaustive()
    }
}

impl Rising {
    pub(crate) fn new(out: ProgressOut) -> Self {
        Self { out, last: Mutex::new(None) }
    }

    /// Tells the client that a person still decides.
    pub(crate) fn waiting(&self) {
        let mut last = self.last.lock();
        let value = last.unwrap_or(0.0) + STEP;
        *last = Some(value);
        // Under the lock, so that nothing overtakes; `out` never waits.
        (self.out)(raw(format!(
            r#"{{"progress":{value:.6},"message":"Waiting for the user to allow or deny this call in Gatehouse."}}"#
        )));
    }

    /// Passes on what the server said, without its token.
    pub(crate) fn relay(&self, progress: &Progress) {
        let mut last = self.last.lock();
        if last.is_some_and(|last| progress.progress <= last) {
            return;
        }
        // Where nobody was asked, the server's values are its own affair.
        if last.is_some() {
            *last = Some(progress.progress);
        }
        let Some(members) = Members::read(progress.raw.get()) else { return };
        (self.out)(raw(object(members.iter().filter(|(name, _)| *name != "progressToken"))));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::value::RawValue;

    use super::*;

    fn said(progress: f64, rest: &str) -> Progress {
        let raw = RawValue::from_string(format!(r#"{{"progressToken":"g1","progress":{progress}{rest}}}"#))
            .unwrap();
        Progress { progress, raw }
    }

    #[test]
    fn values_only_rise() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let to = seen.clone();
        let rising = Rising::new(Arc::new(move |raw| to.lock().push(raw.get().to_owned())));
        rising.waiting();
        rising.waiting();
        rising.relay(&said(0.0, ""));
        rising.relay(&said(0.5, r#","total":1,"x":null"#));
        rising.relay(&said(0.5, ""));
        rising.relay(&said(1.0, ""));
        let seen = seen.lock();
        assert_eq!(seen.len(), 4, "{seen:?}");
        assert!(seen[0].starts_with(r#"{"progress":0.000001,"#));
        assert!(seen[1].starts_with(r#"{"progress":0.000002,"#));
        assert_eq!(seen[2], r#"{"progress":0.5,"total":1,"x":null}"#);
        assert_eq!(seen[3], r#"{"progress":1}"#);
    }

    #[test]
    fn without_a_question_the_server_speaks_for_itself() {
        let seen = Arc::new(Mutex::new(0));
        let to = seen.clone();
        let rising = Rising::new(Arc::new(move |_| *to.lock() += 1));
        rising.relay(&said(0.0, ""));
        rising.relay(&said(0.0, ""));
        assert_eq!(*seen.lock(), 2);
    }
}
