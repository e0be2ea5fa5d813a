//! Child processes of servers: starting and ending them, their standard streams, and the guard that ends
//! them if Gatehouse is killed. Nothing here depends on the protocol.

pub(crate) mod child;
pub(crate) mod guard;
pub(crate) mod reaper;
pub(crate) mod streams;
