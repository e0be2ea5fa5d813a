//! As which client Gatehouse signs in.

use gatehouse_auth::Next;
use gatehouse_model::ErrorCode;
use gatehouse_model::sign_in::{RegisteredClient, SignInSettings, TokenMethod};
use serde_json::json;

use crate::world::{World, parameter, problem};

const DOCUMENT: &str = "https://gatehouse.example/client.json";

fn entered(secret: Option<&str>, method: Option<TokenMethod>) -> SignInSettings {
    let client = RegisteredClient { id: "my client".into(), secret: secret.map(Into::into), method };
    SignInSettings { client: Some(client), ..SignInSettings::default() }
}

#[tokio::test]
async fn an_entered_client_comes_first_and_its_secret_goes_as_it_is_wanted() {
    use TokenMethod::{ClientSecretBasic, ClientSecretPost};
    let all = json!(["client_secret_post", "client_secret_basic"]);
    let table = [
        (None, all.clone(), true),
        (None, json!(null), true),
        (None, json!(["client_secret_post"]), false),
        (Some(ClientSecretPost), all, false),
        (Some(ClientSecretBasic), json!(["client_secret_post"]), true),
    ];
    for (method, offered, basic) in table {
        let world = World::with(entered(Some("${secret:MINE}"), method)).await;
        world.keep("signIn/secret", "a: secret");
        world.sign_ins.set_client_document(Some(DOCUMENT.to_owned()));
        world.issuer.switches().server = json!({
            "client_id_metadata_document_supported": true,
            "token_endpoint_auth_methods_supported": offered,
        });
        world.sign_in().await;
        let token = &world.issuer.grants("authorization_code")[0];
        if basic {
            assert_eq!(token.basic(), Some(("my+client".to_owned(), "a%3A+secret".to_owned())));
            assert_eq!(token.field("client_secret"), "");
        } else {
            assert_eq!((token.field("client_id"), token.field("client_secret")), ("my client", "a: secret"));
            assert_eq!(token.authorization, None);
        }
        assert!(world.issuer.seen("/register").is_empty());
    }
}

#[tokio::test]
async fn a_secret_that_is_not_there_is_said() {
    let world = World::with(entered(Some("${secret:MINE}"), None)).await;
    let problem = world.begin_problem().await;
    assert_eq!(problem.code, ErrorCode::BadConfig);
    assert!(problem.to_string().contains("MINE"), "{problem}");
}

#[tokio::test]
async fn the_document_is_used_where_it_is_taken() {
    let world = World::new().await;
    world.sign_ins.set_client_document(Some(DOCUMENT.to_owned()));
    let registered = parameter(&world.begin().await, "client_id").unwrap();
    assert!(registered.starts_with("client-"), "{registered}");
    world.issuer.switches().server = json!({ "client_id_metadata_document_supported": true });
    let address = world.begin().await;
    assert_eq!(parameter(&address, "client_id").as_deref(), Some(DOCUMENT));
    crate::world::visit(&address).await;
    world.settled().await;
    assert_eq!(world.issuer.grants("authorization_code")[0].field("client_id"), DOCUMENT);
    world.clock.forward(3500);
    assert!(world.bearer().await.is_some());
    assert_eq!(world.issuer.grants("refresh_token")[0].field("client_id"), DOCUMENT);
}

#[tokio::test]
async fn a_registration_is_kept_with_its_secret_and_used_again_after_a_restart() {
    let mut world = World::new().await;
    world.sign_in().await;
    let asked = world.issuer.seen("/register")[0].body.clone();
    assert_eq!(asked["application_type"], "native");
    assert_eq!(asked["grant_types"], json!(["authorization_code", "refresh_token"]));
    assert_eq!(asked["token_endpoint_auth_method"], "client_secret_basic");
    let redirect = asked["redirect_uris"][0].as_str().unwrap().to_owned();
    assert!(redirect.starts_with("http://127.0.0.1:") && !redirect.contains(":0/"), "{redirect}");
    let before = world.issuer.grants("authorization_code")[0].basic().unwrap();
    world.restart().await;
    world.clock.forward(3500);
    assert!(world.bearer().await.is_some());
    assert_eq!(world.issuer.grants("refresh_token")[0].basic().unwrap(), before);
    let address = world.begin().await;
    assert_eq!(parameter(&address, "redirect_uri"), Some(redirect.clone()));
    world.sign_ins.cancel(&world.server.id);
    world.settled().await;
    // Somebody else has the port by now, so that it has to be registered anew.
    let port: u16 = redirect.split(':').nth(2).unwrap().split('/').next().unwrap().parse().unwrap();
    let _taken = std::net::TcpListener::bind(("127.0.0.1", port)).unwrap();
    assert_ne!(parameter(&world.begin().await, "redirect_uri"), Some(redirect));
    assert_eq!(world.issuer.seen("/register").len(), 2);
}

