//! The tool catalog over all servers (TOOL-1): an immutable value that is rebuilt when a list changes, with
//! look-up by exposed name. It never decides whether a tool may run.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use gatehouse_model::approval::Subject;
use gatehouse_model::{Generation, OmittedTool, ServerConfig, ServerId, ToolNaming};
use gatehouse_servers::ServerLists;
use serde_json::value::RawValue;

use crate::catalog::catalog_tool::{CatalogTool, ToolServer};
use crate::catalog::definition_source::{ListedDefinition, SubjectInfo};
use crate::catalog::exposed_names::ExposedNames;
use crate::catalog::last_known;
use crate::catalog::list_versions::CatalogVersions;
use crate::catalog::resource_catalog::{CatalogList, ListedServer, ResolvedTarget, ResourceCatalog};
use crate::catalog::server_tools::ServerTools;
use crate::catalog::tool_definition::ParsedDefinition;

/// Tools, resources, templates and prompts of all enabled servers.
#[derive(Default)]
pub struct ToolCatalog {
    tools: Vec<CatalogTool>,
    by_exposed: HashMap<Arc<str>, usize>,
    list: Vec<Box<RawValue>>,
    left_out: Vec<OmittedTool>,
    resource_catalog: ResourceCatalog,
    parts: HashMap<ServerId, Arc<ServerTools>>,
    /// The servers whose lists are what they have now.
    connected: HashSet<ServerId>,
    naming: ToolNaming,
    /// How often the catalog was built before.
    builds: u64,
    /// The same under the names of other modes, for clients whose profile has one of its own.
    in_other_modes: HashMap<ToolNaming, Arc<ToolCatalog>>,
}

impl fmt::Debug for ToolCatalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolCatalog").field("tools", &self.tools.len()).finish_non_exhaustive()
    }
}

/// Input for a server's part of the catalog.
pub(crate) struct ServerSource {
    pub(crate) config: Arc<ServerConfig>,
    pub(crate) lists: Arc<ServerLists>,
    /// Whether the lists are what the server has now.
    pub(crate) is_connected: bool,
}

impl ToolCatalog {
    /// Builds the catalog of these servers. Parts that didn't change are reused.
    pub(crate) fn rebuild(
        &self,
        sources: &[ServerSource],
        naming: ToolNaming,
        names: &mut ExposedNames,
    ) -> Self {
        let mut next = Self { naming, builds: self.builds + 1, ..Self::default() };
        let known = KnownTools::of(Some(self));
        let mut listed_servers = Vec::new();
        for source in sources {
            // Lists of an older generation belong to the server before it was edited.
            if !source.config.enabled || source.lists.generation != source.config.generation {
                continue;
            }
            let id = &source.config.id;
            let part = match self.parts.get(id) {
                Some(part) if Arc::ptr_eq(&part.lists, &source.lists) => part.clone(),
                old => {
                    let old = old.map(|part| &**part);
                    let part = ServerTools::read(id, &source.lists, old);
                    Arc::new(ServerTools { versions: part.versions(old, next.builds), ..part })
                }
            };
            let tool_server = Arc::new(ToolServer {
                config: source.config.clone(),
                binding: source.config.binding(),
                lists: source.lists.clone(),
                is_connected: source.is_connected,
                has_tasks: part.has_tasks,
            });
            for definition in &part.tools {
                let exposed = names.tools.name(naming, id, &source.config.name, &definition.name);
                next.push(&known, &tool_server, definition, &exposed);
            }
            next.left_out.extend(part.left_out.iter().map(|(name, reason)| OmittedTool {
                server: id.clone(),
                server_name: source.config.name.clone(),
                name: name.clone(),
                reason: reason.clone(),
            }));
            listed_servers.push(ListedServer {
                server: id.clone(),
                name: source.config.name.clone(),
                is_connected: source.is_connected,
                listing: part.listing.clone(),
            });
            if source.is_connected {
                next.connected.insert(id.clone());
            }
            next.parts.insert(id.clone(), part);
        }
        next.resource_catalog = ResourceCatalog::build(listed_servers, naming, names);
        next
    }

