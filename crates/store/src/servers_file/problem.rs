//! What can be wrong with a server's settings: where it is, and how it is said. The window shows the
//! message beside the field; a sentence that names the field goes into errors.

use gatehouse_model::server_problem::ServerProblem;
use gatehouse_model::sign_in::SignInProblem;
use gatehouse_model::{ErrorCode, Message, MessageParam, UserError};

use super::name::{NAME_HINT, NameProblem};

/// The types of servers.
pub(super) const TYPES: [&str; 6] = ["stdio", "auto", "http", "sse", "ws", "builtin"];

/// One thing that is wrong with a server's settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigProblem {
    pub(super) place: ProblemPlace,
    pub(super) kind: ProblemKind,
}

/// Where a problem is. Pointers are JSON pointers within the server's entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ProblemPlace {
    /// The server's name: the key of its entry.
    ServerName,
    /// The name of a member.
    Key(String),
    /// The name of a member where it stands for the second time.
    Repeated(String),
    /// A value, which may be absent.
    Value(String),
}

impl ProblemPlace {
    pub(super) fn pointer(&self) -> &str {
        match self {
            Self::ServerName => "/name",
            Self::Key(pointer) | Self::Repeated(pointer) | Self::Value(pointer) => pointer,
        }
    }
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ProblemKind {
    InvalidName {
        problem: NameProblem,
        shown: String,
    },
    /// Another server has this name.
    NameTaken {
        shown: String,
    },
    /// A member is there twice.
    Twice,
    /// The JSON can be read in more than one way, or not at all; with the reason.
    Unreadable(String),
    /// The text is not JSON.
    Broken,
    /// The text is not an object with one server.
    NotOneServer,
    /// No field of this name exists.
    UnknownField {
        name: String,
        meant: Option<&'static str>,
    },
    /// The field belongs to servers of another type.
    ForeignField {
        name: String,
        kind: &'static str,
    },
    UnknownType {
        given: String,
        meant: Option<&'static str>,
    },
    /// Neither a command nor a URL.
    NoTransport,
    /// More than one of command, URL and built-in server.
    SeveralTransports,
    Missing {
        name: &'static str,
    },
    /// The value is not of the right type.
    Wanted(Wanted),
    NoCommand,
    BadUrl {
        is_ws: bool,
    },
    /// The folder of a built-in server is no absolute path.
    RelativeFolder,
    /// There is no such folder.
    NoFolder,
    RelativeRoot,
    NamelessVariable,
    SignIn(SignInProblem),
    /// A new secret that was not given.
    NoSecret,
    /// A stored secret that would be sent to another destination.
    SecretMoved,
}

/// What a value has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    Text,
    Flag,
    TextList,
    Folders,
    Texts,
    Object,
    Entry,
    /// A whole number of at least this.
    Amount(u32),
    CallLimit,
    Program,
    Builtin,
    OneOf(&'static [&'static str]),
    GatehouseMember,
}

/// Which view of a server's settings a message is shown in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingsView {
    /// The form, where new secrets are entered.
    Form,
    /// The JSON text, where secrets are only references.
    Json,
}

impl ConfigProblem {
    pub(super) fn at(pointer: impl Into<String>, kind: ProblemKind) -> Self {
        Self { place: ProblemPlace::Value(pointer.into()), kind }
    }

    pub(super) fn at_key(pointer: impl Into<String>, kind: ProblemKind) -> Self {
        Self { place: ProblemPlace::Key(pointer.into()), kind }
    }

    pub(super) fn of_name(kind: ProblemKind) -> Self {
        Self { place: ProblemPlace::ServerName, kind }
    }

    /// The problem that the folder of a built-in server does not exist.
    #[must_use]
    pub fn no_folder() -> Self {
        Self::at("/builtin/folder", ProblemKind::NoFolder)
    }

    /// The problem as the window shows it, without its place in a text.
    #[must_use]
    pub fn to_view(&self, view: SettingsView) -> ServerProblem {
        ServerProblem {
            pointer: self.place.pointer().to_owned(),
            message: self.kind.message(view),
            span: None,
        }
    }

    /// The problem as a sentence that names the field.
    #[must_use]
    pub fn sentence(&self) -> String {
        let field = self.place.pointer().trim_start_matches('/').replace('/', ".");
        self.kind.sentence(&field)
    }

    /// What to do about it, as a sentence.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        self.kind.hint()
    }
}

