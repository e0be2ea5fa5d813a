//! Redaction for callers without the operator key: of calls and approval requests, and of the rules and
//! audit entries that come from them, such a caller sees that they exist, their client, server and
//! subject, but nothing of their contents (PERM-16). Events say only that something is wrong with
//! `servers.json`. Each match names every variant, and each struct and variant of which something is left out is
//! destructured in full, so that the compiler requires a decision for every new one. A variant with `..` passes whole,
//! with its new fields too.

use gatehouse_model::approval::{
    ApprovalRequest, CallApprovalRequest, ClientAccessRequest, CommandRequest, ConfigChangeRequest,
    ElicitationMode, ElicitationRequest, SamplingRequest, ScopeUpgradeRequest, Subject,
};
use gatehouse_model::grant::{Condition, ConditionTest};
use gatehouse_model::server::ServerView;
use gatehouse_model::sign_in::SignInState;
use gatehouse_model::{
    AuditEvent, CallHash, CallRecord, Event, EventEnvelope, Grant, PendingApproval, Scope, ServerConfig,
    UserError,
};
use gatehouse_store::redact_transport;

/// Placeholder for a text that is left out, where it matters that there is one.
const LEFT_OUT: &str = "…";

/// The event with the contents of calls and approval requests left out.
pub(crate) fn redact_envelope(envelope: &EventEnvelope) -> EventEnvelope {
    let event = match envelope.event.clone() {
        Event::ApprovalRequested { pending } => Event::ApprovalRequested { pending: redact_pending(pending) },
        Event::ApprovalChanged { pending } => Event::ApprovalChanged { pending: redact_pending(pending) },
        // The call may be pending, so its arguments may not have been shown to the operator yet.
        Event::CallStarted { call, client, server, tool, input: _ } => {
            let tool = rule_name(&tool);
            Event::CallStarted { call, client, server, tool, input: String::new() }
        }
        // The server's message may repeat contents of the call.
        Event::CallProgress { call, progress, total, message: _ } => {
            Event::CallProgress { call, progress, total, message: None }
        }
        event @ Event::CallTaskChanged { call: _, state: _ } => event,
        Event::CallFinished { call, verdict, outcome, duration_ms } => {
            Event::CallFinished { call, verdict, outcome: outcome.without_texts(), duration_ms }
        }
        // The cause names variables and headers of an entry of servers.json.
        Event::ConfigChanged { cause, server, name, unconfirmed, problem } => {
            let problem = problem.map(|problem| UserError { cause: None, hint: None, ..problem });
            Event::ConfigChanged { cause, server, name, unconfirmed, problem }
        }
        Event::SignInChanged { server, sign_in } => {
            Event::SignInChanged { server, sign_in: only_kind(sign_in) }
        }
        // What a model writes is for the operator alone.
        Event::ConversationDelta { conversation, message, block, offset: _, text: _ } => {
            Event::ConversationDelta { conversation, message, block, offset: 0, text: String::new() }
        }
        event @ Event::ConversationChanged { conversation: _ } => event,
        other @ (Event::ServerAdded { .. }
        | Event::ServerRemoved { .. }
        | Event::ServerStarted { .. }
        | Event::ServerStopped { .. }
        | Event::StatusChanged { .. }
        | Event::RunningServers { .. }
        | Event::ToolsChanged { .. }
        | Event::PromptsChanged { .. }
        | Event::ResourcesChanged { .. }
        | Event::ApprovalResolved { .. }
        | Event::ApprovalExpired { .. }
        | Event::ApprovalWithdrawn { .. }
        | Event::SignInNeeded { .. }
        | Event::ClientConnected { .. }
        | Event::ClientGone { .. }
        | Event::ClientToolList { .. }
        | Event::LogLine { .. }
        | Event::PauseChanged { .. }
        | Event::SwitchChanged { .. }
        | Event::ProfilesChanged
        | Event::ModelsChanged
        | Event::PermissionsChanged { .. }) => other,
    };
    EventEnvelope { version: envelope.version, seq: envelope.seq, at: envelope.at, event }
}

