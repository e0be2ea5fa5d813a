//! Errors of the store, and their conversion to errors for the user.
//!
//! No message here ever contains a secret or the content of a sealed record.

use std::fmt;

use gatehouse_model::{ErrorCode, Message, UserError, UserText, message};

/// Why something couldn't be stored or read. `Display` is English.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another Gatehouse process has the data folder open.
    DataFolderInUse {
        /// The other process, as described in the lock file; `None` if that says nothing.
        holder: Option<String>,
    },
    /// A file operation failed.
    Io {
        /// The operation that failed, as a sentence.
        what: UserText,
        source: std::io::Error,
    },
    /// A database operation failed.
    Database(#[from] rusqlite::Error),
    /// A value couldn't be serialized, or a stored value couldn't be parsed.
    Encoding(#[from] serde_json::Error),
    /// The secret store refused.
    Secret(#[from] SecretError),
    /// A sealed record was rejected.
    Seal(#[from] SealError),
    /// A settings file can't be used or changed as it is. Also for a name that is taken or invalid.
    Config(UserError),
    /// The operating system provides no random numbers.
    Random(String),
}

impl StoreError {
    pub(crate) fn io(what: Message) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Io { what: what.into(), source }
    }

    /// What happened, without what to do about it.
    pub(crate) fn text(&self) -> UserText {
        match self {
            Self::DataFolderInUse { holder: Some(holder) } => {
                message!("error.store.folderInUseBy", holder = holder).into()
            }
            Self::DataFolderInUse { holder: None } => message!("error.store.folderInUse").into(),
            Self::Io { what, source } => {
                message!("error.store.io", what = what.clone(), reason = source.to_string()).into()
            }
            Self::Database(error) => {
                message!("error.store.databaseRefused", reason = error.to_string()).into()
            }
            Self::Encoding(error) => {
                message!("error.store.recordUnencoded", reason = error.to_string()).into()
            }
            Self::Secret(error) => error.text(),
            Self::Seal(error) => error.text(),
            Self::Config(error) => error.message.clone(),
            Self::Random(reason) => message!("error.store.noRandom", reason = reason).into(),
        }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(error) => fmt::Display::fmt(error, f),
            other => fmt::Display::fmt(&other.text(), f),
        }
    }
}

/// Why a sealed record was rejected. Readers treat all of these as "no permissions at all" (fail closed) and
/// tell the user. `Display` is English.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// The record exists, but its key doesn't.
    MissingKey { record: String },
    /// The MAC doesn't match: the record was edited.
    BadMac { record: String },
    /// The record is an older copy than the last one that was sealed (rollback).
    OldCopy {
        record: String,
        /// Counter of the record.
        found: u64,
        /// Counter in the secret store.
        kept: u64,
    },
    /// A record was sealed and no longer exists.
    Gone { record: String },
    /// The secret store is locked or can't be reached, so that nothing can be verified.
    Locked { record: String, cause: SecretError },
    /// A database error, or the content can't be parsed.
    Unreadable { record: String, cause: String },
}

impl SealError {
    fn text(&self) -> UserText {
        match self {
            Self::MissingKey { record } => message!("error.store.sealMissingKey", record = record),
            Self::BadMac { record } => message!("error.store.sealBadMac", record = record),
            Self::OldCopy { record, found, kept } => message!(
                "error.store.sealOldCopy",
                record = record,
                found = found.to_string(),
                kept = kept.to_string(),
            ),
            Self::Gone { record } => message!("error.store.sealGone", record = record),
            Self::Locked { record, cause } => {
                message!("error.store.sealLocked", record = record, cause = cause.text())
            }
            Self::Unreadable { record, cause } => {
                message!("error.store.sealUnreadable", record = record, cause = cause)
            }
        }
        .into()
    }
}

impl fmt::Display for SealError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.text(), f)
    }
}

