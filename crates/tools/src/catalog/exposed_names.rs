//! Exposed names (TOOL-2): valid for every client, unique, and stable across restarts. A name once assigned
//! stays with its tool; later tools avoid it. No two tools have the same name, nor have two prompts. Prompts
//! have a registry of their own; the docs below say "tool" for both. Resources keep their URIs, so theirs are in
//! [`UriOwners`].

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use gatehouse_model::{ServerId, ToolNaming};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::catalog::resource_owners::UriOwners;
use crate::json_file::write_json;

/// Longest name, in bytes, that every client accepts.
const MAX_NAME_LEN: usize = 64;
/// The files of the two registries.
const TOOLS: &str = "tool-names.json";
const PROMPTS: &str = "prompt-names.json";
/// The files of the owners of URIs.
const RESOURCES: &str = "resource-owners.json";
const TEMPLATES: &str = "template-owners.json";
/// Version of their format.
const VERSION: u32 = 1;

/// The names of tools and prompts, and the owners of URIs.
#[derive(Debug)]
pub(crate) struct ExposedNames {
    pub(crate) tools: NameRegistry,
    pub(crate) prompts: NameRegistry,
    pub(crate) resources: UriOwners,
    pub(crate) templates: UriOwners,
}

impl ExposedNames {
    /// Loads the names of earlier runs.
    pub(crate) fn open(dir: Option<&Path>) -> Self {
        Self {
            tools: NameRegistry::open(dir, TOOLS),
            prompts: NameRegistry::open(dir, PROMPTS),
            resources: UriOwners::open(dir, RESOURCES),
            templates: UriOwners::open(dir, TEMPLATES),
        }
    }

    /// Releases the names of a server that was removed.
    pub(crate) fn forget(&mut self, server: &ServerId) {
        self.tools.forget(server);
        self.prompts.forget(server);
        self.resources.forget(server);
        self.templates.forget(server);
    }

    /// Stores the names if there are new ones. Blocks on the disk.
    pub(crate) fn save(&mut self) {
        self.tools.save();
        self.prompts.save();
        self.resources.save();
        self.templates.save();
    }
}

/// All assigned names.
#[derive(Debug)]
pub(crate) struct NameRegistry {
    file: Option<PathBuf>,
    /// Exposed names by server and tool.
    by_tool: HashMap<(ToolNaming, ServerId), HashMap<Box<str>, Box<str>>>,
    /// Server and tool by exposed name.
    by_name: HashMap<(ToolNaming, Box<str>), (ServerId, Box<str>)>,
    unsaved: bool,
}

#[derive(Serialize, Deserialize)]
struct NameFile {
    version: u32,
    names: Vec<StoredName>,
}

#[derive(Serialize, Deserialize)]
struct StoredName {
    naming: ToolNaming,
    server: ServerId,
    tool: Box<str>,
    exposed: Box<str>,
}

impl NameRegistry {
    /// Loads the names of earlier runs. An unreadable file is replaced: names don't grant permissions.
    pub(crate) fn open(dir: Option<&Path>, file: &str) -> Self {
        let file = dir.map(|dir| dir.join(file));
        let mut registry = Self { file, by_tool: HashMap::new(), by_name: HashMap::new(), unsaved: false };
        let Some(text) = registry.file.as_ref().and_then(|file| fs::read_to_string(file).ok()) else {
            return registry;
        };
        match serde_json::from_str::<NameFile>(&text) {
            Ok(file) if file.version == VERSION => {
                for name in file.names {
                    if is_legal(&name.exposed) && registry.is_free(name.naming, &name.exposed) {
                        registry.assign(name.naming, &name.server, &name.tool, &name.exposed);
                    }
                }
            }
            Ok(file) => {
                tracing::warn!(
                    version = file.version,
                    "the tool names were kept by another version; they are left alone"
                );
                registry.file = None;
            }
            Err(error) => tracing::warn!(%error, "the kept tool names cannot be read; names are given anew"),
        }
        registry.unsaved = false;
        registry
    }

    /// The exposed name of a tool: the assigned one, otherwise a new one.
    pub(crate) fn name(
        &mut self,
        naming: ToolNaming,
        id: &ServerId,
        server_name: &str,
        tool: &str,
    ) -> Box<str> {
        let candidates = candidates(naming, id, server_name, tool);
        let assigned = self.by_tool.get(&(naming, id.clone())).and_then(|tools| tools.get(tool));
        if let Some(assigned) = assigned {
            // In the modes that always include the server, a renamed server gets new names.
            if naming == ToolNaming::OnConflict || candidates.contains(assigned) {
                return assigned.clone();
            }
        }
        let name = candidates
            .into_iter()
            .find(|name| self.is_free(naming, name))
            .unwrap_or_else(|| self.salted_name(naming, id, tool));
        self.assign(naming, id, tool, &name);
        name
    }

