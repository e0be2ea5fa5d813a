//! Validates everything that was chosen of a configuration, and then makes it: servers, profiles, clients, permissions,
//! settings and model providers, in this order, since each may name what comes before it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use gatehouse_common::display_name;
use gatehouse_integrations::configuration::{ExportedClass, ExportedClient, ExportedProvider, ExportedRule};
use gatehouse_integrations::import::ForeignServer;
use gatehouse_model::command::{
    ConfigurationChoice, FieldSecret, ImportAction, ImportInputValue, RequestSecret, SettingsSet,
};
use gatehouse_model::configuration::ConfigurationOutcome;
use gatehouse_model::profile::ProfileServer;
use gatehouse_model::provider::ProviderDraft;
use gatehouse_model::{
    AccessClass, ClientEntry, ClientId, ErrorCode, Message, ProfileId, ProfileSettings, RuleEffect, Secret,
    ServerConfig, ServerId, UserError, message,
};
use gatehouse_tools::{ImportedClass, ImportedPermissions};

use super::super::approvals::answered_by;
use super::super::servers::{Configs, ServerConfigChange};
use super::super::{AppState, clients, imports, lookup, profiles, server_draft, servers, settings};
use super::content::{Content, ContentPart};
use super::preview::{PROVIDER_KEY, imported_rule, owner};
use crate::models::ProviderChange;
use crate::server_configs::secrets::{SecretChanges, stored_fields};

/// What is to be imported.
pub(super) struct ImportWishes<'a> {
    pub(super) content: &'a Content,
    pub(super) items: Vec<ConfigurationChoice>,
    pub(super) inputs: Vec<ImportInputValue>,
}

/// Everything that was chosen, validated.
pub(super) struct ImportPlan {
    servers: Vec<ServerConfigChange>,
    /// Names of servers that are off because a secret is absent.
    without_secrets: Vec<String>,
    profiles: Vec<PlannedProfile>,
    clients: Vec<PlannedClient>,
    rules: Vec<PlannedRule>,
    classes: Vec<ImportedClass>,
    trusted_labels: Vec<ServerId>,
    settings: Option<SettingsSet>,
    /// Model providers, with their names in the configuration.
    providers: Vec<(String, ProviderChange)>,
    /// Servers that need a new connection, which the change didn't make.
    reconnect: Vec<ServerId>,
    failed: FailedParts,
}

/// What could not be imported. What names it isn't imported either: it would go to what has that name here, or still is
/// what it was before (SRV-16).
#[derive(Default)]
struct FailedParts {
    /// Names by the ids that the servers have or would have here.
    servers: HashMap<ServerId, String>,
    /// By their names in the configuration.
    profiles: HashSet<String>,
    /// By their names in the configuration.
    clients: HashSet<String>,
}

impl FailedParts {
    fn check_server(&self, server: &ServerId) -> Result<(), UserError> {
        self.servers.get(server).map_or(Ok(()), |name| Err(not_imported(name)))
    }

    fn check_profile(&self, name: &str) -> Result<(), UserError> {
        if self.profiles.contains(name) { Err(not_imported(name)) } else { Ok(()) }
    }

    fn check_client(&self, name: &str) -> Result<(), UserError> {
        if self.clients.contains(name) { Err(not_imported(name)) } else { Ok(()) }
    }
}

/// The error of a part that needs another one.
fn not_imported(needed: &str) -> UserError {
    refused(message!("error.configuration.notImported", name = imports::shown(needed)))
}

/// A profile that is added, or one that gets other settings.
struct PlannedProfile {
    /// Its name in the configuration.
    name: String,
    /// The profile here; absent for a new one.
    id: Option<ProfileId>,
    settings: ProfileSettings,
}

/// A client that is added, or one that only gets its profile.
struct PlannedClient {
    /// Its name in the configuration.
    name: String,
    /// The client here; absent for a new one.
    present: Option<Arc<ClientEntry>>,
    /// The name of a new one here.
    new_name: String,
    /// Name of its profile in the configuration.
    profile: Option<String>,
}

