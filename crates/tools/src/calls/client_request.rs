//! A request as it came in, parsed strictly and only once (PERM-7). From here on, policy, approval request,
//! hash and server all use the same bytes.

use std::future::pending;
use std::sync::{Arc, OnceLock};

use gatehouse_mcp_wire::json::{Json, JsonDefect, read};
use gatehouse_mcp_wire::raw::{Members as RawMembers, object, quoted, raw};
use gatehouse_model::ServerId;
use gatehouse_model::approval::{ShownArgument, Subject};
use gatehouse_policy::display::render_arguments;
use gatehouse_servers::RequestParams;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use crate::call_types::call_key::CallKey;
use crate::call_types::client_peer::ClientPeer;
use crate::call_types::response::{CallResponse, FinishedCall, NOT_RUN, rpc_error};
use crate::call_types::{
    AccessCall, AccessKind, Caller, ClientPresence, LONGEST_TARGET, ToolCall, shorten_name,
};
use crate::calls::input_required::{CarriedApproval, OpenRounds, RoundStep};
use crate::calls::progress::ProgressReporter;
use crate::calls::refusal_messages::SubjectWording;

const INVALID_PARAMS: i32 = -32602;
/// Members that carry the next round of a call (input required). They aren't part of the call's identity if
/// they continue a round that Gatehouse knows.
pub(crate) const ROUND_MEMBERS: [&str; 2] = ["inputResponses", "requestState"];

const META: &str = "_meta";
/// Members of `_meta` that each connection writes for itself; the client's aren't sent to the server.
const PER_CONNECTION: [&str; 4] = [
    "progressToken",
    "io.modelcontextprotocol/protocolVersion",
    "io.modelcontextprotocol/clientInfo",
    "io.modelcontextprotocol/clientCapabilities",
];
/// Longest id of a client's own that is passed on without being shown.
const MAX_ID_LEN: usize = 64;
type ParamMembers = Vec<(Box<str>, Box<RawValue>)>;

pub(crate) enum RequestTarget {
    /// A tool, by its exposed name.
    Tool(Box<str>),
    /// Another use of a server (see [`AccessKind`]).
    Access { server: ServerId, kind: AccessKind, target: String, exposed: Arc<str> },
}

impl RequestTarget {
    /// The end of a request for this target: only tool results have `isError`, so for anything else a message
    /// of Gatehouse's own becomes an error.
    pub(crate) fn fit(&self, finished: FinishedCall) -> FinishedCall {
        match (self, &finished.own_text) {
            (Self::Access { .. }, Some(text)) => {
                FinishedCall { end: CallResponse::Error(rpc_error(NOT_RUN, text)), ..finished }
            }
            (Self::Access { .. }, None) | (Self::Tool(_), _) => finished,
        }
    }
}

/// A parsed request, ready to be judged.
pub(crate) struct ClientRequest {
    pub(crate) caller: Arc<Caller>,
    pub(crate) target: RequestTarget,
    pub(crate) arguments: Arc<Json>,
    /// The text that the call hash covers.
    pub(crate) hash_input: Box<str>,
    /// The members of a next round, as they are sent; empty if there are none.
    pub(crate) round: Box<str>,
    pub(crate) step: RoundStep,
    /// The round that the request continues, looked up once.
    known_round: OnceLock<Option<(CallKey, CarriedApproval)>>,
    /// Size of the arguments in bytes.
    pub(crate) size: usize,
    /// Members that aren't arguments, each as an object of its own; shown and hashed together with the
    /// arguments.
    pub(crate) extra_members: Arc<[Json]>,
    /// For a tool, its arguments come first; the tool's name is added when the call is sent.
    members: ParamMembers,
    meta: Option<Box<RawValue>>,
    pub(crate) progress: Option<Arc<ProgressReporter>>,
    /// The client, if it can answer the server's requests.
    pub(crate) client_peer: Option<Arc<dyn ClientPeer>>,
    pub(crate) presence: Option<ClientPresence>,
    pub(crate) cancel: CancellationToken,
}

