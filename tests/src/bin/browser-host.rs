//! Serves the UI for a browser; see `gatehouse_tests::browser_host`. Exits when its standard input is closed.

use std::path::PathBuf;

use anyhow::{Result, bail};
use tokio::io::AsyncReadExt;

fn main() -> Result<()> {
    gatehouse_app::run_helper_if_requested();
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [data, data_dir, pages_word, pages] = words.as_slice() else {
        bail!("usage: browser-host --data-dir DIR --pages DIR");
    };
    if data != "--data-dir" || pages_word != "--pages" {
        bail!("usage: browser-host --data-dir DIR --pages DIR");
    }
    let ready = |line| println!("{line}");
    let gone = async {
        let mut rest = Vec::new();
        // An error also means that the parent process is gone.
        tokio::io::stdin().read_to_end(&mut rest).await.unwrap_or(0);
    };
    let host =
        gatehouse_tests::browser_host::serve(PathBuf::from(data_dir), PathBuf::from(pages), ready, gone);
    tokio::runtime::Runtime::new()?.block_on(host)
}
