//! Requests of each API: where they go, what has the key, and a whole conversation in each format.

use gatehouse_model::Secret;
use gatehouse_model::provider::ProviderApi;
use gatehouse_models::exchange::{
    AssistantPart, ModelMessage, ModelRequest, ModelToolCall, ProviderItem, ToolResult, UserPart,
};
use gatehouse_models::providers::{ModelError, ProviderEndpoint, WireRequest};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use url::Url;

use crate::answers::APIS;
use crate::stream_case::{KEY, endpoint};

fn raw(json: &str) -> Box<RawValue> {
    RawValue::from_string(json.to_owned()).unwrap()
}

/// Written so that nothing that parses it and writes it again leaves it as it is.
const ARGUMENTS: &str = r#"{ "n":1.0, "big":12345678901234567890123, "z":"\u00fc" }"#;
const TOOL: &str = r#"{"name":"f", "n":1e0}"#;

/// A user with an image, a model that reasons and calls, the result, and the next message. The items are of one API.
fn conversation(items: ProviderApi) -> ModelRequest {
    let call = |id: &str, item: Option<&str>| {
        AssistantPart::ToolCall(ModelToolCall {
            id: id.to_owned(),
            name: "f".to_owned(),
            arguments: raw(ARGUMENTS),
            repaired_from: None,
            provider_item: item.map(|json| ProviderItem { api: items, json: raw(json) }),
        })
    };
    let reasoning = match items {
        ProviderApi::OpenAiChat => "\"Hm\"",
        ProviderApi::OpenAiResponses => r#"{"id":"rs","type":"reasoning","encrypted_content":"x"}"#,
        ProviderApi::Anthropic => r#"{"type":"thinking","thinking":"Hm","signature":"s"}"#,
        ProviderApi::Gemini => r#"{"text":"","thoughtSignature":"s"}"#,
    };
    let result = |call: &str| ToolResult {
        call: call.to_owned(),
        name: "f".to_owned(),
        result: raw(r#"{"content":[{"type":"text","text":"sunny"}]}"#),
    };
    ModelRequest {
        model: "m".to_owned(),
        instructions: Some("Be kind.".to_owned()),
        messages: vec![
            ModelMessage::User(vec![
                UserPart::Text("Look".to_owned()),
                UserPart::Image { mime_type: "image/png".to_owned(), data: "aGk=".to_owned() },
            ]),
            ModelMessage::Assistant(vec![
                AssistantPart::Reasoning(ProviderItem { api: items, json: raw(reasoning) }),
                AssistantPart::Text(String::new()),
                AssistantPart::Text("Looking".to_owned()),
                call("call.1:0", Some(r#"{"thoughtSignature":"sig"}"#)),
                call("call_2", None),
            ]),
            ModelMessage::ToolResults(vec![result("call.1:0"), result("call_2")]),
        ],
        tools: vec![raw(TOOL)],
        max_tokens: Some(100),
        temperature: Some(0.5),
        stop_sequences: vec!["END".to_owned()],
    }
}

fn body_text(api: ProviderApi, request: &ModelRequest) -> String {
    let wire = WireRequest::new(&endpoint(api), request).unwrap();
    String::from_utf8(wire.body.unwrap().to_vec()).unwrap()
}

fn body(api: ProviderApi, request: &ModelRequest) -> Value {
    serde_json::from_str(&body_text(api, request)).unwrap()
}

#[test]
fn urls_are_those_of_each_api() {
    for (api, base, url) in [
        (ProviderApi::OpenAiChat, "https://api.openai.com/v1", "https://api.openai.com/v1/chat/completions"),
        (ProviderApi::OpenAiResponses, "https://api.openai.com/v1/", "https://api.openai.com/v1/responses"),
        (ProviderApi::Anthropic, "https://api.anthropic.com", "https://api.anthropic.com/v1/messages"),
        (ProviderApi::Anthropic, "https://api.anthropic.com/v1", "https://api.anthropic.com/v1/messages"),
        (
            ProviderApi::Gemini,
            "https://generativelanguage.googleapis.com",
            "https://generativelanguage.googleapis.com/v1beta/models/a%2F..%2F%3Fb:streamGenerateContent?alt=sse",
        ),
    ] {
        let endpoint = ProviderEndpoint { base_url: Url::parse(base).unwrap(), ..endpoint(api) };
        let request = ModelRequest { model: "models/a/../?b".to_owned(), ..ModelRequest::default() };
        assert_eq!(WireRequest::new(&endpoint, &request).unwrap().url.as_str(), url);
    }
}

#[test]
fn the_key_is_in_one_header_and_nowhere_else() {
    for (api, name, value) in [
        (ProviderApi::OpenAiChat, "authorization", format!("Bearer {KEY}")),
        (ProviderApi::OpenAiResponses, "authorization", format!("Bearer {KEY}")),
        (ProviderApi::Anthropic, "x-api-key", KEY.to_owned()),
        (ProviderApi::Gemini, "x-goog-api-key", KEY.to_owned()),
    ] {
        let wire = WireRequest::new(&endpoint(api), &conversation(api)).unwrap();
        let with_key: Vec<_> = wire
            .headers
            .iter()
            .filter(|(_, value)| String::from_utf8_lossy(value.as_bytes()).contains(KEY))
            .collect();
        assert_eq!(with_key.len(), 1, "{api:?}");
        assert_eq!(with_key[0].0, name);
        assert_eq!(with_key[0].1, value.as_str());
        assert!(with_key[0].1.is_sensitive());
        assert!(!wire.url.as_str().contains(KEY));
        assert!(!String::from_utf8_lossy(wire.body.as_ref().unwrap()).contains(KEY));
        for shown in [format!("{wire:?}"), format!("{:?}", wire.headers), format!("{:?}", endpoint(api))] {
            assert!(!shown.contains(KEY) && !shown.contains("sunny"), "{shown}");
        }
        let has_version = wire.headers.contains_key("anthropic-version");
        assert_eq!(has_version, api == ProviderApi::Anthropic);
    }
}

#[test]
fn local_servers_need_no_key_and_unusable_keys_are_no_part_of_the_error() {
    for api in APIS {
        for key in [None, Some(Secret::new("")), Some(Secret::new("  \n"))] {
            let wire =
                WireRequest::new(&ProviderEndpoint { key, ..endpoint(api) }, &conversation(api)).unwrap();
            for name in ["authorization", "x-api-key", "x-goog-api-key"] {
                assert!(!wire.headers.contains_key(name));
            }
        }
        let key = Some(Secret::new("sk-\nInjected: 1"));
        let error =
            WireRequest::new(&ProviderEndpoint { key, ..endpoint(api) }, &conversation(api)).unwrap_err();
        assert_eq!(error, ModelError::BadKey { provider: "Example".to_owned() });
    }
}

#[test]
fn arguments_and_tools_are_written_byte_for_byte() {
    for api in APIS {
        let text = body_text(api, &conversation(api));
        assert!(text.contains(TOOL), "{text}");
        let arguments = match api {
            ProviderApi::OpenAiChat | ProviderApi::OpenAiResponses => {
                serde_json::to_string(ARGUMENTS).unwrap()
            }
            _ => ARGUMENTS.to_owned(),
        };
        assert_eq!(text.matches(&arguments).count(), 2, "{text}");
    }
}

#[test]
fn items_go_back_only_to_their_api() {
    for api in APIS {
        for items in APIS {
            let text = body_text(api, &conversation(items));
            let has_item = ["\"Hm\"", "\"encrypted_content\"", "\"signature\"", "\"thoughtSignature\":\"s\""]
                .iter()
                .any(|item| text.contains(item));
            assert_eq!(has_item, api == items, "{api:?} with items of {items:?}: {text}");
        }
    }
}

#[test]
fn chat_completions_are_written_as_documented() {
    let mut request = conversation(ProviderApi::OpenAiChat);
    let body = body(ProviderApi::OpenAiChat, &request);
    let call =
        |id: &str| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": ARGUMENTS}});
    let mut first = call("call.1:0");
    first["extra_content"] = json!({"thoughtSignature": "sig"});
    assert_eq!(body["messages"][0], json!({"role": "system", "content": "Be kind."}));
    assert_eq!(
        body["messages"][1],
        json!({"role": "user", "content": [{"type": "text", "text": "Look"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}]})
    );
    assert_eq!(
        body["messages"][2],
        json!({"role": "assistant", "content": "Looking", "reasoning_content": "Hm",
            "tool_calls": [first, call("call_2")]})
    );
    assert_eq!(body["messages"][3], json!({"role": "tool", "tool_call_id": "call.1:0", "content": "sunny"}));
    assert_eq!(body["messages"][4]["tool_call_id"], "call_2");
    assert_eq!(body["stream"], true);
    assert_eq!(body["stream_options"], json!({"include_usage": true}));
    assert_eq!((&body["max_tokens"], &body["stop"]), (&json!(100), &json!(["END"])));

    let openai = ProviderEndpoint {
        base_url: Url::parse("https://api.openai.com/v1").unwrap(),
        ..endpoint(ProviderApi::OpenAiChat)
    };
    let wire = WireRequest::new(&openai, &request).unwrap();
    let openai: Value = serde_json::from_slice(&wire.body.unwrap()).unwrap();
    assert_eq!((&openai["max_tokens"], &openai["max_completion_tokens"]), (&Value::Null, &json!(100)));

    // Reasoning of an earlier turn stays away.
    request.messages.push(ModelMessage::User(vec![UserPart::Text("Thanks".to_owned())]));
    let body = self::body(ProviderApi::OpenAiChat, &request);
    assert_eq!(body["messages"][2].get("reasoning_content"), None);
    assert_eq!(body["messages"][5], json!({"role": "user", "content": "Thanks"}));
}

#[test]
fn responses_are_written_as_documented() {
    let body = body(ProviderApi::OpenAiResponses, &conversation(ProviderApi::OpenAiResponses));
    let call =
        |id: &str| json!({"type": "function_call", "call_id": id, "name": "f", "arguments": ARGUMENTS});
    assert_eq!(body["instructions"], "Be kind.");
    assert_eq!(
        body["input"],
        json!([
            {"role": "user", "content": [{"type": "input_text", "text": "Look"},
                {"type": "input_image", "image_url": "data:image/png;base64,aGk="}]},
            {"id": "rs", "type": "reasoning", "encrypted_content": "x"},
            {"role": "assistant", "content": [{"type": "output_text", "text": "Looking"}]},
            call("call.1:0"), call("call_2"),
            {"type": "function_call_output", "call_id": "call.1:0", "output": "sunny"},
            {"type": "function_call_output", "call_id": "call_2", "output": "sunny"},
        ])
    );
    assert_eq!(
        (&body["store"], &body["stream"], &body["max_output_tokens"]),
        (&json!(false), &json!(true), &json!(100))
    );
    assert_eq!(body["include"], json!(["reasoning.encrypted_content"]));
}

#[test]
fn messages_are_written_as_documented() {
    let mut request = conversation(ProviderApi::Anthropic);
    request.messages.push(ModelMessage::User(vec![UserPart::Text("And?".to_owned())]));
    request.max_tokens = None;
    let body = body(ProviderApi::Anthropic, &request);
    let messages = body["messages"].as_array().unwrap();
    assert_eq!((&body["system"], &body["max_tokens"]), (&json!("Be kind."), &json!(4096)));
    assert_eq!(
        messages[0]["content"][1],
        json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}})
    );
    let content = messages[1]["content"].as_array().unwrap();
    let kinds: Vec<&Value> = content.iter().map(|block| &block["type"]).collect();
    assert_eq!(kinds, ["thinking", "text", "tool_use", "tool_use"]);
    // Ids of other providers are put into the alphabet of this one, the same way in both places.
    assert_eq!(content[2]["id"], "call_1_0");
    assert_eq!(messages.len(), 3, "the roles alternate");
    let content = messages[2]["content"].as_array().unwrap();
    assert_eq!(
        (&content[0]["type"], &content[0]["tool_use_id"]),
        (&json!("tool_result"), &json!("call_1_0"))
    );
    assert_eq!(content[2], json!({"type": "text", "text": "And?"}));
}