/// A rule with the server that it is for here.
struct PlannedRule {
    rule: ExportedRule,
    server: Option<ServerId>,
}

fn refused(what: Message) -> UserError {
    UserError::new(ErrorCode::BadRequest, what)
}

/// The error of one part, with what it is about.
fn about(name: &str, error: UserError) -> UserError {
    let what = message!("error.configuration.item", name = imports::shown(name));
    let named = UserError::new(error.code, what).with_cause(error.message);
    match error.hint {
        Some(hint) => named.with_hint(hint),
        None => named,
    }
}

/// Counts a part as imported, or notes why it is not.
fn note(outcome: &mut ConfigurationOutcome, name: &str, done: Result<(), UserError>) {
    match done {
        Ok(()) => outcome.imported = outcome.imported.saturating_add(1),
        Err(error) => outcome.problems.push(about(name, error)),
    }
}

/// The profile here that has this name.
fn profile_named(state: &AppState, name: &str) -> Result<ProfileId, UserError> {
    let all = state.tools.profiles().stored().profiles;
    let found = all.into_iter().find(|profile| display_name::is_same(&profile.settings.name, name));
    found
        .map(|profile| profile.id)
        .ok_or_else(|| refused(message!("configuration.problem.noProfile", profile = imports::shown(name))))
}

/// The client here that has exactly this name.
fn client_named(state: &AppState, name: &str) -> Result<ClientId, UserError> {
    let found = state.clients.list().into_iter().find(|client| client.name == name);
    found
        .map(|client| client.id)
        .ok_or_else(|| refused(message!("configuration.problem.noClient", client = imports::shown(name))))
}

impl ImportPlan {
    /// Validates what was chosen. `configs` are the servers that there are. Nothing changes.
    pub(super) async fn new(
        state: &Arc<AppState>,
        configs: &[ServerConfig],
        wishes: &ImportWishes<'_>,
    ) -> Result<Self, UserError> {
        let ImportWishes { items, inputs, .. } = wishes;
        let content = wishes.content;
        let parts = content.parts();
        let mut chosen = HashSet::new();
        let mut picked = Vec::with_capacity(items.len());
        for choice in items {
            let part = parts.get(choice.index as usize).filter(|_| chosen.insert(choice.index));
            let Some(part) = part else {
                return Err(refused(message!("error.configuration.noSuchItem")));
            };
            picked.push((*part, choice));
        }
        picked.sort_by_key(|(_, choice)| choice.index);
        let values =
            inputs.iter().map(|input| (input.id.clone(), Secret::new(input.value.reveal()))).collect();
        let mut planner = ImportPlanner {
            state,
            content,
            configs,
            values,
            simulated: configs.to_vec(),
            server_ids: HashMap::new(),
            plan: Self {
                servers: Vec::new(),
                without_secrets: Vec::new(),
                profiles: Vec::new(),
                clients: Vec::new(),
                rules: Vec::new(),
                classes: Vec::new(),
                trusted_labels: Vec::new(),
                settings: None,
                providers: Vec::new(),
                reconnect: Vec::new(),
                failed: FailedParts::default(),
            },
        };
        for (part, choice) in picked {
            match part {
                ContentPart::Server(server) => {
                    planner.server(server, choice).await.map_err(|error| about(&server.name, error))?;
                }
                ContentPart::Profile(profile) => {
                    planner.profile(profile, choice).await.map_err(|error| about(&profile.name, error))?;
                }
                ContentPart::Client(client) => {
                    planner.client(client, choice).map_err(|error| about(&client.name, error))?;
                }
                ContentPart::Rule(rule) => planner.rule(rule)?,
                ContentPart::Class(class) => planner.class(class)?,
                ContentPart::Labels(server) => planner.labels(server)?,
                ContentPart::Settings(wanted) => {
                    settings::validate(state, wanted).await?;
                    planner.plan.settings = Some(wanted.clone());
                }
                ContentPart::ModelProvider(provider) => {
                    planner.provider(provider, choice).await.map_err(|error| about(&provider.name, error))?;
                }
            }
        }
        planner.finish()
    }

