//! One server by itself at `/servers/NAME/mcp`, and old clients at `/sse`: real clients of both eras, the server's own
//! names and bytes, and the same permissions as at `/mcp`.

use std::fs;

use anyhow::{Context, Result, ensure};
use gatehouse_tests::client::{Client, Sdk};
use gatehouse_tests::eventually::eventually_holds;
use gatehouse_tests::fixture_server::{ServerTransport, add};
use gatehouse_tests::gatehouse::Gatehouse;
use gatehouse_tests::http::{self, BackgroundCall, StatelessClient};
use gatehouse_tests::session_client::SessionClient;
use gatehouse_tests::{approvals, fixture};
use serde_json::{Value, json};

/// The address of one server.
fn server_endpoint(gatehouse: &Gatehouse, name: &str) -> String {
    format!("{}/servers/{name}/mcp", gatehouse.endpoint.trim_end_matches("/mcp"))
}

/// The address of the same endpoint for HTTP+SSE.
fn sse(endpoint: &str) -> String {
    format!("{}/sse", endpoint.trim_end_matches("/mcp"))
}

/// Lists the tools at an address, as text.
fn list(endpoint: &str, token: &str) -> Result<String> {
    let answer = http::stateless_request(endpoint, token, "tools/list", "")?;
    ensure!(answer.status == 200, "{answer:?}");
    Ok(answer.body)
}

