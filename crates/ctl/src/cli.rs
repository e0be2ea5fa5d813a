//! Definition of the command line: what all verbs have in common, and the list of verbs. The verbs of each noun are in
//! a module of their own; the commands themselves are in `crate::commands`.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

mod app_word;
mod approvals;
mod audit;
mod bridge;
mod calls;
mod clients;
mod configuration;
mod models;
mod policy;
pub(crate) mod profiles;
mod registry;
mod serve;
mod servers;
mod settings;
mod time_limits;
mod tools;

pub(crate) use approvals::{AnswerAllArg, AnswerArgs, ApprovalsVerb};
pub(crate) use audit::{AuditVerb, ExportFormatArg};
pub(crate) use bridge::BridgeArgs;
pub(crate) use calls::{
    CallArgs, CallExportArg, CallFilterArgs, CallsArgs, CallsVerb, DecisionArg, OutcomeArg, StatisticsArg,
};
pub(crate) use clients::ClientsVerb;
pub(crate) use configuration::{ExportArgs, ImportArgs};
pub(crate) use models::{AssignArgs, ModelsVerb, ProviderApiArg, ProviderKeyArgs};
pub(crate) use policy::{AutoApproveArg, LifetimeArg, PolicyVerb, ScopeArgs, SimulateArgs, TimeSpan};
pub(crate) use profiles::ProfilesVerb;
pub(crate) use registry::RegistryVerb;
pub(crate) use serve::{SecretStoreArg, ServeArgs};
pub(crate) use servers::{
    AddBundleArgs, AddServerArgs, BuiltinKind, EditServerArgs, ImportServersArgs, NameConflictArg, OnOffArg,
    ServersVerb, SetServerArgs,
};
pub(crate) use settings::{AuditDays, SettingsVerb, ToolNamingArg};
pub(crate) use time_limits::Seconds;
pub(crate) use tools::{AccessClassArg, ToolsVerb};

/// Drives a running Gatehouse, or serves without a window.
///
/// Ends with 0 when done, 1 when it failed, 2 for words that it does not understand, 3 when no
/// Gatehouse runs, 4 when the operator key is needed, 5 when a call was refused or the tool failed.
#[derive(Debug, Parser)]
#[command(name = "gatehousectl", version)]
pub(crate) struct Cli {
    /// Folder that Gatehouse keeps everything in.
    #[arg(long, global = true, value_name = "DIR", env = "GATEHOUSE_DATA_DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// Write JSON instead of words.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// File descriptor with the operator key: `serve` writes it there when it makes one, all others read it.
    #[arg(long, global = true, value_name = "N")]
    pub(crate) operator_key_fd: Option<i32>,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Run the whole core without a window.
    Serve(ServeArgs),
    /// Connect an AI client that has no HTTP: MCP on standard input and output. The client starts this.
    Bridge(BridgeArgs),
    /// What runs, what waits, what is wrong.
    Status,
    /// Servers that Gatehouse connects to.
    Servers {
        #[command(subcommand)]
        verb: ServersVerb,
    },
    /// Tools of all servers.
    Tools {
        #[command(subcommand)]
        verb: ToolsVerb,
    },
    /// Call a tool as a client, with that client's permissions.
    Call(CallArgs),
    /// The last calls, newest first; figures about calls, and their export.
    Calls(CallsArgs),
    /// AI clients that may connect.
    Clients {
        #[command(subcommand)]
        verb: ClientsVerb,
    },
    /// What the clients that use a profile see of the servers.
    Profiles {
        #[command(subcommand)]
        verb: ProfilesVerb,
    },
    /// Model providers: where models are reached, and what they are used for.
    Models {
        #[command(subcommand)]
        verb: ModelsVerb,
    },
    /// Approval requests that wait for an answer.
    Approvals {
        #[command(subcommand)]
        verb: ApprovalsVerb,
    },
    /// What may run without asking.
    Policy {
        #[command(subcommand)]
        verb: PolicyVerb,
    },
    /// Bring back what was removed a moment ago: a rule, a profile, or a server removed with --undoable.
    Undo {
        /// Id of the removal; the last one where absent.
        removal: Option<String>,
    },
    /// What was decided and changed.
    Audit {
        #[command(subcommand)]
        verb: Option<AuditVerb>,
    },
    /// How long things are kept and calls may take, and how tools are named.
    Settings {
        #[command(subcommand)]
        verb: SettingsVerb,
    },
    /// Write everything that is set as one JSON document, without secrets: servers, clients without their tokens, profiles,
    /// permanent permissions and settings.
    Export(ExportArgs),
    /// Import a document that `export` wrote. Nothing changes unless all of it is valid.
    Import(ImportArgs),
    /// The key that proves you.
    OperatorKey {
        #[command(subcommand)]
        verb: OperatorKeyVerb,
    },
    /// Refuse every call until resumed.
    Pause,
    /// End a pause.
    Resume,
    /// Print completions for a shell.
    Completions {
        /// Which shell.
        shell: clap_complete::Shell,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum OperatorKeyVerb {
    /// Make another one, which is shown this once; the one before counts no more.
    Rotate {
        /// File descriptor that the new key is written to; the terminal where absent.
        #[arg(long, value_name = "N")]
        new_key_fd: Option<i32>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_line_definition_is_valid() {
        use clap::CommandFactory as _;
        Cli::command().debug_assert();
    }

    #[test]
    fn exports_to_standard_output_and_imports_from_a_file() {
        for (words, is_valid) in [
            (&["export"][..], true),
            (&["export", "here.json"], true),
            (&["import"], false),
            (&["import", "-", "--list"], true),
            (&["import", "here.json", "--on-conflict", "overwrite", "--allow-rules"], true),
            (&["import", "here.json", "--on-conflict", "ask"], false),
        ] {
            let all = [&["gatehousectl"], words].concat();
            assert_eq!(Cli::try_parse_from(all).is_ok(), is_valid, "{words:?}");
        }
    }

    #[test]
    fn accepts_former_words_without_showing_them() {
        for (verb, word, former) in [("policy", "simulate", "rehearse"), ("tools", "omitted", "left-out")] {
            assert!(Cli::try_parse_from(["gatehousectl", verb, word]).is_ok(), "{verb} {word}");
            assert!(Cli::try_parse_from(["gatehousectl", verb, former]).is_ok(), "{verb} {former}");
            let help = Cli::try_parse_from(["gatehousectl", verb, "--help"]).unwrap_err().to_string();
            assert!(help.contains(word) && !help.contains(former), "{help}");
        }
    }
}
