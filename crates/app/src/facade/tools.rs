//! The tool catalog and the user's classification of tools.

use std::sync::Arc;

use gatehouse_model::command::ToolsClassify;
use gatehouse_model::{LeftOutTool, Problem, ToolView};

use super::{Parts, servers};

pub(super) async fn list(parts: &Arc<Parts>, server: Option<&str>) -> Result<Vec<ToolView>, Problem> {
    parts.tools.refresh().await;
    let mut views = parts.tools.catalogue().views();
    if let Some(server) = server {
        let config = servers::find(parts, server)?;
        if let Some(problem) = servers::undeclared(parts, &config, "tools", |declared| declared.tools) {
            return Err(problem);
        }
        views.retain(|view| view.server == config.id);
    }
    Ok(views)
}

pub(super) async fn left_out(parts: &Arc<Parts>, server: Option<&str>) -> Result<Vec<LeftOutTool>, Problem> {
    parts.tools.refresh().await;
    let mut left_out = parts.tools.catalogue().left_out().to_vec();
    if let Some(server) = server {
        let id = servers::find(parts, server)?.id.clone();
        left_out.retain(|tool| tool.server == id);
    }
    Ok(left_out)
}

pub(super) async fn classify(parts: &Arc<Parts>, wanted: &ToolsClassify) -> Result<(), Problem> {
    let server = servers::find(parts, &wanted.server)?;
    parts.tools.refresh().await;
    parts.tools.rights().classify(&server.id, &wanted.tool, wanted.class).await
}
