//! The client of the practice request (UI-11). Nobody has a token of it, so no call from outside is one of it.

use std::sync::Arc;

use gatehouse_model::{ClientAccess, ClientEntry, Timestamp};

use super::chat_caller::own_process;
use super::peer::Peer;
use super::viewer::Narrowing;
use super::{Caller, PRACTICE, ProtocolFamily};

const PRACTICE_NAME: &str = "Practice";

impl Caller {
    /// Gatehouse itself, in the name of a client for practice.
    #[must_use]
    pub fn practice() -> Self {
        Self {
            client: Arc::new(ClientEntry {
                id: PRACTICE.into(),
                name: PRACTICE_NAME.to_owned(),
                token_sha256: String::new(),
                created: Timestamp(0),
                access: ClientAccess::Token,
            }),
            narrowing: Narrowing::default(),
            session: None,
            client_info: None,
            peer: Peer { seen_from: Some(Arc::new(own_process())), ..Peer::unseen() },
            protocol_family: ProtocolFamily::Stateful,
            user_run: None,
        }
    }
}
