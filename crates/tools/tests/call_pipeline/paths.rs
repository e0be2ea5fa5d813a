//! Paths in arguments on a file system that hangs (PERM-5). The runtime of each test has one thread, so a lookup that
//! blocked it would stop everything. Time is real: paused time stands still while a thread looks something up.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::approval::{ChoiceLifetime, ChoiceScope};
use gatehouse_model::command::Authority;
use gatehouse_model::grant::{Condition, ConditionTest};
use gatehouse_model::server::Builtin;
use gatehouse_model::{ApprovalAnswer, ErrorCode, GrantChoice, PendingApproval};
use gatehouse_tools::{PathResolver, RealPath, RuleSpec, SystemPaths};
use parking_lot::{Condvar, Mutex};
use serde_json::json;

use crate::harness::*;

/// How long something hangs that nobody lets go. A bound, not a timing.
const LONGEST: Duration = Duration::from_secs(60);

/// The disk, on which everything in the folder `hung` can hang.
pub struct Disk {
    root: PathBuf,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    hangs: bool,
    hanging: usize,
    /// How many paths were looked up.
    seen: usize,
}

impl PathResolver for Disk {
    fn resolve(&self, path: &str) -> Option<RealPath> {
        let mut state = self.state.lock();
        state.seen += 1;
        if Path::new(path).starts_with(self.root.join("hung")) && state.hangs {
            state.hanging += 1;
            self.changed.wait_while_for(&mut state, |state| state.hangs, LONGEST);
            state.hanging -= 1;
        }
        drop(state);
        SystemPaths.resolve(path)
    }
}

/// A folder with `fine` and `hung` in it. It lets go when it is dropped, or the runtime would wait for its threads.
pub struct Ground {
    disk: Arc<Disk>,
    _dir: tempfile::TempDir,
}

impl Drop for Ground {
    fn drop(&mut self) {
        self.set_hangs(false);
    }
}

impl Ground {
    pub fn root(&self) -> &str {
        self.disk.root.to_str().unwrap()
    }

    pub fn set_hangs(&self, hangs: bool) {
        self.disk.state.lock().hangs = hangs;
        self.disk.changed.notify_all();
    }

    fn hanging(&self) -> usize {
        self.disk.state.lock().hanging
    }

    fn seen(&self) -> usize {
        self.disk.state.lock().seen
    }

    /// The arguments of a note whose text is a path here.
    pub fn note(&self, path: &str) -> String {
        json!({ "text": self.disk.root.join(path) }).to_string()
    }
}

pub async fn harness_on_slow_disk() -> (Ground, ToolsHarness) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    for folder in ["fine", "hung"] {
        std::fs::create_dir(root.join(folder)).unwrap();
    }
    let disk = Arc::new(Disk { root, state: Mutex::default(), changed: Condvar::new() });
    let harness = ToolsHarness::with_paths(disk.clone()).await;
    harness.start_notes_server().await;
    (Ground { disk, _dir: dir }, harness)
}

/// A rule for every client about a tool of notes, for paths in this folder.
pub fn inside(tool: &str, folder: impl Into<String>) -> RuleSpec {
    let test = ConditionTest::Inside { folder: folder.into() };
    let conditions = vec![Condition { pointer: "/text".to_owned(), test }];
    let order = always(tool);
    RuleSpec { choice: GrantChoice { conditions, ..order.choice.clone() }, ..order }
}

fn always(tool: &str) -> RuleSpec {
    RuleSpec {
        server: Some("notes".into()),
        tool: Some(tool.to_owned()),
        client: None,
        choice: GrantChoice { every_client: true, ..choice(ChoiceLifetime::Always, ChoiceScope::Tool) },
    }
}

/// Whether any condition that an approval request proposes is for a folder.
fn offers_folder_condition(approval: &PendingApproval) -> bool {
    call_approval(approval)
        .conditions
        .iter()
        .any(|one| matches!(one.condition.test, ConditionTest::Inside { .. }))
}

/// Lets go, and calls until such a call passes unasked: lookups end in threads of their own.
async fn passes_again(ground: &Ground, harness: &ToolsHarness, path: &str) {
    ground.set_hangs(false);
    harness.wait_until(|_| ground.hanging() == 0).await;
    for _ in 0..1000 {
        if harness.is_allowed("add_note", &ground.note(path)).await {
            return;
        }
    }
    panic!("{path} asks for ever");
}

#[tokio::test]
async fn hanging_path_asks_and_does_not_block_other_calls() {
    let (ground, harness) = harness_on_slow_disk().await;
    let rights = harness.tools.permissions();
    rights.grant(inside("add_note", ground.root())).await.unwrap();
    rights.grant(always("list_notes")).await.unwrap();
    for path in ["fine/a", "hung/a"] {
        assert!(harness.is_allowed("add_note", &ground.note(path)).await, "{path}");
    }

    ground.set_hangs(true);
    for answer in [deny_once(None), once()] {
        let running = harness.spawn_call("add_note", &ground.note("hung/a"));
        harness.wait_until(|_| ground.hanging() > 0).await;
        assert!(!is_error(&harness.call("list_notes", "{}").await));
        assert!(!is_error(&harness.call("add_note", &ground.note("fine/b")).await));
        let approval = harness.approval().await;
        assert!(!offers_folder_condition(&approval), "{approval:?}");
        let is_no = matches!(answer, ApprovalAnswer::Deny { .. });
        // What is allowed is judged once more before it is sent.
        harness.answer(&approval, answer).await.unwrap();
        assert_eq!(is_error(&running.result().await), is_no);
    }
    harness.wait_until(|_| ground.hanging() > 1).await;
    assert_eq!(ground.hanging(), 2, "one for verdicts and one for choices, however often it is called");

    passes_again(&ground, &harness, "hung/b").await;
    assert!(harness.tools.approvals().pending().is_empty());
}

