//! `gatehousectl bridge`, as a client starts it, and a client that writes every line itself.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::child_process::ChildProcess;
use crate::gatehouse::Gatehouse;
use crate::paths;

/// The token is read from descriptor 4. The shell becomes the bridge, so that the test is its parent.
const SCRIPT: &str = r#"exec 4<"$TOKEN"; exec "$0" --data-dir "$DATA" bridge --no-start --token-fd 4 "$@""#;

/// How a bridge is started.
#[derive(Clone, Debug)]
pub struct BridgeCommand {
    program: PathBuf,
    data_dir: PathBuf,
    token_file: PathBuf,
}

impl BridgeCommand {
    /// A bridge to a Gatehouse with a client's token.
    pub fn new(gatehouse: &Gatehouse, token: &str) -> Result<Self> {
        Self::to_folder(&gatehouse.data_dir(), &gatehouse.folder("bridge")?, token)
    }

    /// A bridge to whatever serves a data folder. `files` is a folder for its files.
    pub fn to_folder(data_dir: &Path, files: &Path, token: &str) -> Result<Self> {
        let token_file = files.join(token);
        fs::write(&token_file, token)?;
        let program = paths::program("gatehousectl")?;
        Ok(Self { program, data_dir: data_dir.to_owned(), token_file })
    }

    fn command(&self, more: &[&str]) -> Command {
        let mut command = Command::new("sh");
        command.arg("-c").arg(SCRIPT).arg(&self.program).args(more);
        command.env("TOKEN", &self.token_file).env("DATA", &self.data_dir);
        command
    }

    /// For the scripts of [`crate::client`].
    pub(crate) fn describe(&self) -> Value {
        json!({
            "program": "sh",
            "arguments": ["-c", SCRIPT, self.program],
            "environment": { "TOKEN": self.token_file, "DATA": self.data_dir, "PATH": std::env::var("PATH").ok() },
        })
    }

    /// Starts it for a client of the test.
    pub fn start(&self) -> Result<Bridge> {
        Bridge::run(&mut self.command(&[]))
    }

    /// As [`Self::start`], in a folder and with these options.
    pub fn start_in(&self, folder: &Path, more: &[&str]) -> Result<Bridge> {
        Bridge::run(self.command(more).current_dir(folder))
    }

    /// Runs it until it ends by itself: its input stays open.
    pub fn output(&self, more: &[&str]) -> Result<Output> {
        let mut command = self.command(more);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let input = child.stdin.take();
        let output = child.wait_with_output()?;
        drop(input);
        Ok(output)
    }
}

/// The names in the answer to `tools/list`.
pub fn tool_names(answer: &Value) -> Result<Vec<String>> {
    let tools = answer["result"]["tools"].as_array().with_context(|| format!("{answer:#}"))?;
    Ok(tools.iter().filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect())
}

/// Whether a tool is among these names.
#[must_use]
pub fn sees(tools: &[String], tool: &str) -> bool {
    tools.iter().any(|name| name == tool)
}

/// The members of a message; `null` for one with a number that doesn't fit.
fn parse(line: &str) -> Result<Value> {
    let members: HashMap<String, Box<RawValue>> =
        serde_json::from_str(line).with_context(|| format!("no message: {line}"))?;
    let value = |raw: &RawValue| -> Value { serde_json::from_str(raw.get()).unwrap_or_default() };
    Ok(members.iter().map(|(name, raw)| (name.clone(), value(raw))).collect())
}

/// A bridge, and a client that writes its lines.
#[derive(Debug)]
pub struct Bridge {
    pub process: ChildProcess,
    unread: Vec<String>,
}

impl Bridge {
    /// Runs a command that starts a bridge.
    pub fn run(command: &mut Command) -> Result<Self> {
        Ok(Self { process: ChildProcess::start("gatehousectl bridge", command)?, unread: Vec::new() })
    }

    /// Writes one line.
    pub fn send(&mut self, line: &str) -> Result<()> {
        self.process.write_line(line)
    }

    /// Writes a request.
    pub fn request(&mut self, id: u64, method: &str, params: &Value) -> Result<()> {
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string())
    }

    /// Writes a notification.
    pub fn notify(&mut self, method: &str, params: &Value) -> Result<()> {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string())
    }

    /// Writes a request without a session.
    pub fn stateless_request(&mut self, id: u64, method: &str, params: &Value) -> Result<()> {
        let mut params = params.clone();
        let meta = &mut params["_meta"];
        meta["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
        meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
        self.request(id, method, &params)
    }

    /// The next line that satisfies the predicate. What comes before it stays unread.
    pub fn line(&mut self, wanted: impl Fn(&Value) -> bool) -> Result<String> {
        let fits = |line: &String| parse(line).is_ok_and(|message| wanted(&message));
        if let Some(at) = self.unread.iter().position(fits) {
            return Ok(self.unread.remove(at));
        }
        loop {
            let line = self.process.next_line()?;
            let message = parse(&line)?;
            ensure!(message["jsonrpc"] == "2.0", "no message: {line}");
            if wanted(&message) {
                return Ok(line);
            }
            self.unread.push(line);
        }
    }

    /// The answer to a request.
    pub fn answer(&mut self, id: u64) -> Result<Value> {
        let line = self.line(|message| message["id"] == id && message.get("method").is_none())?;
        Ok(serde_json::from_str(&line)?)
    }

    /// The next notification or request of the gateway with this method.
    pub fn next(&mut self, method: &str) -> Result<Value> {
        Ok(serde_json::from_str(&self.line(|message| message["method"] == method)?)?)
    }

    /// Lines that nobody has asked for so far.
    pub fn unread(&self) -> &[String] {
        &self.unread
    }

    /// Begins a session.
    pub fn initialize(&mut self, capabilities: &Value) -> Result<Value> {
        let params = json!({
            "protocolVersion": "2025-11-25", "capabilities": capabilities,
            "clientInfo": { "name": "lines", "version": "1" },
        });
        self.request(0, "initialize", &params)?;
        let answer = self.answer(0)?;
        self.notify("notifications/initialized", &json!({}))?;
        Ok(answer)
    }

    /// Closes its standard input, and waits for its end.
    pub fn close(mut self) -> Result<ExitStatus> {
        self.process.close_stdin();
        self.process.wait()
    }
}
