//! Errors of connecting and of requests, with messages for the user and a failure class.
//!
//! Must never contain a secret of the server when it leaves the crate: connections redact their errors.

pub(crate) mod classification;
mod upstream;

use std::fmt;
use std::time::Duration;

use gatehouse_common::invisible_chars::clean;
use gatehouse_model::status::FailureKind;
use gatehouse_model::{UserText, message};

pub(crate) use self::upstream::user_message;
pub use self::upstream::{UpstreamError, UpstreamErrorKind};
use crate::redact::Redactor;

/// Why there is no connection. `Display` is English.
#[derive(Clone, Debug)]
pub enum ConnectError {
    CommandNotFound {
        /// As it was entered.
        command: String,
        /// How to install it, or where it was looked for.
        advice: String,
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
        what: String,
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
    Ended { reason: String, kind: FailureKind },
    /// The time limit was reached.
    TimedOut {
        /// The limit.
        after: Duration,
    },
    /// The attempt was cancelled.
    Cancelled,
    /// The server requires authentication.
    NeedsAuth {
        /// Resource metadata or issuer, if the server names it.
        issuer: Option<String>,
    },
    /// There is no way to register with the authorization server.
    Unregistered {
        /// Why: a sentence.
        reason: String,
    },
    /// The server requires a sign-in that isn't available.
    NoSignIn {
        /// Why: sentences.
        reason: String,
    },
    /// The server authenticated us and denies access.
    Forbidden,
    /// The server answered with an HTTP status that ends the attempt.
    Status {
        status: u16,
        /// The beginning of the response body, if it is text.
        body: String,
    },
    /// The server could not be reached.
    Network(NetworkError),
    /// There is no common protocol revision.
    Version {
        /// What the server offered.
        offered: String,
    },
    /// The server violates the protocol.
    Protocol(String),
}

fn preview(body: &str) -> String {
    if body.is_empty() { String::new() } else { format!(": {body}") }
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

/// A network error on the way to the server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}.")]
pub struct NetworkError {
    pub text: String,
    /// Whether it persists until something is changed, so that a retry cannot help.
    pub is_permanent: bool,
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.user_text(), f)
    }
}

impl std::error::Error for ConnectError {}

impl ConnectError {
    /// The error for the user. It may contain text of the server (its last lines of standard error, for
    /// example), from which invisible and control characters are removed.
    #[must_use]
    pub fn user_text(&self) -> UserText {
        let plain = |text: &str| clean(text).into_owned();
        let message = match self {
            Self::CommandNotFound { command, advice } => {
                message!("error.servers.commandNotFound", command = plain(command), advice = plain(advice))
            }
            Self::CannotStart { command, why } => {
                message!("error.servers.cannotStart", command = plain(command), reason = plain(why))
            }
            Self::BadConfig { what } => message!("error.servers.badConfig", what = plain(what)),
            Self::Secrets { why } => message!("error.servers.secretUnread", reason = plain(why)),
            Self::Unsupported { kind } => message!("error.servers.unsupported", kind = *kind),
            Self::Ended { reason, kind: _ } => message!("error.servers.ended", reason = plain(reason)),
            Self::TimedOut { after } => message!("error.servers.noAnswer", seconds = seconds(*after)),
            Self::Cancelled => message!("error.servers.cancelled"),
            Self::NeedsAuth { issuer: _ } => message!("error.servers.needsSignIn"),
            Self::Unregistered { reason } => message!("error.servers.needsClientId", reason = plain(reason)),
            Self::NoSignIn { reason } => return plain(reason).into(),
            Self::Forbidden => message!("error.servers.forbidden"),
            Self::Status { status, body } if body.is_empty() => {
                message!("error.servers.httpStatus", status = status.to_string(), advice = advice(*status))
            }
            Self::Status { status, body } => message!(
                "error.servers.httpStatusBody",
                status = status.to_string(),
                body = plain(body),
                advice = advice(*status)
            ),
            Self::Network(fault) => {
                message!("error.servers.network", reason = plain(&fault.to_string()))
            }
            Self::Version { offered } => message!("error.servers.version", offered = plain(offered)),
            Self::Protocol(what) => message!("error.servers.protocol", reason = plain(what)),
        };
        message.into()
    }

    /// The failure class (SRV-4).
    #[must_use]
    pub fn failure_kind(&self) -> FailureKind {
        match self {
            Self::CommandNotFound { .. }
            | Self::CannotStart { .. }
            | Self::BadConfig { .. }
            | Self::NoSignIn { .. }
            | Self::Unsupported { .. } => FailureKind::Configuration,
            Self::Secrets { .. } | Self::Cancelled => FailureKind::Unknown,
            Self::Ended { kind, .. } => *kind,
            Self::TimedOut { .. } => FailureKind::TemporaryNetwork,
            Self::NeedsAuth { .. } | Self::Unregistered { .. } | Self::Forbidden => {
                FailureKind::Authorization
            }
            Self::Status { status, .. } => status_kind(*status),
            Self::Network(fault) => fault.kind(),
            Self::Version { .. } | Self::Protocol(_) => FailureKind::Protocol,
        }
    }
}

