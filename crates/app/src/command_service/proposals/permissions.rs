//! Proposed commands about permissions. What a rule covers is said in the words of the list of permissions.

use std::collections::HashMap;
use std::sync::Arc;

use gatehouse_model::approval::AutoApprove;
use gatehouse_model::command::{
    Command, PolicyAutoApprove, PolicyGrant, PolicyNarrow, PolicyRevoke, PolicyUnblock, ToolsClassify,
};
use gatehouse_model::grant::AccessClass;
use gatehouse_model::{ErrorCode, Grant, GrantId, Message, RuleEffect, UserError, message};
use gatehouse_tools::RuleSpec;
use serde_json::Value;

use super::{ProposedCommand, ShownCommand, fields};
use crate::command_service::{AppState, clients, lookup};

pub(super) fn classify(state: &AppState, wanted: ToolsClassify) -> Result<ProposedCommand, UserError> {
    let server = lookup::find(state, &wanted.server)?;
    let name = &server.name;
    let what = match wanted.class {
        Some(AccessClass::Read) => message!("proposal.tools.read", server = name),
        Some(AccessClass::Write) => message!("proposal.tools.write", server = name),
        None => message!("proposal.tools.unclassified", server = name),
    };
    let shown = ShownCommand::new(what).with_changes(vec![fields::set("/tool", wanted.tool.as_str())]);
    let resolved = ToolsClassify { server: server.id.to_string(), ..wanted };
    Ok(ProposedCommand::new(Command::ToolsClassify(resolved), shown))
}

pub(super) fn auto_approve(
    state: &AppState,
    wanted: PolicyAutoApprove,
) -> Result<ProposedCommand, UserError> {
    let server = wanted.server.as_deref().map(|server| lookup::find(state, server)).transpose()?;
    let client = wanted.client.as_deref().map(|client| clients::find_entry(state, client)).transpose()?;
    let place = match &server {
        Some(server) => message!("proposal.policy.server", server = &server.name),
        None => message!("proposal.policy.everyServer"),
    };
    let who = match &client {
        Some(client) => message!("proposal.policy.client", client = &client.name),
        None => message!("proposal.policy.everyClient"),
    };
    let what = match wanted.to {
        AutoApprove::Ask => message!("proposal.policy.autoApproveNone", place = place, who = who),
        AutoApprove::Reads => message!("proposal.policy.autoApproveReads", place = place, who = who),
        AutoApprove::Writes => message!("proposal.policy.autoApproveWrites", place = place, who = who),
        AutoApprove::All => message!("proposal.policy.autoApproveAll", place = place, who = who),
    };
    // Servers that are added while this waits are not covered, since the names are compared after the answer.
    let covered = match &server {
        Some(_) => Vec::new(),
        None => {
            let names: Vec<Value> =
                state.servers.list().iter().map(|server| server.config.name.as_str().into()).collect();
            vec![fields::set("/servers", names)]
        }
    };
    let resolved = PolicyAutoApprove {
        server: server.map(|server| server.id.to_string()),
        client: client.map(|client| client.id.to_string()),
        to: wanted.to,
    };
    let shown = ShownCommand::new(what).with_changes(covered);
    Ok(ProposedCommand::new(Command::PolicyAutoApprove(resolved), shown))
}

pub(super) async fn grant(state: &Arc<AppState>, wanted: PolicyGrant) -> Result<ProposedCommand, UserError> {
    let server = lookup::find(state, &wanted.server)?;
    let client = wanted.client.as_deref().map(|client| clients::find_entry(state, client)).transpose()?;
    let spec = RuleSpec {
        server: Some(server.id.clone()),
        tool: wanted.tool.clone(),
        client: client.as_ref().map(|client| client.id.clone()),
        choice: wanted.choice.clone(),
    };
    // So that a tool that is new is known.
    state.tools.refresh().await;
    let sentence = state.tools.permissions().describe_grant(spec)?;
    let what = message!("proposal.policy.grant", server = &server.name);
    let shown = ShownCommand::new(what).with_note(sentence);
    let resolved = PolicyGrant {
        server: server.id.to_string(),
        client: client.map(|client| client.id.to_string()),
        ..wanted
    };
    Ok(ProposedCommand::new(Command::PolicyGrant(resolved), shown))
}

pub(super) fn revoke(state: &AppState, wanted: PolicyRevoke) -> Result<ProposedCommand, UserError> {
    let notes = vec![sentence(state, &wanted.rule, RuleEffect::Allow)?];
    let shown = ShownCommand { notes, ..ShownCommand::new(message!("proposal.policy.revoke")) };
    Ok(ProposedCommand::new(Command::PolicyRevoke(wanted), shown))
}

pub(super) fn narrow(state: &AppState, wanted: PolicyNarrow) -> Result<ProposedCommand, UserError> {
    let notes = vec![sentence(state, &wanted.rule, RuleEffect::Allow)?];
    let shown = ShownCommand { notes, ..ShownCommand::new(message!("proposal.policy.narrow")) };
    Ok(ProposedCommand::new(Command::PolicyNarrow(wanted), shown))
}

pub(super) fn unblock(state: &AppState, wanted: PolicyUnblock) -> Result<ProposedCommand, UserError> {
    let notes = vec![sentence(state, &wanted.rule, RuleEffect::Deny)?];
    let shown = ShownCommand { notes, ..ShownCommand::new(message!("proposal.policy.unblock")) };
    Ok(ProposedCommand::new(Command::PolicyUnblock(wanted), shown))
}

/// Rules in words.
pub(super) fn sentences(state: &AppState, rules: &[Grant]) -> Vec<Message> {
    let permissions = state.tools.permissions();
    rules.iter().map(|rule| permissions.describe(rule, &HashMap::new()).sentence).collect()
}

/// A rule in words.
fn sentence(state: &AppState, rule: &GrantId, effect: RuleEffect) -> Result<Message, UserError> {
    let removed = state.tools.permissions().of_rule(rule);
    let known: Vec<Grant> = removed.rules().iter().filter(|rule| rule.effect == effect).cloned().collect();
    sentences(state, &known).into_iter().next().ok_or_else(|| {
        UserError::new(ErrorCode::NotFound, message!("error.tools.unknownRule", id = rule.to_string()))
    })
}
