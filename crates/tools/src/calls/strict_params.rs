//! The members of a request's params, read strictly: none is there twice at any depth, and what isn't shown to the user
//! has a fixed form. It never changes a byte of what is sent.

use gatehouse_mcp_wire::json::{Json, JsonDefect, read};
use gatehouse_mcp_wire::raw::{Members as RawMembers, object, quoted, raw};
use gatehouse_mcp_wire::tasks::TASKS_EXTENSION;
use gatehouse_policy::display::masked_json;
use serde_json::value::RawValue;

use crate::call_types::client_peer::ClientPeer;
use crate::call_types::response::{CallResponse, rpc_error};
use crate::call_types::shorten_name;

const INVALID_PARAMS: i32 = -32602;
/// Members that carry the next round of a call (input required). They aren't part of the call's identity if
/// they continue a round that Gatehouse knows.
pub(super) const ROUND_MEMBERS: [&str; 2] = ["inputResponses", "requestState"];

const META: &str = "_meta";
/// Members of `_meta` that each connection writes for itself; the client's aren't sent to the server. What a server is
/// told of its capabilities is read from the [`ClientPeer`].
const PER_CONNECTION: [&str; 4] = [
    "progressToken",
    "io.modelcontextprotocol/protocolVersion",
    "io.modelcontextprotocol/clientInfo",
    "io.modelcontextprotocol/clientCapabilities",
];
/// The names in declared capabilities that are passed on without being shown.
const CAPABILITY_NAMES: [&str; 18] = [
    "roots",
    "listChanged",
    "sampling",
    "context",
    "tools",
    "elicitation",
    "form",
    "url",
    "applyDefaults",
    "tasks",
    "list",
    "cancel",
    "requests",
    "createMessage",
    "create",
    "experimental",
    "extensions",
    TASKS_EXTENSION,
];
/// Longest text of capabilities that are passed on without being shown, in bytes.
pub(super) const MAX_UNSEEN_CAPABILITIES: usize = 256;
/// Longest id of a client's own that is passed on without being shown.
const MAX_ID_LEN: usize = 64;
/// Members of the params in the order in which they came, each as its bytes.
pub(super) type ParamMembers = Vec<(Box<str>, Box<RawValue>)>;

pub(super) fn invalid_params(why: &str) -> CallResponse {
    CallResponse::Error(rpc_error(INVALID_PARAMS, why))
}

/// What is sent with the arguments, parsed strictly.
#[derive(Default)]
pub(super) struct ExtraMembers {
    pub(super) shown: Vec<Json>,
    /// Part of the hash of the call.
    pub(super) hash_input: String,
    /// Part of the hash if no known round is continued.
    pub(super) round: String,
}

impl ExtraMembers {
    pub(super) fn read<'a>(
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

    /// Adds the capabilities that a server is told of with the call, unless they are nothing but those of the protocol:
    /// other members may hold any data, so they are approved with the call.
    pub(super) fn add_capabilities(&mut self, client: Option<&dyn ClientPeer>) -> Result<(), CallResponse> {
        let Some(declared) = client.map(|client| client.capabilities()) else { return Ok(()) };
        let capabilities = parse_strict("capabilities", declared.get())?;
        if declared.get().len() > MAX_UNSEEN_CAPABILITIES || !is_of_the_protocol(&capabilities) {
            self.push("capabilities", capabilities);
            // No name begins like this, so they can't be taken for a member.
            self.hash_input.push_str("\0\0");
            self.hash_input.push_str(declared.get());
        }
        Ok(())
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
pub(super) fn is_passed_unseen(name: &str, value: &Json) -> bool {
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

/// Whether capabilities consist only of names of the protocol and switches.
fn is_of_the_protocol(capabilities: &Json) -> bool {
    match capabilities {
        Json::Object(members) => members
            .iter()
            .all(|(name, value)| CAPABILITY_NAMES.contains(&&**name) && is_of_the_protocol(value)),
        Json::Null | Json::Bool(_) => true,
        Json::Number(_) | Json::String(_) | Json::Array(_) => false,
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

pub(super) fn parse_strict(what: &str, text: &str) -> Result<Json, CallResponse> {
    read(text).map_err(|defect| {
        let (what, defect) = (shorten_name(what), shorten_defect(defect));
        tracing::info!(%defect, "a call was refused before it was judged");
        invalid_params(&format!("The {what} of this call cannot be read safely: {defect}."))
    })
}

/// The arguments of a call as JSON text with what may be a secret masked, as records have them; `None` if they can't be read
/// strictly.
#[must_use]
pub fn masked_arguments(arguments: &RawValue) -> Option<String> {
    read(arguments.get()).ok().map(|arguments| masked_json(&arguments))
}

/// The `ref` of a completion, with its type and the target as Gatehouse writes them.
pub(super) fn reference(
    kind: &str,
    member: &str,
    target: &str,
    others: &ParamMembers,
) -> Result<String, CallResponse> {
    validate_members(others, &["type", member])?;
    let (kind, target) = (raw(quoted(kind)), raw(quoted(target)));
    let own = [("type", &*kind), (member, &*target)];
    Ok(object(own.into_iter().chain(others.iter().map(|(name, value)| (&**name, &**value)))))
}

/// Checks that none of the other members is one that Gatehouse writes itself, or a duplicate.
pub(super) fn validate_members(rest: &ParamMembers, own: &[&str]) -> Result<(), CallResponse> {
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
