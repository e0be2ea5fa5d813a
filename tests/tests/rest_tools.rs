//! The REST tool API of the whole product (GATE-6): calls of each provider against built-in servers, a person who allows,
//! refuses or answers late, and everybody who must not get anything.

use std::net::TcpStream;

use anyhow::{Context, Result, ensure};
use gatehouse_tests::approvals::{self, wait_for_pending};
use gatehouse_tests::eventually::eventually_holds;
use gatehouse_tests::gatehouse::Gatehouse;
use gatehouse_tests::http::{self, RawHttpResponse};
use serde_json::{Value, json};

const CALL: &str = "/v1/tools/call";

/// A Gatehouse whose built-in server Time may do everything, and a client.
struct RestTestbed {
    gatehouse: Gatehouse,
    base: String,
    token: String,
}

impl RestTestbed {
    fn start() -> Result<Self> {
        let gatehouse = Gatehouse::start()?;
        for server in ["Time", "Notes"] {
            gatehouse.await_status(server, "connected")?;
        }
        gatehouse.ask(&["policy", "auto-approve", "Time", "all"])?;
        let token = gatehouse.add_client("script")?;
        let base = gatehouse.endpoint.trim_end_matches("/mcp").to_owned();
        Ok(Self { gatehouse, base, token })
    }

    fn get(&self, token: &str, path: &str) -> Result<RawHttpResponse> {
        let authorization = format!("Bearer {token}");
        let headers = [("Authorization", authorization.as_str())];
        http::send("GET", &format!("{}{path}", self.base), &headers, b"")
    }

    fn call(&self, token: &str, call: &Value) -> Result<RawHttpResponse> {
        self.call_with(token, call, &[])
    }

    fn call_with(&self, token: &str, call: &Value, more: &[(&str, &str)]) -> Result<RawHttpResponse> {
        post_call(&self.base, token, call, more)
    }

    /// Calls on another thread, and hands the approval request to `answer`, which answers it.
    fn call_and(
        &self,
        call: &Value,
        answer: impl FnOnce(&Value) -> Result<()>,
    ) -> Result<(RawHttpResponse, Value)> {
        let (base, token) = (self.base.as_str(), self.token.as_str());
        std::thread::scope(|scope| {
            let running = scope.spawn(move || post_call(base, token, call, &[]));
            let request = wait_for_pending(&self.gatehouse, 1)?.remove(0);
            answer(&request)?;
            let answered = running.join().map_err(|_| anyhow::anyhow!("the call broke off"))??;
            Ok((answered, request))
        })
    }

    fn allow(&self, request: &Value) -> Result<()> {
        let (id, hash) = (&request["id"], &request["request"]["hash"]);
        approvals::allow(&self.gatehouse, id, hash, &approvals::once_choice())?;
        Ok(())
    }

    /// How many calls wrote a note with this text.
    fn notes(&self, text: &str) -> Result<usize> {
        let calls = self.gatehouse.ask(&["calls", "--tool", "add_note", "--text", text])?;
        let calls = calls.as_array().context("calls")?.iter();
        Ok(calls.filter(|call| call["outcome"]["outcome"] == "ok").count())
    }
}

/// Posts a call object.
fn post_call(base: &str, token: &str, call: &Value, more: &[(&str, &str)]) -> Result<RawHttpResponse> {
    let authorization = format!("Bearer {token}");
    let mut headers = vec![("Authorization", authorization.as_str()), ("Content-Type", "application/json")];
    headers.extend_from_slice(more);
    http::post(&format!("{base}{CALL}"), &headers, call.to_string().as_bytes())
}

fn body(answer: &RawHttpResponse) -> Result<Value> {
    serde_json::from_str(&answer.body).with_context(|| format!("{answer:?}"))
}

fn openai(tool: &str, arguments: &Value) -> Value {
    let function = json!({ "name": tool, "arguments": arguments.to_string() });
    json!({ "id": "call_1", "type": "function", "function": function })
}

fn anthropic(tool: &str, arguments: &Value) -> Value {
    json!({ "type": "tool_use", "id": "toolu_1", "name": tool, "input": arguments })
}

