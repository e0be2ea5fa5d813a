//! TypeScript of the replies of commands.

use ts_rs::TS;

use super::values::{
    BridgeBinding, CallReply, ExportedCalls, ExportedConversation, ExportedText, MintedClient,
    PracticeResult, Removal, RotatedKey, StatusReport,
};
use crate::approval::RevealedArgument;
use crate::bundle::{BundlePreview, BundleServer};
use crate::chat::Conversation;
use crate::client::ClientView;
use crate::configuration::{ConfigurationContent, ConfigurationOutcome, ExportedConfiguration};
use crate::connection::{ConnectPreview, ConnectResult, DisconnectResult};
use crate::grant::{AutoApproveCoverage, PolicyView};
use crate::health::FindingsReport;
use crate::import::ImportPreview;
use crate::profile::ProfileView;
use crate::provider::{ModelsView, ProviderView, SamplingDraft};
use crate::record::AuditVerdict;
use crate::registry::{LinkContent, RegistryDraft, RegistryPage, RegistryReport};
use crate::server::{ServerImage, ServerView, TestReport};
use crate::server_catalog::{Completion, ResultView, SavedFile, ServerCatalog};
use crate::server_problem::ValidationReport;
use crate::settings::Settings;
use crate::sign_in::{SignInStart, SignOutResult};
use crate::simulation::SimulationReport;
use crate::statistics::CallStatistics;

/// Exports a reply type; containers and primitives export the types that they consist of.
pub(super) trait ExportReply {
    /// Writes the TypeScript of the reply.
    fn export_reply(config: &ts_rs::Config) -> Result<(), ts_rs::ExportError>;
}

impl<T: TS + 'static> ExportReply for Vec<T> {
    fn export_reply(config: &ts_rs::Config) -> Result<(), ts_rs::ExportError> {
        T::export_all(config)
    }
}

impl<T: TS + 'static> ExportReply for Option<T> {
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
    BridgeBinding,
    BundlePreview,
    BundleServer,
    Conversation,
    ExportedConversation,
    ModelsView,
    ProviderView,
    SamplingDraft,
    ConfigurationContent,
    ConfigurationOutcome,
    ExportedConfiguration,
    StatusReport,
    ServerImage,
    ServerView,
    TestReport,
    ValidationReport,
    PolicyView,
    SimulationReport,
    RevealedArgument,
    AuditVerdict,
    RegistryPage,
    RegistryDraft,
    RegistryReport,
    LinkContent,
    MintedClient,
    PracticeResult,
    Removal,
    RotatedKey,
    CallReply,
    CallStatistics,
    ExportedCalls,
    FindingsReport,
    ClientView,
    ConnectPreview,
    ConnectResult,
    DisconnectResult,
    ProfileView,
    Completion,
    ExportedText,
    ImportPreview,
    SavedFile,
    ServerCatalog,
    Settings,
    ResultView,
    SignInStart,
    SignOutResult
);
