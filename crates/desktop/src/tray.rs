//! What the tray shows: status at a glance, the pending approvals, a switch for pausing (PERM-13), and a way
//! to open the windows. A toolkit draws it as it is given; it keeps no state of its own that this module needs.
//!
//! Must never answer an approval request: an item only shows it.

use std::sync::Arc;

use gatehouse_model::command::StatusReport;
use gatehouse_model::{ApprovalId, Message, PendingApproval};
use parking_lot::Mutex;

use crate::i18n::Locale;
use crate::request_words::RequestWords;

/// Most pending approvals that the menu names.
const MAX_APPROVALS: usize = 5;
/// What the ids of the menu items of pending approvals begin with.
const APPROVAL_PREFIX: &str = "approval:";

/// Draws the tray.
pub trait TrayDisplay: Send + Sync {
    /// Shows this menu and icon. A desktop without a tray is not an error.
    fn draw_tray(&self, menu: &TrayMenu);
}

/// The mark on the tray's icon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TrayIconState {
    /// Everything is fine: no mark.
    Normal,
    /// An approval is pending, or the vault is locked.
    Waiting,
    /// No calls pass.
    Paused,
    Problem,
}

/// An item of the menu that the user can choose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrayAction {
    ShowMain,
    ShowPrompt,
    /// Shows one pending approval.
    ShowApproval(ApprovalId),
    /// Pauses or resumes, as the item says.
    TogglePause,
    Quit,
}

impl TrayAction {
    /// Identifier of the menu item.
    #[must_use]
    pub fn id(&self) -> String {
        match self {
            Self::ShowMain => "show-main".to_owned(),
            Self::ShowPrompt => "show-prompt".to_owned(),
            Self::ShowApproval(approval) => format!("{APPROVAL_PREFIX}{approval}"),
            Self::TogglePause => "toggle-pause".to_owned(),
            Self::Quit => "quit".to_owned(),
        }
    }

    /// The action of a menu item.
    #[must_use]
    pub fn from_id(id: &str) -> Option<Self> {
        if let Some(approval) = id.strip_prefix(APPROVAL_PREFIX) {
            return Some(Self::ShowApproval(approval.into()));
        }
        let fixed = [Self::ShowMain, Self::ShowPrompt, Self::TogglePause, Self::Quit];
        fixed.into_iter().find(|action| action.id() == id)
    }
}

/// A pending approval as the menu names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TrayApproval {
    pub(crate) id: ApprovalId,
    words: RequestWords,
}

impl From<&PendingApproval> for TrayApproval {
    fn from(pending: &PendingApproval) -> Self {
        Self { id: pending.id.clone(), words: RequestWords::from(&pending.request) }
    }
}

/// The tray's menu and icon as they are to be drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrayMenu {
    pub icon: TrayIconState,
    /// Status line: what runs and what is pending. Also the tooltip.
    pub status: String,
    pub show_main: String,
    pub show_prompt: String,
    /// Whether there are pending approvals to show.
    pub show_prompt_enabled: bool,
    /// The pending approvals that were made first, by action and text.
    pub approvals: Vec<(TrayAction, String)>,
    pub toggle_pause: String,
    /// Whether there is a core to pause.
    pub toggle_pause_enabled: bool,
    pub quit: String,
}

impl TrayMenu {
    fn new(TrayState { view, approvals, locale }: &TrayState) -> Self {
        let (view, locale) = (*view, *locale);
        let item = |approval: &TrayApproval| {
            (TrayAction::ShowApproval(approval.id.clone()), locale.render(&approval.words.line()))
        };
        Self {
            icon: view.icon_state(),
            status: status_line(view, locale),
            show_main: locale.text("shell.show"),
            show_prompt: locale.text("shell.approvals"),
            show_prompt_enabled: matches!(view, TrayView::Running { pending: 1.., .. }),
            approvals: approvals.iter().take(MAX_APPROVALS).map(item).collect(),
            toggle_pause: locale.text(if view.is_paused() { "shell.resume" } else { "shell.pause" }),
            toggle_pause_enabled: matches!(view, TrayView::Running { .. }),
            quit: locale.text("shell.quit"),
        }
    }
}

