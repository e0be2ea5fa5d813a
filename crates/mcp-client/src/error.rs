//! Errors of connecting and of requests, with messages for the user and a failure class. What a request and a
//! handshake have in common is a [`RequestError`], so that its text and its class stand once.
//!
//! Must never contain a secret of the server when it leaves the crate: connections redact their errors.

pub(crate) mod classification;
mod close_reason;
mod upstream;

use std::fmt;
use std::time::Duration;

use gatehouse_common::invisible_chars::clean;
use gatehouse_model::server::ProtocolVersionSetting;
use gatehouse_model::status::FailureKind;
use gatehouse_model::{Message, UserText, message};

pub use self::close_reason::{CloseCause, CloseReason};
pub use self::upstream::{UpstreamError, UpstreamErrorKind};
use crate::redact::Redactor;

/// Why there is no connection. `Display` is English.
#[derive(Clone, Debug)]
pub enum ConnectError {
    CommandNotFound {
        /// As it was entered.
        command: String,
        /// How to install it, or where it was looked for.
        advice: UserText,
    },
    /// The command exists but cannot be started.
    CannotStart {
        /// As it was entered.
        command: String,
        /// The error of the operating system.
        why: String,
    },
    /// The server's settings cannot be used.
    BadConfig {
        /// What is wrong with them: one sentence.
        what: UserText,
    },
    /// The secret store doesn't respond.
    Secrets {
        /// The error of the store.
        why: String,
    },
    /// The transport is not supported here.
    Unsupported {
        /// The transport's name.
        kind: &'static str,
    },
    /// The connection ended before the handshake was done.
    Ended(Box<CloseReason>),
    /// The time limit for connecting was reached.
    TimedOut {
        /// The limit.
        after: Duration,
    },
    /// There is no common protocol revision.
    Version {
        /// What the server offered.
        offered: String,
    },
    /// The server does not accept the revision that its settings name.
    Pinned {
        version: &'static str,
        /// What it answered.
        error: Box<ConnectError>,
    },
    /// A message of the handshake failed as any request can.
    Request(RequestError),
}

/// Why a request has no response. `Display` is English.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestError {
    /// The connection has ended.
    Closed(Box<CloseReason>),
    /// The time limit was reached; the server was sent a cancellation.
    TimedOut {
        /// The limit that was reached.
        after: Duration,
    },
    /// It was cancelled; if it had been sent, the server was sent a cancellation.
    Cancelled,
    /// The server requires authentication.
    NeedsAuth {
        /// Resource metadata or issuer, if the server names it.
        issuer: Option<String>,
    },
    /// There is no way to register with the authorization server.
    Unregistered {
        /// Why: a sentence.
        reason: UserText,
    },
    /// The server requires a sign-in or more scopes than the token has, and they cannot be
    /// obtained.
    NoSignIn {
        /// Why: sentences.
        reason: UserText,
    },
    /// The server authenticated us and denies access.
    Forbidden,
    /// The session has expired on the server.
    SessionGone,
    /// The server answered with an HTTP status instead of a message.
    Status {
        status: u16,
        /// The beginning of the response body, if it is text.
        body: String,
        /// Its `Retry-After`, in seconds.
        retry_after: Option<u64>,
    },
    /// The server could not be reached.
    Network(NetworkError),
    /// The server violates the protocol. How: a sentence without its first capital letter.
    Protocol(UserText),
}

/// A network error on the way to the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkError {
    /// What happened: a sentence without its first capital letter and its full stop.
    pub text: UserText,
    /// Whether it persists until something is changed, so that a retry cannot help.
    pub is_permanent: bool,
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.user_text(), f)
    }
}

impl std::error::Error for ConnectError {}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.user_text(), f)
    }
}

impl std::error::Error for RequestError {}

impl ConnectError {
    /// The attempt was cancelled.
    pub(crate) const CANCELLED: Self = Self::Request(RequestError::Cancelled);

    /// The server's settings cannot be used, for this reason.
    #[must_use]
    pub fn bad_config(what: Message) -> Self {
        Self::BadConfig { what: what.into() }
    }

    /// The same as the failure of an attempt that had to use the revision in the server's settings.
    pub(crate) fn with_pinned_version(self, setting: ProtocolVersionSetting) -> Self {
        if setting == ProtocolVersionSetting::Auto || self.failure_kind() != FailureKind::Protocol {
            return self;
        }
        Self::Pinned { version: setting.as_str(), error: Box::new(self) }
    }

