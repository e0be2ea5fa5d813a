//! `servers edit` and `servers set`: change settings of a server, as they stand in servers.json. Only what changes is sent.
//! The core says what is wrong with it, and applies it; what this caller doesn't see of the settings stays as it is.

use std::io::{BufRead as _, Write as _};
use std::process::Command;

use gatehouse_model::command::{
    FieldSecret, RequestSecret, ServersSet, ServersSettingsText, ServersValidate,
};
use gatehouse_model::server::ServerView;
use gatehouse_model::server_problem::{ServerProblem, SettingChange, SettingsInput, ValidationReport};
use gatehouse_model::{ErrorCode, Message, MessageParam, Secret, Transport, UserError, message};

use super::find;
use super::setting_changes::{changes_between, read_changes};
use crate::cli::{EditServerArgs, SetServerArgs};
use crate::commands::watch::approval_text;
use crate::error::CliError;
use crate::output::{self, Printer};
use crate::secret_input;
use crate::session::{Confirmation, ControlSession};
use crate::terminal_text;

/// Changes that the core found nothing wrong with.
struct CheckedChanges {
    changes: Vec<SettingChange>,
    report: ValidationReport,
    /// The fields whose secrets have to be given with them.
    new_secrets: Vec<String>,
}

/// Has a server's settings edited in the user's editor.
pub(super) async fn edit(
    wanted: &EditServerArgs,
    session: &mut ControlSession,
    output: &Printer,
) -> Result<ServerView, CliError> {
    let confirmation = session.require_operator().await?;
    let is_asked_here = confirmation == Confirmation::OperatorKey && !wanted.yes;
    if is_asked_here && !output::is_interactive() {
        return Err(CliError::usage(message!("error.ctl.editUnconfirmed")));
    }
    let before = find(&wanted.server, session).await?;
    let server = before.config.id.to_string();
    let text = session.run(&ServersSettingsText { server }).await?.text;
    let mut edited = text.clone();
    let checked = loop {
        edited = edit_text(&edited)?;
        session.disconnect();
        let checked = match changes_between(&text, &edited) {
            Ok(changes) if changes.is_empty() => return Ok(unchanged(before, output)),
            Ok(changes) => check(&before, changes, session).await?,
            Err(problem) => Err(settings_invalid(problem)),
        };
        match checked {
            Ok(checked) => break checked,
            Err(error) => {
                let is_retried = !wanted.yes && output::is_interactive() && {
                    output.note(&terminal_text::error(&error));
                    confirm(&message!("ctl.servers.editAgain"))?
                };
                if !is_retried {
                    return Err(error.into());
                }
            }
        }
    };
    if checked.report.changes.is_empty() && checked.new_secrets.is_empty() {
        return Ok(unchanged(before, output));
    }
    show_changes(&checked, confirmation, output);
    if is_asked_here && !confirm(&message!("ctl.servers.editConfirm", server = &before.config.name))? {
        return Err(failed(message!("error.ctl.editDiscarded")));
    }
    apply(checked, &before, wanted.secret_fd, session).await
}

fn unchanged(view: ServerView, output: &Printer) -> ServerView {
    output.note(&terminal_text::message(&message!("ctl.servers.unchanged")));
    view
}

/// Sets single settings of a server.
pub(super) async fn set(
    wanted: &SetServerArgs,
    session: &mut ControlSession,
    output: &Printer,
) -> Result<ServerView, CliError> {
    // Before anything is sent, so that a wrong word is not hidden by a missing key.
    let changes = read_changes(wanted)?;
    let confirmation = session.require_operator().await?;
    let before = find(&wanted.server, session).await?;
    let checked = check(&before, changes, session).await??;
    show_changes(&checked, confirmation, output);
    apply(checked, &before, wanted.secret_fd, session).await
}

/// Has the core check changes, as far as it can without what this caller doesn't see. Secrets that have to be given with
/// them count as given.
async fn check(
    before: &ServerView,
    changes: Vec<SettingChange>,
    session: &mut ControlSession,
) -> Result<Result<CheckedChanges, UserError>, CliError> {
    let mut validate = ServersValidate {
        server: Some(before.config.id.to_string()),
        settings: SettingsInput::Changes(changes.clone()),
        secrets: Vec::new(),
    };
    let mut report = session.run(&validate).await?;
    if let Some(draft) = &report.draft {
        validate.secrets = new_secrets(&before.config.transport, &draft.transport);
        if !validate.secrets.is_empty() {
            report = session.run(&validate).await?;
        }
    }
    if report.draft.is_none() || !report.problems.is_empty() {
        return Ok(Err(settings_invalid(all_problems(&report.problems))));
    }
    Ok(Ok(CheckedChanges { changes, report, new_secrets: validate.secrets }))
}

