//! Chat completions: OpenAI's reference ("Streaming", "The chat completion chunk object") and compatible servers.

use gatehouse_model::provider::ProviderApi::OpenAiChat;

use crate::stream_case::StreamCase;

pub(crate) const CASES: &[StreamCase] = &[
    StreamCase {
        name: "text with usage",
        api: OpenAiChat,
        stream: r#"data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1718345013,"model":"gpt-5","system_fingerprint":"fp_1","choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"aa"}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1718345013,"model":"gpt-5","choices":[{"index":0,"delta":{"content":"Grüß"},"logprobs":null,"finish_reason":null}],"usage":null}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1718345013,"model":"gpt-5","choices":[{"index":0,"delta":{"content":" Gott \ud83d\ude00\n"},"logprobs":null,"finish_reason":null}],"usage":null}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1718345013,"model":"gpt-5","choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}],"usage":null}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1718345013,"model":"gpt-5","choices":[],"usage":{"prompt_tokens":19,"completion_tokens":10,"total_tokens":29}}

data: [DONE]

"#,
        events: &["0 text Grüß", "0 text  Gott 😀\n", "usage 19 10", "ended Finished"],
    },
    StreamCase {
        name: "text, then parallel calls whose fragments alternate, split in a character's escape",
        api: OpenAiChat,
        stream: r#"data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"Looking."}}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_a","type":"function","function":{"name":"get_weather","arguments":""}}]}}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"call_b","type":"function","function":{"name":"get_time","arguments":"{"}}]}}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"city\": \"Z\\u"}}]}}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":"\"n\":1.0e0}"}},{"index":0,"function":{"arguments":"00fcrich 漢\"}"}}]}}]}

data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}

data: [DONE]

"#,
        events: &[
            "0 text Looking.",
            "1 began call_a get_weather",
            "2 began call_b get_time",
            "2 arguments {",
            r#"1 arguments {"city": "Z\u"#,
            r#"2 arguments "n":1.0e0}"#,
            r#"1 arguments 00fcrich 漢"}"#,
            r#"1 call call_a get_weather {"city": "Z\u00fcrich 漢"}"#,
            r#"2 call call_b get_time {"n":1.0e0}"#,
            "ended ToolCalls",
        ],
    },
    StreamCase {
        name: "refusal",
        api: OpenAiChat,
        stream: r#"data: {"choices":[{"index":0,"delta":{"role":"assistant","content":null,"refusal":""}}]}

data: {"choices":[{"index":0,"delta":{"refusal":"I can't help."}}]}

data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}

data: [DONE]

"#,
        events: &["0 text I can't help.", "ended Refused"],
    },
    StreamCase {
        name: "content filter",
        api: OpenAiChat,
        stream: "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"So\"}}]}\r\n\r\ndata: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"content_filter\"}]}\r\n\r\ndata: [DONE]\r\n\r\n",
        events: &["0 text So", "ended Refused"],
    },
    StreamCase {
        name: "arguments that the limit cut off are not repaired, and a whole call is kept",
        api: OpenAiChat,
        stream: r#"data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}},{"index":1,"id":"b","function":{"name":"g","arguments":"{\"path\":\"/home"}},{"index":2,"id":"c","function":{"name":"h"}}]}}]}

data: {"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}

data: [DONE]

"#,
        events: &[
            "0 began a f",
            r#"0 arguments {"x":1}"#,
            "1 began b g",
            r#"1 arguments {"path":"/home"#,
            "2 began c h",
            r#"0 call a f {"x":1}"#,
            r#"1 unusable b g {"path":"/home"#,
            "2 unusable c h ",
            "ended Length",
        ],
    },
    StreamCase {
        name: "malformed arguments",
        api: OpenAiChat,
        stream: r#"data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"city=Rome; rm"}}]}}]}

data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}

data: [DONE]

"#,
        events: &[
            "0 began a f",
            "0 arguments city=Rome; rm",
            "0 unusable a f city=Rome; rm",
            "ended ToolCalls",
        ],
    },
    StreamCase {
        name: "error in the middle",
        api: OpenAiChat,
        stream: r#"data: {"choices":[{"index":0,"delta":{"content":"Hel"}}]}

data: {"error":{"message":"The server had an error","type":"server_error","param":null,"code":null}}

"#,
        events: &["0 text Hel", "error Example reported an error: The server had an error"],
    },
    StreamCase {
        name: "Ollama: whole calls with the index 0, reason stop",
        api: OpenAiChat,
        stream: r#"data: {"id":"chatcmpl-1","object":"chat.completion.chunk","model":"qwen3","choices":[{"index":0,"delta":{"role":"assistant","content":"","reasoning":"Hm."},"finish_reason":null}]}

data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"","tool_calls":[{"id":"call_1","index":0,"type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]},"finish_reason":null}]}

data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"","tool_calls":[{"id":"call_2","index":0,"type":"function","function":{"name":"f","arguments":"{\"a\":2}"}}]},"finish_reason":null}]}

