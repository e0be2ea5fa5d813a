//! The loopback listener for the redirect (RFC 8252 section 7.3), bound before the authorization URL is
//! built. It serves one path and one method and accepts one response; any other request has no effect.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::handler::Handler;
use axum::http::header::{
    ACCEPT_LANGUAGE, ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderMap, HeaderName, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{Method, StatusCode, Uri};
use axum::response::{Html, IntoResponse, Response};
use gatehouse_model::messages::Language;
use gatehouse_model::{ErrorCode, UserError, message};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use url::{Host, Url};

use super::callback::CallbackReceiver;
use super::callback_page::{self, CallbackPage};
use crate::error::AuthError;

/// Path of the redirect URI, unless the settings specify another one.
const PATH: &str = "/callback";
/// How long a browser may take to send a request head.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum number of simultaneous connections.
const MAX_CONNECTIONS: usize = 32;
/// Headers of every response.
const HEADERS: [(HeaderName, &str); 3] =
    [(CACHE_CONTROL, "no-store"), (REFERRER_POLICY, "no-referrer"), (X_CONTENT_TYPE_OPTIONS, "nosniff")];

/// A bound listener with its redirect URI.
pub(crate) struct LoopbackListener {
    listener: TcpListener,
    second: Option<TcpListener>,
    /// The redirect URI.
    pub(crate) redirect: Url,
    /// The redirect URI as authorization servers are told, exactly as the user entered it.
    pub(crate) redirect_uri: String,
}

/// Binds to the address in the settings; else to the one used before, if it is free; else to a port that the
/// system chooses.
pub(crate) async fn bind(fixed: Option<&str>, before: Option<&Url>) -> Result<LoopbackListener, AuthError> {
    bind_redirect(fixed, before).await.map_err(|error| {
        let message = message!("error.auth.cannotListen");
        let error = UserError::new(ErrorCode::PortInUse, message).with_cause(format!("{error}."));
        AuthError::Refused(error.with_hint(message!("error.auth.portHint")))
    })
}

async fn bind_redirect(fixed: Option<&str>, before: Option<&Url>) -> io::Result<LoopbackListener> {
    if let Some(fixed) = fixed {
        let redirect = Url::parse(fixed).map_err(|_| io::ErrorKind::InvalidInput)?;
        let bound = bind_to(redirect).await?;
        return Ok(LoopbackListener { redirect_uri: fixed.to_owned(), ..bound });
    }
    if let Some(before) = before
        && let Ok(bound) = bind_to(before.clone()).await
    {
        return Ok(bound);
    }
    let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await?;
    let port = listener.local_addr()?.port();
    let redirect =
        Url::parse(&format!("http://127.0.0.1:{port}{PATH}")).map_err(|_| io::ErrorKind::InvalidInput)?;
    Ok(LoopbackListener { listener, second: None, redirect_uri: redirect.to_string(), redirect })
}

async fn bind_to(redirect: Url) -> io::Result<LoopbackListener> {
    let port = redirect.port_or_known_default().unwrap_or(80);
    let (first, second) = match redirect.host() {
        Some(Host::Ipv4(address)) if address.is_loopback() => (IpAddr::V4(address), None),
        Some(Host::Ipv6(address)) if address.is_loopback() => (IpAddr::V6(address), None),
        // The browser chooses the address family, so both are bound. IPv6 isn't available on every machine.
        Some(Host::Domain("localhost")) => {
            (Ipv4Addr::LOCALHOST.into(), Some(IpAddr::V6(Ipv6Addr::LOCALHOST)))
        }
        _ => return Err(io::ErrorKind::InvalidInput.into()),
    };
    let listener = TcpListener::bind((first, port)).await?;
    let second = match second {
        Some(second) => TcpListener::bind((second, port)).await.ok(),
        None => None,
    };
    Ok(LoopbackListener { listener, second, redirect_uri: redirect.to_string(), redirect })
}

impl LoopbackListener {
    /// Serves browsers until `callback.closing` is cancelled and the last connection has been served. Dropping
    /// the future closes all connections.
    pub(crate) async fn serve(self, callback: Arc<CallbackReceiver>) {
        let mut connections = JoinSet::new();
        loop {
            if callback.closing.is_cancelled() && connections.is_empty() {
                return;
            }
            tokio::select! {
                () = callback.closing.cancelled(), if !callback.closing.is_cancelled() => {}
                Some(_) = connections.join_next() => {}
                accepted = self.accept(), if !callback.closing.is_cancelled() && connections.len() < MAX_CONNECTIONS => {
                    match accepted {
                        Ok(stream) => {
                            connections.spawn(handle_connection(stream, Arc::clone(&callback)));
                        }
                        Err(error) => {
                            tracing::debug!(%error, "a browser could not be let in");
                            tokio::time::sleep(Duration::from_millis(50)).await;
                        }
                    }
                }
            }
        }
    }

    async fn accept(&self) -> io::Result<TcpStream> {
        let (stream, _) = match &self.second {
            Some(second) => tokio::select! {
                accepted = self.listener.accept() => accepted?,
                accepted = second.accept() => accepted?,
            },
            None => self.listener.accept().await?,
        };
        Ok(stream)
    }
}

async fn handle_connection(stream: TcpStream, callback: Arc<CallbackReceiver>) {
    let service = TowerToHyperService::new(respond.with_state(callback));
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service)
        .await;
    if let Err(error) = served {
        tracing::debug!(%error, "a browser's connection broke");
    }
}

/// Answers one request. Path and method are compared here instead of by axum's router: the path can be the
/// user's setting, in which the router would read patterns, and its GET routes also take HEAD, which would use
/// up the one response.
async fn respond(
    State(callback): State<Arc<CallbackReceiver>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    if uri.path() != callback.redirect().path() {
        return (StatusCode::NOT_FOUND, HEADERS).into_response();
    }
    if method != Method::GET {
        return (StatusCode::METHOD_NOT_ALLOWED, HEADERS, [(ALLOW, "GET")]).into_response();
    }
    let language = headers.get(ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
    let language = Language::of_accept_language(language.unwrap_or_default());
    let chinese = language == Language::SimplifiedChinese;
    let (status, page) = match callback.take(uri.query().unwrap_or_default()) {
        Ok(ended) => match ended.await {
            Ok(true) => (StatusCode::OK, CallbackPage::Done),
            Ok(false) | Err(_) => (StatusCode::OK, CallbackPage::Failed),
        },
        Err(_) => (StatusCode::BAD_REQUEST, CallbackPage::Unexpected),
    };
    let policy = [(CONTENT_SECURITY_POLICY, callback_page::content_security_policy())];
    (status, HEADERS, policy, Html(page.html(chinese))).into_response()
}
