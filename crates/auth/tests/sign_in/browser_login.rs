//! The way through the browser.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use gatehouse_model::sign_in::{SignInSettings, SignInState};
use gatehouse_model::{ErrorCode, Timestamp};
use serde_json::json;

use crate::test_env::{TestEnv, client, follow_to_callback, parameter, problem, visit};

#[tokio::test]
async fn completes_authorization_code_flow() {
    let test_env = TestEnv::new().await;
    test_env.issuer.behavior().claims = json!({ "email": "ann@notes.example" });
    test_env.issuer.behavior().resource = json!({ "scopes_supported": ["read", "openid"] });
    test_env.issuer.behavior().server = json!({ "scopes_supported": ["offline_access", "read"] });
    let mut signed_in = test_env.sign_ins.subscribe();
    let address = test_env.begin().await;
    for (name, value) in [
        ("response_type", "code"),
        ("resource", test_env.issuer.at("/mcp").as_str()),
        ("scope", "read openid offline_access"),
        ("prompt", "consent"),
    ] {
        assert_eq!(parameter(&address, name).as_deref(), Some(value));
    }
    assert!(parameter(&address, "state").unwrap().len() >= 32);
    let SignInState::Waiting { host, until } = test_env.state().await else { panic!("does not wait") };
    assert_eq!(format!("http://{host}"), test_env.issuer.origin());
    assert_eq!(until, Timestamp(1_700_000_300_000));

    let back = follow_to_callback(&address).await;
    let page = client().get(&back).header("accept-language", "zh-CN,en;q=0.5").send().await.unwrap();
    assert_eq!(page.status(), 200);
    let policy = page.headers()["content-security-policy"].to_str().unwrap().to_owned();
    assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
    assert_eq!(page.headers()["cache-control"], "no-store");
    let page = page.text().await.unwrap();
    assert!(page.contains("登录成功"), "{page}");
    for name in ["code", "state"] {
        assert!(!page.contains(&parameter(&back, name).unwrap()));
    }

    // What the browser was told is so already.
    let state = test_env.state().await;
    let SignInState::In { account, issuer, scopes, expires, renews } = state else { panic!("{state:?}") };
    assert_eq!(account.as_deref(), Some("ann@notes.example"));
    assert_eq!(issuer, test_env.issuer.origin());
    assert_eq!(scopes, ["read", "openid", "offline_access"]);
    assert_eq!(expires, Some(Timestamp(1_700_003_600_000)));
    assert!(renews);
    assert_eq!(signed_in.recv().await.unwrap(), test_env.server.id);
    assert_eq!(test_env.events.states(), ["waiting", "in"]);
    assert!(test_env.bearer().await.unwrap().starts_with("access"));
    assert!(test_env.browser.opened.lock().unwrap().is_empty(), "nobody asked for a browser");
}

#[tokio::test]
async fn accepts_only_matching_callback_once() {
    let test_env = TestEnv::new().await;
    let back = follow_to_callback(&test_env.begin().await).await;
    let url = url::Url::parse(&back).unwrap();
    let other_path = back.replace("/callback", "/other");
    let other_state = back.replace(&parameter(&back, "state").unwrap(), "guessed");
    let no_query = back.split('?').next().unwrap().to_owned();
    for (method, address, status) in [
        ("GET", &other_path, 404),
        ("POST", &back, 405),
        ("HEAD", &back, 405),
        ("PUT", &back, 405),
        ("GET", &other_state, 400),
        ("GET", &no_query, 400),
    ] {
        let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
        let answer = client().request(method.clone(), address).send().await.unwrap();
        assert_eq!(answer.status(), status, "{method} {address}");
        assert_eq!(answer.headers().get("allow").is_some_and(|allowed| allowed == "GET"), status == 405);
        for (name, value) in [
            ("cache-control", "no-store"),
            ("referrer-policy", "no-referrer"),
            ("x-content-type-options", "nosniff"),
            ("connection", "close"),
        ] {
            assert_eq!(answer.headers()[name], value, "{method} {address}");
        }
        assert!(matches!(test_env.state().await, SignInState::Waiting { .. }), "{method} {address}");
    }
    assert!(test_env.issuer.recorded("/token").is_empty());
    // Two at the same moment, of which one waits at the token endpoint.
    let gate = Arc::new(tokio::sync::Semaphore::new(0));
    test_env.issuer.behavior().gate = Some(gate.clone());
    let first = tokio::spawn(client().get(&back).send());
    test_env.wait_until(|| !test_env.issuer.recorded("/token").is_empty()).await;
    assert_eq!(client().get(&back).send().await.unwrap().status(), 400);
    gate.add_permits(1);
    assert_eq!(first.await.unwrap().unwrap().status(), 200);
    assert!(matches!(test_env.wait_until_settled().await, SignInState::In { .. }));
    assert_eq!(test_env.issuer.recorded("/token").len(), 1);
    test_env.wait_until(|| std::net::TcpStream::connect(("127.0.0.1", url.port().unwrap())).is_err()).await;
}

