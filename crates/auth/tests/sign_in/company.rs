//! The sign-in at a company.

use std::sync::Arc;

use gatehouse_model::Secret;
use gatehouse_model::sign_in::{RegisteredClient, SignInSettings, SignInState, SignInWith};
use serde_json::json;

use crate::issuer::Issuer;
use crate::world::{World, parameter, problem, visit};

async fn world() -> (World, Issuer) {
    let company = Issuer::start().await;
    company.switches().claims = json!({ "email": "ann@company.example" });
    company.switches().server = json!({ "scopes_supported": ["openid", "email"] });
    let world = World::with(SignInSettings {
        client: Some(RegisteredClient {
            id: "notes-client".into(),
            secret: Some("${secret:N}".into()),
            method: None,
        }),
        with: SignInWith::Enterprise {
            issuer: company.origin().to_owned(),
            client: "gatehouse".into(),
            secret: Some("${secret:C}".into()),
        },
        ..SignInSettings::default()
    })
    .await;
    world.keep("signIn/secret", "notes-secret");
    world.keep("signIn/companySecret", "company-secret");
    (world, company)
}

const EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

#[tokio::test]
async fn the_id_token_becomes_a_grant_and_the_grant_a_token() {
    let (world, company) = world().await;
    assert_eq!(world.bearer().await, None);
    let address = world.begin().await;
    assert!(address.starts_with(company.origin()));
    assert_eq!(parameter(&address, "scope").as_deref(), Some("openid email"));
    assert_eq!(parameter(&address, "resource"), None);
    company.switches().given = json!({ "token_type": "N_A" });
    visit(&address).await;
    let state = world.settled().await;
    let SignInState::In { account, issuer, renews, .. } = state else { panic!("{state:?}") };
    assert_eq!(account.as_deref(), Some("ann@company.example"));
    assert_eq!((issuer.as_str(), renews), (world.issuer.origin(), true));
    let exchange = &company.grants(EXCHANGE)[0];
    assert_eq!(exchange.field("audience"), world.issuer.origin());
    assert_eq!(exchange.field("resource"), world.issuer.at("/mcp"));
    assert_eq!(exchange.field("requested_token_type"), "urn:ietf:params:oauth:token-type:id-jag");
    assert_eq!(exchange.basic(), Some(("gatehouse".to_owned(), "company-secret".to_owned())));
    let bearer = &world.issuer.grants(BEARER)[0];
    assert!(bearer.field("assertion").starts_with("access"));
    assert_eq!(bearer.basic(), Some(("notes-client".to_owned(), "notes-secret".to_owned())));

    // The next token needs nobody, since the company still knows who it is.
    world.issuer.switches().token.push_back((400, json!({ "error": "invalid_grant" })));
    world.clock.forward(3500);
    assert!(world.bearer().await.is_some());
    assert_eq!(company.grants(EXCHANGE).len(), 2);
    let again = world.sign_ins.begin(Arc::clone(&world.server), true).await.unwrap();
    assert_eq!(again.address, None);
    world.sign_ins.sign_out(Arc::clone(&world.server)).await.unwrap();
    assert_eq!(world.kept("company"), None);
    assert_eq!(world.bearer().await, None);
    world.begin().await;
}

#[tokio::test]
async fn an_id_token_of_somebody_else_is_refused() {
    for (claims, words) in [
        (json!({ "nonce": "other" }), "another sign-in"),
        (json!({ "aud": "other" }), "not one of"),
        (json!({ "iss": "https://evil.example" }), "not one of"),
        (json!(null), "no id token"),
    ] {
        let (world, company) = world().await;
        company.switches().claims = claims;
        visit(&world.begin().await).await;
        let why = problem(world.settled().await);
        assert!(why.contains(words), "{why}");
        assert!(company.grants(EXCHANGE).is_empty());
    }
    let (world, _company) = world().await;
    let foreign = Secret::new("e30.eyJpc3MiOiJodHRwczovL2V2aWwuZXhhbXBsZSJ9.x");
    assert!(world.sign_ins.adopt_id_token(&world.server, foreign).await.is_err());
}
