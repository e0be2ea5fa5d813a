//! A real small language model on this machine uses tools over the REST tool API (GATE-6): which one it calls, and with what,
//! nobody wrote for it. `tests/py/small_model.py` says how.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::eventually::eventually_holds;
use crate::gatehouse::Gatehouse;
use crate::paths;

/// The name of the list of its packages, too.
pub const SMALL_MODEL: &str = "small-model";

/// A question to the model, and the call that answers it.
#[derive(Debug)]
pub struct ModelQuestion {
    pub prompt: &'static str,
    /// The tool that it has to choose, of all that there are.
    pub tool: &'static str,
    /// Part of the tool's result.
    result: &'static str,
}

/// Its answers are always the same, so these are questions that it understands.
pub const QUESTIONS: [ModelQuestion; 3] = [
    ModelQuestion {
        prompt: "What time is it in Europe/Vienna?",
        tool: "current_time",
        result: "Europe/Vienna",
    },
    ModelQuestion {
        prompt: "What is the current time in Asia/Tokyo?",
        tool: "current_time",
        result: "Asia/Tokyo",
    },
    ModelQuestion { prompt: "Search my notes for milk.", tool: "search_notes", result: "note" },
];

/// A Gatehouse with its built-in servers, in front of which the model is asked.
#[derive(Debug)]
pub struct SmallModelTrial {
    gatehouse: Gatehouse,
    token: String,
}

impl SmallModelTrial {
    pub fn start() -> Result<Self> {
        let gatehouse = Gatehouse::start()?;
        for server in ["Time", "Notes"] {
            gatehouse.await_status(server, "connected")?;
            gatehouse.ask(&["policy", "auto-approve", server, "all"])?;
        }
        let token = gatehouse.add_client(SMALL_MODEL)?;
        Ok(Self { gatehouse, token })
    }

    /// Asks the model. It has to choose the tool, Gatehouse to run it, and the model to say something about its result.
    pub fn ask(&self, question: &ModelQuestion) -> Result<()> {
        let calls_before = self.calls(question.tool)?;
        let said = self.run(question.prompt)?;
        let result = said["results"][0]["content"].as_str().context("no result")?;
        ensure!(result.contains(question.result), "the tool answered {result}");
        ensure!(said["text"].as_str().is_some_and(|text| !text.trim().is_empty()), "the model said nothing");
        eventually_holds("the record of one more call", || Ok(self.calls(question.tool)? == calls_before + 1))
    }

    fn run(&self, prompt: &str) -> Result<Value> {
        let gateway = self.gatehouse.endpoint.trim_end_matches("/mcp");
        let given = json!({ "gateway": gateway, "token": self.token, "prompt": prompt });
        let output = Command::new(paths::compat_python(SMALL_MODEL)?)
            .arg(paths::tests_dir().join("py/small_model.py"))
            .arg(given.to_string())
            .env("NO_PROXY", "*")
            .stdin(Stdio::null())
            .output()?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        ensure!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_str(said.trim()).with_context(|| said)
    }

    /// How many recorded calls of a tool succeeded.
    fn calls(&self, tool: &str) -> Result<usize> {
        let calls = self.gatehouse.ask(&["calls", "--tool", tool, "--outcome", "ok"])?;
        Ok(calls.as_array().context("no calls")?.len())
    }
}