fn invalid_params(why: &str) -> CallResponse {
    CallResponse::Error(rpc_error(INVALID_PARAMS, why))
}

/// The response to a call whose target doesn't exist.
pub(crate) fn not_found(what: &str) -> CallResponse {
    invalid_params(what)
}

impl ClientRequest {
    /// Parses a tool call.
    pub(crate) fn tool(caller: Caller, call: ToolCall) -> Result<Self, CallResponse> {
        let ToolCall { exposed_name, arguments, rest, meta, progress, client_peer, presence, cancel } = call;
        let text = arguments.unwrap_or_else(|| raw("{}".to_owned()));
        let arguments = parse_strict("arguments", text.get())?;
        if !matches!(arguments, Json::Object(_)) {
            return Err(invalid_params("The arguments of a tool call have to be an object."));
        }
        validate_members(&rest, &["name", "arguments"])?;
        let mut hash_input = String::from(text.get());
        let extras =
            ExtraMembers::read(rest.iter().map(|(name, value)| (&**name, &**value)), meta.as_deref())?;
        hash_input.push_str(&extras.hash_input);
        let size = text.get().len();
        let step = OpenRounds::step(&rest);
        let mut members: ParamMembers = Vec::with_capacity(rest.len() + 1);
        members.push(("arguments".into(), text));
        members.extend(rest);
        Ok(Self {
            caller: Arc::new(caller),
            target: RequestTarget::Tool(exposed_name.into()),
            arguments: Arc::new(arguments),
            hash_input: hash_input.into(),
            round: extras.round.into(),
            step,
            known_round: OnceLock::new(),
            size,
            extra_members: extras.shown.into(),
            members,
            meta,
            progress: progress.map(|out| Arc::new(ProgressReporter::new(out))),
            client_peer,
            presence,
            cancel,
        })
    }

