//! Sign-ins from the terminal: servers that a real authorization server protects, a sign-in that waits
//! for its browser, and a search for leaked secrets at the end.

use std::net::TcpListener;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::child_process::ChildProcess;
use crate::client::{CallOutcome, Client, Sdk};
use crate::eventually::eventually;
use crate::gatehouse::Gatehouse;
use crate::oidc::{AuthorizationServer, Browser, BrowserPage};

/// A Gatehouse, an AI client of it, and an authorization server.
#[derive(Debug)]
pub struct SignInTestbed {
    pub gatehouse: Gatehouse,
    /// The authorization server and the MCP server that it protects.
    pub provider: AuthorizationServer,
    pub client: Client,
    token: String,
}

impl SignInTestbed {
    /// Starts all of them; the options are those of [`AuthorizationServer::start`].
    pub fn start(options: &[&str]) -> Result<Self> {
        let provider = AuthorizationServer::start(options)?;
        let gatehouse = Gatehouse::start()?;
        let token = gatehouse.add_client("Tester")?;
        let client = connect(&gatehouse, &token)?;
        Ok(Self { gatehouse, provider, client, token })
    }

    /// Adds the protected server with default settings, so that everything is discovered.
    pub fn add(&self, name: &str) -> Result<()> {
        self.gatehouse.ask(&["servers", "add", name, "--url", &self.provider.mcp])?;
        self.gatehouse.await_status(name, "needs_auth")?;
        Ok(())
    }

    /// Adds the protected server with sign-in settings and their secrets, as the window does.
    pub fn add_with(&self, name: &str, sign_in: &Value, secrets: &[(&str, &str)]) -> Result<()> {
        let transport = json!({ "type": "http", "url": self.provider.mcp, "signIn": sign_in });
        let secrets: Vec<Value> =
            secrets.iter().map(|(field, value)| json!({ "field": field, "value": value })).collect();
        let draft = json!({ "name": name, "transport": transport });
        let added = json!({ "draft": draft, "trustLabels": false, "secrets": secrets });
        self.gatehouse.command("servers.add", &added).map(drop)
    }

    /// Adds the protected server with the preregistered client and its own redirect URI.
    pub fn add_confidential(&self, name: &str) -> Result<()> {
        let client = self.provider.clients()?.confidential;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let sign_in = json!({
            "client": { "id": client.id, "secret": "${secret:CLIENT}" },
            "redirect": format!("http://127.0.0.1:{port}/callback"),
        });
        self.add_with(name, &sign_in, &[("signIn/secret", client.secret.reveal())])?;
        self.gatehouse.await_status(name, "needs_auth")?;
        Ok(())
    }

    /// Signs in, waits until the server runs, and allows all of its tools.
    pub fn sign_in(&self, name: &str, user: &'static str) -> Result<BrowserPage> {
        let signing = SignInCommand::begin(&self.gatehouse, name)?;
        let page = Browser::of(user).visit(&signing.address)?;
        signing.wait_for_success()?;
        self.await_connected(name)?;
        Ok(page)
    }

    /// Waits until a server runs, and allows all of its tools.
    pub fn await_connected(&self, name: &str) -> Result<()> {
        self.gatehouse.await_status(name, "connected")?;
        self.gatehouse.ask(&["policy", "auto-approve", name, "all"])?;
        Ok(())
    }

    /// Calls a tool of a server.
    pub fn call(&mut self, server: &str, tool: &str, arguments: &Value) -> Result<CallOutcome> {
        let name = self.exposed(server, tool)?;
        self.client.call(&name, arguments)
    }

    /// The protected server's answer to `whoami`.
    pub fn whoami(&mut self, server: &str) -> Result<String> {
        let answer = self.call(server, "whoami", &json!({}))?;
        ensure!(answer.is_ok(), "whoami of {server}: {answer:?}");
        Ok(answer.text())
    }

    /// The exposed name of a tool.
    pub fn exposed(&self, server: &str, tool: &str) -> Result<String> {
        let tools = self.gatehouse.ask(&["tools", "list", "--server", server])?;
        let of = |view: &Value| view["tool"] == tool || view["name"] == tool;
        let found = tools.as_array().into_iter().flatten().find(|view| of(view));
        let name = found.with_context(|| format!("{tool} is not in {tools:#}"))?["exposedName"].as_str();
        Ok(name.context("no name")?.to_owned())
    }

