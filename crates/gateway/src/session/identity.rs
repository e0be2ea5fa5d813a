//! What a session is made of when it is opened or resumed: its ids, what `initialize` determined, and what was saved.

use std::sync::Arc;

use gatehouse_model::SessionId;
use gatehouse_store::{SavedSession, SavedSessionId};
use gatehouse_tools::{CatalogViewKey, Narrowing, ServerSelection};
use serde::{Deserialize, Serialize};

use crate::clients::capabilities::ClientCapabilities;
use crate::revision::Revision;
use crate::session::event_log::EventLog;

/// What `initialize` determines about a session. Its id carries this, also from one version of Gatehouse to the next, so
/// a member that is added needs a default.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SessionInit {
    /// The servers of the endpoint.
    pub(crate) servers: ServerSelection,
    /// The negotiated revision.
    pub(crate) revision: Revision,
    /// The declared client capabilities.
    pub(crate) client_capabilities: ClientCapabilities,
    /// Name and version that the client identifies itself with.
    pub(crate) client_info: Option<String>,
    /// What narrows its view of the catalog: that of the request that opens or resumes the session.
    #[serde(skip)]
    pub(crate) narrowing: Narrowing,
    /// What the client sees of the catalog.
    #[serde(skip)]
    pub(crate) view: CatalogViewKey,
    /// The stream of the HTTP+SSE connection, if the session belongs to one. Such a session ends with it.
    #[serde(skip)]
    pub(crate) only_stream: Option<Arc<EventLog>>,
}

/// The ids of a session.
pub(crate) struct SessionIdentity {
    /// Unique, also among those of the same session before it was resumed: what is limited to a session ends with the run
    /// of Gatehouse.
    pub(crate) id: SessionId,
    /// The id as its client knows it, the value of `Mcp-Session-Id`.
    pub(crate) header: Box<str>,
    /// `None` if it can't be resumed after a restart.
    pub(crate) saved_as: Option<SavedSessionId>,
}

/// A session from before, which a request names.
pub(crate) struct ResumableSession {
    pub(crate) identity: SessionIdentity,
    pub(crate) init: SessionInit,
    pub(crate) saved: SavedSession,
    /// The numbers of its streams are higher. They are part of ids of events that the client may still use, so this is
    /// random.
    pub(crate) first_number: u64,
}
