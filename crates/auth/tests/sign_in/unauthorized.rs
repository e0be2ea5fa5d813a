//! What to do when a server refuses a token.

use gatehouse_auth::{AuthRecovery, AuthRejection, TokenSource as _};
use gatehouse_model::Secret;
use gatehouse_model::sign_in::{SignInSettings, SignInState};
use serde_json::json;

use crate::scripted_issuer::ScriptedIssuer;
use crate::test_env::{TestEnv, problem};

fn retry_token(next: &AuthRecovery) -> &str {
    let AuthRecovery::Retry(token) = next else { panic!("{next:?}") };
    token.reveal()
}

#[tokio::test]
async fn retries_with_stored_token_first() {
    let test_env = TestEnv::new().await;
    test_env.sign_in().await;
    let token = test_env.bearer().await.unwrap();
    assert_eq!(retry_token(&test_env.recover(Some("older")).await), token);
    assert_eq!(retry_token(&test_env.recover(None).await), token);
    assert!(test_env.issuer.grants("refresh_token").is_empty());
}

#[tokio::test]
async fn refreshes_once_then_needs_sign_in() {
    let test_env = TestEnv::new().await;
    test_env.sign_in().await;
    let old = test_env.bearer().await.unwrap();
    let new = retry_token(&test_env.recover(Some(&old)).await).to_owned();
    assert_ne!(new, old);
    assert_eq!(test_env.bearer().await, Some(new.clone()));
    assert_eq!(retry_token(&test_env.recover(Some(&old)).await), new);
    let issuer = Some(test_env.issuer.origin().to_owned());
    assert_eq!(test_env.recover_after_retry(&new).await, AuthRecovery::SignIn { issuer: issuer.clone() });
    assert_eq!(test_env.issuer.grants("refresh_token").len(), 1);
    assert_eq!(test_env.bearer().await, None, "a token that is not taken is not sent again");
    assert!(problem(test_env.state().await).contains("does not accept"));
    assert_eq!(test_env.events.states().last(), Some(&"out"));
    assert_eq!(test_env.recover(None).await, AuthRecovery::SignIn { issuer });
    test_env.sign_in().await;
    assert!(test_env.bearer().await.is_some_and(|token| token != new));
}

#[tokio::test]
async fn concurrent_rejections_refresh_once() {
    let test_env = TestEnv::new().await;
    test_env.sign_in().await;
    let old = test_env.bearer().await.unwrap();
    let refusals = (0..20).map(|_| test_env.recover(Some(&old)));
    let next = futures::future::join_all(refusals).await;
    let new = retry_token(&next[0]);
    assert!(next.iter().all(|next| retry_token(next) == new));
    assert_eq!(test_env.issuer.grants("refresh_token").len(), 1);
}

#[tokio::test]
async fn needs_sign_in_without_refresh_token() {
    let test_env = TestEnv::new().await;
    test_env.issuer.behavior().given = json!({ "refresh_token": null });
    test_env.sign_in().await;
    let token = test_env.bearer().await.unwrap();
    let issuer = Some(test_env.issuer.origin().to_owned());
    assert_eq!(test_env.recover(Some(&token)).await, AuthRecovery::SignIn { issuer });
    assert!(matches!(test_env.state().await, SignInState::Out { problem: Some(_) }));
}

#[tokio::test]
async fn keeps_token_while_authorization_server_is_down() {
    let test_env = TestEnv::new().await;
    test_env.sign_in().await;
    let token = test_env.bearer().await.unwrap();
    test_env.issuer.behavior().answers.insert("/token".to_owned(), (503, String::new()));
    let refusal = AuthRejection {
        status: 401,
        challenges: vec![],
        sent: Some(Secret::new(&*token)),
        can_wait: true,
        is_retry: false,
    };
    assert!(test_env.sign_ins.recover(&test_env.server, refusal).await.is_err());
    test_env.issuer.behavior().answers.clear();
    assert_ne!(retry_token(&test_env.recover(Some(&token)).await), token);
}

#[tokio::test]
async fn does_not_send_old_tokens_to_new_issuer() {
    let test_env = TestEnv::new().await;
    test_env.sign_in().await;
    let token = test_env.bearer().await.unwrap();
    let other = ScriptedIssuer::start().await;
    test_env.issuer.behavior().resource = json!({ "authorization_servers": [other.origin()] });
    let issuer = Some(other.origin().to_owned());
    assert_eq!(test_env.recover(Some(&token)).await, AuthRecovery::SignIn { issuer });
    assert!(test_env.issuer.grants("refresh_token").is_empty());
    assert!(other.paths().is_empty());
    let state = test_env.sign_in().await;
    assert!(matches!(&state, SignInState::In { issuer, .. } if issuer == other.origin()), "{state:?}");
}

#[tokio::test]
async fn refuses_when_sign_in_is_off() {
    let test_env = TestEnv::with(SignInSettings { off: true, ..SignInSettings::default() }).await;
    let AuthRecovery::Refused { reason } = test_env.recover(None).await else { panic!("not refused") };
    assert!(reason.to_string().contains("switched off"), "{reason}");
    assert!(test_env.begin_error().await.to_string().contains("switched off"));
    assert_eq!(test_env.bearer().await, None);
    assert!(test_env.issuer.paths().is_empty());
}

#[tokio::test]
async fn reports_discovered_or_hinted_issuer() {
    let test_env = TestEnv::new().await;
    let issuer = Some(test_env.issuer.origin().to_owned());
    assert_eq!(test_env.recover(None).await, AuthRecovery::SignIn { issuer: issuer.clone() });
    test_env.issuer.behavior().server = json!({ "issuer": "https://evil.example" });
    assert_eq!(test_env.recover(None).await, AuthRecovery::SignIn { issuer });
    let bare =
        AuthRejection { status: 401, challenges: vec![], sent: None, can_wait: false, is_retry: false };
    assert_eq!(
        test_env.sign_ins.recover(&test_env.server, bare).await.unwrap(),
        AuthRecovery::SignIn { issuer: None }
    );
}
