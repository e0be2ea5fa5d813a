//! `gatehouse://` links that the operating system hands over (UI-2): among the arguments of a start, or as an event. They come
//! from anywhere, so nothing but their outer shape is looked at here; the core reads them, and the page shows what they say.
//! A link must never do more than that.

use gatehouse_model::registry::{LINK_SCHEME, MAX_LINK_BYTES};

/// The first argument that begins as a link does. All other arguments are ignored, also those that follow it.
pub fn server_link_in(arguments: impl IntoIterator<Item = String>) -> Option<String> {
    arguments.into_iter().find(|argument| argument.starts_with(LINK_SCHEME))
}

/// Whether a text is short enough and looks like a link.
pub(crate) fn is_server_link(text: &str) -> bool {
    text.starts_with(LINK_SCHEME)
        && text.len() <= MAX_LINK_BYTES
        && text.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_first_link_among_arguments() {
        let table: [(&[&str], Option<&str>); 6] = [
            (&[], None),
            (&["--data-dir", "/tmp"], None),
            (&["gatehouse://add?command=x"], Some("gatehouse://add?command=x")),
            (&["--flag", "gatehouse://a", "gatehouse://b"], Some("gatehouse://a")),
            (&["GATEHOUSE://add", "x gatehouse://add", "https://gatehouse://add"], None),
            (&["--link=gatehouse://add"], None),
        ];
        for (arguments, expected) in table {
            let found = server_link_in(arguments.iter().map(|&argument| argument.to_owned()));
            assert_eq!(found.as_deref(), expected, "{arguments:?}");
        }
    }

    #[test]
    fn takes_only_short_printable_links() {
        assert!(is_server_link("gatehouse://add?command=x"));
        assert!(!is_server_link("gatehouse:add"));
        assert!(!is_server_link("gatehouse://add?command=\u{202e}x"));
        assert!(!is_server_link("gatehouse://add?command=a b"));
        assert!(!is_server_link(&format!("gatehouse://{}", "x".repeat(MAX_LINK_BYTES))));
    }
}