    /// Parses a request that isn't a tool call.
    pub(crate) fn access(caller: Caller, call: AccessCall) -> Result<Self, CallResponse> {
        let AccessCall {
            server,
            kind,
            target,
            exposed_name,
            rest,
            meta,
            progress,
            client_peer,
            presence,
            cancel,
        } = call;
        if target.len() > LONGEST_TARGET {
            return Err(invalid_params(&format!("A URI or name may have {} KiB.", LONGEST_TARGET / 1024)));
        }
        let (name, value) = match kind {
            AccessKind::ReadResource | AccessKind::Subscribe => ("uri", quoted(&target)),
            AccessKind::GetPrompt => ("name", quoted(&target)),
            AccessKind::CompletePrompt => {
                ("ref", format!(r#"{{"type":"ref/prompt","name":{}}}"#, quoted(&target)))
            }
            AccessKind::CompleteResource => {
                ("ref", format!(r#"{{"type":"ref/resource","uri":{}}}"#, quoted(&target)))
            }
        };
        validate_members(&rest, &[name])?;
        let step = OpenRounds::step(&rest);
        let mut members: ParamMembers = Vec::with_capacity(rest.len() + 1);
        members.push((name.into(), raw(value)));
        members.extend(rest);
        let text = object(
            members
                .iter()
                .filter(|(name, _)| !ROUND_MEMBERS.contains(&&**name))
                .map(|(name, value)| (&**name, &**value)),
        );
        let arguments = parse_strict("params", &text)?;
        // All other members are shown like arguments.
        let round = members.iter().filter(|(name, _)| ROUND_MEMBERS.contains(&&**name));
        let extras = ExtraMembers::read(round.map(|(name, value)| (&**name, &**value)), meta.as_deref())?;
        Ok(Self {
            caller: Arc::new(caller),
            hash_input: format!("{}\0{text}{}", kind.method(), extras.hash_input).into(),
            target: RequestTarget::Access { server, kind, target, exposed: exposed_name.into() },
            arguments: Arc::new(arguments),
            round: extras.round.into(),
            step,
            known_round: OnceLock::new(),
            size: text.len(),
            extra_members: extras.shown.into(),
            members,
            meta,
            progress: progress.map(|out| Arc::new(ProgressReporter::new(out))),
            client_peer,
            presence,
            cancel,
        })
    }

    /// The approval or rule under which the round that this request continues was issued, if Gatehouse issued
    /// or passed on that round for exactly this call. It is looked up, and thereby used up, once.
    pub(crate) fn continued_round(&self, key: &CallKey, rounds: &OpenRounds) -> Option<&CarriedApproval> {
        if self.round.is_empty() {
            return None;
        }
        let known = self.known_round.get_or_init(|| Some((key.clone(), rounds.take(key, &self.step)?)));
        known.as_ref().filter(|(of, _)| of == key).map(|(_, carried)| carried)
    }

    /// Whether the client isn't there to receive the response.
    pub(crate) fn is_client_gone(&self) -> bool {
        self.cancel.is_cancelled() || self.presence.as_ref().is_some_and(|client| !client.is_present())
    }

    /// Waits until the client is connected (`there`) or disconnected.
    pub(crate) async fn wait_for_client(&self, there: bool) {
        match &self.presence {
            Some(client) => client.wait_for_presence(there).await,
            None if there => {}
            None => pending().await,
        }
    }

    /// How messages refer to it.
    pub(crate) fn words(&self) -> SubjectWording {
        SubjectWording::of(&match &self.target {
            RequestTarget::Tool(name) => Subject::Tool { name: name.to_string() },
            RequestTarget::Access { kind, target, .. } => kind.subject(target),
        })
    }

    /// The JSON-RPC method.
    pub(crate) fn method(&self) -> &'static str {
        match &self.target {
            RequestTarget::Tool(_) => "tools/call",
            RequestTarget::Access { kind, .. } => kind.method(),
        }
    }

    /// The params as they are sent; `name` is the tool's own name, as its server wrote it.
    pub(crate) fn params(&self, name: Option<&RawValue>) -> RequestParams {
        let mut members = Vec::with_capacity(self.members.len() + 1);
        if let Some(name) = name {
            members.push(("name".into(), name.to_owned()));
        }
        members.extend(self.members.iter().cloned());
        RequestParams { members, meta: self.meta.clone() }
    }

    /// Everything that the approval request shows: all arguments and what is sent with them.
    pub(crate) fn shown(&self) -> Vec<ShownArgument> {
        let extra = self.extra_members.iter().flat_map(render_arguments);
        let extra = extra.map(|shown| ShownArgument { extra: true, ..shown });
        render_arguments(&self.arguments).into_iter().chain(extra).collect()
    }
}

/// What is sent with the arguments, parsed strictly.
#[derive(Default)]
struct ExtraMembers {
    shown: Vec<Json>,
    /// Part of the hash of the call.
    hash_input: String,
    /// Part of the hash if no known round is continued.
    round: String,
}

impl ExtraMembers {
    fn read<'a>(
        members: impl Iterator<Item = (&'a str, &'a RawValue)>,
        meta: Option<&RawValue>,
    ) -> Result<Self, CallResponse> {
        let mut extras = Self::default();
        for (name, value) in members {
            let is_round = ROUND_MEMBERS.contains(&name);
            extras.push(name, parse_strict(name, value.get())?);
            extend(if is_round { &mut extras.round } else { &mut extras.hash_input }, name, value.get());
        }
        let Some(meta) = meta else { return Ok(extras) };
        let Json::Object(all) = parse_strict(META, meta.get())? else {
            return Err(invalid_params("The member “_meta” of the params has to be an object."));
        };
        let raw =
            RawMembers::of(meta).map_err(|_| invalid_params("The member “_meta” cannot be read safely."))?;
        let seen: Vec<_> = all.into_iter().filter(|(name, value)| !is_passed_unseen(name, value)).collect();
        for (name, _) in &seen {
            let value = raw.get(name).map_or("", RawValue::get);
            extend(&mut extras.hash_input, &format!("{META}/{name}"), value);
        }
        if !seen.is_empty() {
            extras.push(META, Json::Object(seen));
        }
        Ok(extras)
    }

    fn push(&mut self, name: &str, value: Json) {
        self.shown.push(Json::Object(vec![(format!("({name})").into(), value)]));
    }
}

/// Appends a member. JSON text contains no NUL, so the parts can't be confused.
fn extend(hash_input: &mut String, name: &str, value: &str) {
    hash_input.push('\0');
    hash_input.push_str(&quoted(name));
    hash_input.push_str(value);
}

/// Whether a member of `_meta` needn't be shown: it is rewritten by each connection, or has a fixed form that
/// is meaningless to a user and may differ each time (trace parent, log level, a client's own id of the call).
fn is_passed_unseen(name: &str, value: &Json) -> bool {
    let Json::String(text) = value else { return PER_CONNECTION.contains(&name) };
    let is_hex = |part: &str, length| {
        part.len() == length && part.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
    };
    match name {
        "traceparent" => {
            let parts: Vec<&str> = text.split('-').collect();
            matches!(parts[..], [version, trace, span, flags]
                if is_hex(version, 2) && is_hex(trace, 32) && is_hex(span, 16) && is_hex(flags, 2))
        }
        "io.modelcontextprotocol/logLevel" => text.bytes().all(|b| b.is_ascii_lowercase()) && text.len() <= 9,
        "claudecode/toolUseId" => {
            text.len() <= MAX_ID_LEN && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b))
        }
        name => PER_CONNECTION.contains(&name),
    }
}

