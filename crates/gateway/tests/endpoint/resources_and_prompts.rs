//! Resources, prompts and completions, in both families of revisions.

use gatehouse_tools::{AccessKind, CatalogList};
use serde_json::Value;

use crate::fixture::{Fixture, SseReader, text};
use crate::scripted_tools::RecordedAccess;

const LISTS: [(CatalogList, &str, &str, &str); 3] = [
    (CatalogList::Resources, "resources/list", "resources", r#"{"uri":"x://a", "n":1.00}"#),
    (
        CatalogList::Templates,
        "resources/templates/list",
        "resourceTemplates",
        r#"{"uriTemplate":"x://{a}","n":1e400}"#,
    ),
    (CatalogList::Prompts, "prompts/list", "prompts", r#"{"name":"s__p","z":null,"a":[ ]}"#),
];

#[tokio::test]
async fn lists_preserve_server_bytes() {
    let fixture = Fixture::start().await;
    let session = fixture.session("2025-06-18").await;
    for (list, method, member, item) in LISTS {
        let empty = text(fixture.session_request(&session, "1", method, "{}").send().await.unwrap()).await;
        assert_eq!(empty, format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"{member}":[]}}}}"#));
        fixture.script.add(list, item);
        let old = text(fixture.session_request(&session, "2", method, "{}").send().await.unwrap()).await;
        assert_eq!(old, format!(r#"{{"jsonrpc":"2.0","id":2,"result":{{"{member}":[{item}]}}}}"#));
        let new = text(fixture.stateless_request("3", method, "{}").send().await.unwrap()).await;
        assert_eq!(
            new,
            format!(
                r#"{{"jsonrpc":"2.0","id":3,"result":{{"resultType":"complete","{member}":[{item}],"ttlMs":5000,"cacheScope":"private"}}}}"#
            )
        );
        let bad = fixture
            .session_request(&session, "4", method, r#"{"cursor":"dG9vbHM6MA"}"#)
            .send()
            .await
            .unwrap();
        let bad: Value = serde_json::from_str(&text(bad).await).unwrap();
        assert_eq!(bad["error"]["code"], -32602, "a cursor of another list: {bad}");
    }
}

#[tokio::test]
async fn routes_requests_to_owning_server() {
    let fixture = Fixture::start().await;
    let session = fixture.session("2025-11-25").await;
    let reached = |kind, target: &str, exposed: &str, rest: &[(&str, &str)]| RecordedAccess {
        server: "s".into(),
        kind,
        target: target.into(),
        exposed: exposed.into(),
        ref_members: Vec::new(),
        rest: rest.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
    };
    for (method, name, params, expected) in [
        (
            "resources/read",
            Some("x://a"),
            r#"{"uri":"x:\/\/a","more":1.0}"#,
            reached(AccessKind::ReadResource, "a", "x://a", &[("more", "1.0")]),
        ),
        (
            "prompts/get",
            Some("s__p"),
            r#"{"arguments":{"b":"1", "a":"2"},"name":"s__p"}"#,
            reached(AccessKind::GetPrompt, "p", "s__p", &[("arguments", r#"{"b":"1", "a":"2"}"#)]),
        ),
        (
            "completion/complete",
            None,
            r#"{"ref":{"type":"ref/prompt","title":"P","name":"s__p"},"argument":{"name":"a","value":"v"}}"#,
            RecordedAccess {
                ref_members: vec![("title".to_owned(), r#""P""#.to_owned())],
                ..reached(
                    AccessKind::CompletePrompt,
                    "p",
                    "s__p",
                    &[("argument", r#"{"name":"a","value":"v"}"#)],
                )
            },
        ),
        (
            "completion/complete",
            None,
            r#"{"ref":{"type":"ref/resource","uri":"x://{a}"},"argument":{"name":"a","value":"v"},"context":{}}"#,
            reached(
                AccessKind::CompleteResource,
                "{a}",
                "x://{a}",
                &[("argument", r#"{"name":"a","value":"v"}"#), ("context", "{}")],
            ),
        ),
    ] {
        let old = text(fixture.session_request(&session, "1", method, params).send().await.unwrap()).await;
        assert_eq!(old, r#"{"jsonrpc":"2.0","id":1,"result":{"contents":[ ],"x":1e400}}"#);
        let mut request = fixture.stateless_request("2", method, params);
        if let Some(name) = name {
            request = request.header("mcp-name", name);
        }
        let fresh = if method == "resources/read" { r#""ttlMs":0,"cacheScope":"private","# } else { "" };
        assert_eq!(
            text(request.send().await.unwrap()).await,
            format!(
                r#"{{"jsonrpc":"2.0","id":2,"result":{{"resultType":"complete",{fresh}"contents":[ ],"x":1e400}}}}"#
            )
        );
        assert_eq!(*fixture.script.recorded_accesses.lock(), [expected.clone(), expected], "{method}");
        fixture.script.recorded_accesses.lock().clear();
    }
}

#[tokio::test]
async fn reports_missing_targets_with_error_codes_of_revision() {
    let fixture = Fixture::start().await;
    let session = fixture.session("2025-11-25").await;
    let reference = |inside: &str| format!(r#"{{"ref":{{{inside}}},"argument":{{"name":"a","value":""}}}}"#);
    for (method, name, params, old, new) in [
        ("resources/read", Some("y://a"), r#"{"uri":"y://a"}"#.to_owned(), -32002, -32602),
        ("resources/read", None, "{}".to_owned(), -32602, -32602),
        ("resources/read", None, r#"{"uri":7}"#.to_owned(), -32602, -32602),
        // An error of a server gets the code of the revision too.
        ("resources/read", Some("x://missing"), r#"{"uri":"x://missing"}"#.to_owned(), -32002, -32602),
        ("resources/read", Some("x://refused"), r#"{"uri":"x://refused"}"#.to_owned(), -32000, -32000),
        ("prompts/get", Some("p"), r#"{"name":"p"}"#.to_owned(), -32602, -32602),
        ("completion/complete", None, "{}".to_owned(), -32602, -32602),
        ("completion/complete", None, reference(r#""type":"ref/tool""#), -32602, -32602),
        ("completion/complete", None, reference(r#""type":"ref/prompt","name":"p""#), -32602, -32602),
        ("completion/complete", None, reference(r#""type":"ref/prompt","name":"s__mute""#), -32602, -32602),
        ("resources/subscribe", Some("y://a"), r#"{"uri":"y://a"}"#.to_owned(), -32002, -32601),
    ] {
        let body = text(fixture.session_request(&session, "1", method, &params).send().await.unwrap()).await;
        let message: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(message["error"]["code"], old, "{method} {params}: {message}");
        let mut request = fixture.stateless_request("2", method, &params);
        if let Some(name) = name {
            request = request.header("mcp-name", name);
        }
        let message: Value = serde_json::from_str(&text(request.send().await.unwrap()).await).unwrap();
        assert_eq!(message["error"]["code"], new, "{method} {params}: {message}");
    }
    assert!(fixture.script.recorded_accesses.lock().iter().all(|reached| reached.target != "mute"));
    let read =
        fixture.session_request(&session, "1", "resources/read", r#"{"uri":"y://a"}"#).send().await.unwrap();
    assert_eq!(
        text(read).await,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32002,"message":"There is no such resource.","data":{"uri":"y://a"}}}"#
    );
    // The header has to name what the body names.
    let other =
        fixture.stateless_request("3", "resources/read", r#"{"uri":"x://a"}"#).header("mcp-name", "x://b");
    assert_eq!(other.send().await.unwrap().status(), 400);
}

/// Tried: to subscribe to ever more resources, of which a template makes any number. Stopped by: a limit for each session.
#[tokio::test]
async fn bounds_subscriptions_of_a_session() {
    let fixture = Fixture::start().await;
    let session = fixture.session("2025-11-25").await;
    let request = |method: &'static str, number: usize| {
        let params = format!(r#"{{"uri":"x://{number}"}}"#);
        let request = fixture.session_request(&session, &number.to_string(), method, &params);
        async move { request.send().await.unwrap().status().as_u16() }
    };
    for part in (0..1024).collect::<Vec<usize>>().chunks(64) {
        let part = part.iter().map(|number| request("resources/subscribe", *number));
        assert!(futures::future::join_all(part).await.iter().all(|status| *status == 200));
    }
    assert_eq!(request("resources/subscribe", 5000).await, 400);
    assert_eq!(request("resources/subscribe", 7).await, 200, "it has this one");
    assert_eq!(request("resources/unsubscribe", 7).await, 200);
    assert_eq!(request("resources/subscribe", 5000).await, 200);
    assert_eq!(fixture.script.recorded_accesses.lock().len(), 1025, "none of the others reached a server");
}

#[tokio::test]
async fn notifies_only_changed_lists() {
    let fixture = Fixture::start().await;
    let session = fixture.session("2025-11-25").await;
    let mut stream = SseReader::new(fixture.stream(&session).send().await.unwrap());
    let filter = r#"{"notifications":{"resourcesListChanged":true,"promptsListChanged":true,"toolsListChanged":false}}"#;
    let mut listening = SseReader::new(
        fixture.stateless_request(r#""l""#, "subscriptions/listen", filter).send().await.unwrap(),
    );
    assert_eq!(
        listening.next().await.unwrap().json()["params"]["notifications"],
        serde_json::json!({ "resourcesListChanged": true, "promptsListChanged": true })
    );
    for (list, _, _, item) in LISTS {
        fixture.script.add(list, item);
        let method = match list {
            CatalogList::Prompts => "notifications/prompts/list_changed",
            _ => "notifications/resources/list_changed",
        };
        assert_eq!(stream.next().await.unwrap().data, format!(r#"{{"jsonrpc":"2.0","method":"{method}"}}"#));
        assert_eq!(listening.next().await.unwrap().json()["method"], method);
    }
    fixture.script.set_tools(&[]);
    assert_eq!(stream.next().await.unwrap().json()["method"], "notifications/tools/list_changed");
    fixture.script.add(CatalogList::Prompts, r#"{"name":"s__q"}"#);
    assert_eq!(
        listening.next().await.unwrap().json()["method"],
        "notifications/prompts/list_changed",
        "no notification of a list that the filter leaves out"
    );
}
