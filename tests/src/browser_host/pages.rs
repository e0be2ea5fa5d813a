//! The files of the UI, with the same content security policy as in the windows, except that commands go
//! to the page's own origin.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use serde_json::Value;

use super::BrowserHost;

const CONFIG: &str = include_str!("../../../src-tauri/tauri.conf.json");

pub(super) async fn page(State(host): State<Arc<BrowserHost>>, uri: Uri) -> Response {
    let wanted = match uri.path().trim_start_matches('/') {
        "" => "index.html",
        path => path,
    };
    // Only names that a build creates; no path traversal.
    let plain = wanted.split('/').all(|part| !part.is_empty() && !part.starts_with('.'));
    let body = if plain { tokio::fs::read(host.pages.join(wanted)).await.ok() } else { None };
    let Some(body) = body else { return StatusCode::NOT_FOUND.into_response() };
    let kind = match wanted.rsplit_once('.').map(|(_, end)| end) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "application/octet-stream",
    };
    let headers = [(header::CONTENT_TYPE, kind.to_owned()), (header::CONTENT_SECURITY_POLICY, policy())];
    (headers, body).into_response()
}

fn policy() -> String {
    let config: Value = serde_json::from_str(CONFIG).unwrap_or_default();
    let rules = config["app"]["security"]["csp"].as_object().cloned().unwrap_or_default();
    let rules = rules.iter().map(|(name, sources)| match name.as_str() {
        "connect-src" => "connect-src 'self'".to_owned(),
        name => format!("{name} {}", sources.as_str().unwrap_or("'none'")),
    });
    rules.collect::<Vec<_>>().join("; ")
}
