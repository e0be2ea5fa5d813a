//! The revision without sessions: 2026-07-28.

use std::sync::atomic::Ordering;
use std::time::Duration;

use gatehouse_model::Event;
use gatehouse_tools::{NotificationKind, ProtocolFamily};
use serde_json::{Value, json};

use crate::fixture::{Fixture, SseReader, eventually, send_json_only, text};

#[tokio::test]
async fn discover_reports_capabilities() {
    let fixture = Fixture::start().await;
    let response = fixture.stateless_request("1", "server/discover", "{}").send().await.unwrap();
    assert_eq!(response.status(), 200);
    let message: Value = serde_json::from_str(&text(response).await).unwrap();
    let result = &message["result"];
    assert_eq!(result["resultType"], "complete");
    assert_eq!(result["supportedVersions"], json!(["2026-07-28"]));
    assert_eq!(
        result["capabilities"],
        json!({
            "tools": { "listChanged": true },
            "resources": { "listChanged": true, "subscribe": true },
            "prompts": { "listChanged": true },
            "completions": {}, "logging": {},
        })
    );
    assert_eq!(result["cacheScope"], "private");
    assert!(result["ttlMs"].is_u64());
    assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "Gatehouse");
    assert!(result["instructions"].as_str().unwrap().contains("user"));
    assert_eq!(
        fixture.recorded_events.0.lock()[0],
        Event::ClientConnected { client: fixture.entry.id.clone(), says: Some("probe 9".into()) }
    );
}

