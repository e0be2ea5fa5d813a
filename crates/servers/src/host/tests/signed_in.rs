//! A server rejects a token: the token source is asked and the request repeated once, or the
//! connection reports what is missing.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::{self, Next as Go};
use axum::response::Response;
use gatehouse_auth::{AuthError, AuthRecovery, AuthRejection};
use gatehouse_model::server::Remote;
use gatehouse_model::{BoxFuture, Secret};

use super::over_http::start_behind;
use super::*;

/// Accepts requests with the right token; calls with the argument `wide` need another one.
async fn guard(State(()): State<()>, request: Request, go: Go) -> Response {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    let wide = String::from_utf8_lossy(&body).contains(r#""wide":1"#);
    let token = parts.headers.get("authorization").and_then(|value| value.to_str().ok()).unwrap_or_default();
    let refused = |status: u16, challenge: &str| {
        Response::builder().status(status).header("www-authenticate", challenge).body(Body::empty()).unwrap()
    };
    match token {
        "Bearer wide" => {}
        "Bearer new" if !wide => {}
        "Bearer new" => return refused(403, r#"Bearer error="insufficient_scope", scope="a b""#),
        _ => return refused(401, r#"Bearer resource_metadata="https://auth.example/m""#),
    }
    go.run(Request::from_parts(parts, Body::from(body))).await
}

struct ScriptedTokenSource {
    next: fn(&AuthRejection) -> Result<AuthRecovery, AuthError>,
    takes: Duration,
    refusals: Mutex<Vec<AuthRejection>>,
}

impl ScriptedTokenSource {
    fn new(next: fn(&AuthRejection) -> Result<AuthRecovery, AuthError>) -> Arc<Self> {
        Arc::new(Self { next, takes: Duration::ZERO, refusals: Mutex::default() })
    }
}

impl TokenSource for ScriptedTokenSource {
    fn bearer<'a>(&'a self, _: &'a Arc<ServerConfig>) -> BoxFuture<'a, Result<Option<Secret>, AuthError>> {
        Box::pin(async { Ok(Some(Secret::new("old"))) })
    }

    fn recover<'a>(
        &'a self,
        _: &'a Arc<ServerConfig>,
        refusal: AuthRejection,
    ) -> BoxFuture<'a, Result<AuthRecovery, AuthError>> {
        Box::pin(async move {
            if refusal.status == 403 {
                tokio::time::sleep(self.takes).await;
            }
            let next = (self.next)(&refusal);
            self.refusals.lock().push(refusal);
            next
        })
    }
}

async fn open(
    tokens: &Arc<ScriptedTokenSource>,
) -> (Result<Connection, ConnectError>, ConnectionHarness, over_http::RunningServer) {
    let running = start_behind("legacy", |app| app.layer(middleware::from_fn_with_state((), guard))).await;
    let harness = ConnectionHarness::with_tokens(Arc::<ScriptedTokenSource>::clone(tokens));
    let (sender, _inbound) = mpsc::channel(64);
    let spec = harness.spec(Transport::Http(Remote::at(&running.url)), LifecycleHint::Auto);
    let connected = tokio::time::timeout(LONG, connect(&spec, sender, &CancellationToken::new())).await;
    (connected.unwrap(), harness, running)
}

#[tokio::test]
async fn uses_renewed_token() {
    let tokens = ScriptedTokenSource::new(|_| Ok(AuthRecovery::Retry(Secret::new("new"))));
    let (connection, harness, running) = open(&tokens).await;
    let connection = connection.unwrap();
    let reply =
        connection.request(UpstreamRequest::new("tools/call", call("odd", "{}")), limit()).await.unwrap();
    assert!(matches!(reply, RpcOutcome::Result(_)));
    {
        let refusals = tokens.refusals.lock();
        assert_eq!(refusals.len(), 1, "{refusals:?}");
        assert_eq!(refusals[0].status, 401);
        assert_eq!(refusals[0].sent.as_ref().map(Secret::reveal), Some("old"));
        assert!(refusals[0].challenges[0].contains("auth.example") && !refusals[0].can_wait);
    }
    connection.close().await;
    harness.end().await;
    running.end().await;
}

#[tokio::test]
async fn reports_missing_authorization() {
    type RejectionHandler = fn(&AuthRejection) -> Result<AuthRecovery, AuthError>;
    type ErrorCheck = fn(&ConnectError) -> bool;
    let table: [(RejectionHandler, ErrorCheck); 4] = [
        (
            |_| Ok(AuthRecovery::SignIn { issuer: Some("https://a.example".to_owned()) }),
            |error| matches!(error, ConnectError::Request(RequestError::NeedsAuth { issuer: Some(issuer) }) if issuer == "https://a.example"),
        ),
        (
            |_| Ok(AuthRecovery::Register { reason: "No way.".into() }),
            |error| matches!(error, ConnectError::Request(RequestError::Unregistered { reason }) if reason.to_string() == "No way."),
        ),
        (
            |_| Ok(AuthRecovery::Refused { reason: "It is off.".into() }),
            |error| {
                error.failure_kind() == gatehouse_model::status::FailureKind::Configuration
                    && error.to_string() == "It is off."
            },
        ),
        (
            |_| Err(AuthError::Unreachable("no route".into())),
            |error| error.failure_kind() == gatehouse_model::status::FailureKind::TemporaryNetwork,
        ),
    ];
    for (number, (next, expected)) in table.into_iter().enumerate() {
        let (connection, harness, running) = open(&ScriptedTokenSource::new(next)).await;
        let error = connection.err().unwrap();
        assert!(expected(&error), "{number}: {error:?}");
        harness.end().await;
        running.end().await;
    }
}

#[tokio::test]
async fn call_continues_after_scope_upgrade() {
    let next: fn(&AuthRejection) -> Result<AuthRecovery, AuthError> =
        |refusal| Ok(AuthRecovery::Retry(Secret::new(if refusal.status == 403 { "wide" } else { "new" })));
    let takes = Duration::from_millis(900);
    let tokens = Arc::new(ScriptedTokenSource { next, takes, refusals: Mutex::default() });
    let (connection, harness, running) = open(&tokens).await;
    let connection = connection.unwrap();
    // The user takes longer than the call's limit: the clock is paused meanwhile.
    let limit = CallLimit { silent: Some(Duration::from_millis(600)), cap: Some(Duration::from_millis(600)) };
    let reply =
        connection.request(UpstreamRequest::new("tools/call", call("odd", r#"{"wide":1}"#)), limit).await;
    assert!(matches!(reply, Ok(RpcOutcome::Result(_))), "{reply:?}");
    {
        let refusals = tokens.refusals.lock();
        assert!(refusals.last().is_some_and(|last| last.status == 403 && last.can_wait), "{refusals:?}");
    }
    connection.close().await;
    harness.end().await;
    running.end().await;
}

#[tokio::test]
async fn limits_token_retries() {
    let tokens = ScriptedTokenSource::new(|_| Ok(AuthRecovery::Retry(Secret::new("wrong"))));
    let (connection, harness, running) = open(&tokens).await;
    assert!(matches!(connection, Err(ConnectError::Request(RequestError::NeedsAuth { .. }))));
    assert!(tokens.refusals.lock().len() <= 12, "it was tried too often");
    harness.end().await;
    running.end().await;
}
