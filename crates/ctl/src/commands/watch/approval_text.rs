//! An approval request as plain text: client, server, subject, the full arguments and the time left.
//! Text from a client or a server is shown with its hidden characters, and nothing is cut.

use gatehouse_model::approval::{
    ApprovalRequest, CallApprovalRequest, ClientAccessRequest, ClientSummary, CommandRequest,
    ConfigChangeKind, ElicitationMode, ElicitationRequest, PeerProcess, SamplingRequest, ServerSummary,
    Warning,
};
use gatehouse_model::grant::FieldChange;
use gatehouse_model::provider::SamplingDraft;
use gatehouse_model::{ApprovalId, Clock as _, Message, PendingApproval, SystemClock, message};
use serde_json::Value;
use unicode_width::UnicodeWidthStr as _;

use super::answer::wider_words;
use super::form::ElicitationForm;
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
    let heading = message!(
        "ctl.request.heading",
        number = number.to_string(),
        count = of.to_string(),
        id = pending.id.as_str()
    );
    let mut lines = vec![String::new(), format!("── {} ──", terminal_text::message(&heading))];
    match &pending.request {
        ApprovalRequest::Call(ask) => call(&mut lines, ask),
        ApprovalRequest::Client(ask) => client_access(&mut lines, ask),
        ApprovalRequest::Command(ask) => command(&mut lines, ask),
        ApprovalRequest::ConfigChange(ask) => {
            if let Some(profile) = &ask.profile {
                field(&mut lines, &message!("ctl.request.forProfile"), &terminal_text::line(profile));
            }
            let label = if ask.profile.is_some() {
                message!("ctl.request.project")
            } else {
                message!("ctl.request.handEdit")
            };
            let what = match ask.action {
                ConfigChangeKind::Added => message!("ask.config.added", server = &ask.server),
                ConfigChangeKind::Changed => message!("ask.config.changed", server = &ask.server),
                ConfigChangeKind::Removed => message!("ask.config.removed", server = &ask.server),
            };
            let file = terminal_text::line(&ask.file);
            field(&mut lines, &label, &format!("{file}: {}", terminal_text::message(&what)));
            lines.extend(change_lines(&ask.changes));
        }
        ApprovalRequest::Elicitation(ask) => elicitation(&mut lines, ask),
        ApprovalRequest::Sampling(ask) => sampling(&mut lines, ask, pending.model.as_deref()),
        ApprovalRequest::StepUp(ask) => {
            server(&mut lines, &ask.server);
            field(&mut lines, &message!("ask.scopes.list"), &terminal_text::line(&ask.scopes.join(" ")));
        }
    }
    if !pending.waiting {
        field(&mut lines, &message!("ctl.request.note"), &client_waits(false));
    }
    let left = pending.expires_at.remaining(SystemClock.now()).as_secs();
    let left = message!(
        "ctl.request.minutesAndSeconds",
        minutes = (left / 60).to_string(),
        seconds = (left % 60).to_string()
    );
    says(&mut lines, &message!("ctl.request.timeLeft"), &left);
    lines
}

fn command(lines: &mut Vec<String>, ask: &CommandRequest) {
    field(lines, &message!("ctl.request.command"), &terminal_text::line(&ask.command));
    lines.extend(std::iter::once(&ask.what).chain(&ask.notes).map(terminal_text::message));
    lines.extend(change_lines(&ask.changes));
    for file in &ask.files {
        lines.push(terminal_text::line(&file.path));
        lines.extend(file.lines.iter().map(|line| terminal_text::line(&line.text)));
    }
}

