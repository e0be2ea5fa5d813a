//! Signing out.

use std::sync::Arc;

use gatehouse_model::sign_in::SignInState;
use gatehouse_model::{Generation, Secret, ServerBinding};
use gatehouse_store::SecretKey;
use serde_json::json;

use crate::world::World;

#[tokio::test]
async fn the_tokens_are_given_back_and_forgotten() {
    let mut world = World::new().await;
    world.sign_in().await;
    let access = world.bearer().await.unwrap();
    let out = world.sign_ins.sign_out(Arc::clone(&world.server)).await.unwrap();
    assert!(out.revoked);
    let given = world.issuer.seen("/revoke");
    let hints: Vec<&str> = given.iter().map(|seen| seen.field("token_type_hint")).collect();
    assert_eq!(hints, ["refresh_token", "access_token"]);
    assert!(given[0].field("token").starts_with("refresh"));
    assert_eq!(given[1].field("token"), access);
    assert!(given.iter().all(|seen| seen.basic().is_some()), "as the client that they were given to");
    assert_eq!(world.state().await, SignInState::Out { problem: None });
    assert_eq!(world.events.told().last(), Some(&"out"));
    assert_eq!(world.bearer().await, None);
    assert_eq!(world.kept(&world.issuer.at("/mcp")), None);
    world.restart().await;
    assert_eq!(world.bearer().await, None);
    let nothing = world.sign_ins.sign_out(Arc::clone(&world.server)).await.unwrap();
    assert!(!nothing.revoked);
}

#[tokio::test]
async fn they_are_forgotten_also_where_they_cannot_be_given_back() {
    for (server, status) in [(json!({}), 503), (json!({ "revocation_endpoint": null }), 200)] {
        let world = World::new().await;
        world.issuer.switches().server = server;
        world.issuer.switches().revoke = status;
        world.sign_in().await;
        let out = world.sign_ins.sign_out(Arc::clone(&world.server)).await.unwrap();
        assert!(!out.revoked);
        assert_eq!(world.bearer().await, None);
        assert_eq!(world.kept(&world.issuer.at("/mcp")), None);
    }
}

#[tokio::test]
async fn an_attempt_that_waits_is_given_up() {
    let world = World::new().await;
    let back = crate::world::sent_to(&world.begin().await).await;
    world.sign_ins.sign_out(Arc::clone(&world.server)).await.unwrap();
    assert_eq!(world.state().await, SignInState::Out { problem: None });
    assert!(crate::world::client().get(back).send().await.is_err(), "something still listens");
}

#[tokio::test]
async fn a_server_that_goes_takes_its_earlier_sign_ins_along() {
    let world = World::new().await;
    world.sign_in().await;
    let (now, resource) = (world.server.binding(), world.issuer.at("/mcp"));
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
        world.secrets.set(key, &Secret::new("{}")).unwrap();
    }
    world.sign_ins.forget(&world.server).await;
    for key in earlier.iter().chain(&gatehouse_auth::secret_keys(&world.server)) {
        assert!(world.secrets.get(key).unwrap().is_none(), "{key:?}");
    }
    assert!(world.secrets.get(&of_another).unwrap().is_some(), "another server's is gone");
}
