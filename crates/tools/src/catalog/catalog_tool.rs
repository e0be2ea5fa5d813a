//! One tool of the catalog: its definition, the name that clients use, and its server as it was when the catalog was built.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use gatehouse_model::grant::AccessClassification;
use gatehouse_model::subject::SubjectRef;
use gatehouse_model::{Fingerprint, Generation, ServerBinding, ServerConfig, ServerId};
use gatehouse_policy::coverage::{DefinitionRef, SubjectFacts};
use gatehouse_servers::ServerLists;
use serde_json::value::RawValue;

use crate::catalog::task_support::{TaskSupport, without_task_support};
use crate::catalog::tool_definition::ParsedDefinition;

/// The server of some tools, at the time when the catalog was built.
pub(crate) struct ToolServer {
    pub(crate) config: Arc<ServerConfig>,
    /// The server's generation and identity, to which rules are bound.
    pub(crate) binding: ServerBinding,
    pub(crate) lists: Arc<ServerLists>,
    /// Whether the lists are what the server has now, and not what was last known.
    pub(super) is_connected: bool,
    /// Whether the server runs calls as tasks.
    pub(super) has_tasks: bool,
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

    /// Whether this is only what was last known of the tool: its server isn't connected.
    pub fn is_last_known(&self) -> bool {
        !self.tool_server.is_connected
    }

    /// The tool as a list for clients with tasks has it, given as it is listed otherwise.
    pub(crate) fn with_tasks<'a>(&self, listed: Cow<'a, RawValue>) -> Cow<'a, RawValue> {
        if self.tool_server.has_tasks { listed } else { self.without_task_support(listed) }
    }

    /// The same for a list for clients without tasks; `None` if the tool runs in no other way.
    pub(crate) fn without_tasks<'a>(&self, listed: Cow<'a, RawValue>) -> Option<Cow<'a, RawValue>> {
        (self.definition.task_support != TaskSupport::Required).then(|| self.without_task_support(listed))
    }

    fn without_task_support<'a>(&self, listed: Cow<'a, RawValue>) -> Cow<'a, RawValue> {
        match self.definition.task_support {
            TaskSupport::Unsaid => listed,
            TaskSupport::Optional | TaskSupport::Required => Cow::Owned(without_task_support(&listed)),
        }
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
