//! Requests for access that wait for the user. The page in the browser polls; when the user has answered, it gets the
//! outcome once.
//!
//! Each client has at most one, and so few are allowed in all that nobody can flood the user. After some denials there are
//! none for a while, so that nobody can ask until the user gives in. A request whose page is gone is withdrawn.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::{Message, Secret};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// How long one poll of the page waits for the outcome. Connections without a token last 5 s at most.
const POLL_TIME: Duration = Duration::from_secs(2);

/// After this time without a poll, nobody waits any more.
const ABANDONED_AFTER: Duration = Duration::from_secs(60);

/// Maximum number of requests that wait: of one program, and in all.
const MAX_OF_PROGRAM: usize = 3;
const MAX_IN_ALL: usize = 8;

/// How long a denial counts, and how many of one program and in all let it ask no more meanwhile.
const DENIAL_COUNTS: Duration = Duration::from_secs(10 * 60);
const MAX_DENIALS_OF_PROGRAM: usize = 3;
const MAX_DENIALS_IN_ALL: usize = 8;

/// What the browser is shown in the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ConsentOutcome {
    /// It is sent there: to the client, with a code or an error.
    Redirect(Secret),
    /// A page says why the client can't be told.
    Refused(Message),
}

/// What a poll found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PolledConsent {
    StillWaiting,
    Ended(ConsentOutcome),
    /// It was never begun, or the outcome was collected.
    Unknown,
}

/// There are too many requests already, or too many were denied.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooManyConsents;

/// A denial by the user. Of its program, no more is known than of its request.
struct Denial {
    program: Option<String>,
    at: Instant,
}

/// One request.
pub(crate) struct Consent {
    client_id: String,
    program: Option<String>,
    outcome: watch::Sender<Option<ConsentOutcome>>,
    /// Cancelled when the same client asked again.
    pub(crate) superseded: CancellationToken,
    last_poll: Mutex<Instant>,
}

/// All requests.
#[derive(Default)]
pub(crate) struct Consents {
    /// By the random id in the address of their page.
    by_page: Mutex<HashMap<String, Arc<Consent>>>,
    /// The latest, oldest first.
    denials: Mutex<VecDeque<Denial>>,
}

impl Consents {
    /// Begins a request. An earlier one of the same client ends.
    pub(crate) fn begin(
        &self,
        page: &str,
        client_id: &str,
        program: Option<&str>,
    ) -> Result<Arc<Consent>, TooManyConsents> {
        if self.is_denied_too_often(program) {
            return Err(TooManyConsents);
        }
        let mut consents = self.by_page.lock();
        for other in consents.values().filter(|other| other.client_id == client_id) {
            other.superseded.cancel();
        }
        let waiting = || consents.values().filter(|other| other.is_waiting());
        let of_program = waiting().filter(|other| other.program.as_deref() == program).count();
        if waiting().count() >= MAX_IN_ALL || of_program >= MAX_OF_PROGRAM {
            return Err(TooManyConsents);
        }
        let consent = Arc::new(Consent {
            client_id: client_id.to_owned(),
            program: program.map(str::to_owned),
            outcome: watch::Sender::new(None),
            superseded: CancellationToken::new(),
            last_poll: Mutex::new(Instant::now()),
        });
        consents.insert(page.to_owned(), Arc::clone(&consent));
        Ok(consent)
    }

    /// Records that the user denied a request of this program.
    pub(crate) fn record_denial(&self, program: Option<&str>) {
        let mut denials = self.denials.lock();
        // More than these make no difference.
        if denials.len() >= MAX_DENIALS_IN_ALL {
            denials.pop_front();
        }
        denials.push_back(Denial { program: program.map(str::to_owned), at: Instant::now() });
    }

    fn is_denied_too_often(&self, program: Option<&str>) -> bool {
        let mut denials = self.denials.lock();
        denials.retain(|denial| denial.at.elapsed() < DENIAL_COUNTS);
        let of_program = denials.iter().filter(|denial| denial.program.as_deref() == program).count();
        of_program >= MAX_DENIALS_OF_PROGRAM || denials.len() >= MAX_DENIALS_IN_ALL
    }

