//! A request as it came in, parsed strictly and only once (PERM-7). From here on, policy, approval request,
//! hash and server all use the same bytes.

use std::future::pending;
use std::sync::{Arc, OnceLock};

use gatehouse_mcp_wire::json::{Json, JsonDefect, read};
use gatehouse_mcp_wire::raw::{Members as RawMembers, object, quoted, raw};
use gatehouse_model::ServerId;
use gatehouse_model::ask::{ShownArgument, Subject};
use gatehouse_policy::show::shown_arguments;
use gatehouse_servers::OutgoingParams;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use crate::call::{AccessCall, AccessKind, CallEnd, Caller, Listening, ToolCall};
use crate::inquiries::ClientAsk;
use crate::progress::Rising;
use crate::rounds::{Carried, Rounds, Step};
use crate::runs::CallKey;
use crate::texts::{Words, rpc_error};

const INVALID_PARAMS: i32 = -32602;
/// Members that carry the next round of a call (input required). They aren't part of the call's identity if
/// they continue a round that Gatehouse knows.
pub(crate) const ROUND: [&str; 2] = ["inputResponses", "requestState"];

const META: &str = "_meta";
/// Members of `_meta` that each connection writes for itself; the client's aren't sent to the server.
const PER_CONNECTION: [&str; 4] = [
    "progressToken",
    "io.modelcontextprotocol/protocolVersion",
    "io.modelcontextprotocol/clientInfo",
    "io.modelcontextprotocol/clientCapabilities",
];
/// Longest id of a client's own that is passed on without being shown.
const LONGEST_ID: usize = 64;
/// Longest URI or name of a target, in bytes: it is announced, listed and recorded with each request.
pub(crate) const LONGEST_TARGET: usize = 8 * 1024;
/// Longest name in logs and errors, in characters.
const LONGEST_SAID: usize = 64;

type Members = Vec<(Box<str>, Box<RawValue>)>;

/// The target of a request.
pub(crate) enum Target {
    /// A tool, by its exposed name.
    Tool(Box<str>),
    /// Another use of a server (see [`AccessKind`]).
    Access { server: ServerId, kind: AccessKind, target: String, exposed: Arc<str> },
}

/// A parsed request, ready to be judged.
pub(crate) struct Request {
    pub(crate) caller: Arc<Caller>,
    pub(crate) target: Target,
    pub(crate) arguments: Arc<Json>,
    /// The text that the call hash covers.
    pub(crate) exact: Box<str>,
    /// The members of a next round, as they are sent; empty if there are none.
    pub(crate) round: Box<str>,
    pub(crate) step: Step,
    /// The round that the request continues, looked up once.
    known_round: OnceLock<Option<(CallKey, Carried)>>,
    /// Size of the arguments in bytes.
    pub(crate) size: usize,
    /// Members that aren't arguments, each as an object of its own; shown and hashed together with the
    /// arguments.
    pub(crate) beside: Arc<[Json]>,
    /// For a tool, its arguments come first; the tool's name is added when the call is sent.
    members: Members,
    meta: Option<Box<RawValue>>,
    pub(crate) progress: Option<Arc<Rising>>,
    /// The client, if it can answer the server's requests.
    pub(crate) asks: Option<Arc<dyn ClientAsk>>,
    pub(crate) listening: Option<Listening>,
    pub(crate) cancel: CancellationToken,
}

fn refused(why: &str) -> CallEnd {
    CallEnd::Error(rpc_error(INVALID_PARAMS, why))
}

/// The response to a call whose target doesn't exist.
pub(crate) fn unknown(what: &str) -> CallEnd {
    refused(what)
}

