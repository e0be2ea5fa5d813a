//! `servers registry …`, `servers add --registry` and `servers link`: shows what entries and links say before anything is
//! made of them. Must never put a secret into a request other than the one that adds or tests the server.

use std::collections::BTreeMap;

use gatehouse_model::command::{
    FieldSecret, RegistryCheck, RegistryFill, RegistrySearch, RegistryVersions, ServersAdd,
};
use gatehouse_model::registry::{
    LinkContent, RegistryEntry, RegistryInput, RegistryOption, RegistryPage, RegistryReport, RegistryStatus,
};
use gatehouse_model::server::{ProtocolVersionSetting, ServerDraft};
use gatehouse_model::{ErrorCode, Message, Secret, Transport, UserError, message};

use super::{add_draft, field_secrets, parse_pairs, read_secrets};
use crate::cli::{AddServerArgs, RegistryVerb};
use crate::error::CliError;
use crate::output::{Printer, table};
use crate::session::ControlSession;
use crate::terminal_text;

/// Longest description in a list, in characters.
const MAX_DESCRIPTION_CHARS: usize = 60;

pub(super) async fn run(
    verb: RegistryVerb,
    session: &mut ControlSession,
    output: &Printer,
) -> Result<(), CliError> {
    match verb {
        RegistryVerb::Search { text, cursor, refresh } => {
            let page = session.run(&RegistrySearch { text, cursor, refresh, run: None }).await?;
            note_page(&page, output);
            output.show(&page, list)
        }
        RegistryVerb::Show { name, version } => {
            let page = session.run(&RegistryVersions { name: name.clone(), run: None }).await?;
            note_page(&page, output);
            let versions: Vec<String> = page.entries.iter().map(|entry| entry.version.clone()).collect();
            let entry = pick(page, &name, version.as_deref())?;
            output.show(&entry, |entry| describe(entry, &versions))
        }
        RegistryVerb::Check { server } => {
            let report = session.run(&RegistryCheck { server }).await?;
            output.show(&report, describe_report)
        }
    }
}

/// Adds the server of an entry.
pub(super) async fn add(
    entry: &str,
    wanted: &AddServerArgs,
    session: &mut ControlSession,
    output: &Printer,
) -> Result<(), CliError> {
    let (draft, secrets) = draft(entry, wanted, session, output).await?;
    add_draft(ServersAdd { draft, trust_labels: wanted.trust_labels, secrets, run: None }, session, output)
        .await
}

/// The settings of an entry's server. What it runs or where it is goes to standard error.
pub(super) async fn draft(
    entry: &str,
    wanted: &AddServerArgs,
    session: &mut ControlSession,
    output: &Printer,
) -> Result<(ServerDraft, Vec<FieldSecret>), CliError> {
    let given = &wanted.from_registry;
    let page = session.run(&RegistryVersions { name: entry.to_owned(), run: None }).await?;
    note_page(&page, output);
    let entry = pick(page, entry, given.version.as_deref())?;
    note_status(&entry, output);
    let option = pick_option(&entry, given.option.as_deref())?;
    let mut values = parse_pairs(&given.set, "--set")?;
    let asked: Vec<String> = option
        .inputs
        .iter()
        .filter(|input| is_asked_for(input, &values, &wanted.secret))
        .map(|input| input.id.clone())
        .collect();
    if let Some(unknown) = wanted.secret.iter().find(|name| !asked.contains(name)) {
        return Err(CliError::usage(message!("error.ctl.notASecret", name = unknown)));
    }
    let mut secrets: BTreeMap<String, Secret> = read_secrets(&asked, wanted.secret_fd)?.into_iter().collect();
    for input in option.inputs.iter().filter(|input| input.plain_secret) {
        if let Some(secret) = secrets.remove(&input.id) {
            output.note(&terminal_text::message(&message!("ctl.registry.plainSecret", input = &input.id)));
            values.insert(input.id.clone(), secret.reveal().to_owned());
        }
    }
    let filled = session
        .run(&RegistryFill {
            name: entry.name.clone(),
            version: entry.version.clone(),
            option: option.id.clone(),
            values,
            secrets: secrets.keys().cloned().collect(),
            run: None,
        })
        .await?;
    let mut draft = filled.draft;
    if let Some(name) = &wanted.name {
        draft.name.clone_from(name);
    }
    if wanted.description.is_some() {
        draft.look.description.clone_from(&wanted.description);
    }
    if wanted.protocol_version != ProtocolVersionSetting::default() {
        draft.protocol_version = wanted.protocol_version;
    }
    draft.enabled = !wanted.disabled;
    draft.autostart = !wanted.no_autostart;
    output.note(&what_runs(&draft.transport));
    let secrets = field_secrets(&filled.secrets, &secrets);
    Ok((draft, secrets))
}

