//! What went wrong, as words for people and as an exit code for scripts. One mapping for all verbs.

use gatehouse_model::{ErrorCode, Problem};

/// Why a verb did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// Gatehouse says why.
    #[error(transparent)]
    Problem(#[from] Problem),
    /// The words make no sense together.
    #[error("{0}")]
    Usage(String),
    /// The call came back as refused or failed; what it said is printed already.
    #[error("the call did not succeed")]
    Call,
    /// The audit is not whole; what is wrong is printed already.
    #[error("the audit is broken")]
    Audit,
    /// Reading or writing failed.
    #[error("{0}")]
    Io(#[from] std::io::Error),
}

impl Failure {
    /// What to print, if anything is left to say.
    pub(crate) fn text(&self, json: bool) -> Option<String> {
        match self {
            Self::Call | Self::Audit => None,
            Self::Io(e) if e.kind() == std::io::ErrorKind::BrokenPipe => None,
            Self::Problem(problem) if json => serde_json::to_string(problem).ok(),
            Self::Problem(_) | Self::Usage(_) | Self::Io(_) => {
                Some(format!("gatehousectl: {}", crate::plain::lines(&self.to_string())))
            }
        }
    }

    /// The exit code.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Problem(problem) => code(problem.code),
            Self::Usage(_) => 2,
            Self::Call => 5,
            Self::Audit | Self::Io(_) => 1,
        }
    }
}

fn code(code: ErrorCode) -> u8 {
    match code {
        ErrorCode::NotRunning => 3,
        ErrorCode::NotPermitted => 4,
        ErrorCode::Refused | ErrorCode::Paused => 5,
        ErrorCode::BadRequest
        | ErrorCode::NotFound
        | ErrorCode::NameTaken
        | ErrorCode::StaleAnswer
        | ErrorCode::ServerUnavailable
        | ErrorCode::NeedsClientRegistration
        | ErrorCode::BadConfig
        | ErrorCode::NewerVersion
        | ErrorCode::DataFolderInUse
        | ErrorCode::PortInUse
        | ErrorCode::SecretsUnavailable
        | ErrorCode::Storage
        | ErrorCode::TimedOut
        | ErrorCode::Internal => 1,
    }
}