    /// Adds and changes the servers.
    pub(super) async fn apply_servers(
        mut self,
        state: &Arc<AppState>,
        configs: &mut Configs<'_>,
        outcome: &mut ConfigurationOutcome,
    ) -> Self {
        for change in std::mem::take(&mut self.servers) {
            let (server, name) = (change.after.id.clone(), change.after.name.clone());
            let needs_reconnect = change.needs_reconnect();
            let done = servers::apply_change(state, configs, change).await;
            match &done {
                Ok(()) if needs_reconnect => self.reconnect.push(server),
                Ok(()) => {}
                Err(_) => drop(self.failed.servers.insert(server, name.clone())),
            }
            note(outcome, &name, done);
        }
        outcome.without_secrets = std::mem::take(&mut self.without_secrets);
        self
    }

    /// Makes everything else. The servers are still locked: permissions are for them as they were validated.
    pub(super) async fn apply(self, state: &Arc<AppState>, outcome: &mut ConfigurationOutcome) {
        let Self {
            profiles,
            clients,
            rules,
            classes,
            trusted_labels,
            reconnect,
            mut failed,
            settings: wanted,
            providers,
            ..
        } = self;
        for server in &reconnect {
            if let Err(error) = state.servers.reconnect(server).await {
                outcome.problems.push(error);
            }
        }
        // What isn't in these maps is found by its name.
        let mut profile_ids = HashMap::new();
        for PlannedProfile { name, id, settings } in profiles {
            let known = settings.servers.iter().try_for_each(|shown| failed.check_server(&shown.server));
            let done = match (known, &id) {
                (Err(error), _) => Err(error),
                (Ok(()), Some(id)) => state.tools.set_profile(id.as_str(), settings).await,
                (Ok(()), None) => state.tools.add_profile(settings).await,
            };
            match &done {
                Ok(profile) => drop(profile_ids.insert(name.clone(), profile.id.clone())),
                Err(_) => {
                    failed.profiles.insert(name.clone());
                }
            }
            note(outcome, &name, done.map(drop));
        }
        let mut client_ids: HashMap<String, ClientId> = HashMap::new();
        for client in clients {
            let name = client.name.clone();
            let known = client.profile.as_deref().map_or(Ok(()), |profile| failed.check_profile(profile));
            let done = match known {
                Ok(()) => client.apply(state, &profile_ids, outcome).await,
                Err(error) => Err(error),
            };
            match &done {
                Ok(id) => drop(client_ids.insert(name.clone(), id.clone())),
                Err(_) => {
                    failed.clients.insert(name.clone());
                }
            }
            note(outcome, &name, done.map(drop));
        }
        let mut permissions = ImportedPermissions {
            rules: Vec::with_capacity(rules.len()),
            classes: Vec::with_capacity(classes.len()),
            trusted_labels: Vec::with_capacity(trusted_labels.len()),
        };
        for PlannedRule { rule, server } in rules {
            let known = server.as_ref().map_or(Ok(()), |server| failed.check_server(server));
            let client = known.and_then(|()| match &rule.client {
                None => Ok(None),
                Some(name) => match client_ids.get(name) {
                    Some(id) => Ok(Some(id.clone())),
                    None => failed.check_client(name).and_then(|()| client_named(state, name)).map(Some),
                },
            });
            match client {
                Ok(client) => permissions.rules.push(imported_rule(&rule, server, client)),
                Err(error) => outcome.problems.push(error),
            }
        }
        for class in classes {
            match failed.check_server(&class.server) {
                Ok(()) => permissions.classes.push(class),
                Err(error) => outcome.problems.push(error),
            }
        }
        for server in trusted_labels {
            match failed.check_server(&server) {
                Ok(()) => permissions.trusted_labels.push(server),
                Err(error) => outcome.problems.push(error),
            }
        }
        let count = permissions.rules.len() + permissions.classes.len() + permissions.trusted_labels.len();
        if count > 0 {
            match state.tools.permissions().import(permissions, answered_by(state.owner)).await {
                Ok(()) => {
                    let count = u32::try_from(count).unwrap_or(u32::MAX);
                    outcome.imported = outcome.imported.saturating_add(count);
                }
                Err(error) => outcome.problems.push(error),
            }
        }
        if let Some(wanted) = &wanted {
            match settings::set(state, wanted).await {
                Ok(_) => outcome.imported = outcome.imported.saturating_add(1),
                Err(error) => outcome.problems.push(error),
            }
        }
        for (name, ProviderChange { id, draft, key }) in providers {
            let key = key.as_ref().map(Secret::reveal);
            let done = match &id {
                Some(id) => state.models.set(id, draft, key).await,
                None => state.models.add(draft, key).await,
            };
            note(outcome, &name, done.map(drop));
        }
    }
}

