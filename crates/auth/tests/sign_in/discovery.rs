//! How a server is found out about.

use gatehouse_auth::{Next, Refusal, TokenSource as _};
use gatehouse_model::sign_in::RegisteredClient;
use gatehouse_model::sign_in::{SignInEndpoints, SignInSettings};
use serde_json::json;

use crate::issuer::Issuer;
use crate::world::{World, parameter, visit};

const RESOURCE: &str = "/.well-known/oauth-protected-resource";

/// Tells of a challenge that leads to this path.
async fn challenged(world: &World, path: &str) -> Next {
    let challenge = format!(r#"Bearer resource_metadata="{}""#, world.issuer.at(path));
    let refusal = Refusal {
        status: 401,
        challenges: vec!["Basic".to_owned(), challenge],
        sent: None,
        waits: true,
        once_more: false,
    };
    world.sign_ins.refused(&world.server, refusal).await.unwrap()
}

#[tokio::test]
async fn the_challenge_says_where() {
    let world = World::new().await;
    world.issuer.switches().resource_at = vec!["/somewhere".to_owned()];
    let next = challenged(&world, "/somewhere").await;
    assert_eq!(next, Next::SignIn { issuer: Some(world.issuer.origin().to_owned()) });
    world.sign_in().await;
    assert!(
        world.issuer.paths().iter().all(|path| !path.starts_with(RESOURCE)),
        "{:?}",
        world.issuer.paths()
    );
}

#[tokio::test]
async fn without_a_challenge_the_path_comes_before_the_root() {
    let world = World::new().await;
    world.begin().await;
    assert_eq!(world.issuer.paths()[0], format!("{RESOURCE}/mcp"));
    assert!(world.issuer.seen(RESOURCE).is_empty());
    let world = World::new().await;
    world.issuer.switches().resource_at = vec![RESOURCE.to_owned()];
    world.begin().await;
    assert_eq!(world.issuer.paths()[..2], [format!("{RESOURCE}/mcp"), RESOURCE.to_owned()]);
}

#[tokio::test]
async fn one_bad_document_does_not_end_it() {
    let long = format!("{{\"x\":\"{}\"}}", "x".repeat(256 * 1024));
    let elsewhere = Issuer::start().await;
    for (status, text) in
        [(500, ""), (404, ""), (200, "no json"), (200, "{}"), (200, long.as_str()), (302, elsewhere.origin())]
    {
        let world = World::new().await;
        world.issuer.switches().answers.insert("/somewhere".to_owned(), (status, text.to_owned()));
        challenged(&world, "/somewhere").await;
        world.begin().await;
        assert_eq!(world.issuer.seen("/somewhere").len(), 2, "{status}");
    }
    assert!(elsewhere.paths().is_empty(), "a redirect to elsewhere was followed");
}

#[tokio::test]
async fn metadata_is_looked_for_in_the_order_of_the_specification() {
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
                let world = World::new().await;
                {
                    let mut switches = world.issuer.switches();
                    let issuer = world.issuer.at(path);
                    switches.resource = json!({ "authorization_servers": [issuer] });
                    switches.server = json!({ "issuer": issuer });
                    switches.server_at = vec![(*place).to_owned()];
                    for before in &candidates[..last] {
                        switches.answers.insert((*before).to_owned(), (status, text.to_owned()));
                    }
                }
                world.begin().await;
                let asked: Vec<String> = world
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
async fn what_lies_is_refused_before_anything_is_told() {
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
        let world = World::new().await;
        {
            let mut switches = world.issuer.switches();
            let text = server.to_string().replace("ORIGIN", world.issuer.origin());
            switches.server = serde_json::from_str(&text).unwrap();
            switches.resource = resource;
        }
        let problem = world.begin_problem().await.to_string();
        assert!(problem.contains(words), "{problem}");
        for path in ["/register", "/authorize", "/token"] {
            assert!(world.issuer.seen(path).is_empty(), "{words}: {path}");
        }
    }
}

#[tokio::test]
async fn the_second_authorization_server_does_where_the_first_does_not() {
    let world = World::new().await;
    let gone = { Issuer::start().await.origin().to_owned() };
    world.issuer.switches().resource = json!({ "authorization_servers": [gone, world.issuer.origin()] });
    let address = world.begin().await;
    assert!(address.starts_with(world.issuer.origin()));
}

#[tokio::test]
async fn a_server_without_metadata_of_its_own_is_its_own_authorization_server() {
    let world = World::new().await;
    world.issuer.switches().resource_at.clear();
    let address = world.begin().await;
    assert_eq!(parameter(&address, "resource"), Some(world.issuer.at("/mcp")));
    assert_eq!(visit(&address).await.0, 200);
    let world = World::new().await;
    world.issuer.switches().resource_at.clear();
    world.issuer.switches().server_at.clear();
    let problem = world.begin_problem().await;
    assert!(problem.to_string().contains("no metadata"), "{problem}");
}

#[tokio::test]
async fn a_wider_resource_is_asked_for_as_it_is_written() {
    let world = World::new().await;
    world.issuer.switches().resource = json!({ "resource": world.issuer.origin() });
    let address = world.begin().await;
    assert_eq!(parameter(&address, "resource").as_deref(), Some(world.issuer.origin()));
    visit(&address).await;
    assert_eq!(world.issuer.grants("authorization_code")[0].field("resource"), world.issuer.origin());
}

#[tokio::test]
async fn an_authorization_server_that_is_away_is_no_reason_to_give_up_for_ever() {
    let world = World::new().await;
    for path in ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"] {
        world.issuer.switches().answers.insert(path.to_owned(), (503, String::new()));
    }
    let problem = world.begin_problem().await;
    assert!(problem.to_string().contains("cannot be reached"), "{problem}");
    world.issuer.switches().answers.clear();
    world.begin().await;
}

#[tokio::test]
async fn endpoints_that_the_user_entered_need_no_metadata() {
    let world = World::made(|issuer| SignInSettings {
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
    world.issuer.switches().callback = json!({ "iss": "https://anybody.example" });
    let address = world.begin().await;
    assert_eq!(parameter(&address, "scope").as_deref(), Some("notes"));
    assert_eq!(parameter(&address, "code_challenge_method").as_deref(), Some("S256"));
    visit(&address).await;
    world.settled().await;
    assert!(world.bearer().await.is_some());
    assert_eq!(world.issuer.paths(), ["/authorize", "/token"]);
}
