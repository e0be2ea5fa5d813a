//! The tools of all servers in one catalog, and the single call pipeline: every call is judged by policy, put
//! to the user if no rule decides, checked again, sent, and recorded.
//!
//! Nothing here speaks MCP to a client, keeps a connection, or knows a window. Arguments and results pass
//! through byte for byte.

mod approvals;
mod byte_budget;
mod call_types;
mod calls;
mod catalog;
mod client_view;
mod ids;
mod json_file;
mod manager;
mod paths;
mod pending_call;
mod permissions;
mod profiles;
mod result_meta;
mod shared_runs;
mod task_table;

pub use approvals::{ApprovalLimits, ApprovalQueue, CallToJudge, SamplingToAnswer};
pub use byte_budget::{ByteBudget, ByteLimits, Evict, KeptKind, Reservation, Surplus};
pub use call_types::approval_wait::ApprovalWait;
pub use call_types::call_observer::CallObserver;
pub use call_types::chat_caller::{chat_client, chat_session};
pub use call_types::client_peer::{ClientFeature, ClientPeer};
pub use call_types::peer::{CallSource, Peer, PeerId};
pub use call_types::response::{CallResponse, error_result};
pub use call_types::user_run::UserRun;
pub use call_types::viewer::{Narrowing, ToolChoice, Viewer};
pub use call_types::{
    AccessCall, AccessKind, Caller, ClientPresence, ProgressCallback, ProtocolFamily, TaskCall, TaskRequest,
    ToolCall, ToolName, is_chat,
};
pub use calls::strict_params::masked_arguments;
pub use catalog::catalog_tool::CatalogTool;
pub use catalog::catalog_view::server_catalog;
pub use catalog::list_versions::{CatalogVersions, ListVersions};
pub use catalog::resource_catalog::{CatalogList, ResolvedTarget};
pub use catalog::selected_catalog::{SelectedCatalog, ServerDescription};
pub use catalog::server_selection::ServerSelection;
pub use catalog::tool_catalog::ToolCatalog;
pub use catalog::tool_definition::preview_tools;
pub use client_view::ClientCatalog;
pub use gatehouse_servers::{
    CacheHints, CancelReason, ForwardedNotification, NotificationKind, ServerNotification, ServerRequest,
    ServerRequestResult,
};
pub use manager::{ToolDeps, ToolManager};
pub use paths::{PathResolver, RealPath, SystemPaths};
pub use permissions::simulation::SimulationDraft;
pub use permissions::{
    AutoApproveSpec, ImportedClass, ImportedPermissions, ImportedRule, LabelTrust, PermissionHealth,
    PermissionStore, RemovedPermissions, RuleSpec, RuleWords,
};
pub use profiles::{CatalogViewKey, ProfileStore};
pub use task_table::TaskNotice;
