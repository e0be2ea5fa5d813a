//! The tool catalog over all servers (TOOL-1): an immutable value that is rebuilt when a list changes, with
//! look-up by exposed name. It never decides whether a tool may run.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;
use gatehouse_model::ask::Subject;
use gatehouse_model::grant::Classified;
use gatehouse_model::{
    Fingerprint, Generation, LeftOutTool, ServerBinding, ServerConfig, ServerId, ToolNaming, ToolView,
};
use gatehouse_policy::cover::{Defined, Item};
use gatehouse_policy::show::reveal;
use gatehouse_servers::Lists;
use serde_json::value::RawValue;

use crate::definition::Definition;
use crate::names::Names;
use crate::origin::{Described, Known};
use crate::permissions::LastingRules;
use crate::shelf::{ListOf, Place, Shelf, Stock, Supplier};
use crate::standing::RightsNow;

/// The server of some tools, at the time when the catalog was built.
pub(crate) struct Home {
    pub(crate) config: Arc<ServerConfig>,
    /// The server's generation and identity, to which rules are bound.
    pub(crate) binding: ServerBinding,
    pub(crate) lists: Arc<Lists>,
}

#[derive(Clone)]
pub struct CatalogueTool {
    pub(crate) exposed: Arc<str>,
    pub(crate) home: Arc<Home>,
    pub(crate) definition: Arc<Definition>,
}

impl fmt::Debug for CatalogueTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CatalogueTool")
            .field("exposed", &self.exposed)
            .field("server", &self.home.config.id)
            .finish_non_exhaustive()
    }
}

impl CatalogueTool {
    /// The name that clients use.
    #[must_use]
    pub fn exposed_name(&self) -> &str {
        &self.exposed
    }

    /// The name on the server.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.definition.name
    }

    #[must_use]
    pub fn server(&self) -> &ServerId {
        &self.home.config.id
    }

    #[must_use]
    pub fn generation(&self) -> Generation {
        self.home.config.generation
    }

    /// The server's generation and identity, to which rules are bound.
    pub(crate) fn binding(&self) -> &ServerBinding {
        &self.home.binding
    }

    #[must_use]
    pub fn server_name(&self) -> &str {
        &self.home.config.name
    }

    /// The title, without invisible characters.
    #[must_use]
    pub fn title(&self) -> Option<&str> {
        self.definition.title.as_deref()
    }

    /// The definition as the server sent it, byte for byte.
    #[must_use]
    pub fn definition(&self) -> &RawValue {
        &self.definition.raw
    }

    /// The tool as an item for rules, with its current access class.
    pub(crate) fn item<'a>(&'a self, class: &'a Classified) -> Item<'a> {
        Item {
            server: self.binding(),
            subject: self.name(),
            class,
            definition: Defined::As { pin: self.name(), fingerprint: self.fingerprint() },
        }
    }

    #[must_use]
    pub fn fingerprint(&self) -> &Fingerprint {
        &self.definition.fingerprint
    }
}

/// Tools, resources, templates and prompts of all enabled servers.
pub struct Catalogue {
    tools: Vec<CatalogueTool>,
    by_exposed: HashMap<Arc<str>, usize>,
    list: Vec<Box<RawValue>>,
    left_out: Vec<LeftOutTool>,
    shelf: Shelf,
    parts: HashMap<ServerId, Arc<Part>>,
    naming: ToolNaming,
    rights: Arc<ArcSwap<RightsNow>>,
}

impl fmt::Debug for Catalogue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Catalogue").field("tools", &self.tools.len()).finish_non_exhaustive()
    }
}

/// The parsed lists of one server; reused from one catalog to the next.
struct Part {
    lists: Arc<Lists>,
    tools: Vec<Arc<Definition>>,
    /// Names and reasons of tools that are left out.
    left_out: Vec<(String, String)>,
    stock: Arc<Stock>,
}

/// Input for a server's part of the catalog.
pub(crate) struct Source {
    pub(crate) config: Arc<ServerConfig>,
    pub(crate) lists: Arc<Lists>,
}

