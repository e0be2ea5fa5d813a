//! The scripted model provider for tests in other languages; see `gatehouse_tests::scripted_provider`. Prints its address,
//! and exits when its standard input is closed.

use std::io::Read as _;

use anyhow::Result;
use gatehouse_tests::scripted_provider::ScriptedProvider;

fn main() -> Result<()> {
    let provider = ScriptedProvider::start()?;
    println!("{}", provider.origin);
    // An error also means that the parent process is gone.
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap_or(0);
    Ok(())
}
