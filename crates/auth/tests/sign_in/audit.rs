//! Entries of the audit about sign-ins: written before anything takes effect, and without secrets.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use gatehouse_model::record::SignInOutcome;
use gatehouse_model::sign_in::SignInState;
use gatehouse_model::{AuditEvent, ErrorCode};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::test_env::TestEnv;

#[tokio::test]
async fn records_each_sign_in_outcome() {
    let test_env = TestEnv::new().await;
    test_env.issuer.behavior().claims = json!({ "email": "ann@notes.example" });
    test_env.issuer.behavior().resource = json!({ "scopes_supported": ["read", "openid"] });
    test_env.sign_in().await;
    let access = test_env.bearer().await.unwrap();
    test_env.sign_ins.sign_out(Arc::clone(&test_env.server), &CancellationToken::new()).await.unwrap();
    assert_eq!(
        test_env.audit.outcomes(),
        [SignInOutcome::SignedIn, SignInOutcome::SignedOut, SignInOutcome::TokensRevoked]
    );
    let entries = test_env.audit.entries.lock().unwrap();
    for entry in &*entries {
        let AuditEvent::SignIn { server, issuer, account, .. } = entry else { panic!("{entry:?}") };
        assert_eq!(*server, test_env.server.id);
        assert_eq!(issuer.as_deref(), Some(test_env.issuer.origin()));
        assert_eq!(account.as_deref(), Some("ann@notes.example"));
    }
    let text = serde_json::to_string(&*entries).unwrap();
    assert!(!text.contains(&access) && !text.contains("refresh-"), "{text}");
}

#[tokio::test]
async fn records_failure_by_error_code_only() {
    let test_env = TestEnv::new().await;
    test_env.issuer.behavior().callback =
        json!({ "code": null, "error": "access_denied", "error_description": "s3cret" });
    test_env.sign_in().await;
    let entries = test_env.audit.entries.lock().unwrap();
    assert!(
        matches!(&entries[..], [AuditEvent::SignIn { what: SignInOutcome::Failed, reason: Some(_), .. }]),
        "{entries:?}"
    );
    assert!(!serde_json::to_string(&*entries).unwrap().contains("s3cret"));
}

#[tokio::test]
async fn fails_sign_in_when_audit_cannot_be_written() {
    let test_env = TestEnv::new().await;
    test_env.audit.is_failing.store(true, Ordering::SeqCst);
    let SignInState::Out { problem: Some(problem) } = test_env.sign_in().await else { panic!("signed in") };
    assert_eq!(problem.code, ErrorCode::Storage);
    assert_eq!(test_env.bearer().await, None);
    assert_eq!(test_env.stored(&test_env.issuer.at("/mcp")), None);
}

#[tokio::test]
async fn signs_out_even_if_audit_cannot_be_written() {
    let test_env = TestEnv::new().await;
    test_env.sign_in().await;
    test_env.audit.is_failing.store(true, Ordering::SeqCst);
    let problem = test_env
        .sign_ins
        .sign_out(Arc::clone(&test_env.server), &CancellationToken::new())
        .await
        .unwrap_err();
    assert_eq!(problem.code, ErrorCode::Storage);
    assert_eq!(test_env.bearer().await, None);
}