/// Whether the value of an input is asked for as a secret.
fn is_asked_for(input: &RegistryInput, values: &BTreeMap<String, String>, named: &[String]) -> bool {
    let is_secret = input.secret || input.plain_secret;
    is_secret && !values.contains_key(&input.id) && (input.required || named.contains(&input.id))
}

/// The wanted version of an entry, else the newest one.
fn pick(page: RegistryPage, name: &str, version: Option<&str>) -> Result<RegistryEntry, CliError> {
    let mut entries = page.entries;
    let at = match version {
        Some(version) => entries.iter().position(|entry| entry.version == version),
        None => {
            entries.iter().position(|entry| entry.is_latest).or_else(|| (!entries.is_empty()).then_some(0))
        }
    };
    let missing = || UserError::new(ErrorCode::NotFound, message!("error.registry.noEntry", name = name));
    Ok(entries.swap_remove(at.ok_or_else(missing)?))
}

/// The wanted option, else the first one that can be used.
fn pick_option<'a>(entry: &'a RegistryEntry, wanted: Option<&str>) -> Result<&'a RegistryOption, CliError> {
    let none = || UserError::new(ErrorCode::NotFound, message!("error.registry.noOption"));
    let found = match wanted {
        Some(id) => entry.options.iter().find(|option| option.id == id),
        None => {
            entry.options.iter().find(|option| option.unusable.is_none()).or_else(|| entry.options.first())
        }
    };
    let option = found.ok_or_else(none)?;
    match &option.unusable {
        None => Ok(option),
        Some(why) => Err(UserError::new(ErrorCode::BadRequest, why.clone()).into()),
    }
}

fn note_page(page: &RegistryPage, output: &Printer) {
    if let Some(offline) = &page.offline {
        output.note(&terminal_text::error(offline));
    }
    if page.omitted > 0 {
        output.note(&terminal_text::message(&message!("ctl.registry.omitted", count = page.omitted)));
    }
}

/// Warns of an entry that should not be used any more.
fn note_status(entry: &RegistryEntry, output: &Printer) {
    if let Some(status) = status(entry.status, entry.status_message.as_deref()) {
        output.note(&terminal_text::message(&status));
    }
}

fn status(status: RegistryStatus, why: Option<&str>) -> Option<Message> {
    let why = why.unwrap_or_default();
    match status {
        RegistryStatus::Active => None,
        RegistryStatus::Deprecated => Some(message!("ctl.registry.deprecated", reason = why)),
        RegistryStatus::Deleted => Some(message!("ctl.registry.deleted", reason = why)),
    }
}

fn list(page: &RegistryPage) -> Vec<String> {
    let rows: Vec<Vec<String>> = page
        .entries
        .iter()
        .map(|entry| {
            let mut ways: Vec<&str> = entry.options.iter().map(|option| option.kind.as_str()).collect();
            ways.dedup();
            vec![
                entry.name.clone(),
                entry.version.clone(),
                ways.join(", "),
                terminal_text::truncate(&entry.description, MAX_DESCRIPTION_CHARS),
            ]
        })
        .collect();
    let heading = [
        message!("ctl.column.name"),
        message!("ctl.column.version"),
        message!("ctl.column.kind"),
        message!("ctl.column.purpose"),
    ];
    let mut lines = table(&heading, &rows, &message!("ctl.registry.nothing"));
    if let Some(cursor) = &page.next_cursor {
        lines.push(terminal_text::message(&message!("ctl.registry.more", cursor = cursor)));
    }
    lines
}

