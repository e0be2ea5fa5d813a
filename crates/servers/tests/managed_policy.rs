//! Patterns for addresses in the administrator's policy file (SRV-18), as a table: an address that only looks
//! like an allowed one is forbidden, and a denied one stays denied however it is written.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use gatehouse_model::server::Remote;
use gatehouse_model::{ServerConfig, Transport};
use gatehouse_servers::PolicyFile;

fn remote(url: &str) -> ServerConfig {
    ServerConfig::new("r", "r", Transport::Auto(Remote { url: url.to_owned(), ..Remote::default() }))
}

/// Why the address is forbidden under a policy with this one pattern in this one list.
fn forbids(list: &str, pattern: &str, url: &str) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("policy.json");
    let policy = serde_json::json!({ "servers": { list: [{ "url": pattern }] } });
    std::fs::write(&path, policy.to_string()).unwrap();
    PolicyFile::at(path).forbids(&remote(url)).map(|why| why.to_string())
}

/// The example of the README.
const EXAMPLE: &str = "https://*.example.com/*";

#[test]
fn allows_only_matching_urls() {
    for (pattern, url, allowed) in [
        (EXAMPLE, "https://a.example.com/mcp", true),
        (EXAMPLE, "https://a.b.example.com/", true),
        (EXAMPLE, "https://a.example.com", true),
        (EXAMPLE, "https://A.EXAMPLE.com./mcp?x=1#y", true),
        (EXAMPLE, "https://a.example.com:443/mcp", true),
        (EXAMPLE, "wss://a.example.com/mcp", true),
        // What is behind the host passes for the host.
        (EXAMPLE, "https://evil.com/a.example.com/x", false),
        (EXAMPLE, "https://evil.com/?.example.com/x", false),
        (EXAMPLE, "https://evil.com/#.example.com/x", false),
        (EXAMPLE, "https://evil.com\\a.example.com/x", false),
        (EXAMPLE, "https://a.example.com@evil.com/x", false),
        (EXAMPLE, "https://evil.com:443/.example.com/x", false),
        (EXAMPLE, "https://a.example.com.evil.com/x", false),
        (EXAMPLE, "https://evilexample.com/x", false),
        (EXAMPLE, "https://example.com/x", false),
        (EXAMPLE, "https://a.example.co\u{43c}/x", false),
        (EXAMPLE, "http://a.example.com/x", false),
        (EXAMPLE, "https://a.example.com:8443/x", false),
        (EXAMPLE, "no address", false),
        // Ports.
        ("https://mcp.example:8443/*", "https://mcp.example:8443/x", true),
        ("https://mcp.example:8443/*", "https://mcp.example/x", false),
        ("https://mcp.example:443/*", "https://mcp.example/x", true),
        ("https://mcp.example:*/*", "https://mcp.example:1/x", true),
        // Paths are those that the parser makes.
        ("https://mcp.example/team/*", "https://mcp.example/team/mcp", true),
        ("https://mcp.example/team/*", "https://mcp.example/team/../other", false),
        ("https://mcp.example/team/*", "https://mcp.example/team/%2e%2e/other", false),
        ("https://mcp.example/team/*", "https://mcp.example/Team/mcp", false),
        // However they are spelled.
        ("https://mcp.example/team/*", "https://mcp.example/%74e%61m/mcp", true),
        ("https://mcp.example/te%61m/*", "https://mcp.example/team/mcp", true),
        ("https://mcp.example/a@b/*", "https://mcp.example/a%40b/mcp", true),
        ("https://mcp.example/b\u{fc}cher/*", "https://mcp.example/b%c3%bccher/mcp", true),
        ("https://mcp.example/a%2Ab", "https://mcp.example/axb", false),
        ("https://mcp.example/team/*", "https://mcp.example/%2574eam/mcp", false),
        // What servers read in different ways is in no folder.
        ("https://mcp.example/team/*", "https://mcp.example/team/a%2F..%2f..%2Fother", false),
        ("https://mcp.example/team/*", "https://mcp.example/team/a%5cb", false),
        ("https://mcp.example/team/*", "https://mcp.example/team//mcp", false),
        ("https://mcp.example/team/*", "https://mcp.example//team/mcp", false),
        (EXAMPLE, "https://a.example.com//mcp", true),
        ("https://mcp.example", "https://mcp.example/a%2Fb", true),
        ("https://mcp.example/mcp", "https://mcp.example/mcp?team=1", true),
        ("https://mcp.example/mcp", "https://mcp.example/mcp/more", false),
        ("https://mcp.example", "https://mcp.example/any/path", true),
        // Schemes and hosts.
        ("*://mcp.example/*", "http://mcp.example/", true),
        ("http://*/*", "http://anything.example/x", true),
        ("http://*/*", "https://anything.example/x", false),
        ("http://127.0.0.1:*/*", "http://127.1:80/x", true),
        ("http://127.0.0.1:*/*", "http://2130706433/x", true),
        ("http://127.0.0.1:*/*", "http://127.0.0.1.evil.com/x", false),
        ("http://[::1]:*/*", "http://[0:0::1]:3000/x", true),
        ("https://b\u{fc}cher.example/*", "https://xn--bcher-kva.example/x", true),
        ("https://*.B\u{dc}CHER.example/*", "https://a.b\u{fc}cher.example/x", true),
    ] {
        assert_eq!(forbids("allow", pattern, url).is_none(), allowed, "{pattern} {url}");
    }
}

