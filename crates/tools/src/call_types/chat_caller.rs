//! Gatehouse's own conversations as a caller (UI-8): a client of its own, never the user. Nobody has a token of it, so no
//! call from outside is one of it, and what is allowed for it serves nobody else.

use std::sync::{Arc, LazyLock};

use gatehouse_model::approval::{PeerProcess, Program};
use gatehouse_model::{ClientAccess, ClientEntry, ConversationId, SessionId, Timestamp};

use super::peer::Peer;
use super::viewer::{Narrowing, ToolChoice};
use super::{CHAT, Caller, ProtocolFamily};

/// Its name, which no other client may have.
const CHAT_NAME: &str = "Chat";
/// The program that its rules are bound to. It isn't a path, so no process is ever seen as it; and since the model's calls
/// are made in this process, rules hold wherever Gatehouse is installed.
const PROGRAM: &str = "Gatehouse";

/// The conversations as a client, for lists of rules and for the names that other clients may not have.
#[must_use]
pub fn chat_client() -> &'static Arc<ClientEntry> {
    static CLIENT: LazyLock<Arc<ClientEntry>> = LazyLock::new(|| {
        Arc::new(ClientEntry {
            id: CHAT.into(),
            name: CHAT_NAME.to_owned(),
            token_sha256: String::new(),
            created: Timestamp(0),
            access: ClientAccess::Token,
        })
    });
    &CLIENT
}

/// The session of a conversation: what is allowed "for this session" ends with it.
#[must_use]
pub fn chat_session(conversation: &ConversationId) -> SessionId {
    SessionId::new(format!("chat-{conversation}"))
}

/// Gatehouse as the program that calls.
pub(super) fn own_process() -> PeerProcess {
    let program = Program { name: PROGRAM.to_owned(), path: PROGRAM.to_owned(), is_known: true };
    PeerProcess { program, parents: Vec::new() }
}

impl Caller {
    /// The model of a conversation, with the tools that were chosen for it. No profile applies.
    #[must_use]
    pub fn chat(conversation: &ConversationId, choice: ToolChoice) -> Self {
        Self {
            client: Arc::clone(chat_client()),
            narrowing: Narrowing { choice, ..Narrowing::default() },
            session: Some(chat_session(conversation)),
            client_info: None,
            peer: Peer { seen_from: Some(Arc::new(own_process())), ..Peer::unseen() },
            // A server of both families can ask the user only on the older one.
            protocol_family: ProtocolFamily::Stateful,
            user_run: None,
        }
    }
}
