//! Texts of the shell itself in both languages: the tray and a title. The pages have their own catalogs.

use gatehouse_common::messages;

use crate::preferences::Language;
use crate::tray::TrayView;

/// The texts of one language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Locale {
    English,
    /// 简体中文
    SimplifiedChinese,
}

impl Locale {
    /// The texts for the user's preference.
    pub(crate) fn from_preference(language: Language) -> Self {
        match language {
            Language::English => Self::English,
            Language::SimplifiedChinese => Self::SimplifiedChinese,
            Language::System => match messages::Language::of_environment(|name| std::env::var(name).ok()) {
                messages::Language::English => Self::English,
                messages::Language::SimplifiedChinese => Self::SimplifiedChinese,
            },
        }
    }

    /// Title of the prompt window.
    pub(crate) fn prompt_title(self) -> &'static str {
        self.pick("Gatehouse asks", "Gatehouse 询问")
    }

    /// Status line: what runs and what is pending.
    pub(crate) fn status(self, view: TrayView) -> String {
        let (running, servers, waiting, paused, on) = match view {
            TrayView::NotRunning => {
                return self.pick("Gatehouse isn't running", "Gatehouse 未运行").to_owned();
            }
            TrayView::Locked => {
                let english = "Vault locked: enter the passphrase";
                return self.pick(english, "保险库已锁定：请输入口令").to_owned();
            }
            TrayView::Running { running, servers, waiting, paused, on, .. } => {
                (running, servers, waiting, paused, on)
            }
        };
        let state = match (on, paused) {
            (false, _) => self.pick("MCP is off", "MCP 已关闭").to_owned(),
            (true, true) => self.pick("Everything is paused", "已全部暂停").to_owned(),
            (true, false) => match self {
                Self::English if servers == 1 => format!("{running} of 1 server running"),
                Self::English => format!("{running} of {servers} servers running"),
                Self::SimplifiedChinese => format!("{servers} 个服务器中 {running} 个在运行"),
            },
        };
        let questions = match (self, waiting) {
            (_, 0) => return state,
            (Self::English, 1) => "1 pending approval".to_owned(),
            (Self::English, _) => format!("{waiting} pending approvals"),
            (Self::SimplifiedChinese, _) => format!("{waiting} 个请求待审批"),
        };
        format!("{state} · {questions}")
    }

    /// Label: opens the main window.
    pub(crate) fn show(self) -> &'static str {
        self.pick("Show Gatehouse", "显示 Gatehouse")
    }

    /// Label: opens the prompt window.
    pub(crate) fn question(self) -> &'static str {
        self.pick("Show pending approvals", "显示待审批的请求")
    }

    /// Label: pauses or resumes.
    pub(crate) fn pause(self, paused: bool) -> &'static str {
        if paused { self.pick("Resume", "恢复") } else { self.pick("Pause everything", "全部暂停") }
    }

    /// Label: quits Gatehouse.
    pub(crate) fn quit(self) -> &'static str {
        self.pick("Quit Gatehouse", "退出 Gatehouse")
    }

    fn pick(self, english: &'static str, chinese: &'static str) -> &'static str {
        match self {
            Self::English => english,
            Self::SimplifiedChinese => chinese,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renders_status_line() {
        let view = |running, servers, waiting| TrayView::Running {
            running,
            servers,
            waiting,
            paused: false,
            on: true,
            problem: false,
        };
        let off =
            TrayView::Running { running: 0, servers: 3, waiting: 0, paused: true, on: false, problem: false };
        let paused =
            TrayView::Running { running: 2, servers: 3, waiting: 2, paused: true, on: true, problem: true };
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
            assert_eq!(Locale::English.status(view), english);
            assert_eq!(Locale::SimplifiedChinese.status(view), chinese);
        }
    }
}
