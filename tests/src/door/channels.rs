//! The shell's channels to its windows, as event streams.

use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::State;
use axum::response::Sse;
use axum::response::sse::{Event as Sent, KeepAlive, KeepAliveStream};
use futures::stream::BoxStream;
use futures::{Stream, StreamExt, stream};
use gatehouse_app::{Core, Heard};
use gatehouse_model::Event;
use gatehouse_model::command::ApprovalsList;
use serde_json::{Value, json};

use super::Door;

/// A stream of messages, each a JSON text.
type Messages = Sse<KeepAliveStream<BoxStream<'static, Result<Sent, Infallible>>>>;

pub(super) async fn events(State(door): State<Arc<Door>>) -> Messages {
    let heard = listen(Arc::clone(&door)).await;
    // As in the shell: what a page read before it subscribed may be outdated.
    let begin = stream::iter([Value::Null]);
    sent(begin.chain(heard.map(|heard| match heard {
        Heard::Event(envelope) => serde_json::to_value(&*envelope).unwrap_or(Value::Null),
        Heard::Missed => Value::Null,
    })))
}

/// Windows are never closed here: the stream stays open and silent.
pub(super) async fn main_signals() -> Messages {
    sent(stream::pending())
}

pub(super) async fn prompt_signals(State(door): State<Arc<Door>>) -> Messages {
    let look = door.changed_look.subscribe();
    let looks = stream::unfold(look, async |mut look| {
        look.changed().await.ok()?;
        Some((json!("preferences"), look))
    });
    let questions = listen(Arc::clone(&door)).await.filter_map(move |heard| {
        let door = Arc::clone(&door);
        async move { signal(&door, heard).await }
    });
    sent(stream::iter([json!("changed")]).chain(stream::select(looks, questions)))
}

/// What an event means for the prompt window: a request that arrives at an empty queue shows the window.
async fn signal(door: &Door, heard: Heard) -> Option<Value> {
    let Heard::Event(envelope) = heard else { return Some(json!("changed")) };
    match &envelope.event {
        Event::ApprovalRequested { .. } => {
            let slot = door.core.read().await;
            let core = slot.core().ok()?;
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
async fn listen(door: Arc<Door>) -> BoxStream<'static, Heard> {
    let begun = door.begun.subscribe();
    let events = door.core.read().await.core().ok().map(Core::events);
    stream::unfold((door, begun, events), async |(door, mut begun, mut events)| {
        let heard = async {
            match &mut events {
                Some(events) => events.next().await,
                None => None,
            }
        };
        tokio::select! {
            Some(heard) = heard => return Some((heard, (door, begun, events))),
            another = begun.changed() => another.ok()?,
        }
        events = door.core.read().await.core().ok().map(Core::events);
        Some((Heard::Missed, (door, begun, events)))
    })
    .boxed()
}

fn sent(messages: impl Stream<Item = Value> + Send + 'static) -> Messages {
    let messages = messages.map(|message| Ok(Sent::default().data(message.to_string()))).boxed();
    Sse::new(messages).keep_alive(KeepAlive::default())
}
