//! The prompt window, which shows pending approvals: one task owns the window, receives messages and
//! applies the effects of the policy. It makes no decision about an approval request; if the window
//! cannot be shown, the request expires, which denies it.

pub(crate) mod guard;
pub(crate) mod policy;
pub(crate) mod window;

use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;
use serde::Serialize;
use tauri::ipc::Channel;
use tauri::{AppHandle, Manager, WebviewWindow};
use tokio::sync::mpsc;

use guard::Guard;
use policy::{Effect, Input, Policy};

use crate::preferences::Preferences;
use crate::words::Words;

/// Signals for the page of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Signal {
    /// The pending approvals have changed.
    Changed,
    /// The window came up or was raised.
    Shown,
    /// Theme or language changed.
    Preferences,
}

/// Messages for the window's task.
enum Message {
    /// Build the window without showing it.
    Warm,
    /// An input of the policy.
    Input(Input),
    /// Set this height, in logical pixels.
    Fit(f64),
}

/// Handle to the prompt window.
#[derive(Clone)]
pub(crate) struct Prompt {
    inbox: mpsc::UnboundedSender<Message>,
    guard: Arc<Guard>,
    page: Arc<Mutex<Option<Channel<Signal>>>>,
}

/// The receiving end, run as a task.
pub(crate) struct Driver {
    outbox: mpsc::UnboundedReceiver<Message>,
    prompt: Prompt,
    policy: Policy,
    window: Option<WebviewWindow>,
}

impl Prompt {
    /// A prompt whose window is not built yet.
    pub(crate) fn new() -> (Self, Driver) {
        let (inbox, outbox) = mpsc::unbounded_channel();
        let prompt = Self { inbox, guard: Arc::default(), page: Arc::default() };
        let driver = Driver { outbox, prompt: prompt.clone(), policy: Policy::default(), window: None };
        (prompt, driver)
    }

    /// Builds the window ahead of the first approval request.
    pub(crate) fn warm(&self) {
        self.send(Message::Warm);
    }

    /// Sends an input to the policy.
    pub(crate) fn input(&self, input: Input) {
        self.send(Message::Input(input));
    }

    /// Sets the window's height to that of its page.
    pub(crate) fn fit(&self, height: f64) {
        self.send(Message::Fit(height));
    }

    /// Replaces the page's channel. The page has to read again: what it read before it subscribed may be
    /// outdated.
    pub(crate) fn listen(&self, page: Channel<Signal>) {
        *self.page.lock() = Some(page);
        self.tell(Signal::Changed);
        self.input(Input::PageReady);
    }

    /// Sends a signal to the page, if there is one.
    fn tell(&self, signal: Signal) {
        let page = self.page.lock().clone();
        if let Some(Err(error)) = page.map(|page| page.send(signal)) {
            tracing::warn!(%error, "the page of the prompt did not hear");
        }
    }

    /// Applies changed preferences.
    pub(crate) fn look(&self, app: &AppHandle, preferences: &Preferences) {
        self.tell(Signal::Preferences);
        if let Some(window) = app.get_webview_window(window::PROMPT) {
            done("title", window.set_title(Words::preferred(preferences.language).asks()));
        }
    }

    /// Refuses an answer that comes too soon to be intended.
    pub(crate) fn may_answer(&self) -> Result<(), gatehouse_model::Problem> {
        self.guard.check(Instant::now())
    }

    /// After the application has ended there is no receiver, and nothing to do.
    fn send(&self, message: Message) {
        if self.inbox.send(message).is_err() {
            tracing::debug!("the window with the questions is gone");
        }
    }
}

impl Driver {
    /// Runs until the application ends.
    pub(crate) async fn run(mut self, app: AppHandle) {
        loop {
            let message = match self.policy.wakes_at() {
                None => self.outbox.recv().await,
                Some(at) => match tokio::time::timeout_at(at.into(), self.outbox.recv()).await {
                    Ok(message) => message,
                    Err(_) => Some(Message::Input(Input::Tick)),
                },
            };
            match message {
                None => return,
                Some(Message::Warm) => {
                    self.window(&app);
                }
                Some(Message::Fit(height)) => {
                    if let Some(window) = &self.window {
                        done("fit", window::fit(window, height));
                    }
                }
                Some(Message::Input(input)) => self.take(&app, input),
            }
        }
    }

    fn take(&mut self, app: &AppHandle, input: Input) {
        // The user minimised the window, which is another way of putting it away.
        if matches!(input, Input::Asked(_) | Input::All(_))
            && self.window.as_ref().is_some_and(|window| window.is_minimized().unwrap_or(false))
        {
            self.apply(app, Input::PutAway);
        }
        self.apply(app, input);
    }

    fn apply(&mut self, app: &AppHandle, input: Input) {
        for effect in self.policy.take(input, Instant::now()) {
            match effect {
                Effect::Show => self.bring(app, window::show),
                Effect::Raise => self.bring(app, window::raise),
                Effect::Rearm => self.shown(),
                Effect::Reread => self.prompt.tell(Signal::Changed),
                Effect::Hide => {
                    self.prompt.guard.close();
                    if let Some(window) = &self.window {
                        done("hide", window.hide());
                    }
                }
            }
        }
    }

    fn bring(&mut self, app: &AppHandle, how: fn(&AppHandle, &WebviewWindow) -> tauri::Result<()>) {
        if let Some(window) = self.window(app) {
            done("show", how(app, window));
            self.shown();
        }
    }

    fn shown(&self) {
        self.prompt.guard.arm(Instant::now());
        self.prompt.tell(Signal::Shown);
    }

    /// The window; built first if necessary.
    fn window(&mut self, app: &AppHandle) -> Option<&WebviewWindow> {
        if self.window.is_none() {
            match window::build(app) {
                Ok(window) => self.window = Some(window),
                Err(error) => tracing::error!(%error, "the window with the questions could not be made"),
            }
        }
        self.window.as_ref()
    }
}

fn done(what: &str, result: tauri::Result<()>) {
    if let Err(error) = result {
        tracing::warn!(%error, what, "the window with the questions did not obey");
    }
}
