//! Profiles from outside: two clients of one Gatehouse see different servers and tools, in both families of revisions,
//! and there is no way round: not by a name, a prompt, a resource, a completion, a subscription, or the control socket.

use anyhow::{Context, Result, ensure};
use gatehouse_tests::approvals;
use gatehouse_tests::client::{Client, Sdk};
use gatehouse_tests::eventually::eventually;
use gatehouse_tests::fixture_server::{FixtureServer, ServerTransport, add};
use gatehouse_tests::gatehouse::Gatehouse;
use gatehouse_tests::http;
use serde_json::{Value, json};

const RESOURCE: &str = "fixture://note";

/// A Gatehouse with the fixture server and Notes, and two clients.
struct World {
    gatehouse: Gatehouse,
    /// Uses no profile.
    wide: String,
    narrow: String,
    _server: FixtureServer,
}

impl World {
    fn start() -> Result<Self> {
        let gatehouse = Gatehouse::start()?;
        let server = add(&gatehouse, "fixture", ServerTransport::Stdio, &[])?;
        for name in ["fixture", "Notes"] {
            gatehouse.await_status(name, "connected")?;
        }
        let (wide, narrow) = (gatehouse.add_client("wide")?, gatehouse.add_client("narrow")?);
        Ok(Self { gatehouse, wide, narrow, _server: server })
    }

    /// Gives the narrow client a profile with these settings.
    fn assign(&self, settings: &Value) -> Result<()> {
        let added = self.gatehouse.command("profiles.add", &json!({ "settings": settings }))?;
        let profile = &added["profile"]["id"];
        self.gatehouse.command("clients.set", &json!({ "client": "narrow", "profile": profile }))?;
        Ok(())
    }

    /// The answer to one request of revision 2026-07-28.
    fn ask(&self, token: &str, method: &str, params: &Value) -> Result<Value> {
        let name = match method {
            "resources/read" => params["uri"].as_str(),
            "prompts/get" | "tools/call" => params["name"].as_str(),
            _ => None,
        };
        let mut params = params.clone();
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "bytes", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
        let authorization = format!("Bearer {token}");
        let mut headers = vec![
            ("Authorization", authorization.as_str()),
            ("Content-Type", "application/json"),
            ("Accept", "application/json"),
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", method),
        ];
        headers.extend(name.map(|name| ("Mcp-Name", name)));
        let answer = http::post(&self.gatehouse.endpoint, &headers, body.as_bytes())?;
        serde_json::from_str(&answer.body).with_context(|| format!("{method}: {answer:?}"))
    }

    /// What is in one of a client's lists, by this member.
    fn list(&self, token: &str, method: &str, member: &str, name: &str) -> Result<Vec<String>> {
        let answer = self.ask(token, method, &json!({}))?;
        ensure!(answer["result"]["cacheScope"] == "private", "{answer:#}");
        let items = answer["result"][member].as_array().with_context(|| format!("{answer:#}"))?;
        Ok(items.iter().filter_map(|item| item[name].as_str().map(str::to_owned)).collect())
    }

    fn tools(&self, token: &str) -> Result<Vec<String>> {
        self.list(token, "tools/list", "tools", "name")
    }

    fn last_call(&self) -> Result<Value> {
        Ok(self.gatehouse.command("calls.list", &json!({ "filter": { "limit": 1 } }))?[0].take())
    }
}

fn strict(name: &str, servers: Value) -> Value {
    json!({ "name": name, "servers": servers, "otherServers": "hidden" })
}

