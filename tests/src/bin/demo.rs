//! Plays the first-use scenario in the real windows: a real server from npm, a real client, and a user's
//! clicks. Saves screenshots. `cargo xtask demo` builds what it needs and runs it.

#[cfg(target_os = "linux")]
fn main() -> anyhow::Result<()> {
    use anyhow::Context;
    let folder = std::env::args().nth(1).context("usage: demo FOLDER-FOR-PICTURES")?;
    std::fs::create_dir_all(&folder)?;
    let folder = std::path::Path::new(&folder).canonicalize()?;
    let desktop = gatehouse_tests::window::Desktop::start()?;
    gatehouse_tests::walkthrough::play(&desktop, &folder, |step| println!("· {step}"))?;
    println!("Pictures are in {}.", folder.display());
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn main() -> anyhow::Result<()> {
    anyhow::bail!("the windows are driven on Linux alone")
}
