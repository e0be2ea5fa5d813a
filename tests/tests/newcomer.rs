//! From a first start to the first allowed call of a server that is imported from another application, by clicks in the
//! real windows alone (UI-2, UI-6, UI-11).
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::fs;

use anyhow::{Context, Result};
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
    let taken: Vec<_> = fs::read_dir(&pictures)?.collect::<Result<_, _>>()?;
    for name in ["first-start", "import-servers", "change", "request", "allowed"] {
        let picture =
            taken.iter().find(|it| it.file_name().to_string_lossy().ends_with(&format!("-{name}.png")));
        assert!(picture.with_context(|| format!("{name}: {taken:?}"))?.metadata()?.len() > 5_000, "{name}");
    }
    Ok(())
}
