//! The MCP server that tests and benches run against; see `gatehouse_tests::fixture`.

use std::process::ExitCode;

fn main() -> ExitCode {
    gatehouse_tests::fixture::run()
}