#[test]
fn calls_of_each_provider_run_and_are_recorded() -> Result<()> {
    let testbed = RestTestbed::start()?;
    let (tool, arguments) = ("current_time", json!({ "timezone": "Europe/Vienna" }));
    let responses = json!({ "type": "function_call", "call_id": "fc_1", "name": tool, "arguments": arguments.to_string() });
    for (format, call, id) in [
        ("openai", openai(tool, &arguments), "/tool_call_id"),
        ("openai-responses", responses, "/call_id"),
        ("anthropic", anthropic(tool, &arguments), "/tool_use_id"),
        ("gemini", json!({ "functionCall": { "name": tool, "args": arguments } }), "/functionResponse/name"),
        ("mcp", json!({ "name": tool, "arguments": arguments }), "/content/0/type"),
    ] {
        let list = testbed.get(&testbed.token, &format!("/v1/tools?format={format}"))?;
        let listed = body(&list)?;
        ensure!(list.status == 200 && listed["tools"].to_string().contains("\"current_time\""), "{list:?}");
        ensure!(listed["leftOut"] == json!([]), "{listed:#}");
        let answer = testbed.call(&testbed.token, &call)?;
        ensure!(answer.status == 200, "{format}: {answer:?}");
        ensure!(answer.header("Gatehouse-Outcome") == Some("result"), "{format}: {answer:?}");
        let result = body(&answer)?;
        ensure!(
            result.pointer(id).is_some() && result.to_string().contains("Europe/Vienna"),
            "{format}: {result:#}"
        );
    }
    let calls = testbed.gatehouse.ask(&["calls", "--tool", tool, "--outcome", "ok"])?;
    let calls = calls.as_array().context("calls")?;
    ensure!(calls.len() == 5, "{calls:#?}");
    for call in calls {
        ensure!(call["clientName"] == "script" && call["program"].is_string(), "{call:#}");
    }
    // What no model should have called runs nowhere.
    let wrong = testbed.call(&testbed.token, &openai("convert_time", &json!({ "time": 7 })))?;
    ensure!(
        wrong.header("Gatehouse-Outcome") == Some("invalid-arguments") && wrong.status == 200,
        "{wrong:?}"
    );
    let unknown = testbed.call(&testbed.token, &openai("no_such_tool", &json!({})))?;
    ensure!(unknown.status == 404 && unknown.body.contains("no_such_tool"), "{unknown:?}");
    ensure!(testbed.gatehouse.ask(&["calls", "--tool", "convert_time"])? == json!([]));
    // A pause refuses, in the words of the format.
    testbed.gatehouse.ask(&["pause"])?;
    let paused = testbed.call(&testbed.token, &anthropic(tool, &arguments))?;
    ensure!(paused.status == 200 && paused.header("Gatehouse-Outcome") == Some("error"), "{paused:?}");
    let result = body(&paused)?;
    ensure!(result["is_error"] == true && paused.body.contains("paused"), "{result:#}");
    Ok(())
}

#[test]
fn person_allows_and_refuses() -> Result<()> {
    let testbed = RestTestbed::start()?;
    let note = |text: &str| json!({ "text": text });
    let (answer, request) =
        testbed.call_and(&anthropic("add_note", &note("milk")), |request| testbed.allow(request))?;
    ensure!(request["request"]["client"]["name"] == "script", "{request:#}");
    ensure!(request["request"]["subject"]["name"] == "add_note", "{request:#}");
    ensure!(answer.status == 200 && body(&answer)?["is_error"] != true, "{answer:?}");
    ensure!(testbed.notes("milk")? == 1);
    let (answer, _) = testbed.call_and(&anthropic("add_note", &note("tea")), |request| {
        approvals::deny(&testbed.gatehouse, request)
    })?;
    ensure!(answer.status == 200 && body(&answer)?["is_error"] == true, "{answer:?}");
    ensure!(answer.body.contains("The user refused this call"), "{answer:?}");
    let (answer, _) = testbed.call_and(&openai("add_note", &note("bread")), |request| {
        approvals::deny(&testbed.gatehouse, request)
    })?;
    // This format has no other place for it.
    ensure!(answer.header("Gatehouse-Outcome") == Some("error"), "{answer:?}");
    ensure!(
        body(&answer)?["content"].as_str().context("content")?.contains("The user refused"),
        "{answer:?}"
    );
    ensure!(testbed.notes("milk")? == 1 && testbed.notes("tea")? == 0 && testbed.notes("bread")? == 0);
    Ok(())
}

