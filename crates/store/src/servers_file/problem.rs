//! What can be wrong with a server's settings: where it is, and how it is said. The window shows the
//! message beside the field; in errors it follows the field's path.

use gatehouse_model::server_problem::ServerProblem;
use gatehouse_model::sign_in::SignInProblem;
use gatehouse_model::{ErrorCode, Message, UserError, message};

use super::name::{NameProblem, shown_name};

/// The types of servers: the name of each transport (`Transport::kind`). An entry with a type that is not listed here
/// is refused.
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
    /// HTTP+SSE has no revision without a handshake.
    StatelessSse,
    NamelessVariable,
    SignIn(SignInProblem),
    /// A new secret that was not given.
    NoSecret,
    /// A stored secret that would be sent to another destination.
    SecretMoved,
    /// A placeholder for a stored value where none is stored.
    NothingKept,
    /// A placeholder for a stored value that would go to another program or address.
    KeptMoved,
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
            Self::InvalidName { problem, .. } => problem.message(),
            Self::NameTaken => message!("problem.name.taken"),
            Self::Twice => message!("problem.twice"),
            Self::Unreadable => message!("problem.unreadable"),
            Self::Broken => message!("problem.broken"),
            Self::NotOneServer => message!("problem.oneServer"),
            Self::UnknownField { name, .. } if name == "name" => message!("problem.key"),
            Self::UnknownField { name, .. } if name == "disabled" => message!("problem.disabled"),
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
            Self::NoTransport => message!("problem.neither"),
            Self::SeveralTransports => message!("problem.several"),
            Self::Missing { name } => message!("problem.missing", name = *name),
            Self::Wanted(wanted) => wanted.message(),
            Self::NoCommand => message!("problem.command"),
            Self::BadUrl { is_ws: false } => message!("problem.url"),
            Self::BadUrl { is_ws: true } => message!("problem.wsUrl"),
            Self::RelativeFolder => message!("problem.folder"),
            Self::NoFolder => message!("problem.folderMissing"),
            Self::RelativeRoot => message!("problem.roots"),
            Self::StatelessSse => message!("problem.statelessSse"),
            Self::NamelessVariable => message!("problem.varName"),
            Self::SignIn(problem) => sign_in_message(*problem),
            Self::NoSecret => match view {
                SettingsView::Form => message!("problem.secret"),
                SettingsView::Json => message!("problem.secretJson"),
            },
            Self::SecretMoved => match view {
                SettingsView::Form => message!("problem.secretMoved"),
                SettingsView::Json => message!("problem.secretMovedJson"),
            },
            Self::NothingKept => message!("problem.nothingKept"),
            Self::KeptMoved => message!("problem.keptMoved"),
        }
    }
}

impl NameProblem {
    fn message(self) -> Message {
        match self {
            Self::Empty => message!("problem.name.empty"),
            Self::TooLong => message!("problem.name.long"),
            Self::OuterSpace => message!("problem.name.space"),
            Self::Slash => message!("problem.name.slash"),
            Self::Invisible => message!("problem.name.invisible"),
        }
    }
}

impl Wanted {
    fn message(self) -> Message {
        match self {
            Self::Text => message!("problem.text"),
            Self::Flag => message!("problem.flag"),
            Self::TextList => message!("problem.list"),
            Self::Texts => message!("problem.texts"),
            Self::Object => message!("problem.object"),
            Self::Amount(0) => message!("problem.amount"),
            Self::Amount(_) => message!("problem.amount1"),
            Self::CallLimit => message!("problem.callLimit"),
            Self::Program => message!("problem.program"),
            Self::Builtin => message!("problem.builtin"),
            Self::OneOf(words) => {
                message!("problem.oneOf", words = words.join(", "))
            }
            Self::GatehouseMember => message!("problem.gatehouse"),
        }
    }
}

/// Whether other programs write what runs without asking into a field of this name.
fn is_permission(name: &str) -> bool {
    matches!(name, "autoApprove" | "alwaysAllow" | "alwaysLoad" | "trust")
}

fn sign_in_message(problem: SignInProblem) -> Message {
    match problem {
        SignInProblem::BadRedirect => message!("problem.signIn.redirect"),
        SignInProblem::BadAuthorize
        | SignInProblem::BadToken
        | SignInProblem::BadRevoke
        | SignInProblem::BadIssuer => message!("problem.signIn.address"),
        SignInProblem::NoClientId | SignInProblem::NoCompanyClientId => message!("problem.signIn.id"),
        SignInProblem::NoClientToSignInAs => message!("problem.signIn.ownId"),
        SignInProblem::NoClientForEndpoints => message!("problem.signIn.idToo"),
        SignInProblem::NoClientSecret => message!("problem.signIn.ownSecret"),
        SignInProblem::NoKey => message!("problem.signIn.key"),
    }
}