#[tokio::test]
async fn offers_folder_condition_for_known_path() {
    let (ground, harness) = harness_on_slow_disk().await;
    let running = harness.spawn_call("add_note", &ground.note("hung/a"));
    let approval = harness.approval().await;
    assert!(offers_folder_condition(&approval));
    harness.answer(&approval, deny_once(None)).await.unwrap();
    running.result().await;
}

#[tokio::test]
async fn more_hanging_paths_than_threads_ask_and_release_their_threads() {
    let (ground, harness) = harness_on_slow_disk().await;
    let rights = harness.tools.permissions();
    rights.grant(inside("add_note", ground.root())).await.unwrap();
    rights.grant(always("list_notes")).await.unwrap();
    ground.set_hangs(true);
    let running: Vec<SpawnedCall> =
        (0..40).map(|index| harness.spawn_call("add_note", &ground.note(&format!("hung/{index}")))).collect();
    let approvals = harness.approvals(40).await;
    assert!(harness.is_allowed("list_notes", "{}").await);
    assert!(
        !harness.is_allowed("add_note", &ground.note("fine/a")).await,
        "there is no thread to look it up"
    );
    assert!(ground.hanging() <= 16, "{} threads hang", ground.hanging());
    for approval in &approvals {
        harness.answer(approval, deny_once(None)).await.unwrap();
    }
    for running in running {
        assert!(is_error(&running.result().await));
    }
    for path in ["fine/a", "hung/0", "hung/39"] {
        passes_again(&ground, &harness, path).await;
    }
}

#[tokio::test]
async fn folder_block_covers_hanging_path() {
    let (ground, harness) = harness_on_slow_disk().await;
    let rights = harness.tools.permissions();
    rights.grant(always("add_note")).await.unwrap();
    let fine = format!("{}/fine", ground.root());
    rights.deny(inside("add_note", fine), None, Authority::Operator).await.unwrap();
    assert!(is_error(&harness.call("add_note", &ground.note("fine/a")).await));
    assert!(!is_error(&harness.call("add_note", &ground.note("hung/a")).await));
    ground.set_hangs(true);
    let end = harness.call("add_note", &ground.note("hung/a")).await;
    assert!(is_error(&end) && text(&end).contains("blocked"), "{end}");
    // The folder of a rule can hang as well.
    rights.grant(always("search_notes")).await.unwrap();
    let hung = format!("{}/hung", ground.root());
    rights.deny(inside("search_notes", hung), None, Authority::Operator).await.unwrap();
    let end = harness.call("search_notes", &ground.note("fine/a")).await;
    assert!(is_error(&end) && text(&end).contains("blocked"), "{end}");
}

/// Calls that wait are judged again when a rule comes, and the queue is not locked meanwhile.
#[tokio::test]
async fn new_rule_with_hanging_path_reevaluates_waiting_calls() {
    let (ground, harness) = harness_on_slow_disk().await;
    let running: Vec<SpawnedCall> =
        (0..3).map(|index| harness.spawn_call("add_note", &ground.note(&format!("hung/{index}")))).collect();
    harness.approvals(3).await;
    ground.set_hangs(true);
    let hung = format!("{}/hung", ground.root());
    harness.tools.permissions().deny(inside("add_note", hung), None, Authority::Operator).await.unwrap();
    harness.wait_until(|_| ground.hanging() > 0).await;
    // With one thread this would never return if they were locked.
    assert!(harness.tools.approvals().pending().len() <= 3);
    for running in running {
        let end = running.result().await;
        assert!(is_error(&end) && text(&end).contains("blocked"), "{end}");
    }
    assert!(harness.tools.approvals().pending().is_empty());
}

#[tokio::test]
async fn rejects_condition_with_hanging_path_and_keeps_request_pending() {
    let (ground, harness) = harness_on_slow_disk().await;
    ground.set_hangs(true);
    let running = harness.spawn_call("add_note", &ground.note("hung/a"));
    let approval = harness.approval().await;
    let choice = GrantChoice { every_client: false, ..inside("add_note", ground.root()).choice };
    let answer = ApprovalAnswer::Allow { choice };
    let refused = harness.answer(&approval, answer.clone()).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::BadRequest, "{refused}");
    assert_eq!(harness.approval().await.id, approval.id);
    assert!(harness.tools.permissions().view().rules.is_empty());

    ground.set_hangs(false);
    harness.wait_until(|_| ground.hanging() == 0).await;
    eventually(|| async { harness.answer(&approval, answer.clone()).await.ok() }).await;
    assert!(!is_error(&running.result().await));
    assert!(harness.is_allowed("add_note", &ground.note("fine/a")).await);
}

#[tokio::test]
async fn looks_up_no_paths_without_path_rules() {
    let (ground, harness) = harness_on_slow_disk().await;
    harness.start_server(builtin("time", Builtin::Time)).await;
    let rights = harness.tools.permissions();
    rights.grant(always("add_note")).await.unwrap();
    // About another tool, and about another server.
    rights.grant(inside("search_notes", ground.root())).await.unwrap();
    let elsewhere = inside("current_time", ground.root());
    rights.grant(RuleSpec { server: Some("time".into()), ..elsewhere }).await.unwrap();
    assert!(harness.is_allowed("add_note", &ground.note("hung/a")).await);
    assert_eq!(ground.seen(), 0);
}
