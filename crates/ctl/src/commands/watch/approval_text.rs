//! An approval request as plain text: client, server, subject, the full arguments and the time left.
//! Text from a client or a server is shown with its hidden characters, and nothing is cut.

use gatehouse_model::approval::{
    ApprovalRequest, CallApprovalRequest, ClientSummary, ConfigChangeKind, ElicitationMode, PeerProcess,
    ServerSummary, Warning,
};
use gatehouse_model::grant::FieldChange;
use gatehouse_model::{Clock as _, PendingApproval, SystemClock, message};

use super::answer::wider_words;
use super::pending_approvals::ApprovalOutcome;
use crate::labels::{describe_class, subject};
use crate::terminal_text;

/// Shown when the client has given up, or calls again.
pub(super) fn client_waits(waits: bool) -> String {
    terminal_text::message(&if waits {
        message!("ctl.approvals.clientWaits")
    } else {
        message!("ctl.approvals.clientGone")
    })
}

/// The lines of one approval request, with its number and the count of all.
pub(crate) fn lines(pending: &PendingApproval, number: usize, of: usize) -> Vec<String> {
    let mut lines = vec![String::new(), format!("── Approval request {number} of {of} · {} ──", pending.id)];
    match &pending.request {
        ApprovalRequest::Call(ask) => call(&mut lines, ask),
        ApprovalRequest::Client(ask) => {
            field(
                &mut lines,
                "Client",
                &format!("an unknown one that says it is {}", terminal_text::line(&ask.says)),
            );
            field(&mut lines, "Answer to", &terminal_text::line(&ask.redirect_uri));
            if let Some(seen) = &ask.seen_from {
                field(&mut lines, "Seen from", &describe_peer(seen));
            }
        }
        ApprovalRequest::ConfigChange(ask) => {
            let what = match ask.action {
                ConfigChangeKind::Added => "a new server",
                ConfigChangeKind::Changed => "a changed server",
                ConfigChangeKind::Removed => "a server is gone",
            };
            field(
                &mut lines,
                "Hand edit",
                &format!("{}: {what}, {}", terminal_text::line(&ask.file), terminal_text::line(&ask.server)),
            );
            changes(&mut lines, &ask.changes);
        }
        ApprovalRequest::Elicitation(ask) => {
            server(&mut lines, &ask.server);
            field(&mut lines, "It asks", &terminal_text::lines(&ask.message));
            if let Some(asker) = &ask.client {
                field(&mut lines, "For", &client(asker));
            }
            match &ask.want {
                ElicitationMode::Url { url, .. } => field(&mut lines, "To open", &terminal_text::line(url)),
                ElicitationMode::Form { schema } => field(&mut lines, "Form", &terminal_text::lines(schema)),
            }
        }
        ApprovalRequest::Sampling(ask) => {
            server(&mut lines, &ask.server);
            field(&mut lines, "For a model", &terminal_text::lines(&ask.request));
        }
        ApprovalRequest::StepUp(ask) => {
            server(&mut lines, &ask.server);
            field(&mut lines, "Wants scopes", &terminal_text::line(&ask.scopes.join(" ")));
        }
    }
    if !pending.waiting {
        field(&mut lines, "Note", &client_waits(false));
    }
    let left = pending.expires_at.remaining(SystemClock.now()).as_secs();
    field(&mut lines, "Time left", &format!("{} min {} s", left / 60, left % 60));
    lines
}

fn call(lines: &mut Vec<String>, ask: &CallApprovalRequest) {
    field(lines, "Client", &client(&ask.client));
    server(lines, &ask.server);
    let title = terminal_text::line(&ask.title);
    let own = subject(&ask.subject);
    let exposed = terminal_text::line(&ask.exposed_name);
    let title = if title == own { String::new() } else { format!(" “{title}”") };
    let exposed = if exposed == own { String::new() } else { format!(", called as {exposed}") };
    field(lines, "Wants", &format!("{own}{title}{exposed}"));
    field(lines, "Class", &describe_class(&ask.class));
    for warning in &ask.warnings {
        field(lines, "Warning", &warning_text(warning));
    }
    changes(lines, &ask.changes);
    let arguments = match ask.arguments.as_deref() {
        None => return field(lines, "Arguments", &format!("not read ({} bytes)", ask.argument_bytes)),
        Some([]) => return field(lines, "Arguments", "none"),
        Some(arguments) => arguments,
    };
    lines.push("Arguments".to_owned());
    for argument in arguments {
        let masked = if argument.masked { "   (secrets masked)" } else { "" };
        let text = terminal_text::lines(&argument.text).replace('\n', "\n      ");
        lines.push(format!("    {} = {text}{masked}", terminal_text::line(&argument.name)));
    }
}

