//! What the conformance client does in each scenario. Only what a scenario requires of the application
//! is here; the protocol is handled by the servers crate.

mod user;

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use gatehouse_mcp_wire::headers::ParamHeader;
use gatehouse_model::server::Remote;
use gatehouse_model::{BoxFuture, Secret, ServerConfig, ServerStatus, SystemClock, Transport};
use gatehouse_servers::{
    PolicyFile, RequestParams, RpcOutcome, ServerDeps, ServerHandle, ServerManager, ServerRequest,
    ServerRequestHandler, ServerRequestResult, UpstreamRequest, handle_server_request,
};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};
use user::{ChangeCounters, User};

/// Limit of sign-ins per server.
const SIGN_INS: usize = 3;
/// Time limit of each step.
const STEP_TIMEOUT: Duration = Duration::from_secs(40);

/// Runs the scenario named in the environment.
pub async fn run() -> Result<()> {
    let url = std::env::args().next_back().context("the server's address is missing")?;
    let scenario = std::env::var("MCP_CONFORMANCE_SCENARIO").context("no scenario is named")?;
    let folder = tempfile::tempdir()?;
    let client = ScenarioClient::new(&scenario, &url, folder.path()).await?;
    let played = client.run(&scenario).await;
    client.user.sign_ins.shutdown().await;
    client.manager.shutdown().await;
    played
}

/// A user who agrees to everything and fills in nothing.
struct AcceptingUser;

impl ServerRequestHandler for AcceptingUser {
    fn respond(&self, request: ServerRequest) -> BoxFuture<'static, ServerRequestResult> {
        let content = match serde_json::from_str::<Value>(request.params.get()) {
            Ok(params) if params["requestedSchema"]["properties"]["confirmed"].is_object() => {
                json!({ "confirmed": true })
            }
            Ok(_) | Err(_) => json!({}),
        };
        let answer = to_raw_value(&json!({ "action": "accept", "content": content }));
        Box::pin(async move { answer.map_err(|_| RawValue::NULL.to_owned()) })
    }
}

struct ScenarioClient {
    manager: ServerManager,
    server: ServerHandle,
    config: Arc<ServerConfig>,
    user: User,
}

impl ScenarioClient {
    async fn new(scenario: &str, url: &str, folder: &std::path::Path) -> Result<Self> {
        let (secrets, events, context) =
            (gatehouse_store::memory(), ChangeCounters::default(), user::context());
        let user = User::new(Arc::clone(&secrets), &events, folder);
        let manager = ServerManager::new(ServerDeps {
            secrets: Arc::clone(&secrets),
            tokens: Arc::new(user.sign_ins.clone()),
            events: Arc::new(events),
            clock: Arc::new(SystemClock),
            data_dir: folder.to_owned(),
            policy: PolicyFile::at(folder.join("policy.json")),
            guard_program: None,
        });
        manager.set_fallback_handler(Arc::new(AcceptingUser));
        let mut config =
            ServerConfig::new("srv-conformance", "conformance", Transport::Http(Remote::at(url)));
        let (sign_in, entered) = user::settings(scenario, &context)?;
        config.transport = Transport::Http(Remote { sign_in, ..Remote::at(url) });
        // Secrets are bound to the server with all of its settings.
        for (field, secret) in entered {
            user::store_secret(&*secrets, &config, field, &secret)?;
        }
        if let Some(id_token) = context["idp_id_token"].as_str() {
            user.sign_ins.adopt_id_token(&config, Secret::new(id_token)).await?;
        }
        let config = manager.put(config).await?;
        let server = manager.get(&config.id).context("the server is not there")?;
        Ok(Self { manager, server, config, user })
    }

    /// Runs a scenario, and signs in whenever the server requires it.
    async fn run(&self, scenario: &str) -> Result<()> {
        let mut sign_ins = 0;
        loop {
            self.wait_until_settled().await?;
            let wants = matches!(self.server.status(), ServerStatus::NeedsAuth { .. });
            let played = if wants { Ok(()) } else { self.play(scenario).await };
            let wants = wants || {
                played.is_err() && matches!(self.settled_status().await?, ServerStatus::NeedsAuth { .. })
            };
            if !wants {
                return played;
            }
            ensure!(sign_ins < SIGN_INS, "the server wants a sign-in again and again");
            sign_ins += 1;
            self.user.sign_in(&self.config).await?;
            let mut next = self.user.next_status();
            self.manager.reconnect(&self.config.id).await?;
            tokio::time::timeout(STEP_TIMEOUT, next.changed())
                .await
                .context("nothing was connected to")??;
        }
    }

    /// Waits until a connection is made, or the server needs the user.
    async fn wait_until_settled(&self) -> Result<()> {
        match self.settled_status().await? {
            ServerStatus::Failed { message, .. } => bail!(message),
            ServerStatus::NeedsClientRegistration { reason } => bail!(reason),
            _ => Ok(()),
        }
    }

    async fn settled_status(&self) -> Result<ServerStatus> {
        let mut revision = self.manager.revision();
        let settled = async {
            loop {
                match self.server.status() {
                    ServerStatus::Connecting { .. } | ServerStatus::Stopped => revision.changed().await?,
                    status => return anyhow::Ok(status),
                }
            }
        };
        tokio::time::timeout(STEP_TIMEOUT, settled).await.context("the server never connected")?
    }

