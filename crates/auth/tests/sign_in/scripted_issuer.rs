//! An authorization server and a protected resource in one, on a port of this machine. It does what it
//! is told, checks what a real one checks, and remembers what it saw.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// A request that was seen.
#[derive(Clone, Debug)]
pub(crate) struct RecordedRequest {
    pub(crate) path: String,
    pub(crate) fields: HashMap<String, String>,
    pub(crate) body: Value,
    pub(crate) authorization: Option<String>,
}

impl RecordedRequest {
    pub(crate) fn field(&self, name: &str) -> &str {
        self.fields.get(name).map_or("", String::as_str)
    }

    /// Name and secret of a Basic authorization.
    pub(crate) fn basic(&self) -> Option<(String, String)> {
        let pair = STANDARD.decode(self.authorization.as_ref()?.strip_prefix("Basic ")?).ok()?;
        let pair = String::from_utf8(pair).ok()?;
        let (name, secret) = pair.split_once(':')?;
        Some((name.to_owned(), secret.to_owned()))
    }
}

/// What it does.
pub(crate) struct IssuerBehavior {
    /// Answers to paths, before anything else.
    pub(crate) answers: HashMap<String, (u16, String)>,
    /// Where the resource's metadata is, and what is in it beyond the usual.
    pub(crate) resource_at: Vec<String>,
    pub(crate) resource: Value,
    /// The same for the authorization server's.
    pub(crate) server_at: Vec<String>,
    pub(crate) server: Value,
    /// Parameters of the browser's answer that are other than usual; `null` leaves one out.
    pub(crate) callback: Value,
    /// Answers of the token endpoint, the next one first; the usual when there are none.
    pub(crate) token: VecDeque<(u16, Value)>,
    /// What is in a usual token beyond the usual.
    pub(crate) given: Value,
    /// How the token endpoint waits before it answers.
    pub(crate) gate: Option<Arc<tokio::sync::Semaphore>>,
    /// Answers of the registration, the next one first.
    pub(crate) register: VecDeque<(u16, Value)>,
    /// Claims of the id token; none is given where null.
    pub(crate) claims: Value,
    /// What the revocation endpoint says.
    pub(crate) revoke: u16,
    /// The revocation endpoint never answers.
    pub(crate) hangs_at_revocation: bool,
}

struct IssuedCode {
    challenge: String,
    redirect: String,
    scope: String,
    nonce: String,
    client: String,
}

struct IssuerState {
    origin: String,
    behavior: Mutex<IssuerBehavior>,
    recorded: Mutex<Vec<RecordedRequest>>,
    codes: Mutex<HashMap<String, IssuedCode>>,
    secrets: Mutex<Vec<String>>,
    count: std::sync::atomic::AtomicU64,
}

/// It, as long as this lives.
pub(crate) struct ScriptedIssuer {
    state: Arc<IssuerState>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for ScriptedIssuer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Puts the members of one object over those of another; `null` takes one away.
fn merge(mut base: Value, more: &Value) -> Value {
    for (name, value) in more.as_object().into_iter().flatten() {
        if value.is_null() {
            base.as_object_mut().unwrap().remove(name);
        } else {
            base[name] = value.clone();
        }
    }
    base
}

impl ScriptedIssuer {
    pub(crate) async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let behavior = IssuerBehavior {
            answers: HashMap::new(),
            resource_at: vec!["/.well-known/oauth-protected-resource/mcp".to_owned()],
            resource: json!({}),
            server_at: vec!["/.well-known/oauth-authorization-server".to_owned()],
            server: json!({}),
            callback: json!({}),
            token: VecDeque::new(),
            given: json!({}),
            gate: None,
            register: VecDeque::new(),
            claims: Value::Null,
            revoke: 200,
            hangs_at_revocation: false,
        };
        let state = Arc::new(IssuerState {
            origin,
            behavior: Mutex::new(behavior),
            recorded: Mutex::default(),
            codes: Mutex::default(),
            secrets: Mutex::default(),
            count: std::sync::atomic::AtomicU64::new(0),
        });
        let app = Router::new().fallback(handle).with_state(Arc::clone(&state));
        let task = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { state, task }
    }

