//! What can be wrong with a server's settings: where it is, and how it is said. The window shows the
//! message beside the field; in errors it follows the field's path.

use gatehouse_model::server_problem::ServerProblem;
use gatehouse_model::sign_in::SignInProblem;
use gatehouse_model::{ErrorCode, Message, UserError, message};

use super::name::{NameProblem, shown_name};

/// The types of servers.
pub(super) const TYPES: [&str; 6] = ["stdio", "auto", "http", "sse", "ws", "builtin"];

/// How many problems of one server are collected: a file or a text could have any number of them.
pub(super) const MAX_PROBLEMS: usize = 50;

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
    NameTaken,
    /// A member is there twice.
    Twice,
    /// The JSON can be read in more than one way, or not at all.
    Unreadable,
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
    UnknownType,
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
    Texts,
    Object,
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

    /// The problem as a sentence that says which field it is about, for errors.
    pub fn sentence(&self) -> Message {
        let problem = self.kind.message(SettingsView::Form);
        match self.named_field() {
            Some(field) => message!("problem.inField", field = field, problem = problem),
            None => problem,
        }
    }

    /// The path of the field as in `limits.roots`, cut, unless the text of the problem names it.
    fn named_field(&self) -> Option<String> {
        let pointer = match (&self.place, &self.kind) {
            (ProblemPlace::ServerName, _) => return None,
            (
                _,
                ProblemKind::UnknownField { .. }
                | ProblemKind::ForeignField { .. }
                | ProblemKind::Missing { .. },
            ) => self.place.pointer().rsplit_once('/')?.0,
            (place, _) => place.pointer(),
        };
        let path = shown_name(&pointer.trim_matches('/').replace('/', "."));
        (!path.is_empty()).then_some(path)
    }
}

impl From<ConfigProblem> for UserError {
    fn from(problem: ConfigProblem) -> Self {
        match &problem.kind {
            ProblemKind::InvalidName { shown, .. } => {
                Self::new(ErrorCode::BadRequest, message!("error.store.nameRefused", name = shown))
                    .with_cause(problem.sentence())
            }
            ProblemKind::NameTaken => Self::new(ErrorCode::NameTaken, problem.sentence()),
            _ => Self::new(ErrorCode::BadRequest, problem.sentence()),
        }
    }
}

impl ProblemKind {
    fn message(&self, view: SettingsView) -> Message {
        match self {
            Self::InvalidName { problem, .. } => Message::new(match problem {
                NameProblem::Empty => "problem.name.empty",
                NameProblem::TooLong => "problem.name.long",
                NameProblem::OuterSpace => "problem.name.space",
                NameProblem::Slash => "problem.name.slash",
                NameProblem::Invisible => "problem.name.invisible",
            }),
            Self::NameTaken => Message::new("problem.name.taken"),
            Self::Twice => Message::new("problem.twice"),
            Self::Unreadable => Message::new("problem.unreadable"),
            Self::Broken => Message::new("problem.broken"),
            Self::NotOneServer => Message::new("problem.oneServer"),
            Self::UnknownField { name, .. } if name == "name" => Message::new("problem.key"),
            Self::UnknownField { name, .. } if name == "disabled" => Message::new("problem.disabled"),
            Self::UnknownField { name, .. } if is_permission(name) => {
                message!("problem.permission", name = shown_name(name))
            }
            Self::UnknownField { name, meant: Some(meant) } => {
                message!("problem.unknownMeant", name = shown_name(name), meant = *meant)
            }
            Self::UnknownField { name, meant: None } => {
                message!("problem.unknown", name = shown_name(name))
            }
            Self::ForeignField { name, kind } => {
                message!("problem.foreign", name = shown_name(name), type = *kind)
            }
            Self::UnknownType => message!("problem.type", types = TYPES.join(", ")),
            Self::NoTransport => Message::new("problem.neither"),
            Self::SeveralTransports => Message::new("problem.several"),
            Self::Missing { name } => message!("problem.missing", name = *name),
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
}

impl Wanted {
    fn message(self) -> Message {
        match self {
            Self::Text => Message::new("problem.text"),
            Self::Flag => Message::new("problem.flag"),
            Self::TextList => Message::new("problem.list"),
            Self::Texts => Message::new("problem.texts"),
            Self::Object => Message::new("problem.object"),
            Self::Amount(0) => Message::new("problem.amount"),
            Self::Amount(_) => Message::new("problem.amount1"),
            Self::CallLimit => Message::new("problem.callLimit"),
            Self::Program => Message::new("problem.program"),
            Self::Builtin => Message::new("problem.builtin"),
            Self::OneOf(words) => {
                message!("problem.oneOf", words = words.join(", "))
            }
            Self::GatehouseMember => Message::new("problem.gatehouse"),
        }
    }
}

/// Whether other programs write what runs without asking into a field of this name.
fn is_permission(name: &str) -> bool {
    matches!(name, "autoApprove" | "alwaysAllow" | "alwaysLoad" | "trust")
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
