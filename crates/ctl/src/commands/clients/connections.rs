//! `clients apps`, `connect` and `disconnect`: AI applications, and Gatehouse's entry in their settings.

use gatehouse_model::command::{ClientsApps, ClientsConnect, ClientsConnectPreview, ClientsDisconnect};
use gatehouse_model::connection::{
    AppView, ConnectPreview, ConnectResult, ConnectionState, DiffLineKind, DisconnectResult, RestoredHow,
    SettingsReload,
};
use gatehouse_model::{App, Message, message};

use crate::error::CliError;
use crate::output::{Printer, table};
use crate::session::ControlSession;
use crate::terminal_text;

pub(super) async fn apps(session: &mut ControlSession, output: &Printer) -> Result<(), CliError> {
    let apps = session.run(&ClientsApps {}).await?;
    output.show(&apps, |apps| list(apps))
}

/// Shows what connecting would change.
pub(super) async fn preview(
    app: App,
    allow_rule: bool,
    session: &mut ControlSession,
    output: &Printer,
) -> Result<(), CliError> {
    let preview = session.run(&ClientsConnectPreview { app, allow_rule }).await?;
    output.show(&preview, |preview| describe(preview, allow_rule))
}

/// Shows the change, and makes it.
pub(super) async fn connect(
    app: App,
    allow_rule: bool,
    session: &mut ControlSession,
    output: &Printer,
) -> Result<(), CliError> {
    let fingerprint = if session.is_proposing().await? {
        // The window shows the change.
        None
    } else {
        let preview = session.run(&ClientsConnectPreview { app, allow_rule }).await?;
        // The reply on standard output is the connection.
        for line in describe(&preview, allow_rule) {
            output.note(&line);
        }
        Some(preview.fingerprint)
    };
    let connect = ClientsConnect { app, allow_rule, fingerprint };
    let connected = session.run(&connect).await?;
    output.show(&connected, connected_lines)
}

pub(super) async fn disconnect(
    app: App,
    session: &mut ControlSession,
    output: &Printer,
) -> Result<(), CliError> {
    let disconnected = session.run(&ClientsDisconnect { app }).await?;
    output.show(&disconnected, disconnected_lines)
}

fn list(apps: &[AppView]) -> Vec<String> {
    let rows: Vec<Vec<String>> = apps
        .iter()
        .map(|view| {
            vec![
                view.name.clone(),
                view.app.as_str().to_owned(),
                terminal_text::message(&state(view)),
                view.last_call.map_or_else(|| "-".to_owned(), terminal_text::time),
                view.settings_file.clone(),
            ]
        })
        .collect();
    let heading = [
        message!("ctl.column.name"),
        message!("ctl.column.app"),
        message!("ctl.column.state"),
        message!("ctl.column.lastCall"),
        message!("ctl.column.settings"),
    ];
    table(&heading, &rows, &message!("ctl.apps.none"))
}

fn state(view: &AppView) -> Message {
    match view.state {
        ConnectionState::Connected => message!("ctl.apps.connected"),
        ConnectionState::ChangedByHand => message!("ctl.apps.changedByHand"),
        ConnectionState::Revoked => message!("ctl.apps.revoked"),
        ConnectionState::NotConnected => match &view.problem {
            Some(problem) => {
                message!("ctl.apps.unreadable", problem = terminal_text::user_text(&problem.message))
            }
            None if view.has_foreign_entry => message!("ctl.apps.foreignEntry"),
            None if view.is_installed => message!("ctl.apps.notConnected"),
            None => message!("ctl.apps.notInstalled"),
        },
    }
}

fn describe(preview: &ConnectPreview, has_rule: bool) -> Vec<String> {
    let message = terminal_text::message;
    let mut lines =
        vec![message(&message!("ctl.connect.client", app = &preview.name, client = &preview.client))];
    if preview.replaces_entry {
        lines.push(message(&message!("ctl.connect.replaces")));
    }
    for file in &preview.files {
        let heading = if file.is_new {
            message!("ctl.connect.newFile", path = &file.path)
        } else {
            message!("ctl.connect.change", path = &file.path)
        };
        lines.push(message(&heading));
        lines.extend(file.lines.iter().map(|line| {
            let sign = match line.kind {
                DiffLineKind::Kept => "  ",
                DiffLineKind::Added => "+ ",
                DiffLineKind::Removed => "- ",
                DiffLineKind::Gap => return "  …".to_owned(),
            };
            terminal_text::line(&format!("{sign}{}", line.text))
        }));
    }
    if preview.has_allow_rule && !has_rule {
        lines.push(message(&message!("ctl.connect.ruleHint", app = &preview.name)));
    }
    lines
}

fn connected_lines(connected: &ConnectResult) -> Vec<String> {
    let done = message!("ctl.connect.done", app = &connected.name, client = &connected.client.name);
    std::iter::once(done)
        .chain(reload(&connected.name, connected.reload))
        .map(|text| terminal_text::message(&text))
        .collect()
}

fn disconnected_lines(disconnected: &DisconnectResult) -> Vec<String> {
    let app = &disconnected.name;
    let files = disconnected.files.iter().map(|file| {
        let path = &file.path;
        match file.how {
            RestoredHow::Restored => message!("ctl.disconnect.restored", path = path),
            RestoredHow::Deleted => message!("ctl.disconnect.deleted", path = path),
            RestoredHow::EntryRemoved => message!("ctl.disconnect.entryRemoved", path = path, app = app),
            RestoredHow::Unchanged => message!("ctl.disconnect.unchanged", path = path),
        }
    });
    std::iter::once(message!("ctl.disconnect.done", app = app))
        .chain(files)
        .chain(reload(app, disconnected.reload))
        .map(|text| terminal_text::message(&text))
        .collect()
}

/// What the user has to do so that the application reads its settings again.
fn reload(app: &str, reload: SettingsReload) -> Option<Message> {
    match reload {
        SettingsReload::Automatic => None,
        SettingsReload::Restart => Some(message!("ctl.reload.restart", app = app)),
        SettingsReload::NextSession => Some(message!("ctl.reload.nextSession", app = app)),
    }
}
