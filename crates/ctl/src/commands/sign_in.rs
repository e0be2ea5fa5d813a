//! `servers sign-in`: starts a sign-in, opens the browser, and waits until it is completed.

use std::io::BufRead as _;

use gatehouse_app::events::StreamEvent;
use gatehouse_model::command::{
    RequestSecret, ServersCancelSignIn, ServersList, ServersPasteAddress, ServersSignIn,
};
use gatehouse_model::server::ServerView;
use gatehouse_model::sign_in::SignInState;
use gatehouse_model::{ErrorCode, Event, Message, Secret, ServerId, UserError, message};

use crate::error::CliError;
use crate::session::ControlSession;
use crate::terminal_text;

/// Where the user signs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SignInBrowser {
    /// In the default browser, which is opened.
    Opened,
    /// In any browser of this computer; the address is printed.
    Printed,
    /// In a browser of another computer, which cannot reach the callback URL here: the address is
    /// printed, and the callback URL is read from standard input.
    OtherComputer,
}

/// Signs in, and returns when the sign-in is completed.
pub(crate) async fn run(
    server: &str,
    browser: SignInBrowser,
    session: &mut ControlSession,
) -> Result<ServerView, CliError> {
    // Before the sign-in starts, so that the event of its end cannot be missed.
    let mut events = session.events().await?;
    // Without it, the list doesn't say why a sign-in failed.
    session.use_operator_key();
    let id = find(server, session).await?.config.id;
    let begun = session.run(&ServersSignIn { server: id.to_string(), open: false }).await?;
    if let Some(address) = begun.address {
        if browser != SignInBrowser::Opened {
            print_note(&message!("ctl.signIn.open"));
            eprintln!("{address}");
        } else if let Err(error) = open::that_detached(&address) {
            print_note(&message!("ctl.signIn.browserFailed", reason = error.to_string()));
            eprintln!("{address}");
        } else {
            print_note(&message!("ctl.signIn.browserOpened"));
        }
        if browser == SignInBrowser::OtherComputer {
            let pasted = read_pasted_address(&id, session).await;
            if pasted.is_err() {
                session.run(&ServersCancelSignIn { server: id.to_string() }).await?;
            }
            pasted?;
        }
    }
    loop {
        let view = find(id.as_str(), session).await?;
        match &view.sign_in {
            Some(SignInState::In { .. }) => return Ok(view),
            Some(SignInState::Waiting { .. }) => {}
            Some(SignInState::Out { problem: Some(problem) }) => {
                return Err(CliError::UserError(problem.clone()));
            }
            Some(SignInState::Out { problem: None }) | None => {
                return Err(CliError::UserError(UserError::new(
                    ErrorCode::Refused,
                    message!("error.ctl.signInCancelled"),
                )));
            }
        }
        // After missed events the state is read again as well.
        while let StreamEvent::Event(envelope) = events.next().await? {
            if matches!(&envelope.event, Event::SignInChanged { server, .. } if *server == id) {
                break;
            }
        }
    }
}

/// Writes a message to standard error, where a person at the terminal reads it.
fn print_note(note: &Message) {
    eprintln!("{}", terminal_text::message(note));
}

async fn read_pasted_address(id: &ServerId, session: &mut ControlSession) -> Result<(), CliError> {
    print_note(&message!("ctl.signIn.paste"));
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    let address = RequestSecret::new(&Secret::new(line.trim()));
    session.run(&ServersPasteAddress { server: id.to_string(), address }).await
}

async fn find(server: &str, session: &mut ControlSession) -> Result<ServerView, CliError> {
    let all = session.run(&ServersList {}).await?;
    let lower = server.to_lowercase();
    let found = all.into_iter().find(|view| {
        let config = &view.config;
        config.id.as_str() == server || config.name.to_lowercase() == lower
    });
    found.ok_or_else(|| {
        CliError::UserError(
            UserError::new(ErrorCode::NotFound, message!("error.app.noServer", name = server))
                .with_hint(message!("error.app.noServerHint")),
        )
    })
}
