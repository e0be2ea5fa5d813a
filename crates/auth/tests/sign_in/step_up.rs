//! More rights for a call that lacks them.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use gatehouse_auth::{Next, Refusal, TokenSource as _};
use gatehouse_model::Secret;
use gatehouse_model::sign_in::SignInState;
use serde_json::json;

use crate::world::{World, parameter, visit};

fn lacks(scopes: &str, sent: &str, waits: bool) -> Refusal {
    let challenge = format!(r#"Bearer error="insufficient_scope", scope="{scopes}""#);
    Refusal {
        status: 403,
        challenges: vec![challenge],
        sent: Some(Secret::new(sent)),
        waits,
        once_more: false,
    }
}

async fn refused(world: &World, refusal: Refusal) -> Next {
    world.sign_ins.refused(&world.server, refusal).await.unwrap()
}

fn reason(next: Next) -> String {
    let Next::Refused { reason } = next else { panic!("{next:?}") };
    reason
}

/// Signed in for `read`, with a browser that goes by itself.
async fn reader() -> (World, String) {
    let world = World::new().await;
    world.issuer.switches().resource = json!({ "scopes_supported": ["read"] });
    world.sign_in().await;
    world.browser.goes.store(true, Ordering::SeqCst);
    let token = world.bearer().await.unwrap();
    (world, token)
}

#[tokio::test]
async fn the_user_is_asked_once_and_all_calls_go_on() {
    let (mut world, token) = reader().await;
    world.user.gate.forget_permits(tokio::sync::Semaphore::MAX_PERMITS);
    let calls: Vec<_> = (0..10)
        .map(|_| {
            let (sign_ins, server, token) =
                (world.sign_ins.clone(), Arc::clone(&world.server), token.clone());
            tokio::spawn(
                async move { sign_ins.refused(&server, lacks("write", &token, true)).await.unwrap() },
            )
        })
        .collect();
    world.until(|| !world.user.asked.lock().unwrap().is_empty()).await;
    world.user.gate.add_permits(10);
    let mut next = Vec::new();
    for call in calls {
        next.push(call.await.unwrap());
    }
    let new = world.bearer().await.unwrap();
    assert_ne!(new, token);
    assert!(next.iter().all(|next| *next == Next::Again(Secret::new(&*new))), "{next:?}");
    assert_eq!(*world.user.asked.lock().unwrap(), [["write"]]);
    let opened = world.browser.opened.lock().unwrap().clone();
    assert_eq!(opened.len(), 1);
    assert_eq!(parameter(&opened[0], "scope").as_deref(), Some("read write"));
    // Still so in the next run, also for the next sign-in.
    world.restart().await;
    let SignInState::In { scopes, .. } = world.state().await else { panic!("not signed in") };
    assert_eq!(scopes, ["read", "write"]);
    assert_eq!(parameter(&world.begin().await, "scope").as_deref(), Some("read write"));
}

#[tokio::test]
async fn no_is_no_for_everybody_who_waits() {
    let (world, token) = reader().await;
    world.user.answers.store(false, Ordering::SeqCst);
    world.user.gate.forget_permits(tokio::sync::Semaphore::MAX_PERMITS);
    let calls: Vec<_> = (0..5)
        .map(|_| {
            let (sign_ins, server, token) =
                (world.sign_ins.clone(), Arc::clone(&world.server), token.clone());
            tokio::spawn(
                async move { sign_ins.refused(&server, lacks("write", &token, true)).await.unwrap() },
            )
        })
        .collect();
    world.until(|| !world.user.asked.lock().unwrap().is_empty()).await;
    // So that all of them wait by now.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    world.user.gate.add_permits(10);
    for call in calls {
        let reason = reason(call.await.unwrap());
        assert!(reason.contains("declined"), "{reason}");
    }
    assert_eq!(world.user.asked.lock().unwrap().len(), 1);
    assert!(world.browser.opened.lock().unwrap().is_empty());
    assert_eq!(world.bearer().await, Some(token));
}

#[tokio::test]
async fn a_server_cannot_ask_for_ever() {
    let (world, token) = reader().await;
    let first = refused(&world, lacks("a", &token, true)).await;
    let Next::Again(first) = first else { panic!("{first:?}") };
    let Next::Again(second) = refused(&world, lacks("b", first.reveal(), true)).await else {
        panic!("not again")
    };
    let third = reason(refused(&world, lacks("c", second.reveal(), true)).await);
    assert!(third.contains("2 times"), "{third}");
    assert_eq!(world.user.asked.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn what_would_not_help_is_not_asked() {
    let (world, token) = reader().await;
    for (refusal, words) in [
        (lacks("read", &token, true), "has them already"),
        (lacks("", &token, true), "does not say which"),
        (lacks("write", &token, false), "write"),
        (Refusal { challenges: vec!["Bearer".to_owned()], ..lacks("x", &token, true) }, "lacks a right"),
    ] {
        let reason = reason(refused(&world, refusal).await);
        assert!(reason.contains(words), "{reason}");
    }
    assert_eq!(refused(&world, lacks("write", "older", true)).await, Next::Again(Secret::new(&*token)));
    assert!(world.user.asked.lock().unwrap().is_empty());
    // What a call lacked is asked for when the user signs in.
    assert_eq!(parameter(&world.begin().await, "scope").as_deref(), Some("read write"));
}

#[tokio::test]
async fn without_a_browser_it_waits_for_a_sign_in_that_the_user_begins() {
    let (world, token) = reader().await;
    world.browser.goes.store(false, Ordering::SeqCst);
    let (sign_ins, server) = (world.sign_ins.clone(), Arc::clone(&world.server));
    let call =
        tokio::spawn(async move { sign_ins.refused(&server, lacks("write", &token, true)).await.unwrap() });
    world.until(|| !world.browser.opened.lock().unwrap().is_empty()).await;
    let address = world.begin().await;
    assert_eq!(parameter(&address, "scope").as_deref(), Some("read write"));
    visit(&address).await;
    assert!(matches!(call.await.unwrap(), Next::Again(_)));
}

#[tokio::test]
async fn a_sign_in_that_comes_to_nothing_ends_the_call_in_words() {
    let (world, token) = reader().await;
    world.issuer.switches().callback = json!({ "code": null, "error": "access_denied" });
    let reason = reason(refused(&world, lacks("write", &token, true)).await);
    assert!(reason.contains("access was not granted"), "{reason}");
    assert_eq!(world.bearer().await, Some(token));
}

#[tokio::test]
async fn with_nobody_to_ask_the_answer_is_no() {
    let (world, token) = reader().await;
    let alone = gatehouse_auth::SignIns::new(gatehouse_auth::SignInDeps {
        secrets: Arc::clone(&world.secrets),
        clock: world.clock.clone(),
        audit: world.audit.clone(),
        events: world.events.clone(),
        open: world.browser.clone(),
        data_dir: std::env::temp_dir(),
    });
    let next = alone.refused(&world.server, lacks("write", &token, true)).await.unwrap();
    assert!(reason(next).contains("declined"));
    assert!(world.browser.opened.lock().unwrap().is_empty());
}
