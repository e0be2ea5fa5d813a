//! One attempt to connect and the connection that results from it, with its second one, until its last process is gone.
//! Attempts of one server never overlap: each waits until nothing of the previous one is left.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_mcp_client::lists::{
    Declared, FetchError, FetchedList, ListKind, ServerLists, SkippedItems, fetch,
};
use gatehouse_mcp_client::{
    CallLimit, ConnectionEnd, RequestParams, ServerConnection, UpstreamError, UpstreamErrorKind,
    UpstreamRequest,
};
use gatehouse_model::status::FailureKind;
use gatehouse_model::{ServerConfig, message};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::connector::{ConnectOptions, Connector};
use super::second_connection_task::SecondConnectionTask;
use crate::health;
use crate::second_connection::{SecondConnection, may_have_second};
use crate::shared::{ActorMessage, EstablishedConnection, InitialLists, ServerShared, UnreadList};
use crate::transition::{ConnectFailure, Epoch, ServerInput};

/// How long the lists after the first one may delay a connection.
const OTHER_LISTS: Duration = Duration::from_secs(5);

impl InitialLists {
    fn record_fetched(&mut self, kind: ListKind, fetched: FetchedList) {
        self.fresh.extend(fetched.fresh_for.map(|span| (kind, span)));
        self.lists.caching.extend(fetched.caching.map(|hints| (kind, hints)));
        let shortfall = kind.set_items(&mut self.lists, fetched.items);
        describe_shortfall(kind, fetched.cut, &shortfall, &mut self.remarks);
    }

    fn record_unread(&mut self, kind: ListKind, again: bool, why: String) {
        self.unread.push(UnreadList { kind, again });
        self.remarks.push(why);
    }
}

/// Parameters and dependencies of a connection attempt.
pub(crate) struct ConnectionAttempt {
    pub(crate) epoch: Epoch,
    pub(crate) connector: Arc<dyn Connector>,
    pub(crate) options: ConnectOptions,
    /// Its inbox receives the outcome and the end of the connection.
    pub(crate) shared: Arc<ServerShared>,
    /// Cancelled when nothing of the previous attempt is left.
    pub(crate) before: Option<CancellationToken>,
}

impl ConnectionAttempt {
    /// Runs the attempt and then the connection until it ends. Cancelling the order's token ends it
    /// in any state. When this returns, nothing of it is left.
    pub(crate) async fn run(self) {
        let Self { epoch, connector, options, shared, before } = self;
        let inbox = shared.inbox.clone();
        let (stop, limit) = (options.cancel.clone(), options.config.limits.connect());
        let giving_up = stop.child_token();
        let first = ConnectOptions { cancel: giving_up.clone(), ..options.clone() };
        let second_connector = Arc::clone(&connector);
        let attempt = open(&*connector, epoch, first);
        let mut attempt = pin!(async {
            if let Some(before) = before {
                before.cancelled().await;
            }
            attempt.await
        });
        let outcome = tokio::select! {
            biased;
            outcome = &mut attempt => outcome,
            () = tokio::time::sleep(limit) => {
                notify_actor(&inbox, ActorMessage::ServerInput(ServerInput::AttemptFailed { epoch, failure: connect_timeout(limit) })).await;
                giving_up.cancel();
                attempt.await
            }
        };
        let late = giving_up.is_cancelled();
        match outcome {
            Ok(opened) if late => opened.connection.close().await,
            Ok(mut opened) => {
                let connection = Arc::clone(&opened.connection);
                let family = connection.handshake().protocol_family;
                let second = may_have_second(&options.config, family).then(|| {
                    let (place, wanted) = SecondConnection::new();
                    opened.second = Some(Arc::clone(&place));
                    let options = ConnectOptions { redactor: connection.redactor(), ..options };
                    SecondConnectionTask { connector: second_connector, options, shared, place, wanted }
                });
                notify_actor(&inbox, ActorMessage::Ready(Box::new(opened))).await;
                let ended = CancellationToken::new();
                let main = async {
                    tokio::select! {
                        biased;
                        () = stop.cancelled() => {}
                        end = connection.closed() => {
                            let input = match end {
                                ConnectionEnd::Closed { kind, reason } => {
                                    ServerInput::Closed { epoch, kind, reason }
                                }
                                ConnectionEnd::SessionLost => ServerInput::SessionLost { epoch },
                                ConnectionEnd::Challenged { issuer } => {
                                    ServerInput::Challenged { epoch, issuer }
                                }
                            };
                            notify_actor(&inbox, ActorMessage::ServerInput(input)).await;
                        }
                    }
                    ended.cancel();
                };
                let keep_second = async {
                    if let Some(second) = second {
                        second.run(ended.clone()).await;
                    }
                };
                tokio::join!(main, keep_second);
                connection.close().await;
            }
            Err(_) if late => {}
            Err(failure) => {
                notify_actor(&inbox, ActorMessage::ServerInput(ServerInput::AttemptFailed { epoch, failure }))
                    .await
            }
        }
    }
}

