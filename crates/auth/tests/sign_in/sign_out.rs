//! Signing out.

use std::sync::Arc;

use gatehouse_model::sign_in::SignInState;
use gatehouse_model::{Generation, Secret, ServerBinding};
use gatehouse_store::SecretKey;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::test_env::TestEnv;

#[tokio::test]
async fn revokes_and_deletes_tokens() {
    let mut test_env = TestEnv::new().await;
    test_env.sign_in().await;
    let access = test_env.bearer().await.unwrap();
    let out =
        test_env.sign_ins.sign_out(Arc::clone(&test_env.server), &CancellationToken::new()).await.unwrap();
    assert!(out.revoked);
    let given = test_env.issuer.recorded("/revoke");
    let hints: Vec<&str> = given.iter().map(|recorded| recorded.field("token_type_hint")).collect();
    assert_eq!(hints, ["refresh_token", "access_token"]);
    assert!(given[0].field("token").starts_with("refresh"));
    assert_eq!(given[1].field("token"), access);
    assert!(given.iter().all(|recorded| recorded.basic().is_some()), "as the client that they were given to");
    assert_eq!(test_env.state().await, SignInState::Out { problem: None });
    assert_eq!(test_env.events.states().last(), Some(&"out"));
    assert_eq!(test_env.bearer().await, None);
    assert_eq!(test_env.stored(&test_env.issuer.at("/mcp")), None);
    test_env.restart().await;
    assert_eq!(test_env.bearer().await, None);
    let nothing =
        test_env.sign_ins.sign_out(Arc::clone(&test_env.server), &CancellationToken::new()).await.unwrap();
    assert!(!nothing.revoked);
}

#[tokio::test]
async fn deletes_tokens_when_revocation_fails() {
    for (server, status) in [(json!({}), 503), (json!({ "revocation_endpoint": null }), 200)] {
        let test_env = TestEnv::new().await;
        test_env.issuer.behavior().server = server;
        test_env.issuer.behavior().revoke = status;
        test_env.sign_in().await;
        let out = test_env
            .sign_ins
            .sign_out(Arc::clone(&test_env.server), &CancellationToken::new())
            .await
            .unwrap();
        assert!(!out.revoked);
        assert_eq!(test_env.bearer().await, None);
        assert_eq!(test_env.stored(&test_env.issuer.at("/mcp")), None);
    }
}

/// Cancelled, it no longer waits for the authorization server, and the tokens are gone all the same.
#[tokio::test]
async fn cancelling_ends_revocation() {
    let test_env = TestEnv::new().await;
    test_env.issuer.behavior().hangs_at_revocation = true;
    test_env.sign_in().await;
    let cancel = CancellationToken::new();
    let cancelling = async {
        while test_env.issuer.recorded("/revoke").is_empty() {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    };
    let signing_out = test_env.sign_ins.sign_out(Arc::clone(&test_env.server), &cancel);
    let (out, ()) = tokio::join!(signing_out, cancelling);
    assert!(!out.unwrap().revoked);
    assert_eq!(test_env.issuer.recorded("/revoke").len(), 1, "the next token was revoked");
    assert_eq!(test_env.bearer().await, None);
    assert_eq!(test_env.stored(&test_env.issuer.at("/mcp")), None);
}

#[tokio::test]
async fn sign_out_cancels_pending_login() {
    let test_env = TestEnv::new().await;
    let back = crate::test_env::follow_to_callback(&test_env.begin().await).await;
    test_env.sign_ins.sign_out(Arc::clone(&test_env.server), &CancellationToken::new()).await.unwrap();
    assert_eq!(test_env.state().await, SignInState::Out { problem: None });
    assert!(crate::test_env::client().get(back).send().await.is_err(), "something still listens");
}

#[tokio::test]
async fn a_server_that_goes_takes_its_earlier_sign_ins_along() {
    let test_env = TestEnv::new().await;
    test_env.sign_in().await;
    let (now, resource) = (test_env.server.binding(), test_env.issuer.at("/mcp"));
    let before = ServerBinding { generation: Generation(0), ..now.clone() };
    let other = ServerBinding { server: "srv-2".into(), ..now.clone() };
    let earlier = [
        SecretKey::sign_in(&before, &resource),
        SecretKey::sign_in(&before, "registration"),
        SecretKey::sign_in_before_identity(&now, &resource),
        SecretKey::sign_in_before_identity(&before, "company"),
    ];
    let of_another = SecretKey::sign_in(&other, &resource);
    for key in earlier.iter().chain([&of_another]) {
        test_env.secrets.set(key, &Secret::new("{}")).unwrap();
    }
    test_env.sign_ins.forget(&test_env.server).await;
    for key in earlier.iter().chain(&gatehouse_auth::secret_keys(&test_env.server)) {
        assert!(test_env.secrets.get(key).unwrap().is_none(), "{key:?}");
    }
    assert!(test_env.secrets.get(&of_another).unwrap().is_some(), "another server's is gone");
}
