//! What reaches a server, byte for byte, and servers that change under a call (PERM-7, 8, 18; TOOL-1
//! to 4, 9). These servers are real children, so time is real.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::ask::{AutoApprove, ChoiceLifetime, ChoiceWidth, Warning};
use gatehouse_tools::{AccessCall, AccessKind, CallEnd, ToolCall};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::house::*;

fn write_tools(folder: &Path, tools: &str) {
    // Whole at once: the server must not see half of it.
    std::fs::write(folder.join("new"), tools).unwrap();
    std::fs::rename(folder.join("new"), folder.join("tools.json")).unwrap();
}

fn calls(folder: &Path) -> Vec<String> {
    let log = std::fs::read_to_string(folder.join("calls.log")).unwrap_or_default();
    log.lines().map(ToOwned::to_owned).collect()
}

async fn with_tools(tools: &str) -> (House, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    write_tools(folder.path(), tools);
    let house = House::new().await;
    house.serve(scripted("script", folder.path())).await;
    (house, folder)
}

fn tool(name: &str, words: &str, does: &str) -> String {
    format!(
        r#"{{"name":"{name}","description":"{words}","inputSchema":{{"type":"object"}},"_meta":{{"does":"{does}"}}}}"#
    )
}

async fn changed(house: &House, before: &str, words: &str) {
    house
        .until(|house| {
            let catalogue = house.tools.catalogue();
            let tool = catalogue.by_exposed("act").unwrap();
            tool.fingerprint().as_str() != before && tool.definition().get().contains(words)
        })
        .await;
}

fn fingerprint(house: &House) -> String {
    house.tools.catalogue().by_exposed("act").unwrap().fingerprint().to_string()
}

