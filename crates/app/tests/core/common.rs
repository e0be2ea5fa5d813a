//! A real core on a folder of its own, with built-in servers.

use std::collections::{BTreeSet, HashMap};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gatehouse_app::{
    Authority, Core, CoreOptions, OperatorKey, SecretError, SecretStore, SecretStoreKind, memory,
};
use gatehouse_model::command::{ServersAdd, ServersList, TypedCommand};
use gatehouse_model::server::{Builtin, ServerDraft, ServerView};
use gatehouse_model::{Secret, Transport, UserError};
use gatehouse_store::SecretKey;
use tempfile::TempDir;

/// How long anything may take here.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(30);

/// A keychain that can be locked while Gatehouse runs.
#[derive(Default)]
pub(crate) struct LockableSecrets {
    items: Mutex<HashMap<String, Secret>>,
    locked: AtomicBool,
}

impl LockableSecrets {
    pub(crate) fn set_locked(&self, locked: bool) {
        self.locked.store(locked, Ordering::SeqCst);
    }

    /// Names of everything that is stored.
    pub(crate) fn names(&self) -> BTreeSet<String> {
        self.items.lock().unwrap().keys().cloned().collect()
    }

    fn ensure_unlocked(&self) -> Result<(), SecretError> {
        if self.locked.load(Ordering::SeqCst) { Err(SecretError::Locked) } else { Ok(()) }
    }
}

impl SecretStore for LockableSecrets {
    fn get(&self, key: &SecretKey) -> Result<Option<Secret>, SecretError> {
        self.ensure_unlocked()?;
        Ok(self.items.lock().unwrap().get(key.account()).cloned())
    }

    fn set(&self, key: &SecretKey, secret: &Secret) -> Result<(), SecretError> {
        self.ensure_unlocked()?;
        self.items.lock().unwrap().insert(key.account().to_owned(), secret.clone());
        Ok(())
    }

    fn delete(&self, key: &SecretKey) -> Result<(), SecretError> {
        self.ensure_unlocked()?;
        self.items.lock().unwrap().remove(key.account());
        Ok(())
    }

    fn kind(&self) -> SecretStoreKind {
        SecretStoreKind::Keychain
    }
}

/// A keychain that refuses to store one secret.
pub(crate) struct RefusingSecrets {
    items: Arc<dyn SecretStore>,
    refused: &'static str,
}

impl RefusingSecrets {
    pub(crate) fn new(refused: &'static str) -> Self {
        Self { items: memory(), refused }
    }
}

impl SecretStore for RefusingSecrets {
    fn get(&self, key: &SecretKey) -> Result<Option<Secret>, SecretError> {
        self.items.get(key)
    }

    fn set(&self, key: &SecretKey, secret: &Secret) -> Result<(), SecretError> {
        if secret.reveal() == self.refused {
            return Err(SecretError::Locked);
        }
        self.items.set(key, secret)
    }

    fn delete(&self, key: &SecretKey) -> Result<(), SecretError> {
        self.items.delete(key)
    }

    fn kind(&self) -> SecretStoreKind {
        self.items.kind()
    }
}

/// A data folder with its secrets; cores come and go on it.
pub(crate) struct TestHome {
    dir: TempDir,
    pub(crate) secrets: Arc<dyn SecretStore>,
    /// The operator key that was handed over last.
    key: Arc<Mutex<Option<Secret>>>,
}

impl TestHome {
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap(), secrets: memory(), key: Arc::default() }
    }

    pub(crate) fn with_secrets(secrets: Arc<dyn SecretStore>) -> Self {
        Self { secrets, ..Self::new() }
    }

    pub(crate) fn data_dir(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    pub(crate) fn options(&self) -> CoreOptions {
        let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let options = CoreOptions::new(self.data_dir(), listen, Arc::clone(&self.secrets));
        let key = Arc::clone(&self.key);
        let hand_over = Box::new(move |made: &Secret| {
            *key.lock().unwrap() = Some(made.clone());
            Ok(())
        });
        CoreOptions { operator_key: OperatorKey::Stored { hand_over, should_replace: false }, ..options }
    }

    /// The operator key.
    pub(crate) fn key(&self) -> Secret {
        self.key.lock().unwrap().clone().unwrap()
    }

    pub(crate) async fn start(&self) -> Core {
        Core::start(self.options()).await.unwrap()
    }

    pub(crate) fn servers_file(&self) -> PathBuf {
        self.data_dir().join("servers.json")
    }
}

/// Runs a command as the operator.
pub(crate) async fn run<R: TypedCommand>(core: &Core, request: R) -> Result<R::Reply, UserError> {
    core.run(&request, Authority::Operator).await
}

/// A draft of a built-in server.
pub(crate) fn draft(name: &str, builtin: Builtin) -> ServerDraft {
    ServerDraft::new(name, Transport::Builtin { builtin })
}

/// The settings of a server as a draft.
pub(crate) fn draft_of(view: &ServerView) -> ServerDraft {
    view.config.clone().into()
}

pub(crate) async fn add(core: &Core, draft: ServerDraft) -> Result<ServerView, UserError> {
    run(core, ServersAdd { draft, trust_labels: false, secrets: Vec::new(), run: None }).await
}

pub(crate) async fn servers(core: &Core) -> Vec<ServerView> {
    run(core, ServersList {}).await.unwrap()
}

pub(crate) async fn server(core: &Core, name: &str) -> Option<ServerView> {
    servers(core).await.into_iter().find(|view| view.config.name == name)
}

/// Waits until something holds, looking again after every event.
pub(crate) async fn wait_until<T, F: AsyncFnMut() -> Option<T>>(core: &Core, what: &str, mut look: F) -> T {
    let mut events = core.events();
    let waiting = async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            // Not everything that is waited for has an event of its own.
            match tokio::time::timeout(Duration::from_millis(50), events.next()).await {
                Ok(Some(_)) | Err(_) => {}
                Ok(None) => panic!("the core is gone while waiting for {what}"),
            }
        }
    };
    tokio::time::timeout(TIMEOUT, waiting).await.unwrap_or_else(|_| panic!("waited too long for {what}"))
}

pub(crate) async fn wait_until_state(core: &Core, name: &str, state: &str) -> ServerView {
    wait_until(core, &format!("{name} to be {state}"), async || {
        server(core, name).await.filter(|view| view.status.as_str() == state)
    })
    .await
}
