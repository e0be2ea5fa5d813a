//! What one viewer sees: that which all of its profiles show. The client's own comes first, then those that narrow it for
//! one connection. More profiles never show more, except the servers of a project: those exist only for its profile, and not
//! where only the client's word speaks for that.

use std::collections::HashMap;
use std::sync::Arc;

use gatehouse_model::profile::{DeniedTools, ToolListMode};
use gatehouse_model::{ClientId, ProfileId, ServerId, ToolNaming};

use super::active_profile::ActiveProfile;

/// The servers that exist only for one profile.
#[derive(Debug, Default)]
pub(crate) struct ProjectServers {
    /// Each with the profile that it belongs to.
    pub(crate) owners: HashMap<ServerId, Arc<ActiveProfile>>,
    /// Differs from that of every earlier state; 0 if there are none.
    pub(crate) revision: u64,
}

/// The profiles of one viewer, each once. Without any, everything is shown that belongs to no project.
#[derive(Clone, Debug, Default)]
pub(crate) struct EffectiveProfile {
    profiles: Vec<Arc<ActiveProfile>>,
    /// Those of the profiles that apply only by the client's word. The servers of their projects aren't shown for it.
    claimed: Vec<ProfileId>,
    project_servers: Arc<ProjectServers>,
    /// Whether the client's own profile, which is the first, shows nothing here.
    hides_everything: bool,
}

impl EffectiveProfile {
    pub(crate) fn new(project_servers: Arc<ProjectServers>) -> Self {
        Self { project_servers, ..Self::default() }
    }

    /// The client's own profile, which was added, shows nothing outside of its folders.
    pub(crate) fn hide_everything(&mut self) {
        self.hides_everything = true;
    }

    /// Narrows the view by one more profile.
    pub(crate) fn add(&mut self, profile: &Arc<ActiveProfile>) {
        let id = &profile.profile.id;
        self.claimed.retain(|claimed| claimed != id);
        if !self.applies(id) {
            self.profiles.push(Arc::clone(profile));
        }
    }

    /// As [`Self::add`], for a profile that applies only by the client's word.
    pub(crate) fn add_claimed(&mut self, profile: &Arc<ActiveProfile>) {
        let id = &profile.profile.id;
        if !self.applies(id) {
            self.profiles.push(Arc::clone(profile));
            self.claimed.push(id.clone());
        }
    }

    fn applies(&self, id: &ProfileId) -> bool {
        self.profiles.iter().any(|known| known.profile.id == *id)
    }

    /// The profile that doesn't show a server, if one doesn't.
    pub(crate) fn hiding_server(&self, server: &ServerId) -> Option<&Arc<ActiveProfile>> {
        if self.hides_everything {
            return self.profiles.first();
        }
        let exists_for = |owner: &ProfileId| self.applies(owner) && !self.claimed.contains(owner);
        let owner = self.project_servers.owners.get(server).filter(|owner| !exists_for(&owner.profile.id));
        owner.or_else(|| self.profiles.iter().find(|profile| !profile.shows_server(server)))
    }

    /// The profile that doesn't show a tool, by its name on the server, if one doesn't.
    pub(crate) fn hiding_tool(&self, server: &ServerId, tool: &str) -> Option<&Arc<ActiveProfile>> {
        let hides = |profile: &&Arc<ActiveProfile>| !profile.shows_tool(server, tool);
        self.hiding_server(server).or_else(|| self.profiles.iter().find(hides))
    }

    /// How tools and prompts are named: by the last profile that says it, which is the narrowest.
    pub(crate) fn naming(&self) -> Option<ToolNaming> {
        self.profiles.iter().rev().find_map(|profile| profile.profile.settings.naming)
    }

    /// Whether any of the profiles lists only the tools for searching.
    pub(crate) fn is_search(&self) -> bool {
        self.profiles.iter().any(|profile| profile.profile.settings.tool_list == ToolListMode::Search)
    }

    /// Whether any of the profiles hides denied tools.
    pub(crate) fn hides_denied(&self) -> bool {
        self.profiles.iter().any(|profile| profile.profile.settings.denied_tools == DeniedTools::Hidden)
    }

    /// The lowest limit of calls.
    pub(crate) fn calls_per_minute(&self) -> Option<u32> {
        self.profiles.iter().filter_map(|profile| profile.profile.settings.calls_per_minute).min()
    }

    /// The key of what is seen; `denied` is set if denied tools are hidden.
    pub(crate) fn view_key(&self, denied: Option<(ClientId, u64)>) -> CatalogViewKey {
        let profiles = self.profiles.iter().map(|profile| (profile.profile.id.clone(), profile.revision));
        CatalogViewKey {
            profiles: profiles.collect(),
            claimed: self.claimed.clone(),
            project_servers: self.project_servers.revision,
            hides_everything: self.hides_everything,
            denied,
        }
    }
}

