//! Reads the pending approvals with their full arguments and choices. One reply has room for the details
//! of some of them only, so the list is requested again until none is missing: an incomplete request is
//! never shown as complete.

use std::collections::HashMap;

use gatehouse_model::approval::{ApprovalRequest, CallDetails};
use gatehouse_model::command::ApprovalsList;
use gatehouse_model::{ApprovalId, CallHash, ErrorCode, PendingApproval, UserError, message};

use crate::error::CliError;
use crate::session::ControlSession;

/// Reads the pending approvals; those in `known` come without details.
///
/// # Errors
/// As [`ControlSession::run`]; also if a reply that leaves details out contains none of the missing ones.
pub(crate) async fn read(
    session: &mut ControlSession,
    known: &[ApprovalId],
) -> Result<Vec<PendingApproval>, CliError> {
    let mut gathered = Gathered::default();
    for reading in 1.. {
        let known = known.iter().chain(gathered.0.keys()).cloned().collect();
        let reply = session.run(&ApprovalsList { known }).await?;
        if let Some(whole) = gathered.add(reply, reading >= MOST_READINGS)? {
            return Ok(whole);
        }
    }
    Ok(Vec::new())
}

/// Number of replies after which the approvals that are complete by then are returned: large ones that come and go all
/// the time must not hide the others. The queue's limits fit into half as many replies.
const MOST_READINGS: usize = 16;

/// The details received so far, with the hash of the call that they belong to.
#[derive(Default)]
struct Gathered(HashMap<ApprovalId, (CallHash, CallDetails)>);

impl Gathered {
    /// Adds a reply. Returns all pending approvals once no details are missing, or the complete ones if this is the
    /// last reply; until then another reply is needed.
    fn add(
        &mut self,
        mut reply: Vec<PendingApproval>,
        is_last: bool,
    ) -> Result<Option<Vec<PendingApproval>>, UserError> {
        self.0.retain(|id, _| reply.iter().any(|pending| pending.id == *id));
        let (mut is_whole, mut has_more) = (true, false);
        for pending in &mut reply {
            let ApprovalRequest::Call(call) = &mut pending.request else { continue };
            is_whole &= !call.is_abridged;
            if let Some(details) = call.take_details() {
                self.0.insert(pending.id.clone(), (call.hash.clone(), details));
                has_more = true;
            }
        }
        if !is_whole && !has_more {
            return Err(UserError::new(ErrorCode::Internal, message!("error.ctl.argumentsMissing")));
        }
        if !is_whole && !is_last {
            return Ok(None);
        }
        reply.retain(|pending| !matches!(&pending.request, ApprovalRequest::Call(call) if call.is_abridged));
        for pending in &mut reply {
            let ApprovalRequest::Call(call) = &mut pending.request else { continue };
            let gathered = self.0.remove(&pending.id).filter(|(hash, _)| *hash == call.hash);
            if let Some((_, details)) = gathered {
                call.put_details(details);
            }
        }
        Ok(Some(reply))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use gatehouse_model::approval::{
        CallApprovalRequest, ClientSummary, ServerSummary, ShownArgument, Subject,
    };
    use gatehouse_model::grant::{AccessClass, AccessClassification, ClassReason, Condition, ConditionTest};
    use gatehouse_model::{Generation, GrantChoice, Message, OfferedChoice, OfferedCondition, Timestamp};

    use super::*;

    /// The details of an approval request for a call with this argument.
    fn details(text: &str) -> CallDetails {
        let offered = |key: &str| vec![OfferedChoice::new(&GrantChoice::once(), Message::new(key))];
        let test = ConditionTest::Equals { value: text.to_owned() };
        let condition = Condition { pointer: "/text".into(), test };
        CallDetails {
            arguments: vec![ShownArgument {
                name: "text".into(),
                text: text.to_owned(),
                masked: false,
                extra: false,
            }],
            choices: offered("rule.allow.this"),
            denials: offered("rule.deny.this"),
            conditions: vec![OfferedCondition { condition, sentence: Message::new("condition.equals") }],
        }
    }

    /// An approval request for a call with this argument.
    pub(crate) fn asked(id: &str, argument: Option<&str>, is_abridged: bool) -> PendingApproval {
        let mut call = CallApprovalRequest {
            client: ClientSummary {
                id: "c".into(),
                name: "C".into(),
                says: None,
                seen_from: None,
                session: None,
                by_user: false,
            },
            server: ServerSummary {
                id: "s".into(),
                generation: Generation(0),
                name: "S".into(),
                description: None,
                icon: String::new(),
            },
            subject: Subject::Tool { name: "t".into() },
            title: "t".into(),
            exposed_name: "t".into(),
            class: AccessClassification {
                class: AccessClass::Write,
                reason: ClassReason::Default,
                reaches_outside: false,
            },
            arguments: None,
            argument_bytes: 7,
            is_abridged,
            hash: CallHash::new(format!("hash of {id}")),
            warnings: Vec::new(),
            changes: Vec::new(),
            choices: Vec::new(),
            denials: Vec::new(),
            conditions: Vec::new(),
            client_waits_until: None,
        };
        if let Some(text) = argument {
            call.put_details(details(text));
        }
        PendingApproval {
            id: ApprovalId::new(id),
            requested_at: Timestamp(0),
            expires_at: Timestamp(9),
            request: ApprovalRequest::Call(call),
            waiting: true,
            model: None,
        }
    }

    #[test]
    fn requests_are_whole_once_none_is_abridged() {
        let mut gathered = Gathered::default();
        assert_eq!(
            gathered.add(vec![asked("a", Some("1"), false), asked("b", None, true)], false).unwrap(),
            None
        );
        let known: Vec<&ApprovalId> = gathered.0.keys().collect();
        assert_eq!(known, [&ApprovalId::new("a")]);
        let rest = vec![asked("a", None, false), asked("b", Some("2"), false)];
        let whole = vec![asked("a", Some("1"), false), asked("b", Some("2"), false)];
        assert_eq!(gathered.add(rest, false).unwrap(), Some(whole));
    }

    #[test]
    fn the_last_reply_leaves_out_what_is_not_whole() {
        let mut gathered = Gathered::default();
        gathered.add(vec![asked("a", Some("1"), false), asked("b", None, true)], false).unwrap();
        // Another large approval request took the place of the one that was being read, and a third ended.
        let next = vec![asked("d", Some("4"), false), asked("c", None, true)];
        assert_eq!(gathered.add(next, true).unwrap(), Some(vec![asked("d", Some("4"), false)]));
    }

    #[test]
    fn a_reply_that_brings_nothing_ends_the_reading() {
        let abridged = || vec![asked("a", None, true)];
        assert!(Gathered::default().add(abridged(), false).is_err());
        assert_eq!(Gathered::default().add(Vec::new(), false).unwrap(), Some(Vec::new()));
    }

    #[test]
    fn arguments_of_another_call_stand_in_for_none() {
        let mut gathered = Gathered::default();
        gathered.add(vec![asked("a", Some("1"), false), asked("b", None, true)], false).unwrap();
        let mut other = asked("a", None, false);
        let ApprovalRequest::Call(call) = &mut other.request else { panic!("no call") };
        call.hash = CallHash::new("another");
        let whole = gathered.add(vec![other.clone()], false).unwrap();
        assert_eq!(whole, Some(vec![other]));
    }
}
