//! Rules: listing, adding, revoking and simulating them. Their semantics are in the policy crate.

use std::collections::HashMap;
use std::sync::Arc;

use gatehouse_model::command::{
    Authority, PolicyAutoApprove, PolicyConfirm, PolicyDeny, PolicyGrant, PolicySimulate, Removal,
};
use gatehouse_model::grant::{AutoApproveCoverage, PolicyView, RuleView};
use gatehouse_model::health::{FindingKind, FindingsReport, RuleFinding};
use gatehouse_model::simulation::{DraftAutoApprove, DraftRule, PolicyDraft, SimulationReport};
use gatehouse_model::{ClientId, Grant, GrantId, ServerId, UserError};
use gatehouse_tools::{AutoApproveSpec, PermissionHealth, RuleSpec, SimulationDraft};
use tokio_util::sync::CancellationToken;

use super::named_runs::NamedRun;
use super::{AppState, clients, lookup};
use crate::redact;
use crate::removals::RemovedItem;
use crate::server_configs::removals;

pub(super) async fn show(state: &Arc<AppState>, by: Authority) -> Result<PolicyView, UserError> {
    let mut view = state.tools.permissions().view();
    view.rules = shown(state, view.rules, by);
    Ok(view)
}

/// Rules as a caller may see them: values that come from a call are for the operator only.
fn shown(state: &AppState, mut rules: Vec<RuleView>, by: Authority) -> Vec<RuleView> {
    if by < Authority::Operator {
        for view in &mut rules {
            redact::grant(&mut view.rule);
            // The sentence repeats values of the rule, so it is made again after redaction.
            view.sentence = state.tools.permissions().describe(&view.rule, &HashMap::new()).sentence;
        }
    }
    rules
}

pub(super) async fn auto_approve(
    state: &Arc<AppState>,
    wanted: &PolicyAutoApprove,
) -> Result<AutoApproveCoverage, UserError> {
    let PolicyAutoApprove { server, client, to } = wanted.clone();
    let order = auto_approve_spec(state, &DraftAutoApprove { server, client, to })?;
    // So that the rule covers every tool that the server has now.
    state.tools.refresh().await;
    state.tools.permissions().apply_auto_approve(order).await
}

pub(super) async fn simulate(
    state: &Arc<AppState>,
    wanted: PolicySimulate,
    gone: &CancellationToken,
) -> Result<SimulationReport, UserError> {
    let named = NamedRun::begin(state, wanted.run.as_deref(), gone)?;
    let PolicyDraft { without, auto_approve, rules } = wanted.draft;
    let spec = |setting: &DraftAutoApprove| auto_approve_spec(state, setting);
    let auto_approve_settings = auto_approve.iter().map(spec).collect::<Result<_, _>>()?;
    let rule = |rule: DraftRule| {
        let DraftRule { effect, server, tool, client: whose, choice } = rule;
        let (server, client) = (server_id(state, server.as_deref())?, client(state, whose.as_deref())?);
        Ok((effect, RuleSpec { server, tool, client, choice }))
    };
    let rules = rules.into_iter().map(rule).collect::<Result<_, UserError>>()?;
    let draft = SimulationDraft { without, auto_approve_settings, rules };
    named.unless_cancelled(Box::pin(state.tools.simulate(wanted.since, draft))).await
}

fn auto_approve_spec(state: &AppState, setting: &DraftAutoApprove) -> Result<AutoApproveSpec, UserError> {
    let server = server_id(state, setting.server.as_deref())?;
    let client = client(state, setting.client.as_deref())?;
    Ok(AutoApproveSpec { server, client, to: setting.to })
}

fn server_id(state: &AppState, wanted: Option<&str>) -> Result<Option<ServerId>, UserError> {
    wanted.map(|wanted| lookup::find(state, wanted).map(|config| config.id.clone())).transpose()
}

pub(super) async fn grant(state: &Arc<AppState>, wanted: PolicyGrant) -> Result<(), UserError> {
    let server = server_id(state, Some(&wanted.server))?;
    let client = client(state, wanted.client.as_deref())?;
    let order = RuleSpec { server, tool: wanted.tool, client, choice: wanted.choice };
    state.tools.refresh().await;
    state.tools.permissions().grant(order).await.map(drop)
}

pub(super) async fn deny(state: &Arc<AppState>, wanted: PolicyDeny, by: Authority) -> Result<(), UserError> {
    let server = server_id(state, wanted.server.as_deref())?;
    let client = client(state, wanted.client.as_deref())?;
    let order = RuleSpec { server, tool: wanted.tool, client, choice: wanted.choice };
    state.tools.permissions().deny(order, wanted.reason, by).await.map(drop)
}

pub(super) async fn suspended(state: &Arc<AppState>, by: Authority) -> Result<Vec<RuleView>, UserError> {
    Ok(shown(state, state.tools.permissions().suspended(), by))
}

pub(super) async fn confirm(state: &Arc<AppState>, wanted: PolicyConfirm) -> Result<(), UserError> {
    state.tools.permissions().confirm(wanted.rules).await
}

pub(super) async fn revoke(state: &Arc<AppState>, rule: &GrantId) -> Result<Option<Removal>, UserError> {
    let removed = state.tools.permissions().of_rule(rule);
    state.tools.permissions().revoke(rule).await?;
    Ok(removals::keep(state, RemovedItem::Rule(removed)).await)
}

/// Narrows an allow to the tools that it let run.
pub(super) async fn narrow(state: &Arc<AppState>, rule: &GrantId) -> Result<Option<Removal>, UserError> {
    state.tools.refresh().await;
    let permissions = state.tools.permissions();
    let wide = permissions.of_rule(rule);
    let narrow = permissions.narrow(rule).await?;
    Ok(removals::keep(state, RemovedItem::Rule(wide.replaced_by(narrow))).await)
}

/// What calls tell of permissions and servers, as a caller may see it.
pub(super) async fn findings(state: &Arc<AppState>, by: Authority) -> Result<FindingsReport, UserError> {
    let permissions = state.tools.permissions();
    let PermissionHealth { recorded_since, rules, servers } = permissions.health().await?;
    let view = |(mut rule, finding): (Grant, FindingKind)| {
        if by < Authority::Operator {
            redact::grant(&mut rule);
        }
        let sentence = permissions.describe(&rule, &HashMap::new()).sentence;
        RuleFinding { rule: rule.id, sentence, finding }
    };
    Ok(FindingsReport { recorded_since, rules: rules.into_iter().map(view).collect(), servers })
}

pub(super) async fn unblock(state: &Arc<AppState>, rule: &GrantId) -> Result<Option<Removal>, UserError> {
    let removed = state.tools.permissions().of_rule(rule);
    state.tools.permissions().unblock(rule).await?;
    Ok(removals::keep(state, RemovedItem::Rule(removed)).await)
}

fn client(state: &AppState, wanted: Option<&str>) -> Result<Option<ClientId>, UserError> {
    wanted.map(|wanted| clients::find(state, wanted)).transpose()
}
