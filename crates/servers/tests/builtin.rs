//! Built-in servers through the manager, as everybody else calls a server; and the kinds of servers
//! that this version cannot run.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_auth::NoSignIn;
use gatehouse_model::server::Builtin;
use gatehouse_model::status::FailureKind;
use gatehouse_model::{Event, EventSink, ServerConfig, ServerStatus, SystemClock, Transport};
use gatehouse_servers::{
    RequestParams, RpcOutcome, ServerDeps, ServerHandle, ServerManager, UpstreamRequest,
};
use serde_json::{Value, json};

struct NoEvents;

impl EventSink for NoEvents {
    fn emit(&self, _: Event) {}
}

fn manager(data_dir: &Path) -> ServerManager {
    ServerManager::new(ServerDeps {
        secrets: gatehouse_store::memory(),
        tokens: Arc::new(NoSignIn),
        events: Arc::new(NoEvents),
        clock: Arc::new(SystemClock),
        data_dir: data_dir.to_owned(),
        policy: gatehouse_servers::PolicyFile::at("/nonexistent/policy.json".into()),
        guard_program: None,
    })
}

fn config(name: &str, transport: Transport) -> ServerConfig {
    ServerConfig { autostart: false, ..ServerConfig::new(name, name, transport) }
}

fn builtin(name: &str, builtin: Builtin) -> ServerConfig {
    config(name, Transport::Builtin { builtin })
}

async fn call(handle: &ServerHandle, tool: &str, arguments: Value) -> Value {
    let params = RequestParams::none()
        .with_text("name", tool)
        .with("arguments", serde_json::value::to_raw_value(&arguments).unwrap());
    let call = UpstreamRequest::new("tools/call", params);
    let reply = tokio::time::timeout(Duration::from_secs(30), handle.call(call)).await.unwrap().unwrap();
    match reply {
        RpcOutcome::Result(raw) => serde_json::from_str(raw.get()).unwrap(),
        RpcOutcome::Error(raw) => json!({ "error": serde_json::from_str::<Value>(raw.get()).unwrap() }),
    }
}

#[tokio::test]
async fn builtin_servers_list_and_call_tools() {
    let data = tempfile::tempdir().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let manager = manager(data.path());
    let place = folder.path().to_str().unwrap().to_owned();
    for config in [
        builtin("time", Builtin::Time),
        builtin("notes", Builtin::Notes),
        builtin("files", Builtin::Files { folder: place }),
    ] {
        manager.put(config).await.unwrap();
    }
    let handle = |name: &str| manager.get(&name.into()).unwrap();

    let answer = call(&handle("time"), "current_time", json!({ "timezone": "UTC" })).await;
    assert_eq!(answer["isError"], false);
    assert_eq!(answer["structuredContent"]["timezone"], "UTC");
    call(&handle("notes"), "add_note", json!({ "text": "remember" })).await;
    assert!(data.path().join("notes.json").is_file());
    call(&handle("files"), "write_file", json!({ "path": "a/b.txt", "content": "hello" })).await;
    assert_eq!(std::fs::read_to_string(folder.path().join("a/b.txt")).unwrap(), "hello");
    let escaped = call(&handle("files"), "read_file", json!({ "path": "../../etc/passwd" })).await;
    assert_eq!(escaped["isError"], true);
    let unknown = call(&handle("time"), "no_such_tool", json!({})).await;
    assert_eq!(unknown["error"]["code"], -32602);

    let counts: Vec<u32> = manager.list().iter().map(|server| server.counts.tools).collect();
    assert_eq!(counts, [2, 4, 5]);
    for server in manager.handles() {
        assert_eq!(server.status().as_str(), "connected");
        for tool in &server.lists().tools {
            let definition: Value = serde_json::from_str(tool.raw.get()).unwrap();
            assert_eq!(definition["inputSchema"]["type"], "object", "{}", tool.name);
            let annotations = &definition["annotations"];
            let reads = !["add_", "delete_", "write_"].iter().any(|start| tool.name.starts_with(start));
            assert_eq!(annotations["readOnlyHint"], reads, "{}", tool.name);
            assert!(annotations["destructiveHint"].is_boolean(), "{}", tool.name);
        }
    }
    manager.shutdown().await;
}

#[tokio::test]
async fn missing_folder_fails_with_configuration_error() {
    let data = tempfile::tempdir().unwrap();
    let manager = manager(data.path());
    let transports =
        [Transport::Builtin { builtin: Builtin::Files { folder: "/no/such/folder".to_owned() } }];
    let mut revision = manager.revision();
    for transport in transports {
        let (kind, id) = (transport.kind(), transport.kind().into());
        manager.put(config(kind, transport)).await.unwrap();
        manager.start(&id).await.unwrap();
        let failed = async {
            loop {
                if let ServerStatus::Failed { error, message, next_retry, .. } =
                    manager.get(&id).unwrap().status()
                {
                    return (error, message, next_retry);
                }
                revision.changed().await.unwrap();
            }
        };
        let (error, message, next_retry) =
            tokio::time::timeout(Duration::from_secs(10), failed).await.unwrap();
        assert_eq!((error, next_retry), (FailureKind::Configuration, None), "{kind}");
        assert!(message.to_string().contains("cannot be opened"), "{kind}: {message}");
    }
    manager.shutdown().await;
}
