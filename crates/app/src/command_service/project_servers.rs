//! Servers that projects ask for in `.mcp.json` (GATE-4): each is added only after the user agreed to exactly what the file
//! says, and only for the profile of the project's folder. A changed entry is asked about again; until then the server stays
//! as it was agreed. An entry that is gone hides its server. A strict profile shows its own servers and no others, so its
//! projects are not read.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gatehouse_integrations::import::project_entry;
use gatehouse_model::approval::{ApprovalAnswer, ApprovalRequest};
use gatehouse_model::event::ConfigCause;
use gatehouse_model::profile::{OtherServers, ProjectEntry, ProjectFileReport};
use gatehouse_model::record::AuditEvent;
use gatehouse_model::server::ServerOrigin;
use gatehouse_model::{AskUser as _, ErrorCode, Profile, ServerConfig, UserError, message};
use gatehouse_store::{PROJECT_FILE, ProjectFile, ProjectServerEntry, project_change, read_project_file};

use super::free_name::free_name;
use super::{AppState, server_draft, servers};
use crate::app_folders;
use crate::disk_work::on_disk;
use crate::project_requests::ProjectRequest;
use crate::removals::RemovedProfile;
use crate::server_configs::secrets;

/// Reads the file of the project that a bridge works in, and asks about what is new in it. Doesn't wait for the user.
pub(super) fn follow(state: &Arc<AppState>, folder: &Path) {
    let Some((profile, project)) = state.tools.profiles().project_of(folder) else { return };
    if is_strict(&profile) {
        return;
    }
    let owned = Arc::clone(state);
    state.projects.spawn(async move {
        if let Err(error) = read(&owned, &profile, &project, false).await {
            tracing::warn!(%error, "the servers of a project were not read");
        }
    });
}

/// Reads the files of all folders of a profile, and asks about all servers that were not added, also those that the user
/// declined.
pub(super) async fn add(state: &Arc<AppState>, profile: &str) -> Result<Vec<ProjectFileReport>, UserError> {
    let profile = state.tools.profiles().get(profile)?;
    let name = &profile.settings.name;
    if is_strict(&profile) {
        let what = message!("error.app.strictIgnoresProjects", name = name);
        return Err(UserError::new(ErrorCode::Refused, what));
    }
    if profile.settings.folders.is_empty() {
        let what = message!("error.app.noProjectFolders", name = name);
        return Err(UserError::new(ErrorCode::BadRequest, what));
    }
    let mut reports = Vec::new();
    for folder in &profile.settings.folders {
        reports.push(read(state, &profile, Path::new(folder), true).await?);
    }
    Ok(reports)
}

/// Removes the servers of a profile's projects, after the profile was removed: nobody sees them any more. What was removed
/// is added to `removed`.
pub(super) async fn remove_of(state: &Arc<AppState>, removed: &mut RemovedProfile) -> Result<(), UserError> {
    let profile = removed.profile.id.clone();
    removed.entries = state.tools.profiles().stored().project_entries;
    removed.entries.retain(|entry| entry.profile == profile);
    for server in removed.entries.iter().filter_map(|entry| entry.server.as_ref()) {
        let exists = state.configs.lock().await.iter().any(|config| config.id == *server);
        if exists {
            removed.servers.push(servers::take_out(state, server.as_str()).await?);
        }
    }
    let forget = |entries: &mut Vec<ProjectEntry>| entries.retain(|entry| entry.profile != profile);
    state.tools.profiles().change_project_entries(Vec::new(), forget).await
}

fn is_strict(profile: &Profile) -> bool {
    profile.settings.other_servers == OtherServers::Hidden
}

