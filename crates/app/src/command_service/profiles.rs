//! Profiles of clients (GATE-4) as commands. Servers are named by id or name in commands and stored by id.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use gatehouse_model::command::{ProfilesAdd, ProfilesSet, Removal};
use gatehouse_model::profile::ProfileServer;
use gatehouse_model::{ErrorCode, Profile, ProfileSettings, ProfileView, ServerId, UserError, message};

use super::{AppState, lookup, project_servers};
use crate::disk_work::on_disk;
use crate::removals::{RemovedItem, RemovedProfile};
use crate::server_configs::removals;

pub(super) async fn list(state: &Arc<AppState>) -> Result<Vec<ProfileView>, UserError> {
    state.tools.refresh().await;
    let stored = state.tools.profiles().stored();
    Ok(stored.profiles.into_iter().map(|profile| view(state, profile)).collect())
}

pub(super) async fn add(state: &Arc<AppState>, wanted: ProfilesAdd) -> Result<ProfileView, UserError> {
    let settings = resolve(state, wanted.settings, None).await?;
    let profile = state.tools.add_profile(settings).await?;
    Ok(view(state, profile))
}

pub(super) async fn set(state: &Arc<AppState>, wanted: ProfilesSet) -> Result<ProfileView, UserError> {
    let before = state.tools.profiles().get(&wanted.profile)?;
    let settings = resolve(state, wanted.settings, Some(&before)).await?;
    let profile = state.tools.set_profile(before.id.as_str(), settings).await?;
    Ok(view(state, profile))
}

pub(super) async fn remove(state: &Arc<AppState>, profile: &str) -> Result<Option<Removal>, UserError> {
    let gone = state.tools.profiles().get(profile)?;
    state.tools.remove_profile(gone.id.as_str()).await?;
    let mut removed = RemovedProfile { profile: gone, entries: Vec::new(), servers: Vec::new() };
    if let Err(error) = project_servers::remove_of(state, &mut removed).await {
        removals::complete(state, &removed.servers).await;
        return Err(error);
    }
    Ok(removals::keep(state, RemovedItem::Profile(Box::new(removed))).await)
}

/// The settings with ids of servers and real folders. What `before`, the profile that they are for, has of either may be
/// gone.
pub(super) async fn resolve(
    state: &AppState,
    settings: ProfileSettings,
    before: Option<&Profile>,
) -> Result<ProfileSettings, UserError> {
    let before = before.map(|before| before.settings.clone()).unwrap_or_default();
    let known = before.servers.into_iter().map(|shown| shown.server).collect();
    let settings = with_server_ids(state, settings, &known)?;
    with_real_folders(settings, before.folders).await
}

/// The settings with the ids of the servers that they name. A server that is gone is left out if it is one of `known`.
fn with_server_ids(
    state: &AppState,
    settings: ProfileSettings,
    known: &HashSet<ServerId>,
) -> Result<ProfileSettings, UserError> {
    let mut servers = Vec::with_capacity(settings.servers.len());
    for ProfileServer { server, tools } in settings.servers {
        match lookup::find(state, server.as_str()) {
            Ok(config) => servers.push(ProfileServer { server: config.id.clone(), tools }),
            Err(_) if known.contains(&server) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(ProfileSettings { servers, ..settings })
}

/// The settings with their folders as absolute paths without links, each once. Those in `known` may be gone.
async fn with_real_folders(
    settings: ProfileSettings,
    known: Vec<String>,
) -> Result<ProfileSettings, UserError> {
    if settings.folders.is_empty() {
        return Ok(settings);
    }
    let wanted = settings.folders.clone();
    let found = tokio::task::spawn_blocking(move || {
        let mut found: Vec<String> = Vec::with_capacity(wanted.len());
        for folder in wanted {
            let folder = if known.contains(&folder) { folder } else { real_folder(&folder)? };
            if !found.contains(&folder) {
                found.push(folder);
            }
        }
        Ok(found)
    });
    let folders = found.await.unwrap_or_else(|error| {
        Err(UserError::new(ErrorCode::Internal, message!("error.app.diskWorkEnded"))
            .with_cause(format!("{error}.")))
    })?;
    Ok(ProfileSettings { folders, ..settings })
}

/// The same for settings of another computer. A folder that is not here stays as it is: without it, a strict profile would
/// show its servers everywhere.
pub(super) async fn with_imported_folders(settings: ProfileSettings) -> Result<ProfileSettings, UserError> {
    let folders = settings.folders.clone();
    let is_absent = |folder: &String| Path::new(folder).is_absolute() && !Path::new(folder).exists();
    let absent = on_disk(move || folders.into_iter().filter(is_absent).collect::<Vec<_>>()).await?;
    with_real_folders(settings, absent).await
}

/// An existing folder as an absolute path without links. Blocks.
fn real_folder(folder: &str) -> Result<String, UserError> {
    let bad = || {
        UserError::new(ErrorCode::BadRequest, message!("error.app.badProjectFolder", folder = folder))
            .with_hint(message!("error.app.badProjectFolderHint"))
    };
    // A relative path would be one below the folder that Gatehouse was started in.
    if !Path::new(folder).is_absolute() {
        return Err(bad());
    }
    let real = std::fs::canonicalize(folder).map_err(|error| bad().with_cause(format!("{error}.")))?;
    if !real.is_dir() {
        return Err(bad());
    }
    real.into_os_string().into_string().map_err(|_| bad())
}

fn view(state: &AppState, profile: Profile) -> ProfileView {
    let assigned = state.tools.profiles().stored().assigned;
    let clients = assigned.into_iter().filter(|(_, used)| *used == profile.id).map(|(client, _)| client);
    ProfileView { clients: clients.collect(), tool_list: state.tools.profile_cost(&profile.id), profile }
}