impl Catalogue {
    pub(crate) fn empty(rights: Arc<ArcSwap<RightsNow>>) -> Self {
        Self {
            tools: Vec::new(),
            by_exposed: HashMap::new(),
            list: Vec::new(),
            left_out: Vec::new(),
            shelf: Shelf::default(),
            parts: HashMap::new(),
            naming: ToolNaming::default(),
            rights,
        }
    }

    /// Builds the catalog of these servers. Parts that didn't change are reused.
    pub(crate) fn rebuilt(&self, sources: &[Source], naming: ToolNaming, names: &mut Names) -> Self {
        let mut next = Self::empty(self.rights.clone());
        next.naming = naming;
        let before: HashMap<(&ServerId, &str), usize> = self
            .tools
            .iter()
            .enumerate()
            .map(|(index, tool)| ((tool.server(), tool.name()), index))
            .collect();
        let mut suppliers = Vec::new();
        for source in sources {
            // Lists of an older generation belong to the server before it was edited.
            if !source.config.enabled || source.lists.generation != source.config.generation {
                continue;
            }
            let id = &source.config.id;
            let part = match self.parts.get(id) {
                Some(part) if Arc::ptr_eq(&part.lists, &source.lists) => part.clone(),
                old => Arc::new(Part::read(id, &source.lists, old.map(|part| &**part))),
            };
            let home = Arc::new(Home {
                config: source.config.clone(),
                binding: source.config.binding(),
                lists: source.lists.clone(),
            });
            for definition in &part.tools {
                let exposed = names.tools.name(naming, (id, &source.config.name), &definition.name);
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
                next.tools.push(CatalogueTool {
                    exposed,
                    home: home.clone(),
                    definition: definition.clone(),
                });
                next.list.push(listed);
            }
            next.left_out.extend(part.left_out.iter().map(|(name, reason)| LeftOutTool {
                server: id.clone(),
                server_name: source.config.name.clone(),
                name: name.clone(),
                reason: reason.clone(),
            }));
            suppliers.push(Supplier {
                server: id.clone(),
                name: source.config.name.clone(),
                stock: part.stock.clone(),
            });
            next.parts.insert(id.clone(), part);
        }
        next.shelf = self.shelf.restocked(suppliers, naming, &mut names.prompts);
        next
    }

    /// Whether this is already the catalog of these servers.
    pub(crate) fn is_of(&self, sources: &[Source], naming: ToolNaming) -> bool {
        let counted =
            |source: &&Source| source.config.enabled && source.lists.generation == source.config.generation;
        self.naming == naming
            && sources.iter().filter(counted).count() == self.parts.len()
            && sources.iter().filter(counted).all(|source| {
                self.parts.get(&source.config.id).is_some_and(|part| Arc::ptr_eq(&part.lists, &source.lists))
            })
            && self
                .tools
                .iter()
                .all(|tool| sources.iter().any(|source| Arc::ptr_eq(&source.config, &tool.home.config)))
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
        self.shelf.same_resources(&other.shelf)
    }

    /// Whether clients see the same prompts.
    pub(crate) fn same_prompts(&self, other: &Self) -> bool {
        self.shelf.same_prompts(&other.shelf)
    }

    /// All tools, grouped by server.
    #[must_use]
    pub fn tools(&self) -> &[CatalogueTool] {
        &self.tools
    }

    /// The tool with an exposed name.
    #[must_use]
    pub fn by_exposed(&self, name: &str) -> Option<&CatalogueTool> {
        self.tools.get(*self.by_exposed.get(name)?)
    }

    /// A tool by its server and its name on that server.
    #[must_use]
    pub fn find(&self, server: &ServerId, name: &str) -> Option<&CatalogueTool> {
        self.tools.iter().find(|tool| tool.name() == name && tool.server() == server)
    }

    /// All tools of one server.
    pub fn of_server<'a>(&'a self, server: &'a ServerId) -> impl Iterator<Item = &'a CatalogueTool> {
        self.tools.iter().filter(move |tool| tool.server() == server)
    }