    /// The error for the user. It may contain text of the server (its last lines of standard error, for
    /// example), from which invisible and control characters are removed.
    #[must_use]
    pub fn user_text(&self) -> UserText {
        let message = match self {
            Self::CommandNotFound { command, advice } => {
                message!("error.servers.commandNotFound", command = command, advice = advice.clone())
            }
            Self::CannotStart { command, why } => {
                message!("error.servers.cannotStart", command = command, reason = why)
            }
            Self::BadConfig { what } => message!("error.servers.badConfig", what = what.clone()),
            Self::Secrets { why } => message!("error.servers.secretUnread", reason = why),
            Self::Unsupported { kind } => message!("error.servers.unsupported", kind = *kind),
            Self::Ended(reason) => message!("error.servers.ended", reason = reason.user_text()),
            Self::TimedOut { after } => message!("error.servers.noAnswer", seconds = seconds(*after)),
            Self::Version { offered } => message!("error.servers.version", offered = offered),
            Self::Pinned { version, error } => {
                message!("error.servers.pinnedVersion", version = *version, reason = error.user_text())
            }
            Self::Request(error) => return error.user_text(),
        };
        without_hidden_chars(message.into())
    }

    /// The failure class (SRV-4).
    #[must_use]
    pub fn failure_kind(&self) -> FailureKind {
        match self {
            Self::CommandNotFound { .. }
            | Self::CannotStart { .. }
            | Self::BadConfig { .. }
            | Self::Unsupported { .. } => FailureKind::Configuration,
            Self::Secrets { .. } => FailureKind::Unknown,
            Self::Ended(reason) => reason.failure_kind(),
            Self::TimedOut { .. } => FailureKind::TemporaryNetwork,
            Self::Version { .. } | Self::Pinned { .. } => FailureKind::Protocol,
            Self::Request(error) => error.failure_kind(),
        }
    }

    /// The same without the server's secrets.
    pub(crate) fn redacted(self, redactor: &Redactor) -> Self {
        let text = |text| redactor.text(text);
        match self {
            Self::CommandNotFound { command, advice } => {
                Self::CommandNotFound { command: text(command), advice: advice.map_texts(&text) }
            }
            Self::CannotStart { command, why } => {
                Self::CannotStart { command: text(command), why: text(why) }
            }
            Self::BadConfig { what } => Self::BadConfig { what: what.map_texts(&text) },
            Self::Secrets { why } => Self::Secrets { why: text(why) },
            Self::Ended(reason) => Self::Ended(Box::new(reason.redacted(redactor))),
            Self::Version { offered } => Self::Version { offered: text(offered) },
            Self::Pinned { version, error } => {
                Self::Pinned { version, error: Box::new(error.redacted(redactor)) }
            }
            Self::Request(error) => Self::Request(error.redacted(redactor)),
            Self::Unsupported { .. } | Self::TimedOut { .. } => self,
        }
    }
}

impl RequestError {
    /// The server violates the protocol in this way.
    pub(crate) fn protocol(how: Message) -> Self {
        Self::Protocol(how.into())
    }

    /// The error for the user. It may contain text of the server (the body of its response, for example), from
    /// which invisible and control characters are removed.
    #[must_use]
    pub fn user_text(&self) -> UserText {
        let message = match self {
            Self::Closed(reason) => message!("error.servers.connectionEnded", reason = reason.user_text()),
            Self::TimedOut { after } => message!("error.servers.requestTimedOut", seconds = seconds(*after)),
            Self::Cancelled => message!("error.servers.attemptCancelled"),
            Self::NeedsAuth { issuer: _ } => message!("error.servers.needsSignIn"),
            Self::Unregistered { reason } => message!("error.servers.needsClientId", reason = reason.clone()),
            Self::NoSignIn { reason } => return without_hidden_chars(reason.clone()),
            Self::Forbidden => message!("error.servers.forbidden"),
            Self::SessionGone => message!("error.servers.sessionGone"),
            Self::Status { status, body, retry_after: _ } if body.is_empty() => {
                message!("error.servers.httpStatus", status = status.to_string(), advice = advice(*status))
            }
            Self::Status { status, body, retry_after: _ } => message!(
                "error.servers.httpStatusBody",
                status = status.to_string(),
                body = body,
                advice = advice(*status)
            ),
            Self::Network(fault) => message!("error.servers.network", reason = fault.text.clone()),
            Self::Protocol(what) => message!("error.servers.protocol", reason = what.clone()),
        };
        without_hidden_chars(message.into())
    }

    /// The failure class (SRV-4).
    #[must_use]
    pub fn failure_kind(&self) -> FailureKind {
        match self {
            Self::Closed(reason) => reason.failure_kind(),
            Self::TimedOut { .. } | Self::SessionGone => FailureKind::TemporaryNetwork,
            Self::Cancelled => FailureKind::Unknown,
            Self::NoSignIn { .. } => FailureKind::Configuration,
            Self::NeedsAuth { .. } | Self::Unregistered { .. } | Self::Forbidden => {
                FailureKind::Authorization
            }
            Self::Status { status, .. } => status_kind(*status),
            Self::Network(NetworkError { is_permanent: true, .. }) => FailureKind::PermanentNetwork,
            Self::Network(NetworkError { is_permanent: false, .. }) => FailureKind::TemporaryNetwork,
            Self::Protocol(_) => FailureKind::Protocol,
        }
    }

