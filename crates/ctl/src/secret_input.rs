//! Secrets on file descriptors and at the terminal. A descriptor is read or written once and then
//! closed, so that no child process inherits it.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::sync::Arc;

use gatehouse_model::{Message, Secret, message};

use crate::error::CliError;
use crate::terminal_text;

/// Most bytes that are read from a descriptor.
const MAX_BYTES: u64 = 64 * 1024;

/// Reads one secret: the first line. `what` names the secret in an error.
pub(crate) fn read_secret(descriptor: i32, what: Message) -> Result<Secret, CliError> {
    let lines = read_lines(descriptor, what.clone())?;
    match lines.into_iter().next().filter(|line| !line.is_empty()) {
        Some(line) => Ok(Secret::new(line)),
        None => Err(CliError::usage(message!(
            "error.ctl.descriptorEmpty",
            descriptor = descriptor.to_string(),
            what = what,
        ))),
    }
}

/// Reads a client's token from a descriptor, or prompts for it.
pub(crate) fn read_client_token(descriptor: Option<i32>) -> Result<Secret, CliError> {
    match descriptor {
        Some(descriptor) => read_secret(descriptor, message!("ctl.secret.token")),
        None => prompt_for_secret(&message!("ctl.prompt.token"))
            .ok_or_else(|| CliError::usage(message!("error.ctl.noToken"))),
    }
}

/// Reads several secrets, one per line.
pub(crate) fn read_lines(descriptor: i32, what: Message) -> Result<Vec<String>, CliError> {
    let read_error = |e: io::Error| {
        CliError::usage(message!(
            "error.ctl.descriptorUnread",
            what = what.clone(),
            descriptor = descriptor.to_string(),
            reason = e.to_string(),
        ))
    };
    let mut text = String::new();
    if descriptor == 0 {
        io::stdin().lock().take(MAX_BYTES).read_to_string(&mut text).map_err(read_error)?;
    } else {
        let file = open(descriptor, OpenOptions::new().read(true)).map_err(read_error)?;
        file.take(MAX_BYTES).read_to_string(&mut text).map_err(read_error)?;
    }
    Ok(text.lines().map(|line| line.trim_end_matches('\r').to_owned()).collect())
}

/// Destination of a new key: a descriptor, or the controlling terminal, and nothing else.
#[derive(Clone)]
pub(crate) struct KeySink {
    to: Arc<File>,
    is_terminal: bool,
}

impl KeySink {
    /// Opens the destination before a key is created; `None` if there is neither a descriptor nor a
    /// terminal.
    pub(crate) fn open(descriptor: Option<i32>) -> Result<Option<Self>, CliError> {
        let Some(descriptor) = descriptor else {
            let terminal = OpenOptions::new().write(true).open(TERMINAL).ok();
            return Ok(terminal.map(|to| Self { to: Arc::new(to), is_terminal: true }));
        };
        if descriptor < 3 {
            return Err(CliError::usage(message!("error.ctl.keyDescriptor")));
        }
        let to = open(descriptor, OpenOptions::new().append(true)).map_err(|e| {
            CliError::usage(message!(
                "error.ctl.descriptorUnwritten",
                descriptor = descriptor.to_string(),
                reason = e.to_string(),
            ))
        })?;
        Ok(Some(Self { to: Arc::new(to), is_terminal: false }))
    }

    /// Writes a key; at a terminal with an explanation.
    pub(crate) fn write_key(&self, key: &Secret) -> io::Result<()> {
        self.print_note(&message!("ctl.key.explanation"))?;
        let mut to = &*self.to;
        writeln!(to, "{}", key.reveal())?;
        to.flush()
    }

    /// Writes a message at a terminal only; a program that reads the descriptor gets nothing but keys.
    pub(crate) fn print_note(&self, note: &Message) -> io::Result<()> {
        if !self.is_terminal {
            return Ok(());
        }
        let mut to = &*self.to;
        writeln!(to, "{}", terminal_text::message(note))?;
        to.flush()
    }
}

/// Prompts at the terminal without echo; `None` if there is no terminal or nothing was typed.
pub(crate) fn prompt_for_secret(what: &Message) -> Option<Secret> {
    let typed = rpassword::prompt_password(format!("{}: ", terminal_text::message(what))).ok()?;
    let typed = typed.trim();
    if typed.is_empty() { None } else { Some(Secret::new(typed)) }
}

#[cfg(unix)]
const TERMINAL: &str = "/dev/tty";
#[cfg(windows)]
const TERMINAL: &str = "CONOUT$";

/// Reopens the file of a descriptor, and closes the descriptor.
#[cfg(unix)]
fn open(descriptor: i32, options: &OpenOptions) -> io::Result<File> {
    let file = options.open(format!("/dev/fd/{descriptor}"))?;
    if descriptor > 2 {
        nix::unistd::close(descriptor)?;
    }
    Ok(file)
}

#[cfg(not(unix))]
fn open(_descriptor: i32, _options: &OpenOptions) -> io::Result<File> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "only standard input can be used for this here"))
}
