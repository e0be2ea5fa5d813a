//! The loopback listener for the redirect (RFC 8252 section 7.3), bound before the authorization URL is
//! built. It serves one path and one method and accepts one response; any other request has no effect.

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{
    ACCEPT_LANGUAGE, ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue,
    REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use url::{Host, Url};

use crate::callback::Desk;
use crate::page::{self, Page};

/// Path of the redirect URI, unless the settings specify another one.
const PATH: &str = "/callback";
/// How long a browser may take to send a request head.
const PATIENCE: Duration = Duration::from_secs(10);
/// Maximum number of simultaneous connections.
const MOST: usize = 32;

/// A bound listener with its redirect URI.
pub(crate) struct Door {
    listener: TcpListener,
    second: Option<TcpListener>,
    /// The redirect URI.
    pub(crate) redirect: Url,
    /// The redirect URI as authorization servers are told, exactly as the user entered it.
    pub(crate) told: String,
}

/// Binds to the address in the settings; else to the one used before, if it is free; else to a port that the
/// system chooses.
pub(crate) async fn bind(fixed: Option<&str>, before: Option<&Url>) -> io::Result<Door> {
    if let Some(fixed) = fixed {
        let redirect = Url::parse(fixed).map_err(|_| io::ErrorKind::InvalidInput)?;
        let door = bind_to(redirect).await?;
        return Ok(Door { told: fixed.to_owned(), ..door });
    }
    if let Some(before) = before
        && let Ok(door) = bind_to(before.clone()).await
    {
        return Ok(door);
    }
    let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await?;
    let port = listener.local_addr()?.port();
    let redirect =
        Url::parse(&format!("http://127.0.0.1:{port}{PATH}")).map_err(|_| io::ErrorKind::InvalidInput)?;
    Ok(Door { listener, second: None, told: redirect.to_string(), redirect })
}

async fn bind_to(redirect: Url) -> io::Result<Door> {
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
    Ok(Door { listener, second, told: redirect.to_string(), redirect })
}

impl Door {
    /// Serves browsers until `desk.closing` is cancelled and the last connection has been served. Dropping
    /// the future closes all connections.
    pub(crate) async fn serve(self, desk: Arc<Desk>) {
        let mut connections = JoinSet::new();
        loop {
            if desk.closing.is_cancelled() && connections.is_empty() {
                return;
            }
            tokio::select! {
                () = desk.closing.cancelled(), if !desk.closing.is_cancelled() => {}
                Some(_) = connections.join_next() => {}
                accepted = self.accept(), if !desk.closing.is_cancelled() && connections.len() < MOST => {
                    match accepted {
                        Ok(stream) => {
                            connections.spawn(connection(stream, Arc::clone(&desk)));
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

async fn connection(stream: TcpStream, desk: Arc<Desk>) {
    let service = service_fn(move |request| {
        let desk = Arc::clone(&desk);
        async move { Ok::<_, Infallible>(answer(&request, &desk).await) }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service)
        .await;
    if let Err(error) = served {
        tracing::debug!(%error, "a browser's connection broke");
    }
}

async fn answer(request: &Request<Incoming>, desk: &Desk) -> Response<Full<Bytes>> {
    if request.uri().path() != desk.redirect().path() {
        return plain(StatusCode::NOT_FOUND);
    }
    if request.method() != Method::GET {
        let mut response = plain(StatusCode::METHOD_NOT_ALLOWED);
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET"));
        return response;
    }
    let language = request.headers().get(ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
    let chinese = page::wants_chinese(language.unwrap_or_default());
    match desk.take(request.uri().query().unwrap_or_default()) {
        Ok(ended) => match ended.await {
            Ok(true) => html(StatusCode::OK, Page::Done, chinese),
            Ok(false) | Err(_) => html(StatusCode::OK, Page::Failed, chinese),
        },
        Err(_) => html(StatusCode::BAD_REQUEST, Page::Stranger, chinese),
    }
}

fn html(status: StatusCode, page: Page, chinese: bool) -> Response<Full<Bytes>> {
    let mut response = plain(status);
    *response.body_mut() = Full::new(Bytes::from(page.html(chinese)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    if let Ok(policy) = HeaderValue::from_str(page::policy()) {
        headers.insert(CONTENT_SECURITY_POLICY, policy);
    }
    response
}

fn plain(status: StatusCode) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
