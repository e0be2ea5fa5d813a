//! `servers log`: the last lines of one server or of all, and those that come.

use std::collections::BTreeMap;

use gatehouse_app::control::ControlEvents;
use gatehouse_app::events::StreamEvent;
use gatehouse_model::command::{ServersList, ServersLog};
use gatehouse_model::server::{LogLine, LogSource};
use gatehouse_model::{Event, ServerId, message};
use serde::Serialize;

use super::find;
use crate::error::CliError;
use crate::output::{self, Printer};
use crate::session::ControlSession;
use crate::terminal_text;

/// A line with the server that it is of.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ServerLogLine<'a> {
    server: &'a ServerId,
    name: &'a str,
    #[serde(flatten)]
    line: &'a LogLine,
}

impl ServerLogLine<'_> {
    /// The line with its time and its server, and its level where the server gave one.
    fn text(&self) -> String {
        let line = self.line;
        let level = match (line.source, line.level) {
            (LogSource::Server | LogSource::Gatehouse, Some(level)) => format!("{}: ", level.as_str()),
            (LogSource::Stderr, _) | (_, None) => String::new(),
        };
        let (at, name) = (terminal_text::time(line.at), terminal_text::line(self.name));
        format!("{at}  {name}  {level}{}", terminal_text::line(&line.text))
    }
}

/// The log of one server as far as it was read.
struct ServerLog {
    name: String,
    lines: Vec<LogLine>,
}

/// Prints the last lines: of one server, or of all in the order in which they were written.
pub(super) async fn show(
    server: Option<&str>,
    session: &mut ControlSession,
    output: &Printer,
) -> Result<(), CliError> {
    let logs = read(server, session).await?;
    output.show(&merged(&logs), |lines| lines.iter().map(ServerLogLine::text).collect())
}

/// Prints the last lines and then each that comes, until Ctrl+C, or until nobody reads the output any more.
pub(super) async fn follow(
    server: Option<&str>,
    session: &mut ControlSession,
    output: &Printer,
) -> Result<(), CliError> {
    // Before the lines are read, so that none is lost in between.
    let mut events = session.public_events().await?;
    let logs = read(server, session).await?;
    let mut following = FollowedLogs { logs, is_one: server.is_some() };
    let followed = async {
        following.print_last(output)?;
        following.run(&mut events, output).await
    };
    let end = tokio::select! {
        end = followed => end,
        pressed = tokio::signal::ctrl_c() => Ok(pressed?),
        () = output::closed() => Ok(()),
    };
    match end {
        Err(CliError::Io(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        end => end,
    }
}

struct FollowedLogs {
    /// The lines are those that were printed at first; they may come once more as events.
    logs: BTreeMap<ServerId, ServerLog>,
    /// Whether only one server is followed; others that come are left out.
    is_one: bool,
}

impl FollowedLogs {
    fn print_last(&self, output: &Printer) -> Result<(), CliError> {
        merged(&self.logs).iter().try_for_each(|line| self.print(line, output))
    }

    fn print(&self, line: &ServerLogLine<'_>, output: &Printer) -> Result<(), CliError> {
        if output.is_json() { output.json(line) } else { output.line(&line.text()) }
    }

    async fn run(&mut self, events: &mut ControlEvents, output: &Printer) -> Result<(), CliError> {
        loop {
            let envelope = match events.next().await? {
                StreamEvent::Event(envelope) => envelope,
                StreamEvent::Missed => {
                    output.note(&terminal_text::message(&message!("ctl.servers.logMissed")));
                    continue;
                }
            };
            match &envelope.event {
                Event::LogLine { server, line } => self.line(server, line, output)?,
                Event::ServerAdded { server, name } if !self.is_one => {
                    self.logs.insert(server.clone(), ServerLog { name: name.clone(), lines: Vec::new() });
                }
                Event::ConfigChanged { server: Some(server), name: Some(name), .. } => {
                    if let Some(log) = self.logs.get_mut(server) {
                        log.name.clone_from(name);
                    }
                }
                Event::ServerRemoved { server, .. } => {
                    self.logs.remove(server);
                    if self.is_one && self.logs.is_empty() {
                        output.note(&terminal_text::message(&message!("ctl.servers.logEnded")));
                        return Ok(());
                    }
                }
                _ => {}
            }
        }
    }

    /// Prints a line that came, unless it was among the first ones.
    fn line(&mut self, server: &ServerId, line: &LogLine, output: &Printer) -> Result<(), CliError> {
        let Some(log) = self.logs.get_mut(server) else { return Ok(()) };
        if let Some(at) = log.lines.iter().position(|printed| printed == line) {
            log.lines.remove(at);
            return Ok(());
        }
        if log.lines.last().is_some_and(|last| last.at < line.at) {
            log.lines.clear();
        }
        let name = log.name.clone();
        self.print(&ServerLogLine { server, name: &name, line }, output)
    }
}

/// Reads the last lines of one server or of all.
async fn read(
    server: Option<&str>,
    session: &mut ControlSession,
) -> Result<BTreeMap<ServerId, ServerLog>, CliError> {
    let servers = match server {
        Some(server) => vec![find(server, session).await?],
        None => session.run(&ServersList {}).await?,
    };
    let mut logs = BTreeMap::new();
    for view in servers {
        let id = view.config.id;
        let lines = session.run(&ServersLog { server: id.to_string() }).await?;
        logs.insert(id, ServerLog { name: view.config.name, lines });
    }
    Ok(logs)
}

/// All lines, oldest first.
fn merged(logs: &BTreeMap<ServerId, ServerLog>) -> Vec<ServerLogLine<'_>> {
    let mut lines: Vec<ServerLogLine<'_>> = logs
        .iter()
        .flat_map(|(server, log)| {
            log.lines.iter().map(|line| ServerLogLine { server, name: &log.name, line })
        })
        .collect();
    lines.sort_by_key(|line| line.line.at);
    lines
}
