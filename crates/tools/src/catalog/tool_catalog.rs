//! The tool catalog over all servers (TOOL-1): an immutable value that is rebuilt when a list changes, with
//! look-up by exposed name. It never decides whether a tool may run.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use gatehouse_model::approval::Subject;
use gatehouse_model::grant::AccessClassification;
use gatehouse_model::subject::SubjectRef;
use gatehouse_model::{
    Fingerprint, Generation, OmittedTool, ServerBinding, ServerConfig, ServerId, ToolNaming,
};
use gatehouse_policy::coverage::{DefinitionRef, SubjectFacts};
use gatehouse_policy::display::reveal;
use gatehouse_servers::ServerLists;
use serde_json::value::RawValue;

use crate::catalog::definition_source::{ListedDefinition, SubjectInfo};
use crate::catalog::exposed_names::ExposedNames;
use crate::catalog::resource_catalog::{
    CatalogList, ListedServer, ResolvedTarget, ResourceCatalog, ServerListing,
};
use crate::catalog::tool_definition::ParsedDefinition;

/// The server of some tools, at the time when the catalog was built.
pub(crate) struct ToolServer {
    pub(crate) config: Arc<ServerConfig>,
    /// The server's generation and identity, to which rules are bound.
    pub(crate) binding: ServerBinding,
    pub(crate) lists: Arc<ServerLists>,
}

#[derive(Clone)]
pub struct CatalogTool {
    pub(crate) exposed: Arc<str>,
    pub(crate) tool_server: Arc<ToolServer>,
    pub(crate) definition: Arc<ParsedDefinition>,
}

impl fmt::Debug for CatalogTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CatalogTool")
            .field("exposed", &self.exposed)
            .field("server", &self.tool_server.config.id)
            .finish_non_exhaustive()
    }
}

impl CatalogTool {
    /// The name that clients use.
    pub fn exposed_name(&self) -> &str {
        &self.exposed
    }

    /// The name on the server.
    pub fn name(&self) -> &str {
        &self.definition.name
    }

    pub fn server(&self) -> &ServerId {
        &self.tool_server.config.id
    }

    pub fn generation(&self) -> Generation {
        self.tool_server.config.generation
    }

    /// The server's generation and identity, to which rules are bound.
    pub(crate) fn binding(&self) -> &ServerBinding {
        &self.tool_server.binding
    }

    pub fn server_name(&self) -> &str {
        &self.tool_server.config.name
    }

    /// The title, without invisible characters.
    pub fn title(&self) -> Option<&str> {
        self.definition.title.as_deref()
    }

    /// The definition as the server sent it, byte for byte.
    pub fn definition(&self) -> &RawValue {
        &self.definition.raw
    }

    /// The tool as an item for rules, with its current access class.
    pub(crate) fn subject_facts<'a>(&'a self, class: &'a AccessClassification) -> SubjectFacts<'a> {
        SubjectFacts {
            server: self.binding(),
            subject: SubjectRef::Tool(self.name()),
            class,
            definition: DefinitionRef::Pinned { pin: self.name(), fingerprint: self.fingerprint() },
        }
    }

    pub fn fingerprint(&self) -> &Fingerprint {
        &self.definition.fingerprint
    }
}

/// Tools, resources, templates and prompts of all enabled servers.
#[derive(Default)]
pub struct ToolCatalog {
    tools: Vec<CatalogTool>,
    by_exposed: HashMap<Arc<str>, usize>,
    list: Vec<Box<RawValue>>,
    left_out: Vec<OmittedTool>,
    resource_catalog: ResourceCatalog,
    parts: HashMap<ServerId, Arc<ServerTools>>,
    naming: ToolNaming,
}

impl fmt::Debug for ToolCatalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolCatalog").field("tools", &self.tools.len()).finish_non_exhaustive()
    }
}

/// The parsed lists of one server; reused from one catalog to the next.
struct ServerTools {
    lists: Arc<ServerLists>,
    tools: Vec<Arc<ParsedDefinition>>,
    /// Names and reasons of tools that are left out.
    left_out: Vec<(String, String)>,
    listing: Arc<ServerListing>,
}

/// Input for a server's part of the catalog.
pub(crate) struct ServerSource {
    pub(crate) config: Arc<ServerConfig>,
    pub(crate) lists: Arc<ServerLists>,
}