    /// The public state of a server's sign-in.
    pub fn state(&self, server: &str) -> Result<Value> {
        let servers = self.gatehouse.ask(&["servers", "list"])?;
        let found = servers.as_array().into_iter().flatten().find(|view| view["config"]["name"] == server);
        Ok(found.with_context(|| format!("{server} is not in {servers:#}"))?["signIn"].clone())
    }

    /// Waits until the sign-in of a server is `out`, `waiting` or `in`.
    pub fn await_sign_in(&self, server: &str, is: &str) -> Result<Value> {
        eventually(format!("the sign-in of {server} to be {is}"), || {
            let state = self.state(server)?;
            Ok(if state["is"] == is { Ok(state) } else { Err(format!("{state:#}")) })
        })
    }

    /// Stops Gatehouse, runs the closure, starts Gatehouse again and reconnects its client.
    pub fn restart(&mut self, meanwhile: impl FnOnce(&AuthorizationServer) -> Result<()>) -> Result<()> {
        self.gatehouse.stop()?;
        meanwhile(&self.provider)?;
        self.gatehouse.launch()?;
        self.client = connect(&self.gatehouse, &self.token)?;
        Ok(())
    }

    /// Stops Gatehouse, and searches everything it wrote for what the authorization server issued.
    pub fn end(mut self) -> Result<()> {
        let gatehouse = &self.gatehouse;
        let mut texts = vec![
            ("the events", gatehouse.command("events.list", &json!({}))?.to_string()),
            ("the calls", gatehouse.ask(&["calls"])?.to_string()),
            ("the servers", gatehouse.ask(&["servers", "list"])?.to_string()),
        ];
        for server in gatehouse.ask(&["servers", "list"])?.as_array().into_iter().flatten() {
            let id = server["config"]["id"].as_str().context("no id")?;
            texts.push(("a server's log", gatehouse.ask(&["servers", "log", id])?.to_string()));
        }
        self.gatehouse.stop()?;
        self.provider.ensure_nothing_leaked(self.gatehouse.home(), &texts)
    }
}

fn connect(gatehouse: &Gatehouse, token: &str) -> Result<Client> {
    Client::connect(Sdk::TypeScript, "2026-07-28", &gatehouse.endpoint, Some(token))
}

/// `gatehousectl servers sign-in NAME --print`, which waits until the browser is done.
#[derive(Debug)]
pub struct SignInCommand {
    child_process: ChildProcess,
    /// The address to open.
    pub address: String,
}

impl SignInCommand {
    /// Starts a sign-in.
    pub fn begin(gatehouse: &Gatehouse, server: &str) -> Result<Self> {
        Self::begin_with(gatehouse, server, "--print")
    }

    /// Starts a sign-in whose browser is on another computer; [`SignInCommand::paste`] has to follow.
    pub fn begin_with_paste(gatehouse: &Gatehouse, server: &str) -> Result<Self> {
        Self::begin_with(gatehouse, server, "--paste")
    }

    fn begin_with(gatehouse: &Gatehouse, server: &str, how: &str) -> Result<Self> {
        let mut child_process = gatehouse.begin(&["servers", "sign-in", server, how])?;
        let address = child_process.wait_for_line(|line| line.starts_with("http"))?;
        Ok(Self { child_process, address })
    }

    /// Types the callback URL of the browser.
    pub fn paste(&mut self, address: &str) -> Result<()> {
        self.child_process.write_line(address)
    }

    /// Waits until it succeeds.
    pub fn wait_for_success(mut self) -> Result<()> {
        let said = self.rest();
        let status = self.child_process.wait()?;
        ensure!(status.success(), "the sign-in ended with {status}: {said}");
        Ok(())
    }

    /// Waits until it fails, and returns its output.
    pub fn wait_for_failure(mut self) -> Result<String> {
        let said = self.rest();
        let status = self.child_process.wait()?;
        ensure!(!status.success(), "the sign-in ended well: {said}");
        Ok(said)
    }

    fn rest(&mut self) -> String {
        let mut said = String::new();
        while let Ok(line) = self.child_process.next_line() {
            said.push_str(&line);
            said.push('\n');
        }
        said
    }
}
