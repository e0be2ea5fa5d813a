//! Approval requests and other requests put to a person, and the possible answers.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::connection::FileChange;
use crate::grant::{AccessClassification, Condition, FieldChange};
use crate::id::{ApprovalId, CallHash, ClientId, Generation, GrantId, ServerId, SessionId};
use crate::message::Message;
use crate::server::ServerConfig;
use crate::time::Timestamp;

pub use crate::grant::AutoApprove;
pub use crate::subject::Subject;

/// A request to a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[serde(tag = "kind", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[allow(clippy::large_enum_variant, reason = "calls are nearly all of them, and few wait at a time")]
pub enum ApprovalRequest {
    /// May this call run?
    Call(CallApprovalRequest),
    /// An unknown client wants access.
    Client(ClientAccessRequest),
    /// A program proposes a command.
    Command(CommandRequest),
    /// A settings file was changed by hand in a way that matters.
    ConfigChange(ConfigChangeRequest),
    /// A server wants input (MCP `elicitation/create`).
    Elicitation(ElicitationRequest),
    /// A server wants a model's answer (MCP `sampling/createMessage`).
    Sampling(SamplingRequest),
    /// A server wants more OAuth scopes.
    StepUp(ScopeUpgradeRequest),
}

/// May this call run? Carries all that the prompt shows and the choices that it may offer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CallApprovalRequest {
    pub client: ClientSummary,
    pub server: ServerSummary,
    /// What is to be used.
    pub subject: Subject,
    /// Display title of the tool, cleaned of hidden characters.
    pub title: String,
    /// The name that the client used.
    pub exposed_name: String,
    /// Access class with its reason.
    pub class: AccessClassification,
    /// The whole arguments, top-level member by member, in their order. They can be large, so they are absent
    /// in events, for readers who said that they have them, and where a reply has no room for them.
    pub arguments: Option<Vec<ShownArgument>>,
    /// Bytes of the arguments as they are shown.
    pub argument_bytes: u32,
    /// Whether the arguments and what is offered are absent because the reply had no room for them. They come when
    /// the list is asked for again and those that came are named as known.
    pub is_abridged: bool,
    /// Hash that the answer has to repeat (PERM-7, PERM-9).
    pub hash: CallHash,
    /// What the user should know before answering.
    pub warnings: Vec<Warning>,
    /// What changed since the tool was allowed; empty unless the definition did.
    pub changes: Vec<FieldChange>,
    /// The ways to allow it that are offered, in the order of the menu. Left out where the arguments are.
    pub choices: Vec<OfferedChoice>,
    /// The ways to deny it that are offered, in the order of the menu. Left out where the arguments are.
    pub denials: Vec<OfferedChoice>,
    /// Conditions that are proposed for a choice of the width `tool`; each of them holds for this call. Those about
    /// one argument follow each other, the most fitting one first. Left out where the arguments are.
    pub conditions: Vec<OfferedCondition>,
    /// When the client is told to call again (PERM-11); `None` once that has happened.
    pub client_waits_until: Option<Timestamp>,
}

/// The parts of an approval request about a call that can be large. They never change.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallDetails {
    /// The full arguments.
    pub arguments: Vec<ShownArgument>,
    /// The ways to allow it.
    pub choices: Vec<OfferedChoice>,
    /// The ways to deny it.
    pub denials: Vec<OfferedChoice>,
    /// The conditions that are proposed.
    pub conditions: Vec<OfferedCondition>,
}

impl CallApprovalRequest {
    /// Takes the details out. `None` if they were left out before.
    pub fn take_details(&mut self) -> Option<CallDetails> {
        let choices = std::mem::take(&mut self.choices);
        let denials = std::mem::take(&mut self.denials);
        let conditions = std::mem::take(&mut self.conditions);
        self.arguments.take().map(|arguments| CallDetails { arguments, choices, denials, conditions })
    }

    /// Puts in details of the same call that were left out.
    pub fn put_details(&mut self, details: CallDetails) {
        let CallDetails { arguments, choices, denials, conditions } = details;
        self.arguments = Some(arguments);
        self.choices = choices;
        self.denials = denials;
        self.conditions = conditions;
    }
}

/// The client of an approval request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ClientSummary {
    pub id: ClientId,
    /// The name that the user gave it.
    pub name: String,
    /// What it says of itself (`clientInfo`), to be shown smaller.
    pub says: Option<String>,
    /// The program that the connection was seen from, never verified.
    pub seen_from: Option<PeerProcess>,
    /// Its session, for clients of the stateful revisions.
    pub session: Option<SessionId>,
    /// Whether the user makes the call in Gatehouse's own window, in the name of this client.
    pub by_user: bool,
}

/// Where a connection was seen from (PERM-9): what the operating system said of its other end when it was
/// made. Any program of the user can stand there, so it is shown and compared and never trusted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PeerProcess {
    pub program: Program,
    /// The programs that started it, nearest first.
    pub parents: Vec<Program>,
}

