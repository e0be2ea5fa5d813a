//! What reaches a server, byte for byte, and servers that change under a call (PERM-7, 8, 18; TOOL-1
//! to 4, 9). These servers are real children, so time is real.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::ErrorCode;
use gatehouse_model::approval::{AutoApprove, ChoiceLifetime, ChoiceScope, Warning};
use gatehouse_tools::{AccessCall, AccessKind, CallResponse, CatalogList, ToolCall};
use parking_lot::Mutex;

use crate::harness::*;

pub fn write_tools(folder: &Path, tools: &str) {
    // Whole at once: the server must not see half of it.
    std::fs::write(folder.join("new"), tools).unwrap();
    std::fs::rename(folder.join("new"), folder.join("tools.json")).unwrap();
}

pub fn calls(folder: &Path) -> Vec<String> {
    let log = std::fs::read_to_string(folder.join("calls.log")).unwrap_or_default();
    log.lines().map(ToOwned::to_owned).collect()
}

pub async fn with_tools(tools: &str) -> (ToolsHarness, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    write_tools(folder.path(), tools);
    let harness = ToolsHarness::new().await;
    harness.start_server(scripted("script", folder.path())).await;
    (harness, folder)
}

pub fn tool(name: &str, words: &str, does: &str) -> String {
    format!(
        r#"{{"name":"{name}","description":"{words}","inputSchema":{{"type":"object"}},"_meta":{{"does":"{does}"}}}}"#
    )
}

pub async fn changed(harness: &ToolsHarness, before: &str, words: &str) {
    harness
        .wait_until(|harness| {
            let catalog = harness.tools.catalog();
            let tool = catalog.by_exposed("act").unwrap();
            tool.fingerprint().as_str() != before && tool.definition().get().contains(words)
        })
        .await;
}

pub fn fingerprint(harness: &ToolsHarness) -> String {
    harness.tools.catalog().by_exposed("act").unwrap().fingerprint().to_string()
}