#[test]
fn client_sees_only_servers_of_its_profile_and_reaches_no_other() -> Result<()> {
    let world = World::start()?;
    let before = world.tools(&world.wide)?;
    world.assign(&strict(
        "Notes only",
        json!([{ "server": "Notes", "tools": { "shows": "only", "tools": ["list_notes"] } }]),
    ))?;
    let narrow = &world.narrow;
    ensure!(world.tools(narrow)? == ["list_notes"], "{:?}", world.tools(narrow)?);
    ensure!(world.tools(&world.wide)? == before, "the other client's list changed");
    for (method, member, name) in [
        ("resources/list", "resources", "uri"),
        ("resources/templates/list", "resourceTemplates", "uriTemplate"),
        ("prompts/list", "prompts", "name"),
    ] {
        ensure!(world.list(narrow, method, member, name)?.is_empty(), "{method}");
        ensure!(!world.list(&world.wide, method, member, name)?.is_empty(), "{method}");
    }
    // Even what is allowed for everybody.
    world.gatehouse.command("policy.autoApprove", &json!({ "to": "all" }))?;
    for tool in ["add_note", "echo"] {
        let answer =
            world.ask(narrow, "tools/call", &json!({ "name": tool, "arguments": { "text": "x" } }))?;
        ensure!(answer["error"]["code"] == -32602, "{tool}: {answer:#}");
        ensure!(answer["error"]["message"] == format!("There is no tool named “{tool}”."), "{answer:#}");
        let record = world.last_call()?;
        ensure!(record["verdict"]["rule"] == json!({ "rule": "hidden_by_profile", "profile": "Notes only" }));
        ensure!(record["clientName"] == "narrow" && record["outcome"]["outcome"] == "refused", "{record:#}");
    }
    let argument = json!({ "name": "id", "value": "1" });
    for (method, params) in [
        ("resources/read", json!({ "uri": RESOURCE })),
        ("resources/read", json!({ "uri": "fixture://item/7" })),
        ("prompts/get", json!({ "name": "greet", "arguments": { "name": "x" } })),
        (
            "completion/complete",
            json!({ "ref": { "type": "ref/prompt", "name": "greet" }, "argument": argument }),
        ),
        (
            "completion/complete",
            json!({ "ref": { "type": "ref/resource", "uri": "fixture://item/{id}" }, "argument": argument }),
        ),
    ] {
        let answer = world.ask(narrow, method, &params)?;
        ensure!(answer["error"]["code"] == -32602, "{method} {params}: {answer:#}");
    }
    // The server's own id in a URI of Gatehouse's scheme.
    let servers = world.gatehouse.ask(&["servers", "list"])?;
    let fixture = servers.as_array().into_iter().flatten().find(|view| view["config"]["name"] == "fixture");
    let id = fixture.context("fixture")?["config"]["id"].as_str().context("id")?.to_owned();
    let uri = format!("gatehouse://{id}/{RESOURCE}");
    let answer = world.ask(narrow, "resources/read", &json!({ "uri": uri }))?;
    ensure!(answer["error"]["code"] == -32602, "{answer:#}");
    // A server that is added later is not part of it.
    world.gatehouse.command("servers.duplicate", &json!({ "server": "Time", "name": "Later" }))?;
    world.gatehouse.await_status("Later", "connected")?;
    ensure!(world.tools(narrow)? == ["list_notes"]);
    Ok(())
}

