//! What is kept of the streams of a session.

use gatehouse_model::{ClientAccess, ClientEntry, ClientId, Timestamp};
use gatehouse_tools::{ByteBudget, ByteLimits};
use tokio::time::advance;

use super::streams::{FINISHED_STREAM_TTL, MAX_FINISHED_STREAM_BYTES, MAX_FINISHED_STREAMS};
use super::*;

pub(in crate::session) fn client(id: &str) -> Arc<ClientState> {
    Arc::new(ClientState::new(ClientEntry {
        id: ClientId::new(id),
        name: "Agent".into(),
        token_sha256: String::new(),
        created: Timestamp(0),
        access: ClientAccess::Token,
    }))
}

pub(in crate::session) fn identity(id: &str) -> SessionIdentity {
    SessionIdentity { id: SessionId::new(id), header: id.into(), saved_as: None }
}

pub(in crate::session) fn init() -> SessionInit {
    SessionInit {
        servers: ServerSelection::All,
        revision: Revision::V2025November,
        client_capabilities: ClientCapabilities::default(),
        client_info: None,
        narrowing: Narrowing::default(),
        view: CatalogViewKey::default(),
        only_stream: None,
    }
}

#[tokio::test(start_paused = true)]
async fn bounds_finished_streams() {
    let client = client("cli-1");
    let session = Session::new(identity("s"), Arc::clone(&client), init());
    let budget = ByteBudget::new(ByteLimits::default());
    let add_running = || {
        let number = session.next_stream();
        let log = EventLog::numbered(number, &budget, &client.entry.id);
        session.store_stream(number, &log);
        number
    };
    let add_finished = |text: &str| {
        let number = session.next_stream();
        let log = EventLog::numbered(number, &budget, &client.entry.id);
        log.finish(std::iter::once(text.as_bytes()));
        session.store_stream(number, &log);
        number
    };
    let running = add_running();
    let first = add_finished("x");
    for _ in 1..MAX_FINISHED_STREAMS {
        add_finished("x");
    }
    assert!(session.stream(first).is_some());
    add_finished("x");
    assert!(session.stream(first).is_none());
    // The total size is limited too.
    let large = "x".repeat(MAX_FINISHED_STREAM_BYTES / 2);
    let (one, two) = (add_finished(&large), add_finished(&large));
    assert!(session.stream(one).is_none());
    assert!(session.stream(two).is_some());
    advance(FINISHED_STREAM_TTL).await;
    add_finished("x");
    assert!(session.stream(two).is_none());
    assert!(session.stream(running).is_some());
}
