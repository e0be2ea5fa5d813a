//! Simulation (PERM-15), and revealing arguments of a pending call (PERM-9).

use gatehouse_model::approval::{AutoApprove, ChoiceLifetime, ChoiceScope, Subject};
use gatehouse_model::command::Authority;
use gatehouse_model::grant::{Condition, ConditionTest};
use gatehouse_model::record::CallOutcome;
use gatehouse_model::server::Builtin;
use gatehouse_model::simulation::{DecisionCounts, SimulationReport};
use gatehouse_model::{
    ApprovalId, CallHash, CallRecord, Decision, ErrorCode, GrantChoice, Rule, RuleEffect, Timestamp,
    UserError, Verdict,
};
use gatehouse_tools::{AutoApproveSpec, LabelTrust, RuleSpec, SimulationDraft, ToolCall};

use crate::harness::*;
use crate::paths::{harness_on_slow_disk, inside};

const NOW: i64 = 1_800_000_000_000;
const EVER: Timestamp = Timestamp(0);

fn tally(allowed: u32, asked: u32, denied: u32) -> DecisionCounts {
    DecisionCounts { allowed, asked, denied }
}

fn setting(server: Option<&str>, client: Option<&str>, to: AutoApprove) -> AutoApproveSpec {
    AutoApproveSpec { server: server.map(Into::into), client: client.map(Into::into), to }
}

fn rule(server: Option<&str>, tool: Option<&str>, client: Option<&str>) -> RuleSpec {
    let width = match (server, tool) {
        (_, Some(_)) => ChoiceScope::Tool,
        (Some(_), None) => ChoiceScope::Server,
        (None, None) => ChoiceScope::Client,
    };
    RuleSpec {
        server: server.map(Into::into),
        tool: tool.map(ToOwned::to_owned),
        client: client.map(Into::into),
        choice: GrantChoice { every_client: client.is_none(), ..choice(ChoiceLifetime::Always, width) },
    }
}

fn on_text(order: RuleSpec, value: &str) -> RuleSpec {
    let test = ConditionTest::Equals { value: value.to_owned() };
    let conditions = vec![Condition { pointer: "/text".to_owned(), test }];
    RuleSpec { choice: GrantChoice { conditions, ..order.choice.clone() }, ..order }
}

fn draft_of(rules: Vec<(RuleEffect, RuleSpec)>) -> SimulationDraft {
    SimulationDraft { rules, ..SimulationDraft::default() }
}

fn record(index: i64, client: &str, server: &str, name: &str, arguments: Option<&str>) -> CallRecord {
    CallRecord {
        id: format!("call-{index}").as_str().into(),
        at: Timestamp(NOW + index),
        client: client.into(),
        client_name: client.to_owned(),
        server: server.into(),
        server_name: server.to_owned(),
        subject: Subject::Tool { name: name.to_owned() },
        program: None,
        exposed_name: name.to_owned(),
        by_user: false,
        verdict: Verdict { decision: Decision::Ask, rule: Rule::DefaultAsk },
        judged: None,
        outcome: CallOutcome::Ok,
        waited_ms: 0,
        duration_ms: 1,
        bytes_in: 2,
        bytes_out: 3,
        arguments: arguments.map(ToOwned::to_owned),
        result: None,
    }
}

async fn harness_with_records(records: impl IntoIterator<Item = CallRecord>) -> ToolsHarness {
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    harness.start_server(builtin("time", Builtin::Time)).await;
    for record in records {
        harness.store.activity().record(record);
    }
    harness
}

