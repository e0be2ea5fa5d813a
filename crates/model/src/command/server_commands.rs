//! Commands about servers: their settings, their state, what they have, and where they come from.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::authority::{Authority, TypedCommand};
use super::import_request::{ImportChoice, ImportInputValue, ImportOrigin, NameConflict};
use super::table::commands;
use super::values::{ExportedText, FieldSecret, Removal, RequestSecret, StatusReport};
use crate::bundle::{BundlePreview, BundleServer};
use crate::id::Generation;
use crate::import::{ImportOutcome, ImportPreview, ImportSource};
use crate::registry::{LinkContent, RegistryDraft, RegistryPage, RegistryReport};
use crate::server::{LogLevel, LogLine, ServerDraft, ServerImage, ServerView, TestReport};
use crate::server_catalog::{Completion, CompletionTarget, ResultView, SavedFile, ServerCatalog};
use crate::server_problem::{SettingChange, SettingsInput, ValidationReport};
use crate::sign_in::{SignInStart, SignOutResult};

commands! {
    server_commands {
        /// What runs, what waits, what is wrong.
        "status" Status {} -> StatusReport, Anyone: "It only looks.";

        /// All servers with their states.
        "servers.list" ServersList {} -> Vec<ServerView>,
            Anyone: "It only looks; values in settings, paths of addresses, and who is signed in are for the operator.";
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
        /// Changes some settings of a server and leaves the others, as `servers.edit` does: for callers that don't see
        /// all of them. A secret in plain text stays only with the program or the address that has it.
        "servers.set" ServersSet {
            /// Id or name.
            server: String,
            /// The settings that change; of several changes of one setting the last one counts.
            changes: Vec<SettingChange>,
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
        /// Says everything that is wrong with settings of a server. Nothing changes. Without the operator key, the server
        /// is taken as `servers.list` shows it, and whether a folder exists is not looked up.
        "servers.validate" ServersValidate {
            /// Id or name of the server that is edited; absent for a new one.
            #[serde(default)]
            server: Option<String>,
            /// Its settings.
            settings: SettingsInput,
            /// The fields that a secret is given for with them, as in `FieldSecret`.
            #[serde(default)]
            secrets: Vec<String>,
        } -> ValidationReport, Anyone: "It only looks, and at nothing that is hidden from the caller.";
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
        /// Imports servers by their names, without a preview: those that are here with the same settings are left out.
        "imports.runByName" ImportsRunByName {
            from: ImportOrigin,
            /// Names of the servers; all of them where empty.
            #[serde(default)]
            only: Vec<String>,
            /// What is done where another server has the name.
            #[serde(default)]
            on_conflict: NameConflict,
            /// Whether values that look like secrets stay in plain text instead of going to the keychain.
            #[serde(default)]
            keep_plain: bool,
            /// Whether what runs there without asking also does here.
            #[serde(default)]
            auto_approve: bool,
            /// Values of inputs.
            #[serde(default)]
            inputs: Vec<ImportInputValue>,
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
    }
}
