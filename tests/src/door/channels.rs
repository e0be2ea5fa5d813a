//! What the shell sends to its windows, as event streams.

use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::State;
use axum::response::Sse;
use axum::response::sse::{Event as Sent, KeepAlive, KeepAliveStream};
use futures::stream::BoxStream;
use futures::{Stream, StreamExt, stream};
use gatehouse_app::Heard;
use gatehouse_model::Event;
use gatehouse_model::command::ApprovalsList;
use serde_json::{Value, json};

use super::Door;

/// A stream of messages, each a JSON text.
type Messages = Sse<KeepAliveStream<BoxStream<'static, Result<Sent, Infallible>>>>;

pub(super) async fn events(State(door): State<Arc<Door>>) -> Messages {
    let heard = listen(&door).await;
    // As in the shell: what a page read before it listened may be old already.
    let begin = stream::iter([Value::Null]);
    sent(begin.chain(heard.map(|heard| match heard {
        Heard::Event(envelope) => serde_json::to_value(&*envelope).unwrap_or(Value::Null),
        Heard::Missed => Value::Null,
    })))
}

/// Nobody closes a window here: it stays open and says nothing.
pub(super) async fn main_signals() -> Messages {
    sent(stream::pending())
}

pub(super) async fn prompt_signals(State(door): State<Arc<Door>>) -> Messages {
    let look = door.changed_look.subscribe();
    let looks = stream::unfold(look, async |mut look| {
        look.changed().await.ok()?;
        Some((json!("preferences"), look))
    });
    let questions = listen(&door).await.filter_map(move |heard| {
        let door = Arc::clone(&door);
        async move { signal(&door, heard).await }
    });
    sent(stream::iter([json!("changed")]).chain(stream::select(looks, questions)))
}

/// What an event means for the prompt: a question that comes to an empty queue brings the window up.
async fn signal(door: &Door, heard: Heard) -> Option<Value> {
    let Heard::Event(envelope) = heard else { return Some(json!("changed")) };
    match &envelope.event {
        Event::ApprovalRequested { .. } => {
            let waiting = match &*door.core.read().await {
                Some(core) => core.run(&ApprovalsList {}, gatehouse_app::Authority::Operator).await.ok()?,
                None => return None,
            };
            Some(if waiting.len() == 1 { json!("shown") } else { json!("changed") })
        }
        Event::ApprovalChanged { .. } | Event::ApprovalResolved { .. } | Event::ApprovalExpired { .. } => {
            Some(json!("changed"))
        }
        _ => None,
    }
}

async fn listen(door: &Door) -> BoxStream<'static, Heard> {
    match &*door.core.read().await {
        Some(core) => stream::unfold(core.events(), async |mut events| {
            let heard = events.next().await?;
            Some((heard, events))
        })
        .boxed(),
        None => stream::empty().boxed(),
    }
}

fn sent(messages: impl Stream<Item = Value> + Send + 'static) -> Messages {
    let messages = messages.map(|message| Ok(Sent::default().data(message.to_string()))).boxed();
    Sse::new(messages).keep_alive(KeepAlive::default())
}
