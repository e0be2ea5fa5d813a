//! Makes the document of everything that is set. What a document can't carry to another Gatehouse is named as left out.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use gatehouse_common::secret_names::is_secret_argument;
use gatehouse_integrations::configuration::{
    ConfigurationDocument, ExportedClass, ExportedClient, ExportedPermissions, ExportedProvider,
    ExportedRule, InputVariable,
};
use gatehouse_model::command::SettingsSet;
use gatehouse_model::grant::{AccessOverride, ClientScope, PolicyView};
use gatehouse_model::profile::ProfileServer;
use gatehouse_model::provider::{StoredModels, StoredProvider};
use gatehouse_model::server::ServerOrigin;
use gatehouse_model::settings::PackageSource;
use gatehouse_model::{
    ClientAccess, ClientId, ErrorCode, Grant, Lifetime, Message, ProfileSettings, RuleEffect, Scope,
    ServerBinding, ServerConfig, ServerId, Settings, UserError, message,
};
use gatehouse_store::{PortableEntry, holds_secret, portable_entry};
use serde_json::Value;

use super::super::AppState;

/// A document with what is not in it.
pub(super) struct Exported {
    pub(super) document: ConfigurationDocument,
    pub(super) left_out: Vec<Message>,
}

/// Everything that is set.
///
/// # Errors
/// When something can't be verified: a document that silently lacks it would be worse than none.
pub(super) async fn export(state: &Arc<AppState>) -> Result<Exported, UserError> {
    let settings = {
        let effective = state.settings.lock().await;
        effective.problem.clone().map_or(Ok(()), Err)?;
        effective.settings.clone()
    };
    let profiles = state.tools.profiles();
    profiles.problem().map_or(Ok(()), Err)?;
    let stored = profiles.stored();
    let policy = state.tools.permissions().view();
    policy.problem.clone().map_or(Ok(()), Err)?;
    let configs = state.configs.lock().await.clone();

    let mut left_out = Vec::new();
    let mut document = ConfigurationDocument::default();
    let mut names = ExportedNames::default();
    let mut prefixes = HashSet::new();
    for config in &configs {
        if config.origin == ServerOrigin::Project {
            left_out.push(message!("configuration.leftOut.project", server = &config.name));
            continue;
        }
        if state.bundles.runs(config) {
            left_out.push(message!("configuration.leftOut.bundle", server = &config.name));
            continue;
        }
        let prefix = input_prefix(&config.name, &mut prefixes);
        let PortableEntry { entry, inputs } = portable_entry(config, &prefix).map_err(|error| {
            UserError::new(ErrorCode::Internal, message!("error.configuration.unwritten"))
                .with_cause(format!("{error}."))
        })?;
        document.mcp_servers.insert(config.name.clone(), Value::Object(entry));
        document.inputs.extend(inputs.into_iter().map(InputVariable::secret));
        names.servers.insert(config.id.clone(), config);
    }
    let profile_names: HashMap<_, _> =
        stored.profiles.iter().map(|profile| (&profile.id, profile.settings.name.clone())).collect();
    document.profiles =
        stored.profiles.iter().map(|profile| names.in_profile(profile.settings.clone())).collect();
    for client in state.clients.list() {
        if client.access != ClientAccess::Token {
            left_out.push(message!("configuration.leftOut.oauthClient", client = &client.name));
            continue;
        }
        let profile = stored.assigned.get(&client.id).and_then(|id| profile_names.get(id)).cloned();
        names.clients.insert(client.id, client.name.clone());
        document.clients.push(ExportedClient { name: client.name, profile });
    }
    let (permissions, rules_left_out) = names.permissions(&policy);
    document.permissions = permissions;
    if rules_left_out > 0 {
        left_out.push(message!("configuration.leftOut.rules", count = rules_left_out));
    }
    let StoredModels { providers, sampling, opinion } = state.models.stored().await?;
    document.model_providers = providers.into_iter().map(exported_provider).collect();
    if sampling.is_some() || opinion.is_some() {
        left_out.push(message!("configuration.leftOut.modelUses"));
    }
    let (settings, has_all) = exported_settings(settings);
    document.settings = Some(settings);
    if !has_all {
        left_out.push(message!("configuration.leftOut.addresses"));
    }
    Ok(Exported { document, left_out })
}

fn exported_provider(provider: StoredProvider) -> ExportedProvider {
    let StoredProvider { id: _, name, api, base_url, default_model, has_key } = provider;
    ExportedProvider { name, api, base_url, default_model, has_key }
}

/// What the ids of the inputs of a server begin with: its name as far as it can stand in an id, different for each server.
fn input_prefix(name: &str, taken: &mut HashSet<String>) -> String {
    let plain: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect();
    let plain = match plain.trim_matches('-') {
        "" => "server",
        plain => plain,
    };
    let mut numbered = (1..).map(|number: u32| match number {
        1 => plain.to_owned(),
        number => format!("{plain}-{number}"),
    });
    let free = numbered.find(|prefix| !taken.contains(prefix)).unwrap_or_default();
    taken.insert(free.clone());
    free
}

/// ExportedNames of what is exported, by id.
#[derive(Default)]
struct ExportedNames<'a> {
    servers: HashMap<ServerId, &'a ServerConfig>,
    clients: HashMap<ClientId, String>,
}

