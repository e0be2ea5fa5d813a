//! Everything around a sign-in: a server with its authorization server, a store, a clock, a browser
//! that goes where it is sent, and somebody who answers questions.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gatehouse_auth::{AuthRecovery, AuthRejection, SignInDeps, SignIns, TokenSource as _};
use gatehouse_model::record::SignInOutcome;
use gatehouse_model::server::Remote;
use gatehouse_model::sign_in::{SignInSettings, SignInState};
use gatehouse_model::{
    ApprovalAnswer, ApprovalRequest, AskUser, AuditEvent, AuditLog, BoxFuture, Clock, ErrorCode, Event,
    EventSink, Generation, OpenUrl, Secret, ServerConfig, Timestamp, Transport, UserError,
};
use gatehouse_store::{SecretKey, SecretStore};
use tokio::sync::watch;

use crate::scripted_issuer::ScriptedIssuer;

/// How long anything may take.
const TIMEOUT: Duration = Duration::from_secs(20);

#[derive(Debug)]
pub(crate) struct SetClock(AtomicI64);

impl SetClock {
    pub(crate) fn forward(&self, seconds: i64) {
        self.0.fetch_add(seconds * 1000, Ordering::SeqCst);
    }
}

impl Clock for SetClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}

pub(crate) struct RecordingEvents {
    pub(crate) all: Mutex<Vec<Event>>,
    changed: watch::Sender<usize>,
}

impl EventSink for RecordingEvents {
    fn emit(&self, event: Event) {
        self.all.lock().unwrap().push(event);
        self.changed.send_modify(|count| *count += 1);
    }
}

impl RecordingEvents {
    /// The states that were told, in short.
    pub(crate) fn states(&self) -> Vec<&'static str> {
        let all = self.all.lock().unwrap();
        let word = |event: &Event| match event {
            Event::SignInChanged { sign_in: SignInState::Out { .. }, .. } => "out",
            Event::SignInChanged { sign_in: SignInState::Waiting { .. }, .. } => "waiting",
            Event::SignInChanged { sign_in: SignInState::In { .. }, .. } => "in",
            _ => "other",
        };
        all.iter().map(word).collect()
    }
}

/// Goes to an address as a browser with an open session does, or only notes it.
#[derive(Default)]
pub(crate) struct TestBrowser {
    pub(crate) opened: Mutex<Vec<String>>,
    pub(crate) is_following: std::sync::atomic::AtomicBool,
}

impl OpenUrl for TestBrowser {
    fn open(&self, url: &str) -> Result<(), String> {
        self.opened.lock().unwrap().push(url.to_owned());
        if self.is_following.load(Ordering::SeqCst) {
            let url = url.to_owned();
            tokio::runtime::Handle::current().spawn(async move { visit(&url).await });
        }
        Ok(())
    }
}

/// Keeps the entries of the audit, unless it is told to refuse.
#[derive(Default)]
pub(crate) struct RecordingAudit {
    pub(crate) entries: Mutex<Vec<AuditEvent>>,
    pub(crate) is_failing: std::sync::atomic::AtomicBool,
}

impl RecordingAudit {
    /// What happened to the sign-in, in its order.
    pub(crate) fn outcomes(&self) -> Vec<SignInOutcome> {
        let of = |event: &AuditEvent| match event {
            AuditEvent::SignIn { what, .. } => Some(*what),
            _ => None,
        };
        self.entries.lock().unwrap().iter().filter_map(of).collect()
    }
}

impl AuditLog for RecordingAudit {
    fn append(&self, event: AuditEvent) -> BoxFuture<'_, Result<(), UserError>> {
        Box::pin(async move {
            if self.is_failing.load(Ordering::SeqCst) {
                return Err(UserError::new(ErrorCode::Storage, "The disk is full."));
            }
            self.entries.lock().unwrap().push(event);
            Ok(())
        })
    }
}

/// Answers requests for more scopes.
pub(crate) struct User {
    pub(crate) asked: Mutex<Vec<Vec<String>>>,
    pub(crate) answers: std::sync::atomic::AtomicBool,
    /// Lets one answer out for each permit.
    pub(crate) gate: tokio::sync::Semaphore,
}

