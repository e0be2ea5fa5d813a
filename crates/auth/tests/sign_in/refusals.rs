//! What to do when a server refuses a token.

use gatehouse_auth::{Next, Refusal, TokenSource as _};
use gatehouse_model::Secret;
use gatehouse_model::sign_in::{SignInSettings, SignInState};
use serde_json::json;

use crate::issuer::Issuer;
use crate::world::{World, problem};

fn again(next: &Next) -> &str {
    let Next::Again(token) = next else { panic!("{next:?}") };
    token.reveal()
}

#[tokio::test]
async fn a_token_that_is_there_already_comes_first() {
    let world = World::new().await;
    world.sign_in().await;
    let token = world.bearer().await.unwrap();
    assert_eq!(again(&world.refused(Some("older")).await), token);
    assert_eq!(again(&world.refused(None).await), token);
    assert!(world.issuer.grants("refresh_token").is_empty());
}

#[tokio::test]
async fn it_is_renewed_once_and_then_the_user_has_to_help() {
    let world = World::new().await;
    world.sign_in().await;
    let old = world.bearer().await.unwrap();
    let new = again(&world.refused(Some(&old)).await).to_owned();
    assert_ne!(new, old);
    assert_eq!(world.bearer().await, Some(new.clone()));
    assert_eq!(again(&world.refused(Some(&old)).await), new);
    let issuer = Some(world.issuer.origin().to_owned());
    assert_eq!(world.refused_once_more(&new).await, Next::SignIn { issuer: issuer.clone() });
    assert_eq!(world.issuer.grants("refresh_token").len(), 1);
    assert_eq!(world.bearer().await, None, "a token that is not taken is not sent again");
    assert!(problem(world.state().await).contains("does not accept"));
    assert_eq!(world.events.told().last(), Some(&"out"));
    assert_eq!(world.refused(None).await, Next::SignIn { issuer });
    world.sign_in().await;
    assert!(world.bearer().await.is_some_and(|token| token != new));
}

#[tokio::test]
async fn many_refusals_of_one_token_renew_it_once() {
    let world = World::new().await;
    world.sign_in().await;
    let old = world.bearer().await.unwrap();
    let refusals = (0..20).map(|_| world.refused(Some(&old)));
    let next = futures::future::join_all(refusals).await;
    let new = again(&next[0]);
    assert!(next.iter().all(|next| again(next) == new));
    assert_eq!(world.issuer.grants("refresh_token").len(), 1);
}

#[tokio::test]
async fn without_a_way_to_renew_the_user_has_to_help() {
    let world = World::new().await;
    world.issuer.switches().given = json!({ "refresh_token": null });
    world.sign_in().await;
    let token = world.bearer().await.unwrap();
    let issuer = Some(world.issuer.origin().to_owned());
    assert_eq!(world.refused(Some(&token)).await, Next::SignIn { issuer });
    assert!(matches!(world.state().await, SignInState::Out { problem: Some(_) }));
}

#[tokio::test]
async fn an_authorization_server_that_is_away_is_not_the_end() {
    let world = World::new().await;
    world.sign_in().await;
    let token = world.bearer().await.unwrap();
    world.issuer.switches().answers.insert("/token".to_owned(), (503, String::new()));
    let refusal = Refusal {
        status: 401,
        challenges: vec![],
        sent: Some(Secret::new(&*token)),
        waits: true,
        once_more: false,
    };
    assert!(world.sign_ins.refused(&world.server, refusal).await.is_err());
    world.issuer.switches().answers.clear();
    assert_ne!(again(&world.refused(Some(&token)).await), token);
}

#[tokio::test]
async fn where_the_server_moved_to_another_issuer_the_old_tokens_go_nowhere() {
    let world = World::new().await;
    world.sign_in().await;
    let token = world.bearer().await.unwrap();
    let other = Issuer::start().await;
    world.issuer.switches().resource = json!({ "authorization_servers": [other.origin()] });
    let issuer = Some(other.origin().to_owned());
    assert_eq!(world.refused(Some(&token)).await, Next::SignIn { issuer });
    assert!(world.issuer.grants("refresh_token").is_empty());
    assert!(other.paths().is_empty());
    let state = world.sign_in().await;
    assert!(matches!(&state, SignInState::In { issuer, .. } if issuer == other.origin()), "{state:?}");
}

#[tokio::test]
async fn where_signing_in_is_switched_off_it_is_refused() {
    let world = World::with(SignInSettings { off: true, ..SignInSettings::default() }).await;
    let Next::Refused { reason } = world.refused(None).await else { panic!("not refused") };
    assert!(reason.contains("switched off"), "{reason}");
    assert!(world.begin_problem().await.to_string().contains("switched off"));
    assert_eq!(world.bearer().await, None);
    assert!(world.issuer.paths().is_empty());
}

#[tokio::test]
async fn who_is_signed_in_with_is_found_out_or_at_least_guessed() {
    let world = World::new().await;
    let issuer = Some(world.issuer.origin().to_owned());
    assert_eq!(world.refused(None).await, Next::SignIn { issuer: issuer.clone() });
    world.issuer.switches().server = json!({ "issuer": "https://evil.example" });
    assert_eq!(world.refused(None).await, Next::SignIn { issuer });
    let bare = Refusal { status: 401, challenges: vec![], sent: None, waits: false, once_more: false };
    assert_eq!(world.sign_ins.refused(&world.server, bare).await.unwrap(), Next::SignIn { issuer: None });
}
