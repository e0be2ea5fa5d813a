//! Unknown clients ask for access by OAuth: metadata, registration, the user's answer, codes and tokens.

use std::time::Duration;

use gatehouse_model::{ApprovalAnswer, ClientAccess};
use reqwest::{Response, StatusCode, Url};
use serde_json::{Value, json};
use url::form_urlencoded;

use crate::fixture::{Fixture, SseReader, eventually, inner_id};

const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
const REDIRECT: &str = "http://127.0.0.1:51000/callback";
const DOCUMENT: &str = "https://app.example/client.json";
const HOUR: Duration = Duration::from_secs(60 * 60);

/// GivenTokens as a client gets them.
#[derive(Clone, Debug, PartialEq, Eq)]
struct GivenTokens {
    access: String,
    refresh: String,
}

/// Parameters, with some of them replaced, added or (with an empty value) left out.
fn with<'a>(defaults: &[(&'a str, &'a str)], changed: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let mut all = defaults.to_vec();
    all.retain(|(name, _)| !changed.iter().any(|(other, _)| other == name));
    all.extend(changed.iter().filter(|(_, value)| !value.is_empty()));
    all
}

impl Fixture {
    fn origin(&self) -> String {
        self.url().trim_end_matches("/mcp").to_owned()
    }

    async fn get_json(&self, path: &str) -> Value {
        let response = self.http.get(format!("{}{path}", self.origin())).send().await.unwrap();
        assert_eq!(response.status(), 200, "{path}");
        assert_eq!(response.headers()["content-type"], "application/json");
        response.json().await.unwrap()
    }

    async fn register(&self, metadata: &Value) -> Response {
        self.http.post(format!("{}/oauth/register", self.origin())).json(metadata).send().await.unwrap()
    }

    /// Registers a client and returns its id.
    async fn registered(&self, name: &str) -> String {
        let metadata = json!({ "client_name": name, "redirect_uris": ["http://127.0.0.1/callback"] });
        let response = self.register(&metadata).await;
        assert_eq!(response.status(), 201);
        let registered: Value = response.json().await.unwrap();
        registered["client_id"].as_str().unwrap().to_owned()
    }

    /// Opens the page of the authorization endpoint, as the browser does.
    async fn authorize(&self, client_id: &str, changed: &[(&str, &str)]) -> Response {
        let defaults = [
            ("response_type", "code"),
            ("client_id", client_id),
            ("redirect_uri", REDIRECT),
            ("code_challenge", CHALLENGE),
            ("code_challenge_method", "S256"),
            ("state", "a state&more"),
        ];
        let address = format!("{}/oauth/authorize", self.origin());
        let url = Url::parse_with_params(&address, with(&defaults, changed)).unwrap();
        self.http.get(url).send().await.unwrap()
    }

    /// Opens the page that it leads to, again and again as the browser does, until it leads elsewhere or says why not.
    async fn outcome(&self, mut response: Response) -> Response {
        loop {
            match location(&response) {
                Some(waiting) if waiting.starts_with("/oauth/wait?") => {
                    let address = format!("{}{waiting}", self.origin());
                    response = self.http.get(&address).send().await.unwrap();
                    while response.status() == StatusCode::OK {
                        response = self.http.get(&address).send().await.unwrap();
                    }
                }
                Some(_) | None => return response,
            }
        }
    }

    /// Gets a code that the user allowed.
    async fn code(&self, client_id: &str, changed: &[(&str, &str)]) -> String {
        self.user.allows();
        let response = self.outcome(self.authorize(client_id, changed).await).await;
        let address = location(&response).unwrap_or_default();
        let code = parameter(&address, "code").unwrap_or_else(|| panic!("no code: {address}"));
        assert_eq!(parameter(&address, "state").as_deref(), Some("a state&more"));
        assert_eq!(parameter(&address, "iss"), Some(self.origin()));
        assert!(address.starts_with(REDIRECT), "{address}");
        code
    }

