//! Connections to real processes and real HTTP servers.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod over_http;
mod over_stdio;
mod signed_in;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use gatehouse_auth::{NoSignIn, TokenSource};
use gatehouse_mcp_client::schema_check::SchemaChecker;
use gatehouse_mcp_client::{
    CallLimit, CloseCause, ConnectDeps, ConnectError, ConnectSpec, Connection, FallbackHandler, Inbound,
    LifecycleHint, Progress, ProgressSink, RequestError, RequestParams, RpcOutcome, UpstreamRequest, connect,
};
use gatehouse_mcp_wire::ProtocolFamily;
use gatehouse_model::{Generation, Secret, ServerConfig, SystemClock, Transport};
use gatehouse_store::SecretStore;
use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::LocalHost;

/// Time limit of every wait in the tests.
const LONG: Duration = Duration::from_secs(30);

/// Fixture: a temporary folder and the dependencies of connections.
struct ConnectionHarness {
    folder: tempfile::TempDir,
    secrets: Arc<dyn SecretStore>,
    host: Arc<LocalHost>,
    deps: Arc<ConnectDeps>,
}

impl ConnectionHarness {
    fn new() -> Self {
        Self::with_tokens(Arc::new(NoSignIn))
    }

    fn with_tokens(tokens: Arc<dyn TokenSource>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let secrets = gatehouse_store::memory();
        let host = Arc::new(LocalHost::new(Arc::clone(&secrets), Arc::new(SystemClock), folder.path(), None));
        let deps = Arc::new(ConnectDeps {
            host: Arc::<LocalHost>::clone(&host),
            tokens,
            clock: Arc::new(SystemClock),
            data_dir: folder.path().to_owned(),
            schemas: Arc::new(SchemaChecker::default()),
            fallback: FallbackHandler::default(),
            tasks: TaskTracker::new(),
        });
        Self { folder, secrets, host, deps }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn spec(&self, transport: Transport, lifecycle: LifecycleHint) -> ConnectSpec {
        let config =
            ServerConfig { generation: Generation(1), ..ServerConfig::new("srv-test", "test", transport) };
        ConnectSpec {
            config: Arc::new(config),
            deps: Arc::clone(&self.deps),
            lifecycle,
            redactor: Default::default(),
        }
    }

    async fn end(self) {
        let all = async {
            self.deps.shutdown().await;
            self.host.shutdown().await;
        };
        tokio::time::timeout(LONG, all).await.unwrap();
    }
}

fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap()
}

fn call(name: &str, arguments: &str) -> RequestParams {
    RequestParams::none().with_text("name", name).with("arguments", raw(arguments))
}

fn limit() -> CallLimit {
    CallLimit::total(LONG)
}

/// Waits until a file contains a text.
async fn wait_for_text(path: &Path, wanted: &str) -> String {
    tokio::time::timeout(LONG, async {
        loop {
            let text = std::fs::read_to_string(path).unwrap_or_default();
            if text.contains(wanted) {
                return text;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await
    .unwrap_or_else(|_| panic!("{wanted} never came to {}", path.display()))
}

/// Waits until a process has exited.
async fn wait_until_gone(pid: i32) {
    tokio::time::timeout(LONG, async {
        while alive(pid) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await
    .unwrap_or_else(|_| panic!("process {pid} lives on"));
}

/// Whether a process is running; zombies don't count.
fn alive(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

fn collect() -> (ProgressSink, Arc<Mutex<Vec<String>>>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = {
        let seen = Arc::clone(&seen);
        Arc::new(move |progress: Progress| seen.lock().push(progress.raw.get().to_owned())) as ProgressSink
    };
    (sink, seen)
}
