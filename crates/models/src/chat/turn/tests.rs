//! The turn as a table of what happens and what comes of it.

use gatehouse_model::server_catalog::{ResultStatus, ResultView};
use serde_json::value::RawValue;

use super::*;
use crate::chat::tool_runner::ToolLabel;

const AT: Timestamp = Timestamp(7);

fn json(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap()
}

fn turn() -> Turn {
    Turn::new("msg-1".into(), "Local · m".into(), AT)
}

fn text(block: usize, text: &str) -> TurnInput {
    TurnInput::Text { block, text: text.to_owned() }
}

fn known(name: &str) -> Option<KnownTool> {
    Some(KnownTool { exposed_name: format!("files__{name}"), facts: ToolLabel::default() })
}

fn written(block: usize, id: &str, check: Result<(), String>) -> TurnInput {
    TurnInput::CallWritten {
        block,
        call: ModelToolCall {
            id: id.to_owned(),
            name: "read".to_owned(),
            arguments: json(r#"{"password":"x"}"#),
            repaired_from: None,
            provider_item: None,
        },
        tool: known("read"),
        target: CallTarget {
            facts: ToolLabel { title: "Read".into(), server: Some("files".into()), class: None },
            definition: None,
            arguments: json("{}"),
            shown_arguments: r#"{"password":"••••••"}"#.to_owned(),
        },
        check,
    }
}

fn ended(place: usize, state: ToolCallState) -> TurnInput {
    let view = ResultView {
        id: "res-1".into(),
        end: ResultStatus::Ok,
        parts: Vec::new(),
        structured: None,
        unfit: None,
        meta: None,
        bytes: 2,
        took_ms: 5,
        waited_ms: 3,
        call: Some("call-9".into()),
        verdict: None,
        messages: Vec::new(),
    };
    TurnInput::CallEnded { place, end: ToolCallEnd { state, result: json(r#"{"content":[]}"#), view } }
}

fn stop(reason: StopReason) -> TurnInput {
    TurnInput::Answered(reason)
}

fn failed() -> TurnInput {
    TurnInput::Failed(UserError::new(ErrorCode::ModelFailed, "No answer."))
}

/// The effects as short words.
fn words(effects: &[TurnEffect]) -> String {
    let word = |effect: &TurnEffect| match effect {
        TurnEffect::Changed => "changed".to_owned(),
        TurnEffect::Delta(TextDelta { place, offset, text }) => format!("{place}@{offset}+{text}"),
        TurnEffect::Request => "request".to_owned(),
        TurnEffect::Run { place } => format!("run{place}"),
        TurnEffect::Cancel => "cancel".to_owned(),
        TurnEffect::Over => "over".to_owned(),
    };
    effects.iter().map(word).collect::<Vec<_>>().join(" ")
}

fn states(turn: &Turn) -> Vec<ToolCallState> {
    let state = |block: &ChatBlock| match block {
        ChatBlock::ToolCall(call) => Some(call.state),
        ChatBlock::Text { .. } | ChatBlock::Reasoning { .. } | ChatBlock::Image { .. } => None,
    };
    turn.message.blocks.iter().filter_map(state).collect()
}

#[test]
fn what_happens_and_what_comes_of_it() {
    use ChatMessageState::{Done, Failed, Running, Stopped};
    use ToolCallState as Call;
    let stage = |place, stage| TurnInput::CallStage { place, stage };
    type Row = (&'static str, Vec<(TurnInput, &'static str)>, ChatMessageState, Vec<ToolCallState>);
    let rows: Vec<Row> = vec![
        (
            "a text",
            vec![
                (text(0, "Hel"), "changed 0@0+Hel"),
                (text(0, ""), ""),
                (text(0, "lo ä"), "0@3+lo ä"),
                (text(1, "!"), "changed 1@0+!"),
                (stop(StopReason::Finished), "changed over"),
                (text(0, "late"), ""),
                (TurnInput::Stop, ""),
            ],
            Done,
            vec![],
        ),
        (
            "reasoning, also without words",
            vec![
                (TurnInput::Reasoning { block: 3, text: "Hm".into() }, "changed 0@0+Hm"),
                (
                    TurnInput::ReasoningItem {
                        block: 4,
                        item: ProviderItem {
                            api: gatehouse_model::provider::ProviderApi::Anthropic,
                            json: json("{}"),
                        },
                    },
                    "changed",
                ),
                (text(5, "Yes"), "changed 2@0+Yes"),
                (stop(StopReason::Finished), "changed over"),
            ],
            Done,
            vec![],
        ),
        ("an empty answer", vec![(stop(StopReason::Finished), "changed over")], Done, vec![]),
        (
            "an answer that is too long",
            vec![(text(0, "a"), "changed 0@0+a"), (stop(StopReason::Length), "changed over")],
            Failed,
            vec![],
        ),
        ("a refusal", vec![(stop(StopReason::Refused), "changed over")], Failed, vec![]),
        ("a failure", vec![(text(0, "a"), "changed 0@0+a"), (failed(), "changed over")], Failed, vec![]),
        (
            "a call",
            vec![
                (
                    TurnInput::CallBegan {
                        block: 0,
                        id: "a".into(),
                        name: "read".into(),
                        tool: known("read"),
                    },
                    "changed",
                ),
                (TurnInput::CallFragment { block: 0, text: "{}".into() }, "0@0+{}"),
                (written(0, "a", Ok(())), "changed"),
                (TurnInput::CallFragment { block: 0, text: "late".into() }, ""),
                (stop(StopReason::ToolCalls), "changed run0"),
                (text(9, "late"), ""),
                (stage(0, CallStage::Began("call-9".into())), "changed"),
                (stage(0, CallStage::Waiting("ask-1".into())), "changed"),
                (stage(0, CallStage::Running), "changed"),
                (ended(0, Call::Done), "changed request"),
                (stage(0, CallStage::Waiting("ask-2".into())), ""),
                (text(0, "So"), "changed 1@0+So"),
                (stop(StopReason::Finished), "changed over"),
            ],
            Done,
            vec![Call::Done],
        ),
        (
            "calls at the same time, one of them refused before it was sent",
            vec![
                (written(0, "a", Ok(())), "changed"),
                (written(1, "b", Err("no".into())), "changed"),
                (written(2, "c", Ok(())), "changed"),
                (stop(StopReason::Finished), "changed run0 run2"),
                (ended(2, Call::Denied), "changed"),
                (ended(2, Call::Done), ""),
                (ended(1, Call::Done), ""),
                (ended(0, Call::Failed), "changed request"),
            ],
            Running,
            vec![Call::Failed, Call::Failed, Call::Denied],
        ),
        (
            "nothing but calls that can't be used",
            vec![
                (
                    TurnInput::CallUnusable {
                        block: 0,
                        call: UnusableToolCall {
                            id: "a".into(),
                            name: "x".into(),
                            written: "{".into(),
                            reason: "no".into(),
                        },
                    },
                    "changed",
                ),
                (TurnInput::CallBegan { block: 1, id: "b".into(), name: "y".into(), tool: None }, "changed"),
                (stop(StopReason::ToolCalls), "changed request"),
            ],
            Running,
            vec![Call::Failed, Call::Failed],
        ),
        (
            "a stop while the model writes",
            vec![
                (text(0, "a"), "changed 0@0+a"),
                (written(1, "a", Ok(())), "changed"),
                (TurnInput::CallBegan { block: 2, id: "b".into(), name: "y".into(), tool: None }, "changed"),
                (TurnInput::Stop, "changed over"),
            ],
            Stopped,
            vec![Call::Cancelled, Call::Cancelled],
        ),
        (
            "a stop while calls run",
            vec![
                (written(0, "a", Ok(())), "changed"),
                (written(1, "b", Ok(())), "changed"),
                (stop(StopReason::ToolCalls), "changed run0 run1"),
                (TurnInput::Stop, "cancel"),
                (TurnInput::Stop, ""),
                (ended(1, Call::Done), "changed"),
                (ended(0, Call::Cancelled), "changed over"),
            ],
            Stopped,
            vec![Call::Cancelled, Call::Done],
        ),
        (
            "a failure after calls were written",
            vec![(written(0, "a", Ok(())), "changed"), (failed(), "changed over")],
            Failed,
            vec![Call::Cancelled],
        ),
    ];
    for (what, steps, state, calls) in rows {
        let mut turn = turn();
        for (input, effects) in steps {
            let shown = format!("{input:?}");
            assert_eq!(words(&turn.apply(input, AT)), effects, "{what}: {shown}");
        }
        assert_eq!((turn.message.state, states(&turn)), (state, calls), "{what}");
        assert_eq!(turn.kept.len(), turn.message.blocks.len(), "{what}");
        assert_eq!(turn.message.error.is_some(), state == Failed, "{what}");
        assert_eq!(turn.is_over(), state != Running, "{what}");
    }
}

#[test]
fn a_call_keeps_what_it_came_to() {
    let mut turn = turn();
    turn.apply(written(0, "a", Ok(())), AT);
    turn.apply(stop(StopReason::ToolCalls), AT);
    turn.apply(TurnInput::CallStage { place: 0, stage: CallStage::Waiting("ask-1".into()) }, AT);
    turn.apply(ended(0, ToolCallState::Denied), AT);
    let (shown, kept) = turn.call(0).unwrap();
    assert_eq!((shown.title.as_str(), shown.server.as_deref()), ("Read", Some("files")));
    assert_eq!((shown.took_ms, shown.waited_ms), (Some(5), Some(3)));
    assert_eq!(
        (shown.approval.as_ref().map(|id| id.as_str()), shown.call.as_ref().map(|id| id.as_str())),
        (Some("ask-1"), Some("call-9"))
    );
    assert_eq!(kept.arguments.as_ref().unwrap().get(), r#"{"password":"x"}"#, "the model sees what it wrote");
    let saved = serde_json::to_string(&turn.kept[0]).unwrap();
    assert!(!saved.contains("password") && saved.contains("files__read"), "{saved}");
    assert_eq!(turn.take_unsaved().into_iter().collect::<Vec<_>>(), [0]);
    assert!(turn.take_unsaved().is_empty());
}

#[test]
fn ids_of_calls_are_unique_in_a_message() {
    let mut turn = turn();
    turn.apply(written(0, "a", Err("no".into())), AT);
    turn.apply(written(1, "a", Err("no".into())), AT);
    let ids: Vec<&str> = (0..2).map(|place| turn.call(place).unwrap().0.id.as_str()).collect();
    assert_ne!(ids[0], ids[1]);
    assert_eq!(turn.call(1).unwrap().1.id, "a", "the provider gets its own id back");
}

#[test]
fn ends_at_the_limit_of_rounds_and_can_go_on() {
    let mut turn = turn();
    let mut requests = 1;
    let round = |turn: &mut Turn| {
        let place = turn.message.blocks.len();
        turn.apply(written(0, &format!("c{place}"), Ok(())), AT);
        turn.apply(stop(StopReason::ToolCalls), AT);
        turn.apply(ended(place, ToolCallState::Done), AT).contains(&TurnEffect::Request)
    };
    while round(&mut turn) {
        requests += 1;
    }
    assert_eq!((requests, turn.message.state), (MAX_ROUNDS, ChatMessageState::RoundLimit));
    let mut turn = Turn::resume(turn.message, turn.kept, "Other · m".into());
    assert_eq!(turn.message.state, ChatMessageState::Running);
    let mut more = 1;
    while round(&mut turn) {
        more += 1;
    }
    assert_eq!((more, turn.message.state), (MAX_ROUNDS, ChatMessageState::RoundLimit));
    assert_eq!(turn.kept.last().unwrap().round, 2 * MAX_ROUNDS);
}

#[test]
fn sums_the_tokens_of_all_rounds() {
    let mut turn = turn();
    let usage = |input, output| TurnInput::Usage(TokenUsage { input, output });
    turn.apply(usage(10, 1), AT);
    turn.apply(usage(10, 4), AT);
    turn.apply(written(0, "a", Err("no".into())), AT);
    turn.apply(stop(StopReason::ToolCalls), AT);
    turn.apply(usage(20, 2), AT);
    turn.apply(stop(StopReason::Finished), AT);
    assert_eq!(turn.message.usage, Some(TokenUsage { input: 30, output: 6 }));
}

#[test]
fn shows_nothing_of_a_text_that_may_have_a_secret() {
    for (written, is_shown) in [("{\"path\": x", true), ("{\"apiKey\": x", false), ("password=x", false)] {
        assert_eq!(shown_text(written.to_owned()) == written, is_shown, "{written}");
    }
}
