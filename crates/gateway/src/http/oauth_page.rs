//! The pages of the authorization server in the browser: static, without scripts, in the reader's language. None of them
//! grants anything: the answer is given in Gatehouse.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gatehouse_model::messages::{Language, render};
use gatehouse_model::{Message, message};
use sha2::{Digest as _, Sha256};

const STYLE: &str = ":root{color-scheme:light dark}*{box-sizing:border-box}\
body{margin:0;min-height:100vh;display:grid;place-items:center;padding:24px;background:#f4f5f7;color:#1c2230;\
font:16px/1.5 system-ui,-apple-system,'Segoe UI','PingFang SC','Microsoft YaHei','Noto Sans CJK SC',sans-serif}\
main{max-width:440px;width:100%;padding:40px 32px;background:#fff;border:1px solid #e2e5ea;border-radius:14px;\
text-align:center;overflow-wrap:anywhere}\
h1{margin:0 0 8px;font-size:22px;line-height:1.3}p{margin:0;color:#566073}\
a{display:inline-block;margin-top:20px;color:#2a5bd7}\
footer{margin-top:28px;font-size:13px;color:#566073}\
@media(prefers-color-scheme:dark){body{background:#14171d;color:#eef1f6}main{background:#1c2129;border-color:#2c333f}\
p,footer{color:#aab3c2}a{color:#8fb0ff}}";

static POLICY: LazyLock<String> = LazyLock::new(|| {
    let hash = STANDARD.encode(Sha256::digest(STYLE));
    format!(
        "default-src 'none'; style-src 'sha256-{hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
});

/// The Content-Security-Policy: only the page's own style is allowed.
pub(crate) fn content_security_policy() -> &'static str {
    &POLICY
}

/// What a page says and does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OAuthPage {
    /// The user is asked in Gatehouse; the page reloads itself.
    Waiting,
    /// The request came from another web page, so the person has to go on. The address is this request's.
    Confirm { address: String },
    /// The client can't be told what is wrong, so the person is.
    Refused(Message),
}

impl OAuthPage {
    pub(crate) fn html(&self, language: Language) -> String {
        let text = |message: &Message| escape(&render(message, language, &|at| at.0.to_string()));
        let (title, body, more, refresh) = match self {
            Self::Waiting => (
                message!("page.authorize.waitTitle"),
                text(&message!("page.authorize.wait")),
                String::new(),
                "<meta http-equiv=\"refresh\" content=\"1\">",
            ),
            Self::Confirm { address } => (
                message!("page.authorize.confirmTitle"),
                text(&message!("page.authorize.confirm")),
                format!("<a href=\"{}\">{}</a>", escape(address), text(&message!("page.authorize.continue"))),
                "",
            ),
            Self::Refused(why) => (message!("page.authorize.refusedTitle"), text(why), String::new(), ""),
        };
        let title = text(&title);
        let code = match language {
            Language::English => "en",
            Language::SimplifiedChinese => "zh-CN",
        };
        format!(
            "<!doctype html><html lang=\"{code}\"><head><meta charset=\"utf-8\">{refresh}\
             <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
             <title>{title} · Gatehouse</title><style>{STYLE}</style></head><body><main>\
             <h1>{title}</h1><p>{body}</p>{more}<footer>Gatehouse</footer></main></body></html>"
        )
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_have_no_scripts_and_escape_what_they_show() {
        let page = OAuthPage::Confirm { address: "/oauth/authorize?a=\"><script>alert(1)</script>".into() };
        let html = page.html(Language::English);
        assert!(html.contains("href=\"/oauth/authorize?a=&quot;&gt;&lt;script&gt;"), "{html}");
        let refused = OAuthPage::Refused(message!("page.authorize.badRequest", reason = "<b>x</b>"));
        for language in Language::ALL {
            let html = refused.html(language);
            assert!(html.contains("&lt;b&gt;x&lt;/b&gt;") && !html.contains("<script"), "{html}");
            assert!(OAuthPage::Waiting.html(language).contains("http-equiv=\"refresh\""));
        }
    }
}
