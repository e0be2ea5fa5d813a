//! What a newer version of an entry means for a server that came from it.

use std::collections::BTreeMap;

use gatehouse_model::registry::{RegistryReport, RegistryStatus};
use gatehouse_model::server::{RegistrySource, Remote, StdioStreams};
use gatehouse_model::{ServerConfig, Transport};
use serde_json::{Value, json};

use crate::test_registry::{Asking, Reply, TestRegistry, listed};

const NAME: &str = "io.example/weather";

fn source(version: &str) -> RegistrySource {
    RegistrySource { name: NAME.into(), version: version.into() }
}

fn program(args: &[&str], env: &[(&str, &str)]) -> ServerConfig {
    let transport = Transport::Stdio {
        command: "npx".into(),
        args: args.iter().map(|&arg| arg.to_owned()).collect(),
        env: env.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect(),
        cwd: Some("/work".into()),
        streams: StdioStreams::default(),
    };
    ServerConfig { registry: Some(source("1.2.0")), ..ServerConfig::new("srv-1", "weather", transport) }
}

fn entry(version: &str, more: &Value) -> Value {
    let mut package = json!({"registryType": "npm", "identifier": "@example/weather", "version": version});
    for (name, value) in more.as_object().unwrap() {
        package[name] = value.clone();
    }
    json!({"name": NAME, "description": "", "version": version, "packages": [package]})
}

async fn report(config: &ServerConfig, installed: &Value, latest: &Value) -> RegistryReport {
    let registry = TestRegistry::start().await;
    let asking = Asking::new();
    registry.publish(installed).await;
    registry.publish(latest).await;
    let source = config.registry.clone().unwrap();
    asking.registry.report(&registry.address, config, &source).await.unwrap()
}

#[tokio::test]
async fn puts_the_new_version_into_the_settings() {
    let config = program(&["-y", "@example/weather@1.2.0", "--mine"], &[("A", "1")]);
    let more = json!({"environmentVariables": [
        {"name": "API_KEY", "isRequired": true, "isSecret": true},
        {"name": "REGION", "isRequired": true},
        {"name": "OPTIONAL"},
    ]});
    let found = report(&config, &entry("1.2.0", &json!({})), &entry("1.3.0", &more)).await;
    let update = found.update.unwrap();
    assert_eq!((update.version.as_str(), update.is_newer), ("1.3.0", true));
    let draft = update.draft.unwrap();
    let Transport::Stdio { command, args, env, cwd, .. } = &draft.transport else { panic!("{draft:?}") };
    assert_eq!(command, "npx");
    assert_eq!(args, &["-y", "@example/weather@1.3.0", "--mine"]);
    let env: Vec<(&str, &str)> = env.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(env, [("A", "1"), ("API_KEY", "${secret:API_KEY}"), ("REGION", "")]);
    assert_eq!(cwd.as_deref(), Some("/work"));
    assert_eq!(draft.registry, Some(source("1.3.0")));
}

#[tokio::test]
async fn leaves_settings_alone_that_name_something_else() {
    let latest = entry("1.3.0", &json!({}));
    let old = entry("1.2.0", &json!({}));
    for args in [&["-y", "my-fork"][..], &["-y", "@example/weather-evil@1.2.0"], &[]] {
        let update = report(&program(args, &[]), &old, &latest).await.update.unwrap();
        assert_eq!(update.draft, None, "{args:?}");
    }
    let other = ServerConfig {
        registry: Some(source("1.2.0")),
        ..ServerConfig::new("srv-1", "w", Transport::Http(Remote::at("https://example.com/mcp")))
    };
    assert_eq!(report(&other, &old, &latest).await.update.unwrap().draft, None);
}

#[tokio::test]
async fn offers_no_older_version() {
    let config = program(&["@example/weather@1.2.0"], &[]);
    for latest in ["1.2.0", "1.1.9", "1.2.0-rc.1"] {
        let found = report(&config, &entry("1.2.0", &json!({})), &entry(latest, &json!({}))).await;
        assert_eq!(found.update, None, "{latest}");
    }
}

#[tokio::test]
async fn follows_the_address_of_a_remote() {
    let at = |version: &str, url: &str| {
        json!({"name": NAME, "description": "", "version": version,
            "remotes": [{"type": "streamable-http", "url": url}]})
    };
    let headers = BTreeMap::from([("Authorization".to_owned(), "${secret:Authorization}".to_owned())]);
    let remote = Remote { headers: headers.clone(), ..Remote::at("https://a.example/mcp") };
    let config = ServerConfig {
        registry: Some(source("1.2.0")),
        ..ServerConfig::new("srv-1", "w", Transport::Http(remote))
    };
    for url in ["https://a.example/mcp", "https://b.example/mcp"] {
        let found = report(&config, &at("1.2.0", "https://a.example/mcp"), &at("2.0.0", url)).await;
        let draft = found.update.unwrap().draft.unwrap();
        let Transport::Http(remote) = &draft.transport else { panic!("{draft:?}") };
        assert_eq!((remote.url.as_str(), &remote.headers), (url, &headers));
    }
}

#[tokio::test]
async fn says_what_became_of_the_installed_version() {
    let registry = TestRegistry::start().await;
    let asking = Asking::new();
    let config = program(&["@example/weather@1.2.0"], &[]);
    let ask = || asking.registry.report(&registry.address, &config, config.registry.as_ref().unwrap());
    let mut old = listed(&entry("1.2.0", &json!({})));
    old["_meta"]["io.modelcontextprotocol.registry/official"] =
        json!({"status": "deprecated", "statusMessage": "No longer maintained"});
    let path = "/v0.1/servers/io.example%2Fweather/versions";
    registry.reply(&format!("{path}/1.2.0"), Reply::Body(old.to_string())).await;
    registry.reply(&format!("{path}/latest"), Reply::Body(old.to_string())).await;
    let found = ask().await.unwrap();
    assert_eq!(found.status, Some(RegistryStatus::Deprecated));
    assert_eq!(found.status_message.as_deref(), Some("No longer maintained"));
    assert_eq!(found.update, None);

    // An answer about another entry, and an earlier answer, say nothing.
    asking.clock.advance(std::time::Duration::from_secs(3600));
    registry.reply(&format!("{path}/latest"), Reply::Status(500)).await;
    assert!(ask().await.is_err(), "an earlier answer counts");
    let mut foreign = listed(&entry("9.9.9", &json!({})));
    foreign["server"]["name"] = json!("io.example/other");
    registry.reply(&format!("{path}/latest"), Reply::Body(foreign.to_string())).await;
    assert!(ask().await.is_err(), "another entry counts");
}