data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":"stop"}]}

data: [DONE]

"#,
        events: &[
            "0 reasoning Hm.",
            "1 began call_1 f",
            r#"1 arguments {"a":1}"#,
            "2 began call_2 f",
            r#"2 arguments {"a":2}"#,
            r#"1 call call_1 f {"a":1}"#,
            r#"2 call call_2 f {"a":2}"#,
            "ended ToolCalls",
        ],
    },
    StreamCase {
        name: "another id in each fragment of the same call",
        api: OpenAiChat,
        stream: r#"data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"1","function":{"name":"f","arguments":"{\"a\""}}]}}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"2","function":{"name":"f","arguments":":1"}}]}}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"3","function":{"arguments":"}"}}]}}]}

data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}

data: [DONE]

"#,
        events: &[
            "0 began 1 f",
            r#"0 arguments {"a""#,
            "0 arguments :1",
            "0 arguments }",
            r#"0 call 1 f {"a":1}"#,
            "ended ToolCalls",
        ],
    },
    StreamCase {
        name: "no index, no id, arguments that are an object",
        api: OpenAiChat,
        stream: r#"data: {"choices":[{"delta":{"tool_calls":[{"function":{"name":"f","arguments":{ "a" : 10000000000000000000001 }}},{"function":{"name":"g","arguments":null}}]}}]}

data: {"choices":[{"delta":{},"finish_reason":"tool_calls"}]}

data: [DONE]

"#,
        events: &[
            "0 began * f",
            r#"0 arguments { "a" : 10000000000000000000001 }"#,
            "1 began * g",
            r#"0 call * f { "a" : 10000000000000000000001 }"#,
            "1 call * g {}",
            "ended ToolCalls",
        ],
    },
    StreamCase {
        name: "no index, fragments after each call",
        api: OpenAiChat,
        stream: r#"data: {"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{"}}]}}]}

data: {"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"arguments":"}"}}]}}]}

data: {"choices":[{"delta":{"tool_calls":[{"id":"b","function":{"name":"f","arguments":""}}]}}]}

data: {"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"{\"b\":0}"}}]}}]}

data: {"choices":[{"delta":{},"finish_reason":"tool_calls"}]}

data: [DONE]

"#,
        events: &[
            "0 began a f",
            "0 arguments {",
            "0 arguments }",
            "1 began b f",
            r#"1 arguments {"b":0}"#,
            "0 call a f {}",
            r#"1 call b f {"b":0}"#,
            "ended ToolCalls",
        ],
    },
    StreamCase {
        name: "DeepSeek: reasoning that goes back",
        api: OpenAiChat,
        stream: r#"data: {"choices":[{"index":0,"delta":{"role":"assistant","content":null,"reasoning_content":"Let me"}}]}

data: {"choices":[{"index":0,"delta":{"reasoning_content":" see."}}]}

data: {"choices":[{"index":0,"delta":{"content":"Yes","reasoning_content":null}}]}

data: {"choices":[{"index":0,"delta":{"content":""},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}

data: [DONE]

"#,
        events: &[
            "0 reasoning Let me",
            "0 reasoning  see.",
            "1 text Yes",
            "usage 1 2",
            r#"0 item "Let me see.""#,
            "ended Finished",
        ],
    },
    StreamCase {
        name: "Mistral: content in parts; Gemini: what goes back with a call",
        api: OpenAiChat,
        stream: r#"data: {"choices":[{"index":0,"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm"}]},{"type":"text","text":"Ok"}]}}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","extra_content":{"google":{"thought_signature":"c2ln"}},"function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}

data: [DONE]

"#,
        events: &[
            "0 reasoning Hm",
            "1 text Ok",
            "2 began a f",
            "2 arguments {}",
            r#"2 call a f {} with {"google":{"thought_signature":"c2ln"}}"#,
            "ended ToolCalls",
        ],
    },
    StreamCase {
        name: "call without a name",
        api: OpenAiChat,
        stream: "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{}\"}}]}}]}\n\ndata: [DONE]\n\n",
        events: &["error the answer of Example cannot be read: a tool call has no name"],
    },
];
