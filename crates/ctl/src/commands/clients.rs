//! `clients …`: the clients that may connect. A token is printed once, when it is created, or stored in the keychain
//! for `bridge`. AI applications are connected and disconnected here too.

mod bridge_token;
mod connections;

use std::collections::HashMap;

use gatehouse_model::command::{
    ClientsAdd, ClientsList, ClientsRevoke, ClientsRotate, ClientsSet, MintedClient, ProfilesList,
};
use gatehouse_model::{ClientAccess, ClientView, ProfileId, message};

use crate::cli::ClientsVerb;
use crate::commands::profiles::cost;
use crate::error::CliError;
use crate::output::{Printer, table};
use crate::secret_input;
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
            let profiles = profile_names(session).await?;
            output.show(&clients, |clients| list(clients, &profiles))
        }
        ClientsVerb::Add { name, bridge: false } => {
            let minted = session.run(&ClientsAdd { name }).await?;
            output.show(&minted, token_lines)
        }
        ClientsVerb::Add { name, bridge: true } => {
            let keychain = bridge_token::BridgeKeychain::open(session)?;
            let minted = session.run(&ClientsAdd { name }).await?;
            keychain.store_minted(&minted, session).await?;
            output.show(&minted.client, bridge_lines)
        }
        ClientsVerb::Rotate { client, bridge: false } => {
            let minted = session.run(&ClientsRotate { client }).await?;
            output.show(&minted, token_lines)
        }
        ClientsVerb::Rotate { client, bridge: true } => {
            let keychain = bridge_token::BridgeKeychain::open(session)?;
            let minted = session.run(&ClientsRotate { client }).await?;
            keychain.store_minted(&minted, session).await?;
            output.show(&minted.client, bridge_lines)
        }
        ClientsVerb::KeepToken { name, token_fd } => {
            let token = secret_input::read_client_token(token_fd)?;
            bridge_token::keep(session, &name, token).await?;
            output.done(&message!("ctl.clients.bridgeKept", name = name))
        }
        ClientsVerb::ForgetToken { name } => {
            bridge_token::BridgeKeychain::open(session)?.delete(&name, session).await?;
            output.done(&message!("ctl.clients.bridgeForgotten", name = name))
        }
        ClientsVerb::Set { client, profile } => {
            let set = session.run(&ClientsSet { client, profile: profile.profile }).await?;
            let profiles = profile_names(session).await?;
            output.show(&set, |set| list(std::slice::from_ref(set), &profiles))
        }
        ClientsVerb::Apps => connections::apps(session, output).await,
        ClientsVerb::Connect { app, dry_run: true, allow_rule } => {
            connections::preview(app, allow_rule, session, output).await
        }
        ClientsVerb::Connect { app, dry_run: false, allow_rule } => {
            connections::connect(app, allow_rule, session, output).await
        }
        ClientsVerb::Disconnect { app } => connections::disconnect(app, session, output).await,
        ClientsVerb::Revoke { client } => {
            session.run(&ClientsRevoke { client }).await?;
            output.done(&message!("ctl.clients.revoked"))
        }
    }
}

fn bridge_lines(client: &ClientView) -> Vec<String> {
    let found = message!("ctl.clients.client", name = &client.name, id = client.id.as_str());
    let command = message!("ctl.clients.bridgeCommand", name = &client.name);
    vec![terminal_text::message(&found), terminal_text::message(&command)]
}

fn token_lines(minted: &MintedClient) -> Vec<String> {
    let client = message!("ctl.clients.client", name = &minted.client.name, id = minted.client.id.as_str());
    let endpoint = message!("ctl.clients.endpoint", endpoint = &minted.endpoint);
    let server_endpoint = message!("ctl.clients.serverEndpoint", endpoint = &minted.server_endpoint);
    let sse_endpoint = message!("ctl.clients.sseEndpoint", endpoint = &minted.sse_endpoint);
    // The token is no parameter, since a message can be logged.
    let label = terminal_text::message(&message!("ctl.clients.token"));
    vec![
        terminal_text::message(&client),
        terminal_text::message(&endpoint),
        terminal_text::message(&server_endpoint),
        terminal_text::message(&sse_endpoint),
        format!("{label} {}", minted.token.reveal()),
        terminal_text::message(&message!("ctl.clients.tokenOnce")),
    ]
}

/// Names of profiles by id.
async fn profile_names(session: &mut ControlSession) -> Result<HashMap<ProfileId, String>, CliError> {
    let all = session.run(&ProfilesList {}).await?;
    Ok(all.into_iter().map(|view| (view.profile.id, view.profile.settings.name)).collect())
}

fn list(clients: &[ClientView], profiles: &HashMap<ProfileId, String>) -> Vec<String> {
    let rows: Vec<Vec<String>> = clients
        .iter()
        .map(|client| {
            vec![
                client.name.clone(),
                client.id.to_string(),
                match &client.access {
                    ClientAccess::Token => terminal_text::message(&message!("ctl.clients.byToken")),
                    ClientAccess::Oauth { .. } => terminal_text::message(&message!("ctl.clients.byOauth")),
                },
                client.says.clone().unwrap_or_else(|| "-".into()),
                client.last_seen.map_or_else(
                    || terminal_text::message(&message!("ctl.clients.notInThisRun")),
                    terminal_text::time,
                ),
                client.sessions.to_string(),
                if client.has_stale_list {
                    terminal_text::message(&message!("ctl.clients.staleList"))
                } else {
                    "-".into()
                },
                match &client.profile {
                    Some(id) => profiles.get(id).cloned().unwrap_or_else(|| id.to_string()),
                    None => "-".to_owned(),
                },
                cost(&client.tool_list),
            ]
        })
        .collect();
    table(
        &[
            message!("ctl.column.name"),
            message!("ctl.column.id"),
            message!("ctl.column.access"),
            message!("ctl.column.saysItIs"),
            message!("ctl.column.lastSeen"),
            message!("ctl.column.sessions"),
            message!("ctl.column.toolList"),
            message!("ctl.column.profile"),
            message!("ctl.column.toolCost"),
        ],
        &rows,
        &message!("ctl.clients.none"),
    )
}
