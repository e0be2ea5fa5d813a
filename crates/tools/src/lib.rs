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
mod ids;
mod json_file;
mod manager;
mod paths;
mod pending_call;
mod permissions;
mod shared_runs;

pub use approvals::{ApprovalLimits, ApprovalQueue};
pub use byte_budget::{ByteBudget, ByteLimits, Evict, KeptKind, Reservation, Surplus};
pub use call_types::client_peer::{ClientFeature, ClientPeer};
pub use call_types::peer::{CallSource, Peer, PeerId};
pub use call_types::response::CallResponse;
pub use call_types::{
    AccessCall, AccessKind, Caller, ClientPresence, ProgressCallback, ProtocolFamily, ToolCall,
};
pub use catalog::catalog_store::CatalogVersions;
pub use catalog::catalog_view::server_catalog;
pub use catalog::resource_catalog::{CatalogList, ResolvedTarget};
pub use catalog::tool_catalog::{CatalogTool, ToolCatalog};
pub use catalog::tool_definition::preview_tools;
pub use gatehouse_servers::{ResourceUpdate, ServerRequest, ServerRequestResult};
pub use manager::{ToolDeps, ToolManager};
pub use paths::{PathResolver, RealPath, SystemPaths};
pub use permissions::simulation::SimulationDraft;
pub use permissions::{AutoApproveSpec, PermissionStore, RuleSpec, RuleWords};