/// Compares a project's file with what the user answered before, and asks about the rest.
async fn read(
    state: &Arc<AppState>,
    profile: &Profile,
    folder: &Path,
    asks_again: bool,
) -> Result<ProjectFileReport, UserError> {
    let project = Project { profile, folder, shown: folder.to_string_lossy().into_owned() };
    let mut report = ProjectFileReport {
        file: folder.join(PROJECT_FILE).display().to_string(),
        asked: Vec::new(),
        problems: Vec::new(),
    };
    let path = folder.to_owned();
    let folders = app_folders::base_folders()?;
    let read = on_disk(move || read_project_file(&path, &|name, entry| project_entry(name, entry, &folders)));
    let read = read.await.flatten();
    match read {
        Ok(file) => project.compare(state, file, asks_again, &mut report).await?,
        // What was agreed stays as it is.
        Err(problem) => report.problems.push(problem),
    }
    let is_changed = {
        let mut known = state.known_problems.lock();
        let before = known.projects.remove(&project.shown).unwrap_or_default();
        if !report.problems.is_empty() {
            known.projects.insert(project.shown.clone(), report.problems.clone());
        }
        before != report.problems
    };
    if is_changed {
        state.config_changed(ConfigCause::File, None);
    }
    Ok(report)
}

/// A project folder of a profile.
struct Project<'a> {
    profile: &'a Profile,
    folder: &'a Path,
    /// The folder as text.
    shown: String,
}

impl Project<'_> {
    async fn compare(
        &self,
        state: &Arc<AppState>,
        file: ProjectFile,
        asks_again: bool,
        report: &mut ProjectFileReport,
    ) -> Result<(), UserError> {
        let ProjectFile { names, entries, problems } = file;
        report.problems.extend(problems);
        let names: HashSet<String> = names.into_iter().collect();
        let mark = |known: &mut Vec<ProjectEntry>| {
            for entry in known.iter_mut().filter(|entry| entry.folder == self.shown) {
                entry.is_listed = names.contains(&entry.name);
            }
        };
        state.tools.profiles().change_project_entries(Vec::new(), mark).await?;
        state.projects.withdraw_others(&self.shown, |request| {
            entries.iter().any(|entry| entry.draft.name == request.name && entry.digest == request.digest)
        });
        let known = state.tools.profiles().stored().project_entries;
        let configs = state.configs.lock().await.clone();
        for entry in entries {
            let name = entry.draft.name.clone();
            let own: Vec<&ProjectEntry> =
                known.iter().filter(|answered| self.is_answer(answered, &name)).collect();
            let server_of = |answered: &ProjectEntry| {
                configs.iter().find(|config| Some(&config.id) == answered.server.as_ref())
            };
            let same = own.iter().find(|answered| answered.digest == entry.digest);
            let is_settled = same.is_some_and(|answered| !asks_again || server_of(answered).is_some());
            if is_settled {
                continue;
            }
            let before = own.iter().find_map(|answered| server_of(answered)).cloned();
            match self.ask(state, entry, before, &configs).await {
                Ok(()) => report.asked.push(name),
                Err(problem) => report.problems.push(problem),
            }
        }
        Ok(())
    }

    /// Whether this was answered about the entry of this name.
    fn is_answer(&self, answered: &ProjectEntry, name: &str) -> bool {
        answered.profile == self.profile.id && answered.folder == self.shown && answered.name == name
    }

    /// Asks the user, unless that is asked already. `before` is the server that was made of an earlier entry.
    async fn ask(
        &self,
        state: &Arc<AppState>,
        entry: ProjectServerEntry,
        before: Option<ServerConfig>,
        configs: &[ServerConfig],
    ) -> Result<(), UserError> {
        let ProjectServerEntry { digest, mut draft } = entry;
        let name = draft.name.clone();
        draft.name = match &before {
            Some(before) => before.name.clone(),
            None => name_in_project(&name, self.folder, configs),
        };
        server_draft::check(&draft, before.as_ref().map(|before| &before.id), configs).await?;
        let after = match &before {
            None => ServerConfig::from_draft(servers::new_id()?, draft),
            Some(before) => ServerConfig { enabled: before.enabled, ..before.with_draft(draft) },
        };
        let after = ServerConfig { origin: ServerOrigin::Project, ..after };
        let request =
            ProjectRequest { folder: self.shown.clone(), name: name.clone(), digest: digest.clone() };
        let Some(pending) = state.projects.add(request) else { return Ok(()) };
        let request = project_change(self.folder, &self.profile.settings.name, before.as_ref(), &after);
        let agreed = ProjectEntry {
            profile: self.profile.id.clone(),
            folder: self.shown.clone(),
            name,
            digest,
            server: Some(after.id.clone()),
            is_listed: true,
        };
        let proposal = Proposal { file: request.file.clone(), entry: agreed, before, after };
        let owned = Arc::clone(state);
        state.projects.spawn(async move {
            let asked = owned.tools.approvals().ask(ApprovalRequest::ConfigChange(request));
            let answer = tokio::select! {
                () = pending.withdrawn.cancelled() => return,
                answer = asked => answer,
            };
            if let Err(error) = proposal.settle(&owned, &answer).await {
                tracing::error!(%error, "a server of a project was not added");
                let mut known = owned.known_problems.lock();
                known.projects.entry(proposal.entry.folder.clone()).or_default().push(error);
            }
        });
        Ok(())
    }
}

