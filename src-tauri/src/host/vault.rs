//! Changes of the secret store. Another store means another core: nothing that was allowed with one is
//! allowed with the other. Errors of the vault occur before the running core is stopped.

use std::sync::Arc;

use gatehouse_app::{SecretKind, SecretStore, make_vault, memory, unlock_vault};
use gatehouse_model::{ErrorCode, Problem, Secret};

use super::{Begun, Host, Slot, blocking, stopped};
use crate::secrets::{Tried, VaultView};

impl Host {
    /// The state of the vault for the main page.
    pub(crate) async fn vault(&self) -> Result<VaultView, Problem> {
        let kind = self.unless_stopping(async { self.kind().await }).await?;
        let data_dir = self.data_dir.clone();
        blocking(move || VaultView::look(&data_dir, kind)).await?
    }

    /// Unlocks the vault, and starts the core with it.
    pub(crate) async fn unlock_vault(
        &self,
        passphrase: Secret,
        begun: impl FnOnce(Begun),
    ) -> Result<Tried, Problem> {
        let _moving = self.moving.lock().await;
        if !matches!(self.kind().await?, None | Some(SecretKind::Memory)) {
            return Err(not_now("The vault is not locked."));
        }
        let data_dir = self.data_dir.clone();
        match blocking(move || unlock_vault(&data_dir, &passphrase)).await? {
            Ok(vault) => self.begin_with(vault, begun).await.map(|()| Tried::Right),
            Err(error) => Tried::from_error(error),
        }
    }

    /// Starts the core without the vault for this run.
    pub(crate) async fn put_vault_aside(&self, begun: impl FnOnce(Begun)) -> Result<(), Problem> {
        let _moving = self.moving.lock().await;
        if self.kind().await?.is_some() {
            return Err(not_now("The vault is not locked."));
        }
        tracing::warn!("the vault is put aside: secrets and rights last until Gatehouse ends");
        self.begin_with(memory(), begun).await
    }

    /// Creates a vault to replace the store in memory, and starts the core with it.
    pub(crate) async fn make_vault(
        &self,
        passphrase: Secret,
        begun: impl FnOnce(Begun),
    ) -> Result<(), Problem> {
        let _moving = self.moving.lock().await;
        if self.kind().await? != Some(SecretKind::Memory) {
            return Err(not_now("Secrets are not kept in memory."));
        }
        let data_dir = self.data_dir.clone();
        let vault = blocking(move || make_vault(&data_dir, &passphrase)).await??;
        self.begin_with(vault, begun).await
    }

    /// Changes the passphrase of the vault.
    pub(crate) async fn change_passphrase(&self, old: Secret, new: Secret) -> Result<Tried, Problem> {
        let _moving = self.moving.lock().await;
        let secrets = Arc::clone(&self.slot.read().await.running()?.secrets);
        match blocking(move || secrets.change_passphrase(&old, &new)).await? {
            Ok(()) => {
                tracing::info!("the vault has another passphrase");
                Ok(Tried::Right)
            }
            Err(error) => Tried::from_error(error),
        }
    }

    /// Kind of the secret store; `None` while the vault is locked.
    async fn kind(&self) -> Result<Option<SecretKind>, Problem> {
        match &*self.slot.read().await {
            Slot::Locked => Ok(None),
            slot => slot.running().map(|running| Some(running.secrets.kind())),
        }
    }

    /// Stops the running core, and starts one with another secret store.
    async fn begin_with(
        &self,
        secrets: Arc<dyn SecretStore>,
        begun: impl FnOnce(Begun),
    ) -> Result<(), Problem> {
        // Until the write lock is taken, commands are refused at once, so that none of them delays it.
        self.stopping.lock().cancel();
        let mut slot = self.slot.write().await;
        *self.stopping.lock() = self.quitting.child_token();
        match std::mem::replace(&mut *slot, Slot::NotStarted) {
            Slot::Running(running) => running.core.shutdown().await,
            Slot::Stopped => {
                *slot = Slot::Stopped;
                return Err(stopped());
            }
            Slot::NotStarted | Slot::Locked | Slot::Failed(_) => {}
        }
        *slot = self.start_with(secrets).await;
        begun(slot.begun());
        slot.core().map(|_| ())
    }
}

fn not_now(what: &str) -> Problem {
    Problem::new(ErrorCode::BadRequest, what).todo("Look at the page again.")
}
