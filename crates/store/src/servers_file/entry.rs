//! One entry of `servers.json`: parsing, validation and formatting.

use std::collections::BTreeMap;

use gatehouse_mcp_wire::json::{self, JsonDefect};
use gatehouse_mcp_wire::raw::{Members, WrittenMembers};
use gatehouse_model::server::{
    Builtin, Remote, ServerAppearance, ServerLimits, ServerOrigin, StdioStreams, TimeLimit,
};
use gatehouse_model::sign_in::SignInSettings;
use gatehouse_model::{Generation, Message, ServerConfig, ServerId, Transport, UserText, message};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::spelling::suggest;

/// A parsed entry.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ServerEntry {
    pub(super) transport: Transport,
    pub(super) enabled: bool,
    pub(super) autostart: bool,
    pub(super) look: ServerAppearance,
    pub(super) limits: ServerLimits,
    pub(super) gatehouse_member: Option<GatehouseMember>,
}

/// Gatehouse's own member `gatehouse`, which says which server this entry is. Trusted only as far as the
/// sealed copy agrees.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct GatehouseMember {
    pub(super) id: ServerId,
    #[serde(default)]
    pub(super) generation: Generation,
    #[serde(default)]
    pub(super) origin: ServerOrigin,
}

/// What is wrong with an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EntryError {
    pub(super) cause: UserText,
    pub(super) hint: Option<UserText>,
}

const COMMON: [&str; 8] =
    ["type", "enabled", "autostart", "description", "icon", "group", "limits", "gatehouse"];
const LIMITS: [&str; 8] = [
    "connectSecs",
    "callSecs",
    "callCapSecs",
    "healthEverySecs",
    "healthTimeoutSecs",
    "healthFailures",
    "strict",
    "roots",
];
const TYPES: [&str; 6] = ["stdio", "auto", "http", "sse", "ws", "builtin"];

fn transport_fields(kind: &str) -> &'static [&'static str] {
    match kind {
        "stdio" => &["command", "args", "env", "cwd", "streams"],
        "builtin" => &["builtin"],
        _ => &["url", "headers", "headersFrom", "signIn"],
    }
}

/// Parses an entry.
pub(super) fn read(raw: &RawValue) -> Result<ServerEntry, EntryError> {
    // Duplicates are rejected at any depth: a person who reads the file might see another value than the one
    // that is used.
    json::read(raw.get()).map_err(|defect| match defect {
        JsonDefect::DuplicateKey { pointer } => {
            let name = pointer.strip_prefix('/').unwrap_or(&pointer);
            fault(message!("error.store.field.twice", name = name))
        }
        other => fault(message!("error.store.field.unsafe", reason = other.to_string())),
    })?;
    let members = Members::of(raw).map_err(|_| fault(message!("error.store.field.notObject")))?;
    let fields: BTreeMap<&str, &RawValue> = members.iter().collect();
    let kind = kind(&fields)?;
    let own = transport_fields(&kind);
    for name in fields.keys() {
        if !COMMON.contains(name) && !own.contains(name) {
            return Err(unknown_field(name, &kind));
        }
    }
    let mut take = EntryFields(fields);
    let transport = transport(&kind, &mut take)?;
    let entry = ServerEntry {
        transport,
        enabled: take.field("enabled", message!("error.store.wanted.boolean"))?.unwrap_or(true),
        autostart: take.field("autostart", message!("error.store.wanted.boolean"))?.unwrap_or(true),
        look: ServerAppearance {
            description: take.field("description", message!("error.store.wanted.text"))?,
            icon: take.field("icon", message!("error.store.wanted.text"))?,
            group: take.field("group", message!("error.store.wanted.text"))?,
        },
        limits: limits(&mut take)?,
        gatehouse_member: take.field("gatehouse", message!("error.store.wanted.member"))?,
    };
    Ok(entry)
}

/// The id in an entry, even if the entry is invalid.
pub(super) fn claimed_id(raw: &RawValue) -> Option<ServerId> {
    let WrittenMembers(members) = serde_json::from_str(raw.get()).ok()?;
    let (_, gatehouse_member) = members.iter().find(|(name, _)| name == "gatehouse")?;
    serde_json::from_str::<GatehouseMember>(gatehouse_member.get())
        .ok()
        .map(|gatehouse_member| gatehouse_member.id)
}

