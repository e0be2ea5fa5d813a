//! A conversation of a user with a scripted model, over a real Gatehouse with the fixture server.

use anyhow::{Context, Result, ensure};
use gatehouse_model::provider::ProviderApi;
use serde_json::{Value, json};

use crate::approvals::{once_choice, wait_for_pending};
use crate::eventually::eventually;
use crate::fixture_server::{FixtureServer, ServerTransport, add};
use crate::gatehouse::Gatehouse;
use crate::scripted_provider::ScriptedProvider;

/// The server of its tools.
pub const SERVER: &str = "raw";

/// A user in one conversation.
#[derive(Debug)]
pub struct UserInConversation {
    pub gatehouse: Gatehouse,
    pub model: ScriptedProvider,
    /// Id of the conversation.
    pub id: Value,
    /// The model as settings name it.
    pub choice: Value,
    _server: FixtureServer,
}

impl UserInConversation {
    /// Starts Gatehouse, adds the fixture server with these faults and the model, and begins a conversation.
    pub fn begin(faults: &[&str]) -> Result<Self> {
        Self::begin_with(ProviderApi::OpenAiChat, None, faults)
    }

    /// As [`Self::begin`], with a provider that has this API and this key.
    pub fn begin_with(api: ProviderApi, key: Option<&str>, faults: &[&str]) -> Result<Self> {
        let gatehouse = Gatehouse::start()?;
        let server = add(&gatehouse, SERVER, ServerTransport::Stdio, faults)?;
        let model = ScriptedProvider::start()?;
        let draft = json!({ "name": "Local", "api": api, "baseUrl": model.base_url(api) });
        let provider = gatehouse.command("models.addProvider", &json!({ "draft": draft, "key": key }))?;
        let choice = json!({ "provider": provider["id"], "model": "m-1" });
        let created = gatehouse.command("chat.create", &json!({ "settings": { "model": choice } }))?;
        let id = created["id"].clone();
        Ok(Self { gatehouse, model, id, choice, _server: server })
    }

    /// Goes on in a new conversation, and returns the id of the one before.
    pub fn begin_another(&mut self) -> Result<Value> {
        let created =
            self.gatehouse.command("chat.create", &json!({ "settings": { "model": self.choice } }))?;
        Ok(std::mem::replace(&mut self.id, created["id"].clone()))
    }

    /// The exposed name of a tool of the fixture.
    pub fn tool(&self, name: &str) -> Result<String> {
        let tools = self.gatehouse.command("tools.list", &json!({ "server": SERVER }))?;
        let found = tools.as_array().into_iter().flatten().find(|tool| tool["name"] == name);
        let found = found.with_context(|| format!("no tool {name}: {tools:#}"))?;
        Ok(found["exposedName"].as_str().context("exposedName")?.to_owned())
    }

    /// Changes the settings; the model stays.
    pub fn set(&self, mut settings: Value) -> Result<()> {
        settings["model"] = self.choice.clone();
        self.gatehouse.command("chat.set", &json!({ "conversation": self.id, "settings": settings }))?;
        Ok(())
    }

    /// Sends a message.
    pub fn send(&self, text: &str) -> Result<()> {
        self.run("chat.send", json!({ "text": text }))
    }

    /// Runs a command about the conversation.
    pub fn run(&self, command: &str, mut args: Value) -> Result<()> {
        args["conversation"] = self.id.clone();
        self.gatehouse.command(command, &args).map(drop)
    }

    /// The conversation now.
    pub fn show(&self) -> Result<Value> {
        self.gatehouse.command("chat.show", &json!({ "conversation": self.id }))
    }

    /// Its last message.
    pub fn reply(&self) -> Result<Value> {
        let shown = self.show()?;
        shown["messages"].as_array().and_then(|all| all.last()).cloned().context("no message")
    }

    /// Waits until no turn is under way, and returns the last message.
    pub fn finished(&self) -> Result<Value> {
        eventually("the end of the turn", || {
            let shown = self.show()?;
            let last = shown["messages"].as_array().and_then(|all| all.last()).cloned().unwrap_or_default();
            Ok(if shown["isRunning"] == false { Ok(last) } else { Err(format!("{last:#}")) })
        })
    }

    /// Waits until the last message has what is looked for.
    pub fn reply_with(&self, what: &str, holds: impl Fn(&Value) -> bool) -> Result<Value> {
        eventually(what, || {
            let reply = self.reply()?;
            Ok(if holds(&reply) { Ok(reply) } else { Err(format!("{reply:#}")) })
        })
    }

    /// Waits for one approval request, and allows it.
    pub fn allow(&self, choice: &Value) -> Result<Value> {
        let question = wait_for_pending(&self.gatehouse, 1)?.remove(0);
        self.answer(&question, &json!({ "answer": "allow", "choice": choice }))?;
        Ok(question)
    }

    /// Waits for one approval request, and denies it.
    pub fn deny(&self, reason: &str) -> Result<Value> {
        let question = wait_for_pending(&self.gatehouse, 1)?.remove(0);
        self.answer(&question, &json!({ "answer": "deny", "choice": once_choice(), "reason": reason }))?;
        Ok(question)
    }

    /// Answers one approval request.
    pub fn answer(&self, question: &Value, answer: &Value) -> Result<()> {
        let submitted =
            json!({ "id": question["id"], "hash": question["request"]["hash"], "answer": answer });
        let results = self.gatehouse.command("approvals.answer", &json!({ "answers": [submitted] }))?;
        ensure!(!results.to_string().contains("\"code\""), "it was not answered: {results:#}");
        Ok(())
    }
}

/// The texts of a message.
#[must_use]
pub fn texts(message: &Value) -> String {
    let blocks = message["blocks"].as_array().into_iter().flatten();
    blocks.filter(|block| block["kind"] == "text").filter_map(|block| block["text"].as_str()).collect()
}

/// The tool calls of a message.
#[must_use]
pub fn calls(message: &Value) -> Vec<&Value> {
    let blocks = message["blocks"].as_array().into_iter().flatten();
    blocks.filter(|block| block["kind"] == "tool_call").collect()
}

/// The states of the tool calls of a message.
#[must_use]
pub fn call_states(message: &Value) -> Vec<&str> {
    calls(message).into_iter().filter_map(|call| call["state"].as_str()).collect()
}

/// What a request gives the model as results of its calls, in their order.
#[must_use]
pub fn results(request: &Value) -> Vec<String> {
    let messages = request["messages"].as_array().into_iter().flatten();
    messages
        .filter(|message| message["role"] == "tool")
        .map(|message| message["content"].to_string())
        .collect()
}