fn call(lines: &mut Vec<String>, ask: &CallApprovalRequest) {
    field(lines, &message!("ctl.request.client"), &client(&ask.client));
    server(lines, &ask.server);
    let own = subject(&ask.subject);
    let title = terminal_text::line(&ask.title);
    let titled = if title == own { own.clone() } else { format!("{own} “{title}”") };
    let wants = if terminal_text::line(&ask.exposed_name) == own {
        titled
    } else {
        let named = message!("ctl.request.calledAs", what = titled, name = &ask.exposed_name);
        terminal_text::message(&named)
    };
    field(lines, &message!("ctl.request.wants"), &wants);
    field(lines, &message!("ctl.request.class"), &describe_class(&ask.class));
    for warning in &ask.warnings {
        says(lines, &message!("ctl.request.warning"), &warning_text(warning));
        if let Warning::UnboundGrant { grant, .. } = warning {
            field(lines, &message!("ctl.request.rule"), &terminal_text::line(grant.as_str()));
        }
    }
    lines.extend(change_lines(&ask.changes));
    let label = message!("ask.arguments");
    let arguments = match ask.arguments.as_deref() {
        None => {
            return says(lines, &label, &message!("ctl.request.argumentsUnread", bytes = ask.argument_bytes));
        }
        Some([]) => return says(lines, &label, &message!("ask.absent")),
        Some(arguments) => arguments,
    };
    lines.push(terminal_text::message(&label));
    let masked = format!("   ({})", terminal_text::message(&message!("ask.masked")));
    for argument in arguments {
        let masked = if argument.masked { masked.as_str() } else { "" };
        let text = terminal_text::lines(&argument.text).replace('\n', "\n      ");
        lines.push(format!("    {} = {text}{masked}", terminal_text::line(&argument.name)));
    }
}

/// A program that asks to become a client: what it says, and what was seen of it.
fn client_access(lines: &mut Vec<String>, ask: &ClientAccessRequest) {
    says(lines, &message!("ctl.request.client"), &message!("ctl.request.unknownClient", name = &ask.says));
    field(lines, &message!("ask.access.id"), &terminal_text::line(&ask.client_id));
    let wants = match &ask.server {
        Some(server) => terminal_text::line(server),
        None => terminal_text::message(&message!("ask.access.allServers")),
    };
    field(lines, &message!("ask.access.wants"), &wants);
    let note = message!("ctl.request.note");
    if let Some(name) = &ask.known_as {
        says(lines, &note, &message!("ask.access.known", name = name));
    }
    if let Some(name) = &ask.resembles {
        says(lines, &note, &message!("ask.access.resembles", name = name));
    }
    field(lines, &message!("ask.access.redirect"), &terminal_text::line(&ask.redirect_uri));
    let receiver = match &ask.receiver {
        Some(receiver) => describe_peer(receiver),
        None => terminal_text::message(&message!("ask.access.noReceiver")),
    };
    field(lines, &message!("ask.access.receiver"), &receiver);
    if let Some(seen) = &ask.seen_from {
        field(lines, &message!("ask.access.opened"), &describe_peer(seen));
    }
    says(lines, &note, &message!("ask.access.unverified"));
}

/// The program, its file, and its parent processes, nearest first.
fn describe_peer(seen: &PeerProcess) -> String {
    let parents: Vec<&str> = seen.parents.iter().map(|parent| parent.name.as_str()).collect();
    let started = if parents.is_empty() {
        String::new()
    } else {
        let started = message!("ask.startedBy", chain = parents.join(" ← "));
        format!(", {}", terminal_text::message(&started))
    };
    format!(
        "{} [{}]{started}",
        terminal_text::line(&seen.program.name),
        terminal_text::line(&seen.program.path)
    )
}

fn client(client: &ClientSummary) -> String {
    let says = client.says.as_ref().map(|says| message!("ask.says", says = says));
    let seen = client.seen_from.as_ref().map(|seen| message!("ask.seenFrom", program = describe_peer(seen)));
    let by_user = client.by_user.then(|| message!("ask.byUser"));
    let more: Vec<String> =
        by_user.into_iter().chain(says).chain(seen).map(|message| terminal_text::message(&message)).collect();
    let name = terminal_text::line(&client.name);
    if more.is_empty() { name } else { format!("{name}   ({})", more.join("; ")) }
}