#[tokio::test]
async fn list_preserves_server_bytes() {
    let fixture = Fixture::start().await;
    let response = fixture.stateless_request(r#""l""#, "tools/list", "{}").send().await.unwrap();
    assert_eq!(
        text(response).await,
        r#"{"jsonrpc":"2.0","id":"l","result":{"resultType":"complete","tools":[{"name":"echo","inputSchema":{"type":"object"},"x-kept":12345678901234567890}],"ttlMs":5000,"cacheScope":"private"}}"#
    );
}

#[tokio::test]
async fn preserves_argument_and_result_bytes() {
    let fixture = Fixture::start().await;
    let odd = r#"{"z":1.50,"a":null, "n":123456789012345678901234567890,"t":"\u0041\/","e":1E400,"deep":{"b":[ ]}}"#;
    let response = fixture.stateless_call(r#""\u0031""#, "echo", odd).send().await.unwrap();
    assert_eq!(
        text(response).await,
        format!(
            r#"{{"jsonrpc":"2.0","id":"\u0031","result":{{"resultType":"complete","content":[],"echo":{odd}}}}}"#
        )
    );
    let recorded = fixture.script.recorded_calls.lock()[0].clone();
    assert_eq!(recorded.arguments.as_deref(), Some(odd));
    assert_eq!(
        (recorded.client.as_str(), recorded.protocol_family, recorded.session),
        ("Agent", ProtocolFamily::Stateless, None)
    );
    assert_eq!(recorded.client_info.as_deref(), Some("probe 9"));
    assert!(recorded.meta.unwrap().contains(r#""progressToken":"tok""#));
    // A megabyte of result as well.
    let large = format!(r#"{{"content":[],"text":"{}"}}"#, "é".repeat(500_000));
    let response = fixture.stateless_call("2", "give", &large).send().await.unwrap();
    let expected =
        format!(r#"{{"jsonrpc":"2.0","id":2,"result":{{"resultType":"complete",{}}}"#, &large[1..]);
    assert!(text(response).await == expected);
}

#[tokio::test]
async fn forwards_other_params_members() {
    let fixture = Fixture::start().await;
    let params =
        r#"{"requestState":"st/1","name":"echo","inputResponses":{"q":{"action":"accept"}},"later":null}"#;
    let response =
        fixture.stateless_request("3", "tools/call", params).header("mcp-name", "echo").send().await.unwrap();
    assert_eq!(response.status(), 200);
    let recorded = fixture.script.recorded_calls.lock()[0].clone();
    assert_eq!(recorded.arguments, None);
    assert_eq!(
        recorded.rest,
        [
            ("requestState".to_owned(), r#""st/1""#.to_owned()),
            ("inputResponses".to_owned(), r#"{"q":{"action":"accept"}}"#.to_owned()),
            ("later".to_owned(), "null".to_owned()),
        ]
    );
}

#[tokio::test]
async fn rejects_headers_that_contradict_body() {
    let fixture = Fixture::start().await;
    let meta = |version: &str| {
        format!(
            r#"{{"io.modelcontextprotocol/protocolVersion":"{version}","io.modelcontextprotocol/clientCapabilities":{{}}}}"#
        )
    };
    let new = meta("2026-07-28");
    let list = |meta: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{"_meta":{meta}}}}}"#)
    };
    let call = |name: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{name}","_meta":{new}}}}}"#
        )
    };
    let version = ("mcp-protocol-version", "2026-07-28");
    let no_capabilities = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;
    let bad_capabilities = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":"x"}"#;
    for (what, body, headers, status, code) in [
        ("no version header", list(&new), vec![("mcp-method", "tools/list")], 400, -32020),
        (
            "another version in the header",
            list(&new),
            vec![("mcp-protocol-version", "2025-11-25"), ("mcp-method", "tools/list")],
            400,
            -32020,
        ),
        ("no method header", list(&new), vec![version], 400, -32020),
        (
            "another method in the header",
            list(&new),
            vec![version, ("mcp-method", "tools/call")],
            400,
            -32020,
        ),
        (
            "two method headers",
            list(&new),
            vec![version, ("mcp-method", "tools/list"), ("mcp-method", "tools/list")],
            400,
            -32020,
        ),
        ("no name header", call("echo"), vec![version, ("mcp-method", "tools/call")], 400, -32020),
        (
            "another name in the header",
            call("echo"),
            vec![version, ("mcp-method", "tools/call"), ("mcp-name", "ech")],
            400,
            -32020,
        ),
        ("no version in _meta", list("{}"), vec![version, ("mcp-method", "tools/list")], 400, -32602),
        (
            "a version that is a number",
            list(r#"{"io.modelcontextprotocol/protocolVersion":7}"#),
            vec![version, ("mcp-method", "tools/list")],
            400,
            -32602,
        ),
        ("no capabilities", list(no_capabilities), vec![version, ("mcp-method", "tools/list")], 400, -32602),
        (
            "capabilities that are a text",
            list(bad_capabilities),
            vec![version, ("mcp-method", "tools/list")],
            400,
            -32602,
        ),
        ("_meta that is a text", list("\"x\""), vec![version, ("mcp-method", "tools/list")], 400, -32602),
        (
            "a future version",
            list(&meta("2027-01-01")),
            vec![("mcp-protocol-version", "2027-01-01"), ("mcp-method", "tools/list")],
            400,
            -32022,
        ),
        (
            "a version with sessions",
            list(&meta("2025-11-25")),
            vec![("mcp-protocol-version", "2025-11-25"), ("mcp-method", "tools/list")],
            400,
            -32022,
        ),
    ] {
        let request =
            headers.iter().fold(fixture.post(body), |request, (name, value)| request.header(*name, *value));
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), status, "{what}");
        let message: Value = serde_json::from_str(&text(response).await).unwrap();
        assert_eq!(message["error"]["code"], code, "{what}");
        assert_eq!(message["id"], 1, "{what}");
        if code == -32022 {
            assert_eq!(message["error"]["data"]["supported"], json!(["2026-07-28"]), "{what}");
        }
    }
    assert!(fixture.script.recorded_calls.lock().is_empty());
    let wrapped = fixture.post(call("echo")).header(version.0, version.1).header("mcp-method", "tools/call");
    assert_eq!(wrapped.header("mcp-name", "=?base64?ZWNobw==?=").send().await.unwrap().status(), 200);
}

#[tokio::test]
async fn validates_param_headers() {
    let fixture = Fixture::start().await;
    fixture.script.set_tools(&[
        r#"{"name":"where","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}}"#,
    ]);
    let call = || fixture.stateless_call("1", "where", r#"{"region":"eu"}"#);
    assert_eq!(call().send().await.unwrap().status(), 400);
    assert_eq!(call().header("mcp-param-region", "us").send().await.unwrap().status(), 400);
    assert!(fixture.script.recorded_calls.lock().is_empty());
    assert_eq!(call().header("mcp-param-region", "eu").send().await.unwrap().status(), 200);
}

#[tokio::test]
async fn unknown_methods_return_404() {
    let fixture = Fixture::start().await;
    for method in ["ping", "logging/setLevel", "resources/subscribe", "nonsense"] {
        let response = fixture.stateless_request("1", method, "{}").send().await.unwrap();
        assert_eq!(response.status(), 404, "{method}");
        assert_eq!(
            text(response).await,
            format!(
                r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":-32601,"message":"There is no method {method}."}}}}"#
            )
        );
    }
    let notification = r#"{"jsonrpc":"2.0","method":"notifications/whatever"}"#;
    let response =
        fixture.post(notification).header("mcp-protocol-version", "2026-07-28").send().await.unwrap();
    assert_eq!(response.status(), 202);
}

#[tokio::test]
async fn maps_server_errors_to_revision() {
    let fixture = Fixture::start().await;
    for (given, status, error) in [
        (
            r#"{"code":-32002,"message":"gone","data":{"uri":"x","n":1.0}}"#,
            200,
            r#"{"code":-32602,"message":"gone","data":{"uri":"x","n":1.0}}"#,
        ),
        (r#"{"code":-32601,"message":"no"}"#, 404, r#"{"code":-32601,"message":"no"}"#),
        (r#"{"code":-32021,"message":"no"}"#, 400, r#"{"code":-32021,"message":"no"}"#),
        // With HTTP 400 it would say that nothing was called.
        (r#"{"code":-32020,"message":"no"}"#, 200, r#"{"code":-32020,"message":"no"}"#),
        (r#"{"code":7,"message":"","extra":null}"#, 200, r#"{"code":7,"message":"","extra":null}"#),
    ] {
        let response = fixture.stateless_call("1", "fail", given).send().await.unwrap();
        assert_eq!(response.status(), status);
        assert_eq!(text(response).await, format!(r#"{{"jsonrpc":"2.0","id":1,"error":{error}}}"#));
    }
}

#[tokio::test]
async fn progress_precedes_result_in_order() {
    let fixture = Fixture::start().await;
    let response = fixture.stateless_call("1", "steps", "{}").send().await.unwrap();
    let mut stream = SseReader::new(response);
    for n in 1..=20 {
        let event = stream.next().await.unwrap();
        assert_eq!(event.id, None);
        assert_eq!(
            event.data,
            format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":"tok","progress":{n}.0,"message":"step {n}"}}}}"#
            )
        );
    }
    fixture.script.release.add_permits(1);
    let rest = stream.all().await;
    assert_eq!(rest.len(), 21);
    assert_eq!(rest[0].json()["params"]["progress"], 21.0);
    assert_eq!(rest[20].data, r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}"#);
}

#[tokio::test]
async fn json_only_client_gets_json_for_slow_calls() {
    let fixture = Fixture::start().await;
    let sent = tokio::spawn(send_json_only(fixture.stateless_call("1", "wait", "{}")));
    fixture.wait_for_call().await;
    assert!(!fixture.script.recorded_calls.lock()[0].has_progress_callback);
    // For a client that reads streams, the response would have become one by then.
    tokio::time::pause();
    tokio::time::advance(Duration::from_millis(200)).await;
    tokio::time::resume();
    fixture.script.release.add_permits(1);
    let body = text(sent.await.unwrap().unwrap()).await;
    assert_eq!(
        body,
        r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[],"waited":true}}"#
    );
}

#[tokio::test]
async fn lost_connection_cancels_call() {
    let fixture = Fixture::start().await;
    // Before: the request is dropped while the call is still waiting.
    let sent = tokio::spawn(send_json_only(fixture.stateless_call("1", "wait", "{}")));
    fixture.wait_for_call().await;
    sent.abort();
    eventually("the first call is cancelled", || fixture.script.cancelled.load(Ordering::SeqCst) == 1).await;
    // After: the response's stream is closed.
    let response = fixture.stateless_call("2", "wait", "{}").send().await.unwrap();
    let stream = SseReader::new(response);
    assert_eq!(fixture.script.cancelled.load(Ordering::SeqCst), 1);
    drop(stream);
    eventually("the second call is cancelled", || fixture.script.cancelled.load(Ordering::SeqCst) == 2).await;
    assert_eq!(fixture.script.finished.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn listen_stream_reports_changes_until_shutdown() {
    let fixture = Fixture::start().await;
    let params = r#"{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["x://a"]}}"#;
    let response =
        fixture.stateless_request(r#""sub""#, "subscriptions/listen", params).send().await.unwrap();
    let mut stream = SseReader::new(response);
    assert_eq!(
        stream.next().await.unwrap().data,
        r#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"sub"},"notifications":{"toolsListChanged":true,"resourceSubscriptions":["x://a"]}}}"#
    );
    // Updates of this resource, and of no other.
    for uri in ["other", "a"] {
        let params = format!(r#"{{"uri":"{uri}","x-kept":1.0}}"#);
        fixture.script.notify(NotificationKind::ResourceUpdated { uri: uri.into() }, &params);
    }
    assert_eq!(
        stream.next().await.unwrap().data,
        r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"sub"},"uri":"x://a","x-kept":1.0}}"#
    );
    // Several changes at once are one notification.
    for n in 0..5 {
        fixture.script.set_tools(&[&format!(r#"{{"name":"t{n}","inputSchema":{{}}}}"#)]);
    }
    assert_eq!(
        stream.next().await.unwrap().data,
        r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"sub"}}}"#
    );
    let list = text(fixture.stateless_request("2", "tools/list", "{}").send().await.unwrap()).await;
    assert!(list.contains(r#""name":"t4""#), "{list}");
    assert!(fixture.script.unsubscribed.lock().is_empty());
    fixture.gateway.shutdown().await;
    assert_eq!(*fixture.script.unsubscribed.lock(), ["s a"]);
    let last = stream.next().await.unwrap().json();
    assert_eq!(last["id"], "sub");
    assert_eq!(last["result"]["resultType"], "complete");
    assert_eq!(last["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"], "sub");
    assert_eq!(stream.next().await, None);
}

#[tokio::test]
async fn update_of_a_server_that_the_client_no_longer_sees_is_not_sent() {
    let fixture = Fixture::start().await;
    let params = r#"{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["x://a"]}}"#;
    let response =
        fixture.stateless_request(r#""sub""#, "subscriptions/listen", params).send().await.unwrap();
    let mut stream = SseReader::new(response);
    stream.next().await.unwrap();
    let update = || {
        let updated = NotificationKind::ResourceUpdated { uri: "a".into() };
        fixture.script.notify(updated, r#"{"uri":"a"}"#);
    };
    fixture.script.hides_servers.store(true, Ordering::SeqCst);
    update();
    eventually("the update was taken", || fixture.script.notifications.is_empty()).await;
    fixture.script.set_tools(&[]);
    let next = stream.next().await.unwrap().json();
    assert_eq!(next["method"], "notifications/tools/list_changed", "no update before it");
    fixture.script.hides_servers.store(false, Ordering::SeqCst);
    update();
    assert_eq!(stream.next().await.unwrap().json()["method"], "notifications/resources/updated");
}

/// As after a restart of Gatehouse, when the stream is open before the server is.
#[tokio::test]
async fn listen_stream_subscribes_when_a_server_has_the_resource() {
    let fixture = Fixture::start().await;
    fixture.script.hides_resources.store(true, Ordering::SeqCst);
    let params = r#"{"notifications":{"resourceSubscriptions":["x://a"]}}"#;
    let request = || fixture.stateless_request(r#""sub""#, "subscriptions/listen", params).send();
    let mut streams = [SseReader::new(request().await.unwrap()), SseReader::new(request().await.unwrap())];
    for stream in &mut streams {
        let acknowledged = stream.next().await.unwrap().json();
        let expected = serde_json::json!({ "resourceSubscriptions": ["x://a"] });
        assert_eq!(acknowledged["params"]["notifications"], expected);
    }
    let [mut stream, closed] = streams;
    drop(closed);
    assert!(fixture.script.recorded_accesses.lock().is_empty());
    fixture.script.hides_resources.store(false, Ordering::SeqCst);
    fixture.script.versions.send_modify(|versions| versions.all.resources += 1);
    let updated = r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"sub"},"uri":"x://a"}}"#;
    assert_eq!(stream.next().await.unwrap().data, updated, "it may have changed meanwhile");
    fixture.script.notify(NotificationKind::ResourceUpdated { uri: "a".into() }, r#"{"uri":"a"}"#);
    assert_eq!(stream.next().await.unwrap().data, updated);
    fixture.gateway.shutdown().await;
    assert!(fixture.script.unsubscribed.lock().contains(&"s a".to_owned()));
}
