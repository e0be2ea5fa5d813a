//! `servers import`: shows and imports the servers in another application's settings. Nothing is asked for that the
//! options don't say, except for secrets.

use std::collections::BTreeMap;

use gatehouse_model::command::{
    ImportAction, ImportChoice, ImportInputValue, ImportOrigin, ImportsPreview, ImportsRun, ImportsRunByName,
    ImportsSources, NameConflict, RequestSecret,
};
use gatehouse_model::import::{
    ImportCandidate, ImportInput, ImportOutcome, ImportPreview, ImportSource, ImportedApprovals,
    ImportedSetting,
};
use gatehouse_model::{App, Message, Secret, message};

use super::{parse_pairs, read_secrets};
use crate::cli::{ImportServersArgs, NameConflictArg};
use crate::error::CliError;
use crate::output::{Printer, table};
use crate::session::ControlSession;
use crate::terminal_text;

pub(super) async fn run(
    wanted: &ImportServersArgs,
    session: &mut ControlSession,
    output: &Printer,
) -> Result<(), CliError> {
    let Some(from) = &wanted.from else {
        let sources = session.run(&ImportsSources {}).await?;
        return output.show(&sources, |sources| list_sources(sources));
    };
    let from = origin(from)?;
    if !wanted.list && session.is_proposing().await? {
        return propose(wanted, from, session, output).await;
    }
    let preview = session.run(&ImportsPreview { from: from.clone() }).await?;
    if wanted.list {
        return output.show(&preview, |preview| {
            let lines = preview.candidates.iter().flat_map(describe).collect::<Vec<_>>();
            if lines.is_empty() { vec![terminal_text::message(&message!("ctl.import.none"))] } else { lines }
        });
    }
    let picked = pick(wanted, &preview, output)?;
    let servers: Vec<&ImportCandidate> = picked.iter().map(|(server, _)| *server).collect();
    let values = input_values(wanted, &servers)?;
    let choice = |(server, action): (&ImportCandidate, ImportAction)| ImportChoice {
        index: server.index,
        action,
        keep_plain: wanted.keep_plain,
        auto_approve: wanted.auto_approve,
        inputs: server.inputs.iter().filter_map(|input| value_of(input, &values)).collect(),
    };
    let servers = picked.into_iter().map(choice).collect();
    let outcomes =
        session.run(&ImportsRun { from, fingerprint: preview.fingerprint, servers, run: None }).await?;
    show_outcomes(&outcomes, output)
}

/// Has the window show what would be imported, and import it if the user accepts it.
async fn propose(
    wanted: &ImportServersArgs,
    from: ImportOrigin,
    session: &mut ControlSession,
    output: &Printer,
) -> Result<(), CliError> {
    let input = |(id, value): (String, String)| {
        let value = RequestSecret::new(&Secret::new(value));
        ImportInputValue { id, value }
    };
    let import = ImportsRunByName {
        from,
        only: wanted.only.clone(),
        on_conflict: match wanted.on_conflict {
            NameConflictArg::Skip => NameConflict::Skip,
            NameConflictArg::Overwrite => NameConflict::Overwrite,
            NameConflictArg::Rename => NameConflict::Rename,
        },
        keep_plain: wanted.keep_plain,
        auto_approve: wanted.auto_approve,
        inputs: parse_pairs(&wanted.input, "--input")?.into_iter().map(input).collect(),
    };
    show_outcomes(&session.run(&import).await?, output)
}

fn show_outcomes(outcomes: &[ImportOutcome], output: &Printer) -> Result<(), CliError> {
    output.show(&outcomes, |outcomes| list_outcomes(outcomes))?;
    let is_done = outcomes.iter().all(|outcome| outcome.problem.is_none());
    if is_done { Ok(()) } else { Err(CliError::NotImported) }
}

/// The name of an application, else the path of a file.
fn origin(from: &str) -> Result<ImportOrigin, CliError> {
    Ok(match from.parse::<App>() {
        Ok(app) => ImportOrigin::App(app),
        Err(_) => ImportOrigin::File(std::path::absolute(from)?.display().to_string()),
    })
}

/// The servers to import, each with what is done where its name is taken.
fn pick<'a>(
    wanted: &ImportServersArgs,
    preview: &'a ImportPreview,
    output: &Printer,
) -> Result<Vec<(&'a ImportCandidate, ImportAction)>, CliError> {
    let is_there = |name: &&String| preview.candidates.iter().any(|server| server.name == **name);
    if let Some(name) = wanted.only.iter().find(|name| !is_there(name)) {
        return Err(CliError::usage(message!("error.ctl.notToImport", server = name)));
    }
    let is_wanted = |server: &&ImportCandidate| wanted.only.is_empty() || wanted.only.contains(&server.name);
    let mut picked = Vec::new();
    for server in preview.candidates.iter().filter(is_wanted) {
        let skip = |what: Message| output.note(&terminal_text::message(&what));
        match (&server.conflict, wanted.on_conflict) {
            (None, _) => picked.push((server, ImportAction::Add)),
            (Some(conflict), _) if conflict.is_same => {
                skip(message!("ctl.import.skippedSame", server = &server.name));
            }
            (Some(_), NameConflictArg::Skip) => {
                skip(message!("ctl.import.skipped", server = &server.name));
            }
            (Some(_), NameConflictArg::Overwrite) => picked.push((server, ImportAction::Overwrite)),
            (Some(conflict), NameConflictArg::Rename) => {
                picked.push((server, ImportAction::Rename(conflict.free_name.clone())));
            }
        }
    }
    Ok(picked)
}