impl From<ConfigProblem> for UserError {
    fn from(problem: ConfigProblem) -> Self {
        let error = match &problem.kind {
            ProblemKind::InvalidName { shown, .. } => {
                Self::new(ErrorCode::BadRequest, format!("A server cannot be called “{shown}”."))
                    .with_cause(problem.sentence())
            }
            ProblemKind::NameTaken { .. } => Self::new(ErrorCode::NameTaken, problem.sentence()),
            _ => Self::new(ErrorCode::BadRequest, problem.sentence()),
        };
        match problem.hint() {
            Some(hint) => error.with_hint(hint),
            None => error,
        }
    }
}

impl ProblemKind {
    fn message(&self, view: SettingsView) -> Message {
        let text = |text: &str| MessageParam::Text(text.to_owned());
        match self {
            Self::InvalidName { problem, .. } => Message::new(match problem {
                NameProblem::Empty => "problem.name.empty",
                NameProblem::TooLong => "problem.name.long",
                NameProblem::OuterSpace => "problem.name.space",
                NameProblem::Slash => "problem.name.slash",
                NameProblem::Invisible => "problem.name.invisible",
            }),
            Self::NameTaken { .. } => Message::new("problem.name.taken"),
            Self::Twice => Message::new("problem.twice"),
            Self::Unreadable(_) => Message::new("problem.unreadable"),
            Self::Broken => Message::new("problem.broken"),
            Self::NotOneServer => Message::new("problem.oneServer"),
            Self::UnknownField { name, .. } if name == "name" => Message::new("problem.key"),
            Self::UnknownField { name, .. } if name == "disabled" => Message::new("problem.disabled"),
            Self::UnknownField { name, .. } if is_permission(name) => Message::new("problem.permission"),
            Self::UnknownField { name, meant: Some(meant) } => {
                Message::new("problem.unknownMeant").with("name", text(name)).with("meant", text(meant))
            }
            Self::UnknownField { name, meant: None } => {
                Message::new("problem.unknown").with("name", text(name))
            }
            Self::ForeignField { name, kind } => {
                Message::new("problem.foreign").with("name", text(name)).with("type", text(kind))
            }
            Self::UnknownType { .. } => Message::new("problem.type").with("types", text(&TYPES.join(", "))),
            Self::NoTransport => Message::new("problem.neither"),
            Self::SeveralTransports => Message::new("problem.several"),
            Self::Missing { name } => Message::new("problem.missing").with("name", text(name)),
            Self::Wanted(wanted) => wanted.message(),
            Self::NoCommand => Message::new("problem.command"),
            Self::BadUrl { is_ws: false } => Message::new("problem.url"),
            Self::BadUrl { is_ws: true } => Message::new("problem.wsUrl"),
            Self::RelativeFolder => Message::new("problem.folder"),
            Self::NoFolder => Message::new("problem.folderMissing"),
            Self::RelativeRoot => Message::new("problem.roots"),
            Self::NamelessVariable => Message::new("problem.varName"),
            Self::SignIn(problem) => Message::new(sign_in_key(*problem)),
            Self::NoSecret => Message::new(match view {
                SettingsView::Form => "problem.secret",
                SettingsView::Json => "problem.secretJson",
            }),
            Self::SecretMoved => Message::new(match view {
                SettingsView::Form => "problem.secretMoved",
                SettingsView::Json => "problem.secretMovedJson",
            }),
        }
    }