fn server(lines: &mut Vec<String>, server: &ServerSummary) {
    let about = server
        .description
        .as_ref()
        .map(|text| format!("   ({})", terminal_text::line(text)))
        .unwrap_or_default();
    let text = format!("{}{about}", terminal_text::line(&server.name));
    field(lines, &message!("ctl.request.server"), &text);
}

/// Changed fields, each with its value before and after.
pub(crate) fn change_lines(changes: &[FieldChange]) -> Vec<String> {
    let mut lines = Vec::new();
    for change in changes {
        field(&mut lines, &message!("ctl.request.changed"), &terminal_text::line(&change.pointer));
        for (label, value) in
            [(message!("ask.before"), &change.before), (message!("ask.after"), &change.after)]
        {
            let label = format!("{}:", terminal_text::message(&label));
            let value = match value {
                Some(text) => terminal_text::line(text),
                None => terminal_text::message(&message!("ask.absent")),
            };
            lines.push(format!("    {}{value}", padded(&label, 8)));
        }
    }
    lines
}

/// What a server wants to know, or the page that it wants opened.
fn elicitation(lines: &mut Vec<String>, ask: &ElicitationRequest) {
    server(lines, &ask.server);
    field(lines, &message!("ctl.request.asks"), &terminal_text::lines(&ask.message));
    if let Some(asker) = &ask.client {
        field(lines, &message!("ctl.request.for"), &client(asker));
    }
    let label = message!("ctl.request.form");
    match &ask.want {
        ElicitationMode::Url { url, .. } => {
            field(lines, &message!("ask.link.address"), &terminal_text::line(url));
        }
        ElicitationMode::Form { schema } => match ElicitationForm::read(schema) {
            Some(form) => {
                lines.push(terminal_text::message(&label));
                lines.extend(form.lines());
            }
            None => field(lines, &label, &terminal_text::lines(schema)),
        },
    }
}

/// The prompt for a model, whole, and what a person can do about it.
fn sampling(lines: &mut Vec<String>, ask: &SamplingRequest, model: Option<&str>) {
    server(lines, &ask.server);
    if let Some(asker) = &ask.client {
        field(lines, &message!("ctl.request.for"), &client(asker));
    }
    if let Some(system) = &ask.system {
        field(lines, &message!("ask.sampling.system"), &indented(system));
    }
    for text in &ask.messages {
        field(lines, &message!("ctl.request.message"), &indented(text));
    }
    // What else it asks for: the length of the reply, preferred models, and so on.
    if let Ok(Value::Object(mut rest)) = serde_json::from_str(&ask.request) {
        rest.retain(|name, _| name != "messages" && name != "systemPrompt");
        if !rest.is_empty() {
            let rest = terminal_text::lines(&Value::Object(rest).to_string());
            field(lines, &message!("ctl.request.settings"), &rest);
        }
    }
    says(lines, &message!("ctl.request.note"), &message!("ctl.sampling.about", server = &ask.server.name));
    if let Some(model) = model {
        says(
            lines,
            &message!("ctl.request.note"),
            &message!("ctl.sampling.aboutModel", model = model, server = &ask.server.name),
        );
    }
}

/// What a model wrote for a sampling request, and how it is sent.
pub(crate) fn draft(draft: &SamplingDraft, id: &ApprovalId) -> Vec<String> {
    let SamplingDraft { content: _, text, model, tools_left_out } = draft;
    let mut lines = vec![terminal_text::message(&message!("ctl.sampling.wrote", model = model))];
    lines.extend(text.lines().map(|line| format!("  {}", terminal_text::line(line))));
    if *tools_left_out {
        lines.push(terminal_text::message(&message!("ctl.sampling.noTools")));
    }
    lines.push(terminal_text::message(&message!("ctl.sampling.send", id = id.as_str())));
    lines
}

/// A text of several lines below its heading.
fn indented(text: &str) -> String {
    terminal_text::lines(text).replace('\n', "\n            ")
}