#[test]
fn late_yes_counts_for_the_next_identical_call() -> Result<()> {
    let testbed = RestTestbed::start()?;
    let other = testbed.gatehouse.add_client("other")?;
    let tea = json!({ "text": "tea" });
    // The call is over before the person answers; the request stays.
    let waits = testbed.call_with(&testbed.token, &anthropic("add_note", &tea), &[("Prefer", "wait=1")])?;
    ensure!(waits.status == 202 && waits.header("Retry-After") == Some("1"), "{waits:?}");
    ensure!(waits.header("Gatehouse-Outcome") == Some("waiting"), "{waits:?}");
    ensure!(body(&waits)?["type"] == "tool_result" && waits.body.contains("same arguments"), "{waits:?}");
    let request = wait_for_pending(&testbed.gatehouse, 1)?.remove(0);
    testbed.allow(&request)?;
    wait_for_pending(&testbed.gatehouse, 0)?;
    ensure!(testbed.notes("tea")? == 0, "it ran for nobody");
    // Not for another client, which is asked itself.
    let foreign = testbed.call_with(&other, &anthropic("add_note", &tea), &[("Prefer", "wait=0")])?;
    ensure!(foreign.status == 202, "{foreign:?}");
    approvals::deny(&testbed.gatehouse, &wait_for_pending(&testbed.gatehouse, 1)?.remove(0))?;
    // For the same call of the same client in any format, once.
    let again = testbed.call(&testbed.token, &openai("add_note", &tea))?;
    ensure!(again.status == 200 && again.header("Gatehouse-Outcome") == Some("result"), "{again:?}");
    ensure!(testbed.notes("tea")? == 1);
    let third = testbed.call_with(&testbed.token, &openai("add_note", &tea), &[("Prefer", "wait=0")])?;
    ensure!(third.status == 202, "{third:?}");
    approvals::deny(&testbed.gatehouse, &wait_for_pending(&testbed.gatehouse, 1)?.remove(0))?;
    Ok(())
}

#[test]
fn kept_result_is_only_for_its_client() -> Result<()> {
    let testbed = RestTestbed::start()?;
    let other = testbed.gatehouse.add_client("other")?;
    let note = json!({ "name": "add_note", "arguments": { "text": "bread" } });
    // So late that the client may have left without a sign.
    let (first, _) = testbed.call_and(&note, |request| {
        approvals::wait_for_min_client_timeout(request)?;
        testbed.allow(request)
    })?;
    ensure!(first.status == 200 && body(&first)?["isError"] != true, "{first:?}");
    let foreign = testbed.call_with(&other, &note, &[("Prefer", "wait=0")])?;
    ensure!(foreign.status == 202 && !foreign.body.contains("earlierResult"), "{foreign:?}");
    approvals::deny(&testbed.gatehouse, &wait_for_pending(&testbed.gatehouse, 1)?.remove(0))?;
    let own = testbed.call(&testbed.token, &note)?;
    ensure!(own.status == 200 && body(&own)?["_meta"]["gatehouse/earlierResult"].is_object(), "{own:?}");
    ensure!(testbed.notes("bread")? == 1);
    Ok(())
}

#[test]
fn client_that_leaves_cancels_its_call() -> Result<()> {
    use std::io::Write as _;
    let testbed = RestTestbed::start()?;
    let authority = testbed.base.trim_start_matches("http://");
    let call = openai("add_note", &json!({ "text": "left" })).to_string();
    let mut stream = TcpStream::connect(authority)?;
    write!(
        stream,
        "POST {CALL} HTTP/1.1\r\nHost: {authority}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{call}",
        testbed.token,
        call.len()
    )?;
    wait_for_pending(&testbed.gatehouse, 1)?;
    drop(stream);
    eventually_holds("it has left", || {
        Ok(wait_for_pending(&testbed.gatehouse, 1)?[0]["waiting"] == json!(false))
    })?;
    testbed.allow(&wait_for_pending(&testbed.gatehouse, 1)?.remove(0))?;
    wait_for_pending(&testbed.gatehouse, 0)?;
    ensure!(testbed.notes("left")? == 0, "it ran for nobody");
    Ok(())
}

