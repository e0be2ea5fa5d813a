//! Questions of a server end with the call that they belong to (SRV-15, TOOL-9). These servers are real children, so
//! time is real.

use gatehouse_model::approval::{AutoApprove, ElicitationMode};
use gatehouse_model::{ApprovalAnswer, ApprovalRequest, Event, PendingApproval, SubmittedAnswer};

use crate::harness::*;
use crate::upstream::{calls, tool, with_tools};

async fn asking(does: &str) -> (ToolsHarness, tempfile::TempDir) {
    let (harness, folder) = with_tools(&format!("[{}]", tool("act", "Acts.", does))).await;
    harness.tools.permissions().set_auto_approve(&"script".into(), AutoApprove::All).await.unwrap();
    (harness, folder)
}

fn withdrawn(harness: &ToolsHarness, question: &PendingApproval) -> usize {
    harness
        .events
        .count(|event| matches!(event, Event::ApprovalWithdrawn { approval } if *approval == question.id))
}

fn is_form(question: &PendingApproval) -> bool {
    matches!(
        &question.request,
        ApprovalRequest::Elicitation(asked) if matches!(asked.want, ElicitationMode::Form { .. })
    )
}

/// Asked while the server works on the call, and asked between two rounds of a call.
#[tokio::test]
async fn question_is_withdrawn_when_its_call_is_cancelled() {
    for does in ["asks", "requires"] {
        let (harness, folder) = asking(does).await;
        let call = call("act", "{}");
        let reason = call.cancel_reason.clone();
        let running = harness.spawn_call_as(caller("Claude"), call);
        let question = harness.approval().await;
        assert!(is_form(&question), "{does}: {question:?}");
        reason.set("No longer.");
        running.cancel.cancel();
        assert!(is_error(&running.result().await));
        harness.approvals(0).await;
        assert_eq!(withdrawn(&harness, &question), 1, "{does}");
        assert_eq!(harness.events.count(|event| matches!(event, Event::ApprovalExpired { .. })), 0);
        let accept = ApprovalAnswer::Accept { content: Some("{}".to_owned()) };
        let answer = SubmittedAnswer { id: question.id, hash: None, answer: accept };
        assert!(harness.tools.approvals().answer(vec![answer], "test").await.is_err(), "{does}: too late");
        // The server is told both: that its call is cancelled, and that nobody answers its question.
        if does == "asks" {
            harness.wait_until(|_| calls(folder.path()).len() == 3).await;
            let log = calls(folder.path());
            assert!(log.contains(&"# cancelled: No longer.".to_owned()), "{log:?}");
            let answered = log.iter().find(|line| line.starts_with("# answered: ")).unwrap();
            assert!(answered.contains(r#""id":"q""#) && answered.contains(r#""error""#), "{answered}");
        }
    }
}

#[tokio::test]
async fn question_is_withdrawn_when_its_caller_is_gone() {
    let (harness, _folder) = asking("asks").await;
    let running = harness.spawn_call("act", "{}");
    let question = harness.approval().await;
    running.end.abort();
    harness.approvals(0).await;
    assert_eq!(withdrawn(&harness, &question), 1);
}

/// A call that was answered did not wait for the question, so the question is about no call.
#[tokio::test]
async fn question_outlives_a_call_that_was_answered() {
    let (harness, folder) = asking("asks-and-answers").await;
    assert!(!is_error(&harness.call("act", "{}").await));
    let question = harness.approval().await;
    let accept = ApprovalAnswer::Accept { content: Some(r#"{"name":"Ann"}"#.to_owned()) };
    let answer = SubmittedAnswer { id: question.id, hash: None, answer: accept };
    harness.tools.approvals().answer(vec![answer], "test").await.unwrap();
    harness.wait_until(|_| calls(folder.path()).len() == 2).await;
    assert!(calls(folder.path())[1].contains("Ann"));
}

/// A call that came later cannot be what the server asked for.
#[tokio::test]
async fn question_is_about_no_call_that_came_after_it() {
    let (harness, folder) = asking("asks").await;
    let first = harness.spawn_call("act", r#"{"n":1}"#);
    let question = harness.approval().await;
    let second = harness.spawn_call("act", r#"{"n":2}"#);
    // Its question has the id of the first one, so it is refused.
    harness.wait_until(|_| calls(folder.path()).len() == 3).await;
    first.cancel.cancel();
    first.result().await;
    harness.approvals(0).await;
    assert_eq!(withdrawn(&harness, &question), 1);
    second.cancel.cancel();
    second.result().await;
}
