//! The SDKs that most clients are made of, in all cells of the matrix, over HTTP and over the bridge (GATE-1, GATE-2,
//! PERM-11). `cargo xtask compat` tries the clients that are made of them.

use anyhow::Result;
use gatehouse_tests::compat::{CompatClient, verify};

#[test]
fn typescript_sdk_1_passes_every_cell() -> Result<()> {
    verify(CompatClient::find("typescript-1")?)
}

#[test]
fn typescript_sdk_2_passes_every_cell_with_sessions() -> Result<()> {
    verify(CompatClient::find("typescript-2-stateful")?)
}

#[test]
fn typescript_sdk_2_passes_every_cell() -> Result<()> {
    verify(CompatClient::find("typescript-2")?)
}

#[test]
fn python_sdk_1_passes_every_cell() -> Result<()> {
    verify(CompatClient::find("python-1")?)
}

#[test]
fn python_sdk_2_passes_every_cell_with_sessions() -> Result<()> {
    verify(CompatClient::find("python-2-stateful")?)
}

#[test]
fn python_sdk_2_passes_every_cell() -> Result<()> {
    verify(CompatClient::find("python-2")?)
}
