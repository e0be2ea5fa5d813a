//! The prompt window, which shows pending approvals: one task owns the window, receives messages and
//! applies the effects of the policy. It makes no decision about an approval request; if the window
//! cannot be shown, the request expires, which denies it.

pub(crate) mod input_delay;
pub(crate) mod policy;
pub(crate) mod window;

use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;
use serde::Serialize;
use tauri::ipc::Channel;
use tauri::{AppHandle, Manager, WebviewWindow};
use tokio::sync::mpsc;

use input_delay::InputDelay;
use policy::{PromptEffect, PromptInput, PromptPolicy};

use crate::i18n::Locale;
use crate::preferences::Preferences;

/// Signals for the page of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PromptSignal {
    /// The pending approvals have changed.
    Changed,
    /// The window came up or was raised.
    Shown,
    /// Theme or language changed.
    Preferences,
}

/// Messages for the window's task.
enum PromptMessage {
    /// Build the window without showing it.
    Preload,
    /// An input of the policy.
    PromptInput(PromptInput),
    /// Set this height, in logical pixels.
    Fit(f64),
}

/// Handle to the prompt window.
#[derive(Clone)]
pub(crate) struct Prompt {
    inbox: mpsc::UnboundedSender<PromptMessage>,
    input_delay: Arc<InputDelay>,
    page: Arc<Mutex<Option<Channel<PromptSignal>>>>,
}

/// The receiving end, run as a task.
pub(crate) struct PromptDriver {
    outbox: mpsc::UnboundedReceiver<PromptMessage>,
    prompt: Prompt,
    policy: PromptPolicy,
    window: Option<WebviewWindow>,
}

impl Prompt {
    /// A prompt whose window is not built yet.
    pub(crate) fn new() -> (Self, PromptDriver) {
        let (inbox, outbox) = mpsc::unbounded_channel();
        let prompt = Self { inbox, input_delay: Arc::default(), page: Arc::default() };
        let driver =
            PromptDriver { outbox, prompt: prompt.clone(), policy: PromptPolicy::default(), window: None };
        (prompt, driver)
    }

    /// Builds the window ahead of the first approval request.
    pub(crate) fn preload(&self) {
        self.send(PromptMessage::Preload);
    }

    /// Sends an input to the policy.
    pub(crate) fn input(&self, input: PromptInput) {
        self.send(PromptMessage::PromptInput(input));
    }

    /// Sets the window's height to that of its page.
    pub(crate) fn fit(&self, height: f64) {
        self.send(PromptMessage::Fit(height));
    }

    /// Replaces the page's channel. The page has to read again: what it read before it subscribed may be
    /// outdated.
    pub(crate) fn listen(&self, page: Channel<PromptSignal>) {
        *self.page.lock() = Some(page);
        self.send_signal(PromptSignal::Changed);
        self.input(PromptInput::PageReady);
    }

    /// Sends a signal to the page, if there is one.
    fn send_signal(&self, signal: PromptSignal) {
        let page = self.page.lock().clone();
        if let Some(Err(error)) = page.map(|page| page.send(signal)) {
            tracing::warn!(%error, "the page of the prompt did not hear");
        }
    }

    /// Applies changed preferences.
    pub(crate) fn apply_preferences(&self, app: &AppHandle, preferences: &Preferences) {
        self.send_signal(PromptSignal::Preferences);
        if let Some(window) = app.get_webview_window(window::PROMPT) {
            log_failure(
                "title",
                window.set_title(Locale::from_preference(preferences.language).prompt_title()),
            );
        }
    }

    /// Refuses an answer that comes too soon to be intended.
    pub(crate) fn ensure_can_answer(&self) -> Result<(), gatehouse_model::UserError> {
        self.input_delay.check(Instant::now())
    }

    /// After the application has ended there is no receiver, and nothing to do.
    fn send(&self, message: PromptMessage) {
        if self.inbox.send(message).is_err() {
            tracing::debug!("the window with the questions is gone");
        }
    }
}

impl PromptDriver {
    /// Runs until the application ends.
    pub(crate) async fn run(mut self, app: AppHandle) {
        loop {
            let message = match self.policy.next_wakeup() {
                None => self.outbox.recv().await,
                Some(at) => match tokio::time::timeout_at(at.into(), self.outbox.recv()).await {
                    Ok(message) => message,
                    Err(_) => Some(PromptMessage::PromptInput(PromptInput::Tick)),
                },
            };
            match message {
                None => return,
                Some(PromptMessage::Preload) => {
                    self.window(&app);
                }
                Some(PromptMessage::Fit(height)) => {
                    if let Some(window) = &self.window {
                        log_failure("fit", window::fit(window, height));
                    }
                }
                Some(PromptMessage::PromptInput(input)) => self.handle_input(&app, input),
            }
        }
    }

    fn handle_input(&mut self, app: &AppHandle, input: PromptInput) {
        // The user minimised the window, which is another way of putting it away.
        if matches!(input, PromptInput::Requested(_) | PromptInput::Snapshot(_))
            && self.window.as_ref().is_some_and(|window| window.is_minimized().unwrap_or(false))
        {
            self.apply(app, PromptInput::Dismissed);
        }
        self.apply(app, input);
    }

    fn apply(&mut self, app: &AppHandle, input: PromptInput) {
        for effect in self.policy.transition(input, Instant::now()) {
            match effect {
                PromptEffect::Show => self.present(app, window::show),
                PromptEffect::Raise => self.present(app, window::raise),
                PromptEffect::Rearm => self.shown(),
                PromptEffect::Reread => self.prompt.send_signal(PromptSignal::Changed),
                PromptEffect::Hide => {
                    self.prompt.input_delay.close();
                    if let Some(window) = &self.window {
                        log_failure("hide", window.hide());
                    }
                }
            }
        }
    }

    fn present(&mut self, app: &AppHandle, how: fn(&AppHandle, &WebviewWindow) -> tauri::Result<()>) {
        if let Some(window) = self.window(app) {
            log_failure("show", how(app, window));
            self.shown();
        }
    }

    fn shown(&self) {
        self.prompt.input_delay.arm(Instant::now());
        self.prompt.send_signal(PromptSignal::Shown);
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

fn log_failure(what: &str, result: tauri::Result<()>) {
    if let Err(error) = result {
        tracing::warn!(%error, what, "the window with the questions did not obey");
    }
}
