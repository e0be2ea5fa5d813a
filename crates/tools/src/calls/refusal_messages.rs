//! Texts for the model when a call doesn't run: who decided it, that the tool isn't at fault, and what to do.

use std::time::Duration;

use gatehouse_mcp_wire::raw::{Members, place, quoted, raw, splice};
use gatehouse_model::approval::Subject;
use gatehouse_model::grant::Rule;
use gatehouse_model::record::CallOutcome;
use gatehouse_model::{CallId, ServerStatus};
use gatehouse_policy::display::reveal;
use gatehouse_servers::{UpstreamError, UpstreamErrorKind};
use serde_json::value::RawValue;

use crate::approvals::QueueFull;
use crate::call_types::response::FinishedCall;
use crate::call_types::shorten_name;
use crate::profiles::rate_limits::RateLimited;
use crate::result_meta;

const TOOL: &str = "tool";

/// How messages refer to a call, by its subject (PERM-18).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SubjectWording {
    /// The thing that isn't at fault.
    thing: &'static str,
    /// How to try again.
    again: &'static str,
    /// How to repeat exactly the same call.
    same: &'static str,
}

impl SubjectWording {
    /// Of no call: a client wants to know what the server offers.
    pub(crate) const SERVER: Self = Self { thing: "server", again: "try again", same: "Try the same again" };

    pub(crate) fn of(subject: &Subject) -> Self {
        match subject {
            Subject::Tool { .. } => Self {
                thing: TOOL,
                again: "call again",
                same: "Call the tool again with exactly the same arguments",
            },
            Subject::Resource { .. } => Self {
                thing: "resource",
                again: "ask for the resource again",
                same: "Ask for the same resource again",
            },
            Subject::Prompt { .. } => Self {
                thing: "prompt",
                again: "ask for the prompt again",
                same: "Ask for the same prompt again with exactly the same arguments",
            },
            Subject::Completion { .. } => Self {
                thing: "server",
                again: "ask for the completion again",
                same: "Ask for the same completion again",
            },
            Subject::Request { .. } => Self {
                thing: "server",
                again: "send the request again",
                same: "Send exactly the same request again",
            },
        }
    }
}

/// The message for a refused call (PERM-12).
pub(crate) fn refusal(rule: &Rule, reason: Option<&str>, words: SubjectWording) -> String {
    let reason_sentence = |reason: Option<&str>| match reason {
        Some(reason) if !reason.trim().is_empty() => format!(" The user's reason: {}", reason.trim()),
        _ => String::new(),
    };
    let SubjectWording { thing, again, .. } = words;
    let no_fault = format!(
        "This is the user's decision and no fault of the {thing}. Do not try to reach the same goal by another way without asking the user."
    );
    match rule {
        Rule::Paused => {
            format!(
                "Gatehouse is paused: the user has stopped all calls for now. This is no fault of the {thing}. Wait until the user says that they have resumed."
            )
        }
        Rule::SwitchedOff => {
            format!(
                "MCP is switched off in Gatehouse, so no server can be used and the call did not run. This is no fault of the {thing}. Ask the user to switch it on in Gatehouse (or with `gatehousectl servers on`), then {again}."
            )
        }
        Rule::PolicyFile { reason } => {
            format!(
                "The policy of this computer's administrator forbids this, so the call was refused and did not run. This is no fault of the {thing}. {reason}"
            )
        }
        Rule::HiddenByProfile { .. } => {
            format!(
                "Gatehouse does not offer this {thing} to this client, so the call was refused and did not run."
            )
        }
        Rule::RateLimited { per_minute } => {
            format!(
                "The user lets this client make at most {per_minute} calls a minute in Gatehouse, and it has made them, so the call was refused and did not run. This is no fault of the {thing}."
            )
        }
        Rule::ExplicitDeny { grant: _, reason: rule_reason } => {
            let reason = reason_sentence(reason.or(rule_reason.as_deref()));
            format!(
                "The user has blocked this in Gatehouse, so the call was refused and did not run. {no_fault}{reason}"
            )
        }
        Rule::Unanswered { .. } => {
            format!(
                "The user did not answer in time, so the call was refused and did not run. This is no fault of the {thing}. Ask the user before you try again."
            )
        }
        Rule::Answered { .. }
        | Rule::PermissionsUnverified
        | Rule::ChangedDefinition { .. }
        | Rule::UnboundGrant { .. }
        | Rule::LateTicket { .. }
        | Rule::ConditionedGrant { .. }
        | Rule::TimedGrant { .. }
        | Rule::AlwaysGrant { .. }
        | Rule::ByUser
        | Rule::DefaultAsk => {
            let reason = reason_sentence(reason);
            format!("The user refused this call in Gatehouse; it did not run. {no_fault}{reason}")
        }
    }
}

