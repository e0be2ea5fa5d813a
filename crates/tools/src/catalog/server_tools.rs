//! One server's part of the catalog: its lists, parsed once. Definitions whose bytes didn't change are reused.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use gatehouse_model::ServerId;
use gatehouse_policy::display::reveal;
use gatehouse_servers::ServerLists;

use crate::catalog::list_versions::CatalogVersions;
use crate::catalog::resource_catalog::{CatalogList, ServerListing};
use crate::catalog::task_support::{FOR_SOME_CLIENTS, TaskSupport, WITHOUT_TASKS};
use crate::catalog::tool_definition::ParsedDefinition;

/// The parsed lists of one server; reused from one catalog to the next.
pub(super) struct ServerTools {
    pub(super) lists: Arc<ServerLists>,
    pub(super) tools: Vec<Arc<ParsedDefinition>>,
    /// Names and reasons of tools that are left out of lists.
    pub(super) left_out: Vec<(String, String)>,
    /// Whether the server runs calls as tasks.
    pub(super) has_tasks: bool,
    pub(super) listing: Arc<ServerListing>,
    /// For each list, the build since which it is as it is.
    pub(super) versions: CatalogVersions,
}

impl ServerTools {
    pub(super) fn read(server: &ServerId, lists: &Arc<ServerLists>, old: Option<&ServerTools>) -> Self {
        let known: HashMap<&str, &Arc<ParsedDefinition>> =
            old.map(|part| part.tools.iter().map(|tool| (&*tool.name, tool)).collect()).unwrap_or_default();
        let mut part = Self {
            lists: lists.clone(),
            tools: Vec::with_capacity(lists.tools.len()),
            left_out: Vec::new(),
            has_tasks: lists.has_tasks(),
            listing: Arc::new(ServerListing::read(server, lists)),
            versions: CatalogVersions::default(),
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
            let read = read.and_then(|definition| match (definition.task_support, part.has_tasks) {
                (TaskSupport::Required, false) => Err(WITHOUT_TASKS.to_owned()),
                (TaskSupport::Required, true) => {
                    part.left_out.push((reveal(&tool.name).into_owned(), FOR_SOME_CLIENTS.to_owned()));
                    Ok(definition)
                }
                (TaskSupport::Optional | TaskSupport::Unsaid, _) => Ok(definition),
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

    /// The versions of its lists in this build: those of `old` where nothing changed.
    pub(super) fn versions(&self, old: Option<&ServerTools>, build: u64) -> CatalogVersions {
        let Some(old) = old else {
            return CatalogVersions { tools: build, resources: build, prompts: build, marks: 0 };
        };
        let since = |is_same: bool, before: u64| if is_same { before } else { build };
        let same_tools = self.tools.len() == old.tools.len()
            && self.has_tasks == old.has_tasks
            && self.tools.iter().zip(&old.tools).all(|(one, two)| Arc::ptr_eq(one, two));
        let has_same = |list| self.listing.has_same(&old.listing, list);
        CatalogVersions {
            tools: since(same_tools, old.versions.tools),
            resources: since(
                has_same(CatalogList::Resources) && has_same(CatalogList::Templates),
                old.versions.resources,
            ),
            prompts: since(has_same(CatalogList::Prompts), old.versions.prompts),
            marks: 0,
        }
    }
}
