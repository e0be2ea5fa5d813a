//! What a link may say, and what makes it invalid.

use gatehouse_integrations::{AddLinkError, read_link};
use gatehouse_model::Transport;
use gatehouse_model::registry::{LinkContent, MAX_LINK_BYTES};

/// The server of a link as text: name, what runs or where it is, variables or headers, and the secrets to be entered.
fn server(link: &str) -> String {
    let content = read_link(link).unwrap_or_else(|error| panic!("{link}: {error}"));
    let LinkContent::Server { draft, secrets, had_secrets } = content else { panic!("{content:?}") };
    let (what, values) = match &draft.transport {
        Transport::Stdio { command, args, env, .. } => (format!("{command:?} {args:?}"), env),
        Transport::Auto(remote) | Transport::Http(remote) => (remote.url.clone(), &remote.headers),
        other => panic!("{other:?}"),
    };
    format!("{}|{what}|{values:?}|{secrets:?}|{had_secrets}", draft.name)
}

#[test]
fn reads_servers() {
    // {"command":"npx","args":["-y","x"],"env":{"A":"1"}} and {"url":"https://a.example/mcp"}
    let program = "eyJjb21tYW5kIjoibnB4IiwiYXJncyI6WyIteSIsIngiXSwiZW52Ijp7IkEiOiIxIn19";
    let remote = "eyJ1cmwiOiJodHRwczovL2EuZXhhbXBsZS9tY3AifQ";
    let table = [
        ("command=node".to_owned(), r#"|"node" []|{}|[]|false"#),
        (
            "name=My%20files&command=npx&args=-y&args=a%20b&args=&env=A%3D1%3D2&env=B=".to_owned(),
            r#"My files|"npx" ["-y", "a b", ""]|{"A": "1=2", "B": ""}|[]|false"#,
        ),
        ("url=https%3A%2F%2Fa.example%2Fmcp%3Fx%3D1".to_owned(), "|https://a.example/mcp?x=1|{}|[]|false"),
        (
            "url=https://a.example/&headers=X-Team=red".to_owned(),
            r#"|https://a.example/|{"X-Team": "red"}|[]|false"#,
        ),
        (
            "command=x&env=API_KEY=sk-live-1234&env=DB_PASSWORD=".to_owned(),
            r#"|"x" []|{"API_KEY": "${secret:API_KEY}", "DB_PASSWORD": "${secret:DB_PASSWORD}"}|["env/API_KEY", "env/DB_PASSWORD"]|true"#,
        ),
        (
            "url=https://a.example/&headers=Authorization=".to_owned(),
            r#"|https://a.example/|{"Authorization": "${secret:Authorization}"}|["headers/Authorization"]|false"#,
        ),
        (format!("config={program}"), r#"|"npx" ["-y", "x"]|{"A": "1"}|[]|false"#),
        (format!("name=n&config={remote}"), "n|https://a.example/mcp|{}|[]|false"),
        (format!("name=n&config={remote}%3D%3D"), "n|https://a.example/mcp|{}|[]|false"),
    ];
    for (query, expected) in table {
        assert_eq!(server(&format!("gatehouse://add?{query}")), expected, "{query}");
    }
    assert_eq!(server("gatehouse://add/?command=x"), r#"|"x" []|{}|[]|false"#);
}

#[test]
fn reads_entries_of_the_registry() {
    let table = [
        ("registry=io.example%2Fweather", None),
        ("registry=io.example/weather&version=1.2.0", Some("1.2.0")),
    ];
    for (query, expected) in table {
        let content = read_link(&format!("gatehouse://add?{query}")).unwrap();
        let LinkContent::Registry { name, version } = content else { panic!("{content:?}") };
        assert_eq!((name.as_str(), version.as_deref()), ("io.example/weather", expected));
    }
}

#[test]
fn refuses_what_is_not_exactly_a_link() {
    let of = |name: &str| name.to_owned();
    let bad = |name: &str| AddLinkError::BadValue(of(name));
    // {"command":"a","command":"b"}, {"command":"x","cwd":"/tmp"}, {"type":"builtin","builtin":{"kind":"time"}},
    // {"command":"x","extra":1}, {"url":"https://a.example","headersFrom":{"command":"x"}}, {"command":"x"},"y":{"command":"z"}
    let configs = [
        "eyJjb21tYW5kIjoiYSIsImNvbW1hbmQiOiJiIn0",
        "eyJjb21tYW5kIjoieCIsImN3ZCI6Ii90bXAifQ",
        "eyJ0eXBlIjoiYnVpbHRpbiIsImJ1aWx0aW4iOnsia2luZCI6InRpbWUifX0",
        "eyJjb21tYW5kIjoieCIsImV4dHJhIjoxfQ",
        "eyJ1cmwiOiJodHRwczovL2EuZXhhbXBsZSIsImhlYWRlcnNGcm9tIjp7ImNvbW1hbmQiOiJ4In19",
        "eyJjb21tYW5kIjoieCJ9LCJ5Ijp7ImNvbW1hbmQiOiJ6In0",
        "bm90IGpzb24",
        "%25%25%25",
        "",
    ];
    for config in configs {
        assert_eq!(read_link(&format!("gatehouse://add?config={config}")), Err(bad("config")), "{config}");
    }
    let table = [
        ("", AddLinkError::NotALink),
        ("gatehouse", AddLinkError::NotALink),
        ("https://add?command=x", AddLinkError::NotALink),
        ("gatehouse:add?command=x", AddLinkError::NotALink),
        ("gatehouse://remove?command=x", AddLinkError::NotALink),
        ("gatehouse://add/more?command=x", AddLinkError::NotALink),
        ("gatehouse://me@add?command=x", AddLinkError::NotALink),
        ("gatehouse://add:1?command=x", AddLinkError::NotALink),
        ("gatehouse://add?command=x#part", AddLinkError::NotALink),
        ("gatehouse://add?command=a b", AddLinkError::NotALink),
        ("gatehouse://add?command=\u{202e}x", AddLinkError::NotALink),
        ("gatehouse://add?command=x\n", AddLinkError::NotALink),
        ("gatehouse://add", AddLinkError::NotOneServer),
        ("gatehouse://add?name=x", AddLinkError::NotOneServer),
        ("gatehouse://add?command=x&url=https://a.example", AddLinkError::NotOneServer),
        ("gatehouse://add?command=x&config=e30", AddLinkError::NotOneServer),
        ("gatehouse://add?command=x&headers=A=b", AddLinkError::NotOneServer),
        ("gatehouse://add?url=https://a.example&args=x", AddLinkError::NotOneServer),
        ("gatehouse://add?url=https://a.example&env=A=b", AddLinkError::NotOneServer),
        ("gatehouse://add?command=x&version=1", AddLinkError::NotOneServer),
        ("gatehouse://add?registry=a.b/c&command=x", AddLinkError::NotOneServer),
        ("gatehouse://add?registry=a.b/c&name=x", AddLinkError::NotOneServer),
        ("gatehouse://add?registry=weather", bad("registry")),
        ("gatehouse://add?registry=a.b/..%2F..%2Fc", bad("registry")),
        ("gatehouse://add?registry=a.b/c&version=1%202", bad("version")),
        ("gatehouse://add?command=x&command=y", AddLinkError::Repeated(of("command"))),
        ("gatehouse://add?command=x&env=A=1&env=A=2", AddLinkError::Repeated(of("A"))),
        ("gatehouse://add?command=x&cwd=/", AddLinkError::UnknownParameter(of("cwd"))),
        ("gatehouse://add?command=x&autoApprove=all", AddLinkError::UnknownParameter(of("autoApprove"))),
        ("gatehouse://add?command=x&Command=y", AddLinkError::UnknownParameter(of("Command"))),
        ("gatehouse://add?command=", bad("command")),
        ("gatehouse://add?command=%20", bad("command")),
        ("gatehouse://add?command=x&env=A", bad("env")),
        ("gatehouse://add?command=x&env==1", bad("env")),
        ("gatehouse://add?command=x&env=%20A=1", bad("env")),
        ("gatehouse://add?url=a.example", bad("url")),
        ("gatehouse://add?url=file:///etc/passwd", bad("url")),
        ("gatehouse://add?url=javascript:alert(1)", bad("url")),
        ("gatehouse://add?command=ls%E2%80%AEx", AddLinkError::Hidden(of("command"))),
        ("gatehouse://add?command=x&args=a%00b", AddLinkError::Hidden(of("args"))),
        ("gatehouse://add?command=x&args=a%0Ab", AddLinkError::Hidden(of("args"))),
        ("gatehouse://add?command=%FF", AddLinkError::Hidden(of("command"))),
        ("gatehouse://add?command=x&env=A%E2%80%8B=1", AddLinkError::Hidden(of("env"))),
        ("gatehouse://add?command=x&na%E2%80%8Bme=1", AddLinkError::Hidden(of("?"))),
        ("gatehouse://add?command=x&env=A=${env:AWS_SECRET}", AddLinkError::Reference(of("env"))),
        ("gatehouse://add?command=x&env=A=%24%7Benv:AWS_SECRET%7D", AddLinkError::Reference(of("env"))),
        (
            "gatehouse://add?url=https://a.example&headers=A=%24%7Bsecret:B%7D",
            AddLinkError::Reference(of("headers")),
        ),
        ("gatehouse://add?command=x&args=--api-key=abc", AddLinkError::Secret(of("args"))),
        ("gatehouse://add?command=x&args=--token&args=abc", AddLinkError::Secret(of("args"))),
        ("gatehouse://add?command=x&args=-e&args=API_KEY%3Dabc", AddLinkError::Secret(of("args"))),
        ("gatehouse://add?command=x&args=-H&args=X-Api-Key:abc", AddLinkError::Secret(of("args"))),
        ("gatehouse://add?command=x&args=https://me:pw@a.example", AddLinkError::Secret(of("args"))),
        ("gatehouse://add?url=https://me:pw@a.example", AddLinkError::Secret(of("url"))),
        ("gatehouse://add?url=https://a.example/?api_key%3Dabc", AddLinkError::Secret(of("url"))),
    ];
    for (link, expected) in table {
        assert_eq!(read_link(link), Err(expected), "{link}");
    }
}

#[test]
fn refuses_links_without_measure() {
    let long = format!("gatehouse://add?command={}", "x".repeat(MAX_LINK_BYTES));
    assert_eq!(read_link(&long), Err(AddLinkError::TooLong));
    let many = format!("gatehouse://add?command=x{}", "&args=x".repeat(101));
    assert_eq!(read_link(&many), Err(AddLinkError::BadValue("args".to_owned())));
    let name = format!("gatehouse://add?command=x&name={}", "n".repeat(65));
    assert_eq!(read_link(&name), Err(AddLinkError::BadValue("name".to_owned())));
}
