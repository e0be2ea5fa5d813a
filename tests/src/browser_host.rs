//! Gatehouse behind a page in a browser, for tests of the UI: the real core, with the windows' commands
//! as requests to the page's own origin. It replaces the shell and is not part of any release.

mod channels;
mod pages;
mod vault;
mod windows;

use std::future::{Future, IntoFuture};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result};
use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use gatehouse_app::Core;
use gatehouse_model::OpenUrl;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::{Mutex, RwLock, watch};
use vault::HostedCore;

/// Requests to windows and to the browser, neither of which exist here.
#[derive(Clone, Default)]
struct RecordedActions(Arc<parking_lot::Mutex<Vec<String>>>);

impl RecordedActions {
    fn add(&self, line: String) {
        self.0.lock().push(line);
    }

    fn all(&self) -> Vec<String> {
        self.0.lock().clone()
    }
}

impl OpenUrl for RecordedActions {
    fn open(&self, url: &str) -> Result<(), String> {
        self.add(format!("browser {url}"));
        Ok(())
    }
}

/// State of the routes.
struct BrowserHost {
    /// Taken when the server stops.
    core: RwLock<HostedCore>,
    data_dir: PathBuf,
    /// Number of cores started so far.
    core_count: watch::Sender<u64>,
    /// Host and port of the page, as browsers send them in `Host`.
    authority: String,
    pages: PathBuf,
    preferences: Mutex<Value>,
    preferences_changed: watch::Sender<u64>,
    /// What the page requested of its window.
    recorded_actions: RecordedActions,
}

/// Serves the pages in this folder over a core on that data folder until told to stop. `ready` gets the
/// one line with the address. If the folder has a vault, the core starts once the page has unlocked it.
///
/// # Errors
/// When the core does not start or the port cannot be had.
pub async fn serve(
    data_dir: PathBuf,
    pages: PathBuf,
    ready: impl FnOnce(Value),
    stop: impl Future<Output = ()> + Send + 'static,
) -> Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.context("no port for the door")?;
    let authority = listener.local_addr()?.to_string();
    let host = Arc::new(BrowserHost {
        core: RwLock::new(HostedCore::Locked),
        data_dir,
        core_count: watch::Sender::new(0),
        authority: authority.clone(),
        pages,
        preferences: Mutex::new(json!({"theme": "light", "language": "en", "saidKeepsRunning": false})),
        preferences_changed: watch::Sender::new(0),
        recorded_actions: RecordedActions::default(),
    });
    host.start().await?;
    let endpoint = host.core.read().await.core().ok().map(Core::endpoint);
    ready(json!({"address": format!("http://{authority}"), "endpoint": endpoint}));
    let serving = axum::serve(listener, routes(Arc::clone(&host))).into_future();
    // Event streams never end by themselves: they are dropped with the server.
    tokio::select! {
        served = serving => served.context("the door closed")?,
        () = stop => {}
    }
    let hosted = std::mem::replace(&mut *host.core.write().await, HostedCore::Ended);
    if let HostedCore::Running(core, _) = hosted {
        core.shutdown().await;
    }
    Ok(())
}

fn routes(host: Arc<BrowserHost>) -> Router {
    Router::new()
        .route("/door/noted", get(windows::recorded_actions))
        .route("/door/events", get(channels::events))
        .route("/door/main_signals", get(channels::main_signals))
        .route("/door/prompt_signals", get(channels::prompt_signals))
        .route("/door/{command}", post(windows::run))
        .fallback(pages::page)
        .layer(middleware::from_fn_with_state(Arc::clone(&host), require_own_origin))
        .with_state(host)
}

/// Accepts requests of the page's own origin only.
async fn require_own_origin(State(host): State<Arc<BrowserHost>>, request: Request, next: Next) -> Response {
    let fits = is_own_request(&host, request.headers());
    if fits { next.run(request).await } else { StatusCode::FORBIDDEN.into_response() }
}

fn is_own_request(host: &BrowserHost, headers: &HeaderMap) -> bool {
    let says = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let own = format!("http://{}", host.authority);
    says(header::HOST) == Some(host.authority.as_str())
        && says(header::ORIGIN).is_none_or(|origin| origin == own)
}