/// The state to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TrayView {
    /// The core was not started yet, or could not be.
    NotRunning,
    /// The core waits for the passphrase of the vault.
    Locked,
    /// The core runs.
    Running {
        /// Number of connected servers.
        running: u32,
        /// Number of servers.
        servers: u32,
        /// Number of pending approvals.
        pending: u32,
        /// Whether calls are paused.
        paused: bool,
        /// Whether MCP is on.
        on: bool,
        problem: bool,
    },
}

impl From<&StatusReport> for TrayView {
    fn from(report: &StatusReport) -> Self {
        Self::Running {
            running: report.running,
            servers: report.servers,
            pending: report.waiting,
            paused: report.paused,
            on: report.switched_on,
            problem: !report.problems.is_empty(),
        }
    }
}

impl TrayView {
    /// In order of importance: pending approvals, then paused or off, then problems.
    fn icon_state(self) -> TrayIconState {
        match self {
            Self::NotRunning => TrayIconState::Normal,
            Self::Locked | Self::Running { pending: 1.., .. } => TrayIconState::Waiting,
            Self::Running { paused: true, .. } | Self::Running { on: false, .. } => TrayIconState::Paused,
            Self::Running { problem: true, .. } => TrayIconState::Problem,
            Self::Running { .. } => TrayIconState::Normal,
        }
    }

    fn is_paused(self) -> bool {
        matches!(self, Self::Running { paused: true, .. })
    }
}

/// Status line: what runs and what is pending.
fn status_line(view: TrayView, locale: Locale) -> String {
    let (running, servers, pending, paused, on) = match view {
        TrayView::NotRunning => return locale.text("shell.notRunning"),
        TrayView::Locked => return locale.text("shell.locked"),
        TrayView::Running { running, servers, pending, paused, on, .. } => {
            (running, servers, pending, paused, on)
        }
    };
    let state = match (on, paused) {
        (false, _) => Message::new("shell.off"),
        (true, true) => Message::new("shell.paused"),
        (true, false) => Message::new("shell.running").with("running", running).with("servers", servers),
    };
    if pending == 0 {
        return locale.render(&state);
    }
    locale.render(&Message::new("shell.pending").with("state", state).with("count", pending))
}

/// The tray's state, drawn again when it changes.
#[derive(Clone)]
pub(crate) struct Tray {
    state: Arc<Mutex<TrayState>>,
    display: Arc<dyn TrayDisplay>,
}

#[derive(Clone)]
struct TrayState {
    view: TrayView,
    /// The pending approvals, oldest first.
    approvals: Vec<TrayApproval>,
    locale: Locale,
}

impl Tray {
    /// A tray that is not drawn yet.
    pub(crate) fn new(locale: Locale, display: Arc<dyn TrayDisplay>) -> Self {
        let state = TrayState { view: TrayView::NotRunning, approvals: Vec::new(), locale };
        Self { state: Arc::new(Mutex::new(state)), display }
    }

    /// Shows another state with these pending approvals, oldest first.
    pub(crate) fn set_view(&self, view: TrayView, approvals: Vec<TrayApproval>) {
        let is_same = {
            let mut state = self.state.lock();
            let is_same = state.view == view && state.approvals == approvals;
            (state.view, state.approvals) = (view, approvals);
            is_same
        };
        if !is_same {
            self.draw();
        }
    }

    /// Changes the language.
    pub(crate) fn set_locale(&self, locale: Locale) {
        let before = std::mem::replace(&mut self.state.lock().locale, locale);
        if before != locale {
            self.draw();
        }
    }

    /// Whether the menu says that calls are paused.
    pub(crate) fn is_paused(&self) -> bool {
        self.state.lock().view.is_paused()
    }