impl PlannedClient {
    /// Adds the client if it is new, and gives it its profile.
    async fn apply(
        self,
        state: &Arc<AppState>,
        profile_ids: &HashMap<String, ProfileId>,
        outcome: &mut ConfigurationOutcome,
    ) -> Result<ClientId, UserError> {
        let client = match self.present {
            Some(client) => client,
            None => {
                // Nobody gets this token: the user gives the client a new one where it runs.
                let (client, _) = state.clients.add(self.new_name).await?;
                state.tools.permissions().client_added(&client);
                outcome.new_clients.push(client.name.clone());
                Arc::new(client)
            }
        };
        let profile = match &self.profile {
            Some(name) => Some(match profile_ids.get(name) {
                Some(id) => id.clone(),
                None => profile_named(state, name)?,
            }),
            None => None,
        };
        let has_profile = state.tools.profiles().stored().assigned.contains_key(&client.id);
        if profile.is_some() || has_profile {
            state.tools.assign_profile(&client, profile.as_ref().map(ProfileId::as_str)).await?;
        }
        Ok(client.id.clone())
    }
}

/// Validates one part after the other.
struct ImportPlanner<'a> {
    state: &'a Arc<AppState>,
    content: &'a Content,
    /// The servers that there are.
    configs: &'a [ServerConfig],
    /// Values of inputs.
    values: BTreeMap<String, Secret>,
    /// The servers as they will be.
    simulated: Vec<ServerConfig>,
    /// Chosen servers by their names in the configuration.
    server_ids: HashMap<String, ServerId>,
    plan: ImportPlan,
}