async fn simulate(harness: &ToolsHarness, draft: SimulationDraft) -> SimulationReport {
    harness.tools.simulate(EVER, draft).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn simulates_recorded_calls_without_side_effects() {
    let harness = harness_with_records([]).await;
    for text in ["milk", "eggs"] {
        assert!(!harness.is_allowed("add_note", &format!(r#"{{"text":"{text}"}}"#)).await);
    }
    assert!(!harness.is_allowed("list_notes", "{}").await);
    assert!(!harness.is_allowed("current_time", r#"{"timezone":"UTC"}"#).await);
    let own = value(harness.tools.call_for_user(&Default::default(), call("list_notes", "{}")).await);
    assert!(!is_error(&own), "{own}");
    harness.store.activity().flush();
    let records = harness.store.activity().list(&Default::default()).unwrap();
    assert_eq!(records.len(), 5);
    let (view, audit) = (harness.tools.permissions().view(), harness.audit(|_| true));

    let draft = SimulationDraft {
        auto_approve_settings: vec![setting(Some("notes"), None, AutoApprove::All)],
        rules: vec![(RuleEffect::Deny, rule(Some("notes"), Some("list_notes"), None))],
        ..SimulationDraft::default()
    };
    let found = simulate(&harness, draft).await;
    assert_eq!((found.calls, found.gone, found.incomplete, found.cut), (4, 0, 0, false));
    assert_eq!((found.now, found.draft), (tally(0, 4, 0), tally(2, 1, 1)));
    let [first, second] = &found.changes[..] else { panic!("{found:?}") };
    let newest = records.iter().find(|record| record.exposed_name == "add_note").unwrap();
    assert_eq!((first.calls, &first.last, first.at), (2, &newest.id, newest.at));
    assert_eq!((first.now, first.draft), (Decision::Ask, Decision::Allow));
    assert_eq!(first.rule, Rule::AlwaysGrant { grant: "draft-1".into() });
    assert_eq!(first.subject, Subject::Tool { name: "add_note".into() });
    assert_eq!((first.client.as_str(), first.server.as_str()), ("Claude", "notes"));
    assert_eq!((second.calls, second.draft), (1, Decision::Deny));
    assert_eq!(second.rule, Rule::ExplicitDeny { grant: "draft-2".into(), reason: None });

    assert_eq!(harness.tools.permissions().view(), view);
    assert_eq!(harness.audit(|_| true), audit);
    assert_eq!(harness.store.activity().list(&Default::default()).unwrap(), records);
    assert!(!harness.is_allowed("add_note", r#"{"text":"bread"}"#).await);
}

#[tokio::test(start_paused = true)]
async fn incomplete_arguments_never_allow() {
    let long = format!(r#"{{"text":"{}…"#, "x".repeat(100));
    let masked = r#"{"password":"••••••","text":"milk"}"#;
    let kept = [Some(r#"{"text":"milk"}"#), Some(r#"{"text":"eggs"}"#), Some(masked), Some(&*long), None];
    let records = kept.into_iter().zip(1..);
    let harness =
        harness_with_records(records.map(|(kept, i)| record(i, "Claude", "notes", "add_note", kept))).await;
    let allow = on_text(rule(Some("notes"), Some("add_note"), None), r#""milk""#);
    let found = simulate(&harness, draft_of(vec![(RuleEffect::Allow, allow)])).await;
    assert_eq!((found.calls, found.incomplete), (5, 3));
    assert_eq!(found.draft, tally(1, 4, 0));
    assert_eq!(found.changes[0].rule, Rule::ConditionedGrant { grant: "draft-1".into() });
    assert_eq!(found.changes[0].last.as_str(), "call-1");
    let deny = on_text(rule(Some("notes"), Some("add_note"), None), r#""milk""#);
    let all = rule(Some("notes"), None, None);
    let found = simulate(&harness, draft_of(vec![(RuleEffect::Deny, deny), (RuleEffect::Allow, all)])).await;
    assert_eq!(found.draft, tally(1, 0, 4), "eggs alone are certain not to be meant");
}

#[tokio::test(start_paused = true)]
async fn judges_calls_by_current_state() {
    let resource = Subject::Resource { uri: "notes://1".into() };
    let harness = harness_with_records([
        record(1, "Claude", "notes", "add_note", Some("{}")),
        record(2, "Cursor", "notes", "add_note", Some("{}")),
        record(3, "Claude", "notes", "no_such_tool", Some("{}")),
        record(4, "Claude", "no-such-server", "add_note", Some("{}")),
        CallRecord { subject: resource, ..record(5, "Claude", "notes", "", Some("{}")) },
    ])
    .await;
    let permissions = harness.tools.permissions();
    // Given to a program, and for a session: the first is tried without it, the other is not.
    let call_1 = harness.spawn_call("delete_note", r#"{"id":"1"}"#);
    let approval = harness.approval().await;
    harness.answer(&approval, allow(ChoiceLifetime::Always, ChoiceScope::Tool)).await.unwrap();
    call_1.result().await;
    assert!(permissions.view().rules[0].rule.program.is_some());
    let call_2 = harness.spawn_call_as(session_caller("Claude", "ses-1"), call("list_notes", "{}"));
    let approval = harness.approval().await;
    harness.answer(&approval, allow(ChoiceLifetime::Session, ChoiceScope::Tool)).await.unwrap();
    call_2.result().await;
    let found = simulate(&harness, SimulationDraft::default()).await;
    assert_eq!((found.calls, found.gone), (5, 2));
    assert_eq!((found.now, found.draft), (tally(1, 4, 0), tally(1, 4, 0)));
    assert!(found.changes.is_empty());

    let reads = setting(Some("notes"), Some("Claude"), AutoApprove::Reads);
    let found = simulate(
        &harness,
        SimulationDraft { auto_approve_settings: vec![reads], ..SimulationDraft::default() },
    )
    .await;
    assert_eq!(found.draft, tally(1, 4, 0), "a resource in no list is part of no wide allow");
    let since = harness.tools.simulate(Timestamp(NOW + 2), SimulationDraft::default()).await.unwrap();
    assert_eq!((since.calls, since.gone), (4, 2));

    // Not before the pause ends, and not after either: only rules are simulated.
    harness.tools.pause().await.unwrap();
    assert_eq!(simulate(&harness, SimulationDraft::default()).await.now, tally(1, 4, 0));
    let file = harness.dir.path().join("policy.json");
    std::fs::write(&file, r#"{"servers":{"deny":[{"name":"notes"}]}}"#).unwrap();
    assert_eq!(simulate(&harness, SimulationDraft::default()).await.now, tally(0, 0, 5));
}

/// A call is found again by its hash where it is known.
#[tokio::test(start_paused = true)]
async fn finds_call_rules_by_hash() {
    let harness = harness_with_records([]).await;
    let call_1 = harness.spawn_call("add_note", r#"{"text":"milk"}"#);
    let approval = harness.approval().await;
    harness.answer(&approval, allow(ChoiceLifetime::UntilQuit, ChoiceScope::Call)).await.unwrap();
    call_1.result().await;
    assert!(!harness.is_allowed("add_note", r#"{"text":"eggs"}"#).await);
    assert_eq!(simulate(&harness, SimulationDraft::default()).await.now, tally(1, 1, 0));
}

#[tokio::test(start_paused = true)]
async fn rejects_invalid_drafts() {
    let harness = harness_with_records([record(1, "Claude", "notes", "add_note", Some("{}"))]).await;
    let once = RuleSpec { choice: GrantChoice::once(), ..rule(Some("notes"), None, None) };
    let everywhere = RuleSpec { server: None, ..rule(Some("notes"), None, None) };
    let (allow, deny) = (RuleEffect::Allow, RuleEffect::Deny);
    for (draft, code) in [
        (
            SimulationDraft { without: vec!["grt-none".into()], ..SimulationDraft::default() },
            ErrorCode::NotFound,
        ),
        (
            SimulationDraft {
                auto_approve_settings: vec![setting(Some("none"), None, AutoApprove::All)],
                ..SimulationDraft::default()
            },
            ErrorCode::NotFound,
        ),
        (draft_of(vec![(deny, rule(Some("none"), None, None))]), ErrorCode::NotFound),
        (draft_of(vec![(allow, rule(Some("notes"), Some("none"), None))]), ErrorCode::NotFound),
        (draft_of(vec![(deny, rule(Some("notes"), Some("none"), None))]), ErrorCode::NotFound),
        (draft_of(vec![(deny, rule(None, Some("none"), None))]), ErrorCode::NotFound),
        (draft_of(vec![(allow, rule(None, None, None))]), ErrorCode::BadRequest),
        (draft_of(vec![(allow, everywhere)]), ErrorCode::BadRequest),
        (draft_of(vec![(allow, once)]), ErrorCode::BadRequest),
    ] {
        let refused: UserError = harness.tools.simulate(EVER, draft.clone()).await.unwrap_err();
        assert_eq!(refused.code, code, "{draft:?}: {refused}");
    }
    assert!(harness.tools.permissions().view().rules.is_empty());
}

/// Time is real here: paused time stands still while a thread looks something up.
#[tokio::test]
async fn hanging_paths_are_unknown_and_do_not_delay_simulation() {
    let (ground, harness) = harness_on_slow_disk().await;
    for (path, index) in ["fine/a", "hung/a", "hung/b"].into_iter().zip(1..) {
        let arguments = ground.note(path);
        harness.store.activity().record(record(index, "Claude", "notes", "add_note", Some(&arguments)));
    }
    let draft = || draft_of(vec![(RuleEffect::Allow, inside("add_note", ground.root()))]);
    assert_eq!(simulate(&harness, draft()).await.draft, tally(3, 0, 0));
    ground.set_hangs(true);
    let found = simulate(&harness, draft()).await;
    assert_eq!((found.now, found.draft), (tally(0, 3, 0), tally(1, 2, 0)));
    let block = (RuleEffect::Deny, inside("add_note", format!("{}/fine", ground.root())));
    let found = simulate(&harness, draft_of(vec![block])).await;
    assert_eq!(found.draft, tally(0, 0, 3));
}

/// What a draft says is what comes of it once it is set by the usual orders.
#[tokio::test(start_paused = true)]
async fn draft_matches_applied_changes() {
    let calls = [("notes", "add_note"), ("notes", "list_notes"), ("time", "current_time")];
    let clients = ["Claude", "Cursor"];
    let all = calls.iter().flat_map(|tool| clients.map(|client| (client, *tool)));
    let harness = harness_with_records(
        all.zip(1..).map(|((client, (server, name)), i)| record(i, client, server, name, Some("{}"))),
    )
    .await;
    let permissions = harness.tools.permissions();
    permissions.trust_labels(LabelTrust::of(&"notes".into(), true, "operator")).await.unwrap();
    permissions.trust_labels(LabelTrust::of(&"time".into(), true, "operator")).await.unwrap();
    let steps = [
        SimulationDraft {
            auto_approve_settings: vec![
                setting(Some("notes"), None, AutoApprove::Writes),
                setting(None, Some("Cursor"), AutoApprove::Reads),
            ],
            ..SimulationDraft::default()
        },
        SimulationDraft {
            auto_approve_settings: vec![setting(None, None, AutoApprove::Reads)],
            rules: vec![
                (RuleEffect::Allow, rule(Some("time"), None, Some("Claude"))),
                (RuleEffect::Deny, rule(None, Some("list_notes"), Some("Cursor"))),
            ],
            ..SimulationDraft::default()
        },
        // The same once more, and the width of a preset as a rule: each takes a place.
        SimulationDraft {
            auto_approve_settings: vec![
                setting(Some("notes"), None, AutoApprove::All),
                setting(None, None, AutoApprove::Ask),
            ],
            rules: vec![
                (RuleEffect::Allow, rule(Some("time"), None, Some("Claude"))),
                (RuleEffect::Allow, rule(Some("notes"), None, None)),
            ],
            ..SimulationDraft::default()
        },
        SimulationDraft {
            auto_approve_settings: vec![setting(None, Some("Cursor"), AutoApprove::Ask)],
            ..SimulationDraft::default()
        },
    ];
    let mut before = tally(0, 6, 0);
    let mut seen = std::collections::HashSet::new();
    for step in steps {
        let found = simulate(&harness, step.clone()).await;
        assert_eq!(found.now, before, "{step:?}");
        for order in step.auto_approve_settings.clone() {
            permissions.apply_auto_approve(order).await.unwrap();
        }
        for (effect, order) in step.rules.clone() {
            match effect {
                RuleEffect::Allow => permissions.grant(order).await.unwrap(),
                RuleEffect::Deny => permissions.deny(order, None, Authority::Operator).await.unwrap(),
            };
        }
        before = simulate(&harness, SimulationDraft::default()).await.now;
        assert_eq!(found.draft, before, "{step:?}");
        seen.insert((before.allowed, before.asked, before.denied));
    }
    assert!(seen.len() > 2, "the steps do something: {seen:?}");
    let without = permissions.view().rules.into_iter().map(|view| view.rule.id).collect();
    let found = simulate(&harness, SimulationDraft { without, ..SimulationDraft::default() }).await;
    assert_eq!((found.now, found.draft), (before, tally(0, 6, 0)));
    assert_eq!(found.changes.iter().map(|change| change.calls).sum::<u32>(), before.allowed + before.denied);
}

#[tokio::test(start_paused = true)]
async fn limits_simulation_to_newest_calls() {
    let harness = harness_with_records([]).await;
    let records = |range: std::ops::RangeInclusive<i64>| {
        for index in range {
            harness.store.activity().record(record(index, "Claude", "notes", "add_note", Some("{}")));
            if index % 10_000 == 0 {
                harness.store.activity().flush();
            }
        }
    };
    records(1..=50_000);
    let found = simulate(&harness, SimulationDraft::default()).await;
    assert_eq!((found.calls, found.cut), (50_000, false));
    records(50_001..=50_002);
    let draft = SimulationDraft {
        auto_approve_settings: vec![setting(None, None, AutoApprove::All)],
        ..SimulationDraft::default()
    };
    let found = simulate(&harness, draft).await;
    assert_eq!((found.calls, found.cut), (50_000, true));
    assert_eq!(found.changes[0].last.as_str(), "call-50002");
    assert_eq!(harness.store.activity().dropped_count(), 0);
}

#[tokio::test(start_paused = true)]
async fn reveals_one_argument_without_leaking() {
    const SECRET: &str = "hunter2hunter2";
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    let arguments = format!("{{\"text\":\"milk\",\"password\":\"{SECRET}\u{202E}\"}}");
    let with_more = ToolCall {
        rest: vec![("task".into(), raw(&format!(r#"{{"token":"{SECRET}"}}"#)))],
        ..call("add_note", &arguments)
    };
    let running = harness.spawn_call_as(caller("Claude"), with_more);
    let approval = harness.approval().await;
    let call_approval = call_approval(&approval);
    assert!(call_approval.arguments.iter().flatten().all(|argument| !argument.text.contains(SECRET)));
    let masked: Vec<bool> =
        call_approval.arguments.iter().flatten().map(|argument| argument.masked).collect();
    assert_eq!(masked, [false, true, true]);
    let queue = harness.tools.approvals();
    let reveal = |place| queue.reveal(&approval.id, &call_approval.hash, place).map(|argument| argument.text);
    assert_eq!(reveal(0).unwrap(), r#""milk""#);
    assert_eq!(reveal(1).unwrap(), format!("\"{SECRET}⟦U+202E⟧\""));
    assert_eq!(reveal(2).unwrap(), format!(r#"{{"token":"{SECRET}"}}"#));
    assert_eq!(reveal(3).unwrap_err().code, ErrorCode::BadRequest);
    let stale = |id: &ApprovalId, hash: &CallHash| queue.reveal(id, hash, 1).unwrap_err().code;
    assert_eq!(stale(&approval.id, &"other".into()), ErrorCode::StaleAnswer);
    assert_eq!(stale(&"ask-none".into(), &call_approval.hash), ErrorCode::StaleAnswer);

    harness.answer(&approval, deny_once(None)).await.unwrap();
    running.result().await;
    assert_eq!(stale(&approval.id, &call_approval.hash), ErrorCode::StaleAnswer);
    assert_eq!(harness.events.count(|event| format!("{event:?}").contains(SECRET)), 0);
    assert_eq!(harness.audit(|event| format!("{event:?}").contains(SECRET)), 0);
    harness.store.activity().flush();
    let kept = harness.store.activity().list(&Default::default()).unwrap();
    assert!(!kept.is_empty() && !format!("{kept:?}").contains(SECRET));
}
