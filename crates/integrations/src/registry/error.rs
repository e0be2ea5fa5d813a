//! Errors of the registry and how they are said to people. They never contain what was entered.

use gatehouse_model::{ErrorCode, Message, UserError, message};

/// Why the registry gives no answer, or why no settings can be made of one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    /// The address is no https URL, and no http URL of this computer.
    #[error("the address of the registry is not allowed")]
    BadAddress,
    #[error("{host} cannot be reached: {reason}")]
    Unreachable { host: String, reason: String },
    #[error("{host} did not answer within {seconds} s")]
    TimedOut { host: String, seconds: u64 },
    #[error("{host} answered with HTTP status {status}")]
    Status { host: String, status: u16 },
    #[error("{host} leads on to another address")]
    Redirected { host: String },
    #[error("the answer of {host} is too large")]
    TooLarge { host: String },
    #[error("the answer of {host} cannot be read")]
    Unreadable { host: String },
    /// There is no such entry or version.
    #[error("the registry has no {name}")]
    NoEntry { name: String },
    #[error("the entry has no such option")]
    NoOption,
    /// Gatehouse makes no settings of the option.
    #[error("the option cannot be used")]
    Unusable(Message),
    /// Something that is required was not entered.
    #[error("a value for {input} is missing")]
    MissingInput { input: String },
    /// A value that the input doesn't take.
    #[error("the value of {input} is not allowed")]
    BadInput { input: String },
    /// The values make no valid address.
    #[error("the address that comes of the values is invalid")]
    BadUrl,
}

impl RegistryError {
    /// Whether an earlier answer of the registry may stand in.
    pub(super) fn is_temporary(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::TimedOut { .. } => true,
            Self::Status { status, .. } => *status == 429 || *status >= 500,
            _ => false,
        }
    }
}

impl From<RegistryError> for UserError {
    fn from(error: RegistryError) -> Self {
        let unreachable = |cause: Message| {
            Self::new(ErrorCode::ServerUnavailable, message!("error.registry.unavailable"))
                .with_cause(cause)
                .with_hint(message!("error.registry.unavailableHint"))
        };
        let refused = |what: Message| Self::new(ErrorCode::BadRequest, what);
        match error {
            RegistryError::BadAddress => refused(message!("error.registry.badAddress")),
            RegistryError::Unreachable { host, reason } => {
                unreachable(message!("error.registry.cause.unreachable", host = host, reason = reason))
            }
            RegistryError::TimedOut { host, seconds } => unreachable(message!(
                "error.registry.cause.timedOut",
                host = host,
                seconds = u32::try_from(seconds).unwrap_or(u32::MAX),
            )),
            RegistryError::Status { host, status } => {
                unreachable(
                    message!("error.registry.cause.status", host = host, status = status.to_string(),),
                )
            }
            RegistryError::Redirected { host } => {
                unreachable(message!("error.registry.cause.redirected", host = host))
            }
            RegistryError::TooLarge { host } => {
                unreachable(message!("error.registry.cause.tooLarge", host = host))
            }
            RegistryError::Unreadable { host } => {
                unreachable(message!("error.registry.cause.unreadable", host = host))
            }
            RegistryError::NoEntry { name } => {
                Self::new(ErrorCode::NotFound, message!("error.registry.noEntry", name = name))
            }
            RegistryError::NoOption => Self::new(ErrorCode::NotFound, message!("error.registry.noOption")),
            RegistryError::Unusable(why) => refused(why),
            RegistryError::MissingInput { input } => {
                refused(message!("error.registry.missingInput", input = input))
            }
            RegistryError::BadInput { input } => refused(message!("error.registry.badInput", input = input)),
            RegistryError::BadUrl => refused(message!("error.registry.badUrl")),
        }
    }
}
