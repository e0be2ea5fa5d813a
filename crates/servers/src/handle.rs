//! The public interface to one server: settings, status, lists, and calls. A call goes straight to
//! the connection, bypassing the actor. The handle itself never connects, never retries and never
//! decides whether a call may run.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use gatehouse_mcp_client::lists::{ListKind, ServerLists, error_text};
use gatehouse_mcp_client::{
    CallLimit, Redactor, RequestParams, RpcOutcome, UpstreamError, UpstreamErrorKind, UpstreamRequest,
    json as raw_json,
};
use gatehouse_mcp_wire::ProtocolFamily;
use gatehouse_model::server::{LogLevel, LogLine};
use gatehouse_model::{ErrorCode, Generation, ServerConfig, ServerStatus, Timestamp, UserError, message};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::second_connection::CallRoute;
use crate::shared::{ActorMessage, LiveConnection, SET_LEVEL, SUBSCRIBE, ServerShared, set_level_request};

/// Lines of a server's log that are shown with its status.
const TAIL_LINES: usize = 20;

/// A handle to one server. Cheap to clone; doesn't keep the server running.
#[derive(Clone)]
pub struct ServerHandle {
    pub(crate) shared: Arc<ServerShared>,
}

impl fmt::Debug for ServerHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ServerHandle").field(&self.shared.id).finish()
    }
}

impl ServerHandle {
    /// The settings.
    pub fn config(&self) -> Arc<ServerConfig> {
        self.shared.config.load_full()
    }

    pub fn status(&self) -> ServerStatus {
        (**self.shared.status.load()).clone()
    }

    /// Removes the secrets that the server was given, for records of its calls.
    pub fn redactor(&self) -> Redactor {
        Redactor::clone(&self.shared.redactor.load())
    }