    pub(crate) fn origin(&self) -> &str {
        &self.state.origin
    }

    pub(crate) fn at(&self, path: &str) -> String {
        format!("{}{path}", self.state.origin)
    }

    pub(crate) fn behavior(&self) -> MutexGuard<'_, IssuerBehavior> {
        self.state.behavior.lock().unwrap()
    }

    /// What was asked at a path.
    pub(crate) fn recorded(&self, path: &str) -> Vec<RecordedRequest> {
        self.state.recorded.lock().unwrap().iter().filter(|recorded| recorded.path == path).cloned().collect()
    }

    /// All paths, in order.
    pub(crate) fn paths(&self) -> Vec<String> {
        self.state.recorded.lock().unwrap().iter().map(|recorded| recorded.path.clone()).collect()
    }

    /// Requests to the token endpoint with this grant type.
    pub(crate) fn grants(&self, grant: &str) -> Vec<RecordedRequest> {
        let mut recorded = self.recorded("/token");
        recorded.retain(|recorded| recorded.field("grant_type") == grant);
        recorded
    }

    /// Everything that it gave out and nobody else is to see.
    pub(crate) fn secrets(&self) -> Vec<String> {
        self.state.secrets.lock().unwrap().clone()
    }

    /// The challenge of the resource.
    pub(crate) fn challenge(&self, more: &str) -> String {
        let metadata = self.at("/.well-known/oauth-protected-resource/mcp");
        format!(r#"Bearer resource_metadata="{metadata}"{more}"#)
    }
}

async fn handle(
    State(state): State<Arc<IssuerState>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let path = uri.path().to_owned();
    let mut fields: HashMap<String, String> = HashMap::new();
    for text in [uri.query().unwrap_or_default().as_bytes(), &body] {
        fields.extend(
            url::form_urlencoded::parse(text).map(|(name, value)| (name.into_owned(), value.into_owned())),
        );
    }
    let recorded = RecordedRequest {
        path: path.clone(),
        fields,
        body: serde_json::from_slice(&body).unwrap_or_default(),
        authorization: headers.get("authorization").map(|value| value.to_str().unwrap().to_owned()),
    };
    state.recorded.lock().unwrap().push(recorded.clone());
    if let Some((status, text)) = state.behavior.lock().unwrap().answers.get(&path) {
        return raw_response(*status, text);
    }
    if path == "/token" {
        return state.token(&recorded).await;
    }
    let hangs = state.behavior.lock().unwrap().hangs_at_revocation;
    if path == "/revoke" && hangs {
        return std::future::pending().await;
    }
    state.answer(&recorded)
}

/// An answer as it was told: a redirect's text is where it leads.
fn raw_response(status: u16, text: &str) -> Response {
    let status = StatusCode::from_u16(status).unwrap();
    if status.is_redirection() {
        return (status, [("location", text.to_owned())]).into_response();
    }
    (status, [("content-type", "application/json")], text.to_owned()).into_response()
}

fn json_response(status: u16, value: &Value) -> Response {
    raw_response(status, &value.to_string())
}

impl IssuerState {
    fn new_secret(&self, what: &str) -> String {
        let number = self.count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        let port = self.origin.rsplit(':').next().unwrap();
        let secret = format!("{what}-s3cr3t-{port}-{number}");
        self.secrets.lock().unwrap().push(secret.clone());
        secret
    }

