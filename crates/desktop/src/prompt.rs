//! The prompt window, which shows pending approvals: one task owns the window, receives messages and
//! applies the effects of its state machine. It makes no decision about an approval request; if the window
//! cannot be shown, the request expires, which denies it.

mod input_delay;
mod visibility;

use std::sync::Arc;
use std::time::Instant;

use gatehouse_model::{ApprovalId, UserError};
use parking_lot::Mutex;
use serde::Serialize;
use tokio::sync::{mpsc, oneshot};

use input_delay::InputDelay;
use visibility::{PromptEffect, PromptVisibility};

use crate::main_page::PageSink;

pub(crate) use visibility::PromptInput;

/// Signals for the page of the window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptSignal {
    /// The pending approvals have changed.
    Changed,
    /// The window came up or was raised.
    Shown,
    /// Theme or language changed.
    Preferences,
    /// The user wants to see this approval request.
    Open(ApprovalId),
}

/// Whether the user can see the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptSight {
    /// As far as the toolkit knows, it is on the screen.
    Visible,
    /// It is not shown, or something covers it.
    Hidden,
    /// The desktop does not say.
    Unknown,
}

/// The toolkit's prompt window. It is built, hidden, before it is first used.
pub trait PromptWindow: Send {
    /// Builds the window without showing it, unless it is built.
    fn preload(&mut self);

    /// Destroys the window, which frees its page.
    fn unload(&mut self);

    /// Shows the window on the screen that the user looks at, without taking the keyboard focus. Returns
    /// whether there is a window.
    fn show(&mut self) -> bool;

    /// Brings the window to the front with the keyboard focus, since the user requested it. Returns
    /// whether there is a window.
    fn raise(&mut self) -> bool;

    fn hide(&mut self);

    /// Sets the height of the page, in logical pixels.
    fn fit(&mut self, height: f64);

    /// Changes the title.
    fn set_title(&mut self, title: &str);

    /// Whether the user has minimised the window.
    fn is_minimized(&self) -> bool;

    /// Whether the user can see the window now.
    fn sight(&self) -> PromptSight;
}

/// Messages for the window's task.
enum PromptMessage {
    /// Build the window without showing it.
    Preload,
    /// Destroy the window, unless it is needed.
    Unload,
    /// An input of the state machine.
    PromptInput(PromptInput),
    /// Set this height, in logical pixels.
    Fit(f64),
    /// Set this title.
    Title(String),
    /// Say whether the user can see the window.
    Sight(oneshot::Sender<PromptSight>),
}

/// Handle to the prompt window.
#[derive(Clone)]
pub(crate) struct Prompt {
    inbox: mpsc::UnboundedSender<PromptMessage>,
    input_delay: Arc<InputDelay>,
    page: Arc<Mutex<Option<PageSink<PromptSignal>>>>,
}

/// The receiving end, run as a task.
pub(crate) struct PromptDriver {
    outbox: mpsc::UnboundedReceiver<PromptMessage>,
    prompt: Prompt,
    visibility: PromptVisibility,
    window: Box<dyn PromptWindow>,
}

impl Prompt {
    /// The prompt of a window.
    pub(crate) fn new(window: Box<dyn PromptWindow>) -> (Self, PromptDriver) {
        let (inbox, outbox) = mpsc::unbounded_channel();
        let prompt = Self { inbox, input_delay: Arc::default(), page: Arc::default() };
        let driver =
            PromptDriver { outbox, prompt: prompt.clone(), visibility: PromptVisibility::default(), window };
        (prompt, driver)
    }

    /// Builds the window ahead of the first approval request.
    pub(crate) fn preload(&self) {
        self.send(PromptMessage::Preload);
    }

    /// Destroys the window, unless it is shown or has something to show.
    pub(crate) fn unload(&self) {
        self.send(PromptMessage::Unload);
    }

    /// Sends an input to the state machine.
    pub(crate) fn input(&self, input: PromptInput) {
        self.send(PromptMessage::PromptInput(input));
    }

    /// Brings the window to the front with this approval request.
    pub(crate) fn show_approval(&self, approval: ApprovalId) {
        self.input(PromptInput::Raise);
        self.send_signal(PromptSignal::Open(approval));
    }

    /// Sets the window's height to that of its page.
    pub(crate) fn fit(&self, height: f64) {
        self.send(PromptMessage::Fit(height));
    }

    /// Replaces the page's channel. The page has to read again: what it read before it subscribed may be
    /// outdated.
    pub(crate) fn listen(&self, page: PageSink<PromptSignal>) {
        *self.page.lock() = Some(page);
        self.send_signal(PromptSignal::Changed);
        self.input(PromptInput::PageReady);
    }

    /// Sends a signal to the page, if there is one.
    fn send_signal(&self, signal: PromptSignal) {
        let page = self.page.lock().clone();
        if page.is_some_and(|page| !page(signal.clone())) {
            tracing::warn!(?signal, "a signal was not sent to the page of the prompt");
        }
    }

    /// Makes the page read the changed preferences, and sets the window's title.
    pub(crate) fn apply_preferences(&self, title: String) {
        self.send_signal(PromptSignal::Preferences);
        self.send(PromptMessage::Title(title));
    }

    /// Whether the user can see the window.
    pub(crate) async fn sight(&self) -> PromptSight {
        let (reply, sight) = oneshot::channel();
        self.send(PromptMessage::Sight(reply));
        sight.await.unwrap_or(PromptSight::Unknown)
    }

