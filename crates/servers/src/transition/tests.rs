//! Table tests of the lifecycle: phase, input, next phase, effects.

use super::*;
use Effect::{Announce, Enable, ForgetRetry, Open, Retire, RetryAfter, Settle};

const NOW: Timestamp = Timestamp(1_000_000);
const E1: Epoch = Epoch(1);
const E2: Epoch = Epoch(2);
const STALE: Epoch = Epoch(0);

/// A state in which the newest attempt is the first one.
fn at(phase: Phase) -> State {
    State { epoch: E1, flaps: 0, on: true, held: false, session_lost: None, phase }
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
    Phase::NeedsClientRegistration { reason: "none".to_owned() }
}

fn failed(kind: FailureKind, attempts: u32, retry_secs: Option<u64>) -> Phase {
    Phase::Failed {
        error: kind,
        message: "why".to_owned(),
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

fn error(kind: FailureKind) -> Failure {
    Failure::Error { kind, message: "why".to_owned() }
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

fn run(phase: &Phase, input: Input) -> (State, Vec<Effect>) {
    transition(at(phase.clone()), input, Moment { now: NOW, jitter: Jitter::NONE })
}

#[track_caller]
fn check(phase: &Phase, input: &Input, expected: &State, effects: &[Effect]) {
    let (state, did) = run(phase, input.clone());
    assert_eq!(&state, expected, "{phase:?} + {input:?}");
    assert_eq!(did, effects, "{phase:?} + {input:?}");
}

/// The state after the user stopped the server.
fn held() -> State {
    State { held: true, ..at(Phase::Stopped) }
}

/// Asserts that the input has no effect.
#[track_caller]
fn ignored(phase: &Phase, input: &Input) {
    check(phase, input, &at(phase.clone()), &[]);
}

fn opened(attempt: u32) -> State {
    State { epoch: E2, flaps: 0, on: true, held: false, session_lost: None, phase: connecting(attempt) }
}

fn secs(secs: u64) -> Effect {
    RetryAfter(Duration::from_secs(secs))
}

#[test]
fn start() {
    let user = StatusCause::User;
    let input = Input::Start { cause: user.clone() };
    let begin = || vec![Announce(StatusCause::User), Open(E2)];
    check(&Phase::Disabled, &input, &opened(1), &[vec![Enable], begin()].concat());
    for phase in [Phase::Stopped, needs_auth(), needs_registration(), given_up()] {
        check(&phase, &input, &opened(1), &begin());
    }
    check(&retrying(), &input, &opened(1), &[vec![ForgetRetry], begin()].concat());
    ignored(&connecting(3), &input);
    ignored(&connected(), &input);
    let launch = Input::Start { cause: StatusCause::Launch };
    check(&Phase::Stopped, &launch, &opened(1), &[Announce(StatusCause::Launch), Open(E2)]);
}

#[test]
fn stop() {
    let rest = || vec![Announce(StatusCause::User), Settle];
    for phase in [connecting(1), connected()] {
        check(&phase, &Input::Stop, &held(), &[vec![Retire(E1)], rest()].concat());
    }
    for phase in [needs_auth(), needs_registration(), given_up()] {
        check(&phase, &Input::Stop, &held(), &rest());
    }
    check(&retrying(), &Input::Stop, &held(), &[vec![ForgetRetry], rest()].concat());
    check(&Phase::Stopped, &Input::Stop, &held(), &[]);
    ignored(&Phase::Disabled, &Input::Stop);
}

/// A server that the user stopped stays stopped until it is started explicitly.
#[test]
fn stopped_by_somebody() {
    let moment = || Moment { now: NOW, jitter: Jitter::NONE };
    let after = |input| transition(held(), input, moment());
    assert_eq!(after(Input::Wanted), (held(), vec![Settle]));
    assert_eq!(after(Input::Switched { on: true, start: true }), (held(), vec![]));
    assert_eq!(after(Input::Edited(Edit::Another)), (held(), vec![]));
    let begin = || vec![Announce(StatusCause::User), Open(E2)];
    assert_eq!(after(Input::Start { cause: StatusCause::User }), (opened(1), begin()));
    assert_eq!(after(Input::Reconnect), (opened(1), begin()));
    let (off, _) = after(Input::Edited(Edit::SwitchedOff));
    assert_eq!(off, at(Phase::Disabled));
}

#[test]
fn reconnect() {
    let begin = || vec![Announce(StatusCause::User), Open(E2)];
    for phase in [connecting(2), connected()] {
        check(&phase, &Input::Reconnect, &opened(1), &[vec![Retire(E1)], begin()].concat());
    }
    for phase in [Phase::Stopped, needs_auth(), needs_registration(), given_up()] {
        check(&phase, &Input::Reconnect, &opened(1), &begin());
    }
    check(&retrying(), &Input::Reconnect, &opened(1), &[vec![ForgetRetry], begin()].concat());
    ignored(&Phase::Disabled, &Input::Reconnect);
}

#[test]
fn edits() {
    for phase in all_phases() {
        ignored(&phase, &Input::Edited(Edit::Cosmetic));
    }
    let another = Input::Edited(Edit::Another);
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

    let off = Input::Edited(Edit::SwitchedOff);
    let rest = || vec![Announce(StatusCause::Edited), Settle];
    for phase in [connecting(2), connected()] {
        check(&phase, &off, &at(Phase::Disabled), &[vec![Retire(E1)], rest()].concat());
    }
    for phase in [Phase::Stopped, needs_auth(), needs_registration(), given_up()] {
        check(&phase, &off, &at(Phase::Disabled), &rest());
    }
    check(&retrying(), &off, &at(Phase::Disabled), &[vec![ForgetRetry], rest()].concat());
    ignored(&Phase::Disabled, &off);

    check(&Phase::Disabled, &Input::Edited(Edit::SwitchedOn { start: true }), &opened(1), &begin());
    check(&Phase::Disabled, &Input::Edited(Edit::SwitchedOn { start: false }), &at(Phase::Stopped), &rest());
    for phase in all_phases().into_iter().filter(|phase| *phase != Phase::Disabled) {
        ignored(&phase, &Input::Edited(Edit::SwitchedOn { start: true }));
    }
}

#[test]
fn a_call_starts_one_attempt_and_no_row() {
    let call = || Announce(StatusCause::Call);
    check(&Phase::Stopped, &Input::Wanted, &opened(1), &[call(), Open(E2)]);
    check(&retrying(), &Input::Wanted, &opened(3), &[ForgetRetry, call(), Open(E2)]);
    check(&given_up(), &Input::Wanted, &opened(2), &[call(), Open(E2)]);
    ignored(&connecting(1), &Input::Wanted);
    for phase in [Phase::Disabled, connected(), needs_auth(), needs_registration()] {
        check(&phase, &Input::Wanted, &at(phase.clone()), &[Settle]);
    }
    let exhausted = failed(FailureKind::TemporaryNetwork, 6, None);
    check(&exhausted, &Input::Wanted, &opened(7), &[call(), Open(E2)]);
    let again = Input::AttemptFailed { epoch: E1, failure: error(FailureKind::TemporaryNetwork) };
    check(
        &connecting(7),
        &again,
        &at(failed(FailureKind::TemporaryNetwork, 7, None)),
        &[Retire(E1), Announce(StatusCause::AttemptFailed), Settle],
    );
}

#[test]
fn retry_due() {
    check(&retrying(), &Input::RetryDue, &opened(3), &[ForgetRetry, Announce(StatusCause::Retry), Open(E2)]);
    for phase in all_phases().into_iter().filter(|phase| *phase != retrying()) {
        ignored(&phase, &Input::RetryDue);
    }
}

#[test]
fn ready() {
    let ready =
        |epoch| Input::Ready { epoch, protocol: "2025-11-25".to_owned(), server: ServerInfo::default() };
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
fn failed_attempts() {
    use FailureKind::{Authorization, Configuration, PermanentNetwork, Protocol, TemporaryNetwork, Unknown};
    let fails = |kind| Input::AttemptFailed { epoch: E1, failure: error(kind) };
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
        (Failure::NeedsAuth { issuer: Some("https://issuer".to_owned()) }, needs_auth()),
        (Failure::NeedsClientRegistration { reason: "none".to_owned() }, needs_registration()),
    ];
    for (failure, phase) in table {
        check(&connecting(2), &Input::AttemptFailed { epoch: E1, failure }, &at(phase), &challenged);
    }
    ignored(&connecting(1), &Input::AttemptFailed { epoch: STALE, failure: error(Protocol) });
    for phase in all_phases().into_iter().filter(|phase| *phase != connecting(1)) {
        ignored(&phase, &fails(TemporaryNetwork));
    }
}

#[test]
fn unexpected_ends() {
    let closed = |epoch, kind| Input::Closed { epoch, kind, reason: "why".to_owned() };
    let cause = || Announce(StatusCause::UnexpectedClose { reason: "why".to_owned() });
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
fn a_server_that_keeps_falling_right_after_it_came_up_is_tried_ever_more_slowly() {
    let mut state = at(connected_since(NOW, 0));
    for wait in [1, 2, 4, 8, 16, 30, 30] {
        state.phase = connected_since(NOW, 0);
        let end = Input::Closed { epoch: E1, kind: FailureKind::TemporaryNetwork, reason: "why".to_owned() };
        let (next, effects) = transition(state, end, Moment { now: NOW, jitter: Jitter::NONE });
        assert!(effects.contains(&secs(wait)), "{effects:?}");
        state = next;
    }
    state.phase = connected();
    let end = Input::Closed { epoch: E1, kind: FailureKind::TemporaryNetwork, reason: "why".to_owned() };
    let (state, effects) = transition(state, end, Moment { now: NOW, jitter: Jitter::NONE });
    assert!(effects.contains(&secs(1)), "a longer life makes good: {effects:?}");
    assert_eq!(state.flaps, 0);
}

#[test]
fn health() {
    let pulse = |epoch, pulse| Input::Pulse { epoch, pulse };
    let missed = Pulse::Missed { allowed: 3 };
    check(&connected_since(Timestamp(0), 2), &pulse(E1, Pulse::Answered), &at(connected()), &[]);
    ignored(&connected_since(Timestamp(0), 2), &pulse(E1, Pulse::Busy));
    check(&connected(), &pulse(E1, missed), &at(connected_since(Timestamp(0), 1)), &[]);
    let (state, effects) = run(&connected_since(Timestamp(0), 2), pulse(E1, missed));
    assert_eq!(effects, [Retire(E1), Announce(StatusCause::Unresponsive), secs(1), Settle]);
    assert_eq!(
        state.status(),
        ServerStatus::Failed {
            error: FailureKind::TemporaryNetwork,
            message: "The server did not answer 3 health checks in a row.".to_owned(),
            attempts: 1,
            next_retry: Some(NOW.plus(Duration::from_secs(1))),
        }
    );
    ignored(&connected_since(Timestamp(0), 2), &pulse(STALE, missed));
    for phase in all_phases().into_iter().filter(|phase| *phase != connected()) {
        ignored(&phase, &pulse(E1, missed));
    }
}

#[test]
fn challenges() {
    let challenge = |epoch| Input::Challenged { epoch, issuer: Some("https://issuer".to_owned()) };
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
fn shutdown() {
    let rest = || vec![Announce(StatusCause::Shutdown), Settle];
    for phase in [connecting(1), connected()] {
        check(&phase, &Input::Shutdown, &at(Phase::Stopped), &[vec![Retire(E1)], rest()].concat());
    }
    for phase in [needs_auth(), needs_registration(), given_up()] {
        check(&phase, &Input::Shutdown, &at(Phase::Stopped), &rest());
    }
    check(&retrying(), &Input::Shutdown, &at(Phase::Stopped), &[vec![ForgetRetry], rest()].concat());
    for phase in [Phase::Disabled, Phase::Stopped] {
        check(&phase, &Input::Shutdown, &at(phase.clone()), &[Settle]);
    }
}

/// For any sequence of inputs: no epoch is opened twice, what is left is retired first, and no call
/// waits for an attempt that is never settled.
#[test]
fn long_lives_keep_the_rules() {
    let inputs = |epoch: Epoch| {
        [
            Input::Start { cause: StatusCause::User },
            Input::Stop,
            Input::Reconnect,
            Input::Edited(Edit::Another),
            Input::Edited(Edit::SwitchedOff),
            Input::Edited(Edit::SwitchedOn { start: true }),
            Input::Wanted,
            Input::RetryDue,
            Input::Ready { epoch, protocol: String::new(), server: ServerInfo::default() },
            Input::AttemptFailed { epoch, failure: error(FailureKind::Unknown) },
            Input::Closed { epoch, kind: FailureKind::TemporaryNetwork, reason: String::new() },
            Input::Pulse { epoch, pulse: Pulse::Missed { allowed: 1 } },
            Input::Challenged { epoch, issuer: None },
        ]
    };
    let mut dice: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut roll = |sides: usize| {
        dice ^= dice << 13;
        dice ^= dice >> 7;
        dice ^= dice << 17;
        usize::try_from(dice % u64::try_from(sides).unwrap()).unwrap()
    };
    let mut state = State::new(true);
    let mut open: Option<Epoch> = None;
    let mut last = Epoch(0);
    for _ in 0..200_000 {
        let epoch = Epoch(state.epoch.0.saturating_sub(u64::try_from(roll(3)).unwrap() / 2));
        let input = inputs(epoch)[roll(13)].clone();
        let (next, effects) = transition(state, input.clone(), Moment { now: NOW, jitter: Jitter::NONE });
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
        if input == Input::Wanted {
            assert!(waits || effects.contains(&Settle));
        }
        state = next;
    }
}

#[test]
fn switched_off_everything_rests_and_stays_at_rest() {
    let off = Input::Switched { on: false, start: true };
    let resting = |phase| State { on: false, ..at(phase) };
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

    let moment = || Moment { now: NOW, jitter: Jitter::NONE };
    for input in [
        Input::Start { cause: StatusCause::Launch },
        Input::Start { cause: StatusCause::User },
        Input::Reconnect,
        Input::Edited(Edit::Another),
        Input::Edited(Edit::SwitchedOn { start: true }),
        Input::Wanted,
        Input::RetryDue,
    ] {
        for phase in [Phase::Stopped, Phase::Disabled] {
            let (state, did) = transition(resting(phase.clone()), input.clone(), moment());
            assert!(!did.iter().any(|effect| matches!(effect, Open(_))), "{phase:?} + {input:?}");
            assert!(matches!(state.phase, Phase::Stopped | Phase::Disabled), "{phase:?} + {input:?}");
            assert!(!state.on);
        }
    }
    let (_, did) = transition(resting(Phase::Stopped), Input::Wanted, moment());
    assert_eq!(did, [Settle], "a call is told at once");
}

#[test]
fn switched_on_what_starts_by_itself_starts() {
    let from = |phase| State { on: false, ..at(phase) };
    let switch = |phase, start| {
        let moment = Moment { now: NOW, jitter: Jitter::NONE };
        transition(from(phase), Input::Switched { on: true, start }, moment)
    };
    assert_eq!(switch(Phase::Stopped, true), (opened(1), vec![Announce(StatusCause::User), Open(E2)]));
    assert_eq!(switch(Phase::Stopped, false), (at(Phase::Stopped), vec![]));
    assert_eq!(switch(Phase::Disabled, false), (at(Phase::Disabled), vec![]));
    ignored(&connected(), &Input::Switched { on: true, start: true });
}
