//! Who is told what and when, as tables.

use super::*;
use NotificationEffect::{Badge, Close, TellApprovals, TellServer, TellServers};

/// Milliseconds since the start, the input, and the expected effects.
type NotificationStep = (u64, NotificationInput, Vec<NotificationEffect>);

fn words(tool: &str) -> RequestWords {
    RequestWords::Call { client: "Claude".to_owned(), tool: tool.to_owned(), server: "files".to_owned() }
}

fn waiting(id: &str) -> WaitingRequest {
    WaitingRequest { id: id.into(), words: words(id) }
}

fn requested(id: &str) -> NotificationInput {
    NotificationInput::Requested(waiting(id))
}

fn ended(id: &str) -> NotificationInput {
    NotificationInput::Ended(id.into())
}

fn looked(prompt: PromptSight) -> NotificationInput {
    NotificationInput::Looked { prompt, is_main_focused: false }
}

fn at_work() -> NotificationInput {
    NotificationInput::Looked { prompt: PromptSight::Hidden, is_main_focused: true }
}

fn tell(count: u32, latest: &str) -> NotificationEffect {
    TellApprovals { count, latest: words(latest) }
}

fn status(server: &str, status: ServerStatus) -> NotificationInput {
    NotificationInput::Status(server.into(), status)
}

fn needs_auth() -> ServerStatus {
    ServerStatus::NeedsAuth { issuer: None }
}

fn connecting() -> ServerStatus {
    ServerStatus::Connecting { attempt: 1 }
}

fn tell_server(server: &str, trouble: ServerTrouble) -> NotificationEffect {
    TellServer { server: server.into(), trouble }
}

fn play(story: &str, rows: Vec<NotificationStep>) {
    play_with(story, true, rows);
}

/// Plays a story. Nobody looks before it is time to.
fn play_with(story: &str, enabled: bool, rows: Vec<NotificationStep>) {
    let begin = Instant::now();
    let mut notifications = Notifications::new(enabled);
    for (number, (after, input, expected)) in rows.into_iter().enumerate() {
        let now = begin + Duration::from_millis(after);
        let is_look = matches!(input, NotificationInput::Looked { .. });
        let due = notifications.next_wakeup();
        assert!(
            !is_look || due.is_some_and(|at| at <= now),
            "{story}, step {number}: due {due:?} at {now:?}"
        );
        assert_eq!(notifications.transition(input, now), expected, "{story}, step {number}");
    }
}

#[test]
fn tells_a_request_that_cannot_be_seen() {
    for prompt in [PromptSight::Hidden, PromptSight::Unknown] {
        play(
            "hidden",
            vec![
                (0, requested("a"), vec![Badge(1)]),
                (1_000, looked(prompt), vec![tell(1, "a")]),
                (5_000, ended("a"), vec![Close(NotificationTag::Approvals), Badge(0)]),
            ],
        );
    }
}

#[test]
fn does_not_tell_what_is_seen_and_answered() {
    play(
        "seen",
        vec![
            (0, requested("a"), vec![Badge(1)]),
            (1_000, looked(PromptSight::Visible), vec![]),
            (4_000, ended("a"), vec![Badge(0)]),
            (20_000, looked(PromptSight::Visible), vec![]),
        ],
    );
    play(
        "answered at once",
        vec![
            (0, requested("a"), vec![Badge(1)]),
            (500, ended("a"), vec![Badge(0)]),
            (1_000, looked(PromptSight::Hidden), vec![]),
        ],
    );
    play(
        "the main window has the focus",
        vec![(0, requested("a"), vec![Badge(1)]), (1_000, at_work(), vec![])],
    );
}

#[test]
fn tells_what_stays_unanswered_once() {
    play(
        "locked screen",
        vec![
            (0, requested("a"), vec![Badge(1)]),
            (1_000, looked(PromptSight::Visible), vec![]),
            (20_000, looked(PromptSight::Visible), vec![tell(1, "a")]),
            (40_000, requested("a"), vec![]),
            (41_000, NotificationInput::Snapshot(vec![waiting("a")]), vec![]),
        ],
    );
}

