//! The MCP server that tests and benches run against; see `gatehouse_tests::fixture`. Tests start it by
//! `gatehouse_tests::fixture_server`.

use std::process::ExitCode;

fn main() -> ExitCode {
    gatehouse_tests::fixture::run()
}
