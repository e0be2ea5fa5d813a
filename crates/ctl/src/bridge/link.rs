//! Finds the running Gatehouse and notices when it ends.
//!
//! The control socket and the gateway's port may be held by another program of the same user, and a token must not
//! reach it. So the address of the gateway is learned over a channel of the control socket, on which the other end
//! has proved that it knows the token's key, and it counts only while Gatehouse answers on that channel. An open channel
//! is not enough: a program that holds the socket and passes on what is said can keep it open after Gatehouse has ended.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_app::control::ControlClient;
use gatehouse_model::command::{BridgeBind, RequestSecret, Status, StatusReport};
use gatehouse_model::{ErrorCode, Secret, UserError};
use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::time::Instant;

use super::app_start::AppStart;
use super::log::Log;
use super::tokens::BridgeTokenSource;

/// Pause before the first attempt to connect again; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// Longest pause between two attempts.
const MAX_PAUSE: Duration = Duration::from_secs(2);
/// As [`MAX_PAUSE`], while the token is refused: each attempt reads the keychain, which may ask the user.
const MAX_PAUSE_WHILE_REFUSED: Duration = Duration::from_secs(30);

/// Pause after a request that reached nobody.
pub(super) const RETRY_PAUSE: Duration = Duration::from_millis(50);
/// How long the end of Gatehouse may take to be noticed after one of its connections broke.
pub(super) const END_NOTICE: Duration = Duration::from_millis(200);
/// How long a new token may take to be found after the gateway refused the present one.
const RENEWAL: Duration = Duration::from_secs(1);

/// How long Gatehouse may take to answer that it still runs.
const CONFIRM_TIMEOUT: Duration = Duration::from_secs(10);
/// A credential is replaced after its lifetime divided by this.
const RENEWAL_DIVISOR: u32 = 2;
/// Requests to confirm that may wait.
const CONFIRM_CAPACITY: usize = 16;

/// How one run of Gatehouse is reached.
#[derive(PartialEq, Eq)]
pub(super) struct GatewayAccess {
    pub(super) address: SocketAddr,
    /// Host and port.
    pub(super) authority: String,
    pub(super) path: String,
    pub(super) token: Secret,
    /// Process id of Gatehouse.
    pid: u32,
}

/// Whether there is a Gatehouse.
#[derive(Clone)]
enum LinkState {
    Up(Arc<GatewayAccess>),
    /// None answers, for this reason; the next attempt follows.
    Down(Arc<str>),
    /// It does not accept the token, for this reason.
    Refused(Arc<str>),
}

/// The connection to Gatehouse as the rest of the bridge sees it.
#[derive(Clone)]
pub(super) struct Link {
    state: watch::Receiver<LinkState>,
    renewal: Arc<Notify>,
    confirmations: mpsc::Sender<oneshot::Sender<()>>,
    credential: BridgeCredential,
}

/// What the bridge presents beside its token. Set before there is a link, and replaced while there is.
type BridgeCredential = Arc<Mutex<Option<RequestSecret>>>;

impl Link {
    /// The present credential.
    pub(super) fn credential(&self) -> Option<RequestSecret> {
        self.credential.lock().clone()
    }

    /// The Gatehouse that runs, as soon as there is one.
    ///
    /// # Errors
    /// Why the token is refused.
    pub(super) async fn access(&self) -> Result<Arc<GatewayAccess>, String> {
        let mut state = self.state.clone();
        let known = state.wait_for(|state| !matches!(state, LinkState::Down(_))).await;
        match known.as_deref() {
            Ok(LinkState::Up(access)) => Ok(Arc::clone(access)),
            Ok(LinkState::Refused(why) | LinkState::Down(why)) => Err(why.to_string()),
            Err(_) => Err("The bridge is ending.".to_owned()),
        }
    }

    /// Why there is none.
    pub(super) fn reason(&self) -> String {
        match &*self.state.borrow() {
            LinkState::Up(_) => "Gatehouse was just started again.".to_owned(),
            LinkState::Down(why) | LinkState::Refused(why) => why.to_string(),
        }
    }

    pub(super) fn is_current(&self, access: &Arc<GatewayAccess>) -> bool {
        is_up(&self.state.borrow(), access)
    }

