//! Shows what a configuration has: each part in words, what has its name here, and why it can't be imported. Nothing
//! changes.

use std::slice;
use std::sync::Arc;

use gatehouse_common::display_name;
use gatehouse_integrations::configuration::{
    ConfigurationDocument, ExportedClass, ExportedClient, ExportedPermissions, ExportedProvider, ExportedRule,
};
use gatehouse_integrations::import::{FilledServer, ForeignServer};
use gatehouse_model::command::SettingsSet;
use gatehouse_model::configuration::{ConfigurationConflict, ConfigurationItem, ConfigurationItemKind};
use gatehouse_model::import::{ImportInput, ImportedSetting};
use gatehouse_model::{
    AccessClass, ClientId, Message, ProfileSettings, RuleEffect, ServerConfig, ServerId, UserError, UserText,
    message,
};
use gatehouse_tools::ImportedRule;
use serde::Serialize;
use serde_json::{Map, Value};

use super::super::free_name::free_name;
use super::super::{AppState, imports, server_draft};
use super::content::{Content, ContentPart};
use super::exported;
use crate::models::stored_base_url;
use crate::server_configs::secrets::stored_fields;

/// The field of a model provider that refers to a secret.
pub(super) const PROVIDER_KEY: &str = "key";

/// Number of tools in one line of details.
const TOOLS_IN_LINE: usize = 20;
/// Longest name of a tool in such a line, in characters: as many as a line has room for, so that none of them is cut off.
const LONGEST_TOOL: usize = 150;

/// All parts of a configuration as people see them.
pub(super) async fn items(
    state: &Arc<AppState>,
    content: &Content,
) -> Result<Vec<ConfigurationItem>, UserError> {
    let configs = state.configs.lock().await.clone();
    let document = exported::export(state).await?.document;
    let present = PresentConfiguration {
        configs,
        document,
        clients: state.clients.list().into_iter().map(|client| client.name).collect(),
    };
    let mut items = Vec::new();
    for (part, index) in content.parts().into_iter().zip(0_u32..) {
        let item = match part {
            ContentPart::Server(server) => present.server(state, content, server).await,
            ContentPart::Profile(profile) => present.profile(content, profile),
            ContentPart::Client(client) => present.client(content, client),
            ContentPart::Rule(rule) => present.rule(content, rule),
            ContentPart::Class(class) => present.class(content, class),
            ContentPart::Labels(server) => present.labels(content, server),
            ContentPart::Settings(settings) => present.settings(settings),
            ContentPart::ModelProvider(provider) => present.provider(content, provider),
        };
        items.push(ConfigurationItem { index, ..item });
    }
    Ok(items)
}

/// The server that has a name, or one that people would take for it.
pub(super) fn owner<'a>(name: &str, configs: &'a [ServerConfig]) -> Option<&'a ServerConfig> {
    // An invalid name would seem to be taken by every server.
    server_draft::check_name(name, None, &[]).ok()?;
    configs.iter().find(|config| server_draft::check_name(name, None, slice::from_ref(config)).is_err())
}

/// A rule with ids of its server and its client.
pub(super) fn imported_rule(
    rule: &ExportedRule,
    server: Option<ServerId>,
    client: Option<ClientId>,
) -> ImportedRule {
    ImportedRule {
        effect: rule.effect,
        server,
        client,
        scope: rule.scope.clone(),
        conditions: rule.conditions.clone(),
        definitions: rule.definitions.clone(),
        reason: rule.reason.clone(),
    }
}

/// What there is already.
struct PresentConfiguration {
    configs: Vec<ServerConfig>,
    /// The same as a document.
    document: ConfigurationDocument,
    /// Names of all clients.
    clients: Vec<String>,
}

fn item(kind: ConfigurationItemKind, name: &str) -> ConfigurationItem {
    ConfigurationItem {
        index: 0,
        kind,
        name: imports::shown(name),
        summary: None,
        details: Vec::new(),
        widens: false,
        inputs: Vec::new(),
        secrets: Vec::new(),
        conflict: None,
        problems: Vec::new(),
    }
}

fn conflict(is_same: bool, free_name: Option<String>) -> ConfigurationConflict {
    ConfigurationConflict { is_same, free_name, kept_secrets: Vec::new() }
}

fn problem(error: UserError) -> Message {
    match error.message {
        UserText::Message(message) => *message,
        UserText::Plain(text) => message!("configuration.problem", problem = text),
    }
}

impl PresentConfiguration {
    fn has_server(&self, name: &str) -> bool {
        self.configs.iter().any(|config| config.name == name)
    }

