//! The complete first use in the real windows: from adding a server to Allow, with a real server and a
//! real client, and all state still present after a restart.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use anyhow::Result;
use gatehouse_tests::walkthrough;
use gatehouse_tests::window::Desktop;

#[test]
fn adds_server_allows_call_and_survives_restart() -> Result<()> {
    let desktop = Desktop::start()?;
    let pictures = desktop.folder("pictures")?;
    walkthrough::play(&desktop, &pictures, |_| {})?;
    for name in ["servers.png", "prompt.png", "activity.png"] {
        assert!(pictures.join(name).metadata()?.len() > 5_000, "{name}");
    }
    Ok(())
}