    /// Releases the names of a server that was removed.
    pub(crate) fn forget(&mut self, server: &ServerId) {
        self.by_tool.retain(|(_, owner), _| owner != server);
        let before = self.by_name.len();
        self.by_name.retain(|_, (owner, _)| owner != server);
        self.unsaved |= before != self.by_name.len();
    }

    /// Stores the names if there are new ones. Blocks on the disk.
    pub(crate) fn save(&mut self) {
        let Some(file) = self.file.as_ref().filter(|_| self.unsaved) else { return };
        let mut names: Vec<StoredName> = self
            .by_name
            .iter()
            .map(|((naming, exposed), (server, tool))| StoredName {
                naming: *naming,
                server: server.clone(),
                tool: tool.clone(),
                exposed: exposed.clone(),
            })
            .collect();
        names.sort_by(|a, b| a.exposed.cmp(&b.exposed));
        match write_json(file, &NameFile { version: VERSION, names }) {
            Ok(()) => self.unsaved = false,
            Err(error) => {
                tracing::warn!(%error, "the tool names cannot be kept; they may differ after a restart")
            }
        }
    }

    fn is_free(&self, naming: ToolNaming, name: &str) -> bool {
        !self.by_name.contains_key(&(naming, Box::<str>::from(name)))
    }

    /// A free name for a tool whose candidates all belong to other tools.
    fn salted_name(&self, naming: ToolNaming, id: &ServerId, tool: &str) -> Box<str> {
        let mut salt = 0_u32;
        loop {
            let name = with_hash("tool", &format!("{id}\n{tool}\n{salt}"));
            if self.is_free(naming, &name) {
                return name;
            }
            salt = salt.wrapping_add(1);
        }
    }

    /// Assigns a name to a tool, and releases the one that it had.
    fn assign(&mut self, naming: ToolNaming, server: &ServerId, tool: &str, exposed: &str) {
        let old =
            self.by_tool.entry((naming, server.clone())).or_default().insert(tool.into(), exposed.into());
        if let Some(old) = old {
            self.by_name.remove(&(naming, old));
        }
        self.by_name.insert((naming, exposed.into()), (server.clone(), tool.into()));
        self.unsaved = true;
    }
}

/// The names that a tool may have, the preferred one first. The last one ends with a hash, so that it is
/// rarely taken.
fn candidates(naming: ToolNaming, id: &ServerId, server_name: &str, tool: &str) -> Vec<Box<str>> {
    let own = sanitize(tool);
    let server = sanitize(server_name);
    let with_server = format!("{server}__{own}");
    let with_all = format!("mcp__{server}__{own}");
    let plain: Vec<String> = match naming {
        ToolNaming::OnConflict => vec![own, with_server],
        ToolNaming::Server => vec![with_server],
        ToolNaming::McpServer => vec![with_all],
    };
    let mut names: Vec<Box<str>> =
        plain.iter().filter(|name| name.len() <= MAX_NAME_LEN).map(|name| name.as_str().into()).collect();
    if let Some(last) = plain.last() {
        names.push(with_hash(last, &format!("{id}\n{tool}")));
    }
    names
}

/// A prefix of the name with a short hash of what it stands for, within the maximum length.
fn with_hash(name: &str, identity: &str) -> Box<str> {
    let digest = hex::encode(Sha256::digest(identity.as_bytes()));
    let tail = digest.get(..8).unwrap_or_default();
    let head: String = name.chars().take(MAX_NAME_LEN - tail.len() - 1).collect();
    format!("{head}_{tail}").into()
}

/// Replaces the characters that some clients don't accept.
fn sanitize(name: &str) -> String {
    let legal: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' })
        .collect();
    if legal.is_empty() { "tool".to_owned() } else { legal }
}