impl ToolCatalog {
    /// Builds the catalog of these servers. Parts that didn't change are reused.
    pub(crate) fn rebuild(
        &self,
        sources: &[ServerSource],
        naming: ToolNaming,
        names: &mut ExposedNames,
    ) -> Self {
        let mut next = Self { naming, ..Self::default() };
        let before: HashMap<(&ServerId, &str), usize> = self
            .tools
            .iter()
            .enumerate()
            .map(|(index, tool)| ((tool.server(), tool.name()), index))
            .collect();
        let mut listed_servers = Vec::new();
        for source in sources {
            // Lists of an older generation belong to the server before it was edited.
            if !source.config.enabled || source.lists.generation != source.config.generation {
                continue;
            }
            let id = &source.config.id;
            let part = match self.parts.get(id) {
                Some(part) if Arc::ptr_eq(&part.lists, &source.lists) => part.clone(),
                old => Arc::new(ServerTools::read(id, &source.lists, old.map(|part| &**part))),
            };
            let tool_server = Arc::new(ToolServer {
                config: source.config.clone(),
                binding: source.config.binding(),
                lists: source.lists.clone(),
            });
            for definition in &part.tools {
                let exposed = names.tools.name(naming, id, &source.config.name, &definition.name);
                let old = before
                    .get(&(id, &*definition.name))
                    .and_then(|index| Some((self.tools.get(*index)?, self.list.get(*index)?)))
                    .filter(|(tool, _)| {
                        Arc::ptr_eq(&tool.definition, definition) && *tool.exposed == *exposed
                    });
                let (exposed, listed) = match old {
                    Some((tool, listed)) => (tool.exposed.clone(), listed.clone()),
                    None => (Arc::from(&*exposed), definition.exposed(&exposed)),
                };
                next.by_exposed.insert(exposed.clone(), next.tools.len());
                next.tools.push(CatalogTool {
                    exposed,
                    tool_server: tool_server.clone(),
                    definition: definition.clone(),
                });
                next.list.push(listed);
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
                listing: part.listing.clone(),
            });
            next.parts.insert(id.clone(), part);
        }
        next.resource_catalog = self.resource_catalog.rebuild(listed_servers, naming, &mut names.prompts);
        next
    }

    /// Whether this is already the catalog of these servers.
    pub(crate) fn is_built_from(&self, sources: &[ServerSource], naming: ToolNaming) -> bool {
        let counted = |source: &&ServerSource| {
            source.config.enabled && source.lists.generation == source.config.generation
        };
        self.naming == naming
            && sources.iter().filter(counted).count() == self.parts.len()
            && sources.iter().filter(counted).all(|source| {
                self.parts.get(&source.config.id).is_some_and(|part| Arc::ptr_eq(&part.lists, &source.lists))
            })
            && self.tools.iter().all(|tool| {
                sources.iter().any(|source| Arc::ptr_eq(&source.config, &tool.tool_server.config))
            })
    }

    /// Whether clients see the same tools.
    pub(crate) fn same_tools(&self, other: &Self) -> bool {
        self.tools.len() == other.tools.len()
            && self
                .tools
                .iter()
                .zip(&other.tools)
                .all(|(one, two)| one.exposed == two.exposed && Arc::ptr_eq(&one.definition, &two.definition))
    }

    /// Whether clients see the same resources and templates.
    pub(crate) fn same_resources(&self, other: &Self) -> bool {
        self.resource_catalog.same_resources(&other.resource_catalog)
    }

    /// Whether clients see the same prompts.
    pub(crate) fn same_prompts(&self, other: &Self) -> bool {
        self.resource_catalog.same_prompts(&other.resource_catalog)
    }

    /// All tools, grouped by server.
    pub fn tools(&self) -> &[CatalogTool] {
        &self.tools
    }

    /// The tool with an exposed name.
    pub fn by_exposed(&self, name: &str) -> Option<&CatalogTool> {
        self.tools.get(*self.by_exposed.get(name)?)
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
    /// descriptions.
    pub fn list(&self, of: CatalogList) -> &[Box<RawValue>] {
        match of {
            CatalogList::Tools => &self.list,
            CatalogList::Resources | CatalogList::Templates | CatalogList::Prompts => {
                self.resource_catalog.list(of)
            }
        }
    }

    /// The server of a resource: the one that lists it, otherwise the one with the closest matching template.
    pub fn resource(&self, uri: &str) -> Option<ResolvedTarget> {
        self.resource_catalog.resource(uri)
    }

    /// The server of a resource template or of a resource, for completing arguments.
    pub fn template(&self, uri: &str) -> Option<ResolvedTarget> {
        self.resource_catalog.template(uri)
    }

    /// The server of a prompt, by its exposed name.
    pub fn prompt(&self, exposed: &str) -> Option<ResolvedTarget> {
        self.resource_catalog.prompt(exposed)
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
            None => SubjectInfo::unknown(),
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

    /// The tools that are left out, with reasons.
    pub fn omitted(&self) -> &[OmittedTool] {
        &self.left_out
    }
}

impl ServerTools {
    fn read(server: &ServerId, lists: &Arc<ServerLists>, old: Option<&ServerTools>) -> Self {
        let known: HashMap<&str, &Arc<ParsedDefinition>> =
            old.map(|part| part.tools.iter().map(|tool| (&*tool.name, tool)).collect()).unwrap_or_default();
        let mut part = Self {
            lists: lists.clone(),
            tools: Vec::with_capacity(lists.tools.len()),
            left_out: Vec::new(),
            listing: Arc::new(ServerListing::read(server, lists)),
        };
        let mut seen = HashSet::new();
        for tool in &lists.tools {
            let read = match known.get(tool.name.as_str()) {
                Some(known) if known.raw.get() == tool.raw.get() => Ok((*known).clone()),
                _ => ParsedDefinition::read(&tool.raw).map(Arc::new),
            };
            let read = read.and_then(|definition| {
                if seen.insert(definition.name.clone()) {
                    Ok(definition)
                } else {
                    Err("The server has another tool of the same name.".to_owned())
                }
            });
            match read {
                Ok(definition) => part.tools.push(definition),
                Err(reason) => {
                    tracing::warn!(%server, tool = ?tool.name, reason, "a tool is not offered");
                    part.left_out.push((reveal(&tool.name).into_owned(), reveal(&reason).into_owned()));
                }
            }
        }
        part
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
        ServerSource { config: Arc::new(config), lists: Arc::new(lists) }
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
        assert!(!first.is_built_from(std::slice::from_ref(&next), ToolNaming::default()));
        let began = Instant::now();
        let second = first.rebuild(std::slice::from_ref(&next), ToolNaming::default(), &mut names);
        let took = began.elapsed();
        assert!(second.is_built_from(&[next], ToolNaming::default()));
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
}
