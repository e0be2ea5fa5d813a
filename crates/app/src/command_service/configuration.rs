//! Export and import of everything but secrets (DATA-4). An import is shown first, then validated as a whole, and only
//! then made, while no other command changes a server; what another command changed of profiles, clients and rules meanwhile
//! can still make a part of it fail, which is reported.
//!
//! What lets something run without asking is imported only where it was chosen by itself (PERM-16), and only for a server
//! of the same configuration: permissions never go over to another server that happens to have the name (SRV-16).

mod content;
mod exported;
mod import_plan;
mod preview;

use std::path::PathBuf;
use std::sync::Arc;

use gatehouse_integrations::configuration::{read_configuration, read_configuration_file};
use gatehouse_model::command::{ConfigurationImport, ConfigurationOrigin};
use gatehouse_model::configuration::{ConfigurationContent, ConfigurationOutcome, ExportedConfiguration};
use gatehouse_model::{ErrorCode, UserError, message};

use self::content::Content;
use self::import_plan::{ImportPlan, ImportWishes};
use super::AppState;
use crate::disk_work::on_disk;
use crate::downloads;

/// What files with a configuration are called.
const FILE_NAME: &str = "gatehouse-configuration";

/// Everything that is set, without secrets; with `save` also as a file in the folder of downloads.
pub(super) async fn export(state: &Arc<AppState>, save: bool) -> Result<ExportedConfiguration, UserError> {
    let exported = exported::export(state).await?;
    let text = exported.document.to_text().map_err(|error| {
        UserError::new(ErrorCode::Internal, message!("error.configuration.unwritten"))
            .with_cause(format!("{error}."))
    })?;
    let mut file = None;
    if save {
        let (folder, bytes) = (state.downloads.clone(), text.clone().into_bytes());
        let saved = on_disk(move || downloads::save(&folder, FILE_NAME, "json", &bytes)).await??;
        file = Some(saved.path);
    }
    Ok(ExportedConfiguration { text, file, left_out: exported.left_out })
}

/// What a configuration has. Nothing changes.
pub(super) async fn preview(
    state: &Arc<AppState>,
    from: ConfigurationOrigin,
) -> Result<ConfigurationContent, UserError> {
    let file = match &from {
        ConfigurationOrigin::File(path) => Some(path.clone()),
        ConfigurationOrigin::Text(_) => None,
    };
    let content = read(from).await?;
    let items = preview::items(state, &content).await?;
    Ok(ConfigurationContent { fingerprint: content.fingerprint(), file, items })
}

/// Imports the chosen parts of a configuration.
pub(super) async fn import(
    state: &Arc<AppState>,
    wanted: ConfigurationImport,
) -> Result<ConfigurationOutcome, UserError> {
    let ConfigurationImport { from, fingerprint, items, inputs } = wanted;
    let content = read(from).await?;
    if content.fingerprint() != fingerprint {
        return Err(UserError::new(ErrorCode::StaleAnswer, message!("error.import.changed"))
            .with_hint(message!("error.import.changedHint")));
    }
    // Held until everything is written, so that what was validated still holds: another command could make a server another
    // one before it gets its permissions.
    let mut configs = state.configs.lock().await;
    let plan = ImportPlan::new(state, &configs, &ImportWishes { content: &content, items, inputs }).await?;
    let mut outcome = ConfigurationOutcome::default();
    let plan = plan.apply_servers(state, &mut configs, &mut outcome).await;
    plan.apply(state, &mut outcome).await;
    drop(configs);
    Ok(outcome)
}

/// Reads a configuration.
async fn read(from: ConfigurationOrigin) -> Result<Content, UserError> {
    let read = move || match from {
        ConfigurationOrigin::File(path) => {
            let path = PathBuf::from(path);
            if !path.is_absolute() {
                return Err(UserError::new(ErrorCode::BadRequest, message!("error.import.relativePath")));
            }
            read_configuration_file(&path)
        }
        ConfigurationOrigin::Text(text) => read_configuration(text.reveal()),
    };
    on_disk(read).await?.map(Content::new)
}
