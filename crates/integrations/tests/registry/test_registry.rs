//! A registry on loopback with answers that a test chooses.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use gatehouse_integrations::{McpRegistry, RegistryLimits};
use gatehouse_model::{Clock, Timestamp};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

/// What is answered at a path.
#[derive(Clone)]
pub(crate) enum Reply {
    Body(String),
    /// A body with an entity tag, which is not sent again to who knows it.
    Tagged(String),
    Status(u16),
    /// To another host.
    Redirect,
    /// Never.
    Silence,
}

#[derive(Default)]
struct Shared {
    replies: Mutex<HashMap<String, Reply>>,
    /// Paths with their queries, in their order.
    requests: Mutex<Vec<String>>,
}

/// A running registry; it ends when it is dropped.
pub(crate) struct TestRegistry {
    pub(crate) address: String,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

impl Drop for TestRegistry {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl TestRegistry {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let shared = Arc::new(Shared::default());
        let routes = Router::new().fallback(answer).with_state(Arc::clone(&shared));
        let task = tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
        Self { address, shared, task }
    }

    /// Sets the answer at a path.
    pub(crate) async fn reply(&self, path: &str, reply: Reply) {
        self.shared.replies.lock().await.insert(path.to_owned(), reply);
    }

    /// Publishes one version of an entry.
    pub(crate) async fn publish(&self, server: &Value) {
        let body = listed(server);
        let name = server["name"].as_str().unwrap().replace('/', "%2F");
        for version in [server["version"].as_str().unwrap(), "latest"] {
            let path = format!("/v0.1/servers/{name}/versions/{version}");
            self.reply(&path, Reply::Body(body.to_string())).await;
        }
    }

    pub(crate) async fn requests(&self) -> Vec<String> {
        self.shared.requests.lock().await.clone()
    }
}

async fn answer(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let path = request.uri().path().to_owned();
    let whole = request.uri().path_and_query().map(ToString::to_string).unwrap_or_default();
    shared.requests.lock().await.push(whole);
    let reply = shared.replies.lock().await.get(&path).cloned();
    match reply {
        None => StatusCode::NOT_FOUND.into_response(),
        Some(Reply::Body(body)) => body.into_response(),
        Some(Reply::Tagged(body)) => tagged(request.headers(), body),
        Some(Reply::Status(status)) => StatusCode::from_u16(status).unwrap().into_response(),
        Some(Reply::Redirect) => {
            (StatusCode::FOUND, [(header::LOCATION, "http://127.0.0.2/")]).into_response()
        }
        Some(Reply::Silence) => std::future::pending().await,
    }
}

fn tagged(headers: &HeaderMap, body: String) -> Response {
    const TAG: &str = "\"one\"";
    if headers.get(header::IF_NONE_MATCH).is_some_and(|known| known == TAG) {
        return StatusCode::NOT_MODIFIED.into_response();
    }
    ([(header::ETAG, TAG)], body).into_response()
}

/// An entry as the registry lists it.
pub(crate) fn listed(server: &Value) -> Value {
    json!({
        "server": server,
        "_meta": {"io.modelcontextprotocol.registry/official": {
            "status": "active",
            "publishedAt": "2026-05-01T10:00:00Z",
            "updatedAt": "2026-05-01T10:00:00Z",
            "isLatest": true,
        }},
    })
}

/// A clock that a test sets.
#[derive(Debug, Default)]
pub(crate) struct TestClock(AtomicI64);

impl TestClock {
    pub(crate) fn advance(&self, span: Duration) {
        self.0.fetch_add(i64::try_from(span.as_millis()).unwrap(), Ordering::SeqCst);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp(1_700_000_000_000 + self.0.load(Ordering::SeqCst))
    }
}

/// What asks a registry, with a folder of its own.
pub(crate) struct Asking {
    pub(crate) folder: TempDir,
    pub(crate) clock: Arc<TestClock>,
    pub(crate) registry: McpRegistry,
}

impl Asking {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(TestClock::default());
        let registry = Self::restarted(&folder, &clock);
        Self { folder, clock, registry }
    }

    /// The same after a restart.
    pub(crate) fn restarted(folder: &TempDir, clock: &Arc<TestClock>) -> McpRegistry {
        // Each test of a registry that is silent waits this long; all others have to end within it.
        let limit = Duration::from_secs(5);
        let limits = RegistryLimits { whole: limit, connect: limit, bytes: 64 * 1024 };
        McpRegistry::new(folder.path().join("cache"), Arc::<TestClock>::clone(clock), limits)
    }
}