    async fn post_form(&self, path: &str, form: &[(&str, &str)]) -> Response {
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        self.http
            .post(format!("{}{path}", self.origin()))
            .header("content-type", "application/x-www-form-urlencoded")
            .body(body)
            .send()
            .await
            .unwrap()
    }

    async fn token(&self, form: &[(&str, &str)]) -> Response {
        self.post_form("/oauth/token", form).await
    }

    async fn revoke(&self, token: &str) {
        assert_eq!(self.post_form("/oauth/revoke", &[("token", token)]).await.status(), 200);
    }

    /// Redeems a code with parameters that fit, but for those that are changed.
    async fn redeem(
        &self,
        client_id: &str,
        code: &str,
        changed: &[(&str, &str)],
    ) -> Result<GivenTokens, String> {
        let defaults = [
            ("grant_type", "authorization_code"),
            ("client_id", client_id),
            ("redirect_uri", REDIRECT),
            ("code_verifier", VERIFIER),
            ("code", code),
        ];
        tokens(self.token(&with(&defaults, changed)).await).await
    }

    async fn refresh(&self, client_id: &str, refresh: &str) -> Result<GivenTokens, String> {
        let form = [("grant_type", "refresh_token"), ("client_id", client_id), ("refresh_token", refresh)];
        tokens(self.token(&form).await).await
    }

    /// Everything from the request to the tokens.
    async fn access(&self, client_id: &str, changed: &[(&str, &str)]) -> GivenTokens {
        let code = self.code(client_id, changed).await;
        self.redeem(client_id, &code, &[]).await.unwrap()
    }

    /// The status of a ping with a token, and the challenge in its response.
    async fn ping(&self, token: &str, path: &str) -> (u16, String) {
        let response = self
            .http
            .post(format!("{}{path}", self.origin()))
            .bearer_auth(token)
            .header("content-type", "application/json")
            .header("accept", "application/json")
            .body(r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"o","version":"1"}}}"#)
            .send()
            .await
            .unwrap();
        let challenge =
            response.headers().get("www-authenticate").map(|value| value.to_str().unwrap().to_owned());
        (response.status().as_u16(), challenge.unwrap_or_default())
    }

    async fn is_valid(&self, token: &str) -> bool {
        self.ping(token, "/mcp").await.0 == 200
    }
}

fn location(response: &Response) -> Option<String> {
    let value = response.headers().get("location")?;
    assert_eq!(response.status(), 303);
    Some(value.to_str().unwrap().to_owned())
}

fn parameter(address: &str, name: &str) -> Option<String> {
    let url = Url::parse(address).ok()?;
    url.query_pairs().find(|(own, _)| own == name).map(|(_, value)| value.into_owned())
}

/// The tokens in a response, or its error code.
async fn tokens(response: Response) -> Result<GivenTokens, String> {
    assert_eq!(response.headers()["cache-control"], "no-store");
    let is_success = response.status() == StatusCode::OK;
    let body: Value = response.json().await.unwrap();
    if !is_success {
        assert!(body["error_description"].is_string(), "{body}");
        return Err(body["error"].as_str().unwrap().to_owned());
    }
    assert_eq!((&body["token_type"], &body["expires_in"]), (&json!("Bearer"), &json!(3600)));
    let text = |name: &str| body[name].as_str().unwrap().to_owned();
    Ok(GivenTokens { access: text("access_token"), refresh: text("refresh_token") })
}