/// A server that the user is asked about.
struct Proposal {
    file: String,
    /// What is recorded if the user agrees.
    entry: ProjectEntry,
    before: Option<ServerConfig>,
    after: ServerConfig,
}

impl Proposal {
    async fn settle(&self, state: &Arc<AppState>, answer: &ApprovalAnswer) -> Result<(), UserError> {
        let confirmed = match answer {
            ApprovalAnswer::Accept { .. } | ApprovalAnswer::Allow { .. } => true,
            ApprovalAnswer::Decline | ApprovalAnswer::Deny { .. } => false,
            ApprovalAnswer::Cancel => return Ok(()),
        };
        let event =
            AuditEvent::HandEdit { file: self.file.clone(), server: self.after.name.clone(), confirmed };
        let profiles = state.tools.profiles();
        let entry = &self.entry;
        let is_same = |known: &ProjectEntry| {
            known.profile == entry.profile && known.folder == entry.folder && known.name == entry.name
        };
        if !confirmed {
            let declined = ProjectEntry { server: None, ..entry.clone() };
            let change = |known: &mut Vec<ProjectEntry>| {
                known.retain(|known| !(is_same(known) && known.server.is_none()));
                known.push(declined);
            };
            return profiles.change_project_entries(vec![event], change).await;
        }
        let mut configs = state.configs.lock().await;
        let has_project = |(profile, folder): (Profile, PathBuf)| {
            profile.id == entry.profile && folder == Path::new(&entry.folder) && !is_strict(&profile)
        };
        let is_current = profiles.project_of(Path::new(&entry.folder)).is_some_and(has_project);
        let now = configs.iter().find(|config| config.id == self.after.id);
        if !is_current || now != self.before.as_ref() {
            let what = message!("error.app.projectServerChanged", server = &self.after.name);
            return Err(UserError::new(ErrorCode::StaleAnswer, what));
        }
        server_draft::check_name(&self.after.name, Some(&self.after.id), &configs)?;
        servers::check_admin_policy(state, &self.after).await?;
        // Before there is a server, so that nobody outside of the project ever sees it.
        let change = |known: &mut Vec<ProjectEntry>| {
            known.retain(|known| !is_same(known));
            known.push(entry.clone());
        };
        profiles.change_project_entries(vec![event], change).await?;
        let cause = match &self.before {
            Some(before) => {
                if before.generation != self.after.generation {
                    state.sign_ins.forget(before).await;
                    secrets::forget(state, before).await;
                }
                ConfigCause::Edited
            }
            None => ConfigCause::Added,
        };
        let put = servers::put(state, &mut configs, self.after.clone(), cause).await;
        if put.is_err() && self.before.is_none() {
            let forget = |known: &mut Vec<ProjectEntry>| known.retain(|known| !is_same(known));
            profiles.change_project_entries(Vec::new(), forget).await?;
        }
        put
    }
}

/// The name in the file, with that of the project if another server has it.
fn name_in_project(name: &str, folder: &Path, configs: &[ServerConfig]) -> String {
    let is_free = |name: &str| server_draft::check_name(name, None, configs).is_ok();
    if is_free(name) {
        return name.to_owned();
    }
    let project = folder.file_name().unwrap_or_default().to_string_lossy();
    free_name(&format!("{name} ({project})"), is_free)
}
