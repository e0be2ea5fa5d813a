//! Anthropic's messages: "Streaming messages" with its examples of text, tool use and extended thinking.

use gatehouse_model::provider::ProviderApi::Anthropic;

use crate::stream_case::StreamCase;

pub(crate) const CASES: &[StreamCase] = &[
    StreamCase {
        name: "text",
        api: Anthropic,
        stream: r#"event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"model":"claude","stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":25,"cache_creation_input_tokens":3,"cache_read_input_tokens":2,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: ping
data: {"type":"ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"你好"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"!"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":15}}

event: message_stop
data: {"type":"message_stop"}

"#,
        events: &["usage 30 1", "0 text 你好", "0 text !", "usage 30 15", "ended Finished"],
    },
    StreamCase {
        name: "thinking, text, two calls, one without arguments",
        api: Anthropic,
        stream: r#"data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"I \"should\""}}

data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":" look"}}

data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQB+/="}}

data: {"type":"content_block_stop","index":0}

data: {"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"EmwK"}}

data: {"type":"content_block_stop","index":1}

data: {"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}

data: {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"Okay"}}

data: {"type":"content_block_stop","index":2}

data: {"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_1","name":"get_weather","input":{}}}

data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":""}}

data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"location\": \"San"}}

data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":" Francisc"}}

data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"o\"}"}}

data: {"type":"content_block_stop","index":3}

data: {"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"toolu_2","name":"list","input":{}}}

data: {"type":"content_block_delta","index":4,"delta":{"type":"input_json_delta","partial_json":""}}

data: {"type":"content_block_stop","index":4}

data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":89}}

data: {"type":"message_stop"}

"#,
        events: &[
            "0 reasoning I \"should\"",
            "0 reasoning  look",
            r#"0 item {"type":"thinking","thinking":"I \"should\" look","signature":"EqQB+/="}"#,
            r#"1 item {"type":"redacted_thinking","data":"EmwK"}"#,
            "2 text Okay",
            "3 began toolu_1 get_weather",
            r#"3 arguments {"location": "San"#,
            "3 arguments  Francisc",
            r#"3 arguments o"}"#,
            r#"3 call toolu_1 get_weather {"location": "San Francisco"}"#,
            "4 began toolu_2 list",
            "usage 0 89",
            "4 call toolu_2 list {}",
            "ended ToolCalls",
        ],
    },
    StreamCase {
        name: "limit in the middle of a call, which is closed all the same",
        api: Anthropic,
        stream: r#"data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}}

data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"x\": 1"}}

data: {"type":"content_block_stop","index":0}

data: {"type":"message_delta","delta":{"stop_reason":"max_tokens"}}

data: {"type":"message_stop"}

"#,
        events: &["0 began a f", "0 arguments {\"x\": 1", "0 unusable a f {\"x\": 1", "ended Length"],
    },
    StreamCase {
        name: "compatible server: arguments at once, the input counted at the end, unknown events",
        api: Anthropic,
        stream: r#"data: {"type":"message_start","message":{"usage":{"input_tokens":0,"output_tokens":0}}}

data: {"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"x","name":"web_search","input":{}}}

data: {"type":"content_block_stop","index":0}

data: {"type":"something_new","index":0}

data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"a","name":"f","input":{"b":[ 1 ]}}}

data: {"type":"content_block_stop","index":1}

data: {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"input_tokens":9,"output_tokens":4}}

data: {"type":"message_stop"}

"#,
        events: &[
            "usage 0 0",
            "0 began a f",
            r#"0 arguments {"b":[ 1 ]}"#,
            r#"0 call a f {"b":[ 1 ]}"#,
            "usage 9 4",
            "ended ToolCalls",
        ],
    },
    StreamCase {
        name: "refusal",
        api: Anthropic,
        stream: "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"refusal\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n",
        events: &["ended Refused"],
    },
    StreamCase {
        name: "error in the middle",
        api: Anthropic,
        stream: r#"data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Hel"}}

event: error
data: {"type":"error","error":{"type":"api_error","message":"Internal server error"}}

"#,
        events: &["0 text Hel", "error Example reported an error: Internal server error"],
    },
    StreamCase {
        name: "overloaded",
        api: Anthropic,
        stream: "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n",
        events: &["error Example is busy: Overloaded"],
    },
];