/// The endpoint of one server lists its tools in full, also for a client that searches: there is nothing to search in.
#[test]
fn endpoint_of_one_server_follows_the_profile() -> Result<()> {
    let world = World::start()?;
    let mut settings = strict(
        "Narrow",
        json!([{ "server": "Notes", "tools": { "shows": "only", "tools": ["list_notes"] } }]),
    );
    settings["toolList"] = json!("search");
    world.assign(&settings)?;
    world.gatehouse.command("policy.autoApprove", &json!({ "to": "all" }))?;
    let own =
        |server: &str| format!("{}/servers/{server}/mcp", world.gatehouse.endpoint.trim_end_matches("/mcp"));
    let ask = |server: &str, token: &str, method: &str, params: &str| {
        http::stateless_request(&own(server), token, method, params)
    };
    // As a server that there isn't, whatever is asked for.
    let missing = ask("no_such", &world.narrow, "tools/list", "")?;
    for method in ["server/discover", "tools/list", "resources/list", "prompts/list"] {
        let hidden = ask("fixture", &world.narrow, method, "")?;
        ensure!(hidden.status == 404 && hidden.body == missing.body, "{method}: {hidden:?}\n{missing:?}");
        ensure!(ask("fixture", &world.wide, method, "")?.status == 200, "{method}");
    }
    let list: Value = serde_json::from_str(&ask("Notes", &world.narrow, "tools/list", "")?.body)?;
    let tools = list["result"]["tools"].as_array().with_context(|| format!("{list:#}"))?;
    ensure!(tools.len() == 1 && tools[0]["name"] == "list_notes", "{list:#}");
    ensure!(list["result"]["cacheScope"] == "private", "{list:#}");
    for (tool, is_there) in
        [("list_notes", true), ("add_note", false), ("search_tools", false), ("call_tool", false)]
    {
        let params = format!(r#""name":"{tool}","arguments":{{"text":"x"}}"#);
        let answer = ask("Notes", &world.narrow, "tools/call", &params)?;
        let is_unknown = answer.body.contains("There is no tool named");
        ensure!(is_unknown != is_there, "{tool}: {answer:?}");
    }
    Ok(())
}

#[test]
fn session_is_told_of_another_profile_and_loses_what_is_hidden() -> Result<()> {
    let world = World::start()?;
    world.gatehouse.command("policy.autoApprove", &json!({ "to": "all" }))?;
    let endpoint = &world.gatehouse.endpoint;
    let mut client = Client::connect(Sdk::TypeScript, "2025-11-25", endpoint, Some(&world.narrow))?;
    let mut other = Client::connect(Sdk::TypeScript, "2025-11-25", endpoint, Some(&world.wide))?;
    for client in [&mut client, &mut other] {
        ensure!(client.tools()?.iter().any(|tool| tool["name"] == "echo"));
        ensure!(client.ask("watch", RESOURCE)?.is_ok());
        ensure!(client.call("echo", &json!({ "a": 1 }))?.is_ok());
    }
    world.assign(&strict("Notes only", json!([{ "server": "Notes", "tools": { "shows": "all" } }])))?;
    client.next_message("toolsChanged")?;
    let tools = client.tools()?;
    ensure!(!tools.is_empty() && !tools.iter().any(|tool| tool["name"] == "echo"), "{tools:?}");
    ensure!(!client.call("echo", &json!({ "a": 1 }))?.is_ok(), "the session goes on with what it had");
    ensure!(!client.ask("read", RESOURCE)?.is_ok());
    // The resource changes: the one that sees it is told, the other is not, though it had subscribed.
    ensure!(other.call("write_note", &json!({ "text": "new" }))?.is_ok());
    other.next_message("updated")?;
    ensure!(client.call("list_notes", &json!({}))?.is_ok());
    ensure!(client.buffered_count("updated") == 0);
    Ok(())
}

#[test]
fn search_leads_to_an_approval_of_the_real_tool() -> Result<()> {
    let world = World::start()?;
    let full = world.gatehouse.ask(&["clients", "list"])?;
    world.assign(&json!({ "name": "Search", "toolList": "search" }))?;
    let narrow = &world.narrow;
    ensure!(world.tools(narrow)? == ["search_tools", "describe_tool", "call_tool"]);
    let call = |name: &str, arguments: Value| {
        world.ask(narrow, "tools/call", &json!({ "name": name, "arguments": arguments }))
    };
    let text =
        |answer: &Value| answer["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned();
    let found: Value =
        serde_json::from_str(&text(&call("search_tools", json!({ "query": "keep a note" }))?))?;
    let names: Vec<_> = found["tools"].as_array().into_iter().flatten().map(|tool| &tool["name"]).collect();
    ensure!(names.contains(&&json!("write_note")), "{names:?}");
    let described: Value =
        serde_json::from_str(&text(&call("describe_tool", json!({ "name": "write_note" }))?))?;
    ensure!(described["inputSchema"]["required"] == json!(["text"]), "{described:#}");

    let arguments = r#"{"name":"write_note","arguments":{ "text" : "\u0041" }}"#;
    let running = http::BackgroundCall::call(&world.gatehouse.endpoint, narrow, "call_tool", arguments);
    let asked = approvals::wait_for_pending(&world.gatehouse, 1)?.remove(0);
    let request = &asked["request"];
    ensure!(request["subject"] == json!({ "kind": "tool", "name": "write_note" }), "{request:#}");
    ensure!(request["server"]["name"] == "fixture" && request["exposedName"] == "write_note", "{request:#}");
    world.gatehouse.ask(&["approvals", "answer", asked["id"].as_str().context("id")?, "allow"])?;
    let end = running.end()?;
    ensure!(end.body.contains("\"result\"") && !end.body.contains("isError\":true"), "{end:?}");
    let record = world.last_call()?;
    ensure!(record["subject"]["name"] == "write_note" && record["outcome"]["outcome"] == "ok", "{record:#}");

    // What the list costs is said, and is much less.
    let cost = |clients: &Value| {
        let narrow = clients.as_array().into_iter().flatten().find(|client| client["name"] == "narrow");
        narrow.map(|client| client["toolList"].clone()).unwrap_or_default()
    };
    let (full, search) = (cost(&full), cost(&world.gatehouse.ask(&["clients", "list"])?));
    ensure!(full["tools"] == search["tools"] && search["listed"] == 3, "{full} {search}");
    ensure!(full["tokens"].as_u64() > search["tokens"].as_u64().map(|tokens| tokens * 2), "{full} {search}");
    Ok(())
}

#[test]
fn calls_over_the_limit_say_so_and_ask_nobody() -> Result<()> {
    let world = World::start()?;
    world.assign(&json!({ "name": "Slow", "callsPerMinute": 1 }))?;
    let params = json!({ "name": "no_such_tool", "arguments": {} });
    ensure!(world.ask(&world.narrow, "tools/call", &params)?["error"]["code"] == -32602);
    let params = json!({ "name": "write_note", "arguments": { "text": "x" } });
    let answer = world.ask(&world.narrow, "tools/call", &params)?;
    let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
    ensure!(answer["result"]["isError"] == true && text.contains("at most 1 calls a minute"), "{answer:#}");
    ensure!(text.contains("Wait ") && text.contains(" seconds, then call again."), "{text}");
    let answer = world.ask(&world.narrow, "resources/read", &json!({ "uri": RESOURCE }))?;
    let said = answer["error"]["message"].as_str().unwrap_or_default();
    ensure!(said.contains("at most 1 calls a minute"), "{answer:#}");
    ensure!(world.gatehouse.ask(&["approvals", "list"])? == json!([]), "somebody was asked");
    ensure!(world.last_call()?["verdict"]["rule"] == json!({ "rule": "rate_limited", "perMinute": 1 }));
    Ok(())
}

#[test]
fn profile_and_its_clients_survive_a_restart_with_their_names() -> Result<()> {
    let mut world = World::start()?;
    let mut settings = strict(
        "Notes",
        json!([{ "server": "Notes", "tools": { "shows": "except", "tools": ["add_note"] } }]),
    );
    settings["naming"] = json!("mcpServer");
    world.assign(&settings)?;
    let before = world.tools(&world.narrow)?;
    ensure!(before.iter().all(|name| name.starts_with("mcp__Notes__")) && !before.is_empty(), "{before:?}");
    ensure!(!before.contains(&"mcp__Notes__add_note".to_owned()));
    world.gatehouse.stop()?;
    world.gatehouse.launch()?;
    world.gatehouse.await_status("Notes", "connected")?;
    eventually("the same names", || {
        let now = world.tools(&world.narrow)?;
        Ok(if now == before { Ok(()) } else { Err(format!("{now:?}")) })
    })?;
    // A profile that a client uses can't be removed, which would show the client everything.
    let removed = world.gatehouse.command("profiles.remove", &json!({ "profile": "Notes" }));
    ensure!(removed.is_err_and(|error| error.to_string().contains("still use")), "removed");
    ensure!(world.tools(&world.narrow)? == before);
    let audit = world.gatehouse.ask(&["audit"])?.to_string();
    ensure!(audit.contains("profile_changed") && audit.contains("profile_assigned"), "{audit}");
    Ok(())
}

/// Tried: a client that asks for a profile, by every place in which it could name one; then the profile, the assignment
/// and the record of both, changed without the operator key. Stopped by: a client's profile depends on its token alone;
/// the commands need the operator; the record is sealed, and what can't be verified shows nothing.
#[test]
fn it_gives_itself_another_profile() -> Result<()> {
    let mut world = World::start()?;
    world.assign(&strict("Empty", json!([])))?;
    world.gatehouse.command("profiles.add", &json!({ "settings": { "name": "Everything" } }))?;
    let endpoint = world.gatehouse.endpoint.clone();
    let authorization = format!("Bearer {}", world.narrow);
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"profile":"Everything","_meta":{"profile":"Everything","gatehouse/profile":"Everything","io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"wide","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    for url in [endpoint.clone(), format!("{endpoint}?profile=Everything"), format!("{endpoint}?client=wide")]
    {
        let headers = [
            ("Authorization", authorization.as_str()),
            ("Content-Type", "application/json"),
            ("Accept", "application/json"),
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", "tools/list"),
            ("Gatehouse-Profile", "Everything"),
            ("X-Profile", "Everything"),
        ];
        let answer = http::post(&url, &headers, body.as_bytes())?;
        ensure!(answer.status >= 400 || answer.body.contains(r#""tools":[]"#), "{url}: {answer:?}");
    }
    for words in [
        &["clients", "set", "narrow", "--no-profile"][..],
        &["clients", "set", "narrow", "--profile", "Everything"],
        &["profiles", "set", "Empty", "--others", "shown"],
        &["profiles", "remove", "Empty"],
    ] {
        let done = world.gatehouse.run_unprivileged(words)?;
        ensure!(done.status.code() == Some(4), "{words:?}: {done:?}");
    }
    ensure!(world.tools(&world.narrow)?.is_empty());
    world.gatehouse.stop()?;
    let ledger = rusqlite::Connection::open(world.gatehouse.data_dir().join("ledger.db"))?;
    let changed = ledger.execute(
        "UPDATE sealed SET body = CAST(replace(body, '\"hidden\"', '\"shown\"') AS BLOB) WHERE name = 'profiles/serve'",
        [],
    )?;
    ensure!(changed == 1, "no record of profiles");
    drop(ledger);
    world.gatehouse.launch()?;
    world.gatehouse.await_status("Notes", "connected")?;
    for token in [&world.narrow, &world.wide] {
        ensure!(world.tools(token)?.is_empty(), "{:?}", world.tools(token)?);
    }
    ensure!(world.gatehouse.problems()?.contains("stored profiles can't be trusted"), "nobody is told");

    // Without the record it is the same, and a new list doesn't show anybody more than its first profile does.
    world.gatehouse.stop()?;
    let ledger = rusqlite::Connection::open(world.gatehouse.data_dir().join("ledger.db"))?;
    ensure!(ledger.execute("DELETE FROM sealed WHERE name = 'profiles/serve'", [])? == 1);
    drop(ledger);
    world.gatehouse.launch()?;
    world.gatehouse.await_status("Notes", "connected")?;
    for token in [&world.narrow, &world.wide] {
        ensure!(world.tools(token)?.is_empty(), "{:?}", world.tools(token)?);
    }
    let first = world.gatehouse.command(
        "profiles.add",
        &json!({ "settings": { "name": "First", "servers": [{ "server": "Notes", "tools": { "shows": "only", "tools": ["list_notes"] } }], "otherServers": "hidden" } }),
    )?;
    ensure!(first["clients"].as_array().is_some_and(|clients| clients.len() == 2), "{first:#}");
    for token in [&world.narrow, &world.wide] {
        ensure!(world.tools(token)? == ["list_notes"], "{:?}", world.tools(token)?);
    }
    let second = world.gatehouse.command("profiles.add", &json!({ "settings": { "name": "Second" } }))?;
    ensure!(second["clients"] == json!([]), "{second:#}");
    world.gatehouse.ask(&["clients", "set", "wide", "--no-profile"])?;
    ensure!(world.tools(&world.wide)?.len() > 1 && world.tools(&world.narrow)? == ["list_notes"]);
    Ok(())
}

#[test]
fn verbs_make_a_profile_and_give_it_to_a_client() -> Result<()> {
    let world = World::start()?;
    let gatehouse = &world.gatehouse;
    let added = gatehouse.ask(&[
        "profiles",
        "add",
        "Small",
        "--only",
        "fixture=echo,read_note",
        "--show",
        "notes",
        "--others",
        "hidden",
        "--names",
        "server",
        "--calls-per-minute",
        "100",
    ])?;
    let settings = &added["profile"]["settings"];
    ensure!(settings["otherServers"] == "hidden" && settings["callsPerMinute"] == 100, "{settings:#}");
    gatehouse.ask(&["clients", "set", "narrow", "--profile", "small"])?;
    let tools = world.tools(&world.narrow)?;
    ensure!(tools.contains(&"fixture__echo".to_owned()) && tools.contains(&"Notes__add_note".to_owned()));
    ensure!(!tools.contains(&"fixture__write_note".to_owned()), "{tools:?}");
    // What isn't named stays.
    gatehouse.ask(&["profiles", "set", "Small", "--except", "fixture=echo", "--calls-per-minute", "none"])?;
    let tools = world.tools(&world.narrow)?;
    ensure!(
        tools.contains(&"fixture__write_note".to_owned()) && tools.contains(&"Notes__add_note".to_owned())
    );
    ensure!(!tools.contains(&"fixture__echo".to_owned()), "{tools:?}");
    let said = |words: &[&str]| -> Result<String> {
        Ok(String::from_utf8(gatehouse.run_as_operator(words)?.stdout)?)
    };
    let list = said(&["profiles", "list"])?;
    ensure!(list.contains("Small") && list.contains("narrow") && list.contains(" tokens"), "{list}");
    let shown = said(&["profiles", "show", "small"])?;
    ensure!(shown.contains("fixture: everything but echo") && shown.contains("(strict)"), "{shown}");
    let clients = said(&["clients", "list"])?;
    ensure!(clients.contains("Small") && clients.contains(" tokens"), "{clients}");
    ensure!(!gatehouse.run_as_operator(&["profiles", "add", "x", "--show", "No such"])?.status.success());
    gatehouse.ask(&["clients", "set", "narrow", "--no-profile"])?;
    gatehouse.ask(&["profiles", "remove", "Small"])?;
    ensure!(world.tools(&world.narrow)? == world.tools(&world.wide)?);
    Ok(())
}