#[tokio::test]
async fn metadata_are_where_clients_look() {
    let fixture = Fixture::start().await;
    let origin = fixture.origin();
    for (path, resource) in [
        ("", "/mcp"),
        ("/mcp", "/mcp"),
        ("/sse", "/sse"),
        ("/servers/own%20server/mcp", "/servers/own%20server/mcp"),
    ] {
        let found = fixture.get_json(&format!("/.well-known/oauth-protected-resource{path}")).await;
        assert_eq!(found["resource"], format!("{origin}{resource}"));
        assert_eq!(found["authorization_servers"], json!([origin]));
    }
    let server = fixture.get_json("/.well-known/oauth-authorization-server").await;
    assert_eq!(server["issuer"], origin);
    assert_eq!(server["code_challenge_methods_supported"], json!(["S256"]));
    assert_eq!(server["token_endpoint_auth_methods_supported"], json!(["none"]));
    assert_eq!(server["client_id_metadata_document_supported"], true);
    assert_eq!(server["authorization_response_iss_parameter_supported"], true);
    for path in ["/.well-known/openid-configuration", "/.well-known/oauth-authorization-server/mcp"] {
        let response = fixture.http.get(format!("{origin}{path}")).send().await.unwrap();
        assert_eq!(response.status(), 404, "{path}");
    }
    // The same names as in the request: a container knows this computer by another one.
    fixture.allowed_hosts.set(&["host.docker.internal".to_owned()]);
    let host = format!("host.docker.internal:{}", fixture.port());
    let response = fixture
        .http
        .get(format!("{origin}/.well-known/oauth-protected-resource/mcp"))
        .header("host", &host)
        .send()
        .await
        .unwrap();
    let found: Value = response.json().await.unwrap();
    assert_eq!(found["resource"], format!("http://{host}/mcp"));
    let missing = fixture.http.post(fixture.url()).header("host", &host).send().await.unwrap();
    let challenge = missing.headers()["www-authenticate"].to_str().unwrap();
    assert!(
        challenge.contains(&format!("http://{host}/.well-known/oauth-protected-resource/mcp")),
        "{challenge}"
    );
    fixture.allowed_hosts.set(&[]);
    let refused = fixture.http.get(&origin).header("host", &host).send().await.unwrap();
    assert_eq!(refused.status(), 403);
}

#[tokio::test]
async fn client_gets_access_when_user_allows_it() {
    let fixture = Fixture::start().await;
    let id = fixture.registered("Agent").await;
    let waiting = fixture.authorize(&id, &[]).await;
    let page = format!("{}{}", fixture.origin(), location(&waiting).unwrap());
    let shown = fixture.http.get(&page).send().await.unwrap();
    assert_eq!(shown.status(), 200);
    assert_eq!(shown.headers()["x-frame-options"], "DENY");
    assert_eq!(shown.headers()["cache-control"], "no-store");
    let policy = shown.headers()["content-security-policy"].to_str().unwrap();
    assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"), "{policy}");
    let html = shown.text().await.unwrap();
    assert!(html.contains("http-equiv=\"refresh\"") && !html.contains("<script") && !html.contains("<form"));
    let asked = fixture.user.asked.lock().clone();
    assert_eq!(asked.len(), 1);
    assert_eq!((asked[0].says.as_str(), asked[0].client_id.as_str()), ("Agent", id.as_str()));
    assert_eq!((asked[0].redirect_uri.as_str(), &asked[0].known_as), (REDIRECT, &None));
    assert_eq!(asked[0].resembles.as_deref(), Some("Agent"), "the user has a client of this name");
    assert_eq!(fixture.registry.list().len(), 1, "nothing was granted yet");

    fixture.user.allows();
    let response = fixture.outcome(waiting).await;
    let code = parameter(&location(&response).unwrap(), "code").unwrap();
    let tokens = fixture.redeem(&id, &code, &[]).await.unwrap();
    // The name of another client is taken.
    assert_eq!(*fixture.script.added_clients.lock(), ["Agent 2"]);
    let listed = fixture.registry.list();
    assert_eq!(listed[1].access, ClientAccess::Oauth { client_id: id.clone() });
    assert!(fixture.is_valid(&tokens.access).await);
    assert!(!fixture.is_valid(&tokens.refresh).await);
    for path in ["/mcp", "/mcp/", "/servers/own%20server/mcp"] {
        assert_eq!(fixture.ping(&tokens.access, path).await.0, 200, "{path}");
    }
    // The same client again: it is asked about again, and stays one client.
    fixture.access(&id, &[]).await;
    let asked = fixture.user.asked.lock().last().cloned().unwrap();
    assert_eq!((asked.known_as.as_deref(), asked.resembles.as_deref()), (Some("Agent 2"), Some("Agent")));
    assert_eq!(fixture.registry.list().len(), 2);
    assert!(fixture.is_valid(&tokens.access).await);
}

