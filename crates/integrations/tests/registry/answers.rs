//! Answers of a registry: pages, entries that can't be read, answers of earlier times, and registries that misbehave.

use std::time::Duration;

use gatehouse_integrations::{RegistryError, RegistryQuery};
use gatehouse_model::registry::RegistryStatus;
use serde_json::{Value, json};

use crate::test_registry::{Asking, Reply, TestRegistry, listed};

const LIST: &str = "/v0.1/servers";

fn entry(name: &str) -> Value {
    json!({"name": name, "description": "Says the weather", "version": "1.2.0", "packages": [
        {"registryType": "npm", "identifier": "weather", "version": "1.2.0", "transport": {"type": "stdio"}},
    ]})
}

fn all(text: &str) -> RegistryQuery<'_> {
    RegistryQuery { text, cursor: None, refresh: false }
}

#[tokio::test]
async fn reads_pages_and_asks_for_the_newest_versions() {
    let registry = TestRegistry::start().await;
    let asking = Asking::new();
    let body = json!({
        "servers": [listed(&entry("io.example/a")), listed(&entry("io.example/b"))],
        "metadata": {"nextCursor": "io.example/b:1.2.0", "count": 2},
    });
    registry.reply(LIST, Reply::Body(body.to_string())).await;
    let page = asking.registry.search(&registry.address, all("exa mple")).await.unwrap();
    let names: Vec<&str> = page.entries.iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(names, ["io.example/a", "io.example/b"]);
    assert_eq!(page.next_cursor.as_deref(), Some("io.example/b:1.2.0"));
    assert_eq!((page.omitted, &page.offline), (0, &None));
    let next = RegistryQuery { cursor: page.next_cursor.as_deref(), ..all("") };
    asking.registry.search(&registry.address, next).await.unwrap();
    assert_eq!(
        registry.requests().await,
        [
            "/v0.1/servers?version=latest&limit=30&search=exa+mple",
            "/v0.1/servers?version=latest&limit=30&cursor=io.example%2Fb%3A1.2.0",
        ]
    );
}

#[tokio::test]
async fn one_bad_entry_hides_no_other() {
    let registry = TestRegistry::start().await;
    let asking = Asking::new();
    let mut bidi = entry("io.example/bidi");
    bidi["description"] = json!("Safe \u{202e}lived\u{202c} text\nwith lines");
    let servers = json!([
        null,
        7,
        {},
        {"server": {"name": "no-namespace", "version": "1"}},
        {"server": {"name": "io.example/no-version"}},
        {"server": {"name": ["io.example/list"], "version": "1"}},
        {"server": {"name": "io.example/<b>", "version": "1"}},
        {"server": {"name": "io.example/odd", "version": "1", "description": 7, "packages": "none",
            "remotes": [null, {"type": 4}, {"type": "sse"}], "repository": {"url": "javascript:alert(1)"},
            "websiteUrl": "http://plain.example"}},
        listed(&bidi),
        listed(&entry("io.example/good")),
    ]);
    registry.reply(LIST, Reply::Body(json!({"servers": servers}).to_string())).await;
    let page = asking.registry.search(&registry.address, all("")).await.unwrap();
    let names: Vec<&str> = page.entries.iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(names, ["io.example/odd", "io.example/bidi", "io.example/good"]);
    assert_eq!(page.omitted, 7);
    assert_eq!(page.entries[1].description, "Safe lived text with lines");
    let odd = &page.entries[0];
    assert!(odd.options.is_empty() && odd.repository.is_none() && odd.website.is_none(), "{odd:?}");
}

#[tokio::test]
async fn shows_what_the_registry_says_about_an_entry() {
    let registry = TestRegistry::start().await;
    let asking = Asking::new();
    let old = json!({
        "server": entry("io.example/a"),
        "_meta": {"io.modelcontextprotocol.registry/official":
            {"status": "deprecated", "statusMessage": "Use b instead", "isLatest": false}},
    });
    let gone = json!({
        "server": entry("io.example/a"),
        "_meta": {"io.modelcontextprotocol.registry/official": {"status": "deleted"}},
    });
    let path = "/v0.1/servers/io.example%2Fa/versions";
    registry.reply(path, Reply::Body(json!({"servers": [old, gone]}).to_string())).await;
    let page = asking.registry.versions(&registry.address, "io.example/a").await.unwrap();
    assert_eq!(page.entries[0].status, RegistryStatus::Deprecated);
    assert_eq!(page.entries[0].status_message.as_deref(), Some("Use b instead"));
    assert_eq!(page.entries[1].status, RegistryStatus::Deleted);
    let missing = asking.registry.versions(&registry.address, "io.example/none").await.unwrap_err();
    assert_eq!(missing, RegistryError::NoEntry { name: "io.example/none".into() });
    for name in ["", "weather", "../secret", "io.example/a/b", "io.example/a?b"] {
        let refused = asking.registry.versions(&registry.address, name).await.unwrap_err();
        assert!(matches!(refused, RegistryError::NoEntry { .. }), "{name}: {refused:?}");
    }
    assert_eq!(registry.requests().await.len(), 2, "invalid names are not asked for");
}

