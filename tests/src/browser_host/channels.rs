//! The shell's channels to its windows, as event streams.

use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::State;
use axum::response::Sse;
use axum::response::sse::{Event as SseEvent, KeepAlive, KeepAliveStream};
use futures::stream::BoxStream;
use futures::{Stream, StreamExt, stream};
use gatehouse_app::{Core, StreamEvent};
use gatehouse_model::Event;
use gatehouse_model::command::ApprovalsList;
use serde_json::{Value, json};

use super::BrowserHost;

/// A stream of messages, each a JSON text.
type Messages = Sse<KeepAliveStream<BoxStream<'static, Result<SseEvent, Infallible>>>>;

pub(super) async fn events(State(host): State<Arc<BrowserHost>>) -> Messages {
    let heard = listen(Arc::clone(&host)).await;
    // As in the shell: what a page read before it subscribed may be outdated.
    let begin = stream::iter([Value::Null]);
    event_stream(begin.chain(heard.map(|heard| match heard {
        StreamEvent::Event(envelope) => serde_json::to_value(&*envelope).unwrap_or(Value::Null),
        StreamEvent::Missed => Value::Null,
    })))
}

/// Windows are never closed here: the stream stays open and silent.
pub(super) async fn main_signals() -> Messages {
    event_stream(stream::pending())
}

pub(super) async fn prompt_signals(State(host): State<Arc<BrowserHost>>) -> Messages {
    let look = host.preferences_changed.subscribe();
    let looks = stream::unfold(look, async |mut look| {
        look.changed().await.ok()?;
        Some((json!("preferences"), look))
    });
    let questions = listen(Arc::clone(&host)).await.filter_map(move |heard| {
        let host = Arc::clone(&host);
        async move { signal(&host, heard).await }
    });
    event_stream(stream::iter([json!("changed")]).chain(stream::select(looks, questions)))
}

/// What an event means for the prompt window: a request that arrives at an empty queue shows the window.
async fn signal(host: &BrowserHost, heard: StreamEvent) -> Option<Value> {
    let StreamEvent::Event(envelope) = heard else { return Some(json!("changed")) };
    match &envelope.event {
        Event::ApprovalRequested { .. } => {
            let hosted = host.core.read().await;
            let core = hosted.core().ok()?;
            let waiting = core
                .run(&ApprovalsList { known: Vec::new() }, gatehouse_app::Authority::Operator)
                .await
                .ok()?;
            Some(if waiting.len() == 1 { json!("shown") } else { json!("changed") })
        }
        Event::ApprovalChanged { .. } | Event::ApprovalResolved { .. } | Event::ApprovalExpired { .. } => {
            Some(json!("changed"))
        }
        _ => None,
    }
}

/// Events of whichever core is running. A new core counts as missed events.
async fn listen(host: Arc<BrowserHost>) -> BoxStream<'static, StreamEvent> {
    let core_count = host.core_count.subscribe();
    let events = host.core.read().await.core().ok().map(Core::events);
    stream::unfold((host, core_count, events), async |(host, mut core_count, mut events)| {
        let heard = async {
            match &mut events {
                Some(events) => events.next().await,
                None => None,
            }
        };
        tokio::select! {
            Some(heard) = heard => return Some((heard, (host, core_count, events))),
            another = core_count.changed() => another.ok()?,
        }
        events = host.core.read().await.core().ok().map(Core::events);
        Some((StreamEvent::Missed, (host, core_count, events)))
    })
    .boxed()
}

fn event_stream(messages: impl Stream<Item = Value> + Send + 'static) -> Messages {
    let messages = messages.map(|message| Ok(SseEvent::default().data(message.to_string()))).boxed();
    Sse::new(messages).keep_alive(KeepAlive::default())
}
