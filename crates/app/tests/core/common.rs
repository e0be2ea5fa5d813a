//! A real core on a folder of its own, with built-in servers.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gatehouse_app::{Authority, Core, CoreOptions, OperatorKey, SecretStore, memory};
use gatehouse_model::command::{Request, ServersAdd, ServersList};
use gatehouse_model::server::{Builtin, Limits, Look, ServerDraft, ServerView};
use gatehouse_model::{Problem, Secret, Transport};
use tempfile::TempDir;

/// How long anything may take here.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A data folder with its secrets; cores come and go on it.
pub(crate) struct Home {
    dir: TempDir,
    pub(crate) secrets: Arc<dyn SecretStore>,
    /// The operator key that was handed over last.
    key: Arc<Mutex<Option<Secret>>>,
}

impl Home {
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap(), secrets: memory(), key: Arc::default() }
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
        CoreOptions { operator_key: OperatorKey::Kept { hand_over, anew: false }, ..options }
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
pub(crate) async fn run<R: Request>(core: &Core, request: R) -> Result<R::Reply, Problem> {
    core.run(&request, Authority::Operator).await
}

/// A draft of a built-in server.
pub(crate) fn draft(name: &str, builtin: Builtin) -> ServerDraft {
    ServerDraft {
        name: name.to_owned(),
        transport: Transport::Builtin { builtin },
        enabled: true,
        autostart: true,
        look: Look::default(),
        limits: Limits::default(),
    }
}

/// The settings of a server as a draft.
pub(crate) fn draft_of(view: &ServerView) -> ServerDraft {
    let config = view.config.clone();
    ServerDraft {
        name: config.name,
        transport: config.transport,
        enabled: config.enabled,
        autostart: config.autostart,
        look: config.look,
        limits: config.limits,
    }
}

pub(crate) async fn add(core: &Core, draft: ServerDraft) -> Result<ServerView, Problem> {
    run(core, ServersAdd { draft, trust_labels: false, secrets: Vec::new() }).await
}

pub(crate) async fn servers(core: &Core) -> Vec<ServerView> {
    run(core, ServersList {}).await.unwrap()
}

pub(crate) async fn server(core: &Core, name: &str) -> Option<ServerView> {
    servers(core).await.into_iter().find(|view| view.config.name == name)
}

/// Waits until something holds, looking again after every event.
pub(crate) async fn until<T, F: AsyncFnMut() -> Option<T>>(core: &Core, what: &str, mut look: F) -> T {
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
    tokio::time::timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("waited too long for {what}"))
}

/// Waits until a server has a state.
pub(crate) async fn until_state(core: &Core, name: &str, state: &str) -> ServerView {
    until(core, &format!("{name} to be {state}"), async || {
        server(core, name).await.filter(|view| view.status.word() == state)
    })
    .await
}
