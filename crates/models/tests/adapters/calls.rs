//! Calls in whole answers, and names.

use gatehouse_models::adapters::{AdaptedTools, ToolFormat, finish_call, read_call, read_calls};

use crate::json;

#[test]
fn reads_parallel_calls_of_an_answer_in_order() {
    for (format, answer) in [
        (
            ToolFormat::OpenAiChat,
            r#"{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"a","arguments":"{}"}},{"id":"2","type":"function","function":{"name":"b","arguments":"{\"x\":1}"}}]}"#,
        ),
        (
            ToolFormat::OpenAiResponses,
            r#"{"id":"resp","output":[{"type":"reasoning","summary":[]},{"type":"function_call","call_id":"1","name":"a","arguments":"{}"},{"type":"message","content":[]},{"type":"function_call","call_id":"2","name":"b","arguments":"{\"x\":1}"}]}"#,
        ),
        (
            ToolFormat::Anthropic,
            r#"{"role":"assistant","content":[{"type":"text","text":"I'll look."},{"type":"tool_use","id":"1","name":"a","input":{}},{"type":"tool_use","id":"2","name":"b","input":{"x":1}}]}"#,
        ),
        (
            ToolFormat::Gemini,
            r#"{"content":{"role":"model","parts":[{"text":"I'll look."},{"functionCall":{"id":"1","name":"a","args":{}}},{"functionCall":{"id":"2","name":"b","args":{"x":1}}}]},"finishReason":"STOP"}"#,
        ),
    ] {
        let calls: Vec<_> =
            read_calls(format, &json(answer)).unwrap().into_iter().map(Result::unwrap).collect();
        let read: Vec<_> =
            calls.iter().map(|call| (call.id.as_str(), call.name.as_str(), call.arguments.get())).collect();
        assert_eq!(read, [("1", "a", "{}"), ("2", "b", r#"{"x":1}"#)], "{format:?}");
    }
    for answer in [r#"{"role":"assistant","content":"Hello"}"#, r#"{"tool_calls":null}"#] {
        assert!(read_calls(ToolFormat::OpenAiChat, &json(answer)).unwrap().is_empty());
    }
    assert!(read_calls(ToolFormat::Anthropic, &json(r#"{"content":"Hello"}"#)).is_err());
    assert!(read_calls(ToolFormat::Anthropic, &json("[]")).is_err());
}

#[test]
fn one_unusable_call_leaves_the_others() {
    let answer = json(
        r#"{"tool_calls":[{"id":"1","function":{"name":"a","arguments":"{\"x\":"}},{"id":"2","function":{"name":"b","arguments":"{}"}}]}"#,
    );
    let calls = read_calls(ToolFormat::OpenAiChat, &answer).unwrap();
    assert!(calls[0].is_err() && calls[1].is_ok());
}

#[test]
fn makes_up_ids_only_where_there_are_none() {
    let call = json(r#"{"functionCall":{"name":"a","args":{}}}"#);
    let ids = [0, 1].map(|_| read_call(ToolFormat::Gemini, &call).unwrap().id);
    assert_ne!(ids[0], ids[1]);
    let rendered = |id: &str| {
        let result = json(r#"{"content":[]}"#);
        gatehouse_models::adapters::render_result(ToolFormat::Gemini, id, "a", &result).json.get().to_owned()
    };
    assert_eq!(rendered(&ids[0]), r#"{"functionResponse":{"name":"a","response":{"output":""}}}"#);
    assert!(rendered("fc-1").contains(r#""id":"fc-1""#));
}

#[test]
fn nothing_and_null_are_no_arguments() {
    for written in ["", " \n", "null", " null "] {
        let call = finish_call("1".to_owned(), "a".to_owned(), written).unwrap();
        assert_eq!((call.arguments.get(), call.repaired_from), ("{}", None), "{written:?}");
    }
}

#[test]
fn a_left_out_tool_has_no_name_for_the_model() {
    let tools = [
        json(r#"{"name":"list_only","inputSchema":{"type":"array"}}"#),
        json(r#"{"name":"9list","inputSchema":{"type":"array"}}"#),
        json(r#"{"name":"9read"}"#),
    ];
    let adapted = AdaptedTools::new(ToolFormat::Gemini, tools.iter().map(|tool| &**tool));
    assert_eq!(adapted.left_out().len(), 2);
    assert_eq!((adapted.exposed_name("list_only"), adapted.exposed_name("_9list")), (None, None));
    assert_eq!(
        (adapted.exposed_name("_9read"), adapted.provider_name("9read")),
        (Some("9read"), Some("_9read"))
    );
    assert!(adapted.definitions()[0].get().contains(r#""name":"_9read""#));
}
