//! Plays the first-use scenario in the real windows: a real server from npm, a real client, and a user's
//! clicks; then the walk of a newcomer who has used that server in another application, with its clicks and times.
//! Saves screenshots. `cargo xtask demo` builds what it needs and runs it.

#[cfg(target_os = "linux")]
fn main() -> anyhow::Result<()> {
    use anyhow::Context;
    use gatehouse_tests::newcomer::{self, NewcomerWalk};
    use gatehouse_tests::walkthrough;
    use gatehouse_tests::window::Desktop;
    let folder = std::env::args().nth(1).context("usage: demo FOLDER-FOR-PICTURES")?;
    std::fs::create_dir_all(&folder)?;
    let folder = std::path::Path::new(&folder).canonicalize()?;
    walkthrough::play(&Desktop::start()?, &folder, |step| println!("· {step}"))?;
    println!("\nA newcomer, who has a server in Cursor:");
    let NewcomerWalk { clicks, took } =
        newcomer::walk(&Desktop::start()?, &folder.join("newcomer"), |step| println!("{step}"))?;
    println!("From the first start to the first allowed call: {clicks} clicks, {:.1} s.", took.as_secs_f64());
    println!("Pictures are in {}.", folder.display());
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn main() -> anyhow::Result<()> {
    anyhow::bail!("the windows are driven on Linux alone")
}