    async fn play(&self, scenario: &str) -> Result<()> {
        match scenario {
            "initialize" | "request-metadata" | "json-schema-ref-no-deref" => self.list().await.map(drop),
            "tools_call" => self.call("add_numbers", json!({ "a": 5, "b": 3 })).await.map(drop),
            "elicitation-sep1034-client-defaults" => {
                self.call("test_client_elicitation_defaults", json!({})).await.map(drop)
            }
            "sse-retry" => {
                self.list().await?;
                self.call("test_reconnection", json!({})).await.map(drop)
            }
            "sep-2322-client-request-state" => self.input_required_rounds().await,
            "http-standard-headers" => self.call_everything().await,
            "http-custom-headers" => self.calls_from_context().await,
            "http-invalid-tool-headers" => self.call_every_tool().await,
            "json-schema-2020-12-preservation" => self.echo_schema().await,
            scenario if scenario.starts_with("auth/") => self.list_and_call().await,
            other => bail!("the scenario {other} is not known"),
        }
    }

    async fn request(&self, method: &'static str, params: RequestParams) -> Result<Value> {
        match self.server.call(UpstreamRequest::new(method, params)).await? {
            RpcOutcome::Result(result) => Ok(serde_json::from_str(result.get())?),
            RpcOutcome::Error(error) => bail!("{method} was answered with {}", error.get()),
        }
    }

    async fn list(&self) -> Result<Vec<Value>> {
        let listed = self.request("tools/list", RequestParams::none()).await?;
        Ok(listed["tools"].as_array().cloned().unwrap_or_default())
    }

    async fn call(&self, tool: &str, arguments: Value) -> Result<Value> {
        let arguments = to_raw_value(&arguments)?;
        self.request("tools/call", RequestParams::none().with_text("name", tool).with("arguments", arguments))
            .await
    }

    /// Lists and calls tools, as a signed-in client does.
    async fn list_and_call(&self) -> Result<()> {
        self.list().await?;
        self.call("test-tool", json!({})).await.map(drop)
    }

    /// Multi-round-trip requests (input required), as the gateway handles them for a client that cannot.
    async fn input_required_rounds(&self) -> Result<()> {
        for tool in
            ["test_mrtr_echo_state", "test_mrtr_no_state", "test_mrtr_unrelated", "test_mrtr_no_result_type"]
        {
            let result = self.call(tool, json!({})).await?;
            if result["resultType"] != "input_required" {
                continue;
            }
            let mut responses = Map::new();
            for (name, request) in result["inputRequests"].as_object().context("no requests")? {
                let request = ServerRequest {
                    server: Arc::clone(&self.config),
                    method: request["method"].as_str().context("no method")?.into(),
                    params: to_raw_value(&request["params"])?,
                    key: Some(name.as_str().into()),
                };
                let answer = handle_server_request(&AcceptingUser, request, self.manager.schemas()).await;
                let answer =
                    answer.map_err(|error| anyhow::anyhow!("nobody could answer: {}", error.get()))?;
                responses.insert(name.clone(), serde_json::from_str(answer.get())?);
            }
            let mut params = RequestParams::none()
                .with_text("name", tool)
                .with("arguments", to_raw_value(&json!({}))?)
                .with("inputResponses", to_raw_value(&responses)?);
            if let Some(state) = result["requestState"].as_str() {
                params = params.with_text("requestState", state);
            }
            let last = self.request("tools/call", params).await?;
            ensure!(last["resultType"] != "input_required", "the second round was not the last");
        }
        Ok(())
    }

    async fn call_everything(&self) -> Result<()> {
        self.list().await?;
        self.call("my-hyphenated-tool", json!({})).await?;
        self.call("test_headers", json!({})).await?;
        self.request("resources/list", RequestParams::none()).await?;
        for uri in ["file:///path/to/file%20name.txt", "https://example.com/resource?id=123"] {
            self.request("resources/read", RequestParams::none().with_text("uri", uri)).await?;
        }
        self.request("prompts/list", RequestParams::none()).await?;
        self.request("prompts/get", RequestParams::none().with_text("name", "test_prompt")).await.map(drop)
    }

    async fn calls_from_context(&self) -> Result<()> {
        let context: Value = serde_json::from_str(&std::env::var("MCP_CONFORMANCE_CONTEXT")?)?;
        self.list().await?;
        for call in context["toolCalls"].as_array().context("no calls are named")? {
            self.call(call["name"].as_str().context("no name")?, call["arguments"].clone()).await?;
        }
        Ok(())
    }

    /// Calls every tool in the catalog, which leaves out those with invalid header annotations.
    async fn call_every_tool(&self) -> Result<()> {
        let mut called = 0;
        for tool in self.list().await? {
            if ParamHeader::of_schema(&tool["inputSchema"].to_string()).is_err() {
                continue;
            }
            called += 1;
            self.call(tool["name"].as_str().context("no name")?, json!({ "region": "us-west1" })).await?;
        }
        ensure!(called > 0, "no tool was left");
        Ok(())
    }

    async fn echo_schema(&self) -> Result<()> {
        let lists = self.server.lists();
        let tool = lists.tools.iter().find(|tool| tool.name == "json_schema_2020_12_tool");
        let definition: Map<String, Value> =
            serde_json::from_str(tool.context("the tool is not there")?.raw.get())?;
        self.call("json_schema_echo", json!({ "schema": definition["inputSchema"] })).await.map(drop)
    }
}
