//! One attempt to connect and the connection that results from it, until its last process is gone.
//! Attempts of one server never overlap: each waits until nothing of the previous one is left.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::ServerConfig;
use gatehouse_model::status::FailureKind;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::Message;
use super::link::{ConnectOrder, Connector, Link, LinkEnd, LinkError, LinkRequest};
use crate::health;
use crate::lists::{Declared, FetchError, Fetched, ListKind, Lists, Shortfall, fetch};
use crate::outgoing::OutgoingParams;
use crate::transition::{Epoch, Failure, Input};

/// How long the lists after the first one may delay a connection.
const OTHER_LISTS: Duration = Duration::from_secs(5);

/// An established connection with the lists that were read first.
pub(crate) struct Opened {
    pub(crate) epoch: Epoch,
    pub(crate) config: Arc<ServerConfig>,
    pub(crate) link: Arc<dyn Link>,
    pub(crate) first: First,
}

/// The lists that a new connection has read.
pub(crate) struct First {
    pub(crate) lists: Lists,
    /// Declared lists that could not be read on this connection.
    pub(crate) unread: Vec<Unread>,
    /// Time-to-live of lists, where the server sets one.
    pub(crate) fresh: Vec<(ListKind, Duration)>,
    /// Lines for the server's log.
    pub(crate) remarks: Vec<String>,
}

/// A declared list that could not be read.
pub(crate) struct Unread {
    pub(crate) kind: ListKind,
    /// Whether it makes sense to request it again later.
    pub(crate) again: bool,
}

impl First {
    fn take(&mut self, kind: ListKind, fetched: Fetched) {
        self.fresh.extend(fetched.fresh_for.map(|span| (kind, span)));
        let shortfall = kind.put(&mut self.lists, fetched.items);
        note(kind, fetched.cut, &shortfall, &mut self.remarks);
    }

    fn lacks(&mut self, kind: ListKind, again: bool, why: String) {
        self.unread.push(Unread { kind, again });
        self.remarks.push(why);
    }
}

/// Parameters and dependencies of a connection attempt.
pub(crate) struct Tenure {
    pub(crate) epoch: Epoch,
    pub(crate) connector: Arc<dyn Connector>,
    pub(crate) order: ConnectOrder,
    /// Receives the outcome and the end of the connection.
    pub(crate) inbox: mpsc::Sender<Message>,
    /// Cancelled when nothing of the previous attempt is left.
    pub(crate) before: Option<CancellationToken>,
}

impl Tenure {
    /// Runs the attempt and then the connection until it ends. Cancelling the order's token ends it
    /// in any state. When this returns, nothing of it is left.
    pub(crate) async fn run(self) {
        let Self { epoch, connector, order, inbox, before } = self;
        let (stop, limit) = (order.cancel.clone(), order.config.limits.connect());
        let giving_up = stop.child_token();
        let attempt = open(&*connector, epoch, ConnectOrder { cancel: giving_up.clone(), ..order });
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
                tell(&inbox, Message::Input(Input::AttemptFailed { epoch, failure: too_slow(limit) })).await;
                giving_up.cancel();
                attempt.await
            }
        };
        let late = giving_up.is_cancelled();
        match outcome {
            Ok(opened) if late => opened.link.close().await,
            Ok(opened) => {
                let link = Arc::clone(&opened.link);
                tell(&inbox, Message::Ready(Box::new(opened))).await;
                tokio::select! {
                    biased;
                    () = stop.cancelled() => {}
                    end = link.closed() => {
                        let input = match end {
                            LinkEnd::Closed { kind, reason } => Input::Closed { epoch, kind, reason },
                            LinkEnd::SessionLost => Input::SessionLost { epoch },
                            LinkEnd::Challenged { issuer } => Input::Challenged { epoch, issuer },
                        };
                        tell(&inbox, Message::Input(input)).await;
                    }
                }
                link.close().await;
            }
            Err(_) if late => {}
            Err(failure) => tell(&inbox, Message::Input(Input::AttemptFailed { epoch, failure })).await,
        }
    }
}

async fn tell(inbox: &mpsc::Sender<Message>, message: Message) {
    if inbox.send(message).await.is_err() {
        tracing::debug!("an actor ended before its connection did");
    }
}