/// Why the secret store didn't answer. `Display` is English. A reason is a sentence of ours, or a text of the system.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// This machine has no keychain, or it isn't running.
    Unavailable { reason: UserText },
    /// The keychain is locked.
    Locked,
    /// Wrong vault passphrase.
    WrongPassphrase,
    /// The vault file is damaged.
    Damaged { reason: UserText },
    /// The vault was written by a newer version.
    NewerVersion,
    /// The store refused for another reason.
    Refused { reason: UserText },
}

impl SecretError {
    pub(crate) fn unavailable(reason: impl Into<UserText>) -> Self {
        Self::Unavailable { reason: reason.into() }
    }

    pub(crate) fn damaged(reason: Message) -> Self {
        Self::Damaged { reason: reason.into() }
    }

    pub(crate) fn refused(reason: impl Into<UserText>) -> Self {
        Self::Refused { reason: reason.into() }
    }

    fn text(&self) -> UserText {
        match self {
            Self::Unavailable { reason } => message!("error.store.noKeychain", reason = reason.clone()),
            Self::Locked => message!("error.store.keychainLocked"),
            Self::WrongPassphrase => message!("error.store.wrongPassphrase"),
            Self::Damaged { reason } => message!("error.store.vaultDamaged", reason = reason.clone()),
            Self::NewerVersion => message!("error.store.vaultNewer"),
            Self::Refused { reason } => message!("error.store.secretsRefused", reason = reason.clone()),
        }
        .into()
    }
}

impl fmt::Display for SecretError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.text(), f)
    }
}

impl From<SecretError> for UserError {
    fn from(error: SecretError) -> Self {
        let (code, hint) = match error {
            SecretError::Unavailable { .. } => {
                (ErrorCode::SecretsUnavailable, Some(message!("error.store.noKeychainHint")))
            }
            SecretError::Locked => {
                (ErrorCode::SecretsUnavailable, Some(message!("error.store.keychainLockedHint")))
            }
            SecretError::WrongPassphrase => {
                (ErrorCode::SecretsUnavailable, Some(message!("error.store.wrongPassphraseHint")))
            }
            SecretError::Damaged { .. } => {
                (ErrorCode::SecretsUnavailable, Some(message!("error.store.vaultDamagedHint")))
            }
            SecretError::NewerVersion => {
                (ErrorCode::NewerVersion, Some(message!("error.store.vaultNewerHint")))
            }
            SecretError::Refused { .. } => (ErrorCode::SecretsUnavailable, None),
        };
        user_error(code, error.text(), hint)
    }
}

impl From<SealError> for UserError {
    fn from(error: SealError) -> Self {
        let (code, hint) = match error {
            SealError::Locked { .. } => {
                (ErrorCode::SecretsUnavailable, Some(message!("error.store.sealLockedHint")))
            }
            SealError::Unreadable { .. } => (ErrorCode::Storage, None),
            SealError::MissingKey { .. }
            | SealError::BadMac { .. }
            | SealError::OldCopy { .. }
            | SealError::Gone { .. } => (ErrorCode::Storage, Some(message!("error.store.sealBrokenHint"))),
        };
        user_error(code, error.text(), hint)
    }
}

impl From<StoreError> for UserError {
    fn from(error: StoreError) -> Self {
        let (code, hint) = match error {
            StoreError::DataFolderInUse { .. } => {
                (ErrorCode::DataFolderInUse, Some(message!("error.store.folderInUseHint")))
            }
            StoreError::Io { .. } => (ErrorCode::Storage, Some(message!("error.store.ioHint"))),
            StoreError::Database(_) | StoreError::Encoding(_) => (ErrorCode::Storage, None),
            StoreError::Random(_) => (ErrorCode::Internal, None),
            StoreError::Secret(inner) => return inner.into(),
            StoreError::Seal(inner) => return inner.into(),
            StoreError::Config(inner) => return inner,
        };
        user_error(code, error.text(), hint)
    }
}

fn user_error(code: ErrorCode, text: UserText, hint: Option<Message>) -> UserError {
    let error = UserError::new(code, text);
    match hint {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}
