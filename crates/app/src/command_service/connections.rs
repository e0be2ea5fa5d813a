//! Connecting AI applications (UI-6): previews, connections and their end, and the state of each application.
//!
//! A settings file is only written after exactly the new content was shown, and only at the paths of the table of
//! applications. What was written is stored under a seal: whoever could change it could have Gatehouse write other bytes
//! when the application is disconnected.

use std::convert;
use std::path::PathBuf;
use std::sync::Arc;

use gatehouse_common::display_name;
use gatehouse_integrations::connect::{
    ConnectPlan, EntryState, RestorePlan, allow_rule, entry_state, is_installed, settings_path,
    settings_reload,
};
use gatehouse_integrations::{App, BaseFolders};
use gatehouse_model::command::{ClientsConnect, ClientsConnectPreview, MintedClient};
use gatehouse_model::connection::{
    AppView, ConnectPreview, ConnectResult, ConnectionState, DisconnectResult, StoredConnection,
    StoredConnections,
};
use gatehouse_model::record::CallFilter;
use gatehouse_model::{ClientId, ClientView, ErrorCode, Secret, Timestamp, UserError, message};

use super::free_name::free_name;
use super::stored_connections::load;
use super::{AppState, clients};
use crate::bridge_command::bridge_command;
use crate::disk_work::on_disk;
use crate::{app_folders, bridge_keychain};

/// The folder of copies of settings files, in the data folder.
const BACKUPS: &str = "settings-backups";

pub(super) async fn apps(state: &Arc<AppState>) -> Result<Vec<AppView>, UserError> {
    let folders = app_folders::base_folders()?;
    let stored = load(state).await.unwrap_or_else(|error| {
        tracing::warn!(%error, "the connections of applications can't be verified, so none is shown");
        StoredConnections::default()
    });
    let all = clients::list(state).await?;
    let mut views = Vec::new();
    for app in App::ALL.iter().copied() {
        let connection = stored.apps.get(&app).cloned();
        let client = connection
            .as_ref()
            .and_then(|connection| all.iter().find(|client| client.id == connection.client).cloned());
        let last_call = match &client {
            Some(client) => last_call(state, &client.id).await?,
            None => None,
        };
        let folders = folders.clone();
        let view = on_disk(move || view_of(app, &folders, connection.as_ref(), client)).await?;
        views.push(AppView { last_call, ..view });
    }
    Ok(views)
}

pub(super) async fn preview(
    state: &Arc<AppState>,
    wanted: &ClientsConnectPreview,
) -> Result<ConnectPreview, UserError> {
    let app = wanted.app;
    let draft = ConnectDraft::make(state, app, wanted.allow_rule).await?;
    Ok(ConnectPreview {
        app,
        name: app.display_name().to_owned(),
        client: draft.client,
        files: draft.plan.changes(),
        replaces_entry: draft.plan.replaces_entry(),
        has_allow_rule: allow_rule(app).is_some(),
        fingerprint: draft.plan.fingerprint(),
    })
}

pub(super) async fn connect(
    state: &Arc<AppState>,
    wanted: &ClientsConnect,
) -> Result<ConnectResult, UserError> {
    let _connecting = state.connecting.lock().await;
    let app = wanted.app;
    let Some(fingerprint) = &wanted.fingerprint else {
        return Err(UserError::new(ErrorCode::BadRequest, message!("error.connect.notShown"))
            .with_hint(message!("error.connect.notShownHint")));
    };
    let draft = ConnectDraft::make(state, app, wanted.allow_rule).await?;
    if draft.plan.fingerprint() != *fingerprint {
        let file = draft.plan.changes().into_iter().next().map(|file| file.path).unwrap_or_default();
        let what = message!("error.connect.changedMeanwhile", path = file);
        return Err(UserError::new(ErrorCode::BadConfig, what)
            .with_hint(message!("error.connect.changedMeanwhileHint")));
    }
    let minted = clients::add(state, &draft.client).await?;
    match finish(state, app, &draft.plan, &minted).await {
        Ok(files) => Ok(ConnectResult {
            app,
            name: app.display_name().to_owned(),
            client: minted.client,
            files,
            reload: settings_reload(app),
        }),
        Err(error) => {
            if let Err(second) = clients::revoke(state, minted.client.id.as_str()).await {
                tracing::error!(error = %second, "the client of a failed connection could not be revoked");
            }
            Err(error)
        }
    }
}

/// Everything of a connection after its client was added. Returns the paths of the files that were written.
async fn finish(
    state: &Arc<AppState>,
    app: App,
    plan: &Arc<ConnectPlan>,
    minted: &MintedClient,
) -> Result<Vec<String>, UserError> {
    bridge_keychain::keep(&state.data_dir, &minted.client.name, &Secret::new(minted.token.reveal())).await?;
    let (backing_up, backups) = (Arc::clone(plan), backups(state));
    let files = on_disk(move || backing_up.back_up(&backups)).await??;
    let paths = files.iter().map(|file| file.path.clone()).collect();
    let connection =
        StoredConnection { client: minted.client.id.clone(), connected: state.clock.now(), files };
    // Stored first: after a crash in between, the connection is shown as changed by hand, and can be taken back.
    change(state, move |stored| {
        stored.apps.insert(app, connection);
    })
    .await?;
    let writing = Arc::clone(plan);
    if let Err(error) = on_disk(move || writing.write()).await.and_then(convert::identity) {
        if let Err(second) = forget(state, app).await {
            tracing::error!(error = %second, "a connection that was not made could not be forgotten");
        }
        return Err(error);
    }
    Ok(paths)
}