/// Tried: an address that reads like another one. Stopped by: the user sees it as it is used.
#[tokio::test]
async fn user_is_shown_the_address_that_is_used() {
    let fixture = Fixture::start().await;
    let id = fixture.registered("Agent").await;
    for disguised in [
        "http:\\\\0x7f.1:51000\\callback",
        "http://127.0.0.1:51000/good.example/../call\tback",
        "HTTP:127.0.0.1:51000/%2e/callback",
    ] {
        let asked = fixture.user.asked.lock().len();
        let waiting = fixture.authorize(&id, &[("redirect_uri", disguised)]).await;
        assert_eq!(waiting.status(), 303, "{disguised}");
        eventually("the user is asked", || fixture.user.asked.lock().len() > asked).await;
        assert_eq!(fixture.user.asked.lock().last().unwrap().redirect_uri, REDIRECT, "{disguised}");
    }
}

#[tokio::test]
async fn denial_and_abandoned_request_give_nothing() {
    let fixture = Fixture::start().await;
    let id = fixture.registered("Other").await;
    for answer in [ApprovalAnswer::Decline, ApprovalAnswer::Cancel] {
        fixture.user.answer.send_replace(Some(answer));
        let response = fixture.outcome(fixture.authorize(&id, &[]).await).await;
        let address = location(&response).unwrap();
        assert_eq!(parameter(&address, "error").as_deref(), Some("access_denied"));
        assert_eq!(parameter(&address, "state").as_deref(), Some("a state&more"));
        assert_eq!(parameter(&address, "iss"), Some(fixture.origin()));
        assert_eq!(parameter(&address, "code"), None);
    }
    // A second request of the same client takes the place of the first.
    fixture.user.answer.send_replace(None);
    let first = fixture.authorize(&id, &[]).await;
    eventually("the user is asked", || fixture.user.asked.lock().len() == 3).await;
    let second = fixture.authorize(&id, &[]).await;
    eventually("the first is withdrawn", || {
        fixture.user.withdrawn.load(std::sync::atomic::Ordering::SeqCst) == 1
    })
    .await;
    assert_eq!(fixture.outcome(first).await.status(), 400);
    fixture.user.allows();
    assert!(location(&fixture.outcome(second).await).unwrap().contains("code="));
    // The page of an outcome that was collected leads nowhere.
    let unknown = fixture.http.get(format!("{}/oauth/wait?id=x", fixture.origin())).send().await.unwrap();
    assert_eq!(unknown.status(), 400);
    assert_eq!(fixture.registry.list().len(), 1);
}

/// Tried: to ask under one name after another until the user gives in. Stopped by: after three denials a program isn't heard
/// for a while.
#[tokio::test]
async fn denied_program_cannot_ask_on_and_on() {
    let fixture = Fixture::start().await;
    fixture.user.answer.send_replace(Some(ApprovalAnswer::Decline));
    for name in ["One", "Two", "Three"] {
        let id = fixture.registered(name).await;
        let response = fixture.outcome(fixture.authorize(&id, &[]).await).await;
        assert!(location(&response).unwrap().contains("error=access_denied"));
    }
    fixture.user.allows();
    let id = fixture.registered("Four").await;
    assert_eq!(fixture.authorize(&id, &[]).await.status(), 400);
    assert_eq!(fixture.user.asked.lock().len(), 3);
}

