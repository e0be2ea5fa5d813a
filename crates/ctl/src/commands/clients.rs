//! `clients …`: the clients that may connect. A token is printed once, when it is created.

use gatehouse_model::command::{ClientsAdd, ClientsList, ClientsRevoke, ClientsRotate, MintedClient};
use gatehouse_model::{ClientView, message};

use crate::cli::ClientsVerb;
use crate::error::CliError;
use crate::output::{Printer, table};
use crate::session::ControlSession;
use crate::terminal_text;

pub(crate) async fn run(
    verb: ClientsVerb,
    session: &mut ControlSession,
    output: &Printer,
) -> Result<(), CliError> {
    match verb {
        ClientsVerb::List => {
            let clients = session.run(&ClientsList {}).await?;
            output.show(&clients, |clients| list(clients))
        }
        ClientsVerb::Add { name } => {
            let minted = session.run(&ClientsAdd { name }).await?;
            output.show(&minted, token_lines)
        }
        ClientsVerb::Rotate { client } => {
            let minted = session.run(&ClientsRotate { client }).await?;
            output.show(&minted, token_lines)
        }
        ClientsVerb::Revoke { client } => {
            session.run(&ClientsRevoke { client }).await?;
            output.done(&message!("ctl.clients.revoked"))
        }
    }
}

fn token_lines(minted: &MintedClient) -> Vec<String> {
    let client = message!("ctl.clients.client", name = &minted.client.name, id = minted.client.id.as_str());
    let endpoint = message!("ctl.clients.endpoint", endpoint = &minted.endpoint);
    // The token is no parameter, since a message can be logged.
    let label = terminal_text::message(&message!("ctl.clients.token"));
    vec![
        terminal_text::message(&client),
        terminal_text::message(&endpoint),
        format!("{label} {}", minted.token.reveal()),
        terminal_text::message(&message!("ctl.clients.tokenOnce")),
    ]
}

fn list(clients: &[ClientView]) -> Vec<String> {
    let rows: Vec<Vec<String>> = clients
        .iter()
        .map(|client| {
            vec![
                client.name.clone(),
                client.id.to_string(),
                client.says.clone().unwrap_or_else(|| "-".into()),
                client.last_seen.map_or_else(
                    || terminal_text::message(&message!("ctl.clients.notInThisRun")),
                    terminal_text::time,
                ),
                client.sessions.to_string(),
            ]
        })
        .collect();
    table(
        &[
            message!("ctl.column.name"),
            message!("ctl.column.id"),
            message!("ctl.column.saysItIs"),
            message!("ctl.column.lastSeen"),
            message!("ctl.column.sessions"),
        ],
        &rows,
        &message!("ctl.clients.none"),
    )
}
