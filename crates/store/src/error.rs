//! Errors of the store, and their conversion to errors for the user.
//!
//! No message here ever contains a secret or the content of a sealed record.

use gatehouse_model::{ErrorCode, UserError};

/// Why something couldn't be stored or read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another Gatehouse process has the data folder open.
    #[error("The data folder is in use by another Gatehouse ({holder}).")]
    DataFolderInUse {
        /// The other process, as described in the lock file.
        holder: String,
    },
    /// A file operation failed.
    #[error("{what}: {source}")]
    Io {
        /// The operation that failed, as a sentence.
        what: String,
        source: std::io::Error,
    },
    /// A database operation failed.
    #[error("The database refused: {0}")]
    Database(#[from] rusqlite::Error),
    /// A value couldn't be serialized, or a stored value couldn't be parsed.
    #[error("A record cannot be written or read: {0}")]
    Encoding(#[from] serde_json::Error),
    /// The secret store refused.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// A sealed record was rejected.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// A settings file can't be used or changed as it is. Also for a name that is taken or invalid.
    #[error(transparent)]
    Config(UserError),
    /// The operating system provides no random numbers.
    #[error("The system gave no random bytes: {0}")]
    Random(String),
}

impl StoreError {
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }
}

/// Why a sealed record was rejected. Readers treat all of these as "no permissions at all" (fail closed) and
/// tell the user.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// The record exists, but its key doesn't.
    #[error("The record “{record}” is sealed with a key that is gone.")]
    MissingKey { record: String },
    /// The MAC doesn't match: the record was edited.
    #[error("The record “{record}” was changed from outside: its seal does not fit.")]
    BadMac { record: String },
    /// The record is an older copy than the last one that was sealed (rollback).
    #[error("The record “{record}” is an old copy (number {found}, the last one was {kept}).")]
    OldCopy {
        record: String,
        /// Counter of the record.
        found: u64,
        /// Counter in the secret store.
        kept: u64,
    },
    /// A record was sealed and no longer exists.
    #[error("The record “{record}” is gone, though one was sealed.")]
    Gone { record: String },
    /// The secret store is locked or can't be reached, so that nothing can be verified.
    #[error("The record “{record}” cannot be checked. {cause}")]
    Locked { record: String, cause: SecretError },
    /// A database error, or the content can't be parsed.
    #[error("The record “{record}” cannot be read: {cause}")]
    Unreadable { record: String, cause: String },
}

/// Why the secret store didn't answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// This machine has no keychain, or it isn't running.
    #[error("No keychain can be reached: {reason}")]
    Unavailable {
        /// The system's error message.
        reason: String,
    },
    /// The keychain is locked.
    #[error("The keychain is locked.")]
    Locked,
    /// Wrong vault passphrase.
    #[error("The passphrase of the vault is wrong.")]
    WrongPassphrase,
    /// The vault file is damaged.
    #[error("The vault is damaged: {reason}")]
    Damaged { reason: String },
    /// The vault was written by a newer version.
    #[error("The vault was written by a newer version of Gatehouse.")]
    NewerVersion,
    /// The store refused for another reason.
    #[error("The store for secrets refused: {reason}")]
    Refused { reason: String },
}

impl From<SecretError> for UserError {
    fn from(error: SecretError) -> Self {
        let what = error.to_string();
        match error {
            SecretError::Unavailable { .. } => UserError::new(ErrorCode::SecretsUnavailable, what)
                .with_hint("Start a keychain service, or use a vault with a passphrase."),
            SecretError::Locked => {
                UserError::new(ErrorCode::SecretsUnavailable, what).with_hint("Unlock it and try again.")
            }
            SecretError::WrongPassphrase => {
                UserError::new(ErrorCode::SecretsUnavailable, what).with_hint("Enter the passphrase again.")
            }
            SecretError::Damaged { .. } => UserError::new(ErrorCode::SecretsUnavailable, what).with_hint(
                "Put a backup of the vault in its place, or remove it to begin with an empty one.",
            ),
            SecretError::NewerVersion => {
                UserError::new(ErrorCode::NewerVersion, what).with_hint("Update Gatehouse.")
            }
            SecretError::Refused { .. } => UserError::new(ErrorCode::SecretsUnavailable, what),
        }
    }
}

impl From<SealError> for UserError {
    fn from(error: SealError) -> Self {
        let what = error.to_string();
        match error {
            SealError::Locked { .. } => UserError::new(ErrorCode::SecretsUnavailable, what)
                .with_hint("Unlock the keychain; until then nothing that was allowed before counts."),
            SealError::Unreadable { .. } => UserError::new(ErrorCode::Storage, what),
            SealError::MissingKey { .. }
            | SealError::BadMac { .. }
            | SealError::OldCopy { .. }
            | SealError::Gone { .. } => UserError::new(ErrorCode::Storage, what)
                .with_hint("Nothing that was allowed before counts; allow again what you want to keep."),
        }
    }
}

impl From<StoreError> for UserError {
    fn from(error: StoreError) -> Self {
        let what = error.to_string();
        match error {
            StoreError::DataFolderInUse { .. } => UserError::new(ErrorCode::DataFolderInUse, what)
                .with_hint("Close the other one, or use another data folder."),
            StoreError::Io { .. } => UserError::new(ErrorCode::Storage, what)
                .with_hint("Check that the disk is not full and the data folder is yours."),
            StoreError::Database(_) | StoreError::Encoding(_) => UserError::new(ErrorCode::Storage, what),
            StoreError::Random(_) => UserError::new(ErrorCode::Internal, what),
            StoreError::Secret(inner) => inner.into(),
            StoreError::Seal(inner) => inner.into(),
            StoreError::Config(inner) => inner,
        }
    }
}
