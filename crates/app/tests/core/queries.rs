//! What a window reads: what a test connection found, a server's log, what happened so far, and
//! the rules behind the chips of a server's page.

use std::collections::BTreeMap;

use crate::common::{TestHome, add, draft, run, server, wait_until, wait_until_state};
use gatehouse_app::{Authority, StreamEvent};
use gatehouse_common::messages::{Language, render};
use gatehouse_model::approval::{AutoApprove, ChoiceLifetime, ChoiceScope};
use gatehouse_model::command::*;
use gatehouse_model::record::CallFilter;
use gatehouse_model::server::{Builtin, ServerDraft};
use gatehouse_model::{AuditEntryView, AuditEvent, ErrorCode, Event, GrantChoice, Message, Transport};

/// A text of the core in English.
fn said(message: &Message) -> String {
    render(message, Language::English, &|at| at.0.to_string())
}

/// A server that is a shell script.
fn script(name: &str, text: &str) -> ServerDraft {
    let transport = Transport::Stdio {
        command: "sh".into(),
        args: vec!["-c".into(), text.into()],
        env: BTreeMap::new(),
        cwd: None,
        streams: Default::default(),
    };
    ServerDraft { transport, ..draft(name, Builtin::Time) }
}

/// Speaks just enough of the protocol, and hides characters in what it says of its tools.
const MINIMAL_SERVER: &str = r#"
say() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$1"; }
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\("[^"]*"\|[0-9][0-9]*\).*/\1/p')
  case "$line" in
    *'"method":"initialize"'*) say '"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{},"prompts":{}},"serverInfo":{"name":"speaking","version":"7"}}' ;;
    *'"method":"tools/list"'*) say '"result":{"tools":[
      {"name":"list_things","title":"Li\u202est","description":"a\u001b[31mred","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},
      {"name":"change_things","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":false}},
      {"name":"get_things","inputSchema":{"type":"object"}}]}' | tr -d '\n'; echo ;;
    *'"method":"resources/list"'*) say '"result":{"resources":[{"uri":"x://1","name":"one"}]}' ;;
    *'"method":"prompts/list"'*) say '"result":{"prompts":[{"name":"a"},{"name":"b"}]}' ;;
    *'"id":'*) say '"error":{"code":-32601,"message":"no such method"}' ;;
  esac
done
"#;

#[cfg(unix)]
#[tokio::test]
async fn server_test_reports_tools_and_labels() {
    let home = TestHome::new();
    let core = home.start().await;
    let wanted = ServersTest { draft: script("tried", MINIMAL_SERVER), secrets: vec![], run: None };
    let report = run(&core, wanted).await.unwrap();
    assert_eq!((report.server.name.as_str(), report.server.version.as_str()), ("speaking", "7"));
    assert_eq!((report.resources, report.prompts), (1, 2));
    let told: Vec<_> = report
        .tools
        .iter()
        .map(|tool| (tool.name.as_str(), tool.title.as_deref(), tool.description.as_deref(), tool.read_only))
        .collect();
    assert_eq!(
        told,
        [
            ("list_things", Some("List"), Some("ared"), true),
            ("change_things", None, None, false),
            ("get_things", None, None, false),
        ]
    );
    core.shutdown().await;
}

#[cfg(unix)]
#[tokio::test]
async fn keeps_200_log_lines_out_of_journal() {
    let home = TestHome::new();
    let core = home.start().await;
    let talking = r#"i=0; while :; do i=$((i+1)); echo "line $i" >&2; sleep 0.005; done"#;
    add(&core, script("talking", talking)).await.unwrap();
    let number = |text: &str| text.strip_prefix("line ").and_then(|n| n.parse::<u32>().ok());
    let log = wait_until(&core, "the log to be full", async || {
        let wanted = ServersLog { server: "talking".into() };
        let log = core.run(&wanted, Authority::Anyone).await.unwrap();
        (number(&log.first()?.text)? > 1).then_some(log)
    })
    .await;
    assert_eq!(log.len(), 200);
    let numbers: Vec<u32> = log.iter().map(|line| number(&line.text).unwrap()).collect();
    assert!(numbers.is_sorted(), "{numbers:?}");
    let tail = server(&core, "talking").await.unwrap().log_tail;
    assert!(!tail.is_empty() && tail.len() < log.len(), "a list of servers carries {} lines", tail.len());
    let nobody = run(&core, ServersLog { server: "nobody".into() }).await.unwrap_err();
    assert_eq!(nobody.code, ErrorCode::NotFound);

    run(&core, Pause {}).await.unwrap();
    run(&core, Resume {}).await.unwrap();
    let journal = run(&core, EventsList {}).await.unwrap();
    assert!(journal.is_sorted_by(|a, b| a.seq < b.seq), "{journal:?}");
    assert!(!journal.iter().any(|kept| matches!(kept.event, Event::LogLine { .. })), "{journal:?}");
    let pauses: Vec<bool> = journal
        .iter()
        .filter_map(|kept| match kept.event {
            Event::PauseChanged { paused } => Some(paused),
            _ => None,
        })
        .collect();
    assert_eq!(pauses, [true, false]);
    core.shutdown().await;
}