/// A program that runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Program {
    /// Its name, as people know it: `claude`, `node cli.js`.
    pub name: String,
    /// Path of its file; where an interpreter runs a script, both with a blank between.
    pub path: String,
    /// Whether this says what runs: not where options of an interpreter may load other code, or nothing tells
    /// what it runs. A rule that is bound to a program never counts for such a one.
    pub is_known: bool,
}

/// The server of an approval request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ServerSummary {
    pub id: ServerId,
    pub generation: Generation,
    pub name: String,
    pub description: Option<String>,
    /// Name of its icon, one of those that are in the program, or an emoji that the user chose. Never an image of the
    /// server's: with that of another one it could pass for it where a person decides.
    pub icon: String,
}

impl From<&ServerConfig> for ServerSummary {
    fn from(config: &ServerConfig) -> Self {
        Self {
            id: config.id.clone(),
            generation: config.generation,
            name: config.name.clone(),
            description: config.look.description.clone(),
            icon: config.icon().to_owned(),
        }
    }
}

/// One argument as the prompt shows it: the whole value, never cut.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ShownArgument {
    /// Name of the member.
    pub name: String,
    /// Its JSON text with secrets masked and hidden characters made visible as `⟦U+202E⟧`.
    pub text: String,
    /// Whether something in it was masked.
    pub masked: bool,
    /// Whether it is no argument but goes with them: `task`, `_meta`, the input of a next round.
    #[serde(default)]
    pub extra: bool,
}

/// One argument with nothing masked, for the eyes of whoever asked to see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RevealedArgument {
    /// Its JSON text with hidden characters made visible as `⟦U+202E⟧`.
    pub text: String,
}

/// Something that the user should know before answering.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "warning", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Warning {
    /// No call of this tool was allowed before.
    FirstUse,
    /// The tool's definition is not the one that was allowed.
    DefinitionChanged,
    /// Characters that cannot be seen were found.
    HiddenCharacters {
        /// Where: in the tool's name, title or description, or in an argument.
        place: Message,
    },
    /// Letters were found that pass for others, as of another alphabet.
    LookAlikes {
        /// Where: in the tool's name or title.
        place: Message,
    },
    /// No program was seen, or it cannot be told what runs in it.
    UnknownProgram,
    /// The token is used from another program than before.
    OtherProgram {
        /// Seen before.
        before: String,
    },
    /// A grant covers this call but for being bound to no program yet. Allowing the call binds it to this one.
    UnboundGrant {
        grant: GrantId,
        /// What it allows.
        what: Message,
        /// The program that it will be bound to.
        program: String,
    },
}

/// How long and how wide an allow or a deny is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct GrantChoice {
    /// How long.
    pub lifetime: ChoiceLifetime,
    /// How wide.
    pub width: ChoiceScope,
    /// For every client instead of this one.
    #[serde(default)]
    pub every_client: bool,
    /// Only when these hold.
    #[serde(default)]
    pub conditions: Vec<Condition>,
}

impl GrantChoice {
    /// This one call, once.
    #[must_use]
    pub fn once() -> Self {
        Self {
            lifetime: ChoiceLifetime::Once,
            width: ChoiceScope::Call,
            every_client: false,
            conditions: Vec::new(),
        }
    }
}

/// A choice that an approval request offers. One of the width `tool` can be narrowed by conditions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct OfferedChoice {
    /// How long.
    pub lifetime: ChoiceLifetime,
    /// How wide.
    pub width: ChoiceScope,
    /// For every client instead of this one.
    pub every_client: bool,
    /// What the answer comes to. Its parameter `what` is a message: what the choice covers.
    pub sentence: Message,
}

impl OfferedChoice {
    /// Offers a choice without conditions.
    #[must_use]
    pub fn new(choice: &GrantChoice, sentence: Message) -> Self {
        let GrantChoice { lifetime, width, every_client, conditions: _ } = *choice;
        Self { lifetime, width, every_client, sentence }
    }

    pub fn choice(&self) -> GrantChoice {
        let Self { lifetime, width, every_client, sentence: _ } = *self;
        GrantChoice { lifetime, width, every_client, conditions: Vec::new() }
    }
}

/// A condition that an approval request proposes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct OfferedCondition {
    pub condition: Condition,
    /// The same in words.
    pub sentence: Message,
}

/// How long a choice lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum ChoiceLifetime {
    /// This time only.
    Once,
    /// For 15 minutes.
    QuarterHour,
    /// Until the client's session ends; for stateless clients the same as `UntilQuit`.
    Session,
    /// Until Gatehouse quits.
    UntilQuit,
    /// Until revoked.
    Always,
}

/// How wide a choice is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum ChoiceScope {
    Call,
    Tool,
    /// All reads of the server.
    Reads,
    /// Everything of the server.
    Server,
    /// For a deny: everything of this client, on every server.
    Client,
}

