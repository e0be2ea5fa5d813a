//! Tokens and their renewal.

use std::sync::Arc;

use gatehouse_auth::{AuthError, SignIns, TokenSource as _};
use gatehouse_model::sign_in::SignInState;
use gatehouse_model::{Generation, Secret, ServerConfig, Transport};
use gatehouse_store::SecretKey;
use serde_json::json;

use crate::test_env::{TestEnv, parameter, problem};

#[tokio::test]
async fn token_is_bound_to_server_generation_and_resource() {
    let mut test_env = TestEnv::new().await;
    assert_eq!(test_env.bearer().await, None);
    test_env.sign_in().await;
    let token = test_env.bearer().await;
    assert!(token.is_some());
    test_env.restart().await;
    assert_eq!(test_env.bearer().await, token);
    assert!(matches!(test_env.state().await, SignInState::In { .. }));
    let edited = Arc::new(ServerConfig { generation: Generation(2), ..(*test_env.server).clone() });
    assert!(test_env.sign_ins.bearer(&edited).await.unwrap().is_none());
    let mut another = (*test_env.server).clone();
    if let Transport::Auto(remote) | Transport::Http(remote) = &mut another.transport {
        remote.headers.insert("X-Team".into(), "other".into());
    }
    assert_ne!(another.binding(), test_env.server.binding());
    assert!(test_env.sign_ins.bearer(&Arc::new(another)).await.unwrap().is_none(), "same id and generation");
    let copied = Arc::new(ServerConfig { id: "srv-2".into(), ..(*test_env.server).clone() });
    assert!(test_env.sign_ins.bearer(&copied).await.unwrap().is_none());
    let moved = Arc::new(crate::test_env::config(&test_env.issuer.at("/other"), Default::default()));
    assert!(test_env.sign_ins.bearer(&moved).await.unwrap().is_none());
}

