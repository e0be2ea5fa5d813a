//! Stores calls in a data folder that no Gatehouse uses: `fill-calls DATA-DIR COUNT`. For tests of the interface with
//! long lists; see `gatehouse_tests::stored_calls`.

use anyhow::{Context, Result};
use gatehouse_tests::stored_calls;

fn main() -> Result<()> {
    const USAGE: &str = "usage: fill-calls DATA-DIR COUNT";
    let mut words = std::env::args().skip(1);
    let data_dir = words.next().context(USAGE)?;
    let count = words.next().and_then(|count| count.parse().ok()).context(USAGE)?;
    stored_calls::fill(data_dir.as_ref(), count).map(drop)
}
