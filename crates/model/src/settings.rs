//! Settings of Gatehouse as a whole: retention, time limits of calls, naming of tools, and whether MCP
//! is on.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// Address of the official MCP registry.
pub const OFFICIAL_REGISTRY: &str = "https://registry.modelcontextprotocol.io";

/// Minimum number of days that the audit log is kept.
pub const MIN_AUDIT_DAYS: u32 = 7;

/// What the user sets for Gatehouse as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", default)]
pub struct Settings {
    /// Days that the audit is kept, [`MIN_AUDIT_DAYS`] or more; for ever where absent.
    pub audit_days: Option<u32>,
    /// Days that calls are kept.
    pub activity_days: u32,
    /// Calls that are kept at most.
    pub activity_calls: u32,
    /// Whether MCP is on; while it is off no server runs and every call is refused.
    pub mcp_on: bool,
    /// Where servers get their packages from (SRV-10).
    pub packages: PackageSources,
    /// Public address of Gatehouse's Client ID Metadata Document (AUTH-2); it is used as client id where
    /// an authorization server takes such documents. Nothing is offered where absent.
    pub client_document: Option<String>,
    /// How long a call may take, on servers that have no limit of their own (SRV-8).
    pub calls: CallLimits,
    /// How clients see the names of tools and prompts (TOOL-2): `onConflict` is the own name, with the server in front only
    /// where the name is taken; `server` is `server__tool`; `mcpServer` is `mcp__server__tool`.
    pub tool_names: ToolNaming,
    /// Further names under which clients reach the gateway, as `host` or `host:port`: those of a container's host, or of
    /// a forwarded port (GATE-3).
    pub allowed_hosts: Vec<String>,
    /// Address of the MCP registry that servers are looked for in (UI-2).
    pub registry: String,
}

/// How long a call may take (SRV-8). Time in which a person is waited for does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CallLimits {
    /// Seconds without progress, 1 or more; no limit where absent.
    pub silent_secs: Option<u32>,
    /// Seconds in all, 1 or more, whatever progress there is; no limit where absent.
    pub cap_secs: Option<u32>,
}

impl Default for CallLimits {
    fn default() -> Self {
        Self { silent_secs: Some(300), cap_secs: Some(3600) }
    }
}

/// How clients see the names of tools and prompts (TOOL-2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum ToolNaming {
    /// The tool's own name; the server in front only when the name is taken.
    #[default]
    OnConflict,
    /// `server__tool`
    Server,
    /// `mcp__server__tool`
    McpServer,
}

/// Where servers get their packages from (SRV-10).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", default)]
pub struct PackageSources {
    /// For `npx` and its like.
    pub npm: PackageSource,
    /// For `uvx` and its like.
    pub pypi: PackageSource,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum PackageSource {
    /// The fastest of the mirrors in `registries.json`, measured once a day; without any, the package
    /// manager's own.
    #[default]
    Fastest,
    /// The package manager's own.
    Usual,
    Custom {
        /// Address of the registry.
        url: String,
    },
}

/// Whether a text is the address of a package registry, as far as its scheme shows.
#[must_use]
pub fn is_registry_address(text: &str) -> bool {
    text.starts_with("https://") || text.starts_with("http://")
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            audit_days: None,
            activity_days: 90,
            activity_calls: 1_000_000,
            mcp_on: true,
            packages: PackageSources::default(),
            client_document: None,
            calls: CallLimits::default(),
            tool_names: ToolNaming::default(),
            allowed_hosts: Vec::new(),
            registry: OFFICIAL_REGISTRY.to_owned(),
        }
    }
}