#[test]
fn denies_url_in_every_notation() {
    for (pattern, url, denied) in [
        ("https://evil.example/*", "https://evil.example/mcp", true),
        ("https://evil.example/*", "https://EVIL.example./mcp", true),
        ("https://evil.example/*", "https://evil.example:8443/mcp", true),
        ("https://evil.example/*", "wss://evil.example/mcp", true),
        ("https://evil.example/*", "https://user@evil.example/mcp", true),
        ("https://evil.example/*", " https://ev\til.example/mcp", true),
        ("https://evil.example/*", "https://\u{ff45}vil.example/mcp", true),
        ("https://evil.example/admin/*", "https://evil.example/x/../admin/y", true),
        ("https://evil.example/admin/*", "https://evil.example/%61dm%69n/y", true),
        ("https://evil.example/%61dmin/*", "https://evil.example/admin/y", true),
        ("https://evil.example/a@b/*", "https://evil.example/a%40b/y", true),
        ("https://evil.example/admin/*", "https://evil.example/x%2f..%2Fadmin/y", true),
        ("https://evil.example/admin/*", "https://evil.example/x%5c..%5Cadmin/y", true),
        ("https://evil.example/admin/*", "https://evil.example//admin/y", true),
        ("https://evil.example/admin/*", "https://evil.example/x//y", true),
        ("https://evil.example/admin/*", "https://evil.example/x/y", false),
        ("https://evil.example/admin/*", "https://good.example//admin/y", false),
        ("https://10.0.0.1/*", "https://[::ffff:10.0.0.1]/x", true),
        ("https://10.0.0.1/*", "https://0xa.1/x", true),
        ("https://evil.example:8443/*", "https://evil.example/mcp", false),
        ("https://evil.example/*", "https://good.example/https://evil.example/", false),
    ] {
        assert_eq!(forbids("deny", pattern, url).is_some(), denied, "{pattern} {url}");
    }
}

#[test]
fn invalid_pattern_denies_everything() {
    for pattern in [
        "",
        "*",
        "evil.example",
        "*evil*",
        "ftp://evil.example/*",
        "https://*evil.example/*",
        "https://evil.*/*",
        "https://a*b.example/*",
        "https://*.10.0.0.1/*",
        "https:///x",
        "https://user@evil.example/*",
        "https://evil.example:/*",
        "https://evil.example:+1/*",
        "https://evil.example:70000/*",
        "https://evil.example/*?x=*",
        "https://evil.example\\x",
    ] {
        for list in ["allow", "deny"] {
            let why = forbids(list, pattern, "https://good.example/").unwrap_or_default();
            assert!(why.contains("cannot be read"), "{pattern}: {why}");
        }
    }
}