#[tokio::test]
async fn bad_requests_reach_neither_user_nor_foreign_address() {
    let fixture = Fixture::start().await;
    fixture.user.allows();
    let id = fixture.registered("Agent").await;
    // Without a client and an address that belong together, nothing is sent anywhere.
    for (what, changed) in [
        ("no client", vec![("client_id", "")]),
        ("an unknown client", vec![("client_id", "registered.00.e30")]),
        ("no redirect", vec![("redirect_uri", "")]),
        ("another path", vec![("redirect_uri", "http://127.0.0.1:51000/other")]),
        ("another name", vec![("redirect_uri", "http://localhost:51000/callback")]),
        ("another host", vec![("redirect_uri", "http://evil.example/callback")]),
        ("https elsewhere", vec![("redirect_uri", "https://evil.example/callback")]),
        ("another scheme", vec![("redirect_uri", "cursor://callback")]),
        ("a script", vec![("redirect_uri", "javascript:alert(1)")]),
    ] {
        let response = fixture.outcome(fixture.authorize(&id, &changed).await).await;
        assert_eq!(response.status(), 400, "{what}");
        assert!(!response.headers().contains_key("location"), "{what}");
    }
    for (changed, error) in [
        (vec![("response_type", "token")], "unsupported_response_type"),
        (vec![("response_type", "")], "invalid_request"),
        (vec![("code_challenge", "")], "invalid_request"),
        (vec![("code_challenge", "short")], "invalid_request"),
        (vec![("code_challenge_method", "")], "invalid_request"),
        (vec![("code_challenge_method", "plain")], "invalid_request"),
        (vec![("response_mode", "fragment")], "invalid_request"),
        (vec![("resource", "https://evil.example/mcp")], "invalid_target"),
        (vec![("resource", "http://127.0.0.1:1/mcp")], "invalid_target"),
    ] {
        let response = fixture.outcome(fixture.authorize(&id, &changed).await).await;
        let address = location(&response).unwrap();
        assert_eq!(parameter(&address, "error").as_deref(), Some(error), "{changed:?}");
        assert_eq!(parameter(&address, "iss"), Some(fixture.origin()));
    }
    let twice = format!("{}/oauth/authorize?client_id=a&client_id=b", fixture.origin());
    assert_eq!(fixture.http.get(twice).send().await.unwrap().status(), 400);
    assert!(fixture.user.asked.lock().is_empty());
}

#[tokio::test]
async fn web_pages_cannot_make_gatehouse_ask() {
    let fixture = Fixture::start().await;
    let id = fixture.registered("Agent").await;
    let address = format!("{}/oauth/authorize", fixture.origin());
    let params = [
        ("response_type", "code"),
        ("client_id", id.as_str()),
        ("redirect_uri", REDIRECT),
        ("code_challenge", CHALLENGE),
        ("code_challenge_method", "S256"),
    ];
    let url = Url::parse_with_params(&address, params).unwrap();
    for (name, value, status) in [
        ("sec-fetch-dest", "image", 403),
        ("sec-fetch-dest", "iframe", 403),
        ("sec-fetch-site", "cross-site", 200),
        ("sec-fetch-site", "same-site", 200),
        ("sec-purpose", "prefetch;prerender", 200),
        ("origin", "https://evil.example", 403),
    ] {
        let response = fixture.http.get(url.clone()).header(name, value).send().await.unwrap();
        assert_eq!(response.status(), status, "{name}: {value}");
        let body = response.text().await.unwrap();
        // A click of the person leads on.
        assert_eq!(status == 200, body.contains("href=\"/oauth/authorize?response_type=code&amp;"), "{body}");
    }
    assert!(fixture.user.asked.lock().is_empty());
    for site in ["none", "same-origin"] {
        let direct = fixture.http.get(url.clone()).header("sec-fetch-site", site).send().await.unwrap();
        assert_eq!(direct.status(), 303, "{site}");
    }
}

