//! Third-party AI clients: the MCP SDKs for TypeScript and Python, driven over a line protocol
//! (`tests/js/client*.mjs`, `tests/py/client*.py`).

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::bridge::BridgeCommand;
use crate::child_process::ChildProcess;
use crate::paths;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sdk {
    /// `@modelcontextprotocol/client` from npm.
    TypeScript,
    /// `mcp` from PyPI.
    Python,
    /// `@modelcontextprotocol/sdk`, version 1; only in sessions.
    TypeScript1,
    /// `mcp`, version 1; only in sessions.
    Python1,
}

impl Sdk {
    /// The program that drives it over the line protocol.
    pub(crate) fn program(self) -> Result<Command> {
        let mut program = match self {
            Self::TypeScript | Self::TypeScript1 => Command::new("node"),
            Self::Python => Command::new(paths::python()?),
            Self::Python1 => Command::new(paths::older_python()?),
        };
        program.arg(script(self));
        Ok(program)
    }
}

/// A connected client.
#[derive(Debug)]
pub struct Client {
    child_process: ChildProcess,
    unread: Vec<Value>,
    calls: u32,
}

#[derive(Debug, Clone, PartialEq)]
pub enum CallOutcome {
    /// A result, `isError` or not.
    Result(Value),
    /// An error, as the SDK reports it.
    Error(Value),
}

impl CallOutcome {
    /// All text blocks of the result in one string; the message of an error.
    pub fn text(&self) -> String {
        match self {
            Self::Result(result) => result["content"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|block| block["text"].as_str())
                .collect::<Vec<_>>()
                .join("\n"),
            Self::Error(error) => error["message"].as_str().unwrap_or_default().to_owned(),
        }
    }

    /// Whether it is a result without `isError`.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        matches!(self, Self::Result(result) if result["isError"] != json!(true))
    }

    /// Whether it is a result with `isError`.
    #[must_use]
    pub fn is_tool_error(&self) -> bool {
        matches!(self, Self::Result(result) if result["isError"] == json!(true))
    }
}

impl Client {
    /// Starts the SDK's process and connects.
    pub fn connect(sdk: Sdk, revision: &str, endpoint: &str, token: Option<&str>) -> Result<Self> {
        let command = json!({"op": "connect", "url": endpoint, "token": token, "revision": revision});
        Self::start(&format!("the {sdk:?} client"), &mut sdk.program()?, &command)
    }

    /// Connects with a program of the test, which has to run one of the scripts of [`script`].
    pub fn connect_by(program: &mut Command, revision: &str, endpoint: &str, token: &str) -> Result<Self> {
        let command = json!({"op": "connect", "url": endpoint, "token": token, "revision": revision});
        Self::start("the client", program, &command)
    }

    /// Connects with the TypeScript SDK as a client with client capabilities: `answers` has an
    /// elicitation result as `form` and as `url`, a text as `sampling`, a list as `roots`; capabilities
    /// that are left out are not declared.
    pub fn connect_answering(revision: &str, endpoint: &str, token: &str, answers: &Value) -> Result<Self> {
        let command = json!({
            "op": "connect", "url": endpoint, "token": token, "revision": revision, "answers": answers,
        });
        Self::start("the answering client", &mut Sdk::TypeScript.program()?, &command)
    }

    /// Connects over standard streams, by a bridge that the SDK's process starts. `answers` as in
    /// [`Client::connect_answering`].
    pub fn connect_bridge(sdk: Sdk, revision: &str, bridge: &BridgeCommand, answers: &Value) -> Result<Self> {
        let command = json!({
            "op": "connect", "command": bridge.describe(), "revision": revision, "answers": answers,
        });
        Self::start(&format!("the {sdk:?} client"), &mut sdk.program()?, &command)
    }

    /// Connects over standard streams to a program that the SDK's process starts, in the environment of the command.
    pub fn connect_program(sdk: Sdk, revision: &str, program: &Command) -> Result<Self> {
        let text = |text: &OsStr| text.to_string_lossy().into_owned();
        let mut environment: BTreeMap<String, String> =
            program.get_envs().filter_map(|(name, value)| Some((text(name), text(value?)))).collect();
        if let Some(path) = std::env::var_os("PATH") {
            environment.entry("PATH".to_owned()).or_insert_with(|| text(&path));
        }
        let arguments: Vec<String> = program.get_args().map(text).collect();
        let started = json!({
            "program": text(program.get_program()), "arguments": arguments, "environment": environment,
        });
        let command = json!({ "op": "connect", "command": started, "revision": revision });
        Self::start(&format!("the {sdk:?} client"), &mut sdk.program()?, &command)
    }

    /// Starts a program that speaks the line protocol, and sends it this `connect` command.
    pub(crate) fn start(name: &str, program: &mut Command, connect: &Value) -> Result<Self> {
        let child_process = ChildProcess::start(name, program)?;
        let mut client = Self { child_process, unread: Vec::new(), calls: 0 };
        client.child_process.write_line(&connect.to_string())?;
        let wanted = &connect["revision"];
        match client.answer("connect")? {
            // Not all clients say which revision they speak.
            CallOutcome::Result(found)
                if wanted.is_null() || found["protocol"].is_null() || found["protocol"] == *wanted =>
            {
                Ok(client)
            }
            CallOutcome::Result(found) => bail!("connected, but with {found}"),
            CallOutcome::Error(error) => bail!("connecting failed: {error}"),
        }
    }