#[tokio::test]
async fn the_audit_says_which_rule_was_added_and_revoked_also_when_its_server_and_client_are_gone() {
    let home = TestHome::new();
    let core = home.start().await;
    wait_until_state(&core, "Notes", "connected").await;
    let client = run(&core, ClientsAdd { name: "Claude".into() }).await.unwrap().client.id.to_string();
    let choice = GrantChoice {
        lifetime: ChoiceLifetime::Always,
        width: ChoiceScope::Server,
        every_client: false,
        conditions: Vec::new(),
    };
    let grant = PolicyGrant { server: "Notes".into(), tool: None, client: Some(client.clone()), choice };
    run(&core, grant).await.unwrap();
    let expected = ["Always allow everything on Notes, for Claude; asks on first use"];
    let rules = |entries: Vec<AuditEntryView>| -> Vec<String> {
        entries.iter().filter_map(|entry| entry.rule.as_ref()).map(said).collect()
    };
    let listed = run(&core, AuditList { after: None, limit: None }).await.unwrap();
    assert_eq!(rules(listed), expected);
    run(&core, ServersRemove { server: "Notes".into(), undoable: false }).await.unwrap();
    run(&core, ClientsRevoke { client }).await.unwrap();
    let added_and_revoked = [expected[0], expected[0]];
    let listed = run(&core, AuditList { after: None, limit: None }).await.unwrap();
    assert_eq!(rules(listed), added_and_revoked);
    let latest = run(&core, AuditLatest { before: None, limit: None }).await.unwrap();
    let revoked = latest.iter().position(|entry| matches!(entry.event, AuditEvent::Revoked { .. })).unwrap();
    assert_eq!(rules(latest), added_and_revoked);
    // Where the entry that added the rule is not listed, only the id of the rule is known.
    let limit = Some(u32::try_from(revoked + 1).unwrap());
    let newest = run(&core, AuditLatest { before: None, limit }).await.unwrap();
    assert!(matches!(newest[revoked].event, AuditEvent::Revoked { .. }), "{newest:?}");
    assert_eq!(rules(newest), [""; 0]);
    core.shutdown().await;
}

