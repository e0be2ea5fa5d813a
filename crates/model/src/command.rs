//! The list of all commands: windows, command line and tests drive the core through them and nothing
//! else. Routing, types and TypeScript are generated from this list.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use ts_rs::TS;

use crate::approval::{AutoApprove, GrantChoice, PendingApproval, RevealedArgument, SubmittedAnswer};
use crate::client::ClientView;
use crate::error::{ErrorCode, UserError};
use crate::event::EventEnvelope;
use crate::grant::{AccessClass, AutoApproveCoverage, PolicyView, RuleAuthor, RuleView};
use crate::id::{ApprovalId, CallHash, CallId, GrantId};
use crate::record::{AuditEntryView, AuditVerdict, CallFilter, CallRecord, RunningCall};
use crate::secret::Secret;
use crate::server::{LogLevel, LogLine, ServerDraft, ServerView, TestReport};
use crate::server_catalog::{Completion, CompletionTarget, ResultView, SavedFile, ServerCatalog};
use crate::server_problem::{SettingsInput, ValidationReport};
use crate::settings::{CallLimits, PackageSources, Settings, ToolNaming};
use crate::sign_in::{SignInStart, SignOutResult};
use crate::simulation::{PolicyDraft, SimulationReport};
use crate::time::Timestamp;
use crate::tool::{OmittedTool, ToolView};

/// The authority that a caller has, and that a command needs (PERM-16). Each level includes the ones
/// before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Authority {
    /// Any process of this user: it may read, and it may stop or block what the operator can start or
    /// allow again.
    Anyone,
    /// A caller that proved to have a client's token.
    Client,
    /// A person: one of Gatehouse's own windows, or a caller that proved to have the operator key.
    /// Needed for everything that widens permissions, starts or destroys something, answers approval
    /// requests or shows full arguments.
    Operator,
}

impl From<Authority> for RuleAuthor {
    fn from(by: Authority) -> Self {
        match by {
            Authority::Operator => Self::Person,
            Authority::Anyone | Authority::Client => Self::Unprivileged,
        }
    }
}

/// One row of the command table: the authority that a command needs, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandRule {
    /// Name in requests.
    pub name: &'static str,
    pub needs: Authority,
    /// Why, as a sentence.
    pub reason: &'static str,
}

/// A command with the type of its reply.
pub trait TypedCommand: Serialize {
    type Reply: for<'de> Deserialize<'de> + Serialize;
    /// Its name in requests.
    const NAME: &'static str;
    const NEEDS: Authority;
}