    /// Waits a little for the outcome of a request, and takes it.
    pub(crate) async fn poll(&self, page: &str) -> PolledConsent {
        let Some(consent) = self.by_page.lock().get(page).cloned() else { return PolledConsent::Unknown };
        *consent.last_poll.lock() = Instant::now();
        let mut changes = consent.outcome.subscribe();
        let ended =
            async { changes.wait_for(Option::is_some).await.ok().and_then(|outcome| (*outcome).clone()) };
        match tokio::time::timeout(POLL_TIME, ended).await {
            Ok(Some(outcome)) => {
                self.by_page.lock().remove(page);
                PolledConsent::Ended(outcome)
            }
            Ok(None) | Err(_) => PolledConsent::StillWaiting,
        }
    }

    /// Forgets a request, whether its outcome was collected or not.
    pub(crate) fn forget(&self, page: &str) {
        self.by_page.lock().remove(page);
    }
}

impl Consent {
    fn is_waiting(&self) -> bool {
        self.outcome.borrow().is_none() && !self.superseded.is_cancelled()
    }

    pub(crate) fn end(&self, outcome: ConsentOutcome) {
        self.outcome.send_replace(Some(outcome));
    }

    /// Waits until its page has not polled for a while.
    pub(crate) async fn abandoned(&self) {
        loop {
            let until = *self.last_poll.lock() + ABANDONED_AFTER;
            if Instant::now() >= until {
                return;
            }
            tokio::time::sleep_until(until).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redirect() -> ConsentOutcome {
        ConsentOutcome::Redirect(Secret::new("http://127.0.0.1:1/?code=x"))
    }

    #[tokio::test(start_paused = true)]
    async fn outcome_is_taken_once() {
        let consents = Consents::default();
        let consent = consents.begin("page", "client", None).unwrap();
        assert_eq!(consents.poll("page").await, PolledConsent::StillWaiting);
        assert_eq!(consents.poll("other").await, PolledConsent::Unknown);
        consent.end(redirect());
        assert_eq!(consents.poll("page").await, PolledConsent::Ended(redirect()));
        assert_eq!(consents.poll("page").await, PolledConsent::Unknown);
    }

    #[tokio::test(start_paused = true)]
    async fn page_that_stops_polling_is_given_up() {
        let consents = Consents::default();
        let consent = consents.begin("page", "client", None).unwrap();
        let began = Instant::now();
        tokio::time::sleep(ABANDONED_AFTER / 2).await;
        assert_eq!(consents.poll("page").await, PolledConsent::StillWaiting);
        consent.abandoned().await;
        assert!(began.elapsed() >= ABANDONED_AFTER + ABANDONED_AFTER / 2);
    }

    #[test]
    fn a_client_has_one_and_a_program_few() {
        let consents = Consents::default();
        let first = consents.begin("1", "a", Some("/browser")).unwrap();
        let second = consents.begin("2", "a", Some("/browser")).unwrap();
        assert!(first.superseded.is_cancelled() && !second.superseded.is_cancelled());
        for (page, client) in [("3", "b"), ("4", "c")] {
            assert!(consents.begin(page, client, Some("/browser")).is_ok(), "{client}");
        }
        assert!(consents.begin("5", "d", Some("/browser")).is_err());
        second.end(redirect());
        assert!(consents.begin("5", "d", Some("/browser")).is_ok());
        for n in 0..MAX_IN_ALL - 3 {
            assert!(
                consents.begin(&format!("x{n}"), &format!("x{n}"), Some(&format!("/{n}"))).is_ok(),
                "{n}"
            );
        }
        assert!(consents.begin("6", "e", Some("/other")).is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_asks_until_the_user_gives_in() {
        let consents = Consents::default();
        let may_ask = |program| consents.begin(program, program, Some(program)).is_ok();
        for _ in 0..MAX_DENIALS_OF_PROGRAM {
            assert!(may_ask("/agent"));
            consents.record_denial(Some("/agent"));
        }
        assert!(!may_ask("/agent") && may_ask("/browser"));
        for _ in MAX_DENIALS_OF_PROGRAM..MAX_DENIALS_IN_ALL {
            consents.record_denial(None);
        }
        assert!(!may_ask("/browser"), "a program has many names");
        tokio::time::sleep(DENIAL_COUNTS).await;
        assert!(may_ask("/agent") && may_ask("/browser"));
    }
}