#[tokio::test]
async fn compares_callback_issuer_exactly() {
    let advertised = json!({ "authorization_response_iss_parameter_supported": true });
    for (callback, server, words) in [
        (json!({ "iss": "https://evil.example" }), json!({}), "another authorization server"),
        (json!({ "iss": "ORIGIN/" }), json!({}), "another authorization server"),
        (
            json!({ "iss": "https://evil.example", "error": "access_denied", "code": null }),
            json!({}),
            "another",
        ),
        (json!({}), advertised.clone(), "has to"),
        (json!({ "error": "access_denied", "code": null }), advertised.clone(), "has to"),
        (
            json!({ "iss": "ORIGIN", "error": "access_denied", "code": null }),
            advertised.clone(),
            "not granted",
        ),
        (json!({ "error": "server_error", "code": null }), json!({}), "trouble of its own"),
        (json!({ "code": null }), json!({}), "without a code"),
    ] {
        let test_env = TestEnv::new().await;
        {
            let mut behavior = test_env.issuer.behavior();
            let text = callback.to_string().replace("ORIGIN", test_env.issuer.origin());
            behavior.callback = serde_json::from_str(&text).unwrap();
            behavior.server = server;
        }
        let (_, page) = visit(&test_env.begin().await).await;
        // What the browser was told is so already.
        assert!(matches!(test_env.state().await, SignInState::Out { .. }));
        assert!(page.contains("did not work"), "{page}");
        let why = problem(test_env.wait_until_settled().await);
        assert!(why.contains(words), "{why}");
        assert!(test_env.issuer.recorded("/token").is_empty(), "{words}");
        test_env.wait_until(|| test_env.events.states() == ["waiting", "out"]).await;
    }
    let test_env = TestEnv::new().await;
    test_env.issuer.behavior().server = advertised;
    test_env.issuer.behavior().callback = json!({ "iss": test_env.issuer.origin() });
    assert!(matches!(test_env.sign_in().await, SignInState::In { .. }));
}

#[tokio::test]
async fn reports_token_endpoint_error() {
    let test_env = TestEnv::new().await;
    let no = json!({ "error": "invalid_grant", "error_description": "too late" });
    test_env.issuer.behavior().token.push_back((400, no));
    let why = problem(test_env.sign_in().await);
    assert!(why.contains("too late"), "{why}");
    assert_eq!(test_env.bearer().await, None);
}

#[tokio::test]
async fn times_out_and_closes_listener() {
    let mut test_env = TestEnv::new().await;
    test_env.sign_ins = test_env.second_process_with_deadline(Duration::from_millis(50));
    let address = test_env.begin().await;
    let SignInState::Out { problem: Some(problem) } = test_env.wait_until_settled().await else {
        panic!("no problem")
    };
    assert_eq!(problem.code, ErrorCode::TimedOut);
    let back = follow_to_callback(&address).await;
    assert!(client().get(back).send().await.is_err(), "something still listens");
}

#[tokio::test]
async fn cancels_and_replaces_attempt() {
    let test_env = TestEnv::new().await;
    let first = follow_to_callback(&test_env.begin().await).await;
    test_env.sign_ins.cancel(&test_env.server.id);
    assert_eq!(test_env.wait_until_settled().await, SignInState::Out { problem: None });
    assert!(client().get(&first).send().await.is_err(), "something still listens");
    let second = test_env.begin().await;
    let third = test_env.begin().await;
    let back = follow_to_callback(&second).await;
    // The port may be the same, the state is not.
    let answer = client().get(&back).send().await;
    assert!(answer.is_err() || answer.unwrap().status() == 400);
    assert_eq!(visit(&third).await.0, 200);
    assert!(matches!(test_env.wait_until_settled().await, SignInState::In { .. }));
}

