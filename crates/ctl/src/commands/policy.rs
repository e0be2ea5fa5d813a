//! `policy …`: rules and auto-approve settings.

use gatehouse_model::approval::{ChoiceLifetime, ChoiceScope, GrantChoice};
use gatehouse_model::command::{
    PolicyAutoApprove, PolicyConfirm, PolicyDeny, PolicyFindings, PolicyGrant, PolicyNarrow, PolicyRevoke,
    PolicyShow, PolicySuspended, PolicyUnblock,
};
use gatehouse_model::grant::{AutoApproveCoverage, CoveredTools, PolicyView, RuleView};
use gatehouse_model::{GrantId, Message, message};

use crate::cli::{AutoApproveArg, LifetimeArg, PolicyVerb, ScopeArgs};
use crate::commands::{findings, simulate, undo};
use crate::error::CliError;
use crate::output::{Printer, table};
use crate::session::ControlSession;
use crate::terminal_text;

pub(crate) async fn run(
    verb: PolicyVerb,
    session: &mut ControlSession,
    output: &Printer,
) -> Result<(), CliError> {
    match verb {
        PolicyVerb::Show => {
            let policy = session.run(&PolicyShow {}).await?;
            output.show(&policy, show)
        }
        PolicyVerb::AutoApprove { server, to, client, every_server: _ } => {
            let waits = client.is_some() && !matches!(to, AutoApproveArg::Ask);
            let set = session.run(&PolicyAutoApprove { server, client, to: to.into() }).await?;
            output.show(&set, |set| describe_coverage(set, waits))
        }
        PolicyVerb::Simulate(wanted) => simulate::run(wanted, session, output).await,
        PolicyVerb::Grant { server, scope } => {
            let choice = choice(&scope, true)?;
            let done = match &scope.client {
                Some(_) => message!("ctl.policy.allowedForClient", waits = waits()),
                None => message!("ctl.policy.allowed"),
            };
            session.run(&PolicyGrant { server, tool: scope.tool, client: scope.client, choice }).await?;
            output.done(&done)
        }
        PolicyVerb::Deny { server, scope, reason } => {
            let choice = choice(&scope, server.is_some())?;
            if reason.is_some() {
                // Models read the reason as the user's own words, so it needs the operator's authority.
                session.use_operator_key();
            }
            session
                .run(&PolicyDeny { server, tool: scope.tool, client: scope.client, choice, reason })
                .await?;
            output.done(&message!("ctl.policy.denied"))
        }
        PolicyVerb::Suspended => {
            let suspended = session.run(&PolicySuspended {}).await?;
            output.show(&suspended, |rules| rows(rules, &message!("ctl.policy.nothingSuspended")))
        }
        PolicyVerb::Confirm { rules, all, none: _ } => {
            let rules = if all { None } else { Some(rules.into_iter().map(GrantId::new).collect()) };
            session.run(&PolicyConfirm { rules }).await?;
            output.done(&message!("ctl.policy.confirmed"))
        }
        PolicyVerb::Revoke { rule } => match session.run(&PolicyRevoke { rule: GrantId::new(rule) }).await? {
            None => output.done(&message!("ctl.policy.revoked")),
            Some(removal) => undo::removed(&removal, output),
        },
        PolicyVerb::Findings => {
            let found = session.run(&PolicyFindings {}).await?;
            output.show(&found, findings::describe)
        }
        PolicyVerb::Narrow { rule } => match session.run(&PolicyNarrow { rule: GrantId::new(rule) }).await? {
            None => output.done(&message!("ctl.policy.narrowed")),
            Some(removal) => undo::removed(&removal, output),
        },
        PolicyVerb::Unblock { rule } => {
            match session.run(&PolicyUnblock { rule: GrantId::new(rule) }).await? {
                None => output.done(&message!("ctl.policy.revoked")),
                Some(removal) => undo::removed(&removal, output),
            }
        }
    }
}

/// Shown after an allow for one client, which is not bound to a program yet.
fn waits() -> Message {
    message!("ctl.policy.waits")
}

/// What an auto-approve setting covers, in words.
fn describe_coverage(set: &AutoApproveCoverage, should_wait: bool) -> Vec<String> {
    let line = |server: &CoveredTools| {
        if server.tools.is_empty() {
            return message!("ctl.policy.coversNone", server = &server.name);
        }
        message!(
            "ctl.policy.covers",
            server = &server.name,
            count = u32::try_from(server.tools.len()).unwrap_or(u32::MAX),
            tools = terminal_text::truncate(&server.tools.join(", "), 100),
        )
    };
    let unknown = (!set.unknown.is_empty())
        .then(|| message!("ctl.policy.unknownTools", names = set.unknown.join(", ")));
    let lines = set.servers.iter().map(line).chain(unknown).chain(should_wait.then(waits));
    lines.map(|line| terminal_text::message(&line)).collect()
}

fn choice(scope: &ScopeArgs, one_server: bool) -> Result<GrantChoice, CliError> {
    let width = match (&scope.tool, scope.reads, scope.all, one_server) {
        (Some(_), ..) => ChoiceScope::Tool,
        (None, true, ..) => ChoiceScope::Reads,
        (None, false, true, true) => ChoiceScope::Server,
        (None, false, _, false) => ChoiceScope::Client,
        (None, false, false, true) => {
            return Err(CliError::usage(message!("error.ctl.noScope")));
        }
    };
    let lifetime = match scope.lifetime {
        LifetimeArg::QuarterHour => ChoiceLifetime::QuarterHour,
        LifetimeArg::Quit => ChoiceLifetime::UntilQuit,
        LifetimeArg::Always => ChoiceLifetime::Always,
    };
    Ok(GrantChoice { lifetime, width, every_client: scope.client.is_none(), conditions: scope.when.clone() })
}

fn show(policy: &PolicyView) -> Vec<String> {
    let mut lines = Vec::new();
    if !policy.verified {
        let why = policy.problem.as_ref().map(terminal_text::error).unwrap_or_default();
        let warning = terminal_text::message(&message!("error.app.permissionsUntrusted"));
        lines.push(terminal_text::line(format!("{warning} {why}").trim_end()));
    }
    if policy.paused {
        lines.push(terminal_text::message(&message!("ctl.policy.paused")));
    }
    lines.extend(rows(&policy.rules, &message!("ctl.policy.none")));
    lines
}

fn rows(rules: &[RuleView], none: &Message) -> Vec<String> {
    let rows: Vec<Vec<String>> = rules
        .iter()
        .map(|view| {
            let used = view.last_used.map_or_else(
                || terminal_text::message(&message!("ctl.policy.neverUsed")),
                terminal_text::time,
            );
            let sentence = terminal_text::message(&view.sentence);
            let what = match &view.note {
                Some(note) => format!("{sentence}; {}", terminal_text::message(note)),
                None => sentence,
            };
            vec![view.rule.id.to_string(), terminal_text::time(view.rule.created), used, what]
        })
        .collect();
    table(
        &[
            message!("ctl.column.rule"),
            message!("ctl.column.since"),
            message!("ctl.column.lastUsed"),
            message!("ctl.column.what"),
        ],
        &rows,
        none,
    )
}