    async fn server(
        &self,
        state: &Arc<AppState>,
        content: &Content,
        server: &ForeignServer,
    ) -> ConfigurationItem {
        let mut item = item(ConfigurationItemKind::Server, &server.name);
        item.problems.extend(server.problem.clone());
        let filled = server.fill_known().unwrap_or_else(|problem| {
            item.problems.push(problem);
            FilledServer { entry: server.entry.clone(), secrets: Vec::new() }
        });
        item.problems.extend(imports::too_long(&filled));
        let summary = filled.summary();
        if !summary.is_empty() {
            item.summary = Some(message!("configuration.runs", what = imports::shown(&summary)));
        }
        item.details = filled.settings().iter().map(shown_detail).collect();
        item.inputs = server.inputs.iter().map(ImportInput::shown).collect();
        let owner = owner(&server.name, &self.configs);
        let given: Vec<&str> = filled.secrets.iter().map(|secret| secret.field.as_str()).collect();
        let mut kept_secrets = Vec::new();
        match imports::draft(&server.name, filled.entry.clone()) {
            Ok(draft) => {
                let references = draft.transport.secret_references();
                item.secrets =
                    references.keys().filter(|field| !given.contains(&field.as_str())).cloned().collect();
                if let Some(owner) = owner {
                    // One that can't be read now is asked for.
                    let stored = stored_fields(state, owner).await.unwrap_or_default();
                    let is_kept = |field: &&String| {
                        stored.contains(*field) && draft.transport.keeps_secret(&owner.transport, field)
                    };
                    kept_secrets = item.secrets.iter().filter(is_kept).cloned().collect();
                }
                // Whether its name is free is no problem of its own.
                if item.problems.is_empty()
                    && let Err(error) = server_draft::check(&draft, None, &[]).await
                {
                    item.problems.push(problem(error));
                }
            }
            // What is wrong may be only that a value is not there yet.
            Err(found) if item.problems.is_empty() && !server.needs_input() => item.problems = found,
            Err(_) => {}
        }
        item.conflict = owner.map(|owner| ConfigurationConflict {
            is_same: owner.name == server.name
                && self.document.mcp_servers.get(&server.name) == Some(&Value::Object(server.entry.clone())),
            free_name: Some(free_name(&server.name, |name| {
                server_draft::check_name(name, None, &self.configs).is_ok() && !content.has_server(name)
            })),
            kept_secrets,
        });
        item
    }

    fn profile(&self, content: &Content, profile: &ProfileSettings) -> ConfigurationItem {
        let mut item = item(ConfigurationItemKind::Profile, &profile.name);
        let all = &self.document.profiles;
        let present = all.iter().find(|other| display_name::is_taken_by(&profile.name, &other.name));
        item.details = details(profile, present, "name");
        let is_free = |name: &str| {
            !all.iter()
                .chain(&content.document.profiles)
                .any(|other| display_name::is_taken_by(name, &other.name))
        };
        item.conflict =
            present.map(|_| conflict(all.contains(profile), Some(free_name(&profile.name, is_free))));
        let is_known = |name: &str| content.has_server(name) || self.has_server(name);
        if let Some(server) = profile.servers.iter().find(|shown| !is_known(shown.server.as_str())) {
            let server = imports::shown(server.server.as_str());
            item.problems.push(message!("configuration.problem.noServer", server = server));
        }
        item
    }

    fn client(&self, content: &Content, client: &ExportedClient) -> ConfigurationItem {
        let mut item = item(ConfigurationItemKind::Client, &client.name);
        let all = &self.document.clients;
        let present = all.iter().find(|other| display_name::is_taken_by(&client.name, &other.name));
        item.details = details(client, present, "name");
        let names = || self.clients.iter().map(String::as_str);
        let is_free = |name: &str| {
            let imported = content.document.clients.iter().map(|other| other.name.as_str());
            !names().chain(imported).any(|other| display_name::is_taken_by(name, other))
        };
        let is_taken = names().any(|other| display_name::is_taken_by(&client.name, other));
        item.conflict = is_taken.then(|| {
            conflict(self.document.clients.contains(client), Some(free_name(&client.name, is_free)))
        });
        let profiles = || content.document.profiles.iter().chain(&self.document.profiles);
        if let Some(profile) = &client.profile
            && !profiles().any(|known| display_name::is_same(&known.name, profile))
        {
            let profile = imports::shown(profile);
            item.problems.push(message!("configuration.problem.noProfile", profile = profile));
        }
        item
    }

    fn rule(&self, content: &Content, rule: &ExportedRule) -> ConfigurationItem {
        let widens = rule.effect == RuleEffect::Allow;
        let mut item = self.permission(content, rule.server.as_deref(), widens);
        // The ids are only placeholders: the words name what the configuration names.
        let imported = imported_rule(
            rule,
            rule.server.as_deref().map(ServerId::from),
            rule.client.as_deref().map(ClientId::from),
        );
        item.summary = Some(imported.describe(rule.server.as_deref(), rule.client.as_deref()));
        // All of them: an allow covers what is named here, also if no server has it yet.
        let tools: Vec<String> = rule.definitions.keys().map(|tool| shown_tool(tool)).collect();
        item.details.extend(tools.chunks(TOOLS_IN_LINE).map(|tools| detail("tools", &tools.join(", "))));
        if let Some(reason) = &rule.reason {
            item.details.push(detail("reason", reason));
        }
        let same = &self.document.permissions.rules;
        item.conflict = same.contains(rule).then(|| conflict(true, None));
        if let Err(error) = imported.validate() {
            item.problems.push(problem(error));
        }
        if let Some(client) = &rule.client
            && !content.has_client(client)
            && !self.clients.contains(client)
        {
            let client = imports::shown(client);
            item.problems.push(message!("configuration.problem.noClient", client = client));
        }
        item
    }

