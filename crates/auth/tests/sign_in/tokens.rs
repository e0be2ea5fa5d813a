//! Tokens and their renewal.

use std::sync::Arc;

use gatehouse_auth::{AuthError, SignIns, TokenSource as _};
use gatehouse_model::sign_in::SignInState;
use gatehouse_model::{Generation, Secret, ServerConfig, Transport};
use gatehouse_store::SecretKey;
use serde_json::json;

use crate::world::{World, parameter, problem};

#[tokio::test]
async fn a_token_serves_only_what_it_was_given_for() {
    let mut world = World::new().await;
    assert_eq!(world.bearer().await, None);
    world.sign_in().await;
    let token = world.bearer().await;
    assert!(token.is_some());
    world.restart().await;
    assert_eq!(world.bearer().await, token);
    assert!(matches!(world.state().await, SignInState::In { .. }));
    let edited = Arc::new(ServerConfig { generation: Generation(2), ..(*world.server).clone() });
    assert!(world.sign_ins.bearer(&edited).await.unwrap().is_none());
    let mut another = (*world.server).clone();
    if let Transport::Auto(remote) | Transport::Http(remote) = &mut another.transport {
        remote.headers.insert("X-Team".into(), "other".into());
    }
    assert_ne!(another.binding(), world.server.binding());
    assert!(world.sign_ins.bearer(&Arc::new(another)).await.unwrap().is_none(), "same id and generation");
    let copied = Arc::new(ServerConfig { id: "srv-2".into(), ..(*world.server).clone() });
    assert!(world.sign_ins.bearer(&copied).await.unwrap().is_none());
    let moved = Arc::new(crate::world::config(&world.issuer.at("/other"), Default::default()));
    assert!(world.sign_ins.bearer(&moved).await.unwrap().is_none());
}

