//! `export` and `import`: everything but secrets as one document. What an import does is said by the options; only secrets
//! are asked for.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use gatehouse_common::owner_only;
use gatehouse_model::command::{
    ConfigurationChoice, ConfigurationExport, ConfigurationImport, ConfigurationOrigin, ConfigurationPreview,
    FieldSecret, ImportAction, ImportInputValue, RequestSecret,
};
use gatehouse_model::configuration::{
    ConfigurationContent, ConfigurationItem, ConfigurationItemKind, ConfigurationOutcome,
};
use gatehouse_model::import::ImportInput;
use gatehouse_model::{Message, Secret, message};

use super::servers::parse_pairs;
use crate::cli::{ExportArgs, ImportArgs, NameConflictArg};
use crate::error::CliError;
use crate::output::Printer;
use crate::secret_input::{prompt_for_secret, read_lines};
use crate::session::ControlSession;
use crate::terminal_text;

/// Most bytes that are read from standard input, a little more than the core takes.
const MAX_BYTES: u64 = 17 << 20;

pub(crate) async fn export(
    wanted: ExportArgs,
    session: &mut ControlSession,
    output: &Printer,
) -> Result<(), CliError> {
    let exported = session.run(&ConfigurationExport { save: false }).await?;
    for left_out in &exported.left_out {
        output.note(&terminal_text::message(left_out));
    }
    if is_standard(&wanted.file) {
        return output.text(&exported.text);
    }
    let mut file = owner_only::file(OpenOptions::new().write(true).create_new(true)).open(&wanted.file)?;
    file.write_all(exported.text.as_bytes())?;
    output.done(&message!("ctl.configuration.exported", file = wanted.file.display().to_string()))
}

pub(crate) async fn import(
    wanted: ImportArgs,
    session: &mut ControlSession,
    output: &Printer,
) -> Result<(), CliError> {
    let from = origin(&wanted.file)?;
    let content = session.run(&ConfigurationPreview { from: from.clone() }).await?;
    if wanted.list {
        return output.show(&content, |content| content.items.iter().flat_map(describe).collect());
    }
    let picked = pick(&wanted, &content, output);
    let items: Vec<&ConfigurationItem> = picked.iter().map(|(item, _)| *item).collect();
    let mut lines = match wanted.secret_fd {
        Some(descriptor) => Some(read_lines(descriptor, message!("ctl.secret.secrets"))?.into_iter()),
        None => None,
    };
    let mut read = |name: &str| match &mut lines {
        Some(lines) => lines.next().filter(|line| !line.is_empty()).map(Secret::new),
        None => prompt_for_secret(&message!("ctl.prompt.secret", name = name)),
    };
    let inputs = input_values(&wanted, &items, &mut read)?;
    let choice = |(item, action): (&ConfigurationItem, ImportAction)| ConfigurationChoice {
        index: item.index,
        secrets: field_secrets(item, &action, &mut read),
        action,
    };
    let items = picked.into_iter().map(choice).collect();
    let wanted = ConfigurationImport { from, fingerprint: content.fingerprint, items, inputs };
    let outcome = session.run(&wanted).await?;
    output.show(&outcome, list_outcome)?;
    if outcome.problems.is_empty() { Ok(()) } else { Err(CliError::NotImported) }
}

fn is_standard(file: &Path) -> bool {
    file.as_os_str() == "-"
}

fn origin(file: &Path) -> Result<ConfigurationOrigin, CliError> {
    if !is_standard(file) {
        return Ok(ConfigurationOrigin::File(std::path::absolute(file)?.display().to_string()));
    }
    let mut text = String::new();
    io::stdin().lock().take(MAX_BYTES).read_to_string(&mut text)?;
    Ok(ConfigurationOrigin::Text(RequestSecret::new(&Secret::new(text))))
}

/// The parts to import, each with what is done where its name is taken. What is left is noted, unless it is here already.
fn pick<'a>(
    wanted: &ImportArgs,
    content: &'a ConfigurationContent,
    output: &Printer,
) -> Vec<(&'a ConfigurationItem, ImportAction)> {
    let mut picked = Vec::new();
    for item in &content.items {
        let skip = |what: Message| output.note(&terminal_text::message(&what));
        let action = match (&item.conflict, wanted.on_conflict) {
            (Some(conflict), _) if conflict.is_same => continue,
            (None, _) => ImportAction::Add,
            (Some(_), NameConflictArg::Overwrite) => ImportAction::Overwrite,
            (Some(conflict), NameConflictArg::Rename) if conflict.free_name.is_some() => {
                ImportAction::Rename(conflict.free_name.clone().unwrap_or_default())
            }
            (Some(_), NameConflictArg::Skip | NameConflictArg::Rename) => {
                skip(message!("ctl.configuration.skipped", item = title(item)));
                continue;
            }
        };
        // Beside the one that is here, a model provider gets nothing of it.
        let is_beside =
            item.kind == ConfigurationItemKind::ModelProvider && action != ImportAction::Overwrite;
        if item.widens && !is_beside && !wanted.allow_rules {
            skip(message!("ctl.configuration.skippedRule", item = title(item)));
            continue;
        }
        picked.push((item, action));
    }
    picked
}

