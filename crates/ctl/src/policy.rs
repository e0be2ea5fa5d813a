//! `policy …`: what may run without asking.

use gatehouse_model::GrantId;
use gatehouse_model::ask::{AutoApprove, ChoiceLifetime, ChoiceWidth, GrantChoice};
use gatehouse_model::command::{
    PolicyAutoApprove, PolicyDeny, PolicyGrant, PolicyRevoke, PolicyShow, PolicyUnblock,
};
use gatehouse_model::grant::PolicyView;

use crate::cli::{AutoWord, LifetimeWord, PolicyVerb, Scope};
use crate::failure::Failure;
use crate::output::{Output, table};
use crate::plain;
use crate::rehearse;
use crate::session::Session;

pub(crate) async fn run(verb: PolicyVerb, session: &mut Session, output: &Output) -> Result<(), Failure> {
    match verb {
        PolicyVerb::Show => {
            let policy = session.run(&PolicyShow {}).await?;
            output.show(&policy, show)
        }
        PolicyVerb::AutoApprove { server, to, client, every_server: _ } => {
            session.run(&PolicyAutoApprove { server, client, to: auto_approve(to) }).await?;
            output.done("Done.")
        }
        PolicyVerb::Rehearse(wanted) => rehearse::run(wanted, session, output).await,
        PolicyVerb::Grant { server, scope } => {
            let choice = choice(&scope, true)?;
            session.run(&PolicyGrant { server, tool: scope.tool, client: scope.client, choice }).await?;
            output.done("Allowed.")
        }
        PolicyVerb::Deny { server, scope, reason } => {
            let choice = choice(&scope, server.is_some())?;
            session
                .run(&PolicyDeny { server, tool: scope.tool, client: scope.client, choice, reason })
                .await?;
            output.done("Denied.")
        }
        PolicyVerb::Revoke { rule } => {
            session.run(&PolicyRevoke { rule: GrantId::new(rule) }).await?;
            output.done("Taken back.")
        }
        PolicyVerb::Unblock { rule } => {
            session.run(&PolicyUnblock { rule: GrantId::new(rule) }).await?;
            output.done("Taken back.")
        }
    }
}

/// What runs without asking, as the core calls it.
pub(crate) fn auto_approve(word: AutoWord) -> AutoApprove {
    match word {
        AutoWord::Ask => AutoApprove::Ask,
        AutoWord::Reads => AutoApprove::Reads,
        AutoWord::Writes => AutoApprove::Writes,
        AutoWord::All => AutoApprove::All,
    }
}

fn choice(scope: &Scope, one_server: bool) -> Result<GrantChoice, Failure> {
    let width = match (&scope.tool, scope.reads, scope.all, one_server) {
        (Some(_), ..) => ChoiceWidth::Tool,
        (None, true, ..) => ChoiceWidth::Reads,
        (None, false, true, true) => ChoiceWidth::Server,
        (None, false, _, false) => ChoiceWidth::Client,
        (None, false, false, true) => {
            return Err(Failure::Usage("Say how wide: --tool TOOL, --reads or --all.".into()));
        }
    };
    let lifetime = match scope.lifetime {
        LifetimeWord::QuarterHour => ChoiceLifetime::QuarterHour,
        LifetimeWord::Quit => ChoiceLifetime::UntilQuit,
        LifetimeWord::Always => ChoiceLifetime::Always,
    };
    Ok(GrantChoice { lifetime, width, every_client: scope.client.is_none(), conditions: Vec::new() })
}

fn show(policy: &PolicyView) -> Vec<String> {
    let mut lines = Vec::new();
    if !policy.verified {
        let why = policy.problem.as_deref().unwrap_or("no reason is known");
        lines.push(format!("The stored rights cannot be trusted, so everything asks: {}", plain::line(why)));
    }
    if policy.paused {
        lines.push("Everything is paused.".to_owned());
    }
    let rows: Vec<Vec<String>> = policy
        .rules
        .iter()
        .map(|view| {
            let used = view.last_used.map_or_else(|| "never".to_owned(), plain::time);
            vec![view.rule.id.to_string(), plain::time(view.rule.created), used, view.sentence.clone()]
        })
        .collect();
    let heading = ["RULE", "SINCE", "LAST USED", "WHAT"];
    lines.extend(table(&heading, &rows, "Nothing is allowed or denied: everything asks."));
    lines
}
