//! The texts of notifications: who wants what from which server. Must never contain arguments or secrets, and
//! nothing that a desktop would interpret as markup.

use gatehouse_model::Message;

use crate::i18n::Locale;
use crate::request_words::{RequestWords, plain};

/// Why a server needs the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ServerTrouble {
    SignIn,
    ClientId,
    /// It failed, and Gatehouse does not try again.
    Failed,
}

/// Title and body of a notification.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NotificationWords {
    pub(super) title: String,
    pub(super) body: String,
}

/// The notification about pending approvals.
pub(super) fn approvals(count: u32, latest: &RequestWords, locale: Locale) -> NotificationWords {
    let (title, body) = match latest {
        RequestWords::Call { client, tool, server } => (
            Message::new("shell.notify.call").with("client", client.as_str()).with("tool", tool.as_str()),
            Message::new("shell.notify.on").with("server", server.as_str()),
        ),
        other => (other.line(), Message::new("shell.notify.answer")),
    };
    let (title, body) = if count > 1 {
        (Message::new("shell.notify.pending").with("count", count), title)
    } else {
        (title, body)
    };
    NotificationWords { title: locale.render(&title), body: locale.render(&body) }
}

/// The notification about a server that needs the user.
pub(super) fn server(name: &str, trouble: ServerTrouble, locale: Locale) -> NotificationWords {
    let (title, body) = match trouble {
        ServerTrouble::SignIn => ("shell.notify.signIn", "shell.notify.signInText"),
        ServerTrouble::ClientId => ("shell.notify.clientId", "shell.notify.clientIdText"),
        ServerTrouble::Failed => ("shell.notify.failed", "shell.notify.failedText"),
    };
    let title = Message::new(title).with("server", plain(name));
    NotificationWords { title: locale.render(&title), body: locale.text(body) }
}

/// The notification about several servers that need the user.
pub(super) fn servers(count: u32, locale: Locale) -> NotificationWords {
    let title = Message::new("shell.notify.servers").with("count", count);
    NotificationWords { title: locale.render(&title), body: locale.text("shell.notify.serversText") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request_words::LONGEST_NAME;

    fn call(client: &str, tool: &str, server: &str) -> RequestWords {
        RequestWords::Call { client: plain(client), tool: plain(tool), server: plain(server) }
    }

    #[test]
    fn say_who_wants_what_and_nothing_else() {
        let one = call("Claude Code", "Write file", "files");
        for (count, words, locale, title, body) in [
            (1, one.clone(), Locale::ENGLISH, "Claude Code wants to use Write file", "On files"),
            (3, one.clone(), Locale::ENGLISH, "3 pending approvals", "Claude Code wants to use Write file"),
            (1, one, Locale::SIMPLIFIED_CHINESE, "Claude Code 想使用 Write file", "服务器：files"),
            (
                1,
                call("a\u{202e}b\n", "<a href=\"x\">T</a> & co", "s"),
                Locale::ENGLISH,
                "ab wants to use ‹a href=\"x\"›T‹/a› ＆ co",
                "On s",
            ),
            (1, RequestWords::Access, Locale::ENGLISH, "A new client wants access", "Answer in Gatehouse"),
            (
                1,
                RequestWords::Scopes { server: plain("Linear") },
                Locale::ENGLISH,
                "Linear asks for more permissions",
                "Answer in Gatehouse",
            ),
        ] {
            let said = approvals(count, &words, locale);
            assert_eq!((said.title.as_str(), said.body.as_str()), (title, body));
        }
        let long = approvals(1, &call(&"x".repeat(500), "t", "s"), Locale::ENGLISH);
        assert_eq!(long.title, format!("{}… wants to use t", "x".repeat(LONGEST_NAME - 1)));
    }

    #[test]
    fn say_what_a_server_needs() {
        for (trouble, title) in [
            (ServerTrouble::SignIn, "Sign-in needed for Linear"),
            (ServerTrouble::ClientId, "Linear needs a client ID"),
            (ServerTrouble::Failed, "Linear has stopped"),
        ] {
            assert_eq!(server("Linear", trouble, Locale::ENGLISH).title, title);
        }
        assert_eq!(servers(4, Locale::ENGLISH).title, "4 servers need your attention");
    }
}