#[tokio::test]
async fn passes_arguments_and_results_byte_for_byte() {
    let (harness, folder) = with_tools(&format!("[{}]", tool("act", "Acts.", "echo"))).await;
    let arguments = r#"{ "n":12345678901234567890, "f":1.0e5,"z":null, "a" : "\u0041" }"#;
    let running = tokio::spawn({
        let tools = harness.tools.clone();
        let call = ToolCall { rest: vec![("task".into(), raw(r#"{"ttl": 1}"#))], ..call("act", arguments) };
        async move { tools.call(caller("Claude"), call).await }
    });
    let approval = harness.approval().await;
    assert!(call_approval(&approval).arguments.iter().flatten().any(|argument| argument.name == "(task)"));
    harness.allow(&approval).await;
    let CallResponse::Result(result) = running.await.unwrap() else { panic!() };
    assert_eq!(
        result.get(),
        r#"{ "odd":12345678901234567890, "n":1.00 ,"content":[],"z":null,"a":"\u0041"}"#
    );
    let sent = calls(folder.path());
    assert!(sent[0].contains(&format!(r#""arguments":{arguments}"#)), "{}", sent[0]);
    assert!(sent[0].contains(r#""task":{"ttl": 1}"#), "{}", sent[0]);
}

#[tokio::test]
async fn definition_change_during_approval_asks_again() {
    let (harness, folder) = with_tools(&format!("[{}]", tool("act", "Acts kindly.", "echo"))).await;
    let before = fingerprint(&harness);
    let running = harness.spawn_call("act", r#"{"x":1}"#);
    let approval = harness.approval().await;
    write_tools(folder.path(), &format!("[{}]", tool("act", "Acts badly.", "echo")));
    changed(&harness, &before, "badly").await;
    harness.allow(&approval).await;
    let again = harness.approval().await;
    assert_ne!(call_approval(&again).hash, call_approval(&approval).hash);
    let told = call_approval(&again);
    assert_eq!(told.warnings[0], Warning::DefinitionChanged, "{:?}", told.warnings);
    assert_eq!(told.changes.len(), 1, "{:?}", told.changes);
    assert_eq!(told.changes[0].before.as_deref(), Some("\"Acts kindly.\""));
    assert!(told.choices.iter().all(|choice| choice.lifetime != ChoiceLifetime::Always));
    assert!(calls(folder.path()).is_empty(), "nothing was sent");
    harness.allow(&again).await;
    assert!(!is_error(&running.result().await));
    assert_eq!(calls(folder.path()).len(), 1);
}

#[tokio::test]
async fn changed_definition_suspends_grant_and_shows_diff() {
    let (harness, folder) = with_tools(&format!("[{}]", tool("act", "Acts kindly.", "echo"))).await;
    let before = fingerprint(&harness);
    harness.tools.permissions().set_auto_approve(&"script".into(), AutoApprove::All).await.unwrap();
    assert!(harness.is_allowed("act", "{}").await);
    let two = format!("[{},{}]", tool("act", "Acts badly.", "echo"), tool("later", "Came later.", "echo"));
    write_tools(folder.path(), &two);
    changed(&harness, &before, "badly").await;
    let running = harness.spawn_call("act", "{}");
    let approval = harness.approval().await;
    let call_approval = call_approval(&approval);
    assert!(call_approval.warnings.contains(&Warning::DefinitionChanged));
    let permanent = call_approval.choices.iter().filter(|choice| choice.lifetime == ChoiceLifetime::Always);
    let scopes: Vec<ChoiceScope> = permanent.map(|choice| choice.width).collect();
    assert_eq!(
        scopes,
        [ChoiceScope::Call, ChoiceScope::Tool, ChoiceScope::Tool],
        "for one client and for all"
    );
    let wider = harness.answer(&approval, allow(ChoiceLifetime::Always, ChoiceScope::Server)).await;
    assert_eq!(wider.unwrap_err().code, ErrorCode::BadRequest);
    assert_eq!(call_approval.changes.len(), 1, "{:?}", call_approval.changes);
    assert_eq!(call_approval.changes[0].pointer, "/description");
    harness.answer(&approval, deny_once(None)).await.unwrap();
    assert!(is_error(&running.result().await));
    assert!(!harness.is_allowed("later", "{}").await, "a wide grant is for what existed");
    // For a while it can be allowed as it now is, in spite of the grant that is suspended.
    let running = harness.spawn_call("act", "{}");
    let approval = harness.approval().await;
    harness.answer(&approval, allow(ChoiceLifetime::UntilQuit, ChoiceScope::Tool)).await.unwrap();
    assert!(!is_error(&running.result().await));
    assert!(harness.is_allowed("act", "{}").await);
    // Said anew, it is for what exists now.
    harness.tools.permissions().set_auto_approve(&"script".into(), AutoApprove::All).await.unwrap();
    assert!(harness.is_allowed("act", "{}").await);
    assert!(harness.is_allowed("later", "{}").await);
}

#[tokio::test]
async fn next_round_runs_under_first_approval() {
    let (harness, folder) = with_tools(&format!("[{}]", tool("act", "Acts.", "rounds"))).await;
    let round = |arguments: &str, state: &str| ToolCall {
        rest: vec![("inputResponses".into(), raw("{}")), ("requestState".into(), raw(state))],
        ..call("act", arguments)
    };
    let first = harness.spawn_call("act", r#"{"x":1}"#);
    let approval = harness.approval().await;
    harness.allow(&approval).await;
    assert_eq!(first.result().await["resultType"], "input_required");

    for other in
        [round(r#"{"x":2}"#, "\"state-1\""), round(r#"{"x":1}"#, "\"state-2\""), call("act", r#"{"x":1}"#)]
    {
        let asked = harness.spawn_call_as(caller("Claude"), other);
        let approval = harness.approval().await;
        harness.answer(&approval, deny_once(None)).await.unwrap();
        assert!(is_error(&asked.result().await));
    }
    assert_eq!(calls(folder.path()).len(), 1);
    let next = harness.spawn_call_as(caller("Claude"), round(r#"{"x":1}"#, "\"state-1\"")).result().await;
    assert_eq!(next["n"], 1.0, "{next}");
    let again = harness.spawn_call_as(caller("Claude"), round(r#"{"x":1}"#, "\"state-1\""));
    harness.approval().await;
    drop(again);
}

#[tokio::test]
async fn next_round_rechecks_the_rule() {
    let (harness, folder) = with_tools(&format!("[{}]", tool("act", "Acts.", "rounds"))).await;
    harness.tools.permissions().set_auto_approve(&"script".into(), AutoApprove::All).await.unwrap();
    let running = harness.spawn_call_as(session_caller("Claude", "s"), call("act", "{}"));
    harness.wait_until(|_| calls(folder.path()).len() == 1).await;
    harness.tools.permissions().set_auto_approve(&"script".into(), AutoApprove::Ask).await.unwrap();
    let end = running.result().await;
    assert!(is_error(&end) && text(&end).contains("not sent"), "{end}");
    assert!(calls(folder.path()).len() < 5, "Gatehouse would go on for ten rounds");
}

#[tokio::test]
async fn cancel_and_pause_reach_the_server() {
    let (harness, folder) = with_tools(&format!("[{}]", tool("act", "Acts.", "hang"))).await;
    harness.tools.permissions().set_auto_approve(&"script".into(), AutoApprove::All).await.unwrap();
    let call = call("act", "{}");
    let reason = call.cancel_reason.clone();
    let running = harness.spawn_call_as(caller("Claude"), call);
    harness.wait_until(|_| calls(folder.path()).len() == 1).await;
    reason.set("The plan has changed.");
    running.cancel.cancel();
    running.result().await;
    harness.wait_until(|_| calls(folder.path()).len() == 2).await;
    assert_eq!(calls(folder.path())[1], "# cancelled: The plan has changed.");

    let running = harness.spawn_call("act", "{}");
    harness.wait_until(|_| calls(folder.path()).len() == 3).await;
    let begun = std::time::Instant::now();
    harness.tools.pause().await.unwrap();
    let end = running.result().await;
    // PERM-13. The time of this test is real.
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    assert!(is_error(&end) && text(&end).contains("paused"), "{end}");
    harness.wait_until(|_| calls(folder.path()).len() == 4).await;
    assert_eq!(calls(folder.path())[3], "# cancelled: The caller no longer waits.");
}

#[tokio::test]
async fn relays_progress_without_server_token() {
    let (harness, _folder) = with_tools(&format!("[{}]", tool("act", "Acts.", "progress"))).await;
    harness.tools.permissions().set_auto_approve(&"script".into(), AutoApprove::All).await.unwrap();
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let to = seen.clone();
    let progress =
        Arc::new(move |raw: Box<serde_json::value::RawValue>| to.lock().push(raw.get().to_owned()));
    let end = harness
        .spawn_call_as(caller("Claude"), with_progress_sink(call("act", "{}"), progress))
        .result()
        .await;
    assert!(!is_error(&end));
    assert_eq!(*seen.lock(), [r#"{"progress":1,"x":null}"#, r#"{"progress":2,"x":null}"#]);
}

#[tokio::test]
async fn lists_server_bytes_with_clean_text_and_unique_names() {
    let odd = "{ \"inputSchema\": {\"type\":\"object\",\"properties\":{\"k\u{200B}\":{\"enum\":[1.00]}}} ,\"description\":\"A\u{202E}cts.\",\"name\":\"act\", \"x\":12345678901234567890}";
    let tools = format!(
        r#"[{odd},{},{{"name":"bad","inputSchema":{{"type":"object","properties":{{"p":{{"type":"string","x-mcp-header":""}}}}}}}}]"#,
        tool("act", "Another of the same name.", "echo")
    );
    let (harness, folder) = with_tools(&tools).await;
    let catalog = harness.tools.catalog();
    assert_eq!(catalog.tools().len(), 1);
    assert_eq!(catalog.list(CatalogList::Tools)[0].get(), odd.replace('\u{202E}', ""));
    let view = harness.tools.permissions().tool_views().remove(0);
    assert_eq!(view.description.as_deref(), Some("Acts."));
    assert!(!view.flags.is_empty());
    let reasons: Vec<&str> = catalog.omitted().iter().map(|left| left.reason.as_str()).collect();
    assert!(reasons.iter().any(|reason| reason.contains("x-mcp-header")), "{reasons:?}");

    // Another server with a tool of that name goes round it, and a newcomer changes nobody's name.
    harness.start_server(scripted("second", folder.path())).await;
    harness.wait_until(|harness| harness.tools.catalog().by_exposed("second__act").is_some()).await;
    let catalog = harness.tools.catalog();
    assert_eq!(catalog.by_exposed("act").unwrap().server().as_str(), "script");
    assert!(catalog.list(CatalogList::Tools)[1].get().contains(r#""name":"second__act""#));
    let running = harness.spawn_call("second__act", "{}");
    let approval = harness.approval().await;
    assert!(
        call_approval(&approval)
            .warnings
            .iter()
            .any(|warning| matches!(warning, Warning::HiddenCharacters { .. }))
    );
    assert_eq!(call_approval(&approval).server.name, "second");
    harness.allow(&approval).await;
    running.result().await;
    assert!(calls(folder.path())[0].contains(r#""name":"act""#), "the server's own name");

    let secrets = harness.secrets.clone();
    let harness = harness.restart(secrets).await;
    harness.start_server(scripted("second", folder.path())).await;
    assert!(harness.tools.catalog().by_exposed("second__act").is_some(), "stable from run to run");
    assert!(harness.tools.catalog().by_exposed("act").is_none());
}

#[tokio::test]
async fn stopped_server_keeps_listing_and_is_rechecked_after_start() {
    let (harness, folder) = with_tools(&format!("[{}]", tool("act", "Acts.", "echo"))).await;
    harness.tools.permissions().set_auto_approve(&"script".into(), AutoApprove::All).await.unwrap();
    harness.servers.stop(&"script".into()).await.unwrap();
    assert!(harness.tools.catalog().by_exposed("act").is_some());
    assert!(!harness.is_allowed("act", "{}").await, "a call started what a person had stopped");
    harness.servers.start(&"script".into()).await.unwrap();
    assert!(harness.is_allowed("act", "{}").await);
    // What it offers after the start is another thing: asked, not sent.
    harness.servers.stop(&"script".into()).await.unwrap();
    write_tools(folder.path(), &format!("[{}]", tool("act", "Acts badly.", "echo")));
    let sent = calls(folder.path()).len();
    harness.servers.start(&"script".into()).await.unwrap();
    assert!(!harness.is_allowed("act", "{}").await);
    assert_eq!(calls(folder.path()).len(), sent);
}

#[tokio::test]
async fn non_tool_requests_are_judged_as_reads() {
    let (harness, _folder) = with_tools(&format!("[{}]", tool("act", "Acts.", "echo"))).await;
    let read =
        || AccessCall::new("script".into(), AccessKind::ReadResource, "file:///a".into(), "file:///a".into());
    let asked = |harness: &ToolsHarness| {
        let tools = harness.tools.clone();
        tokio::spawn(async move { value(tools.access(caller("Claude"), read()).await) })
    };
    let running = asked(&harness);
    let approval = harness.approval().await;
    let call = call_approval(&approval);
    assert_eq!(call.class.class, gatehouse_model::AccessClass::Read);
    // No list of the server names it, so it may be anything, and no wide allow is for it.
    assert!(call.class.reaches_outside);
    assert!(call.choices.iter().all(|choice| choice.width != ChoiceScope::Reads), "{:?}", call.choices);
    harness.allow(&approval).await;
    // The server declared no resources, so it is not asked either.
    assert_eq!(running.await.unwrap()["error"]["code"], -32601);
    let again = asked(&harness);
    let approval = harness.approval().await;
    harness.answer(&approval, allow(ChoiceLifetime::UntilQuit, ChoiceScope::Server)).await.unwrap();
    assert_eq!(again.await.unwrap()["error"]["code"], -32601);
    let once_more = asked(&harness);
    harness.allow(&harness.approval().await).await;
    assert_eq!(once_more.await.unwrap()["error"]["code"], -32601);
}

#[tokio::test]
async fn reports_server_that_does_not_run_without_asking() {
    let harness = ToolsHarness::new().await;
    harness.servers.put(scripted("gone", Path::new("/nowhere/at/all"))).await.unwrap();
    let call = AccessCall::new("gone".into(), AccessKind::GetPrompt, "p".into(), "p".into());
    let ending = harness.tools.access(caller("Claude"), call);
    let end = value(tokio::time::timeout(Duration::from_secs(60), ending).await.unwrap());
    assert!(harness.tools.approvals().pending().is_empty());
    // A prompt has no `isError`, so this is an error of the protocol.
    assert_eq!(end["error"]["code"], -32000, "{end}");
    assert!(end["error"]["message"].as_str().unwrap().contains("gone"), "{end}");
}

/// Answers every request with a challenge.
async fn spawn_unauthorized_server() -> String {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut request = vec![0; 64 * 1024];
                if stream.read(&mut request).await.is_ok() {
                    let answer = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
                    stream.write_all(answer.as_bytes()).await.unwrap();
                }
            });
        }
    });
    url
}

#[tokio::test]
async fn sign_in_required_is_reported_without_asking() {
    let harness = ToolsHarness::new().await;
    let transport = gatehouse_model::Transport::Http(gatehouse_model::server::Remote::at(
        spawn_unauthorized_server().await,
    ));
    harness.servers.put(config("remote", transport)).await.unwrap();
    harness.servers.start(&"remote".into()).await.unwrap();
    let needs = |harness: &ToolsHarness| {
        matches!(harness.servers.list()[0].status, gatehouse_model::ServerStatus::NeedsAuth { .. })
    };
    harness.wait_until(needs).await;
    let call =
        AccessCall::new("remote".into(), AccessKind::ReadResource, "file:///a".into(), "file:///a".into());
    let end = value(harness.tools.access(caller("Claude"), call).await);
    assert!(end["error"]["message"].as_str().unwrap().contains("Sign in"), "{end}");
    assert!(harness.tools.approvals().pending().is_empty());
}
