//! The REST tool API: lists and calls in each format, what becomes of a call, and errors of the API itself.

use std::sync::atomic::Ordering;
use std::time::Duration;

use gatehouse_tools::{ProtocolFamily, ToolName};
use reqwest::{RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};

use crate::fixture::{Fixture, eventually};
use crate::rejections::raw_http;

/// Arguments that lose something if they are written again, and the same as JSON text.
const ARGUMENTS: &str = r#"{ "n":12345678901234567890, "text":"\u0041" }"#;
const QUOTED: &str = r#""{ \"n\":12345678901234567890, \"text\":\"\\u0041\" }""#;

/// A tool with a schema that no provider's format can carry whole.
const TYPED: &str = r#"{"name":"echo","description":"Says it again.","inputSchema":{"type":"object","properties":{"text":{"type":"string","pattern":"^[A-Z]+$"},"n":{"type":"integer"}},"required":["text"],"propertyNames":{"maxLength":9}}}"#;

const FORMATS: [&str; 5] = ["openai", "openai-responses", "anthropic", "gemini", "mcp"];

fn url(fixture: &Fixture, path: &str) -> String {
    format!("{}{path}", fixture.url().trim_end_matches("/mcp"))
}

fn get(fixture: &Fixture, path: &str) -> RequestBuilder {
    fixture.http.get(url(fixture, path)).bearer_auth(&fixture.token)
}

fn post(fixture: &Fixture, path: &str, body: impl Into<reqwest::Body>) -> RequestBuilder {
    let request = fixture.http.post(url(fixture, path)).bearer_auth(&fixture.token);
    request.header("content-type", "application/json").header("user-agent", "script/1.0").body(body)
}

fn call(fixture: &Fixture, tool: &str, arguments: &str) -> RequestBuilder {
    post(fixture, "/v1/tools/call", format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#))
}

fn header(response: &Response, name: &str) -> Option<String> {
    response.headers().get(name).map(|value| value.to_str().unwrap().to_owned())
}

/// The outcome and the body of an answered call.
async fn answer(request: RequestBuilder, status: u16) -> (String, Value) {
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), status);
    assert_eq!(header(&response, "content-type").as_deref(), Some("application/json"));
    (header(&response, "gatehouse-outcome").unwrap(), response.json().await.unwrap())
}

async fn list(fixture: &Fixture, format: &str) -> Value {
    let response = get(fixture, &format!("/v1/tools?format={format}")).send().await.unwrap();
    assert_eq!(response.status(), 200);
    response.json().await.unwrap()
}