/// A warning, in the words of the window.
fn warning_text(warning: &Warning) -> Message {
    match warning {
        Warning::FirstUse => message!("ask.warn.first"),
        Warning::DefinitionChanged => message!("ask.warn.changed"),
        Warning::HiddenCharacters { place } => message!("ask.warn.hidden", place = place.clone()),
        Warning::LookAlikes { place } => message!("ask.warn.alike", place = place.clone()),
        Warning::UnknownProgram => message!("ask.warn.unknownProgram"),
        Warning::OtherProgram { before } => message!("ask.warn.program", before = before),
        Warning::UnboundGrant { what, program, .. } => {
            message!("ask.warn.firstUse", program = program, what = what.clone())
        }
    }
}

/// A line with a label and a text that is safe for a terminal.
fn field(lines: &mut Vec<String>, label: &Message, text: &str) {
    lines.push(format!("{}{text}", padded(&terminal_text::message(label), 12)));
}

/// A line with a label and a message.
fn says(lines: &mut Vec<String>, label: &Message, text: &Message) {
    field(lines, label, &terminal_text::message(text));
}

/// A label filled up to the columns of a terminal that it takes, with at least one blank.
fn padded(label: &str, columns: usize) -> String {
    format!("{label}{}", " ".repeat(columns.saturating_sub(label.width()).max(1)))
}

/// The line that tells a script how to answer.
pub(super) fn how_to_answer(pending: &PendingApproval) -> String {
    let id = pending.id.as_str();
    terminal_text::message(&match &pending.request {
        ApprovalRequest::Elicitation(ElicitationRequest { want: ElicitationMode::Form { .. }, .. }) => {
            message!("ctl.answer.scriptForm", id = id)
        }
        ApprovalRequest::Sampling(_) => message!("ctl.answer.scriptReply", id = id),
        _ => {
            let wider: String = wider_words(pending).iter().map(|word| format!(" | {word}")).collect();
            message!("ctl.answer.script", id = id, wider = wider)
        }
    })
}

/// How an approval request ended, in words.
pub(super) fn outcome_text(outcome: ApprovalOutcome) -> String {
    terminal_text::message(&match outcome {
        ApprovalOutcome::Answered { allowed: true } => message!("ctl.approvals.allowed"),
        ApprovalOutcome::Answered { allowed: false } => message!("ctl.approvals.denied"),
        ApprovalOutcome::Expired => message!("ctl.approvals.expired"),
        ApprovalOutcome::Withdrawn => message!("ctl.approvals.withdrawn"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::approval_list::tests::asked;

    #[test]
    fn request_for_access_says_what_is_neither_known_nor_verified() {
        let access = ClientAccessRequest {
            says: "Claude".to_owned(),
            client_id: "https://app.example/c".to_owned(),
            redirect_uri: "http://127.0.0.1:1/".to_owned(),
            server: None,
            known_as: None,
            resembles: Some("Claude Code".to_owned()),
            seen_from: None,
            receiver: None,
        };
        let pending =
            PendingApproval { request: ApprovalRequest::Client(access), ..asked("ask-1", None, false) };
        let text = lines(&pending, 1, 1).join("\n");
        for said in
            ["“Claude Code”, but it is another client", "isn't known which program", "is not verified"]
        {
            assert!(text.contains(said), "{said}: {text}");
        }
    }

    #[test]
    fn labels_take_their_columns_and_are_never_joined_to_the_text() {
        assert_eq!(padded("Client", 8), "Client  ");
        assert_eq!(padded("客户端", 8), "客户端  ");
        assert_eq!(padded("System prompt", 12), "System prompt ");
    }

    #[test]
    fn arguments_that_are_missing_are_not_shown_as_none() {
        let shown = |pending: &PendingApproval| lines(pending, 1, 1).join("\n");
        assert!(shown(&asked("ask-1", Some("\"x\""), false)).contains("text = \"x\""));
        assert!(shown(&asked("ask-1", None, true)).contains("Arguments   not read (7 bytes)"));
    }
}
