//! The single entry point of the core: takes a typed command and the caller's authority, checks the
//! authority first, and returns the reply as JSON. A command that was started is finished even if its
//! caller disconnects, except what can be cancelled: a tool call and the binding of a bridge end with their caller, and
//! so does every command that can be given a name, which `servers.stopRun` cancels by it.
//!
//! Must never run a command before its authority was checked or the user confirmed it in the window, and never decide
//! about a tool call itself.

mod approvals;
mod audit;
mod bridge;
mod bundles;
mod calls;
mod chat;
mod clients;
mod configuration;
mod connections;
mod free_name;
mod imports;
mod lookup;
mod model_answers;
mod models;
mod named_runs;
mod operator_key;
mod policy;
mod practice;
mod profiles;
mod project_servers;
mod proposals;
mod registry;
mod removals;
mod server_draft;
mod server_icons;
mod servers;
mod settings;
mod sign_in;
mod status;
mod stored_connections;
mod tools;
mod user_requests;

use std::future::Future;
use std::sync::Arc;

use gatehouse_model::command::{Authority, Command, TypedCommand};
use gatehouse_model::server::ServerView;
use gatehouse_model::{ErrorCode, UserError, message};
use gatehouse_store::{ControlKey, Owner};
use serde_json::value::{RawValue, to_raw_value};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::proposals::Proposals;
use crate::authority::{self, Credential};
use crate::events::EventBus;
use crate::redact;
use crate::state::AppState;

pub(crate) use sign_in::SignInReconnector;

/// Runs commands.
pub(crate) struct CommandService {
    state: Arc<AppState>,
    tasks: TaskTracker,
    proposals: Proposals,
}

impl CommandService {
    pub(crate) fn new(state: Arc<AppState>) -> Self {
        Self { state, tasks: TaskTracker::new(), proposals: Proposals::default() }
    }

    pub(crate) fn state(&self) -> &Arc<AppState> {
        &self.state
    }

    pub(crate) fn bus(&self) -> &EventBus {
        &self.state.bus
    }

    /// The control key of the client whose token has this SHA-256, and what a peer that knows it has
    /// proved.
    pub(crate) async fn client_key(&self, token_sha256: String) -> Option<(Credential, ControlKey)> {
        // Checked before the secret store is read, which may be slow.
        if !self.state.clients.has_token_digest(&token_sha256) {
            return None;
        }
        let read = self.state.with_store(move |store| Ok(store.control_keys().client(&token_sha256)?)).await;
        match read {
            Ok(key) => key.map(|key| (Credential::Token, key)),
            Err(error) => {
                tracing::warn!(%error, "the key of a client could not be read");
                None
            }
        }
    }

    /// Checks the authority and runs one command. Without the authority that it needs, the window is asked to confirm it, if
    /// there is one and the command can be proposed. `process` is the peer process of a control connection, if it
    /// is known.
    pub(crate) async fn execute(
        &self,
        command: Command,
        authority: Authority,
        process: Option<u32>,
    ) -> Result<Box<RawValue>, UserError> {
        let shown_to = authority;
        let (command, authority) = match authority::check(&command, authority) {
            Ok(()) => (command, authority),
            Err(_) if self.state.owner == Owner::Window && authority::can_be_proposed(&command) => {
                let confirmed = Box::pin(self.proposals.confirm(&self.state, command, process)).await?;
                (confirmed, Authority::Operator)
            }
            Err(refused) => return Err(refused),
        };
        tracing::debug!(command = command.name(), ?authority, "command");
        // Cancelled when this future is dropped because the caller disconnected.
        let gone = CancellationToken::new();
        let _cancel_on_drop = gone.clone().drop_guard();
        let caller = CommandCaller { authority, shown_to, process, gone };
        // What a tool call or a binding gives is for this caller alone.
        if matches!(command, Command::Call(_) | Command::BridgeBind(_)) {
            return Box::pin(dispatch(&self.state, command, caller)).await;
        }
        let state = Arc::clone(&self.state);
        match self.tasks.spawn(async move { dispatch(&state, command, caller).await }).await {
            Ok(outcome) => outcome,
            Err(e) => Err(UserError::new(ErrorCode::Internal, message!("error.app.commandEnded"))
                .with_cause(format!("{e}."))),
        }
    }

    /// Waits for running commands.
    pub(crate) async fn drain(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }
}

/// Who a command is run for.
struct CommandCaller {
    authority: Authority,
    /// The authority of who gets the reply, which is less if the user confirmed the command.
    shown_to: Authority,
    /// The peer process of a control connection, if it is known.
    process: Option<u32>,
    /// Cancelled when nobody waits for the reply any more.
    gone: CancellationToken,
}