impl AskUser for User {
    fn ask(&self, ask: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer> {
        let ApprovalRequest::StepUp(wanted) = ask else { panic!("not a request for more scopes") };
        self.asked.lock().unwrap().push(wanted.scopes);
        Box::pin(async {
            self.gate.acquire().await.unwrap().forget();
            if self.answers.load(Ordering::SeqCst) {
                ApprovalAnswer::Accept { content: None }
            } else {
                ApprovalAnswer::Decline
            }
        })
    }
}

pub(crate) struct TestEnv {
    pub(crate) issuer: ScriptedIssuer,
    pub(crate) secrets: Arc<dyn SecretStore>,
    pub(crate) clock: Arc<SetClock>,
    pub(crate) audit: Arc<RecordingAudit>,
    pub(crate) events: Arc<RecordingEvents>,
    pub(crate) browser: Arc<TestBrowser>,
    pub(crate) user: Arc<User>,
    pub(crate) sign_ins: SignIns,
    pub(crate) server: Arc<ServerConfig>,
    folder: tempfile::TempDir,
}

pub(crate) fn config(url: &str, sign_in: SignInSettings) -> ServerConfig {
    ServerConfig {
        generation: Generation(1),
        ..ServerConfig::new("srv-1", "notes", Transport::Http(Remote { sign_in, ..Remote::at(url) }))
    }
}

impl TestEnv {
    pub(crate) async fn new() -> Self {
        Self::with(SignInSettings::default()).await
    }

    pub(crate) async fn with(settings: SignInSettings) -> Self {
        Self::with_issuer(|_| settings).await
    }

    /// Made with settings that need the authorization server's address.
    pub(crate) async fn with_issuer(settings: impl FnOnce(&ScriptedIssuer) -> SignInSettings) -> Self {
        let issuer = ScriptedIssuer::start().await;
        let server = Arc::new(config(&issuer.at("/mcp"), settings(&issuer)));
        let (secrets, clock) =
            (gatehouse_store::memory(), Arc::new(SetClock(AtomicI64::new(1_700_000_000_000))));
        let events = Arc::new(RecordingEvents { all: Mutex::default(), changed: watch::Sender::new(0) });
        let audit = Arc::new(RecordingAudit::default());
        let browser = Arc::new(TestBrowser::default());
        let user = Arc::new(User {
            asked: Mutex::default(),
            answers: true.into(),
            gate: tokio::sync::Semaphore::new(tokio::sync::Semaphore::MAX_PERMITS),
        });
        let folder = tempfile::tempdir().unwrap();
        let deps = SignInDeps {
            secrets: Arc::clone(&secrets),
            clock: clock.clone(),
            audit: audit.clone(),
            events: events.clone(),
            open: browser.clone(),
            data_dir: folder.path().to_owned(),
        };
        let sign_ins = SignIns::new(deps);
        sign_ins.set_approver(user.clone());
        Self { issuer, secrets, clock, audit, events, browser, user, sign_ins, server, folder }
    }

    /// What another process, or the next one, has of it.
    pub(crate) fn second_process(&self) -> SignIns {
        self.second_process_with_deadline(Duration::from_secs(60))
    }

    pub(crate) fn second_process_with_deadline(&self, deadline: Duration) -> SignIns {
        let deps = SignInDeps {
            secrets: Arc::clone(&self.secrets),
            clock: self.clock.clone(),
            audit: self.audit.clone(),
            events: self.events.clone(),
            open: self.browser.clone(),
            data_dir: self.folder.path().to_owned(),
        };
        let sign_ins = SignIns::with_deadline(deps, deadline);
        sign_ins.set_approver(self.user.clone());
        sign_ins
    }

    /// Ends this process and starts the next one.
    pub(crate) async fn restart(&mut self) {
        self.sign_ins.shutdown().await;
        self.sign_ins = self.second_process();
    }

