//! From a first start to the first allowed call of a server that is imported from another application, by clicks in the
//! real windows alone (UI-2, UI-6, UI-11).
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use anyhow::Result;
use gatehouse_tests::newcomer::{self, MOST_CLICKS, MOST_TIME, NewcomerWalk};
use gatehouse_tests::window::Desktop;

#[test]
fn newcomer_imports_connects_and_allows_in_a_few_clicks() -> Result<()> {
    let desktop = Desktop::start()?;
    let pictures = desktop.folder("pictures")?;
    let NewcomerWalk { clicks, took } = newcomer::walk(&desktop, &pictures, |step| println!("{step}"))?;
    println!("{clicks} clicks, {:.1} s", took.as_secs_f64());
    assert!(clicks <= MOST_CLICKS, "{clicks} clicks");
    assert!(took <= MOST_TIME, "{took:?}");
    for name in ["01-first-start", "03-import-servers", "07-change", "09-request", "10-allowed"] {
        assert!(pictures.join(format!("{name}.png")).metadata()?.len() > 5_000, "{name}");
    }
    Ok(())
}
