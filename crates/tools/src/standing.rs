//! The current permissions as one immutable value that every call reads. Only the permission store makes it.

use std::collections::{HashMap, HashSet};

use gatehouse_model::grant::{AccessClass, Classified, Rights};
use gatehouse_model::{Grant, Problem, ServerBinding, ServerId};
use gatehouse_policy::verdict::RuleBook;

use crate::catalogue::CatalogueTool;

/// The permissions in force.
#[derive(Debug, Default)]
pub(crate) struct RightsNow {
    /// All rules, indexed.
    pub(crate) book: RuleBook,
    /// Rules with a limited lifetime.
    pub(crate) timed: Vec<Grant>,
    /// Whether the stored permissions could be verified.
    pub(crate) verified: bool,
    /// Why they couldn't.
    pub(crate) problem: Option<Problem>,
    /// The stored permissions.
    pub(crate) rights: Rights,
    overrides: HashMap<ServerId, HashMap<String, (ServerBinding, AccessClass)>>,
    trusted: HashSet<ServerBinding>,
}

impl RightsNow {
    pub(crate) fn new(rights: Rights, timed: Vec<Grant>, problem: Option<Problem>) -> Self {
        let mut overrides: HashMap<ServerId, HashMap<String, _>> = HashMap::new();
        for user in &rights.overrides {
            overrides
                .entry(user.server.server.clone())
                .or_default()
                .insert(user.tool.clone(), (user.server.clone(), user.class));
        }
        let trusted = rights.trusted_labels.iter().cloned().collect();
        let rules = rights.rules.iter().chain(&timed).cloned().collect();
        Self {
            book: RuleBook::new(rules),
            timed,
            verified: problem.is_none(),
            problem,
            rights,
            overrides,
            trusted,
        }
    }

    /// Whether the user trusts the labels of a server in this generation.
    pub(crate) fn trusts(&self, server: &ServerBinding) -> bool {
        self.trusted.contains(server)
    }

    pub(crate) fn class_of<'a>(&self, tool: &'a CatalogueTool) -> &'a Classified {
        let user = self
            .overrides
            .get(tool.server())
            .and_then(|tools| tools.get(tool.name()))
            .filter(|(of, _)| of == tool.binding())
            .map(|(_, class)| *class);
        tool.definition.class(user, self.trusts(tool.binding()))
    }

    pub(crate) fn rules(&self) -> impl Iterator<Item = &Grant> {
        self.rights.rules.iter().chain(&self.timed)
    }
}
