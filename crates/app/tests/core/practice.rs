//! The practice request (UI-11): a real approval request, which runs its tool only if the user allows it.

use crate::common::{TestHome, run, wait_until, wait_until_state};
use gatehouse_model::approval::{ApprovalAnswer, Warning};
use gatehouse_model::command::*;
use gatehouse_model::{ApprovalRequest, ErrorCode, GrantChoice, SubmittedAnswer};

#[tokio::test]
async fn practice_asks_and_runs_only_when_allowed() {
    let home = TestHome::new();
    let core = home.start().await;
    wait_until_state(&core, "Time", "connected").await;
    for (answer, is_allowed) in [
        (ApprovalAnswer::Allow { choice: GrantChoice::once() }, true),
        (ApprovalAnswer::Deny { choice: GrantChoice::once(), reason: None }, false),
    ] {
        let answered = wait_until(&core, "the practice request", async || {
            let first = run(&core, ApprovalsList { known: Vec::new() }).await.unwrap().into_iter().next()?;
            let ApprovalRequest::Call(call) = &first.request else { return None };
            // Whoever reads for minutes is not told that it was too long.
            let waits = call.client_waits_until.unwrap().0 - first.requested_at.0;
            assert!(waits >= 5 * 60_000, "{waits} ms");
            assert!(!call.warnings.contains(&Warning::UnknownProgram), "{:?}", call.warnings);
            let (id, hash) = (first.id.clone(), Some(call.hash.clone()));
            let answers = vec![SubmittedAnswer { id, hash, answer: answer.clone() }];
            run(&core, ApprovalsAnswer { answers }).await.unwrap();
            Some(())
        });
        let (result, ()) = tokio::join!(run(&core, ApprovalsPractice {}), answered);
        assert_eq!(result.unwrap().is_allowed, is_allowed, "{answer:?}");
    }
    let rules = run(&core, PolicyShow {}).await.unwrap().rules;
    assert!(rules.is_empty(), "nothing is left of the practice: {rules:?}");

    run(&core, Pause {}).await.unwrap();
    assert_eq!(run(&core, ApprovalsPractice {}).await.unwrap_err().code, ErrorCode::Paused);
    run(&core, Resume {}).await.unwrap();
    run(&core, ServersRemove { server: "Time".into(), undoable: false }).await.unwrap();
    let refused = run(&core, ApprovalsPractice {}).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::ServerUnavailable, "{refused}");
    core.shutdown().await;
}
