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
    let version = &report.version;
    let state = match (report.switched_on, report.paused) {
        (false, _) => message!("ctl.status.off", version = version),
        (true, true) => message!("ctl.status.paused", version = version),
        (true, false) => message!("ctl.status.running", version = version),
    };
    let facts = [
        state,
        message!("ctl.status.endpoint", endpoint = &report.endpoint),
        message!("ctl.status.data", folder = &report.data_dir, process = report.pid),
        message!("ctl.status.secrets", kind = &report.secrets),
        message!("ctl.status.answeredBy", who = &report.answered_by),
        message!(
            "ctl.status.servers",
            running = report.running,
            servers = report.servers,
            tools = report.tools
        ),
        message!("ctl.status.clients", count = report.clients),
        message!("ctl.status.waiting", count = report.waiting),
    ];
    let problems = report
        .problems
        .iter()
        .map(|error| message!("ctl.status.problem", problem = terminal_text::error(error)));
    facts.into_iter().chain(problems).map(|fact| terminal_text::message(&fact)).collect()
}

pub(crate) async fn pause(session: &mut ControlSession, output: &Printer) -> Result<(), CliError> {
    session.run(&Pause {}).await?;
    output.done(&message!("ctl.status.pausedNow"))
}

pub(crate) async fn resume(session: &mut ControlSession, output: &Printer) -> Result<(), CliError> {
    session.run(&Resume {}).await?;
    output.done(&message!("ctl.status.resumed"))
}
