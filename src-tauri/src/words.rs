//! Texts of the shell itself in both languages: the tray and a title. The pages have their own catalogs.

use gatehouse_common::messages;

use crate::preferences::Language;
use crate::tray::View;

/// The texts of one language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Words {
    English,
    /// 简体中文
    SimplifiedChinese,
}

impl Words {
    /// The texts for the user's preference.
    pub(crate) fn preferred(language: Language) -> Self {
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
    pub(crate) fn asks(self) -> &'static str {
        self.pick("Gatehouse asks", "Gatehouse 询问")
    }

    /// Status line: what runs and what is pending.
    pub(crate) fn status(self, view: View) -> String {
        let (running, servers, waiting, paused, on) = match view {
            View::NotRunning => {
                return self.pick("Gatehouse is not running yet", "Gatehouse 尚未运行").to_owned();
            }
            View::Locked => {
                let english = "Gatehouse waits for the passphrase of its vault";
                return self.pick(english, "Gatehouse 正在等待保险库口令").to_owned();
            }
            View::Running { running, servers, waiting, paused, on, .. } => {
                (running, servers, waiting, paused, on)
            }
        };
        let state = match (on, paused) {
            (false, _) => self.pick("MCP is switched off", "MCP 已关闭").to_owned(),
            (true, true) => self.pick("Everything is paused", "已全部暂停").to_owned(),
            (true, false) => match self {
                Self::English if servers == 1 => format!("{running} of 1 server runs"),
                Self::English => format!("{running} of {servers} servers run"),
                Self::SimplifiedChinese => format!("{servers} 个服务器中 {running} 个在运行"),
            },
        };
        let questions = match (self, waiting) {
            (_, 0) => return state,
            (Self::English, 1) => "1 question waits".to_owned(),
            (Self::English, _) => format!("{waiting} questions wait"),
            (Self::SimplifiedChinese, _) => format!("{waiting} 个问题等待答复"),
        };
        format!("{state} · {questions}")
    }

    /// Label: opens the main window.
    pub(crate) fn show(self) -> &'static str {
        self.pick("Show Gatehouse", "显示 Gatehouse")
    }

    /// Label: opens the prompt window.
    pub(crate) fn question(self) -> &'static str {
        self.pick("Show the question", "显示问题")
    }

    /// Label: pauses or resumes.
    pub(crate) fn pause(self, paused: bool) -> &'static str {
        if paused { self.pick("Resume", "恢复") } else { self.pick("Pause all", "全部暂停") }
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
    fn the_status_is_one_line() {
        let view = |running, servers, waiting| View::Running {
            running,
            servers,
            waiting,
            paused: false,
            on: true,
            problem: false,
        };
        let off =
            View::Running { running: 0, servers: 3, waiting: 0, paused: true, on: false, problem: false };
        let paused =
            View::Running { running: 2, servers: 3, waiting: 2, paused: true, on: true, problem: true };
        for (view, english, chinese) in [
            (View::NotRunning, "Gatehouse is not running yet", "Gatehouse 尚未运行"),
            (View::Locked, "Gatehouse waits for the passphrase of its vault", "Gatehouse 正在等待保险库口令"),
            (view(0, 0, 0), "0 of 0 servers run", "0 个服务器中 0 个在运行"),
            (view(1, 1, 0), "1 of 1 server runs", "1 个服务器中 1 个在运行"),
            (
                view(2, 3, 1),
                "2 of 3 servers run · 1 question waits",
                "3 个服务器中 2 个在运行 · 1 个问题等待答复",
            ),
            (
                view(2, 3, 4),
                "2 of 3 servers run · 4 questions wait",
                "3 个服务器中 2 个在运行 · 4 个问题等待答复",
            ),
            (off, "MCP is switched off", "MCP 已关闭"),
            (paused, "Everything is paused · 2 questions wait", "已全部暂停 · 2 个问题等待答复"),
        ] {
            assert_eq!(Words::English.status(view), english);
            assert_eq!(Words::SimplifiedChinese.status(view), chinese);
        }
    }
}