    /// Whether this run still answers. If it does, what listened at its address just before was Gatehouse.
    pub(super) async fn confirm(&self, access: &Arc<GatewayAccess>) -> bool {
        let (sender, confirmed) = oneshot::channel();
        let asked = async { self.confirmations.send(sender).await.is_ok() && confirmed.await.is_ok() };
        tokio::time::timeout(CONFIRM_TIMEOUT, asked).await.unwrap_or(false) && self.is_current(access)
    }

    /// Waits until this run has ended.
    pub(super) async fn lost(&self, access: &Arc<GatewayAccess>) {
        let mut state = self.state.clone();
        // An error means that the bridge is ending.
        drop(state.wait_for(|state| !is_up(state, access)).await);
    }

    /// Connects again: the gateway refused the token, so it was replaced or revoked.
    pub(super) async fn renew(&self, access: &Arc<GatewayAccess>) {
        self.renewal.notify_one();
        // Without another token, the next request says so.
        tokio::time::timeout(RENEWAL, self.lost(access)).await.unwrap_or(());
    }
}

fn is_up(state: &LinkState, access: &Arc<GatewayAccess>) -> bool {
    matches!(state, LinkState::Up(current) if Arc::ptr_eq(current, access))
}

/// Keeps the link.
pub(super) struct LinkKeeper {
    data_dir: PathBuf,
    tokens: BridgeTokenSource,
    app: AppStart,
    log: Log,
    state: watch::Sender<LinkState>,
    renewal: Arc<Notify>,
    /// Each is answered when Gatehouse has answered on the channel.
    confirmations: mpsc::Receiver<oneshot::Sender<()>>,
    /// The profile that the bridge was started with.
    profile: Option<String>,
    credential: BridgeCredential,
}

/// A Gatehouse that has proved itself and bound the bridge.
struct LinkConnection {
    access: GatewayAccess,
    channel: ControlClient,
    /// When the bridge asks for another credential.
    rebind_at: Instant,
}

enum LinkError {
    /// There is no Gatehouse, or it doesn't answer.
    NotRunning(String),
    Refused(String),
    /// There is no profile of the name that the bridge was started with.
    NoProfile(UserError),
}

impl LinkKeeper {
    pub(super) fn new(
        data_dir: PathBuf,
        tokens: BridgeTokenSource,
        profile: Option<String>,
        app: AppStart,
        log: Log,
    ) -> (Self, Link) {
        let (state, receiver) = watch::channel(LinkState::Down("Gatehouse isn't running.".into()));
        let renewal = Arc::new(Notify::new());
        let (sender, confirmations) = mpsc::channel(CONFIRM_CAPACITY);
        let credential = BridgeCredential::default();
        let link = Link {
            state: receiver,
            renewal: Arc::clone(&renewal),
            confirmations: sender,
            credential: Arc::clone(&credential),
        };
        (Self { data_dir, tokens, app, log, state, renewal, confirmations, profile, credential }, link)
    }

    /// Connects, and connects again whenever the connection ends. Returns only if there is no such profile as the bridge
    /// was started with.
    pub(super) async fn run(&mut self) -> UserError {
        let mut pause = FIRST_PAUSE;
        let mut last: Option<Arc<GatewayAccess>> = None;
        loop {
            let state = match self.connect().await {
                Ok(LinkConnection { access, channel, rebind_at }) => {
                    pause = FIRST_PAUSE;
                    // The same run, of which only the channel ended, keeps its sessions.
                    let access = match last.take() {
                        Some(last) if *last == access => last,
                        _ => Arc::new(access),
                    };
                    self.log.line(&format!("connected to Gatehouse at {}", access.authority));
                    self.state.send_replace(LinkState::Up(Arc::clone(&access)));
                    self.hold(&access, channel, rebind_at).await;
                    last = Some(access);
                    LinkState::Down("Gatehouse has ended.".into())
                }
                Err(LinkError::NotRunning(why)) => {
                    if let Some(started) = self.app.start() {
                        self.log.line(&started);
                    }
                    LinkState::Down(why.into())
                }
                Err(LinkError::Refused(why)) => LinkState::Refused(why.into()),
                Err(LinkError::NoProfile(error)) => return error,
            };
            if let LinkState::Down(why) | LinkState::Refused(why) = &state {
                self.log.line(why);
            }
            let max_pause = match &state {
                LinkState::Refused(_) => MAX_PAUSE_WHILE_REFUSED,
                LinkState::Up(_) | LinkState::Down(_) => MAX_PAUSE,
            };
            self.state.send_replace(state);
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(max_pause);
        }
    }

