//! The client for the conformance suite: Gatehouse's own servers crate. The scenario is in the
//! environment (`MCP_CONFORMANCE_SCENARIO`), the server's URL is the last argument.

use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    match gatehouse_tests::conformance::run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("conformance-client: {error:#}");
            ExitCode::FAILURE
        }
    }
}