/// Formats a server as an entry, without fields that have their default value.
pub(super) fn write(server: &ServerConfig) -> serde_json::Result<Value> {
    let mut entry = Map::new();
    match &server.transport {
        Transport::Stdio { command, args, env, cwd, streams } => {
            entry.insert("command".to_owned(), json!(command));
            insert_unless_default(&mut entry, "args", args, args.is_empty())?;
            insert_unless_default(&mut entry, "env", env, env.is_empty())?;
            insert_unless_default(&mut entry, "cwd", cwd, cwd.is_none())?;
            insert_unless_default(&mut entry, "streams", streams, *streams == StdioStreams::default())?;
        }
        Transport::Auto(remote)
        | Transport::Http(remote)
        | Transport::Sse(remote)
        | Transport::Ws(remote) => {
            let Remote { url, headers, headers_from, sign_in } = remote;
            if !matches!(server.transport, Transport::Auto(_)) {
                entry.insert("type".to_owned(), json!(server.transport.kind()));
            }
            entry.insert("url".to_owned(), json!(url));
            insert_unless_default(&mut entry, "headers", headers, headers.is_empty())?;
            insert_unless_default(&mut entry, "headersFrom", headers_from, headers_from.is_none())?;
            insert_unless_default(&mut entry, "signIn", sign_in, *sign_in == SignInSettings::default())?;
        }
        Transport::Builtin { builtin } => {
            entry.insert("type".to_owned(), json!("builtin"));
            insert_unless_default(&mut entry, "builtin", builtin, false)?;
        }
    }
    insert_unless_default(&mut entry, "enabled", &server.enabled, server.enabled)?;
    insert_unless_default(&mut entry, "autostart", &server.autostart, server.autostart)?;
    let ServerAppearance { description, icon, group } = &server.look;
    for (name, text) in [("description", description), ("icon", icon), ("group", group)] {
        insert_unless_default(&mut entry, name, text, text.is_none())?;
    }
    insert_unless_default(&mut entry, "limits", &server.limits, server.limits == ServerLimits::default())?;
    let gatehouse_member =
        GatehouseMember { id: server.id.clone(), generation: server.generation, origin: server.origin };
    insert_unless_default(&mut entry, "gatehouse", &gatehouse_member, false)?;
    Ok(Value::Object(entry))
}

fn insert_unless_default(
    entry: &mut Map<String, Value>,
    name: &str,
    value: &impl Serialize,
    is_default: bool,
) -> serde_json::Result<()> {
    if !is_default {
        entry.insert(name.to_owned(), serde_json::to_value(value)?);
    }
    Ok(())
}

/// The fields of an entry that haven't been taken yet.
struct EntryFields<'a>(BTreeMap<&'a str, &'a RawValue>);

impl EntryFields<'_> {
    fn field<T: DeserializeOwned>(&mut self, name: &str, wanted: Message) -> Result<Option<T>, EntryError> {
        let Some(raw) = self.0.remove(name) else { return Ok(None) };
        serde_json::from_str(raw.get())
            .map(Some)
            .map_err(|_| fault(message!("error.store.field.wrong", name = name, wanted = wanted)))
    }

    fn required_field<T: DeserializeOwned>(&mut self, name: &str, wanted: Message) -> Result<T, EntryError> {
        self.field(name, wanted)?.ok_or_else(|| fault(message!("error.store.field.missing", name = name)))
    }
}

fn kind(fields: &BTreeMap<&str, &RawValue>) -> Result<String, EntryError> {
    if let Some(raw) = fields.get("type") {
        let kind: String = serde_json::from_str(raw.get()).map_err(|_| {
            fault(message!(
                "error.store.field.wrong",
                name = "type",
                wanted = message!("error.store.wanted.text")
            ))
        })?;
        if TYPES.contains(&kind.as_str()) {
            return Ok(kind);
        }
        return Err(EntryError {
            cause: message!("error.store.field.unknownType", kind = &kind).into(),
            hint: Some(
                suggest(&kind, TYPES)
                    .map_or_else(
                        || message!("error.store.field.useOneOf", names = TYPES.join(", ")),
                        |right| message!("error.store.field.didYouMean", name = right),
                    )
                    .into(),
            ),
        });
    }
    let has = |name: &str| fields.contains_key(name);
    match (has("command"), has("url"), has("builtin")) {
        (true, false, false) => Ok("stdio".to_owned()),
        (false, true, false) => Ok("auto".to_owned()),
        (false, false, true) => Ok("builtin".to_owned()),
        (false, false, false) => {
            // A misspelt “command” or “url” is more likely than a missing one.
            let misspelt = fields.keys().find(|name| !COMMON.contains(name) && !is_field_of_any(name));
            Err(misspelt.map_or_else(
                || EntryError {
                    cause: message!("error.store.field.noTransport").into(),
                    hint: Some(message!("error.store.field.noTransportHint").into()),
                },
                |name| unknown_field(name, "stdio"),
            ))
        }
        _ => Err(fault(message!("error.store.field.manyTransports"))),
    }
}

fn is_field_of_any(name: &str) -> bool {
    TYPES.iter().any(|kind| transport_fields(kind).contains(&name))
}