impl ImportPlanner<'_> {
    async fn server(
        &mut self,
        server: &ForeignServer,
        choice: &ConfigurationChoice,
    ) -> Result<(), UserError> {
        if let Some(problem) = &server.problem {
            return Err(refused(problem.clone()));
        }
        let filled = server.fill(&self.values, false).map_err(refused)?;
        if let Some(problem) = imports::too_long(&filled) {
            return Err(refused(problem));
        }
        let before = match &choice.action {
            ImportAction::Overwrite => {
                let owner = owner(&server.name, self.configs);
                Some(owner.ok_or_else(|| lookup::server_not_found(&server.name))?.clone())
            }
            ImportAction::Add | ImportAction::Rename(_) => None,
        };
        let name = match (&choice.action, &before) {
            (ImportAction::Rename(name), _) => name.clone(),
            (_, Some(before)) => before.name.clone(),
            (_, None) => server.name.clone(),
        };
        let draft = imports::draft(&name, filled.entry).map_err(|problems| {
            let first = problems.into_iter().next().unwrap_or_else(|| message!("import.problem.noObject"));
            refused(first)
        })?;
        let own = before.as_ref().map(|before| before.id.clone());
        let is_twice = own.as_ref().is_some_and(|own| self.server_ids.values().any(|id| id == own));
        if is_twice {
            return Err(refused(message!("error.configuration.noSuchItem")));
        }
        server_draft::check(&draft, own.as_ref(), &self.simulated).await?;
        let after = match &before {
            Some(before) => before.with_draft(draft),
            None => ServerConfig::from_draft(servers::new_id()?, draft),
        };
        servers::check_admin_policy(self.state, &after).await?;
        let found = filled.secrets.iter().map(|secret| FieldSecret {
            field: secret.field.clone(),
            value: RequestSecret::new(&secret.value),
        });
        let given: Vec<FieldSecret> = choice.secrets.iter().cloned().chain(found).collect();
        let (mut secrets, mut absent) = SecretChanges::with_absent(before.as_ref(), &after, &given)?;
        if let Some(before) = &before {
            absent.extend(secrets.drop_unstored(&stored_fields(self.state, before).await?));
        }
        let after = if absent.is_empty() { after } else { ServerConfig { enabled: false, ..after } };
        if !absent.is_empty() {
            self.plan.without_secrets.push(after.name.clone());
        }
        match self.simulated.iter_mut().find(|config| config.id == after.id) {
            Some(config) => config.clone_from(&after),
            None => self.simulated.push(after.clone()),
        }
        self.server_ids.insert(server.name.clone(), after.id.clone());
        self.plan.servers.push(ServerConfigChange { before, after, secrets });
        Ok(())
    }

    async fn profile(
        &mut self,
        profile: &ProfileSettings,
        choice: &ConfigurationChoice,
    ) -> Result<(), UserError> {
        let stored = self.state.tools.profiles().stored();
        let is_owner = |name: &str| display_name::is_taken_by(&profile.name, name);
        let present = match &choice.action {
            ImportAction::Overwrite => {
                let owner = stored.profiles.into_iter().find(|known| is_owner(&known.settings.name));
                Some(owner.ok_or_else(|| {
                    refused(message!(
                        "configuration.problem.noProfile",
                        profile = imports::shown(&profile.name)
                    ))
                })?)
            }
            ImportAction::Add | ImportAction::Rename(_) => None,
        };
        let name = match (&choice.action, &present) {
            (ImportAction::Rename(name), _) => name.clone(),
            (_, Some(present)) => present.settings.name.clone(),
            (_, None) => profile.name.clone(),
        };
        let mut servers = Vec::with_capacity(profile.servers.len());
        for ProfileServer { server, tools } in &profile.servers {
            let server = match self.server_ids.get(server.as_str()) {
                Some(id) => id.clone(),
                None => self.present_server(server.as_str())?.id.clone(),
            };
            servers.push(ProfileServer { server, tools: tools.clone() });
        }
        let settings = ProfileSettings { name, servers, ..profile.clone() };
        let settings = profiles::with_imported_folders(settings).await?;
        let id = present.map(|present| present.id);
        self.plan.profiles.push(PlannedProfile { name: profile.name.clone(), id, settings });
        Ok(())
    }

    fn client(&mut self, client: &ExportedClient, choice: &ConfigurationChoice) -> Result<(), UserError> {
        let present = match &choice.action {
            ImportAction::Overwrite => {
                let all = self.state.clients.list();
                let owner = all.iter().find(|other| display_name::is_taken_by(&client.name, &other.name));
                let wanted = owner.map_or(client.name.as_str(), |owner| owner.id.as_str());
                Some(clients::find_entry(self.state, wanted)?)
            }
            ImportAction::Add | ImportAction::Rename(_) => None,
        };
        let new_name = match &choice.action {
            ImportAction::Rename(name) => name.clone(),
            ImportAction::Add | ImportAction::Overwrite => client.name.clone(),
        };
        if let Some(name) = &client.profile
            && !self.plan.profiles.iter().any(|planned| planned.name == *name)
        {
            profile_named(self.state, name)?;
        }
        let (name, profile) = (client.name.clone(), client.profile.clone());
        self.plan.clients.push(PlannedClient { name, present, new_name, profile });
        Ok(())
    }

    async fn provider(
        &mut self,
        provider: &ExportedProvider,
        choice: &ConfigurationChoice,
    ) -> Result<(), UserError> {
        let present = match &choice.action {
            ImportAction::Overwrite => {
                let all = self.state.models.stored().await?.providers;
                let owner =
                    all.into_iter().find(|other| display_name::is_taken_by(&provider.name, &other.name));
                Some(owner.ok_or_else(|| refused(message!("error.configuration.noSuchItem")))?)
            }
            ImportAction::Add | ImportAction::Rename(_) => None,
        };
        let id = present.as_ref().map(|present| present.id.clone());
        if id.is_some() && self.plan.providers.iter().any(|(_, planned)| planned.id == id) {
            return Err(refused(message!("error.configuration.noSuchItem")));
        }
        let name = match (&choice.action, &present) {
            (ImportAction::Rename(name), _) => name.clone(),
            (_, Some(present)) => present.name.clone(),
            (_, None) => provider.name.clone(),
        };
        let mut key = None;
        for FieldSecret { field, value } in &choice.secrets {
            if field != PROVIDER_KEY || key.is_some() {
                return Err(refused(message!("error.configuration.noSuchItem")));
            }
            key = Some(Secret::new(value.reveal()));
        }
        let draft = ProviderDraft { name, ..provider.draft() };
        let change = ProviderChange { id, draft, key };
        let planned = self.plan.providers.iter().map(|(_, planned)| planned);
        self.state.models.check(planned.chain([&change])).await?;
        self.plan.providers.push((provider.name.clone(), change));
        Ok(())
    }

    fn rule(&mut self, rule: &ExportedRule) -> Result<(), UserError> {
        let server = match &rule.server {
            Some(name) => Some(self.server_of_permission(name, rule.effect == RuleEffect::Allow)?),
            None => None,
        };
        if let Some(name) = &rule.client
            && !self.plan.clients.iter().any(|planned| planned.name == *name)
        {
            client_named(self.state, name)?;
        }
        imported_rule(rule, server.clone(), None).validate()?;
        self.plan.rules.push(PlannedRule { rule: rule.clone(), server });
        Ok(())
    }

    fn class(&mut self, class: &ExportedClass) -> Result<(), UserError> {
        let ExportedClass { server, tool, class } = class;
        let server = self.server_of_permission(server, *class == AccessClass::Read)?;
        self.plan.classes.push(ImportedClass { server, tool: tool.clone(), class: *class });
        Ok(())
    }

    fn labels(&mut self, server: &str) -> Result<(), UserError> {
        let server = self.server_of_permission(server, true)?;
        self.plan.trusted_labels.push(server);
        Ok(())
    }

    /// The server that a permission is for. What widens permissions is only for a server that is imported with it, or
    /// that is here with the same settings.
    fn server_of_permission(&self, name: &str, widens: bool) -> Result<ServerId, UserError> {
        if let Some(id) = self.server_ids.get(name) {
            return Ok(id.clone());
        }
        let config = self.present_server(name)?;
        if widens && !self.is_same(config) {
            let what = message!("error.configuration.otherServer", server = imports::shown(name));
            return Err(refused(what).with_hint(message!("error.configuration.otherServerHint")));
        }
        Ok(config.id.clone())
    }

    /// The server here that has exactly this name. An id is no name: nobody would recognise it in the words of a rule.
    fn present_server(&self, name: &str) -> Result<&ServerConfig, UserError> {
        let found = self.configs.iter().find(|config| config.name == name);
        found.ok_or_else(|| lookup::server_not_found(name))
    }

    /// Whether the configuration has a server with this name that is reached in the same way.
    fn is_same(&self, config: &ServerConfig) -> bool {
        let own = self.content.server(&config.name).and_then(|server| server.fill(&self.values, false).ok());
        let draft = own.and_then(|own| imports::draft(&config.name, own.entry).ok());
        draft.is_some_and(|draft| draft.transport == config.transport)
    }

    /// The plan, once what depends on several parts is validated.
    fn finish(self) -> Result<ImportPlan, UserError> {
        let Self { state, plan, .. } = self;
        if !plan.profiles.is_empty() || plan.clients.iter().any(|client| client.profile.is_some()) {
            let changes = plan.profiles.iter().map(|planned| (planned.id.clone(), planned.settings.clone()));
            state.tools.profiles().check(changes)?;
        }
        let new = plan.clients.iter().filter(|client| client.present.is_none());
        let names: Vec<&str> = new.map(|client| client.new_name.as_str()).collect();
        state.clients.check_names(&names)?;
        Ok(plan)
    }
}
