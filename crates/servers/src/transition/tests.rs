//! Table tests of the lifecycle: phase, input, next phase, effects.

use super::*;
use ServerEffect::{Announce, Enable, ForgetRetry, Open, Retire, RetryAfter, Settle};

const NOW: Timestamp = Timestamp(1_000_000);
const E1: Epoch = Epoch(1);
const E2: Epoch = Epoch(2);
const STALE: Epoch = Epoch(0);

/// A state in which the newest attempt is the first one.
fn at(phase: Phase) -> ServerState {
    ServerState { epoch: E1, flaps: 0, on: true, is_held: false, session_lost: None, phase }
}

fn connecting(attempt: u32) -> Phase {
    Phase::Connecting { attempt }
}

fn connected_since(since: Timestamp, missed: u32) -> Phase {
    Phase::Connected { since, protocol: "2025-11-25".to_owned(), server: ServerInfo::default(), missed }
}

fn connected() -> Phase {
    connected_since(Timestamp(0), 0)
}

fn needs_auth() -> Phase {
    Phase::NeedsAuth { issuer: Some("https://issuer".to_owned()) }
}

fn needs_registration() -> Phase {
    Phase::NeedsClientRegistration { reason: "none".into() }
}

fn failed(kind: FailureKind, attempts: u32, retry_secs: Option<u64>) -> Phase {
    Phase::Failed {
        error: kind,
        message: "why".into(),
        attempts,
        next_retry: retry_secs.map(|secs| NOW.plus(Duration::from_secs(secs))),
    }
}

fn retrying() -> Phase {
    failed(FailureKind::TemporaryNetwork, 2, Some(2))
}

fn given_up() -> Phase {
    failed(FailureKind::Configuration, 1, None)
}

fn error(kind: FailureKind) -> ConnectFailure {
    ConnectFailure::Error { kind, message: "why".into() }
}

fn all_phases() -> [Phase; 8] {
    [
        Phase::Disabled,
        Phase::Stopped,
        connecting(1),
        connected(),
        needs_auth(),
        needs_registration(),
        retrying(),
        given_up(),
    ]
}

fn run(phase: &Phase, input: ServerInput) -> (ServerState, Vec<ServerEffect>) {
    transition(at(phase.clone()), input, TransitionContext { now: NOW, jitter: Jitter::NONE })
}

#[track_caller]
fn check(phase: &Phase, input: &ServerInput, expected: &ServerState, effects: &[ServerEffect]) {
    let (state, did) = run(phase, input.clone());
    assert_eq!(&state, expected, "{phase:?} + {input:?}");
    assert_eq!(did, effects, "{phase:?} + {input:?}");
}

/// The state after the user stopped the server.
fn held() -> ServerState {
    ServerState { is_held: true, ..at(Phase::Stopped) }
}

/// Asserts that the input has no effect.
#[track_caller]
fn ignored(phase: &Phase, input: &ServerInput) {
    check(phase, input, &at(phase.clone()), &[]);
}

fn opened(attempt: u32) -> ServerState {
    ServerState {
        epoch: E2,
        flaps: 0,
        on: true,
        is_held: false,
        session_lost: None,
        phase: connecting(attempt),
    }
}

fn secs(secs: u64) -> ServerEffect {
    RetryAfter(Duration::from_secs(secs))
}

#[test]
fn starts_from_every_phase() {
    let user = StatusCause::User;
    let input = ServerInput::Start { cause: user.clone() };
    let begin = || vec![Announce(StatusCause::User), Open(E2)];
    check(&Phase::Disabled, &input, &opened(1), &[vec![Enable], begin()].concat());
    for phase in [Phase::Stopped, needs_auth(), needs_registration(), given_up()] {
        check(&phase, &input, &opened(1), &begin());
    }
    check(&retrying(), &input, &opened(1), &[vec![ForgetRetry], begin()].concat());
    ignored(&connecting(3), &input);
    ignored(&connected(), &input);
    let launch = ServerInput::Start { cause: StatusCause::Launch };
    check(&Phase::Stopped, &launch, &opened(1), &[Announce(StatusCause::Launch), Open(E2)]);
}

