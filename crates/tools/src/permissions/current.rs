//! The current permissions as one immutable value that every call reads. Only the permission store makes it.

use std::collections::{HashMap, HashSet};

use gatehouse_model::grant::{AccessClass, AccessClassification, StoredPermissions};
use gatehouse_model::{Grant, ServerBinding, ServerId, UserError};
use gatehouse_policy::verdict::RuleSet;

use crate::catalog::catalog_tool::CatalogTool;

/// The permissions in force.
#[derive(Debug, Default)]
pub(crate) struct CurrentPermissions {
    /// All rules, indexed.
    pub(crate) rule_set: RuleSet,
    /// Rules with a limited lifetime.
    pub(crate) timed: Vec<Grant>,
    /// Whether the stored permissions could be verified.
    pub(crate) verified: bool,
    /// Why they couldn't.
    pub(crate) problem: Option<UserError>,
    pub(crate) stored: StoredPermissions,
    overrides: HashMap<ServerId, HashMap<String, (ServerBinding, AccessClass)>>,
    trusted: HashSet<ServerBinding>,
}

impl CurrentPermissions {
    pub(crate) fn new(stored: StoredPermissions, timed: Vec<Grant>, problem: Option<UserError>) -> Self {
        let mut overrides: HashMap<ServerId, HashMap<String, _>> = HashMap::new();
        for user in &stored.overrides {
            overrides
                .entry(user.server.server.clone())
                .or_default()
                .insert(user.tool.clone(), (user.server.clone(), user.class));
        }
        let trusted = stored.trusted_labels.iter().cloned().collect();
        let rules = stored.rules.iter().chain(&timed).cloned().collect();
        Self {
            rule_set: RuleSet::new(rules),
            timed,
            verified: problem.is_none(),
            problem,
            stored,
            overrides,
            trusted,
        }
    }

    /// Whether the user trusts the labels of a server in this generation.
    pub(crate) fn trusts(&self, server: &ServerBinding) -> bool {
        self.trusted.contains(server)
    }

    pub(crate) fn class_of<'a>(&self, tool: &'a CatalogTool) -> &'a AccessClassification {
        let user = self
            .overrides
            .get(tool.server())
            .and_then(|tools| tools.get(tool.name()))
            .filter(|(of, _)| of == tool.binding())
            .map(|(_, class)| *class);
        tool.definition.class(user, self.trusts(tool.binding()))
    }

    pub(crate) fn rules(&self) -> impl Iterator<Item = &Grant> {
        self.stored.rules.iter().chain(&self.timed)
    }
}
