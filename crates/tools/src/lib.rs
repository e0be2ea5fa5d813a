//! The tools of all servers in one catalog, and the single call pipeline: every call is judged by policy, put
//! to the user if no rule decides, checked again, sent, and recorded.
//!
//! Nothing here speaks MCP to a client, keeps a connection, or knows a window. Arguments and results pass
//! through byte for byte.

mod approval_flow;
mod approval_options;
mod approvals;
mod auto_approve;
mod byte_budget;
mod call;
mod call_pipeline;
mod call_record;
mod catalog;
mod catalog_view;
mod client_request;
mod client_timeout;
mod current_permissions;
mod definition_source;
mod effective_permissions;
mod exposed_names;
mod ids;
mod input_required;
mod manager;
mod output_schema;
mod path_lookup;
mod paths;
mod peer;
mod pending_call;
mod permissions;
mod persistence;
mod progress;
mod proposals;
mod refusal_messages;
mod resource_catalog;
mod rule_draft;
mod running_calls;
mod server_requests;
mod shared_runs;
mod simulation;
mod tool_definition;
mod upstream_call;

pub use approvals::{ApprovalLimits, ApprovalQueue};
pub use byte_budget::{ByteBudget, ByteLimits, Evict, KeptKind, Reservation, Surplus};
pub use call::{
    AccessCall, AccessKind, CallResponse, Caller, ClientPresence, ProgressCallback, ProtocolFamily, ToolCall,
};
pub use catalog::{CatalogTool, ToolCatalog};
pub use catalog_view::server_catalog;
pub use gatehouse_servers::{ResourceUpdate, ServerRequest, ServerRequestResult};
pub use manager::{CatalogVersions, ToolDeps, ToolManager};
pub use paths::{PathResolver, RealPath, SystemPaths};
pub use peer::{CallSource, Peer, PeerId};
pub use permissions::{AutoApproveSpec, PermissionStore, RuleSpec, RuleWords};
pub use resource_catalog::{CatalogList, ResolvedTarget};
pub use server_requests::{ClientFeature, ClientPeer};
pub use simulation::SimulationDraft;
pub use tool_definition::preview_tools;
