//! An approval request in a few words, for the tray and for notifications: who wants what from which server. Clients and
//! servers chose these names, so they are shortened and shown without what cannot be seen.
//!
//! Must never contain arguments or secrets, nor what an unknown client says of itself.

use gatehouse_common::invisible_chars::one_line;
use gatehouse_model::{ApprovalRequest, Message};

/// Longest name, in characters.
pub(crate) const LONGEST_NAME: usize = 40;

/// An approval request in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RequestWords {
    Call {
        client: String,
        tool: String,
        server: String,
    },
    /// An unknown client asks for access.
    Access,
    /// A program proposes a command.
    Command {
        command: String,
    },
    /// The settings of a server were edited by hand.
    Config {
        server: String,
    },
    /// A server asks the user for something.
    Input {
        server: String,
    },
    /// A server asks for the reply of a model.
    Sampling {
        server: String,
    },
    /// A server needs more OAuth scopes.
    Scopes {
        server: String,
    },
}

impl From<&ApprovalRequest> for RequestWords {
    fn from(request: &ApprovalRequest) -> Self {
        match request {
            ApprovalRequest::Call(call) => Self::Call {
                client: plain(&call.client.name),
                tool: plain(&call.title),
                server: plain(&call.server.name),
            },
            ApprovalRequest::Client(_) => Self::Access,
            ApprovalRequest::Command(proposed) => Self::Command { command: plain(&proposed.command) },
            ApprovalRequest::ConfigChange(change) => Self::Config { server: plain(&change.server) },
            ApprovalRequest::Elicitation(wanted) => Self::Input { server: plain(&wanted.server.name) },
            ApprovalRequest::Sampling(wanted) => Self::Sampling { server: plain(&wanted.server.name) },
            ApprovalRequest::StepUp(wanted) => Self::Scopes { server: plain(&wanted.server.name) },
        }
    }
}

impl RequestWords {
    /// The request on one line.
    pub(crate) fn line(&self) -> Message {
        match self {
            Self::Call { client, tool, server } => Message::new("shell.request.call")
                .with("client", client.as_str())
                .with("tool", tool.as_str())
                .with("server", server.as_str()),
            Self::Access => Message::new("shell.request.client"),
            Self::Command { command } => {
                Message::new("shell.request.command").with("command", command.as_str())
            }
            Self::Config { server } => Message::new("shell.request.change").with("server", server.as_str()),
            Self::Input { server } => Message::new("shell.request.input").with("server", server.as_str()),
            Self::Sampling { server } => {
                Message::new("shell.request.sampling").with("server", server.as_str())
            }
            Self::Scopes { server } => Message::new("shell.request.scopes").with("server", server.as_str()),
        }
    }
}

/// A name on one line, shortened, without what cannot be seen and without the characters of markup: desktops read some
/// of them in notifications and menus.
pub(crate) fn plain(name: &str) -> String {
    let mut line = one_line(name, LONGEST_NAME + 1);
    if line.chars().count() > LONGEST_NAME {
        line = line.chars().take(LONGEST_NAME - 1).chain(['…']).collect();
    }
    line.replace('<', "‹").replace('>', "›").replace('&', "＆")
}
