//! The OpenAPI description of the REST tool API against the API itself: schemathesis sends what the description allows and
//! what it doesn't, and compares each status, header, type and body with it. It must find nothing.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use gatehouse_tests::gatehouse::Gatehouse;
use gatehouse_tests::paths;

/// Cases of each kind for each address.
const CASES: &str = "60";

#[test]
fn schemathesis_finds_nothing() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    gatehouse.await_status("Time", "connected")?;
    // So that the calls of the examples run.
    gatehouse.ask(&["policy", "auto-approve", "Time", "all"])?;
    let token = gatehouse.add_client("schemathesis")?;
    let program = paths::models_python()?.with_file_name("schemathesis");
    let description = gatehouse.endpoint.replace("/mcp", "/v1/openapi.json");
    let output = Command::new(program)
        .args(["run", &description, "--checks", "all", "--max-examples", CASES, "--seed", "1", "--no-color"])
        .args(["--header", &format!("Authorization: Bearer {token}")])
        .args(["--generation-database", "none", "--continue-on-failure", "--request-timeout", "20"])
        .current_dir(gatehouse.folder("schemathesis")?)
        .env("NO_PROXY", "*")
        .stdin(Stdio::null())
        .output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    // Both addresses but the description's own were tried, and calls of tools were among that.
    ensure!(said.contains("2 selected / 2 total"), "{said}");
    let calls = gatehouse.ask(&["calls", "--tool", "current_time", "--outcome", "ok"])?;
    ensure!(calls.as_array().context("calls")?.len() > 5, "no call ran: {said}");
    Ok(())
}
