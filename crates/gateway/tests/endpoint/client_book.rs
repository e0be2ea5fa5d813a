//! The list of clients: what is durable, what is refused, and what ends when a client goes.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use gatehouse_gateway::ClientBook;
use gatehouse_model::{AuditEvent, ErrorCode, Secret, SystemClock};
use gatehouse_store::{memory, open_vault};

use crate::fixture::{Fixture, Sse, open_store, until};

#[tokio::test]
async fn clients_survive_a_restart_and_tokens_are_never_written_down() {
    let dir = tempfile::tempdir().unwrap();
    let secrets = memory();
    let store = open_store(&dir, Arc::clone(&secrets));
    let (book, _) = ClientBook::open(Arc::clone(&store), Arc::new(SystemClock));
    let (entry, token) = book.add("  Claude Code ").await.unwrap();
    assert_eq!(entry.name, "Claude Code");
    let (_, second) = book.add("Zed").await.unwrap();
    assert_eq!(book.authenticate(token.reveal()).unwrap().id, entry.id);
    assert_ne!(token, second);
    let audit = store.audit().list(None, 100).unwrap();
    assert!(matches!(
        &audit.iter().map(|entry| &entry.event).collect::<Vec<_>>()[..],
        [.., AuditEvent::ClientChanged { what: one, .. }, AuditEvent::ClientChanged { what: two, .. }]
            if one == "added" && two == "added"
    ));
    store.close();
    drop(book);
    drop(store);
    for file in std::fs::read_dir(dir.path()).unwrap() {
        let path = file.unwrap().path();
        if path.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            let found = bytes.windows(token.reveal().len()).any(|window| window == token.reveal().as_bytes());
            assert!(!found, "the token is in {}", path.display());
        }
    }
    let (book, problem) = ClientBook::open(open_store(&dir, secrets), Arc::new(SystemClock));
    assert_eq!(problem, None);
    assert_eq!(book.list().len(), 2);
    assert_eq!(book.authenticate(token.reveal()).unwrap().id, entry.id);
    assert!(book.authenticate("").is_none());
    assert!(book.authenticate(&entry.token_sha256).is_none());
}

#[tokio::test]
async fn names_are_unique_and_can_be_seen() {
    let fixture = Fixture::start().await;
    for (name, code) in [
        ("Agent", ErrorCode::NameTaken),
        (" aGENT ", ErrorCode::NameTaken),
        ("", ErrorCode::BadRequest),
        ("   ", ErrorCode::BadRequest),
        ("a\u{202e}b", ErrorCode::BadRequest),
        ("a\nb", ErrorCode::BadRequest),
    ] {
        assert_eq!(fixture.book.add(name).await.unwrap_err().code, code, "{name:?}");
    }
    assert_eq!(fixture.book.add("x".repeat(65)).await.unwrap_err().code, ErrorCode::BadRequest);
    assert_eq!(fixture.book.list().len(), 1);
    assert_eq!(fixture.book.rotate("nobody").await.unwrap_err().code, ErrorCode::NotFound);
    assert_eq!(fixture.book.revoke("nobody").await.unwrap_err().code, ErrorCode::NotFound);
}

#[tokio::test]
async fn revoking_ends_sessions_and_calls_at_once() {
    let fixture = Fixture::start().await;
    let session = fixture.session("2025-11-25").await;
    let mut standing = Sse::new(fixture.stream(&session).send().await.unwrap());
    let old = Sse::new(fixture.classic_call(&session, "1", "wait", "{}").send().await.unwrap());
    let new = Sse::new(fixture.modern_call("2", "wait", "{}").send().await.unwrap());
    let params = r#"{"notifications":{"toolsListChanged":true}}"#;
    let listening = Sse::new(fixture.modern("3", "subscriptions/listen", params).send().await.unwrap());
    fixture.book.revoke("agent").await.unwrap();
    assert_eq!(*fixture.script.sessions_ended.lock(), std::slice::from_ref(&session));
    assert_eq!(*fixture.script.clients_gone.lock(), [fixture.entry.id.to_string()]);
    assert_eq!(standing.next().await, None);
    assert_eq!(old.all().await.last().unwrap().json()["error"]["message"], "cancelled");
    assert_eq!(new.all().await.last().unwrap().json()["error"]["message"], "cancelled");
    assert_eq!(listening.all().await.len(), 2);
    assert_eq!(fixture.script.cancelled.load(Ordering::SeqCst), 2);
    assert_eq!(fixture.classic(&session, "4", "ping", "{}").send().await.unwrap().status(), 401);
    assert!(fixture.book.list().is_empty());
    let last = fixture.store.audit().list(None, 100).unwrap().pop().unwrap();
    assert!(matches!(last.event, AuditEvent::ClientChanged { what, .. } if what == "revoked"));
}

#[tokio::test]
async fn a_new_token_ends_the_old_one_but_not_the_client() {
    let mut fixture = Fixture::start().await;
    let session = fixture.session("2025-11-25").await;
    let (entry, token) = fixture.book.rotate(fixture.entry.id.as_str()).await.unwrap();
    assert_eq!(entry.id, fixture.entry.id);
    assert_eq!(*fixture.script.sessions_ended.lock(), std::slice::from_ref(&session));
    assert!(fixture.script.clients_gone.lock().is_empty());
    assert_eq!(fixture.classic(&session, "1", "ping", "{}").send().await.unwrap().status(), 401);
    fixture.token = token.reveal().to_owned();
    assert_eq!(fixture.classic(&session, "1", "ping", "{}").send().await.unwrap().status(), 404);
    fixture.session("2025-11-25").await;
    assert_eq!(fixture.book.list()[0].sessions, 1);
    until("it was seen", || fixture.book.list()[0].last_seen.is_some()).await;
}

#[tokio::test]
async fn a_list_that_cannot_be_verified_lets_nobody_in() {
    let (dir, vault) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let passphrase = Secret::new("open");
    let store = open_store(&dir, open_vault(vault.path(), &passphrase).unwrap());
    let (book, problem) = ClientBook::open(Arc::clone(&store), Arc::new(SystemClock));
    assert_eq!(problem, None);
    let (_, token) = book.add("Agent").await.unwrap();
    store.close();
    drop((book, store));
    // Another vault: the key that the list was sealed with is gone.
    let other = tempfile::tempdir().unwrap();
    let store = open_store(&dir, open_vault(other.path(), &passphrase).unwrap());
    let (book, problem) = ClientBook::open(store, Arc::new(SystemClock));
    assert!(problem.unwrap().what.starts_with("No client may connect"));
    assert!(book.authenticate(token.reveal()).is_none());
    assert!(book.list().is_empty());
    // The user begins anew; the old token stays out.
    let (_, fresh) = book.add("Agent").await.unwrap();
    assert_eq!(book.problem(), None);
    assert!(book.authenticate(fresh.reveal()).is_some());
    assert!(book.authenticate(token.reveal()).is_none());
}