fn transport(kind: &str, take: &mut EntryFields<'_>) -> Result<Transport, EntryError> {
    take.0.remove("type");
    let texts = || message!("error.store.wanted.textObject");
    if kind == "stdio" {
        let command: String = take.required_field("command", message!("error.store.wanted.text"))?;
        if command.trim().is_empty() || command.contains('\0') {
            return Err(fault(message!("error.store.field.noProgram")));
        }
        return Ok(Transport::Stdio {
            command,
            args: take.field("args", message!("error.store.wanted.texts"))?.unwrap_or_default(),
            env: take.field("env", texts())?.unwrap_or_default(),
            cwd: take.field("cwd", message!("error.store.wanted.text"))?,
            streams: take.field("streams", message!("error.store.wanted.streams"))?.unwrap_or_default(),
        });
    }
    if kind == "builtin" {
        let wanted = message!("error.store.wanted.builtin");
        let members = take.0.get("builtin").and_then(|raw| Members::of(raw).ok());
        for name in members.iter().flat_map(Members::names) {
            if !matches!(name, "kind" | "folder" | "allowPrivate") {
                return Err(fault(message!("error.store.field.unknown", name = format!("builtin.{name}"))));
            }
        }
        let builtin: Builtin = take.required_field("builtin", wanted)?;
        if let Builtin::Files { folder } = &builtin
            && !std::path::Path::new(folder).is_absolute()
        {
            return Err(fault(message!("error.store.field.folderNotAbsolute")));
        }
        return Ok(Transport::Builtin { builtin });
    }
    let url: String = take.required_field("url", message!("error.store.wanted.text"))?;
    let schemes = if kind == "ws" { ["ws://", "wss://"] } else { ["http://", "https://"] };
    let lower = url.to_ascii_lowercase();
    if !schemes.iter().any(|scheme| lower.len() > scheme.len() && lower.starts_with(scheme)) {
        return Err(fault(message!("error.store.field.badUrl", first = schemes[0], second = schemes[1])));
    }
    let headers = take.field("headers", texts())?.unwrap_or_default();
    let headers_from = take.field("headersFrom", message!("error.store.wanted.headersFrom"))?;
    let remote = Remote { url, headers, headers_from, sign_in: sign_in(take)? };
    Ok(match kind {
        "sse" => Transport::Sse(remote),
        "ws" => Transport::Ws(remote),
        "http" => Transport::Http(remote),
        _ => Transport::Auto(remote),
    })
}

fn sign_in(take: &mut EntryFields<'_>) -> Result<SignInSettings, EntryError> {
    let Some(raw) = take.0.remove("signIn") else { return Ok(SignInSettings::default()) };
    let settings: SignInSettings = serde_json::from_str(raw.get())
        .map_err(|error| fault(message!("error.store.field.badSignIn", reason = format!("{error}."))))?;
    if let Some(reason) = settings.validation_error() {
        return Err(fault(message!("error.store.field.badSignIn", reason = reason)));
    }
    Ok(settings)
}

fn limits(take: &mut EntryFields<'_>) -> Result<ServerLimits, EntryError> {
    let Some(raw) = take.0.remove("limits") else { return Ok(ServerLimits::default()) };
    let members = Members::of(raw).map_err(|_| fault(message!("error.store.field.limitsNotObject")))?;
    for (name, value) in members.iter() {
        if !LIMITS.contains(&name) {
            return Err(EntryError {
                cause: message!("error.store.field.unknown", name = format!("limits.{name}")).into(),
                hint: suggest(name, LIMITS).map(|right| {
                    message!("error.store.field.didYouMean", name = format!("limits.{right}")).into()
                }),
            });
        }
        let (legal, wanted) = match name {
            "strict" => {
                (serde_json::from_str::<bool>(value.get()).is_ok(), message!("error.store.wanted.boolean"))
            }
            "roots" => (are_folders(value), message!("error.store.wanted.folders")),
            "callSecs" | "callCapSecs" => {
                (serde_json::from_str::<TimeLimit>(value.get()).is_ok(), message!("error.store.wanted.limit"))
            }
            _ => (serde_json::from_str::<u32>(value.get()).is_ok(), message!("error.store.wanted.count")),
        };
        if !legal {
            return Err(fault(message!(
                "error.store.field.wrong",
                name = format!("limits.{name}"),
                wanted = wanted
            )));
        }
    }
    serde_json::from_str(raw.get()).map_err(|_| fault(message!("error.store.field.limitsUnread")))
}

fn are_folders(value: &RawValue) -> bool {
    serde_json::from_str::<Vec<std::path::PathBuf>>(value.get())
        .is_ok_and(|folders| folders.iter().all(|folder| folder.is_absolute()))
}

fn unknown_field(name: &str, kind: &str) -> EntryError {
    if is_field_of_any(name) {
        return fault(message!("error.store.field.otherType", name = name, kind = kind));
    }
    let hint = match name {
        "name" => Some(message!("error.store.field.nameHint")),
        "disabled" => Some(message!("error.store.field.disabledHint")),
        "autoApprove" | "alwaysAllow" | "alwaysLoad" | "trust" => {
            Some(message!("error.store.field.autoApproveHint"))
        }
        other => suggest(other, COMMON.into_iter().chain(transport_fields(kind).iter().copied()))
            .map(|right| message!("error.store.field.didYouMean", name = right)),
    };
    EntryError { cause: message!("error.store.field.unknown", name = name).into(), todo: todo.map(Into::into) }
}

fn fault(cause: Message) -> EntryError {
    EntryError { why: why.into(), hint: None }
}