fn shorten_defect(defect: JsonDefect) -> JsonDefect {
    match defect {
        JsonDefect::DuplicateKey { pointer } => {
            JsonDefect::DuplicateKey { pointer: shorten_name(&pointer).to_owned() }
        }
        JsonDefect::LoneSurrogate { pointer } => {
            JsonDefect::LoneSurrogate { pointer: shorten_name(&pointer).to_owned() }
        }
        other @ (JsonDefect::Malformed { .. } | JsonDefect::TooDeep) => other,
    }
}

fn parse_strict(what: &str, text: &str) -> Result<Json, CallResponse> {
    read(text).map_err(|defect| {
        let (what, defect) = (shorten_name(what), shorten_defect(defect));
        tracing::info!(%defect, "a call was refused before it was judged");
        invalid_params(&format!("The {what} of this call cannot be read safely: {defect}."))
    })
}

/// Checks that none of the other members is one that Gatehouse writes itself, or a duplicate.
fn validate_members(rest: &ParamMembers, own: &[&str]) -> Result<(), CallResponse> {
    for (index, (name, value)) in rest.iter().enumerate() {
        if own.contains(&&**name) || &**name == META {
            return Err(invalid_params(&format!("The member “{name}” of the params is there twice.")));
        }
        if rest.iter().take(index).any(|(other, _)| other == name) {
            return Err(invalid_params("A member of the params is there twice."));
        }
        parse_strict(name, value.get())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use gatehouse_model::{ClientEntry, Timestamp};
    use proptest::prelude::*;

    use super::*;
    use crate::call_types::ProtocolFamily;
    use crate::call_types::peer::Peer;

    fn caller() -> Caller {
        let client = ClientEntry {
            id: "c".into(),
            name: "C".into(),
            token_sha256: String::new(),
            created: Timestamp(0),
        };
        Caller {
            client: Arc::new(client),
            session: None,
            client_info: None,
            peer: Peer::unseen(),
            protocol_family: ProtocolFamily::Stateless,
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
        assert_eq!(tool(None, &[]).unwrap().params(None).get("arguments").unwrap().get(), "{}");
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
}