    fn sentence(&self, field: &str) -> String {
        match self {
            Self::InvalidName { problem, .. } => problem.sentence().to_owned(),
            Self::NameTaken { shown } => format!("There is a server called “{shown}” already."),
            Self::Twice => format!("The field “{field}” is there twice."),
            Self::Unreadable(reason) => format!("It cannot be read safely: {reason}."),
            Self::Broken => "It is not valid JSON.".to_owned(),
            Self::NotOneServer => "It is not an object with one server.".to_owned(),
            Self::UnknownField { .. } => format!("The field “{field}” is not known."),
            Self::ForeignField { kind, .. } => {
                format!("The field “{field}” does not belong to a server of type “{kind}”.")
            }
            Self::UnknownType { given, .. } => format!("The type “{given}” is not known."),
            Self::NoTransport => "It says neither “command” nor “url”.".to_owned(),
            Self::SeveralTransports => "It says more than one of “command”, “url” and “builtin”.".to_owned(),
            Self::Missing { .. } => format!("The field “{field}” is missing."),
            Self::Wanted(Wanted::Entry) => "It is not an object.".to_owned(),
            Self::Wanted(wanted) => format!("The field “{field}” must be {}.", wanted.words()),
            Self::NoCommand => format!("The field “{field}” names no program."),
            Self::BadUrl { is_ws } => {
                let schemes = if *is_ws { "ws:// or wss://" } else { "http:// or https://" };
                format!("The field “{field}” must begin with {schemes}, followed by a host.")
            }
            Self::RelativeFolder => "The folder of “builtin” must be a full path.".to_owned(),
            Self::NoFolder => "The folder of “builtin” does not exist.".to_owned(),
            Self::RelativeRoot => "Each folder in “limits.roots” must be a full path.".to_owned(),
            Self::NamelessVariable => format!("A value in “{}” has no name.", field.trim_end_matches('.')),
            Self::SignIn(problem) => {
                format!("The field “signIn” cannot be used: {}", problem.sentence())
            }
            Self::NoSecret => format!("The secret for {field} is missing."),
            Self::SecretMoved => {
                format!("The secret for {field} was given for another program or address.")
            }
        }
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::InvalidName { .. } => NAME_HINT,
            Self::NameTaken { .. } => "Choose another name.",
            Self::UnknownField { name, .. } if name == "name" => {
                "The name is the entry's key; remove the field."
            }
            Self::UnknownField { name, .. } if name == "disabled" => "Use “enabled” with the opposite value.",
            Self::UnknownField { name, .. } if is_permission(name) => {
                "What runs without asking is set on the server's page, never in this file."
            }
            Self::UnknownField { meant, .. } => return meant.map(did_you_mean),
            Self::UnknownType { meant: Some(meant), .. } => return Some(did_you_mean(meant)),
            Self::UnknownType { meant: None, .. } => {
                return Some(format!("Use one of {}.", TYPES.join(", ")));
            }
            Self::NoTransport => "Add the command that starts the server, or its address.",
            Self::NoCommand => "Say which program is to be run.",
            Self::BadUrl { .. } => "Enter the whole address of the server.",
            Self::RelativeFolder | Self::NoFolder => "Pick a folder that exists.",
            _ => return None,
        };
        Some(hint.to_owned())
    }
}

impl Wanted {
    fn message(self) -> Message {
        match self {
            Self::Text => Message::new("problem.text"),
            Self::Flag => Message::new("problem.flag"),
            Self::TextList | Self::Folders => Message::new("problem.list"),
            Self::Texts => Message::new("problem.texts"),
            Self::Object | Self::Entry => Message::new("problem.object"),
            Self::Amount(0) => Message::new("problem.amount"),
            Self::Amount(_) => Message::new("problem.amount1"),
            Self::CallLimit => Message::new("problem.callLimit"),
            Self::Program => Message::new("problem.program"),
            Self::Builtin => Message::new("problem.builtin"),
            Self::OneOf(words) => {
                Message::new("problem.oneOf").with("words", MessageParam::Text(words.join(", ")))
            }
            Self::GatehouseMember => Message::new("problem.gatehouse"),
        }
    }

    fn words(self) -> String {
        let words = match self {
            Self::Text => "text",
            Self::Flag => "true or false",
            Self::TextList => "a list of texts",
            Self::Folders => "a list of absolute folders",
            Self::Texts => "an object of texts",
            Self::Object | Self::Entry => "an object",
            Self::Amount(least) => return format!("a whole number of at least {least}"),
            Self::CallLimit => {
                "a whole number of at least 1, null for no limit, or “default” for what is set for all servers"
            }
            Self::Program => "an object with “command” and “args”",
            Self::Builtin => "an object with “kind”: “time”, “notes”, “fetch”, or “files” with “folder”",
            Self::OneOf(words) => return format!("one of {}", words.join(", ")),
            Self::GatehouseMember => "as Gatehouse wrote it: an object with “id”, “generation” and “origin”",
        };
        words.to_owned()
    }
}

/// Whether other programs write what runs without asking into a field of this name.
fn is_permission(name: &str) -> bool {
    matches!(name, "autoApprove" | "alwaysAllow" | "alwaysLoad" | "trust")
}

fn did_you_mean(field: &str) -> String {
    format!("Did you mean “{field}”?")
}

fn sign_in_key(problem: SignInProblem) -> &'static str {
    match problem {
        SignInProblem::BadRedirect => "problem.signIn.redirect",
        SignInProblem::BadAuthorize
        | SignInProblem::BadToken
        | SignInProblem::BadRevoke
        | SignInProblem::BadIssuer => "problem.signIn.address",
        SignInProblem::NoClientId | SignInProblem::NoCompanyClientId => "problem.signIn.id",
        SignInProblem::NoClientToSignInAs => "problem.signIn.ownId",
        SignInProblem::NoClientForEndpoints => "problem.signIn.idToo",
        SignInProblem::NoClientSecret => "problem.signIn.ownSecret",
        SignInProblem::NoKey => "problem.signIn.key",
    }
}
