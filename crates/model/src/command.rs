//! The list of all commands: windows, command line and tests drive the core through them and nothing
//! else. Routing, types and TypeScript are generated from this list.

mod authority;
mod configuration_request;
mod import_request;
mod table;
mod typescript;
mod values;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use ts_rs::TS;

pub use self::authority::{Authority, CommandRule, TypedCommand};
pub use self::configuration_request::{ConfigurationChoice, ConfigurationOrigin};
pub use self::import_request::{ImportAction, ImportChoice, ImportInputValue, ImportOrigin};
use self::table::commands;
use self::typescript::ExportReply;
pub use self::values::{
    BridgeBinding, CallExportFormat, CallReply, ExportFormat, ExportedCalls, ExportedConversation,
    ExportedText, FieldSecret, MintedClient, PracticeResult, Removal, RequestSecret, RotatedKey,
    StatusReport,
};
use crate::app::App;
use crate::approval::{AutoApprove, GrantChoice, PendingApproval, RevealedArgument, SubmittedAnswer};
use crate::bundle::{BundlePreview, BundleServer};
use crate::chat::{ChatImage, Conversation, ConversationSettings, ConversationSummary};
use crate::client::ClientView;
use crate::configuration::{ConfigurationContent, ConfigurationOutcome, ExportedConfiguration};
use crate::connection::{AppView, ConnectPreview, ConnectResult, DisconnectResult};
use crate::error::{ErrorCode, UserError};
use crate::event::EventEnvelope;
use crate::grant::{AccessClass, AutoApproveCoverage, PolicyView, RuleView};
use crate::health::FindingsReport;
use crate::id::{
    ApprovalId, CallHash, CallId, ConversationId, Generation, GrantId, MessageId, ProviderId, RemovalId,
};
use crate::import::{ImportOutcome, ImportPreview, ImportSource};
use crate::profile::{ProfileSettings, ProfileView, ProjectFileReport};
use crate::provider::{
    ModelChoice, ModelInfo, ModelsView, ProviderDraft, ProviderView, RiskOpinion, SamplingDraft,
};
use crate::record::{AuditEntryView, AuditVerdict, CallFilter, CallRecord, RunningCall};
use crate::registry::{LinkContent, RegistryDraft, RegistryPage, RegistryReport};
use crate::server::{LogLevel, LogLine, ServerDraft, ServerImage, ServerView, TestReport};
use crate::server_catalog::{Completion, CompletionTarget, ResultView, SavedFile, ServerCatalog};
use crate::server_problem::{SettingsInput, ValidationReport};
use crate::settings::{CallLimits, PackageSources, Settings, ToolNaming};
use crate::sign_in::{SignInStart, SignOutResult};
use crate::simulation::{PolicyDraft, SimulationReport};
use crate::statistics::{CallStatistics, CallStatisticsQuery};
use crate::time::Timestamp;
use crate::tool::{OmittedTool, ToolView};

