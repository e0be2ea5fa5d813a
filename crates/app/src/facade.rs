//! The single entry point of the core: takes a typed command and the caller's authority, checks the
//! authority first, and returns the reply as JSON. A command that was started is finished even if its
//! caller disconnects, except a tool call, which is cancelled with its caller.

mod approvals;
mod audit;
mod calls;
mod clients;
mod draft;
mod offers;
mod operator_key;
mod policy;
mod secrets;
mod servers;
mod settings;
mod sign_in;
mod status;
mod tools;

use std::collections::{BTreeSet, HashMap};
use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;

use gatehouse_auth::SignIns;
use gatehouse_gateway::ClientBook;
use gatehouse_model::command::{Authority, Command, Request};
use gatehouse_model::event::ConfigCause;
use gatehouse_model::record::AuditEvent;
use gatehouse_model::{Clock, ErrorCode, Event, EventSink as _, Problem, ServerConfig, ServerId};
use gatehouse_servers::{PolicyFile, ServerManager};
use gatehouse_store::{ControlKey, Owner, Store, StoreError};
use gatehouse_tools::ToolManager;
use parking_lot::Mutex;
use serde_json::value::{RawValue, to_raw_value};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::authority::{self, OperatorKeys, Proved};
use crate::events::EventBus;
use crate::results::Results;
use crate::settings::Held;

pub(crate) use secrets::sweep as sweep_secrets;
pub(crate) use servers::adopt;
pub(crate) use sign_in::SignedIn;

/// The subsystems and the state that commands work on.
pub(crate) struct Parts {
    pub(crate) store: Arc<Store>,
    pub(crate) servers: ServerManager,
    pub(crate) sign_ins: SignIns,
    pub(crate) tools: ToolManager,
    pub(crate) clients: Arc<ClientBook>,
    pub(crate) bus: Arc<EventBus>,
    pub(crate) endpoint: String,
    pub(crate) data_dir: PathBuf,
    pub(crate) owner: Owner,
    /// The operator key, if there is one.
    pub(crate) operator: OperatorKeys,
    pub(crate) clock: Arc<dyn Clock>,
    /// The servers as last written. A command that changes one holds this lock from the write until the
    /// server manager has the change, so that changes are applied one after the other.
    pub(crate) configs: tokio::sync::Mutex<Vec<ServerConfig>>,
    /// The settings in force. A command that changes or applies them holds this lock.
    pub(crate) settings: tokio::sync::Mutex<Held>,
    pub(crate) troubles: Mutex<Troubles>,
    /// Results that servers returned to the user.
    pub(crate) results: Results,
    /// Tool runs started by the user, by run name.
    pub(crate) runs: Mutex<HashMap<String, CancellationToken>>,
    /// Held while the whole audit log is read.
    pub(crate) reading_audit: tokio::sync::Mutex<()>,
    /// Resources that the user has subscribed to.
    pub(crate) watched: Mutex<BTreeSet<(ServerId, String)>>,
    /// Folder for results that the user saves.
    pub(crate) downloads: PathBuf,
    /// The managed policy: what the computer's administrator forbids.
    pub(crate) policy: PolicyFile,
}

/// Problems that persist until the user resolves them.
#[derive(Default)]
pub(crate) struct Troubles {
    /// With the list of clients.
    pub(crate) clients: Option<Problem>,
    /// With servers that could not be loaded at the start.
    pub(crate) servers: Vec<Problem>,
    /// With the settings file.
    pub(crate) file: Vec<Problem>,
    /// Manual edits of the file that are pending, or were refused and are still in the file.
    pub(crate) unconfirmed: Vec<String>,
}

impl Parts {
    /// Runs a closure on the store on a blocking thread.
    pub(crate) async fn on_store<T, F>(&self, work: F) -> Result<T, Problem>
    where
        T: Send + 'static,
        F: FnOnce(&Store) -> Result<T, StoreError> + Send + 'static,
    {
        let store = Arc::clone(&self.store);
        match tokio::task::spawn_blocking(move || work(&store)).await {
            Ok(done) => done.map_err(Problem::from),
            Err(e) => {
                Err(Problem::new(ErrorCode::Internal, "Work on the disk broke off.").why(format!("{e}.")))
            }
        }
    }

    /// Emits an event that the configuration changed, with its cause.
    pub(crate) fn config_changed(&self, cause: ConfigCause, server: Option<&ServerConfig>) {
        let (unconfirmed, problem) = {
            let troubles = self.troubles.lock();
            (!troubles.unconfirmed.is_empty(), troubles.file.first().map(ToString::to_string))
        };
        let (server, name) = server.map(|server| (server.id.clone(), server.name.clone())).unzip();
        self.bus.emit(Event::ConfigChanged { cause, server, name, unconfirmed, problem });
    }

