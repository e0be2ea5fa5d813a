//! What a bridge is bound to: the folder in which the system says it works, never one that it names itself.

use std::path::PathBuf;
use std::sync::Arc;

use gatehouse_gateway::{BINDING_LIFETIME, peer_process};
use gatehouse_model::UserError;
use gatehouse_model::command::{BridgeBind, BridgeBinding, RequestSecret};
use gatehouse_tools::Narrowing;

use super::{AppState, clients, project_servers};

/// Gives the bridge `process` its credential.
pub(super) async fn bind(
    state: &Arc<AppState>,
    wanted: &BridgeBind,
    process: Option<u32>,
) -> Result<BridgeBinding, UserError> {
    let client = clients::with_token(state, wanted.token.reveal())?;
    let profile = match &wanted.profile {
        Some(wanted) => {
            // Profiles that could not be read at the start may be readable now.
            state.tools.refresh().await;
            Some(state.tools.profiles().chosen(wanted)?)
        }
        None => None,
    };
    let folder = working_folder(process).await;
    let narrowing = Narrowing { folder: folder.as_deref().map(Arc::from), profile, ..Narrowing::default() };
    let credential = state.clients.bind_bridge(&client.id, narrowing, process)?;
    if let Some(folder) = &folder {
        project_servers::follow(state, folder);
    }
    Ok(BridgeBinding {
        credential: RequestSecret::new(&credential),
        expires_in: u32::try_from(BINDING_LIFETIME.as_secs()).unwrap_or(u32::MAX),
        folder: folder.map(|folder| folder.display().to_string()),
    })
}

/// The folder that the peer of a connection works in, as far as it is known. Folders of profiles are text, so of one with
/// another name the next one above counts.
pub(super) async fn working_folder(process: Option<u32>) -> Option<PathBuf> {
    let folder = peer_process::working_folder(process?).await?;
    folder.ancestors().find(|folder| folder.to_str().is_some()).map(PathBuf::from)
}
