//! The only owner of the profiles and of who uses them. Both are sealed as one record, so a profile and its clients never
//! disagree. A change is written first (the audit entry, then the record) and takes effect after that; each is an order
//! of the operator. If the record can't be verified, no client sees anything. That includes a secret store that is locked
//! while there is no record: whether there was one is known only once it is open.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use gatehouse_common::display_name;
use gatehouse_model::profile::{MAX_CALLS_PER_MINUTE, MAX_FOLDERS, ProjectEntry, StoredProfiles};
use gatehouse_model::server::ServerOrigin;
use gatehouse_model::{
    AuditEvent, ClientEntry, ClientId, ErrorCode, Event, EventSink, Profile, ProfileId, ProfileSettings,
    ServerId, ToolNaming, UserError, message,
};
use gatehouse_store::{SealError, Store};
use tokio::sync::watch;

use super::active_profile::ActiveProfile;
use super::effective_profile::{EffectiveProfile, ProjectServers};
use crate::call_types::viewer::{Narrowing, ToolChoice, Viewer};
use crate::ids::IdGenerator;

/// The profiles. Cheap to clone.
#[derive(Clone)]
pub struct ProfileStore {
    state: Arc<ProfileState>,
}

impl fmt::Debug for ProfileStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProfileStore")
            .field("profiles", &self.state.current.load().active.len())
            .finish_non_exhaustive()
    }
}

struct ProfileState {
    store: Arc<Store>,
    events: Arc<dyn EventSink>,
    current: ArcSwap<CurrentProfiles>,
    /// Shown to clients instead of a profile that can't be known.
    empty: Arc<ActiveProfile>,
    writer: tokio::sync::Mutex<()>,
    changes: watch::Sender<u64>,
    ids: IdGenerator,
}

/// Dependencies of the store.
pub(crate) struct ProfileStoreDeps {
    pub(crate) store: Arc<Store>,
    pub(crate) events: Arc<dyn EventSink>,
}

/// The profiles in force.
#[derive(Default)]
struct CurrentProfiles {
    stored: StoredProfiles,
    active: HashMap<ProfileId, Arc<ActiveProfile>>,
    project_servers: Arc<ProjectServers>,
    /// The number of the last change.
    revision: u64,
    /// Why the stored record was rejected, if it was.
    rejected: Option<SealError>,
}

impl CurrentProfiles {
    /// The profiles after a change. What didn't change keeps its revision.
    fn next(&self, stored: StoredProfiles) -> Self {
        let revision = self.revision.wrapping_add(1);
        let active = stored.profiles.iter().map(|profile| {
            let same = self.active.get(&profile.id).filter(|known| known.profile == *profile);
            let known = same.cloned();
            (
                profile.id.clone(),
                known.unwrap_or_else(|| Arc::new(ActiveProfile::new(profile.clone(), revision))),
            )
        });
        let active: HashMap<ProfileId, Arc<ActiveProfile>> = active.collect();
        Self {
            project_servers: project_servers(&stored, &active, revision),
            active,
            stored,
            revision,
            rejected: None,
        }
    }

    /// The profile of a folder: that of the deepest of all project folders around it.
    fn of_folder(&self, folder: &Path) -> Option<&Arc<ActiveProfile>> {
        let depth =
            |profile: &ActiveProfile| profile.folder_around(folder).map(|around| around.components().count());
        self.active.values().filter(|profile| depth(profile).is_some()).max_by_key(|profile| depth(profile))
    }

    fn loaded(store: &Store) -> Self {
        match store.profiles().load() {
            Ok(stored) => Self::default().next(stored.unwrap_or_default()),
            Err(error) => {
                tracing::warn!(%error, "the profiles can't be verified, so no client sees any server");
                Self { rejected: Some(error), ..Self::default() }
            }
        }
    }

    /// Whether the record was rejected only because it couldn't be read, so that it may be intact.
    fn may_be_intact(&self) -> bool {
        matches!(self.rejected, Some(SealError::Locked { .. } | SealError::Unreadable { .. }))
    }

    fn find(&self, wanted: &str) -> Result<&Profile, UserError> {
        let all = &self.stored.profiles;
        let by_id = all.iter().find(|profile| profile.id.as_str() == wanted);
        by_id
            .or_else(|| all.iter().find(|profile| display_name::is_same(&profile.settings.name, wanted)))
            .ok_or_else(|| {
                UserError::new(ErrorCode::NotFound, message!("error.tools.noProfile", name = wanted))
                    .with_hint(message!("error.tools.noProfileHint"))
            })
    }
}

