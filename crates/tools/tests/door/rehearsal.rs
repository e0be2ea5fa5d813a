//! Rehearsals (PERM-15) and what is revealed of a question (PERM-9).

use gatehouse_model::ask::{AutoApprove, ChoiceLifetime, ChoiceWidth, Subject};
use gatehouse_model::command::Authority;
use gatehouse_model::grant::{Condition, ConditionTest};
use gatehouse_model::record::CallOutcome;
use gatehouse_model::rehearsal::{Rehearsal, Tally};
use gatehouse_model::server::Builtin;
use gatehouse_model::{
    AskId, CallHash, CallRecord, Decision, Effect, ErrorCode, GrantChoice, Problem, Rule, Timestamp, Verdict,
};
use gatehouse_tools::{DraftOrder, PresetOrder, RuleOrder, ToolCall};

use crate::house::*;
use crate::paths::{house_on_a_disk, inside};

const NOW: i64 = 1_800_000_000_000;
const EVER: Timestamp = Timestamp(0);

fn tally(allowed: u32, asked: u32, denied: u32) -> Tally {
    Tally { allowed, asked, denied }
}

fn preset(server: Option<&str>, client: Option<&str>, to: AutoApprove) -> PresetOrder {
    PresetOrder { server: server.map(Into::into), client: client.map(Into::into), to }
}

fn rule(server: Option<&str>, tool: Option<&str>, client: Option<&str>) -> RuleOrder {
    let width = match (server, tool) {
        (_, Some(_)) => ChoiceWidth::Tool,
        (Some(_), None) => ChoiceWidth::Server,
        (None, None) => ChoiceWidth::Client,
    };
    RuleOrder {
        server: server.map(Into::into),
        tool: tool.map(ToOwned::to_owned),
        client: client.map(Into::into),
        choice: GrantChoice { every_client: client.is_none(), ..choice(ChoiceLifetime::Always, width) },
    }
}

fn on_text(order: RuleOrder, value: &str) -> RuleOrder {
    let test = ConditionTest::Equals { value: value.to_owned() };
    let conditions = vec![Condition { pointer: "/text".to_owned(), test }];
    RuleOrder { choice: GrantChoice { conditions, ..order.choice.clone() }, ..order }
}

fn drafted(rules: Vec<(Effect, RuleOrder)>) -> DraftOrder {
    DraftOrder { rules, ..DraftOrder::default() }
}

fn record(index: i64, client: &str, tool: (&str, &str), arguments: Option<&str>) -> CallRecord {
    let (server, name) = tool;
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
        verdict: Verdict { decision: Decision::Ask, rule: Rule::DefaultAsk },
        outcome: CallOutcome::Ok,
        waited_ms: 0,
        duration_ms: 1,
        bytes_in: 2,
        bytes_out: 3,
        arguments: arguments.map(ToOwned::to_owned),
        result: None,
    }
}

async fn house_with(records: impl IntoIterator<Item = CallRecord>) -> House {
    let house = House::new().await;
    house.notes().await;
    house.serve(builtin("time", Builtin::Time)).await;
    for record in records {
        house.store.activity().record(record);
    }
    house
}