    /// Adds the same catalog under the names of other modes. What `before` has of them is reused.
    pub(crate) fn add_modes(&mut self, modes: &HashSet<ToolNaming>, before: &Self, names: &mut ExposedNames) {
        for mode in modes.iter().copied().filter(|mode| *mode != self.naming) {
            let renamed = self.renamed(mode, before.in_other_modes.get(&mode).map(|known| &**known), names);
            self.in_other_modes.insert(mode, Arc::new(renamed));
        }
    }

    fn renamed(&self, naming: ToolNaming, before: Option<&Self>, names: &mut ExposedNames) -> Self {
        let mut next = Self {
            naming,
            left_out: self.left_out.clone(),
            parts: self.parts.clone(),
            resource_catalog: self.resource_catalog.renamed(naming, names),
            connected: self.connected.clone(),
            ..Self::default()
        };
        let known = KnownTools::of(before);
        for tool in &self.tools {
            let exposed = names.tools.name(naming, tool.server(), tool.server_name(), tool.name());
            next.push(&known, &tool.tool_server, &tool.definition, &exposed);
        }
        next
    }

    fn push(
        &mut self,
        known: &KnownTools<'_>,
        tool_server: &Arc<ToolServer>,
        definition: &Arc<ParsedDefinition>,
        exposed: &str,
    ) {
        let old = known.get(&tool_server.config.id, &definition.name).filter(|(tool, _)| {
            Arc::ptr_eq(&tool.definition, definition)
                && *tool.exposed == *exposed
                && tool.tool_server.is_connected == tool_server.is_connected
        });
        let (exposed, listed) = match old {
            Some((tool, listed)) => (tool.exposed.clone(), listed.to_owned()),
            None => {
                let listed = definition.exposed(exposed);
                let listed = if tool_server.is_connected {
                    listed
                } else {
                    last_known::with_mark(&listed).into_owned()
                };
                (Arc::from(exposed), listed)
            }
        };
        self.by_exposed.insert(exposed.clone(), self.tools.len());
        let (tool_server, definition) = (tool_server.clone(), definition.clone());
        self.tools.push(CatalogTool { exposed, tool_server, definition });
        self.list.push(listed);
    }

    /// The same catalog under the names of a mode; under those that are set in general if the mode is absent or isn't
    /// known here.
    pub(crate) fn named(&self, mode: Option<ToolNaming>) -> &Self {
        mode.and_then(|mode| self.in_other_modes.get(&mode)).map_or(self, |renamed| renamed)
    }

    /// Whether this is already the catalog of these servers, in these other modes too.
    pub(crate) fn is_built_from(
        &self,
        sources: &[ServerSource],
        naming: ToolNaming,
        modes: &HashSet<ToolNaming>,
    ) -> bool {
        let counted = |source: &&ServerSource| {
            source.config.enabled && source.lists.generation == source.config.generation
        };
        self.naming == naming
            && modes.iter().all(|mode| *mode == naming || self.in_other_modes.contains_key(mode))
            && sources.iter().filter(counted).count() == self.parts.len()
            && sources.iter().filter(counted).all(|source| {
                let id = &source.config.id;
                self.parts.get(id).is_some_and(|part| Arc::ptr_eq(&part.lists, &source.lists))
                    && self.connected.contains(id) == source.is_connected
            })
            && self.tools.iter().all(|tool| {
                sources.iter().any(|source| Arc::ptr_eq(&source.config, &tool.tool_server.config))
            })
    }

    /// Whether clients see the same tools.
    pub(crate) fn same_tools(&self, other: &Self) -> bool {
        self.same_in_other_modes(other, Self::same_tools)
            && self.tools.len() == other.tools.len()
            && self.tools.iter().zip(&other.tools).all(|(one, two)| {
                one.exposed == two.exposed
                    && Arc::ptr_eq(&one.definition, &two.definition)
                    && one.tool_server.has_tasks == two.tool_server.has_tasks
            })
    }

    /// Whether clients see the same resources and templates.
    pub(crate) fn same_resources(&self, other: &Self) -> bool {
        self.resource_catalog.same_resources(&other.resource_catalog)
    }

    /// Whether clients see the same prompts.
    pub(crate) fn same_prompts(&self, other: &Self) -> bool {
        self.same_in_other_modes(other, Self::same_prompts)
            && self.resource_catalog.same_prompts(&other.resource_catalog)
    }

