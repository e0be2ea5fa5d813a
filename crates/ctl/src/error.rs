//! Errors of commands, mapped to messages for people and exit codes for scripts.

use std::io::Write as _;

use gatehouse_model::{ErrorCode, Message, UserError, UserText, message};

use crate::{json, terminal_text};

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    /// An error that Gatehouse answered.
    #[error(transparent)]
    UserError(#[from] UserError),
    /// The arguments are invalid or contradictory.
    #[error("{0}")]
    Usage(UserText),
    /// The call was refused or failed; its output is printed already.
    #[error("the call did not succeed")]
    Call,
    /// The audit log failed verification; details are printed already.
    #[error("the audit is broken")]
    Audit,
    /// Some approval requests were not answered; which ones is printed already.
    #[error("some approval requests were not answered")]
    Unanswered,
    /// Some servers were not imported; which ones is printed already.
    #[error("some servers were not imported")]
    NotImported,
    /// Ctrl+C was pressed.
    #[error("cancelled by Ctrl+C")]
    Interrupted,
    #[error("{0}")]
    Io(#[from] std::io::Error),
}

impl CliError {
    pub(crate) fn usage(what: Message) -> Self {
        Self::Usage(what.into())
    }

    /// Prints the message to standard error, unless everything is printed already.
    pub(crate) fn print(&self, json: bool) {
        if let Some(text) = self.text(json) {
            // If standard error is closed, there is nowhere to report the error.
            writeln!(std::io::stderr(), "{text}").unwrap_or(());
        }
    }

    /// The message to print, unless everything is printed already.
    pub(crate) fn text(&self, json: bool) -> Option<String> {
        match self {
            Self::Call | Self::Audit | Self::Unanswered | Self::NotImported => None,
            Self::Io(e) if e.kind() == std::io::ErrorKind::BrokenPipe => None,
            Self::Interrupted => {
                let error = UserError::new(ErrorCode::Cancelled, message!("error.ctl.interrupted"));
                Self::UserError(error).text(json)
            }
            Self::UserError(error) if json => json::to_json(error).ok(),
            Self::UserError(error) => Some(format!("gatehousectl: {}", terminal_text::error(error))),
            Self::Usage(what) => Some(format!("gatehousectl: {}", terminal_text::user_text(what))),
            Self::Io(error) => Some(format!("gatehousectl: {}", terminal_text::lines(&error.to_string()))),
        }
    }

    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::UserError(error) => code(error.code),
            Self::Usage(_) => 2,
            Self::Call => 5,
            // As a shell reports a program that SIGINT ended.
            Self::Interrupted => 130,
            Self::Audit | Self::Unanswered | Self::NotImported | Self::Io(_) => 1,
        }
    }
}

fn code(code: ErrorCode) -> u8 {
    match code {
        ErrorCode::NotRunning => 3,
        ErrorCode::NotPermitted => 4,
        ErrorCode::Refused | ErrorCode::Cancelled | ErrorCode::Paused => 5,
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
        | ErrorCode::ModelFailed
        | ErrorCode::TimedOut
        | ErrorCode::Internal => 1,
    }
}
