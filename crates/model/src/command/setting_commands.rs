//! Commands about Gatehouse as a whole.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::authority::{Authority, TypedCommand};
use super::configuration_request::{ConfigurationChoice, ConfigurationOrigin};
use super::import_request::ImportInputValue;
use super::table::commands;
use super::values::RotatedKey;
use crate::configuration::{ConfigurationContent, ConfigurationOutcome, ExportedConfiguration};
use crate::settings::{CallLimits, PackageSources, Settings, ToolNaming};

commands! {
    setting_commands {
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
}
