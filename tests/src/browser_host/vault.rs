//! Simulates a machine without a keychain for the page: the vault of the data folder, or memory.
//! Replaces the shell's handling of a changed secret store.

use std::sync::Arc;

use anyhow::Result;
use gatehouse_app::{
    Core, CoreOptions, Owner, SecretError, SecretStore, SecretStoreKind, has_vault, make_vault, memory,
    unlock_vault, vault_file,
};
use gatehouse_model::{ErrorCode, Secret, UserError};
use serde_json::{Value, json};

use super::BrowserHost;

/// State of the core.
pub(super) enum HostedCore {
    /// With its secret store.
    Running(Box<Core>, Arc<dyn SecretStore>),
    Locked,
    Ended,
}

impl HostedCore {
    pub(super) fn core(&self) -> Result<&Core, UserError> {
        match self {
            Self::Running(core, _) => Ok(core),
            Self::Locked => {
                let what = "Gatehouse waits for the passphrase of its vault.";
                Err(UserError::new(ErrorCode::SecretsUnavailable, what))
            }
            Self::Ended => Err(UserError::new(ErrorCode::NotRunning, "Gatehouse is about to end.")),
        }
    }

    fn kind(&self) -> Option<SecretStoreKind> {
        match self {
            Self::Running(_, secrets) => Some(secrets.kind()),
            Self::Locked | Self::Ended => None,
        }
    }
}

impl BrowserHost {
    /// Starts the core, unless there is a vault.
    pub(super) async fn start(&self) -> Result<(), UserError> {
        let locked = !matches!(has_vault(&self.data_dir), Ok(false));
        if locked { Ok(()) } else { self.restart_with(memory()).await }
    }

    /// Runs a vault command of the page; `None` for other commands.
    pub(super) async fn vault(&self, command: &str, args: &Value) -> Result<Option<Value>, UserError> {
        let secret = |name: &str| Secret::new(args[name].as_str().unwrap_or_default());
        let done = match command {
            "vault" => self.vault_view().await,
            "put_vault_aside" => self.restart_with(memory()).await.map(|()| Value::Null),
            "make_vault" => {
                let vault = make_vault(&self.data_dir, &secret("passphrase"))?;
                self.restart_with(vault).await.map(|()| Value::Null)
            }
            "unlock_vault" => match unlock_vault(&self.data_dir, &secret("passphrase")) {
                Ok(vault) => self.restart_with(vault).await.map(|()| json!("right")),
                Err(error) => passphrase_result(error),
            },
            "change_passphrase" => match &*self.core.read().await {
                HostedCore::Running(_, secrets) => secrets
                    .change_passphrase(&secret("old"), &secret("new"))
                    .map_or_else(passphrase_result, |()| Ok(json!("right"))),
                hosted => hosted.core().map(|_| Value::Null),
            },
            _ => return Ok(None),
        };
        done.map(Some)
    }

    async fn vault_view(&self) -> Result<Value, UserError> {
        let (there, fault) = match has_vault(&self.data_dir) {
            Ok(there) => (there, Value::Null),
            Err(SecretError::NewerVersion) => (true, json!("newer")),
            Err(SecretError::Damaged { .. }) => (true, json!("damaged")),
            Err(error) => return Err(error.into()),
        };
        let state = match self.core.read().await.kind() {
            None => "locked",
            Some(SecretStoreKind::Vault) => "open",
            Some(_) if there => "put_aside",
            Some(_) => "absent",
        };
        Ok(json!({ "state": state, "fault": fault, "file": vault_file(&self.data_dir) }))
    }

    async fn restart_with(&self, secrets: Arc<dyn SecretStore>) -> Result<(), UserError> {
        let mut hosted = self.core.write().await;
        if let HostedCore::Running(core, _) = std::mem::replace(&mut *hosted, HostedCore::Ended) {
            core.shutdown().await;
        }
        let options = CoreOptions {
            owner: Owner::Window,
            guard_program: std::env::current_exe().ok(),
            browser: Arc::new(self.recorded_actions.clone()),
            ..CoreOptions::new(self.data_dir.clone(), ([127, 0, 0, 1], 0).into(), Arc::clone(&secrets))
        };
        *hosted = HostedCore::Running(Box::new(Core::start(options).await?), secrets);
        self.core_count.send_modify(|times| *times += 1);
        Ok(())
    }
}

/// What an error says about the passphrase.
fn passphrase_result(error: SecretError) -> Result<Value, UserError> {
    match error {
        SecretError::WrongPassphrase => Ok(json!("wrong")),
        SecretError::Damaged { .. } => Ok(json!("damaged")),
        SecretError::NewerVersion => Ok(json!("newer")),
        other => Err(other.into()),
    }
}
