//! One entry of `servers.json`: parsing, validation and formatting.

use std::collections::BTreeMap;

use gatehouse_mcp_wire::json::{self, JsonDefect};
use gatehouse_mcp_wire::raw::{Members, WrittenMembers};
use gatehouse_model::server::{
    Builtin, Remote, ServerAppearance, ServerLimits, ServerOrigin, StdioStreams, TimeLimit,
};
use gatehouse_model::sign_in::SignInSettings;
use gatehouse_model::{Generation, ServerConfig, ServerId, Transport};
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
    pub(super) cause: String,
    pub(super) hint: Option<String>,
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
            fault(format!("The field “{name}” is there twice."))
        }
        other => fault(format!("It cannot be read safely: {other}.")),
    })?;
    let members = Members::of(raw).map_err(|_| fault("It is not an object.".to_owned()))?;
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
        enabled: take.field("enabled", "true or false")?.unwrap_or(true),
        autostart: take.field("autostart", "true or false")?.unwrap_or(true),
        look: ServerAppearance {
            description: take.field("description", "text")?,
            icon: take.field("icon", "text")?,
            group: take.field("group", "text")?,
        },
        limits: limits(&mut take)?,
        gatehouse_member: take
            .field("gatehouse", "as Gatehouse wrote it: an object with “id”, “generation” and “origin”")?,
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
    fn field<T: DeserializeOwned>(&mut self, name: &str, wanted: &str) -> Result<Option<T>, EntryError> {
        let Some(raw) = self.0.remove(name) else { return Ok(None) };
        serde_json::from_str(raw.get())
            .map(Some)
            .map_err(|_| fault(format!("The field “{name}” must be {wanted}.")))
    }

    fn required_field<T: DeserializeOwned>(&mut self, name: &str, wanted: &str) -> Result<T, EntryError> {
        self.field(name, wanted)?.ok_or_else(|| fault(format!("The field “{name}” is missing.")))
    }
}

fn kind(fields: &BTreeMap<&str, &RawValue>) -> Result<String, EntryError> {
    if let Some(raw) = fields.get("type") {
        let kind: String = serde_json::from_str(raw.get())
            .map_err(|_| fault("The field “type” must be text.".to_owned()))?;
        if TYPES.contains(&kind.as_str()) {
            return Ok(kind);
        }
        return Err(EntryError {
            cause: format!("The type “{kind}” is not known."),
            hint: Some(suggest(&kind, TYPES).map_or_else(
                || format!("Use one of {}.", TYPES.join(", ")),
                |right| format!("Did you mean “{right}”?"),
            )),
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
                    cause: "It says neither “command” nor “url”.".to_owned(),
                    hint: Some("Add the command that starts the server, or its address.".to_owned()),
                },
                |name| unknown_field(name, "stdio"),
            ))
        }
        _ => Err(fault("It says more than one of “command”, “url” and “builtin”.".to_owned())),
    }
}

fn is_field_of_any(name: &str) -> bool {
    TYPES.iter().any(|kind| transport_fields(kind).contains(&name))
}

