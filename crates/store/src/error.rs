//! What can go wrong with what is kept, and how a person gets to read it.
//!
//! No message here ever holds a secret or the content of a sealed record.

use gatehouse_model::{ErrorCode, Problem};

/// Why something could not be kept or read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another Gatehouse has the data folder open.
    #[error("The data folder is in use by another Gatehouse ({holder}).")]
    DataFolderInUse {
        /// Who, as far as it says.
        holder: String,
    },
    /// The disk refused.
    #[error("{what}: {source}")]
    Io {
        /// What was being done.
        what: String,
        /// Why not.
        source: std::io::Error,
    },
    /// The database refused.
    #[error("The database refused: {0}")]
    Database(#[from] rusqlite::Error),
    /// Something could not be written as JSON, or what was read is not what was written.
    #[error("A record cannot be written or read: {0}")]
    Encoding(#[from] serde_json::Error),
    /// The secret store refused.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// A sealed record does not hold.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// A settings file cannot be used or changed as it is; also a name that is taken or not legal.
    #[error(transparent)]
    Config(Problem),
    /// The machine has no randomness to give.
    #[error("The system gave no random bytes: {0}")]
    Random(String),
}

impl StoreError {
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }
}

/// Why a sealed record is not believed. Whoever reads it treats all of these as "no rights at
/// all", and tells the user.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// The record is there, but the key that it was sealed with is not.
    #[error("The record “{record}” is sealed with a key that is gone.")]
    MissingKey {
        /// Name of the record.
        record: String,
    },
    /// The record was edited.
    #[error("The record “{record}” was changed from outside: its seal does not fit.")]
    BadMac {
        /// Name of the record.
        record: String,
    },
    /// The record is an older copy than the last one that was sealed.
    #[error("The record “{record}” is an old copy (number {found}, the last one was {kept}).")]
    OldCopy {
        /// Name of the record.
        record: String,
        /// Counter of the record.
        found: u64,
        /// Counter that the secret store knows.
        kept: u64,
    },
    /// A record was sealed, and is not there any more.
    #[error("The record “{record}” is gone, though one was sealed.")]
    Gone {
        /// Name of the record.
        record: String,
    },
    /// The secret store is locked or cannot be reached, so that nothing can be checked.
    #[error("The record “{record}” cannot be checked. {cause}")]
    Locked {
        /// Name of the record.
        record: String,
        /// Why.
        cause: SecretError,
    },
    /// The database or the record's shape.
    #[error("The record “{record}” cannot be read: {cause}")]
    Unreadable {
        /// Name of the record.
        record: String,
        /// Why.
        cause: String,
    },
}

/// Why the secret store did not answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// There is no keychain on this machine, or none that runs.
    #[error("No keychain can be reached: {reason}")]
    Unavailable {
        /// What the system says.
        reason: String,
    },
    /// It is there and locked.
    #[error("The keychain is locked.")]
    Locked,
    /// The vault does not open with this passphrase.
    #[error("The passphrase of the vault is wrong.")]
    WrongPassphrase,
    /// The vault's file is not what was written.
    #[error("The vault is damaged: {reason}")]
    Damaged {
        /// In which way.
        reason: String,
    },
    /// The vault was written by a newer version.
    #[error("The vault was written by a newer version of Gatehouse.")]
    NewerVersion,
    /// It refused for another reason.
    #[error("The store for secrets refused: {reason}")]
    Refused {
        /// What it says.
        reason: String,
    },
}

impl From<SecretError> for Problem {
    fn from(error: SecretError) -> Self {
        let what = error.to_string();
        match error {
            SecretError::Unavailable { .. } => Problem::new(ErrorCode::SecretsUnavailable, what)
                .todo("Start a keychain service, or use a vault with a passphrase."),
            SecretError::Locked => {
                Problem::new(ErrorCode::SecretsUnavailable, what).todo("Unlock it and try again.")
            }
            SecretError::WrongPassphrase => {
                Problem::new(ErrorCode::SecretsUnavailable, what).todo("Enter the passphrase again.")
            }
            SecretError::Damaged { .. } => Problem::new(ErrorCode::SecretsUnavailable, what)
                .todo("Put a backup of the vault in its place, or remove it to begin with an empty one."),
            SecretError::NewerVersion => {
                Problem::new(ErrorCode::NewerVersion, what).todo("Update Gatehouse.")
            }
            SecretError::Refused { .. } => Problem::new(ErrorCode::SecretsUnavailable, what),
        }
    }
}

impl From<SealError> for Problem {
    fn from(error: SealError) -> Self {
        let what = error.to_string();
        match error {
            SealError::Locked { .. } => Problem::new(ErrorCode::SecretsUnavailable, what)
                .todo("Unlock the keychain; until then nothing that was allowed before counts."),
            SealError::Unreadable { .. } => Problem::new(ErrorCode::Storage, what),
            SealError::MissingKey { .. }
            | SealError::BadMac { .. }
            | SealError::OldCopy { .. }
            | SealError::Gone { .. } => Problem::new(ErrorCode::Storage, what)
                .todo("Nothing that was allowed before counts; allow again what you want to keep."),
        }
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        let what = error.to_string();
        match error {
            StoreError::DataFolderInUse { .. } => Problem::new(ErrorCode::DataFolderInUse, what)
                .todo("Close the other one, or use another data folder."),
            StoreError::Io { .. } => Problem::new(ErrorCode::Storage, what)
                .todo("Check that the disk is not full and the data folder is yours."),
            StoreError::Database(_) | StoreError::Encoding(_) => Problem::new(ErrorCode::Storage, what),
            StoreError::Random(_) => Problem::new(ErrorCode::Internal, what),
            StoreError::Secret(inner) => inner.into(),
            StoreError::Seal(inner) => inner.into(),
            StoreError::Config(inner) => inner,
        }
    }
}
