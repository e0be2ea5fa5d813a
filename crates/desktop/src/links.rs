//! Opens addresses in the user's browser. Only `https`, and `http` on this computer; always as one
//! argument of one program, never through a shell.

use std::sync::Arc;

use gatehouse_common::ip_address::is_https_or_loopback;
use gatehouse_model::{ErrorCode, OpenUrl, UserError, message};
use url::Url;

/// Starts the user's browser.
pub trait BrowserLauncher: Send + Sync {
    /// Opens an address whose scheme was checked, as one argument and without a shell.
    fn launch_browser(&self, url: &str) -> Result<(), String>;
}

/// The user's browser. It opens no address that was not checked.
#[derive(Clone)]
pub(crate) struct Browser(Arc<dyn BrowserLauncher>);

impl Browser {
    pub(crate) fn new(launcher: Arc<dyn BrowserLauncher>) -> Self {
        Self(launcher)
    }

    /// Opens an address after a check of its scheme.
    pub(crate) fn open_link(&self, address: &str) -> Result<(), UserError> {
        let url = permitted_url(address).ok_or_else(|| {
            UserError::new(ErrorCode::Refused, message!("error.desktop.linkRefused"))
                .with_cause(message!("error.desktop.linkRefusedCause"))
        })?;
        self.0.launch_browser(url.as_str()).map_err(|error| {
            UserError::new(ErrorCode::Internal, message!("error.desktop.browserUnopened"))
                .with_cause(format!("{error}."))
                .with_hint(message!("error.desktop.browserUnopenedHint"))
        })
    }
}

impl OpenUrl for Browser {
    fn open(&self, url: &str) -> Result<(), String> {
        self.open_link(url).map_err(|error| error.to_string())
    }
}

/// The normalised address, if it may be opened.
fn permitted_url(address: &str) -> Option<Url> {
    let url = Url::parse(address).ok()?;
    let plain = url.username().is_empty() && url.password().is_none();
    (plain && is_https_or_loopback(&url)).then_some(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opens_only_https_and_local_http() {
        let table = [
            ("https://example.org/a?b=c#d", true),
            ("HTTPS://example.org", true),
            ("http://127.0.0.1:4242/callback", true),
            ("http://[::1]:4242/", true),
            ("http://localhost/", true),
            ("http://id.localhost:8080/authorize", true),
            ("http://example.org/", false),
            ("http://localhost.example.org/", false),
            ("https://user:pass@example.org/", false),
            ("https://example.org@evil.example/", false),
            ("file:///etc/passwd", false),
            ("javascript:alert(1)", false),
            ("data:text/html,hi", false),
            ("gatehouse://add", false),
            ("--help", false),
            ("", false),
        ];
        for (address, expected) in table {
            assert_eq!(permitted_url(address).is_some(), expected, "{address}");
        }
    }
}
