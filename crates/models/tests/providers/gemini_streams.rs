//! Gemini: the reference of `streamGenerateContent`, and the guides "Function calling" and "Thought signatures".

use gatehouse_model::provider::ProviderApi::Gemini;

use crate::stream_case::StreamCase;

pub(crate) const CASES: &[StreamCase] = &[
    StreamCase {
        name: "text",
        api: Gemini,
        stream: "data: {\"candidates\": [{\"content\": {\"parts\": [{\"text\": \"Ça\"}],\"role\": \"model\"},\"index\": 0}],\"usageMetadata\": {\"promptTokenCount\": 8,\"totalTokenCount\": 8},\"modelVersion\": \"gemini-2.5-flash\",\"responseId\": \"r\"}\r\n\r\ndata: {\"candidates\": [{\"content\": {\"parts\": [{\"text\": \" va\"}],\"role\": \"model\"},\"finishReason\": \"STOP\",\"index\": 0}],\"usageMetadata\": {\"promptTokenCount\": 8,\"candidatesTokenCount\": 4,\"thoughtsTokenCount\": 3,\"totalTokenCount\": 15}}\r\n\r\n",
        events: &["0 text Ça", "usage 8 0", "0 text  va", "usage 8 7", "ended Finished"],
    },
    StreamCase {
        name: "thoughts, parallel calls with and without id, signatures",
        api: Gemini,
        stream: r#"data: {"candidates":[{"content":{"role":"model","parts":[{"text":"**Looking**","thought":true}]},"index":0}]}

data: {"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"f","args":{ "city":"Z\u00fcrich", "n":1.0 }},"thoughtSignature":"CikB+/=="},{"functionCall":{"id":"8f2b","name":"g"}}]},"index":0}]}

data: {"candidates":[{"content":{"role":"model","parts":[{"text":"","thoughtSignature":"RW5k"}]},"finishReason":"STOP","index":0}]}

"#,
        events: &[
            "0 reasoning **Looking**",
            "1 began * f",
            r#"1 arguments { "city":"Z\u00fcrich", "n":1.0 }"#,
            r#"1 call * f { "city":"Z\u00fcrich", "n":1.0 } with {"thoughtSignature":"CikB+/=="}"#,
            "2 began 8f2b g",
            r#"3 item {"text":"","thoughtSignature":"RW5k"}"#,
            "2 call 8f2b g {}",
            "ended ToolCalls",
        ],
    },
    StreamCase {
        name: "limit",
        api: Gemini,
        stream: "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"So\"}]},\"finishReason\":\"MAX_TOKENS\"}]}\n\n",
        events: &["0 text So", "ended Length"],
    },
    StreamCase {
        name: "blocked answer",
        api: Gemini,
        stream: "data: {\"candidates\":[{\"finishReason\":\"SAFETY\",\"safetyRatings\":[]}]}\n\n",
        events: &["ended Refused"],
    },
    StreamCase {
        name: "blocked question",
        api: Gemini,
        stream: "data: {\"promptFeedback\":{\"blockReason\":\"PROHIBITED_CONTENT\"},\"usageMetadata\":{\"promptTokenCount\":4}}\n\n",
        events: &["usage 4 0", "ended Refused"],
    },
    StreamCase {
        name: "call that the provider could not read",
        api: Gemini,
        stream: "data: {\"candidates\":[{\"finishReason\":\"MALFORMED_FUNCTION_CALL\",\"finishMessage\":\"Malformed function call: f(\"}]}\n\n",
        events: &["error Example reported an error: Malformed function call: f("],
    },
    StreamCase {
        name: "error in the middle",
        api: Gemini,
        stream: "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"Hel\"}]}}]}\n\ndata: {\"error\":{\"code\":500,\"message\":\"An internal error has occurred.\",\"status\":\"INTERNAL\"}}\n\n",
        events: &["0 text Hel", "error Example reported an error: An internal error has occurred."],
    },
    StreamCase {
        name: "overloaded",
        api: Gemini,
        stream: "data: {\"error\":{\"code\":503,\"message\":\"The model is overloaded.\",\"status\":\"UNAVAILABLE\"}}\n\n",
        events: &["error Example is busy: The model is overloaded."],
    },
];
