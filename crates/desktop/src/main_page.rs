//! Channels to the main window's page. A page that is reloaded subscribes again and replaces the
//! previous channel.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use gatehouse_model::{EventEnvelope, ServerId};
use parking_lot::Mutex;
use serde::Serialize;
use tokio::sync::Notify;

/// Sends a message to a page. Returns whether it was handed over.
pub type PageSink<T> = Arc<dyn Fn(T) -> bool + Send + Sync>;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MainPageSignal {
    /// The user closed the window, and has not been told yet that Gatehouse keeps running.
    Closing,
    /// Go to a page.
    Open(PageTarget),
    /// Show what this `gatehouse://` link says, in the form for a new server.
    AddServer(String),
    /// Show what the bundle in the file at this path would do, as if it were picked for a new server.
    AddBundle(String),
}

/// Pages that can be opened from other windows and from notifications.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PageTarget {
    /// The pending approvals.
    Approvals,
    /// All servers.
    Servers,
    /// The page of one server.
    Server(ServerId),
}

/// Access to the main page.
#[derive(Clone, Default)]
pub(crate) struct MainPage(Arc<MainPageState>);

#[derive(Default)]
struct MainPageState {
    events: Mutex<Option<PageSink<Option<EventEnvelope>>>>,
    signals: Mutex<Option<PageSink<MainPageSignal>>>,
    /// What the page is told as soon as there is one.
    pending: Mutex<Option<MainPageSignal>>,
    close_requested: AtomicBool,
    has_painted: AtomicBool,
    painted: Notify,
}

impl MainPage {
    /// Replaces the channel for events.
    pub(crate) fn listen_to_events(&self, channel: PageSink<Option<EventEnvelope>>) {
        *self.0.events.lock() = Some(channel);
    }

    /// Replaces the channel for signals.
    pub(crate) fn listen_to_signals(&self, channel: PageSink<MainPageSignal>) {
        *self.0.signals.lock() = Some(channel);
        let pending = self.0.pending.lock().take();
        if let Some(signal) = pending {
            self.deliver(signal);
        }
    }

    /// The page is gone: nothing is sent to it any more.
    pub(crate) fn detach(&self) {
        *self.0.events.lock() = None;
        *self.0.signals.lock() = None;
    }

    /// Makes the page go to another one; if the window is closed, when it is open again.
    pub(crate) fn open(&self, target: PageTarget) {
        self.deliver(MainPageSignal::Open(target));
    }

    /// Makes the page show what a link says; if the window is closed, when it is open again.
    pub(crate) fn offer_link(&self, link: String) {
        self.deliver(MainPageSignal::AddServer(link));
    }

    /// Makes the page show what a bundle would do; if the window is closed, when it is open again.
    pub(crate) fn offer_bundle(&self, file: String) {
        self.deliver(MainPageSignal::AddBundle(file));
    }

    /// Sends a signal, or keeps it for the next page in the place of an earlier one.
    fn deliver(&self, signal: MainPageSignal) {
        if !self.send_signal(signal.clone()) {
            *self.0.pending.lock() = Some(signal);
        }
    }

    /// Sends an event; `None` means that events were missed.
    pub(crate) fn send_event(&self, envelope: Option<&EventEnvelope>) {
        let channel = self.0.events.lock().clone();
        if channel.is_some_and(|channel| !channel(envelope.cloned())) {
            tracing::debug!("an event was not sent to the page");
        }
    }

    /// Sends a signal. Returns whether there was a page to receive it.
    pub(crate) fn send_signal(&self, signal: MainPageSignal) -> bool {
        let channel = self.0.signals.lock().clone();
        channel.is_some_and(|channel| channel(signal))
    }

    /// Makes the page explain that Gatehouse keeps running. Only once: a page that does not respond must
    /// not keep its window open for ever.
    pub(crate) fn notify_closing(&self) -> bool {
        !self.0.close_requested.swap(true, Ordering::Relaxed) && self.send_signal(MainPageSignal::Closing)
    }

    /// Marks that the page shows useful content. Returns whether this is the first time.
    pub(crate) fn mark_painted(&self) -> bool {
        let first = !self.0.has_painted.swap(true, Ordering::Relaxed);
        if first {
            self.0.painted.notify_one();
        }
        first
    }

    /// Waits until the page shows useful content. For a single waiter.
    pub(crate) async fn wait_until_painted(&self) {
        self.0.painted.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serializes_signals_for_page() {
        let text = |signal| serde_json::to_string(&signal).unwrap();
        assert_eq!(text(MainPageSignal::Closing), r#""closing""#);
        assert_eq!(text(MainPageSignal::Open(PageTarget::Approvals)), r#"{"open":"approvals"}"#);
        let server = PageTarget::Server("srv-1".into());
        assert_eq!(text(MainPageSignal::Open(server)), r#"{"open":{"server":"srv-1"}}"#);
        assert_eq!(text(MainPageSignal::AddServer("a://b".into())), r#"{"add_server":"a://b"}"#);
        assert_eq!(text(MainPageSignal::AddBundle("/a.mcpb".into())), r#"{"add_bundle":"/a.mcpb"}"#);
    }

    #[test]
    fn keeps_the_last_link_for_the_page() {
        let page = MainPage::default();
        page.offer_link("first".to_owned());
        page.offer_link("second".to_owned());
        let sent = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&sent);
        let channel: PageSink<MainPageSignal> = Arc::new(move |signal| {
            sink.lock().push(signal);
            true
        });
        page.listen_to_signals(Arc::clone(&channel));
        page.listen_to_signals(channel);
        page.offer_link("third".to_owned());
        let expected = ["second", "third"].map(|link| MainPageSignal::AddServer(link.to_owned()));
        assert_eq!(*sent.lock(), expected);
    }

    #[test]
    fn opens_the_wanted_page_as_soon_as_there_is_one() {
        let page = MainPage::default();
        page.open(PageTarget::Approvals);
        for _ in 0..2 {
            let sent = Arc::new(Mutex::new(Vec::new()));
            let sink = Arc::clone(&sent);
            page.listen_to_signals(Arc::new(move |signal| {
                sink.lock().push(signal);
                true
            }));
            assert_eq!(*sent.lock(), [MainPageSignal::Open(PageTarget::Approvals)]);
            page.detach();
            assert!(!page.send_signal(MainPageSignal::Closing), "nobody listens");
            page.open(PageTarget::Approvals);
        }
    }

    #[test]
    fn notifies_closing_once() {
        let page = MainPage::default();
        assert!(!page.notify_closing(), "no page listens");
        let sent = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&sent);
        let listener = MainPage::default();
        listener.listen_to_signals(Arc::new(move |signal| {
            sink.lock().push(signal);
            true
        }));
        assert!(listener.notify_closing());
        assert!(!listener.notify_closing());
        assert_eq!(*sent.lock(), [MainPageSignal::Closing]);
    }
}
