//! Permissions as the UI shows them.

use std::collections::{HashMap, HashSet};

use gatehouse_model::grant::{AccessClassification, AutoApproveView, ClientScope, PolicyView, RuleView};
use gatehouse_model::{ClientId, Decision, Grant, Message, RuleEffect, Scope, ServerId, ToolView};
use gatehouse_policy::coverage::{SubjectFacts, is_unbound};
use gatehouse_policy::rule_messages::{RuleNames, describe_author, describe_rule};

use super::effective::{ApprovedDefinitions, PermanentRules, rule_coverage, setting};
use super::permission_store::PermissionStore;
use crate::catalog::catalog_tool::CatalogTool;
use crate::catalog::tool_catalog::ToolCatalog;

/// A rule described in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleWords {
    /// What it allows or denies.
    pub sentence: Message,
    /// A note on its author, if it isn't certain that the user made it.
    pub note: Option<Message>,
}

impl PermissionStore {
    /// All rules with their descriptions, and whether the permissions could be verified.
    pub fn view(&self) -> PolicyView {
        let now = self.now();
        let used = self.state.last_used.lock();
        let catalog = self.state.catalog.load();
        let mut items: HashMap<&ServerId, Vec<SubjectFacts<'_>>> = HashMap::new();
        for tool in catalog.tools() {
            items.entry(tool.server()).or_default().push(tool.subject_facts(now.class_of(tool)));
        }
        let of_server = |server: &ServerId| items.get(server).map(Vec::as_slice).unwrap_or_default();
        let view = |rule: &Grant| {
            let RuleWords { sentence, note } = self.describe(rule, &HashMap::new());
            RuleView {
                rule: rule.clone(),
                sentence,
                note,
                last_used: used.get(&rule.id).copied(),
                reach: rule.server.as_ref().and_then(|bound| rule_coverage(rule, of_server(&bound.server))),
            }
        };
        let mut clients: Vec<Option<ClientId>> =
            self.state.client_names.lock().keys().cloned().map(Some).collect();
        clients.sort();
        clients.insert(0, None);
        let servers = self.bindings();
        let mut auto_approve = Vec::with_capacity(servers.len() * clients.len());
        for client in clients {
            let scope = client.clone().map_or(ClientScope::Every, |client| ClientScope::One { client });
            let permanent = PermanentRules::new(now.rules(), client.as_ref());
            for bound in &servers {
                let (allowed, late) = permanent.count(of_server(&bound.server));
                let (setting, waits_for_first_use) = setting(now.rules(), bound, &scope);
                let (server, client) = (bound.server.clone(), client.clone());
                auto_approve.push(AutoApproveView {
                    server,
                    client,
                    setting,
                    allowed,
                    waits_for_first_use,
                    late,
                });
            }
        }
        PolicyView {
            verified: now.verified,
            problem: now.problem.clone(),
            paused: self.paused(),
            rules: now.rules().map(view).collect(),
            auto_approve,
            overrides: now.stored.overrides.clone(),
            trusted_labels: now.stored.trusted_labels.clone(),
        }
    }

    /// All tools of the catalog as the UI shows them, with their access classes and effective permissions.
    pub fn tool_views(&self) -> Vec<ToolView> {
        let catalog = self.state.catalog.load();
        let now = self.now();
        let rules = PermanentRules::new(now.rules(), None);
        let approved = ApprovedDefinitions::new(now.rules());
        let view = |tool: &CatalogTool| ToolView {
            permission: rules.permission(&tool.subject_facts(now.class_of(tool))),
            approved_versions: approved.count(&tool.subject_facts(now.class_of(tool))),
            exposed_name: tool.exposed_name().to_owned(),
            server: tool.server().clone(),
            generation: tool.generation(),
            server_name: tool.server_name().to_owned(),
            name: tool.name().to_owned(),
            title: tool.definition.title.clone(),
            description: tool.definition.description.clone(),
            input_schema: tool.definition.input_schema.to_string(),
            class: now.class_of(tool).clone(),
            fingerprint: tool.fingerprint().clone(),
            flags: tool.definition.flags.clone(),
        };
        catalog.tools().iter().map(view).collect()
    }

    /// The access class of a tool.
    #[must_use]
    pub fn class_of(&self, tool: &CatalogTool) -> AccessClassification {
        self.now().class_of(tool).clone()
    }

    /// The tools of a catalog that a permanent rule without conditions blocks for a client; for every client if none is
    /// given. By server and name on the server.
    pub(crate) fn denied_tools(
        &self,
        catalog: &ToolCatalog,
        client: Option<&ClientId>,
    ) -> HashMap<ServerId, HashSet<Box<str>>> {
        let now = self.now();
        let rules = PermanentRules::new(now.rules(), client);
        let mut denied: HashMap<ServerId, HashSet<Box<str>>> = HashMap::new();
        for tool in catalog.tools() {
            if rules.permission(&tool.subject_facts(now.class_of(tool))).decision == Decision::Deny {
                denied.entry(tool.server().clone()).or_default().insert(tool.name().into());
            }
        }
        denied
    }

    /// Describes a rule. `former` maps ids of servers and clients that no longer exist to their names.
    #[must_use]
    pub fn describe(&self, rule: &Grant, former: &HashMap<String, String>) -> RuleWords {
        let server = rule.server.as_ref().and_then(|bound| {
            let known = self.server_name(&bound.server);
            known.or_else(|| former.get(bound.server.as_str()).cloned())
        });
        let client = match &rule.clients {
            ClientScope::Every => None,
            ClientScope::One { client } => {
                let known = self.state.client_names.lock().get(client).cloned();
                known.or_else(|| former.get(client.as_str()).cloned())
            }
        };
        let names = RuleNames { server: server.as_deref(), client: client.as_deref() };
        RuleWords { sentence: describe_rule(rule, &names), note: describe_author(rule.author) }
    }

    /// What runs on a server without approval: its allows without expiry, in words (PERM-3).
    pub fn auto_approve(&self, server: &ServerId) -> Vec<String> {
        let now = self.now();
        let Some(bound) = self.binding(server) else { return Vec::new() };
        let names = self.state.client_names.lock();
        now.stored
            .rules
            .iter()
            .filter(|rule| rule.effect == RuleEffect::Allow && rule.server.as_ref() == Some(&bound))
            .map(|rule| {
                let what = match &rule.width {
                    Scope::Call { .. } => "one exact call".to_owned(),
                    Scope::Tool { tool } => tool.rule_name().into_owned(),
                    Scope::Reads => "read".to_owned(),
                    Scope::Writes => "write".to_owned(),
                    Scope::Everything => "all".to_owned(),
                };
                let only = if rule.conditions.is_empty() { "" } else { ", on conditions" };
                match &rule.clients {
                    ClientScope::Every => format!("{what}{only}"),
                    ClientScope::One { client } => {
                        let name = names.get(client).map_or_else(|| client.as_str(), String::as_str);
                        let waits = if is_unbound(rule) { ", waits for its first use" } else { "" };
                        format!("{what} (for {name}{only}{waits})")
                    }
                }
            })
            .collect()
    }
}
