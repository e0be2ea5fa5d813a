//! Why the gateway cannot start.

use std::net::SocketAddr;

use gatehouse_model::{ErrorCode, Problem};

/// Why the gateway cannot start.
#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    /// Something else listens there.
    #[error("The address {0} is in use.")]
    PortInUse(SocketAddr),
    /// The address can be reached from other machines.
    #[error("The gateway listens on this machine only, and {0} is no loopback address.")]
    NotLoopback(SocketAddr),
    /// The system refused.
    #[error("The gateway cannot listen on {address}: {source}")]
    Io {
        /// Where.
        address: SocketAddr,
        /// Why not.
        source: std::io::Error,
    },
}

impl From<GatewayError> for Problem {
    fn from(error: GatewayError) -> Self {
        let what = error.to_string();
        match error {
            GatewayError::PortInUse(_) => Problem::new(ErrorCode::PortInUse, what)
                .todo("End the program that uses it, or choose another port."),
            GatewayError::NotLoopback(_) => {
                Problem::new(ErrorCode::BadRequest, what).todo("Use 127.0.0.1 or [::1].")
            }
            GatewayError::Io { .. } => Problem::new(ErrorCode::Internal, what),
        }
    }
}