impl ProfileStore {
    /// Loads the profiles. Doesn't fail: if they can't be verified, no client sees anything.
    pub(crate) async fn open(deps: ProfileStoreDeps) -> Self {
        let store = Arc::clone(&deps.store);
        let loaded = tokio::task::spawn_blocking(move || CurrentProfiles::loaded(&store)).await;
        let current = loaded.unwrap_or_else(|error| {
            tracing::error!(%error, "reading the profiles failed");
            CurrentProfiles {
                rejected: Some(SealError::Unreadable {
                    record: "profiles".to_owned(),
                    cause: error.to_string(),
                }),
                ..CurrentProfiles::default()
            }
        });
        let state = ProfileState {
            store: deps.store,
            events: deps.events,
            current: ArcSwap::from_pointee(current),
            empty: Arc::new(ActiveProfile::empty()),
            writer: tokio::sync::Mutex::new(()),
            changes: watch::Sender::default(),
            ids: IdGenerator::new(),
        };
        Self { state: Arc::new(state) }
    }

    /// The profiles that apply to a viewer now. One that can't be known shows nothing.
    pub(crate) fn of(&self, viewer: &Viewer) -> EffectiveProfile {
        let current = self.state.current.load();
        let mut effective = EffectiveProfile::new(Arc::clone(&current.project_servers));
        if current.rejected.is_some() {
            effective.add(&self.state.empty);
            return effective;
        }
        let known = |id: &ProfileId| current.active.get(id).unwrap_or(&self.state.empty);
        let Viewer { client, narrowing } = viewer;
        if let Some(own) = current.stored.assigned.get(client).map(known) {
            effective.add(own);
            let is_there = narrowing.folder.as_deref().is_some_and(|at| own.folder_around(at).is_some());
            if own.profile.settings.is_only_for_folders() && !is_there {
                effective.hide_everything();
            }
        }
        if let Some(profile) = narrowing.folder.as_deref().and_then(|folder| current.of_folder(folder)) {
            effective.add(profile);
        }
        for profile in narrowing.roots.iter().filter_map(|root| current.of_folder(root)) {
            effective.add_claimed(profile);
        }
        if let Some(chosen) = narrowing.profile.as_ref().map(known) {
            effective.add(chosen);
        }
        if narrowing.choice != ToolChoice::default() {
            effective.add(&Arc::new(ActiveProfile::of_choice(&narrowing.choice)));
        }
        effective
    }

    /// A client as it sees the catalog where its profile counts: in the first of the profile's folders, if it shows nothing
    /// elsewhere.
    pub(crate) fn at_home(&self, client: &ClientId) -> Viewer {
        let current = self.state.current.load();
        let own = current.stored.assigned.get(client).and_then(|id| current.active.get(id));
        let settings = own.map(|own| &own.profile.settings).filter(|settings| settings.is_only_for_folders());
        let folder = settings.and_then(|settings| settings.folders.first());
        let narrowing =
            Narrowing { folder: folder.map(|folder| Path::new(folder).into()), ..Narrowing::default() };
        Viewer { client: client.clone(), narrowing }
    }

    /// The profiles that apply where only this one is used.
    pub(crate) fn only(&self, id: &ProfileId) -> Option<EffectiveProfile> {
        let current = self.state.current.load();
        let mut effective = EffectiveProfile::new(Arc::clone(&current.project_servers));
        effective.add(current.active.get(id)?);
        Some(effective)
    }

    /// The id of the profile that a bridge is started with.
    ///
    /// # Errors
    /// When there is no such profile, or the profiles can't be verified.
    pub fn chosen(&self, wanted: &str) -> Result<ProfileId, UserError> {
        self.problem().map_or_else(|| self.get(wanted).map(|profile| profile.id), Err)
    }

    /// The profile of a folder, with the deepest project folder around it.
    #[must_use]
    pub fn project_of(&self, folder: &Path) -> Option<(Profile, PathBuf)> {
        let current = self.state.current.load();
        let active = current.of_folder(folder)?;
        Some((active.profile.clone(), active.folder_around(folder)?.to_owned()))
    }

    /// Records what the user answered about servers of projects, and which of them their files still have.
    ///
    /// # Errors
    /// When the profiles can't be verified, or the change can't be stored.
    pub async fn change_project_entries(
        &self,
        events: Vec<AuditEvent>,
        change: impl FnOnce(&mut Vec<ProjectEntry>) + Send,
    ) -> Result<(), UserError> {
        let _writing = self.state.writer.lock().await;
        if let Some(error) = self.problem() {
            return Err(error);
        }
        let before = self.stored();
        let mut stored = before.clone();
        change(&mut stored.project_entries);
        if stored == before && events.is_empty() {
            return Ok(());
        }
        self.write(stored, events).await
    }

