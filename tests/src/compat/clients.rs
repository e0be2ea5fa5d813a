//! The clients of the matrix: what drives each, and how it differs from the others.

use std::process::Command;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::{Cell, ConnectionKind};
use crate::client::Sdk;
use crate::gatehouse::Gatehouse;
use crate::paths;

const STATEFUL: &str = "2025-11-25";
const STATELESS: &str = "2026-07-28";
const BOTH: &[ConnectionKind] = &[ConnectionKind::Http, ConnectionKind::Bridge];

/// How many calls run side by side.
const PARALLEL_CALLS: usize = 50;

/// A client of the matrix.
#[derive(Debug)]
pub struct CompatClient {
    pub name: &'static str,
    driver: ClientDriver,
    /// The revision that it is told to speak. Without one it chooses itself.
    revision: Option<&'static str>,
    pub connections: &'static [ConnectionKind],
    pub parallel_calls: usize,
    /// Cells that make no sense for it, each with the reason.
    pub not_tried: &'static [(Cell, &'static str)],
}

/// The program that speaks the line protocol for a client.
#[derive(Debug)]
enum ClientDriver {
    /// One of the SDKs that all tests use.
    Sdk(Sdk),
    /// A script of `tests/compat/npm`, run by the Node.js there.
    Npm(&'static str),
    /// A script of `tests/compat/pypi`, run by the Python with the packages of `NAME.txt` there.
    PyPi(&'static str),
    /// `mcp-remote` from `tests/compat/npm`, started by an SDK.
    Remote(Sdk),
}

impl CompatClient {
    const fn sdk(name: &'static str, sdk: Sdk, revision: &'static str) -> Self {
        let driver = ClientDriver::Sdk(sdk);
        let revision = Some(revision);
        Self { name, driver, revision, connections: BOTH, parallel_calls: PARALLEL_CALLS, not_tried: &[] }
    }

    const fn package(name: &'static str, driver: ClientDriver) -> Self {
        Self {
            name,
            driver,
            revision: None,
            connections: BOTH,
            parallel_calls: PARALLEL_CALLS,
            not_tried: &[],
        }
    }

    /// The client with this name.
    pub fn find(name: &str) -> Result<&'static Self> {
        CLIENTS.iter().find(|client| client.name == name).with_context(|| {
            let names: Vec<&str> = CLIENTS.iter().map(|client| client.name).collect();
            format!("there is no client `{name}`; there are {}", names.join(", "))
        })
    }

    /// The program that drives it.
    pub(super) fn program(&self) -> Result<Command> {
        let compat = paths::tests_dir().join("compat");
        match self.driver {
            ClientDriver::Sdk(sdk) | ClientDriver::Remote(sdk) => sdk.program(),
            ClientDriver::Npm(script) => {
                let mut program = Command::new(paths::compat_node()?);
                program.arg(compat.join("npm").join(script));
                Ok(program)
            }
            ClientDriver::PyPi(script) => {
                let mut program = Command::new(paths::compat_python(self.name)?);
                program
                    .arg(compat.join("pypi").join(script))
                    .env("PYTHONPATH", paths::tests_dir().join("py"));
                Ok(program)
            }
        }
    }

    /// Its `connect` command for a connection over HTTP.
    pub(super) fn connect_http(&self, gatehouse: &Gatehouse, token: &str) -> Result<Value> {
        let endpoint = gatehouse.endpoint.as_str();
        if !matches!(self.driver, ClientDriver::Remote(_)) {
            return Ok(
                json!({ "op": "connect", "url": endpoint, "token": token, "revision": self.revision }),
            );
        }
        let script = paths::tests_dir().join("compat/npm/node_modules/mcp-remote/dist/proxy.js");
        let command = json!({
            "program": paths::compat_node()?,
            "arguments": [script, endpoint, "--header", format!("Authorization: Bearer {token}")],
            "environment": { "PATH": std::env::var("PATH").ok(), "HOME": gatehouse.folder("client")? },
        });
        Ok(json!({ "op": "connect", "command": command, "revision": self.revision }))
    }

    /// Its `connect` command for a program that it starts.
    pub(super) fn connect_command(&self, command: &Value) -> Value {
        json!({ "op": "connect", "command": command, "revision": self.revision })
    }
}

/// All of them. The version of each is in its lock file.
pub static CLIENTS: [CompatClient; 17] = [
    CompatClient::sdk("typescript-1", Sdk::TypeScript1, STATEFUL),
    CompatClient::sdk("typescript-2-stateful", Sdk::TypeScript, STATEFUL),
    CompatClient::sdk("typescript-2", Sdk::TypeScript, STATELESS),
    CompatClient::sdk("python-1", Sdk::Python1, STATEFUL),
    CompatClient::sdk("python-2-stateful", Sdk::Python, STATEFUL),
    CompatClient::sdk("python-2", Sdk::Python, STATELESS),
    CompatClient::package("ai-sdk", ClientDriver::Npm("ai-sdk.mjs")),
    CompatClient {
        // Each of its calls is a process.
        parallel_calls: 8,
        not_tried: &[(Cell::Told, "it has no time-out: whoever ends it ends its session")],
        ..CompatClient::package("inspector", ClientDriver::Npm("inspector.mjs"))
    },
    CompatClient {
        // It is a bridge itself.
        connections: &[ConnectionKind::Http],
        ..CompatClient::package("mcp-remote", ClientDriver::Remote(Sdk::TypeScript1))
    },
    CompatClient::package("fastmcp-2", ClientDriver::PyPi("fastmcp_client.py")),
    CompatClient::package("fastmcp-4", ClientDriver::PyPi("fastmcp_client.py")),
    CompatClient::package("openai-agents", ClientDriver::PyPi("openai_agents_client.py")),
    CompatClient::package("langchain-mcp-adapters", ClientDriver::PyPi("langchain_client.py")),
    CompatClient::package("pydantic-ai", ClientDriver::PyPi("pydantic_ai_client.py")),
    CompatClient::package("llama-index-tools-mcp", ClientDriver::PyPi("llama_index_client.py")),
    CompatClient::package("mcp-use", ClientDriver::PyPi("mcp_use_client.py")),
    CompatClient::package("smolagents", ClientDriver::PyPi("smolagents_client.py")),
];
