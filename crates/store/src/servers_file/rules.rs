//! The rules that a server's settings have to meet, wherever they come from: a draft, the JSON settings or
//! `servers.json`. Pure functions; whether a folder exists is not looked up.

use std::collections::BTreeMap;
use std::path::Path;

use gatehouse_common::confusables;
use gatehouse_mcp_wire::json::push_segment;
use gatehouse_model::server::{
    Builtin, ProtocolVersionSetting, Remote, ServerDraft, ServerLimits, TimeLimit,
};
use gatehouse_model::{ServerConfig, ServerId, Transport};

use super::name::{fold_case, name_problem, shown_name};
use super::problem::{ConfigProblem, MAX_PROBLEMS, ProblemKind, Wanted};

/// Everything that is wrong with a draft, also with its name among the names of `others`. `own` is the id
/// of the server that is edited. Secrets are not looked at; see [`validate_secrets`].
#[must_use]
pub fn validate_draft(
    draft: &ServerDraft,
    own: Option<&ServerId>,
    others: &[ServerConfig],
) -> Vec<ConfigProblem> {
    let mut problems: Vec<ConfigProblem> = validate_name(&draft.name, own, others).into_iter().collect();
    problems.extend(validate_settings(&draft.transport, draft.protocol_version, &draft.limits));
    problems
}

/// What is wrong with a name: it is invalid, or another server has it (case does not count).
#[must_use]
pub fn validate_name(name: &str, own: Option<&ServerId>, others: &[ServerConfig]) -> Option<ConfigProblem> {
    let is_taken_by =
        |other: &str| fold_case(other) == fold_case(name) || confusables::look_alike(other, name);
    let is_taken = || others.iter().any(|other| Some(&other.id) != own && is_taken_by(&other.name));
    let kind = match name_problem(name) {
        Some(problem) => ProblemKind::InvalidName { problem, shown: shown_name(name) },
        None if is_taken() => ProblemKind::NameTaken,
        None => return None,
    };
    Some(ConfigProblem::of_name(kind))
}

/// What is wrong with secrets that a transport refers to: each has to be among the `given` fields, or be
/// stored already (`before` has the same reference in the same field) for the same destination. In the
/// settings of a sign-in, secrets are always references.
#[must_use]
pub fn validate_secrets(
    transport: &Transport,
    before: Option<&Transport>,
    given: &[String],
) -> Vec<ConfigProblem> {
    let kept = before.map(secrets_of).unwrap_or_default();
    let is_moved =
        |field: &str| before.is_some_and(|before| !before.has_same_secret_destination(transport, field));
    let mut problems = Vec::new();
    for (field, value) in secrets_of(transport) {
        if given.contains(&field) {
            continue;
        }
        let kind = match kept.get(&field) {
            Some(kept) if *kept == value && is_moved(&field) => ProblemKind::SecretMoved,
            Some(kept) if *kept == value => continue,
            Some(_) | None => ProblemKind::NoSecret,
        };
        problems.push(ConfigProblem::at(secret_pointer(&field), kind));
    }
    problems.truncate(MAX_PROBLEMS);
    problems
}

/// The references to secrets, and whatever stands in a secret's place in the settings of a sign-in.
fn secrets_of(transport: &Transport) -> BTreeMap<String, &str> {
    let mut secrets = transport.secret_references();
    for (name, value) in transport.remote().into_iter().flat_map(|remote| remote.sign_in.secrets()) {
        if !value.is_empty() {
            secrets.insert(format!("signIn/{name}"), value);
        }
    }
    secrets
}

/// The pointer to a field that refers to a secret.
fn secret_pointer(field: &str) -> String {
    match field {
        "signIn/secret" => "/signIn/client/secret".to_owned(),
        "signIn/companySecret" => "/signIn/with/secret".to_owned(),
        "signIn/key" => "/signIn/with/key".to_owned(),
        other => {
            let (place, name) = other.split_once('/').unwrap_or((other, ""));
            pointer(place, name)
        }
    }
}

/// Everything that is wrong with values of the right types.
pub(super) fn validate_settings(
    transport: &Transport,
    protocol_version: ProtocolVersionSetting,
    limits: &ServerLimits,
) -> Vec<ConfigProblem> {
    let mut problems = match transport {
        Transport::Stdio { command, env, .. } => {
            let mut problems = validate_variables("env", env);
            if is_no_program(command) {
                problems.push(ConfigProblem::at("/command", ProblemKind::NoCommand));
            }
            problems
        }
        Transport::Auto(remote) | Transport::Http(remote) | Transport::Sse(remote) => {
            validate_remote(remote, false)
        }
        Transport::Ws(remote) => validate_remote(remote, true),
        Transport::Builtin { builtin } => validate_builtin(builtin),
    };
    if matches!(transport, Transport::Sse(_)) && protocol_version == ProtocolVersionSetting::Stateless {
        problems.push(ConfigProblem::at("/protocolVersion", ProblemKind::StatelessSse));
    }
    problems.extend(validate_limits(limits));
    problems.truncate(MAX_PROBLEMS);
    problems
}