#[test]
fn gemini_is_written_as_documented() {
    let request = conversation(ProviderApi::Gemini);
    let body = body(ProviderApi::Gemini, &request);
    assert_eq!(body["systemInstruction"], json!({"parts": [{"text": "Be kind."}]}));
    assert_eq!(
        body["contents"][0]["parts"][1],
        json!({"inlineData": {"mimeType": "image/png", "data": "aGk="}})
    );
    let parts = body["contents"][1]["parts"].as_array().unwrap();
    assert_eq!(parts[0], json!({"text": "", "thoughtSignature": "s"}));
    assert_eq!(
        (&parts[2]["functionCall"]["id"], &parts[2]["thoughtSignature"]),
        (&json!("call.1:0"), &json!("sig"))
    );
    assert_eq!(parts[3].get("thoughtSignature"), None);
    let results = body["contents"][2]["parts"].as_array().unwrap();
    assert_eq!(results[0]["functionResponse"]["id"], "call.1:0");
    assert_eq!(body["tools"][0]["functionDeclarations"].as_array().unwrap().len(), 1);
    assert_eq!(
        body["generationConfig"],
        json!({"maxOutputTokens": 100, "temperature": 0.5, "stopSequences": ["END"]})
    );

    // The calls of another model have no signature, which newer models refuse.
    let other = ModelRequest { model: "gemini-3-pro".to_owned(), ..conversation(ProviderApi::OpenAiChat) };
    let body = self::body(ProviderApi::Gemini, &other);
    let parts = body["contents"][1]["parts"].as_array().unwrap();
    assert_eq!(parts[1]["thoughtSignature"], "skip_thought_signature_validator");
    assert_eq!(parts[2].get("thoughtSignature"), None);
    let older = ModelRequest { model: "gemini-2.5-flash".to_owned(), ..other };
    assert!(!body_text(ProviderApi::Gemini, &older).contains("skip_thought_signature_validator"));
}
