//! One entry of `servers.json`: reading it with everything that is wrong, and formatting it.

use gatehouse_mcp_wire::json::{self, JsonDefect};
use gatehouse_mcp_wire::raw::WrittenMembers;
use gatehouse_model::server::{
    Builtin, HeaderProgram, ProtocolVersionSetting, RegistrySource, Remote, ServerAppearance, ServerDraft,
    ServerLimits, ServerOrigin, StdioStreams, TimeLimit,
};
use gatehouse_model::sign_in::{RegisteredClient, SignInEndpoints, SignInMethod, SignInSettings};
use gatehouse_model::{Generation, ServerConfig, ServerId, Transport};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::fields::{EntryObject, EntryReader};
use super::problem::{ConfigProblem, ProblemKind, ProblemPlace, TYPES, Wanted};
use super::rules::{raise_zeros, validate_settings};
use super::spelling::suggest;

/// A parsed entry.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ServerEntry {
    pub(super) transport: Transport,
    pub(super) protocol_version: ProtocolVersionSetting,
    pub(super) enabled: bool,
    pub(super) autostart: bool,
    pub(super) record_bodies: bool,
    pub(super) look: ServerAppearance,
    pub(super) limits: ServerLimits,
    pub(super) registry: Option<RegistrySource>,
    pub(super) gatehouse_member: Option<GatehouseMember>,
}

impl ServerEntry {
    /// Its settings under a name, without what it says of Gatehouse's own ids.
    pub(super) fn into_draft(self, name: impl Into<String>) -> ServerDraft {
        let Self {
            transport,
            protocol_version,
            enabled,
            autostart,
            record_bodies,
            look,
            limits,
            registry,
            gatehouse_member: _,
        } = self;
        ServerDraft {
            name: name.into(),
            transport,
            protocol_version,
            enabled,
            autostart,
            record_bodies,
            look,
            limits,
            registry,
        }
    }
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

const COMMON: [&str; 10] = [
    "type",
    "enabled",
    "autostart",
    "recordBodies",
    "description",
    "icon",
    "group",
    "limits",
    "registry",
    "gatehouse",
];
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

/// The words of [`ProtocolVersionSetting`].
const PROTOCOL_VERSIONS: [&str; 3] = ["auto", "2026-07-28", "2025-11-25"];

/// The fields that only this type of server has. A type that is not named here is one of a remote server.
fn transport_fields(kind: &str) -> &'static [&'static str] {
    match kind {
        "stdio" => &["command", "args", "env", "cwd", "streams", "protocolVersion"],
        "builtin" => &["builtin"],
        _ => &["url", "headers", "headersFrom", "signIn", "protocolVersion"],
    }
}

/// Parses an entry that a person edits.
///
/// # Errors
/// Everything that is wrong with it; at least one problem.
pub(super) fn read(raw: &RawValue) -> Result<ServerEntry, Vec<ConfigProblem>> {
    read_with(raw, |_| {})
}

/// Parses an entry of `servers.json`. Limits of 0 that have to be at least 1 count as 1, so that a file of an
/// older version stays valid.
///
/// # Errors
/// As [`read`].
pub(super) fn read_stored(raw: &RawValue) -> Result<ServerEntry, Vec<ConfigProblem>> {
    read_with(raw, raise_zeros)
}

fn read_with(raw: &RawValue, adjust: impl Fn(&mut ServerLimits)) -> Result<ServerEntry, Vec<ConfigProblem>> {
    // Duplicates are rejected at any depth: a person who reads the file might see another value than the one
    // that is used.
    json::read(raw.get()).map_err(|defect| vec![defect_problem(defect)])?;
    let mut reader = EntryReader::default();
    let mut entry = read_members(raw, &mut reader);
    if let Some(entry) = &mut entry {
        adjust(&mut entry.limits);
    }
    let problems = match &entry {
        Some(entry) if !reader.has_problems() => {
            validate_settings(&entry.transport, entry.protocol_version, &entry.limits)
        }
        _ => reader.into_problems(),
    };
    entry.filter(|_| problems.is_empty()).ok_or(problems)
}