async fn notify_actor(inbox: &mpsc::Sender<ActorMessage>, message: ActorMessage) {
    if inbox.send(message).await.is_err() {
        tracing::debug!("an actor ended before its connection did");
    }
}

fn connect_timeout(limit: Duration) -> ConnectFailure {
    ConnectFailure::Error {
        kind: FailureKind::TemporaryNetwork,
        message: message!(
            "error.servers.attemptTimedOut",
            seconds = u32::try_from(limit.as_secs()).unwrap_or(u32::MAX)
        )
        .into(),
    }
}

/// Connects and reads the first lists.
async fn open(
    connector: &dyn Connector,
    epoch: Epoch,
    options: ConnectOptions,
) -> Result<EstablishedConnection, ConnectFailure> {
    let (config, cancel) = (Arc::clone(&options.config), options.cancel.clone());
    if cancel.is_cancelled() {
        return Err(UpstreamError::from(UpstreamErrorKind::Cancelled).into());
    }
    let connection = connector.connect(options).await?;
    let first = cancel.run_until_cancelled(first_lists(&*connection, &config)).await;
    match first.unwrap_or_else(|| Err(UpstreamErrorKind::Cancelled.into())) {
        Ok(first) => Ok(EstablishedConnection { epoch, config, connection, second: None, first }),
        Err(error) => {
            connection.close().await;
            Err(error.into())
        }
    }
}

/// Connects, reads the lists and closes: tests settings that have not been saved.
pub(crate) async fn connect_once(
    connector: &dyn Connector,
    options: ConnectOptions,
) -> Result<EstablishedConnection, ConnectFailure> {
    let (limit, giving_up) = (options.config.limits.connect(), options.cancel.clone());
    let mut attempt = pin!(open(connector, Epoch::default(), options));
    let (outcome, late) = tokio::select! {
        biased;
        outcome = &mut attempt => (outcome, false),
        () = tokio::time::sleep(limit) => {
            giving_up.cancel();
            (attempt.await, true)
        }
    };
    if let Ok(opened) = &outcome {
        opened.connection.close().await;
    }
    if late { Err(connect_timeout(limit)) } else { outcome }
}

/// Reads the lists. A server counts as connected only if its first declared list is answered, or,
/// if it declares none, the health-check request (SRV-2). Failures of the other lists don't fail
/// the attempt.
async fn first_lists(
    connection: &dyn ServerConnection,
    config: &ServerConfig,
) -> Result<InitialLists, UpstreamError> {
    let handshake = connection.handshake();
    let declared = Declared::read(&handshake.capabilities);
    let lists = ServerLists {
        generation: config.generation,
        capabilities: handshake.capabilities.clone(),
        instructions: handshake.info.instructions.clone(),
        server_info: handshake.raw_info.clone(),
        protocol: handshake.protocol.clone(),
        ..ServerLists::default()
    };
    let mut first = InitialLists { lists, unread: Vec::new(), fresh: Vec::new(), remarks: Vec::new() };
    let limit = config.limits.connect();
    let mut kinds = ListKind::ALL.into_iter().filter(|kind| declared.covers(kind.method()));
    match kinds.next() {
        None => probe(connection, limit).await?,
        Some(kind) => match fetch(connection, kind, limit).await {
            Ok(fetched) => first.record_fetched(kind, fetched),
            Err(FetchError::ServerConnection(error)) => return Err(error),
            Err(answered) => first.record_unread(kind, false, log_text(&answered)),
        },
    }
    let others = futures::future::join_all(kinds.map(async |kind| {
        let fetched = tokio::time::timeout(OTHER_LISTS, fetch(connection, kind, OTHER_LISTS)).await;
        (kind, fetched)
    }));
    for (kind, fetched) in others.await {
        match fetched {
            Ok(Ok(fetched)) => first.record_fetched(kind, fetched),
            Ok(Err(error)) => {
                first.record_unread(kind, matches!(error, FetchError::ServerConnection(_)), log_text(&error))
            }
            Err(_) => {
                first.record_unread(kind, true, format!("Gatehouse: no answer to {} in time.", kind.method()))
            }
        }
    }
    Ok(first)
}

async fn probe(connection: &dyn ServerConnection, limit: Duration) -> Result<(), UpstreamError> {
    let request = UpstreamRequest::new(health::method(connection), RequestParams::none());
    connection.request(request, CallLimit::total(limit)).await.map(|_| ())
}

/// Adds to `remarks` what was cut off or skipped in a list.
pub(crate) fn describe_shortfall(
    kind: ListKind,
    cut: Option<&str>,
    shortfall: &SkippedItems,
    remarks: &mut Vec<String>,
) {
    if let Some(cut) = cut {
        remarks.push(format!("Gatehouse: {} is not read to its end: {cut}.", kind.method()));
    }
    if let Some(why) = shortfall.why {
        let (skipped, method) = (shortfall.skipped, kind.method());
        remarks.push(format!("Gatehouse: left {skipped} of {method} out; the first because {why}."));
    }
}

pub(crate) fn log_text(error: &FetchError) -> String {
    format!("Gatehouse: {error}.")
}