#[tokio::test]
async fn registration_serves_public_clients_on_this_computer() {
    let fixture = Fixture::start().await;
    let metadata = json!({
        "client_name": "VS Code",
        "redirect_uris": ["https://vscode.dev/redirect", "http://127.0.0.1:33418/"],
        "token_endpoint_auth_method": "none",
        "scope": "x",
    });
    let response: Value = fixture.register(&metadata).await.json().await.unwrap();
    assert_eq!(response["redirect_uris"], json!(["http://127.0.0.1:33418/"]));
    assert_eq!(response["client_name"], "VS Code");
    assert!(response.get("client_secret").is_none());
    for (metadata, error) in [
        (json!({}), "invalid_redirect_uri"),
        (json!({ "redirect_uris": ["cursor://x/callback"] }), "invalid_redirect_uri"),
        (json!({ "redirect_uris": ["https://evil.example/"] }), "invalid_redirect_uri"),
        (
            json!({ "redirect_uris": [REDIRECT], "token_endpoint_auth_method": "client_secret_basic" }),
            "invalid_client_metadata",
        ),
        (json!({ "redirect_uris": REDIRECT }), "invalid_client_metadata"),
    ] {
        let response = fixture.register(&metadata).await;
        assert_eq!(response.status(), 400, "{error}");
        assert_eq!(response.json::<Value>().await.unwrap()["error"], error);
    }
    // Registering fills nothing up: the first of very many still counts.
    let first = fixture.registered("First").await;
    for _ in 0..200 {
        fixture.registered("Flood").await;
    }
    assert_eq!(fixture.registry.list().len(), 1);
    fixture.access(&first, &[]).await;
}

#[tokio::test]
async fn client_with_document_gets_access() {
    let fixture = Fixture::start().await;
    let document = |id: &str| json!({ "client_id": id, "client_name": "App", "redirect_uris": ["http://127.0.0.1/callback"] });
    fixture.documents.0.lock().insert(DOCUMENT.to_owned(), document(DOCUMENT));
    let tokens = fixture.access(DOCUMENT, &[]).await;
    assert!(fixture.is_valid(&tokens.access).await);
    assert_eq!(fixture.user.asked.lock()[0].client_id, DOCUMENT);
    // A document elsewhere, another client's document, one that isn't there, and one that forbids the address.
    let other = "https://app.example/other.json";
    fixture.documents.0.lock().insert(other.to_owned(), document(DOCUMENT));
    for (id, redirect) in [
        (other, REDIRECT),
        ("https://app.example/missing.json", REDIRECT),
        (DOCUMENT, "http://127.0.0.1:51000/other"),
    ] {
        let response = fixture.authorize(id, &[("redirect_uri", redirect)]).await;
        assert_eq!(fixture.outcome(response).await.status(), 400, "{id}");
    }
    assert_eq!(fixture.user.asked.lock().len(), 1);
}

#[tokio::test]
async fn code_is_for_one_client_one_request_and_one_time() {
    let fixture = Fixture::start().await;
    let (id, other) = (fixture.registered("Agent").await, fixture.registered("Other").await);
    for changed in [
        vec![("client_id", other.as_str())],
        vec![("redirect_uri", "http://127.0.0.1:51001/callback")],
        vec![("code_verifier", "another-verifier-that-is-long-enough-to-be-one")],
        vec![("code_verifier", CHALLENGE)],
        vec![("code", "gatehouse_ac_made-up")],
    ] {
        let code = fixture.code(&id, &[]).await;
        assert_eq!(
            fixture.redeem(&id, &code, &changed).await,
            Err("invalid_grant".to_owned()),
            "{changed:?}"
        );
        // A code that was tried in vain is used up.
        if changed[0].0 != "code" {
            assert_eq!(fixture.redeem(&id, &code, &[]).await, Err("invalid_grant".to_owned()), "{changed:?}");
        }
    }
    for changed in [
        vec![("code_verifier", "")],
        vec![("client_id", "")],
        vec![("redirect_uri", "")],
        vec![("grant_type", "")],
    ] {
        let code = fixture.code(&id, &[]).await;
        assert_eq!(
            fixture.redeem(&id, &code, &changed).await,
            Err("invalid_request".to_owned()),
            "{changed:?}"
        );
    }
    let code = fixture.code(&id, &[]).await;
    let changed = [("grant_type", "client_credentials")];
    assert_eq!(fixture.redeem(&id, &code, &changed).await, Err("unsupported_grant_type".to_owned()));
    let changed = [("client_secret", "x")];
    assert_eq!(fixture.redeem(&id, &code, &changed).await, Err("invalid_client".to_owned()));
    assert_eq!(fixture.registry.list().len(), 1, "nobody got access");
    // Late.
    fixture.clock.advance(Duration::from_secs(61));
    assert_eq!(fixture.redeem(&id, &code, &[]).await, Err("invalid_grant".to_owned()));
    // Twice: what came of it ends.
    let code = fixture.code(&id, &[]).await;
    let tokens = fixture.redeem(&id, &code, &[]).await.unwrap();
    assert!(fixture.is_valid(&tokens.access).await);
    assert_eq!(fixture.redeem(&id, &code, &[]).await, Err("invalid_grant".to_owned()));
    assert!(!fixture.is_valid(&tokens.access).await);
    assert_eq!(fixture.refresh(&id, &tokens.refresh).await, Err("invalid_grant".to_owned()));
}