macro_rules! commands {
    ($($(#[$doc:meta])* $wire:literal $name:ident { $($(#[$fdoc:meta])* $field:ident: $type:ty),* $(,)? } -> $reply:ty, $needs:ident: $reason:literal;)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Debug, Serialize, Deserialize, TS)]
            #[serde(rename_all = "camelCase", deny_unknown_fields)]
            pub struct $name { $($(#[$fdoc])* pub $field: $type),* }

            impl TypedCommand for $name {
                type Reply = $reply;
                const NAME: &'static str = $wire;
                const NEEDS: Authority = Authority::$needs;
            }
        )*

        #[derive(Clone, Debug)]
        pub enum Command {
            $($(#[$doc])* $name($name)),*
        }

        /// Every command with the authority that it needs and the reason.
        pub const COMMANDS: &[CommandRule] =
            &[$(CommandRule { name: $wire, needs: Authority::$needs, reason: $reason }),*];

        impl Command {
            /// Name, argument type and reply type of every command, for the TypeScript map.
            #[must_use]
            pub fn signatures(config: &ts_rs::Config) -> Vec<(&'static str, String, String)> {
                vec![$(($wire, <$name as TS>::name(config), <$reply as TS>::name(config))),*]
            }

            /// Exports the types of all commands and replies with everything that they use.
            pub fn export_types(config: &ts_rs::Config) -> Result<(), ts_rs::ExportError> {
                $(<$name as TS>::export_all(config)?; <$reply as ExportReply>::export_reply(config)?;)*
                Ok(())
            }

            /// Parses a command from its name and its arguments.
            ///
            /// # Errors
            /// [`ErrorCode::BadRequest`] for an unknown name or invalid arguments.
            pub fn parse(name: &str, args: &RawValue) -> Result<Self, UserError> {
                let bad = |e: serde_json::Error| {
                    UserError::new(ErrorCode::BadRequest, crate::message!("error.app.badArguments", name = name))
                        .with_cause(format!("{e}."))
                };
                match name {
                    $($wire => serde_json::from_str(args.get()).map(Self::$name).map_err(bad),)*
                    other => Err(UserError::new(
                        ErrorCode::BadRequest,
                        crate::message!("error.app.unknownCommand", name = other),
                    )),
                }
            }

            /// Name in requests.
            #[must_use]
            pub fn name(&self) -> &'static str {
                match self { $(Self::$name(_) => $wire),* }
            }

            /// The authority that it needs, and why.
            #[must_use]
            pub fn rule(&self) -> CommandRule {
                match self {
                    $(Self::$name(_) => {
                        CommandRule { name: $wire, needs: Authority::$needs, reason: $reason }
                    }),*
                }
            }
        }
    };
}

/// Exports a reply type; containers and primitives export the types that they consist of.
pub trait ExportReply {
    /// Writes the TypeScript of the reply.
    fn export_reply(config: &ts_rs::Config) -> Result<(), ts_rs::ExportError>;
}

impl<T: TS + 'static> ExportReply for Vec<T> {
    fn export_reply(config: &ts_rs::Config) -> Result<(), ts_rs::ExportError> {
        T::export_all(config)
    }
}

impl ExportReply for () {
    fn export_reply(_: &ts_rs::Config) -> Result<(), ts_rs::ExportError> {
        Ok(())
    }
}

macro_rules! export_named {
    ($($name:ty),* $(,)?) => {
        $(impl ExportReply for $name {
            fn export_reply(config: &ts_rs::Config) -> Result<(), ts_rs::ExportError> {
                <$name as TS>::export_all(config)
            }
        })*
    };
}

export_named!(
    AutoApproveCoverage,
    StatusReport,
    ServerView,
    TestReport,
    ValidationReport,
    PolicyView,
    SimulationReport,
    RevealedArgument,
    AuditVerdict,
    MintedClient,
    RotatedKey,
    CallReply,
    Completion,
    ExportedText,
    SavedFile,
    ServerCatalog,
    Settings,
    ResultView,
    SignInStart,
    SignOutResult
);

commands! {
    /// What runs, what waits, what is wrong.
    "status" Status {} -> StatusReport, Anyone: "It only looks.";

    /// All servers with their states.
    "servers.list" ServersList {} -> Vec<ServerView>,
        Anyone: "It only looks; secrets are not in it, and paths of addresses in rules are for the operator.";
    /// Adds a server and starts it if it is to run.
    "servers.add" ServersAdd {
        draft: ServerDraft,
        /// The answer to "Trust this server's read-only labels and allow reads?"
        trust_labels: bool,
        /// Secrets that the draft refers to as `${secret:NAME}`.
        #[serde(default)]
        secrets: Vec<FieldSecret>,
    } -> ServerView, Operator: "It starts a program or opens a connection, and keeps secrets.";
    /// Changes a server; reconnects only when the connection is another one.
    "servers.edit" ServersEdit {
        /// Id or name.
        server: String,
        /// All of its settings.
        draft: ServerDraft,
        /// Secrets that are new or have a new value; those not named here stay as they are.
        #[serde(default)]
        secrets: Vec<FieldSecret>,
    } -> ServerView, Operator: "It changes what runs, and replaces secrets.";
    /// Copies a server under a new name, with an id of its own and no permissions.
    "servers.duplicate" ServersDuplicate {
        /// Id or name.
        server: String,
        /// Name of the copy.
        name: String,
    } -> ServerView, Operator: "It starts a program or opens a connection.";
    /// Connects to a draft without keeping it.
    "servers.test" ServersTest {
        draft: ServerDraft,
        /// Secrets that the draft refers to; forgotten when the test is over.
        #[serde(default)]
        secrets: Vec<FieldSecret>,
    } -> TestReport, Operator: "It starts a program or opens a connection.";
    /// Says everything that is wrong with settings of a server. Nothing changes.
    "servers.validate" ServersValidate {
        /// Id or name of the server that is edited; absent for a new one.
        #[serde(default)]
        server: Option<String>,
        /// Its settings.
        settings: SettingsInput,
        /// The fields that a secret is given for with them, as in `FieldSecret`.
        #[serde(default)]
        secrets: Vec<String>,
    } -> ValidationReport, Operator: "It tells whether a folder exists.";
    /// Removes a server and every right that it had.
    "servers.remove" ServersRemove {
        /// Id or name.
        server: String,
    } -> (), Operator: "It destroys the server's secrets, tokens and rules.";
    /// Starts a server; enables a disabled one.
    "servers.start" ServersStart {
        /// Id or name.
        server: String,
    } -> (), Operator: "It starts a program or opens a connection.";
    "servers.stop" ServersStop {
        /// Id or name.
        server: String,
        /// Also keep it from starting by itself or for a call.
        disable: bool,
    } -> (), Anyone: "It only stops; nothing but the operator's word starts the server again.";
    /// Closes the connection and makes a new one.
    "servers.reconnect" ServersReconnect {
        /// Id or name.
        server: String,
    } -> (), Operator: "It ends the calls in flight and starts the program again, also one that was stopped.";
    /// The last 200 lines of a server's standard error or log, oldest first.
    "servers.log" ServersLog {
        /// Id or name.
        server: String,
    } -> Vec<LogLine>,
        Anyone: "It only looks: at what the server itself prints, which no waiting call has reached.";
    /// What a server offers beside its tools.
    "servers.catalog" ServersCatalog {
        /// Id or name.
        server: String,
    } -> ServerCatalog, Anyone: "It only looks.";
    /// Reads a resource for the user.
    "servers.readResource" ServersReadResource {
        /// Id or name.
        server: String,
        uri: String,
    } -> ResultView, Operator: "It asks the server for contents on the user's word.";
    /// Watches a resource for the user, or ceases to; changes come as `resources_changed`.
    "servers.watchResource" ServersWatchResource {
        /// Id or name.
        server: String,
        uri: String,
        /// Whether it is watched from now on.
        on: bool,
    } -> (), Operator: "It subscribes at the server on the user's word.";
    /// Gets a prompt for the user.
    "servers.getPrompt" ServersGetPrompt {
        /// Id or name.
        server: String,
        /// Name on the server.
        prompt: String,
        arguments: BTreeMap<String, String>,
    } -> ResultView, Operator: "It sends arguments to the server on the user's word.";
    /// Completes one argument of a prompt or of a resource template.
    "servers.complete" ServersComplete {
        /// Id or name.
        server: String,
        of: CompletionTarget,
        /// Name of the argument.
        argument: String,
        /// What there is of it.
        value: String,
        /// The arguments that are settled already.
        #[serde(default)]
        others: BTreeMap<String, String>,
    } -> Completion, Operator: "It sends arguments to the server on the user's word.";
    /// Calls a tool for the user, who has seen its arguments.
    "servers.callTool" ServersCallTool {
        /// Id or name.
        server: String,
        /// Name on the server.
        tool: String,
        /// Arguments as JSON text.
        arguments: String,
        /// What `servers.stopTool` is to call this run; it is not stopped by itself where absent.
        #[serde(default)]
        run: Option<String>,
    } -> ResultView, Operator: "It calls a tool without approval.";
    /// Cancels a run of `servers.callTool`, also at the server. Nothing happens when it has ended.
    "servers.stopTool" ServersStopTool {
        /// The name that the run was given.
        run: String,
    } -> (), Operator: "It ends a call that the user made.";
    /// Tells a server how much to log.
    "servers.setLogLevel" ServersSetLogLevel {
        /// Id or name.
        server: String,
        /// The least that is logged.
        level: LogLevel,
    } -> (), Operator: "It changes what the server does.";
    /// Begins to sign in to a server. The click on it is what opens the browser.
    "servers.signIn" ServersSignIn {
        /// Id or name.
        server: String,
        /// Whether the browser is opened here; else the caller shows the address to the user.
        open: bool,
    } -> SignInStart, Operator: "It opens the browser, and its end is a token.";
    /// Takes the address that the browser ended at, where it could not reach Gatehouse by itself.
    "servers.pasteAddress" ServersPasteAddress {
        /// Id or name.
        server: String,
        /// The whole address.
        address: RequestSecret,
    } -> (), Operator: "It carries an authorization code, and its end is a token.";
    /// Gives up a sign-in that waits.
    "servers.cancelSignIn" ServersCancelSignIn {
        /// Id or name.
        server: String,
    } -> (), Operator: "It destroys a sign-in that the user is in the middle of.";
    /// Signs out: the tokens are forgotten, and taken back where the authorization server offers it.
    "servers.signOut" ServersSignOut {
        /// Id or name.
        server: String,
    } -> SignOutResult, Operator: "It destroys tokens and ends the calls in flight.";
    /// Writes a part of a shown result to the user's folder of downloads.
    "results.save" ResultsSave {
        result: String,
        /// Which part, from 0; the whole result as JSON where absent.
        part: Option<u32>,
    } -> SavedFile, Operator: "It writes a file.";
    /// Trusts a server's read-only labels, or ceases to.
    "servers.trustLabels" ServersTrustLabels {
        /// Id or name.
        server: String,
        trusted: bool,
    } -> (), Operator: "It widens what may run without approval.";
    /// Switches MCP off: every server stops, none starts, and every call is refused. Lasts until it
    /// is switched on.
    "servers.switchOff" ServersSwitchOff {} -> (),
        Anyone: "It only stops; nothing but the operator's word switches it on again.";
    /// Switches MCP on: the servers that start by themselves start.
    "servers.switchOn" ServersSwitchOn {} -> (), Operator: "It starts servers.";
    /// Goes back to the servers of a first start; all others go with their permissions and secrets.
    "servers.reset" ServersReset {} -> Vec<ServerView>,
        Operator: "It destroys servers with their secrets, tokens and rules.";

    /// All tools of all connected servers.
    "tools.list" ToolsList {
        /// Only of this server (id or name).
        server: Option<String>,
    } -> Vec<ToolView>, Anyone: "It only looks.";
    /// The tools that servers list and that clients do not get, with the reason.
    "tools.omitted" ToolsOmitted {
        /// Only of this server (id or name).
        server: Option<String>,
    } -> Vec<OmittedTool>, Anyone: "It only looks.";
    /// Sets the user's own access class of a tool, or clears it.
    "tools.classify" ToolsClassify {
        /// Id or name of the server.
        server: String,
        /// Name of the tool on the server.
        tool: String,
        /// The class; absent clears it.
        class: Option<AccessClass>,
    } -> (), Operator: "It can widen what “all reads” covers.";
    /// Calls a tool as the client that the token belongs to, with that client's permissions.
    "call" Call {
        /// The client's token.
        token: RequestSecret,
        /// Exposed name.
        tool: String,
        /// Arguments as JSON text.
        arguments: String,
    } -> CallReply,
        Client: "It runs with the permissions of the client that the token belongs to, as at the gateway.";

    /// All clients.
    "clients.list" ClientsList {} -> Vec<ClientView>, Anyone: "It only looks; tokens are not in it.";
    /// Adds a client; its token is in the reply and nowhere else.
    "clients.add" ClientsAdd {
        /// Name for it; unique.
        name: String,
    } -> MintedClient, Operator: "It mints a token.";
    /// Gives a client a new token; the old one ends.
    "clients.rotate" ClientsRotate {
        /// Id or name.
        client: String,
    } -> MintedClient, Operator: "It mints a token and destroys the one before it.";
    /// Ends a client's access.
    "clients.revoke" ClientsRevoke {
        /// Id or name.
        client: String,
    } -> (), Operator: "It destroys a token and the client's rules.";

    /// The approval requests that wait, with the whole arguments (secrets masked) and what is offered of as many as one
    /// reply has room for, which is one at least. The others say that they are abridged; they come when the list
    /// is asked for again.
    "approvals.list" ApprovalsList {
        /// Approval requests that the reader has already; their arguments and what they offer are left out.
        #[serde(default)]
        known: Vec<ApprovalId>,
    } -> Vec<PendingApproval>, Operator: "It shows the arguments of calls that wait.";
    /// One argument of a waiting call without its mask, because the user asked to see it.
    "approvals.reveal" ApprovalsReveal {
        id: ApprovalId,
        /// The hash that was shown.
        hash: CallHash,
        /// Which argument, from 0, in the order in which they were shown.
        argument: u32,
    } -> RevealedArgument, Operator: "It shows what is masked.";
    /// Answers approval requests. All answers of one request are for approval requests that were shown together.
    "approvals.answer" ApprovalsAnswer {
        answers: Vec<SubmittedAnswer>,
    } -> (), Operator: "It lets calls run.";

    /// All rules.
    "policy.show" PolicyShow {} -> PolicyView,
        Anyone: "It only looks; paths of addresses and values of conditions are for the operator.";
    /// Sets what runs without asking, on one server or on every server that there is now, for every
    /// client or for one.
    "policy.autoApprove" PolicyAutoApprove {
        /// Id or name of the server; every server that there is now where absent.
        #[serde(default)]
        server: Option<String>,
        /// For this client (id or name); every client where absent.
        #[serde(default)]
        client: Option<String>,
        to: AutoApprove,
    } -> AutoApproveCoverage, Operator: "It widens what may run without approval.";
    /// Judges calls that were made by the present rules and by a draft of others, and says where they
    /// differ. Nothing changes (PERM-15).
    "policy.simulate" PolicySimulate {
        /// Calls since then.
        since: Timestamp,
        /// The other rules.
        draft: PolicyDraft,
    } -> SimulationReport, Operator: "With conditions in the draft it tells what was in the arguments of calls.";
    /// Allows a tool or more, without approval.
    "policy.grant" PolicyGrant {
        /// Id or name of the server.
        server: String,
        /// Tool on the server; needed for the width `tool`.
        tool: Option<String>,
        /// For this client (id or name); every client where absent.
        client: Option<String>,
        /// How long and how wide.
        choice: GrantChoice,
    } -> (), Operator: "It widens what may run without approval.";
    /// Blocks a tool or more.
    "policy.deny" PolicyDeny {
        /// Id or name of the server; every server where absent.
        server: Option<String>,
        /// Tool on the server; needed for the width `tool`.
        tool: Option<String>,
        /// For this client (id or name); every client where absent.
        client: Option<String>,
        /// How long and how wide.
        choice: GrantChoice,
        /// What the model gets to read.
        reason: Option<String>,
    } -> (), Anyone: "It only adds a block; without the operator's word it replaces none but a shorter one that was made without it.";
    /// What was allowed under an operator key that was made anew since; it counts for nothing.
    "policy.suspended" PolicySuspended {} -> Vec<RuleView>,
        Anyone: "It only looks; paths of addresses and values of conditions are for the operator.";
    /// Lets suspended rules count again, and forgets the others.
    "policy.confirm" PolicyConfirm {
        /// Which; where absent all of them, with the classes and labels that were set.
        #[serde(default)]
        rules: Option<Vec<GrantId>>,
    } -> (), Operator: "It widens what may run without approval.";
    /// Takes back an allow.
    "policy.revoke" PolicyRevoke {
        rule: GrantId,
    } -> (), Operator: "It destroys a rule that the user made.";
    /// Takes back a deny.
    "policy.unblock" PolicyUnblock {
        rule: GrantId,
    } -> (), Operator: "It widens what may run.";

    /// What happened since Gatehouse started, oldest first: the last 5,000 events, lines of logs and
    /// progress left out. Approval requests are in it with their whole arguments.
    "events.list" EventsList {} -> Vec<EventEnvelope>, Operator: "Approval requests are in it with their whole arguments.";

    /// The last calls, newest first.
    "calls.list" CallsList {
        filter: CallFilter,
    } -> Vec<CallRecord>,
        Anyone: "It only looks; arguments, results and searching in them are for the operator.";

    /// Calls that have begun and not ended, oldest first.
    "calls.running" CallsRunning {} -> Vec<RunningCall>, Operator: "It shows what is in the arguments of calls.";
    /// Cancels a call that is with its server, as its client could.
    "calls.cancel" CallsCancel {
        call: CallId,
    } -> (), Operator: "It ends a call that the user may wait for.";

    /// Entries of the audit, oldest first.
    "audit.list" AuditList {
        /// After this entry; from the first where absent.
        #[ts(type = "number | null")]
        after: Option<u64>,
        /// At most so many; 1,000 where absent.
        limit: Option<u32>,
    } -> Vec<AuditEntryView>,
        Anyone: "It only looks; paths of addresses and values of conditions are for the operator.";
    /// Entries of the audit, newest first.
    "audit.latest" AuditLatest {
        /// Before this entry; from the last where absent.
        #[ts(type = "number | null")]
        before: Option<u64>,
        /// At most so many; 1,000 where absent.
        limit: Option<u32>,
    } -> Vec<AuditEntryView>,
        Anyone: "It only looks; paths of addresses and values of conditions are for the operator.";
    /// Checks the audit chain.
    "audit.verify" AuditVerify {} -> AuditVerdict, Anyone: "It only looks.";
    /// Ceases to report in the status that the end of the audit was cut off. `audit.verify` goes on
    /// naming the gap.
    "audit.acknowledge" AuditAcknowledge {} -> (), Operator: "It silences a warning that somebody tampered.";
    /// The whole audit as text.
    "audit.export" AuditExport {
        /// In which form.
        format: ExportFormat,
    } -> ExportedText,
        Anyone: "It only looks; paths of addresses and values of conditions are for the operator.";

    /// What is set for Gatehouse as a whole.
    "settings.show" SettingsShow {} -> Settings, Anyone: "It only looks.";
    /// Sets how long things are kept, how long calls may take and how tools are named, and lets go of
    /// what is older at once. MCP as a whole has its own switch.
    "settings.set" SettingsSet {
        /// Days that the audit is kept, 7 or more; for ever where absent.
        audit_days: Option<u32>,
        /// Days that calls are kept, 1 or more.
        activity_days: u32,
        /// Calls that are kept at most, 1 or more.
        activity_calls: u32,
        /// Where servers get their packages from; as before where absent.
        #[serde(default)]
        packages: Option<PackageSources>,
        /// Address of the Client ID Metadata Document; empty for none, as before where absent.
        #[serde(default)]
        client_document: Option<String>,
        /// How long calls may take; as before where absent.
        #[serde(default)]
        calls: Option<CallLimits>,
        /// How clients see the names of tools and prompts; as before where absent.
        #[serde(default)]
        tool_names: Option<ToolNaming>,
    } -> Settings, Operator: "It destroys entries that are older than is wanted.";

    /// Makes another operator key; the one before it counts no more.
    "operatorKey.rotate" OperatorKeyRotate {} -> RotatedKey, Operator: "It mints a key and destroys the one before it.";
    /// Refuses everything until resumed; cancels what is in flight (PERM-13).
    "pause" Pause {} -> (), Anyone: "It only stops; nothing but the operator's word resumes.";
    /// Ends a pause.
    "resume" Resume {} -> (), Operator: "It lets calls run again.";
}

/// A secret inside a request: unlike [`Secret`] it is written out, since it has to reach the core.
#[derive(Clone, Deserialize, TS)]
#[serde(transparent)]
#[ts(as = "String")]
pub struct RequestSecret(String);

impl RequestSecret {
    #[must_use]
    pub fn new(secret: &Secret) -> Self {
        Self(secret.reveal().to_owned())
    }

    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl Serialize for RequestSecret {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl std::fmt::Debug for RequestSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(crate::secret::REDACTED)
    }
}

/// A secret for one field of one server, on its way into the store of secrets.
#[derive(Clone, Debug, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FieldSecret {
    /// The field that it may serve and no other: `env/NAME`, `headers/NAME`, `signIn/secret`,
    /// `signIn/companySecret` or `signIn/key`.
    pub field: String,
    pub value: RequestSecret,
}

/// A client with its token, which is shown this once.
#[derive(Clone, Debug, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct MintedClient {
    pub client: ClientView,
    /// Its token: 256 random bits in base64url.
    pub token: RequestSecret,
    /// Address of the gateway.
    pub endpoint: String,
}

/// A new operator key, which is shown this once.
#[derive(Clone, Debug, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RotatedKey {
    /// 256 random bits in base64url.
    pub key: RequestSecret,
}

/// What a call answered.
#[derive(Clone, Debug, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CallReply {
    /// The result or the error, as JSON text, byte for byte.
    pub body: String,
    /// Whether `body` is a JSON-RPC error.
    pub is_rpc_error: bool,
    /// Whether `body` is a result with `isError`.
    pub is_tool_error: bool,
}

/// Form of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum ExportFormat {
    /// One JSON object a line.
    JsonLines,
    /// Comma-separated values (RFC 4180) with a header.
    Csv,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ExportedText {
    pub text: String,
}

/// What runs, what waits, what is wrong.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct StatusReport {
    /// Version of Gatehouse.
    pub version: String,
    /// Address of the gateway.
    pub endpoint: String,
    /// Folder that everything is kept in.
    pub data_dir: String,
    /// Process id.
    pub pid: u32,
    /// Who answers approval requests: `window` or `operator`.
    pub answered_by: String,
    /// Where secrets are kept: `keychain`, `vault` or `memory`.
    pub secrets: String,
    /// Whether everything is paused.
    pub paused: bool,
    /// Whether MCP is on; while it is off no server runs and every call is refused.
    pub switched_on: bool,
    /// Servers that run.
    pub running: u32,
    /// Servers in all.
    pub servers: u32,
    /// Tools in the catalogue.
    pub tools: u32,
    /// Clients that have a token.
    pub clients: u32,
    /// Approval requests that wait.
    pub waiting: u32,
    /// Sequence number of the last event.
    #[ts(type = "number")]
    pub last_event: u64,
    /// What is wrong, in words.
    pub problems: Vec<UserError>,
}