    /// The same without the server's secrets.
    pub(crate) fn redacted(self, redactor: &Redactor) -> Self {
        let text = |text| redactor.text(text);
        match self {
            Self::Closed(reason) => Self::Closed(Box::new(reason.redacted(redactor))),
            Self::NeedsAuth { issuer } => Self::NeedsAuth { issuer: issuer.map(text) },
            Self::Unregistered { reason } => Self::Unregistered { reason: reason.map_texts(&text) },
            Self::NoSignIn { reason } => Self::NoSignIn { reason: reason.map_texts(&text) },
            Self::Status { status, body, retry_after } => {
                Self::Status { status, body: text(body), retry_after }
            }
            Self::Network(NetworkError { text: what, is_permanent }) => {
                Self::Network(NetworkError { text: what.map_texts(&text), is_permanent })
            }
            Self::Protocol(what) => Self::Protocol(what.map_texts(&text)),
            Self::TimedOut { .. } | Self::Cancelled | Self::Forbidden | Self::SessionGone => self,
        }
    }
}

/// Before there is a connection, its end and the time limit have other texts than later.
impl From<RequestError> for ConnectError {
    fn from(error: RequestError) -> Self {
        match error {
            RequestError::Closed(reason) => Self::Ended(reason),
            RequestError::TimedOut { after } => Self::TimedOut { after },
            other => Self::Request(other),
        }
    }
}

/// If the connection ended because a message was rejected, that is the error.
impl From<CloseReason> for RequestError {
    fn from(reason: CloseReason) -> Self {
        match reason.cause {
            CloseCause::Refused(error) => error,
            _ => Self::Closed(Box::new(reason)),
        }
    }
}

impl From<CloseReason> for ConnectError {
    fn from(reason: CloseReason) -> Self {
        RequestError::from(reason).into()
    }
}

/// Removes invisible and control characters from what others say in a text.
pub(crate) fn without_hidden_chars(text: UserText) -> UserText {
    text.map_texts(&|text| clean(&text).into_owned())
}

fn advice(status: u16) -> UserText {
    let message = match status {
        404 => message!("error.servers.advice.notFound"),
        405 => message!("error.servers.advice.notAllowed"),
        429 => message!("error.servers.advice.busy"),
        500.. => message!("error.servers.advice.fault"),
        _ => message!("error.servers.advice.other"),
    };
    message.into()
}

/// A time limit in seconds, for messages.
fn seconds(limit: Duration) -> u32 {
    u32::try_from(limit.as_secs()).unwrap_or(u32::MAX)
}

fn status_kind(status: u16) -> FailureKind {
    match status {
        401 | 403 => FailureKind::Authorization,
        408 | 425 | 429 | 500.. => FailureKind::TemporaryNetwork,
        404 | 410 => FailureKind::PermanentNetwork,
        _ => FailureKind::Protocol,
    }
}

#[cfg(test)]
mod tests {
    use gatehouse_model::messages::Language;

    use super::*;

    fn exited_with(line: &str) -> RequestError {
        CloseReason { cause: CloseCause::Exited(3), last_lines: [line.to_owned()].into() }.into()
    }

    #[test]
    fn texts_are_in_the_readers_language() {
        let text = message!("error.servers.network.refused").into();
        let refused = RequestError::Network(NetworkError { text, is_permanent: false });
        for (error, english, chinese) in [
            (
                ConnectError::from(exited_with("no such table")),
                "The server ended before the connection was made. The server's process ended with exit code 3. \
                 Its last words were: no such table",
                "服务器在建立连接之前已退出。服务器进程已退出，退出码为 3。最后的输出：no such table",
            ),
            (
                refused.into(),
                "The server could not be reached: nothing listens at this address (connection refused).",
                "无法连接服务器：该地址没有程序监听（连接被拒绝）。",
            ),
        ] {
            assert_eq!(error.to_string(), english);
            assert_eq!(error.user_text().render(Language::SimplifiedChinese, &|_| String::new()), chinese);
        }
    }

    #[test]
    fn redacts_what_others_say_in_a_text() {
        let redactor = Redactor::default();
        redactor.add("s3cret-token");
        let reason = message!("error.servers.protocol.eventsBroke", reason = "s3cret-token");
        for error in [exited_with("s3cret-token"), RequestError::protocol(reason)] {
            let text = ConnectError::from(error).redacted(&redactor).to_string();
            assert!(!text.contains("s3cret") && text.contains(gatehouse_model::secret::REDACTED), "{text}");
        }
    }

    #[test]
    fn classifies_http_status() {
        let table = [
            (400, FailureKind::Protocol),
            (401, FailureKind::Authorization),
            (403, FailureKind::Authorization),
            (404, FailureKind::PermanentNetwork),
            (405, FailureKind::Protocol),
            (408, FailureKind::TemporaryNetwork),
            (429, FailureKind::TemporaryNetwork),
            (500, FailureKind::TemporaryNetwork),
            (503, FailureKind::TemporaryNetwork),
        ];
        for (status, kind) in table {
            assert_eq!(status_kind(status), kind, "HTTP {status}");
        }
    }
}