    fn same_in_other_modes(&self, other: &Self, same: impl Fn(&Self, &Self) -> bool) -> bool {
        self.in_other_modes.len() == other.in_other_modes.len()
            && self
                .in_other_modes
                .iter()
                .all(|(mode, one)| other.in_other_modes.get(mode).is_some_and(|other| same(one, other)))
    }

    /// Whether the same things are marked as last known.
    pub(crate) fn same_marks(&self, other: &Self) -> bool {
        self.tools
            .iter()
            .map(CatalogTool::is_last_known)
            .eq(other.tools.iter().map(CatalogTool::is_last_known))
            && self.resource_catalog.same_marks(&other.resource_catalog)
    }

    /// All tools, grouped by server.
    pub fn tools(&self) -> &[CatalogTool] {
        &self.tools
    }

    /// The tool with an exposed name.
    pub fn by_exposed(&self, name: &str) -> Option<&CatalogTool> {
        self.tools.get(self.place(name)?)
    }

    /// The place among the tools of the one with an exposed name. It is the same in all naming modes.
    pub(crate) fn place(&self, name: &str) -> Option<usize> {
        self.by_exposed.get(name).copied()
    }

    /// A tool by its server and its name on that server.
    pub fn find(&self, server: &ServerId, name: &str) -> Option<&CatalogTool> {
        self.tools.iter().find(|tool| tool.name() == name && tool.server() == server)
    }

    /// All tools of one server.
    pub fn of_server<'a>(&'a self, server: &'a ServerId) -> impl Iterator<Item = &'a CatalogTool> {
        self.tools.iter().filter(move |tool| tool.server() == server)
    }

    /// One of the lists for clients: the servers' bytes with exposed names, and for tools with cleaned titles and
    /// descriptions and a complete input schema. What is last known of servers that aren't connected is marked.
    pub fn list(&self, of: CatalogList) -> &[Box<RawValue>] {
        match of {
            CatalogList::Tools => &self.list,
            CatalogList::Resources | CatalogList::Templates | CatalogList::Prompts => {
                self.resource_catalog.list(of)
            }
        }
    }

    /// The resources, templates and prompts.
    pub(crate) fn resources(&self) -> &ResourceCatalog {
        &self.resource_catalog
    }

    /// The servers with their names and lists, in the order in which they were added.
    pub(crate) fn listed(&self) -> impl Iterator<Item = (&ServerId, &str, &ServerLists)> {
        self.resource_catalog
            .servers()
            .filter_map(|(server, name)| Some((server, name, &*self.parts.get(server)?.lists)))
    }

    /// The versions of each server's own lists.
    pub(crate) fn versions_by_server(&self) -> HashMap<ServerId, CatalogVersions> {
        self.parts.iter().map(|(server, part)| (server.clone(), part.versions)).collect()
    }

    /// The server of a resource: the one that lists it, otherwise the one with the closest matching template. Of the
    /// servers that are `visible`.
    pub(crate) fn resource(&self, uri: &str, visible: &dyn Fn(&ServerId) -> bool) -> Option<ResolvedTarget> {
        self.resource_catalog.resource(uri, visible)
    }

    /// The server of a resource template or of a resource, for completing arguments. Of the servers that are `visible`.
    pub(crate) fn template(&self, uri: &str, visible: &dyn Fn(&ServerId) -> bool) -> Option<ResolvedTarget> {
        self.resource_catalog.template(uri, visible)
    }

    /// A tool's definition as clients see it, by its place among the tools.
    pub(crate) fn listed_tool(&self, at: usize) -> Option<&RawValue> {
        self.list.get(at).map(|item| &**item)
    }

    /// The server of a prompt, by its exposed name, if that is `visible`.
    pub(crate) fn prompt(
        &self,
        exposed: &str,
        visible: &dyn Fn(&ServerId) -> bool,
    ) -> Option<ResolvedTarget> {
        self.resource_catalog.prompt(exposed, visible)
    }

    /// Access class and definition of something other than a tool. Unknown if the server's lists aren't
    /// available, or are of another generation.
    pub(crate) fn subject_info(
        &self,
        server: &ServerId,
        generation: Generation,
        subject: &Subject,
    ) -> SubjectInfo {
        match self.parts.get(server).filter(|part| part.lists.generation == generation) {
            Some(part) => {
                SubjectInfo { lists: Some(part.lists.clone()), ..part.listing.definitions.of(subject) }
            }
            None => SubjectInfo::unlisted(subject),
        }
    }