    /// Keeps a secret for a field of the settings.
    pub(crate) fn store_secret(&self, field: &str, secret: &str) {
        let key = SecretKey::for_server_field(&self.server.binding(), field);
        self.secrets.set(&key, &Secret::new(secret)).unwrap();
    }

    /// The text that is kept of the sign-in.
    pub(crate) fn stored(&self, what: &str) -> Option<String> {
        let key = SecretKey::sign_in(&self.server.binding(), what);
        self.secrets.get(&key).unwrap().map(|text| text.reveal().to_owned())
    }

    /// How many lock files there are.
    pub(crate) fn lock_files(&self) -> usize {
        std::fs::read_dir(self.folder.path().join("locks")).unwrap().count()
    }

    /// Begins and gives the address.
    pub(crate) async fn begin(&self) -> String {
        self.sign_ins.begin(Arc::clone(&self.server), false).await.unwrap().address.unwrap()
    }

    pub(crate) async fn begin_error(&self) -> UserError {
        self.sign_ins.begin(Arc::clone(&self.server), false).await.unwrap_err()
    }

    /// Signs in, all the way.
    pub(crate) async fn sign_in(&self) -> SignInState {
        visit(&self.begin().await).await;
        self.wait_until_settled().await
    }

    /// The state, once nothing is waited for.
    pub(crate) async fn wait_until_settled(&self) -> SignInState {
        let mut changed = self.events.changed.subscribe();
        let wait_until_settled = async {
            loop {
                match self.state().await {
                    SignInState::Waiting { .. } => changed.changed().await.unwrap(),
                    state => return state,
                }
            }
        };
        tokio::time::timeout(TIMEOUT, wait_until_settled).await.unwrap()
    }

    pub(crate) async fn state(&self) -> SignInState {
        self.sign_ins.state(Arc::clone(&self.server)).await
    }

    pub(crate) async fn bearer(&self) -> Option<String> {
        self.sign_ins.bearer(&self.server).await.unwrap().map(|token| token.reveal().to_owned())
    }

    /// A refusal with 401 of this token.
    pub(crate) async fn recover(&self, sent: Option<&str>) -> AuthRecovery {
        self.recover_with(sent, false).await
    }

    /// A refusal with 401 of this token, which was given for the very request.
    pub(crate) async fn recover_after_retry(&self, sent: &str) -> AuthRecovery {
        self.recover_with(Some(sent), true).await
    }

    async fn recover_with(&self, sent: Option<&str>, is_retry: bool) -> AuthRecovery {
        let refusal = AuthRejection {
            status: 401,
            challenges: vec![self.issuer.challenge("")],
            sent: sent.map(Secret::new),
            can_wait: true,
            is_retry,
        };
        self.sign_ins.recover(&self.server, refusal).await.unwrap()
    }

    /// Waits until something is so.
    pub(crate) async fn wait_until(&self, so: impl Fn() -> bool) {
        let waiting = async {
            while !so() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(TIMEOUT, waiting).await.unwrap();
    }
}

/// What is wrong, in words.
pub(crate) fn problem(state: SignInState) -> String {
    match state {
        SignInState::Out { problem: Some(problem) } => problem.to_string(),
        other => panic!("{other:?} is no problem"),
    }
}

pub(crate) fn client() -> reqwest::Client {
    reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy().build().unwrap()
}

/// Where an authorization server sends the browser.
pub(crate) async fn follow_to_callback(address: &str) -> String {
    let sent = client().get(address).send().await.unwrap();
    assert_eq!(sent.status(), 302, "{address}");
    sent.headers()["location"].to_str().unwrap().to_owned()
}

/// Goes the whole way. The last page is what is returned.
pub(crate) async fn visit(address: &str) -> (u16, String) {
    let page = client().get(follow_to_callback(address).await).send().await.unwrap();
    (page.status().as_u16(), page.text().await.unwrap())
}

/// A parameter of an address.
pub(crate) fn parameter(address: &str, name: &str) -> Option<String> {
    let url = url::Url::parse(address).unwrap();
    let mut found = url.query_pairs().filter(|(key, _)| key == name).map(|(_, value)| value.into_owned());
    found.next()
}