    fn class(&self, content: &Content, class: &ExportedClass) -> ConfigurationItem {
        let ExportedClass { server, tool, class: access } = class;
        let widens = *access == AccessClass::Read;
        let mut item = self.permission(content, Some(server.as_str()), widens);
        let (tool, server) = (imports::shown(tool), imports::shown(server));
        item.summary = Some(match access {
            AccessClass::Read => message!("configuration.class.read", tool = tool, server = server),
            AccessClass::Write => message!("configuration.class.write", tool = tool, server = server),
        });
        let ExportedPermissions { access_classes, .. } = &self.document.permissions;
        item.conflict = access_classes.contains(class).then(|| conflict(true, None));
        item
    }

    fn labels(&self, content: &Content, server: &str) -> ConfigurationItem {
        let mut item = self.permission(content, Some(server), true);
        item.summary = Some(message!("configuration.labels", server = imports::shown(server)));
        let trusted = &self.document.permissions.trusted_labels;
        item.conflict = trusted.iter().any(|other| other == server).then(|| conflict(true, None));
        item
    }

    /// A permission on a server, which has to be one of the configuration if the permission widens what may run.
    fn permission(&self, content: &Content, server: Option<&str>, widens: bool) -> ConfigurationItem {
        let mut item = ConfigurationItem { widens, ..item(ConfigurationItemKind::Permission, "") };
        let is_known = |name: &str| content.has_server(name) || (!widens && self.has_server(name));
        if let Some(server) = server.filter(|server| !is_known(server)) {
            let server = imports::shown(server);
            item.problems.push(message!("configuration.problem.noServer", server = server));
        }
        item
    }

    /// Settings, with those that are others here.
    fn settings(&self, settings: &SettingsSet) -> ConfigurationItem {
        let mut item = item(ConfigurationItemKind::Settings, "");
        let (wanted, present) = (members(settings), self.document.settings.as_ref().map(members));
        let present = present.unwrap_or_default();
        // What is absent stays as it is, except for how long the audit is kept.
        let stays = |name: &str, value: &Value| value.is_null() && name != "auditDays";
        let others = wanted
            .iter()
            .filter(|(name, value)| !stays(name, value) && present.get(name.as_str()) != Some(*value));
        item.details = others.map(|(name, value)| detail(name, &text_of(value))).collect();
        item.conflict = Some(conflict(item.details.is_empty(), None));
        item
    }

    fn provider(&self, content: &Content, provider: &ExportedProvider) -> ConfigurationItem {
        let mut item = item(ConfigurationItemKind::ModelProvider, &provider.name);
        let all = &self.document.model_providers;
        let present = all.iter().find(|other| display_name::is_taken_by(&provider.name, &other.name));
        let mut draft = provider.draft();
        match stored_base_url(&draft.base_url) {
            Ok(base_url) => draft.base_url = base_url,
            Err(error) => item.problems.push(problem(error)),
        }
        let replaced = present.map(ExportedProvider::draft);
        item.details = details(&draft, replaced.as_ref(), "name");
        item.widens = present.is_some_and(|present| present.base_url != draft.base_url);
        if provider.has_key {
            item.secrets.push(PROVIDER_KEY.to_owned());
        }
        let is_free = |name: &str| {
            let imported = &content.document.model_providers;
            !all.iter().chain(imported).any(|other| display_name::is_taken_by(name, &other.name))
        };
        item.conflict = present.map(|present| ConfigurationConflict {
            is_same: replaced.as_ref() == Some(&draft),
            free_name: Some(free_name(&provider.name, is_free)),
            kept_secrets: if present.has_key && !item.widens { item.secrets.clone() } else { Vec::new() },
        });
        item
    }
}

/// The name of a tool, cut if it is long.
fn shown_tool(name: &str) -> String {
    match name.char_indices().nth(LONGEST_TOOL) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

/// The members of a value that are set, or that are set in what it would replace, without the one that is shown elsewhere:
/// a limit that goes away can widen what a client sees.
fn details<T: Serialize>(value: &T, present: Option<&T>, but: &str) -> Vec<ImportedSetting> {
    let is_set = |value: &Value| !value.is_null() && !value.as_array().is_some_and(Vec::is_empty);
    let replaced = present.map(members).unwrap_or_default();
    let members = members(value);
    let is_shown =
        |name: &str, value: &Value| name != but && (is_set(value) || replaced.get(name).is_some_and(is_set));
    let shown = members.iter().filter(|(name, value)| is_shown(name, value));
    shown.map(|(name, value)| detail(name, &text_of(value))).collect()
}

fn members(value: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(value) {
        Ok(Value::Object(members)) => members,
        Ok(_) | Err(_) => Map::new(),
    }
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn detail(name: &str, value: &str) -> ImportedSetting {
    ImportedSetting { name: imports::shown(name), value: imports::shown(value) }
}

fn shown_detail(setting: &ImportedSetting) -> ImportedSetting {
    detail(&setting.name, &setting.value)
}