impl Request {
    /// Parses a tool call.
    ///
    /// # Errors
    /// The response to a malformed call.
    pub(crate) fn tool(caller: Caller, call: ToolCall) -> Result<Self, CallEnd> {
        let ToolCall { exposed_name, arguments, rest, meta, progress, asks, listening, cancel } = call;
        let text = arguments.unwrap_or_else(|| raw("{}".to_owned()));
        let arguments = strict("arguments", text.get())?;
        if !matches!(arguments, Json::Object(_)) {
            return Err(refused("The arguments of a tool call have to be an object."));
        }
        check_rest(&rest, &["name", "arguments"])?;
        let mut exact = String::from(text.get());
        let extras = Extras::read(rest.iter().map(|(name, value)| (&**name, &**value)), meta.as_deref())?;
        exact.push_str(&extras.exact);
        let size = text.get().len();
        let step = Rounds::step(&rest);
        let mut members: Members = Vec::with_capacity(rest.len() + 1);
        members.push(("arguments".into(), text));
        members.extend(rest);
        Ok(Self {
            caller: Arc::new(caller),
            target: Target::Tool(exposed_name.into()),
            arguments: Arc::new(arguments),
            exact: exact.into(),
            round: extras.round.into(),
            step,
            known_round: OnceLock::new(),
            size,
            beside: extras.shown.into(),
            members,
            meta,
            progress: progress.map(|out| Arc::new(Rising::new(out))),
            asks,
            listening,
            cancel,
        })
    }

    /// Parses a request that isn't a tool call.
    ///
    /// # Errors
    /// The response to a malformed request.
    pub(crate) fn access(caller: Caller, call: AccessCall) -> Result<Self, CallEnd> {
        let AccessCall { server, kind, target, exposed_name, rest, meta, progress, asks, listening, cancel } =
            call;
        if target.len() > LONGEST_TARGET {
            return Err(refused(&format!("A URI or name may have {} KiB.", LONGEST_TARGET / 1024)));
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
        check_rest(&rest, &[name])?;
        let step = Rounds::step(&rest);
        let mut members: Members = Vec::with_capacity(rest.len() + 1);
        members.push((name.into(), raw(value)));
        members.extend(rest);
        let text = object(
            members
                .iter()
                .filter(|(name, _)| !ROUND.contains(&&**name))
                .map(|(name, value)| (&**name, &**value)),
        );
        let arguments = strict("params", &text)?;
        // All other members are shown like arguments.
        let round = members.iter().filter(|(name, _)| ROUND.contains(&&**name));
        let extras = Extras::read(round.map(|(name, value)| (&**name, &**value)), meta.as_deref())?;
        Ok(Self {
            caller: Arc::new(caller),
            exact: format!("{}\0{text}{}", kind.method(), extras.exact).into(),
            target: Target::Access { server, kind, target, exposed: exposed_name.into() },
            arguments: Arc::new(arguments),
            round: extras.round.into(),
            step,
            known_round: OnceLock::new(),
            size: text.len(),
            beside: extras.shown.into(),
            members,
            meta,
            progress: progress.map(|out| Arc::new(Rising::new(out))),
            asks,
            listening,
            cancel,
        })
    }

    /// The approval or rule under which the round that this request continues was issued, if Gatehouse issued
    /// or passed on that round for exactly this call. It is looked up, and thereby used up, once.
    pub(crate) fn continues(&self, key: &CallKey, rounds: &Rounds) -> Option<&Carried> {
        if self.round.is_empty() {
            return None;
        }
        let known = self.known_round.get_or_init(|| Some((key.clone(), rounds.take(key, &self.step)?)));
        known.as_ref().filter(|(of, _)| of == key).map(|(_, carried)| carried)
    }

    /// Whether the client isn't there to receive the response.
    pub(crate) fn is_left(&self) -> bool {
        self.cancel.is_cancelled() || self.listening.as_ref().is_some_and(|client| !client.is_there())
    }

    /// Waits until the client is connected (`there`) or disconnected.
    pub(crate) async fn listens(&self, there: bool) {
        match &self.listening {
            Some(client) => client.becomes(there).await,
            None if there => {}
            None => pending().await,
        }
    }

    /// How messages refer to it.
    pub(crate) fn words(&self) -> Words {
        Words::of(&match &self.target {
            Target::Tool(name) => Subject::Tool { name: name.to_string() },
            Target::Access { kind, target, .. } => kind.subject(target),
        })
    }

    /// The JSON-RPC method.
    pub(crate) fn method(&self) -> &'static str {
        match &self.target {
            Target::Tool(_) => "tools/call",
            Target::Access { kind, .. } => kind.method(),
        }
    }