/// The fields that refer to a secret which is not stored for them.
fn new_secrets(before: &Transport, after: &Transport) -> Vec<String> {
    let fields = after.secret_references().into_keys();
    fields.filter(|field| !after.keeps_secret(before, field)).collect()
}

async fn apply(
    checked: CheckedChanges,
    before: &ServerView,
    secret_fd: Option<i32>,
    session: &mut ControlSession,
) -> Result<ServerView, CliError> {
    let secrets = read_secrets(&checked.new_secrets, secret_fd)?;
    session.disconnect();
    let server = before.config.id.to_string();
    session.run(&ServersSet { server, changes: checked.changes, secrets }).await
}

fn read_secrets(fields: &[String], descriptor: Option<i32>) -> Result<Vec<FieldSecret>, CliError> {
    let given = match descriptor {
        Some(descriptor) => Some(secret_input::read_lines(descriptor, message!("ctl.secret.secrets"))?),
        None => None,
    };
    let mut given = given.map(Vec::into_iter);
    fields
        .iter()
        .map(|field| {
            let value = match &mut given {
                Some(lines) => lines.next().filter(|line| !line.is_empty()).map(Secret::new),
                None => secret_input::prompt_for_secret(&message!("ctl.prompt.secret", name = field)),
            };
            let value = value.ok_or_else(|| CliError::usage(message!("error.ctl.noSecret", name = field)))?;
            Ok(FieldSecret { field: field.clone(), value: RequestSecret::new(&value) })
        })
        .collect()
}

/// Shows changes, unless the window does: it sees the settings whole.
fn show_changes(checked: &CheckedChanges, confirmation: Confirmation, output: &Printer) {
    if confirmation == Confirmation::OperatorKey {
        for line in approval_text::change_lines(&checked.report.changes) {
            output.note(&line);
        }
    }
}

/// All problems as one text.
fn all_problems(problems: &[ServerProblem]) -> Message {
    let sentence = |problem: &ServerProblem| -> Message {
        let field = problem.pointer.trim_matches('/').replace('/', ".");
        if field.is_empty() {
            return problem.message.clone();
        }
        message!("problem.inField", field = field, problem = problem.message.clone())
    };
    let sentences: Vec<Message> = problems.iter().map(sentence).collect();
    message!("problem.all", problems = MessageParam::Sentences(sentences))
}

fn settings_invalid(why: Message) -> UserError {
    UserError::new(ErrorCode::BadRequest, message!("error.ctl.settingsInvalid")).with_cause(why)
}

fn failed(why: Message) -> CliError {
    UserError::new(ErrorCode::BadRequest, why).into()
}

/// Asks yes or no at the terminal; anything but a yes is a no.
fn confirm(question: &Message) -> Result<bool, CliError> {
    let mut out = std::io::stdout().lock();
    write!(out, "{} ", terminal_text::message(question))?;
    out.flush()?;
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    Ok(matches!(line.trim(), "y" | "Y" | "yes"))
}

/// Opens the text in the user's editor and returns it as it was saved.
fn edit_text(text: &str) -> Result<String, CliError> {
    // Only this user can read it, and it goes with the end of the edit.
    let mut file = tempfile::Builder::new().prefix("gatehouse-").suffix(".json").tempfile()?;
    writeln!(file, "{text}")?;
    file.flush()?;
    let editor = editor();
    let status = editor_command(&editor, file.path()).status().map_err(|error| {
        failed(message!("error.ctl.editorNotStarted", editor = &editor, reason = error.to_string()))
    })?;
    if !status.success() {
        return Err(failed(message!("error.ctl.editorFailed", editor = &editor)));
    }
    // By its path: editors put a new file in its place.
    Ok(std::fs::read_to_string(file.path())?)
}

/// The command line of the editor.
fn editor() -> String {
    let variable = |name| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    let usual = if cfg!(windows) { "notepad" } else { "vi" };
    variable("VISUAL").or_else(|| variable("EDITOR")).unwrap_or_else(|| usual.to_owned())
}

/// The editor is a command line, as for other programs that open it: it may have arguments.
#[cfg(not(windows))]
fn editor_command(editor: &str, file: &std::path::Path) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{editor} \"$1\""), "sh"]).arg(file);
    command
}

#[cfg(windows)]
fn editor_command(editor: &str, file: &std::path::Path) -> Command {
    let mut command = Command::new("cmd");
    command.arg("/C").arg(editor).arg(file);
    command
}
