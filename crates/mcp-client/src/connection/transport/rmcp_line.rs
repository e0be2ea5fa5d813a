//! rmcp's side of a line-based transport. It carries the handshake only: requests on behalf of clients
//! and requests of the server go past rmcp.

use std::future::Future;
use std::io;
use std::sync::Arc;

use rmcp::RoleClient;
use rmcp::model::{RequestId, ServerJsonRpcMessage};
use rmcp::service::TxJsonRpcMessage;
use rmcp::transport::Transport;
use tokio::sync::mpsc;

use super::line_io::LineSender;

/// rmcp's transport over a line-based connection.
pub(in crate::connection) struct RmcpLineTransport {
    /// Sends rmcp's messages.
    sender: Arc<LineSender>,
    /// Receives messages for rmcp from the reader.
    incoming: mpsc::Receiver<ServerJsonRpcMessage>,
    sent_requests: Vec<RequestId>,
}

impl RmcpLineTransport {
    pub(in crate::connection) fn new(
        sender: Arc<LineSender>,
        incoming: mpsc::Receiver<ServerJsonRpcMessage>,
    ) -> Self {
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
