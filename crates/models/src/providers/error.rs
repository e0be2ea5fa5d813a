//! Errors of providers and how they are said to people. They never contain a key, and of what a provider says only its
//! message: cleaned, on one line, cut.

use std::time::Duration;

use gatehouse_common::invisible_chars::one_line;
use gatehouse_model::secret::REDACTED;
use gatehouse_model::{ErrorCode, Message, Secret, UserError, message};

/// Longest text of a provider in an error, in characters.
const MAX_MESSAGE_CHARS: usize = 400;

/// Why a provider gives no answer, or none to its end. `provider` is the name that the user gave it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// No HTTP client can be made, or there are no random bytes for an id.
    #[error("the request cannot be made: {reason}")]
    Internal { reason: String },
    /// The address may not be used; see [`super::check_base_url`].
    #[error("the address of {provider} is not allowed")]
    BadAddress { provider: String },
    /// The key has characters that no HTTP header can have.
    #[error("the key of {provider} cannot be sent")]
    BadKey { provider: String },
    #[error("{provider} cannot be reached: {reason}")]
    Unreachable { provider: String, reason: String },
    /// Nothing came for that long.
    #[error("{provider} sent nothing for {seconds} s")]
    TimedOut { provider: String, seconds: u64 },
    #[error("{provider} leads on to another address")]
    Redirected { provider: String },
    /// It answered with an HTTP error status.
    #[error("{provider} refused the request with HTTP status {status}{}", after_colon(.said))]
    Rejected { provider: String, status: u16, said: Option<String> },
    /// Too many requests, or too many users: it was tried again where it did not ask for a long wait.
    #[error("{provider} is busy{}", after_colon(.said))]
    Busy {
        provider: String,
        /// The HTTP status; absent if the stream said it.
        status: Option<u16>,
        said: Option<String>,
        /// How long the provider wants to be left alone.
        retry_after: Option<Duration>,
    },
    /// It reported an error in the middle of the stream.
    #[error("{provider} reported an error{}", after_colon(.said))]
    Failed { provider: String, said: Option<String> },
    /// The stream ended before the answer did.
    #[error("the answer of {provider} broke off")]
    CutShort { provider: String },
    /// What it sent is not in the format of its API.
    #[error("the answer of {provider} cannot be read: {reason}")]
    Unreadable { provider: String, reason: String },
    #[error("the answer of {provider} is longer than {mebibytes} MiB")]
    TooLong { provider: String, mebibytes: u32 },
}

fn after_colon(said: &Option<String>) -> String {
    said.as_ref().map(|said| format!(": {said}")).unwrap_or_default()
}

impl ModelError {
    /// An answer is longer than is read.
    pub(super) fn too_long(provider: &str, max_bytes: usize) -> Self {
        let mebibytes = u32::try_from(max_bytes >> 20).unwrap_or(u32::MAX);
        Self::TooLong { provider: provider.to_owned(), mebibytes }
    }

    /// Whether the same request may succeed after a wait, as far as the provider says.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        matches!(self, Self::Busy { .. })
    }
}

impl From<ModelError> for UserError {
    fn from(error: ModelError) -> Self {
        let no_answer = |provider: &str| {
            Self::new(ErrorCode::ModelFailed, message!("error.models.noAnswer", provider = provider))
        };
        let broke_off = |provider: &str| {
            Self::new(ErrorCode::ModelFailed, message!("error.models.brokeOff", provider = provider))
        };
        let check_address = || message!("error.models.hint.address");
        match error {
            ModelError::Internal { reason } => {
                Self::new(ErrorCode::Internal, message!("error.models.internal", reason = reason))
            }
            ModelError::BadAddress { provider } => no_answer(&provider).with_cause(bad_address()),
            ModelError::BadKey { provider } => no_answer(&provider)
                .with_cause(message!("error.models.cause.badKey"))
                .with_hint(message!("error.models.hint.key")),
            ModelError::Unreachable { provider, reason } => no_answer(&provider)
                .with_cause(message!("error.models.cause.unreachable", reason = reason))
                .with_hint(check_address()),
            ModelError::TimedOut { provider, seconds } => {
                let seconds = u32::try_from(seconds).unwrap_or(u32::MAX);
                Self::new(ErrorCode::TimedOut, message!("error.models.noAnswer", provider = provider))
                    .with_cause(message!("error.models.cause.timedOut", seconds = seconds))
                    .with_hint(message!("error.models.hint.later"))
            }
            ModelError::Redirected { provider } => no_answer(&provider)
                .with_cause(message!("error.models.cause.redirected"))
                .with_hint(check_address()),
            ModelError::Rejected { provider, status, said } => {
                let error = no_answer(&provider).with_cause(said_or_status(said, status));
                match status {
                    401 | 403 => error.with_hint(message!("error.models.hint.key")),
                    404 | 405 => error.with_hint(message!("error.models.hint.model")),
                    _ => error,
                }
            }
            ModelError::Busy { provider, said, retry_after, .. } => no_answer(&provider)
                .with_cause(said.map_or_else(|| message!("error.models.cause.busy"), said_by_provider))
                .with_hint(match retry_after.map(whole_seconds) {
                    Some(seconds) => message!("error.models.hint.retryAfter", seconds = seconds),
                    None => message!("error.models.hint.later"),
                }),
            ModelError::Failed { provider, said } => broke_off(&provider)
                .with_cause(said.map_or_else(|| message!("error.models.cause.failed"), said_by_provider)),
            ModelError::CutShort { provider } => broke_off(&provider)
                .with_cause(message!("error.models.cause.cutShort"))
                .with_hint(message!("error.models.hint.later")),
            ModelError::Unreadable { provider, reason } => no_answer(&provider)
                .with_cause(message!("error.models.cause.unreadable", reason = reason))
                .with_hint(check_address()),
            ModelError::TooLong { provider, mebibytes } => {
                broke_off(&provider).with_cause(message!("error.models.cause.tooLong", mebibytes = mebibytes))
            }
        }
    }
}

/// Says which addresses may be used.
pub(super) fn bad_address() -> Message {
    message!("error.models.badAddress")
}

fn said_or_status(said: Option<String>, status: u16) -> Message {
    match said {
        Some(said) => said_by_provider(said),
        None => message!("error.models.cause.status", status = status.to_string()),
    }
}

fn said_by_provider(said: String) -> Message {
    message!("error.models.cause.said", text = said)
}

/// At least one, rounded up.
fn whole_seconds(time: Duration) -> u32 {
    u32::try_from(time.as_millis().div_ceil(1000)).unwrap_or(u32::MAX).max(1)
}

/// A text of a provider as it may stand in an error: without the key, and short.
pub(super) fn presentable(text: &str, key: Option<&Secret>) -> Option<String> {
    // The key goes before the text is cut, which could leave a part of it.
    let text = match key.map(Secret::reveal).filter(|key| !key.is_empty()) {
        Some(key) => one_line(&text.replace(key, REDACTED), MAX_MESSAGE_CHARS),
        None => one_line(text, MAX_MESSAGE_CHARS),
    };
    Some(text).filter(|text| !text.is_empty())
}
