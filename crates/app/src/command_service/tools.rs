//! The tool catalog and the user's classification of tools.

use std::sync::Arc;

use gatehouse_model::command::ToolsClassify;
use gatehouse_model::{OmittedTool, ToolView, UserError, message};

use super::{AppState, lookup, servers};

pub(super) async fn list(state: &Arc<AppState>, server: Option<&str>) -> Result<Vec<ToolView>, UserError> {
    state.tools.refresh().await;
    let mut views = state.tools.permissions().tool_views();
    if let Some(server) = server {
        let config = lookup::find(state, server)?;
        if let Some(error) =
            servers::undeclared_list_error(state, &config, message!("error.app.list.tools"), |declared| {
                declared.tools
            })
        {
            return Err(error);
        }
        views.retain(|view| view.server == config.id);
    }
    Ok(views)
}

pub(super) async fn omitted(
    state: &Arc<AppState>,
    server: Option<&str>,
) -> Result<Vec<OmittedTool>, UserError> {
    state.tools.refresh().await;
    let mut omitted = state.tools.catalog().omitted().to_vec();
    if let Some(server) = server {
        let id = lookup::find(state, server)?.id.clone();
        omitted.retain(|tool| tool.server == id);
    }
    Ok(omitted)
}

pub(super) async fn classify(state: &Arc<AppState>, wanted: &ToolsClassify) -> Result<(), UserError> {
    let server = lookup::find(state, &wanted.server)?;
    state.tools.refresh().await;
    state.tools.permissions().classify(&server.id, &wanted.tool, wanted.class).await
}
