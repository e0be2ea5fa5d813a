//! A built-in server as a [`ServerConnection`], so that actors and calls treat it like any other
//! server.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gatehouse_mcp_client::{
    CallLimit, ConnectionEnd, Handshake, LifecycleHint, RequestParams, RpcOutcome, ServerConnection,
    UpstreamError, UpstreamErrorKind, UpstreamRequest, json as raw_json,
};
use gatehouse_mcp_wire::ProtocolFamily;
use gatehouse_model::server::{Builtin, LogLevel};
use gatehouse_model::status::{FailureKind, ServerInfo};
use gatehouse_model::{BoxFuture, Clock, UserText, message};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::tool::{ToolError, ToolOutput};
use crate::{fetch, files, notes, time};

/// The protocol revision of built-in servers.
const PROTOCOL: &str = "2025-11-25";

/// Storage and clock of built-in servers.
pub struct BuiltinContext {
    notes: Arc<notes::Notebook>,
    clock: Arc<dyn Clock>,
}

impl BuiltinContext {
    /// Stores notes in `notes.json` in this folder.
    #[must_use]
    pub fn new(data_dir: &Path, clock: Arc<dyn Clock>) -> Self {
        let notes = Arc::new(notes::Notebook::new(data_dir.join("notes.json"), Arc::clone(&clock)));
        Self { notes, clock }
    }
}

/// One built-in server.
#[derive(Clone)]
enum BuiltinServer {
    Time(Arc<dyn Clock>),
    Notes(Arc<notes::Notebook>),
    Files(Arc<files::Files>),
    Fetch(Arc<fetch::Fetch>),
}

impl BuiltinServer {
    fn tools(&self) -> Vec<Value> {
        match self {
            Self::Time(_) => time::tools(),
            Self::Notes(_) => notes::tools(),
            Self::Files(_) => files::tools(),
            Self::Fetch(_) => fetch::tools(),
        }
    }

    async fn run(self, tool: String, arguments: Map<String, Value>) -> RunResult {
        match self {
            Self::Fetch(fetch) => Ok(fetch::run(&tool, &arguments, &fetch).await),
            // The others block on the file system.
            Self::Time(_) | Self::Notes(_) | Self::Files(_) => {
                blocking(move || self.run_blocking(&tool, &arguments)).await
            }
        }
    }

    fn run_blocking(&self, tool: &str, arguments: &Map<String, Value>) -> Result<ToolOutput, ToolError> {
        match self {
            Self::Time(clock) => time::run(tool, arguments, clock.now()),
            Self::Notes(notebook) => notes::run(tool, arguments, notebook),
            Self::Files(files) => files::run(tool, arguments, files),
            Self::Fetch(_) => Err(ToolError::NoSuchTool),
        }
    }
}

/// Outcome of running a tool; the outer error is an internal one.
type RunResult = Result<Result<ToolOutput, ToolError>, &'static str>;

/// A built-in server as a [`ServerConnection`].
pub struct BuiltinConnection {
    kind: BuiltinServer,
    handshake: Handshake,
    closed: CancellationToken,
}

impl BuiltinConnection {
    /// Opens a built-in server.
    ///
    /// # Errors
    /// A text for the user, if the folder of `Files` cannot be opened.
    pub async fn open(builtin: &Builtin, context: &BuiltinContext) -> Result<Self, UserText> {
        let (kind, name, instructions) = match builtin {
            Builtin::Time => {
                (BuiltinServer::Time(Arc::clone(&context.clock)), "Time", "The time in any zone.")
            }
            Builtin::Notes => (
                BuiltinServer::Notes(Arc::clone(&context.notes)),
                "Notes",
                "A small memory that lasts: add notes, find them again, delete them.",
            ),
            Builtin::Fetch { allow_private } => (
                BuiltinServer::Fetch(Arc::new(fetch::Fetch::new(*allow_private))),
                "Fetch",
                "Gets one web page as text.",
            ),
            Builtin::Files { folder } => {
                let folder = PathBuf::from(folder);
                let files = blocking(move || files::Files::open(&folder))
                    .await
                    .unwrap_or_else(|_| Err(message!("error.servers.builtin.failed").into()))?;
                (
                    BuiltinServer::Files(Arc::new(files)),
                    "Files",
                    "One folder that the user picked. All paths are relative to it; nothing outside it can be reached.",
                )
            }
        };
        let info = ServerInfo {
            name: format!("gatehouse-{}", name.to_lowercase()),
            title: Some(name.to_owned()),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            instructions: Some(instructions.to_owned()),
        };
        let handshake = Handshake {
            protocol: PROTOCOL.to_owned(),
            protocol_family: ProtocolFamily::Stateful,
            raw_info: Some(raw_json::raw(
                &json!({ "name": info.name, "title": info.title, "version": info.version }),
            )),
            info,
            capabilities: raw_json::raw(&json!({ "tools": {} })),
            lifecycle: LifecycleHint::Auto,
        };
        Ok(Self { kind, handshake, closed: CancellationToken::new() })
    }

