//! Signing in as the client itself.

use std::sync::Arc;

use gatehouse_auth::Next;
use gatehouse_model::sign_in::{RegisteredClient, SignInSettings, SignInState, SignInWith, TokenMethod};
use serde_json::json;

use crate::world::{World, problem};

fn settings(with: SignInWith) -> SignInSettings {
    let secret = matches!(with, SignInWith::ClientSecret).then(|| "${secret:MINE}".to_owned());
    SignInSettings {
        client: Some(RegisteredClient { id: "robot".into(), secret, method: None }),
        with,
        ..SignInSettings::default()
    }
}

#[tokio::test]
async fn a_token_is_fetched_and_fetched_again_without_the_user() {
    for method in [TokenMethod::ClientSecretBasic, TokenMethod::ClientSecretPost] {
        let mut settings = settings(SignInWith::ClientSecret);
        settings.scopes = vec!["run".into()];
        settings.client.as_mut().unwrap().method = Some(method);
        let world = World::with(settings).await;
        world.keep("signIn/secret", "hush-hush");
        // Whoever needs no browser needs no protection of its answer.
        world.issuer.switches().server = json!({ "code_challenge_methods_supported": null });
        world.issuer.switches().given = json!({ "refresh_token": null });
        let first = world.bearer().await.unwrap();
        assert_eq!(world.bearer().await, Some(first.clone()));
        world.clock.forward(3400);
        let second = world.bearer().await.unwrap();
        assert_ne!(first, second);
        let grants = world.issuer.grants("client_credentials");
        assert_eq!(grants.len(), 2);
        assert_eq!(
            (grants[0].field("scope"), grants[0].field("resource")),
            ("run", &*world.issuer.at("/mcp"))
        );
        match method {
            TokenMethod::ClientSecretBasic => {
                assert_eq!(grants[0].basic(), Some(("robot".to_owned(), "hush-hush".to_owned())));
            }
            _ => assert_eq!(grants[0].field("client_secret"), "hush-hush"),
        }
        let state = world.state().await;
        let SignInState::In { account, renews, .. } = state else { panic!("{state:?}") };
        assert_eq!((account.as_deref(), renews), (Some("robot"), true));
        assert!(world.browser.opened.lock().unwrap().is_empty());
        let third = world.refused(Some(&second)).await;
        let Next::Again(third) = third else { panic!("{third:?}") };
        assert!(matches!(world.refused_once_more(third.reveal()).await, Next::SignIn { .. }));
    }
}

#[tokio::test]
async fn signed_out_it_stays_out_until_it_is_told_otherwise() {
    let mut world = World::with(settings(SignInWith::ClientSecret)).await;
    world.keep("signIn/secret", "hush-hush");
    assert!(world.bearer().await.is_some());
    world.sign_ins.sign_out(Arc::clone(&world.server)).await.unwrap();
    assert_eq!(world.bearer().await, None);
    world.restart().await;
    assert_eq!(world.bearer().await, None);
    assert!(matches!(world.refused(None).await, Next::SignIn { .. }));
    assert_eq!(world.issuer.grants("client_credentials").len(), 1);
    let begun = world.sign_ins.begin(Arc::clone(&world.server), true).await.unwrap();
    assert_eq!(begun.address, None);
    assert!(world.bearer().await.is_some());
    assert!(world.browser.opened.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_wrong_secret_is_said_in_words() {
    let world = World::with(settings(SignInWith::ClientSecret)).await;
    world.keep("signIn/secret", "wrong-one");
    for _ in 0..2 {
        world.issuer.switches().token.push_back((401, json!({ "error": "invalid_client" })));
    }
    assert!(world.begin_problem().await.to_string().contains("secret is wrong"));
    assert!(matches!(world.refused(None).await, Next::Refused { .. }));
    assert!(problem(world.state().await).contains("secret is wrong"));
}

#[tokio::test]
async fn a_key_signs_in_the_place_of_a_secret() {
    use aws_lc_rs::signature;
    use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
    use base64::Engine as _;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

    let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap();
    let der = pair.to_pkcs8v1().unwrap();
    let pem = format!(
        "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n",
        STANDARD.encode(der.as_ref())
    );
    let key = SignInWith::ClientKey { key: "${secret:KEY}".into(), algorithm: "ES256".into() };
    let world = World::with(settings(key)).await;
    world.keep("signIn/key", &pem);
    assert!(world.bearer().await.is_some());
    let seen = &world.issuer.grants("client_credentials")[0];
    assert_eq!(seen.field("client_assertion_type"), "urn:ietf:params:oauth:client-assertion-type:jwt-bearer");
    let assertion = seen.field("client_assertion");
    let (signed, signature) = assertion.rsplit_once('.').unwrap();
    let public =
        signature::UnparsedPublicKey::new(&signature::ECDSA_P256_SHA256_FIXED, pair.public_key().as_ref());
    public.verify(signed.as_bytes(), &URL_SAFE_NO_PAD.decode(signature).unwrap()).unwrap();
    let claims = URL_SAFE_NO_PAD.decode(signed.split('.').nth(1).unwrap()).unwrap();
    let claims: serde_json::Value = serde_json::from_slice(&claims).unwrap();
    assert_eq!((&claims["iss"], &claims["sub"]), (&json!("robot"), &json!("robot")));
    assert_eq!(claims["aud"], world.issuer.origin());
    assert_eq!((&claims["iat"], &claims["exp"]), (&json!(1_700_000_000), &json!(1_700_000_300)));
    world.clock.forward(3400);
    world.issuer.switches().given = json!({ "refresh_token": null });
    world.bearer().await.unwrap();

    let wrong = SignInWith::ClientKey { key: "${secret:KEY}".into(), algorithm: "RS256".into() };
    let world = World::with(settings(wrong)).await;
    world.keep("signIn/key", &pem);
    let problem = world.begin_problem().await.to_string();
    assert!(problem.contains("RS256") && !problem.contains("PRIVATE"), "{problem}");
}
