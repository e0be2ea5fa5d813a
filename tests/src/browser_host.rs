//! Gatehouse behind a page in a browser, for tests of the UI: the real core and the real shell
//! (`gatehouse-desktop`), with the windows' commands as requests to the page's own origin. It stands in
//! for the window toolkit on a computer without a keychain, and is not part of any release.

mod channels;
mod pages;
mod platform;
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
use gatehouse_desktop::{Desktop, DesktopOptions, KeychainUse};
use gatehouse_model::ErrorCode;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::runtime::Handle;

use channels::Channels;
use platform::{BrowserPlatform, InvisiblePrompt};

/// State of the routes.
struct BrowserHost {
    desktop: Desktop,
    channels: Channels,
    /// Host and port of the page, as browsers send them in `Host`.
    authority: String,
    pages: PathBuf,
    platform: Arc<BrowserPlatform>,
}

/// Serves the pages in this folder over a core on that data folder until told to stop. `ready` gets the
/// one line with the address. If the folder has a vault, the core starts once the page has unlocked it.
pub async fn serve(
    data_dir: PathBuf,
    pages: PathBuf,
    ready: impl FnOnce(Value),
    stop: impl Future<Output = ()> + Send + 'static,
) -> Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.context("no port for the pages")?;
    let authority = listener.local_addr()?.to_string();
    let platform = Arc::new(BrowserPlatform::default());
    let (desktop, start) = Desktop::new(DesktopOptions {
        data_dir,
        keychain: KeychainUse::Never,
        platform: Arc::<BrowserPlatform>::clone(&platform),
        prompt_window: Box::new(InvisiblePrompt),
        runtime: Handle::current(),
    })?;
    Box::pin(desktop.start(start)).await;
    let endpoint = match desktop.endpoint().await {
        Ok(endpoint) => Some(endpoint),
        // The vault is locked.
        Err(error) if error.code == ErrorCode::SecretsUnavailable => None,
        Err(error) => return Err(error.into()),
    };
    ready(json!({"address": format!("http://{authority}"), "endpoint": endpoint}));
    let host = Arc::new(BrowserHost {
        desktop: desktop.clone(),
        channels: Channels::default(),
        authority,
        pages,
        platform,
    });
    let serving = axum::serve(listener, routes(host)).into_future();
    // Event streams never end by themselves: they are dropped with the server.
    tokio::select! {
        served = serving => served.context("the server of the pages ended")?,
        () = stop => {}
    }
    desktop.stop().await;
    Ok(())
}

fn routes(host: Arc<BrowserHost>) -> Router {
    Router::new()
        .route("/host/noted", get(windows::recorded_actions))
        .route("/host/events", get(channels::events))
        .route("/host/main_signals", get(channels::main_signals))
        .route("/host/prompt_signals", get(channels::prompt_signals))
        .route("/host/open_server_link", post(windows::open_server_link))
        .route("/host/drop_files", post(windows::drop_files))
        .route("/host/{command}", post(windows::run))
        .fallback(pages::page)
        .layer(middleware::from_fn_with_state(Arc::clone(&host), require_own_origin))
        .with_state(host)
}

/// Accepts requests of the page's own origin only.
async fn require_own_origin(State(host): State<Arc<BrowserHost>>, request: Request, next: Next) -> Response {
    let is_own = is_own_request(&host, request.headers());
    if is_own { next.run(request).await } else { StatusCode::FORBIDDEN.into_response() }
}

fn is_own_request(host: &BrowserHost, headers: &HeaderMap) -> bool {
    let value_of = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let own = format!("http://{}", host.authority);
    value_of(header::HOST) == Some(host.authority.as_str())
        && value_of(header::ORIGIN).is_none_or(|origin| origin == own)
}
