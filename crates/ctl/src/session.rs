//! The connection to the running Gatehouse: the data folder, the control socket, and the operator key,
//! which is prompted for only when a command needs it.

use std::path::PathBuf;

use gatehouse_app::control::{ControlClient, ControlEvents};
use gatehouse_model::Secret;
use gatehouse_model::command::{Authority, Request};

use crate::descriptor;
use crate::failure::Failure;

/// One run of `gatehousectl` against one Gatehouse.
pub(crate) struct Session {
    data_dir: PathBuf,
    key_descriptor: Option<i32>,
    key: Option<Secret>,
    key_asked: bool,
    /// Whether the key is used even for commands that do not need it: it was given on a descriptor, so
    /// no prompt is necessary.
    key_wanted: bool,
    /// Token of the client that a call is made as.
    token: Option<Secret>,
    client: Option<(ControlClient, bool)>,
}

impl Session {
    pub(crate) fn new(data_dir: PathBuf, key_descriptor: Option<i32>) -> Self {
        let key_wanted = key_descriptor.is_some();
        Self { data_dir, key_descriptor, key: None, key_asked: false, key_wanted, token: None, client: None }
    }

    /// Uses the operator key even for commands that do not need it: replies contain more with it.
    pub(crate) fn use_key(&mut self) {
        self.key_wanted = true;
    }

    /// Authenticates as the client with this token from now on, for commands that do not need the
    /// operator key.
    pub(crate) fn speak_as(&mut self, token: Secret) {
        self.token = Some(token);
        self.client = None;
    }

    pub(crate) async fn run<R: Request>(&mut self, request: &R) -> Result<R::Reply, Failure> {
        let operator = R::NEEDS == Authority::Operator || self.key_wanted;
        Ok(self.client(operator).await?.run(request).await?)
    }

    /// Subscribes to events, with the operator key.
    pub(crate) async fn events(&mut self) -> Result<ControlEvents, Failure> {
        let key = self.key(true)?;
        let client = ControlClient::connect(&self.data_dir).await?.with_operator_key(key);
        Ok(client.events(None).await?)
    }

    async fn client(&mut self, operator: bool) -> Result<&mut ControlClient, Failure> {
        let fits = self.client.as_ref().is_some_and(|(_, with_key)| *with_key || !operator);
        if !fits {
            // A first connection, so that no key is prompted for when Gatehouse does not run; then
            // another one, because the server closes an idle connection before a key is typed.
            drop(ControlClient::connect(&self.data_dir).await?);
            let key = self.key(operator)?;
            let client = ControlClient::connect(&self.data_dir).await?;
            let client = match (key, &self.token) {
                (None, Some(token)) if !operator => client.with_client_token(token),
                (key, _) => client.with_operator_key(key),
            };
            self.client = Some((client, operator));
        }
        match &mut self.client {
            Some((client, _)) => Ok(client),
            None => Err(Failure::Io(std::io::ErrorKind::NotConnected.into())),
        }
    }

    /// The operator key if it is needed. Without one the command is not sent.
    fn key(&mut self, operator: bool) -> Result<Option<Secret>, Failure> {
        if operator && !self.key_asked {
            self.key = match self.key_descriptor {
                Some(descriptor) => Some(descriptor::read_secret(descriptor, "operator key")?),
                None => descriptor::ask_at_terminal("Operator key"),
            };
            self.key_asked = true;
        }
        Ok(if operator { self.key.clone() } else { None })
    }
}

/// The default data folder.
pub(crate) fn usual_data_dir() -> Result<PathBuf, Failure> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = if cfg!(windows) {
        variable("APPDATA").map(|dir| dir.join("Gatehouse"))
    } else if cfg!(target_os = "macos") {
        variable("HOME").map(|dir| dir.join("Library/Application Support/Gatehouse"))
    } else {
        let data = variable("XDG_DATA_HOME").filter(|dir| dir.is_absolute());
        data.or_else(|| variable("HOME").map(|dir| dir.join(".local/share"))).map(|dir| dir.join("gatehouse"))
    };
    folder.ok_or_else(|| Failure::Usage("Say with --data-dir which folder is meant.".to_owned()))
}
