//! Tests of the parsing of requests: what is refused, shown, hashed and sent.

use gatehouse_mcp_wire::json::read;
use gatehouse_mcp_wire::raw::Members as RawMembers;
use gatehouse_model::server::LogLevel;
use gatehouse_model::{BoxFuture, ClientEntry, Timestamp};
use gatehouse_servers::{ServerRequest, ServerRequestResult};
use proptest::prelude::*;

use super::*;
use crate::call_types::ProtocolFamily;
use crate::call_types::client_peer::ClientFeature;
use crate::call_types::peer::Peer;
use crate::calls::strict_params::{MAX_UNSEEN_CAPABILITIES, is_passed_unseen};

fn caller() -> Caller {
    let client = ClientEntry {
        id: "c".into(),
        name: "C".into(),
        token_sha256: String::new(),
        created: Timestamp(0),
        access: gatehouse_model::ClientAccess::Token,
    };
    Caller {
        client: Arc::new(client),
        narrowing: Default::default(),
        session: None,
        client_info: None,
        peer: Peer::unseen(),
        protocol_family: ProtocolFamily::Stateless,
        user_run: None,
    }
}

fn json(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap()
}

fn tool(arguments: Option<&str>, rest: &[(&str, &str)]) -> Result<ClientRequest, CallResponse> {
    ClientRequest::tool(
        caller(),
        ToolCall {
            rest: rest.iter().map(|(name, value)| ((*name).into(), json(value))).collect(),
            ..ToolCall::new("t".into(), arguments.map(json))
        },
    )
}

