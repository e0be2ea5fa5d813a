//! Changes of the secret store. Another store means another core: nothing that was allowed with one is
//! allowed with the other. Errors of the vault occur before the running core is stopped.

use std::sync::Arc;

use gatehouse_app::{SecretStore, SecretStoreKind, make_vault, memory, unlock_vault};
use gatehouse_model::{ErrorCode, Message, Secret, UserError, message};

use super::{CoreState, Host, StartOutcome, blocking, stopping_error};
use crate::secrets::{PassphraseResult, VaultView};

impl Host {
    /// The state of the vault for the main page.
    pub(crate) async fn vault(&self) -> Result<VaultView, UserError> {
        let kind = self.cancel_on_stop(async { self.kind().await }).await?;
        let data_dir = self.data_dir.clone();
        blocking(move || VaultView::inspect(&data_dir, kind)).await?
    }

    /// Unlocks the vault, and starts the core with it.
    pub(crate) async fn unlock_vault(
        &self,
        passphrase: Secret,
        on_start: impl FnOnce(StartOutcome),
    ) -> Result<PassphraseResult, UserError> {
        let _guard = self.vault_lock.lock().await;
        if !matches!(self.kind().await?, None | Some(SecretStoreKind::Memory)) {
            return Err(wrong_state_error(message!("error.desktop.vaultNotLocked")));
        }
        let data_dir = self.data_dir.clone();
        match blocking(move || unlock_vault(&data_dir, &passphrase)).await? {
            Ok(vault) => self.restart_with(vault, on_start).await.map(|()| PassphraseResult::Right),
            Err(error) => PassphraseResult::from_error(error),
        }
    }

    /// Starts the core without the vault for this run.
    pub(crate) async fn put_vault_aside(&self, on_start: impl FnOnce(StartOutcome)) -> Result<(), UserError> {
        let _guard = self.vault_lock.lock().await;
        if self.kind().await?.is_some() {
            return Err(wrong_state_error(message!("error.desktop.vaultNotLocked")));
        }
        tracing::warn!("the vault is put aside: secrets and permissions last until Gatehouse ends");
        self.restart_with(memory(), on_start).await
    }

    /// Creates a vault to replace the store in memory, and starts the core with it.
    pub(crate) async fn make_vault(
        &self,
        passphrase: Secret,
        on_start: impl FnOnce(StartOutcome),
    ) -> Result<(), UserError> {
        let _guard = self.vault_lock.lock().await;
        if self.kind().await? != Some(SecretStoreKind::Memory) {
            return Err(wrong_state_error(message!("error.desktop.notInMemory")));
        }
        let data_dir = self.data_dir.clone();
        let vault = blocking(move || make_vault(&data_dir, &passphrase)).await??;
        self.restart_with(vault, on_start).await
    }

    /// Changes the passphrase of the vault.
    pub(crate) async fn change_passphrase(
        &self,
        old: Secret,
        new: Secret,
    ) -> Result<PassphraseResult, UserError> {
        let _guard = self.vault_lock.lock().await;
        let secrets = Arc::clone(&self.core_state.read().await.running()?.secrets);
        match blocking(move || secrets.change_passphrase(&old, &new)).await? {
            Ok(()) => {
                tracing::info!("the vault has another passphrase");
                Ok(PassphraseResult::Right)
            }
            Err(error) => PassphraseResult::from_error(error),
        }
    }

    /// Kind of the secret store; `None` while the vault is locked.
    async fn kind(&self) -> Result<Option<SecretStoreKind>, UserError> {
        match &*self.core_state.read().await {
            CoreState::Locked => Ok(None),
            core_state => core_state.running().map(|running| Some(running.secrets.kind())),
        }
    }

    /// Stops the running core, and starts one with another secret store.
    async fn restart_with(
        &self,
        secrets: Arc<dyn SecretStore>,
        on_start: impl FnOnce(StartOutcome),
    ) -> Result<(), UserError> {
        // Until the write lock is taken, commands are refused at once, so that none of them delays it.
        self.stopping.lock().cancel();
        let mut core_state = self.core_state.write().await;
        *self.stopping.lock() = self.quitting.child_token();
        match std::mem::replace(&mut *core_state, CoreState::NotStarted) {
            CoreState::Running(running) => running.core.shutdown().await,
            CoreState::Stopped => {
                *core_state = CoreState::Stopped;
                return Err(stopping_error());
            }
            CoreState::NotStarted | CoreState::Locked | CoreState::Failed(_) => {}
        }
        *core_state = self.start_with(secrets).await;
        on_start(core_state.outcome());
        core_state.core().map(|_| ())
    }
}

fn wrong_state_error(what: Message) -> UserError {
    UserError::new(ErrorCode::BadRequest, what).with_hint(message!("error.desktop.reloadHint"))
}