fn too_slow(limit: Duration) -> Failure {
    Failure::Error {
        kind: FailureKind::TemporaryNetwork,
        message: format!(
            "The server did not answer within {} s. Give it more time in its settings if it is slow to start.",
            limit.as_secs()
        ),
    }
}

/// Connects and reads the first lists.
async fn open(connector: &dyn Connector, epoch: Epoch, order: ConnectOrder) -> Result<Opened, Failure> {
    let (config, cancel) = (Arc::clone(&order.config), order.cancel.clone());
    if cancel.is_cancelled() {
        return Err(LinkError::Cancelled.into());
    }
    let link = connector.connect(order).await?;
    let first = cancel.run_until_cancelled(first_lists(&*link, &config)).await;
    match first.unwrap_or(Err(LinkError::Cancelled)) {
        Ok(first) => Ok(Opened { epoch, config, link, first }),
        Err(error) => {
            link.close().await;
            Err(error.into())
        }
    }
}

/// Connects, reads the lists and closes: tests settings that have not been saved.
pub(crate) async fn try_out(connector: &dyn Connector, order: ConnectOrder) -> Result<Opened, Failure> {
    let (limit, giving_up) = (order.config.limits.connect(), order.cancel.clone());
    let mut attempt = pin!(open(connector, Epoch::default(), order));
    let (outcome, late) = tokio::select! {
        biased;
        outcome = &mut attempt => (outcome, false),
        () = tokio::time::sleep(limit) => {
            giving_up.cancel();
            (attempt.await, true)
        }
    };
    if let Ok(opened) = &outcome {
        opened.link.close().await;
    }
    if late { Err(too_slow(limit)) } else { outcome }
}

/// Reads the lists. A server counts as connected only if its first declared list is answered, or,
/// if it declares none, the health-check request (SRV-2). Failures of the other lists don't fail
/// the attempt.
async fn first_lists(link: &dyn Link, config: &ServerConfig) -> Result<First, LinkError> {
    let handshake = link.handshake();
    let declared = Declared::read(&handshake.capabilities);
    let lists = Lists {
        generation: config.generation,
        capabilities: handshake.capabilities.clone(),
        instructions: handshake.info.instructions.clone(),
        ..Lists::default()
    };
    let mut first = First { lists, unread: Vec::new(), fresh: Vec::new(), remarks: Vec::new() };
    let limit = config.limits.connect();
    let mut kinds = ListKind::ALL.into_iter().filter(|kind| declared.cover(kind.method()));
    match kinds.next() {
        None => sign_of_life(link, limit).await?,
        Some(kind) => match fetch(link, kind, limit).await {
            Ok(fetched) => first.take(kind, fetched),
            Err(FetchError::Link(error)) => return Err(error),
            Err(answered) => first.lacks(kind, false, sentence(&answered)),
        },
    }
    let others = futures::future::join_all(kinds.map(async |kind| {
        let fetched = tokio::time::timeout(OTHER_LISTS, fetch(link, kind, OTHER_LISTS)).await;
        (kind, fetched)
    }));
    for (kind, fetched) in others.await {
        match fetched {
            Ok(Ok(fetched)) => first.take(kind, fetched),
            Ok(Err(error)) => first.lacks(kind, matches!(error, FetchError::Link(_)), sentence(&error)),
            Err(_) => first.lacks(kind, true, format!("Gatehouse: no answer to {} in time.", kind.method())),
        }
    }
    Ok(first)
}

async fn sign_of_life(link: &dyn Link, limit: Duration) -> Result<(), LinkError> {
    let request = LinkRequest::own(health::method(link), OutgoingParams::none(), limit);
    link.request(request).await.map(|_| ())
}

/// Adds to `remarks` what was cut off or skipped in a list.
pub(crate) fn note(kind: ListKind, cut: Option<&str>, shortfall: &Shortfall, remarks: &mut Vec<String>) {
    if let Some(cut) = cut {
        remarks.push(format!("Gatehouse: {} is not read to its end: {cut}.", kind.method()));
    }
    if let Some(why) = shortfall.why {
        let (skipped, method) = (shortfall.skipped, kind.method());
        remarks.push(format!("Gatehouse: left {skipped} of {method} out; the first because {why}."));
    }
}

pub(crate) fn sentence(error: &FetchError) -> String {
    format!("Gatehouse: {error}.")
}