async fn rehearse(house: &House, draft: DraftOrder) -> Rehearsal {
    house.tools.rehearse(EVER, draft).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn real_calls_are_rehearsed_and_nothing_changes() {
    let house = house_with([]).await;
    for text in ["milk", "eggs"] {
        assert!(!house.passes("add_note", &format!(r#"{{"text":"{text}"}}"#)).await);
    }
    assert!(!house.passes("list_notes", "{}").await);
    assert!(!house.passes("current_time", r#"{"timezone":"UTC"}"#).await);
    let own = value(house.tools.call_for_user(call("list_notes", "{}")).await);
    assert!(!is_error(&own), "{own}");
    house.store.activity().flush();
    let records = house.store.activity().list(&Default::default()).unwrap();
    assert_eq!(records.len(), 5);
    let (view, audit) = (house.tools.rights().view(), house.audit(|_| true));

    let draft = DraftOrder {
        presets: vec![preset(Some("notes"), None, AutoApprove::All)],
        rules: vec![(Effect::Deny, rule(Some("notes"), Some("list_notes"), None))],
        ..DraftOrder::default()
    };
    let found = rehearse(&house, draft).await;
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

    assert_eq!(house.tools.rights().view(), view);
    assert_eq!(house.audit(|_| true), audit);
    assert_eq!(house.store.activity().list(&Default::default()).unwrap(), records);
    assert!(!house.passes("add_note", r#"{"text":"bread"}"#).await);
}

#[tokio::test(start_paused = true)]
async fn arguments_that_are_not_kept_whole_never_make_an_allow() {
    let long = format!(r#"{{"text":"{}…"#, "x".repeat(100));
    let masked = r#"{"password":"••••••","text":"milk"}"#;
    let kept = [Some(r#"{"text":"milk"}"#), Some(r#"{"text":"eggs"}"#), Some(masked), Some(&*long), None];
    let records = kept.into_iter().zip(1..);
    let house = house_with(records.map(|(kept, i)| record(i, "Claude", ("notes", "add_note"), kept))).await;
    let allow = on_text(rule(Some("notes"), Some("add_note"), None), r#""milk""#);
    let found = rehearse(&house, drafted(vec![(Effect::Allow, allow)])).await;
    assert_eq!((found.calls, found.incomplete), (5, 3));
    assert_eq!(found.draft, tally(1, 4, 0));
    assert_eq!(found.changes[0].rule, Rule::ConditionedGrant { grant: "draft-1".into() });
    assert_eq!(found.changes[0].last.as_str(), "call-1");
    let deny = on_text(rule(Some("notes"), Some("add_note"), None), r#""milk""#);
    let all = rule(Some("notes"), None, None);
    let found = rehearse(&house, drafted(vec![(Effect::Deny, deny), (Effect::Allow, all)])).await;
    assert_eq!(found.draft, tally(1, 0, 4), "eggs alone are certain not to be meant");
}

#[tokio::test(start_paused = true)]
async fn calls_are_judged_as_things_are_now() {
    let resource = Subject::Resource { uri: "notes://1".into() };
    let house = house_with([
        record(1, "Claude", ("notes", "add_note"), Some("{}")),
        record(2, "Cursor", ("notes", "add_note"), Some("{}")),
        record(3, "Claude", ("notes", "no_such_tool"), Some("{}")),
        record(4, "Claude", ("no-such-server", "add_note"), Some("{}")),
        CallRecord { subject: resource, ..record(5, "Claude", ("notes", ""), Some("{}")) },
    ])
    .await;
    let rights = house.tools.rights();
    // Given to a program, and for a session: the first is tried without it, the other is not.
    let call_1 = house.begin("delete_note", r#"{"id":"1"}"#);
    let question = house.question().await;
    house.answer(&question, allow(ChoiceLifetime::Always, ChoiceWidth::Tool)).await.unwrap();
    call_1.ended().await;
    assert!(rights.view().rules[0].rule.program.is_some());
    let call_2 = house.begin_as(in_session("Claude", "ses-1"), call("list_notes", "{}"));
    let question = house.question().await;
    house.answer(&question, allow(ChoiceLifetime::Session, ChoiceWidth::Tool)).await.unwrap();
    call_2.ended().await;
    let found = rehearse(&house, DraftOrder::default()).await;
    assert_eq!((found.calls, found.gone), (5, 2));
    assert_eq!((found.now, found.draft), (tally(1, 4, 0), tally(1, 4, 0)));
    assert!(found.changes.is_empty());

    let reads = preset(Some("notes"), Some("Claude"), AutoApprove::Reads);
    let found = rehearse(&house, DraftOrder { presets: vec![reads], ..DraftOrder::default() }).await;
    assert_eq!(found.draft, tally(1, 4, 0), "a resource in no list is part of no wide allow");
    let since = house.tools.rehearse(Timestamp(NOW + 2), DraftOrder::default()).await.unwrap();
    assert_eq!((since.calls, since.gone), (4, 2));

    // Not before the pause ends, and not after either: it is the rules that are rehearsed.
    house.tools.pause().await.unwrap();
    assert_eq!(rehearse(&house, DraftOrder::default()).await.now, tally(1, 4, 0));
    let file = house.dir.path().join("policy.json");
    std::fs::write(&file, r#"{"servers":{"deny":[{"name":"notes"}]}}"#).unwrap();
    assert_eq!(rehearse(&house, DraftOrder::default()).await.now, tally(0, 0, 5));
}

/// A call is found again by its hash where it is known.
#[tokio::test(start_paused = true)]
async fn a_rule_for_one_call_is_found_where_the_bytes_are_known() {
    let house = house_with([]).await;
    let call_1 = house.begin("add_note", r#"{"text":"milk"}"#);
    let question = house.question().await;
    house.answer(&question, allow(ChoiceLifetime::UntilQuit, ChoiceWidth::Call)).await.unwrap();
    call_1.ended().await;
    assert!(!house.passes("add_note", r#"{"text":"eggs"}"#).await);
    assert_eq!(rehearse(&house, DraftOrder::default()).await.now, tally(1, 1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_draft_that_could_not_be_set_is_refused() {
    let house = house_with([record(1, "Claude", ("notes", "add_note"), Some("{}"))]).await;
    let once = RuleOrder { choice: GrantChoice::once(), ..rule(Some("notes"), None, None) };
    let everywhere = RuleOrder { server: None, ..rule(Some("notes"), None, None) };
    let (allow, deny) = (Effect::Allow, Effect::Deny);
    for (draft, code) in [
        (DraftOrder { without: vec!["grt-none".into()], ..DraftOrder::default() }, ErrorCode::NotFound),
        (
            DraftOrder {
                presets: vec![preset(Some("none"), None, AutoApprove::All)],
                ..DraftOrder::default()
            },
            ErrorCode::NotFound,
        ),
        (drafted(vec![(deny, rule(Some("none"), None, None))]), ErrorCode::NotFound),
        (drafted(vec![(allow, rule(Some("notes"), Some("none"), None))]), ErrorCode::NotFound),
        (drafted(vec![(deny, rule(Some("notes"), Some("none"), None))]), ErrorCode::NotFound),
        (drafted(vec![(deny, rule(None, Some("none"), None))]), ErrorCode::NotFound),
        (drafted(vec![(allow, rule(None, None, None))]), ErrorCode::BadRequest),
        (drafted(vec![(allow, everywhere)]), ErrorCode::BadRequest),
        (drafted(vec![(allow, once)]), ErrorCode::BadRequest),
    ] {
        let refused: Problem = house.tools.rehearse(EVER, draft.clone()).await.unwrap_err();
        assert_eq!(refused.code, code, "{draft:?}: {refused}");
    }
    assert!(house.tools.rights().view().rules.is_empty());
}

/// Time is real here: paused time stands still while a thread looks something up.
#[tokio::test]
async fn paths_that_hang_are_unknown_and_do_not_hold_it_up() {
    let (ground, house) = house_on_a_disk().await;
    for (path, index) in ["fine/a", "hung/a", "hung/b"].into_iter().zip(1..) {
        let arguments = ground.note(path);
        house.store.activity().record(record(index, "Claude", ("notes", "add_note"), Some(&arguments)));
    }
    let draft = || drafted(vec![(Effect::Allow, inside("add_note", ground.root()))]);
    assert_eq!(rehearse(&house, draft()).await.draft, tally(3, 0, 0));
    ground.set_hangs(true);
    let found = rehearse(&house, draft()).await;
    assert_eq!((found.now, found.draft), (tally(0, 3, 0), tally(1, 2, 0)));
    let block = (Effect::Deny, inside("add_note", format!("{}/fine", ground.root())));
    let found = rehearse(&house, drafted(vec![block])).await;
    assert_eq!(found.draft, tally(0, 0, 3));
}

/// What a draft says is what comes of it once it is set by the usual orders.
#[tokio::test(start_paused = true)]
async fn a_draft_is_what_comes_of_the_orders() {
    let calls = [("notes", "add_note"), ("notes", "list_notes"), ("time", "current_time")];
    let clients = ["Claude", "Cursor"];
    let all = calls.iter().flat_map(|tool| clients.map(|client| (client, *tool)));
    let house = house_with(all.zip(1..).map(|((client, tool), i)| record(i, client, tool, Some("{}")))).await;
    let rights = house.tools.rights();
    rights.trust_labels(&"notes".into(), true).await.unwrap();
    rights.trust_labels(&"time".into(), true).await.unwrap();
    let steps = [
        DraftOrder {
            presets: vec![
                preset(Some("notes"), None, AutoApprove::Writes),
                preset(None, Some("Cursor"), AutoApprove::Reads),
            ],
            ..DraftOrder::default()
        },
        DraftOrder {
            presets: vec![preset(None, None, AutoApprove::Reads)],
            rules: vec![
                (Effect::Allow, rule(Some("time"), None, Some("Claude"))),
                (Effect::Deny, rule(None, Some("list_notes"), Some("Cursor"))),
            ],
            ..DraftOrder::default()
        },
        // The same once more, and the width of a preset as a rule: each takes a place.
        DraftOrder {
            presets: vec![
                preset(Some("notes"), None, AutoApprove::All),
                preset(None, None, AutoApprove::Ask),
            ],
            rules: vec![
                (Effect::Allow, rule(Some("time"), None, Some("Claude"))),
                (Effect::Allow, rule(Some("notes"), None, None)),
            ],
            ..DraftOrder::default()
        },
        DraftOrder { presets: vec![preset(None, Some("Cursor"), AutoApprove::Ask)], ..DraftOrder::default() },
    ];
    let mut before = tally(0, 6, 0);
    let mut seen = std::collections::HashSet::new();
    for step in steps {
        let found = rehearse(&house, step.clone()).await;
        assert_eq!(found.now, before, "{step:?}");
        for order in step.presets.clone() {
            rights.set_preset(order).await.unwrap();
        }
        for (effect, order) in step.rules.clone() {
            match effect {
                Effect::Allow => rights.grant(order).await.unwrap(),
                Effect::Deny => rights.deny(order, None, Authority::Operator).await.unwrap(),
            };
        }
        before = rehearse(&house, DraftOrder::default()).await.now;
        assert_eq!(found.draft, before, "{step:?}");
        seen.insert((before.allowed, before.asked, before.denied));
    }
    assert!(seen.len() > 2, "the steps do something: {seen:?}");
    let without = rights.view().rules.into_iter().map(|view| view.rule.id).collect();
    let found = rehearse(&house, DraftOrder { without, ..DraftOrder::default() }).await;
    assert_eq!((found.now, found.draft), (before, tally(0, 6, 0)));
    assert_eq!(found.changes.iter().map(|change| change.calls).sum::<u32>(), before.allowed + before.denied);
}

#[tokio::test(start_paused = true)]
async fn only_the_newest_calls_are_looked_at() {
    let house = house_with([]).await;
    let records = |range: std::ops::RangeInclusive<i64>| {
        for index in range {
            house.store.activity().record(record(index, "Claude", ("notes", "add_note"), Some("{}")));
            if index % 10_000 == 0 {
                house.store.activity().flush();
            }
        }
    };
    records(1..=50_000);
    let found = rehearse(&house, DraftOrder::default()).await;
    assert_eq!((found.calls, found.cut), (50_000, false));
    records(50_001..=50_002);
    let draft = DraftOrder { presets: vec![preset(None, None, AutoApprove::All)], ..DraftOrder::default() };
    let found = rehearse(&house, draft).await;
    assert_eq!((found.calls, found.cut), (50_000, true));
    assert_eq!(found.changes[0].last.as_str(), "call-50002");
    assert_eq!(house.store.activity().lost(), 0);
}

#[tokio::test(start_paused = true)]
async fn one_argument_is_revealed_and_goes_nowhere_else() {
    const SECRET: &str = "hunter2hunter2";
    let house = House::new().await;
    house.notes().await;
    let arguments = format!("{{\"text\":\"milk\",\"password\":\"{SECRET}\u{202E}\"}}");
    let with_more = ToolCall {
        rest: vec![("task".into(), raw(&format!(r#"{{"token":"{SECRET}"}}"#)))],
        ..call("add_note", &arguments)
    };
    let running = house.begin_as(caller("Claude"), with_more);
    let question = house.question().await;
    let about = about(&question);
    assert!(about.arguments.iter().flatten().all(|argument| !argument.text.contains(SECRET)));
    let masked: Vec<bool> = about.arguments.iter().flatten().map(|argument| argument.masked).collect();
    assert_eq!(masked, [false, true, true]);
    let queue = house.tools.approvals();
    let reveal = |place| queue.reveal(&question.id, &about.hash, place).map(|argument| argument.text);
    assert_eq!(reveal(0).unwrap(), r#""milk""#);
    assert_eq!(reveal(1).unwrap(), format!("\"{SECRET}⟦U+202E⟧\""));
    assert_eq!(reveal(2).unwrap(), format!(r#"{{"token":"{SECRET}"}}"#));
    assert_eq!(reveal(3).unwrap_err().code, ErrorCode::BadRequest);
    let stale = |id: &AskId, hash: &CallHash| queue.reveal(id, hash, 1).unwrap_err().code;
    assert_eq!(stale(&question.id, &"other".into()), ErrorCode::StaleAnswer);
    assert_eq!(stale(&"ask-none".into(), &about.hash), ErrorCode::StaleAnswer);

    house.answer(&question, no(None)).await.unwrap();
    running.ended().await;
    assert_eq!(stale(&question.id, &about.hash), ErrorCode::StaleAnswer);
    assert_eq!(house.events.count(|event| format!("{event:?}").contains(SECRET)), 0);
    assert_eq!(house.audit(|event| format!("{event:?}").contains(SECRET)), 0);
    house.store.activity().flush();
    let kept = house.store.activity().list(&Default::default()).unwrap();
    assert!(!kept.is_empty() && !format!("{kept:?}").contains(SECRET));
}
