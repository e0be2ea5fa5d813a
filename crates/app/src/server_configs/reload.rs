//! Manual edits of the servers file: each takes effect only after a person confirmed it. No answer is
//! not a confirmation; an edit that was not accepted is set aside until the file changes again.
//!
//! While the confirmed list of servers cannot be read or verified, nothing of what runs changes: no
//! server is stopped, and no permission or secret is deleted.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::approval::{ApprovalAnswer, ApprovalRequest};
use gatehouse_model::event::ConfigCause;
use gatehouse_model::record::AuditEvent;
use gatehouse_model::{AskUser as _, ServerConfig, UserError, message};
use gatehouse_store::{HandEdit, LoadedServers, SealError, WatchGuard};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::apply::apply_configs;
use crate::state::AppState;

/// Debounce: editors write a file in several steps, so it is read this long after the last change.
const QUIET_PERIOD: Duration = Duration::from_millis(150);
/// How soon the list of servers is read again if it could not be verified, for example because the
/// keychain is locked.
const RETRY_PERIOD: Duration = Duration::from_secs(30);

/// Watches the servers file and requests confirmation of each edit.
pub(crate) struct ConfigReload {
    cancel: CancellationToken,
    tasks: TaskTracker,
    _watch: Option<WatchGuard>,
}