    /// Whether any profile has folders, so that it matters where a client works.
    #[must_use]
    pub fn has_folders(&self) -> bool {
        self.state.current.load().stored.profiles.iter().any(|profile| !profile.settings.folders.is_empty())
    }

    /// All profiles, and who uses them.
    #[must_use]
    pub fn stored(&self) -> StoredProfiles {
        self.state.current.load().stored.clone()
    }

    /// The error for the user if the stored profiles were rejected.
    #[must_use]
    pub fn problem(&self) -> Option<UserError> {
        self.state.current.load().rejected.as_ref().map(rejected)
    }

    /// Changes whenever a client may see something else than before because of a profile.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.state.changes.subscribe()
    }

    /// Announces that what a profile hides may have changed with the permissions.
    pub(crate) fn announce(&self) {
        self.state.changes.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// The naming modes of all profiles.
    pub(crate) fn modes(&self) -> HashSet<ToolNaming> {
        let current = self.state.current.load();
        current.stored.profiles.iter().filter_map(|profile| profile.settings.naming).collect()
    }

    /// Adds a profile. If the stored profiles were rejected, it is the first of a new list, and every client gets it:
    /// which profile each had isn't known, and none may see more because of that.
    pub(crate) async fn add(&self, settings: ProfileSettings) -> Result<Profile, UserError> {
        let _writing = self.state.writer.lock().await;
        self.retry_locked().await?;
        let mut stored = self.stored();
        let settings = validate(settings, &stored, None)?;
        let profile = Profile { id: ProfileId::from_random(self.state.ids.next()), settings };
        stored.profiles.push(profile.clone());
        let mut events = vec![changed(&profile)];
        if self.state.current.load().rejected.is_some() {
            for client in self.known_clients().await? {
                let name = Some(profile.settings.name.clone());
                events.push(AuditEvent::ProfileAssigned { client: client.clone(), profile: name });
                stored.assigned.insert(client, profile.id.clone());
            }
            stored.project_entries = self.lost_project_servers().await?;
        }
        self.write(stored, events).await?;
        Ok(profile)
    }

    /// Checks settings that are to be set one after the other, each for the profile of this id, or for a new one. Nothing
    /// changes.
    ///
    /// # Errors
    /// The first thing that is wrong with them, or that the stored profiles can't be verified.
    pub fn check(
        &self,
        changes: impl IntoIterator<Item = (Option<ProfileId>, ProfileSettings)>,
    ) -> Result<(), UserError> {
        if let Some(error) = self.problem() {
            return Err(error);
        }
        let mut stored = self.stored();
        for (own, settings) in changes {
            let settings = validate(settings, &stored, own.as_ref())?;
            match stored.profiles.iter_mut().find(|known| Some(&known.id) == own.as_ref()) {
                Some(known) => known.settings = settings,
                None => {
                    let id = ProfileId::from_random(self.state.ids.next());
                    stored.profiles.push(Profile { id, settings });
                }
            }
        }
        Ok(())
    }

    /// The clients that may connect.
    async fn known_clients(&self) -> Result<Vec<ClientId>, UserError> {
        let store = Arc::clone(&self.state.store);
        blocking(move || {
            let clients = store.clients().load()?.unwrap_or_default();
            Ok(clients.into_iter().map(|client| client.id).collect())
        })
        .await
    }

    /// Entries for the servers of projects whose profiles aren't known any more, so that nobody sees them. Without these
    /// they would be servers like any other.
    async fn lost_project_servers(&self) -> Result<Vec<ProjectEntry>, UserError> {
        let store = Arc::clone(&self.state.store);
        blocking(move || {
            let servers = match store.servers().confirmed() {
                Ok(servers) => servers.unwrap_or_default(),
                Err(error @ (SealError::Locked { .. } | SealError::Unreadable { .. })) => {
                    return Err(error.into());
                }
                Err(
                    SealError::MissingKey { .. }
                    | SealError::BadMac { .. }
                    | SealError::OldCopy { .. }
                    | SealError::Gone { .. },
                ) => Vec::new(),
            };
            let of_projects = servers.into_iter().filter(|server| server.origin == ServerOrigin::Project);
            let lost = of_projects.map(|server| ProjectEntry {
                profile: ActiveProfile::empty().profile.id,
                folder: String::new(),
                name: server.name,
                digest: String::new(),
                server: Some(server.id),
                is_listed: false,
            });
            Ok(lost.collect())
        })
        .await
    }

    /// Changes a profile (id or name).
    pub(crate) async fn set(&self, wanted: &str, settings: ProfileSettings) -> Result<Profile, UserError> {
        let _writing = self.state.writer.lock().await;
        let id = self.get(wanted)?.id;
        let mut stored = self.stored();
        let settings = validate(settings, &stored, Some(&id))?;
        let profile = Profile { id, settings };
        for known in stored.profiles.iter_mut().filter(|known| known.id == profile.id) {
            *known = profile.clone();
        }
        self.write(stored, vec![changed(&profile)]).await?;
        Ok(profile)
    }

    /// Removes a profile (id or name) that no client uses.
    pub(crate) async fn remove(&self, wanted: &str) -> Result<(), UserError> {
        let _writing = self.state.writer.lock().await;
        let gone = self.get(wanted)?;
        let mut stored = self.stored();
        if stored.assigned.values().any(|used| *used == gone.id) {
            let what = message!("error.tools.profileInUse", name = &gone.settings.name);
            return Err(
                UserError::new(ErrorCode::Refused, what).with_hint(message!("error.tools.profileInUseHint"))
            );
        }
        stored.profiles.retain(|known| known.id != gone.id);
        let event = AuditEvent::ProfileChanged { profile: gone.id, name: gone.settings.name, now: None };
        self.write(stored, vec![event]).await
    }

    /// Adds a profile again that was removed, under the id that it had, with what was answered about its projects.
    pub(crate) async fn restore(
        &self,
        profile: Profile,
        entries: Vec<ProjectEntry>,
    ) -> Result<(), UserError> {
        let _writing = self.state.writer.lock().await;
        if let Some(error) = self.problem() {
            return Err(error);
        }
        let mut stored = self.stored();
        let profile = Profile { settings: validate(profile.settings, &stored, None)?, id: profile.id };
        let event = changed(&profile);
        stored.profiles.push(profile);
        stored.project_entries.extend(entries);
        self.write(stored, vec![event]).await
    }

    /// Gives a client a profile (id or name), or takes its profile away.
    pub(crate) async fn assign(&self, client: &ClientEntry, wanted: Option<&str>) -> Result<(), UserError> {
        let _writing = self.state.writer.lock().await;
        // Without this, a list that could not be verified would be replaced by one without any profile.
        if let Some(error) = self.problem() {
            return Err(error);
        }
        let profile = wanted.map(|wanted| self.get(wanted)).transpose()?;
        let mut stored = self.stored();
        match &profile {
            Some(profile) => stored.assigned.insert(client.id.clone(), profile.id.clone()),
            None => stored.assigned.remove(&client.id),
        };
        let profile = profile.map(|profile| profile.settings.name);
        self.write(stored, vec![AuditEvent::ProfileAssigned { client: client.id.clone(), profile }]).await
    }

    /// Drops what is stored of a client that was revoked.
    pub(crate) async fn client_removed(&self, client: &ClientId) -> Result<(), UserError> {
        let _writing = self.state.writer.lock().await;
        let mut stored = self.stored();
        if stored.assigned.remove(client).is_none() {
            return Ok(());
        }
        self.write(stored, vec![AuditEvent::ProfileAssigned { client: client.clone(), profile: None }]).await
    }

    /// A profile by its id or name.
    pub fn get(&self, wanted: &str) -> Result<Profile, UserError> {
        self.state.current.load().find(wanted).cloned()
    }

    /// Tries again to load a record that couldn't be read at the start. Returns whether that succeeded now.
    pub(crate) async fn recheck(&self) -> bool {
        if !self.state.current.load().may_be_intact() {
            return false;
        }
        // Whoever holds it has the record loaded or is about to; a secret store may take its time.
        let Ok(_writing) = self.state.writer.try_lock() else { return false };
        if let Err(error) = self.retry_locked().await {
            tracing::debug!(%error, "the profiles still can't be read");
        }
        self.state.current.load().rejected.is_none()
    }

    /// A record that couldn't be verified because the secret store was locked or unreadable may be intact. It is loaded
    /// again before anything overwrites it.
    async fn retry_locked(&self) -> Result<(), UserError> {
        if !self.state.current.load().may_be_intact() {
            return Ok(());
        }
        let store = Arc::clone(&self.state.store);
        let loaded = blocking(move || Ok(CurrentProfiles::loaded(&store))).await?;
        let still_locked = loaded.may_be_intact();
        self.state.current.store(Arc::new(loaded));
        if still_locked {
            return self.problem().map_or(Ok(()), Err);
        }
        self.announce();
        Ok(())
    }

    /// Persists a change and puts it in force.
    async fn write(&self, stored: StoredProfiles, events: Vec<AuditEvent>) -> Result<(), UserError> {
        let (store, sealed) = (Arc::clone(&self.state.store), stored.clone());
        blocking(move || {
            for event in events {
                store.audit().append(event)?;
            }
            // May replace a rejected record: each change of this one is an order of the operator.
            Ok(store.profiles().overwrite(&sealed)?)
        })
        .await?;
        let next = self.state.current.load().next(stored);
        self.state.current.store(Arc::new(next));
        self.announce();
        self.state.events.emit(Event::ProfilesChanged);
        Ok(())
    }
}

