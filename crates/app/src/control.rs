//! The control socket: how `gatehousectl` drives a running Gatehouse, through the same typed
//! commands as the windows. Only this user can open it, and opening it confers no rights: what
//! widens anything needs a channel (`channel.rs`) that was made with the operator key.
//!
//! One JSON object a line, encrypted where there is a channel.
//! `{"id":1,"command":"servers.list","args":{}}` is answered by `{"id":1,"reply":…}` or `{"id":1,"problem":{…}}`; the command `events` with
//! `{"after":null}` by any number of `{"id":2,"event":{…}}`, and `{"id":2,"missed":true}` where the
//! listener has to read the snapshot again.

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