#[test]
fn stops_from_every_phase() {
    let rest = || vec![Announce(StatusCause::User), Settle];
    for phase in [connecting(1), connected()] {
        check(&phase, &ServerInput::Stop, &held(), &[vec![Retire(E1)], rest()].concat());
    }
    for phase in [needs_auth(), needs_registration(), given_up()] {
        check(&phase, &ServerInput::Stop, &held(), &rest());
    }
    check(&retrying(), &ServerInput::Stop, &held(), &[vec![ForgetRetry], rest()].concat());
    check(&Phase::Stopped, &ServerInput::Stop, &held(), &[]);
    ignored(&Phase::Disabled, &ServerInput::Stop);
}

/// A server that the user stopped stays stopped until it is started explicitly.
#[test]
fn stays_stopped_until_started() {
    let context = || TransitionContext { now: NOW, jitter: Jitter::NONE };
    let after = |input| transition(held(), input, context());
    assert_eq!(after(ServerInput::Wanted), (held(), vec![Settle]));
    assert_eq!(after(ServerInput::Switched { on: true, start: true }), (held(), vec![]));
    assert_eq!(after(ServerInput::Edited(ConfigEdit::ConnectionChanged)), (held(), vec![]));
    let begin = || vec![Announce(StatusCause::User), Open(E2)];
    assert_eq!(after(ServerInput::Start { cause: StatusCause::User }), (opened(1), begin()));
    assert_eq!(after(ServerInput::Reconnect), (opened(1), begin()));
    let (off, _) = after(ServerInput::Edited(ConfigEdit::SwitchedOff));
    assert_eq!(off, at(Phase::Disabled));
}

#[test]
fn reconnects_from_every_phase() {
    let begin = || vec![Announce(StatusCause::User), Open(E2)];
    for phase in [connecting(2), connected()] {
        check(&phase, &ServerInput::Reconnect, &opened(1), &[vec![Retire(E1)], begin()].concat());
    }
    for phase in [Phase::Stopped, needs_auth(), needs_registration(), given_up()] {
        check(&phase, &ServerInput::Reconnect, &opened(1), &begin());
    }
    check(&retrying(), &ServerInput::Reconnect, &opened(1), &[vec![ForgetRetry], begin()].concat());
    ignored(&Phase::Disabled, &ServerInput::Reconnect);
}

#[test]
fn applies_edits() {
    for phase in all_phases() {
        ignored(&phase, &ServerInput::Edited(ConfigEdit::Cosmetic));
    }
    let another = ServerInput::Edited(ConfigEdit::ConnectionChanged);
    let begin = || vec![Announce(StatusCause::Edited), Open(E2)];
    for phase in [connecting(2), connected()] {
        check(&phase, &another, &opened(1), &[vec![Retire(E1)], begin()].concat());
    }
    for phase in [needs_auth(), needs_registration(), given_up()] {
        check(&phase, &another, &opened(1), &begin());
    }
    check(&retrying(), &another, &opened(1), &[vec![ForgetRetry], begin()].concat());
    ignored(&Phase::Stopped, &another);
    ignored(&Phase::Disabled, &another);

    let off = ServerInput::Edited(ConfigEdit::SwitchedOff);
    let rest = || vec![Announce(StatusCause::Edited), Settle];
    for phase in [connecting(2), connected()] {
        check(&phase, &off, &at(Phase::Disabled), &[vec![Retire(E1)], rest()].concat());
    }
    for phase in [Phase::Stopped, needs_auth(), needs_registration(), given_up()] {
        check(&phase, &off, &at(Phase::Disabled), &rest());
    }
    check(&retrying(), &off, &at(Phase::Disabled), &[vec![ForgetRetry], rest()].concat());
    ignored(&Phase::Disabled, &off);

    check(
        &Phase::Disabled,
        &ServerInput::Edited(ConfigEdit::SwitchedOn { start: true }),
        &opened(1),
        &begin(),
    );
    check(
        &Phase::Disabled,
        &ServerInput::Edited(ConfigEdit::SwitchedOn { start: false }),
        &at(Phase::Stopped),
        &rest(),
    );
    for phase in all_phases().into_iter().filter(|phase| *phase != Phase::Disabled) {
        ignored(&phase, &ServerInput::Edited(ConfigEdit::SwitchedOn { start: true }));
    }
}