#[tokio::test]
async fn arguments_and_results_pass_byte_for_byte() {
    let (house, folder) = with_tools(&format!("[{}]", tool("act", "Acts.", "echo"))).await;
    let arguments = r#"{ "n":12345678901234567890, "f":1.0e5,"z":null, "a" : "\u0041" }"#;
    let running = tokio::spawn({
        let tools = house.tools.clone();
        let call = ToolCall { rest: vec![("task".into(), raw(r#"{"ttl": 1}"#))], ..call("act", arguments) };
        async move { tools.call(caller("Claude"), call).await }
    });
    let question = house.question().await;
    assert!(about(&question).arguments.iter().flatten().any(|argument| argument.name == "(task)"));
    house.allow(&question).await;
    let CallEnd::Result(result) = running.await.unwrap() else { panic!() };
    assert_eq!(
        result.get(),
        r#"{ "odd":12345678901234567890, "n":1.00 ,"content":[],"z":null,"a":"\u0041"}"#
    );
    let sent = calls(folder.path());
    assert!(sent[0].contains(&format!(r#""arguments":{arguments}"#)), "{}", sent[0]);
    assert!(sent[0].contains(r#""task":{"ttl": 1}"#), "{}", sent[0]);
}

#[tokio::test]
async fn a_definition_that_changes_while_a_person_decides_asks_again() {
    let (house, folder) = with_tools(&format!("[{}]", tool("act", "Acts kindly.", "echo"))).await;
    let before = fingerprint(&house);
    let running = house.begin("act", r#"{"x":1}"#);
    let question = house.question().await;
    write_tools(folder.path(), &format!("[{}]", tool("act", "Acts badly.", "echo")));
    changed(&house, &before, "badly").await;
    house.allow(&question).await;
    let again = house.question().await;
    assert_ne!(about(&again).hash, about(&question).hash);
    let told = about(&again);
    assert_eq!(told.warnings[0], Warning::DefinitionChanged, "{:?}", told.warnings);
    assert_eq!(told.changes.len(), 1, "{:?}", told.changes);
    assert_eq!(told.changes[0].before.as_deref(), Some("\"Acts kindly.\""));
    assert!(told.choices.iter().all(|choice| choice.lifetime != ChoiceLifetime::Always));
    assert!(calls(folder.path()).is_empty(), "nothing was sent");
    house.allow(&again).await;
    assert!(!is_error(&running.ended().await));
    assert_eq!(calls(folder.path()).len(), 1);
}

#[tokio::test]
async fn a_changed_definition_suspends_its_grant_and_shows_what_changed() {
    let (house, folder) = with_tools(&format!("[{}]", tool("act", "Acts kindly.", "echo"))).await;
    let before = fingerprint(&house);
    house.tools.rights().set_auto_approve(&"script".into(), AutoApprove::All).await.unwrap();
    assert!(house.passes("act", "{}").await);
    let two = format!("[{},{}]", tool("act", "Acts badly.", "echo"), tool("later", "Came later.", "echo"));
    write_tools(folder.path(), &two);
    changed(&house, &before, "badly").await;
    let running = house.begin("act", "{}");
    let question = house.question().await;
    let about = about(&question);
    assert!(about.warnings.contains(&Warning::DefinitionChanged));
    assert!(about.choices.iter().all(|choice| choice.lifetime != ChoiceLifetime::Always));
    assert_eq!(about.changes.len(), 1, "{:?}", about.changes);
    assert_eq!(about.changes[0].pointer, "/description");
    house.answer(&question, no(None)).await.unwrap();
    assert!(is_error(&running.ended().await));
    assert!(!house.passes("later", "{}").await, "a wide grant is for what existed");
    // For a while it can be allowed as it now is, in spite of the grant that is suspended.
    let running = house.begin("act", "{}");
    let question = house.question().await;
    house.answer(&question, allow(ChoiceLifetime::UntilQuit, ChoiceWidth::Tool)).await.unwrap();
    assert!(!is_error(&running.ended().await));
    assert!(house.passes("act", "{}").await);
    // Said anew, it is for what exists now.
    house.tools.rights().set_auto_approve(&"script".into(), AutoApprove::All).await.unwrap();
    assert!(house.passes("act", "{}").await);
    assert!(house.passes("later", "{}").await);
}

#[tokio::test]
async fn the_next_round_runs_under_the_first_approval_and_any_other_asks() {
    let (house, folder) = with_tools(&format!("[{}]", tool("act", "Acts.", "rounds"))).await;
    let round = |arguments: &str, state: &str| ToolCall {
        rest: vec![("inputResponses".into(), raw("{}")), ("requestState".into(), raw(state))],
        ..call("act", arguments)
    };
    let first = house.begin("act", r#"{"x":1}"#);
    let question = house.question().await;
    house.allow(&question).await;
    assert_eq!(first.ended().await["resultType"], "input_required");

    for other in
        [round(r#"{"x":2}"#, "\"state-1\""), round(r#"{"x":1}"#, "\"state-2\""), call("act", r#"{"x":1}"#)]
    {
        let asked = house.begin_as(caller("Claude"), other);
        let question = house.question().await;
        house.answer(&question, no(None)).await.unwrap();
        assert!(is_error(&asked.ended().await));
    }
    assert_eq!(calls(folder.path()).len(), 1);
    let next = house.begin_as(caller("Claude"), round(r#"{"x":1}"#, "\"state-1\"")).ended().await;
    assert_eq!(next["n"], 1.0, "{next}");
    let again = house.begin_as(caller("Claude"), round(r#"{"x":1}"#, "\"state-1\""));
    house.question().await;
    drop(again);
}

#[tokio::test]
async fn a_round_of_a_call_that_a_rule_allowed_needs_the_rule_still() {
    let (house, folder) = with_tools(&format!("[{}]", tool("act", "Acts.", "rounds"))).await;
    house.tools.rights().set_auto_approve(&"script".into(), AutoApprove::All).await.unwrap();
    let running = house.begin_as(in_session("Claude", "s"), call("act", "{}"));
    house.until(|_| calls(folder.path()).len() == 1).await;
    house.tools.rights().set_auto_approve(&"script".into(), AutoApprove::Ask).await.unwrap();
    let end = running.ended().await;
    assert!(is_error(&end) && text(&end).contains("not sent"), "{end}");
    assert!(calls(folder.path()).len() < 5, "Gatehouse would go on for ten rounds");
}

#[tokio::test]
async fn cancelling_and_pausing_go_upstream() {
    let (house, folder) = with_tools(&format!("[{}]", tool("act", "Acts.", "hang"))).await;
    house.tools.rights().set_auto_approve(&"script".into(), AutoApprove::All).await.unwrap();
    let running = house.begin("act", "{}");
    house.until(|_| calls(folder.path()).len() == 1).await;
    running.cancel.cancel();
    running.ended().await;
    house.until(|_| calls(folder.path()).len() == 2).await;
    assert_eq!(calls(folder.path())[1], "# cancelled");

    let running = house.begin("act", "{}");
    house.until(|_| calls(folder.path()).len() == 3).await;
    house.tools.pause().await.unwrap();
    let end = running.ended().await;
    assert!(is_error(&end) && text(&end).contains("paused"), "{end}");
    house.until(|_| calls(folder.path()).len() == 4).await;
    assert_eq!(calls(folder.path())[3], "# cancelled");
}

#[tokio::test]
async fn progress_reaches_the_client_without_the_servers_token() {
    let (house, _folder) = with_tools(&format!("[{}]", tool("act", "Acts.", "progress"))).await;
    house.tools.rights().set_auto_approve(&"script".into(), AutoApprove::All).await.unwrap();
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let to = seen.clone();
    let progress =
        Arc::new(move |raw: Box<serde_json::value::RawValue>| to.lock().push(raw.get().to_owned()));
    let end = house.begin_as(caller("Claude"), told(call("act", "{}"), progress)).ended().await;
    assert!(!is_error(&end));
    assert_eq!(*seen.lock(), [r#"{"progress":1,"x":null}"#, r#"{"progress":2,"x":null}"#]);
}

#[tokio::test]
async fn the_list_is_the_servers_bytes_with_clean_words_and_unique_names() {
    let odd = "{ \"inputSchema\": {\"type\":\"object\",\"properties\":{\"k\u{200B}\":{\"enum\":[1.00]}}} ,\"description\":\"A\u{202E}cts.\",\"name\":\"act\", \"x\":12345678901234567890}";
    let tools = format!(
        r#"[{odd},{},{{"name":"bad","inputSchema":{{"type":"object","properties":{{"p":{{"type":"string","x-mcp-header":""}}}}}}}}]"#,
        tool("act", "Another of the same name.", "echo")
    );
    let (house, folder) = with_tools(&tools).await;
    let catalogue = house.tools.catalogue();
    assert_eq!(catalogue.tools().len(), 1);
    assert_eq!(catalogue.list_json()[0].get(), odd.replace('\u{202E}', ""));
    let view = catalogue.views().remove(0);
    assert_eq!(view.description.as_deref(), Some("Acts."));
    assert!(!view.flags.is_empty());
    let reasons: Vec<&str> = catalogue.left_out().iter().map(|left| left.reason.as_str()).collect();
    assert!(reasons.iter().any(|reason| reason.contains("x-mcp-header")), "{reasons:?}");

    // Another server with a tool of that name goes round it, and a newcomer changes nobody's name.
    house.serve(scripted("second", folder.path())).await;
    house.until(|house| house.tools.catalogue().by_exposed("second__act").is_some()).await;
    let catalogue = house.tools.catalogue();
    assert_eq!(catalogue.by_exposed("act").unwrap().server().as_str(), "script");
    assert!(catalogue.list_json()[1].get().contains(r#""name":"second__act""#));
    let running = house.begin("second__act", "{}");
    let question = house.question().await;
    assert!(
        about(&question).warnings.iter().any(|warning| matches!(warning, Warning::HiddenCharacters { .. }))
    );
    assert_eq!(about(&question).server.name, "second");
    house.allow(&question).await;
    running.ended().await;
    assert!(calls(folder.path())[0].contains(r#""name":"act""#), "the server's own name");

    let secrets = house.secrets.clone();
    let house = house.restarted(secrets).await;
    house.serve(scripted("second", folder.path())).await;
    assert!(house.tools.catalogue().by_exposed("second__act").is_some(), "stable from run to run");
    assert!(house.tools.catalogue().by_exposed("act").is_none());
}

#[tokio::test]
async fn tools_of_a_stopped_server_stay_listed_and_are_judged_anew_after_a_start() {
    let (house, folder) = with_tools(&format!("[{}]", tool("act", "Acts.", "echo"))).await;
    house.tools.rights().set_auto_approve(&"script".into(), AutoApprove::All).await.unwrap();
    house.servers.stop(&"script".into()).await.unwrap();
    assert!(house.tools.catalogue().by_exposed("act").is_some());
    assert!(!house.passes("act", "{}").await, "a call started what a person had stopped");
    house.servers.start(&"script".into()).await.unwrap();
    assert!(house.passes("act", "{}").await);
    // What it offers after the start is another thing: asked, not sent.
    house.servers.stop(&"script".into()).await.unwrap();
    write_tools(folder.path(), &format!("[{}]", tool("act", "Acts badly.", "echo")));
    let sent = calls(folder.path()).len();
    house.servers.start(&"script".into()).await.unwrap();
    assert!(!house.passes("act", "{}").await);
    assert_eq!(calls(folder.path()).len(), sent);
}

#[tokio::test]
async fn what_is_not_a_tool_is_judged_as_a_read() {
    let (house, _folder) = with_tools(&format!("[{}]", tool("act", "Acts.", "echo"))).await;
    let read = || AccessCall {
        server: "script".into(),
        kind: AccessKind::ReadResource,
        target: "file:///a".to_owned(),
        exposed_name: "file:///a".to_owned(),
        rest: Vec::new(),
        meta: None,
        progress: None,
        asks: None,
        listening: None,
        cancel: CancellationToken::new(),
    };
    let asked = |house: &House| {
        let tools = house.tools.clone();
        tokio::spawn(async move { value(tools.access(caller("Claude"), read()).await) })
    };
    let running = asked(&house);
    let question = house.question().await;
    let call = about(&question);
    assert_eq!(call.class.class, gatehouse_model::AccessClass::Read);
    // No list of the server names it, so it may be anything, and no wide allow is for it.
    assert!(call.class.reaches_outside);
    assert!(call.choices.iter().all(|choice| choice.width != ChoiceWidth::Reads), "{:?}", call.choices);
    house.allow(&question).await;
    // The server declared no resources, so it is not asked either.
    assert_eq!(running.await.unwrap()["error"]["code"], -32601);
    let again = asked(&house);
    let question = house.question().await;
    house.answer(&question, allow(ChoiceLifetime::UntilQuit, ChoiceWidth::Server)).await.unwrap();
    assert_eq!(again.await.unwrap()["error"]["code"], -32601);
    let once_more = asked(&house);
    house.allow(&house.question().await).await;
    assert_eq!(once_more.await.unwrap()["error"]["code"], -32601);
}

#[tokio::test]
async fn a_server_that_does_not_run_is_said_to_be_so() {
    let house = House::new().await;
    house.servers.put(scripted("gone", Path::new("/nowhere/at/all"))).await.unwrap();
    let call = AccessCall {
        server: "gone".into(),
        kind: AccessKind::GetPrompt,
        target: "p".to_owned(),
        exposed_name: "p".to_owned(),
        rest: Vec::new(),
        meta: None,
        progress: None,
        asks: None,
        listening: None,
        cancel: CancellationToken::new(),
    };
    let tools = house.tools.clone();
    let running = tokio::spawn(async move { value(tools.access(caller("Claude"), call).await) });
    let question = house.question().await;
    house.allow(&question).await;
    let end = tokio::time::timeout(Duration::from_secs(60), running).await.unwrap().unwrap();
    // A prompt has no `isError`, so this is an error of the protocol.
    assert_eq!(end["error"]["code"], -32000, "{end}");
    assert!(end["error"]["message"].as_str().unwrap().contains("gone"), "{end}");
}

/// Answers every request with a challenge.
async fn challenging() -> String {
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
async fn a_server_that_wants_a_sign_in_says_what_to_do_and_nobody_is_asked() {
    let house = House::new().await;
    let transport =
        gatehouse_model::Transport::Http(gatehouse_model::server::Remote::at(challenging().await));
    house.servers.put(config("remote", transport)).await.unwrap();
    house.servers.start(&"remote".into()).await.unwrap();
    let needs = |house: &House| {
        matches!(house.servers.list()[0].status, gatehouse_model::ServerStatus::NeedsAuth { .. })
    };
    house.until(needs).await;
    let call = AccessCall {
        server: "remote".into(),
        kind: AccessKind::ReadResource,
        target: "file:///a".to_owned(),
        exposed_name: "file:///a".to_owned(),
        rest: Vec::new(),
        meta: None,
        progress: None,
        asks: None,
        listening: None,
        cancel: CancellationToken::new(),
    };
    let end = value(house.tools.access(caller("Claude"), call).await);
    assert!(end["error"]["message"].as_str().unwrap().contains("Sign in"), "{end}");
    assert!(house.tools.approvals().pending().is_empty());
}
