//! Commands about tools, and about the clients that see and call them.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::authority::{Authority, TypedCommand};
use super::table::commands;
use super::values::{BridgeBinding, CallReply, MintedClient, Removal, RequestSecret};
use crate::app::App;
use crate::client::ClientView;
use crate::connection::{AppView, ConnectPreview, ConnectResult, DisconnectResult};
use crate::grant::AccessClass;
use crate::profile::{ProfileSettings, ProfileView, ProjectFileReport};
use crate::tool::{OmittedTool, ToolView};

commands! {
    client_commands {
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
            /// That of the preview. Absent only where the window shows the change before it confirms the command.
            #[serde(default)]
            fingerprint: Option<String>,
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
    }
}