/// The values of the inputs of the chosen servers: secrets as they are read, all others from the options.
fn input_values(
    wanted: &ImportArgs,
    items: &[&ConfigurationItem],
    read: &mut dyn FnMut(&str) -> Option<Secret>,
) -> Result<Vec<ImportInputValue>, CliError> {
    let inputs: BTreeMap<&str, &ImportInput> =
        items.iter().flat_map(|item| &item.inputs).map(|input| (input.id.as_str(), input)).collect();
    let mut values: BTreeMap<String, Secret> = BTreeMap::new();
    for (id, value) in parse_pairs(&wanted.input, "--input")? {
        match inputs.get(id.as_str()) {
            Some(input) if input.is_secret => {
                return Err(CliError::usage(message!("error.ctl.secretInput", input = id)));
            }
            Some(_) => {
                values.insert(id, Secret::new(value));
            }
            None => return Err(CliError::usage(message!("error.ctl.unknownInput", input = id))),
        }
    }
    for (id, input) in &inputs {
        if input.has_default || values.contains_key(*id) {
            continue;
        }
        if !input.is_secret {
            return Err(CliError::usage(message!("error.ctl.inputMissing", input = *id)));
        }
        let value = read(id).ok_or_else(|| CliError::usage(message!("error.ctl.noSecret", name = *id)))?;
        values.insert((*id).to_owned(), value);
    }
    let value = |(id, value): (String, Secret)| ImportInputValue { id, value: RequestSecret::new(&value) };
    Ok(values.into_iter().map(value).collect())
}

/// The secrets of an item's fields, as far as they are given. One that is stored already stays where the item is replaced.
fn field_secrets(
    item: &ConfigurationItem,
    action: &ImportAction,
    read: &mut dyn FnMut(&str) -> Option<Secret>,
) -> Vec<FieldSecret> {
    let kept = match (&item.conflict, action) {
        (Some(conflict), ImportAction::Overwrite) => conflict.kept_secrets.as_slice(),
        _ => &[],
    };
    let wanted = item.secrets.iter().filter(|field| !kept.contains(field));
    let secret = |field: &String| {
        let value = read(&format!("{} {field}", item.name))?;
        Some(FieldSecret { field: field.clone(), value: RequestSecret::new(&value) })
    };
    wanted.filter_map(secret).collect()
}

/// What a part is called.
fn title(item: &ConfigurationItem) -> Message {
    let name = &item.name;
    match (item.kind, &item.summary) {
        (ConfigurationItemKind::Server, _) => message!("ctl.configuration.server", name = name),
        (ConfigurationItemKind::Profile, _) => message!("ctl.configuration.profile", name = name),
        (ConfigurationItemKind::Client, _) => message!("ctl.configuration.client", name = name),
        (ConfigurationItemKind::ModelProvider, _) => message!("ctl.configuration.modelProvider", name = name),
        (ConfigurationItemKind::Settings, _) => message!("ctl.configuration.settings"),
        (ConfigurationItemKind::Permission, Some(summary)) => summary.clone(),
        (ConfigurationItemKind::Permission, None) => message!("ctl.configuration.permission"),
    }
}

/// A part and, indented, what there is to know before it is imported.
fn describe(item: &ConfigurationItem) -> Vec<String> {
    let mut notes: Vec<Message> = item.problems.clone();
    match &item.conflict {
        Some(conflict) if conflict.is_same => notes.push(message!("ctl.configuration.same")),
        Some(conflict) => notes.push(match &conflict.free_name {
            Some(name) => message!("ctl.configuration.taken", name = name),
            None => message!("ctl.configuration.differs"),
        }),
        None => {}
    }
    if item.widens {
        notes.push(match item.kind {
            ConfigurationItemKind::ModelProvider => message!("ctl.configuration.movesProvider"),
            _ => message!("ctl.configuration.widens"),
        });
    }
    for input in &item.inputs {
        notes.push(match &input.description {
            Some(about) => message!("ctl.import.inputAbout", input = &input.id, about = about),
            None => message!("ctl.import.input", input = &input.id),
        });
    }
    if !item.secrets.is_empty() {
        notes.push(message!("ctl.configuration.secrets", fields = item.secrets.join(", ")));
    }
    let details =
        item.details.iter().map(|detail| terminal_text::line(&format!("{}: {}", detail.name, detail.value)));
    let is_titled = item.kind == ConfigurationItemKind::Permission;
    let summary = item.summary.iter().filter(|_| !is_titled).map(terminal_text::message);
    let below = summary.chain(details).chain(notes.iter().map(terminal_text::message));
    std::iter::once(terminal_text::message(&title(item)))
        .chain(below.map(|line| format!("  {line}")))
        .collect()
}

fn list_outcome(outcome: &ConfigurationOutcome) -> Vec<String> {
    let mut lines =
        vec![terminal_text::message(&message!("ctl.configuration.imported", count = outcome.imported))];
    let mut name_all = |names: &[String], line: fn(String) -> Message| {
        if !names.is_empty() {
            lines.push(terminal_text::message(&line(names.join(", "))));
        }
    };
    name_all(&outcome.without_secrets, |names| message!("ctl.configuration.withoutSecrets", servers = names));
    name_all(&outcome.new_clients, |names| message!("ctl.configuration.newClients", clients = names));
    lines.extend(outcome.problems.iter().map(terminal_text::error));
    lines
}
