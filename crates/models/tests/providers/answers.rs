//! The events that come of each stream.

use gatehouse_model::provider::ProviderApi;

use crate::stream_case::{KEY, StreamCase, lines};
use crate::{anthropic_streams, gemini_streams, openai_chat_streams, openai_responses_streams};

pub(crate) fn all() -> impl Iterator<Item = &'static StreamCase> {
    openai_chat_streams::CASES
        .iter()
        .chain(openai_responses_streams::CASES)
        .chain(anthropic_streams::CASES)
        .chain(gemini_streams::CASES)
}

#[test]
fn every_stream_gives_its_events() {
    for case in all() {
        assert_eq!(lines(case.api, case.stream), case.events, "{}", case.name);
    }
}

#[test]
fn an_event_that_is_no_json_ends_the_answer_without_being_quoted() {
    for api in APIS {
        let lines = lines(api, "data: {\"a\": secret text\n\ndata: {}\n\n");
        assert_eq!(
            lines,
            ["error the answer of Example cannot be read: an event is no JSON (column 7)"],
            "{api:?}"
        );
    }
}

#[test]
fn comments_and_empty_events_are_no_part_of_an_answer() {
    for api in APIS {
        assert_eq!(
            lines(api, ": ping\n\nevent: ping\n\ndata:\n\n"),
            ["error the answer of Example broke off"]
        );
    }
}

#[test]
fn reported_errors_have_no_key() {
    let text = format!("wrong key {KEY} \u{202e}given");
    for (api, stream) in [
        (ProviderApi::OpenAiChat, format!("data: {{\"error\":{{\"message\":\"{text}\"}}}}\n\n")),
        (ProviderApi::OpenAiResponses, format!("data: {{\"type\":\"error\",\"message\":\"{text}\"}}\n\n")),
        (
            ProviderApi::OpenAiResponses,
            format!(
                "data: {{\"type\":\"response.failed\",\"response\":{{\"error\":{{\"message\":\"{text}\"}}}}}}\n\n"
            ),
        ),
        (
            ProviderApi::Anthropic,
            format!("data: {{\"type\":\"error\",\"error\":{{\"message\":\"{text}\"}}}}\n\n"),
        ),
        (ProviderApi::Gemini, format!("data: {{\"error\":{{\"message\":\"{text}\"}}}}\n\n")),
        (
            ProviderApi::Gemini,
            format!(
                "data: {{\"candidates\":[{{\"finishReason\":\"OTHER\",\"finishMessage\":\"{text}\"}}]}}\n\n"
            ),
        ),
    ] {
        assert_eq!(
            lines(api, &stream),
            ["error Example reported an error: wrong key •••••• given"],
            "{stream}"
        );
    }
}

pub(crate) const APIS: [ProviderApi; 4] =
    [ProviderApi::OpenAiChat, ProviderApi::OpenAiResponses, ProviderApi::Anthropic, ProviderApi::Gemini];
