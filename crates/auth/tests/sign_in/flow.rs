//! The way through the browser.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use gatehouse_model::sign_in::{SignInSettings, SignInState};
use gatehouse_model::{ErrorCode, Timestamp};
use serde_json::json;

use crate::world::{World, client, parameter, problem, sent_to, visit};

#[tokio::test]
async fn all_the_way() {
    let world = World::new().await;
    world.issuer.switches().claims = json!({ "email": "ann@notes.example" });
    world.issuer.switches().resource = json!({ "scopes_supported": ["read", "openid"] });
    world.issuer.switches().server = json!({ "scopes_supported": ["offline_access", "read"] });
    let mut signed_in = world.sign_ins.signed_in();
    let address = world.begin().await;
    for (name, value) in [
        ("response_type", "code"),
        ("resource", world.issuer.at("/mcp").as_str()),
        ("scope", "read openid offline_access"),
        ("prompt", "consent"),
    ] {
        assert_eq!(parameter(&address, name).as_deref(), Some(value));
    }
    assert!(parameter(&address, "state").unwrap().len() >= 32);
    let SignInState::Waiting { host, until } = world.state().await else { panic!("does not wait") };
    assert_eq!(format!("http://{host}"), world.issuer.origin());
    assert_eq!(until, Timestamp(1_700_000_300_000));

    let back = sent_to(&address).await;
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
    let state = world.state().await;
    let SignInState::In { account, issuer, scopes, expires, renews } = state else { panic!("{state:?}") };
    assert_eq!(account.as_deref(), Some("ann@notes.example"));
    assert_eq!(issuer, world.issuer.origin());
    assert_eq!(scopes, ["read", "openid", "offline_access"]);
    assert_eq!(expires, Some(Timestamp(1_700_003_600_000)));
    assert!(renews);
    assert_eq!(signed_in.recv().await.unwrap(), world.server.id);
    assert_eq!(world.events.told(), ["waiting", "in"]);
    assert!(world.bearer().await.unwrap().starts_with("access"));
    assert!(world.browser.opened.lock().unwrap().is_empty(), "nobody asked for a browser");
}

#[tokio::test]
async fn only_the_right_answer_counts_and_only_once() {
    let world = World::new().await;
    let back = sent_to(&world.begin().await).await;
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
        assert!(matches!(world.state().await, SignInState::Waiting { .. }), "{method} {address}");
    }
    assert!(world.issuer.seen("/token").is_empty());
    // Two at the same moment, of which one waits at the token endpoint.
    let gate = Arc::new(tokio::sync::Semaphore::new(0));
    world.issuer.switches().gate = Some(gate.clone());
    let first = tokio::spawn(client().get(&back).send());
    world.until(|| !world.issuer.seen("/token").is_empty()).await;
    assert_eq!(client().get(&back).send().await.unwrap().status(), 400);
    gate.add_permits(1);
    assert_eq!(first.await.unwrap().unwrap().status(), 200);
    assert!(matches!(world.settled().await, SignInState::In { .. }));
    assert_eq!(world.issuer.seen("/token").len(), 1);
    world.until(|| std::net::TcpStream::connect(("127.0.0.1", url.port().unwrap())).is_err()).await;
}

#[tokio::test]
async fn who_answers_is_compared_letter_by_letter() {
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
        let world = World::new().await;
        {
            let mut switches = world.issuer.switches();
            let text = callback.to_string().replace("ORIGIN", world.issuer.origin());
            switches.callback = serde_json::from_str(&text).unwrap();
            switches.server = server;
        }
        let (_, page) = visit(&world.begin().await).await;
        // What the browser was told is so already.
        assert!(matches!(world.state().await, SignInState::Out { .. }));
        assert!(page.contains("did not work"), "{page}");
        let why = problem(world.settled().await);
        assert!(why.contains(words), "{why}");
        assert!(world.issuer.seen("/token").is_empty(), "{words}");
        world.until(|| world.events.told() == ["waiting", "out"]).await;
    }
    let world = World::new().await;
    world.issuer.switches().server = advertised;
    world.issuer.switches().callback = json!({ "iss": world.issuer.origin() });
    assert!(matches!(world.sign_in().await, SignInState::In { .. }));
}

#[tokio::test]
async fn a_token_endpoint_that_refuses_ends_it_in_words() {
    let world = World::new().await;
    let no = json!({ "error": "invalid_grant", "error_description": "too late" });
    world.issuer.switches().token.push_back((400, no));
    let why = problem(world.sign_in().await);
    assert!(why.contains("too late"), "{why}");
    assert_eq!(world.bearer().await, None);
}

#[tokio::test]
async fn it_ends_after_its_time() {
    let mut world = World::new().await;
    world.sign_ins = world.another_with(Duration::from_millis(50));
    let address = world.begin().await;
    let SignInState::Out { problem: Some(problem) } = world.settled().await else { panic!("no problem") };
    assert_eq!(problem.code, ErrorCode::TimedOut);
    let back = sent_to(&address).await;
    assert!(client().get(back).send().await.is_err(), "something still listens");
}

