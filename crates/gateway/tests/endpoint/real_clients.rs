//! A real client library against the whole path of a call: gateway, tools, policy, a person, a built-in server.

use std::sync::Arc;

use gatehouse_auth::NoSignIn;
use gatehouse_gateway::{AllowedHosts, ClientRegistry, Gateway, GatewayDeps};
use gatehouse_model::approval::{ApprovalAnswer, GrantChoice, SubmittedAnswer};
use gatehouse_model::server::Builtin;
use gatehouse_model::{ApprovalRequest, EventSink, Generation, ServerConfig, SystemClock, Transport};
use gatehouse_servers::{ServerDeps, ServerManager};
use gatehouse_store::memory;
use gatehouse_tools::{ApprovalLimits, SystemPaths, ToolDeps, ToolManager};
use rmcp::model::{CallToolRequestParams, CallToolResult, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt, RoleClient, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;

use crate::access_requests::ScriptedDocuments;
use crate::fixture::{RecordedEvents, TEST_TIMEOUT, eventually, open_store};

struct TestStack {
    gateway: Gateway,
    tools: ToolManager,
    servers: ServerManager,
    token: String,
    _dir: tempfile::TempDir,
}

impl TestStack {
    async fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (secrets, clock) = (memory(), Arc::new(SystemClock));
        let store = open_store(&dir, Arc::clone(&secrets));
        let events: Arc<dyn EventSink> = Arc::new(RecordedEvents::default());
        let servers = ServerManager::new(ServerDeps {
            tokens: Arc::new(NoSignIn),
            secrets,
            events: Arc::clone(&events),
            clock: clock.clone(),
            data_dir: dir.path().to_owned(),
            policy: gatehouse_servers::PolicyFile::at("/nonexistent/policy.json".into()),
            guard_program: None,
        });
        servers
            .put(ServerConfig {
                generation: Generation(1),
                ..ServerConfig::new("srv-time", "Clock", Transport::Builtin { builtin: Builtin::Time })
            })
            .await
            .unwrap();
        let tools = ToolManager::start(ToolDeps {
            servers: servers.clone(),
            store: Arc::clone(&store),
            events: Arc::clone(&events),
            clock: clock.clone(),
            approval_limits: ApprovalLimits::default(),
            paths: Arc::new(SystemPaths),
        })
        .await
        .unwrap();
        let (registry, _) = ClientRegistry::open(Arc::clone(&store), clock.clone());
        let (_, token) = registry.add("Agent").await.unwrap();
        let deps = GatewayDeps {
            tools: tools.clone(),
            clients: Arc::new(registry),
            store,
            client_documents: Arc::new(ScriptedDocuments::default()),
            allowed_hosts: Arc::new(AllowedHosts::default()),
            events,
            clock,
        };
        let gateway = Gateway::bind("127.0.0.1:0".parse().unwrap(), deps).await.unwrap();
        eventually("the tools are listed", || !tools.catalog().tools().is_empty()).await;
        Self { gateway, tools, servers, token: token.reveal().to_owned(), _dir: dir }
    }

    async fn client(&self, lifecycle: ClientLifecycleMode) -> RunningService<RoleClient, ()> {
        let config = StreamableHttpClientTransportConfig::with_uri(self.gateway.endpoint())
            .auth_header(self.token.clone());
        let transport = StreamableHttpClientTransport::from_config(config);
        tokio::time::timeout(TEST_TIMEOUT, ().serve_with_lifecycle(transport, lifecycle))
            .await
            .unwrap()
            .unwrap()
    }

    /// Calls a tool while a person answers its approval request.
    async fn call(
        &self,
        client: &RunningService<RoleClient, ()>,
        tool: &str,
        answer: impl Fn() -> ApprovalAnswer,
    ) -> CallToolResult {
        let person = async {
            eventually("an approval request is pending", || !self.tools.approvals().pending().is_empty())
                .await;
            let pending = self.tools.approvals().pending().remove(0);
            let ApprovalRequest::Call(request) = &pending.request else { panic!("{pending:?}") };
            assert_eq!(request.client.name, "Agent");
            let answers = vec![SubmittedAnswer {
                id: pending.id.clone(),
                hash: Some(request.hash.clone()),
                answer: answer(),
            }];
            self.tools.approvals().answer(answers, "test").await.unwrap();
        };
        let call =
            client.call_tool(CallToolRequestParams::new(tool.to_owned()).with_arguments(Default::default()));
        let both = async { tokio::join!(call, person) };
        tokio::time::timeout(TEST_TIMEOUT, both).await.unwrap().0.unwrap()
    }

    async fn stop(self) {
        self.gateway.shutdown().await;
        self.tools.shutdown().await;
        self.servers.shutdown().await;
    }
}

async fn round_trip(lifecycle: ClientLifecycleMode, version: &str) {
    let stack = TestStack::start().await;
    let client = stack.client(lifecycle).await;
    assert_eq!(client.peer().peer_info().unwrap().protocol_version.as_str(), version);
    let tools = client.list_all_tools().await.unwrap();
    assert!(!tools.is_empty());
    let tool =
        tools.iter().map(|tool| tool.name.to_string()).find(|name| name.ends_with("current_time")).unwrap();
    let allowed = stack.call(&client, &tool, || ApprovalAnswer::Allow { choice: GrantChoice::once() }).await;
    assert_ne!(allowed.is_error, Some(true), "{allowed:?}");
    let denied = stack
        .call(&client, &tool, || ApprovalAnswer::Deny {
            choice: GrantChoice::once(),
            reason: Some("not today".into()),
        })
        .await;
    assert_eq!(denied.is_error, Some(true));
    assert!(format!("{denied:?}").contains("not today"), "{denied:?}");
    client.cancel().await.unwrap();
    stack.stop().await;
}

#[tokio::test]
async fn round_trip_in_session() {
    round_trip(ClientLifecycleMode::Initialize, "2025-11-25").await;
}

#[tokio::test]
async fn round_trip_without_session() {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    round_trip(ClientLifecycleMode::Discover { preferred_versions }, "2026-07-28").await;
}

#[tokio::test]
async fn client_supporting_both_uses_newer_revision() {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    round_trip(ClientLifecycleMode::Auto { preferred_versions, legacy_version: None }, "2026-07-28").await;
}