pub(super) async fn disconnect(state: &Arc<AppState>, app: App) -> Result<DisconnectResult, UserError> {
    let _connecting = state.connecting.lock().await;
    let name = app.display_name();
    let connection = load(state).await?.apps.remove(&app).ok_or_else(|| not_connected(app))?;
    let (files, backups) = (connection.files, backups(state));
    let files = on_disk(move || RestorePlan::new(app, &files, &backups)?.write()).await??;
    let revoked = match state.clients.get(connection.client.as_str()) {
        Some(client) => clients::revoke(state, client.id.as_str()).await,
        None => Ok(()),
    };
    forget(state, app).await?;
    revoked?;
    Ok(DisconnectResult { app, name: name.to_owned(), files, reload: settings_reload(app) })
}

/// A connection that could be made.
struct ConnectDraft {
    /// Name of the client.
    client: String,
    plan: Arc<ConnectPlan>,
}

impl ConnectDraft {
    async fn make(state: &Arc<AppState>, app: App, with_allow_rule: bool) -> Result<Self, UserError> {
        let name = app.display_name();
        let rule = allow_rule(app).filter(|_| with_allow_rule);
        if with_allow_rule && rule.is_none() {
            let what = message!("error.connect.noAllowRule", app = name);
            return Err(UserError::new(ErrorCode::BadRequest, what));
        }
        // A list that can't be verified is replaced by the connection that the user makes.
        if load(state).await.is_ok_and(|stored| stored.apps.contains_key(&app)) {
            let what = message!("error.connect.connectedAlready", app = name);
            return Err(UserError::new(ErrorCode::BadRequest, what)
                .with_hint(message!("error.connect.connectedAlreadyHint")));
        }
        let folders = app_folders::base_folders()?;
        let all = state.clients.list();
        let is_free =
            |wanted: &str| !all.iter().any(|client| display_name::is_taken_by(wanted, &client.name));
        let client = free_name(name, is_free);
        let command = bridge_command(app, &folders, &state.data_dir, &client)?;
        let plan = on_disk(move || ConnectPlan::new(app, &folders, &command, rule)).await??;
        Ok(Self { client, plan: Arc::new(plan) })
    }
}

fn view_of(
    app: App,
    folders: &BaseFolders,
    connection: Option<&StoredConnection>,
    client: Option<ClientView>,
) -> AppView {
    let written = connection.and_then(|connection| connection.files.first());
    let found = entry_state(app, folders, written.map(|file| (file.path.as_str(), file.edits.as_slice())));
    let state = match (connection, &found) {
        (None, _) => ConnectionState::NotConnected,
        (Some(_), Ok(EntryState::AsWritten)) if client.is_some() => ConnectionState::Connected,
        (Some(_), Ok(EntryState::AsWritten)) => ConnectionState::Revoked,
        (Some(_), Ok(EntryState::None | EntryState::Different) | Err(_)) => ConnectionState::ChangedByHand,
    };
    let settings_file = match written {
        Some(file) => file.path.clone(),
        None => settings_path(app, folders).display().to_string(),
    };
    AppView {
        app,
        name: app.display_name().to_owned(),
        is_installed: is_installed(app, folders, &app_folders::program_folders()),
        settings_file,
        state,
        has_foreign_entry: connection.is_none() && found == Ok(EntryState::Different),
        client,
        last_call: None,
        problem: found.err(),
    }
}

async fn last_call(state: &Arc<AppState>, client: &ClientId) -> Result<Option<Timestamp>, UserError> {
    let filter = CallFilter { client: Some(client.clone()), limit: Some(1), ..CallFilter::default() };
    let calls = state.with_store(move |store| store.activity().list(&filter)).await?;
    Ok(calls.first().map(|call| call.at))
}

/// Fails if an application isn't connected.
pub(super) async fn ensure_connected(state: &Arc<AppState>, app: App) -> Result<(), UserError> {
    if load(state).await?.apps.contains_key(&app) { Ok(()) } else { Err(not_connected(app)) }
}

fn not_connected(app: App) -> UserError {
    let what = message!("error.connect.notConnected", app = app.display_name());
    UserError::new(ErrorCode::NotFound, what)
}

/// Changes what is stored. A list that can't be verified begins anew: only the operator makes connections.
async fn change(
    state: &Arc<AppState>,
    change: impl FnOnce(&mut StoredConnections) + Send + 'static,
) -> Result<(), UserError> {
    state
        .with_store(move |store| {
            let mut stored = store.connections().load().ok().flatten().unwrap_or_default();
            change(&mut stored);
            store.connections().overwrite(&stored)
        })
        .await
}

/// Forgets a connection, with the copies of its files.
async fn forget(state: &Arc<AppState>, app: App) -> Result<(), UserError> {
    let backups = backups(state);
    state
        .with_store(move |store| {
            let mut stored = store.connections().load()?.unwrap_or_default();
            let gone = stored.apps.remove(&app);
            store.connections().save(&stored)?;
            let copies = gone.into_iter().flat_map(|gone| gone.files).filter_map(|file| file.backup);
            for copy in copies {
                if let Err(error) = std::fs::remove_file(backups.join(&copy.name)) {
                    tracing::warn!(%error, "a copy of a settings file could not be removed");
                }
            }
            Ok(())
        })
        .await
}

fn backups(state: &AppState) -> PathBuf {
    state.data_dir.join(BACKUPS)
}