    /// The params as they are sent; `name` is the tool's own name, as its server wrote it.
    pub(crate) fn params(&self, name: Option<&RawValue>) -> OutgoingParams {
        let mut members = Vec::with_capacity(self.members.len() + 1);
        if let Some(name) = name {
            members.push(("name".into(), name.to_owned()));
        }
        members.extend(self.members.iter().cloned());
        OutgoingParams { members, meta: self.meta.clone() }
    }

    /// Everything that the approval request shows: all arguments and what is sent with them.
    pub(crate) fn shown(&self) -> Vec<ShownArgument> {
        let beside = self.beside.iter().flat_map(shown_arguments);
        let beside = beside.map(|shown| ShownArgument { extra: true, ..shown });
        shown_arguments(&self.arguments).into_iter().chain(beside).collect()
    }
}

/// What is sent with the arguments, parsed strictly.
#[derive(Default)]
struct Extras {
    shown: Vec<Json>,
    /// Part of the hash of the call.
    exact: String,
    /// Part of the hash if no known round is continued.
    round: String,
}

impl Extras {
    fn read<'a>(
        members: impl Iterator<Item = (&'a str, &'a RawValue)>,
        meta: Option<&RawValue>,
    ) -> Result<Self, CallEnd> {
        let mut extras = Self::default();
        for (name, value) in members {
            let is_round = ROUND.contains(&name);
            extras.push(name, strict(name, value.get())?);
            extend(if is_round { &mut extras.round } else { &mut extras.exact }, name, value.get());
        }
        let Some(meta) = meta else { return Ok(extras) };
        let Json::Object(all) = strict(META, meta.get())? else {
            return Err(refused("The member “_meta” of the params has to be an object."));
        };
        let raw = RawMembers::of(meta).map_err(|_| refused("The member “_meta” cannot be read safely."))?;
        let seen: Vec<_> = all.into_iter().filter(|(name, value)| !is_passed_unseen(name, value)).collect();
        for (name, _) in &seen {
            let value = raw.get(name).map_or("", RawValue::get);
            extend(&mut extras.exact, &format!("{META}/{name}"), value);
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
fn extend(exact: &mut String, name: &str, value: &str) {
    exact.push('\0');
    exact.push_str(&quoted(name));
    exact.push_str(value);
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
            text.len() <= LONGEST_ID && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b))
        }
        name => PER_CONNECTION.contains(&name),
    }
}

/// A name, cut for logs and errors.
pub(crate) fn cut(name: &str) -> &str {
    let end = name.char_indices().nth(LONGEST_SAID).map(|(at, _)| at);
    end.and_then(|end| name.get(..end)).unwrap_or(name)
}

fn short(defect: JsonDefect) -> JsonDefect {
    match defect {
        JsonDefect::DuplicateKey { pointer } => {
            JsonDefect::DuplicateKey { pointer: cut(&pointer).to_owned() }
        }
        JsonDefect::LoneSurrogate { pointer } => {
            JsonDefect::LoneSurrogate { pointer: cut(&pointer).to_owned() }
        }
        other @ (JsonDefect::Malformed { .. } | JsonDefect::TooDeep) => other,
    }
}

fn strict(what: &str, text: &str) -> Result<Json, CallEnd> {
    read(text).map_err(|defect| {
        let (what, defect) = (cut(what), short(defect));
        tracing::info!(%defect, "a call was refused before it was judged");
        refused(&format!("The {what} of this call cannot be read safely: {defect}."))
    })
}

