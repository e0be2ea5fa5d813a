//! The tools of all servers in one catalog, and the single call pipeline: every call is judged by policy, put
//! to the user if no rule decides, checked again, sent, and recorded.
//!
//! Nothing here speaks MCP to a client, keeps a connection, or knows a window. Arguments and results pass
//! through byte for byte.

mod approvals;
mod asking;
mod byte_budget;
mod call;
mod catalogue;
mod definition;
mod door;
mod drive;
mod hold;
mod ids;
mod inquiries;
mod kept;
mod manager;
mod matter;
mod names;
mod offer;
mod origin;
mod output;
mod path_lookup;
mod paths;
mod peer;
mod permissions;
mod preset;
mod progress;
mod proposals;
mod record;
mod rehearsal;
mod request;
mod rights;
mod rounds;
mod rules;
mod running;
mod runs;
mod shelf;
mod showcase;
mod standing;
mod texts;

pub use approvals::{ApprovalQueue, Patience};
pub use byte_budget::{ByteBudget, ByteLimits, Evict, KeptKind, Reservation, Surplus};
pub use call::{AccessCall, AccessKind, CallEnd, Caller, Era, Listening, ProgressOut, ToolCall};
pub use catalogue::{Catalogue, CatalogueTool};
pub use definition::tried;
pub use gatehouse_servers::{ServerAnswer, ServerRequest, Updated};
pub use inquiries::{ClientAsk, Inquiry};
pub use manager::{Changes, ToolDeps, ToolManager};
pub use paths::{PathResolver, RealPath, SystemPaths};
pub use peer::{CallSource, Peer, PeerId};
pub use rehearsal::DraftOrder;
pub use rights::{PresetOrder, RightsKeeper, RuleOrder, RuleWords};
pub use shelf::{ListOf, Place};
pub use showcase::offer_of;
