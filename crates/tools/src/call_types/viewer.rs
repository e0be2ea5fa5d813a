//! Who looks at the catalog: a client, and what narrows its view for one of its connections (GATE-4). Nothing of it can
//! show more than the client's own profile does; that is decided in `crate::profiles`.

use std::path::Path;
use std::sync::Arc;

use gatehouse_model::{ClientId, ProfileId, ServerId};

/// A client as one of its connections sees the catalog.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Viewer {
    pub client: ClientId,
    pub narrowing: Narrowing,
}

/// What narrows the view of one connection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Narrowing {
    /// The folder in which the bridge of the connection works, as the operating system says.
    pub folder: Option<Arc<Path>>,
    /// The profile that the bridge was started with.
    pub profile: Option<ProfileId>,
    /// The folders that the client says it works in (`roots`). They are only its word.
    pub roots: Vec<Arc<Path>>,
    /// What was chosen for the conversation; everything for clients.
    pub choice: ToolChoice,
}

/// What a conversation lets its model see.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ToolChoice {
    /// The servers; all where absent.
    pub servers: Option<Vec<ServerId>>,
    /// Whether tools are searched for instead of listed (TOOL-7).
    pub is_search: bool,
}

impl Viewer {
    /// A client on a connection that nothing narrows.
    #[must_use]
    pub fn of(client: &ClientId) -> Self {
        Self { client: client.clone(), narrowing: Narrowing::default() }
    }
}

impl Narrowing {
    /// Whether both are of the same bridge, or both of none. Roots are said within a session and tell no sessions apart.
    #[must_use]
    pub fn is_same_bridge(&self, other: &Self) -> bool {
        self.folder == other.folder && self.profile == other.profile
    }
}