    /// The tool definitions for clients: the server's bytes with exposed names and cleaned titles and
    /// descriptions.
    #[must_use]
    pub fn list_json(&self) -> &[Box<RawValue>] {
        &self.list
    }

    /// One of the lists for clients: the servers' bytes with exposed names.
    #[must_use]
    pub fn list(&self, of: ListOf) -> &[Box<RawValue>] {
        match of {
            ListOf::Tools => &self.list,
            ListOf::Resources | ListOf::Templates | ListOf::Prompts => self.shelf.list(of),
        }
    }

    /// The server of a resource: the one that lists it, otherwise the one with the closest matching template.
    #[must_use]
    pub fn resource(&self, uri: &str) -> Option<Place> {
        self.shelf.resource(uri)
    }

    /// The server of a resource template or of a resource, for completing arguments.
    #[must_use]
    pub fn template(&self, uri: &str) -> Option<Place> {
        self.shelf.template(uri)
    }

    /// The server of a prompt, by its exposed name.
    #[must_use]
    pub fn prompt(&self, exposed: &str) -> Option<Place> {
        self.shelf.prompt(exposed)
    }

    /// Access class and definition of something other than a tool. Unknown if the server's lists aren't
    /// available, or are of another generation.
    pub(crate) fn origin(&self, server: &ServerId, generation: Generation, subject: &Subject) -> Known {
        match self.parts.get(server).filter(|part| part.lists.generation == generation) {
            Some(part) => Known { lists: Some(part.lists.clone()), ..part.stock.origins.of(subject) },
            None => Known::nothing(),
        }
    }

    /// The prompts and resource templates of one server.
    pub(crate) fn described(
        &self,
        server: &ServerId,
        generation: Generation,
    ) -> impl Iterator<Item = &Arc<Described>> {
        let part = self.parts.get(server).filter(|part| part.lists.generation == generation);
        part.into_iter().flat_map(|part| part.stock.origins.described())
    }

    /// The tools that are left out, with reasons.
    #[must_use]
    pub fn left_out(&self) -> &[LeftOutTool] {
        &self.left_out
    }

    /// How exposed names are formed.
    #[must_use]
    pub fn naming(&self) -> ToolNaming {
        self.naming
    }

    /// The current access class of a tool.
    #[must_use]
    pub fn class(&self, tool: &CatalogueTool) -> Classified {
        self.rights.load().class_of(tool).clone()
    }

    /// All tools as the UI shows them.
    #[must_use]
    pub fn views(&self) -> Vec<ToolView> {
        let rights = self.rights.load();
        let rules = LastingRules::new(rights.rules(), None);
        self.tools
            .iter()
            .map(|tool| ToolView {
                permission: rules.permission(&tool.item(rights.class_of(tool))),
                exposed_name: tool.exposed.to_string(),
                server: tool.server().clone(),
                generation: tool.generation(),
                server_name: tool.server_name().to_owned(),
                name: tool.name().to_owned(),
                title: tool.definition.title.clone(),
                description: tool.definition.description.clone(),
                input_schema: tool.definition.input_schema.to_string(),
                class: rights.class_of(tool).clone(),
                fingerprint: tool.fingerprint().clone(),
                flags: tool.definition.flags.clone(),
            })
            .collect()
    }
}

