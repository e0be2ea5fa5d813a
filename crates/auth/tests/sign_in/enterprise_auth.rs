//! The sign-in at a company.

use std::sync::Arc;

use gatehouse_model::Secret;
use gatehouse_model::sign_in::{RegisteredClient, SignInMethod, SignInSettings, SignInState};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::scripted_issuer::ScriptedIssuer;
use crate::test_env::{TestEnv, parameter, problem, visit};

async fn test_env() -> (TestEnv, ScriptedIssuer) {
    let idp = ScriptedIssuer::start().await;
    idp.behavior().claims = json!({ "email": "ann@company.example" });
    idp.behavior().server = json!({ "scopes_supported": ["openid", "email"] });
    let test_env = TestEnv::with(SignInSettings {
        client: Some(RegisteredClient {
            id: "notes-client".into(),
            secret: Some("${secret:N}".into()),
            method: None,
        }),
        with: SignInMethod::Enterprise {
            issuer: idp.origin().to_owned(),
            client: "gatehouse".into(),
            secret: Some("${secret:C}".into()),
        },
        ..SignInSettings::default()
    })
    .await;
    test_env.store_secret("signIn/secret", "notes-secret");
    test_env.store_secret("signIn/companySecret", "company-secret");
    (test_env, idp)
}

const EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

#[tokio::test]
async fn exchanges_id_token_for_id_jag_and_access_token() {
    let (test_env, idp) = test_env().await;
    assert_eq!(test_env.bearer().await, None);
    let address = test_env.begin().await;
    assert!(address.starts_with(idp.origin()));
    assert_eq!(parameter(&address, "scope").as_deref(), Some("openid email"));
    assert_eq!(parameter(&address, "resource"), None);
    idp.behavior().given = json!({ "token_type": "N_A" });
    visit(&address).await;
    let state = test_env.wait_until_settled().await;
    let SignInState::In { account, issuer, renews, .. } = state else { panic!("{state:?}") };
    assert_eq!(account.as_deref(), Some("ann@company.example"));
    assert_eq!((issuer.as_str(), renews), (test_env.issuer.origin(), true));
    let exchange = &idp.grants(EXCHANGE)[0];
    assert_eq!(exchange.field("audience"), test_env.issuer.origin());
    assert_eq!(exchange.field("resource"), test_env.issuer.at("/mcp"));
    assert_eq!(exchange.field("requested_token_type"), "urn:ietf:params:oauth:token-type:id-jag");
    assert_eq!(exchange.basic(), Some(("gatehouse".to_owned(), "company-secret".to_owned())));
    let bearer = &test_env.issuer.grants(BEARER)[0];
    assert!(bearer.field("assertion").starts_with("access"));
    assert_eq!(bearer.basic(), Some(("notes-client".to_owned(), "notes-secret".to_owned())));

    // The next token needs nobody, since the company still knows who it is.
    test_env.issuer.behavior().token.push_back((400, json!({ "error": "invalid_grant" })));
    test_env.clock.forward(3500);
    assert!(test_env.bearer().await.is_some());
    assert_eq!(idp.grants(EXCHANGE).len(), 2);
    let again = test_env.sign_ins.begin(Arc::clone(&test_env.server), true).await.unwrap();
    assert_eq!(again.address, None);
    test_env.sign_ins.sign_out(Arc::clone(&test_env.server), &CancellationToken::new()).await.unwrap();
    assert_eq!(test_env.stored("company"), None);
    assert_eq!(test_env.bearer().await, None);
    test_env.begin().await;
}

#[tokio::test]
async fn rejects_id_token_of_other_issuer_audience_or_nonce() {
    for (claims, words) in [
        (json!({ "nonce": "other" }), "another sign-in"),
        (json!({ "aud": "other" }), "not one of"),
        (json!({ "iss": "https://evil.example" }), "not one of"),
        (json!(null), "no id token"),
    ] {
        let (test_env, idp) = test_env().await;
        idp.behavior().claims = claims;
        visit(&test_env.begin().await).await;
        let why = problem(test_env.wait_until_settled().await);
        assert!(why.contains(words), "{why}");
        assert!(idp.grants(EXCHANGE).is_empty());
    }
    let (test_env, _company) = test_env().await;
    let foreign = Secret::new("e30.eyJpc3MiOiJodHRwczovL2V2aWwuZXhhbXBsZSJ9.x");
    assert!(test_env.sign_ins.adopt_id_token(&test_env.server, foreign).await.is_err());
}