#[tokio::test]
async fn uses_an_answer_again_for_a_while() {
    let registry = TestRegistry::start().await;
    let asking = Asking::new();
    let body = |name: &str| json!({"servers": [listed(&entry(name))]}).to_string();
    registry.reply(LIST, Reply::Tagged(body("io.example/a"))).await;
    let address = &registry.address;
    for _ in 0..3 {
        asking.registry.search(address, all("")).await.unwrap();
    }
    assert_eq!(registry.requests().await.len(), 1);
    asking.clock.advance(Duration::from_secs(301));
    let page = asking.registry.search(address, all("")).await.unwrap();
    assert_eq!(page.entries[0].name, "io.example/a", "an unchanged answer is known");
    assert_eq!(registry.requests().await.len(), 2);
    registry.reply(LIST, Reply::Body(body("io.example/b"))).await;
    let page = asking.registry.search(address, RegistryQuery { refresh: true, ..all("") }).await.unwrap();
    assert_eq!(page.entries[0].name, "io.example/b");
}

#[tokio::test]
async fn shows_an_earlier_answer_while_the_registry_is_away() {
    let registry = TestRegistry::start().await;
    let asking = Asking::new();
    let body = json!({"servers": [listed(&entry("io.example/a"))]}).to_string();
    registry.reply(LIST, Reply::Body(body)).await;
    let address = registry.address.clone();
    let first = asking.registry.search(&address, all("")).await.unwrap();
    // Also after a restart, and whatever keeps the registry away.
    asking.clock.advance(Duration::from_secs(86_400));
    let again = Asking::restarted(&asking.folder, &asking.clock);
    for reply in [Reply::Status(500), Reply::Status(429), Reply::Silence] {
        registry.reply(LIST, reply).await;
        let page = again.search(&address, all("")).await.unwrap();
        assert_eq!(page.entries, first.entries);
        assert_eq!(page.fetched_at, first.fetched_at);
        assert!(page.offline.is_some());
    }
    drop(registry);
    assert!(again.search(&address, all("")).await.unwrap().offline.is_some());
    let unknown = again.search(&address, all("never asked")).await.unwrap_err();
    assert!(matches!(unknown, RegistryError::Unreachable { .. }), "{unknown:?}");
}

/// A kept answer that leads to an endless file is none, and nothing waits for it.
#[cfg(unix)]
#[tokio::test]
async fn ignores_kept_answers_that_are_no_files() {
    let registry = TestRegistry::start().await;
    let asking = Asking::new();
    let body = json!({"servers": [listed(&entry("io.example/a"))]}).to_string();
    registry.reply(LIST, Reply::Body(body)).await;
    let address = registry.address.clone();
    asking.registry.search(&address, all("")).await.unwrap();
    drop(registry);
    let kept: Vec<_> = std::fs::read_dir(asking.folder.path().join("cache")).unwrap().collect();
    assert_eq!(kept.len(), 1);
    for kept in kept {
        let path = kept.unwrap().path();
        std::fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
    }
    let again = Asking::restarted(&asking.folder, &asking.clock);
    let refused = again.search(&address, all("")).await.unwrap_err();
    assert!(matches!(refused, RegistryError::Unreachable { .. }), "{refused:?}");
}

#[tokio::test]
async fn refuses_registries_that_misbehave() {
    let registry = TestRegistry::start().await;
    let asking = Asking::new();
    let address = &registry.address;
    let large = format!("{{\"servers\":[],\"x\":\"{}\"}}", "x".repeat(100 * 1024));
    let table = [
        (Reply::Redirect, "leads on to another address"),
        (Reply::Status(404), "answered with HTTP status 404"),
        (Reply::Status(500), "answered with HTTP status 500"),
        (Reply::Silence, "did not answer within"),
        (Reply::Body(large), "is too large"),
        (Reply::Body("<html>".into()), "cannot be read"),
        (Reply::Body("[]".into()), "cannot be read"),
        (Reply::Body(r#"{"servers":{}}"#.into()), "cannot be read"),
    ];
    for (reply, expected) in table {
        registry.reply(LIST, reply).await;
        let refresh = RegistryQuery { refresh: true, ..all("") };
        let error = asking.registry.search(address, refresh).await.unwrap_err();
        assert!(error.to_string().contains(expected), "{error} instead of {expected}");
    }
    for address in ["http://registry.example", "ftp://127.0.0.1", "https://me@registry.example"] {
        let error = asking.registry.search(address, all("")).await.unwrap_err();
        assert_eq!(error, RegistryError::BadAddress, "{address}");
    }
}
