//! Signing in as the client itself.

use std::sync::Arc;

use gatehouse_auth::AuthRecovery;
use gatehouse_model::sign_in::{
    RegisteredClient, SignInMethod, SignInSettings, SignInState, TokenEndpointAuthMethod,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::test_env::{TestEnv, problem};

fn settings(with: SignInMethod) -> SignInSettings {
    let secret = matches!(with, SignInMethod::ClientSecret).then(|| "${secret:MINE}".to_owned());
    SignInSettings {
        client: Some(RegisteredClient { id: "robot".into(), secret, method: None }),
        with,
        ..SignInSettings::default()
    }
}

#[tokio::test]
async fn fetches_and_refetches_token_without_user() {
    for method in [TokenEndpointAuthMethod::ClientSecretBasic, TokenEndpointAuthMethod::ClientSecretPost] {
        let mut settings = settings(SignInMethod::ClientSecret);
        settings.scopes = vec!["run".into()];
        settings.client.as_mut().unwrap().method = Some(method);
        let test_env = TestEnv::with(settings).await;
        test_env.store_secret("signIn/secret", "hush-hush");
        // Whoever needs no browser needs no protection of its answer.
        test_env.issuer.behavior().server = json!({ "code_challenge_methods_supported": null });
        test_env.issuer.behavior().given = json!({ "refresh_token": null });
        let first = test_env.bearer().await.unwrap();
        assert_eq!(test_env.bearer().await, Some(first.clone()));
        test_env.clock.forward(3400);
        let second = test_env.bearer().await.unwrap();
        assert_ne!(first, second);
        let grants = test_env.issuer.grants("client_credentials");
        assert_eq!(grants.len(), 2);
        assert_eq!(
            (grants[0].field("scope"), grants[0].field("resource")),
            ("run", &*test_env.issuer.at("/mcp"))
        );
        match method {
            TokenEndpointAuthMethod::ClientSecretBasic => {
                assert_eq!(grants[0].basic(), Some(("robot".to_owned(), "hush-hush".to_owned())));
            }
            _ => assert_eq!(grants[0].field("client_secret"), "hush-hush"),
        }
        let state = test_env.state().await;
        let SignInState::In { account, renews, .. } = state else { panic!("{state:?}") };
        assert_eq!((account.as_deref(), renews), (Some("robot"), true));
        assert!(test_env.browser.opened.lock().unwrap().is_empty());
        let third = test_env.recover(Some(&second)).await;
        let AuthRecovery::Retry(third) = third else { panic!("{third:?}") };
        assert!(matches!(test_env.recover_after_retry(third.reveal()).await, AuthRecovery::SignIn { .. }));
    }
}

#[tokio::test]
async fn stays_signed_out_until_next_login() {
    let mut test_env = TestEnv::with(settings(SignInMethod::ClientSecret)).await;
    test_env.store_secret("signIn/secret", "hush-hush");
    assert!(test_env.bearer().await.is_some());
    test_env.sign_ins.sign_out(Arc::clone(&test_env.server), &CancellationToken::new()).await.unwrap();
    assert_eq!(test_env.bearer().await, None);
    test_env.restart().await;
    assert_eq!(test_env.bearer().await, None);
    assert!(matches!(test_env.recover(None).await, AuthRecovery::SignIn { .. }));
    assert_eq!(test_env.issuer.grants("client_credentials").len(), 1);
    let begun = test_env.sign_ins.begin(Arc::clone(&test_env.server), true).await.unwrap();
    assert_eq!(begun.address, None);
    assert!(test_env.bearer().await.is_some());
    assert!(test_env.browser.opened.lock().unwrap().is_empty());
}

#[tokio::test]
async fn reports_wrong_client_secret() {
    let test_env = TestEnv::with(settings(SignInMethod::ClientSecret)).await;
    test_env.store_secret("signIn/secret", "wrong-one");
    for _ in 0..2 {
        test_env.issuer.behavior().token.push_back((401, json!({ "error": "invalid_client" })));
    }
    assert!(test_env.begin_error().await.to_string().contains("secret is wrong"));
    assert!(matches!(test_env.recover(None).await, AuthRecovery::Refused { .. }));
    assert!(problem(test_env.state().await).contains("secret is wrong"));
}

#[tokio::test]
async fn authenticates_with_private_key_jwt() {
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
    let key = SignInMethod::ClientKey { key: "${secret:KEY}".into(), algorithm: "ES256".into() };
    let test_env = TestEnv::with(settings(key)).await;
    test_env.store_secret("signIn/key", &pem);
    assert!(test_env.bearer().await.is_some());
    let recorded = &test_env.issuer.grants("client_credentials")[0];
    assert_eq!(
        recorded.field("client_assertion_type"),
        "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
    );
    let assertion = recorded.field("client_assertion");
    let (signed, signature) = assertion.rsplit_once('.').unwrap();
    let public =
        signature::UnparsedPublicKey::new(&signature::ECDSA_P256_SHA256_FIXED, pair.public_key().as_ref());
    public.verify(signed.as_bytes(), &URL_SAFE_NO_PAD.decode(signature).unwrap()).unwrap();
    let claims = URL_SAFE_NO_PAD.decode(signed.split('.').nth(1).unwrap()).unwrap();
    let claims: serde_json::Value = serde_json::from_slice(&claims).unwrap();
    assert_eq!((&claims["iss"], &claims["sub"]), (&json!("robot"), &json!("robot")));
    assert_eq!(claims["aud"], test_env.issuer.origin());
    assert_eq!((&claims["iat"], &claims["exp"]), (&json!(1_700_000_000), &json!(1_700_000_300)));
    test_env.clock.forward(3400);
    test_env.issuer.behavior().given = json!({ "refresh_token": null });
    test_env.bearer().await.unwrap();

    let wrong = SignInMethod::ClientKey { key: "${secret:KEY}".into(), algorithm: "RS256".into() };
    let test_env = TestEnv::with(settings(wrong)).await;
    test_env.store_secret("signIn/key", &pem);
    let problem = test_env.begin_error().await.to_string();
    assert!(problem.contains("RS256") && !problem.contains("PRIVATE"), "{problem}");
}