/// The program, its file, and its parent processes, nearest first.
fn describe_peer(seen: &PeerProcess) -> String {
    let parents: Vec<String> = seen.parents.iter().map(|parent| terminal_text::line(&parent.name)).collect();
    let started =
        if parents.is_empty() { String::new() } else { format!(", started by {}", parents.join(" < ")) };
    format!(
        "{} [{}]{started}",
        terminal_text::line(&seen.program.name),
        terminal_text::line(&seen.program.path)
    )
}

fn client(client: &ClientSummary) -> String {
    let says = client.says.as_ref().map(|says| format!("says it is {}", terminal_text::line(says)));
    let seen = client.seen_from.as_ref().map(|seen| format!("seen from {}", describe_peer(seen)));
    let more: Vec<String> = says.into_iter().chain(seen).collect();
    let name = terminal_text::line(&client.name);
    if more.is_empty() { name } else { format!("{name}   ({})", more.join("; ")) }
}

fn server(lines: &mut Vec<String>, server: &ServerSummary) {
    let about = server
        .description
        .as_ref()
        .map(|text| format!("   ({})", terminal_text::line(text)))
        .unwrap_or_default();
    field(lines, "Server", &format!("{}{about}", terminal_text::line(&server.name)));
}

fn changes(lines: &mut Vec<String>, changes: &[FieldChange]) {
    for change in changes {
        let text = |text: &Option<String>| {
            text.as_ref().map_or("nothing".to_owned(), |text| terminal_text::line(text))
        };
        field(lines, "Changed", &terminal_text::line(&change.pointer));
        lines.push(format!("    before: {}", text(&change.before)));
        lines.push(format!("    after:  {}", text(&change.after)));
    }
}

fn warning_text(warning: &Warning) -> String {
    match warning {
        Warning::FirstUse => "no call of this was allowed before".to_owned(),
        Warning::DefinitionChanged => "its definition is not the one that was allowed".to_owned(),
        Warning::HiddenCharacters { place } => format!("hidden characters in {}", terminal_text::line(place)),
        Warning::LookAlikes { place } => {
            format!("letters in its {} that pass for others", terminal_text::line(place))
        }
        Warning::UnconfirmedServer => "the server was imported and never confirmed".to_owned(),
        Warning::UnknownProgram => {
            "it cannot be told which program this is; nothing is allowed for longer than its session"
                .to_owned()
        }
        Warning::OtherProgram { before } => {
            format!("the token is used from another program than before ({})", terminal_text::line(before))
        }
        Warning::UnboundGrant { grant, what, program } => format!(
            "From now on from {}? The rule {grant} allows this client {} of the server and waits for its first use; if you allow this call, what it covers runs without asking from that program",
            terminal_text::line(program),
            terminal_text::message(what)
        ),
    }
}

fn field(lines: &mut Vec<String>, name: &str, text: &str) {
    lines.push(format!("{name:<12}{text}"));
}

/// The line that tells a script how to answer.
pub(super) fn how_to_answer(pending: &PendingApproval) -> String {
    let wider: String = wider_words(pending).iter().map(|word| format!(" | {word}")).collect();
    terminal_text::message(&message!("ctl.answer.script", id = pending.id.as_str(), wider = wider))
}

/// How an approval request ended, in words.
pub(super) fn outcome_text(outcome: ApprovalOutcome) -> String {
    terminal_text::message(&match outcome {
        ApprovalOutcome::Answered { allowed: true } => message!("ctl.approvals.allowed"),
        ApprovalOutcome::Answered { allowed: false } => message!("ctl.approvals.denied"),
        ApprovalOutcome::Expired => message!("ctl.approvals.expired"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::approval_list::tests::asked;

    #[test]
    fn arguments_that_are_missing_are_not_shown_as_none() {
        let shown = |pending: &PendingApproval| lines(pending, 1, 1).join("\n");
        assert!(shown(&asked("ask-1", Some("\"x\""), false)).contains("text = \"x\""));
        assert!(shown(&asked("ask-1", None, true)).contains("Arguments   not read (7 bytes)"));
    }
}