#[test]
fn call_starts_single_attempt() {
    let call = || Announce(StatusCause::Call);
    check(&Phase::Stopped, &ServerInput::Wanted, &opened(1), &[call(), Open(E2)]);
    check(&retrying(), &ServerInput::Wanted, &opened(3), &[ForgetRetry, call(), Open(E2)]);
    check(&given_up(), &ServerInput::Wanted, &opened(2), &[call(), Open(E2)]);
    ignored(&connecting(1), &ServerInput::Wanted);
    for phase in [Phase::Disabled, connected(), needs_auth(), needs_registration()] {
        check(&phase, &ServerInput::Wanted, &at(phase.clone()), &[Settle]);
    }
    let exhausted = failed(FailureKind::TemporaryNetwork, 6, None);
    check(&exhausted, &ServerInput::Wanted, &opened(7), &[call(), Open(E2)]);
    let again = ServerInput::AttemptFailed { epoch: E1, failure: error(FailureKind::TemporaryNetwork) };
    check(
        &connecting(7),
        &again,
        &at(failed(FailureKind::TemporaryNetwork, 7, None)),
        &[Retire(E1), Announce(StatusCause::AttemptFailed), Settle],
    );
}

#[test]
fn retries_only_when_scheduled() {
    check(
        &retrying(),
        &ServerInput::RetryDue,
        &opened(3),
        &[ForgetRetry, Announce(StatusCause::Retry), Open(E2)],
    );
    for phase in all_phases().into_iter().filter(|phase| *phase != retrying()) {
        ignored(&phase, &ServerInput::RetryDue);
    }
}

#[test]
fn becomes_connected_only_from_current_attempt() {
    let ready = |epoch| ServerInput::Ready {
        epoch,
        protocol: "2025-11-25".to_owned(),
        server: ServerInfo::default(),
    };
    check(
        &connecting(4),
        &ready(E1),
        &at(connected_since(NOW, 0)),
        &[Announce(StatusCause::Handshake), Settle],
    );
    ignored(&connecting(4), &ready(STALE));
    for phase in all_phases().into_iter().filter(|phase| *phase != connecting(1)) {
        ignored(&phase, &ready(E1));
    }
}

#[test]
fn classifies_failed_attempts() {
    use FailureKind::{Authorization, Configuration, PermanentNetwork, Protocol, TemporaryNetwork, Unknown};
    let fails = |kind| ServerInput::AttemptFailed { epoch: E1, failure: error(kind) };
    let gives_up = [Retire(E1), Announce(StatusCause::AttemptFailed), Settle];
    for kind in [PermanentNetwork, Configuration, Protocol] {
        check(&connecting(1), &fails(kind), &at(failed(kind, 1, None)), &gives_up);
    }
    for kind in [TemporaryNetwork, Unknown] {
        for (attempt, wait) in [(1, 1), (2, 2), (3, 4), (4, 8), (5, 16)] {
            check(
                &connecting(attempt),
                &fails(kind),
                &at(failed(kind, attempt, Some(wait))),
                &[Retire(E1), Announce(StatusCause::AttemptFailed), secs(wait), Settle],
            );
        }
        check(&connecting(6), &fails(kind), &at(failed(kind, 6, None)), &gives_up);
    }
    let challenged = [Retire(E1), Announce(StatusCause::Challenge), Settle];
    check(&connecting(1), &fails(Authorization), &at(Phase::NeedsAuth { issuer: None }), &challenged);
    let table = [
        (ConnectFailure::NeedsAuth { issuer: Some("https://issuer".to_owned()) }, needs_auth()),
        (ConnectFailure::NeedsClientRegistration { reason: "none".into() }, needs_registration()),
    ];
    for (failure, phase) in table {
        check(&connecting(2), &ServerInput::AttemptFailed { epoch: E1, failure }, &at(phase), &challenged);
    }
    ignored(&connecting(1), &ServerInput::AttemptFailed { epoch: STALE, failure: error(Protocol) });
    for phase in all_phases().into_iter().filter(|phase| *phase != connecting(1)) {
        ignored(&phase, &fails(TemporaryNetwork));
    }
}

#[test]
fn reconnects_after_unexpected_close() {
    let closed = |epoch, kind| ServerInput::Closed { epoch, kind, reason: "why".into() };
    let cause = || Announce(StatusCause::UnexpectedClose { reason: "why".into() });
    check(
        &connected(),
        &closed(E1, FailureKind::TemporaryNetwork),
        &at(failed(FailureKind::TemporaryNetwork, 1, Some(1))),
        &[Retire(E1), cause(), secs(1), Settle],
    );
    check(
        &connected(),
        &closed(E1, FailureKind::Protocol),
        &at(failed(FailureKind::Protocol, 1, None)),
        &[Retire(E1), cause(), Settle],
    );
    ignored(&connected(), &closed(STALE, FailureKind::TemporaryNetwork));
    for phase in all_phases().into_iter().filter(|phase| *phase != connected()) {
        ignored(&phase, &closed(E1, FailureKind::TemporaryNetwork));
    }
}

