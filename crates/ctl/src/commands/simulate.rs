//! Simulation: what other rules would have done with past calls. Changes no rule.

use std::collections::HashMap;
use std::path::Path;

use gatehouse_model::approval::{ChoiceLifetime, ChoiceScope, GrantChoice};
use gatehouse_model::command::{ClientsList, PolicySimulate, ServersList};
use gatehouse_model::simulation::{DraftAutoApprove, DraftRule, PolicyDraft, SimulationReport};
use gatehouse_model::{Clock as _, Decision, GrantId, Rule, RuleEffect, SystemClock, Timestamp, message};

use crate::cli::SimulateArgs;
use crate::error::CliError;
use crate::labels::subject;
use crate::output::{Printer, table};
use crate::session::ControlSession;
use crate::terminal_text;

/// The word for every server.
const EVERY_SERVER: &str = "*";

pub(crate) async fn run(
    wanted: SimulateArgs,
    session: &mut ControlSession,
    output: &Printer,
) -> Result<(), CliError> {
    let since = Timestamp(SystemClock.now().0.saturating_sub(millis(&wanted)));
    let draft = draft(wanted)?;
    let found = session.run(&PolicySimulate { since, draft, run: None }).await?;
    if output.is_json() {
        return output.json(&found);
    }
    let names = SimulationNames::load(session).await?;
    let lines = report(&found, since, &names);
    lines.iter().try_for_each(|line| output.line(line))
}

fn millis(wanted: &SimulateArgs) -> i64 {
    i64::try_from(wanted.since.0.as_millis()).unwrap_or(i64::MAX)
}

/// The draft from the file, followed by the one from the arguments.
fn draft(wanted: SimulateArgs) -> Result<PolicyDraft, CliError> {
    let SimulateArgs { since: _, auto_approve: presets, allow, deny, client, without, draft } = wanted;
    let mut draft = draft.as_deref().map(read).transpose()?.unwrap_or_default();
    draft.without.extend(without.into_iter().map(GrantId::new));
    draft.auto_approve.extend(presets.into_iter().map(|(server, to)| DraftAutoApprove {
        server: server_or_all(&server),
        client: client.clone(),
        to: to.into(),
    }));
    for (effect, words) in [(RuleEffect::Allow, allow), (RuleEffect::Deny, deny)] {
        for word in words {
            draft.rules.push(rule(effect, &word, client.as_deref())?);
        }
    }
    Ok(draft)
}

fn read(file: &Path) -> Result<PolicyDraft, CliError> {
    let name = file.display().to_string();
    let text = std::fs::read_to_string(file).map_err(|error| {
        CliError::usage(message!("error.ctl.draftUnread", file = &name, reason = error.to_string()))
    })?;
    serde_json::from_str(&text).map_err(|error| {
        CliError::usage(message!("error.ctl.draftInvalid", file = &name, reason = error.to_string()))
    })
}

fn server_or_all(server: &str) -> Option<String> {
    (server != EVERY_SERVER).then(|| server.to_owned())
}

fn rule(effect: RuleEffect, word: &str, client: Option<&str>) -> Result<DraftRule, CliError> {
    let (server, tool) = match word.split_once(':') {
        Some((server, tool)) => (server_or_all(server), Some(tool.to_owned())),
        None => (server_or_all(word), None),
    };
    if server.is_none() && effect == RuleEffect::Allow {
        return Err(CliError::usage(message!("error.tools.everyServer")));
    }
    let width = match (&server, &tool) {
        (_, Some(_)) => ChoiceScope::Tool,
        (Some(_), None) => ChoiceScope::Server,
        (None, None) => ChoiceScope::Client,
    };
    let choice = GrantChoice {
        lifetime: ChoiceLifetime::Always,
        width,
        every_client: client.is_none(),
        conditions: Vec::new(),
    };
    Ok(DraftRule { effect, server, tool, client: client.map(str::to_owned), choice })
}

/// Current names of servers and clients by id.
struct SimulationNames(HashMap<String, String>);

