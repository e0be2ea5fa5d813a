//! Why a connection ended.

use std::fmt;
use std::sync::Arc;

use gatehouse_model::status::FailureKind;
use gatehouse_model::{UserText, message};

use super::{RequestError, without_hidden_chars};
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
    /// The stream broke. Why: a sentence without its first capital letter and its full stop.
    Broken(UserText),
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
    pub(crate) fn redacted(self, redactor: &Redactor) -> Self {
        let cause = match self.cause {
            CloseCause::NotProtocol(line) => CloseCause::NotProtocol(redactor.text(line)),
            CloseCause::Broken(why) => CloseCause::Broken(why.map_texts(&|text| redactor.text(text))),
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
        fmt::Display::fmt(&self.user_text(), f)
    }
}

impl CloseReason {
    /// The reason for the user. It may contain text of the server, from which invisible and control characters
    /// are removed.
    #[must_use]
    pub fn user_text(&self) -> UserText {
        let cause: UserText = match &self.cause {
            CloseCause::Requested => message!("error.servers.closed.requested").into(),
            CloseCause::Exited(code) => {
                message!("error.servers.closed.exited", code = code.to_string()).into()
            }
            CloseCause::Signalled(signal) => {
                message!("error.servers.closed.signalled", signal = describe_signal(*signal)).into()
            }
            CloseCause::OutputClosed => message!("error.servers.closed.outputClosed").into(),
            CloseCause::NotProtocol(line) => message!("error.servers.closed.notProtocol", line = line).into(),
            CloseCause::TooLong(limit) => {
                let limit = limit / (1024 * 1024);
                message!("error.servers.closed.tooLong", limit = limit.to_string()).into()
            }
            CloseCause::Broken(why) => message!("error.servers.closed.broken", reason = why.clone()).into(),
            CloseCause::SessionGone => RequestError::SessionGone.user_text(),
            CloseCause::Refused(why) => why.user_text(),
        };
        without_hidden_chars(if self.last_lines.is_empty() {
            cause
        } else {
            let lines = self.last_lines.join(" | ");
            message!("error.servers.closed.lastWords", reason = cause, lines = lines).into()
        })
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

/// The number of a signal with its name, which is the same in every language.
fn describe_signal(signal: i32) -> String {
    let name = match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        4 => "SIGILL",
        6 => "SIGABRT",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        15 => "SIGTERM",
        _ => return signal.to_string(),
    };
    format!("{signal} ({name})")
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
            "The server's process was ended by signal 9 (SIGKILL)."
        );
    }
}