/// Checks that none of the other members is one that Gatehouse writes itself, or a duplicate.
fn check_rest(rest: &Members, own: &[&str]) -> Result<(), CallEnd> {
    for (index, (name, value)) in rest.iter().enumerate() {
        if own.contains(&&**name) || &**name == META {
            return Err(refused(&format!("The member “{name}” of the params is there twice.")));
        }
        if rest.iter().take(index).any(|(other, _)| other == name) {
            return Err(refused("A member of the params is there twice."));
        }
        strict(name, value.get())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use gatehouse_model::{ClientEntry, Timestamp};
    use proptest::prelude::*;

    use super::*;
    use crate::call::Era;
    use crate::peer::Peer;

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
            says: None,
            peer: Peer::unseen(),
            era: Era::Stateless,
        }
    }

    fn json(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    fn tool(arguments: Option<&str>, rest: &[(&str, &str)]) -> Result<Request, CallEnd> {
        Request::tool(
            caller(),
            ToolCall {
                exposed_name: "t".into(),
                arguments: arguments.map(json),
                rest: rest.iter().map(|(name, value)| ((*name).into(), json(value))).collect(),
                meta: None,
                progress: None,
                asks: None,
                listening: None,
                cancel: CancellationToken::new(),
            },
        )
    }

    #[test]
    fn what_is_judged_is_what_is_sent() {
        let text = r#"{ "n":12345678901234567890, "z":null,"a":1.0e5 }"#;
        let request = tool(Some(text), &[("task", r#"{"ttl": 1}"#)]).unwrap();
        let sent = request.params(Some(&json("\"own\"")));
        assert_eq!(sent.get("arguments").unwrap().get(), text);
        assert_eq!(sent.get("name").unwrap().get(), "\"own\"");
        assert_eq!(sent.get("task").unwrap().get(), r#"{"ttl": 1}"#);
        assert!(request.exact.starts_with(text));
        assert_eq!(tool(None, &[]).unwrap().params(None).get("arguments").unwrap().get(), "{}");
    }

    #[test]
    fn defects_are_refused_before_anything_is_judged() {
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
                Err(CallEnd::Error(error)) => assert!(error.get().contains("-32602"), "{}", error.get()),
                _ => panic!("{arguments} {rest:?}"),
            }
        }
    }

    #[test]
    fn rounds_are_the_same_call_and_other_members_are_not() {
        let exact = |rest: &[(&str, &str)]| tool(Some("{}"), rest).unwrap().exact;
        let round = tool(Some("{}"), &[("inputResponses", "{}"), ("requestState", "\"s\"")]).unwrap();
        assert_eq!((exact(&[]), 2), (round.exact.clone(), round.shown().len()));
        assert!(round.round.contains("inputResponses") && round.round.contains("\"s\""));
        assert!(round.shown().iter().all(|shown| shown.extra));
        assert_ne!(exact(&[]), exact(&[("task", "{}")]));
        assert_ne!(exact(&[("task", "{}")]), exact(&[("task", "{\"ttl\":1}")]));
    }

    fn with_meta(meta: &str) -> Request {
        let call = ToolCall {
            exposed_name: "t".into(),
            arguments: Some(json("{}")),
            rest: Vec::new(),
            meta: Some(json(meta)),
            progress: None,
            asks: None,
            listening: None,
            cancel: CancellationToken::new(),
        };
        Request::tool(caller(), call).unwrap()
    }

    #[test]
    fn long_names_are_cut_where_they_are_said() {
        let long = "é".repeat(1000);
        assert_eq!(cut(&long), "é".repeat(64));
        assert_eq!(cut("short"), "short");
        let twice = format!(r#"{{"{long}":1,"{long}":2}}"#);
        let Err(CallEnd::Error(said)) = strict(&long, &twice) else { panic!("it was read") };
        assert!(said.get().chars().count() < 300 && said.get().contains("twice"), "{}", said.get());
    }

    #[test]
    fn what_meta_says_is_shown_and_hashed_unless_its_form_is_fixed() {
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
            assert_eq!(request.exact, with_meta("{}").exact, "{unseen}");
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
            assert_ne!(request.exact, with_meta("{}").exact, "{seen}");
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

    type Parts = (Vec<(String, String)>, Vec<(String, String)>, Vec<(String, String)>);

    fn request_of((arguments, rest, meta): &Parts) -> Request {
        let call = ToolCall {
            exposed_name: "t".into(),
            arguments: Some(json(&object_of(arguments))),
            rest: rest.iter().map(|(name, value)| (name.as_str().into(), json(value))).collect(),
            meta: Some(json(&object_of(meta))),
            progress: None,
            asks: None,
            listening: None,
            cancel: CancellationToken::new(),
        };
        Request::tool(caller(), call).unwrap()
    }

    /// Everything that reaches the server, by its place in what is shown. The values are in canonical form.
    fn sent(request: &Request) -> Vec<(String, String)> {
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
    fn seen(request: &Request) -> Vec<(String, String)> {
        let mut all = Vec::new();
        for shown in std::iter::once(&*request.arguments).chain(request.beside.iter()) {
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
        fn what_is_shown_is_hashed_and_sent(
            one in (members_of("[a-c]", value()), members_of("task|x|inputResponses|requestState", value()), members_of("progressToken|traceparent|a|b", value())),
            other in (members_of("[a-c]", value()), members_of("task|x|inputResponses|requestState", value()), members_of("progressToken|traceparent|a|b", value())),
        ) {
            let (one, other) = (request_of(&one), request_of(&other));
            prop_assert_eq!(sent(&one), seen(&one));
            let hashed = |request: &Request| (request.exact.clone(), request.round.clone());
            if sent(&one) != sent(&other) {
                prop_assert_ne!(hashed(&one), hashed(&other));
            }
            prop_assert_eq!(one.shown().len(), argument_count(&one));
        }
    }

    fn argument_count(request: &Request) -> usize {
        let count = |json: &Json| match json {
            Json::Object(members) => members.len(),
            _ => 1,
        };
        count(&request.arguments) + request.beside.iter().map(count).sum::<usize>()
    }

    #[test]
    fn the_target_is_written_by_gatehouse_alone() {
        let access = |kind, rest: &[(&str, &str)]| {
            Request::access(
                caller(),
                AccessCall {
                    server: "s".into(),
                    kind,
                    target: "file:///a\"b".into(),
                    exposed_name: "x".into(),
                    rest: rest.iter().map(|(name, value)| ((*name).into(), json(value))).collect(),
                    meta: None,
                    progress: None,
                    asks: None,
                    listening: None,
                    cancel: CancellationToken::new(),
                },
            )
        };
        let read = access(AccessKind::ReadResource, &[]).unwrap();
        assert_eq!(read.params(None).get("uri").unwrap().get(), r#""file:///a\"b""#);
        assert!(access(AccessKind::ReadResource, &[("uri", "\"file:///other\"")]).is_err());
        assert!(access(AccessKind::GetPrompt, &[("name", "\"other\"")]).is_err());
        assert!(access(AccessKind::CompletePrompt, &[("ref", "{}")]).is_err());
        assert_ne!(read.exact, access(AccessKind::Subscribe, &[]).unwrap().exact);
    }

    #[test]
    fn a_long_target_is_refused() {
        for (length, is_taken) in [(LONGEST_TARGET, true), (LONGEST_TARGET + 1, false)] {
            let call = AccessCall {
                server: "s".into(),
                kind: AccessKind::ReadResource,
                target: "x".repeat(length),
                exposed_name: "x".into(),
                rest: Vec::new(),
                meta: None,
                progress: None,
                asks: None,
                listening: None,
                cancel: CancellationToken::new(),
            };
            assert_eq!(Request::access(caller(), call).is_ok(), is_taken, "{length}");
        }
    }
}