#[tokio::test]
async fn tokens_are_for_their_resource() {
    let fixture = Fixture::start().await;
    let id = fixture.registered("Agent").await;
    let (all, one) =
        (format!("{}/mcp", fixture.origin()), format!("{}/servers/own%20server/mcp", fixture.origin()));
    let code = fixture.code(&id, &[("resource", &one)]).await;
    assert_eq!(fixture.user.asked.lock()[0].server.as_deref(), Some("own server"));
    assert_eq!(fixture.redeem(&id, &code, &[("resource", &all)]).await, Err("invalid_target".to_owned()));
    let code = fixture.code(&id, &[("resource", &one)]).await;
    let tokens = fixture.redeem(&id, &code, &[("resource", &one)]).await.unwrap();
    assert_eq!(fixture.ping(&tokens.access, "/servers/own%20server/mcp").await.0, 200);
    for path in ["/mcp", "/sse", "/servers/other/mcp"] {
        let (status, challenge) = fixture.ping(&tokens.access, path).await;
        assert_eq!(status, 401, "{path}");
        assert!(challenge.contains("error=\"invalid_token\""), "{challenge}");
    }
    let code = fixture.code(&id, &[("resource", &all)]).await;
    assert_eq!(fixture.redeem(&id, &code, &[("resource", &one)]).await, Err("invalid_target".to_owned()));
}

#[tokio::test]
async fn refresh_replaces_both_tokens_and_reuse_ends_them() {
    let fixture = Fixture::start().await;
    let (id, other) = (fixture.registered("Agent").await, fixture.registered("Other").await);
    let first = fixture.access(&id, &[]).await;
    let apart = fixture.access(&id, &[]).await;
    assert_eq!(fixture.refresh(&other, &first.refresh).await, Err("invalid_grant".to_owned()));
    let second = fixture.refresh(&id, &first.refresh).await.unwrap();
    assert!(!fixture.is_valid(&first.access).await && fixture.is_valid(&second.access).await);
    assert_eq!(fixture.refresh(&id, &second.access).await, Err("invalid_grant".to_owned()));
    // An access token ends by itself; a refresh gives another one.
    fixture.clock.advance(HOUR);
    let (status, challenge) = fixture.ping(&second.access, "/mcp").await;
    assert_eq!(status, 401);
    assert!(
        challenge.contains("error=\"invalid_token\"") && challenge.contains("resource_metadata="),
        "{challenge}"
    );
    let third = fixture.refresh(&id, &second.refresh).await.unwrap();
    let session = open_session(&fixture, &third.access).await;
    // Somebody has an old one: all that came of this consent ends, and what runs with it.
    assert_eq!(fixture.refresh(&id, &first.refresh).await, Err("invalid_grant".to_owned()));
    assert!(!fixture.is_valid(&third.access).await);
    assert_eq!(fixture.refresh(&id, &third.refresh).await, Err("invalid_grant".to_owned()));
    assert!(fixture.script.ended_sessions.lock().contains(&inner_id(&session)));
    // Another consent is another family.
    let apart = fixture.refresh(&id, &apart.refresh).await.unwrap();
    assert!(fixture.is_valid(&apart.access).await);
    fixture.clock.advance(HOUR * 24 * 91);
    assert_eq!(fixture.refresh(&id, &apart.refresh).await, Err("invalid_grant".to_owned()));
}

