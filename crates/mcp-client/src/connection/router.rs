//! Routes messages of a server that are not for rmcp. Notifications are handled here, in the order
//! of the transport; requests of the server are passed to the responder that answers them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use gatehouse_mcp_wire::tasks::{TASK, task_id};
use gatehouse_model::server::{LogLevel, LogLine, LogSource};
use gatehouse_model::{BoxFuture, ServerConfig};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::mpsc::{self, error::TrySendError};
use tokio_util::sync::CancellationToken;

use super::pending_requests::{Attribution, MessageOrigin, PendingRequests};
use super::{ConnectDeps, Inbound, envelope};
use crate::bounds;
use crate::forwarded_notification::{ForwardedNotification, NotificationKind};
use crate::redact::Redactor;
use crate::server_requests::{self, ServerRequest, ServerRequestHandler};

/// Sends a message to the server on a best-effort basis.
pub(super) type ResponseSender = Arc<dyn Fn(Vec<u8>) -> BoxFuture<'static, ()> + Send + Sync>;

/// Dependencies of a router.
pub(super) struct RouterDeps {
    /// The settings with which the connection was made.
    pub(super) config: Arc<ServerConfig>,
    pub(super) deps: Arc<ConnectDeps>,
    /// Receives everything but progress and requests.
    pub(super) inbound: mpsc::Sender<Inbound>,
    /// Sends the responses to the server's requests.
    pub(super) send_response: ResponseSender,
    /// Removes the server's secrets from what it says.
    pub(super) redactor: Redactor,
}

/// Handles unsolicited messages of a server.
pub(super) struct MessageRouter {
    /// Gatehouse's pending requests.
    pub(super) pending_requests: PendingRequests,
    parts: RouterDeps,
    pending_changes: [Arc<AtomicBool>; 3],
    /// The server's pending requests, by id.
    open_requests: Mutex<HashMap<Box<str>, CancellationToken>>,
}

impl MessageRouter {
    pub(super) fn new(parts: RouterDeps) -> Self {
        Self {
            pending_requests: PendingRequests::default(),
            parts,
            pending_changes: Default::default(),
            open_requests: Mutex::default(),
        }
    }

    /// Ends all pending requests in both directions.
    pub(super) fn end(&self) {
        self.pending_requests.end();
        for (_, cancel) in self.open_requests.lock().drain() {
            cancel.cancel();
        }
    }

    /// Handles one request of the server; the response is sent when the responder has answered, or
    /// when nobody waits any more for the call that it belongs to.
    pub(super) fn handle_request(self: &Arc<Self>, request: IncomingRequest<'_>, origin: MessageOrigin) {
        let IncomingRequest { id, method, params } = request;
        let params = params.map(|params| self.parts.redactor.raw(params));
        let id: Box<str> = id.get().into();
        let known = matches!(
            method,
            server_requests::ELICITATION_CREATE
                | server_requests::SAMPLING_CREATE_MESSAGE
                | server_requests::ROOTS_LIST
        );
        if !known {
            let reply = match method {
                "ping" => envelope::answer(&id, &Ok(crate::json::empty_object())),
                _ => envelope::answer(&id, &Err(server_requests::error(-32601, "Method not found"))),
            };
            self.parts.deps.tasks.spawn((self.parts.send_response)(reply));
            return;
        }
        if params.as_ref().is_some_and(|params| params.get().len() > bounds::SERVER_REQUEST_BYTES) {
            let refused = server_requests::error(-32602, "The params of a request are larger than 1 MiB.");
            self.parts.deps.tasks.spawn((self.parts.send_response)(envelope::answer(&id, &Err(refused))));
            return;
        }
        let cancel = CancellationToken::new();
        {
            let mut open = self.open_requests.lock();
            if open.len() >= bounds::SERVER_REQUESTS || open.contains_key(&id) {
                let refused = server_requests::error(-32603, "This id is in use, or too many requests wait.");
                self.parts.deps.tasks.spawn((self.parts.send_response)(envelope::answer(&id, &Err(refused))));
                return;
            }
            open.insert(id.clone(), cancel.clone());
        }
        let origin = self.pending_requests.origin(origin, params.as_deref());
        let Attribution { responder, held, calls } = self.pending_requests.attribute(origin);
        let respond = match responder {
            Some(responder) => responder.respond,
            None => Arc::new(self.parts.deps.fallback.clone()) as Arc<dyn ServerRequestHandler>,
        };
        let request = ServerRequest {
            server: Arc::clone(&self.parts.config),
            method: method.into(),
            params: params.map_or_else(crate::json::empty_object, Cow::into_owned),
            key: None,
        };
        tracing::debug!(method, "the server asks");
        let router = Arc::clone(self);
        self.parts.deps.tasks.spawn(async move {
            let schemas = &router.parts.deps.schemas;
            let answer = tokio::select! {
                biased;
                () = cancel.cancelled() => None,
                () = calls.ended() => {
                    Some(Err(server_requests::error(-32603, "The call that this was asked for has ended.")))
                }
                answer = server_requests::handle_server_request(&*respond, request, schemas) => Some(answer),
            };
            drop(held);
            if let Some(answer) = answer {
                (router.parts.send_response)(envelope::answer(&id, &answer)).await;
            }
            router.open_requests.lock().remove(&id);
        });
    }