#[tokio::test]
async fn accepts_pasted_callback_url() {
    let test_env = TestEnv::new().await;
    let id = &test_env.server.id;
    assert_eq!(test_env.sign_ins.paste(id, "http://127.0.0.1/").unwrap_err().code, ErrorCode::NotFound);
    let back = follow_to_callback(&test_env.begin().await).await;
    for wrong in
        ["", "http://127.0.0.1:1/callback", &back.replace("/callback", "/x"), &back.replace("state=", "s=")]
    {
        let problem = test_env.sign_ins.paste(id, wrong).unwrap_err();
        assert_eq!(problem.code, ErrorCode::BadRequest, "{wrong}");
        assert!(!problem.to_string().contains("s3cr3t"));
    }
    assert!(matches!(test_env.state().await, SignInState::Waiting { .. }));
    test_env.sign_ins.paste(id, &format!(" {back}\n")).unwrap();
    assert!(matches!(test_env.wait_until_settled().await, SignInState::In { .. }));
    assert_eq!(test_env.sign_ins.paste(id, &back).unwrap_err().code, ErrorCode::NotFound);
}

#[tokio::test]
async fn sends_configured_redirect_uri_verbatim() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let redirect = format!("http://localhost:{free}");
    let test_env =
        TestEnv::with(SignInSettings { redirect: Some(redirect.clone()), ..SignInSettings::default() }).await;
    let address = test_env.begin().await;
    assert_eq!(parameter(&address, "redirect_uri"), Some(redirect.clone()));
    assert_eq!(test_env.issuer.recorded("/register")[0].body["redirect_uris"], json!([redirect]));
    assert_eq!(visit(&address).await.0, 200);
    assert!(matches!(test_env.wait_until_settled().await, SignInState::In { .. }));
    let again = test_env.begin().await;
    assert_eq!(parameter(&again, "redirect_uri"), Some(redirect));
    assert_eq!(test_env.issuer.recorded("/register").len(), 1);
    test_env.sign_ins.cancel(&test_env.server.id);
    test_env.wait_until_settled().await;
    let _taken = std::net::TcpListener::bind(("127.0.0.1", free)).unwrap();
    assert_eq!(test_env.begin_error().await.code, ErrorCode::PortInUse);
}

#[tokio::test]
async fn takes_path_of_configured_redirect_literally() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    // Routers read patterns in such a path.
    let redirect = format!("http://127.0.0.1:{free}/:app/*rest");
    let test_env =
        TestEnv::with(SignInSettings { redirect: Some(redirect), ..SignInSettings::default() }).await;
    let back = follow_to_callback(&test_env.begin().await).await;
    for path in ["/x/y", "/:app/x", "/x/*rest", "/:app/*rest/"] {
        let other = back.replace("/:app/*rest", path);
        assert_eq!(client().get(&other).send().await.unwrap().status(), 404, "{path}");
    }
    assert_eq!(client().get(&back).send().await.unwrap().status(), 200);
    assert!(matches!(test_env.wait_until_settled().await, SignInState::In { .. }));
}

#[tokio::test]
async fn opens_browser_on_request() {
    let test_env = TestEnv::new().await;
    test_env.browser.is_following.store(true, Ordering::SeqCst);
    let begun = test_env.sign_ins.begin(Arc::clone(&test_env.server), true).await.unwrap();
    assert_eq!(*test_env.browser.opened.lock().unwrap(), [begun.address.unwrap()]);
    assert!(matches!(test_env.wait_until_settled().await, SignInState::In { .. }));
}

#[tokio::test]
async fn shutdown_closes_listener() {
    let test_env = TestEnv::new().await;
    let back = follow_to_callback(&test_env.begin().await).await;
    test_env.sign_ins.shutdown().await;
    assert!(client().get(back).send().await.is_err(), "something still listens");
    assert!(test_env.sign_ins.begin(Arc::clone(&test_env.server), false).await.is_err());
}

#[tokio::test]
async fn requests_scopes_from_settings_then_challenge_then_metadata() {
    use gatehouse_auth::{AuthRejection, TokenSource as _};
    let challenge = |test_env: &TestEnv| AuthRejection {
        status: 401,
        challenges: vec![test_env.issuer.challenge(r#", scope="b c""#)],
        sent: None,
        can_wait: false,
        is_retry: false,
    };
    let own = SignInSettings { scopes: vec!["a".into()], ..SignInSettings::default() };
    for (settings, challenged, expected) in [
        (own, true, Some("a")),
        (SignInSettings::default(), true, Some("b c")),
        (SignInSettings::default(), false, Some("d e")),
    ] {
        let test_env = TestEnv::with(settings).await;
        test_env.issuer.behavior().resource = json!({ "scopes_supported": ["d", "e"] });
        if challenged {
            test_env.sign_ins.recover(&test_env.server, challenge(&test_env)).await.unwrap();
        }
        assert_eq!(parameter(&test_env.begin().await, "scope").as_deref(), expected);
    }
    let test_env = TestEnv::new().await;
    test_env.issuer.behavior().server = json!({ "scopes_supported": ["offline_access"] });
    assert_eq!(parameter(&test_env.begin().await, "scope"), None, "nothing is said of scopes");
}
