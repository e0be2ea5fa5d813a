//! The client of the conformance suite: Gatehouse's own servers crate, told by the environment what
//! to do (`MCP_CONFORMANCE_SCENARIO`), with the server's address as its last argument.

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
