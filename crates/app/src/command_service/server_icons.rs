//! The images that servers name as their icons, for lists of servers.

use std::sync::Arc;

use gatehouse_model::server::ServerImage;
use gatehouse_model::{ServerStatus, UserError};
use gatehouse_servers::IconSources;

use super::AppState;
use super::lookup::find;

pub(super) async fn icon(state: &Arc<AppState>, server: &str) -> Result<ServerImage, UserError> {
    let config = find(state, server)?;
    let Some(handle) = state.servers.get(&config.id) else { return Ok(ServerImage::default()) };
    let lists = handle.lists();
    let sources = lists.server_info.as_deref().map(IconSources::of).unwrap_or_default();
    if config.look.chosen_icon().is_some() || sources.is_empty() {
        return Ok(ServerImage::default());
    }
    let is_connected = matches!(handle.status(), ServerStatus::Connected { .. });
    let may_fetch = config.enabled && is_connected;
    let image = state.icons.icon(&sources, may_fetch, state.clock.now()).await;
    Ok(ServerImage { image })
}
