//! What the model gets to read when a call does not run: whose decision it was, that the tool is
//! not at fault, and what to do. Also the JSON-RPC errors of the call door.

use std::time::Duration;

use gatehouse_model::ServerStatus;
use gatehouse_model::grant::Rule;
use gatehouse_servers::CallError;
use serde_json::value::RawValue;

use crate::raw::{quoted, raw};

/// A result with `isError` and this text.
pub(crate) fn error_result(text: &str) -> Box<RawValue> {
    raw(format!(r#"{{"content":[{{"type":"text","text":{}}}],"isError":true}}"#, quoted(text)))
}

/// The code of what is no tool call and did not run, whoever's decision that was.
pub(crate) const NOT_RUN: i32 = -32000;

/// A JSON-RPC error object.
pub(crate) fn rpc_error(code: i32, message: &str) -> Box<RawValue> {
    raw(format!(r#"{{"code":{code},"message":{}}}"#, quoted(message)))
}

const NO_FAULT: &str = "This is the user's decision and no fault of the tool. Do not try to reach the same goal by another way without asking the user.";

/// Why a call was refused (PERM-12).
pub(crate) fn refusal(rule: &Rule, reason: Option<&str>) -> String {
    let said = |reason: Option<&str>| match reason {
        Some(reason) if !reason.trim().is_empty() => format!(" The user's reason: {}", reason.trim()),
        _ => String::new(),
    };
    match rule {
        Rule::Paused => {
            "Gatehouse is paused: the user has stopped all tool calls for now. This is no fault of the tool. Wait until the user says that they have resumed.".to_owned()
        }
        Rule::SwitchedOff => {
            "MCP is switched off in Gatehouse, so no tool of any server can be used and the call did not run. This is no fault of the tool. Ask the user to switch it on in Gatehouse (or with `gatehousectl servers on`), then call again.".to_owned()
        }
        Rule::PolicyFile { reason } => {
            format!("The policy of this computer's administrator forbids this call. This is no fault of the tool. Reason: {reason}")
        }
        Rule::ExplicitDeny { grant: _, reason: rule_reason } => {
            let reason = said(reason.or(rule_reason.as_deref()));
            format!("The user has blocked this in Gatehouse, so the call was refused and did not run. {NO_FAULT}{reason}")
        }
        Rule::Unanswered { .. } => {
            "The user did not answer in time, so the call was refused and did not run. This is no fault of the tool. Ask the user before you try again.".to_owned()
        }
        Rule::Answered { .. }
        | Rule::RightsUnverified
        | Rule::ChangedDefinition { .. }
        | Rule::LateTicket { .. }
        | Rule::ConditionedGrant { .. }
        | Rule::TimedGrant { .. }
        | Rule::AlwaysGrant { .. }
        | Rule::ByUser
        | Rule::DefaultAsk => {
            let reason = said(reason);
            format!("The user refused this call in Gatehouse; it did not run. {NO_FAULT}{reason}")
        }
    }
}

/// The user has not answered yet (PERM-11).
pub(crate) fn still_waiting() -> &'static str {
    "Gatehouse is still waiting for the user to allow or deny this call; it has not run yet. Nothing is wrong. Call the tool again with exactly the same arguments: the question stays open, and the answer will count for that call."
}

/// Too many questions wait (PERM-10).
pub(crate) fn too_many(limit: usize) -> String {
    format!(
        "{limit} calls of this client already wait for the user's answer in Gatehouse, which is the most that may wait at once. This call was refused and did not run. Wait until the user has answered some of them, then call again."
    )
}

/// Everything is being paused while the call ran.
pub(crate) fn stopped_by_pause() -> String {
    refusal(&Rule::Paused, None)
}

/// MCP is being switched off while the call waited or ran.
pub(crate) fn stopped_by_switch(sent: bool) -> String {
    let text = refusal(&Rule::SwitchedOff, None);
    if sent {
        text.replace("the call did not run", "the call was cut short and may have had an effect")
    } else {
        text
    }
}

/// The server cannot be used as it is (GATE-5).
pub(crate) fn unusable(server: &str, status: &ServerStatus) -> String {
    match status {
        ServerStatus::NeedsAuth { .. } => format!(
            "The server “{server}” needs the user to sign in before its tools can be used. Ask the user to open Gatehouse and choose “Sign in” at this server, then call again."
        ),
        ServerStatus::NeedsClientRegistration { reason } => format!(
            "The server “{server}” cannot be signed in to yet: {reason} Ask the user to open Gatehouse and enter a client id for this server, then call again."
        ),
        ServerStatus::Disabled => format!(
            "The server “{server}” is switched off in Gatehouse. Ask the user to switch it on, then call again."
        ),
        ServerStatus::Failed { message, .. } => format!(
            "The server “{server}” does not run: {message} The call was not sent. The user can see the details in Gatehouse."
        ),
        ServerStatus::Stopped | ServerStatus::Connecting { .. } | ServerStatus::Connected { .. } => format!(
            "The server “{server}” is not connected, and an attempt to connect did not succeed. Try again in a moment, or ask the user to look at it in Gatehouse."
        ),
    }
}

/// A call that failed on the way.
pub(crate) fn failed(server: &str, error: &CallError) -> String {
    match error {
        CallError::Unavailable { status } => unusable(server, status),
        CallError::NeedsAuth => unusable(server, &ServerStatus::NeedsAuth { issuer: None }),
        CallError::TimedOut { after } => format!(
            "The server “{server}” did not answer within {}. The call was cancelled; whether it had an effect is not known.",
            words(*after)
        ),
        CallError::SwitchedOff => refusal(&Rule::SwitchedOff, None),
        CallError::Cancelled => format!("The call to the server “{server}” was cancelled."),
        CallError::Closed { reason } => format!(
            "The connection to the server “{server}” ended while the call ran: {reason} Whether the call had an effect is not known."
        ),
        CallError::SessionLost => format!(
            "The server “{server}” lost its session, and again after it was opened anew. The call was not carried out. The user can see the details in Gatehouse."
        ),
        CallError::Transport(message) => {
            format!("The call to the server “{server}” failed on the way: {message}")
        }
    }
}

fn words(span: Duration) -> String {
    match span.as_secs() {
        1 => "1 second".to_owned(),
        secs if secs >= 120 && secs % 60 == 0 => format!("{} minutes", secs / 60),
        secs => format!("{secs} seconds"),
    }
}

#[cfg(test)]
mod tests {
    use gatehouse_model::{AskId, GrantId};

    use super::*;

    #[test]
    fn a_refusal_says_who_and_why() {
        let ask = AskId::from("ask-1");
        let denied = refusal(&Rule::Answered { ask: ask.clone() }, Some("use the other folder"));
        assert!(denied.contains("user refused") && denied.contains("no fault of the tool"));
        assert!(denied.contains("use the other folder"));
        let blocked =
            refusal(&Rule::ExplicitDeny { grant: GrantId::from("g"), reason: Some("never".into()) }, None);
        assert!(blocked.contains("blocked") && blocked.contains("never"));
        assert!(refusal(&Rule::Paused, None).contains("paused"));
        assert!(refusal(&Rule::SwitchedOff, None).contains("gatehousectl servers on"));
        assert!(stopped_by_switch(true).contains("may have had"));
        assert!(refusal(&Rule::Unanswered { ask }, None).contains("did not answer"));
        assert!(refusal(&Rule::PolicyFile { reason: "no shells".into() }, None).contains("no shells"));
    }

    #[test]
    fn an_error_result_is_json_whatever_the_text() {
        let result = error_result("a \"b\" \n\u{0}");
        let value: serde_json::Value = serde_json::from_str(result.get()).unwrap();
        assert_eq!(value["isError"], true);
        assert_eq!(value["content"][0]["text"], "a \"b\" \n\u{0}");
    }
}
