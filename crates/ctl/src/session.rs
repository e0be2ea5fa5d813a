//! The connection to the running Gatehouse: the data folder, the control socket, and the operator key,
//! which is prompted for only when a command needs it. A Gatehouse with a window has no such key: its window confirms
//! commands instead.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use gatehouse_app::control::{ControlClient, ControlEvents};
use gatehouse_model::command::{Authority, Status, TypedCommand};
use gatehouse_model::{ErrorCode, Secret, UserError, message};

use crate::error::CliError;
use crate::{secret_input, terminal_text};

/// What lets a command run that needs the operator's authority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Confirmation {
    OperatorKey,
    /// The answer of the user in the window, who sees the whole command.
    Window,
}

/// One run of `gatehousectl` against one Gatehouse.
pub(crate) struct ControlSession {
    data_dir: PathBuf,
    key_descriptor: Option<i32>,
    key: Option<Secret>,
    is_key_read: bool,
    /// Whether the window confirms commands, since there is no key to give.
    is_proposing: bool,
    /// Whether it was said that a command waits for the window.
    has_said_so: bool,
    /// Whether the key is used even for commands that do not need it: it was given on a descriptor, so
    /// no prompt is necessary.
    should_use_key: bool,
    /// Token of the client that a call is made as.
    token: Option<Secret>,
    client: Option<(ControlClient, bool)>,
}

impl ControlSession {
    pub(crate) fn new(data_dir: PathBuf, key_descriptor: Option<i32>) -> Self {
        let should_use_key = key_descriptor.is_some();
        Self {
            data_dir,
            key_descriptor,
            key: None,
            is_key_read: false,
            is_proposing: false,
            has_said_so: false,
            should_use_key,
            token: None,
            client: None,
        }
    }

    pub(crate) fn data_dir(&self) -> &Path {
        &self.data_dir
    }

    /// Uses the operator key even for commands that do not need it: replies contain more with it.
    pub(crate) fn use_operator_key(&mut self) {
        self.should_use_key = true;
    }

    /// Fails if there is no operator key, before anything else is sent or typed; otherwise all commands use it. Without
    /// the key replies leave out what an answer has to be about.
    pub(crate) async fn require_operator_key(&mut self) -> Result<(), CliError> {
        match self.require_operator().await? {
            Confirmation::OperatorKey => Ok(()),
            Confirmation::Window => {
                Err(UserError::new(ErrorCode::NotPermitted, message!("error.ctl.onlyInWindow")).into())
            }
        }
    }

    /// Fails if there is neither an operator key nor a window that confirms commands, before anything else is sent or
    /// typed; otherwise all commands use the key that there is.
    pub(crate) async fn require_operator(&mut self) -> Result<Confirmation, CliError> {
        self.should_use_key = true;
        match self.key(true).await? {
            Some(_) => Ok(Confirmation::OperatorKey),
            None if self.is_proposing => Ok(Confirmation::Window),
            None => Err(UserError::new(ErrorCode::NotPermitted, message!("error.ctl.noOperatorKey")).into()),
        }
    }

    /// Authenticates as the client with this token from now on, for commands that do not need the
    /// operator key.
    pub(crate) fn use_client_token(&mut self, token: Secret) {
        self.token = Some(token);
        self.client = None;
    }

    pub(crate) async fn run<R: TypedCommand>(&mut self, request: &R) -> Result<R::Reply, CliError> {
        let operator = R::NEEDS == Authority::Operator || self.should_use_key;
        let proposes = self.client(operator).await?.proposes(request);
        if proposes && !self.has_said_so {
            self.has_said_so = true;
            let note = terminal_text::message(&message!("ctl.proposal.waits"));
            // If standard error is closed, there is nowhere to say it.
            writeln!(std::io::stderr(), "{note}").unwrap_or(());
        }
        Ok(self.client(operator).await?.run(request).await?)
    }

    /// Whether the window confirms what needs the operator's authority: there is no key to give.
    pub(crate) async fn is_proposing(&mut self) -> Result<bool, CliError> {
        self.key(true).await?;
        Ok(self.is_proposing)
    }

    /// Closes the connection. Gatehouse closes one that is idle for long, so this is for a wait for a person; the
    /// next command makes another one.
    pub(crate) fn disconnect(&mut self) {
        self.client = None;
    }

    /// Subscribes to what every program of the user may see of events, or to all of them if the operator key was
    /// given.
    pub(crate) async fn public_events(&mut self) -> Result<ControlEvents, CliError> {
        let key = self.key(self.should_use_key).await?;
        let client = ControlClient::connect(&self.data_dir).await?.with_operator_key(key);
        Ok(client.events(None).await?)
    }

    /// Subscribes to events, with the operator key.
    pub(crate) async fn events(&mut self) -> Result<ControlEvents, CliError> {
        let key = self.key(true).await?;
        let client = ControlClient::connect(&self.data_dir).await?.with_operator_key(key);
        Ok(client.events(None).await?)
    }

    async fn client(&mut self, operator: bool) -> Result<&mut ControlClient, CliError> {
        let is_reusable = self.client.as_ref().is_some_and(|(_, with_key)| *with_key || !operator);
        if !is_reusable {
            let key = self.key(operator).await?;
            let client = ControlClient::connect(&self.data_dir).await?;
            let client = if self.is_proposing { client.with_proposals() } else { client };
            let client = match (key, &self.token) {
                (None, Some(token)) if !operator => client.with_client_token(token),
                (key, _) => client.with_operator_key(key),
            };
            self.client = Some((client, operator));
        }
        match &mut self.client {
            Some((client, _)) => Ok(client),
            None => Err(CliError::Io(std::io::ErrorKind::NotConnected.into())),
        }
    }

    /// The operator key if it is needed. Without one the command is not sent, unless the window can confirm it.
    async fn key(&mut self, operator: bool) -> Result<Option<Secret>, CliError> {
        if operator && !self.is_key_read {
            // On a connection of its own: no key is prompted for when Gatehouse does not run, and the server closes an
            // idle connection before a key is typed.
            let mut client = ControlClient::connect(&self.data_dir).await?;
            self.key = match self.key_descriptor {
                Some(descriptor) => {
                    Some(secret_input::read_secret(descriptor, message!("ctl.secret.operatorKey"))?)
                }
                None => {
                    self.is_proposing = client.run(&Status {}).await?.answered_by == "window";
                    drop(client);
                    if self.is_proposing {
                        None
                    } else {
                        secret_input::prompt_for_secret(&message!("ctl.prompt.operatorKey"))
                    }
                }
            };
            self.is_key_read = true;
        }
        Ok(if operator { self.key.clone() } else { None })
    }
}

/// The default data folder.
pub(crate) fn default_data_dir() -> Result<PathBuf, CliError> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = if cfg!(windows) {
        variable("APPDATA").map(|dir| dir.join("Gatehouse"))
    } else if cfg!(target_os = "macos") {
        variable("HOME").map(|dir| dir.join("Library/Application Support/Gatehouse"))
    } else {
        let data = variable("XDG_DATA_HOME").filter(|dir| dir.is_absolute());
        data.or_else(|| variable("HOME").map(|dir| dir.join(".local/share"))).map(|dir| dir.join("gatehouse"))
    };
    folder.ok_or_else(|| CliError::usage(message!("error.ctl.noDataDir")))
}