    /// Whether there is a connection, so that [`Self::lists`] are what the server has now.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.shared.live.load().is_some()
    }

    /// The known lists of tools, resources and prompts; kept while the server is not connected.
    pub fn lists(&self) -> Arc<ServerLists> {
        self.shared.lists.load_full()
    }

    /// Whether the user stopped it. Then only an explicit start connects it again; a call doesn't.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.shared.is_held.load(Ordering::SeqCst)
    }

    /// Whether it doesn't run because nothing needed it yet, so that a call would start it.
    #[must_use]
    pub fn starts_when_called(&self) -> bool {
        matches!(**self.shared.status.load(), ServerStatus::Stopped) && !self.is_held()
    }

    /// The part of its log that is kept in memory (the last 200 lines), oldest first.
    pub fn log(&self) -> Vec<LogLine> {
        self.shared.log.lock().iter().cloned().collect()
    }

    /// The last 20 lines of its log, oldest first.
    pub fn log_tail(&self) -> Vec<LogLine> {
        let log = self.shared.log.lock();
        log.iter().skip(log.len().saturating_sub(TAIL_LINES)).cloned().collect()
    }

    /// Counts an error of this server.
    pub fn count_error(&self, at: Timestamp) {
        self.shared.errors.lock().add(at);
    }

    /// Number of errors within the last hour: of its log, its connections and its calls.
    pub fn errors_last_hour(&self, now: Timestamp) -> u32 {
        self.shared.errors.lock().count(now)
    }

    /// Sends a request. If the server is enabled but not connected, waits for one attempt to
    /// connect. The time limit comes from the server's settings, or else from the app's.
    ///
    /// # Errors
    /// When the server did not respond; a JSON-RPC error of the server is a [`RpcOutcome::Error`].
    pub async fn call(&self, call: UpstreamRequest) -> Result<RpcOutcome, UpstreamError> {
        self.send(None, call).await
    }

    /// Like [`ServerHandle::call`], but only to this generation of the server: a call that was
    /// allowed for one generation is never sent to another, even if the server is edited while the
    /// call waits.
    ///
    /// # Errors
    /// [`UpstreamErrorKind::Closed`] if the server's generation has changed, otherwise as for `call`.
    pub async fn call_generation(
        &self,
        generation: Generation,
        call: UpstreamRequest,
    ) -> Result<RpcOutcome, UpstreamError> {
        self.send(Some(generation), call).await
    }

    async fn send(
        &self,
        meant: Option<Generation>,
        call: UpstreamRequest,
    ) -> Result<RpcOutcome, UpstreamError> {
        let shared = &*self.shared;
        let pause = shared.calls.lock().clone();
        if !shared.is_on() {
            return Err(UpstreamErrorKind::SwitchedOff.into());
        }
        let live = match shared.live.load_full() {
            Some(live) => live,
            None => tokio::select! {
                biased;
                () = pause.cancelled() => return Err(UpstreamErrorKind::Cancelled.into()),
                () = call.cancel.cancelled() => return Err(UpstreamErrorKind::Cancelled.into()),
                live = self.connected() => live?,
            },
        };
        if meant.is_some_and(|meant| meant != live.generation) {
            return Err(settings_changed());
        }
        if let (CallRoute::Unopened, Some(second)) = (live.route(&call), &live.second) {
            tokio::select! {
                biased;
                () = pause.cancelled() => return Err(UpstreamErrorKind::Cancelled.into()),
                () = call.cancel.cancelled() => return Err(UpstreamErrorKind::Cancelled.into()),
                _ = second.open() => {}
            }
        }
        let route = live.route(&call);
        self.send_over(SendRoute { live, route, pause }, call).await
    }

    /// Sends a request over one connection.
    async fn send_over(
        &self,
        SendRoute { live, route, pause }: SendRoute,
        call: UpstreamRequest,
    ) -> Result<RpcOutcome, UpstreamError> {
        let shared = &*self.shared;
        let second = match route {
            CallRoute::Second(second) => Some(second),
            CallRoute::Main | CallRoute::Unopened => None,
        };
        let (connection, declared) = match &second {
            Some(second) => (&second.connection, &second.declared),
            None => (&live.connection, &live.declared),
        };
        if !declared.covers(&call.method) {
            let lists = ListKind::of_method(&call.method).filter(|_| !shared.config.load().limits.strict);
            return Ok(match lists {
                Some(kind) => RpcOutcome::Result(kind.empty()),
                None => RpcOutcome::Error(not_offered(&call.method)),
            });
        }
        let limit = CallLimit::for_calls(&shared.config.load().limits, &shared.call_limits());
        let running = InFlightGuard::begin(&shared.in_flight);
        let answer = tokio::select! {
            biased;
            () = pause.cancelled() => Err(UpstreamError::from(UpstreamErrorKind::Cancelled)),
            answer = connection.request(call, limit) => answer,
            () = live.ended.cancelled() => {
                let reason = match live.break_reason.get() {
                    Some(reason) => reason.clone(),
                    None if shared.is_on() => message!("error.servers.stoppedOrReconnected").into(),
                    None => message!("error.servers.mcpSwitchedOff").into(),
                };
                Err(UpstreamError::from(UpstreamErrorKind::Closed { reason }))
            }
        };
        drop(running);
        let error = match answer {
            Ok(outcome) => return Ok(outcome),
            Err(error) => error,
        };
        if let (Some(open), Some(second)) = (&second, &live.second) {
            match error.kind {
                UpstreamErrorKind::SessionLost => {
                    second.discard(open);
                    return Err(error);
                }
                UpstreamErrorKind::Transport { .. } => open.suspect.notify_one(),
                UpstreamErrorKind::Unavailable { .. }
                | UpstreamErrorKind::SwitchedOff
                | UpstreamErrorKind::TimedOut { .. }
                | UpstreamErrorKind::Cancelled
                | UpstreamErrorKind::Closed { .. }
                | UpstreamErrorKind::NeedsAuth { .. } => {}
            }
        } else if error.kind == UpstreamErrorKind::SessionLost {
            let (settled, wait) = oneshot::channel();
            let message = ActorMessage::SessionLost { epoch: live.epoch, settled };
            if shared.inbox.send(message).await.is_ok() && wait.await.is_err() {
                tracing::debug!(server = %shared.id, "the server went away while its session was opened anew");
            }
        }
        shared.report_failure(live.epoch, &error);
        Err(error)
    }

    /// Waits for one attempt to connect if there is no connection that a call of this family is sent
    /// over, at most for as long as a call may take. `true` if it had to wait: then the lists may have
    /// changed.
    pub async fn ready(
        &self,
        family: ProtocolFamily,
        cancel: &CancellationToken,
    ) -> Result<bool, UpstreamError> {
        if !self.shared.is_on() {
            return Err(UpstreamErrorKind::SwitchedOff.into());
        }
        let pause = self.shared.calls.lock().clone();
        let over = async {
            let CallLimit { silent, cap } =
                CallLimit::for_calls(&self.shared.config.load().limits, &self.shared.call_limits());
            match silent.into_iter().chain(cap).min() {
                Some(limit) => tokio::time::sleep(limit).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = pause.cancelled() => Err(UpstreamErrorKind::Cancelled.into()),
            () = cancel.cancelled() => Err(UpstreamErrorKind::Cancelled.into()),
            waited = self.connected_for(family) => waited,
            () = over => Err(UpstreamErrorKind::Unavailable { status: Box::new(self.status()) }.into()),
        }
    }

    async fn connected_for(&self, family: ProtocolFamily) -> Result<bool, UpstreamError> {
        let (live, waited) = match self.shared.live.load_full() {
            Some(live) => (live, false),
            None => (self.connected().await?, true),
        };
        match live.second_for(family) {
            Some(second) => Ok(second.open().await || waited),
            None => Ok(waited),
        }
    }

    /// Like [`ServerHandle::call_generation`], but only over an existing connection and only while
    /// the server's lists are still `lists`: a call that was judged by a tool's definition is never
    /// sent to a server that defines the tool differently. `None` if that is not the case; then
    /// nothing was sent.
    ///
    /// # Errors
    /// As for `call`.
    pub async fn call_if_unchanged(
        &self,
        lists: &Arc<ServerLists>,
        call: UpstreamRequest,
    ) -> Result<Option<RpcOutcome>, UpstreamError> {
        let pause = self.shared.calls.lock().clone();
        if !self.shared.is_on() {
            return Err(UpstreamErrorKind::SwitchedOff.into());
        }
        // The lists of a connection are published before the connection itself, so these belong to
        // it.
        let Some(live) = self.shared.live.load_full() else { return Ok(None) };
        if live.generation != lists.generation || !Arc::ptr_eq(&self.lists(), lists) {
            return Ok(None);
        }
        let route = match live.route(&call) {
            // It was open when the call was judged.
            CallRoute::Unopened => return Ok(None),
            route @ (CallRoute::Main | CallRoute::Second(_)) => route,
        };
        self.send_over(SendRoute { live, route, pause }, call).await.map(Some)
    }

    /// Subscribes to changes of a resource ([`gatehouse_model::Event::ResourcesChanged`]) on this
    /// generation of the server. Counted: the subscription lasts until every `watch` was ended by
    /// an [`unwatch`](Self::unwatch).
    ///
    /// # Errors
    /// As for `call`. A server that doesn't offer subscriptions, or refuses, answers with an error.
    pub async fn watch(&self, generation: Generation, uri: &str) -> Result<RpcOutcome, UpstreamError> {
        let cancel = CancellationToken::new();
        self.ready(ProtocolFamily::Stateless, &cancel).await?;
        let Some(live) = self.shared.live.load_full().filter(|live| live.generation == generation) else {
            return Err(settings_changed());
        };
        if !live.declared.covers(SUBSCRIBE) {
            return Ok(RpcOutcome::Error(not_offered(SUBSCRIBE)));
        }
        let (first, all) = {
            let mut watched = self.shared.watched.lock();
            let count = watched.entry(uri.to_owned()).or_default();
            *count += 1;
            (*count == 1, watched.keys().cloned().collect())
        };
        if !first {
            return Ok(RpcOutcome::Result(raw_json::empty_object()));
        }
        match live.connection.handshake().protocol_family {
            ProtocolFamily::Stateless => {
                live.connection.watch(all);
                Ok(RpcOutcome::Result(raw_json::empty_object()))
            }
            ProtocolFamily::Stateful => {
                let answer = self.call_generation(generation, about_resource(SUBSCRIBE, uri)).await;
                if !matches!(answer, Ok(RpcOutcome::Result(_))) {
                    self.shared.remove_watch(uri);
                }
                answer
            }
        }
    }

    /// Sets the log level that the user wants.
    pub(crate) async fn set_log_level(&self, level: LogLevel) -> Result<(), UserError> {
        let what = || message!("error.servers.logLevelUnset", name = &self.config().name);
        let before = self.shared.log_level.lock().replace(level);
        let refused = match self.send_log_level().await {
            Ok(RpcOutcome::Result(_)) => return Ok(()),
            Ok(RpcOutcome::Error(error)) => {
                UserError::new(ErrorCode::BadRequest, what()).with_cause(error_text(&error))
            }
            Err(error) => {
                UserError::new(ErrorCode::ServerUnavailable, what()).with_cause(format!("{error}."))
            }
        };
        *self.shared.log_level.lock() = before;
        Err(refused)
    }

    /// Applies the log level that the clients want, if the server is connected; otherwise it is set
    /// on the next connection.
    pub(crate) async fn apply_clients_log_level(&self) {
        let Some(live) = self.shared.live.load_full() else { return };
        if !live.declared.covers(SET_LEVEL) {
            return;
        }
        match self.send_log_level().await {
            Ok(RpcOutcome::Result(_)) => {}
            Ok(RpcOutcome::Error(error)) => {
                tracing::debug!(server = %self.shared.id, error = %error_text(&error), "a log level was refused");
            }
            Err(error) => tracing::debug!(server = %self.shared.id, %error, "a log level was not set"),
        }
    }

    /// Sends the log level. The protocol has no request to reset it: without a wanted level, a
    /// server of an older revision keeps the last one, while on the stateless revision requests no
    /// longer carry it.
    async fn send_log_level(&self) -> Result<RpcOutcome, UpstreamError> {
        let level = self.shared.wanted_log_level();
        if let Some(live) = self.shared.live.load_full()
            && live.connection.handshake().protocol_family == ProtocolFamily::Stateless
            && live.declared.covers(SET_LEVEL)
        {
            live.connection.set_log_level(level);
            self.send_second_log_level(&live, level).await;
            return Ok(RpcOutcome::Result(raw_json::empty_object()));
        }
        let Some(level) = level else { return Ok(RpcOutcome::Result(raw_json::empty_object())) };
        self.call(set_level_request(level)).await
    }

    /// Sets the log level of the second connection, if it is open; otherwise it is set when it is opened.
    async fn send_second_log_level(&self, live: &LiveConnection, level: Option<LogLevel>) {
        let open = live.second.as_ref().and_then(|second| second.current());
        let (Some(open), Some(level)) = (open.filter(|open| open.declared.covers(SET_LEVEL)), level) else {
            return;
        };
        let limit = CallLimit::total(self.config().limits.connect());
        if let Err(error) = open.connection.request(set_level_request(level), limit).await {
            tracing::debug!(server = %self.shared.id, %error, "a log level was not set");
        }
    }

    /// Ends one [`ServerHandle::watch`]; the last one also unsubscribes on the server.
    pub async fn unwatch(&self, uri: &str) {
        let Some(all) = self.shared.remove_watch(uri) else { return };
        let Some(live) = self.shared.live.load_full() else { return };
        match live.connection.handshake().protocol_family {
            ProtocolFamily::Stateless => live.connection.watch(all),
            ProtocolFamily::Stateful => {
                let call = about_resource("resources/unsubscribe", uri);
                if let Err(error) = self.call_generation(live.generation, call).await {
                    tracing::debug!(%error, "a resource could not be unsubscribed from");
                }
            }
        }
    }

    /// Waits for one attempt to connect.
    async fn connected(&self) -> Result<Arc<LiveConnection>, UpstreamError> {
        let shared = &*self.shared;
        let (settled, wait) = oneshot::channel();
        if shared.inbox.send(ActorMessage::Wanted(settled)).await.is_ok() && wait.await.is_err() {
            tracing::debug!(server = %shared.id, "the server went away while a call waited for it");
        }
        if let Some(live) = shared.live.load_full() {
            return Ok(live);
        }
        if !shared.is_on() {
            return Err(UpstreamErrorKind::SwitchedOff.into());
        }
        match self.status() {
            ServerStatus::NeedsAuth { issuer } => Err(UpstreamErrorKind::NeedsAuth { issuer }.into()),
            status => Err(UpstreamErrorKind::Unavailable { status: Box::new(status) }.into()),
        }
    }
}

/// Where a request is sent, and what ends it from outside.
struct SendRoute {
    live: Arc<LiveConnection>,
    route: CallRoute,
    pause: CancellationToken,
}

/// Counts a call in flight until it is dropped.
struct InFlightGuard<'a>(&'a AtomicUsize);

impl<'a> InFlightGuard<'a> {
    fn begin(counter: &'a AtomicUsize) -> Self {
        counter.fetch_add(1, Ordering::Relaxed);
        Self(counter)
    }
}

impl Drop for InFlightGuard<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn about_resource(method: &'static str, uri: &str) -> UpstreamRequest {
    UpstreamRequest::new(method, RequestParams::none().with_text("uri", uri))
}

fn settings_changed() -> UpstreamError {
    UpstreamErrorKind::Closed { reason: message!("error.servers.settingsChanged").into() }.into()
}

fn not_offered(method: &str) -> Box<serde_json::value::RawValue> {
    raw_json::raw(&serde_json::json!({
        "code": -32601,
        "message": format!("The server does not offer {method}: it did not declare the capability."),
    }))
}