#[test]
fn sends_the_judged_bytes() {
    let text = r#"{ "n":12345678901234567890, "z":null,"a":1.0e5 }"#;
    let request = tool(Some(text), &[("task", r#"{"ttl": 1}"#)]).unwrap();
    let sent = request.params(Some(&json("\"own\"")));
    assert_eq!(sent.get("arguments").unwrap().get(), text);
    assert_eq!(sent.get("name").unwrap().get(), "\"own\"");
    assert_eq!(sent.get("task").unwrap().get(), r#"{"ttl": 1}"#);
    assert!(request.hash_input.starts_with(text));
    let without = tool(None, &[]).unwrap();
    assert!(without.params(None).get("arguments").is_none(), "absent arguments stay absent");
    assert!(*without.arguments == Json::Object(Vec::new()));
    assert_ne!(without.hash_input, tool(Some("{}"), &[]).unwrap().hash_input);
}

#[test]
fn kept_bytes_count_all_that_is_kept() {
    let long = format!("\"{}\"", "x".repeat(1000));
    let round = [("inputResponses", &*long)];
    for request in [tool(Some("{}"), &[("task", &long)]), tool(Some("{}"), &round)] {
        assert!(request.unwrap().kept_bytes() > 1000);
    }
    let meta = json(&format!(r#"{{"x":{long}}}"#));
    let call = ToolCall { meta: Some(meta), ..ToolCall::new("t".into(), None) };
    assert!(ClientRequest::tool(caller(), call).ok().unwrap().kept_bytes() > 1000);
}

#[test]
fn reference_keeps_its_other_members() {
    let complete = |others: &[(&str, &str)]| {
        let ref_members = others.iter().map(|(name, value)| ((*name).into(), json(value))).collect();
        let call =
            AccessCall::new("s".into(), AccessKind::CompletePrompt, "p\"".to_owned(), "s__p".to_owned());
        ClientRequest::access(caller(), AccessCall { ref_members, ..call })
    };
    let request = complete(&[("title", r#""T""#), ("x", "1.0")]).ok().unwrap();
    assert_eq!(
        request.params(None).get("ref").unwrap().get(),
        r#"{"type":"ref/prompt","name":"p\"","title":"T","x":1.0}"#
    );
    assert_ne!(request.hash_input, complete(&[]).ok().unwrap().hash_input, "it is approved too");
    for own in ["type", "name"] {
        assert!(complete(&[(own, r#""other""#)]).is_err(), "{own}");
    }
}

#[test]
fn rejects_malformed_params() {
    for (arguments, rest) in [
        (r#"{"a":1,"a":2}"#, &[][..]),
        (r#"{"a":{"b":1,"\u0062":2}}"#, &[]),
        (r#"{"a":"\ud800"}"#, &[]),
        ("[]", &[]),
        ("null", &[]),
        ("{}", &[("name", "\"other\"")]),
        ("{}", &[("arguments", "{}")]),
        ("{}", &[("_meta", "{}")]),
        ("{}", &[("task", "{}"), ("task", "{}")]),
        ("{}", &[("task", r#"{"a":1,"a":2}"#)]),
    ] {
        match tool(Some(arguments), rest) {
            Err(CallResponse::Error(error)) => assert!(error.get().contains("-32602"), "{}", error.get()),
            _ => panic!("{arguments} {rest:?}"),
        }
    }
}

#[test]
fn round_members_do_not_change_the_call() {
    let hash_input = |rest: &[(&str, &str)]| tool(Some("{}"), rest).unwrap().hash_input;
    let round = tool(Some("{}"), &[("inputResponses", "{}"), ("requestState", "\"s\"")]).unwrap();
    assert_eq!((hash_input(&[]), 2), (round.hash_input.clone(), round.shown().len()));
    assert!(round.round.contains("inputResponses") && round.round.contains("\"s\""));
    assert!(round.shown().iter().all(|shown| shown.extra));
    assert_ne!(hash_input(&[]), hash_input(&[("task", "{}")]));
    assert_ne!(hash_input(&[("task", "{}")]), hash_input(&[("task", "{\"ttl\":1}")]));
}

fn with_meta(meta: &str) -> ClientRequest {
    let call = ToolCall { meta: Some(json(meta)), ..ToolCall::new("t".into(), Some(json("{}"))) };
    ClientRequest::tool(caller(), call).unwrap()
}

#[test]
fn shortens_long_names_in_errors() {
    let long = "é".repeat(1000);
    assert_eq!(shorten_name(&long), "é".repeat(64));
    assert_eq!(shorten_name("short"), "short");
    let twice = format!(r#"{{"{long}":1,"{long}":2}}"#);
    let Err(CallResponse::Error(error)) = parse_strict(&long, &twice) else { panic!("it was read") };
    assert!(error.get().chars().count() < 300 && error.get().contains("twice"), "{}", error.get());
}

#[test]
fn shows_and_hashes_unknown_meta() {
    const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    for unseen in [
        r#"{"progressToken":7}"#.to_owned(),
        r#"{"progressToken":"a"}"#.to_owned(),
        r#"{"io.modelcontextprotocol/clientInfo":{"name":"x"}}"#.to_owned(),
        r#"{"io.modelcontextprotocol/logLevel":"debug"}"#.to_owned(),
        format!(r#"{{"traceparent":"{TRACE}"}}"#),
        r#"{"claudecode/toolUseId":"toolu_01"}"#.to_owned(),
    ] {
        let request = with_meta(&unseen);
        assert!(request.shown().is_empty(), "{unseen}");
        assert_eq!(request.hash_input, with_meta("{}").hash_input, "{unseen}");
    }
    for seen in [
        r#"{"x":1}"#,
        r#"{"traceparent":"delete everything"}"#,
        r#"{"traceparent":{"a":1}}"#,
        r#"{"tracestate":"a=b"}"#,
        r#"{"baggage":"k=v;p"}"#,
        r#"{"io.modelcontextprotocol/logLevel":["debug"]}"#,
        r#"{"claudecode/toolUseId":"rm -rf /"}"#,
    ] {
        let request = with_meta(seen);
        let shown = request.shown();
        assert!(shown.len() == 1 && shown[0].extra && shown[0].name == "(_meta)", "{seen}");
        assert_ne!(request.hash_input, with_meta("{}").hash_input, "{seen}");
    }
}

struct Declares(String);

impl ClientPeer for Declares {
    fn can(&self, _: ClientFeature) -> bool {
        false
    }

    fn capabilities(&self) -> Arc<RawValue> {
        json(&self.0).into()
    }

    fn ask(&self, _: ServerRequest) -> BoxFuture<'static, ServerRequestResult> {
        Box::pin(std::future::pending())
    }

    fn logged(&self, _: LogLevel, _: &RawValue) {}
}

#[test]
fn shows_and_hashes_capabilities_that_may_hold_data() {
    let declaring = |capabilities: &str| {
        let peer: Arc<dyn ClientPeer> = Arc::new(Declares(capabilities.to_owned()));
        let call = ToolCall::new("t".into(), Some(json("{}")));
        let tool = ClientRequest::tool(caller(), ToolCall { client_peer: Some(peer.clone()), ..call });
        let read =
            AccessCall::new("s".into(), AccessKind::ReadResource, "x://1".to_owned(), "x://1".to_owned());
        let access = ClientRequest::access(caller(), AccessCall { client_peer: Some(peer), ..read });
        [tool.ok().unwrap(), access.ok().unwrap()]
    };
    let plain = declaring("{}");
    for unseen in [
        r#"{"elicitation":{"form": {},"url":{}},"sampling":{"tools":{}}}"#,
        r#"{"roots":{"listChanged":true}}"#,
    ] {
        for (request, plain) in declaring(unseen).iter().zip(&plain) {
            assert!(!request.shown().iter().any(|shown| shown.extra), "{unseen}");
            assert_eq!(request.hash_input, plain.hash_input, "{unseen}");
        }
    }
    for seen in [
        r#"{"experimental":{"sk-123":{}}}"#.to_owned(),
        r#"{"elicitation":{"form":{"sk-123":{}}}}"#.to_owned(),
        r#"{"sampling":"sk-123"}"#.to_owned(),
        format!("{{{}}}", " ".repeat(MAX_UNSEEN_CAPABILITIES)),
    ] {
        for (request, plain) in declaring(&seen).iter().zip(&plain) {
            let shown = request.shown().pop().unwrap();
            assert!(shown.extra && shown.name == "(capabilities)", "{seen}");
            assert_ne!(request.hash_input, plain.hash_input, "{seen}");
        }
    }
}

/// Any JSON value as text, with white space where it is allowed.
fn value() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        any::<bool>().prop_map(|value| value.to_string()),
        any::<i64>().prop_map(|value| value.to_string()),
        "[a-c]{0,3}".prop_map(|text| quoted(&text)),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(|all| format!("[{}]", all.join(", "))),
            members_of("[a-c]", inner).prop_map(|all| object_of(&all)),
        ]
    })
}

fn members_of(
    names: &'static str,
    value: impl Strategy<Value = String>,
) -> impl Strategy<Value = Vec<(String, String)>> {
    prop::collection::btree_map(names, value, 0..4).prop_map(|all| all.into_iter().collect())
}

fn object_of(members: &[(String, String)]) -> String {
    let members: Vec<String> =
        members.iter().map(|(name, value)| format!("{}: {value}", quoted(name))).collect();
    format!("{{{}}}", members.join(","))
}

type RequestParts = (Vec<(String, String)>, Vec<(String, String)>, Vec<(String, String)>);

fn request_of((arguments, rest, meta): &RequestParts) -> ClientRequest {
    let call = ToolCall {
        rest: rest.iter().map(|(name, value)| (name.as_str().into(), json(value))).collect(),
        meta: Some(json(&object_of(meta))),
        ..ToolCall::new("t".into(), Some(json(&object_of(arguments))))
    };
    ClientRequest::tool(caller(), call).unwrap()
}

/// Everything that reaches the server, by its place in what is shown. The values are in canonical form.
fn sent(request: &ClientRequest) -> Vec<(String, String)> {
    let params = request.params(None);
    let mut all = Vec::new();
    let mut add = |name: String, text: &str| all.push((name, read(text).unwrap().compact()));
    for (name, value) in &params.members {
        if &**name == "arguments" {
            for (name, value) in RawMembers::of(value).unwrap().iter() {
                add(name.to_owned(), value.get());
            }
        } else {
            add(format!("({name})"), value.get());
        }
    }
    for (name, value) in RawMembers::of(params.meta.as_deref().unwrap()).unwrap().iter() {
        if !is_passed_unseen(name, &read(value.get()).unwrap()) {
            add(format!("(_meta)/{name}"), value.get());
        }
    }
    all
}

/// The same as shown to the user.
fn seen(request: &ClientRequest) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for shown in std::iter::once(&*request.arguments).chain(request.extra_members.iter()) {
        let Json::Object(members) = shown else { panic!("no object is shown") };
        for (name, value) in members {
            match value {
                Json::Object(inner) if &**name == "(_meta)" => {
                    all.extend(
                        inner.iter().map(|(name, value)| (format!("(_meta)/{name}"), value.compact())),
                    );
                }
                value => all.push((name.to_string(), value.compact())),
            }
        }
    }
    all
}

proptest! {
    #[test]
    fn shown_members_are_hashed_and_sent(
        one in (members_of("[a-c]", value()), members_of("task|x|inputResponses|requestState", value()), members_of("progressToken|traceparent|a|b", value())),
        other in (members_of("[a-c]", value()), members_of("task|x|inputResponses|requestState", value()), members_of("progressToken|traceparent|a|b", value())),
    ) {
        let (one, other) = (request_of(&one), request_of(&other));
        prop_assert_eq!(sent(&one), seen(&one));
        let hashed = |request: &ClientRequest| (request.hash_input.clone(), request.round.clone());
        if sent(&one) != sent(&other) {
            prop_assert_ne!(hashed(&one), hashed(&other));
        }
        prop_assert_eq!(one.shown().len(), argument_count(&one));
    }
}

fn argument_count(request: &ClientRequest) -> usize {
    let count = |json: &Json| match json {
        Json::Object(members) => members.len(),
        _ => 1,
    };
    count(&request.arguments) + request.extra_members.iter().map(count).sum::<usize>()
}

#[test]
fn rejects_client_supplied_target() {
    let access = |kind, rest: &[(&str, &str)]| {
        ClientRequest::access(
            caller(),
            AccessCall {
                rest: rest.iter().map(|(name, value)| ((*name).into(), json(value))).collect(),
                ..AccessCall::new("s".into(), kind, "file:///a\"b".into(), "x".into())
            },
        )
    };
    let read = access(AccessKind::ReadResource, &[]).unwrap();
    assert_eq!(read.params(None).get("uri").unwrap().get(), r#""file:///a\"b""#);
    assert!(access(AccessKind::ReadResource, &[("uri", "\"file:///other\"")]).is_err());
    assert!(access(AccessKind::GetPrompt, &[("name", "\"other\"")]).is_err());
    assert!(access(AccessKind::CompletePrompt, &[("ref", "{}")]).is_err());
    assert_ne!(read.hash_input, access(AccessKind::Subscribe, &[]).unwrap().hash_input);
}

#[test]
fn a_long_target_is_refused() {
    for (length, is_taken) in [(LONGEST_TARGET, true), (LONGEST_TARGET + 1, false)] {
        let call = AccessCall::new("s".into(), AccessKind::ReadResource, "x".repeat(length), "x".into());
        assert_eq!(ClientRequest::access(caller(), call).is_ok(), is_taken, "{length}");
    }
}