fn is_legal(name: &str) -> bool {
    (1..=MAX_NAME_LEN).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registry() -> NameRegistry {
        NameRegistry::open(None, TOOLS)
    }

    #[test]
    fn builds_names_by_mode() {
        let long = "x".repeat(70);
        for (naming, server, tool, expect) in [
            (ToolNaming::OnConflict, "files", "read", "read"),
            (ToolNaming::Server, "files", "read", "files__read"),
            (ToolNaming::McpServer, "files", "read", "mcp__files__read"),
            (ToolNaming::Server, "My Files", "read.all", "My_Files__read_all"),
            (ToolNaming::OnConflict, "files", "\u{202E}", "_"),
        ] {
            assert_eq!(&*registry().name(naming, &"s".into(), server, tool), expect);
        }
        let name = registry().name(ToolNaming::OnConflict, &"s".into(), "files", &long);
        assert_eq!(name.len(), 64);
        assert!(name.starts_with("files__xxx") && is_legal(&name), "{name}");
    }

    #[test]
    fn first_owner_keeps_its_name() {
        let mut registry = registry();
        let a: ServerId = "a".into();
        let b: ServerId = "b".into();
        assert_eq!(&*registry.name(ToolNaming::OnConflict, &a, "one", "read"), "read");
        assert_eq!(&*registry.name(ToolNaming::OnConflict, &b, "two", "read"), "two__read");
        assert_eq!(&*registry.name(ToolNaming::OnConflict, &a, "one", "read"), "read");
        let third = registry.name(ToolNaming::OnConflict, &"c".into(), "two", "read");
        assert!(third.starts_with("two__read_") && is_legal(&third), "{third}");
        // Two tools of one server whose names become the same once sanitized.
        assert_eq!(&*registry.name(ToolNaming::OnConflict, &a, "one", "x.y"), "x_y");
        assert_eq!(&*registry.name(ToolNaming::OnConflict, &a, "one", "x y"), "one__x_y");
    }

    #[test]
    fn names_survive_restart_in_any_order() {
        let dir = tempfile::tempdir().unwrap();
        let (a, b): (ServerId, ServerId) = ("a".into(), "b".into());
        let mut registry = NameRegistry::open(Some(dir.path()), TOOLS);
        assert_eq!(&*registry.name(ToolNaming::OnConflict, &a, "one", "read"), "read");
        assert_eq!(&*registry.name(ToolNaming::OnConflict, &b, "two", "read"), "two__read");
        registry.save();
        let mut registry = NameRegistry::open(Some(dir.path()), TOOLS);
        assert_eq!(&*registry.name(ToolNaming::OnConflict, &b, "two", "read"), "two__read");
        assert_eq!(&*registry.name(ToolNaming::OnConflict, &a, "one", "read"), "read");
        registry.forget(&a);
        registry.save();
        let mut registry = NameRegistry::open(Some(dir.path()), TOOLS);
        assert_eq!(&*registry.name(ToolNaming::OnConflict, &b, "two", "read"), "two__read");
        assert_eq!(&*registry.name(ToolNaming::OnConflict, &"c".into(), "three", "read"), "read");
    }

    #[test]
    fn ignores_illegal_or_duplicate_stored_names() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(TOOLS), "{").unwrap();
        assert_eq!(
            &*NameRegistry::open(Some(dir.path()), TOOLS).name(ToolNaming::OnConflict, &"a".into(), "s", "t"),
            "t"
        );
        std::fs::write(
            dir.path().join(TOOLS),
            r#"{"version":1,"names":[{"naming":"onConflict","server":"a","tool":"t","exposed":"a b"},{"naming":"onConflict","server":"a","tool":"u","exposed":"v"},{"naming":"onConflict","server":"b","tool":"u","exposed":"v"}]}"#,
        )
        .unwrap();
        let mut registry = NameRegistry::open(Some(dir.path()), TOOLS);
        assert_eq!(&*registry.name(ToolNaming::OnConflict, &"a".into(), "s", "t"), "t");
        assert_eq!(&*registry.name(ToolNaming::OnConflict, &"a".into(), "s", "u"), "v");
        assert_eq!(&*registry.name(ToolNaming::OnConflict, &"b".into(), "r", "u"), "u");
    }

    #[test]
    fn renaming_a_server_changes_only_prefixed_names() {
        let mut registry = registry();
        let id: ServerId = "a".into();
        assert_eq!(&*registry.name(ToolNaming::Server, &id, "old", "t"), "old__t");
        assert_eq!(&*registry.name(ToolNaming::Server, &id, "new", "t"), "new__t");
        assert_eq!(&*registry.name(ToolNaming::OnConflict, &id, "new", "t"), "t");
    }
}
