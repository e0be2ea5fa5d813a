//! The end of a connection and its reason. The reason is set once and may be read by any number of
//! callers.

use std::fmt;
use std::sync::Arc;

use gatehouse_model::status::FailureKind;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::error::{ConnectError, RequestError};
use crate::redact::Redactor;

/// What ended a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CloseCause {
    /// Gatehouse closed it.
    Requested,
    /// The process exited with this code.
    Exited(i32),
    /// The process was ended by this signal.
    Signalled(i32),
    /// The process closed its output but kept running.
    OutputClosed,
    /// The process prints something other than the protocol; the first such line.
    NotProtocol(String),
    /// A message exceeded this size limit, in bytes.
    TooLong(usize),
    /// The stream broke.
    Broken(String),
    /// The session has expired on the server.
    SessionGone,
    /// The server rejected a message whose response is awaited.
    Refused(RequestError),
}

/// What ended a connection, with the last output of the process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CloseReason {
    pub cause: CloseCause,
    /// Last lines of standard error, oldest first.
    pub last_lines: Arc<[String]>,
}

impl CloseReason {
    /// A reason without output of the process.
    pub(crate) fn new(cause: CloseCause) -> Self {
        Self { cause, last_lines: Arc::from([]) }
    }

    /// The same without the server's secrets.
    pub(super) fn redacted(self, redactor: &Redactor) -> Self {
        let cause = match self.cause {
            CloseCause::NotProtocol(line) => CloseCause::NotProtocol(redactor.text(line)),
            CloseCause::Broken(why) => CloseCause::Broken(redactor.text(why)),
            CloseCause::Refused(error) => CloseCause::Refused(error.redacted(redactor)),
            cause @ (CloseCause::Requested
            | CloseCause::Exited(_)
            | CloseCause::Signalled(_)
            | CloseCause::OutputClosed
            | CloseCause::TooLong(_)
            | CloseCause::SessionGone) => cause,
        };
        let last_lines = self.last_lines.iter().map(|line| redactor.text(line.clone())).collect();
        Self { cause, last_lines }
    }
}

impl fmt::Display for CloseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cause {
            CloseCause::Requested => f.write_str("Gatehouse closed the connection.")?,
            CloseCause::Exited(code) => write!(f, "The server's process ended with exit code {code}.")?,
            CloseCause::Signalled(signal) => {
                write!(f, "The server's process was ended by signal {signal} ({}).", signal_name(*signal))?;
            }
            CloseCause::OutputClosed => f.write_str("The server closed its standard output.")?,
            CloseCause::NotProtocol(line) => write!(
                f,
                "The server prints something other than the protocol on its standard output, beginning with: {line}"
            )?,
            CloseCause::TooLong(limit) => {
                write!(f, "The server sent a message of more than {} MiB.", limit / (1024 * 1024))?;
            }
            CloseCause::Broken(why) => write!(f, "The connection broke: {why}.")?,
            CloseCause::SessionGone => f.write_str("The server no longer knows the session.")?,
            CloseCause::Refused(why) => write!(f, "{why}")?,
        }
        if !self.last_lines.is_empty() {
            f.write_str(" Its last words were: ")?;
            for (index, line) in self.last_lines.iter().enumerate() {
                if index > 0 {
                    f.write_str(" | ")?;
                }
                f.write_str(line)?;
            }
        }
        Ok(())
    }
}

impl CloseReason {
    /// The failure class of an unexpected end.
    #[must_use]
    pub fn failure_kind(&self) -> FailureKind {
        match &self.cause {
            CloseCause::Refused(error) => error.failure_kind(),
            CloseCause::Requested => FailureKind::Unknown,
            CloseCause::NotProtocol(_) | CloseCause::TooLong(_) => FailureKind::Protocol,
            CloseCause::Exited(_)
            | CloseCause::Signalled(_)
            | CloseCause::OutputClosed
            | CloseCause::Broken(_)
            | CloseCause::SessionGone => FailureKind::TemporaryNetwork,
        }
    }
}

impl From<CloseReason> for ConnectError {
    fn from(reason: CloseReason) -> Self {
        if let CloseCause::Refused(error) = reason.cause {
            return error.into();
        }
        Self::Ended { kind: reason.failure_kind(), reason: reason.to_string() }
    }
}

fn signal_name(signal: i32) -> &'static str {
    match signal {
        1 => "hang-up",
        2 => "interrupt",
        4 => "illegal instruction",
        6 => "abort",
        8 => "arithmetic error",
        9 => "kill",
        11 => "memory fault",
        13 => "broken pipe",
        15 => "terminate",
        _ => "unnamed",
    }
}

/// The three stages of a connection's end: requested, reason known, nothing left.
pub(crate) struct CloseSignal {
    requested: CancellationToken,
    known: watch::Sender<Option<CloseReason>>,
    gone: CancellationToken,
}

impl Default for CloseSignal {
    fn default() -> Self {
        Self {
            requested: CancellationToken::new(),
            known: watch::Sender::new(None),
            gone: CancellationToken::new(),
        }
    }
}

impl CloseSignal {
    /// Requests the end.
    pub(crate) fn request_close(&self) {
        self.requested.cancel();
    }

    /// Waits until the end is requested.
    pub(crate) async fn close_requested(&self) {
        self.requested.cancelled().await;
    }

    /// Sets the reason. Only the first one counts.
    pub(crate) fn set_reason(&self, reason: CloseReason) {
        self.known.send_if_modified(|known| {
            let first = known.is_none();
            if first {
                *known = Some(reason);
            }
            first
        });
    }

    /// The reason, if the connection has ended.
    pub(crate) fn current_reason(&self) -> Option<CloseReason> {
        self.known.borrow().clone()
    }

    pub(crate) async fn wait_for_reason(&self) -> CloseReason {
        let mut known = self.known.subscribe();
        match known.wait_for(Option::is_some).await {
            Ok(reason) => reason.clone().unwrap_or_else(|| CloseReason::new(CloseCause::Requested)),
            Err(_) => CloseReason::new(CloseCause::Requested),
        }
    }

    /// Marks that nothing of the connection is left.
    pub(crate) fn mark_closed(&self) {
        self.gone.cancel();
    }

    /// Waits until nothing of the connection is left.
    pub(crate) async fn wait_until_closed(&self) {
        self.gone.cancelled().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_close_reasons() {
        let reason = CloseReason {
            cause: CloseCause::Exited(3),
            last_lines: Arc::from(["cannot open database".to_owned(), "giving up".to_owned()]),
        };
        assert_eq!(
            reason.to_string(),
            "The server's process ended with exit code 3. Its last words were: cannot open database | giving up"
        );
        assert_eq!(
            CloseReason::new(CloseCause::Signalled(9)).to_string(),
            "The server's process was ended by signal 9 (kill)."
        );
    }

    #[tokio::test]
    async fn first_reason_wins_for_all_waiters() {
        let closing = CloseSignal::default();
        closing.set_reason(CloseReason::new(CloseCause::Exited(1)));
        closing.set_reason(CloseReason::new(CloseCause::Requested));
        assert_eq!(closing.wait_for_reason().await.cause, CloseCause::Exited(1));
        assert_eq!(closing.wait_for_reason().await.cause, CloseCause::Exited(1));
    }
}