    /// Appends an audit entry. The change that it describes must not take effect unless this succeeds.
    pub(crate) async fn audit(&self, event: AuditEvent) -> Result<(), Problem> {
        self.on_store(move |store| store.audit().append(event).map(drop)).await
    }
}

/// Runs commands.
pub(crate) struct Facade {
    parts: Arc<Parts>,
    running: TaskTracker,
}

impl Facade {
    pub(crate) fn new(parts: Arc<Parts>) -> Self {
        Self { parts, running: TaskTracker::new() }
    }

    pub(crate) fn parts(&self) -> &Arc<Parts> {
        &self.parts
    }

    pub(crate) fn bus(&self) -> &EventBus {
        &self.parts.bus
    }

    /// The control key of the client whose token has this SHA-256, and what a peer that knows it has
    /// proved.
    pub(crate) async fn client_key(&self, token_sha256: String) -> Option<(Proved, ControlKey)> {
        // Checked before the secret store is read, which may be slow.
        if !self.parts.clients.knows_digest(&token_sha256) {
            return None;
        }
        let read = self.parts.on_store(move |store| Ok(store.control_keys().client(&token_sha256)?)).await;
        match read {
            Ok(key) => key.map(|key| (Proved::Token, key)),
            Err(problem) => {
                tracing::warn!(%problem, "the key of a client could not be read");
                None
            }
        }
    }

    /// Checks the authority and runs one command.
    pub(crate) async fn execute(
        &self,
        command: Command,
        authority: Authority,
    ) -> Result<Box<RawValue>, Problem> {
        authority::check(&command, authority)?;
        tracing::debug!(command = command.name(), ?authority, "command");
        let parts = Arc::clone(&self.parts);
        match self.running.spawn(async move { run(&parts, command, authority).await }).await {
            Ok(outcome) => outcome,
            Err(e) => Err(Problem::new(ErrorCode::Internal, "The command broke off.").why(format!("{e}."))),
        }
    }

    /// Calls a tool with a client's token; `process` is the peer process if known. Unlike a command it
    /// is cancelled with its caller.
    pub(crate) async fn call(
        &self,
        command: Command,
        authority: Authority,
        process: Option<u32>,
    ) -> Result<Box<RawValue>, Problem> {
        authority::check(&command, authority)?;
        let Command::Call(call) = command else {
            return Err(Problem::new(ErrorCode::Internal, "That is no call."));
        };
        Box::pin(answer(&call, calls::call(&self.parts, &call, process))).await
    }

    /// Waits for running commands.
    pub(crate) async fn finish(&self) {
        self.running.close();
        self.running.wait().await;
    }
}