    async fn answer(&self, method: &str, params: &RequestParams) -> Result<RpcOutcome, UpstreamError> {
        match method {
            "ping" => Ok(RpcOutcome::Result(raw_json::empty_object())),
            "tools/list" => Ok(RpcOutcome::Result(raw_json::raw(&json!({ "tools": self.kind.tools() })))),
            "tools/call" => self.call(params).await,
            other => {
                Ok(RpcOutcome::Error(rpc_error(-32601, &format!("This server does not offer {other}."))))
            }
        }
    }

    async fn call(&self, params: &RequestParams) -> Result<RpcOutcome, UpstreamError> {
        let Some(tool) = params.text("name") else {
            return Ok(RpcOutcome::Error(rpc_error(-32602, "A tool call needs the name of a tool.")));
        };
        let arguments = match params.get("arguments").map(|raw| serde_json::from_str(raw.get())) {
            None => Map::new(),
            Some(Ok(Value::Object(arguments))) => arguments,
            Some(Ok(_) | Err(_)) => {
                return Ok(RpcOutcome::Error(rpc_error(
                    -32602,
                    "The arguments of a tool call are an object.",
                )));
            }
        };
        let (kind, name) = (self.kind.clone(), tool.clone());
        let ran = kind.run(name, arguments).await;
        Ok(match ran {
            Ok(Ok(ToolOutput { text, structured })) => RpcOutcome::Result(raw_json::raw(&json!({
                "content": [{ "type": "text", "text": text }],
                "structuredContent": structured,
                "isError": false,
            }))),
            Ok(Err(ToolError::Message(text))) => RpcOutcome::Result(raw_json::raw(&json!({
                "content": [{ "type": "text", "text": text }],
                "isError": true,
            }))),
            Ok(Err(ToolError::NoSuchTool)) => {
                RpcOutcome::Error(rpc_error(-32602, &format!("There is no tool named {tool}.")))
            }
            Err(why) => RpcOutcome::Error(rpc_error(-32603, why)),
        })
    }
}

impl ServerConnection for BuiltinConnection {
    fn handshake(&self) -> &Handshake {
        &self.handshake
    }

    fn request(
        &self,
        request: UpstreamRequest,
        limit: CallLimit,
    ) -> BoxFuture<'_, Result<RpcOutcome, UpstreamError>> {
        Box::pin(async move {
            if self.closed.is_cancelled() {
                return Err(UpstreamError::from(UpstreamErrorKind::Closed { reason: closed_reason() }));
            }
            let UpstreamRequest { method, params, cancel, .. } = request;
            let answer = self.answer(&method, &params);
            let answer = async {
                match [limit.silent, limit.cap].into_iter().flatten().min() {
                    Some(span) => {
                        let timed = tokio::time::timeout(span, answer).await;
                        timed.unwrap_or_else(|_| Err(UpstreamErrorKind::TimedOut { after: span }.into()))
                    }
                    None => answer.await,
                }
            };
            tokio::select! {
                biased;
                () = cancel.cancelled() => Err(UpstreamError::from(UpstreamErrorKind::Cancelled)),
                answer = answer => answer,
            }
        })
    }

    fn closed(&self) -> BoxFuture<'_, ConnectionEnd> {
        Box::pin(async move {
            self.closed.cancelled().await;
            ConnectionEnd::Closed { kind: FailureKind::Unknown, reason: closed_reason() }
        })
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.closed.cancel();
        Box::pin(std::future::ready(()))
    }

    fn watch(&self, _: BTreeSet<String>) {}

    fn set_log_level(&self, _: Option<LogLevel>) {}
}

fn closed_reason() -> UserText {
    message!("error.servers.builtinStopped").into()
}

/// Runs blocking work on a blocking thread.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, &'static str> {
    tokio::task::spawn_blocking(work).await.map_err(|_| "The built-in server failed at this.")
}

fn rpc_error(code: i32, message: &str) -> Box<RawValue> {
    raw_json::raw(&json!({ "code": code, "message": message }))
}
