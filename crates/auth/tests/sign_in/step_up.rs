//! More rights for a call that lacks them.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use gatehouse_auth::{AuthRecovery, AuthRejection, TokenSource as _};
use gatehouse_model::Secret;
use gatehouse_model::sign_in::SignInState;
use serde_json::json;

use crate::test_env::{TestEnv, parameter, visit};

fn lacks_scope(scopes: &str, sent: &str, can_wait: bool) -> AuthRejection {
    let challenge = format!(r#"Bearer error="insufficient_scope", scope="{scopes}""#);
    AuthRejection {
        status: 403,
        challenges: vec![challenge],
        sent: Some(Secret::new(sent)),
        can_wait,
        is_retry: false,
    }
}

async fn recover(test_env: &TestEnv, refusal: AuthRejection) -> AuthRecovery {
    test_env.sign_ins.recover(&test_env.server, refusal).await.unwrap()
}

fn reason(next: AuthRecovery) -> String {
    let AuthRecovery::Refused { reason } = next else { panic!("{next:?}") };
    reason.to_string()
}

/// Signed in for `read`, with a browser that goes by itself.
async fn signed_in_for_read() -> (TestEnv, String) {
    let test_env = TestEnv::new().await;
    test_env.issuer.behavior().resource = json!({ "scopes_supported": ["read"] });
    test_env.sign_in().await;
    test_env.browser.is_following.store(true, Ordering::SeqCst);
    let token = test_env.bearer().await.unwrap();
    (test_env, token)
}

#[tokio::test]
async fn asks_once_for_concurrent_calls() {
    let (mut test_env, token) = signed_in_for_read().await;
    test_env.user.gate.forget_permits(tokio::sync::Semaphore::MAX_PERMITS);
    let calls: Vec<_> = (0..10)
        .map(|_| {
            let (sign_ins, server, token) =
                (test_env.sign_ins.clone(), Arc::clone(&test_env.server), token.clone());
            tokio::spawn(async move {
                sign_ins.recover(&server, lacks_scope("write", &token, true)).await.unwrap()
            })
        })
        .collect();
    test_env.wait_until(|| !test_env.user.asked.lock().unwrap().is_empty()).await;
    test_env.user.gate.add_permits(10);
    let mut next = Vec::new();
    for call in calls {
        next.push(call.await.unwrap());
    }
    let new = test_env.bearer().await.unwrap();
    assert_ne!(new, token);
    assert!(next.iter().all(|next| *next == AuthRecovery::Retry(Secret::new(&*new))), "{next:?}");
    assert_eq!(*test_env.user.asked.lock().unwrap(), [["write"]]);
    let opened = test_env.browser.opened.lock().unwrap().clone();
    assert_eq!(opened.len(), 1);
    assert_eq!(parameter(&opened[0], "scope").as_deref(), Some("read write"));
    // Still so in the next run, also for the next sign-in.
    test_env.restart().await;
    let SignInState::In { scopes, .. } = test_env.state().await else { panic!("not signed in") };
    assert_eq!(scopes, ["read", "write"]);
    assert_eq!(parameter(&test_env.begin().await, "scope").as_deref(), Some("read write"));
}

#[tokio::test]
async fn decline_applies_to_all_waiting_calls() {
    let (test_env, token) = signed_in_for_read().await;
    test_env.user.answers.store(false, Ordering::SeqCst);
    test_env.user.gate.forget_permits(tokio::sync::Semaphore::MAX_PERMITS);
    let calls: Vec<_> = (0..5)
        .map(|_| {
            let (sign_ins, server, token) =
                (test_env.sign_ins.clone(), Arc::clone(&test_env.server), token.clone());
            tokio::spawn(async move {
                sign_ins.recover(&server, lacks_scope("write", &token, true)).await.unwrap()
            })
        })
        .collect();
    test_env.wait_until(|| !test_env.user.asked.lock().unwrap().is_empty()).await;
    // So that all of them wait by now.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    test_env.user.gate.add_permits(10);
    for call in calls {
        let reason = reason(call.await.unwrap());
        assert!(reason.contains("declined"), "{reason}");
    }
    assert_eq!(test_env.user.asked.lock().unwrap().len(), 1);
    assert!(test_env.browser.opened.lock().unwrap().is_empty());
    assert_eq!(test_env.bearer().await, Some(token));
}

#[tokio::test]
async fn limits_step_up_prompts() {
    let (test_env, token) = signed_in_for_read().await;
    let first = recover(&test_env, lacks_scope("a", &token, true)).await;
    let AuthRecovery::Retry(first) = first else { panic!("{first:?}") };
    let AuthRecovery::Retry(second) = recover(&test_env, lacks_scope("b", first.reveal(), true)).await else {
        panic!("not again")
    };
    let third = reason(recover(&test_env, lacks_scope("c", second.reveal(), true)).await);
    assert!(third.contains("2 times"), "{third}");
    assert_eq!(test_env.user.asked.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn does_not_ask_when_scopes_would_not_help() {
    let (test_env, token) = signed_in_for_read().await;
    for (refusal, words) in [
        (lacks_scope("read", &token, true), "has them already"),
        (lacks_scope("", &token, true), "does not say which"),
        (lacks_scope("write", &token, false), "write"),
        (
            AuthRejection { challenges: vec!["Bearer".to_owned()], ..lacks_scope("x", &token, true) },
            "lacks a permission",
        ),
    ] {
        let reason = reason(recover(&test_env, refusal).await);
        assert!(reason.contains(words), "{reason}");
    }
    assert_eq!(
        recover(&test_env, lacks_scope("write", "older", true)).await,
        AuthRecovery::Retry(Secret::new(&*token))
    );
    assert!(test_env.user.asked.lock().unwrap().is_empty());
    // What a call lacked is asked for when the user signs in.
    assert_eq!(parameter(&test_env.begin().await, "scope").as_deref(), Some("read write"));
}

#[tokio::test]
async fn waits_for_user_started_login_without_browser() {
    let (test_env, token) = signed_in_for_read().await;
    test_env.browser.is_following.store(false, Ordering::SeqCst);
    let (sign_ins, server) = (test_env.sign_ins.clone(), Arc::clone(&test_env.server));
    let call =
        tokio::spawn(
            async move { sign_ins.recover(&server, lacks_scope("write", &token, true)).await.unwrap() },
        );
    test_env.wait_until(|| !test_env.browser.opened.lock().unwrap().is_empty()).await;
    let address = test_env.begin().await;
    assert_eq!(parameter(&address, "scope").as_deref(), Some("read write"));
    visit(&address).await;
    assert!(matches!(call.await.unwrap(), AuthRecovery::Retry(_)));
}

#[tokio::test]
async fn reports_failed_step_up_login() {
    let (test_env, token) = signed_in_for_read().await;
    test_env.issuer.behavior().callback = json!({ "code": null, "error": "access_denied" });
    let reason = reason(recover(&test_env, lacks_scope("write", &token, true)).await);
    assert!(reason.contains("access was not granted"), "{reason}");
    assert_eq!(test_env.bearer().await, Some(token));
}

#[tokio::test]
async fn declines_without_approver() {
    let (test_env, token) = signed_in_for_read().await;
    let alone = gatehouse_auth::SignIns::new(gatehouse_auth::SignInDeps {
        secrets: Arc::clone(&test_env.secrets),
        clock: test_env.clock.clone(),
        audit: test_env.audit.clone(),
        events: test_env.events.clone(),
        open: test_env.browser.clone(),
        data_dir: std::env::temp_dir(),
    });
    let next = alone.recover(&test_env.server, lacks_scope("write", &token, true)).await.unwrap();
    assert!(reason(next).contains("declined"));
    assert!(test_env.browser.opened.lock().unwrap().is_empty());
}
