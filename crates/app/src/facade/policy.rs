//! Rules: showing them, making them, taking them back. What a rule means is policy's.

use std::sync::Arc;

use gatehouse_model::command::{PolicyAutoApprove, PolicyDeny, PolicyGrant};
use gatehouse_model::grant::PolicyView;
use gatehouse_model::{ClientId, GrantId, Problem};
use gatehouse_tools::RuleOrder;

use super::{Parts, clients, servers};

pub(super) async fn show(parts: &Arc<Parts>) -> Result<PolicyView, Problem> {
    Ok(parts.tools.rights().view())
}

pub(super) async fn auto_approve(parts: &Arc<Parts>, wanted: &PolicyAutoApprove) -> Result<(), Problem> {
    let server = servers::find(parts, &wanted.server)?;
    // So that the rule covers every tool that the server has by now.
    parts.tools.refresh().await;
    parts.tools.rights().set_auto_approve(&server.id, wanted.to).await
}

pub(super) async fn grant(parts: &Arc<Parts>, wanted: PolicyGrant) -> Result<(), Problem> {
    let server = Some(servers::find(parts, &wanted.server)?.id.clone());
    let client = client(parts, wanted.client.as_deref())?;
    let order = RuleOrder { server, tool: wanted.tool, client, choice: wanted.choice };
    parts.tools.refresh().await;
    parts.tools.rights().grant(order).await.map(drop)
}

pub(super) async fn deny(parts: &Arc<Parts>, wanted: PolicyDeny) -> Result<(), Problem> {
    let server = match &wanted.server {
        Some(server) => Some(servers::find(parts, server)?.id.clone()),
        None => None,
    };
    let client = client(parts, wanted.client.as_deref())?;
    let order = RuleOrder { server, tool: wanted.tool, client, choice: wanted.choice };
    parts.tools.rights().deny(order, wanted.reason).await.map(drop)
}

pub(super) async fn revoke(parts: &Arc<Parts>, rule: &GrantId) -> Result<(), Problem> {
    parts.tools.rights().revoke(rule).await
}

pub(super) async fn unblock(parts: &Arc<Parts>, rule: &GrantId) -> Result<(), Problem> {
    parts.tools.rights().unblock(rule).await
}

fn client(parts: &Parts, wanted: Option<&str>) -> Result<Option<ClientId>, Problem> {
    wanted.map(|wanted| clients::find(parts, wanted)).transpose()
}