/// The values of the inputs of some servers: secrets from the terminal or the descriptor, all others from the options.
fn input_values(
    wanted: &ImportServersArgs,
    servers: &[&ImportCandidate],
) -> Result<BTreeMap<String, Secret>, CliError> {
    let inputs: BTreeMap<&str, &ImportInput> =
        servers.iter().flat_map(|server| &server.inputs).map(|input| (input.id.as_str(), input)).collect();
    let mut values = BTreeMap::new();
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
    let missing = |input: &&&ImportInput| !input.has_default && !values.contains_key(&input.id);
    let missing: Vec<&ImportInput> = inputs.values().filter(missing).copied().collect();
    if let Some(input) = missing.iter().find(|input| !input.is_secret) {
        return Err(CliError::usage(message!("error.ctl.inputMissing", input = &input.id)));
    }
    let secrets: Vec<String> = missing.iter().map(|input| input.id.clone()).collect();
    values.extend(read_secrets(&secrets, wanted.secret_fd)?);
    Ok(values)
}

fn value_of(input: &ImportInput, values: &BTreeMap<String, Secret>) -> Option<ImportInputValue> {
    let value = RequestSecret::new(values.get(&input.id)?);
    Some(ImportInputValue { id: input.id.clone(), value })
}

fn list_sources(sources: &[ImportSource]) -> Vec<String> {
    let row = |source: &ImportSource| {
        let servers = match &source.problem {
            Some(problem) => terminal_text::truncate(&terminal_text::error(problem), 60),
            None => source.servers.to_string(),
        };
        vec![source.app.as_str().to_owned(), servers, source.file.clone()]
    };
    let rows: Vec<Vec<String>> = sources.iter().map(row).collect();
    let heading =
        [message!("ctl.column.app"), message!("ctl.column.servers"), message!("ctl.column.settings")];
    table(&heading, &rows, &message!("ctl.import.noSources"))
}

fn list_outcomes(outcomes: &[ImportOutcome]) -> Vec<String> {
    let row = |outcome: &ImportOutcome| {
        let done = match (&outcome.problem, &outcome.server) {
            (Some(problem), _) => terminal_text::error(problem),
            (None, Some(server)) => {
                terminal_text::message(&message!("ctl.import.imported", id = server.as_str()))
            }
            (None, None) => String::new(),
        };
        vec![outcome.name.clone(), done]
    };
    let rows: Vec<Vec<String>> = outcomes.iter().map(row).collect();
    let heading = [message!("ctl.column.name"), message!("ctl.column.outcome")];
    table(&heading, &rows, &message!("ctl.import.none"))
}

/// A server and, indented, what there is to know before it is imported.
fn describe(server: &ImportCandidate) -> Vec<String> {
    let mut notes: Vec<Message> = server.problems.clone();
    if let Some(project) = &server.project {
        notes.push(message!("ctl.import.project", folder = project));
    }
    match &server.conflict {
        Some(conflict) if conflict.is_same => notes.push(message!("ctl.import.same")),
        Some(conflict) => notes.push(message!("ctl.import.taken", name = &conflict.free_name)),
        None => {}
    }
    if !server.enabled {
        notes.push(message!("ctl.import.off"));
    }
    if !server.secrets.is_empty() {
        notes.push(message!("ctl.import.secrets", fields = server.secrets.join(", ")));
    }
    if server.has_plain_secret {
        notes.push(message!("ctl.import.plainSecret"));
    }
    for input in &server.inputs {
        notes.push(match &input.description {
            Some(about) => message!("ctl.import.inputAbout", input = &input.id, about = about),
            None => message!("ctl.import.input", input = &input.id),
        });
    }
    match &server.auto_approve {
        Some(ImportedApprovals::All) => notes.push(message!("ctl.import.runsAll")),
        Some(ImportedApprovals::Tools(tools)) => {
            notes.push(message!("ctl.import.runs", tools = tools.join(", ")));
        }
        None => {}
    }
    for left_out in &server.left_out {
        let reason = left_out.reason.clone();
        notes.push(message!("ctl.import.leftOut", setting = &left_out.name, reason = reason));
    }
    let first = format!("{}  {}", terminal_text::line(&server.name), terminal_text::line(&server.summary));
    let setting = |setting: &ImportedSetting| {
        format!("  {}", terminal_text::line(&format!("{}: {}", setting.name, setting.value)))
    };
    let settings = server.settings.iter().map(setting);
    let notes = notes.iter().map(|note| format!("  {}", terminal_text::message(note)));
    std::iter::once(first).chain(settings).chain(notes).collect()
}