fn transport(kind: &str, take: &mut EntryFields<'_>) -> Result<Transport, EntryError> {
    take.0.remove("type");
    let texts = "an object of texts";
    if kind == "stdio" {
        let command: String = take.required_field("command", "text")?;
        if command.trim().is_empty() || command.contains('\0') {
            return Err(fault("The field “command” names no program.".to_owned()));
        }
        return Ok(Transport::Stdio {
            command,
            args: take.field("args", "a list of texts")?.unwrap_or_default(),
            env: take.field("env", texts)?.unwrap_or_default(),
            cwd: take.field("cwd", "text")?,
            streams: take.field("streams", "“sockets” or “pipes”")?.unwrap_or_default(),
        });
    }
    if kind == "builtin" {
        let wanted = "an object with “kind”: “time”, “notes”, “fetch”, or “files” with “folder”";
        let members = take.0.get("builtin").and_then(|raw| Members::of(raw).ok());
        for name in members.iter().flat_map(Members::names) {
            if !matches!(name, "kind" | "folder" | "allowPrivate") {
                return Err(fault(format!("The field “builtin.{name}” is not known.")));
            }
        }
        let builtin: Builtin = take.required_field("builtin", wanted)?;
        if let Builtin::Files { folder } = &builtin
            && !std::path::Path::new(folder).is_absolute()
        {
            return Err(fault("The folder of “builtin” must be an absolute path.".to_owned()));
        }
        return Ok(Transport::Builtin { builtin });
    }
    let url: String = take.required_field("url", "text")?;
    let schemes: &[&str] = if kind == "ws" { &["ws://", "wss://"] } else { &["http://", "https://"] };
    let lower = url.to_ascii_lowercase();
    if !schemes.iter().any(|scheme| lower.len() > scheme.len() && lower.starts_with(scheme)) {
        return Err(fault(format!("The field “url” must begin with {}.", schemes.join(" or "))));
    }
    let headers = take.field("headers", texts)?.unwrap_or_default();
    let headers_from = take.field("headersFrom", "an object with “command” and “args”")?;
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
        .map_err(|error| fault(format!("The field “signIn” cannot be used: {error}.")))?;
    if let Some(reason) = settings.validation_error() {
        return Err(fault(format!("The field “signIn” cannot be used: {reason}")));
    }
    Ok(settings)
}

fn limits(take: &mut EntryFields<'_>) -> Result<ServerLimits, EntryError> {
    let Some(raw) = take.0.remove("limits") else { return Ok(ServerLimits::default()) };
    let members = Members::of(raw).map_err(|_| fault("The field “limits” must be an object.".to_owned()))?;
    for (name, value) in members.iter() {
        if !LIMITS.contains(&name) {
            return Err(EntryError {
                cause: format!("The field “limits.{name}” is not known."),
                hint: suggest(name, LIMITS).map(|right| format!("Did you mean “limits.{right}”?")),
            });
        }
        let (legal, wanted) = match name {
            "strict" => (serde_json::from_str::<bool>(value.get()).is_ok(), "true or false"),
            "roots" => (are_folders(value), "a list of absolute folders"),
            "callSecs" | "callCapSecs" => (
                serde_json::from_str::<TimeLimit>(value.get()).is_ok(),
                "a whole number of at least 0, null for no limit, or “default” for what is set for all servers",
            ),
            _ => (serde_json::from_str::<u32>(value.get()).is_ok(), "a whole number of at least 0"),
        };
        if !legal {
            return Err(fault(format!("The field “limits.{name}” must be {wanted}.")));
        }
    }
    serde_json::from_str(raw.get()).map_err(|_| fault("The field “limits” cannot be read.".to_owned()))
}

fn are_folders(value: &RawValue) -> bool {
    serde_json::from_str::<Vec<std::path::PathBuf>>(value.get())
        .is_ok_and(|folders| folders.iter().all(|folder| folder.is_absolute()))
}

fn unknown_field(name: &str, kind: &str) -> EntryError {
    if is_field_of_any(name) {
        return fault(format!("The field “{name}” does not belong to a server of type “{kind}”."));
    }
    let hint = match name {
        "name" => Some("The name is the entry's key; remove the field.".to_owned()),
        "disabled" => Some("Use “enabled” with the opposite value.".to_owned()),
        "autoApprove" | "alwaysAllow" | "alwaysLoad" | "trust" => {
            Some("What runs without asking is set on the server's page, never in this file.".to_owned())
        }
        other => suggest(other, COMMON.into_iter().chain(transport_fields(kind).iter().copied()))
            .map(|right| format!("Did you mean “{right}”?")),
    };
    EntryError { cause: format!("The field “{name}” is not known."), hint }
}

fn fault(cause: String) -> EntryError {
    EntryError { cause, hint: None }
}
