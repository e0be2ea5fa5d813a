//! The final page in the browser: small, without scripts, in the reader's language, and without any content
//! of the URL.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallbackPage {
    Done,
    /// The sign-in failed.
    Failed,
    /// The response doesn't belong to a pending sign-in.
    Unexpected,
}

const STYLE: &str = ":root{color-scheme:light dark}*{box-sizing:border-box}\
body{margin:0;min-height:100vh;display:grid;place-items:center;padding:24px;background:#f4f5f7;color:#1c2230;\
font:16px/1.5 system-ui,-apple-system,'Segoe UI','PingFang SC','Microsoft YaHei','Noto Sans CJK SC',sans-serif}\
main{max-width:420px;width:100%;padding:40px 32px;background:#fff;border:1px solid #e2e5ea;border-radius:14px;\
text-align:center;box-shadow:0 8px 30px rgb(20 28 45/.08)}\
.mark{width:56px;height:56px;margin:0 auto 20px;border-radius:50%;display:grid;place-items:center;\
font-size:28px;line-height:1;color:#fff}.good{background:#1f8a54}.bad{background:#b54708}\
h1{margin:0 0 8px;font-size:22px;line-height:1.3}p{margin:0;color:#566073}\
footer{margin-top:28px;font-size:13px;color:#566073}\
@media(prefers-color-scheme:dark){body{background:#14171d;color:#eef1f6}main{background:#1c2129;border-color:#2c333f;\
box-shadow:none}p{color:#aab3c2}footer{color:#aab3c2}}";

static POLICY: LazyLock<String> = LazyLock::new(|| {
    let hash = STANDARD.encode(Sha256::digest(STYLE));
    format!(
        "default-src 'none'; style-src 'sha256-{hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
});

struct PageText {
    title: &'static str,
    text: &'static str,
}

impl CallbackPage {
    fn texts(self, chinese: bool) -> PageText {
        let (title, text) = match (self, chinese) {
            (Self::Done, false) => {
                ("You are signed in", "Gatehouse has what it needs. You can close this window.")
            }
            (Self::Done, true) => ("登录成功", "Gatehouse 已完成登录。您可以关闭此窗口。"),
            (Self::Failed, false) => (
                "The sign-in did not work",
                "Gatehouse says why and lets you try again. You can close this window.",
            ),
            (Self::Failed, true) => ("登录未成功", "请回到 Gatehouse 查看原因并重试。您可以关闭此窗口。"),
            (Self::Unexpected, false) => (
                "Nothing waits for this page",
                "This address belongs to no sign-in of Gatehouse. Begin again there. You can close this window.",
            ),
            (Self::Unexpected, true) => (
                "此页面已失效",
                "该地址不属于任何正在进行的登录。请在 Gatehouse 中重新开始。您可以关闭此窗口。",
            ),
        };
        PageText { title, text }
    }

    pub(crate) fn html(self, chinese: bool) -> String {
        let PageText { title, text } = self.texts(chinese);
        let (mark, class) = if self == Self::Done { ("✓", "good") } else { ("!", "bad") };
        let language = if chinese { "zh-CN" } else { "en" };
        format!(
            "<!doctype html><html lang=\"{language}\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
             <title>{title} · Gatehouse</title><style>{STYLE}</style></head><body><main>\
             <div class=\"mark {class}\" aria-hidden=\"true\">{mark}</div><h1>{title}</h1><p>{text}</p>\
             <footer>Gatehouse</footer></main></body></html>"
        )
    }
}

/// The Content-Security-Policy: only the page's own style is allowed.
pub(crate) fn content_security_policy() -> &'static str {
    &POLICY
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_small_and_script_free() {
        for page in [CallbackPage::Done, CallbackPage::Failed, CallbackPage::Unexpected] {
            let english = page.html(false);
            assert!(english.contains("You can close this window") && english.len() < 4096);
            assert!(page.html(true).contains("您可以关闭此窗口"));
            assert!(!english.contains("<script"));
        }
    }
}
