//! Connecting to a Streamable HTTP server: the endpoint with its headers, and the handshake that rmcp
//! does over it.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_mcp_wire::ProtocolFamily;
use gatehouse_model::message;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::common::client_side_sse::ExponentialBackoff;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::client::RmcpClient;
use super::endpoint::{CredentialSources, Endpoint, HeaderProgramSource, SESSION};
use super::{HttpTransport, post_best_effort};
use crate::connection::lifecycle::{self, FailedHandshake, HandshakeError};
use crate::connection::raw_handshake::RawHandshake;
use crate::connection::router::{MessageRouter, ResponseSender, RouterDeps};
use crate::connection::{ConnectSpec, Connection, Handshake, Inbound, LifecycleHint};
use crate::error::{ConnectError, RequestError};

/// Longest pause before rmcp reopens its event stream.
const MAX_RECONNECT_DELAY: Duration = Duration::from_secs(30);
/// How long the standing event stream may delay a connection.
const EVENT_STREAM_WAIT: Duration = Duration::from_secs(1);

/// Connects and shakes hands, with one lifecycle after the other until the server understands one.
pub(in crate::connection) async fn connect(
    spec: &ConnectSpec,
    inbound: mpsc::Sender<Inbound>,
    cancel: &CancellationToken,
) -> Result<Connection, ConnectError> {
    let limit = spec.config.limits.connect();
    let attempt = async {
        let endpoint = prepare_endpoint(spec).await?;
        let mut last = ConnectError::CANCELLED;
        for hint in spec.lifecycles() {
            match try_lifecycle(spec, &endpoint, &inbound, *hint).await {
                Ok(connection) => return Ok(connection),
                Err(FailedHandshake { error, may_try_another }) => {
                    last = error.redacted(&spec.redactor);
                    if !may_try_another {
                        break;
                    }
                }
            }
            tracing::debug!(server = %spec.config.id, error = %last, "another lifecycle is tried");
        }
        Err(last)
    };
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(ConnectError::CANCELLED),
        outcome = tokio::time::timeout(limit, attempt) => {
            outcome.unwrap_or(Err(ConnectError::TimedOut { after: limit }))
        }
    }
}

/// The endpoint of a remote server, for any HTTP-based transport, with the headers of its settings and those
/// that its header program prints.
pub(in crate::connection) async fn prepare_endpoint(
    spec: &ConnectSpec,
) -> Result<Arc<Endpoint>, ConnectError> {
    let Some(remote) = spec.config.transport.remote() else {
        return Err(ConnectError::Unsupported { kind: spec.config.transport.kind() });
    };
    let values = spec.deps.host.headers(&spec.config, &spec.redactor).await?;
    let program = remote
        .headers_from
        .as_ref()
        .map(|program| HeaderProgramSource { program: program.clone(), host: Arc::clone(&spec.deps.host) });
    let endpoint = Endpoint::new(
        &remote.url,
        &values,
        CredentialSources {
            tokens: Arc::clone(&spec.deps.tokens),
            server: Arc::clone(&spec.config),
            program,
            redactor: spec.redactor.clone(),
        },
    )?;
    endpoint.refresh_headers().await?;
    Ok(Arc::new(endpoint))
}

/// One handshake.
async fn try_lifecycle(
    spec: &ConnectSpec,
    endpoint: &Arc<Endpoint>,
    inbound: &mpsc::Sender<Inbound>,
    hint: LifecycleHint,
) -> Result<Connection, FailedHandshake> {
    // A failed attempt may have left these.
    endpoint.set_session(None);
    drop(endpoint.take_last_error());
    let router = Arc::new(MessageRouter::new(RouterDeps {
        config: Arc::clone(&spec.config),
        deps: Arc::clone(&spec.deps),
        inbound: inbound.clone(),
        send_response: response_sender(endpoint),
        redactor: spec.redactor.clone(),
    }));
    let raw_handshake = Arc::new(RawHandshake::default());
    let stream_opened = CancellationToken::new();
    let client = RmcpClient {
        endpoint: Arc::clone(endpoint),
        router: Arc::clone(&router),
        handshake: Arc::clone(&raw_handshake),
        stream_opened: stream_opened.clone(),
    };
    let transport = StreamableHttpClientTransport::with_client(client, rmcp_config(endpoint));
    let (service, handshake) = lifecycle::negotiate(transport, hint, &raw_handshake)
        .await
        .map_err(|error| classify_failure(error, endpoint, hint))?;
    if has_session(endpoint, &handshake) {
        // Some servers lose requests that they send before that stream is open.
        if tokio::time::timeout(EVENT_STREAM_WAIT, stream_opened.cancelled()).await.is_err() {
            tracing::debug!(server = %spec.config.id, "the server opens its stream late");
        }
    }
    let transport = HttpTransport::new(Arc::clone(endpoint), router, spec.deps.tasks.clone());
    Ok(transport.into_connection(service, handshake))
}

/// POSTs the responses to the server's requests.
fn response_sender(endpoint: &Arc<Endpoint>) -> ResponseSender {
    let endpoint = Arc::clone(endpoint);
    Arc::new(move |message| {
        let endpoint = Arc::clone(&endpoint);
        Box::pin(async move { post_best_effort(&endpoint, message).await })
    })
}

/// How rmcp runs the session. It must not begin a new session by itself, since a new session is a new
/// connection.
fn rmcp_config(endpoint: &Endpoint) -> StreamableHttpClientTransportConfig {
    let mut pauses = ExponentialBackoff::default();
    pauses.max_delay = Some(MAX_RECONNECT_DELAY);
    let mut config =
        StreamableHttpClientTransportConfig::with_uri(endpoint.url()).reinit_on_expired_session(false);
    config.retry_config = Arc::new(pauses);
    config
}

fn has_session(endpoint: &Endpoint, handshake: &Handshake) -> bool {
    handshake.protocol_family == ProtocolFamily::Stateful && endpoint.session_headers().contains_key(SESSION)
}

/// Decides whether another lifecycle may succeed. The endpoint knows more than rmcp of a failed transport.
fn classify_failure(error: HandshakeError, endpoint: &Endpoint, hint: LifecycleHint) -> FailedHandshake {
    let what = match error {
        HandshakeError::Final(error) => return FailedHandshake { error, may_try_another: false },
        HandshakeError::Lifecycle(error) => return FailedHandshake { error, may_try_another: true },
        HandshakeError::Transport(what) => what,
    };
    match endpoint.take_last_error() {
        // An HTTP status is the same for every lifecycle, with one exception: a probe that made
        // the server fail says nothing about `initialize`.
        Some(error @ RequestError::Status { status: 500.., .. }) => {
            FailedHandshake { error: error.into(), may_try_another: hint == LifecycleHint::Auto }
        }
        Some(error @ RequestError::Protocol(_)) => {
            FailedHandshake { error: error.into(), may_try_another: true }
        }
        Some(error) => FailedHandshake { error: error.into(), may_try_another: false },
        None => FailedHandshake {
            error: RequestError::protocol(message!("error.servers.protocol.handshakeBroke", reason = what))
                .into(),
            may_try_another: true,
        },
    }
}