impl SimulationNames {
    async fn load(session: &mut ControlSession) -> Result<Self, CliError> {
        let mut names = HashMap::new();
        let servers = session.run(&ServersList {}).await?;
        names.extend(servers.into_iter().map(|view| (view.config.id.to_string(), view.config.name)));
        let clients = session.run(&ClientsList {}).await?;
        names.extend(clients.into_iter().map(|view| (view.id.to_string(), view.name)));
        Ok(Self(names))
    }

    fn of(&self, id: &str) -> String {
        self.0.get(id).cloned().unwrap_or_else(|| id.to_owned())
    }
}

fn report(found: &SimulationReport, since: Timestamp, names: &SimulationNames) -> Vec<String> {
    let SimulationReport { calls, gone, incomplete, cut, now, draft, changes } = found;
    let rows: Vec<Vec<String>> = changes
        .iter()
        .map(|change| {
            vec![
                change.calls.to_string(),
                names.of(change.client.as_str()),
                names.of(change.server.as_str()),
                terminal_text::truncate(&subject(&change.subject), 60),
                word(change.now),
                word(change.draft),
                rule_text(&change.rule),
                terminal_text::time(change.at),
            ]
        })
        .collect();
    let heading = [
        message!("ctl.column.calls"),
        message!("ctl.column.client"),
        message!("ctl.column.server"),
        message!("ctl.column.what"),
        message!("ctl.column.now"),
        message!("ctl.column.draft"),
        message!("ctl.column.because"),
        message!("ctl.column.last"),
    ];
    let mut lines = table(&heading, &rows, &message!("ctl.simulate.noChange"));
    let changed: u32 = changes.iter().map(|change| change.calls).sum();
    let result = message!(
        "ctl.simulate.result",
        calls = *calls,
        since = since,
        allowed = draft.allowed,
        allowedNow = now.allowed,
        asked = draft.asked,
        askedNow = now.asked,
        denied = draft.denied,
        deniedNow = now.denied,
        changed = changed,
    );
    let gone = (*gone > 0).then(|| message!("ctl.simulate.gone", count = *gone));
    let incomplete = (*incomplete > 0).then(|| message!("ctl.simulate.incomplete", count = *incomplete));
    let cut = cut.then(|| message!("ctl.simulate.cut"));
    let sentences = std::iter::once(result).chain(gone).chain(incomplete).chain(cut);
    let sentences: Vec<String> = sentences.map(|sentence| terminal_text::message(&sentence)).collect();
    lines.push(sentences.join(" "));
    lines
}

fn word(decision: Decision) -> String {
    terminal_text::message(&match decision {
        Decision::Allow => message!("ctl.simulate.allow"),
        Decision::Ask => message!("ctl.simulate.ask"),
        Decision::Deny => message!("ctl.simulate.deny"),
    })
}

/// What decides under the draft.
fn rule_text(rule: &Rule) -> String {
    terminal_text::message(&match rule {
        Rule::ChangedDefinition { grant } => {
            message!("ctl.simulate.changedSince", rule = grant.as_str())
        }
        Rule::UnboundGrant { grant } => message!("ctl.simulate.unboundGrant", rule = grant.as_str()),
        Rule::PolicyFile { .. } => message!("ctl.simulate.policyFile"),
        Rule::PermissionsUnverified => message!("ctl.simulate.unverified"),
        other => match other.deciding_grant() {
            Some(grant) => return grant.to_string(),
            None => message!("ctl.simulate.noRule"),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_rule_arguments() {
        let of = |effect, word| rule(effect, word, Some("c")).ok();
        let deny = of(RuleEffect::Deny, "*").unwrap();
        assert_eq!((deny.server, deny.tool, deny.choice.width), (None, None, ChoiceScope::Client));
        let allow = of(RuleEffect::Allow, "files:resource:file:///x").unwrap();
        assert_eq!(allow.tool.as_deref(), Some("resource:file:///x"));
        assert_eq!((allow.server.as_deref(), allow.choice.width), (Some("files"), ChoiceScope::Tool));
        assert!(!allow.choice.every_client);
        assert_eq!(of(RuleEffect::Allow, "files").unwrap().choice.width, ChoiceScope::Server);
        assert!(of(RuleEffect::Allow, "*").is_none());
    }
}