/// The problem that makes a JSON text unsafe to read.
pub(super) fn defect_problem(defect: JsonDefect) -> ConfigProblem {
    match defect {
        JsonDefect::DuplicateKey { pointer } => {
            ConfigProblem { place: ProblemPlace::Repeated(pointer), kind: ProblemKind::Twice }
        }
        JsonDefect::LoneSurrogate { pointer } => ConfigProblem::at(pointer, ProblemKind::Unreadable),
        JsonDefect::Malformed { .. } | JsonDefect::TooDeep => ConfigProblem::at("", ProblemKind::Unreadable),
    }
}

/// The entry; `None` if it is unknown what kind of server it is. Wrong fields have their default values.
fn read_members(raw: &RawValue, reader: &mut EntryReader) -> Option<ServerEntry> {
    let entry = reader.object(raw, String::new(), Wanted::Object)?;
    let kind = reader.noted(kind(&entry))?;
    let own = transport_fields(kind);
    reader.unknown(&entry, &[&COMMON[..], own].concat(), |name| unknown_field(name, kind));
    let gatehouse_member = entry.get("gatehouse").and_then(|member| {
        let read = serde_json::from_str(member.get()).ok();
        if read.is_none() {
            reader.wrong(&entry, "gatehouse", Wanted::GatehouseMember);
        }
        read
    });
    Some(ServerEntry {
        transport: transport(kind, &entry, reader),
        protocol_version: reader.one_of(&entry, "protocolVersion", &PROTOCOL_VERSIONS).unwrap_or_default(),
        enabled: reader.flag(&entry, "enabled", true),
        autostart: reader.flag(&entry, "autostart", true),
        record_bodies: reader.flag(&entry, "recordBodies", true),
        look: ServerAppearance {
            description: reader.text(&entry, "description"),
            icon: reader.text(&entry, "icon"),
            group: reader.text(&entry, "group"),
        },
        limits: limits(&entry, reader),
        registry: registry(&entry, reader),
        gatehouse_member,
    })
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
    let version = server.protocol_version;
    let is_auto = version == ProtocolVersionSetting::default();
    insert_unless_default(&mut entry, "protocolVersion", &version, is_auto)?;
    insert_unless_default(&mut entry, "enabled", &server.enabled, server.enabled)?;
    insert_unless_default(&mut entry, "autostart", &server.autostart, server.autostart)?;
    insert_unless_default(&mut entry, "recordBodies", &server.record_bodies, server.record_bodies)?;
    let ServerAppearance { description, icon, group } = &server.look;
    for (name, text) in [("description", description), ("icon", icon), ("group", group)] {
        insert_unless_default(&mut entry, name, text, text.is_none())?;
    }
    insert_unless_default(&mut entry, "limits", &server.limits, server.limits == ServerLimits::default())?;
    insert_unless_default(&mut entry, "registry", &server.registry, server.registry.is_none())?;
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

/// The type of the server that an entry is about.
fn kind(entry: &EntryObject<'_>) -> Result<&'static str, ConfigProblem> {
    if let Some(raw) = entry.get("type") {
        let given: String = serde_json::from_str(raw.get())
            .map_err(|_| ConfigProblem::at("/type", ProblemKind::Wanted(Wanted::Text)))?;
        return TYPES
            .into_iter()
            .find(|known| *known == given)
            .ok_or_else(|| ConfigProblem::at("/type", ProblemKind::UnknownType));
    }
    let has = |name: &str| entry.get(name).is_some();
    match (has("command"), has("url"), has("builtin")) {
        (true, false, false) => Ok("stdio"),
        (false, true, false) => Ok("auto"),
        (false, false, true) => Ok("builtin"),
        (false, false, false) => {
            // A misspelt “command” or “url” is more likely than a missing one.
            let misspelt = entry.names().find(|name| !COMMON.contains(name) && !is_field_of_any(name));
            Err(misspelt.map_or_else(
                || ConfigProblem::at_key("", ProblemKind::NoTransport),
                |name| ConfigProblem::at_key(entry.pointer_to(name), unknown_field(name, "stdio")),
            ))
        }
        _ => Err(ConfigProblem::at_key("", ProblemKind::SeveralTransports)),
    }
}

fn is_field_of_any(name: &str) -> bool {
    TYPES.iter().any(|kind| transport_fields(kind).contains(&name))
}

fn transport(kind: &str, entry: &EntryObject<'_>, reader: &mut EntryReader) -> Transport {
    match kind {
        "stdio" => Transport::Stdio {
            command: reader.required_text(entry, "command"),
            args: reader.list(entry, "args", Wanted::TextList),
            env: reader.texts(entry, "env"),
            cwd: reader.text(entry, "cwd"),
            streams: reader.one_of(entry, "streams", &["sockets", "pipes"]).unwrap_or_default(),
        },
        "builtin" => Transport::Builtin { builtin: builtin(entry, reader) },
        "sse" => Transport::Sse(remote(entry, reader)),
        "ws" => Transport::Ws(remote(entry, reader)),
        "http" => Transport::Http(remote(entry, reader)),
        _ => Transport::Auto(remote(entry, reader)),
    }
}

fn remote(entry: &EntryObject<'_>, reader: &mut EntryReader) -> Remote {
    Remote {
        url: reader.required_text(entry, "url"),
        headers: reader.texts(entry, "headers"),
        headers_from: reader.part(entry, "headersFrom", Wanted::Program).map(|program| {
            reader.only(&program, &["command", "args"]);
            HeaderProgram {
                command: reader.required_text(&program, "command"),
                args: reader.list(&program, "args", Wanted::TextList),
            }
        }),
        sign_in: sign_in(entry, reader),
    }
}

fn builtin(entry: &EntryObject<'_>, reader: &mut EntryReader) -> Builtin {
    let Some(part) = reader.part(entry, "builtin", Wanted::Builtin) else {
        if entry.get("builtin").is_none_or(|raw| raw.get() == "null") {
            reader.missing(entry, "builtin");
        }
        return Builtin::Time;
    };
    let kind = part.get("kind").and_then(|raw| serde_json::from_str::<String>(raw.get()).ok());
    let (known, builtin): (&[&'static str], _) = match kind.as_deref() {
        Some("time") => (&["kind"], Builtin::Time),
        Some("notes") => (&["kind"], Builtin::Notes),
        Some("files") => {
            (&["kind", "folder"], Builtin::Files { folder: reader.required_text(&part, "folder") })
        }
        Some("fetch") => (
            &["kind", "allowPrivate"],
            Builtin::Fetch { allow_private: reader.flag(&part, "allowPrivate", false) },
        ),
        _ => {
            reader.wrong(entry, "builtin", Wanted::Builtin);
            return Builtin::Time;
        }
    };
    reader.only(&part, known);
    builtin
}

fn sign_in(entry: &EntryObject<'_>, reader: &mut EntryReader) -> SignInSettings {
    let Some(part) = reader.part(entry, "signIn", Wanted::Object) else { return SignInSettings::default() };
    reader.only(&part, &["off", "client", "scopes", "redirect", "endpoints", "with"]);
    let client = reader.part(&part, "client", Wanted::Object).map(|client| {
        reader.only(&client, &["id", "secret", "method"]);
        RegisteredClient {
            id: reader.required_text(&client, "id"),
            secret: reader.text(&client, "secret"),
            method: reader.one_of(&client, "method", &["client_secret_basic", "client_secret_post", "none"]),
        }
    });
    let endpoints = reader.part(&part, "endpoints", Wanted::Object).map(|endpoints| {
        reader.only(&endpoints, &["authorize", "token", "revoke"]);
        SignInEndpoints {
            authorize: reader.required_text(&endpoints, "authorize"),
            token: reader.required_text(&endpoints, "token"),
            revoke: reader.text(&endpoints, "revoke"),
        }
    });
    SignInSettings {
        off: reader.flag(&part, "off", false),
        client,
        scopes: reader.list(&part, "scopes", Wanted::TextList),
        redirect: reader.text(&part, "redirect"),
        endpoints,
        with: sign_in_method(&part, reader),
    }
}

fn sign_in_method(settings: &EntryObject<'_>, reader: &mut EntryReader) -> SignInMethod {
    let Some(part) = reader.part(settings, "with", Wanted::Object) else { return SignInMethod::default() };
    let with = part.get("with").and_then(|raw| serde_json::from_str::<String>(raw.get()).ok());
    let (known, method): (&[&'static str], _) = match with.as_deref() {
        Some("browser") => (&["with"], SignInMethod::Browser),
        Some("client_secret") => (&["with"], SignInMethod::ClientSecret),
        Some("client_key") => (
            &["with", "key", "algorithm"],
            SignInMethod::ClientKey {
                key: reader.required_text(&part, "key"),
                algorithm: reader.required_text(&part, "algorithm"),
            },
        ),
        Some("enterprise") => (
            &["with", "issuer", "client", "secret"],
            SignInMethod::Enterprise {
                issuer: reader.required_text(&part, "issuer"),
                client: reader.required_text(&part, "client"),
                secret: reader.text(&part, "secret"),
            },
        ),
        _ => {
            let words = &["browser", "client_secret", "client_key", "enterprise"];
            reader.wrong(&part, "with", Wanted::OneOf(words));
            return SignInMethod::default();
        }
    };
    reader.only(&part, known);
    method
}

fn limits(entry: &EntryObject<'_>, reader: &mut EntryReader) -> ServerLimits {
    let usual = ServerLimits::default();
    let Some(part) = reader.part(entry, "limits", Wanted::Object) else { return usual };
    reader.only(&part, &LIMITS);
    let mut amount =
        |name, least, usual: u32| reader.value(&part, name, Wanted::Amount(least)).unwrap_or(usual);
    let connect_secs = amount("connectSecs", 1, usual.connect_secs);
    let health_every_secs = amount("healthEverySecs", 0, usual.health_every_secs);
    let health_timeout_secs = amount("healthTimeoutSecs", 1, usual.health_timeout_secs);
    let health_failures = amount("healthFailures", 1, usual.health_failures);
    let mut call_limit = |name| reader.value::<TimeLimit>(&part, name, Wanted::CallLimit).unwrap_or_default();
    ServerLimits {
        connect_secs,
        call_secs: call_limit("callSecs"),
        call_cap_secs: call_limit("callCapSecs"),
        health_every_secs,
        health_timeout_secs,
        health_failures,
        strict: reader.flag(&part, "strict", usual.strict),
        roots: reader.list(&part, "roots", Wanted::TextList),
    }
}

fn registry(entry: &EntryObject<'_>, reader: &mut EntryReader) -> Option<RegistrySource> {
    let part = reader.part(entry, "registry", Wanted::Object)?;
    reader.only(&part, &["name", "version"]);
    Some(RegistrySource {
        name: reader.required_text(&part, "name"),
        version: reader.required_text(&part, "version"),
    })
}

fn unknown_field(name: &str, kind: &'static str) -> ProblemKind {
    let name = name.to_owned();
    if is_field_of_any(&name) {
        return ProblemKind::ForeignField { name, kind };
    }
    let meant = suggest(&name, COMMON.into_iter().chain(transport_fields(kind).iter().copied()));
    ProblemKind::UnknownField { name, meant }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The members that the configuration reference lists under these headings, in order.
    fn documented(headings: &[&str]) -> Vec<String> {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/src/reference.md");
        let text = std::fs::read_to_string(path).unwrap();
        let mut names: Vec<String> = text
            .split("\n### ")
            .filter(|section| headings.contains(&section.lines().next().unwrap_or_default()))
            .flat_map(|section| section.lines().filter(|line| line.starts_with("| `")))
            .filter_map(|row| row.split('`').nth(1).map(str::to_owned))
            .collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn reads_what_the_reference_lists() {
        // The reference tells of `type` and `gatehouse` above its tables, and of `protocolVersion` for every entry.
        let common = COMMON.into_iter().filter(|name| !["type", "gatehouse"].contains(name));
        let of_transport =
            |kind| transport_fields(kind).iter().copied().filter(|name| *name != "protocolVersion").collect();
        let tables: [(&[&str], Vec<&str>); 5] = [
            (&["Every entry", "Appearance"], common.chain(["protocolVersion"]).collect()),
            (&["A program on this computer"], of_transport("stdio")),
            (&["A remote server"], of_transport("http")),
            (&["Limits"], LIMITS.to_vec()),
            (&["Sign-in"], vec!["off", "client", "scopes", "redirect", "endpoints", "with"]),
        ];
        for (headings, mut names) in tables {
            names.sort_unstable();
            assert_eq!(documented(headings), names, "{headings:?}");
        }
    }
}
