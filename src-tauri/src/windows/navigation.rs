//! Which addresses a window may show.

use tauri::Url;

/// Whether a page may navigate to a URL. A refusal is logged without what a page could have put into the URL.
pub(super) fn may_navigate(url: &Url) -> bool {
    let own = is_own_page(url);
    if !own {
        tracing::warn!(scheme = url.scheme(), "a page tried to navigate away");
    }
    own
}

/// Whether a URL is a page inside the program.
fn is_own_page(url: &Url) -> bool {
    match (url.scheme(), url.host_str()) {
        ("tauri", Some("localhost")) => true,
        ("http" | "https", Some("tauri.localhost")) => cfg!(any(windows, target_os = "android")),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn navigates_only_to_own_pages() {
        for (address, own) in [
            ("tauri://localhost/index.html", true),
            ("tauri://elsewhere/", false),
            ("https://example.org/", false),
            ("http://localhost/", false),
            ("file:///etc/passwd", false),
            ("data:text/html,hi", false),
        ] {
            assert_eq!(Url::parse(address).is_ok_and(|url| is_own_page(&url)), own, "{address}");
        }
    }
}