#[tokio::test]
async fn shows_and_revokes_each_rule_separately() {
    let home = TestHome::new();
    let core = home.start().await;
    let notes = wait_until_state(&core, "Notes", "connected").await.config.id;
    wait_until_state(&core, "Time", "connected").await;
    let client = run(&core, ClientsAdd { name: "Claude".into() }).await.unwrap().client;
    let grant = |server: &str, tool: Option<&str>, width, client: Option<String>| PolicyGrant {
        server: server.into(),
        tool: tool.map(Into::into),
        client,
        choice: GrantChoice {
            lifetime: ChoiceLifetime::Always,
            width,
            every_client: false,
            conditions: Vec::new(),
        },
    };
    run(&core, PolicyAutoApprove { server: Some("Notes".into()), client: None, to: AutoApprove::Reads })
        .await
        .unwrap();
    run(&core, grant("Notes", Some("add_note"), ChoiceScope::Tool, None)).await.unwrap();
    run(&core, grant("Notes", None, ChoiceScope::Server, Some(client.id.to_string()))).await.unwrap();
    run(&core, grant("Time", Some("current_time"), ChoiceScope::Tool, None)).await.unwrap();
    let chips = async || {
        let policy = run(&core, PolicyShow {}).await.unwrap();
        let own = policy
            .rules
            .into_iter()
            .filter(|view| view.rule.server.as_ref().is_some_and(|bound| bound.server == notes));
        own.map(|view| (said(&view.sentence), view.rule.id)).collect::<BTreeMap<_, _>>()
    };
    let reads = "Always allow all reads of Notes, for every client";
    let tool = "Always allow Notes: add_note, for every client";
    let all = chips().await;
    let others: Vec<_> =
        all.iter().filter(|(said, _)| said.as_str() != tool && said.as_str() != reads).collect();
    let [(one_said, one)] = others[..] else { panic!("{all:?}") };
    assert!(
        one_said.starts_with("Always allow everything on Notes, for Claude") && all.len() == 3,
        "{all:?}"
    );

    run(&core, PolicyRevoke { rule: one.clone() }).await.unwrap();
    assert_eq!(chips().await.keys().collect::<Vec<_>>(), [tool, reads]);
    run(&core, PolicyAutoApprove { server: Some("Notes".into()), client: None, to: AutoApprove::All })
        .await
        .unwrap();
    let wide = "Always allow everything on Notes, for every client";
    assert_eq!(chips().await.keys().collect::<Vec<_>>(), [tool, wide]);
    run(&core, PolicyAutoApprove { server: Some("Notes".into()), client: None, to: AutoApprove::Ask })
        .await
        .unwrap();
    assert_eq!(chips().await.keys().collect::<Vec<_>>(), [tool]);
    run(&core, PolicyRevoke { rule: all[tool].clone() }).await.unwrap();
    assert!(server(&core, "Notes").await.unwrap().auto_approve.is_empty());
    let left = run(&core, PolicyShow {}).await.unwrap().rules;
    assert_eq!(left.len(), 1, "another server's rule went too: {left:?}");
    core.shutdown().await;
}

#[tokio::test]
async fn finished_call_is_listed_when_event_arrives() {
    let home = TestHome::new();
    let core = home.start().await;
    wait_until_state(&core, "Notes", "connected").await;
    run(&core, PolicyAutoApprove { server: Some("Notes".into()), client: None, to: AutoApprove::All })
        .await
        .unwrap();
    let minted = run(&core, ClientsAdd { name: "Claude".into() }).await.unwrap();
    for words in [3, 10_000] {
        let mut events = core.events();
        let call = Call {
            token: minted.token.clone(),
            tool: "add_note".into(),
            arguments: format!(r#"{{"text":"{}"}}"#, "word ".repeat(words)),
        };
        let reading = async {
            let id = loop {
                if let Some(StreamEvent::Event(envelope)) = events.next().await
                    && let Event::CallFinished { call, .. } = &envelope.event
                {
                    break call.clone();
                }
            };
            let calls = run(&core, CallsList { filter: CallFilter::default() }).await.unwrap();
            calls.iter().any(|record| record.id == id)
        };
        let (reply, found) = tokio::join!(core.run(&call, Authority::Client), reading);
        assert!(!reply.unwrap().is_tool_error);
        assert!(found, "with {words} words");
    }
    core.shutdown().await;
}

/// Activity is where people look for what an agent did, so they are told that something is missing there.
#[tokio::test]
async fn calls_that_could_not_be_stored_are_a_problem_of_the_status() {
    let home = TestHome::new();
    let core = home.start().await;
    wait_until_state(&core, "Time", "connected").await;
    let problem = async || {
        let problems = run(&core, Status {}).await.unwrap().problems;
        problems.into_iter().find(|problem| problem.message.to_string().contains("missing in Activity"))
    };
    assert_eq!(problem().await, None);
    let activity = rusqlite::Connection::open(home.data_dir().join("activity.db")).unwrap();
    activity.execute("DROP TABLE calls", []).unwrap();
    let call = ServersCallTool {
        server: "Time".into(),
        tool: "current_time".into(),
        arguments: "{}".into(),
        client: None,
        run: None,
    };
    run(&core, call).await.unwrap();
    wait_until(&core, "the problem", problem).await;
    core.shutdown().await;
}