/// An unknown client wants access.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ClientAccessRequest {
    /// The name that it gives itself, never verified.
    pub says: String,
    /// Its OAuth client id: the address of its Client ID Metadata Document, or the id that it got when it registered.
    pub client_id: String,
    /// Where its answer would go, in full.
    pub redirect_uri: String,
    /// Name of the only server that it asks for; all servers where absent.
    pub server: Option<String>,
    /// Name of the client in the list that has this id already, whose permissions it would have.
    pub known_as: Option<String>,
    /// Name of another client in the list that people could take it for by its name.
    pub resembles: Option<String>,
    /// The program that the connection was seen from, never verified: usually the browser.
    pub seen_from: Option<PeerProcess>,
    /// The program that listens where the answer would go, never verified.
    pub receiver: Option<PeerProcess>,
}

/// A program that has no operator key proposes a command to the window (CTL-1). Accepted, exactly what is shown is run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CommandRequest {
    /// Name of the command, such as `servers.add`.
    pub command: String,
    /// What it does, with names in place of ids.
    pub what: Message,
    /// What else the user should know before answering, each a sentence.
    pub notes: Vec<Message>,
    /// What it sets, field by field and whole; secrets masked, unless they could be executed.
    pub changes: Vec<FieldChange>,
    /// What it writes to files of other applications.
    pub files: Vec<FileChange>,
    /// The program that proposes it, never verified.
    pub seen_from: Option<PeerProcess>,
}

/// A settings file was changed by hand in a way that matters (PERM-16), or a project asks for a server (GATE-4).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ConfigChangeRequest {
    /// File name without its folder, or the path of a project's file.
    pub file: String,
    /// Name of the server that the change is about.
    pub server: String,
    /// What changed, field by field; secrets masked.
    pub changes: Vec<FieldChange>,
    /// Whether the entry is new, changed or gone.
    pub action: ConfigChangeKind,
    /// The name of the profile for whose clients alone the server is, if a project asks for it.
    #[serde(default)]
    pub profile: Option<String>,
}

/// What happened to an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum ConfigChangeKind {
    /// It is new.
    Added,
    Changed,
    /// It is gone.
    Removed,
}

/// A server wants input (SRV-15). An accepted form carries its fields as a JSON object; they are
/// checked against the schema, with its defaults applied, before the server gets them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ElicitationRequest {
    pub server: ServerSummary,
    /// Whose call it asks about, where that is certain.
    pub client: Option<ClientSummary>,
    /// What it says, cleaned of hidden characters.
    pub message: String,
    pub want: ElicitationMode,
}

/// What a server wants from the user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[serde(tag = "mode", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ElicitationMode {
    /// Fields to fill in (form mode).
    Form {
        /// JSON Schema of the form: an object of primitive fields.
        schema: String,
    },
    /// A page to open (URL mode). Accepting means that the user opens it.
    Url {
        /// Its address, in full.
        url: String,
        /// The host in it, to be marked.
        host: String,
        /// Whether the call goes on only when the user is done there; else accepting means to open
        /// the page.
        until_done: bool,
    },
}

/// A server wants a model's answer. Without a client that can give one the user may write it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SamplingRequest {
    pub server: ServerSummary,
    /// Whose call it asks about, where that is certain.
    pub client: Option<ClientSummary>,
    /// The system prompt, where it wants one: whole, secrets masked, hidden characters made visible.
    pub system: Option<String>,
    /// The messages, oldest first, as `role: text`; what is no text is named in brackets. Shown as `system`.
    pub messages: Vec<String>,
    /// The request's params as JSON text, with secrets masked.
    pub request: String,
}

/// A server wants more OAuth scopes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ScopeUpgradeRequest {
    pub server: ServerSummary,
    /// The scopes that are missing.
    pub scopes: Vec<String>,
}

/// An approval request that waits for its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PendingApproval {
    pub id: ApprovalId,
    /// When it was made.
    pub requested_at: Timestamp,
    /// When it turns into a deny.
    pub expires_at: Timestamp,
    pub request: ApprovalRequest,
    /// Whether somebody still waits. When the client gave up or was told to call again, an answer
    /// becomes a ticket for the next identical call (PERM-11).
    pub waiting: bool,
    /// Name of the provider and id of the model that can be asked about it: to write the answer to a sampling request, or
    /// for its opinion about a call (PERM-17). None where the user chose none; only `approvals.list` fills it in.
    #[serde(default)]
    pub model: Option<String>,
}

/// What a person answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[serde(tag = "answer", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ApprovalAnswer {
    /// Yes, as wide and as long as chosen.
    Allow { choice: GrantChoice },
    /// No.
    Deny {
        /// As wide and as long as chosen.
        choice: GrantChoice,
        /// What the model gets to read.
        reason: Option<String>,
    },
    /// Yes to something that is not a call; elicitation and sampling carry their content.
    Accept {
        /// JSON text.
        content: Option<String>,
    },
    /// No to something that is not a call.
    Decline,
    /// Neither: the approval request is put away.
    Cancel,
}

/// An answer to one approval request; refused when the hash is not that of the approval request as it stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SubmittedAnswer {
    pub id: ApprovalId,
    /// For calls: the hash that was shown.
    pub hash: Option<CallHash>,
    pub answer: ApprovalAnswer,
}