/// The servers of projects, each with the profile that it belongs to.
fn project_servers(
    stored: &StoredProfiles,
    active: &HashMap<ProfileId, Arc<ActiveProfile>>,
    revision: u64,
) -> Arc<ProjectServers> {
    let owned = stored.project_entries.iter().filter_map(|entry| {
        let has_project =
            |owner: &&Arc<ActiveProfile>| owner.profile.settings.folders.contains(&entry.folder);
        let owner = active.get(&entry.profile).filter(has_project).filter(|_| entry.is_listed).cloned();
        // Without its profile, the profile's folder or its entry, nobody sees it.
        Some((entry.server.clone()?, owner.unwrap_or_else(|| Arc::new(ActiveProfile::empty()))))
    });
    let owners: HashMap<ServerId, Arc<ActiveProfile>> = owned.collect();
    if owners.is_empty() { Arc::default() } else { Arc::new(ProjectServers { owners, revision }) }
}

fn changed(profile: &Profile) -> AuditEvent {
    AuditEvent::ProfileChanged {
        profile: profile.id.clone(),
        name: profile.settings.name.clone(),
        now: Some(Box::new(profile.settings.clone())),
    }
}

/// The settings with a valid name that no profile but `own` has, with each server at most once.
fn validate(
    settings: ProfileSettings,
    stored: &StoredProfiles,
    own: Option<&ProfileId>,
) -> Result<ProfileSettings, UserError> {
    let bad = |what| UserError::new(ErrorCode::BadRequest, what);
    let Some(name) = display_name::validate(&settings.name).map(str::to_owned) else {
        return Err(bad(message!("error.tools.badProfileName"))
            .with_cause(message!("error.tools.badProfileNameCause")));
    };
    let others = || stored.profiles.iter().filter(move |profile| Some(&profile.id) != own);
    if others().any(|other| display_name::is_taken_by(&name, &other.settings.name)) {
        return Err(UserError::new(
            ErrorCode::NameTaken,
            message!("error.tools.profileNameTaken", name = &name),
        ));
    }
    if settings.calls_per_minute.is_some_and(|limit| limit == 0 || limit > MAX_CALLS_PER_MINUTE) {
        return Err(bad(message!("error.tools.badRateLimit", most = MAX_CALLS_PER_MINUTE)));
    }
    let mut seen = HashSet::new();
    if !settings.servers.iter().all(|shown| seen.insert(&shown.server)) {
        return Err(bad(message!("error.tools.profileServerTwice")));
    }
    if settings.folders.len() > MAX_FOLDERS {
        return Err(bad(message!("error.tools.tooManyFolders", most = MAX_FOLDERS.to_string())));
    }
    let mut seen = HashSet::new();
    for folder in &settings.folders {
        if !Path::new(folder).is_absolute() || !seen.insert(folder) {
            return Err(bad(message!("error.tools.badProfileFolder", folder = folder)));
        }
        if let Some(other) = others().find(|other| other.settings.folders.contains(folder)) {
            let name = &other.settings.name;
            return Err(bad(message!("error.tools.profileFolderTaken", folder = folder, name = name)));
        }
    }
    Ok(ProfileSettings { name, ..settings })
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, UserError> + Send + 'static,
) -> Result<T, UserError> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| {
        Err(UserError::new(ErrorCode::Internal, message!("error.tools.profilesUnwritten"))
            .with_cause(format!("{error}.")))
    })
}

fn rejected(error: &SealError) -> UserError {
    let cause = UserError::from(error.clone());
    let hint = match error {
        SealError::Locked { .. } | SealError::Unreadable { .. } => {
            message!("error.tools.profilesUnreadableHint")
        }
        SealError::MissingKey { .. }
        | SealError::BadMac { .. }
        | SealError::OldCopy { .. }
        | SealError::Gone { .. } => message!("error.tools.profilesAgainHint"),
    };
    UserError::new(cause.code, message!("error.tools.profilesUnverified"))
        .with_cause(cause.message)
        .with_hint(hint)
}