    /// Handles `notifications/cancelled`: the server no longer waits for the response to its
    /// request.
    fn cancel_incoming(&self, params: Option<&RawValue>) {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Params<'a> {
            #[serde(borrow)]
            request_id: &'a RawValue,
        }
        let Some(Params { request_id }) = params.and_then(|params| serde_json::from_str(params.get()).ok())
        else {
            return;
        };
        if let Some(cancel) = self.open_requests.lock().get(request_id.get()) {
            cancel.cancel();
        }
    }

    /// Handles one notification.
    pub(super) fn notification(&self, method: &str, params: Option<&RawValue>, origin: MessageOrigin) {
        let params = params.map(|params| self.parts.redactor.raw(params));
        let params = params.as_deref();
        let origin = self.pending_requests.origin(origin, params);
        match method {
            "notifications/progress" => {
                if !params.is_some_and(|params| self.pending_requests.progress(params)) {
                    tracing::trace!("progress came that nobody waits for");
                }
            }
            "notifications/cancelled" => self.cancel_incoming(params),
            "notifications/tools/list_changed" => self.send_change(0, Inbound::ToolsChanged),
            "notifications/prompts/list_changed" => self.send_change(1, Inbound::PromptsChanged),
            "notifications/resources/list_changed" => self.send_change(2, Inbound::ResourcesChanged),
            "notifications/resources/updated" => {
                #[derive(Deserialize)]
                struct Params {
                    uri: String,
                }
                if let Some(Params { uri }) =
                    params.and_then(|params| serde_json::from_str(params.get()).ok())
                    && uri.len() <= bounds::RESOURCE_URI
                {
                    self.forward(NotificationKind::ResourceUpdated { uri }, params);
                }
            }
            "notifications/elicitation/complete" => {
                #[derive(Deserialize)]
                #[serde(rename_all = "camelCase")]
                struct Params {
                    elicitation_id: String,
                }
                if let Some(Params { elicitation_id: id }) =
                    params.and_then(|params| serde_json::from_str(params.get()).ok())
                {
                    self.forward(NotificationKind::ElicitationCompleted { id }, params);
                }
            }
            "notifications/tasks/status" => {
                if let Some(params) = params
                    && let Some(task) = task_id(params, TASK)
                {
                    self.forward(NotificationKind::TaskStatus { task }, Some(params));
                }
            }
            "notifications/message" => {
                if let Some((params, (level, text))) =
                    params.and_then(|params| Some(params).zip(log_text(params, &self.parts.redactor)))
                {
                    let line = LogLine { at: self.now(), source: LogSource::Server, level, text };
                    self.send_lossy(Inbound::Log { line });
                    if let Some(level) = level {
                        match self.pending_requests.responder_for(origin) {
                            Some(meant) => meant.respond.logged(level, params),
                            None if self.pending_requests.may_be_about_a_call(origin) => {}
                            None => self.forward(NotificationKind::Log { level }, Some(params)),
                        }
                    }
                }
            }
            // About Gatehouse's own subscription.
            other if other.starts_with("notifications/subscriptions/") => {}
            // As with log messages: what may be about a call is only for the client of that call.
            other if other.len() <= bounds::FORWARDED_METHOD => {
                match self.pending_requests.responder_for(origin) {
                    Some(meant) => {
                        if let Some(params) = forwarded_params(params) {
                            meant.respond.notified(other, params);
                        }
                    }
                    None if self.pending_requests.may_be_about_a_call(origin) => {}
                    None => self.forward(NotificationKind::Custom { method: other.to_owned() }, params),
                }
            }
            _ => tracing::debug!("a notification whose method is too long is passed over"),
        }
    }

    /// Passes a notification on to clients, unless it is too long.
    fn forward(&self, kind: NotificationKind, params: Option<&RawValue>) {
        let Some(params) = forwarded_params(params) else {
            tracing::debug!(?kind, "a notification is not passed on: its params are too long or no object");
            return;
        };
        self.send_lossy(Inbound::Forwarded(ForwardedNotification { kind, params: params.into() }));
    }

    /// Forwards a line of standard error.
    pub(super) fn stderr(&self, text: String) -> LogLine {
        let text = self.parts.redactor.text(text);
        let line = LogLine { at: self.now(), source: LogSource::Stderr, level: None, text };
        self.send_lossy(Inbound::Stderr(line.clone()));
        line
    }

    fn now(&self) -> gatehouse_model::Timestamp {
        self.parts.deps.clock.now()
    }

    /// Forwards a log line or a resource update, which is lost when the receiver is too slow.
    fn send_lossy(&self, inbound: Inbound) {
        if let Err(TrySendError::Full(_)) = self.parts.inbound.try_send(inbound) {
            tracing::debug!("a server says more than is taken; a line of it is lost");
        }
    }

    /// Forwards a change, which must arrive: if the channel is full, a task waits for room, at most
    /// one per kind of change.
    fn send_change(&self, kind: usize, change: Inbound) {
        let Err(TrySendError::Full(change)) = self.parts.inbound.try_send(change) else { return };
        let Some(pending_changes) = self.pending_changes.get(kind).map(Arc::clone) else { return };
        if pending_changes.swap(true, Ordering::AcqRel) {
            return;
        }
        let inbound = self.parts.inbound.clone();
        self.parts.deps.tasks.spawn(async move {
            let permit = inbound.reserve().await;
            pending_changes.store(false, Ordering::Release);
            if let Ok(permit) = permit {
                permit.send(change);
            }
        });
    }
}