impl Part {
    fn read(server: &ServerId, lists: &Arc<Lists>, old: Option<&Part>) -> Self {
        let known: HashMap<&str, &Arc<Definition>> =
            old.map(|part| part.tools.iter().map(|tool| (&*tool.name, tool)).collect()).unwrap_or_default();
        let mut part = Self {
            lists: lists.clone(),
            tools: Vec::with_capacity(lists.tools.len()),
            left_out: Vec::new(),
            stock: Arc::new(Stock::read(server, lists)),
        };
        let mut seen = HashSet::new();
        for tool in &lists.tools {
            let read = match known.get(tool.name.as_str()) {
                Some(known) if known.raw.get() == tool.raw.get() => Ok((*known).clone()),
                _ => Definition::read(&tool.raw).map(Arc::new),
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

    use gatehouse_model::server::{Builtin, Limits, Look, Origin};
    use gatehouse_model::{Grant, Transport};
    use gatehouse_servers::ToolDefinition;

    use super::*;

    fn json(text: String) -> Box<RawValue> {
        RawValue::from_string(text).unwrap()
    }

    fn source(name: &str, generation: u32, tools: impl Iterator<Item = (String, String)>) -> Source {
        let config = ServerConfig {
            id: name.into(),
            generation: Generation(generation),
            name: name.to_owned(),
            transport: Transport::Builtin { builtin: Builtin::Time },
            enabled: true,
            autostart: true,
            look: Look::default(),
            limits: Limits::default(),
            origin: Origin::User,
        };
        let lists = Lists {
            generation: Generation(1),
            tools: tools
                .map(|(name, words)| ToolDefinition {
                    raw: json(format!(
                        r#"{{"name":"{name}","description":"{words}","inputSchema":{{"type":"object","properties":{{"path":{{"type":"string","description":"Where to."}}}}}}}}"#
                    )),
                    name,
                })
                .collect(),
            ..Lists::default()
        };
        Source { config: Arc::new(config), lists: Arc::new(lists) }
    }

    fn rights() -> Arc<ArcSwap<RightsNow>> {
        Arc::new(ArcSwap::from_pointee(RightsNow::new(Default::default(), Vec::<Grant>::new(), None)))
    }

    #[test]
    fn ten_thousand_tools_are_read_once() {
        let mut names = Names::open(None);
        let tools = |changed: usize| {
            (0..10_000).map(move |n| {
                let words = if n == changed { "Was changed." } else { "Does a thing." };
                (format!("tool_{n}"), words.to_owned())
            })
        };
        let first = Catalogue::empty(rights()).rebuilt(
            &[source("big", 1, tools(0))],
            ToolNaming::default(),
            &mut names,
        );
        assert_eq!(first.tools().len(), 10_000);
        assert_eq!(first.by_exposed("tool_9999").unwrap().name(), "tool_9999");

        let next = source("big", 1, tools(1));
        assert!(!first.is_of(std::slice::from_ref(&next), ToolNaming::default()));
        let began = Instant::now();
        let second = first.rebuilt(std::slice::from_ref(&next), ToolNaming::default(), &mut names);
        let took = began.elapsed();
        assert!(second.is_of(&[next], ToolNaming::default()));
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
    fn lists_of_another_generation_and_disabled_servers_count_for_nothing() {
        let mut names = Names::open(None);
        let one = || std::iter::once(("read".to_owned(), "Reads.".to_owned()));
        let edited = source("a", 2, one());
        let mut off = source("b", 1, one());
        Arc::make_mut(&mut off.config).enabled = false;
        let made = Catalogue::empty(rights()).rebuilt(&[edited, off], ToolNaming::default(), &mut names);
        assert!(made.tools().is_empty() && made.list_json().is_empty());
    }

    #[test]
    fn names_follow_the_mode() {
        let mut names = Names::open(None);
        let sources = [
            source("a", 1, std::iter::once(("read".to_owned(), "Reads.".to_owned()))),
            source("b", 1, std::iter::once(("read".to_owned(), "Reads.".to_owned()))),
        ];
        for (naming, expect) in [
            (ToolNaming::OnConflict, ["read", "b__read"]),
            (ToolNaming::Server, ["a__read", "b__read"]),
            (ToolNaming::McpServer, ["mcp__a__read", "mcp__b__read"]),
        ] {
            let made = Catalogue::empty(rights()).rebuilt(&sources, naming, &mut names);
            let exposed: Vec<&str> = made.tools().iter().map(CatalogueTool::exposed_name).collect();
            assert_eq!(exposed, expect);
            for tool in made.tools() {
                assert_eq!(made.by_exposed(tool.exposed_name()).unwrap().server(), tool.server());
            }
        }
    }
}
