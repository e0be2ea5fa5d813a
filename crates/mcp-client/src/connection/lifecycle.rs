//! The part that rmcp plays: the handshake of either revision family over our transports. Requests
//! on behalf of clients don't pass through here, nor do the server's requests.

use std::time::Duration;

use gatehouse_mcp_wire::ProtocolFamily;
use gatehouse_model::message;
use gatehouse_model::status::ServerInfo;
use rmcp::model::{ClientCapabilities, ClientConfig, Implementation, ProtocolVersion};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, RunningService, serve_client_with_lifecycle,
};
use rmcp::transport::IntoTransport;
use rmcp::{ClientHandler, RoleClient};

use super::envelope::{CLIENT_CAPABILITIES, RequestMeta};
use super::raw_handshake::RawHandshake;
use super::{Handshake, LifecycleHint};
use crate::error::{ConnectError, RequestError};
use crate::server_requests;

/// The client name that Gatehouse reports.
const NAME: &str = "Gatehouse";
/// Time limit for ending rmcp's service.
const GOODBYE_TIMEOUT: Duration = Duration::from_secs(3);

/// rmcp's running service. Dropping it ends it.
pub(super) type RmcpService = RunningService<RoleClient, GatehouseClientHandler>;

/// Reports our client info. The server's requests never reach it: the router handles them.
pub(super) struct GatehouseClientHandler;

fn capabilities() -> ClientCapabilities {
    serde_json::from_value(server_requests::client_capabilities()).unwrap_or_default()
}

fn client_info() -> ClientConfig {
    let mut info = ClientConfig::new(capabilities(), implementation());
    info.protocol_version = ProtocolVersion::LATEST_WITH_INITIALIZE;
    info
}

fn implementation() -> Implementation {
    Implementation::new(NAME, env!("CARGO_PKG_VERSION"))
}

impl ClientHandler for GatehouseClientHandler {
    fn get_info(&self) -> ClientConfig {
        client_info()
    }
}

/// Ends rmcp's service and waits for it.
pub(super) async fn end(service: RmcpService) {
    match tokio::time::timeout(GOODBYE_TIMEOUT, service.cancel()).await {
        Ok(Ok(reason)) => tracing::trace!(?reason, "rmcp's side has ended"),
        Ok(Err(error)) => tracing::debug!(%error, "rmcp's side did not end well"),
        Err(_) => tracing::debug!("rmcp's side takes too long to end"),
    }
}

fn mode(hint: LifecycleHint) -> ClientLifecycleMode {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    match hint {
        LifecycleHint::Auto => ClientLifecycleMode::Auto {
            preferred_versions,
            legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
        },
        LifecycleHint::Initialize | LifecycleHint::OnlyInitialize => ClientLifecycleMode::Initialize,
        LifecycleHint::Discover => ClientLifecycleMode::Discover { preferred_versions },
    }
}

/// Runs the handshake.
pub(super) async fn negotiate<T, E, A>(
    transport: T,
    hint: LifecycleHint,
    raw: &RawHandshake,
) -> Result<(RmcpService, Handshake), HandshakeError>
where
    T: IntoTransport<RoleClient, E, A>,
    E: std::error::Error + Send + Sync + 'static,
{
    let service = Box::pin(serve_client_with_lifecycle(GatehouseClientHandler, transport, mode(hint)))
        .await
        .map_err(classify_handshake_error)?;
    let Some(peer) = service.peer().peer_info() else {
        return Err(HandshakeError::Final(
            RequestError::protocol(message!("error.servers.protocol.noIdentity")).into(),
        ));
    };
    let version = &peer.protocol_version;
    if !ProtocolVersion::KNOWN_VERSIONS.contains(version) {
        return Err(HandshakeError::Final(ConnectError::Version { offered: truncate(version.as_str()) }));
    }
    let protocol_family =
        if version.has_initialize() { ProtocolFamily::Stateful } else { ProtocolFamily::Stateless };
    let (name, title, version_text) = match &peer.server_info {
        Some(info) => (info.name.clone(), info.title.clone(), info.version.clone()),
        None => Default::default(),
    };
    let mut declared = raw.take();
    let handshake = Handshake {
        protocol: version.as_str().to_owned(),
        protocol_family,
        info: ServerInfo { name, title, version: version_text, instructions: peer.instructions.clone() },
        capabilities: declared.take_capabilities(),
        raw_info: declared.server_info,
        lifecycle: match protocol_family {
            ProtocolFamily::Stateful => LifecycleHint::Initialize,
            ProtocolFamily::Stateless => LifecycleHint::Discover,
        },
    };
    Ok((service, handshake))
}

/// Why there was no handshake, and whether another lifecycle may succeed.
#[derive(Debug)]
pub(super) enum HandshakeError {
    /// Another lifecycle won't help.
    Final(ConnectError),
    /// The server did not understand or went away: another lifecycle may work.
    Lifecycle(ConnectError),
    /// The transport failed and knows the reason.
    Transport(String),
}

/// A failed handshake whose reason is known.
pub(super) struct FailedHandshake {
    pub(super) error: ConnectError,
    /// Whether another lifecycle may succeed.
    pub(super) may_try_another: bool,
}

fn classify_handshake_error(error: ClientInitializeError) -> HandshakeError {
    match error {
        ClientInitializeError::NoCompatibleProtocolVersion { server_supported, .. } => {
            let offered: Vec<&str> = server_supported.iter().map(ProtocolVersion::as_str).collect();
            // A server that knows the probe but only older revisions accepts `initialize`.
            if server_supported.iter().any(|version| ProtocolVersion::KNOWN_VERSIONS.contains(version)) {
                HandshakeError::Lifecycle(ConnectError::Version { offered: offered.join(", ") })
            } else {
                HandshakeError::Final(ConnectError::Version { offered: truncate(&offered.join(", ")) })
            }
        }
        ClientInitializeError::Cancelled => HandshakeError::Final(ConnectError::CANCELLED),
        ClientInitializeError::ConnectionClosed(when) => HandshakeError::Transport(when),
        ClientInitializeError::TransportError { error, .. } => {
            HandshakeError::Transport(error.error.to_string())
        }
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => classify_handshake_error(*fallback),
        ClientInitializeError::JsonRpcError(error) => HandshakeError::Lifecycle(
            RequestError::protocol(message!(
                "error.servers.protocol.handshakeError",
                code = error.code.0.to_string(),
                reason = truncate(&error.message)
            ))
            .into(),
        ),
        other => HandshakeError::Lifecycle(
            RequestError::protocol(message!(
                "error.servers.protocol.badHandshake",
                reason = truncate(&other.to_string())
            ))
            .into(),
        ),
    }
}

fn truncate(text: &str) -> String {
    text.chars().take(300).collect()
}

/// The `_meta` members that every request must carry.
pub(super) fn request_meta(handshake: &Handshake) -> RequestMeta {
    match handshake.protocol_family {
        ProtocolFamily::Stateful => RequestMeta::default(),
        ProtocolFamily::Stateless => {
            let json = |value: serde_json::Result<String>| {
                value.unwrap_or_else(|_| "{}".to_owned()).into_boxed_str()
            };
            RequestMeta::new(vec![
                (
                    "io.modelcontextprotocol/protocolVersion",
                    json(serde_json::to_string(handshake.protocol.as_str())),
                ),
                ("io.modelcontextprotocol/clientInfo", json(serde_json::to_string(&implementation()))),
                (CLIENT_CAPABILITIES, json(serde_json::to_string(&server_requests::client_capabilities()))),
            ])
        }
    }
}
