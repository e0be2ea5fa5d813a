//! The list of clients: what is stored, which names are rejected, and what ends when a client is revoked.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use gatehouse_gateway::ClientRegistry;
use gatehouse_model::{AuditEvent, ErrorCode, Secret, SystemClock};
use gatehouse_store::{memory, open_vault};

use crate::fixture::{Fixture, SseReader, eventually, inner_id, open_store};

#[tokio::test]
async fn clients_survive_restart_and_tokens_are_not_stored() {
    let dir = tempfile::tempdir().unwrap();
    let secrets = memory();
    let store = open_store(&dir, Arc::clone(&secrets));
    let (registry, _) = ClientRegistry::open(Arc::clone(&store), Arc::new(SystemClock));
    let (entry, token) = registry.add("  Claude Code ").await.unwrap();
    assert_eq!(entry.name, "Claude Code");
    let (_, second) = registry.add("Zed").await.unwrap();
    assert_eq!(registry.authenticate(token.reveal()).unwrap().id, entry.id);
    assert_ne!(token, second);
    let audit = store.audit().list(None, 100).unwrap();
    assert!(matches!(
        &audit.iter().map(|entry| &entry.event).collect::<Vec<_>>()[..],
        [.., AuditEvent::ClientChanged { what: one, .. }, AuditEvent::ClientChanged { what: two, .. }]
            if one == "added" && two == "added"
    ));
    store.close();
    drop(registry);
    drop(store);
    for file in std::fs::read_dir(dir.path()).unwrap() {
        let path = file.unwrap().path();
        if path.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            let found = bytes.windows(token.reveal().len()).any(|window| window == token.reveal().as_bytes());
            assert!(!found, "the token is in {}", path.display());
        }
    }
    let (registry, error) = ClientRegistry::open(open_store(&dir, secrets), Arc::new(SystemClock));
    assert_eq!(error, None);
    assert_eq!(registry.list().len(), 2);
    assert_eq!(registry.authenticate(token.reveal()).unwrap().id, entry.id);
    assert!(registry.authenticate("").is_none());
    assert!(registry.authenticate(&entry.token_sha256).is_none());
}

#[tokio::test]
async fn rejects_duplicate_and_invisible_names() {
    let fixture = Fixture::start().await;
    for (name, code) in [
        ("Agent", ErrorCode::NameTaken),
        (" aGENT ", ErrorCode::NameTaken),
        ("", ErrorCode::BadRequest),
        ("   ", ErrorCode::BadRequest),
        ("a\u{202e}b", ErrorCode::BadRequest),
        ("a\nb", ErrorCode::BadRequest),
    ] {
        assert_eq!(fixture.registry.add(name).await.unwrap_err().code, code, "{name:?}");
    }
    assert_eq!(fixture.registry.add("x".repeat(65)).await.unwrap_err().code, ErrorCode::BadRequest);
    assert_eq!(fixture.registry.list().len(), 1);
    assert_eq!(fixture.registry.rotate("nobody").await.unwrap_err().code, ErrorCode::NotFound);
    assert_eq!(fixture.registry.revoke("nobody").await.unwrap_err().code, ErrorCode::NotFound);
}

#[tokio::test]
async fn revoke_ends_sessions_and_calls() {
    let fixture = Fixture::start().await;
    let session = fixture.session("2025-11-25").await;
    let mut get_stream = SseReader::new(fixture.stream(&session).send().await.unwrap());
    let old = SseReader::new(fixture.session_call(&session, "1", "wait", "{}").send().await.unwrap());
    let new = SseReader::new(fixture.stateless_call("2", "wait", "{}").send().await.unwrap());
    let params = r#"{"notifications":{"toolsListChanged":true}}"#;
    let listening =
        SseReader::new(fixture.stateless_request("3", "subscriptions/listen", params).send().await.unwrap());
    fixture.registry.revoke("agent").await.unwrap();
    assert_eq!(*fixture.script.ended_sessions.lock(), [inner_id(&session)]);
    assert_eq!(*fixture.script.revoked_clients.lock(), [fixture.entry.id.to_string()]);
    assert_eq!(get_stream.next().await, None);
    assert_eq!(old.all().await.last().unwrap().json()["error"]["message"], "cancelled");
    assert_eq!(new.all().await.last().unwrap().json()["error"]["message"], "cancelled");
    assert_eq!(listening.all().await.len(), 2);
    assert_eq!(fixture.script.cancelled.load(Ordering::SeqCst), 2);
    assert_eq!(fixture.session_request(&session, "4", "ping", "{}").send().await.unwrap().status(), 401);
    assert!(fixture.registry.list().is_empty());
    let last = fixture.store.audit().list(None, 100).unwrap().pop().unwrap();
    assert!(matches!(last.event, AuditEvent::ClientChanged { what, .. } if what == "revoked"));
}

#[tokio::test]
async fn rotation_invalidates_old_token_and_keeps_client() {
    let mut fixture = Fixture::start().await;
    let session = fixture.session("2025-11-25").await;
    let (entry, token) = fixture.registry.rotate(fixture.entry.id.as_str()).await.unwrap();
    assert_eq!(entry.id, fixture.entry.id);
    assert_eq!(*fixture.script.ended_sessions.lock(), [inner_id(&session)]);
    assert!(fixture.script.revoked_clients.lock().is_empty());
    assert_eq!(fixture.session_request(&session, "1", "ping", "{}").send().await.unwrap().status(), 401);
    fixture.token = token.reveal().to_owned();
    assert_eq!(fixture.session_request(&session, "1", "ping", "{}").send().await.unwrap().status(), 404);
    fixture.session("2025-11-25").await;
    assert_eq!(fixture.registry.list()[0].sessions, 1);
    eventually("the client counts as seen", || fixture.registry.list()[0].last_seen.is_some()).await;
}

#[tokio::test]
async fn rejects_every_client_when_list_is_unverified() {
    let (dir, vault) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let passphrase = Secret::new("open");
    let store = open_store(&dir, open_vault(vault.path(), &passphrase).unwrap());
    let (registry, error) = ClientRegistry::open(Arc::clone(&store), Arc::new(SystemClock));
    assert_eq!(error, None);
    let (_, token) = registry.add("Agent").await.unwrap();
    store.close();
    drop((registry, store));
    // Another vault: the key that the list was sealed with does not exist there.
    let other = tempfile::tempdir().unwrap();
    let store = open_store(&dir, open_vault(other.path(), &passphrase).unwrap());
    let (registry, error) = ClientRegistry::open(store, Arc::new(SystemClock));
    assert!(error.unwrap().message.to_string().starts_with("No client may connect"));
    assert!(registry.authenticate(token.reveal()).is_none());
    assert!(registry.list().is_empty());
    // The user adds the client again; its old token stays invalid.
    let (_, fresh) = registry.add("Agent").await.unwrap();
    assert_eq!(registry.load_error(), None);
    assert!(registry.authenticate(fresh.reveal()).is_some());
    assert!(registry.authenticate(token.reveal()).is_none());
}
