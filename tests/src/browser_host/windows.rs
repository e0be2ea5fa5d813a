//! The commands of both windows, as requests.

use std::path::PathBuf;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use gatehouse_desktop::{WindowCommand, server_link_in};
use gatehouse_model::command::{ApprovalsOpinion, ApprovalsReveal};
use gatehouse_model::{ApprovalId, CallHash, ErrorCode, UserError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::BrowserHost;

pub(super) async fn recorded_actions(State(host): State<Arc<BrowserHost>>) -> Json<Vec<String>> {
    Json(host.platform.actions())
}

pub(super) async fn run(
    State(host): State<Arc<BrowserHost>>,
    Path(command): Path<String>,
    Json(args): Json<Value>,
) -> Response {
    match Box::pin(reply(&host, &command, &args)).await {
        Ok(reply) => Json(reply).into_response(),
        Err(error) => (StatusCode::BAD_REQUEST, Json(error)).into_response(),
    }
}

/// Hands a link over as the operating system does.
pub(super) async fn open_server_link(
    State(host): State<Arc<BrowserHost>>,
    Json(arguments): Json<Vec<String>>,
) -> Json<()> {
    if let Some(link) = server_link_in(arguments) {
        host.desktop.offer_server_link(&link);
    }
    Json(())
}

/// Drops files on the main window.
pub(super) async fn drop_files(
    State(host): State<Arc<BrowserHost>>,
    Json(paths): Json<Vec<PathBuf>>,
) -> Json<()> {
    host.desktop.offer_bundle_file(&paths);
    Json(())
}

async fn reply(host: &BrowserHost, command: &str, args: &Value) -> Result<Box<RawValue>, UserError> {
    let Some(command) = WindowCommand::from_name(command) else {
        return Err(UserError::new(ErrorCode::BadRequest, format!("There is no command {command}.")));
    };
    let desktop = &host.desktop;
    match command {
        WindowCommand::Command => {
            let name: String = argument(args, "name")?;
            desktop.command(&name, &args["args"]).await
        }
        WindowCommand::StartAgain => raw(&desktop.start_again().await?),
        WindowCommand::Vault => raw(&desktop.vault().await?),
        WindowCommand::UnlockVault => raw(&desktop.unlock_vault(argument(args, "passphrase")?).await?),
        WindowCommand::PutVaultAside => raw(&desktop.put_vault_aside().await?),
        WindowCommand::MakeVault => raw(&desktop.make_vault(argument(args, "passphrase")?).await?),
        WindowCommand::ChangePassphrase => {
            let (old, new) = (argument(args, "old")?, argument(args, "new")?);
            raw(&desktop.change_passphrase(old, new).await?)
        }
        WindowCommand::Preferences | WindowCommand::PromptPreferences => raw(&desktop.preferences()?),
        WindowCommand::SetPreferences => raw(&desktop.set_preferences(argument(args, "preferences")?)?),
        WindowCommand::PageState => raw(&desktop.page_state()),
        WindowCommand::SetPageState => {
            raw(&desktop.set_page_state(argument(args, "name")?, argument(args, "value")?)?)
        }
        WindowCommand::HasPauseShortcut => raw(&desktop.has_pause_shortcut()),
        WindowCommand::StartsAtLogin => raw(&desktop.starts_at_login()?),
        WindowCommand::SetStartsAtLogin => raw(&desktop.set_starts_at_login(argument(args, "starts")?)?),
        WindowCommand::UpdateStatus => raw(&desktop.update_status()),
        WindowCommand::CheckUpdate => raw(&desktop.check_update().await),
        WindowCommand::InstallUpdate => raw(&desktop.install_update().await),
        WindowCommand::CancelUpdate => raw(&desktop.cancel_update()),
        WindowCommand::OpenLink => raw(&desktop.open_link(&argument::<String>(args, "address")?)?),
        WindowCommand::PickFile => raw(&desktop.pick_file(argument(args, "endings")?).await?),
        WindowCommand::Painted => {
            // Only the start-up figure depends on whether it is the first time.
            let _first: bool = desktop.mark_painted();
            raw(&())
        }
        WindowCommand::ShowPrompt => raw(&desktop.show_prompt()),
        WindowCommand::CloseMain => raw(&desktop.close_main()),
        WindowCommand::Quit => raw(&desktop.quit()),
        WindowCommand::PromptPending => desktop.prompt_pending(argument(args, "known")?).await,
        WindowCommand::PromptAnswer => raw(&desktop.prompt_answer(argument(args, "answers")?).await?),
        WindowCommand::PromptReveal => {
            let (id, hash) = (argument(args, "id")?, argument(args, "hash")?);
            let argument = argument(args, "argument")?;
            desktop.prompt_reveal(ApprovalsReveal { id, hash, argument }).await
        }
        WindowCommand::PromptTrustLabels => {
            let (id, hash): (ApprovalId, CallHash) = (argument(args, "id")?, argument(args, "hash")?);
            raw(&desktop.prompt_trust_labels(&id, &hash, argument(args, "trusted")?).await?)
        }
        WindowCommand::PromptGenerate => {
            desktop.prompt_generate(argument(args, "id")?, &argument::<String>(args, "run")?).await
        }
        WindowCommand::PromptStopGenerating => {
            raw(&desktop.prompt_stop_generating(&argument::<String>(args, "run")?).await?)
        }
        WindowCommand::PromptOpinion => {
            let (id, hash) = (argument(args, "id")?, argument(args, "hash")?);
            desktop.prompt_opinion(ApprovalsOpinion { id, hash }).await
        }
        WindowCommand::PromptPutAway => raw(&desktop.prompt_put_away()),
        WindowCommand::PromptFit => raw(&desktop.prompt_fit(argument(args, "height")?)),
        WindowCommand::PromptOpenMain => raw(&desktop.prompt_open_main()),
        WindowCommand::PromptOpenLink => {
            raw(&desktop.prompt_open_link(&argument::<String>(args, "address")?).await?)
        }
        WindowCommand::Events | WindowCommand::MainSignals | WindowCommand::PromptSignals => {
            Err(UserError::new(ErrorCode::BadRequest, format!("{} is an event stream.", command.name())))
        }
    }
}

fn argument<T: DeserializeOwned>(args: &Value, name: &str) -> Result<T, UserError> {
    serde_json::from_value(args[name].clone()).map_err(|error| {
        UserError::new(ErrorCode::BadRequest, format!("The argument {name} is not valid."))
            .with_cause(format!("{error}."))
    })
}

fn raw<T: Serialize>(value: &T) -> Result<Box<RawValue>, UserError> {
    to_raw_value(value).map_err(|error| {
        UserError::new(ErrorCode::Internal, "A value cannot be written.").with_cause(format!("{error}."))
    })
}