    /// Keeps the channel until it ends, Gatehouse doesn't answer on it, or the token is to be read again.
    async fn hold(&mut self, access: &GatewayAccess, mut channel: ControlClient, mut rebind_at: Instant) {
        loop {
            let first = tokio::select! {
                () = channel.closed() => return,
                () = self.renewal.notified() => return,
                () = tokio::time::sleep_until(rebind_at) => {
                    match tokio::time::timeout(CONFIRM_TIMEOUT, self.bind(&mut channel, &access.token)).await {
                        Ok(Ok(next)) => rebind_at = next,
                        // Connecting again says why.
                        Ok(Err(_)) | Err(_) => return,
                    }
                    continue;
                }
                first = self.confirmations.recv() => first,
            };
            // Without anybody who could ask, the bridge is ending.
            let Some(first) = first else { return };
            // One answer is for all that wait now.
            let mut waiting = vec![first];
            while let Ok(next) = self.confirmations.try_recv() {
                waiting.push(next);
            }
            let answer = tokio::time::timeout(CONFIRM_TIMEOUT, channel.run(&Status {})).await;
            if !matches!(answer, Ok(Ok(status)) if status.pid == access.pid) {
                return;
            }
            for sender in waiting {
                // One that doesn't wait any more needs no answer.
                sender.send(()).unwrap_or(());
            }
        }
    }

    async fn connect(&mut self) -> Result<LinkConnection, LinkError> {
        let mut refusal = None;
        for token in self.tokens.known() {
            match self.authenticate(&token).await {
                Err(LinkError::Refused(why)) => refusal = Some(why),
                made => return made,
            }
        }
        // The token may have been replaced.
        for token in self.tokens.read_again().await.map_err(LinkError::Refused)? {
            match self.authenticate(&token).await {
                Err(LinkError::Refused(why)) => refusal = Some(why),
                made => return made,
            }
        }
        Err(LinkError::Refused(refusal.unwrap_or_else(|| "There is no token for this client.".to_owned())))
    }

    /// Binds the bridge to its folder and profile. Returns when it has to be done again.
    async fn bind(&self, channel: &mut ControlClient, token: &Secret) -> Result<Instant, UserError> {
        let bind = BridgeBind { token: RequestSecret::new(token), profile: self.profile.clone() };
        let bound = channel.run(&bind).await?;
        match &bound.folder {
            Some(folder) => self.log.line(&format!("bound to {folder}")),
            None => {
                self.log.line("bound to no folder: the system doesn't tell in which one the bridge works")
            }
        }
        *self.credential.lock() = Some(bound.credential);
        Ok(Instant::now() + Duration::from_secs(u64::from(bound.expires_in / RENEWAL_DIVISOR)))
    }

    async fn authenticate(&self, token: &Secret) -> Result<LinkConnection, LinkError> {
        let to_error = |error: UserError| match error.code {
            ErrorCode::NotPermitted => LinkError::Refused(error.to_string()),
            _ => LinkError::NotRunning(error.to_string()),
        };
        let client = ControlClient::connect(&self.data_dir).await.map_err(to_error)?;
        let mut client = client.with_client_token(token);
        let status = client.run(&Status {}).await.map_err(to_error)?;
        let access = access(&status, token)
            .ok_or_else(|| LinkError::NotRunning(format!("{} is no address.", status.endpoint)))?;
        let rebind_at = self.bind(&mut client, token).await.map_err(|error| match error.code {
            ErrorCode::NotFound => LinkError::NoProfile(error),
            _ => to_error(error),
        })?;
        Ok(LinkConnection { access, channel: client, rebind_at })
    }
}

fn access(status: &StatusReport, token: &Secret) -> Option<GatewayAccess> {
    let (authority, path) = status.endpoint.strip_prefix("http://")?.split_once('/')?;
    Some(GatewayAccess {
        address: authority.parse::<SocketAddr>().ok().filter(|address| address.ip().is_loopback())?,
        authority: authority.to_owned(),
        path: format!("/{path}"),
        token: token.clone(),
        pid: status.pid,
    })
}
