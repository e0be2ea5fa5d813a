//! The control socket: how `gatehousectl` drives a running Gatehouse, through the same typed
//! commands as the windows. Only this user can open it, and opening it confers no rights: what
//! widens anything needs the operator key with every request.
//!
//! One JSON object a line. `{"id":1,"command":"servers.list","args":{},"operatorKey":"…"}` is
//! answered by `{"id":1,"reply":…}` or `{"id":1,"problem":{…}}`; the command `events` with
//! `{"after":null}` by any number of `{"id":2,"event":{…}}`, and `{"id":2,"missed":true}` where the
//! listener has to read the snapshot again.

mod client;
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