impl ExportedNames<'_> {
    /// A profile with names of servers. What it says of servers that aren't exported goes with them.
    fn in_profile(&self, settings: ProfileSettings) -> ProfileSettings {
        let named = |ProfileServer { server, tools }: ProfileServer| {
            let config = self.servers.get(&server)?;
            Some(ProfileServer { server: ServerId::new(config.name.as_str()), tools })
        };
        ProfileSettings { servers: settings.servers.into_iter().filter_map(named).collect(), ..settings }
    }

    /// The name of the server that something is bound to, if it still is that server.
    fn bound(&self, binding: &ServerBinding) -> Option<String> {
        let config = self.servers.get(&binding.server)?;
        (config.binding() == *binding).then(|| config.name.clone())
    }

    /// The permanent permissions, and how many rules are left out.
    fn permissions(&self, policy: &PolicyView) -> (ExportedPermissions, u32) {
        let permanent =
            policy.rules.iter().map(|view| &view.rule).filter(|rule| rule.lifetime == Lifetime::Always);
        let (mut rules, mut left_out) = (Vec::new(), 0_u32);
        for rule in permanent {
            match self.rule(rule) {
                Some(exported) => rules.push(exported),
                None => left_out = left_out.saturating_add(1),
            }
        }
        let class = |AccessOverride { server, tool, class }: &AccessOverride| {
            Some(ExportedClass { server: self.bound(server)?, tool: tool.clone(), class: *class })
        };
        let permissions = ExportedPermissions {
            rules,
            access_classes: policy.overrides.iter().filter_map(class).collect(),
            trusted_labels: policy.trusted_labels.iter().filter_map(|server| self.bound(server)).collect(),
        };
        (permissions, left_out)
    }

    /// A rule by names; `None` if it counts only here: for one exact call, for a server or a client that isn't exported,
    /// or for what a server was before. Also if it could hold a secret.
    fn rule(&self, rule: &Grant) -> Option<ExportedRule> {
        let server = match (&rule.server, rule.effect) {
            (None, _) => None,
            (Some(binding), RuleEffect::Allow) => Some(self.bound(binding)?),
            // A block holds as long as the server exists.
            (Some(binding), RuleEffect::Deny) => Some(self.servers.get(&binding.server)?.name.clone()),
        };
        let client = match &rule.clients {
            ClientScope::Every => None,
            ClientScope::One { client } => Some(self.clients.get(client)?.clone()),
        };
        let is_secret = match &rule.width {
            Scope::Call { .. } => return None,
            Scope::Tool { tool } => holds_secret("/url", &Value::String(tool.rule_name().into_owned())),
            Scope::Reads | Scope::Writes | Scope::Everything => false,
        };
        let mut names = rule.conditions.iter().flat_map(|condition| condition.pointer.split('/'));
        if is_secret || names.any(is_secret_argument) {
            return None;
        }
        Some(ExportedRule {
            effect: rule.effect,
            server,
            client,
            scope: rule.width.clone(),
            conditions: rule.conditions.clone(),
            definitions: if rule.effect == RuleEffect::Allow { rule.pins.clone() } else { BTreeMap::new() },
            reason: rule.reason.clone(),
        })
    }
}

/// The settings, and whether all of them are there: an address with a password in it is left out.
fn exported_settings(settings: Settings) -> (SettingsSet, bool) {
    let has_secret = |address: &str| holds_secret("/url", &Value::String(address.to_owned()));
    let is_plain_source = |source: &PackageSource| match source {
        PackageSource::Custom { url } => !has_secret(url),
        PackageSource::Fastest | PackageSource::Usual => true,
    };
    let packages = Some(settings.packages)
        .filter(|packages| is_plain_source(&packages.npm) && is_plain_source(&packages.pypi));
    let client_document =
        Some(settings.client_document.unwrap_or_default()).filter(|address| !has_secret(address));
    let registry = Some(settings.registry).filter(|address| !has_secret(address));
    let has_all = packages.is_some() && client_document.is_some() && registry.is_some();
    let exported = SettingsSet {
        audit_days: settings.audit_days,
        activity_days: settings.activity_days,
        activity_calls: settings.activity_calls,
        packages,
        client_document,
        calls: Some(settings.calls),
        tool_names: Some(settings.tool_names),
        allowed_hosts: Some(settings.allowed_hosts),
        registry,
    };
    (exported, has_all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_of_different_servers_have_different_ids() {
        let mut taken = HashSet::new();
        let prefixes =
            ["My server", "my-server", "服务器", "..", "x"].map(|name| input_prefix(name, &mut taken));
        assert_eq!(prefixes, ["my-server", "my-server-2", "server", "server-2", "x"]);
    }

    #[test]
    fn leaves_out_addresses_with_passwords() {
        let (exported, has_all) = exported_settings(Settings::default());
        assert!(has_all && exported.registry.is_some());
        let url = "https://me:s3cret@packages.example/".to_owned();
        let mut settings = Settings::default();
        settings.packages.npm = PackageSource::Custom { url };
        let (exported, has_all) = exported_settings(settings);
        assert!(!has_all && exported.packages.is_none() && exported.registry.is_some());
    }
}