#[test]
fn one_server_keeps_its_bytes_and_names() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let _first = add(&gatehouse, "first", ServerTransport::Stdio, &[])?;
    let _second = add(&gatehouse, "second", ServerTransport::Stdio, &["--fault", "deceives"])?;
    let token = gatehouse.add_client("transparent")?;
    let own = list(&server_endpoint(&gatehouse, "second"), &token)?;
    for definition in fixture::DECEIVERS {
        ensure!(own.contains(definition), "{definition} is not in {own}");
    }
    ensure!(own.contains(r#""name":"echo""#) && !own.contains("second__echo"), "{own}");
    let all = list(&gatehouse.endpoint, &token)?;
    ensure!(all.contains("second__echo"), "{all}");
    // Titles and descriptions are cleaned for clients of all servers only.
    ensure!(!all.contains(fixture::DECEIVERS[4]), "{all}");
    for (name, expected) in [("first", 200), ("second", 200), ("third", 404), ("First", 404)] {
        let answer =
            http::stateless_request(&server_endpoint(&gatehouse, name), &token, "server/discover", "")?;
        ensure!(answer.status == expected, "{name}: {answer:?}");
        ensure!((answer.status == 200) == answer.body.contains(r#""capabilities":"#), "{answer:?}");
    }
    // It describes itself as it does to Gatehouse.
    let own = http::stateless_request(&server_endpoint(&gatehouse, "first"), &token, "server/discover", "")?;
    let own: Value = serde_json::from_str(&own.body)?;
    let info = &own["result"]["_meta"]["io.modelcontextprotocol/serverInfo"];
    ensure!(info["name"] == "fixture", "{own:#}");
    Ok(())
}

/// What a server says about caching its lists passes as it is, 0 included. Where all servers are listed, the shortest time
/// counts.
#[test]
fn cache_hints_are_the_servers_own() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let token = gatehouse.add_client("agent")?;
    let hints = |endpoint: &str| -> Result<(Value, Value)> {
        let mut listed: Value = serde_json::from_str(&list(endpoint, &token)?)?;
        Ok((listed["result"]["ttlMs"].take(), listed["result"]["cacheScope"].take()))
    };
    let mut upstreams = Vec::new();
    // A server that says nothing counts with 5 s, as the built-in ones do.
    for (name, lifecycle, fault, (own, scope), all) in [
        ("long", "modern", "ttl=70000", (70_000, "public"), 5_000),
        ("older", "legacy", "pages", (5_000, "private"), 5_000),
        ("short", "modern", "ttl=300", (300, "public"), 300),
        ("never", "modern", "ttl=0", (0, "private"), 0),
    ] {
        let words = ["--lifecycle", lifecycle, "--fault", fault];
        upstreams.push(add(&gatehouse, name, ServerTransport::Http, &words)?);
        eventually_holds(format!("{name} to be listed"), || {
            let found = hints(&server_endpoint(&gatehouse, name))?;
            Ok(found == (json!(own), json!(scope)))
        })?;
        eventually_holds(format!("{name} to count"), || {
            Ok(hints(&gatehouse.endpoint)? == (json!(all), json!("private")))
        })?;
    }
    // What a profile makes of a list is for its clients alone.
    gatehouse.ask(&["profiles", "add", "Work", "--show", "long"])?;
    gatehouse.ask(&["clients", "set", "agent", "--profile", "Work"])?;
    let narrowed = hints(&server_endpoint(&gatehouse, "long"))?;
    ensure!(narrowed == (json!(70_000), json!("private")), "{narrowed:?}");
    Ok(())
}

#[test]
fn one_server_is_no_way_round_the_policy() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let _upstream = add(&gatehouse, "memos", ServerTransport::Stdio, &[])?;
    let _other = add(&gatehouse, "other", ServerTransport::Stdio, &[])?;
    let token = gatehouse.add_client("agent")?;
    let endpoint = server_endpoint(&gatehouse, "memos");
    // Nothing is allowed, so it is asked; denied, it does not run.
    let call = BackgroundCall::call(&endpoint, &token, "write_note", r#"{"text":"a"}"#);
    let pending = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
    ensure!(pending["request"]["server"]["name"] == "memos", "{pending:#}");
    approvals::deny(&gatehouse, &pending)?;
    ensure!(call.end()?.body.contains(r#""isError":true"#));
    // What is allowed there is allowed here, and the other way round.
    gatehouse.ask(&["policy", "grant", "memos", "--tool", "write_note"])?;
    for address in [&endpoint, &gatehouse.endpoint] {
        let name = if *address == endpoint { "write_note" } else { "memos__write_note" };
        let name = if list(address, &token)?.contains(&format!(r#""{name}""#)) { name } else { "write_note" };
        let params = format!(r#""name":"{name}","arguments":{{"text":"a"}}"#);
        let answer = http::stateless_request(address, &token, "tools/call", &params)?;
        ensure!(answer.status == 200 && !answer.body.contains(r#""isError":true"#), "{answer:?}");
    }
    // A name of another server's tool is no name here.
    let params = r#""name":"other__write_note","arguments":{"text":"a"}"#;
    let answer = http::stateless_request(&endpoint, &token, "tools/call", params)?;
    ensure!(answer.body.contains("There is no tool named"), "{answer:?}");
    // A pause holds here too.
    gatehouse.ask(&["pause"])?;
    let params = r#""name":"write_note","arguments":{"text":"a"}"#;
    let paused = http::stateless_request(&endpoint, &token, "tools/call", params)?;
    ensure!(paused.body.contains("Gatehouse is paused"), "{paused:?}");
    gatehouse.ask(&["resume"])?;
    // Every call is recorded, wherever it came in.
    let calls = gatehouse.ask(&["calls"])?.to_string();
    ensure!(calls.matches("write_note").count() >= 3, "{calls}");
    Ok(())
}

/// A request that only the server knows reaches it from its own endpoint, judged as a call is: no wide allow covers it, a
/// person sees it whole, and a block holds. Where all servers are served, it doesn't exist.
#[test]
fn requests_of_a_server_are_judged() -> Result<()> {
    for lifecycle in ["legacy", "modern"] {
        let gatehouse = Gatehouse::start()?;
        let log = gatehouse.folder("log")?.join("received");
        let words = ["--lifecycle", lifecycle, "--log", log.to_str().context("path")?];
        let _upstream = add(&gatehouse, "own", ServerTransport::Http, &words)?;
        gatehouse.ask(&["policy", "auto-approve", "own", "all"])?;
        let token = gatehouse.add_client("agent")?;
        let endpoint = server_endpoint(&gatehouse, "own");
        let older = SessionClient::open(&endpoint, &token, "2025-11-25", &json!({}))?;
        let newest = StatelessClient { name: "bytes", capabilities: "{}" };
        const PARAMS: &str = r#""z":1.50,"name":"n","a":null"#;

        let sent = newest.begin_request(&endpoint, &token, "fixture/echo", PARAMS);
        let pending = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
        let text = pending["request"].to_string();
        ensure!(text.contains(r#""kind":"request""#) && text.contains("fixture/echo"), "{pending:#}");
        let hash = &pending["request"]["hash"];
        approvals::allow(&gatehouse, &pending["id"], hash, &approvals::once_choice())?;
        let answer = sent.end()?;
        ensure!(answer.body.contains(&format!(r#""echoed":{{{PARAMS}"#)), "{lifecycle}: {answer:?}");

        let mut denied = older.begin("fixture/echo", &format!("{{{PARAMS}}}"))?;
        let pending = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
        approvals::deny(&gatehouse, &pending)?;
        let denied = denied.next_message()?;
        ensure!(denied["error"]["code"] == -32000, "{lifecycle}: {denied:#}");

        gatehouse.ask(&["policy", "deny", "own", "--tool", "request:fixture/echo"])?;
        let blocked = older.request("fixture/echo", "{}")?;
        ensure!(blocked["error"]["message"].to_string().contains("blocked"), "{blocked:#}");
        // What the protocol has, or could have, is none of the server's own.
        for method in ["notifications/tools/list_changed", "Tools/call", "sampling/createMessage"] {
            let refused = older.request(method, r#"{"name":"echo"}"#)?;
            ensure!(refused["error"]["code"] == -32601, "{method}: {refused:#}");
        }
        let all = SessionClient::open(&gatehouse.endpoint, &token, "2025-11-25", &json!({}))?;
        ensure!(
            all.request("fixture/echo", "{}")?["error"]["code"] == -32601,
            "at the address of all servers"
        );
        approvals::wait_for_pending(&gatehouse, 0)?;
        let received = fs::read_to_string(&log)?;
        ensure!(received.matches(r#""method":"fixture/echo""#).count() == 1, "{received}");
        let recorded = gatehouse.ask(&["calls"])?.to_string();
        ensure!(recorded.matches("fixture/echo").count() >= 3, "{recorded}");
    }
    Ok(())
}

#[test]
fn removed_servers_have_no_address() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let _upstream = add(&gatehouse, "gone", ServerTransport::Stdio, &[])?;
    let token = gatehouse.add_client("agent")?;
    let endpoint = server_endpoint(&gatehouse, "gone");
    list(&endpoint, &token)?;
    gatehouse.ask(&["servers", "remove", "gone"])?;
    eventually_holds("the address to be gone", || {
        Ok(http::stateless_request(&endpoint, &token, "tools/list", "")?.status == 404)
    })?;
    let unknown = http::stateless_request(&server_endpoint(&gatehouse, "never"), &token, "tools/list", "")?;
    let gone = http::stateless_request(&endpoint, &token, "tools/list", "")?;
    ensure!(unknown.body == gone.body, "{unknown:?} {gone:?}");
    let stranger = http::stateless_request(&endpoint, "wrong", "tools/list", "")?;
    ensure!(stranger.status == 401 && !stranger.body.contains("servers"), "{stranger:?}");
    Ok(())
}

/// Lists and calls, with and without a question.
fn use_server(gatehouse: &Gatehouse, client: &mut Client) -> Result<()> {
    let names: Vec<Value> = client.tools()?.iter().map(|tool| tool["name"].clone()).collect();
    ensure!(names.contains(&json!("echo")), "{names:?}");
    let called = client.call("echo", &json!({ "a": [1, null] }))?;
    ensure!(called.is_ok(), "{called:?}");
    let asked = client.begin("read_note", &json!({}))?;
    let pending = approvals::wait_for_pending(gatehouse, 1)?.remove(0);
    approvals::allow(gatehouse, &pending["id"], &pending["request"]["hash"], &approvals::once_choice())?;
    let allowed = client.finish(&asked)?;
    ensure!(allowed.is_ok(), "{allowed:?}");
    Ok(())
}

#[test]
fn sdk_uses_one_server_in_both_eras() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let _first = add(&gatehouse, "first", ServerTransport::Stdio, &[])?;
    let _second = add(&gatehouse, "second", ServerTransport::Stdio, &[])?;
    gatehouse.ask(&["policy", "grant", "second", "--tool", "echo"])?;
    let token = gatehouse.add_client("sdk")?;
    let endpoint = server_endpoint(&gatehouse, "second");
    for (sdk, revision) in
        [(Sdk::TypeScript, "2026-07-28"), (Sdk::TypeScript, "2025-11-25"), (Sdk::Python, "2025-11-25")]
    {
        let mut client = Client::connect(sdk, revision, &endpoint, Some(&token))
            .with_context(|| format!("{sdk:?} {revision}"))?;
        use_server(&gatehouse, &mut client).with_context(|| format!("{sdk:?} {revision}"))?;
    }
    Ok(())
}

#[test]
fn old_clients_use_http_sse() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let _first = add(&gatehouse, "first", ServerTransport::Stdio, &[])?;
    gatehouse.ask(&["policy", "grant", "first", "--tool", "echo"])?;
    let token = gatehouse.add_client("sdk")?;
    for endpoint in [&gatehouse.endpoint, &server_endpoint(&gatehouse, "first")] {
        let mut client = Client::connect(Sdk::TypeScript, "2025-11-25", &sse(endpoint), Some(&token))
            .with_context(|| endpoint.clone())?;
        use_server(&gatehouse, &mut client).with_context(|| endpoint.clone())?;
    }
    ensure!(Client::connect(Sdk::TypeScript, "2025-11-25", &sse(&gatehouse.endpoint), None).is_err());
    Ok(())
}

#[test]
fn adding_a_client_names_the_addresses() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let minted = gatehouse.ask(&["clients", "add", "new"])?;
    ensure!(minted["serverEndpoint"] == server_endpoint(&gatehouse, "NAME").as_str(), "{minted:#}");
    ensure!(minted["sseEndpoint"] == sse(&gatehouse.endpoint).as_str(), "{minted:#}");
    Ok(())
}