/// Opens a session with a token and returns its id.
async fn open_session(fixture: &Fixture, token: &str) -> String {
    let response = fixture
        .http
        .post(fixture.url())
        .bearer_auth(token)
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .body(r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"o","version":"1"}}}"#)
        .send()
        .await
        .unwrap();
    assert_eq!(response.status(), 200);
    response.headers()["mcp-session-id"].to_str().unwrap().to_owned()
}

#[tokio::test]
async fn revocation_ends_tokens_at_once() {
    let fixture = Fixture::start().await;
    let id = fixture.registered("Agent").await;
    let picks: [fn(&GivenTokens) -> String; 2] =
        [|tokens| tokens.access.clone(), |tokens| tokens.refresh.clone()];
    for pick in picks {
        let tokens = fixture.access(&id, &[]).await;
        let session = open_session(&fixture, &tokens.access).await;
        let stream = fixture
            .http
            .get(fixture.url())
            .bearer_auth(&tokens.access)
            .header("accept", "text/event-stream")
            .header("mcp-session-id", &session);
        let mut stream = SseReader::new(stream.send().await.unwrap());
        fixture.revoke(&pick(&tokens)).await;
        assert!(!fixture.is_valid(&tokens.access).await);
        assert_eq!(fixture.refresh(&id, &tokens.refresh).await, Err("invalid_grant".to_owned()));
        while stream.next().await.is_some() {}
    }
    fixture.revoke("unknown").await;
    // The user revokes the client itself.
    let tokens = fixture.access(&id, &[]).await;
    fixture.registry.revoke("Agent 2").await.unwrap();
    assert!(!fixture.is_valid(&tokens.access).await);
    assert_eq!(fixture.refresh(&id, &tokens.refresh).await, Err("invalid_grant".to_owned()));
    // Not even with a code that it got before.
    let code = {
        fixture.access(&id, &[]).await;
        fixture.code(&id, &[]).await
    };
    fixture.registry.revoke("Agent 2").await.unwrap();
    assert_eq!(fixture.redeem(&id, &code, &[]).await, Err("invalid_grant".to_owned()));
    assert_eq!(fixture.registry.list().len(), 1, "it is back");
    // It may ask again, and is a new client then.
    let again = fixture.access(&id, &[]).await;
    assert!(fixture.is_valid(&again.access).await && !fixture.is_valid(&tokens.access).await);
    assert!(fixture.registry.rotate("Agent 2").await.is_err(), "it has no token to replace");
}

#[tokio::test]
async fn access_survives_restart_and_no_token_is_stored() {
    let fixture = Fixture::start().await;
    let id = fixture.registered("Agent").await;
    let tokens = fixture.access(&id, &[]).await;
    let code = fixture.code(&id, &[]).await;
    let fixture = fixture.restart().await;
    assert!(fixture.is_valid(&tokens.access).await);
    let renewed = fixture.refresh(&id, &tokens.refresh).await.unwrap();
    assert!(fixture.is_valid(&renewed.access).await && !fixture.is_valid(&tokens.access).await);
    assert_eq!(fixture.redeem(&id, &code, &[]).await, Err("invalid_grant".to_owned()));
    // What the user revoked stays revoked.
    fixture.registry.revoke("Agent 2").await.unwrap();
    let fixture = fixture.restart().await;
    assert!(!fixture.is_valid(&renewed.access).await);
    let folder = fixture.store.dir().to_owned();
    fixture.store.close();
    for file in std::fs::read_dir(folder).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap_or_default();
        for secret in [&tokens.access, &tokens.refresh, &renewed.access, &renewed.refresh, &code] {
            let random =
                secret.rsplit_once('.').map_or(secret.trim_start_matches("gatehouse_ac_"), |(_, it)| it);
            let random = random.as_bytes();
            assert!(!bytes.windows(random.len()).any(|window| window == random));
        }
    }
}