#[tokio::test]
async fn lists_tools_in_each_format() {
    let fixture = Fixture::start().await;
    fixture.script.set_tools(&[TYPED, r#"{"name":"7up","inputSchema":{"type":"object"},"x-kept":1.0}"#]);
    for format in FORMATS {
        let list = list(&fixture, format).await;
        assert_eq!((&list["format"], &list["leftOut"]), (&json!(format), &json!([])), "{list}");
        let simplified = list["simplified"].as_array().unwrap();
        let is_simplified = simplified.iter().any(|tool| tool["tool"] == "echo");
        assert_eq!(is_simplified, format == "gemini", "{list}");
        let (tool, schema, name) = match format {
            "openai" => (&list["tools"][0]["function"], "parameters", &list["tools"][1]["function"]["name"]),
            "openai-responses" => (&list["tools"][0], "parameters", &list["tools"][1]["name"]),
            "anthropic" => (&list["tools"][0], "input_schema", &list["tools"][1]["name"]),
            "gemini" => {
                let declared = &list["tools"][0]["functionDeclarations"];
                (&declared[0], "parameters", &declared[1]["name"])
            }
            _ => (&list["tools"][0], "inputSchema", &list["tools"][1]["name"]),
        };
        assert_eq!((&tool["name"], &tool["description"]), (&json!("echo"), &json!("Says it again.")));
        assert!(tool[schema]["properties"]["text"]["type"].is_string(), "{list}");
        assert_eq!(name, if format == "gemini" { "_7up" } else { "7up" });
    }
    // Without a format, MCP's, byte for byte.
    let plain = get(&fixture, "/v1/tools").send().await.unwrap().text().await.unwrap();
    assert!(plain.contains(TYPED) && plain.contains(r#""x-kept":1.0"#), "{plain}");
    // A name that was changed for a provider leads back to its tool.
    let body = r#"{"functionCall":{"name":"_7up","args":{}}}"#;
    let (outcome, _) = answer(post(&fixture, "/v1/tools/call", body), 200).await;
    assert_eq!(outcome, "result");
    assert_eq!(fixture.script.recorded_calls.lock()[0].tool, ToolName::Exposed("7up".into()));
}

#[tokio::test]
async fn unchanged_list_is_not_sent_again() {
    let fixture = Fixture::start().await;
    let path = "/v1/tools?format=anthropic";
    let first = get(&fixture, path).send().await.unwrap();
    let tag = header(&first, "etag").unwrap();
    assert_eq!(header(&first, "cache-control").as_deref(), Some("private, no-cache"));
    for (known, status) in [
        (tag.clone(), 304),
        (format!("\"x\", W/{tag}"), 304),
        ("*".to_owned(), 304),
        ("\"x\"".to_owned(), 200),
        (tag.trim_matches('"').to_owned(), 200),
    ] {
        let response = get(&fixture, path).header("if-none-match", &known).send().await.unwrap();
        assert_eq!(response.status(), status, "{known}");
        assert_eq!(header(&response, "etag").as_ref(), Some(&tag));
        assert_eq!(response.bytes().await.unwrap().is_empty(), status == 304);
    }
    fixture.script.set_tools(&[TYPED]);
    let changed = get(&fixture, path).header("if-none-match", &tag).send().await.unwrap();
    assert_eq!(changed.status(), 200);
    assert_ne!(header(&changed, "etag"), Some(tag));
}

#[tokio::test]
async fn takes_calls_of_each_format_and_answers_in_it() {
    let fixture = Fixture::start().await;
    let openai =
        format!(r#"{{"id":"c1","type":"function","function":{{"name":"echo","arguments":{QUOTED}}}}}"#);
    let responses =
        format!(r#"{{"type":"function_call","call_id":"c1","name":"echo","arguments":{QUOTED}}}"#);
    let anthropic = format!(r#"{{"type":"tool_use","id":"c1","name":"echo","input":{ARGUMENTS}}}"#);
    let part = format!(r#"{{"functionCall":{{"id":"c1","name":"echo","args":{ARGUMENTS}}}}}"#);
    let inner = format!(r#"{{"name":"echo","args":{ARGUMENTS}}}"#);
    let mcp = format!(r#"{{"name":"echo","arguments":{ARGUMENTS}}}"#);
    for (format, body, is_answer) in [
        ("openai", openai, (|it| it["role"] == "tool" && it["tool_call_id"] == "c1") as fn(&Value) -> bool),
        ("openai-responses", responses, |it| it["type"] == "function_call_output" && it["call_id"] == "c1"),
        ("anthropic", anthropic, |it| it["type"] == "tool_result" && it["tool_use_id"] == "c1"),
        ("gemini", part, |it| {
            it["functionResponse"]["id"] == "c1" && it["functionResponse"]["name"] == "echo"
        }),
        ("gemini", inner, |it| it["functionResponse"]["name"] == "echo"),
        ("mcp", mcp, |it| it["content"] == json!([]) && it["echo"]["text"] == "A"),
    ] {
        for path in ["/v1/tools/call".to_owned(), format!("/v1/tools/call?format={format}")] {
            let (outcome, result) = answer(post(&fixture, &path, body.clone()), 200).await;
            assert_eq!(outcome, "result", "{body}");
            assert!(is_answer(&result), "{format}: {result}");
            let recorded = fixture.script.recorded_calls.lock().pop().unwrap();
            assert_eq!(recorded.arguments.as_deref(), Some(ARGUMENTS), "{format}");
            assert_eq!(recorded.tool, ToolName::Exposed("echo".into()));
            assert_eq!((recorded.client.as_str(), recorded.session), ("Agent", None));
            assert_eq!(recorded.client_info.as_deref(), Some("script/1.0"));
            assert_eq!(recorded.protocol_family, ProtocolFamily::Stateful);
            assert!(recorded.rest.is_empty() && recorded.meta.is_none() && !recorded.has_progress_callback);
            assert!(!recorded.can_answer_forms && recorded.approval_wait.is_some());
        }
    }
    // Without arguments, the format can't be told by the shape.
    let (_, result) = answer(post(&fixture, "/v1/tools/call?format=gemini", r#"{"name":"echo"}"#), 200).await;
    assert_eq!(result["functionResponse"]["name"], "echo");
    assert_eq!(fixture.script.recorded_calls.lock().pop().unwrap().arguments.as_deref(), Some("{}"));
    let whole = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","_meta":{"k":2}}}"#;
    answer(post(&fixture, "/v1/tools/call?format=mcp", whole), 200).await;
    assert_eq!(fixture.script.recorded_calls.lock().pop().unwrap().meta.as_deref(), Some(r#"{"k":2}"#));
    let with_meta = r#"{"name":"echo","arguments":{},"_meta":{"k":1.0}}"#;
    answer(post(&fixture, "/v1/tools/call", with_meta), 200).await;
    assert_eq!(fixture.script.recorded_calls.lock().pop().unwrap().meta.as_deref(), Some(r#"{"k":1.0}"#));
}

#[tokio::test]
async fn model_is_told_what_is_wrong_with_its_arguments() {
    let fixture = Fixture::start().await;
    fixture.script.set_tools(&[TYPED]);
    for (arguments, told) in [
        (r#"{"text":"ABC","n":1.5}"#, "/n"),
        (r#"{"text":"abc"}"#, "^[A-Z]+$"),
        (r#"{"n":1}"#, "text"),
        // What the format of the list couldn't carry counts too.
        (r#"{"text":"A","toolonganame":1}"#, "toolonganame"),
        (r#"{"text":"A","text":"B"}"#, "text"),
        ("[1]", "one JSON object"),
    ] {
        for (format, body) in [
            ("mcp", format!(r#"{{"name":"echo","arguments":{arguments}}}"#)),
            ("anthropic", format!(r#"{{"type":"tool_use","id":"c","name":"echo","input":{arguments}}}"#)),
            (
                "openai",
                json!({ "id": "c", "type": "function", "function": { "name": "echo", "arguments": arguments } })
                    .to_string(),
            ),
        ] {
            let (outcome, result) = answer(post(&fixture, "/v1/tools/call", body), 200).await;
            let (text, is_error) = match format {
                "mcp" => (&result["content"][0]["text"], result["isError"] == true),
                "anthropic" => (&result["content"][0]["text"], result["is_error"] == true),
                _ => (&result["content"], true),
            };
            assert!(text.as_str().unwrap().contains(told), "{arguments}: {result}");
            assert!(is_error && outcome == "invalid-arguments", "{outcome}: {result}");
        }
    }
    assert!(fixture.script.recorded_calls.lock().is_empty());
    let fenced = json!({ "type": "function_call", "call_id": "c", "name": "echo", "arguments": "```json\n{\"text\":\"A\",}\n```" });
    let repaired = post(&fixture, "/v1/tools/call", fenced.to_string()).send().await.unwrap();
    assert_eq!(header(&repaired, "gatehouse-repaired-arguments").as_deref(), Some("true"));
    let recorded = fixture.script.recorded_calls.lock().pop().unwrap();
    assert_eq!(recorded.arguments.as_deref(), Some(r#"{"text":"A"}"#));
}

#[tokio::test]
async fn refused_and_failed_calls_are_results() {
    let fixture = Fixture::start().await;
    fixture.script.set_tools(&[r#"{"name":"give"}"#, r#"{"name":"fail"}"#]);
    let refused = r#"{"content":[{"type":"text","text":"The user refused."}],"isError":true}"#;
    for (tool, arguments, outcome, text) in [
        ("give", refused, "error", "The user refused."),
        ("fail", r#"{"code":-32603,"message":"Broken."}"#, "error", "error -32603: Broken."),
        // Of a server; the tool is there.
        ("fail", r#"{"code":-32602,"message":"No."}"#, "error", "error -32602: No."),
        ("give", r#"{"resultType":"input_required"}"#, "error", "cannot carry"),
        ("give", r#"{"content":[{"type":"text","text":"fine"}]}"#, "result", "fine"),
    ] {
        let (found, result) = answer(call(&fixture, tool, arguments), 200).await;
        assert_eq!((found.as_str(), result["isError"] == true), (outcome, outcome == "error"), "{result}");
        assert!(result["content"][0]["text"].as_str().unwrap().contains(text), "{result}");
        let anthropic = format!(r#"{{"type":"tool_use","id":"c","name":"{tool}","input":{arguments}}}"#);
        let (found, result) = answer(post(&fixture, "/v1/tools/call", anthropic), 200).await;
        assert_eq!((found.as_str(), result["is_error"] == true), (outcome, outcome == "error"), "{result}");
        assert!(result["content"][0]["text"].as_str().unwrap().contains(text), "{result}");
    }
    // Results of the newest revision lose what only that one has, and everything else stays.
    let (_, result) =
        answer(call(&fixture, "give", r#"{"resultType":"complete","content":[],"n":1.0}"#), 200).await;
    assert_eq!(result, json!({ "content": [], "n": 1.0 }));
    // What a format can't carry is said.
    let audio = r#"{"content":[{"type":"audio","mimeType":"audio/wav","data":"AAAA"}]}"#;
    let body = json!({ "id": "c", "type": "function", "function": { "name": "give", "arguments": audio } });
    let response = post(&fixture, "/v1/tools/call", body.to_string()).send().await.unwrap();
    let lost: Vec<String> = serde_json::from_str(&header(&response, "gatehouse-lost").unwrap()).unwrap();
    assert!(lost.len() == 1 && lost[0].contains("audio/wav"), "{lost:?}");
}

#[tokio::test]
async fn waiting_call_is_answered_with_202_and_the_next_one_gets_the_answer() {
    let fixture = Fixture::start().await;
    fixture.script.set_tools(&[r#"{"name":"ask"}"#]);
    let body = r#"{"type":"tool_use","id":"c","name":"ask","input":{}}"#;
    let waits = post(&fixture, "/v1/tools/call", body).header("prefer", "respond-async, wait=7");
    let waits = waits.send().await.unwrap();
    assert_eq!(waits.status(), StatusCode::ACCEPTED);
    assert_eq!(header(&waits, "retry-after").as_deref(), Some("1"));
    assert_eq!(header(&waits, "gatehouse-outcome").as_deref(), Some("waiting"));
    let result: Value = waits.json().await.unwrap();
    assert_eq!((&result["type"], &result["is_error"]), (&json!("tool_result"), &json!(true)), "{result}");
    let limit = |fixture: &Fixture| {
        let recorded = fixture.script.recorded_calls.lock().pop().unwrap();
        recorded.approval_wait.unwrap().limit()
    };
    assert_eq!(limit(&fixture), Some(Duration::from_secs(7)));
    fixture.script.release.add_permits(1);
    let (outcome, result) = answer(post(&fixture, "/v1/tools/call", body), 200).await;
    assert_eq!((outcome.as_str(), &result["content"][0]["text"]), ("result", &json!("done")), "{result}");
    assert_eq!(limit(&fixture), None);
}

#[tokio::test]
async fn lost_connection_and_revoked_access_cancel_the_call() {
    let fixture = Fixture::start().await;
    fixture.script.set_tools(&[r#"{"name":"wait"}"#]);
    let abandoned = tokio::spawn(call(&fixture, "wait", "{}").send());
    fixture.wait_for_call().await;
    abandoned.abort();
    eventually("the call is cancelled", || fixture.script.cancelled.load(Ordering::SeqCst) == 1).await;
    let running = tokio::spawn(call(&fixture, "wait", "{}").send());
    fixture.wait_for_call().await;
    fixture.registry.revoke(fixture.entry.id.as_str()).await.unwrap();
    eventually("the call is cancelled", || fixture.script.cancelled.load(Ordering::SeqCst) == 2).await;
    running.abort();
    assert_eq!(fixture.script.finished.load(Ordering::SeqCst), 0);
}

/// The problem details of a response.
async fn problem(request: RequestBuilder, status: u16) -> String {
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), status);
    assert_eq!(header(&response, "content-type").as_deref(), Some("application/problem+json"));
    let problem: Value = response.json().await.unwrap();
    assert_eq!((&problem["status"], &problem["type"]), (&json!(status), &json!("about:blank")), "{problem}");
    assert!(problem["title"].is_string(), "{problem}");
    problem["detail"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn errors_of_the_api_are_problem_details() {
    let fixture = Fixture::start().await;
    let mcp = r#"{"name":"echo","arguments":{}}"#;
    let at_call = |body: &str| post(&fixture, "/v1/tools/call", body.to_owned());
    let with = |path: &str| fixture.http.post(url(&fixture, path)).bearer_auth(&fixture.token);
    for (what, request, status, detail) in [
        ("no JSON", at_call("{"), 400, "is not JSON"),
        ("a list", at_call(&format!("[{mcp}]")), 400, "request of its own"),
        ("a text", at_call("\"echo\""), 400, "not an object"),
        ("no call", at_call("{}"), 400, "no call of a tool"),
        ("another type", at_call(r#"{"type":"custom","name":"x"}"#), 400, "no call of a tool"),
        ("no name", at_call(r#"{"name":"","arguments":{}}"#), 400, "names no tool"),
        (
            "a type that is no text",
            at_call(r#"{"type":{},"name":"x","function":{"name":"x"}}"#),
            400,
            "no call of a tool",
        ),
        ("another shape", post(&fixture, "/v1/tools/call?format=anthropic", mcp), 409, "anthropic"),
        (
            "Gemini's shape",
            post(&fixture, "/v1/tools/call?format=mcp", r#"{"name":"x","args":{}}"#),
            409,
            "gemini",
        ),
        ("an unknown format", post(&fixture, "/v1/tools/call?format=cohere", mcp), 400, "openai-responses"),
        ("an unknown parameter", get(&fixture, "/v1/tools?fromat=mcp"), 400, "`format`"),
        ("two formats", get(&fixture, "/v1/tools?format=mcp&format=mcp"), 400, "more than once"),
        ("a query", get(&fixture, "/v1/openapi.json?x"), 400, "no query"),
        ("no path", get(&fixture, "/v1/tool"), 404, "/v1/tools"),
        ("a server's path", get(&fixture, "/v1/"), 404, "/v1/tools"),
        ("another method", with("/v1/tools"), 405, "GET"),
        ("another method", get(&fixture, "/v1/tools/call"), 405, "POST"),
        ("another type of body", with("/v1/tools/call").body(mcp), 415, "application/json"),
        (
            "a form",
            with("/v1/tools/call").header("content-type", "text/plain").body(mcp),
            415,
            "application/json",
        ),
        ("a huge body", at_call(&" ".repeat(16 * 1024 * 1024 + 1)), 413, "16 MiB"),
        ("no token", fixture.http.get(url(&fixture, "/v1/tools")), 401, "A token is needed"),
        ("no token and no path", fixture.http.get(url(&fixture, "/v1/x")), 401, "A token is needed"),
        (
            "a wrong token",
            fixture.http.get(url(&fixture, "/v1/openapi.json")).bearer_auth("x"),
            401,
            "no client",
        ),
        ("a foreign origin", at_call(mcp).header("origin", "https://evil.example"), 403, "Origin"),
        ("another host", at_call(mcp).header("host", "evil.example"), 403, "Host"),
    ] {
        let found = problem(request, status).await;
        assert!(found.contains(detail), "{what}: {found}");
    }
    assert!(fixture.script.recorded_calls.lock().is_empty());
    let allowed = with("/v1/tools").send().await.unwrap();
    assert_eq!(header(&allowed, "allow").as_deref(), Some("GET"));
    let challenge = fixture.http.get(url(&fixture, "/v1/tools")).send().await.unwrap();
    let metadata = url(&fixture, "/.well-known/oauth-protected-resource/mcp");
    assert!(header(&challenge, "www-authenticate").unwrap().contains(&metadata));
    // The answer comes although the announced body never does.
    let head = format!(
        "POST /v1/tools/call HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Length: 1000000\r\nConnection: close\r\n\r\n",
        fixture.port()
    );
    assert!(raw_http(fixture.port(), &head).await.starts_with("HTTP/1.1 401 "));
    // A tool that the tools don't know is no result of a call.
    let missing = call(&fixture, "fail", r#"{"code":-32602,"message":"There is no tool named “fail”."}"#);
    let detail = problem(missing, 404).await;
    assert!(detail.contains("no tool named") && detail.contains("GET /v1/tools"), "{detail}");
}

#[tokio::test]
async fn describes_itself() {
    let fixture = Fixture::start().await;
    let response = get(&fixture, "/v1/openapi.json").send().await.unwrap();
    assert_eq!(response.status(), 200);
    let description: Value = response.json().await.unwrap();
    assert_eq!(description["openapi"], "3.1.0");
    assert_eq!(description["paths"].as_object().unwrap().len(), 3);
}