#[tokio::test]
async fn ignores_stored_sign_in_of_other_resource() {
    let mut test_env = TestEnv::new().await;
    test_env.sign_in().await;
    let resource = test_env.issuer.at("/mcp");
    let stored = test_env.stored(&resource).unwrap();
    let key = SecretKey::sign_in(&test_env.server.binding(), &resource);
    let swapped =
        stored.replace(&format!(r#""resource":"{resource}""#), r#""resource":"https://other.example/mcp""#);
    assert_ne!(swapped, stored);
    test_env.secrets.set(&key, &Secret::new(swapped)).unwrap();
    test_env.restart().await;
    assert_eq!(test_env.bearer().await, None);
    test_env.secrets.set(&key, &Secret::new("{}")).unwrap();
    test_env.restart().await;
    assert!(matches!(test_env.sign_ins.bearer(&test_env.server).await, Err(AuthError::Unreadable)));
    test_env.sign_in().await;
    assert!(test_env.bearer().await.is_some());
}

#[tokio::test]
async fn concurrent_calls_and_processes_refresh_once() {
    let test_env = TestEnv::new().await;
    test_env.sign_in().await;
    let old = test_env.bearer().await.unwrap();
    let other = test_env.second_process();
    assert!(other.bearer(&test_env.server).await.unwrap().is_some());
    test_env.clock.forward(3300);
    let gate = Arc::new(tokio::sync::Semaphore::new(0));
    test_env.issuer.behavior().gate = Some(gate.clone());
    let calls: Vec<_> = (0..50)
        .map(|number| {
            let sign_ins: SignIns = if number % 2 == 0 { test_env.sign_ins.clone() } else { other.clone() };
            let server = Arc::clone(&test_env.server);
            tokio::spawn(async move { sign_ins.bearer(&server).await.unwrap().unwrap() })
        })
        .collect();
    test_env.wait_until(|| !test_env.issuer.grants("refresh_token").is_empty()).await;
    gate.add_permits(10);
    let mut tokens = Vec::new();
    for call in calls {
        tokens.push(call.await.unwrap().reveal().to_owned());
    }
    tokens.dedup();
    assert_eq!(tokens.len(), 1);
    assert_ne!(tokens[0], old);
    assert_eq!(test_env.issuer.grants("refresh_token").len(), 1);
    assert_eq!(test_env.issuer.grants("refresh_token")[0].field("resource"), test_env.issuer.at("/mcp"));
}

#[tokio::test]
async fn keeps_refresh_token_unless_rotated() {
    let test_env = TestEnv::new().await;
    test_env.sign_in().await;
    let mut sent = Vec::new();
    for given in [json!({}), json!({ "refresh_token": null }), json!({})] {
        test_env.issuer.behavior().given = given;
        test_env.clock.forward(3400);
        test_env.bearer().await.unwrap();
        sent.push(test_env.issuer.grants("refresh_token").last().unwrap().field("refresh_token").to_owned());
    }
    assert_ne!(sent[0], sent[1]);
    assert_eq!(sent[1], sent[2]);
}

#[tokio::test]
async fn uses_valid_token_during_outage() {
    let test_env = TestEnv::new().await;
    test_env.sign_in().await;
    let old = test_env.bearer().await;
    test_env.clock.forward(3400);
    test_env.issuer.behavior().answers.insert("/token".to_owned(), (503, String::new()));
    assert_eq!(test_env.bearer().await, old);
    assert_eq!(test_env.bearer().await, old);
    assert_eq!(test_env.issuer.grants("refresh_token").len(), 1, "it is not tried again at once");
    test_env.clock.forward(200);
    let error = test_env.sign_ins.bearer(&test_env.server).await.unwrap_err();
    assert!(matches!(error, AuthError::Unreachable(_)), "{error}");
    assert!(matches!(test_env.state().await, SignInState::In { .. }));
    test_env.issuer.behavior().answers.clear();
    let new = test_env.bearer().await;
    assert!(new.is_some() && new != old);
}

#[tokio::test]
async fn invalid_grant_clears_tokens_only() {
    let mut test_env = TestEnv::new().await;
    test_env.issuer.behavior().resource = json!({ "scopes_supported": ["read"] });
    test_env.sign_in().await;
    test_env.clock.forward(3400);
    test_env.issuer.behavior().token.push_back((400, json!({ "error": "invalid_grant" })));
    assert_eq!(test_env.bearer().await, None);
    assert!(problem(test_env.state().await).contains("not valid any more"));
    assert_eq!(test_env.events.states().last(), Some(&"out"));
    test_env.restart().await;
    assert_eq!(test_env.bearer().await, None);
    assert_eq!(test_env.issuer.grants("refresh_token").len(), 1);
    // What was granted before is asked for again, as the client that is known.
    test_env.issuer.behavior().resource = json!({ "scopes_supported": ["other"] });
    let address = test_env.begin().await;
    assert_eq!(parameter(&address, "scope").as_deref(), Some("other read"));
    assert_eq!(test_env.issuer.recorded("/register").len(), 1);
    // Unless it is what is wrong.
    test_env.issuer.behavior().callback = json!({ "code": null, "error": "invalid_scope" });
    crate::test_env::visit(&address).await;
    test_env.wait_until_settled().await;
    assert_eq!(parameter(&test_env.begin().await, "scope").as_deref(), Some("other"));
}

#[tokio::test]
async fn forgets_registration_on_invalid_client() {
    for error in ["invalid_client", "unauthorized_client"] {
        let test_env = TestEnv::new().await;
        test_env.sign_in().await;
        test_env.clock.forward(3400);
        test_env.issuer.behavior().token.push_back((401, json!({ "error": error })));
        assert_eq!(test_env.bearer().await, None);
        assert!(matches!(test_env.state().await, SignInState::Out { problem: Some(_) }));
        test_env.sign_in().await;
        assert_eq!(test_env.issuer.recorded("/register").len(), 2, "{error}");
    }
}

#[tokio::test]
async fn finishes_refresh_after_caller_is_dropped() {
    let test_env = TestEnv::new().await;
    test_env.sign_in().await;
    let old = test_env.bearer().await.unwrap();
    test_env.clock.forward(3400);
    let gate = Arc::new(tokio::sync::Semaphore::new(0));
    test_env.issuer.behavior().gate = Some(gate.clone());
    let (sign_ins, server) = (test_env.sign_ins.clone(), Arc::clone(&test_env.server));
    let call = tokio::spawn(async move { sign_ins.bearer(&server).await.unwrap() });
    test_env.wait_until(|| !test_env.issuer.grants("refresh_token").is_empty()).await;
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    gate.add_permits(10);
    let new = test_env.bearer().await.unwrap();
    assert_ne!(new, old);
    assert_eq!(test_env.issuer.grants("refresh_token").len(), 1);
    assert!(test_env.stored(&test_env.issuer.at("/mcp")).unwrap().contains(&new));
}

#[tokio::test]
async fn token_without_expiry_stays_valid() {
    let test_env = TestEnv::new().await;
    test_env.issuer.behavior().given = json!({ "expires_in": null, "refresh_token": null });
    test_env.sign_in().await;
    test_env.clock.forward(1_000_000_000);
    assert!(test_env.bearer().await.is_some());
    test_env.issuer.behavior().given = json!({ "expires_in": 60, "refresh_token": null });
    test_env.sign_in().await;
    test_env.clock.forward(59);
    assert!(test_env.bearer().await.is_some());
    test_env.clock.forward(1);
    assert_eq!(test_env.bearer().await, None);
    assert!(problem(test_env.state().await).contains("not valid any more"));
}

#[tokio::test]
async fn forget_deletes_all_stored_state() {
    let test_env = TestEnv::new().await;
    test_env.sign_in().await;
    let resource = test_env.issuer.at("/mcp");
    assert!(test_env.stored(&resource).is_some() && test_env.stored("registration").is_some());
    assert_eq!(test_env.lock_files(), 1);
    let back = crate::test_env::follow_to_callback(&test_env.begin().await).await;
    test_env.sign_ins.forget(&test_env.server).await;
    assert!(test_env.stored(&resource).is_none() && test_env.stored("registration").is_none());
    assert_eq!(test_env.lock_files(), 0);
    assert!(crate::test_env::client().get(back).send().await.is_err(), "something still listens");
    assert_eq!(test_env.bearer().await, None);
}
