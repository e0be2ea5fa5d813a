//! The part that rmcp plays: the handshake of either revision family over our transports. Requests
//! on behalf of clients don't pass through here, nor do the server's requests.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::status::ServerInfo;
use parking_lot::Mutex;
use rmcp::model::{
    ClientCapabilities, ClientConfig, Implementation, ProtocolVersion, RequestId, ServerJsonRpcMessage,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, RunningService, TxJsonRpcMessage, serve_client_with_lifecycle,
};
use rmcp::transport::{IntoTransport, Transport};
use rmcp::{ClientHandler, RoleClient};
use serde_json::value::RawValue;
use tokio::sync::mpsc;

use super::envelope::RequestMeta;
use super::error::ConnectError;
use super::line_io::{LineSender, capabilities_of};
use super::{Handshake, LifecycleHint, ProtocolFamily};
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

/// The capabilities of the last handshake, as raw JSON.
#[derive(Default)]
pub(super) struct RawCapabilities(Mutex<Option<Box<RawValue>>>);

impl RawCapabilities {
    /// Inspects a result on its way to rmcp.
    pub(super) fn capture(&self, result: &RawValue) {
        if let Some(found) = capabilities_of(result) {
            *self.0.lock() = Some(found);
        }
    }

    fn take(&self) -> Box<RawValue> {
        self.0.lock().take().unwrap_or_else(|| RawValue::NULL.to_owned())
    }
}

/// rmcp's transport over a line-based connection.
pub(super) struct RmcpLineTransport {
    /// Sends rmcp's messages.
    pub(super) sender: Arc<LineSender>,
    /// Receives messages for rmcp from the reader.
    pub(super) incoming: mpsc::Receiver<ServerJsonRpcMessage>,
    sent_requests: Vec<RequestId>,
}

impl RmcpLineTransport {
    pub(super) fn new(sender: Arc<LineSender>, incoming: mpsc::Receiver<ServerJsonRpcMessage>) -> Self {
        Self { sender, incoming, sent_requests: Vec::new() }
    }

    /// Whether the message answers a request that was superseded by a later one: on a slow start,
    /// the response to the probe may come after `initialize` was sent.
    fn is_stale(&self, message: &ServerJsonRpcMessage) -> bool {
        let id = match message {
            ServerJsonRpcMessage::Response(response) => Some(&response.id),
            ServerJsonRpcMessage::Error(error) => error.id.as_ref(),
            ServerJsonRpcMessage::Request(_) | ServerJsonRpcMessage::Notification(_) => None,
        };
        match (id, self.sent_requests.split_last()) {
            (Some(id), Some((_, earlier))) => earlier.contains(id),
            (None, _) | (_, None) => false,
        }
    }
}

impl Transport<RoleClient> for RmcpLineTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        if let TxJsonRpcMessage::<RoleClient>::Request(request) = &item {
            self.sent_requests.push(request.id.clone());
        }
        let bytes = serde_json::to_vec(&item).map_err(io::Error::from);
        let sender = Arc::clone(&self.sender);
        async move { sender.send(bytes?).await }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            let message = self.incoming.recv().await?;
            if !self.is_stale(&message) {
                return Some(message);
            }
            tracing::debug!("an answer to the probe came late");
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.incoming.close();
        Ok(())
    }
}

fn mode(hint: LifecycleHint) -> ClientLifecycleMode {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    match hint {
        LifecycleHint::Auto => ClientLifecycleMode::Auto {
            preferred_versions,
            legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
        },
        LifecycleHint::Initialize => ClientLifecycleMode::Initialize,
        LifecycleHint::Discover => ClientLifecycleMode::Discover { preferred_versions },
    }
}

/// Runs the handshake.
pub(super) async fn negotiate<T, E, A>(
    transport: T,
    hint: LifecycleHint,
    raw: &RawCapabilities,
) -> Result<(RmcpService, Handshake), HandshakeError>
where
    T: IntoTransport<RoleClient, E, A>,
    E: std::error::Error + Send + Sync + 'static,
{
    let service = Box::pin(serve_client_with_lifecycle(GatehouseClientHandler, transport, mode(hint)))
        .await
        .map_err(classify_handshake_error)?;
    let Some(peer) = service.peer().peer_info() else {
        return Err(HandshakeError::Final(ConnectError::Protocol("it did not say what it is.".to_owned())));
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
    let handshake = Handshake {
        protocol: version.as_str().to_owned(),
        protocol_family,
        info: ServerInfo { name, title, version: version_text, instructions: peer.instructions.clone() },
        capabilities: raw.take(),
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
        ClientInitializeError::Cancelled => HandshakeError::Final(ConnectError::Cancelled),
        ClientInitializeError::ConnectionClosed(when) => HandshakeError::Transport(when),
        ClientInitializeError::TransportError { error, .. } => {
            HandshakeError::Transport(error.error.to_string())
        }
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => classify_handshake_error(*fallback),
        ClientInitializeError::JsonRpcError(error) => HandshakeError::Lifecycle(ConnectError::Protocol(
            format!("it answered the handshake with error {}: {}", error.code.0, truncate(&error.message)),
        )),
        other => HandshakeError::Lifecycle(ConnectError::Protocol(format!(
            "its answer to the handshake is not what the protocol says ({}).",
            truncate(&other.to_string())
        ))),
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
                (
                    "io.modelcontextprotocol/clientCapabilities",
                    json(serde_json::to_string(&server_requests::client_capabilities())),
                ),
            ])
        }
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::{ClientJsonRpcMessage, ClientRequest, PingRequest};

    use super::*;

    #[tokio::test]
    async fn ignores_late_probe_answer() {
        let (to_rmcp, incoming) = mpsc::channel(4);
        let mut pipe = RmcpLineTransport::new(Arc::new(LineSender::new(tokio::io::sink())), incoming);
        for id in [0, 1] {
            let request = ClientRequest::PingRequest(PingRequest::default());
            pipe.send(ClientJsonRpcMessage::request(request, RequestId::Number(id))).await.unwrap();
        }
        for id in [0, 1] {
            let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"no"}}}}"#);
            to_rmcp.send(serde_json::from_str(&text).unwrap()).await.unwrap();
        }
        let Some(ServerJsonRpcMessage::Error(error)) = pipe.receive().await else { panic!("an error") };
        assert_eq!(error.id, Some(RequestId::Number(1)));
    }
}
