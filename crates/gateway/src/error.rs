//! Errors at start.

use std::net::SocketAddr;

use gatehouse_model::{ErrorCode, UserError, message};

/// Why the gateway can't start.
#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    /// Another process listens on the address.
    #[error("The address {0} is in use.")]
    PortInUse(SocketAddr),
    /// The address isn't loopback, so other machines could reach it.
    #[error("The gateway listens on this machine only, and {0} is no loopback address.")]
    NotLoopback(SocketAddr),
    /// The operating system refused.
    #[error("The gateway cannot listen on {address}: {source}")]
    Io { address: SocketAddr, source: std::io::Error },
}

impl From<GatewayError> for UserError {
    fn from(error: GatewayError) -> Self {
        match error {
            GatewayError::PortInUse(address) => UserError::new(
                ErrorCode::PortInUse,
                message!("error.gateway.portInUse", address = address.to_string()),
            )
            .with_hint(message!("error.gateway.portInUseHint")),
            GatewayError::NotLoopback(address) => UserError::new(
                ErrorCode::BadRequest,
                message!("error.gateway.notLoopback", address = address.to_string()),
            )
            .with_hint(message!("error.gateway.notLoopbackHint")),
            GatewayError::Io { address, source } => UserError::new(
                ErrorCode::Internal,
                message!(
                    "error.gateway.cannotListen",
                    address = address.to_string(),
                    reason = source.to_string()
                ),
            ),
        }
    }
}
