//! Why a bundle cannot be read, filled in or unpacked.

use std::io;

use gatehouse_model::{ErrorCode, Message, UserError, message};

/// A bundle that is refused, or that could not be unpacked.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    #[error("the file cannot be read: {0}")]
    Unread(#[source] io::Error),
    #[error("the bundle cannot be unpacked: {0}")]
    Unwritten(#[source] io::Error),
    #[error("the file is too large")]
    TooLarge,
    #[error("the file is no bundle")]
    NotABundle,
    #[error("more than {limit} files")]
    TooManyFiles { limit: usize },
    #[error("too much content")]
    TooMuchContent,
    #[error("{name} leads out of the folder")]
    NameOutside { name: String },
    #[error("{name} has hidden characters")]
    NameHidden { name: String },
    #[error("{name} is no usable name")]
    BadName { name: String },
    #[error("{name} occurs twice")]
    NameTwice { name: String },
    #[error("{name} is a link or a device")]
    Link { name: String },
    #[error("{name} is encrypted")]
    Encrypted { name: String },
    #[error("{name} is packed by an unknown method")]
    UnknownMethod { name: String },
    #[error("{name} is damaged")]
    Damaged { name: String },
    #[error("there is no manifest")]
    NoManifest,
    #[error("the manifest cannot be used: {0}")]
    Manifest(#[source] ManifestError),
    #[error("the manifest has version {version}")]
    UnknownVersion { version: String },
    #[error("the file does not have the expected hash")]
    OtherFile,
    #[error("the signature does not match")]
    SignatureMismatch,
    #[error("the bundle is not for this system")]
    OtherSystem,
    #[error("the option {option} is refused: {problem:?}")]
    Option { option: String, problem: OptionProblem },
    #[error("the bundle has to be read again")]
    Forgotten,
    #[error("it was cancelled")]
    Cancelled,
}

/// What is wrong with a manifest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// In the words of the JSON reader.
    #[error("{0}")]
    Json(String),
    #[error("{field} is empty, too long, or holds hidden characters")]
    Text { field: String },
    #[error("the variable {variable} is unknown")]
    Variable { variable: String },
    #[error("a secret stands in the command line")]
    SecretInCommand { option: String },
    #[error("there are too many of {field}")]
    TooMany { field: String },
}

/// What is wrong with the value of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionProblem {
    Missing,
    /// It has another type, or is out of its range.
    Value,
    NoFolder,
    NoFile,
    /// There is no such option.
    Unknown,
    /// It is a secret, which is given in another way.
    Secret,
}

impl OptionProblem {
    fn message(self) -> Message {
        match self {
            Self::Missing => message!("error.bundles.option.missing"),
            Self::Value => message!("error.bundles.option.value"),
            Self::NoFolder => message!("error.bundles.option.noFolder"),
            Self::NoFile => message!("error.bundles.option.noFile"),
            Self::Unknown => message!("error.bundles.option.unknown"),
            Self::Secret => message!("error.bundles.option.secret"),
        }
    }
}

impl ManifestError {
    fn message(&self) -> Message {
        match self {
            Self::Json(reason) => message!("error.bundles.manifest.json", reason = reason),
            Self::Text { field } => message!("error.bundles.manifest.text", field = field),
            Self::Variable { variable } => message!("error.bundles.manifest.variable", variable = variable),
            Self::SecretInCommand { option } => message!("error.bundles.manifest.secret", option = option),
            Self::TooMany { field } => message!("error.bundles.manifest.tooMany", field = field),
        }
    }
}

impl BundleError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Unread(error) if error.kind() == io::ErrorKind::NotFound => ErrorCode::NotFound,
            Self::Unread(_) | Self::Unwritten(_) => ErrorCode::Storage,
            Self::UnknownVersion { .. } => ErrorCode::NewerVersion,
            Self::Forgotten => ErrorCode::NotFound,
            Self::Cancelled => ErrorCode::Cancelled,
            Self::OtherFile | Self::SignatureMismatch | Self::OtherSystem => ErrorCode::NotPermitted,
            _ => ErrorCode::BadRequest,
        }
    }

    /// What happened, as a message.
    pub(super) fn message(&self) -> Message {
        match self {
            Self::Unread(_) => message!("error.bundles.unread"),
            Self::Unwritten(_) => message!("error.bundles.unwritten"),
            Self::TooLarge => message!("error.bundles.tooLarge"),
            Self::NotABundle => message!("error.bundles.notABundle"),
            Self::TooManyFiles { limit } => {
                message!("error.bundles.tooManyFiles", limit = u32::try_from(*limit).unwrap_or(u32::MAX))
            }
            Self::TooMuchContent => message!("error.bundles.tooMuchContent"),
            Self::NameOutside { name } => message!("error.bundles.nameOutside", name = name),
            Self::NameHidden { name } => message!("error.bundles.nameHidden", name = name),
            Self::BadName { name } => message!("error.bundles.badName", name = name),
            Self::NameTwice { name } => message!("error.bundles.nameTwice", name = name),
            Self::Link { name } => message!("error.bundles.link", name = name),
            Self::Encrypted { name } => message!("error.bundles.encrypted", name = name),
            Self::UnknownMethod { name } => message!("error.bundles.unknownMethod", name = name),
            Self::Damaged { name } => message!("error.bundles.damaged", name = name),
            Self::NoManifest => message!("error.bundles.noManifest"),
            Self::Manifest(problem) => message!("error.bundles.manifest", problem = problem.message()),
            Self::UnknownVersion { version } => message!("error.bundles.unknownVersion", version = version),
            Self::OtherFile => message!("error.bundles.otherFile"),
            Self::SignatureMismatch => message!("error.bundles.signatureMismatch"),
            Self::OtherSystem => message!("error.bundles.otherSystem"),
            Self::Option { option, problem } => {
                message!("error.bundles.option", option = option, problem = problem.message())
            }
            Self::Forgotten => message!("error.bundles.forgotten"),
            Self::Cancelled => message!("error.bundles.cancelled"),
        }
    }
}

impl From<BundleError> for UserError {
    fn from(error: BundleError) -> Self {
        let whole = Self::new(error.code(), error.message());
        match error {
            BundleError::Unread(reason) | BundleError::Unwritten(reason) => {
                whole.with_cause(format!("{reason}."))
            }
            BundleError::OtherFile => whole
                .with_cause(message!("error.bundles.otherFileCause"))
                .with_hint(message!("error.bundles.otherFileHint")),
            BundleError::SignatureMismatch => {
                whole.with_hint(message!("error.bundles.signatureMismatchHint"))
            }
            BundleError::NotABundle => whole.with_hint(message!("error.bundles.notABundleHint")),
            BundleError::NameOutside { .. }
            | BundleError::NameHidden { .. }
            | BundleError::NameTwice { .. }
            | BundleError::Link { .. }
            | BundleError::TooMuchContent => whole.with_hint(message!("error.bundles.unsafeHint")),
            _ => whole,
        }
    }
}
