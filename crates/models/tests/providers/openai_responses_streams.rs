//! OpenAI's responses: the reference of "Streaming events".

use gatehouse_model::provider::ProviderApi::OpenAiResponses;

use crate::stream_case::StreamCase;

pub(crate) const CASES: &[StreamCase] = &[
    StreamCase {
        name: "text",
        api: OpenAiResponses,
        stream: r#"event: response.created
data: {"type":"response.created","sequence_number":0,"response":{"id":"resp_1","object":"response","status":"in_progress","error":null,"incomplete_details":null,"output":[],"usage":null}}

event: response.in_progress
data: {"type":"response.in_progress","sequence_number":1,"response":{"id":"resp_1","status":"in_progress"}}

event: response.output_item.added
data: {"type":"response.output_item.added","sequence_number":2,"output_index":0,"item":{"id":"msg_1","type":"message","status":"in_progress","role":"assistant","content":[]}}

event: response.content_part.added
data: {"type":"response.content_part.added","sequence_number":3,"item_id":"msg_1","output_index":0,"content_index":0,"part":{"type":"output_text","text":"","annotations":[]}}

event: response.output_text.delta
data: {"type":"response.output_text.delta","sequence_number":4,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"Hé","logprobs":[]}

event: response.output_text.delta
data: {"type":"response.output_text.delta","sequence_number":5,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"llo","logprobs":[]}

event: response.output_text.done
data: {"type":"response.output_text.done","sequence_number":6,"item_id":"msg_1","output_index":0,"content_index":0,"text":"Héllo"}

event: response.output_item.done
data: {"type":"response.output_item.done","sequence_number":7,"output_index":0,"item":{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Héllo","annotations":[]}]}}

event: response.completed
data: {"type":"response.completed","sequence_number":8,"response":{"id":"resp_1","status":"completed","error":null,"incomplete_details":null,"usage":{"input_tokens":37,"output_tokens":11,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":48}}}

"#,
        events: &["0 text Hé", "0 text llo", "usage 37 11", "ended Finished"],
    },
    StreamCase {
        name: "reasoning, then two calls",
        api: OpenAiResponses,
        stream: r#"data: {"type":"response.output_item.added","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[]}}

data: {"type":"response.reasoning_summary_part.added","item_id":"rs_1","output_index":0,"summary_index":0,"part":{"type":"summary_text","text":""}}

data: {"type":"response.reasoning_summary_text.delta","item_id":"rs_1","output_index":0,"summary_index":0,"delta":"First"}

data: {"type":"response.reasoning_summary_part.added","item_id":"rs_1","output_index":0,"summary_index":1,"part":{"type":"summary_text","text":""}}

data: {"type":"response.reasoning_summary_text.delta","item_id":"rs_1","output_index":0,"summary_index":1,"delta":"second"}

data: {"type":"response.output_item.done","output_index":0,"item":{"id":"rs_1","type":"reasoning","encrypted_content":"gAAAAB+/=","summary":[{"type":"summary_text","text":"First"}]}}

data: {"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","id":"fc_1","call_id":"call_1","name":"f","arguments":"","status":"in_progress"}}

data: {"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":1,"delta":"{\"a\":"}

data: {"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":1,"delta":" 1.50}"}

data: {"type":"response.function_call_arguments.done","item_id":"fc_1","output_index":1,"arguments":"{\"a\": 1.50}"}

data: {"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","id":"fc_1","call_id":"call_1","name":"f","arguments":"{\"a\": 1.50}","status":"completed"}}

data: {"type":"response.output_item.done","output_index":2,"item":{"type":"function_call","id":"fc_2","call_id":"call_2","name":"g","arguments":"{}","status":"completed"}}

data: {"type":"response.completed","response":{"status":"completed","usage":{"input_tokens":5,"output_tokens":6}}}

"#,
        events: &[
            "0 reasoning First",
            "0 reasoning \n\n",
            "0 reasoning second",
            r#"0 item {"id":"rs_1","type":"reasoning","encrypted_content":"gAAAAB+/=","summary":[{"type":"summary_text","text":"First"}]}"#,
            "1 began call_1 f",
            r#"1 arguments {"a":"#,
            "1 arguments  1.50}",
            r#"1 call call_1 f {"a": 1.50}"#,
            "2 began call_2 g",
            "2 arguments {}",
            "2 call call_2 g {}",
            "usage 5 6",
            "ended ToolCalls",
        ],
    },
    StreamCase {
        name: "refusal",
        api: OpenAiResponses,
        stream: r#"data: {"type":"response.refusal.delta","item_id":"msg_1","output_index":0,"content_index":0,"delta":"No."}

data: {"type":"response.completed","response":{"status":"completed"}}

"#,
        events: &["0 text No.", "ended Refused"],
    },
    StreamCase {
        name: "limit in the middle of arguments, reasoning without encrypted form",
        api: OpenAiResponses,
        stream: r#"data: {"type":"response.output_item.done","output_index":0,"item":{"id":"rs_1","type":"reasoning","encrypted_content":null,"summary":[]}}

data: {"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","id":"fc_1","call_id":"c","name":"f","arguments":""}}

data: {"type":"response.function_call_arguments.delta","output_index":1,"delta":"{\"a\":[1"}

data: {"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","id":"fc_1","call_id":"c","name":"f","arguments":"{\"a\":[1","status":"incomplete"}}

data: {"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"usage":{"input_tokens":1,"output_tokens":2}}}

"#,
        events: &[
            "0 began c f",
            r#"0 arguments {"a":[1"#,
            "usage 1 2",
            r#"0 unusable c f {"a":[1"#,
            "ended Length",
        ],
    },
    StreamCase {
        name: "text that was not streamed",
        api: OpenAiResponses,
        stream: r#"data: {"type":"response.output_item.done","output_index":0,"item":{"id":"m","type":"message","content":[{"type":"output_text","text":"Whole"}]}}

data: {"type":"response.completed","response":{"status":"completed"}}

"#,
        events: &["0 text Whole", "ended Finished"],
    },
    StreamCase {
        name: "failure in the middle",
        api: OpenAiResponses,
        stream: r#"data: {"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"Hel"}

data: {"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"The model failed to generate a response."}}}

"#,
        events: &["0 text Hel", "error Example reported an error: The model failed to generate a response."],
    },
    StreamCase {
        name: "error event of a busy provider",
        api: OpenAiResponses,
        stream: "event: error\ndata: {\"type\":\"error\",\"code\":\"rate_limit_exceeded\",\"message\":\"Slow down\",\"param\":null}\n\n",
        events: &["error Example is busy: Slow down"],
    },
];
