//! Serves the sample server of the conformance suite, directly and through Gatehouse, for clients of the revision in its
//! argument. Prints one line of JSON with the addresses (`gatehouse_tests::conformance_endpoints`), and exits when its
//! standard input is closed.

use anyhow::{Context, Result};
use gatehouse_tests::conformance_endpoints::ConformanceEndpoints;

fn main() -> Result<()> {
    let revision = std::env::args().nth(1).context("usage: conformance-endpoints REVISION")?;
    let endpoints = ConformanceEndpoints::start(&revision)?;
    println!("{}", endpoints.addresses());
    // An error also means that the parent process is gone.
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).unwrap_or(0);
    Ok(())
}