    /// The prompts and resource templates of one server.
    pub(crate) fn described(
        &self,
        server: &ServerId,
        generation: Generation,
    ) -> impl Iterator<Item = &Arc<ListedDefinition>> {
        let part = self.parts.get(server).filter(|part| part.lists.generation == generation);
        part.into_iter().flat_map(|part| part.listing.definitions.described())
    }

    /// The tools that are left out of the lists of all or some clients, with reasons.
    pub fn omitted(&self) -> &[OmittedTool] {
        &self.left_out
    }
}

/// The tools of an earlier catalog by server and name.
struct KnownTools<'a> {
    catalog: Option<&'a ToolCatalog>,
    places: HashMap<(&'a ServerId, &'a str), usize>,
}

impl<'a> KnownTools<'a> {
    fn of(catalog: Option<&'a ToolCatalog>) -> Self {
        let tools = catalog.into_iter().flat_map(|catalog| catalog.tools.iter().enumerate());
        Self { places: tools.map(|(at, tool)| ((tool.server(), tool.name()), at)).collect(), catalog }
    }

    /// A tool and its definition as clients saw it.
    fn get(&self, server: &ServerId, name: &str) -> Option<(&'a CatalogTool, &'a RawValue)> {
        let (catalog, at) = (self.catalog?, *self.places.get(&(server, name))?);
        Some((catalog.tools.get(at)?, &**catalog.list.get(at)?))
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use gatehouse_model::Transport;
    use gatehouse_model::server::Builtin;
    use gatehouse_servers::ToolDefinition;

    use super::*;

    fn json(text: String) -> Box<RawValue> {
        RawValue::from_string(text).unwrap()
    }

    fn source(name: &str, generation: u32, tools: impl Iterator<Item = (String, String)>) -> ServerSource {
        let config = ServerConfig {
            generation: Generation(generation),
            ..ServerConfig::new(name, name, Transport::Builtin { builtin: Builtin::Time })
        };
        let lists = ServerLists {
            generation: Generation(1),
            tools: tools
                .map(|(name, words)| ToolDefinition {
                    raw: json(format!(
                        r#"{{"name":"{name}","description":"{words}","inputSchema":{{"type":"object","properties":{{"path":{{"type":"string","description":"Where to."}}}}}}}}"#
                    )),
                    name,
                })
                .collect(),
            ..ServerLists::default()
        };
        ServerSource { config: Arc::new(config), lists: Arc::new(lists), is_connected: true }
    }

    #[test]
    fn rebuild_reparses_only_changed_tools() {
        let mut names = ExposedNames::open(None);
        let tools = |changed: usize| {
            (0..10_000).map(move |n| {
                let words = if n == changed { "Was changed." } else { "Does a thing." };
                (format!("tool_{n}"), words.to_owned())
            })
        };
        let first =
            ToolCatalog::default().rebuild(&[source("big", 1, tools(0))], ToolNaming::default(), &mut names);
        assert_eq!(first.tools().len(), 10_000);
        assert_eq!(first.by_exposed("tool_9999").unwrap().name(), "tool_9999");

        let next = source("big", 1, tools(1));
        assert!(!first.is_built_from(std::slice::from_ref(&next), ToolNaming::default(), &HashSet::new()));
        let began = Instant::now();
        let second = first.rebuild(std::slice::from_ref(&next), ToolNaming::default(), &mut names);
        let took = began.elapsed();
        assert!(second.is_built_from(&[next], ToolNaming::default(), &HashSet::new()));
        let kept = first
            .tools()
            .iter()
            .zip(second.tools())
            .filter(|(one, two)| Arc::ptr_eq(&one.definition, &two.definition))
            .count();
        assert_eq!(kept, 9_998, "the two that differ alone are read again");
        assert!(!first.same_tools(&second));
        assert!(took < Duration::from_secs(2), "{took:?}");
    }

    #[test]
    fn ignores_stale_generations_and_disabled_servers() {
        let mut names = ExposedNames::open(None);
        let one = || std::iter::once(("read".to_owned(), "Reads.".to_owned()));
        let edited = source("a", 2, one());
        let mut off = source("b", 1, one());
        Arc::make_mut(&mut off.config).enabled = false;
        let made = ToolCatalog::default().rebuild(&[edited, off], ToolNaming::default(), &mut names);
        assert!(made.tools().is_empty() && made.list(CatalogList::Tools).is_empty());
    }

    #[test]
    fn marks_tools_of_unconnected_servers_without_changing_the_list() {
        let mut names = ExposedNames::open(None);
        let mut server = source("a", 1, std::iter::once(("read".to_owned(), "Reads.".to_owned())));
        server.is_connected = false;
        let last_known =
            ToolCatalog::default().rebuild(std::slice::from_ref(&server), ToolNaming::default(), &mut names);
        server.is_connected = true;
        assert!(!last_known.is_built_from(
            std::slice::from_ref(&server),
            ToolNaming::default(),
            &HashSet::new()
        ));
        let connected = last_known.rebuild(std::slice::from_ref(&server), ToolNaming::default(), &mut names);
        assert!(connected.same_tools(&last_known) && !connected.same_marks(&last_known));
        let is_marked = |catalog: &ToolCatalog| {
            catalog.list(CatalogList::Tools)[0].get().contains("app.gatehouse/lastKnown")
        };
        assert!(is_marked(&last_known) && !is_marked(&connected));
        assert!(last_known.tools()[0].is_last_known() && !connected.tools()[0].is_last_known());
    }

    #[test]
    fn names_follow_naming_mode() {
        let mut names = ExposedNames::open(None);
        let sources = [
            source("a", 1, std::iter::once(("read".to_owned(), "Reads.".to_owned()))),
            source("b", 1, std::iter::once(("read".to_owned(), "Reads.".to_owned()))),
        ];
        for (naming, expect) in [
            (ToolNaming::OnConflict, ["read", "b__read"]),
            (ToolNaming::Server, ["a__read", "b__read"]),
            (ToolNaming::McpServer, ["mcp__a__read", "mcp__b__read"]),
        ] {
            let made = ToolCatalog::default().rebuild(&sources, naming, &mut names);
            let exposed: Vec<&str> = made.tools().iter().map(CatalogTool::exposed_name).collect();
            assert_eq!(exposed, expect);
            for tool in made.tools() {
                assert_eq!(made.by_exposed(tool.exposed_name()).unwrap().server(), tool.server());
            }
        }
    }

    #[test]
    fn other_modes_have_names_of_their_own() {
        let mut names = ExposedNames::open(None);
        let one = |server: &str| source(server, 1, std::iter::once(("read".to_owned(), "Reads.".to_owned())));
        let sources = [one("a"), one("b")];
        let modes = HashSet::from([ToolNaming::OnConflict, ToolNaming::McpServer]);
        let mut made = ToolCatalog::default().rebuild(&sources, ToolNaming::OnConflict, &mut names);
        made.add_modes(&modes, &ToolCatalog::default(), &mut names);
        assert!(made.is_built_from(&sources, ToolNaming::OnConflict, &modes));
        assert!(!made.is_built_from(&sources, ToolNaming::OnConflict, &HashSet::from([ToolNaming::Server])));
        let exposed = |mode| -> Vec<String> {
            let tools = made.named(mode).tools().iter();
            tools.map(|tool| tool.exposed_name().to_owned()).collect()
        };
        assert_eq!(exposed(None), ["read", "b__read"]);
        assert_eq!(exposed(Some(ToolNaming::OnConflict)), ["read", "b__read"]);
        assert_eq!(exposed(Some(ToolNaming::McpServer)), ["mcp__a__read", "mcp__b__read"]);
        assert_eq!(exposed(Some(ToolNaming::Server)), ["read", "b__read"], "not built, so the general names");
        let renamed = made.named(Some(ToolNaming::McpServer));
        assert_eq!(
            renamed.by_exposed("mcp__b__read").unwrap().server().as_str(),
            sources[1].config.id.as_str()
        );
        assert!(renamed.list(CatalogList::Tools)[1].get().contains(r#""name":"mcp__b__read""#));
        assert!(Arc::ptr_eq(&renamed.tools()[0].definition, &made.tools()[0].definition));
    }
}