/// The outcome of a call that a rule refuses, with its message.
pub(crate) fn refused(rule: &Rule, reason: Option<&str>, words: SubjectWording) -> FinishedCall {
    FinishedCall::with_text(&refusal(rule, reason, words), CallOutcome::Refused)
}

/// The outcome of a call that comes too soon after the ones before it.
pub(crate) fn rate_limited(limited: &RateLimited, words: SubjectWording) -> FinishedCall {
    let text = refusal(&limited.rule(), None, words);
    let seconds = Duration::from_secs(limited.wait.as_secs().saturating_add(1));
    let text = format!("{text} Wait {}, then {}.", format_duration(seconds), words.again);
    FinishedCall::with_text(&text, CallOutcome::Refused)
}

/// The message if the user hasn't answered yet (PERM-11).
pub(crate) fn still_waiting(words: SubjectWording) -> String {
    format!(
        "Gatehouse is still waiting for the user to allow or deny this call; it has not run yet. Nothing is wrong. {}: the approval request stays open, and the answer will count for that call.",
        words.same
    )
}

/// Member of a result's `_meta` that marks it as the result of an earlier call.
const EARLIER: &str = "gatehouse/earlierResult";

/// Marks the result of an earlier call for the identical call that gets it: in `_meta` for programs, and for a
/// tool also in an additional last text for the model. All other bytes stay.
pub(crate) fn with_earlier_mark(
    result: &RawValue,
    call: &CallId,
    ago: Duration,
    words: SubjectWording,
) -> Box<RawValue> {
    let text = result.get();
    let Ok(members) = Members::read(text) else { return result.to_owned() };
    let seconds = ago.as_secs();
    let mark = format!(r#""{EARLIER}":{{"call":{},"secondsAgo":{seconds}}}"#, quoted(call.as_str()));
    let mut edits: Vec<_> = result_meta::member_edit(text, &members, &mark).into_iter().collect();
    if words.thing == TOOL
        && let Some(content) = members.get("content").filter(|content| content.get().starts_with('['))
    {
        let end = place(text, content.get()).end.saturating_sub(1);
        let comma = if result_meta::is_empty(content.get()) { "" } else { "," };
        let note = format!(
            "Note from Gatehouse: this call was not run again. It ran once, {} ago, after the user had allowed it, and nothing showed that its result had arrived; this is that result. If you want it to run anew, call again with the same arguments.",
            format_duration(ago)
        );
        edits.push((end..end, format!(r#"{comma}{{"type":"text","text":{}}}"#, quoted(&note))));
    }
    raw(splice(text, edits))
}

/// The message if there are too many or too large pending requests (PERM-10).
pub(crate) fn too_many(too_many: &QueueFull, words: SubjectWording) -> String {
    let what = match too_many {
        QueueFull::Count(limit) => format!(
            "{limit} calls of this client already wait for the user's answer in Gatehouse, which is the most that may wait at once"
        ),
        QueueFull::Bytes => {
            "The calls that wait for the user's answer in Gatehouse are too large together to take another"
                .to_owned()
        }
    };
    format!(
        "{what}. This call was refused and did not run. Wait until the user has answered some of them, then {}.",
        words.again
    )
}

/// The message for a call that is aborted by a pause.
pub(crate) fn stopped_by_pause(words: SubjectWording) -> String {
    refusal(&Rule::Paused, None, words)
}

/// The message for a call that is aborted because MCP is switched off.
pub(crate) fn stopped_by_switch(sent: bool, words: SubjectWording) -> String {
    let text = refusal(&Rule::SwitchedOff, None, words);
    if sent {
        text.replace("the call did not run", "the call was cut short and may have had an effect")
    } else {
        text
    }
}

/// The message for a call that is aborted by a shutdown.
pub(crate) fn stopped_by_end(words: SubjectWording) -> String {
    format!("Gatehouse is shutting down. The call was cancelled; this is no fault of the {}.", words.thing)
}

/// The message if the server can't be used in its current state (GATE-5).
pub(crate) fn unusable(server: &str, status: &ServerStatus, words: SubjectWording) -> String {
    let again = words.again;
    match status {
        ServerStatus::NeedsAuth { .. } => format!(
            "The server “{server}” needs the user to sign in before it can be used. Ask the user to open Gatehouse and choose “Sign in” at this server, then {again}."
        ),
        ServerStatus::NeedsClientRegistration { reason } => format!(
            "The server “{server}” cannot be signed in to yet: {reason} Ask the user to open Gatehouse and enter a client id for this server, then {again}."
        ),
        ServerStatus::Disabled => format!(
            "The server “{server}” is switched off in Gatehouse. Ask the user to switch it on, then {again}."
        ),
        ServerStatus::Failed { message, .. } => format!(
            "The server “{server}” does not run: {message} The call was not sent. The user can see the details in Gatehouse."
        ),
        ServerStatus::Stopped => format!(
            "The server “{server}” was stopped in Gatehouse and stays so until it is started there. The call was not sent. Ask the user to start it, then {again}."
        ),
        ServerStatus::Connecting { .. } | ServerStatus::Connected { .. } => format!(
            "The server “{server}” is not connected, and an attempt to connect did not succeed. Try again in a moment, or ask the user to look at it in Gatehouse."
        ),
    }
}

/// The message if the server, now connected, doesn't have the tool that it had when it was last listed (SRV-3).
pub(crate) fn gone(server: &str, tool: &str) -> String {
    format!(
        "The server “{server}” has no tool “{}” any more, so the call was not sent. List the tools again to see what it offers now.",
        reveal(shorten_name(tool))
    )
}

/// The message for a call that failed.
pub(crate) fn failed(server: &str, error: &UpstreamError, words: SubjectWording) -> String {
    match &error.kind {
        UpstreamErrorKind::Unavailable { status } => unusable(server, status, words),
        UpstreamErrorKind::NeedsAuth { .. } => {
            unusable(server, &ServerStatus::NeedsAuth { issuer: None }, words)
        }
        UpstreamErrorKind::TimedOut { after } => format!(
            "The server “{server}” did not answer within {}. The call was cancelled; whether it had an effect is not known.",
            format_duration(*after)
        ),
        UpstreamErrorKind::SwitchedOff => refusal(&Rule::SwitchedOff, None, words),
        UpstreamErrorKind::Cancelled => format!("The call to the server “{server}” was cancelled."),
        UpstreamErrorKind::Closed { reason } => format!(
            "The connection to the server “{server}” ended while the call ran: {reason} Whether the call had an effect is not known."
        ),
        UpstreamErrorKind::SessionLost => format!(
            "The server “{server}” lost its session, and again after it was opened anew. The call was not carried out. The user can see the details in Gatehouse."
        ),
        UpstreamErrorKind::Transport { message, .. } => {
            format!("The call to the server “{server}” failed on the way: {message}")
        }
    }
}

fn format_duration(span: Duration) -> String {
    match span.as_secs() {
        1 => "1 second".to_owned(),
        secs if secs >= 120 && secs % 60 == 0 => format!("{} minutes", secs / 60),
        secs => format!("{secs} seconds"),
    }
}

#[cfg(test)]
mod tests {
    use gatehouse_model::{ApprovalId, GrantId};

    use super::*;

    fn tool() -> SubjectWording {
        SubjectWording::of(&Subject::Tool { name: "t".into() })
    }

    #[test]
    fn refusal_says_who_and_why() {
        let ask = ApprovalId::from("ask-1");
        let refusal = |rule: &Rule, reason| refusal(rule, reason, tool());
        let denied = refusal(&Rule::Answered { ask: ask.clone() }, Some("use the other folder"));
        assert!(denied.contains("user refused") && denied.contains("no fault of the tool"));
        assert!(denied.contains("use the other folder"));
        let blocked =
            refusal(&Rule::ExplicitDeny { grant: GrantId::from("g"), reason: Some("never".into()) }, None);
        assert!(blocked.contains("blocked") && blocked.contains("never"));
        assert!(refusal(&Rule::Paused, None).contains("paused"));
        assert!(refusal(&Rule::SwitchedOff, None).contains("gatehousectl servers on"));
        assert!(stopped_by_switch(true, tool()).contains("may have had"));
        assert!(refusal(&Rule::Unanswered { ask }, None).contains("did not answer"));
        assert!(refusal(&Rule::PolicyFile { reason: "no shells".into() }, None).contains("no shells"));
    }

    #[test]
    fn non_tool_messages_do_not_say_tool() {
        let ask = || ApprovalId::from("ask-1");
        let rules = [
            Rule::Paused,
            Rule::SwitchedOff,
            Rule::PolicyFile { reason: "No.".into() },
            Rule::ExplicitDeny { grant: GrantId::from("g"), reason: None },
            Rule::RateLimited { per_minute: 3 },
            Rule::Unanswered { ask: ask() },
            Rule::Answered { ask: ask() },
        ];
        for (subject, thing) in [
            (Subject::Resource { uri: "x:y".into() }, "no fault of the resource"),
            (Subject::Prompt { name: "p".into() }, "no fault of the prompt"),
            (Subject::Completion { reference: "p".into() }, "no fault of the server"),
        ] {
            let words = SubjectWording::of(&subject);
            let refusals = rules.iter().map(|rule| refusal(rule, None, words));
            let others = [
                still_waiting(words),
                too_many(&QueueFull::Count(64), words),
                too_many(&QueueFull::Bytes, words),
                stopped_by_end(words),
                unusable("s", &ServerStatus::NeedsAuth { issuer: None }, words),
                unusable("s", &ServerStatus::Disabled, words),
                unusable("s", &ServerStatus::Stopped, words),
            ];
            for text in refusals.clone().chain(others) {
                assert!(!text.contains("tool"), "{text}");
            }
            for text in refusals {
                assert!(text.contains(thing), "{text}");
            }
        }
    }

    #[test]
    fn earlier_result_keeps_bytes_and_is_marked() {
        let call = CallId::from("call-1");
        let mark = |text: &str, words| {
            let result = RawValue::from_string(text.to_owned()).unwrap();
            with_earlier_mark(&result, &call, Duration::from_secs(75), words).get().to_owned()
        };
        let note = |text: &str| {
            let value: serde_json::Value = serde_json::from_str(text).unwrap();
            value["content"].as_array().and_then(|all| all.last().cloned()).unwrap_or_default()["text"]
                .as_str()
                .map(str::to_owned)
        };
        const META: &str = r#""gatehouse/earlierResult":{"call":"call-1","secondsAgo":75}"#;
        for (before, head, tail) in [
            (r#"{"content":[]}"#, format!(r#"{{"_meta":{{{META}}},"content":[{{"#), "}]}"),
            (
                r#"{ "content" : [ {"type":"text","text":"a\u0041"} ] , "n":1.00}"#,
                format!(r#"{{"_meta":{{{META}}}, "content" : [ {{"type":"text","text":"a\u0041"}} ,{{"#),
                r#"}] , "n":1.00}"#,
            ),
            (
                r#"{"content":[1],"_meta":{"a":1e3}}"#,
                r#"{"content":[1,{"#.to_owned(),
                &format!(r#"}}],"_meta":{{{META},"a":1e3}}}}"#),
            ),
            (r#"{}"#, format!(r#"{{"_meta":{{{META}}}}}"#), ""),
        ] {
            let after = mark(before, tool());
            assert!(after.starts_with(&head) && after.ends_with(tail), "{before}: {after}");
            assert_eq!(note(&after).is_some(), before.contains("content"), "{after}");
            assert!(note(&after).is_none_or(|note| note.contains("75 seconds")), "{after}");
        }
        let resource = SubjectWording::of(&Subject::Resource { uri: "x:y".into() });
        assert_eq!(mark(r#"{"contents":[]}"#, resource), format!(r#"{{"_meta":{{{META}}},"contents":[]}}"#));
    }
}