    pub(crate) fn draw(&self) {
        // The lock is released first: a toolkit may draw on the main thread, which may need it.
        let state = self.state.lock().clone();
        self.display.draw_tray(&TrayMenu::new(&state));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request_words::plain;

    #[test]
    fn icon_shows_most_important_state() {
        let view = |pending, paused, on, problem| TrayView::Running {
            running: 1,
            servers: 2,
            pending,
            paused,
            on,
            problem,
        };
        for (view, icon_state) in [
            (TrayView::NotRunning, TrayIconState::Normal),
            (TrayView::Locked, TrayIconState::Waiting),
            (view(0, false, true, false), TrayIconState::Normal),
            (view(0, false, true, true), TrayIconState::Problem),
            (view(0, true, true, true), TrayIconState::Paused),
            (view(0, false, false, false), TrayIconState::Paused),
            (view(1, false, true, true), TrayIconState::Waiting),
            (view(3, true, true, false), TrayIconState::Waiting),
        ] {
            assert_eq!(view.icon_state(), icon_state, "{view:?}");
        }
    }

    #[test]
    fn renders_status_line() {
        let view = |running, servers, pending| TrayView::Running {
            running,
            servers,
            pending,
            paused: false,
            on: true,
            problem: false,
        };
        let off =
            TrayView::Running { running: 0, servers: 3, pending: 0, paused: true, on: false, problem: false };
        let paused =
            TrayView::Running { running: 2, servers: 3, pending: 2, paused: true, on: true, problem: true };
        for (view, english, chinese) in [
            (TrayView::NotRunning, "Gatehouse isn't running", "Gatehouse 未运行"),
            (TrayView::Locked, "Vault locked: enter the passphrase", "保险库已锁定：请输入口令"),
            (view(0, 0, 0), "0 of 0 servers running", "0 个服务器中 0 个在运行"),
            (view(1, 1, 0), "1 of 1 server running", "1 个服务器中 1 个在运行"),
            (
                view(2, 3, 1),
                "2 of 3 servers running · 1 pending approval",
                "3 个服务器中 2 个在运行 · 1 个请求待审批",
            ),
            (
                view(2, 3, 4),
                "2 of 3 servers running · 4 pending approvals",
                "3 个服务器中 2 个在运行 · 4 个请求待审批",
            ),
            (off, "MCP is off", "MCP 已关闭"),
            (paused, "Everything is paused · 2 pending approvals", "已全部暂停 · 2 个请求待审批"),
        ] {
            assert_eq!(status_line(view, Locale::ENGLISH), english);
            assert_eq!(status_line(view, Locale::SIMPLIFIED_CHINESE), chinese);
        }
    }

    #[test]
    fn enables_items_that_have_an_effect() {
        let running = |pending, paused| TrayView::Running {
            running: 1,
            servers: 1,
            pending,
            paused,
            on: true,
            problem: false,
        };
        for (view, show_prompt, toggle_pause, label) in [
            (TrayView::NotRunning, false, false, "Pause everything"),
            (TrayView::Locked, false, false, "Pause everything"),
            (running(0, false), false, true, "Pause everything"),
            (running(1, true), true, true, "Resume"),
        ] {
            let state = TrayState { view, approvals: Vec::new(), locale: Locale::ENGLISH };
            let menu = TrayMenu::new(&state);
            assert_eq!(menu.show_prompt_enabled, show_prompt, "{view:?}");
            assert_eq!(menu.toggle_pause_enabled, toggle_pause, "{view:?}");
            assert_eq!(menu.toggle_pause, label, "{view:?}");
        }
        for action in [
            TrayAction::ShowMain,
            TrayAction::ShowPrompt,
            TrayAction::ShowApproval("ask-1".into()),
            TrayAction::TogglePause,
            TrayAction::Quit,
        ] {
            assert_eq!(TrayAction::from_id(&action.id()), Some(action));
        }
        assert_eq!(TrayAction::from_id("status"), None);
    }

    #[test]
    fn names_the_oldest_approvals() {
        let approval = |number: usize| TrayApproval {
            id: format!("ask-{number}").as_str().into(),
            words: RequestWords::Call {
                client: "Editor".to_owned(),
                tool: format!("Tool {number}"),
                server: plain(&"x".repeat(50)),
            },
        };
        let view =
            TrayView::Running { running: 1, servers: 1, pending: 7, paused: false, on: true, problem: false };
        for (pending, shown) in [(0, 0), (1, 1), (5, 5), (7, 5)] {
            let approvals = (0..pending).map(approval).collect();
            let menu = TrayMenu::new(&TrayState { view, approvals, locale: Locale::ENGLISH });
            assert_eq!(menu.approvals.len(), shown);
            for (number, (action, text)) in menu.approvals.iter().enumerate() {
                assert_eq!(*action, TrayAction::ShowApproval(format!("ask-{number}").as_str().into()));
                assert_eq!(*text, format!("Editor: Tool {number} ({}…)", "x".repeat(39)));
            }
        }
    }
}
