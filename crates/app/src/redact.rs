//! What a listener without the operator key gets to know of a question: that it is there, from
//! whom, to whom and about what, but nothing of what is in it (PERM-16).

use gatehouse_model::ask::{Ask, CallAsk, Elicited};
use gatehouse_model::{CallHash, Envelope, Event, PendingAsk};

/// The event with the contents of questions left out.
pub(crate) fn without_contents(envelope: &Envelope) -> Envelope {
    let event = match &envelope.event {
        Event::ApprovalRequested { pending } => Event::ApprovalRequested { pending: emptied(pending) },
        Event::ApprovalChanged { pending } => Event::ApprovalChanged { pending: emptied(pending) },
        other => other.clone(),
    };
    Envelope { version: envelope.version, seq: envelope.seq, at: envelope.at, event }
}

fn emptied(pending: &PendingAsk) -> PendingAsk {
    let ask = match pending.ask.clone() {
        Ask::Call(call) => Ask::Call(CallAsk {
            arguments: None,
            // An answer has to repeat the hash; who may not answer has no use for it.
            hash: CallHash::new(""),
            warnings: Vec::new(),
            changes: Vec::new(),
            choices: Vec::new(),
            ..call
        }),
        Ask::Client(mut client) => {
            client.redirect_uri.clear();
            Ask::Client(client)
        }
        Ask::ConfigChange(mut change) => {
            change.changes.clear();
            Ask::ConfigChange(change)
        }
        Ask::Elicitation(mut wanted) => {
            wanted.message.clear();
            match &mut wanted.want {
                Elicited::Form { schema } => schema.clear(),
                Elicited::Url { url, host, until_done: _ } => {
                    url.clear();
                    host.clear();
                }
            }
            Ask::Elicitation(wanted)
        }
        Ask::Sampling(mut wanted) => {
            wanted.request.clear();
            wanted.messages.clear();
            wanted.system = None;
            Ask::Sampling(wanted)
        }
        Ask::StepUp(wanted) => Ask::StepUp(wanted),
    };
    PendingAsk { ask, ..pending.clone() }
}

#[cfg(test)]
mod tests {
    use gatehouse_model::ask::{ConfigChangeAsk, ConfigChangeKind};
    use gatehouse_model::grant::{FieldChange, FieldConcern};
    use gatehouse_model::{AskId, Timestamp};

    use super::*;

    #[test]
    fn a_question_is_announced_without_what_is_in_it() {
        let change = FieldChange {
            pointer: "/transport/command".into(),
            concern: FieldConcern::Shape,
            before: None,
            after: Some("\"very-telling\"".into()),
        };
        let ask = Ask::ConfigChange(ConfigChangeAsk {
            file: "servers.json".into(),
            server: "files".into(),
            changes: vec![change],
            kind: ConfigChangeKind::Changed,
        });
        let pending = PendingAsk {
            id: AskId::new("ask-1"),
            asked_at: Timestamp(1),
            expires_at: Timestamp(2),
            ask,
            waiting: true,
        };
        let envelope =
            Envelope { version: 1, seq: 9, at: Timestamp(1), event: Event::ApprovalRequested { pending } };
        let text = serde_json::to_string(&without_contents(&envelope)).unwrap();
        assert!(!text.contains("very-telling"));
        assert!(text.contains("files") && text.contains("ask-1") && text.contains("\"seq\":9"));
    }
}
