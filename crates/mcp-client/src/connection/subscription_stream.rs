//! On the stateless revision a server sends notifications only on a stream that was requested with
//! `subscriptions/listen`. This module keeps such a stream open for the list changes that the
//! server announces and for the watched resources; its notifications reach the router like any
//! others.

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_mcp_wire::ProtocolFamily;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio::sync::watch;
use tokio_util::task::TaskTracker;

use super::Handshake;
use super::close::CloseSignal;
use crate::error::RequestError;
use crate::request::{RequestParams, RpcOutcome, UpstreamRequest};

const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// A stream of change notifications that is kept open.
pub(super) struct SubscriptionStream {
    resources: watch::Sender<BTreeSet<String>>,
}

impl SubscriptionStream {
    /// Starts listening; `None` on the revisions where servers send notifications without a
    /// request.
    pub(super) fn start<F, R>(
        handshake: &Handshake,
        closing: &Arc<CloseSignal>,
        tasks: &TaskTracker,
        request: F,
    ) -> Option<Self>
    where
        F: Fn(UpstreamRequest) -> R + Send + Sync + 'static,
        R: Future<Output = Result<RpcOutcome, RequestError>> + Send,
    {
        if handshake.protocol_family != ProtocolFamily::Stateless {
            return None;
        }
        let lists = lists(handshake);
        let (resources, wanted) = watch::channel(BTreeSet::new());
        let closing = Arc::clone(closing);
        tasks.spawn(async move {
            tokio::select! {
                biased;
                _ = closing.wait_for_reason() => {}
                () = closing.close_requested() => {}
                () = run(&lists, wanted, request) => {}
            }
        });
        Some(Self { resources })
    }

    /// Sets the watched resources.
    pub(super) fn watch(&self, uris: BTreeSet<String>) {
        self.resources.send_if_modified(|watched| {
            let another = *watched != uris;
            *watched = uris;
            another
        });
    }
}

/// The list changes that the server says it announces.
fn lists(handshake: &Handshake) -> Vec<&'static str> {
    #[derive(Default, Deserialize)]
    #[serde(rename_all = "camelCase", default)]
    struct Capability {
        list_changed: bool,
    }
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Capabilities {
        tools: Option<Capability>,
        prompts: Option<Capability>,
        resources: Option<Capability>,
    }
    let found: Capabilities = serde_json::from_str(handshake.capabilities.get()).unwrap_or_default();
    [
        ("toolsListChanged", found.tools),
        ("promptsListChanged", found.prompts),
        ("resourcesListChanged", found.resources),
    ]
    .into_iter()
    .filter(|(_, capability)| capability.as_ref().is_some_and(|capability| capability.list_changed))
    .map(|(name, _)| name)
    .collect()
}

/// The notification filter to request; `None` if there is nothing to listen for.
fn filter(lists: &[&str], resources: &BTreeSet<String>) -> Option<Box<RawValue>> {
    if lists.is_empty() && resources.is_empty() {
        return None;
    }
    let mut members: Map<String, Value> =
        lists.iter().map(|name| ((*name).to_owned(), Value::Bool(true))).collect();
    if !resources.is_empty() {
        members.insert("resourceSubscriptions".to_owned(), json!(resources));
    }
    Some(crate::json::raw(&Value::Object(members)))
}

async fn run<F, R>(lists: &[&str], mut wanted: watch::Receiver<BTreeSet<String>>, request: F)
where
    F: Fn(UpstreamRequest) -> R,
    R: Future<Output = Result<RpcOutcome, RequestError>>,
{
    loop {
        let filter = filter(lists, &wanted.borrow_and_update());
        let subscriptions = async {
            match filter {
                Some(filter) => listen(&RequestParams::none().with("notifications", filter), &request).await,
                None => ListenEnd::Nothing,
            }
        };
        // When the watched resources change, the current stream is replaced.
        let end = tokio::select! {
            biased;
            changed = wanted.changed() => match changed {
                Ok(()) => continue,
                Err(_) => return,
            },
            end = subscriptions => end,
        };
        match end {
            ListenEnd::Gone => return,
            ListenEnd::Nothing => {
                if wanted.changed().await.is_err() {
                    return;
                }
            }
        }
    }
}

/// Why there is no stream.
enum ListenEnd {
    /// There is nothing to listen for, or the server doesn't support it.
    Nothing,
    /// The connection has ended.
    Gone,
}

/// Listens, reopening the stream with backoff, until the connection ends or the server rejects the
/// request.
async fn listen<F, R>(params: &RequestParams, request: &F) -> ListenEnd
where
    F: Fn(UpstreamRequest) -> R,
    R: Future<Output = Result<RpcOutcome, RequestError>>,
{
    let mut pause = FIRST_PAUSE;
    loop {
        let begun = tokio::time::Instant::now();
        match request(UpstreamRequest::new("subscriptions/listen", params.clone())).await {
            Ok(RpcOutcome::Error(_)) => {
                tracing::debug!("the server does not offer a stream of changes");
                return ListenEnd::Nothing;
            }
            Ok(RpcOutcome::Result(_)) => tracing::debug!("the server ended its stream of changes"),
            Err(RequestError::Closed(_) | RequestError::Cancelled) => return ListenEnd::Gone,
            Err(error) => tracing::debug!(%error, "the stream of changes broke"),
        }
        if begun.elapsed() > LONGEST_PAUSE {
            pause = FIRST_PAUSE;
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use gatehouse_model::status::ServerInfo;

    use super::*;
    use crate::connection::LifecycleHint;

    fn handshake(capabilities: &str) -> Handshake {
        Handshake {
            protocol: String::new(),
            protocol_family: ProtocolFamily::Stateless,
            info: ServerInfo::default(),
            capabilities: RawValue::from_string(capabilities.to_owned()).unwrap(),
            raw_info: None,
            lifecycle: LifecycleHint::Auto,
        }
    }

    fn wanted(capabilities: &str, resources: &[&str]) -> Option<String> {
        let resources = resources.iter().map(|uri| (*uri).to_owned()).collect();
        filter(&lists(&handshake(capabilities)), &resources).map(|filter| filter.get().to_owned())
    }

    #[test]
    fn subscribes_only_to_declared_changes() {
        let both = r#"{"tools":{"listChanged":true},"prompts":{},"resources":{"listChanged":true,"x":1}}"#;
        assert_eq!(wanted(both, &[]).unwrap(), r#"{"toolsListChanged":true,"resourcesListChanged":true}"#);
        assert_eq!(wanted("null", &["a://b"]).unwrap(), r#"{"resourceSubscriptions":["a://b"]}"#);
        assert_eq!(wanted(r#"{"tools":{}}"#, &[]), None);
        assert_eq!(wanted("null", &[]), None);
    }

    #[tokio::test]
    async fn changed_resources_replace_stream() {
        let (resources, receiver) = watch::channel(BTreeSet::new());
        let (asked, mut asks) = tokio::sync::mpsc::unbounded_channel();
        let kept = tokio::spawn(async move {
            run(&["toolsListChanged"], receiver, move |request: UpstreamRequest| {
                asked.send(request.params.get("notifications").unwrap().get().to_owned()).unwrap();
                std::future::pending()
            })
            .await;
        });
        assert_eq!(asks.recv().await.unwrap(), r#"{"toolsListChanged":true}"#);
        resources.send_replace(BTreeSet::from(["a://b".to_owned()]));
        let second = asks.recv().await.unwrap();
        assert_eq!(second, r#"{"toolsListChanged":true,"resourceSubscriptions":["a://b"]}"#);
        drop(resources);
        kept.await.unwrap();
    }
}
