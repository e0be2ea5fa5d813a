//! How a server is found out about.

use gatehouse_auth::{AuthRecovery, AuthRejection, TokenSource as _};
use gatehouse_model::sign_in::RegisteredClient;
use gatehouse_model::sign_in::{SignInEndpoints, SignInSettings};
use serde_json::json;

use crate::scripted_issuer::ScriptedIssuer;
use crate::test_env::{TestEnv, parameter, visit};

const RESOURCE: &str = "/.well-known/oauth-protected-resource";

/// Tells of a challenge that leads to this path.
async fn recover_from_challenge(test_env: &TestEnv, path: &str) -> AuthRecovery {
    let challenge = format!(r#"Bearer resource_metadata="{}""#, test_env.issuer.at(path));
    let refusal = AuthRejection {
        status: 401,
        challenges: vec!["Basic".to_owned(), challenge],
        sent: None,
        can_wait: true,
        is_retry: false,
    };
    test_env.sign_ins.recover(&test_env.server, refusal).await.unwrap()
}

#[tokio::test]
async fn uses_metadata_url_of_challenge() {
    let test_env = TestEnv::new().await;
    test_env.issuer.behavior().resource_at = vec!["/somewhere".to_owned()];
    let next = recover_from_challenge(&test_env, "/somewhere").await;
    assert_eq!(next, AuthRecovery::SignIn { issuer: Some(test_env.issuer.origin().to_owned()) });
    test_env.sign_in().await;
    assert!(
        test_env.issuer.paths().iter().all(|path| !path.starts_with(RESOURCE)),
        "{:?}",
        test_env.issuer.paths()
    );
}

#[tokio::test]
async fn tries_path_metadata_before_root() {
    let test_env = TestEnv::new().await;
    test_env.begin().await;
    assert_eq!(test_env.issuer.paths()[0], format!("{RESOURCE}/mcp"));
    assert!(test_env.issuer.recorded(RESOURCE).is_empty());
    let test_env = TestEnv::new().await;
    test_env.issuer.behavior().resource_at = vec![RESOURCE.to_owned()];
    test_env.begin().await;
    assert_eq!(test_env.issuer.paths()[..2], [format!("{RESOURCE}/mcp"), RESOURCE.to_owned()]);
}

#[tokio::test]
async fn continues_after_unusable_metadata_document() {
    let long = format!("{{\"x\":\"{}\"}}", "x".repeat(256 * 1024));
    let elsewhere = ScriptedIssuer::start().await;
    for (status, text) in
        [(500, ""), (404, ""), (200, "no json"), (200, "{}"), (200, long.as_str()), (302, elsewhere.origin())]
    {
        let test_env = TestEnv::new().await;
        test_env.issuer.behavior().answers.insert("/somewhere".to_owned(), (status, text.to_owned()));
        recover_from_challenge(&test_env, "/somewhere").await;
        test_env.begin().await;
        assert_eq!(test_env.issuer.recorded("/somewhere").len(), 2, "{status}");
    }
    assert!(elsewhere.paths().is_empty(), "a redirect to elsewhere was followed");
}

#[tokio::test]
async fn tries_metadata_urls_in_specified_order() {
    let table = [
        ("", vec!["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"]),
        (
            "/tenant",
            vec![
                "/.well-known/oauth-authorization-server/tenant",
                "/.well-known/openid-configuration/tenant",
                "/tenant/.well-known/openid-configuration",
            ],
        ),
    ];
    for (path, candidates) in table {
        for (last, place) in candidates.iter().enumerate() {
            for (status, text) in [(404, ""), (500, ""), (200, "no json")] {
                let test_env = TestEnv::new().await;
                {
                    let mut behavior = test_env.issuer.behavior();
                    let issuer = test_env.issuer.at(path);
                    behavior.resource = json!({ "authorization_servers": [issuer] });
                    behavior.server = json!({ "issuer": issuer });
                    behavior.server_at = vec![(*place).to_owned()];
                    for before in &candidates[..last] {
                        behavior.answers.insert((*before).to_owned(), (status, text.to_owned()));
                    }
                }
                test_env.begin().await;
                let asked: Vec<String> = test_env
                    .issuer
                    .paths()
                    .into_iter()
                    .filter(|path| candidates.contains(&path.as_str()))
                    .collect();
                assert_eq!(asked, candidates[..=last]);
            }
        }
    }
}

#[tokio::test]
async fn rejects_mismatched_metadata_before_sending_anything() {
    let table = [
        (json!({}), json!({ "issuer": "https://id.example" }), "another authorization server"),
        (json!({}), json!({ "issuer": format!("{}/", "ORIGIN") }), "another authorization server"),
        (json!({ "resource": "https://evil.example/mcp" }), json!({}), "another resource"),
        (json!({}), json!({ "code_challenge_methods_supported": null }), "PKCE"),
        (json!({}), json!({ "code_challenge_methods_supported": ["plain"] }), "PKCE"),
        (json!({}), json!({ "authorization_endpoint": "http://id.example/authorize" }), "not https"),
        (json!({}), json!({ "token_endpoint": "https://user:pw@id.example/token" }), "must not have"),
        (json!({ "authorization_servers": ["http://id.example"] }), json!({}), "not https"),
        (json!({ "authorization_servers": ["nonsense"] }), json!({}), "cannot be read"),
    ];
    for (resource, server, words) in table {
        let test_env = TestEnv::new().await;
        {
            let mut behavior = test_env.issuer.behavior();
            let text = server.to_string().replace("ORIGIN", test_env.issuer.origin());
            behavior.server = serde_json::from_str(&text).unwrap();
            behavior.resource = resource;
        }
        let problem = test_env.begin_error().await.to_string();
        assert!(problem.contains(words), "{problem}");
        for path in ["/register", "/authorize", "/token"] {
            assert!(test_env.issuer.recorded(path).is_empty(), "{words}: {path}");
        }
    }
}

#[tokio::test]
async fn falls_back_to_second_authorization_server() {
    let test_env = TestEnv::new().await;
    let gone = { ScriptedIssuer::start().await.origin().to_owned() };
    test_env.issuer.behavior().resource =
        json!({ "authorization_servers": [gone, test_env.issuer.origin()] });
    let address = test_env.begin().await;
    assert!(address.starts_with(test_env.issuer.origin()));
}

#[tokio::test]
async fn falls_back_to_server_origin_without_metadata() {
    let test_env = TestEnv::new().await;
    test_env.issuer.behavior().resource_at.clear();
    let address = test_env.begin().await;
    assert_eq!(parameter(&address, "resource"), Some(test_env.issuer.at("/mcp")));
    assert_eq!(visit(&address).await.0, 200);
    let test_env = TestEnv::new().await;
    test_env.issuer.behavior().resource_at.clear();
    test_env.issuer.behavior().server_at.clear();
    let problem = test_env.begin_error().await;
    assert!(problem.to_string().contains("no metadata"), "{problem}");
}

#[tokio::test]
async fn requests_resource_identifier_as_published() {
    let test_env = TestEnv::new().await;
    test_env.issuer.behavior().resource = json!({ "resource": test_env.issuer.origin() });
    let address = test_env.begin().await;
    assert_eq!(parameter(&address, "resource").as_deref(), Some(test_env.issuer.origin()));
    visit(&address).await;
    assert_eq!(test_env.issuer.grants("authorization_code")[0].field("resource"), test_env.issuer.origin());
}

#[tokio::test]
async fn recovers_after_authorization_server_outage() {
    let test_env = TestEnv::new().await;
    for path in ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"] {
        test_env.issuer.behavior().answers.insert(path.to_owned(), (503, String::new()));
    }
    let problem = test_env.begin_error().await;
    assert!(problem.to_string().contains("cannot be reached"), "{problem}");
    test_env.issuer.behavior().answers.clear();
    test_env.begin().await;
}

#[tokio::test]
async fn uses_configured_endpoints_without_metadata() {
    let test_env = TestEnv::with_issuer(|issuer| SignInSettings {
        client: Some(RegisteredClient { id: "mine".into(), secret: None, method: None }),
        endpoints: Some(SignInEndpoints {
            authorize: issuer.at("/authorize"),
            token: issuer.at("/token"),
            revoke: None,
        }),
        scopes: vec!["notes".into()],
        ..SignInSettings::default()
    })
    .await;
    test_env.issuer.behavior().callback = json!({ "iss": "https://anybody.example" });
    let address = test_env.begin().await;
    assert_eq!(parameter(&address, "scope").as_deref(), Some("notes"));
    assert_eq!(parameter(&address, "code_challenge_method").as_deref(), Some("S256"));
    visit(&address).await;
    test_env.wait_until_settled().await;
    assert!(test_env.bearer().await.is_some());
    assert_eq!(test_env.issuer.paths(), ["/authorize", "/token"]);
}