impl ConfigReload {
    /// Starts with the servers as they were loaded.
    pub(crate) fn start(state: &Arc<AppState>, loaded: LoadedServers) -> Self {
        let file_changed = Arc::new(Notify::new());
        let notify_change = Arc::clone(&file_changed);
        let watch = match state.store.servers().watch(Box::new(move || notify_change.notify_one())) {
            Ok(guard) => Some(guard),
            Err(error) => {
                tracing::warn!(%error, "the settings file cannot be watched; edits by hand count from the next start");
                None
            }
        };
        let (cancel, tasks) = (CancellationToken::new(), TaskTracker::new());
        let actor = ConfigReloadActor { state: Arc::clone(state), file_changed, dismissed: Vec::new() };
        let stop = cancel.clone();
        tasks.spawn(async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = actor.run(loaded) => {}
            }
        });
        Self { cancel, tasks, _watch: watch }
    }

    pub(crate) async fn shutdown(self) {
        self.cancel.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

impl Drop for ConfigReload {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

struct ConfigReloadActor {
    state: Arc<AppState>,
    file_changed: Arc<Notify>,
    dismissed: Vec<HandEdit>,
}

impl ConfigReloadActor {
    async fn run(mut self, mut loaded: LoadedServers) {
        loop {
            self.publish_problems(&loaded);
            let next = loaded.unconfirmed.iter().find(|edit| !self.dismissed.contains(edit)).cloned();
            let Some(edit) = next else {
                match loaded.seal_error {
                    None => self.file_changed.notified().await,
                    Some(_) => self.wait_for_change_or_retry().await,
                }
                loaded = self.reload_when_quiet().await;
                continue;
            };
            let state = Arc::clone(&self.state);
            let mut approval = std::pin::pin!(
                state.tools.approvals().ask(ApprovalRequest::ConfigChange(edit.request.clone()))
            );
            let answer = loop {
                tokio::select! {
                    answer = &mut approval => break Some(answer),
                    () = self.file_changed.notified() => {}
                }
                // Not inside the branch above: an answer must not cancel a reload that has begun.
                loaded = self.reload_when_quiet().await;
                if !loaded.unconfirmed.contains(&edit) {
                    break None;
                }
                self.publish_problems(&loaded);
            };
            let Some(answer) = answer else { continue };
            match self.apply_answer(&edit, &answer).await {
                Ok(Some(read)) => loaded = read,
                Ok(None) => self.dismissed.push(edit),
                Err(error) => {
                    tracing::error!(%error, server = %edit.request.server, "a hand edit could not be applied or discarded");
                    self.dismissed.push(edit);
                }
            }
        }
    }

    async fn wait_for_change_or_retry(&self) {
        if tokio::time::timeout(RETRY_PERIOD, self.file_changed.notified()).await.is_err() {
            tracing::debug!("the list of servers is read again, since it could not be verified");
        }
    }

    async fn reload_when_quiet(&mut self) -> LoadedServers {
        while tokio::time::timeout(QUIET_PERIOD, self.file_changed.notified()).await.is_ok() {}
        // Under the same lock as the commands, so that no command changes servers between file and
        // manager.
        let mut configs = self.state.configs.lock().await;
        let read = self.state.with_store(|store| Ok(store.servers().load())).await;
        match read {
            Ok(read) => {
                let (read, applied) = self.apply(&mut configs, read).await;
                if let Err(error) = applied {
                    tracing::error!(%error, "the servers file could not be put into effect");
                }
                self.dismissed.retain(|edit| read.unconfirmed.contains(edit));
                read
            }
            Err(error) => {
                LoadedServers { servers: configs.clone(), problems: vec![error], ..LoadedServers::default() }
            }
        }
    }

    /// Puts the servers that were read into effect. Where the confirmed list could not be verified and
    /// servers run, the running ones stay, and no edit is offered. Returns what is in effect.
    async fn apply(
        &self,
        configs: &mut Vec<ServerConfig>,
        read: LoadedServers,
    ) -> (LoadedServers, Result<(), UserError>) {
        if let Some(error) = read.seal_error.clone()
            && !configs.is_empty()
        {
            return (unchanged(configs, error), Ok(()));
        }
        let applied = apply_configs(&self.state, configs, read.servers.clone()).await;
        (read, applied)
    }

    /// Applies an answer; `None` if nothing was decided.
    async fn apply_answer(
        &self,
        edit: &HandEdit,
        answer: &ApprovalAnswer,
    ) -> Result<Option<LoadedServers>, UserError> {
        let accept = match answer {
            ApprovalAnswer::Accept { .. } | ApprovalAnswer::Allow { .. } => true,
            ApprovalAnswer::Decline | ApprovalAnswer::Deny { .. } => false,
            ApprovalAnswer::Cancel => return Ok(None),
        };
        let mut configs = self.state.configs.lock().await;
        if !configs.is_empty() {
            // An edit that is confirmed against a list that is not verified would replace that list.
            self.state.with_store(|store| Ok(store.servers().confirmed()?)).await?;
        }
        let (file, server) = (edit.request.file.clone(), edit.request.server.clone());
        self.state.audit(AuditEvent::HandEdit { file, server, confirmed: accept }).await?;
        let answered = edit.clone();
        let read = self.state.with_store(move |store| store.servers().confirm(&answered, accept)).await?;
        let (read, applied) = self.apply(&mut configs, read).await;
        applied.map(|()| Some(read))
    }

    fn publish_problems(&self, loaded: &LoadedServers) {
        let unconfirmed: Vec<_> = loaded.unconfirmed.iter().map(|edit| edit.request.server.clone()).collect();
        let new = {
            let mut known_problems = self.state.known_problems.lock();
            let new = known_problems.file != loaded.problems || known_problems.unconfirmed != unconfirmed;
            known_problems.file.clone_from(&loaded.problems);
            known_problems.unconfirmed = unconfirmed;
            new
        };
        if new {
            self.state.config_changed(ConfigCause::File, None);
        }
    }
}

/// The state while the confirmed list cannot be verified: what runs stays, and the error is shown.
fn unchanged(running: &[ServerConfig], seal_error: SealError) -> LoadedServers {
    let mut error = UserError::from(seal_error.clone());
    error.hint = Some(
        match seal_error {
            SealError::Locked { .. } => {
                message!("error.app.serversKeepLocked")
            }
            SealError::Unreadable { .. } => message!("error.app.serversKeep"),
            SealError::MissingKey { .. }
            | SealError::BadMac { .. }
            | SealError::OldCopy { .. }
            | SealError::Gone { .. } => {
                message!("error.app.serversKeepUntilQuit")
            }
        }
        .into(),
    );
    LoadedServers {
        servers: running.to_vec(),
        seal_error: Some(seal_error),
        problems: vec![error],
        unconfirmed: Vec::new(),
    }
}