fn describe(entry: &RegistryEntry, versions: &[String]) -> Vec<String> {
    let mut lines = vec![terminal_text::line(&format!("{} {}", entry.name, entry.version))];
    lines.extend(entry.title.iter().map(|title| terminal_text::line(title)));
    lines.extend((!entry.description.is_empty()).then(|| terminal_text::line(&entry.description)));
    let mut say = |message: Message| lines.push(terminal_text::message(&message));
    if let Some(status) = status(entry.status, entry.status_message.as_deref()) {
        say(status);
    }
    for address in entry.website.iter().chain(&entry.repository) {
        say(message!("ctl.registry.address", address = address));
    }
    say(message!("ctl.registry.versions", versions = versions.join(", ")));
    for option in &entry.options {
        say(message!("ctl.registry.option", option = &option.id));
        if let Some(why) = &option.unusable {
            say(message!("ctl.registry.unusable", reason = why.clone()));
        }
        if let Some(sha256) = &option.file_sha256 {
            say(message!("ctl.registry.sha256", sha256 = sha256));
        }
        for input in &option.inputs {
            say(describe_input(input));
        }
    }
    lines
}

fn describe_input(input: &RegistryInput) -> Message {
    let default = input.default.as_ref().map(|default| format!("[{default}]"));
    let about: Vec<&str> = default.as_deref().into_iter().chain(input.description.as_deref()).collect();
    let about = about.join(" ");
    match (input.required, input.secret || input.plain_secret) {
        (true, true) => message!("ctl.registry.requiredSecret", input = &input.id, about = about),
        (false, true) => message!("ctl.registry.optionalSecret", input = &input.id, about = about),
        (true, false) => message!("ctl.registry.required", input = &input.id, about = about),
        (false, false) => message!("ctl.registry.optional", input = &input.id, about = about),
    }
}

fn describe_report(report: &RegistryReport) -> Vec<String> {
    let mut lines = Vec::new();
    let mut say = |message: Message| lines.push(terminal_text::message(&message));
    match report.status {
        None => say(message!("ctl.registry.withdrawn")),
        Some(now) => {
            if let Some(status) = status(now, report.status_message.as_deref()) {
                say(status);
            }
        }
    }
    match &report.update {
        None => say(message!("ctl.registry.newest")),
        Some(update) if update.is_newer => {
            say(message!("ctl.registry.newer", version = &update.version));
        }
        Some(update) => say(message!("ctl.registry.other", version = &update.version)),
    }
    lines
}

/// What a link would fill into the form.
pub(super) fn describe_link(content: &LinkContent) -> Vec<String> {
    match content {
        LinkContent::Registry { name, version } => {
            let version = version.as_deref().unwrap_or_default();
            vec![terminal_text::line(&format!("{name} {version}"))]
        }
        LinkContent::Server { draft, secrets, had_secrets } => {
            let mut lines = Vec::new();
            lines.extend((!draft.name.is_empty()).then(|| terminal_text::line(&draft.name)));
            lines.push(what_runs(&draft.transport));
            let mut say = |message: Message| lines.push(terminal_text::message(&message));
            for field in secrets {
                say(message!("ctl.registry.linkSecret", field = field));
            }
            if *had_secrets {
                say(message!("ctl.registry.linkSecretsLeftOut"));
            }
            lines
        }
    }
}

/// The command line or the address of a server.
fn what_runs(transport: &Transport) -> String {
    let what = match transport {
        Transport::Stdio { command, args, .. } => {
            let words: Vec<&str> = std::iter::once(command).chain(args).map(String::as_str).collect();
            message!("ctl.registry.runs", command = words.join(" "))
        }
        Transport::Auto(remote)
        | Transport::Http(remote)
        | Transport::Sse(remote)
        | Transport::Ws(remote) => message!("ctl.registry.at", address = &remote.url),
        Transport::Builtin { builtin } => message!("ctl.registry.runs", command = builtin.kind()),
    };
    terminal_text::message(&what)
}
