//! A configuration that was read, as a list of parts that are imported one by one.

use gatehouse_integrations::configuration::{
    ConfigurationDocument, ExportedClass, ExportedClient, ExportedProvider, ExportedRule, ReadConfiguration,
};
use gatehouse_integrations::import::ForeignServer;
use gatehouse_model::ProfileSettings;
use gatehouse_model::command::SettingsSet;
use sha2::{Digest as _, Sha256};

/// A configuration that was read.
pub(super) struct Content {
    text: String,
    pub(super) document: ConfigurationDocument,
    servers: Vec<ForeignServer>,
}

/// One part of a configuration.
#[derive(Clone, Copy)]
pub(super) enum ContentPart<'a> {
    Server(&'a ForeignServer),
    Profile(&'a ProfileSettings),
    Client(&'a ExportedClient),
    Rule(&'a ExportedRule),
    Class(&'a ExportedClass),
    /// That the labels of the server with this name are trusted.
    Labels(&'a str),
    Settings(&'a SettingsSet),
    ModelProvider(&'a ExportedProvider),
}

impl Content {
    pub(super) fn new(read: ReadConfiguration) -> Self {
        let ReadConfiguration { text, document } = read;
        Self { text, servers: document.servers(), document }
    }

    /// SHA-256 of its text.
    pub(super) fn fingerprint(&self) -> String {
        hex::encode(Sha256::digest(self.text.as_bytes()))
    }

    /// Its parts; the place of each is the number by which it is chosen. Each names only what comes before it.
    pub(super) fn parts(&self) -> Vec<ContentPart<'_>> {
        let ConfigurationDocument { profiles, clients, permissions, settings, model_providers, .. } =
            &self.document;
        let servers = self.servers.iter().map(ContentPart::Server);
        let profiles = profiles.iter().map(ContentPart::Profile);
        let clients = clients.iter().map(ContentPart::Client);
        let rules = permissions.rules.iter().map(ContentPart::Rule);
        let classes = permissions.access_classes.iter().map(ContentPart::Class);
        let labels = permissions.trusted_labels.iter().map(|server| ContentPart::Labels(server));
        let settings = settings.iter().map(ContentPart::Settings);
        let providers = model_providers.iter().map(ContentPart::ModelProvider);
        servers
            .chain(profiles)
            .chain(clients)
            .chain(rules)
            .chain(classes)
            .chain(labels)
            .chain(settings)
            .chain(providers)
            .collect()
    }

    /// The server with this name.
    pub(super) fn server(&self, name: &str) -> Option<&ForeignServer> {
        self.servers.iter().find(|server| server.name == name)
    }

    /// Whether it has a server with this name.
    pub(super) fn has_server(&self, name: &str) -> bool {
        self.document.mcp_servers.contains_key(name)
    }

    pub(super) fn has_client(&self, name: &str) -> bool {
        self.document.clients.iter().any(|client| client.name == name)
    }
}