#[test]
fn collapses_many_requests() {
    play(
        "a flood",
        vec![
            (0, requested("a"), vec![Badge(1)]),
            (100, requested("b"), vec![Badge(2)]),
            (1_000, looked(PromptSight::Hidden), vec![tell(2, "b")]),
            (2_000, requested("c"), vec![Badge(3)]),
            (3_000, looked(PromptSight::Hidden), vec![]),
            (4_000, requested("d"), vec![Badge(4)]),
            (5_000, looked(PromptSight::Hidden), vec![]),
            (11_000, looked(PromptSight::Hidden), vec![tell(4, "d")]),
            (12_000, ended("a"), vec![Badge(3)]),
            (13_000, NotificationInput::Snapshot(vec![]), vec![Close(NotificationTag::Approvals), Badge(0)]),
        ],
    );
}

#[test]
fn tells_a_server_once_until_its_state_changes() {
    let connected = || ServerStatus::Stopped;
    play(
        "sign-in",
        vec![
            (0, status("s", needs_auth()), vec![]),
            (1_000, looked(PromptSight::Visible), vec![tell_server("s", ServerTrouble::SignIn)]),
            (30_000, status("s", connecting()), vec![]),
            (31_000, status("s", needs_auth()), vec![]),
            (60_000, status("s", connected()), vec![Close(NotificationTag::Server("s".into()))]),
            (90_000, status("s", needs_auth()), vec![]),
            (91_000, looked(PromptSight::Visible), vec![tell_server("s", ServerTrouble::SignIn)]),
            (120_000, status("s", ServerStatus::NeedsClientRegistration { reason: "no".into() }), vec![]),
            (121_000, looked(PromptSight::Visible), vec![tell_server("s", ServerTrouble::ClientId)]),
            (
                130_000,
                NotificationInput::ServerGone("s".into()),
                vec![Close(NotificationTag::Server("s".into()))],
            ),
        ],
    );
    play(
        "in the main window",
        vec![
            (0, status("s", needs_auth()), vec![]),
            (1_000, at_work(), vec![]),
            (2_000, status("s", needs_auth()), vec![]),
        ],
    );
}

#[test]
fn tells_final_failures_only() {
    let failed = |next_retry| ServerStatus::Failed {
        error: gatehouse_model::status::FailureKind::Configuration,
        message: "gone".into(),
        attempts: 1,
        next_retry,
    };
    play(
        "failures",
        vec![
            (0, status("s", failed(Some(gatehouse_model::Timestamp(9)))), vec![]),
            (5_000, status("s", failed(None)), vec![]),
            (6_000, looked(PromptSight::Hidden), vec![tell_server("s", ServerTrouble::Failed)]),
        ],
    );
}

#[test]
fn collapses_many_servers() {
    let all = ["a", "b", "c", "d"];
    let mut rows: Vec<NotificationStep> =
        all.iter().map(|server| (0, status(server, needs_auth()), vec![])).collect();
    rows.push((1_000, looked(PromptSight::Hidden), vec![TellServers { count: 4 }]));
    rows.push((2_000, status("e", needs_auth()), vec![]));
    rows.push((3_000, looked(PromptSight::Hidden), vec![]));
    rows.push((11_000, looked(PromptSight::Hidden), vec![TellServers { count: 5 }]));
    for server in all {
        rows.push((12_000, status(server, ServerStatus::Disabled), vec![]));
    }
    rows.push((13_000, status("e", ServerStatus::Disabled), vec![Close(NotificationTag::Servers)]));
    play("many servers", rows);
}

#[test]
fn says_nothing_where_notifications_are_off() {
    play_with(
        "off",
        false,
        vec![
            (0, requested("a"), vec![Badge(1)]),
            (0, status("s", needs_auth()), vec![]),
            (1_000, looked(PromptSight::Hidden), vec![]),
            (2_000, NotificationInput::Enabled(true), vec![]),
            (3_000, requested("b"), vec![Badge(2)]),
            (4_000, looked(PromptSight::Hidden), vec![tell(2, "b")]),
            (5_000, NotificationInput::Enabled(false), vec![Close(NotificationTag::Approvals)]),
            (6_000, ended("a"), vec![Badge(1)]),
        ],
    );
}