/// A request of the server.
pub(super) struct IncomingRequest<'a> {
    pub(super) id: &'a RawValue,
    pub(super) method: &'a str,
    pub(super) params: Option<&'a RawValue>,
}

/// The params of a notification that is passed on; `None` if they are too long or no object.
fn forwarded_params(params: Option<&RawValue>) -> Option<&str> {
    let params = params.map_or("{}", RawValue::get);
    (params.len() <= bounds::FORWARDED_PARAMS && params.starts_with('{')).then_some(params)
}

/// Level and `logger: data` of a `notifications/message`. Redacted again, because some secrets are
/// recognisable only after the JSON string is decoded.
fn log_text(params: &RawValue, redactor: &Redactor) -> Option<(Option<LogLevel>, String)> {
    #[derive(Deserialize)]
    struct Params<'a> {
        #[serde(borrow, default)]
        level: Option<&'a RawValue>,
        #[serde(default)]
        logger: Option<String>,
        #[serde(borrow)]
        data: &'a RawValue,
    }
    let Params { level, logger, data } = serde_json::from_str(params.get()).ok()?;
    let data = serde_json::from_str::<String>(data.get()).unwrap_or_else(|_| data.get().to_owned());
    let level = level.and_then(|level| serde_json::from_str(level.get()).ok());
    let logger = logger.map(|logger| format!("{logger}: ")).unwrap_or_default();
    // Redact before truncating: half a secret would not be recognised.
    let text = redactor.text(logger + &data);
    Some((level, text.chars().take(bounds::LOG_LINE).collect()))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use gatehouse_auth::NoSignIn;
    use gatehouse_model::server::{HeaderProgram, Remote};
    use gatehouse_model::{Secret, SystemClock, Transport};

    use super::*;
    use crate::error::ConnectError;
    use crate::host::{PreparedProcess, ServerHost};
    use crate::request::{RequestParams, UpstreamRequest};
    use crate::server_requests::{Responder, ServerRequestResult};

    /// A machine on which nothing can be started. A router needs none.
    struct NoHost;

    fn nothing<T: Send + 'static>() -> BoxFuture<'static, Result<T, ConnectError>> {
        Box::pin(async { Err(ConnectError::CANCELLED) })
    }

    impl ServerHost for NoHost {
        fn headers<'a>(
            &'a self,
            _: &'a Arc<ServerConfig>,
            _: &'a Redactor,
        ) -> BoxFuture<'a, Result<Vec<(String, Secret)>, ConnectError>> {
            nothing()
        }

        fn run_header_program<'a>(
            &'a self,
            _: &'a HeaderProgram,
        ) -> BoxFuture<'a, Result<Vec<(String, String)>, ConnectError>> {
            nothing()
        }

        fn prepare_process<'a>(
            &'a self,
            _: &'a Arc<ServerConfig>,
            _: &'a Redactor,
        ) -> BoxFuture<'a, Result<Box<dyn PreparedProcess>, ConnectError>> {
            nothing()
        }
    }

    /// Dependencies of a connection that writes nothing to disk.
    fn deps() -> Arc<ConnectDeps> {
        Arc::new(ConnectDeps {
            host: Arc::new(NoHost),
            tokens: Arc::new(NoSignIn),
            clock: Arc::new(SystemClock),
            data_dir: PathBuf::from("/nonexistent"),
            schemas: Arc::default(),
            fallback: Default::default(),
            tasks: Default::default(),
        })
    }

    fn config() -> ServerConfig {
        ServerConfig::new("router", "router", Transport::Http(Remote::at("http://router/mcp")))
    }

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    fn router(room: usize) -> (MessageRouter, mpsc::Receiver<Inbound>) {
        let (inbound, taken) = mpsc::channel(room);
        let send_response: ResponseSender = Arc::new(|_| Box::pin(async {}));
        let config = Arc::new(config());
        (
            MessageRouter::new(RouterDeps {
                config,
                deps: deps(),
                inbound,
                send_response,
                redactor: Redactor::default(),
            }),
            taken,
        )
    }

    #[tokio::test]
    async fn change_waits_for_capacity_once() {
        let (router, mut taken) = router(1);
        router.notification(
            "notifications/message",
            Some(&raw(r#"{"level":"info","data":"hello"}"#)),
            MessageOrigin::Unspecified,
        );
        for _ in 0..3 {
            router.notification("notifications/tools/list_changed", None, MessageOrigin::Unspecified);
        }
        let Some(Inbound::Log { line }) = taken.recv().await else { panic!("a log line") };
        assert_eq!((line.level, line.text.as_str()), (Some(LogLevel::Info), "hello"));
        assert_eq!(taken.recv().await, Some(Inbound::ToolsChanged));
        drop(router);
        assert_eq!(taken.recv().await, None);
    }

    #[tokio::test]
    async fn forwards_what_is_for_clients() {
        let (router, mut taken) = router(8);
        let long = format!(r#"{{"text":"{}"}}"#, "x".repeat(bounds::FORWARDED_PARAMS));
        for (method, params) in [
            ("notifications/resources/updated", Some(r#"{"uri":"a://b","x":1.0}"#)),
            ("notifications/elicitation/complete", Some(r#"{"elicitationId":"e"}"#)),
            ("vendor/moved", None),
            // About Gatehouse's own subscription, no object, and too long.
            ("notifications/subscriptions/acknowledged", Some("{}")),
            ("vendor/list", Some("[1]")),
            ("vendor/long", Some(long.as_str())),
        ] {
            let params = params.map(raw);
            router.notification(method, params.as_deref(), MessageOrigin::Unspecified);
        }
        drop(router);
        let mut forwarded = Vec::new();
        while let Some(Inbound::Forwarded(notification)) = taken.recv().await {
            forwarded.push((notification.kind, notification.params.to_string()));
        }
        let (uri, id, method) = ("a://b".to_owned(), "e".to_owned(), "vendor/moved".to_owned());
        assert_eq!(
            forwarded,
            [
                (NotificationKind::ResourceUpdated { uri }, r#"{"uri":"a://b","x":1.0}"#.to_owned()),
                (NotificationKind::ElicitationCompleted { id }, r#"{"elicitationId":"e"}"#.to_owned()),
                (NotificationKind::Custom { method }, "{}".to_owned()),
            ]
        );
    }

    /// What the client of a call is told.
    #[derive(Default)]
    struct CallClient(Mutex<Vec<String>>);

    impl ServerRequestHandler for CallClient {
        fn respond(&self, _: ServerRequest) -> BoxFuture<'static, ServerRequestResult> {
            Box::pin(std::future::pending())
        }

        fn notified(&self, method: &str, params: &str) {
            self.0.lock().push(format!("{method} {params}"));
        }
    }

    #[tokio::test]
    async fn custom_notification_during_calls_is_only_for_the_client_of_its_call() {
        let (router, mut taken) = router(8);
        let own = envelope::RequestMeta::new(Vec::new());
        let call = |name: &str| {
            let client = Arc::new(CallClient::default());
            let respond: Arc<dyn ServerRequestHandler> = client.clone();
            let request = UpstreamRequest {
                responder: Some(Responder { client_key: name.into(), respond }),
                ..UpstreamRequest::new("tools/call", RequestParams::none())
            };
            let begun = router.pending_requests.begin(request, &own).unwrap();
            (client, begun.ticket.number)
        };
        let notify = |number: u8, origin| {
            let params = raw(&format!(r#"{{"n":{number}}}"#));
            router.notification("vendor/moved", Some(&params), origin);
        };
        let (one, number) = call("one");
        notify(1, MessageOrigin::Unspecified);
        let (two, _) = call("two");
        // It may be about the call of either.
        notify(2, MessageOrigin::Unspecified);
        notify(3, MessageOrigin::Call(number));
        let expected = [r#"vendor/moved {"n":1}"#, r#"vendor/moved {"n":3}"#];
        assert_eq!(*one.0.lock(), expected);
        assert!(two.0.lock().is_empty());
        assert!(taken.try_recv().is_err(), "it is passed on to others");
    }

    #[tokio::test]
    async fn what_is_about_a_task_is_only_for_the_client_of_the_task() {
        let (router, mut taken) = router(8);
        let own = envelope::RequestMeta::new(Vec::new());
        let call = |method: &'static str, params: RequestParams| {
            let client = Arc::new(CallClient::default());
            let respond: Arc<dyn ServerRequestHandler> = client.clone();
            let request = UpstreamRequest {
                responder: Some(Responder { client_key: method.into(), respond }),
                ..UpstreamRequest::new(method, params)
            };
            router.pending_requests.begin(request, &own).unwrap();
            client
        };
        let notify = |task: &str| {
            let params = format!(
                r#"{{"_meta":{{"io.modelcontextprotocol/related-task":{{"taskId":"{task}"}}}},"level":"info","data":1}}"#
            );
            router.notification("vendor/moved", Some(&raw(&params)), MessageOrigin::Unspecified);
            router.notification("notifications/message", Some(&raw(&params)), MessageOrigin::Unspecified);
        };
        // Nobody waits for it, and it isn't for everybody.
        notify("a");
        let other = call("tools/call", RequestParams::none());
        notify("a");
        // Asking for its state is no waiting.
        let looking = call("tasks/get", RequestParams::none().with_text("taskId", "a"));
        notify("a");
        let waiting = call("tasks/result", RequestParams::none().with_text("taskId", "a"));
        notify("a");
        notify("b");
        assert!(other.0.lock().is_empty() && looking.0.lock().is_empty());
        assert_eq!(waiting.0.lock().len(), 1);
        drop(router);
        while let Some(inbound) = taken.recv().await {
            assert!(matches!(inbound, Inbound::Log { .. }), "{inbound:?}");
        }
    }

    #[tokio::test]
    async fn drops_log_lines_when_full() {
        let (router, mut taken) = router(1);
        for number in 0..3 {
            router.notification(
                "notifications/message",
                Some(&raw(&format!(r#"{{"data":{number}}}"#))),
                MessageOrigin::Unspecified,
            );
        }
        drop(router);
        assert!(matches!(taken.recv().await, Some(Inbound::Log { line }) if line.text == "0"));
        assert_eq!(taken.recv().await, None);
    }
}
