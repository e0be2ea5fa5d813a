//! What one client sees of the catalog: the names, servers and tools of its profile (GATE-4), and in search mode three
//! tools of Gatehouse's own in place of the list (TOOL-7).
//!
//! Nothing here runs a call: `call_tool` becomes a call of the tool that it names before it reaches the pipeline.

pub(crate) mod client_catalog;
pub(crate) mod client_views;
pub(crate) mod meta_tools;
pub(crate) mod tool_search;

pub use client_catalog::ClientCatalog;