async fn run(parts: &Arc<Parts>, command: Command, by: Authority) -> Result<Box<RawValue>, Problem> {
    match command {
        Command::Status(c) => answer(&c, status::report(parts)).await,
        Command::ServersList(c) => answer(&c, servers::list(parts, by)).await,
        Command::ServersAdd(c) => answer(&c.clone(), servers::add(parts, c)).await,
        Command::ServersEdit(c) => answer(&c.clone(), servers::edit(parts, c)).await,
        Command::ServersDuplicate(c) => answer(&c, servers::duplicate(parts, &c)).await,
        Command::ServersTest(c) => answer(&c.clone(), servers::test(parts, c)).await,
        Command::ServersRemove(c) => answer(&c, servers::remove(parts, &c.server)).await,
        Command::ServersStart(c) => answer(&c, servers::start(parts, &c.server)).await,
        Command::ServersStop(c) => answer(&c, servers::stop(parts, &c)).await,
        Command::ServersReconnect(c) => answer(&c, servers::reconnect(parts, &c.server)).await,
        Command::ServersLog(c) => answer(&c, servers::log(parts, &c.server)).await,
        Command::ServersOffer(c) => answer(&c, async { offers::offer(parts, &c.server) }).await,
        Command::ServersReadResource(c) => Box::pin(answer(&c, offers::read(parts, &c))).await,
        Command::ServersWatchResource(c) => answer(&c, offers::watch(parts, &c)).await,
        Command::ServersGetPrompt(c) => Box::pin(answer(&c, offers::prompt(parts, &c))).await,
        Command::ServersComplete(c) => answer(&c, offers::complete(parts, &c)).await,
        Command::ServersCallTool(c) => answer(&c, offers::call_tool(parts, &c)).await,
        Command::ServersStopTool(c) => answer(&c, offers::stop_tool(parts, &c.run)).await,
        Command::ServersSetLogLevel(c) => answer(&c, offers::set_log_level(parts, &c)).await,
        Command::ServersSignIn(c) => answer(&c, sign_in::begin(parts, &c)).await,
        Command::ServersPasteAddress(c) => answer(&c, sign_in::paste(parts, &c)).await,
        Command::ServersCancelSignIn(c) => answer(&c, sign_in::cancel(parts, &c.server)).await,
        Command::ServersSignOut(c) => answer(&c, sign_in::sign_out(parts, &c.server)).await,
        Command::ResultsSave(c) => answer(&c.clone(), offers::save(parts, c)).await,
        Command::ServersTrustLabels(c) => answer(&c, servers::trust_labels(parts, &c)).await,
        Command::ServersSwitchOff(c) => answer(&c, settings::switch_off(parts)).await,
        Command::ServersSwitchOn(c) => answer(&c, settings::switch_on(parts)).await,
        Command::ServersReset(c) => answer(&c, servers::reset(parts)).await,
        Command::ToolsList(c) => answer(&c, tools::list(parts, c.server.as_deref())).await,
        Command::ToolsLeftOut(c) => answer(&c, tools::left_out(parts, c.server.as_deref())).await,
        Command::ToolsClassify(c) => answer(&c, tools::classify(parts, &c)).await,
        Command::Call(c) => answer(&c, calls::call(parts, &c, None)).await,
        Command::ClientsList(c) => answer(&c, clients::list(parts)).await,
        Command::ClientsAdd(c) => answer(&c, clients::add(parts, &c.name)).await,
        Command::ClientsRotate(c) => answer(&c, clients::rotate(parts, &c.client)).await,
        Command::ClientsRevoke(c) => answer(&c, clients::revoke(parts, &c.client)).await,
        Command::ApprovalsList(c) => answer(&c, approvals::list(parts, &c.known)).await,
        Command::ApprovalsReveal(c) => answer(&c, async { approvals::reveal(parts, &c) }).await,
        Command::ApprovalsAnswer(c) => answer(&c.clone(), approvals::answer(parts, c.answers)).await,
        Command::PolicyShow(c) => answer(&c, policy::show(parts, by)).await,
        Command::PolicyAutoApprove(c) => answer(&c, policy::auto_approve(parts, &c)).await,
        Command::PolicyRehearse(c) => answer(&c.clone(), policy::rehearse(parts, c)).await,
        Command::PolicyGrant(c) => answer(&c.clone(), policy::grant(parts, c)).await,
        Command::PolicyDeny(c) => answer(&c.clone(), policy::deny(parts, c, by)).await,
        Command::PolicySuspended(c) => answer(&c, policy::suspended(parts, by)).await,
        Command::PolicyConfirm(c) => answer(&c.clone(), policy::confirm(parts, c)).await,
        Command::PolicyRevoke(c) => answer(&c, policy::revoke(parts, &c.rule)).await,
        Command::PolicyUnblock(c) => answer(&c, policy::unblock(parts, &c.rule)).await,
        Command::EventsList(c) => answer(&c, async { Ok(parts.bus.journal()) }).await,
        Command::CallsList(c) => answer(&c.clone(), calls::list(parts, c.filter, by)).await,
        Command::CallsRunning(c) => answer(&c, async { Ok(parts.tools.running_calls()) }).await,
        Command::CallsCancel(c) => answer(&c, async { parts.tools.cancel_call(&c.call) }).await,
        Command::AuditList(c) => answer(&c, audit::list(parts, &c, by)).await,
        Command::AuditLatest(c) => answer(&c, audit::latest(parts, &c, by)).await,
        Command::AuditVerify(c) => answer(&c, audit::verify(parts)).await,
        Command::AuditAcknowledge(c) => answer(&c, audit::acknowledge(parts)).await,
        Command::AuditExport(c) => answer(&c, audit::export(parts, c.format, by)).await,
        Command::SettingsShow(c) => answer(&c, settings::show(parts)).await,
        Command::SettingsSet(c) => answer(&c, settings::set(parts, &c)).await,
        Command::OperatorKeyRotate(c) => answer(&c, operator_key::rotate(parts)).await,
        Command::Pause(c) => answer(&c, status::pause(parts)).await,
        Command::Resume(c) => answer(&c, status::resume(parts)).await,
    }
}

/// Serializes the reply of a command; the command parameter only fixes the type of the reply.
async fn answer<R: Request>(
    _command: &R,
    work: impl Future<Output = Result<R::Reply, Problem>>,
) -> Result<Box<RawValue>, Problem> {
    let reply = work.await?;
    to_raw_value(&reply)
        .map_err(|e| Problem::new(ErrorCode::Internal, "A reply could not be written.").why(format!("{e}.")))
}