commands! {
    /// What runs, what waits, what is wrong.
    "status" Status {} -> StatusReport, Anyone: "It only looks.";

    /// All servers with their states.
    "servers.list" ServersList {} -> Vec<ServerView>,
        Anyone: "It only looks; what may be a secret in settings, and paths of addresses in rules, are for the operator.";
    /// Adds a server and starts it if it is to run.
    "servers.add" ServersAdd {
        draft: ServerDraft,
        /// The answer to "Trust this server's read-only labels and allow reads?"
        trust_labels: bool,
        /// Secrets that the draft refers to as `${secret:NAME}`.
        #[serde(default)]
        secrets: Vec<FieldSecret>,
        /// What `servers.stopRun` is to call this run; it is not stopped by itself where absent.
        #[serde(default)]
        run: Option<String>,
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
        /// What `servers.stopRun` is to call this run; it is not stopped by itself where absent.
        #[serde(default)]
        run: Option<String>,
    } -> TestReport, Operator: "It starts a program or opens a connection.";
    /// The settings of a server as JSON text for an editor: an object with its name and its entry in
    /// servers.json. Placeholders stand for secrets that are written there in plain text.
    "servers.settingsText" ServersSettingsText {
        /// Id or name.
        server: String,
    } -> ExportedText, Anyone: "It only looks, and what may be a secret is masked.";
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
    /// Reads a bundle and unpacks it into Gatehouse's folder, so that it can be shown. Nothing of it runs, and no
    /// server is added; what no server uses is deleted again.
    "bundles.read" BundlesRead {
        /// Full path of the `.mcpb` or `.dxt` file.
        file: String,
        /// SHA-256 that the file must have, in hexadecimal; any where absent.
        #[serde(default)]
        sha256: Option<String>,
        /// What `servers.stopRun` is to call this run; it is not stopped by itself where absent.
        #[serde(default)]
        run: Option<String>,
    } -> BundlePreview, Operator: "It reads and writes files.";
    /// Makes the settings of a server from a bundle that was read and the values of its options. No server is added.
    "bundles.configure" BundlesConfigure {
        /// As in the preview.
        bundle: String,
        /// Values of the options that are no secrets, as a JSON object.
        values: String,
        /// Keys of the options that a secret is given for.
        #[serde(default)]
        secrets: Vec<String>,
    } -> BundleServer, Operator: "It tells whether a file or folder exists.";
    /// The settings files of other applications on this computer, with the number of servers in each.
    "imports.sources" ImportsSources {} -> Vec<ImportSource>,
        Anyone: "It only looks, and tells how many servers a file has, but nothing of them.";
    /// The servers in another application's settings, as they would be imported. Nothing changes.
    "imports.preview" ImportsPreview {
        from: ImportOrigin,
    } -> ImportPreview, Operator: "It reads any file of the user's.";
    /// Imports servers, each by itself: one that fails leaves the others. The other application's file stays as it is.
    "imports.run" ImportsRun {
        from: ImportOrigin,
        /// The fingerprint of the content that the choices were made for.
        fingerprint: String,
        servers: Vec<ImportChoice>,
        /// What `servers.stopRun` is to call this run; it is not stopped by itself where absent.
        #[serde(default)]
        run: Option<String>,
    } -> Vec<ImportOutcome>,
        Operator: "It starts programs, opens connections, keeps secrets, and may let tools run without asking.";
    /// Removes a server and every right that it had.
    "servers.remove" ServersRemove {
        /// Id or name.
        server: String,
        /// Whether its secrets and permissions are kept until it is too late for `removals.undo`.
        #[serde(default)]
        undoable: bool,
    } -> Option<Removal>, Operator: "It destroys the server's secrets, tokens and rules.";
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
    /// The image that a server names as its icon, unless the user chose another icon. It is fetched at most once a day, and
    /// only while the server is connected.
    "servers.icon" ServersIcon {
        /// Id or name.
        server: String,
    } -> ServerImage, Operator: "It reads from an address that the server names.";
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
        /// As this client (id or name), by its profile and permissions; as the user where absent.
        #[serde(default)]
        client: Option<String>,
        /// What `servers.stopRun` is to call this run; it is not stopped by itself where absent.
        #[serde(default)]
        run: Option<String>,
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
        /// As this client (id or name), by its profile and permissions; as the user where absent.
        #[serde(default)]
        client: Option<String>,
        /// What `servers.stopRun` is to call this run; it is not stopped by itself where absent.
        #[serde(default)]
        run: Option<String>,
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
    /// Calls a tool for the user, who has seen its arguments. As a client, the call is judged as one of that client
    /// and asked about where one of that client is; its record names both. A tool that runs only as a task runs as one.
    "servers.callTool" ServersCallTool {
        /// Id or name.
        server: String,
        /// Name on the server.
        tool: String,
        /// Arguments as JSON text.
        arguments: String,
        /// What `servers.stopRun` is to call this run; it is not stopped by itself where absent.
        #[serde(default)]
        run: Option<String>,
        /// As this client (id or name), by its profile and permissions; as the user where absent.
        #[serde(default)]
        client: Option<String>,
    } -> ResultView, Operator: "It calls a tool without approval, or in the name of a client.";
    /// Cancels what was given a name: a call, a read or a prompt, also at the server; the test of a connection, whose
    /// process then ends; adding a server, which is removed again; an import, which goes no further; reading a bundle or the
    /// registry; or an export, which leaves no file. Nothing happens when it has ended.
    "servers.stopRun" ServersStopRun {
        /// The name that the run was given.
        run: String,
    } -> (), Operator: "It ends what the user began.";
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
        /// What `servers.stopRun` is to call this run. Stopped, it no longer waits for the authorization server,
        /// and the tokens are forgotten all the same. It is not stopped by itself where absent.
        #[serde(default)]
        run: Option<String>,
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
        /// Only while the server is this generation, which the user saw; whatever it is where absent.
        #[serde(default)]
        generation: Option<Generation>,
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

    /// Looks for servers in the MCP registry: the newest versions of entries.
    "registry.search" RegistrySearch {
        /// Part of the name; all entries where empty.
        text: String,
        /// Where the page begins, as the page before it says; the first one where absent.
        #[serde(default)]
        cursor: Option<String>,
        /// Whether the registry is asked even if it was a moment ago.
        #[serde(default)]
        refresh: bool,
        /// What `servers.stopRun` is to call this run; it is not stopped by itself where absent.
        #[serde(default)]
        run: Option<String>,
    } -> RegistryPage, Operator: "It sends the text to the registry, past what keeps the caller from the network.";
    /// All versions of an entry of the MCP registry.
    "registry.versions" RegistryVersions {
        /// Name of the entry.
        name: String,
        /// What `servers.stopRun` is to call this run; it is not stopped by itself where absent.
        #[serde(default)]
        run: Option<String>,
    } -> RegistryPage, Operator: "It sends the name to the registry, past what keeps the caller from the network.";
    /// Makes settings of an option of an entry. Nothing is added.
    "registry.fill" RegistryFill {
        /// Name of the entry.
        name: String,
        version: String,
        /// Id of the option.
        option: String,
        /// What was entered, by the ids of inputs. Secrets are not in it: the reply says where they belong.
        #[serde(default)]
        values: BTreeMap<String, String>,
        /// Ids of the secrets that there is a value for.
        #[serde(default)]
        secrets: Vec<String>,
        /// What `servers.stopRun` is to call this run; it is not stopped by itself where absent.
        #[serde(default)]
        run: Option<String>,
    } -> RegistryDraft, Operator: "It sends the name to the registry, past what keeps the caller from the network.";
    /// What the registry says now about the entry that a server came from. Nothing changes.
    "registry.report" RegistryCheck {
        /// Id or name.
        server: String,
    } -> RegistryReport, Operator: "It sends the name to the registry, past what keeps the caller from the network.";
    /// Reads a `gatehouse://` link. Nothing is added or looked up.
    "links.read" LinksRead {
        link: String,
    } -> LinkContent, Anyone: "It only reads what the caller has already.";

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
    /// The client that a token belongs to.
    "clients.identify" ClientsIdentify {
        /// The client's token.
        token: RequestSecret,
    } -> ClientView, Client: "It says of a token's holder no more than the list of clients does.";
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
    /// Stores a client's token in the user's keychain, for `gatehousectl bridge`.
    "clients.keepToken" ClientsKeepToken {
        /// The client's token.
        token: RequestSecret,
    } -> (), Operator: "It puts a token into the keychain.";
    /// Ends a client's access.
    "clients.revoke" ClientsRevoke {
        /// Id or name.
        client: String,
    } -> (), Operator: "It destroys a token and the client's rules.";

    /// The AI applications that Gatehouse can connect, and whether they are.
    "clients.apps" ClientsApps {} -> Vec<AppView>,
        Operator: "It tells what is in the settings of other applications.";
    /// What connecting an application would change. Nothing is written.
    "clients.connectPreview" ClientsConnectPreview {
        app: App,
        /// Whether the application's own rule for Gatehouse is added.
        #[serde(default)]
        allow_rule: bool,
    } -> ConnectPreview, Operator: "It tells what is in the settings of other applications.";
    /// Adds a client for an application, and an entry for it to the application's settings.
    "clients.connect" ClientsConnect {
        app: App,
        /// Whether the application's own rule for Gatehouse is added.
        #[serde(default)]
        allow_rule: bool,
        /// That of the preview.
        fingerprint: String,
    } -> ConnectResult, Operator: "It mints a token, and writes another application's settings.";
    /// Takes Gatehouse out of an application's settings, and revokes its client.
    "clients.disconnect" ClientsDisconnect {
        app: App,
    } -> DisconnectResult, Operator: "It writes another application's settings, and destroys a token.";

    /// Binds a bridge to the folder that it works in, as the operating system says, and to a profile if it names one.
    "bridge.bind" BridgeBind {
        /// The client's token.
        token: RequestSecret,
        /// Id or name of a profile that narrows what the client sees further.
        #[serde(default)]
        profile: Option<String>,
    } -> BridgeBinding, Client: "Its credential only narrows what the token of the client gives anyway.";

    /// Gives a client a profile, or takes its profile away.
    "clients.set" ClientsSet {
        /// Id or name.
        client: String,
        /// Id or name of the profile; none where absent.
        profile: Option<String>,
    } -> ClientView, Operator: "It can widen what a client sees, and lift its rate limit.";

    /// All profiles, with their clients and what their lists of tools cost.
    "profiles.list" ProfilesList {} -> Vec<ProfileView>, Anyone: "It only looks.";
    /// Adds a profile. No client uses it until it is assigned.
    "profiles.add" ProfilesAdd {
        /// Servers by id or name.
        settings: ProfileSettings,
    } -> ProfileView, Operator: "Clients that are given it see what it says.";
    /// Changes a profile, for all clients that use it at once.
    "profiles.set" ProfilesSet {
        /// Id or name.
        profile: String,
        /// All of its settings; servers by id or name. Servers that are gone are left out.
        settings: ProfileSettings,
    } -> ProfileView, Operator: "It can widen what clients see, and lift their rate limit.";
    /// Reads `.mcp.json` in each folder of a profile, and asks the user about servers that were not added.
    "profiles.addServers" ProfilesAddServers {
        /// Id or name.
        profile: String,
    } -> Vec<ProjectFileReport>, Operator: "It reads files, and asks again about what the user declined.";
    /// Removes a profile that no client uses, with the servers of its projects.
    "profiles.remove" ProfilesRemove {
        /// Id or name.
        profile: String,
    } -> Option<Removal>, Operator: "It destroys what the user has set.";

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
    /// Lets the model for sampling write an answer to a waiting sampling request. Nothing is sent to the server.
    "approvals.generate" ApprovalsGenerate {
        id: ApprovalId,
        /// What `servers.stopRun` is to call this run; it is not stopped by itself where absent.
        #[serde(default)]
        run: Option<String>,
    } -> SamplingDraft, Operator: "It sends what a server wants to know to a model's provider.";
    /// A model's opinion about a waiting call (PERM-17); none where that is off. It decides nothing.
    "approvals.opinion" ApprovalsOpinion {
        id: ApprovalId,
        /// The hash that was shown.
        hash: CallHash,
    } -> Option<RiskOpinion>, Operator: "It sends the masked arguments of a call to a model's provider.";
    /// Makes a call of the built-in clock that needs approval, to show what a request looks like. Waits for the answer.
    "approvals.practice" ApprovalsPractice {} -> PracticeResult, Operator: "It puts a request to the user.";

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
    } -> Option<Removal>, Operator: "It destroys a rule that the user made.";
    /// Says which allows and servers nobody needs any more, and which allows are wider than they were ever needed.
    "policy.findings" PolicyFindings {} -> FindingsReport,
        Anyone: "It only looks; paths of addresses and values of conditions are for the operator.";
    /// Replaces an allow that is wider than it was ever needed by one for the tools that were used.
    "policy.narrow" PolicyNarrow {
        rule: GrantId,
    } -> Option<Removal>, Operator: "It destroys a rule that the user made.";
    /// Takes back a deny.
    "policy.unblock" PolicyUnblock {
        rule: GrantId,
    } -> Option<Removal>, Operator: "It widens what may run.";

    /// Brings back what was removed last, or by the removal of this id: a server with its secrets and permissions, a
    /// profile with the servers of its projects, or a rule.
    "removals.undo" RemovalsUndo {
        #[serde(default)]
        removal: Option<RemovalId>,
    } -> (), Operator: "It starts a server that was removed, and lets rules count again.";

    /// What happened since Gatehouse started, oldest first: the last 5,000 events, lines of logs and
    /// progress left out. Approval requests are in it with their whole arguments.
    "events.list" EventsList {} -> Vec<EventEnvelope>, Operator: "Approval requests are in it with their whole arguments.";

    /// The last calls, newest first.
    "calls.list" CallsList {
        filter: CallFilter,
    } -> Vec<CallRecord>,
        Anyone: "It only looks; arguments, results and searching in them are for the operator.";

    /// Figures about calls over time, by client or server, and about tools.
    "calls.statistics" CallsStatistics {
        query: CallStatisticsQuery,
    } -> CallStatistics, Anyone: "It only looks; nothing of what calls contained is in it.";
    /// Writes the calls that match to a file in the user's folder of downloads.
    "calls.export" CallsExport {
        /// Its `limit` and `olderThan` do not count.
        filter: CallFilter,
        format: CallExportFormat,
        /// What `servers.stopRun` is to call it; it is not stopped by itself where absent.
        #[serde(default)]
        run: Option<String>,
    } -> ExportedCalls, Operator: "It writes a file, and shows what was in calls.";

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
    "audit.verify" AuditVerify {
        /// What `servers.stopRun` is to call this run; it is not stopped by itself where absent.
        #[serde(default)]
        run: Option<String>,
    } -> AuditVerdict, Anyone: "It only looks.";
    /// Ceases to report in the status that the end of the audit was cut off. `audit.verify` goes on
    /// naming the gap.
    "audit.acknowledge" AuditAcknowledge {} -> (), Operator: "It silences a warning that somebody tampered.";
    /// The whole audit as text.
    "audit.export" AuditExport {
        /// In which form.
        format: ExportFormat,
        /// What `servers.stopRun` is to call this run; it is not stopped by itself where absent.
        #[serde(default)]
        run: Option<String>,
    } -> ExportedText,
        Anyone: "It only looks; paths of addresses and values of conditions are for the operator.";

    /// The model providers, and what their models are used for.
    "models.show" ModelsShow {} -> ModelsView, Operator: "It tells which providers the user has.";
    /// Adds a provider. A key goes to the secret store, bound to the provider and its address.
    "models.addProvider" ModelsAddProvider {
        draft: ProviderDraft,
        #[serde(default)]
        key: Option<RequestSecret>,
    } -> ProviderView, Operator: "It keeps a secret, and opens an address to what conversations contain.";
    /// Changes a provider. The key is deleted if its address changes and no new key is given.
    "models.setProvider" ModelsSetProvider {
        provider: ProviderId,
        draft: ProviderDraft,
        /// A new key; empty to delete it, as before where absent.
        #[serde(default)]
        key: Option<RequestSecret>,
    } -> ProviderView, Operator: "It replaces a secret, and opens an address to what conversations contain.";
    /// Removes a provider with its key. Conversations with its models stay and can go on with another model.
    "models.removeProvider" ModelsRemoveProvider {
        provider: ProviderId,
    } -> (), Operator: "It destroys a secret.";
    /// The models that a provider lists.
    "models.list" ModelsList {
        provider: ProviderId,
        /// What `servers.stopRun` is to call this run; it is not stopped by itself where absent.
        #[serde(default)]
        run: Option<String>,
    } -> Vec<ModelInfo>, Operator: "It sends the key to the provider.";
    /// Sets what models are used for beside conversations.
    "models.assign" ModelsAssign {
        /// For sampling requests; none where absent.
        sampling: Option<ModelChoice>,
        /// For opinions about calls; none where absent.
        opinion: Option<ModelChoice>,
    } -> (), Operator: "It sends what servers and clients want to a provider.";

    /// The conversations, newest first; with a query, those that have its words.
    "chat.list" ChatList {
        #[serde(default)]
        query: Option<String>,
    } -> Vec<ConversationSummary>, Operator: "It shows what the user wrote.";
    "chat.show" ChatShow {
        conversation: ConversationId,
    } -> Conversation, Operator: "It shows what the user wrote.";
    "chat.create" ChatCreate {
        settings: ConversationSettings,
    } -> Conversation, Operator: "It begins a conversation that can call tools.";
    /// Changes the settings of a conversation; they count from the next turn on.
    "chat.set" ChatSet {
        conversation: ConversationId,
        settings: ConversationSettings,
    } -> (), Operator: "It chooses which tools a model gets.";
    "chat.remove" ChatRemove {
        conversation: ConversationId,
    } -> (), Operator: "It destroys a conversation.";
    /// Sends a message and begins the model's turn; its reply comes as events.
    "chat.send" ChatSend {
        conversation: ConversationId,
        text: String,
        #[serde(default)]
        images: Vec<ChatImage>,
        /// The user's message that this one takes the place of; it and all after it are deleted.
        #[serde(default)]
        replaces: Option<MessageId>,
    } -> (), Operator: "It lets a model call tools.";
    /// Deletes what the model wrote last, and lets it write again.
    "chat.retry" ChatRetry {
        conversation: ConversationId,
    } -> (), Operator: "It lets a model call tools.";
    /// Stops the turn that is under way, with its tool calls.
    "chat.stop" ChatStop {
        conversation: ConversationId,
    } -> (), Operator: "It ends what the user began.";
    /// A conversation as Markdown.
    "chat.export" ChatExport {
        conversation: ConversationId,
        /// Whether it is also written to a file in the user's folder of downloads.
        #[serde(default)]
        save: bool,
    } -> ExportedConversation, Operator: "It shows what the user wrote, and can write a file.";

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
        /// Further names under which clients reach the gateway; as before where absent.
        #[serde(default)]
        allowed_hosts: Option<Vec<String>>,
        /// Address of the MCP registry; empty for the official one, as before where absent.
        #[serde(default)]
        registry: Option<String>,
    } -> Settings,
        Operator: "It destroys entries that are older than is wanted, and can open the gateway to further host names.";

    /// Everything that is set, as a document without secrets: servers, clients without their tokens, profiles, permanent
    /// permissions and settings.
    "configuration.export" ConfigurationExport {
        /// Whether it is also written to a file in the user's folder of downloads.
        #[serde(default)]
        save: bool,
    } -> ExportedConfiguration, Operator: "It tells what rules say of arguments, and can write a file.";
    /// What a configuration has, and what of it is here already. Nothing changes.
    "configuration.preview" ConfigurationPreview {
        from: ConfigurationOrigin,
    } -> ConfigurationContent, Operator: "It reads any file of the user's.";
    /// Imports the chosen parts of a configuration. All of them are validated first; if one is not valid, nothing changes.
    "configuration.import" ConfigurationImport {
        from: ConfigurationOrigin,
        /// The fingerprint of the content that the choices were made for.
        fingerprint: String,
        items: Vec<ConfigurationChoice>,
        /// Values of the inputs of the chosen servers.
        #[serde(default)]
        inputs: Vec<ImportInputValue>,
    } -> ConfigurationOutcome,
        Operator: "It starts programs, keeps secrets, adds clients, and lets tools run without asking.";

    /// Makes another operator key; the one before it counts no more.
    "operatorKey.rotate" OperatorKeyRotate {} -> RotatedKey, Operator: "It mints a key and destroys the one before it.";
    /// Refuses everything until resumed; cancels what is in flight (PERM-13).
    "pause" Pause {} -> (), Anyone: "It only stops; nothing but the operator's word resumes.";
    /// Ends a pause.
    "resume" Resume {} -> (), Operator: "It lets calls run again.";
}
