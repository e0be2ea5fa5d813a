//! Streams that come in pieces, and streams that end too early.

use std::fmt::Write as _;

use gatehouse_model::provider::ProviderApi;
use gatehouse_models::exchange::ModelEvent;
use gatehouse_models::providers::{AnswerDecoder, ModelError, ModelLimits};
use proptest::prelude::*;

use crate::answers::all;
use crate::stream_case::{decode, endpoint, line};

fn told(events: &[Result<ModelEvent, ModelError>]) -> Vec<String> {
    events.iter().map(line).collect()
}

/// Every position is in the middle of a line, of a character or of an escape for some of the streams.
#[test]
fn chunks_make_no_difference_at_any_byte() {
    for case in all() {
        let bytes = case.stream.as_bytes();
        for at in 0..=bytes.len() {
            let (first, second) = bytes.split_at(at);
            assert_eq!(told(&decode(case.api, [first, second])), case.events, "{} split at {at}", case.name);
        }
        assert_eq!(told(&decode(case.api, bytes.chunks(1))), case.events, "{} byte by byte", case.name);
    }
}

/// A stream that ends early is never a complete answer, and its events are the first ones of the whole.
#[test]
fn cut_streams_are_no_complete_answers() {
    for case in all().filter(|case| case.events.last().is_some_and(|last| last.starts_with("ended"))) {
        let bytes = case.stream.as_bytes();
        for end in 0..bytes.len() {
            let events = decode(case.api, [&bytes[..end]]);
            let told = told(&events);
            let Err(error) = events.last().unwrap() else {
                // All that was missing are an end marker or reports that need not come.
                assert!(
                    matches!(case.api, ProviderApi::OpenAiChat | ProviderApi::Gemini) || told == case.events
                );
                continue;
            };
            assert_eq!(error, &ModelError::CutShort { provider: "Example".to_owned() });
            assert_eq!(told[..told.len() - 1], case.events[..told.len() - 1], "{} cut at {end}", case.name);
        }
    }
}

#[test]
fn only_streams_with_a_reason_end_without_marker() {
    let chat = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n";
    let decoded = |stream: &str| told(&decode(ProviderApi::OpenAiChat, [stream.as_bytes()]));
    assert_eq!(decoded(chat), ["0 text a", "error the answer of Example broke off"]);
    let reason = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
    assert_eq!(decoded(&format!("{chat}{reason}")), ["0 text a", "ended Finished"]);
    let marker = "data: [DONE]\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"b\"}}]}\n\n";
    assert_eq!(decoded(&format!("{chat}{marker}")), ["0 text a", "ended Finished"]);
}

#[test]
fn limits_hold_for_events_and_answers() {
    let limits = ModelLimits { event_bytes: 200, answer_bytes: 1 << 20, ..ModelLimits::default() };
    let mut decoder = AnswerDecoder::new(&endpoint(ProviderApi::OpenAiChat), limits);
    decoder.push(format!("data: {}", "x".repeat(300)).as_bytes());
    assert!(matches!(decoder.next_event(), Some(Err(ModelError::TooLong { .. }))));
    assert!(decoder.is_over() && decoder.next_event().is_none());

    let mut decoder = AnswerDecoder::new(&endpoint(ProviderApi::OpenAiChat), limits);
    let chunk =
        "data: {\"choices\":[{\"delta\":{\"content\":\"aaaaaaaaaaaaaaaaaaaaaaaa\"}}]}\n\n".repeat(100);
    let mut bytes = 0;
    while !decoder.is_over() {
        decoder.push(chunk.as_bytes());
        bytes += chunk.len();
        let errors = std::iter::from_fn(|| decoder.next_event()).filter(Result::is_err).count();
        assert_eq!(errors, usize::from(decoder.is_over()));
    }
    assert!((1 << 20..(1 << 20) + chunk.len()).contains(&(bytes - 1)), "{bytes}");
}

proptest! {
    /// Whatever text a model writes as arguments comes out as it was, in fragments of any size.
    #[test]
    fn argument_fragments_stay_byte_for_byte(
        value in "\\PC{0,40}",
        number in "-?[1-9][0-9]{0,30}(\\.[0-9]{1,20})?",
        sizes in proptest::collection::vec(1_usize..7, 1..40),
        chunk in 1_usize..50,
    ) {
        let quoted = serde_json::to_string(&value).unwrap();
        let arguments = format!("{{ \"a\":{number} ,\"\\u00e9\":\t{quoted}}}");
        let mut fragments = Vec::new();
        let mut rest: Vec<char> = arguments.chars().collect();
        for size in sizes.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let fragment: String = rest.drain(..(*size).min(rest.len())).collect();
            fragments.push(serde_json::to_string(&fragment).unwrap());
        }
        for api in [ProviderApi::OpenAiChat, ProviderApi::OpenAiResponses, ProviderApi::Anthropic] {
            let stream = call_stream(api, &fragments);
            let events = decode(api, stream.as_bytes().chunks(chunk));
            let mut written = String::new();
            let mut finished = None;
            for event in events {
                match event.unwrap() {
                    ModelEvent::ToolCallArguments { text, .. } => written.push_str(&text),
                    ModelEvent::ToolCallEnded { call, .. } => finished = Some(call.unwrap().arguments.get().to_owned()),
                    _ => {}
                }
            }
            prop_assert_eq!(&written, &arguments);
            prop_assert_eq!(finished.as_deref(), Some(&*arguments));
        }
        let gemini = format!(
            "data: {{\"candidates\":[{{\"content\":{{\"parts\":[{{\"functionCall\":{{\"name\":\"f\",\"args\":{arguments}}}}}]}},\"finishReason\":\"STOP\"}}]}}\n\n"
        );
        let events = decode(ProviderApi::Gemini, gemini.as_bytes().chunks(chunk));
        let finished = events.iter().find_map(|event| match event {
            Ok(ModelEvent::ToolCallEnded { call: Ok(call), .. }) => Some(call.arguments.get()),
            _ => None,
        });
        prop_assert_eq!(finished, Some(&*arguments));
    }
}

/// One call whose arguments come in fragments, which are JSON strings.
fn call_stream(api: ProviderApi, fragments: &[String]) -> String {
    let mut out = String::new();
    match api {
        ProviderApi::OpenAiChat => {
            out.push_str("data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"f\",\"arguments\":\"\"}}]}}]}\n\n");
            for text in fragments {
                write!(out, "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"tool_calls\":[{{\"index\":0,\"function\":{{\"arguments\":{text}}}}}]}}}}]}}\n\n").unwrap();
            }
            out.push_str("data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n");
        }
        ProviderApi::OpenAiResponses => {
            out.push_str("data: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"type\":\"function_call\",\"id\":\"fc\",\"call_id\":\"c\",\"name\":\"f\",\"arguments\":\"\"}}\n\n");
            for text in fragments {
                write!(out, "data: {{\"type\":\"response.function_call_arguments.delta\",\"output_index\":0,\"delta\":{text}}}\n\n").unwrap();
            }
            out.push_str("data: {\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":{\"type\":\"function_call\",\"id\":\"fc\",\"call_id\":\"c\",\"name\":\"f\"}}\n\ndata: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\"}}\n\n");
        }
        _ => {
            out.push_str("data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"c\",\"name\":\"f\",\"input\":{}}}\n\n");
            for text in fragments {
                write!(out, "data: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"input_json_delta\",\"partial_json\":{text}}}}}\n\n").unwrap();
            }
            out.push_str("data: {\"type\":\"content_block_stop\",\"index\":0}\n\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n");
        }
    }
    out
}
