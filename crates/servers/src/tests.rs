//! Tests of servers through their manager, with scripted connections.

pub(crate) mod scripted_server;
mod second_connection;
mod server_lifecycle;
mod server_lists;