fn validate_remote(remote: &Remote, is_ws: bool) -> Vec<ConfigProblem> {
    let mut problems = Vec::new();
    if !is_url(&remote.url, if is_ws { ["ws://", "wss://"] } else { ["http://", "https://"] }) {
        problems.push(ConfigProblem::at("/url", ProblemKind::BadUrl { is_ws }));
    }
    problems.extend(validate_variables("headers", &remote.headers));
    if remote.headers_from.as_ref().is_some_and(|program| is_no_program(&program.command)) {
        problems.push(ConfigProblem::at("/headersFrom/command", ProblemKind::NoCommand));
    }
    problems.extend(remote.sign_in.problems().into_iter().map(|problem| {
        ConfigProblem::at(format!("/signIn{}", problem.pointer()), ProblemKind::SignIn(problem))
    }));
    problems
}

fn validate_builtin(builtin: &Builtin) -> Vec<ConfigProblem> {
    match builtin {
        Builtin::Files { folder } if !Path::new(folder).is_absolute() => {
            vec![ConfigProblem::at("/builtin/folder", ProblemKind::RelativeFolder)]
        }
        Builtin::Files { .. } | Builtin::Time | Builtin::Notes | Builtin::Fetch { .. } => Vec::new(),
    }
}

fn validate_limits(limits: &ServerLimits) -> Vec<ConfigProblem> {
    let ServerLimits {
        connect_secs,
        call_secs,
        call_cap_secs,
        health_every_secs: _,
        health_timeout_secs,
        health_failures,
        strict: _,
        roots,
    } = limits;
    let mut problems = Vec::new();
    for (name, is_zero) in [
        ("connectSecs", *connect_secs == 0),
        ("callSecs", *call_secs == TimeLimit::Secs(0)),
        ("callCapSecs", *call_cap_secs == TimeLimit::Secs(0)),
        ("healthTimeoutSecs", *health_timeout_secs == 0),
        ("healthFailures", *health_failures == 0),
    ] {
        if is_zero {
            let kind = ProblemKind::Wanted(Wanted::Amount(1));
            problems.push(ConfigProblem::at(format!("/limits/{name}"), kind));
        }
    }
    for (index, root) in roots.iter().enumerate() {
        if !Path::new(root).is_absolute() {
            problems.push(ConfigProblem::at(format!("/limits/roots/{index}"), ProblemKind::RelativeRoot));
        }
    }
    problems
}

/// Sets limits that have to be at least 1, and are 0, to 1: as such they count, and older versions let them
/// be written.
pub(super) fn raise_zeros(limits: &mut ServerLimits) {
    let ServerLimits {
        connect_secs,
        call_secs,
        call_cap_secs,
        health_every_secs: _,
        health_timeout_secs,
        health_failures,
        strict: _,
        roots: _,
    } = limits;
    for number in [connect_secs, health_timeout_secs, health_failures] {
        *number = (*number).max(1);
    }
    for limit in [call_secs, call_cap_secs] {
        if *limit == TimeLimit::Secs(0) {
            *limit = TimeLimit::Secs(1);
        }
    }
}

fn validate_variables(place: &str, values: &BTreeMap<String, String>) -> Vec<ConfigProblem> {
    let nameless = values.keys().filter(|name| name.trim().is_empty());
    nameless.map(|name| ConfigProblem::at_key(pointer(place, name), ProblemKind::NamelessVariable)).collect()
}

fn pointer(place: &str, name: &str) -> String {
    let mut pointer = format!("/{place}");
    push_segment(&mut pointer, name);
    pointer
}

fn is_no_program(command: &str) -> bool {
    command.trim().is_empty() || command.contains('\0')
}

/// Whether an address has one of the schemes, then a host, and no white space.
fn is_url(url: &str, schemes: [&str; 2]) -> bool {
    let lower = url.to_ascii_lowercase();
    let rest = schemes.iter().find_map(|scheme| lower.strip_prefix(scheme));
    rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/') && !url.contains(char::is_whitespace))
}