impl ConnectError {
    /// The same without the server's secrets.
    pub(crate) fn redacted(self, redactor: &Redactor) -> Self {
        let text = |text| redactor.text(text);
        match self {
            Self::CommandNotFound { command, advice } => {
                Self::CommandNotFound { command: text(command), advice: text(advice) }
            }
            Self::CannotStart { command, why } => {
                Self::CannotStart { command: text(command), why: text(why) }
            }
            Self::BadConfig { what } => Self::BadConfig { what: text(what) },
            Self::Secrets { why } => Self::Secrets { why: text(why) },
            Self::Ended { reason, kind } => Self::Ended { reason: text(reason), kind },
            Self::NeedsAuth { issuer } => Self::NeedsAuth { issuer: issuer.map(text) },
            Self::Unregistered { reason } => Self::Unregistered { reason: text(reason) },
            Self::NoSignIn { reason } => Self::NoSignIn { reason: text(reason) },
            Self::Status { status, body } => Self::Status { status, body: text(body) },
            Self::Network(fault) => Self::Network(fault.redacted(redactor)),
            Self::Version { offered } => Self::Version { offered: text(offered) },
            Self::Protocol(what) => Self::Protocol(text(what)),
            Self::Unsupported { .. } | Self::TimedOut { .. } | Self::Cancelled | Self::Forbidden => self,
        }
    }
}

impl NetworkError {
    fn redacted(self, redactor: &Redactor) -> Self {
        Self { text: redactor.text(self.text), is_permanent: self.is_permanent }
    }

    fn kind(&self) -> FailureKind {
        if self.is_permanent { FailureKind::PermanentNetwork } else { FailureKind::TemporaryNetwork }
    }
}

fn status_kind(status: u16) -> FailureKind {
    match status {
        401 | 403 => FailureKind::Authorization,
        408 | 425 | 429 | 500.. => FailureKind::TemporaryNetwork,
        404 | 410 => FailureKind::PermanentNetwork,
        _ => FailureKind::Protocol,
    }
}

/// Why a request has no response.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// The connection has ended.
    #[error("The connection to the server ended. {0}")]
    Closed(String),
    /// The time limit was reached; the server was sent a cancellation.
    #[error("The server did not answer within {} seconds.", .after.as_secs())]
    TimedOut {
        /// The limit that was reached.
        after: Duration,
    },
    /// It was cancelled; the server was sent a cancellation.
    #[error("The request was cancelled.")]
    Cancelled,
    /// The server requires authentication.
    #[error("The server wants you to sign in.")]
    NeedsAuth {
        /// Resource metadata or issuer, if the server names it.
        issuer: Option<String>,
    },
    /// There is no way to register with the authorization server.
    #[error("The server wants you to sign in, which needs a client id: {reason}")]
    Unregistered {
        /// Why: a sentence.
        reason: String,
    },
    /// The server requires a sign-in or more scopes than the token has, and they cannot be
    /// obtained.
    #[error("{reason}")]
    NoSignIn {
        /// Why: sentences.
        reason: String,
    },
    /// The server authenticated us and denies access.
    #[error("The server refuses access (HTTP 403). The account or token lacks a right.")]
    Forbidden,
    /// The session has expired on the server.
    #[error("The server no longer knows the session.")]
    SessionGone,
    /// The server answered with an HTTP status instead of a message.
    #[error("The server answered with HTTP status {status}{}. {}", preview(.body), advice(*.status))]
    Status {
        status: u16,
        /// The beginning of the response body, if it is text.
        body: String,
        /// Its `Retry-After`, in seconds.
        retry_after: Option<u64>,
    },
    /// The server could not be reached.
    #[error("The server could not be reached: {0}")]
    Network(NetworkError),
    /// The server violates the protocol.
    #[error("The server does not speak MCP as it should: {0}")]
    Protocol(String),
}

impl RequestError {
    /// The failure class (SRV-4).
    #[must_use]
    pub fn failure_kind(&self) -> FailureKind {
        match self {
            Self::Closed(_) | Self::TimedOut { .. } | Self::SessionGone => FailureKind::TemporaryNetwork,
            Self::Cancelled => FailureKind::Unknown,
            Self::NoSignIn { .. } => FailureKind::Configuration,
            Self::NeedsAuth { .. } | Self::Unregistered { .. } | Self::Forbidden => {
                FailureKind::Authorization
            }
            Self::Status { status, .. } => status_kind(*status),
            Self::Network(fault) => fault.kind(),
            Self::Protocol(_) => FailureKind::Protocol,
        }
    }
}

impl RequestError {
    /// The same without the server's secrets.
    pub(crate) fn redacted(self, redactor: &Redactor) -> Self {
        let text = |text| redactor.text(text);
        match self {
            Self::Closed(reason) => Self::Closed(text(reason)),
            Self::NeedsAuth { issuer } => Self::NeedsAuth { issuer: issuer.map(text) },
            Self::Unregistered { reason } => Self::Unregistered { reason: text(reason) },
            Self::NoSignIn { reason } => Self::NoSignIn { reason: text(reason) },
            Self::Status { status, body, retry_after } => {
                Self::Status { status, body: text(body), retry_after }
            }
            Self::Network(fault) => Self::Network(fault.redacted(redactor)),
            Self::Protocol(what) => Self::Protocol(text(what)),
            Self::TimedOut { .. } | Self::Cancelled | Self::Forbidden | Self::SessionGone => self,
        }
    }
}

impl From<RequestError> for ConnectError {
    fn from(error: RequestError) -> Self {
        match error {
            RequestError::Closed(reason) => Self::Ended { reason, kind: FailureKind::TemporaryNetwork },
            RequestError::TimedOut { after } => Self::TimedOut { after },
            RequestError::Cancelled => Self::Cancelled,
            RequestError::NeedsAuth { issuer } => Self::NeedsAuth { issuer },
            RequestError::Unregistered { reason } => Self::Unregistered { reason },
            RequestError::NoSignIn { reason } => Self::NoSignIn { reason },
            RequestError::Forbidden => Self::Forbidden,
            RequestError::SessionGone => {
                Self::Ended { reason: error.to_string(), kind: FailureKind::TemporaryNetwork }
            }
            RequestError::Status { status, body, .. } => Self::Status { status, body },
            RequestError::Network(fault) => Self::Network(fault),
            RequestError::Protocol(what) => Self::Protocol(what),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