/// Leaves out the contents of a call. A record whose outcome is "still waiting" is of a pending call.
pub(crate) fn redact_record(record: &mut CallRecord) {
    let CallRecord {
        id: _,
        at: _,
        client: _,
        client_name: _,
        server: _,
        server_name: _,
        subject,
        exposed_name,
        program: _,
        by_user: _,
        verdict: _,
        judged,
        outcome,
        waited_ms: _,
        duration_ms: _,
        bytes_in: _,
        bytes_out: _,
        arguments,
        result,
    } = record;
    *arguments = None;
    *result = None;
    // It tells whether conditions held for the arguments, also those of a block that the caller made for this.
    *judged = None;
    *outcome = outcome.clone().without_texts();
    *exposed_name = redact_name(subject, std::mem::take(exposed_name));
    *subject = redact_subject(subject.clone());
}

/// Leaves out of an audit entry the contents of a call. The entry's hash remains that of the full entry.
pub(crate) fn audit(event: &mut AuditEvent) {
    match event {
        AuditEvent::Decided { ask: _, hash, client: _, server: _, subject, allowed: _, reason: _, by: _ } => {
            *hash = no_hash();
            *subject = redact_subject(subject.clone());
        }
        AuditEvent::Lapsed { ask: _, hash } => *hash = no_hash(),
        AuditEvent::Granted { rule } => grant(rule),
        // Which providers and models the user has is for the operator alone.
        AuditEvent::ModelProviderChanged { provider: _, name, base_url, change: _, has_key: _ } => {
            LEFT_OUT.clone_into(name);
            LEFT_OUT.clone_into(base_url);
        }
        AuditEvent::ModelsAssigned { sampling, opinion } => {
            for model in [sampling, opinion].into_iter().flatten() {
                LEFT_OUT.clone_into(model);
            }
        }
        AuditEvent::SamplingGenerated { ask: _, server: _, model } => LEFT_OUT.clone_into(model),
        AuditEvent::Revoked { .. }
        | AuditEvent::GrantBound { .. }
        | AuditEvent::AutoApproveSet { .. }
        | AuditEvent::ClassSet { .. }
        | AuditEvent::LabelsTrusted { .. }
        | AuditEvent::ServerChanged { .. }
        | AuditEvent::SettingsChanged { .. }
        | AuditEvent::HandEdit { .. }
        | AuditEvent::ClientChanged { .. }
        | AuditEvent::ProfileChanged { .. }
        | AuditEvent::ProfileAssigned { .. }
        | AuditEvent::SignIn { .. }
        | AuditEvent::ServerRequestAnswered { .. }
        | AuditEvent::ClientAccessAnswered { .. }
        | AuditEvent::CommandAnswered { .. }
        | AuditEvent::Paused { .. }
        | AuditEvent::PermissionsRejected { .. }
        | AuditEvent::Lifecycle { .. } => {}
    }
}

/// Leaves out of a rule the values that come from a call: the paths of URIs, and the values of
/// conditions. The arguments that the conditions are about, and the kind of test, stay.
pub(crate) fn grant(rule: &mut Grant) {
    let Grant {
        id: _,
        effect: _,
        server: _,
        width,
        clients: _,
        lifetime: _,
        conditions,
        pins: _,
        program: _,
        created: _,
        author: _,
        reason: _,
    } = rule;
    match width {
        Scope::Call { hash } => *hash = no_hash(),
        Scope::Tool { tool } => *tool = redact_subject(tool.clone()),
        Scope::Reads | Scope::Writes | Scope::Everything => {}
    }
    for Condition { pointer: _, test } in conditions {
        match test {
            ConditionTest::Equals { value: left }
            | ConditionTest::StartsWith { text: left }
            | ConditionTest::Inside { folder: left }
            | ConditionTest::HostIs { host: left, port: _ }
            | ConditionTest::Glob { pattern: left } => LEFT_OUT.clone_into(left),
            ConditionTest::OneOf { values } => *values = vec![LEFT_OUT.to_owned()],
        }
    }
}

/// Leaves out of a server what may be a secret in its settings, who is signed in, its last lines, and the paths of URIs
/// in its rules.
pub(crate) fn server(view: &mut ServerView) {
    let ServerView {
        config,
        icon: _,
        status: _,
        counts: _,
        declared: _,
        trusted_labels: _,
        auto_approve,
        sign_in,
        log_tail,
        errors_last_hour: _,
    } = view;
    redact_transport(&mut config.transport);
    *sign_in = sign_in.take().map(only_kind);
    log_tail.clear();
    for rule in auto_approve {
        *rule = rule_name(rule);
    }
}

/// Leaves out of servers what may be a secret in their settings.
pub(crate) fn configs(configs: &mut [ServerConfig]) {
    configs.iter_mut().for_each(|config| redact_transport(&mut config.transport));
}