#[tokio::test]
async fn what_is_kept_for_another_resource_is_not_used() {
    let mut world = World::new().await;
    world.sign_in().await;
    let resource = world.issuer.at("/mcp");
    let kept = world.kept(&resource).unwrap();
    let key = SecretKey::sign_in(&world.server.binding(), &resource);
    let swapped =
        kept.replace(&format!(r#""resource":"{resource}""#), r#""resource":"https://other.example/mcp""#);
    assert_ne!(swapped, kept);
    world.secrets.set(&key, &Secret::new(swapped)).unwrap();
    world.restart().await;
    assert_eq!(world.bearer().await, None);
    world.secrets.set(&key, &Secret::new("{}")).unwrap();
    world.restart().await;
    assert!(matches!(world.sign_ins.bearer(&world.server).await, Err(AuthError::Unreadable)));
    world.sign_in().await;
    assert!(world.bearer().await.is_some());
}

#[tokio::test]
async fn many_calls_and_two_processes_renew_once() {
    let world = World::new().await;
    world.sign_in().await;
    let old = world.bearer().await.unwrap();
    let other = world.another();
    assert!(other.bearer(&world.server).await.unwrap().is_some());
    world.clock.forward(3300);
    let gate = Arc::new(tokio::sync::Semaphore::new(0));
    world.issuer.switches().gate = Some(gate.clone());
    let calls: Vec<_> = (0..50)
        .map(|number| {
            let sign_ins: SignIns = if number % 2 == 0 { world.sign_ins.clone() } else { other.clone() };
            let server = Arc::clone(&world.server);
            tokio::spawn(async move { sign_ins.bearer(&server).await.unwrap().unwrap() })
        })
        .collect();
    world.until(|| !world.issuer.grants("refresh_token").is_empty()).await;
    gate.add_permits(10);
    let mut tokens = Vec::new();
    for call in calls {
        tokens.push(call.await.unwrap().reveal().to_owned());
    }
    tokens.dedup();
    assert_eq!(tokens.len(), 1);
    assert_ne!(tokens[0], old);
    assert_eq!(world.issuer.grants("refresh_token").len(), 1);
    assert_eq!(world.issuer.grants("refresh_token")[0].field("resource"), world.issuer.at("/mcp"));
}

#[tokio::test]
async fn a_rotated_refresh_token_replaces_the_old_one_and_none_keeps_it() {
    let world = World::new().await;
    world.sign_in().await;
    let mut sent = Vec::new();
    for given in [json!({}), json!({ "refresh_token": null }), json!({})] {
        world.issuer.switches().given = given;
        world.clock.forward(3400);
        world.bearer().await.unwrap();
        sent.push(world.issuer.grants("refresh_token").last().unwrap().field("refresh_token").to_owned());
    }
    assert_ne!(sent[0], sent[1]);
    assert_eq!(sent[1], sent[2]);
}

#[tokio::test]
async fn an_authorization_server_that_is_away_costs_nothing_while_the_token_is_valid() {
    let world = World::new().await;
    world.sign_in().await;
    let old = world.bearer().await;
    world.clock.forward(3400);
    world.issuer.switches().answers.insert("/token".to_owned(), (503, String::new()));
    assert_eq!(world.bearer().await, old);
    assert_eq!(world.bearer().await, old);
    assert_eq!(world.issuer.grants("refresh_token").len(), 1, "it is not tried again at once");
    world.clock.forward(200);
    let error = world.sign_ins.bearer(&world.server).await.unwrap_err();
    assert!(matches!(error, AuthError::Unreachable(_)), "{error}");
    assert!(matches!(world.state().await, SignInState::In { .. }));
    world.issuer.switches().answers.clear();
    let new = world.bearer().await;
    assert!(new.is_some() && new != old);
}

#[tokio::test]
async fn a_grant_that_is_over_clears_the_tokens_and_no_more() {
    let mut world = World::new().await;
    world.issuer.switches().resource = json!({ "scopes_supported": ["read"] });
    world.sign_in().await;
    world.clock.forward(3400);
    world.issuer.switches().token.push_back((400, json!({ "error": "invalid_grant" })));
    assert_eq!(world.bearer().await, None);
    assert!(problem(world.state().await).contains("not valid any more"));
    assert_eq!(world.events.told().last(), Some(&"out"));
    world.restart().await;
    assert_eq!(world.bearer().await, None);
    assert_eq!(world.issuer.grants("refresh_token").len(), 1);
    // What was granted before is asked for again, as the client that is known.
    world.issuer.switches().resource = json!({ "scopes_supported": ["other"] });
    let address = world.begin().await;
    assert_eq!(parameter(&address, "scope").as_deref(), Some("other read"));
    assert_eq!(world.issuer.seen("/register").len(), 1);
    // Unless it is what is wrong.
    world.issuer.switches().callback = json!({ "code": null, "error": "invalid_scope" });
    crate::world::visit(&address).await;
    world.settled().await;
    assert_eq!(parameter(&world.begin().await, "scope").as_deref(), Some("other"));
}

#[tokio::test]
async fn a_client_that_is_not_known_any_more_is_forgotten() {
    for error in ["invalid_client", "unauthorized_client"] {
        let world = World::new().await;
        world.sign_in().await;
        world.clock.forward(3400);
        world.issuer.switches().token.push_back((401, json!({ "error": error })));
        assert_eq!(world.bearer().await, None);
        assert!(matches!(world.state().await, SignInState::Out { problem: Some(_) }));
        world.sign_in().await;
        assert_eq!(world.issuer.seen("/register").len(), 2, "{error}");
    }
}

#[tokio::test]
async fn a_renewal_is_finished_though_nobody_waits_for_it() {
    let world = World::new().await;
    world.sign_in().await;
    let old = world.bearer().await.unwrap();
    world.clock.forward(3400);
    let gate = Arc::new(tokio::sync::Semaphore::new(0));
    world.issuer.switches().gate = Some(gate.clone());
    let (sign_ins, server) = (world.sign_ins.clone(), Arc::clone(&world.server));
    let call = tokio::spawn(async move { sign_ins.bearer(&server).await.unwrap() });
    world.until(|| !world.issuer.grants("refresh_token").is_empty()).await;
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    gate.add_permits(10);
    let new = world.bearer().await.unwrap();
    assert_ne!(new, old);
    assert_eq!(world.issuer.grants("refresh_token").len(), 1);
    assert!(world.kept(&world.issuer.at("/mcp")).unwrap().contains(&new));
}

#[tokio::test]
async fn a_token_without_an_end_is_valid_and_one_that_cannot_be_renewed_ends() {
    let world = World::new().await;
    world.issuer.switches().given = json!({ "expires_in": null, "refresh_token": null });
    world.sign_in().await;
    world.clock.forward(1_000_000_000);
    assert!(world.bearer().await.is_some());
    world.issuer.switches().given = json!({ "expires_in": 60, "refresh_token": null });
    world.sign_in().await;
    world.clock.forward(59);
    assert!(world.bearer().await.is_some());
    world.clock.forward(1);
    assert_eq!(world.bearer().await, None);
    assert!(problem(world.state().await).contains("not valid any more"));
}

#[tokio::test]
async fn a_server_that_is_gone_leaves_nothing() {
    let world = World::new().await;
    world.sign_in().await;
    let resource = world.issuer.at("/mcp");
    assert!(world.kept(&resource).is_some() && world.kept("registration").is_some());
    assert_eq!(world.lock_files(), 1);
    let back = crate::world::sent_to(&world.begin().await).await;
    world.sign_ins.forget(&world.server).await;
    assert!(world.kept(&resource).is_none() && world.kept("registration").is_none());
    assert_eq!(world.lock_files(), 0);
    assert!(crate::world::client().get(back).send().await.is_err(), "something still listens");
    assert_eq!(world.bearer().await, None);
}
