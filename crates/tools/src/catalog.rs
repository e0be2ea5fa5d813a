//! The catalog: tools, resources, resource templates and prompts of all servers under their exposed names, as
//! immutable values that are rebuilt when a list changes.
//!
//! It never decides whether something may be used and knows no permissions. Definitions keep the bytes of their
//! server, except for names, URIs, titles and descriptions that have to be changed for clients.

pub(crate) mod catalog_store;
pub(crate) mod catalog_tool;
pub(crate) mod catalog_view;
pub(crate) mod definition_source;
pub(crate) mod exposed_names;
pub(crate) mod input_schema;
pub(crate) mod known_lists;
pub(crate) mod last_known;
pub(crate) mod list_versions;
pub(crate) mod output_schema;
pub(crate) mod resource_catalog;
pub(crate) mod resource_owners;
pub(crate) mod selected_catalog;
pub(crate) mod server_selection;
mod server_tools;
pub(crate) mod task_support;
pub(crate) mod tool_catalog;
pub(crate) mod tool_definition;
