//! A profile prepared for look-up: which servers and tools it shows. Knows no client and no permissions.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use gatehouse_model::profile::{OtherServers, ProfileServer, ToolListMode, ToolSelection};
use gatehouse_model::{Profile, ProfileId, ProfileSettings, ServerId};

use crate::call_types::viewer::ToolChoice;

/// Name of what was chosen for a conversation, in records of calls of tools that it doesn't show.
const CHOICE_NAME: &str = "Conversation";

/// A profile in force.
#[derive(Debug)]
pub(crate) struct ActiveProfile {
    pub(crate) profile: Profile,
    /// Differs from that of every earlier state of the profile.
    pub(crate) revision: u64,
    servers: HashMap<ServerId, PreparedSelection>,
    folders: Vec<PathBuf>,
}

#[derive(Debug)]
enum PreparedSelection {
    All,
    Only(HashSet<Box<str>>),
    Except(HashSet<Box<str>>),
    Nothing,
}

impl ActiveProfile {
    pub(crate) fn new(profile: Profile, revision: u64) -> Self {
        let set = |tools: &[String]| tools.iter().map(|tool| tool.as_str().into()).collect();
        let servers = profile.settings.servers.iter().map(|shown| {
            let prepared = match &shown.tools {
                ToolSelection::All => PreparedSelection::All,
                ToolSelection::Only { tools } => PreparedSelection::Only(set(tools)),
                ToolSelection::Except { tools } => PreparedSelection::Except(set(tools)),
                ToolSelection::Nothing => PreparedSelection::Nothing,
            };
            (shown.server.clone(), prepared)
        });
        let folders = profile.settings.folders.iter().map(PathBuf::from).collect();
        Self { servers: servers.collect(), folders, profile, revision }
    }

    /// The deepest of its folders that is this one or contains it.
    pub(crate) fn folder_around(&self, folder: &Path) -> Option<&Path> {
        let around = self.folders.iter().filter(|own| folder.starts_with(own));
        around.max_by_key(|own| own.components().count()).map(PathBuf::as_path)
    }

    /// The profile of clients whose own can't be known: it shows nothing.
    pub(crate) fn empty() -> Self {
        let settings = ProfileSettings {
            name: "unverified".to_owned(),
            other_servers: OtherServers::Hidden,
            ..ProfileSettings::default()
        };
        Self::new(Profile { id: ProfileId::new("unverified"), settings }, 0)
    }

    /// What was chosen for a conversation, as a profile. Its id tells what it shows, so equal ones are of the same view.
    pub(crate) fn of_choice(choice: &ToolChoice) -> Self {
        let ToolChoice { servers, is_search } = choice;
        let shown = |server: &ServerId| ProfileServer { server: server.clone(), tools: ToolSelection::All };
        let settings = ProfileSettings {
            name: CHOICE_NAME.to_owned(),
            servers: servers.iter().flatten().map(shown).collect(),
            other_servers: if servers.is_some() { OtherServers::Hidden } else { OtherServers::Shown },
            tool_list: if *is_search { ToolListMode::Search } else { ToolListMode::Full },
            ..ProfileSettings::default()
        };
        Self::new(Profile { id: ProfileId::new(format!("{choice:?}")), settings }, 0)
    }

    /// Whether it shows the server, with its resources and prompts.
    pub(crate) fn shows_server(&self, server: &ServerId) -> bool {
        match self.servers.get(server) {
            Some(PreparedSelection::Nothing) => false,
            Some(PreparedSelection::All | PreparedSelection::Only(_) | PreparedSelection::Except(_)) => true,
            None => self.profile.settings.other_servers == OtherServers::Shown,
        }
    }

    /// Whether it shows a tool, by its name on the server.
    pub(crate) fn shows_tool(&self, server: &ServerId, tool: &str) -> bool {
        match self.servers.get(server) {
            Some(PreparedSelection::Only(tools)) => tools.contains(tool),
            Some(PreparedSelection::Except(tools)) => !tools.contains(tool),
            Some(PreparedSelection::All | PreparedSelection::Nothing) | None => self.shows_server(server),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_what_the_profile_says() {
        let tools = || vec!["read".to_owned()];
        let selections = [
            ("all", ToolSelection::All),
            ("only", ToolSelection::Only { tools: tools() }),
            ("except", ToolSelection::Except { tools: tools() }),
            ("nothing", ToolSelection::Nothing),
        ];
        let servers: Vec<ProfileServer> = selections
            .map(|(server, tools)| ProfileServer { server: server.into(), tools })
            .into_iter()
            .collect();
        for (others, added_later) in [(OtherServers::Shown, true), (OtherServers::Hidden, false)] {
            let settings = ProfileSettings {
                servers: servers.clone(),
                other_servers: others,
                ..ProfileSettings::default()
            };
            let active = ActiveProfile::new(Profile { id: "p".into(), settings }, 1);
            for (server, shown, read, write) in [
                ("all", true, true, true),
                ("only", true, true, false),
                ("except", true, false, true),
                ("nothing", false, false, false),
                ("new", added_later, added_later, added_later),
            ] {
                let server: ServerId = server.into();
                assert_eq!(active.shows_server(&server), shown, "{server}");
                assert_eq!(active.shows_tool(&server, "read"), read, "{server}");
                assert_eq!(active.shows_tool(&server, "write"), write, "{server}");
            }
        }
        assert!(!ActiveProfile::empty().shows_server(&"all".into()));
    }

    #[test]
    fn shows_the_servers_of_a_conversation() {
        let of = |servers: Option<&[&str]>, is_search| {
            let servers = servers.map(|ids| ids.iter().map(|id| ServerId::from(*id)).collect());
            ActiveProfile::of_choice(&ToolChoice { servers, is_search })
        };
        for (servers, is_shown) in
            [(None, true), (Some(&["a"][..]), true), (Some(&["b"]), false), (Some(&[]), false)]
        {
            assert_eq!(of(servers, false).shows_tool(&"a".into(), "x"), is_shown, "{servers:?}");
        }
        assert_eq!(of(None, true).profile.settings.tool_list, ToolListMode::Search);
        assert_ne!(of(Some(&["a"]), true).profile.id, of(Some(&["b"]), true).profile.id);
    }
}
