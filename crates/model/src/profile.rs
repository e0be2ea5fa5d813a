//! Profiles (GATE-4): what the clients that use one see of the servers. A profile only narrows: permissions are judged
//! for every call all the same.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::error::UserError;
use crate::id::{ClientId, ProfileId, ServerId};
use crate::settings::ToolNaming;

/// The most calls a minute that a profile can set as its limit.
pub const MAX_CALLS_PER_MINUTE: u32 = 10_000;

/// The most project folders of one profile.
pub const MAX_FOLDERS: usize = 64;

/// A profile with the id that clients are assigned by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Profile {
    pub id: ProfileId,
    pub settings: ProfileSettings,
}

/// What the user sets in a profile.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", default)]
pub struct ProfileSettings {
    /// Unique among profiles.
    pub name: String,
    /// The servers that it says something about, each once.
    pub servers: Vec<ProfileServer>,
    /// What becomes of all others, also of servers that are added later: `shown`, or `hidden`, which is strict mode.
    pub other_servers: OtherServers,
    /// Tools that a permanent rule without conditions blocks for the client: `listed`, or `hidden`.
    pub denied_tools: DeniedTools,
    /// How tools and prompts are named; as in the settings where absent. Prefixes of URIs are the same for every client.
    pub naming: Option<ToolNaming>,
    /// How a client gets to know its tools: `full` lists all of them, with `search` it looks for them.
    pub tool_list: ToolListMode,
    /// The most requests to servers that each client may make in 60 seconds, 1 to [`MAX_CALLS_PER_MINUTE`]; no limit
    /// where absent.
    pub calls_per_minute: Option<u32>,
    /// Project folders, as absolute paths without links. A bridge that works in one of them, or below it, sees only what
    /// this profile shows too. A strict profile with folders shows its clients nothing outside of them.
    pub folders: Vec<String>,
}

impl ProfileSettings {
    /// Whether clients that use the profile see anything only where a bridge works in one of its folders.
    #[must_use]
    pub fn is_only_for_folders(&self) -> bool {
        self.other_servers == OtherServers::Hidden && !self.folders.is_empty()
    }
}

/// What a profile shows of one server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ProfileServer {
    /// Id of the server; commands also take its name.
    pub server: ServerId,
    /// What is shown of it.
    pub tools: ToolSelection,
}

/// What is shown of a server. Tools are named as on the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "shows", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ToolSelection {
    /// Everything of it, also tools that it adds later.
    All,
    /// These tools, and its resources and prompts.
    Only {
        /// Their names on the server.
        tools: Vec<String>,
    },
    /// All tools but these, also those that it adds later, and its resources and prompts.
    Except {
        /// Their names on the server.
        tools: Vec<String>,
    },
    /// Neither tools nor resources nor prompts.
    Nothing,
}

/// Servers that a profile doesn't name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum OtherServers {
    #[default]
    Shown,
    /// Strict mode: this profile's servers and no others.
    Hidden,
}

/// Tools that a permanent rule without conditions blocks for the client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum DeniedTools {
    /// They are listed, and calls of them are refused.
    #[default]
    Listed,
    Hidden,
}

/// How a client gets to know its tools (TOOL-7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum ToolListMode {
    /// All of them are listed.
    #[default]
    Full,
    /// `search_tools`, `describe_tool` and `call_tool` are listed, and tools that ask to be always loaded.
    Search,
}

/// What the user answered about one entry of a project's `.mcp.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProjectEntry {
    /// The profile that the folder had. The server exists only for clients whose view it is part of.
    pub profile: ProfileId,
    /// The project folder.
    pub folder: String,
    /// Its name in the file.
    pub name: String,
    /// SHA-256 of the entry, lower-case hexadecimal.
    pub digest: String,
    /// The server that was made of it; absent if the user declined it.
    pub server: Option<ServerId>,
    /// Whether the file still had an entry of this name when it was last read. If not, nobody sees the server.
    pub is_listed: bool,
}

/// What became of a project's `.mcp.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ProjectFileReport {
    /// Path of the file.
    pub file: String,
    /// Names of the servers that the user is asked about.
    pub asked: Vec<String>,
    /// What is wrong with the file, or with some of its servers.
    pub problems: Vec<UserError>,
}

/// The profiles and who uses them, sealed as one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StoredProfiles {
    pub profiles: Vec<Profile>,
    /// The profile of each client that has one.
    pub assigned: BTreeMap<ClientId, ProfileId>,
    /// What the user answered about servers of projects.
    pub project_entries: Vec<ProjectEntry>,
}

/// A profile as it is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ProfileView {
    pub profile: Profile,
    /// The clients that use it.
    pub clients: Vec<ClientId>,
    /// What it makes of the tools that are known now; of denied tools only those that are blocked for every client are
    /// left out.
    pub tool_list: ToolListCost,
}

/// What the list of tools costs a model that gets it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ToolListCost {
    /// Tools that can be called.
    pub tools: u32,
    /// Tools in the list; in search mode fewer than can be called.
    pub listed: u32,
    /// Bytes of the definitions in the list.
    pub bytes: u32,
    /// Tokens of the list, estimated as a quarter of its bytes.
    pub tokens: u32,
}

impl ToolListCost {
    /// The cost of a list of definitions with these lengths in bytes.
    #[must_use]
    pub fn new(tools: usize, definitions: impl Iterator<Item = usize>) -> Self {
        let (listed, bytes) = definitions.fold((0_usize, 0_usize), |(listed, bytes), length| {
            (listed.saturating_add(1), bytes.saturating_add(length))
        });
        let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
        Self {
            tools: number(tools),
            listed: number(listed),
            bytes: number(bytes),
            tokens: number(bytes.div_ceil(4)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_a_token_for_every_four_bytes() {
        let cost = ToolListCost::new(9, [400, 401].into_iter());
        assert_eq!(cost, ToolListCost { tools: 9, listed: 2, bytes: 801, tokens: 201 });
        assert_eq!(ToolListCost::new(0, std::iter::empty()), ToolListCost::default());
    }

    #[test]
    fn reads_a_profile_that_says_only_its_name() {
        let read: ProfileSettings = serde_json::from_str(r#"{"name":"Small"}"#).unwrap();
        assert_eq!(read, ProfileSettings { name: "Small".to_owned(), ..ProfileSettings::default() });
        assert_eq!(read.other_servers, OtherServers::Shown);
    }
}
