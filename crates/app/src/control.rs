//! The control socket: `gatehousectl` drives a running Gatehouse through the same typed commands as the
//! windows. Only the same OS user can open it, and opening it gives no authority: commands that widen
//! permissions need a channel (`channel.rs`) that was authenticated with the operator key.
//!
//! One JSON object per line, encrypted if there is a channel.
//! `{"id":1,"command":"servers.list","args":{}}` is answered by `{"id":1,"reply":…}` or
//! `{"id":1,"problem":{…}}`; the command `events` with `{"after":null}` by any number of
//! `{"id":2,"event":{…}}`, and by `{"id":2,"missed":true}` when the listener has to read the snapshot
//! again.

mod channel;
mod client;
#[cfg(test)]
mod fuzz;
#[cfg(windows)]
#[path = "control/pipe.rs"]
mod listen;
#[cfg(unix)]
#[path = "control/socket.rs"]
mod listen;
mod server;
mod wire;

pub use client::{ControlClient, ControlEvents};
pub(crate) use server::ControlServer;
