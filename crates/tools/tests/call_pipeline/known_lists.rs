//! What a server listed last is listed and callable from the first moment of the next run, and every call is judged
//! by what the server has then (SRV-3, GATE-5, PERM-8). These servers are real children, so time is real.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use gatehouse_model::approval::{AutoApprove, ChoiceLifetime, ChoiceScope};
use gatehouse_model::server::TimeLimit;
use gatehouse_model::{ServerConfig, ServerStatus};
use gatehouse_tools::{AccessCall, AccessKind, CallResponse, CatalogList};

use crate::harness::*;

struct Run {
    harness: ToolsHarness,
    keychain: std::sync::Arc<Keychain>,
    folder: tempfile::TempDir,
}

impl Run {
    /// A first run in which the server listed these tools and everything of it was allowed.
    async fn first(tools: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        write_tools(folder.path(), tools);
        let keychain = std::sync::Arc::new(Keychain::default());
        let dir = std::sync::Arc::new(tempfile::tempdir().unwrap());
        let harness = ToolsHarness::on(dir, keychain.clone(), Default::default()).await;
        harness.start_server(scripted("script", folder.path())).await;
        harness.tools.permissions().set_auto_approve(&"script".into(), AutoApprove::All).await.unwrap();
        Self { harness, keychain, folder }
    }

    /// The next run, with this server, which isn't connected yet.
    async fn next(self, config: ServerConfig) -> Self {
        let Self { harness, keychain, folder } = self;
        let harness = harness.restart(keychain.clone()).await;
        let known = harness.tools.known_lists(vec![config.clone()]).await;
        assert!(harness.servers.add_all(vec![config], known).is_empty());
        harness.tools.refresh().await;
        Self { harness, keychain, folder }
    }

    async fn restarted(self) -> Self {
        let config = scripted("script", self.folder.path());
        self.next(config).await
    }

    fn listed(&self) -> Vec<String> {
        let catalog = self.harness.tools.catalog();
        catalog.list(CatalogList::Tools).iter().map(|tool| tool.get().to_owned()).collect()
    }

    fn sent(&self) -> usize {
        std::fs::read_to_string(self.folder.path().join("calls.log")).unwrap_or_default().lines().count()
    }

    /// The stored lists.
    fn file(&self) -> PathBuf {
        let folder = self.harness.dir.path().join("known-lists/serve");
        std::fs::read_dir(folder).unwrap().next().unwrap().unwrap().path()
    }
}

fn write_tools(folder: &Path, tools: &str) {
    std::fs::write(folder.join("new"), tools).unwrap();
    std::fs::rename(folder.join("new"), folder.join("tools.json")).unwrap();
}

fn tool(name: &str, words: &str) -> String {
    format!(
        r#"{{"name":"{name}","description":"{words}","inputSchema":{{"type":"object","properties":{{}}}},"_meta":{{"does":"echo"}}}}"#
    )
}

