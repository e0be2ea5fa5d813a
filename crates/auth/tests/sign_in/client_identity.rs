//! As which client Gatehouse signs in.

use gatehouse_auth::AuthRecovery;
use gatehouse_model::ErrorCode;
use gatehouse_model::sign_in::{RegisteredClient, SignInSettings, TokenEndpointAuthMethod};
use serde_json::json;

use crate::test_env::{TestEnv, parameter, problem};

const DOCUMENT: &str = "https://gatehouse.example/client.json";

fn entered(secret: Option<&str>, method: Option<TokenEndpointAuthMethod>) -> SignInSettings {
    let client = RegisteredClient { id: "my client".into(), secret: secret.map(Into::into), method };
    SignInSettings { client: Some(client), ..SignInSettings::default() }
}

#[tokio::test]
async fn prefers_configured_client_and_its_auth_method() {
    use TokenEndpointAuthMethod::{ClientSecretBasic, ClientSecretPost};
    let all = json!(["client_secret_post", "client_secret_basic"]);
    let table = [
        (None, all.clone(), true),
        (None, json!(null), true),
        (None, json!(["client_secret_post"]), false),
        (Some(ClientSecretPost), all, false),
        (Some(ClientSecretBasic), json!(["client_secret_post"]), true),
    ];
    for (method, offered, basic) in table {
        let test_env = TestEnv::with(entered(Some("${secret:MINE}"), method)).await;
        test_env.store_secret("signIn/secret", "a: secret");
        test_env.sign_ins.set_client_document(Some(DOCUMENT.to_owned()));
        test_env.issuer.behavior().server = json!({
            "client_id_metadata_document_supported": true,
            "token_endpoint_auth_methods_supported": offered,
        });
        test_env.sign_in().await;
        let token = &test_env.issuer.grants("authorization_code")[0];
        if basic {
            assert_eq!(token.basic(), Some(("my+client".to_owned(), "a%3A+secret".to_owned())));
            assert_eq!(token.field("client_secret"), "");
        } else {
            assert_eq!((token.field("client_id"), token.field("client_secret")), ("my client", "a: secret"));
            assert_eq!(token.authorization, None);
        }
        assert!(test_env.issuer.recorded("/register").is_empty());
    }
}

#[tokio::test]
async fn reports_missing_client_secret() {
    let test_env = TestEnv::with(entered(Some("${secret:MINE}"), None)).await;
    let problem = test_env.begin_error().await;
    assert_eq!(problem.code, ErrorCode::BadConfig);
    assert!(problem.to_string().contains("MINE"), "{problem}");
}

#[tokio::test]
async fn uses_client_metadata_document_where_supported() {
    let test_env = TestEnv::new().await;
    test_env.sign_ins.set_client_document(Some(DOCUMENT.to_owned()));
    let registered = parameter(&test_env.begin().await, "client_id").unwrap();
    assert!(registered.starts_with("client-"), "{registered}");
    test_env.issuer.behavior().server = json!({ "client_id_metadata_document_supported": true });
    let address = test_env.begin().await;
    assert_eq!(parameter(&address, "client_id").as_deref(), Some(DOCUMENT));
    crate::test_env::visit(&address).await;
    test_env.wait_until_settled().await;
    assert_eq!(test_env.issuer.grants("authorization_code")[0].field("client_id"), DOCUMENT);
    test_env.clock.forward(3500);
    assert!(test_env.bearer().await.is_some());
    assert_eq!(test_env.issuer.grants("refresh_token")[0].field("client_id"), DOCUMENT);
}

#[tokio::test]
async fn reuses_registration_after_restart() {
    let mut test_env = TestEnv::new().await;
    test_env.sign_in().await;
    let asked = test_env.issuer.recorded("/register")[0].body.clone();
    assert_eq!(asked["application_type"], "native");
    assert_eq!(asked["grant_types"], json!(["authorization_code", "refresh_token"]));
    assert_eq!(asked["token_endpoint_auth_method"], "client_secret_basic");
    let redirect = asked["redirect_uris"][0].as_str().unwrap().to_owned();
    assert!(redirect.starts_with("http://127.0.0.1:") && !redirect.contains(":0/"), "{redirect}");
    let before = test_env.issuer.grants("authorization_code")[0].basic().unwrap();
    test_env.restart().await;
    test_env.clock.forward(3500);
    assert!(test_env.bearer().await.is_some());
    assert_eq!(test_env.issuer.grants("refresh_token")[0].basic().unwrap(), before);
    let address = test_env.begin().await;
    assert_eq!(parameter(&address, "redirect_uri"), Some(redirect.clone()));
    test_env.sign_ins.cancel(&test_env.server.id);
    test_env.wait_until_settled().await;
    // Somebody else has the port by now, so that it has to be registered anew.
    let port: u16 = redirect.split(':').nth(2).unwrap().split('/').next().unwrap().parse().unwrap();
    let _taken = std::net::TcpListener::bind(("127.0.0.1", port)).unwrap();
    assert_ne!(parameter(&test_env.begin().await, "redirect_uri"), Some(redirect));
    assert_eq!(test_env.issuer.recorded("/register").len(), 2);
}