/// Whether somebody is signed in or is being waited for, and nothing else.
fn only_kind(sign_in: SignInState) -> SignInState {
    match sign_in {
        SignInState::Out { problem: _ } => SignInState::Out { problem: None },
        SignInState::Waiting { host: _, until } => SignInState::Waiting { host: LEFT_OUT.to_owned(), until },
        SignInState::In { account: _, issuer: _, scopes: _, expires: _, renews } => SignInState::In {
            account: None,
            issuer: LEFT_OUT.to_owned(),
            scopes: Vec::new(),
            expires: None,
            renews,
        },
    }
}

/// The name that rules use for a subject, or a text that begins with one, without the path of a URI.
pub(crate) fn rule_name(name: &str) -> String {
    redact_subject(Subject::from_rule_name(name)).rule_name().into_owned()
}

/// Replaces a call hash: if only few different calls are possible, the hash would tell which one was
/// made.
fn no_hash() -> CallHash {
    CallHash::new("")
}

/// The subject of a call without the parts that the client puts into a URI.
fn redact_subject(subject: Subject) -> Subject {
    match subject {
        Subject::Resource { uri } => Subject::Resource { uri: url_origin(&uri) },
        Subject::Completion { reference } => Subject::Completion { reference: url_origin(&reference) },
        other @ (Subject::Tool { .. } | Subject::Prompt { .. } | Subject::Request { .. }) => other,
    }
}

/// The display name of a subject, which is a URI for some of them.
fn redact_name(subject: &Subject, name: String) -> String {
    match subject {
        Subject::Resource { .. } | Subject::Completion { .. } => url_origin(&name),
        Subject::Tool { .. } | Subject::Prompt { .. } | Subject::Request { .. } => name,
    }
}

/// Scheme and authority of a URI, without user information; a text that is not a URI is returned whole.
fn url_origin(address: &str) -> String {
    let Some((scheme, rest)) = address.split_once(':') else { return address.to_owned() };
    let Some(rest) = rest.strip_prefix("//") else { return format!("{scheme}:") };
    let authority = rest.split(['/', '?', '#', '{']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}")
}

fn redact_pending(pending: PendingApproval) -> PendingApproval {
    let PendingApproval { id, requested_at, expires_at, request, waiting, model: _ } = pending;
    let request = match request {
        ApprovalRequest::Call(call) => ApprovalRequest::Call(redact_call(call)),
        ApprovalRequest::Client(ClientAccessRequest {
            says,
            client_id,
            redirect_uri: _,
            server,
            known_as,
            resembles,
            seen_from,
            receiver,
        }) => ApprovalRequest::Client(ClientAccessRequest {
            says,
            client_id,
            redirect_uri: String::new(),
            server,
            known_as,
            resembles,
            seen_from,
            receiver,
        }),
        ApprovalRequest::Command(CommandRequest {
            command,
            what,
            notes: _,
            changes: _,
            files: _,
            seen_from,
        }) => {
            let (notes, changes, files) = (Vec::new(), Vec::new(), Vec::new());
            ApprovalRequest::Command(CommandRequest { command, what, notes, changes, files, seen_from })
        }
        ApprovalRequest::ConfigChange(request) => {
            ApprovalRequest::ConfigChange(ConfigChangeRequest { changes: Vec::new(), ..request })
        }
        ApprovalRequest::Elicitation(ElicitationRequest { server, client, message: _, want }) => {
            let want = match want {
                ElicitationMode::Form { schema: _ } => ElicitationMode::Form { schema: String::new() },
                ElicitationMode::Url { url: _, host: _, until_done } => {
                    ElicitationMode::Url { url: String::new(), host: String::new(), until_done }
                }
            };
            ApprovalRequest::Elicitation(ElicitationRequest { server, client, message: String::new(), want })
        }
        ApprovalRequest::Sampling(SamplingRequest { server, client, system: _, messages: _, request: _ }) => {
            let (messages, request) = (Vec::new(), String::new());
            ApprovalRequest::Sampling(SamplingRequest { server, client, system: None, messages, request })
        }
        ApprovalRequest::StepUp(ScopeUpgradeRequest { server, scopes }) => {
            ApprovalRequest::StepUp(ScopeUpgradeRequest { server, scopes })
        }
    };
    // Which models the user has is for the operator alone.
    PendingApproval { id, requested_at, expires_at, request, waiting, model: None }
}