#[tokio::test]
async fn it_can_be_given_up_and_replaced() {
    let world = World::new().await;
    let first = sent_to(&world.begin().await).await;
    world.sign_ins.cancel(&world.server.id);
    assert_eq!(world.settled().await, SignInState::Out { problem: None });
    assert!(client().get(&first).send().await.is_err(), "something still listens");
    let second = world.begin().await;
    let third = world.begin().await;
    let back = sent_to(&second).await;
    // The port may be the same, the state is not.
    let answer = client().get(&back).send().await;
    assert!(answer.is_err() || answer.unwrap().status() == 400);
    assert_eq!(visit(&third).await.0, 200);
    assert!(matches!(world.settled().await, SignInState::In { .. }));
}

#[tokio::test]
async fn an_address_can_be_pasted() {
    let world = World::new().await;
    let id = &world.server.id;
    assert_eq!(world.sign_ins.paste(id, "http://127.0.0.1/").unwrap_err().code, ErrorCode::NotFound);
    let back = sent_to(&world.begin().await).await;
    for wrong in
        ["", "http://127.0.0.1:1/callback", &back.replace("/callback", "/x"), &back.replace("state=", "s=")]
    {
        let problem = world.sign_ins.paste(id, wrong).unwrap_err();
        assert_eq!(problem.code, ErrorCode::BadRequest, "{wrong}");
        assert!(!problem.to_string().contains("s3cr3t"));
    }
    assert!(matches!(world.state().await, SignInState::Waiting { .. }));
    world.sign_ins.paste(id, &format!(" {back}\n")).unwrap();
    assert!(matches!(world.settled().await, SignInState::In { .. }));
    assert_eq!(world.sign_ins.paste(id, &back).unwrap_err().code, ErrorCode::NotFound);
}

#[tokio::test]
async fn the_redirect_of_the_settings_is_told_letter_by_letter() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let redirect = format!("http://localhost:{free}");
    let world =
        World::with(SignInSettings { redirect: Some(redirect.clone()), ..SignInSettings::default() }).await;
    let address = world.begin().await;
    assert_eq!(parameter(&address, "redirect_uri"), Some(redirect.clone()));
    assert_eq!(world.issuer.seen("/register")[0].body["redirect_uris"], json!([redirect]));
    assert_eq!(visit(&address).await.0, 200);
    assert!(matches!(world.settled().await, SignInState::In { .. }));
    let again = world.begin().await;
    assert_eq!(parameter(&again, "redirect_uri"), Some(redirect));
    assert_eq!(world.issuer.seen("/register").len(), 1);
    world.sign_ins.cancel(&world.server.id);
    world.settled().await;
    let _taken = std::net::TcpListener::bind(("127.0.0.1", free)).unwrap();
    assert_eq!(world.begin_problem().await.code, ErrorCode::PortInUse);
}

#[tokio::test]
async fn the_browser_is_opened_when_the_user_said_so() {
    let world = World::new().await;
    world.browser.goes.store(true, Ordering::SeqCst);
    let begun = world.sign_ins.begin(Arc::clone(&world.server), true).await.unwrap();
    assert_eq!(*world.browser.opened.lock().unwrap(), [begun.address.unwrap()]);
    assert!(matches!(world.settled().await, SignInState::In { .. }));
}

#[tokio::test]
async fn nothing_is_left_after_the_end() {
    let world = World::new().await;
    let back = sent_to(&world.begin().await).await;
    world.sign_ins.shutdown().await;
    assert!(client().get(back).send().await.is_err(), "something still listens");
    assert!(world.sign_ins.begin(Arc::clone(&world.server), false).await.is_err());
}

#[tokio::test]
async fn scopes_are_those_of_the_settings_else_of_the_challenge_else_all() {
    use gatehouse_auth::{Refusal, TokenSource as _};
    let challenge = |world: &World| Refusal {
        status: 401,
        challenges: vec![world.issuer.challenge(r#", scope="b c""#)],
        sent: None,
        waits: false,
        once_more: false,
    };
    let own = SignInSettings { scopes: vec!["a".into()], ..SignInSettings::default() };
    for (settings, challenged, expected) in [
        (own, true, Some("a")),
        (SignInSettings::default(), true, Some("b c")),
        (SignInSettings::default(), false, Some("d e")),
    ] {
        let world = World::with(settings).await;
        world.issuer.switches().resource = json!({ "scopes_supported": ["d", "e"] });
        if challenged {
            world.sign_ins.refused(&world.server, challenge(&world)).await.unwrap();
        }
        assert_eq!(parameter(&world.begin().await, "scope").as_deref(), expected);
    }
    let world = World::new().await;
    world.issuer.switches().server = json!({ "scopes_supported": ["offline_access"] });
    assert_eq!(parameter(&world.begin().await, "scope"), None, "nothing is said of scopes");
}