    /// Closes the connection in the way of the SDK, and waits for the end of its process.
    pub fn close(mut self) -> Result<()> {
        self.child_process.write_line(r#"{"op":"close"}"#)?;
        self.answer("close")?;
        self.child_process.wait()?;
        Ok(())
    }

    /// Definitions of all tools.
    pub fn tools(&mut self) -> Result<Vec<Value>> {
        self.child_process.write_line(r#"{"op":"list"}"#)?;
        match self.answer("list")? {
            CallOutcome::Result(result) => result["tools"].as_array().cloned().context("no tools member"),
            CallOutcome::Error(error) => bail!("tools/list failed: {error}"),
        }
    }

    /// Sends one of the other requests that the TypeScript client supports: `read`, `watch`, `unwatch`,
    /// and `level`, which takes a log level instead of the URI.
    pub fn ask(&mut self, op: &str, uri: &str) -> Result<CallOutcome> {
        self.child_process.write_line(&json!({ "op": op, "uri": uri }).to_string())?;
        self.answer(op)
    }

    /// The next message from the client that has this member: `asked`, `updated`, `logged`,
    /// `toolsChanged`.
    pub fn next_message(&mut self, member: &str) -> Result<Value> {
        let wanted = |message: &Value| message.get(member).is_some();
        if let Some(at) = self.unread.iter().position(wanted) {
            return Ok(self.unread.remove(at));
        }
        loop {
            let message: Value = serde_json::from_str(&self.child_process.next_line()?)?;
            if wanted(&message) {
                return Ok(message);
            }
            self.unread.push(message);
        }
    }

    /// Number of messages with this member that arrived so far and were not consumed.
    pub fn buffered_count(&self, member: &str) -> usize {
        self.unread.iter().filter(|message| message.get(member).is_some()).count()
    }

    /// Starts a call and returns its id for [`Client::finish`].
    pub fn begin(&mut self, name: &str, arguments: &Value) -> Result<String> {
        self.calls += 1;
        let id = format!("call-{}", self.calls);
        let command = json!({"op": "call", "id": id, "name": name, "arguments": arguments, "progress": true});
        self.child_process.write_line(&command.to_string())?;
        Ok(id)
    }

    /// Starts a call that the client gives up after `millis` milliseconds, by the SDK's own time-out.
    pub fn begin_with_timeout(&mut self, name: &str, arguments: &Value, millis: u32) -> Result<String> {
        self.calls += 1;
        let id = format!("call-{}", self.calls);
        let command =
            json!({"op": "call", "id": id, "name": name, "arguments": arguments, "timeoutMs": millis});
        self.child_process.write_line(&command.to_string())?;
        Ok(id)
    }

    /// Waits for the outcome of a call.
    pub fn finish(&mut self, id: &str) -> Result<CallOutcome> {
        self.answer(id)
    }

    /// Calls and waits.
    pub fn call(&mut self, name: &str, arguments: &Value) -> Result<CallOutcome> {
        let id = self.begin(name, arguments)?;
        self.finish(&id)
    }

    /// Cancels a call from the client's side.
    pub fn cancel(&mut self, id: &str) -> Result<()> {
        self.child_process.write_line(&json!({"op": "cancel", "id": id}).to_string())
    }

    fn answer(&mut self, id: &str) -> Result<CallOutcome> {
        let wanted = |message: &Value| message["id"] == json!(id);
        let message = match self.unread.iter().position(wanted) {
            Some(at) => self.unread.swap_remove(at),
            None => loop {
                let message: Value = serde_json::from_str(&self.child_process.next_line()?)?;
                if wanted(&message) {
                    break message;
                }
                self.unread.push(message);
            },
        };
        Ok(match message.get("result") {
            Some(result) => CallOutcome::Result(result.clone()),
            None => CallOutcome::Error(message["error"].clone()),
        })
    }

    /// Progress notifications of a call so far.
    pub fn progress_of(&self, id: &str) -> Vec<Value> {
        self.unread.iter().filter(|message| message["progressOf"] == json!(id)).cloned().collect()
    }
}

/// Path of the script for an SDK.
#[must_use]
pub fn script(sdk: Sdk) -> PathBuf {
    paths::tests_dir().join(match sdk {
        Sdk::TypeScript => "js/client.mjs",
        Sdk::Python => "py/client.py",
        Sdk::TypeScript1 => "js/client1.mjs",
        Sdk::Python1 => "py/client1.py",
    })
}

/// Path of a server from npm, by package name.
#[must_use]
pub fn npm_server(package: &str) -> PathBuf {
    paths::tests_dir().join("js/node_modules/@modelcontextprotocol").join(package).join("dist/index.js")
}