fn redact_call(call: CallApprovalRequest) -> CallApprovalRequest {
    let CallApprovalRequest {
        client,
        server,
        subject,
        title,
        exposed_name,
        class,
        arguments: _,
        argument_bytes: _,
        is_abridged: _,
        // An answer has to repeat the hash; a caller that may not answer does not need it.
        hash: _,
        warnings: _,
        changes: _,
        choices: _,
        denials: _,
        // They repeat values of the arguments.
        conditions: _,
        client_waits_until,
    } = call;
    CallApprovalRequest {
        client,
        server,
        title: redact_name(&subject, title),
        exposed_name: redact_name(&subject, exposed_name),
        subject: redact_subject(subject),
        class,
        arguments: None,
        argument_bytes: 0,
        is_abridged: false,
        hash: no_hash(),
        warnings: Vec::new(),
        changes: Vec::new(),
        choices: Vec::new(),
        denials: Vec::new(),
        conditions: Vec::new(),
        client_waits_until,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use gatehouse_model::approval::ConfigChangeKind;
    use gatehouse_model::event::ConfigCause;
    use gatehouse_model::grant::{ClientScope, FieldChange, FieldConcern};
    use gatehouse_model::record::CallOutcome;
    use gatehouse_model::{
        ApprovalId, Decision, ErrorCode, Lifetime, Rule, RuleEffect, ServerId, Timestamp, Verdict,
    };

    use super::*;

    fn redacted_json(event: Event) -> String {
        let envelope = EventEnvelope { version: 1, seq: 9, at: Timestamp(1), event };
        serde_json::to_string(&redact_envelope(&envelope)).unwrap()
    }

    #[test]
    fn redacts_approval_contents() {
        let change = FieldChange {
            pointer: "/transport/command".into(),
            concern: FieldConcern::Shape,
            before: None,
            after: Some("\"very-telling\"".into()),
        };
        let request = ApprovalRequest::ConfigChange(ConfigChangeRequest {
            file: "servers.json".into(),
            server: "files".into(),
            changes: vec![change],
            action: ConfigChangeKind::Changed,
            profile: None,
        });
        let pending = PendingApproval {
            id: ApprovalId::new("ask-1"),
            requested_at: Timestamp(1),
            expires_at: Timestamp(2),
            request,
            waiting: true,
            model: Some("Very-telling · gpt-x".to_owned()),
        };
        let text = redacted_json(Event::ApprovalRequested { pending });
        assert!(!text.contains("very-telling") && !text.contains("Very-telling"));
        assert!(text.contains("files") && text.contains("ask-1") && text.contains("\"seq\":9"));
    }

    #[test]
    fn says_only_whether_somebody_is_signed_in() {
        let server = || ServerId::new("srv-1");
        let signed_in = SignInState::In {
            account: Some("telling".to_owned()),
            issuer: "https://telling.example".to_owned(),
            scopes: vec!["telling".to_owned()],
            expires: Some(Timestamp(7)),
            renews: true,
        };
        let waiting = SignInState::Waiting { host: "telling.example".to_owned(), until: Timestamp(7) };
        let problem = UserError::new(ErrorCode::Refused, "telling");
        for (sign_in, kind) in
            [(signed_in, "in"), (waiting, "waiting"), (SignInState::Out { problem: Some(problem) }, "out")]
        {
            let text = redacted_json(Event::SignInChanged { server: server(), sign_in });
            assert!(!text.contains("telling") && text.contains(&format!("\"is\":\"{kind}\"")), "{text}");
        }
    }

    #[test]
    fn says_only_that_something_is_wrong_with_the_servers_file() {
        let changed = |problem: Option<UserError>| {
            redacted_json(Event::ConfigChanged {
                cause: ConfigCause::File,
                server: None,
                name: None,
                unconfirmed: true,
                problem,
            })
        };
        let problem = UserError::new(ErrorCode::BadConfig, "The server cannot be used.")
            .with_cause("In “env.VERY_TELLING”: This must be a string.");
        let text = changed(Some(problem));
        assert!(!text.contains("VERY_TELLING") && text.contains("The server cannot be used."), "{text}");
        assert!(changed(None).contains(r#""problem":null"#));
    }

    #[test]
    fn keeps_only_scheme_and_host_of_urls() {
        for (address, left) in [
            ("file:///home/a/very-telling.txt", "file://"),
            ("https://very-telling:x@a.example:8443/p?q#f", "https://a.example:8443"),
            ("https://a.example?very-telling", "https://a.example"),
            ("db://{very-telling}/x", "db://"),
            ("data:text/plain,very-telling", "data:"),
            ("a_prompt", "a_prompt"),
        ] {
            assert_eq!(url_origin(address), left, "{address}");
        }
        let started = redacted_json(Event::CallStarted {
            call: "call-1".into(),
            client: "c".into(),
            server: "s".into(),
            tool: "resource:notes://all/very-telling".into(),
            input: String::new(),
        });
        assert!(started.contains("resource:notes://all") && !started.contains("very-telling"), "{started}");
        let (tool, telling) = (Subject::Tool { name: "a:b".into() }, "file:///very-telling".to_owned());
        assert_eq!(redact_name(&tool, "a:b".into()), "a:b");
        assert_eq!(redact_subject(tool.clone()), tool);
        assert_eq!(redact_name(&Subject::Resource { uri: telling.clone() }, telling), "file://");
    }

    #[test]
    fn of_a_rule_and_of_the_audit_values_and_paths_are_left_out() {
        let telling = || "very-telling".to_owned();
        let tests = [
            ConditionTest::Equals { value: telling() },
            ConditionTest::OneOf { values: vec![telling()] },
            ConditionTest::StartsWith { text: telling() },
            ConditionTest::Inside { folder: telling() },
            ConditionTest::HostIs { host: telling(), port: None },
            ConditionTest::Glob { pattern: telling() },
        ];
        let rule = |width| Grant {
            id: "grt-1".into(),
            effect: RuleEffect::Deny,
            server: None,
            width,
            clients: ClientScope::Every,
            lifetime: Lifetime::Always,
            conditions: tests
                .iter()
                .map(|test| Condition { pointer: "/uri".into(), test: test.clone() })
                .collect(),
            pins: BTreeMap::new(),
            program: None,
            created: Timestamp(1),
            author: gatehouse_model::RuleAuthor::Person,
            reason: None,
        };
        let resource = Scope::Tool { tool: Subject::Resource { uri: "notes://all/very-telling".into() } };
        let call = Scope::Call { hash: CallHash::new("very-telling") };
        let granted = [resource, call].map(|width| AuditEvent::Granted { rule: Box::new(rule(width)) });
        let decided = AuditEvent::Decided {
            ask: ApprovalId::new("ask-1"),
            hash: CallHash::new("very-telling"),
            client: "c".into(),
            server: "s".into(),
            subject: Subject::Resource { uri: "notes://all/very-telling".into() },
            allowed: true,
            reason: None,
            by: None,
        };
        let lapsed =
            AuditEvent::Lapsed { ask: ApprovalId::new("ask-1"), hash: CallHash::new("very-telling") };
        for mut event in granted.into_iter().chain([decided, lapsed]) {
            audit(&mut event);
            let text = serde_json::to_string(&event).unwrap();
            assert!(!text.contains("very-telling"), "{text}");
            let (is_rule, is_decision) = (text.contains("granted"), text.contains("decided"));
            assert!(!is_rule || text.contains("/uri"), "{text}");
            assert!(!is_decision || text.contains("notes://all"), "{text}");
        }
        assert_eq!(rule_name("resource:notes://all/very-telling (for agent)"), "resource:notes://all");
        assert_eq!(rule_name("add_note (for agent, on conditions)"), "add_note (for agent, on conditions)");
    }

    #[test]
    fn redacts_call_contents() {
        let telling = || "very-telling".to_owned();
        let verdict = Verdict { decision: Decision::Ask, rule: Rule::DefaultAsk };
        let outcomes = [
            CallOutcome::Unfit { problem: telling() },
            CallOutcome::RpcError { code: -32603, message: telling() },
            CallOutcome::Failed { message: telling() },
        ];
        let ended = outcomes.into_iter().map(|outcome| Event::CallFinished {
            call: "call-1".into(),
            verdict: verdict.clone(),
            outcome,
            duration_ms: 1,
        });
        let under_way = [
            Event::CallStarted {
                call: "call-1".into(),
                client: "c".into(),
                server: "s".into(),
                tool: "t".into(),
                input: telling(),
            },
            Event::CallProgress {
                call: "call-1".into(),
                progress: 1.0,
                total: None,
                message: Some(telling()),
            },
        ];
        for event in ended.chain(under_way) {
            let text = redacted_json(event);
            assert!(text.contains("call-1") && !text.contains("very-telling"), "{text}");
        }
    }
}