#[test]
fn flapping_server_backs_off() {
    let mut state = at(connected_since(NOW, 0));
    for wait in [1, 2, 4, 8, 16, 30, 30] {
        state.phase = connected_since(NOW, 0);
        let end =
            ServerInput::Closed { epoch: E1, kind: FailureKind::TemporaryNetwork, reason: "why".into() };
        let (next, effects) = transition(state, end, TransitionContext { now: NOW, jitter: Jitter::NONE });
        assert!(effects.contains(&secs(wait)), "{effects:?}");
        state = next;
    }
    state.phase = connected();
    let end = ServerInput::Closed { epoch: E1, kind: FailureKind::TemporaryNetwork, reason: "why".into() };
    let (state, effects) = transition(state, end, TransitionContext { now: NOW, jitter: Jitter::NONE });
    assert!(effects.contains(&secs(1)), "a longer life makes good: {effects:?}");
    assert_eq!(state.flaps, 0);
}

#[test]
fn gives_up_after_missed_health_checks() {
    let health = |epoch, health| ServerInput::HealthReport { epoch, health };
    let missed = HealthReport::Missed { allowed: 3 };
    check(&connected_since(Timestamp(0), 2), &health(E1, HealthReport::Answered), &at(connected()), &[]);
    ignored(&connected_since(Timestamp(0), 2), &health(E1, HealthReport::Busy));
    check(&connected(), &health(E1, missed), &at(connected_since(Timestamp(0), 1)), &[]);
    let (state, effects) = run(&connected_since(Timestamp(0), 2), health(E1, missed));
    assert_eq!(effects, [Retire(E1), Announce(StatusCause::Unresponsive), secs(1), Settle]);
    assert_eq!(
        state.status(),
        ServerStatus::Failed {
            error: FailureKind::TemporaryNetwork,
            message: gatehouse_model::message!("error.servers.healthChecks", count = 3_u32).into(),
            attempts: 1,
            next_retry: Some(NOW.plus(Duration::from_secs(1))),
        }
    );
    ignored(&connected_since(Timestamp(0), 2), &health(STALE, missed));
    for phase in all_phases().into_iter().filter(|phase| *phase != connected()) {
        ignored(&phase, &health(E1, missed));
    }
}

#[test]
fn challenge_leads_to_sign_in() {
    let challenge = |epoch| ServerInput::Challenged { epoch, issuer: Some("https://issuer".to_owned()) };
    check(
        &connected(),
        &challenge(E1),
        &at(needs_auth()),
        &[Retire(E1), Announce(StatusCause::Challenge), Settle],
    );
    ignored(&connected(), &challenge(STALE));
    for phase in all_phases().into_iter().filter(|phase| *phase != connected()) {
        ignored(&phase, &challenge(E1));
    }
}

#[test]
fn shuts_down_from_every_phase() {
    let rest = || vec![Announce(StatusCause::Shutdown), Settle];
    for phase in [connecting(1), connected()] {
        check(&phase, &ServerInput::Shutdown, &at(Phase::Stopped), &[vec![Retire(E1)], rest()].concat());
    }
    for phase in [needs_auth(), needs_registration(), given_up()] {
        check(&phase, &ServerInput::Shutdown, &at(Phase::Stopped), &rest());
    }
    check(&retrying(), &ServerInput::Shutdown, &at(Phase::Stopped), &[vec![ForgetRetry], rest()].concat());
    for phase in [Phase::Disabled, Phase::Stopped] {
        check(&phase, &ServerInput::Shutdown, &at(phase.clone()), &[Settle]);
    }
}