async fn dispatch(
    state: &Arc<AppState>,
    command: Command,
    caller: CommandCaller,
) -> Result<Box<RawValue>, UserError> {
    let CommandCaller { authority: by, shown_to, process, gone } = caller;
    match command {
        Command::Status(c) => encode_reply(&c, status::report(state)).await,
        Command::ServersList(c) => encode_reply(&c, servers::list(state, by)).await,
        Command::ServersAdd(c) => {
            let adding = as_shown(shown_to, servers::add(state, c.clone(), &gone));
            Box::pin(encode_reply(&c, adding)).await
        }
        Command::ServersEdit(c) => {
            Box::pin(encode_reply(&c.clone(), as_shown(shown_to, servers::edit(state, c)))).await
        }
        Command::ServersSet(c) => {
            Box::pin(encode_reply(&c.clone(), as_shown(shown_to, servers::set(state, c)))).await
        }
        Command::ServersDuplicate(c) => {
            encode_reply(&c, as_shown(shown_to, servers::duplicate(state, &c))).await
        }
        Command::ServersTest(c) => encode_reply(&c.clone(), servers::test(state, c, &gone)).await,
        Command::ServersValidate(c) => encode_reply(&c.clone(), server_draft::validate(state, c, by)).await,
        Command::ServersSettingsText(c) => {
            encode_reply(&c, servers::settings_text(state, &c.server, by)).await
        }
        Command::BundlesRead(c) => encode_reply(&c.clone(), bundles::read(state, c, &gone)).await,
        Command::BundlesConfigure(c) => encode_reply(&c.clone(), bundles::configure(state, c)).await,
        Command::ImportsSources(c) => encode_reply(&c, imports::sources(state)).await,
        Command::ImportsPreview(c) => encode_reply(&c.clone(), imports::preview(state, c.from)).await,
        Command::ImportsRun(c) => Box::pin(encode_reply(&c.clone(), imports::run(state, c, &gone))).await,
        Command::ImportsRunByName(c) => {
            Box::pin(encode_reply(&c.clone(), imports::run_by_name(state, c, &gone))).await
        }
        Command::ServersRemove(c) => encode_reply(&c, servers::remove(state, &c)).await,
        Command::ServersStart(c) => encode_reply(&c, servers::start(state, &c.server)).await,
        Command::ServersStop(c) => encode_reply(&c, servers::stop(state, &c)).await,
        Command::ServersReconnect(c) => encode_reply(&c, servers::reconnect(state, &c.server)).await,
        Command::ServersLog(c) => encode_reply(&c, servers::log(state, &c.server)).await,
        Command::ServersIcon(c) => encode_reply(&c, server_icons::icon(state, &c.server)).await,
        Command::ServersCatalog(c) => {
            encode_reply(&c, async { user_requests::catalog(state, &c.server) }).await
        }
        Command::ServersReadResource(c) => {
            Box::pin(encode_reply(&c, user_requests::read(state, &c, &gone))).await
        }
        Command::ServersWatchResource(c) => encode_reply(&c, user_requests::watch(state, &c)).await,
        Command::ServersGetPrompt(c) => {
            Box::pin(encode_reply(&c, user_requests::prompt(state, &c, &gone))).await
        }
        Command::ServersComplete(c) => encode_reply(&c, user_requests::complete(state, &c)).await,
        Command::ServersCallTool(c) => {
            Box::pin(encode_reply(&c, user_requests::call_tool(state, &c, &gone))).await
        }
        Command::ServersStopRun(c) => encode_reply(&c, named_runs::stop(state, &c.run)).await,
        Command::ServersSetLogLevel(c) => encode_reply(&c, user_requests::set_log_level(state, &c)).await,
        Command::ServersSignIn(c) => encode_reply(&c, sign_in::begin(state, &c)).await,
        Command::ServersPasteAddress(c) => encode_reply(&c, sign_in::paste(state, &c)).await,
        Command::ServersCancelSignIn(c) => encode_reply(&c, sign_in::cancel(state, &c.server)).await,
        Command::ServersSignOut(c) => encode_reply(&c, sign_in::sign_out(state, &c, &gone)).await,
        Command::ResultsSave(c) => encode_reply(&c.clone(), user_requests::save(state, c)).await,
        Command::ServersTrustLabels(c) => encode_reply(&c, servers::trust_labels(state, &c)).await,
        Command::ServersSwitchOff(c) => encode_reply(&c, settings::switch_off(state)).await,
        Command::ServersSwitchOn(c) => encode_reply(&c, settings::switch_on(state)).await,
        Command::ServersReset(c) => encode_reply(&c, servers::reset(state, shown_to)).await,
        Command::RegistrySearch(c) => Box::pin(encode_reply(&c, registry::search(state, &c, &gone))).await,
        Command::RegistryVersions(c) => {
            Box::pin(encode_reply(&c, registry::versions(state, &c, &gone))).await
        }
        Command::RegistryFill(c) => Box::pin(encode_reply(&c, registry::fill(state, &c, &gone))).await,
        Command::RegistryCheck(c) => Box::pin(encode_reply(&c, registry::report(state, &c))).await,
        Command::LinksRead(c) => encode_reply(&c, async { registry::link(&c.link) }).await,
        Command::ToolsList(c) => encode_reply(&c, tools::list(state, c.server.as_deref())).await,
        Command::ToolsOmitted(c) => encode_reply(&c, tools::omitted(state, c.server.as_deref())).await,
        Command::ToolsClassify(c) => encode_reply(&c, tools::classify(state, &c)).await,
        Command::Call(c) => encode_reply(&c, calls::call(state, &c, process)).await,
        Command::ClientsList(c) => encode_reply(&c, clients::list(state)).await,
        Command::ClientsIdentify(c) => encode_reply(&c, clients::identify(state, c.token.reveal())).await,
        Command::ClientsAdd(c) => encode_reply(&c, clients::add(state, &c.name)).await,
        Command::ClientsRotate(c) => encode_reply(&c, clients::rotate(state, &c.client)).await,
        Command::ClientsKeepToken(c) => encode_reply(&c, clients::keep_token(state, c.token.reveal())).await,
        Command::ClientsRevoke(c) => encode_reply(&c, clients::revoke(state, &c.client)).await,
        Command::ClientsApps(c) => encode_reply(&c, connections::apps(state)).await,
        Command::ClientsConnectPreview(c) => encode_reply(&c, connections::preview(state, &c)).await,
        Command::ClientsConnect(c) => encode_reply(&c, connections::connect(state, &c)).await,
        Command::ClientsDisconnect(c) => encode_reply(&c, connections::disconnect(state, c.app)).await,
        Command::BridgeBind(c) => encode_reply(&c, bridge::bind(state, &c, process)).await,
        Command::ClientsSet(c) => encode_reply(&c.clone(), clients::set(state, c)).await,
        Command::ProfilesList(c) => encode_reply(&c, profiles::list(state)).await,
        Command::ProfilesAdd(c) => encode_reply(&c.clone(), profiles::add(state, c)).await,
        Command::ProfilesSet(c) => encode_reply(&c.clone(), profiles::set(state, c)).await,
        Command::ProfilesAddServers(c) => encode_reply(&c, project_servers::add(state, &c.profile)).await,
        Command::ProfilesRemove(c) => encode_reply(&c, profiles::remove(state, &c.profile)).await,
        Command::ApprovalsList(c) => encode_reply(&c, approvals::list(state, &c.known)).await,
        Command::ApprovalsReveal(c) => encode_reply(&c, async { approvals::reveal(state, &c) }).await,
        Command::ApprovalsAnswer(c) => encode_reply(&c.clone(), approvals::answer(state, c.answers)).await,
        Command::ApprovalsGenerate(c) => {
            Box::pin(encode_reply(&c, model_answers::generate(state, &c, &gone))).await
        }
        Command::ApprovalsOpinion(c) => {
            Box::pin(encode_reply(&c, model_answers::opinion(state, &c, &gone))).await
        }
        Command::ApprovalsPractice(c) => Box::pin(encode_reply(&c, practice::practice(state))).await,
        Command::PolicyShow(c) => encode_reply(&c, policy::show(state, by)).await,
        Command::PolicyAutoApprove(c) => encode_reply(&c, policy::auto_approve(state, &c)).await,
        Command::PolicySimulate(c) => {
            Box::pin(encode_reply(&c.clone(), policy::simulate(state, c, &gone))).await
        }
        Command::PolicyGrant(c) => encode_reply(&c.clone(), policy::grant(state, c)).await,
        Command::PolicyDeny(c) => encode_reply(&c.clone(), policy::deny(state, c, by)).await,
        Command::PolicySuspended(c) => encode_reply(&c, policy::suspended(state, by)).await,
        Command::PolicyConfirm(c) => encode_reply(&c.clone(), policy::confirm(state, c)).await,
        Command::PolicyRevoke(c) => encode_reply(&c, policy::revoke(state, &c.rule)).await,
        Command::PolicyFindings(c) => encode_reply(&c, policy::findings(state, by)).await,
        Command::PolicyNarrow(c) => encode_reply(&c, policy::narrow(state, &c.rule)).await,
        Command::PolicyUnblock(c) => encode_reply(&c, policy::unblock(state, &c.rule)).await,
        Command::RemovalsUndo(c) => Box::pin(encode_reply(&c, removals::undo(state, &c))).await,
        Command::EventsList(c) => encode_reply(&c, async { Ok(state.bus.journal()) }).await,
        Command::CallsList(c) => encode_reply(&c.clone(), calls::list(state, c.filter, by)).await,
        Command::CallsStatistics(c) => encode_reply(&c.clone(), calls::statistics(state, c)).await,
        Command::CallsExport(c) => encode_reply(&c.clone(), calls::export(state, c, &gone)).await,
        Command::CallsRunning(c) => encode_reply(&c, async { Ok(state.tools.running_calls()) }).await,
        Command::CallsCancel(c) => encode_reply(&c, async { state.tools.cancel_call(&c.call) }).await,
        Command::AuditList(c) => encode_reply(&c, audit::list(state, &c, by)).await,
        Command::AuditLatest(c) => encode_reply(&c, audit::latest(state, &c, by)).await,
        Command::AuditVerify(c) => encode_reply(&c, audit::verify(state, &c, &gone)).await,
        Command::AuditAcknowledge(c) => encode_reply(&c, audit::acknowledge(state)).await,
        Command::AuditExport(c) => encode_reply(&c, audit::export(state, &c, by, &gone)).await,
        Command::ModelsShow(c) => encode_reply(&c, models::show(state)).await,
        Command::ModelsAddProvider(c) => encode_reply(&c.clone(), models::add(state, c)).await,
        Command::ModelsSetProvider(c) => encode_reply(&c.clone(), models::set(state, c)).await,
        Command::ModelsRemoveProvider(c) => encode_reply(&c, models::remove(state, &c.provider)).await,
        Command::ModelsList(c) => Box::pin(encode_reply(&c, models::list(state, &c, &gone))).await,
        Command::ModelsAssign(c) => encode_reply(&c.clone(), models::assign(state, c)).await,
        Command::ChatList(c) => encode_reply(&c.clone(), chat::list(state, c)).await,
        Command::ChatShow(c) => encode_reply(&c, chat::show(state, &c)).await,
        Command::ChatCreate(c) => encode_reply(&c.clone(), chat::create(state, c)).await,
        Command::ChatSet(c) => encode_reply(&c.clone(), chat::set(state, c)).await,
        Command::ChatRemove(c) => encode_reply(&c, chat::remove(state, &c)).await,
        Command::ChatSend(c) => encode_reply(&c.clone(), chat::send(state, c)).await,
        Command::ChatRetry(c) => encode_reply(&c, chat::retry(state, &c)).await,
        Command::ChatStop(c) => encode_reply(&c, chat::stop(state, &c)).await,
        Command::ChatExport(c) => encode_reply(&c, chat::export(state, &c)).await,
        Command::SettingsShow(c) => encode_reply(&c, settings::show(state)).await,
        Command::SettingsSet(c) => encode_reply(&c, settings::set(state, &c)).await,
        Command::ConfigurationExport(c) => encode_reply(&c, configuration::export(state, c.save)).await,
        Command::ConfigurationPreview(c) => {
            Box::pin(encode_reply(&c.clone(), configuration::preview(state, c.from))).await
        }
        Command::ConfigurationImport(c) => {
            Box::pin(encode_reply(&c.clone(), configuration::import(state, c))).await
        }
        Command::OperatorKeyRotate(c) => encode_reply(&c, operator_key::rotate(state)).await,
        Command::Pause(c) => encode_reply(&c, status::pause(state)).await,
        Command::Resume(c) => encode_reply(&c, status::resume(state)).await,
    }
}

/// A server as whoever gets the reply may see it.
async fn as_shown(
    shown_to: Authority,
    work: impl Future<Output = Result<ServerView, UserError>>,
) -> Result<ServerView, UserError> {
    let mut view = work.await?;
    if shown_to < Authority::Operator {
        redact::server(&mut view);
    }
    Ok(view)
}

/// Serializes the reply of a command; the command parameter only fixes the type of the reply.
async fn encode_reply<R: TypedCommand>(
    _command: &R,
    work: impl Future<Output = Result<R::Reply, UserError>>,
) -> Result<Box<RawValue>, UserError> {
    let reply = work.await?;
    to_raw_value(&reply).map_err(|e| {
        UserError::new(ErrorCode::Internal, message!("error.app.replyUnwritten")).with_cause(format!("{e}."))
    })
}