#[tokio::test]
async fn reregisters_when_client_secret_expired() {
    let test_env = TestEnv::new().await;
    let expires = 1_700_000_000 + 60;
    test_env.issuer.behavior().register.push_back((
        201,
        json!({ "client_id": "short", "client_secret": "short-secret", "client_secret_expires_at": expires }),
    ));
    assert_eq!(parameter(&test_env.begin().await, "client_id").as_deref(), Some("short"));
    test_env.clock.forward(59);
    assert_eq!(parameter(&test_env.begin().await, "client_id").as_deref(), Some("short"));
    test_env.clock.forward(1);
    assert_ne!(parameter(&test_env.begin().await, "client_id").as_deref(), Some("short"));
}

#[tokio::test]
async fn tries_next_auth_method_on_invalid_metadata() {
    let test_env = TestEnv::new().await;
    let no = json!({ "error": "invalid_client_metadata", "error_description": "not this" });
    test_env.issuer.behavior().register.push_back((400, no.clone()));
    test_env.issuer.behavior().register.push_back((400, no));
    test_env.begin().await;
    let asked: Vec<String> = test_env
        .issuer
        .recorded("/register")
        .iter()
        .map(|recorded| recorded.body["token_endpoint_auth_method"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(asked, ["client_secret_basic", "client_secret_post", "none"]);
}

#[tokio::test]
async fn reports_when_registration_is_impossible() {
    let test_env = TestEnv::new().await;
    test_env.issuer.behavior().server = json!({ "registration_endpoint": null });
    let problem = test_env.begin_error().await;
    assert_eq!(problem.code, ErrorCode::NeedsClientRegistration);
    let reason = problem.cause.unwrap();
    assert_eq!(test_env.recover(None).await, AuthRecovery::Register { reason });
    test_env.issuer.behavior().server = json!({});
    test_env.issuer.behavior().register.push_back((403, json!({ "error": "access_denied" })));
    assert_eq!(test_env.begin_error().await.code, ErrorCode::NeedsClientRegistration);
    test_env.issuer.behavior().server =
        json!({ "token_endpoint_auth_methods_supported": ["private_key_jwt"] });
    assert_eq!(test_env.begin_error().await.code, ErrorCode::NeedsClientRegistration);
}

#[tokio::test]
async fn forgets_rejected_registration_but_not_configured_client() {
    for (settings, registrations) in [(SignInSettings::default(), 2), (entered(None, None), 0)] {
        let test_env = TestEnv::with(settings).await;
        test_env.issuer.behavior().token.push_back((401, json!({ "error": "invalid_client" })));
        assert!(problem(test_env.sign_in().await).contains("does not know this client"));
        test_env.sign_in().await;
        assert_eq!(test_env.issuer.recorded("/register").len(), registrations);
        assert!(test_env.bearer().await.is_some());
    }
}

#[tokio::test]
async fn does_not_share_registration_with_other_issuer() {
    let test_env = TestEnv::new().await;
    test_env.sign_in().await;
    let first = test_env.issuer.grants("authorization_code")[0].basic().unwrap().0;
    let other = crate::scripted_issuer::ScriptedIssuer::start().await;
    test_env.issuer.behavior().resource = json!({ "authorization_servers": [other.origin()] });
    let address = test_env.begin().await;
    assert!(address.starts_with(other.origin()));
    assert_eq!(other.recorded("/register").len(), 1);
    crate::test_env::visit(&address).await;
    test_env.wait_until_settled().await;
    for secret in test_env.issuer.secrets() {
        assert!(!format!("{:?}", other.recorded("/token")).contains(&secret), "{secret}");
    }
    assert!(!format!("{:?}", other.recorded("/token")).contains(&format!("{first:?}:")));
}