    /// Refuses an answer that comes too soon to be intended.
    pub(crate) fn ensure_can_answer(&self) -> Result<(), UserError> {
        self.input_delay.check(Instant::now())
    }

    /// After the application has ended there is no receiver, and nothing to do.
    fn send(&self, message: PromptMessage) {
        if self.inbox.send(message).is_err() {
            tracing::debug!("the prompt window is gone");
        }
    }
}

impl PromptDriver {
    /// Runs until the application ends.
    pub(crate) async fn run(mut self) {
        loop {
            let message = match self.visibility.next_wakeup() {
                None => self.outbox.recv().await,
                Some(at) => match tokio::time::timeout_at(at.into(), self.outbox.recv()).await {
                    Ok(message) => message,
                    Err(_) => Some(PromptMessage::PromptInput(PromptInput::Tick)),
                },
            };
            match message {
                None => return,
                Some(PromptMessage::Preload) => self.window.preload(),
                Some(PromptMessage::Unload) if self.visibility.is_idle() => {
                    *self.prompt.page.lock() = None;
                    self.window.unload();
                }
                Some(PromptMessage::Unload) => {}
                Some(PromptMessage::Fit(height)) => self.window.fit(height),
                Some(PromptMessage::Title(title)) => self.window.set_title(&title),
                Some(PromptMessage::Sight(reply)) => {
                    // A reader that is gone needs no answer.
                    reply.send(self.window.sight()).ok();
                }
                Some(PromptMessage::PromptInput(input)) => self.handle_input(input),
            }
        }
    }

    fn handle_input(&mut self, input: PromptInput) {
        // The user minimised the window, which is another way of putting it away.
        if matches!(input, PromptInput::Requested(_) | PromptInput::Snapshot(_)) && self.window.is_minimized()
        {
            self.apply(PromptInput::Dismissed);
        }
        self.apply(input);
    }

    fn apply(&mut self, input: PromptInput) {
        for effect in self.visibility.transition(input, Instant::now()) {
            match effect {
                PromptEffect::Show => {
                    if self.window.show() {
                        self.on_shown();
                    }
                }
                PromptEffect::Raise => {
                    if self.window.raise() {
                        self.on_shown();
                    }
                }
                PromptEffect::Rearm => self.on_shown(),
                PromptEffect::Reread => self.prompt.send_signal(PromptSignal::Changed),
                PromptEffect::Hide => {
                    self.prompt.input_delay.close();
                    self.window.hide();
                }
            }
        }
    }

    fn on_shown(&self) {
        self.prompt.input_delay.arm(Instant::now());
        self.prompt.send_signal(PromptSignal::Shown);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records what is done to the window.
    struct FakeWindow {
        actions: mpsc::UnboundedSender<&'static str>,
        exists: bool,
    }

    impl FakeWindow {
        fn act(&self, action: &'static str) -> bool {
            self.actions.send(action).unwrap();
            self.exists
        }
    }

    impl PromptWindow for FakeWindow {
        fn preload(&mut self) {
            self.act("preload");
        }

        fn unload(&mut self) {
            self.act("unload");
        }

        fn show(&mut self) -> bool {
            self.act("show")
        }

        fn raise(&mut self) -> bool {
            self.act("raise")
        }

        fn hide(&mut self) {
            self.act("hide");
        }

        fn fit(&mut self, _: f64) {
            self.act("fit");
        }

        fn set_title(&mut self, title: &str) {
            assert_eq!(title, "Title");
            self.act("title");
        }

        fn is_minimized(&self) -> bool {
            false
        }

        fn sight(&self) -> PromptSight {
            if self.exists { PromptSight::Visible } else { PromptSight::Hidden }
        }
    }

    #[tokio::test]
    async fn accepts_no_answer_unless_window_is_shown() {
        for exists in [true, false] {
            let (actions, mut seen) = mpsc::unbounded_channel();
            let (prompt, driver) = Prompt::new(Box::new(FakeWindow { actions, exists }));
            let running = tokio::spawn(driver.run());
            let (sink, mut signals) = mpsc::unbounded_channel();
            prompt.listen(Arc::new(move |signal| sink.send(signal).is_ok()));
            prompt.input(PromptInput::Requested("a".into()));
            prompt.apply_preferences("Title".to_owned());
            assert_eq!(seen.recv().await, Some("show"));
            assert_eq!(seen.recv().await, Some("title"));
            let sent: Vec<_> = std::iter::from_fn(|| signals.try_recv().ok()).collect();
            assert_eq!(sent.contains(&PromptSignal::Shown), exists, "{sent:?}");
            assert!(exists || prompt.ensure_can_answer().is_err());
            let sight = prompt.sight().await;
            assert_eq!(sight == PromptSight::Visible, exists);
            // Not while it is shown, nor while a request is pending.
            prompt.unload();
            prompt.input(PromptInput::Dismissed);
            assert_eq!(seen.recv().await, Some("hide"));
            assert!(prompt.ensure_can_answer().is_err());
            prompt.unload();
            prompt.input(PromptInput::Ended("a".into()));
            prompt.preload();
            assert_eq!(seen.recv().await, Some("preload"));
            prompt.unload();
            assert_eq!(seen.recv().await, Some("unload"));
            while signals.recv().await.is_some() {}
            running.abort();
        }
    }
}
