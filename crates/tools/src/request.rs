//! One request as it came in, read strictly once (PERM-7). From here on the same bytes go to policy,
//! prompt, hash and server.

use std::sync::Arc;

use gatehouse_model::ServerId;
use gatehouse_model::ask::{ShownArgument, Subject};
use gatehouse_policy::json::{Json, read};
use gatehouse_policy::show::shown_arguments;
use gatehouse_servers::OutgoingParams;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use crate::call::{AccessCall, AccessKind, CallEnd, Caller, ToolCall};
use crate::inquiries::ClientAsk;
use crate::progress::Rising;
use crate::raw::{object, quoted, raw};
use crate::rounds::{Rounds, Step};
use crate::texts::{Words, rpc_error};

const INVALID_PARAMS: i32 = -32602;
/// Members that carry a call's next round; not part of what the call is.
pub(crate) const ROUND: [&str; 2] = ["inputResponses", "requestState"];

type Members = Vec<(Box<str>, Box<RawValue>)>;

/// What is wanted.
pub(crate) enum Target {
    /// A tool by its exposed name.
    Tool(Box<str>),
    /// Something else of a server.
    Access { server: ServerId, kind: AccessKind, target: String, exposed: Arc<str> },
}

/// A request that may be judged.
pub(crate) struct Request {
    pub(crate) caller: Arc<Caller>,
    pub(crate) target: Target,
    pub(crate) arguments: Arc<Json>,
    /// What the hash is over.
    pub(crate) exact: Box<str>,
    pub(crate) step: Step,
    /// Bytes of the arguments.
    pub(crate) size: usize,
    /// Members that are neither arguments nor a round's, each as an object of its own: shown and hashed
    /// with the arguments.
    pub(crate) beside: Arc<[Json]>,
    /// For a tool its arguments come first; its name is written when it is sent.
    members: Members,
    meta: Option<Box<RawValue>>,
    pub(crate) progress: Option<Arc<Rising>>,
    /// The client, where it can be asked.
    pub(crate) asks: Option<Arc<dyn ClientAsk>>,
    pub(crate) cancel: CancellationToken,
}

fn refused(why: &str) -> CallEnd {
    CallEnd::Error(rpc_error(INVALID_PARAMS, why))
}

/// A call for something that is not there.
pub(crate) fn unknown(what: &str) -> CallEnd {
    refused(what)
}

impl Request {
    /// Reads a tool call.
    ///
    /// # Errors
    /// The answer to a call that cannot be judged as it is.
    pub(crate) fn tool(caller: Caller, call: ToolCall) -> Result<Self, CallEnd> {
        let ToolCall { exposed_name, arguments, rest, meta, progress, asks, cancel } = call;
        let text = arguments.unwrap_or_else(|| raw("{}".to_owned()));
        let arguments = strict("arguments", text.get())?;
        if !matches!(arguments, Json::Object(_)) {
            return Err(refused("The arguments of a tool call have to be an object."));
        }
        let others = check_rest(&rest, &["name", "arguments"])?;
        let step = Rounds::step(&rest);
        let mut exact = String::from(text.get());
        let mut beside = Vec::new();
        for index in others {
            if let Some((name, value)) = rest.get(index) {
                let shown = strict(name, value.get())?;
                beside.push(Json::Object(vec![(format!("({name})").into(), shown)]));
                // JSON text holds no NUL, so this cannot be mistaken for arguments.
                exact.push('\0');
                exact.push_str(&quoted(name));
                exact.push_str(value.get());
            }
        }
        let size = text.get().len();
        let mut members: Members = Vec::with_capacity(rest.len() + 1);
        members.push(("arguments".into(), text));
        members.extend(rest);
        Ok(Self {
            caller: Arc::new(caller),
            target: Target::Tool(exposed_name.into()),
            arguments: Arc::new(arguments),
            exact: exact.into(),
            step,
            size,
            beside: beside.into(),
            members,
            meta,
            progress: progress.map(|out| Arc::new(Rising::new(out))),
            asks,
            cancel,
        })
    }

    /// Reads a request for something else.
    ///
    /// # Errors
    /// The answer to a request that cannot be judged as it is.
    pub(crate) fn access(caller: Caller, call: AccessCall) -> Result<Self, CallEnd> {
        let AccessCall { server, kind, target, exposed_name, rest, meta, progress, asks, cancel } = call;
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
        Ok(Self {
            caller: Arc::new(caller),
            exact: format!("{}\0{text}", kind.method()).into(),
            target: Target::Access { server, kind, target, exposed: exposed_name.into() },
            arguments: Arc::new(arguments),
            step,
            size: text.len(),
            beside: Arc::default(),
            members,
            meta,
            progress: progress.map(|out| Arc::new(Rising::new(out))),
            asks,
            cancel,
        })
    }

    /// How it is spoken of.
    pub(crate) fn words(&self) -> Words {
        Words::of(&match &self.target {
            Target::Tool(name) => Subject::Tool { name: name.to_string() },
            Target::Access { kind, target, .. } => kind.subject(target),
        })
    }

    /// The method on the wire.
    pub(crate) fn method(&self) -> &'static str {
        match &self.target {
            Target::Tool(_) => "tools/call",
            Target::Access { kind, .. } => kind.method(),
        }
    }

    /// The params as they are sent; `name` is the tool's own name as its server wrote it.
    pub(crate) fn params(&self, name: Option<&RawValue>) -> OutgoingParams {
        let mut members = Vec::with_capacity(self.members.len() + 1);
        if let Some(name) = name {
            members.push(("name".into(), name.to_owned()));
        }
        members.extend(self.members.iter().cloned());
        OutgoingParams { members, meta: self.meta.clone() }
    }

    /// Everything that the prompt shows: the whole arguments and whatever else goes with them.
    pub(crate) fn shown(&self) -> Vec<ShownArgument> {
        let beside = self.beside.iter().flat_map(shown_arguments);
        shown_arguments(&self.arguments).into_iter().chain(beside).collect()
    }
}

fn strict(what: &str, text: &str) -> Result<Json, CallEnd> {
    read(text).map_err(|defect| {
        tracing::info!(%defect, "a call was refused before it was judged");
        refused(&format!("The {what} of this call cannot be read safely: {defect}."))
    })
}

/// Checks the other members, and says which of them belong to what the call is.
fn check_rest(rest: &Members, own: &[&str]) -> Result<Vec<usize>, CallEnd> {
    let mut others = Vec::new();
    for (index, (name, value)) in rest.iter().enumerate() {
        if own.contains(&&**name) || &**name == "_meta" {
            return Err(refused(&format!("The member “{name}” of the params is there twice.")));
        }
        if rest.iter().take(index).any(|(other, _)| other == name) {
            return Err(refused("A member of the params is there twice."));
        }
        strict(name, value.get())?;
        if !ROUND.contains(&&**name) {
            others.push(index);
        }
    }
    Ok(others)
}

#[cfg(test)]
mod tests {
    use gatehouse_model::{ClientEntry, Timestamp};

    use super::*;
    use crate::call::Era;

    fn caller() -> Caller {
        let client = ClientEntry {
            id: "c".into(),
            name: "C".into(),
            token_sha256: String::new(),
            created: Timestamp(0),
        };
        Caller { client: Arc::new(client), session: None, says: None, seen_from: None, era: Era::Stateless }
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
        assert_eq!(exact(&[]), exact(&[("inputResponses", "{}"), ("requestState", "\"s\"")]));
        assert_ne!(exact(&[]), exact(&[("task", "{}")]));
        assert_ne!(exact(&[("task", "{}")]), exact(&[("task", "{\"ttl\":1}")]));
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
}