#[tokio::test]
async fn a_secret_that_expires_is_registered_anew() {
    let world = World::new().await;
    let expires = 1_700_000_000 + 60;
    world.issuer.switches().register.push_back((
        201,
        json!({ "client_id": "short", "client_secret": "short-secret", "client_secret_expires_at": expires }),
    ));
    assert_eq!(parameter(&world.begin().await, "client_id").as_deref(), Some("short"));
    world.clock.forward(59);
    assert_eq!(parameter(&world.begin().await, "client_id").as_deref(), Some("short"));
    world.clock.forward(1);
    assert_ne!(parameter(&world.begin().await, "client_id").as_deref(), Some("short"));
}

#[tokio::test]
async fn the_next_method_is_tried_where_one_is_not_taken() {
    let world = World::new().await;
    let no = json!({ "error": "invalid_client_metadata", "error_description": "not this" });
    world.issuer.switches().register.push_back((400, no.clone()));
    world.issuer.switches().register.push_back((400, no));
    world.begin().await;
    let asked: Vec<String> = world
        .issuer
        .seen("/register")
        .iter()
        .map(|seen| seen.body["token_endpoint_auth_method"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(asked, ["client_secret_basic", "client_secret_post", "none"]);
}

#[tokio::test]
async fn no_way_to_register_is_said_before_and_when_signing_in() {
    let world = World::new().await;
    world.issuer.switches().server = json!({ "registration_endpoint": null });
    let problem = world.begin_problem().await;
    assert_eq!(problem.code, ErrorCode::NeedsClientRegistration);
    let reason = problem.why.unwrap();
    assert_eq!(world.refused(None).await, Next::Register { reason });
    world.issuer.switches().server = json!({});
    world.issuer.switches().register.push_back((403, json!({ "error": "access_denied" })));
    assert_eq!(world.begin_problem().await.code, ErrorCode::NeedsClientRegistration);
    world.issuer.switches().server = json!({ "token_endpoint_auth_methods_supported": ["private_key_jwt"] });
    assert_eq!(world.begin_problem().await.code, ErrorCode::NeedsClientRegistration);
}

#[tokio::test]
async fn a_registration_that_is_not_known_any_more_is_forgotten_and_an_entered_client_is_not() {
    for (settings, registrations) in [(SignInSettings::default(), 2), (entered(None, None), 0)] {
        let world = World::with(settings).await;
        world.issuer.switches().token.push_back((401, json!({ "error": "invalid_client" })));
        assert!(problem(world.sign_in().await).contains("does not know this client"));
        world.sign_in().await;
        assert_eq!(world.issuer.seen("/register").len(), registrations);
        assert!(world.bearer().await.is_some());
    }
}

#[tokio::test]
async fn another_authorization_server_sees_no_registration_of_this_one() {
    let world = World::new().await;
    world.sign_in().await;
    let first = world.issuer.grants("authorization_code")[0].basic().unwrap().0;
    let other = crate::issuer::Issuer::start().await;
    world.issuer.switches().resource = json!({ "authorization_servers": [other.origin()] });
    let address = world.begin().await;
    assert!(address.starts_with(other.origin()));
    assert_eq!(other.seen("/register").len(), 1);
    crate::world::visit(&address).await;
    world.settled().await;
    for secret in world.issuer.secrets() {
        assert!(!format!("{:?}", other.seen("/token")).contains(&secret), "{secret}");
    }
    assert!(!format!("{:?}", other.seen("/token")).contains(&format!("{first:?}:")));
}