/// For any sequence of inputs: no epoch is opened twice, what is left is retired first, and no call
/// waits for an attempt that is never settled.
#[test]
fn random_inputs_keep_invariants() {
    let inputs = |epoch: Epoch| {
        [
            ServerInput::Start { cause: StatusCause::User },
            ServerInput::Stop,
            ServerInput::Reconnect,
            ServerInput::Edited(ConfigEdit::ConnectionChanged),
            ServerInput::Edited(ConfigEdit::SwitchedOff),
            ServerInput::Edited(ConfigEdit::SwitchedOn { start: true }),
            ServerInput::Wanted,
            ServerInput::RetryDue,
            ServerInput::Ready { epoch, protocol: String::new(), server: ServerInfo::default() },
            ServerInput::AttemptFailed { epoch, failure: error(FailureKind::Unknown) },
            ServerInput::Closed { epoch, kind: FailureKind::TemporaryNetwork, reason: "".into() },
            ServerInput::HealthReport { epoch, health: HealthReport::Missed { allowed: 1 } },
            ServerInput::Challenged { epoch, issuer: None },
        ]
    };
    let mut dice: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut roll = |sides: usize| {
        dice ^= dice << 13;
        dice ^= dice >> 7;
        dice ^= dice << 17;
        usize::try_from(dice % u64::try_from(sides).unwrap()).unwrap()
    };
    let mut state = ServerState::new(true);
    let mut open: Option<Epoch> = None;
    let mut last = Epoch(0);
    for _ in 0..200_000 {
        let epoch = Epoch(state.epoch.0.saturating_sub(u64::try_from(roll(3)).unwrap() / 2));
        let input = inputs(epoch)[roll(13)].clone();
        let (next, effects) =
            transition(state, input.clone(), TransitionContext { now: NOW, jitter: Jitter::NONE });
        for effect in &effects {
            match effect {
                Open(epoch) => {
                    assert!(open.is_none(), "{open:?} is still open at {epoch:?}");
                    assert!(*epoch > last);
                    (open, last) = (Some(*epoch), *epoch);
                }
                Retire(epoch) => assert_eq!(open.take(), Some(*epoch)),
                Enable | ForgetRetry | Announce(_) | RetryAfter(_) | Settle => {}
            }
        }
        let busy = matches!(next.phase, Phase::Connecting { .. } | Phase::Connected { .. });
        assert_eq!(open.is_some(), busy, "{input:?}");
        let waits = matches!(next.phase, Phase::Connecting { .. });
        if input == ServerInput::Wanted {
            assert!(waits || effects.contains(&Settle));
        }
        state = next;
    }
}

#[test]
fn disabled_mcp_starts_nothing() {
    let off = ServerInput::Switched { on: false, start: true };
    let resting = |phase| ServerState { on: false, ..at(phase) };
    let rest = || vec![Announce(StatusCause::User), Settle];
    for phase in [connecting(1), connected()] {
        check(&phase, &off, &resting(Phase::Stopped), &[vec![Retire(E1)], rest()].concat());
    }
    for phase in [needs_auth(), needs_registration(), given_up()] {
        check(&phase, &off, &resting(Phase::Stopped), &rest());
    }
    check(&retrying(), &off, &resting(Phase::Stopped), &[vec![ForgetRetry], rest()].concat());
    check(&Phase::Stopped, &off, &resting(Phase::Stopped), &[Settle]);
    check(&Phase::Disabled, &off, &resting(Phase::Disabled), &[]);

    let context = || TransitionContext { now: NOW, jitter: Jitter::NONE };
    for input in [
        ServerInput::Start { cause: StatusCause::Launch },
        ServerInput::Start { cause: StatusCause::User },
        ServerInput::Reconnect,
        ServerInput::Edited(ConfigEdit::ConnectionChanged),
        ServerInput::Edited(ConfigEdit::SwitchedOn { start: true }),
        ServerInput::Wanted,
        ServerInput::RetryDue,
    ] {
        for phase in [Phase::Stopped, Phase::Disabled] {
            let (state, did) = transition(resting(phase.clone()), input.clone(), context());
            assert!(!did.iter().any(|effect| matches!(effect, Open(_))), "{phase:?} + {input:?}");
            assert!(matches!(state.phase, Phase::Stopped | Phase::Disabled), "{phase:?} + {input:?}");
            assert!(!state.on);
        }
    }
    let (_, did) = transition(resting(Phase::Stopped), ServerInput::Wanted, context());
    assert_eq!(did, [Settle], "a call is told at once");
}

#[test]
fn enabling_mcp_starts_autostart_servers() {
    let from = |phase| ServerState { on: false, ..at(phase) };
    let switch = |phase, start| {
        let context = TransitionContext { now: NOW, jitter: Jitter::NONE };
        transition(from(phase), ServerInput::Switched { on: true, start }, context)
    };
    assert_eq!(switch(Phase::Stopped, true), (opened(1), vec![Announce(StatusCause::User), Open(E2)]));
    assert_eq!(switch(Phase::Stopped, false), (at(Phase::Stopped), vec![]));
    assert_eq!(switch(Phase::Disabled, false), (at(Phase::Disabled), vec![]));
    ignored(&connected(), &ServerInput::Switched { on: true, start: true });
}
