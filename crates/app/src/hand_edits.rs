//! Manual edits of the servers file: each takes effect only after a person confirmed it. No answer is
//! not a confirmation; an edit that was not accepted is set aside until the file changes again.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::ask::{Answer, Ask};
use gatehouse_model::event::ConfigCause;
use gatehouse_model::record::AuditEvent;
use gatehouse_model::{AskUser as _, Problem};
use gatehouse_store::{HandEdit, LoadedServers, WatchGuard};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::facade::{Parts, adopt};

/// Debounce: editors write a file in several steps, so it is read this long after the last change.
const SETTLED: Duration = Duration::from_millis(150);

/// Watches the servers file and requests confirmation of each edit.
pub(crate) struct HandEdits {
    cancel: CancellationToken,
    tasks: TaskTracker,
    _watch: Option<WatchGuard>,
}

impl HandEdits {
    /// Starts with the servers as they were loaded.
    pub(crate) fn start(parts: &Arc<Parts>, loaded: LoadedServers) -> Self {
        let touched = Arc::new(Notify::new());
        let on_change = Arc::clone(&touched);
        let watch = match parts.store.servers().watch(Box::new(move || on_change.notify_one())) {
            Ok(guard) => Some(guard),
            Err(error) => {
                tracing::warn!(%error, "the settings file cannot be watched; edits by hand count from the next start");
                None
            }
        };
        let (cancel, tasks) = (CancellationToken::new(), TaskTracker::new());
        let desk = Desk { parts: Arc::clone(parts), touched, put_away: Vec::new() };
        let stop = cancel.clone();
        tasks.spawn(async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = desk.work(loaded) => {}
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

impl Drop for HandEdits {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

struct Desk {
    parts: Arc<Parts>,
    touched: Arc<Notify>,
    put_away: Vec<HandEdit>,
}

impl Desk {
    async fn work(mut self, mut loaded: LoadedServers) {
        loop {
            self.tell(&loaded);
            let next = loaded.unconfirmed.iter().find(|edit| !self.put_away.contains(edit)).cloned();
            let Some(edit) = next else {
                self.touched.notified().await;
                loaded = self.read_settled().await;
                continue;
            };
            let parts = Arc::clone(&self.parts);
            let mut asking = std::pin::pin!(parts.tools.approvals().ask(Ask::ConfigChange(edit.ask.clone())));
            let answer = loop {
                tokio::select! {
                    answer = &mut asking => break Some(answer),
                    () = self.touched.notified() => {}
                }
                // Not inside the branch above: an answer must not cancel a reload that has begun.
                loaded = self.read_settled().await;
                if !loaded.unconfirmed.contains(&edit) {
                    break None;
                }
                self.tell(&loaded);
            };
            let Some(answer) = answer else { continue };
            match self.settle(&edit, &answer).await {
                Ok(Some(read)) => loaded = read,
                Ok(None) => self.put_away.push(edit),
                Err(problem) => {
                    tracing::error!(%problem, server = %edit.ask.server, "a hand edit could not be settled");
                    self.put_away.push(edit);
                }
            }
        }
    }

    async fn read_settled(&mut self) -> LoadedServers {
        while tokio::time::timeout(SETTLED, self.touched.notified()).await.is_ok() {}
        // Under the same lock as the commands, so that no command changes servers between file and
        // manager.
        let mut configs = self.parts.configs.lock().await;
        let read = self.parts.on_store(|store| Ok(store.servers().load())).await;
        match read {
            Ok(read) => {
                if let Err(problem) = adopt(&self.parts, &mut configs, read.servers.clone()).await {
                    tracing::error!(%problem, "the settings file could not be put into effect");
                }
                self.put_away.retain(|edit| read.unconfirmed.contains(edit));
                read
            }
            Err(problem) => {
                LoadedServers { servers: configs.clone(), problems: vec![problem], unconfirmed: Vec::new() }
            }
        }
    }

    /// Applies an answer; `None` if nothing was decided.
    async fn settle(&self, edit: &HandEdit, answer: &Answer) -> Result<Option<LoadedServers>, Problem> {
        let accept = match answer {
            Answer::Accept { .. } | Answer::Allow { .. } => true,
            Answer::Decline | Answer::Deny { .. } => false,
            Answer::Cancel => return Ok(None),
        };
        let mut configs = self.parts.configs.lock().await;
        let (file, server) = (edit.ask.file.clone(), edit.ask.server.clone());
        self.parts.audit(AuditEvent::HandEdit { file, server, confirmed: accept }).await?;
        let settled = edit.clone();
        let read = self.parts.on_store(move |store| store.servers().confirm(&settled, accept)).await?;
        adopt(&self.parts, &mut configs, read.servers.clone()).await?;
        Ok(Some(read))
    }

    fn tell(&self, loaded: &LoadedServers) {
        let unconfirmed: Vec<_> = loaded.unconfirmed.iter().map(|edit| edit.ask.server.clone()).collect();
        let new = {
            let mut troubles = self.parts.troubles.lock();
            let new = troubles.file != loaded.problems || troubles.unconfirmed != unconfirmed;
            troubles.file.clone_from(&loaded.problems);
            troubles.unconfirmed = unconfirmed;
            new
        };
        if new {
            self.parts.config_changed(ConfigCause::File, None);
        }
    }
}
