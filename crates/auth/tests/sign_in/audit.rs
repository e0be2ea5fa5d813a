//! Entries of the audit about sign-ins: written before anything takes effect, and without secrets.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use gatehouse_model::record::SignInOutcome;
use gatehouse_model::sign_in::SignInState;
use gatehouse_model::{AuditEvent, ErrorCode};
use serde_json::json;

use crate::world::World;

#[tokio::test]
async fn each_end_of_a_sign_in_is_recorded() {
    let world = World::new().await;
    world.issuer.switches().claims = json!({ "email": "ann@notes.example" });
    world.issuer.switches().resource = json!({ "scopes_supported": ["read", "openid"] });
    world.sign_in().await;
    let access = world.bearer().await.unwrap();
    world.sign_ins.sign_out(Arc::clone(&world.server)).await.unwrap();
    assert_eq!(
        world.audit.outcomes(),
        [SignInOutcome::SignedIn, SignInOutcome::SignedOut, SignInOutcome::TokensRevoked]
    );
    let entries = world.audit.entries.lock().unwrap();
    for entry in &*entries {
        let AuditEvent::SignIn { server, issuer, account, .. } = entry else { panic!("{entry:?}") };
        assert_eq!(*server, world.server.id);
        assert_eq!(issuer.as_deref(), Some(world.issuer.origin()));
        assert_eq!(account.as_deref(), Some("ann@notes.example"));
    }
    let text = serde_json::to_string(&*entries).unwrap();
    assert!(!text.contains(&access) && !text.contains("refresh-"), "{text}");
}

#[tokio::test]
async fn a_refused_sign_in_is_recorded_by_its_code_alone() {
    let world = World::new().await;
    world.issuer.switches().callback =
        json!({ "code": null, "error": "access_denied", "error_description": "s3cret" });
    world.sign_in().await;
    let entries = world.audit.entries.lock().unwrap();
    assert!(
        matches!(&entries[..], [AuditEvent::SignIn { what: SignInOutcome::Failed, reason: Some(_), .. }]),
        "{entries:?}"
    );
    assert!(!serde_json::to_string(&*entries).unwrap().contains("s3cret"));
}

#[tokio::test]
async fn nobody_is_signed_in_when_it_cannot_be_recorded() {
    let world = World::new().await;
    world.audit.refuses.store(true, Ordering::SeqCst);
    let SignInState::Out { problem: Some(problem) } = world.sign_in().await else { panic!("signed in") };
    assert_eq!(problem.code, ErrorCode::Storage);
    assert_eq!(world.bearer().await, None);
    assert_eq!(world.kept(&world.issuer.at("/mcp")), None);
}

#[tokio::test]
async fn a_sign_out_counts_also_when_it_cannot_be_recorded() {
    let world = World::new().await;
    world.sign_in().await;
    world.audit.refuses.store(true, Ordering::SeqCst);
    let problem = world.sign_ins.sign_out(Arc::clone(&world.server)).await.unwrap_err();
    assert_eq!(problem.code, ErrorCode::Storage);
    assert_eq!(world.bearer().await, None);
}
