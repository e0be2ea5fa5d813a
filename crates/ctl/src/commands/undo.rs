//! `undo`: brings back what was removed a moment ago.

use gatehouse_model::command::{Removal, RemovalsUndo};
use gatehouse_model::{RemovalId, message};

use crate::error::CliError;
use crate::output::Printer;
use crate::session::ControlSession;
use crate::terminal_text;

pub(crate) async fn run(
    removal: Option<String>,
    session: &mut ControlSession,
    output: &Printer,
) -> Result<(), CliError> {
    session.run(&RemovalsUndo { removal: removal.map(RemovalId::new) }).await?;
    output.done(&message!("ctl.undone"))
}

/// Says that something was removed, and how it comes back.
pub(crate) fn removed(removal: &Removal, output: &Printer) -> Result<(), CliError> {
    output.show(removal, |removal| {
        let what = message!("ctl.removed", id = removal.id.as_str(), seconds = removal.seconds);
        vec![terminal_text::message(&what)]
    })
}
