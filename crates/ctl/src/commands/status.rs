//! `status`, `pause` and `resume`.

use gatehouse_model::command::{Pause, Resume, Status, StatusReport};
use gatehouse_model::message;

use crate::error::CliError;
use crate::output::Printer;
use crate::session::ControlSession;
use crate::terminal_text;

pub(crate) async fn status(session: &mut ControlSession, output: &Printer) -> Result<(), CliError> {
    let report = session.run(&Status {}).await?;
    output.show(&report, describe)
}

fn describe(report: &StatusReport) -> Vec<String> {
    let state = match (report.switched_on, report.paused) {
        (false, _) => "running, but MCP is switched off: no server runs and every call is refused",
        (true, true) => "paused: every call is refused",
        (true, false) => "running",
    };
    let mut lines = vec![
        format!("Gatehouse {} is {state}.", report.version),
        format!("Gateway     {}", report.endpoint),
        format!("Data        {} (process {})", terminal_text::line(&report.data_dir), report.pid),
        format!("Secrets     {}", report.secrets),
        format!("Answered by {}", report.answered_by),
        format!("Servers     {} of {} connected, {} tools", report.running, report.servers, report.tools),
        format!("Clients     {}", report.clients),
        format!("Waiting     {}", report.waiting),
    ];
    for error in &report.problems {
        lines.push(format!("Problem     {}", terminal_text::line(&terminal_text::error(error))));
    }
    lines
}

pub(crate) async fn pause(session: &mut ControlSession, output: &Printer) -> Result<(), CliError> {
    session.run(&Pause {}).await?;
    output.done(&message!("ctl.status.pausedNow"))
}

pub(crate) async fn resume(session: &mut ControlSession, output: &Printer) -> Result<(), CliError> {
    session.run(&Resume {}).await?;
    output.done(&message!("ctl.status.resumed"))
}
