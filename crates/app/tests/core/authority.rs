//! Who may do what: every command that widens permissions is refused without the operator's authority,
//! in the process and over the control socket.

use crate::common::{TestHome, run, wait_until, wait_until_state};
use gatehouse_app::control::ControlClient;
use gatehouse_app::events::StreamEvent;
use gatehouse_app::{Authority, Core, CoreOptions, Owner, open_vault};
use gatehouse_model::approval::{ApprovalAnswer, AutoApprove};
use gatehouse_model::command::*;
use gatehouse_model::{ApprovalRequest, ErrorCode, Event, GrantChoice, Secret, SubmittedAnswer};
use serde_json::value::RawValue;

/// One command of each kind, by name and arguments.
pub(crate) const COMMANDS: &[(&str, &str)] = &[
    ("status", "{}"),
    ("servers.list", "{}"),
    (
        "servers.add",
        r#"{"draft":{"name":"x","transport":{"type":"builtin","builtin":{"kind":"time"}}},"trustLabels":true}"#,
    ),
    (
        "servers.edit",
        r#"{"server":"Time","draft":{"name":"x","transport":{"type":"builtin","builtin":{"kind":"time"}}}}"#,
    ),
    ("servers.set", r#"{"server":"Time","changes":[{"pointer":"/autostart","value":"false"}]}"#),
    ("servers.duplicate", r#"{"server":"Time","name":"x"}"#),
    ("servers.test", r#"{"draft":{"name":"x","transport":{"type":"builtin","builtin":{"kind":"time"}}}}"#),
    (
        "servers.validate",
        r#"{"settings":{"draft":{"name":"x","transport":{"type":"builtin","builtin":{"kind":"time"}}}}}"#,
    ),
    ("servers.settingsText", r#"{"server":"Time"}"#),
    ("bundles.read", r#"{"file":"/no/such/bundle.mcpb"}"#),
    ("bundles.configure", r#"{"bundle":"x","values":"{}"}"#),
    ("imports.sources", "{}"),
    ("imports.preview", r#"{"from":{"text":"{}"}}"#),
    ("imports.run", r#"{"from":{"text":"{}"},"fingerprint":"","servers":[]}"#),
    ("imports.runByName", r#"{"from":{"text":"{}"}}"#),
    ("servers.start", r#"{"server":"Time"}"#),
    ("servers.reconnect", r#"{"server":"Time"}"#),
    ("servers.log", r#"{"server":"Time"}"#),
    ("servers.icon", r#"{"server":"Time"}"#),
    ("events.list", "{}"),
    ("servers.trustLabels", r#"{"server":"Time","trusted":true}"#),
    ("servers.reset", "{}"),
    ("servers.switchOff", "{}"),
    ("servers.switchOn", "{}"),
    ("settings.show", "{}"),
    ("settings.set", r#"{"auditDays":null,"activityDays":1,"activityCalls":1}"#),
    ("servers.callTool", r#"{"server":"Time","tool":"current_time","arguments":"{}","client":"x"}"#),
    ("servers.readResource", r#"{"server":"Time","uri":"a://b","client":"x"}"#),
    ("registry.search", r#"{"text":"x"}"#),
    ("registry.versions", r#"{"name":"a/x"}"#),
    ("registry.fill", r#"{"name":"a/x","version":"1","option":"npm:x"}"#),
    ("registry.report", r#"{"server":"Time"}"#),
    ("links.read", r#"{"link":"gatehouse://add?command=x"}"#),
    ("tools.list", r#"{"server":null}"#),
    ("tools.classify", r#"{"server":"Time","tool":"current_time","class":"read"}"#),
    ("call", r#"{"token":"x","tool":"y","arguments":"{}"}"#),
    ("clients.list", "{}"),
    ("clients.identify", r#"{"token":"x"}"#),
    ("bridge.bind", r#"{"token":"x"}"#),
    ("clients.add", r#"{"name":"x"}"#),
    ("clients.rotate", r#"{"client":"x"}"#),
    ("clients.keepToken", r#"{"token":"x"}"#),
    ("clients.revoke", r#"{"client":"x"}"#),
    ("clients.apps", "{}"),
    ("clients.connectPreview", r#"{"app":"cursor"}"#),
    ("clients.connect", r#"{"app":"cursor","fingerprint":"x"}"#),
    ("clients.disconnect", r#"{"app":"cursor"}"#),
    ("clients.set", r#"{"client":"x","profile":null}"#),
    ("profiles.list", "{}"),
    ("profiles.add", r#"{"settings":{"name":"x"}}"#),
    ("profiles.set", r#"{"profile":"x","settings":{"name":"x"}}"#),
    ("profiles.addServers", r#"{"profile":"x"}"#),
    ("profiles.remove", r#"{"profile":"x"}"#),
    ("approvals.list", "{}"),
    ("approvals.answer", r#"{"answers":[]}"#),
    ("approvals.generate", r#"{"id":"ask-0"}"#),
    ("approvals.opinion", r#"{"id":"ask-0","hash":"x"}"#),
    ("approvals.practice", "{}"),
    ("models.show", "{}"),
    (
        "models.addProvider",
        r#"{"draft":{"name":"x","api":"open_ai_chat","baseUrl":"http://127.0.0.1:9/v1"},"key":"k"}"#,
    ),
    (
        "models.setProvider",
        r#"{"provider":"mdl-0","draft":{"name":"x","api":"gemini","baseUrl":"http://127.0.0.1:9"},"key":"k"}"#,
    ),
    ("models.removeProvider", r#"{"provider":"mdl-0"}"#),
    ("models.list", r#"{"provider":"mdl-0"}"#),
    ("models.assign", r#"{"opinion":{"provider":"mdl-0","model":"x"}}"#),
    ("chat.list", "{}"),
    ("chat.show", r#"{"conversation":"cnv-0"}"#),
    ("chat.create", r#"{"settings":{}}"#),
    ("chat.set", r#"{"conversation":"cnv-0","settings":{}}"#),
    ("chat.remove", r#"{"conversation":"cnv-0"}"#),
    ("chat.send", r#"{"conversation":"cnv-0","text":"x"}"#),
    ("chat.retry", r#"{"conversation":"cnv-0"}"#),
    ("chat.stop", r#"{"conversation":"cnv-0"}"#),
    ("chat.export", r#"{"conversation":"cnv-0","save":true}"#),
    ("policy.show", "{}"),
    ("policy.autoApprove", r#"{"server":"Time","to":"all"}"#),
    (
        "policy.grant",
        r#"{"server":"Time","tool":null,"client":null,"choice":{"lifetime":"always","width":"server"}}"#,
    ),
    (
        "policy.deny",
        r#"{"server":"Time","tool":null,"client":null,"choice":{"lifetime":"always","width":"server"},"reason":null}"#,
    ),
    ("policy.confirm", "{}"),
    ("policy.revoke", r#"{"rule":"grt-0"}"#),
    ("policy.findings", "{}"),
    ("policy.narrow", r#"{"rule":"grt-0"}"#),
    ("policy.unblock", r#"{"rule":"grt-0"}"#),
    ("removals.undo", "{}"),
    ("calls.list", r#"{"filter":{}}"#),
    ("calls.statistics", r#"{"query":{"since":0,"interval":"day"}}"#),
    ("calls.export", r#"{"filter":{},"format":"csv"}"#),
    ("servers.stopRun", r#"{"run":"x"}"#),
    ("audit.list", r#"{"after":null,"limit":null}"#),
    ("audit.verify", "{}"),
    ("audit.export", r#"{"format":"csv"}"#),
    ("configuration.export", "{}"),
    ("configuration.preview", r#"{"from":{"text":"{}"}}"#),
    ("configuration.import", r#"{"from":{"text":"{}"},"fingerprint":"","items":[]}"#),
    ("pause", "{}"),
    ("resume", "{}"),
    ("servers.stop", r#"{"server":"Time","disable":false}"#),
    ("servers.remove", r#"{"server":"Time"}"#),
];

pub(crate) fn args(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap()
}

#[tokio::test]
async fn only_operator_may_widen_permissions() {
    let home = TestHome::new();
    let core = home.start().await;
    let mut refused = 0;
    for (name, text) in COMMANDS {
        let command = Command::parse(name, &args(text)).unwrap();
        let needs = command.rule().needs;
        let outcome = core.execute(command, Authority::Anyone).await;
        let kept_out = outcome.is_err_and(|problem| {
            problem.code == ErrorCode::NotPermitted && problem.message.to_string().starts_with(name)
        });
        assert_eq!(kept_out, needs > Authority::Anyone, "{name}");
        refused += usize::from(kept_out);
    }
    assert!(refused >= 15, "only {refused} were refused");
    core.shutdown().await;
}

#[tokio::test]
async fn socket_grants_operator_authority_for_correct_key_only() {
    let home = TestHome::new();
    let core = home.start().await;
    let add = |name: &str| ClientsAdd { name: name.to_owned() };

    let mut without = ControlClient::connect(&home.data_dir()).await.unwrap();
    assert_eq!(without.run(&add("a")).await.unwrap_err().code, ErrorCode::NotPermitted);
    assert_eq!(without.run(&Status {}).await.unwrap().clients, 0);

    let longer = format!("{} ", home.key().reveal());
    for wrong in ["", "nearly", &longer] {
        let client = ControlClient::connect(&home.data_dir()).await.unwrap();
        let mut client = client.with_operator_key(Some(Secret::new(wrong)));
        assert_eq!(client.run(&add("b")).await.unwrap_err().code, ErrorCode::NotPermitted, "{wrong}");
        // Not even for what anybody may: who shows a key means to be checked.
        let client = ControlClient::connect(&home.data_dir()).await.unwrap();
        let mut client = client.with_operator_key(Some(Secret::new(wrong)));
        assert_eq!(client.run(&Status {}).await.unwrap_err().code, ErrorCode::NotPermitted, "{wrong}");
    }

    let client = ControlClient::connect(&home.data_dir()).await.unwrap();
    let mut operator = client.with_operator_key(Some(home.key()));
    let minted = operator.run(&add("c")).await.unwrap();
    assert_eq!(minted.client.name, "c");
    core.shutdown().await;
}

#[tokio::test]
async fn token_identifies_its_own_client() {
    let home = TestHome::new();
    let core = home.start().await;
    let mut minted = Vec::new();
    for name in ["One", "Two"] {
        minted.push(run(&core, ClientsAdd { name: name.into() }).await.unwrap());
    }
    for of in minted {
        let identify = ClientsIdentify { token: RequestSecret::clone(&of.token) };
        assert_eq!(core.run(&identify, Authority::Client).await.unwrap().id, of.client.id);
    }
    let unknown = ClientsIdentify { token: RequestSecret::new(&Secret::new("x")) };
    assert_eq!(core.run(&unknown, Authority::Client).await.unwrap_err().code, ErrorCode::NotPermitted);
    core.shutdown().await;
}

#[tokio::test]
async fn socket_has_no_operator_without_key() {
    let home = TestHome::new();
    let core = gatehouse_app::Core::start(gatehouse_app::CoreOptions {
        operator_key: gatehouse_app::OperatorKey::None,
        ..home.options()
    })
    .await
    .unwrap();
    for key in [None, Some(""), Some("any key")] {
        let client = ControlClient::connect(&home.data_dir()).await.unwrap();
        let mut client = client.with_operator_key(key.map(Secret::new));
        assert_eq!(client.run(&Resume {}).await.unwrap_err().code, ErrorCode::NotPermitted);
    }
    core.shutdown().await;
}

#[tokio::test]
async fn rejects_malformed_requests_and_keeps_connection() {
    let home = TestHome::new();
    let core = home.start().await;
    let mut client = ControlClient::connect(&home.data_dir()).await.unwrap();
    let wrong = client.run_raw("no.such", &args("{}")).await.unwrap_err();
    assert_eq!(wrong.code, ErrorCode::BadRequest);
    let wrong = client.run_raw("servers.stop", &args(r#"{"server":"x","also":1}"#)).await.unwrap_err();
    assert_eq!(wrong.code, ErrorCode::BadRequest);
    let wrong = client.run_raw("events", &args(r#"{"before":1}"#)).await.unwrap_err();
    assert_eq!(wrong.code, ErrorCode::BadRequest);
    client.run(&Status {}).await.unwrap();
    core.shutdown().await;
}

#[tokio::test]
async fn streams_events_until_shutdown() {
    let home = TestHome::new();
    let core = home.start().await;
    let listener = ControlClient::connect(&home.data_dir()).await.unwrap();
    let mut events = listener.events(None).await.unwrap();
    // The stream begins once the request was read; until then the event would be missed.
    let paused = async {
        loop {
            if let StreamEvent::Event(envelope) = events.next().await.unwrap()
                && matches!(envelope.event, Event::PauseChanged { paused: true })
            {
                return;
            }
        }
    };
    let pausing = async {
        loop {
            crate::common::run(&core, Pause {}).await.unwrap();
            crate::common::run(&core, Resume {}).await.unwrap();
        }
    };
    let both = Box::pin(async {
        tokio::select! { () = paused => {}, () = pausing => {} }
    });
    tokio::time::timeout(crate::common::TIMEOUT, both).await.unwrap();
    core.shutdown().await;
    let end = loop {
        match events.next().await {
            Ok(_) => {}
            Err(problem) => break problem,
        }
    };
    assert_eq!(end.code, ErrorCode::NotRunning);
    let gone = ControlClient::connect(&home.data_dir()).await.err().unwrap();
    assert_eq!(gone.code, ErrorCode::NotRunning);
}

/// Whether a call runs although whatever is asked is denied.
async fn runs_unasked(core: &Core, token: &str) -> bool {
    // To each owner the server is one of its own, with a name of its own for the tool.
    let tools = run(core, ToolsList { server: Some("Notes".into()) }).await.unwrap();
    let tool = tools.into_iter().find(|tool| tool.exposed_name.ends_with("add_note")).unwrap().exposed_name;
    let token = RequestSecret::new(&Secret::new(token));
    let call = Call { token, tool, arguments: r#"{"text":"a note"}"#.into() };
    let asked = wait_until(core, "a question", async || {
        let first = run(core, ApprovalsList { known: Vec::new() }).await.unwrap().into_iter().next()?;
        let ApprovalRequest::Call(ask) = &first.request else { return None };
        let answer = ApprovalAnswer::Deny { choice: GrantChoice::once(), reason: None };
        let answers = vec![SubmittedAnswer { id: first.id.clone(), hash: Some(ask.hash.clone()), answer }];
        run(core, ApprovalsAnswer { answers }).await.unwrap();
        Some(())
    });
    let called = run(core, call);
    tokio::pin!(called);
    let reply = tokio::select! {
        reply = &mut called => reply,
        () = asked => called.await,
    };
    let reply = reply.unwrap();
    assert!(!reply.is_rpc_error, "{reply:?}");
    !reply.is_tool_error
}

#[tokio::test]
async fn grants_are_bound_to_owner() {
    let home = TestHome::new();
    std::fs::create_dir_all(home.data_dir()).unwrap();
    let vault = open_vault(&home.data_dir(), &Secret::new("correct horse")).unwrap();
    let start = async |owner| {
        let secrets = std::sync::Arc::clone(&vault);
        Core::start(CoreOptions { owner, secrets, ..home.options() }).await.unwrap()
    };
    let mut tokens = Vec::new();
    // Whoever comes first, and then the other, which has nothing of it.
    for owner in [Owner::Serve, Owner::Window] {
        let core = start(owner).await;
        if !tokens.is_empty() {
            // Not even the servers: to this owner the file is a hand edit that nobody has confirmed.
            for name in ["Time", "Notes"] {
                let edit = wait_until(&core, "the question about a server", async || {
                    let mut pending = run(&core, ApprovalsList { known: Vec::new() }).await.unwrap();
                    pending.retain(
                        |one| matches!(&one.request, ApprovalRequest::ConfigChange(ask) if ask.server == name),
                    );
                    pending.pop()
                })
                .await;
                let answer = ApprovalAnswer::Accept { content: None };
                let answers = vec![SubmittedAnswer { id: edit.id, hash: None, answer }];
                run(&core, ApprovalsAnswer { answers }).await.unwrap();
            }
        }
        wait_until_state(&core, "Notes", "connected").await;
        let shown = run(&core, PolicyShow {}).await.unwrap();
        assert!(shown.verified && shown.rules.is_empty(), "{owner:?}: {shown:?}");
        assert!(run(&core, ClientsList {}).await.unwrap().is_empty(), "{owner:?}");
        for other in &tokens {
            let call =
                Call { token: RequestSecret::clone(other), tool: "add_note".into(), arguments: "{}".into() };
            assert!(run(&core, call).await.is_err(), "the token of the other was taken under {owner:?}");
        }
        let minted = run(&core, ClientsAdd { name: "Agent".into() }).await.unwrap();
        assert!(!runs_unasked(&core, minted.token.reveal()).await, "{owner:?}");
        run(&core, PolicyAutoApprove { server: Some("Notes".into()), client: None, to: AutoApprove::All })
            .await
            .unwrap();
        assert!(runs_unasked(&core, minted.token.reveal()).await, "{owner:?}");
        tokens.push(minted.token);
        core.shutdown().await;
    }
    // A revocation under the one leaves the other as it was.
    let core = start(Owner::Window).await;
    wait_until_state(&core, "Notes", "connected").await;
    run(&core, PolicyAutoApprove { server: Some("Notes".into()), client: None, to: AutoApprove::Ask })
        .await
        .unwrap();
    core.shutdown().await;
    let core = start(Owner::Serve).await;
    wait_until_state(&core, "Notes", "connected").await;
    assert!(runs_unasked(&core, tokens[0].reveal()).await);
    core.shutdown().await;
}