/// Identifies what a viewer sees. Viewers with equal keys get the same lists of one version of the catalog.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct CatalogViewKey {
    /// The profiles with their revisions.
    profiles: Vec<(ProfileId, u64)>,
    /// Those of them that apply only by the client's word.
    claimed: Vec<ProfileId>,
    project_servers: u64,
    hides_everything: bool,
    /// Set if tools that are denied for this client are hidden: changes with the set of these.
    denied: Option<(ClientId, u64)>,
}

impl CatalogViewKey {
    /// Whether it is the key of every viewer without a profile.
    #[must_use]
    pub fn is_for_all(&self) -> bool {
        *self == Self { project_servers: self.project_servers, ..Self::default() }
    }

    /// Whether the other key is of the same profiles and client, perhaps at another time.
    #[must_use]
    pub fn is_same_view(&self, other: &Self) -> bool {
        let id = |denied: &Option<(ClientId, u64)>| denied.as_ref().map(|(client, _)| client.clone());
        let own = self.profiles.iter().map(|(profile, _)| profile);
        own.eq(other.profiles.iter().map(|(profile, _)| profile))
            && self.claimed == other.claimed
            && self.hides_everything == other.hides_everything
            && id(&self.denied) == id(&other.denied)
    }
}

#[cfg(test)]
mod tests {
    use gatehouse_model::profile::{OtherServers, ProfileServer, ToolSelection};
    use gatehouse_model::{Profile, ProfileSettings};

    use super::*;

    fn profile(id: &str, others: OtherServers, servers: &[(&str, ToolSelection)]) -> Arc<ActiveProfile> {
        let servers = servers
            .iter()
            .map(|(server, tools)| ProfileServer { server: ServerId::from(*server), tools: tools.clone() });
        let settings = ProfileSettings {
            name: id.to_owned(),
            servers: servers.collect(),
            other_servers: others,
            ..ProfileSettings::default()
        };
        Arc::new(ActiveProfile::new(Profile { id: id.into(), settings }, 1))
    }

    fn only(tool: &str) -> ToolSelection {
        ToolSelection::Only { tools: vec![tool.to_owned()] }
    }

    #[test]
    fn shows_what_all_profiles_show() {
        let own = profile("own", OtherServers::Shown, &[("a", only("read")), ("b", ToolSelection::Nothing)]);
        let folder =
            profile("folder", OtherServers::Hidden, &[("a", ToolSelection::All), ("b", ToolSelection::All)]);
        for order in [[&own, &folder], [&folder, &own]] {
            let mut both = EffectiveProfile::default();
            assert!(both.hiding_tool(&"c".into(), "x").is_none(), "without a profile");
            order.into_iter().for_each(|profile| both.add(profile));
            assert!(both.hiding_tool(&"a".into(), "read").is_none());
            for (server, tool) in [("a", "write"), ("b", "read"), ("c", "read")] {
                assert!(both.hiding_tool(&server.into(), tool).is_some(), "{server} {tool}");
            }
        }
    }

    #[test]
    fn a_project_server_exists_only_for_its_profile() {
        let project = profile("project", OtherServers::Shown, &[]);
        let strict = profile("strict", OtherServers::Hidden, &[]);
        let owners = HashMap::from([("s".into(), Arc::clone(&project))]);
        let servers = Arc::new(ProjectServers { owners, revision: 1 });
        let is_shown = |profiles: &[&Arc<ActiveProfile>]| {
            let mut effective = EffectiveProfile::new(Arc::clone(&servers));
            profiles.iter().for_each(|profile| effective.add(profile));
            effective.hiding_server(&"s".into()).is_none()
        };
        assert!(is_shown(&[&project]));
        assert!(!is_shown(&[]), "a client without a profile");
        assert!(!is_shown(&[&strict]));
        assert!(!is_shown(&[&strict, &project]), "the client's own profile hides it");
    }

    #[test]
    fn the_word_of_a_client_shows_no_project_server() {
        let project = profile("project", OtherServers::Shown, &[("a", ToolSelection::Nothing)]);
        let owners = HashMap::from([("s".into(), Arc::clone(&project))]);
        let servers = Arc::new(ProjectServers { owners, revision: 1 });
        let mut claimed = EffectiveProfile::new(Arc::clone(&servers));
        claimed.add_claimed(&project);
        assert!(claimed.hiding_server(&"s".into()).is_some());
        assert!(claimed.hiding_server(&"a".into()).is_some(), "it narrows all the same");
        let mut bound = EffectiveProfile::new(servers);
        bound.add(&project);
        bound.add_claimed(&project);
        assert!(bound.hiding_server(&"s".into()).is_none(), "said besides");
        assert_ne!(claimed.view_key(None), bound.view_key(None));
        claimed.add(&project);
        assert!(claimed.hiding_server(&"s".into()).is_none());
        assert_eq!(claimed.view_key(None), bound.view_key(None));
    }
}
