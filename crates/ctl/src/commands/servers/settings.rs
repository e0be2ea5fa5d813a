//! `servers edit` and `servers set`: change a server's settings as the JSON that they have in servers.json. The core
//! says what is wrong with them and what they change; secrets in them stay placeholders until they are back in the core.

use std::io::{BufRead as _, Write as _};
use std::process::Command;

use gatehouse_model::command::{
    FieldSecret, RequestSecret, ServersEdit, ServersSettingsText, ServersValidate,
};
use gatehouse_model::server::{ServerDraft, ServerView};
use gatehouse_model::server_problem::{ServerProblem, SettingsInput, ValidationReport};
use gatehouse_model::{ErrorCode, Message, MessageParam, Secret, Transport, UserError, message};
use serde_json::{Map, Value};

use super::find;
use crate::cli::{EditServerArgs, SetServerArgs};
use crate::commands::watch::approval_text;
use crate::error::CliError;
use crate::output::{self, Printer};
use crate::secret_input;
use crate::session::ControlSession;
use crate::terminal_text;

/// Settings that the core found nothing wrong with.
struct CheckedSettings {
    draft: ServerDraft,
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
    if !wanted.yes && !output::is_interactive() {
        return Err(CliError::usage(message!("error.ctl.editUnconfirmed")));
    }
    session.require_operator_key().await?;
    let before = find(&wanted.server, session).await?;
    let id = before.config.id.to_string();
    let text = session.run(&ServersSettingsText { server: id.clone() }).await?.text;
    let mut edited = text.clone();
    let checked = loop {
        edited = edit_text(&edited)?;
        session.disconnect();
        match check(&before, &edited, session).await? {
            Ok(checked) => break checked,
            Err(problems) => {
                let error = problems_error(&problems);
                let is_retried = !wanted.yes && {
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
        output.note(&terminal_text::message(&message!("ctl.servers.unchanged")));
        return Ok(before);
    }
    show_changes(&checked, output);
    if !wanted.yes && !confirm(&message!("ctl.servers.editConfirm", server = &before.config.name))? {
        return Err(failed(message!("error.ctl.editDiscarded")));
    }
    apply(checked, id, wanted.secret_fd, session).await
}

/// Sets single settings of a server.
pub(super) async fn set(
    wanted: &SetServerArgs,
    session: &mut ControlSession,
    output: &Printer,
) -> Result<ServerView, CliError> {
    // Before anything is sent, so that a wrong word is not hidden by a missing key.
    let changes = SettingChange::read_all(wanted)?;
    session.require_operator_key().await?;
    let before = find(&wanted.server, session).await?;
    let id = before.config.id.to_string();
    let text = session.run(&ServersSettingsText { server: id.clone() }).await?.text;
    let text = changed_text(&text, &changes)?;
    let checked = match check(&before, &text, session).await? {
        Ok(checked) => checked,
        Err(problems) => return Err(problems_error(&problems).into()),
    };
    show_changes(&checked, output);
    apply(checked, id, wanted.secret_fd, session).await
}

/// Has the core check settings. Secrets that have to be given with them count as given.
async fn check(
    before: &ServerView,
    text: &str,
    session: &mut ControlSession,
) -> Result<Result<CheckedSettings, Vec<ServerProblem>>, CliError> {
    let mut validate = ServersValidate {
        server: Some(before.config.id.to_string()),
        settings: SettingsInput::Json(text.to_owned()),
        secrets: Vec::new(),
    };
    let mut report = session.run(&validate).await?;
    if let Some(draft) = &report.draft {
        validate.secrets = new_secrets(&before.config.transport, &draft.transport);
        if !validate.secrets.is_empty() {
            report = session.run(&validate).await?;
        }
    }
    Ok(match report.draft.clone() {
        Some(draft) if report.problems.is_empty() => {
            Ok(CheckedSettings { draft, report, new_secrets: validate.secrets })
        }
        Some(_) | None => Err(report.problems),
    })
}

/// The fields that refer to a secret which is not stored for them.
fn new_secrets(before: &Transport, after: &Transport) -> Vec<String> {
    let fields = after.secret_references().into_keys();
    fields.filter(|field| !after.keeps_secret(before, field)).collect()
}

async fn apply(
    checked: CheckedSettings,
    server: String,
    secret_fd: Option<i32>,
    session: &mut ControlSession,
) -> Result<ServerView, CliError> {
    let secrets = read_secrets(&checked.new_secrets, secret_fd)?;
    session.disconnect();
    session.run(&ServersEdit { server, draft: checked.draft, secrets }).await
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

fn show_changes(checked: &CheckedSettings, output: &Printer) {
    for line in approval_text::change_lines(&checked.report.changes) {
        output.note(&line);
    }
}

/// All problems as one error.
fn problems_error(problems: &[ServerProblem]) -> UserError {
    let sentence = |problem: &ServerProblem| -> Message {
        let field = problem.pointer.trim_matches('/').replace('/', ".");
        if field.is_empty() {
            return problem.message.clone();
        }
        message!("problem.inField", field = field, problem = problem.message.clone())
    };
    let sentences: Vec<Message> = problems.iter().map(sentence).collect();
    UserError::new(ErrorCode::BadRequest, message!("error.ctl.settingsInvalid"))
        .with_cause(message!("problem.all", problems = MessageParam::Sentences(sentences)))
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

/// What the value of a setting is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SettingKind {
    Text,
    Flag,
    Number,
    /// A time limit of calls: seconds, `none` or `default`.
    CallLimit,
}

/// The settings that can be set one by one, by their path in the entry of servers.json. `env.` and `headers.` are
/// followed by a name; `name` is the key of the entry.
const SETTINGS: [(&str, SettingKind); 20] = [
    (NAME, SettingKind::Text),
    ("command", SettingKind::Text),
    ("cwd", SettingKind::Text),
    ("url", SettingKind::Text),
    ("protocolVersion", SettingKind::Text),
    ("description", SettingKind::Text),
    ("icon", SettingKind::Text),
    ("group", SettingKind::Text),
    ("env.", SettingKind::Text),
    ("headers.", SettingKind::Text),
    ("enabled", SettingKind::Flag),
    ("autostart", SettingKind::Flag),
    ("recordBodies", SettingKind::Flag),
    ("limits.strict", SettingKind::Flag),
    ("limits.connectSecs", SettingKind::Number),
    ("limits.healthEverySecs", SettingKind::Number),
    ("limits.healthTimeoutSecs", SettingKind::Number),
    ("limits.healthFailures", SettingKind::Number),
    ("limits.callSecs", SettingKind::CallLimit),
    ("limits.callCapSecs", SettingKind::CallLimit),
];

const NAME: &str = "name";

/// The verb that takes them.
const VERB: &str = "servers set";

/// One setting with its new value; without one it becomes what it is by default.
#[derive(Debug, PartialEq)]
struct SettingChange {
    key: String,
    value: Option<Value>,
}

impl SettingChange {
    fn read_all(wanted: &SetServerArgs) -> Result<Vec<Self>, CliError> {
        let set = wanted.settings.iter().map(|pair| Self::read(pair));
        let unset = wanted.unset.iter().map(|key| {
            kind_of(key).filter(|_| key != NAME).ok_or_else(|| unknown_setting(key))?;
            Ok(Self { key: key.clone(), value: None })
        });
        set.chain(unset).collect()
    }

    fn read(pair: &str) -> Result<Self, CliError> {
        // The value is not repeated in errors: it may be a secret.
        let expected = || CliError::usage(message!("error.ctl.pairExpected", option = VERB));
        let (key, text) = pair.split_once('=').ok_or_else(expected)?;
        let kind = kind_of(key).ok_or_else(|| unknown_setting(key))?;
        let value = kind.read(text).ok_or_else(|| {
            CliError::usage(match kind {
                SettingKind::Flag => message!("error.ctl.flagExpected", setting = key),
                SettingKind::Text | SettingKind::Number => {
                    message!("error.ctl.numberExpected", setting = key)
                }
                SettingKind::CallLimit => message!("error.ctl.callLimitExpected", setting = key),
            })
        })?;
        Ok(Self { key: key.to_owned(), value: Some(value) })
    }
}

impl SettingKind {
    fn read(self, text: &str) -> Option<Value> {
        match (self, text) {
            (Self::Text, text) => Some(Value::from(text)),
            (Self::Flag, "true" | "on") => Some(Value::Bool(true)),
            (Self::Flag, "false" | "off") => Some(Value::Bool(false)),
            (Self::Flag, _) => None,
            (Self::CallLimit, "none") => Some(Value::Null),
            (Self::CallLimit, "default") => Some(Value::from("default")),
            (Self::Number | Self::CallLimit, text) => text.parse::<u32>().ok().map(Value::from),
        }
    }
}

fn kind_of(key: &str) -> Option<SettingKind> {
    let fits = |known: &str| match known.strip_suffix('.') {
        Some(_) => key.len() > known.len() && key.starts_with(known),
        None => key == known,
    };
    SETTINGS.iter().find(|(known, _)| fits(known)).map(|(_, kind)| *kind)
}

fn unknown_setting(key: &str) -> CliError {
    let name = |(known, _): &(&str, SettingKind)| {
        if known.ends_with('.') { format!("{known}NAME") } else { (*known).to_owned() }
    };
    let others: Vec<String> = SETTINGS.iter().map(name).collect();
    CliError::usage(message!(
        "error.ctl.notASetting",
        setting = terminal_text::truncate(key, 40),
        others = others.join(", ")
    ))
}

/// The settings with these changes.
fn changed_text(text: &str, changes: &[SettingChange]) -> Result<String, CliError> {
    let unreadable = |_| UserError::new(ErrorCode::Internal, message!("error.app.badReply"));
    let servers: Map<String, Value> = serde_json::from_str(text).map_err(unreadable)?;
    let mut changed = Map::new();
    for (mut name, mut entry) in servers {
        for change in changes {
            match (&*change.key, &change.value) {
                (NAME, Some(Value::String(new))) => name.clone_from(new),
                (key, value) => {
                    if let Value::Object(entry) = &mut entry {
                        put(entry, key, value.clone());
                    }
                }
            }
        }
        changed.insert(name, entry);
    }
    Ok(Value::Object(changed).to_string())
}

/// Sets or removes one member; the part of its path before the first dot is an object.
fn put(entry: &mut Map<String, Value>, path: &str, value: Option<Value>) {
    let Some((place, name)) = path.split_once('.') else {
        match value {
            Some(value) => drop(entry.insert(path.to_owned(), value)),
            None => drop(entry.remove(path)),
        }
        return;
    };
    match value {
        Some(value) => {
            let members = entry.entry(place).or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(members) = members {
                members.insert(name.to_owned(), value);
            }
        }
        None => {
            if let Some(Value::Object(members)) = entry.get_mut(place) {
                members.remove(name);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn changed(before: Value, settings: &[&str], unset: &[&str]) -> Value {
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        let wanted = SetServerArgs {
            server: "a".into(),
            settings: words(settings),
            unset: words(unset),
            secret_fd: None,
        };
        let changes = SettingChange::read_all(&wanted).unwrap();
        serde_json::from_str(&changed_text(&before.to_string(), &changes).unwrap()).unwrap()
    }

    #[test]
    fn sets_and_removes_single_settings() {
        assert_eq!(
            changed(
                json!({ "a": { "command": "x", "env": { "A": "1", "B": "2" }, "group": "g" } }),
                &["name=b", "env.A.B=a=b", "autostart=off", "limits.callSecs=none", "limits.callCapSecs=60"],
                &["env.B", "group", "headers.X"],
            ),
            json!({ "b": {
                "command": "x", "env": { "A": "1", "A.B": "a=b" }, "autostart": false,
                "limits": { "callSecs": null, "callCapSecs": 60 },
            } })
        );
    }

    #[test]
    fn refuses_other_settings_and_values() {
        for pair in [
            "args=x",
            "gatehouse=x",
            "env.=x",
            "env=x",
            "limits=1",
            "enabled=yes",
            "limits.callSecs=soon",
            "limits.connectSecs=-1",
            "limits.connectSecs=none",
            "autostart",
        ] {
            assert!(SettingChange::read(pair).is_err(), "{pair}");
        }
    }
}
