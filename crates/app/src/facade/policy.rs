//! Rules: listing, adding, revoking and simulating them. Their semantics are in the policy crate.

use std::collections::HashMap;
use std::sync::Arc;

use gatehouse_model::ask::AutoApprove;
use gatehouse_model::command::{
    Authority, PolicyAutoApprove, PolicyConfirm, PolicyDeny, PolicyGrant, PolicyRehearse,
};
use gatehouse_model::grant::{AutoApproved, PolicyView, RuleView};
use gatehouse_model::rehearsal::{DraftAutoApprove, DraftRule, PolicyDraft, Rehearsal};
use gatehouse_model::{ClientId, GrantId, Problem, ServerId};
use gatehouse_tools::{DraftOrder, PresetOrder, RuleOrder};

use super::{Parts, clients, servers};
use crate::redact;

pub(super) async fn show(parts: &Arc<Parts>, by: Authority) -> Result<PolicyView, Problem> {
    let mut view = parts.tools.rights().view();
    view.rules = shown(parts, view.rules, by);
    Ok(view)
}

/// Rules as a caller may see them: values that come from a call are for the operator only.
fn shown(parts: &Parts, mut rules: Vec<RuleView>, by: Authority) -> Vec<RuleView> {
    if by < Authority::Operator {
        for view in &mut rules {
            redact::grant(&mut view.rule);
            // The sentence repeats values of the rule, so it is made again after redaction.
            view.sentence = parts.tools.rights().describe(&view.rule, &HashMap::new()).sentence;
        }
    }
    rules
}

pub(super) async fn auto_approve(
    parts: &Arc<Parts>,
    wanted: &PolicyAutoApprove,
) -> Result<AutoApproved, Problem> {
    let order = preset(parts, (wanted.server.as_deref(), wanted.client.as_deref()), wanted.to)?;
    // So that the rule covers every tool that the server has now.
    parts.tools.refresh().await;
    parts.tools.rights().set_preset(order).await
}

pub(super) async fn rehearse(parts: &Arc<Parts>, wanted: PolicyRehearse) -> Result<Rehearsal, Problem> {
    let PolicyDraft { without, auto_approve, rules } = wanted.draft;
    let preset = |of: &DraftAutoApprove| preset(parts, (of.server.as_deref(), of.client.as_deref()), of.to);
    let presets = auto_approve.iter().map(preset).collect::<Result<_, _>>()?;
    let rule = |rule: DraftRule| {
        let DraftRule { effect, server, tool, client: whose, choice } = rule;
        let (server, client) = (server_id(parts, server.as_deref())?, client(parts, whose.as_deref())?);
        Ok((effect, RuleOrder { server, tool, client, choice }))
    };
    let rules = rules.into_iter().map(rule).collect::<Result<_, Problem>>()?;
    parts.tools.rehearse(wanted.since, DraftOrder { without, presets, rules }).await
}

fn preset(
    parts: &Parts,
    (server, whose): (Option<&str>, Option<&str>),
    to: AutoApprove,
) -> Result<PresetOrder, Problem> {
    Ok(PresetOrder { server: server_id(parts, server)?, client: client(parts, whose)?, to })
}

fn server_id(parts: &Parts, wanted: Option<&str>) -> Result<Option<ServerId>, Problem> {
    wanted.map(|wanted| servers::find(parts, wanted).map(|config| config.id.clone())).transpose()
}

pub(super) async fn grant(parts: &Arc<Parts>, wanted: PolicyGrant) -> Result<(), Problem> {
    let server = server_id(parts, Some(&wanted.server))?;
    let client = client(parts, wanted.client.as_deref())?;
    let order = RuleOrder { server, tool: wanted.tool, client, choice: wanted.choice };
    parts.tools.refresh().await;
    parts.tools.rights().grant(order).await.map(drop)
}

pub(super) async fn deny(parts: &Arc<Parts>, wanted: PolicyDeny, by: Authority) -> Result<(), Problem> {
    let server = server_id(parts, wanted.server.as_deref())?;
    let client = client(parts, wanted.client.as_deref())?;
    let order = RuleOrder { server, tool: wanted.tool, client, choice: wanted.choice };
    parts.tools.rights().deny(order, wanted.reason, by).await.map(drop)
}

pub(super) async fn suspended(parts: &Arc<Parts>, by: Authority) -> Result<Vec<RuleView>, Problem> {
    Ok(shown(parts, parts.tools.rights().suspended(), by))
}

pub(super) async fn confirm(parts: &Arc<Parts>, wanted: PolicyConfirm) -> Result<(), Problem> {
    parts.tools.rights().confirm(wanted.rules).await
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