#[tokio::test]
async fn known_tool_is_listed_and_called_before_its_server_has_started() {
    let definition = tool("act", "Acts.");
    let run = Run::first(&format!("[{definition}]")).await.restarted().await;
    let marked = definition.replace(r#""_meta":{"#, r#""_meta":{"app.gatehouse/lastKnown":true,"#);
    assert_eq!(run.listed(), [marked]);
    let versions = run.harness.tools.catalog_changes().borrow().all;
    let end = run.harness.call("act", "{}").await;
    assert!(!is_error(&end) && end["odd"].is_number(), "{end}");
    assert_eq!(run.sent(), 1);
    run.harness.wait_until(|harness| !harness.tools.catalog().tools()[0].is_last_known()).await;
    assert_eq!(run.listed(), [definition]);
    let now = run.harness.tools.catalog_changes().borrow().all;
    assert_eq!(now.tools, versions.tools, "clients are told nothing, since the list is the same");
    assert_ne!(now.marks, versions.marks);
    // What is listed now is known in the run after the next too.
    let run = run.restarted().await;
    assert_eq!(run.listed().len(), 1);
}

#[tokio::test]
async fn call_is_judged_by_the_definition_that_the_server_has() {
    let run = Run::first(&format!("[{}]", tool("act", "Acts."))).await;
    let run = run.restarted().await;
    write_tools(run.folder.path(), &format!("[{}]", tool("act", "Acts badly.")));
    assert!(run.listed()[0].contains("Acts.") && !run.listed()[0].contains("badly"));
    let running = run.harness.spawn_call("act", "{}");
    let approval = run.harness.approval().await;
    assert!(!call_approval(&approval).changes.is_empty(), "{approval:?}");
    run.harness.answer(&approval, deny_once(None)).await.unwrap();
    assert!(is_error(&running.result().await));
    assert_eq!(run.sent(), 0);
}

/// Starting a server runs a program, so it waits for the answer too. That is for the definition that was shown.
#[tokio::test]
async fn person_is_asked_before_a_call_starts_a_server() {
    let run = Run::first(&format!("[{}]", tool("act", "Acts."))).await.restarted().await;
    let status = |run: &Run| run.harness.servers.get(&"script".into()).unwrap().status();
    run.harness.tools.permissions().set_auto_approve(&"script".into(), AutoApprove::Ask).await.unwrap();
    let running = run.harness.spawn_call("act", "{}");
    let approval = run.harness.approval().await;
    assert_eq!(status(&run), ServerStatus::Stopped);
    run.harness.answer(&approval, deny_once(None)).await.unwrap();
    assert!(is_error(&running.result().await));
    assert_eq!(status(&run), ServerStatus::Stopped);
    let running = run.harness.spawn_call("act", r#"{"n":1}"#);
    run.harness.allow(&run.harness.approval().await).await;
    assert!(!is_error(&running.result().await));
    assert!(matches!(status(&run), ServerStatus::Connected { .. }));
    assert_eq!(run.sent(), 1);

    let run = run.restarted().await;
    write_tools(run.folder.path(), &format!("[{}]", tool("act", "Acts badly.")));
    let running = run.harness.spawn_call("act", "{}");
    let first = run.harness.approval().await;
    run.harness.allow(&first).await;
    run.harness
        .wait_until(|harness| harness.tools.approvals().pending().iter().any(|one| one.id != first.id))
        .await;
    let second = run.harness.approval().await;
    assert!(!call_approval(&second).changes.is_empty(), "{second:?}");
    run.harness.answer(&second, deny_once(None)).await.unwrap();
    assert!(is_error(&running.result().await));
    assert_eq!(run.sent(), 1, "what was allowed is not what the server has");
}

/// A request that the protocol doesn't have needs no definition to be asked about. What is offered is for this request: a
/// wider allow would be for the server's tools.
#[tokio::test]
async fn person_is_asked_before_a_request_starts_a_server() {
    let run = Run::first(&format!("[{}]", tool("act", "Acts."))).await.restarted().await;
    let status = || run.harness.servers.get(&"script".into()).unwrap().status();
    let method = "vendor/move".to_owned();
    let call = AccessCall::new("script".into(), AccessKind::Custom, method.clone(), method);
    let tools = run.harness.tools.clone();
    let running = tokio::spawn(async move { tools.access(caller("agent"), call).await });
    let approval = run.harness.approval().await;
    assert_eq!(status(), ServerStatus::Stopped);
    let choices = &call_approval(&approval).choices;
    assert!(choices.iter().any(|choice| choice.lifetime == ChoiceLifetime::Always), "{choices:?}");
    assert!(choices.iter().all(|choice| choice.width == ChoiceScope::Call), "{choices:?}");
    run.harness.answer(&approval, deny_once(None)).await.unwrap();
    assert!(matches!(running.await.unwrap(), CallResponse::Error(_)));
    assert_eq!(status(), ServerStatus::Stopped);
}

#[tokio::test]
async fn tool_that_is_gone_is_a_result_that_says_so() {
    let run = Run::first(&format!("[{},{}]", tool("act", "Acts."), tool("other", "Acts."))).await;
    let run = run.restarted().await;
    write_tools(run.folder.path(), &format!("[{}]", tool("other", "Acts.")));
    assert_eq!(run.listed().len(), 2);
    let end = run.harness.call("act", "{}").await;
    assert!(is_error(&end), "{end}");
    for words in ["script", "act", "any more", "List the tools again"] {
        assert!(text(&end).contains(words), "{end}");
    }
    assert_eq!((run.sent(), run.harness.tools.approvals().pending().len()), (0, 0));
    assert_eq!(run.listed().len(), 1);
    assert_eq!(run.harness.call("act", "{}").await["error"]["code"], -32602, "now it is just unknown");
}

#[tokio::test]
async fn server_that_does_not_start_is_reported_within_the_time_of_a_call() {
    let run = Run::first(&format!("[{}]", tool("act", "Acts."))).await;
    // What it runs is the same, but it never answers.
    let mut config = scripted("script", run.folder.path());
    config.limits.call_secs = TimeLimit::Secs(1);
    let pipe = run.folder.path().join("tools.json");
    std::fs::remove_file(&pipe).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let run = run.next(config).await;
    let begun = Instant::now();
    let end = run.harness.call("act", "{}").await;
    assert!(is_error(&end) && text(&end).contains("not connected"), "{end}");
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    assert!(run.harness.tools.approvals().pending().is_empty(), "nobody is asked for what can't be sent");
    assert_eq!(run.listed().len(), 1, "it stays listed");
}

#[tokio::test]
async fn another_or_disabled_server_has_no_known_tools() {
    let run = Run::first(&format!("[{}]", tool("act", "Acts."))).await;
    let of = |change: fn(&mut ServerConfig), folder: &Path| {
        let mut config = scripted("script", folder);
        change(&mut config);
        config
    };
    let folder = run.folder.path().to_owned();
    let run = run.next(of(|config| config.enabled = false, &folder)).await;
    assert!(run.listed().is_empty());
    let run = run.next(of(|config| config.generation = config.generation.next(), &folder)).await;
    assert!(run.listed().is_empty(), "another generation");
    let elsewhere = tempfile::tempdir().unwrap();
    let run = run.next(scripted("script", elsewhere.path())).await;
    assert!(run.listed().is_empty(), "another program");
    let run = run.restarted().await;
    assert_eq!(run.listed().len(), 1);
    let run = run.next(scripted("new", &folder)).await.restarted().await;
    assert!(run.listed().is_empty(), "it was removed for a while");
}

#[tokio::test]
async fn lists_that_another_wrote_are_ignored() {
    let run = Run::first(&format!("[{}]", tool("act", "Acts."))).await.restarted().await;
    let (file, sealed) = (run.file(), std::fs::read_to_string(run.file()).unwrap());
    let run = run.restarted().await;
    for forged in [sealed.replace("Acts.", "Reads."), sealed.replace(r#""act""#, r#""more""#), String::new()]
    {
        assert_ne!(forged, sealed);
        std::fs::write(&file, &forged).unwrap();
        assert!(run.harness.tools.known_lists(vec![scripted("script", run.folder.path())]).await.is_empty());
    }
    std::fs::write(&file, &sealed).unwrap();
    assert_eq!(run.harness.tools.known_lists(vec![scripted("script", run.folder.path())]).await.len(), 1);
}

/// An old copy is authentic, so it is listed. It widens nothing: what it says is not what the server does.
#[tokio::test]
async fn old_copy_of_the_lists_allows_nothing() {
    let run = Run::first(&format!("[{}]", tool("act", "Acts."))).await.restarted().await;
    let (file, old) = (run.file(), std::fs::read_to_string(run.file()).unwrap());
    write_tools(run.folder.path(), &format!("[{}]", tool("act", "Acts badly.")));
    run.harness.servers.start(&"script".into()).await.unwrap();
    run.harness.wait_until(|harness| !harness.tools.catalog().tools()[0].is_last_known()).await;
    let run = run.restarted().await;
    assert!(run.listed()[0].contains("Acts badly."));
    std::fs::write(&file, old).unwrap();
    let run = run.restarted().await;
    assert!(run.listed()[0].contains("Acts."), "{:?}", run.listed());
    assert!(!run.harness.is_allowed("act", "{}").await, "what was allowed once has another definition now");
    assert_eq!(run.sent(), 0);
}
