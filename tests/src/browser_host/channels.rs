//! The shell's channels to its windows, as event streams. Unlike a window, several pages may listen.

use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::State;
use axum::response::Sse;
use axum::response::sse::{Event as SseEvent, KeepAlive, KeepAliveStream};
use futures::stream::BoxStream;
use futures::{Stream, StreamExt, stream};
use gatehouse_desktop::PageSink;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use super::BrowserHost;

/// Messages that a page may lag behind.
const CAPACITY: usize = 4_096;

/// A stream of messages, each a JSON text.
type Messages = Sse<KeepAliveStream<BoxStream<'static, Result<SseEvent, Infallible>>>>;

/// What the shell sends to its pages.
pub(super) struct Channels {
    events: broadcast::Sender<Value>,
    main_signals: broadcast::Sender<Value>,
    prompt_signals: broadcast::Sender<Value>,
}

impl Default for Channels {
    fn default() -> Self {
        let channel = || broadcast::Sender::new(CAPACITY);
        Self { events: channel(), main_signals: channel(), prompt_signals: channel() }
    }
}

pub(super) async fn events(State(host): State<Arc<BrowserHost>>) -> Messages {
    let messages = host.channels.events.subscribe();
    host.desktop.listen_to_events(page_sink(&host.channels.events)).await;
    event_stream(messages, Value::Null)
}

pub(super) async fn main_signals(State(host): State<Arc<BrowserHost>>) -> Messages {
    let messages = host.channels.main_signals.subscribe();
    host.desktop.listen_to_main_signals(page_sink(&host.channels.main_signals));
    event_stream(messages, Value::Null)
}

pub(super) async fn prompt_signals(State(host): State<Arc<BrowserHost>>) -> Messages {
    let messages = host.channels.prompt_signals.subscribe();
    host.desktop.listen_to_prompt_signals(page_sink(&host.channels.prompt_signals));
    event_stream(messages, json!("changed"))
}

/// Sends the shell's messages to all pages that listen.
fn page_sink<T: Serialize + 'static>(pages: &broadcast::Sender<Value>) -> PageSink<T> {
    let pages = pages.clone();
    Arc::new(move |message: T| serde_json::to_value(message).is_ok_and(|message| pages.send(message).is_ok()))
}

/// The messages from now on; `missed` stands for those that a page was too slow for.
fn event_stream(messages: broadcast::Receiver<Value>, missed: Value) -> Messages {
    let messages =
        received(messages, missed).map(|message| Ok(SseEvent::default().data(message.to_string()))).boxed();
    Sse::new(messages).keep_alive(KeepAlive::default())
}

fn received(messages: broadcast::Receiver<Value>, missed: Value) -> impl Stream<Item = Value> + Send {
    stream::unfold((messages, missed), |(mut messages, missed)| async move {
        let message = match messages.recv().await {
            Ok(message) => message,
            Err(RecvError::Lagged(_)) => missed.clone(),
            Err(RecvError::Closed) => return None,
        };
        Some((message, (messages, missed)))
    })
}