/// A profile narrows what is listed and what can be called; a client that searches reaches the real tools by it.
#[test]
fn profiles_and_tool_search_apply() -> Result<()> {
    let testbed = RestTestbed::start()?;
    let profile = |settings: Value| -> Result<()> {
        let added = testbed.gatehouse.command("profiles.add", &json!({ "settings": settings }))?;
        let profile = &added["profile"]["id"];
        testbed.gatehouse.command("clients.set", &json!({ "client": "script", "profile": profile }))?;
        Ok(())
    };
    let names = || -> Result<Vec<String>> {
        let list = body(&testbed.get(&testbed.token, "/v1/tools?format=anthropic")?)?;
        let tools = list["tools"].as_array().context("tools")?.iter();
        Ok(tools.map(|tool| tool["name"].as_str().unwrap_or_default().to_owned()).collect())
    };
    profile(json!({ "name": "Search", "toolList": "search" }))?;
    ensure!(names()? == ["search_tools", "describe_tool", "call_tool"], "{:?}", names()?);
    let found =
        testbed.call(&testbed.token, &anthropic("search_tools", &json!({ "query": "what time is it" })))?;
    ensure!(found.status == 200 && found.body.contains("current_time"), "{found:?}");
    let inside = json!({ "name": "current_time", "arguments": { "timezone": "UTC" } });
    let called = testbed.call(&testbed.token, &openai("call_tool", &inside))?;
    ensure!(
        called.header("Gatehouse-Outcome") == Some("result") && called.body.contains("UTC"),
        "{called:?}"
    );
    let calls = testbed.gatehouse.ask(&["calls", "--tool", "current_time"])?;
    ensure!(calls.as_array().map(Vec::len) == Some(1), "recorded as the real tool: {calls:#}");
    let asked = json!({ "name": "add_note", "arguments": { "text": "found" } });
    let (answer, request) =
        testbed.call_and(&openai("call_tool", &asked), |request| testbed.allow(request))?;
    ensure!(request["request"]["subject"]["name"] == "add_note", "{request:#}");
    ensure!(answer.header("Gatehouse-Outcome") == Some("result"), "{answer:?}");

    profile(json!({ "name": "Nothing", "otherServers": "hidden" }))?;
    ensure!(names()?.is_empty(), "{:?}", names()?);
    let hidden = testbed.call(&testbed.token, &anthropic("current_time", &json!({})))?;
    ensure!(hidden.status == 404, "{hidden:?}");
    Ok(())
}

/// Tried: to call without a token or with another's, from a web page, and by a name that leads here (DNS rebinding).
/// Stopped by: the same guard as for MCP, before anything is read.
#[test]
fn stranger_gets_nothing() -> Result<()> {
    let testbed = RestTestbed::start()?;
    let call = openai("current_time", &json!({})).to_string();
    let authorization = format!("Bearer {}", testbed.token);
    let good = ("Authorization", authorization.as_str());
    let revoked = testbed.gatehouse.add_client("revoked")?;
    testbed.gatehouse.ask(&["clients", "revoke", "revoked"])?;
    let revoked = format!("Bearer {revoked}");
    for (what, headers, status) in [
        ("no token", vec![], 401),
        ("a wrong token", vec![("Authorization", "Bearer nobody")], 401),
        ("a revoked token", vec![("Authorization", revoked.as_str())], 401),
        ("a token as a password", vec![("Authorization", "Basic c2NyaXB0Onh4")], 401),
        ("two tokens", vec![good, good], 401),
        ("a web page", vec![good, ("Origin", "https://evil.example")], 403),
        ("a page without an origin", vec![good, ("Origin", "null")], 403),
        ("a rebound name", vec![good, ("Host", "evil.example:80")], 403),
        ("the address without a port", vec![good, ("Host", "127.0.0.1")], 403),
    ] {
        for (method, path) in [("GET", "/v1/tools"), ("POST", CALL), ("GET", "/v1/openapi.json")] {
            let mut headers = headers.clone();
            headers.push(("Content-Type", "application/json"));
            let sent = if method == "POST" { call.as_bytes() } else { b"".as_slice() };
            let answer = http::send(method, &format!("{}{path}", testbed.base), &headers, sent)?;
            ensure!(answer.status == status, "{what}, {path}: {answer:?}");
            ensure!(answer.header("Content-Type") == Some("application/problem+json"), "{what}: {answer:?}");
            ensure!(!answer.body.contains("current_time"), "{what}: {answer:?}");
            ensure!(!answer.head.to_ascii_lowercase().contains("access-control-"), "{what}: {answer:?}");
        }
    }
    // A form of a web page can't send JSON's type.
    let form = [good, ("Content-Type", "text/plain")];
    let answer = http::post(&format!("{}{CALL}", testbed.base), &form, call.as_bytes())?;
    ensure!(answer.status == 415, "{answer:?}");
    ensure!(testbed.gatehouse.ask(&["calls"])? == json!([]), "a call was made");
    Ok(())
}