    fn answer(&self, recorded: &RecordedRequest) -> Response {
        let mut behavior = self.behavior.lock().unwrap();
        let at = |path: &str| format!("{}{path}", self.origin);
        if behavior.resource_at.contains(&recorded.path) {
            let usual = json!({ "resource": at("/mcp"), "authorization_servers": [self.origin] });
            return json_response(200, &merge(usual, &behavior.resource));
        }
        if behavior.server_at.contains(&recorded.path) {
            let usual = json!({
                "issuer": self.origin,
                "authorization_endpoint": at("/authorize"),
                "token_endpoint": at("/token"),
                "registration_endpoint": at("/register"),
                "revocation_endpoint": at("/revoke"),
                "code_challenge_methods_supported": ["S256"],
                "token_endpoint_auth_methods_supported": ["none", "client_secret_post", "client_secret_basic"],
            });
            return json_response(200, &merge(usual, &behavior.server));
        }
        match recorded.path.as_str() {
            "/authorize" => self.authorize(recorded, &behavior),
            "/register" => {
                if let Some((status, value)) = behavior.register.pop_front() {
                    return json_response(status, &value);
                }
                let mut given = json!({
                    "client_id": format!("client-{}", self.count.fetch_add(1, std::sync::atomic::Ordering::SeqCst)),
                    "token_endpoint_auth_method": recorded.body["token_endpoint_auth_method"],
                });
                if recorded.body["token_endpoint_auth_method"] != "none" {
                    given["client_secret"] = self.new_secret("client").into();
                    given["client_secret_expires_at"] = 0.into();
                }
                json_response(201, &given)
            }
            "/revoke" => json_response(behavior.revoke, &json!({})),
            _ => json_response(404, &json!({})),
        }
    }

    fn authorize(&self, recorded: &RecordedRequest, behavior: &IssuerBehavior) -> Response {
        assert_eq!(recorded.field("response_type"), "code");
        assert_eq!(recorded.field("code_challenge_method"), "S256");
        let code = self.new_secret("code");
        self.codes.lock().unwrap().insert(
            code.clone(),
            IssuedCode {
                challenge: recorded.field("code_challenge").to_owned(),
                redirect: recorded.field("redirect_uri").to_owned(),
                scope: recorded.field("scope").to_owned(),
                nonce: recorded.field("nonce").to_owned(),
                client: recorded.field("client_id").to_owned(),
            },
        );
        let answer = merge(json!({ "code": code, "state": recorded.field("state") }), &behavior.callback);
        let mut to = url::Url::parse(recorded.field("redirect_uri")).unwrap();
        for (name, value) in answer.as_object().unwrap() {
            to.query_pairs_mut().append_pair(name, value.as_str().unwrap());
        }
        raw_response(302, to.as_str())
    }

    async fn token(&self, recorded: &RecordedRequest) -> Response {
        let gate = self.behavior.lock().unwrap().gate.clone();
        if let Some(gate) = gate {
            gate.acquire().await.unwrap().forget();
        }
        let mut behavior = self.behavior.lock().unwrap();
        if let Some((status, value)) = behavior.token.pop_front() {
            return json_response(status, &value);
        }
        let invalid = json!({ "error": "invalid_grant" });
        let mut nonce = String::new();
        let mut audience = String::new();
        let mut scope = recorded.field("scope").to_owned();
        match recorded.field("grant_type") {
            "authorization_code" => {
                let Some(code) = self.codes.lock().unwrap().remove(recorded.field("code")) else {
                    return json_response(400, &invalid);
                };
                let hash = URL_SAFE_NO_PAD.encode(Sha256::digest(recorded.field("code_verifier")));
                if hash != code.challenge || code.redirect != recorded.field("redirect_uri") {
                    return json_response(400, &invalid);
                }
                self.secrets.lock().unwrap().push(recorded.field("code_verifier").to_owned());
                (scope, nonce, audience) = (code.scope, code.nonce, code.client);
            }
            "refresh_token"
                if !self.secrets.lock().unwrap().contains(&recorded.field("refresh_token").to_owned()) =>
            {
                return json_response(400, &invalid);
            }
            _ => {}
        }
        let mut given = json!({
            "access_token": self.new_secret("access"),
            "refresh_token": self.new_secret("refresh"),
            "token_type": "Bearer",
            "expires_in": 3600,
        });
        if !scope.is_empty() {
            given["scope"] = scope.into();
        }
        if !behavior.claims.is_null() {
            let usual = json!({ "iss": self.origin, "aud": audience, "nonce": nonce, "sub": "user-1" });
            let claims = merge(usual, &behavior.claims).to_string();
            let token = format!("e30.{}.{}", URL_SAFE_NO_PAD.encode(claims), self.new_secret("signature"));
            self.secrets.lock().unwrap().push(token.clone());
            given["id_token"] = token.into();
        }
        json_response(200, &merge(given, &behavior.given))
    }
}
