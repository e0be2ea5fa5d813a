//! Errors at start.

use std::net::SocketAddr;

use gatehouse_model::{ErrorCode, UserError};

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
        let message = error.to_string();
        match error {
            GatewayError::PortInUse(_) => UserError::new(ErrorCode::PortInUse, message)
                .with_hint("End the program that uses it, or choose another port."),
            GatewayError::NotLoopback(_) => {
                UserError::new(ErrorCode::BadRequest, message).with_hint("Use 127.0.0.1 or [::1].")
            }
            GatewayError::Io { .. } => UserError::new(ErrorCode::Internal, message),
        }
    }
}
