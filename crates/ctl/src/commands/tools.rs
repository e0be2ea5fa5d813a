//! `tools …`: the tool catalog.

use gatehouse_model::command::{ToolsClassify, ToolsList, ToolsOmitted};
use gatehouse_model::grant::AccessClass;
use gatehouse_model::{OmittedTool, message};

use crate::cli::{AccessClassArg, ToolsVerb};
use crate::error::CliError;
use crate::labels::class_word;
use crate::output::{Printer, table};
use crate::session::ControlSession;
use crate::terminal_text;

pub(crate) async fn run(
    verb: ToolsVerb,
    session: &mut ControlSession,
    output: &Printer,
) -> Result<(), CliError> {
    match verb {
        ToolsVerb::List { of } => {
            let server = of.server();
            let tools = session.run(&ToolsList { server: server.clone() }).await?;
            let omitted = session.run(&ToolsOmitted { server }).await?;
            output.show(&tools, |tools| {
                let rows: Vec<Vec<String>> = tools
                    .iter()
                    .map(|tool| {
                        let words = tool.title.as_deref().or(tool.description.as_deref()).unwrap_or("");
                        vec![
                            tool.exposed_name.clone(),
                            tool.server_name.clone(),
                            class_word(tool.class.class).to_owned(),
                            terminal_text::truncate(words, 70),
                        ]
                    })
                    .collect();
                let mut lines = table(
                    &[
                        message!("ctl.column.name"),
                        message!("ctl.column.server"),
                        message!("ctl.column.class"),
                        message!("ctl.column.purpose"),
                    ],
                    &rows,
                    &message!("ctl.tools.none"),
                );
                if !omitted.is_empty() {
                    lines.extend(["".to_owned(), terminal_text::message(&message!("ctl.tools.omitted"))]);
                    lines.extend(omitted_rows(&omitted));
                }
                lines
            })
        }
        ToolsVerb::Omitted { of } => {
            let omitted = session.run(&ToolsOmitted { server: of.server() }).await?;
            output.show(&omitted, |omitted| omitted_rows(omitted))
        }
        ToolsVerb::Classify { server, tool, class } => {
            let class = match class {
                AccessClassArg::Read => Some(AccessClass::Read),
                AccessClassArg::Write => Some(AccessClass::Write),
                AccessClassArg::Clear => None,
            };
            session.run(&ToolsClassify { server, tool, class }).await?;
            output.done(&message!("ctl.done"))
        }
    }
}

fn omitted_rows(omitted: &[OmittedTool]) -> Vec<String> {
    let row = |tool: &OmittedTool| {
        vec![
            terminal_text::truncate(&tool.name, 40),
            tool.server_name.clone(),
            terminal_text::truncate(&tool.reason, 160),
        ]
    };
    let rows: Vec<Vec<String>> = omitted.iter().map(row).collect();
    table(
        &[message!("ctl.column.nameOnServer"), message!("ctl.column.server"), message!("ctl.column.why")],
        &rows,
        &message!("ctl.tools.noneOmitted"),
    )
}
