//! `servers.json`: what a file may say, what runs, and what is never lost (DATA-1, PERM-16).

use std::sync::atomic::Ordering;

use gatehouse_model::approval::ConfigChangeKind;
use gatehouse_model::server::{
    Builtin, HeaderProgram, RegistrySource, Remote, ServerAppearance, ServerLimits, ServerOrigin,
    StdioStreams, TimeLimit,
};
use gatehouse_model::sign_in::{
    RegisteredClient, SignInEndpoints, SignInMethod, SignInSettings, TokenEndpointAuthMethod,
};
use gatehouse_model::{ErrorCode, Generation, ServerConfig, ServerId, Transport, UserError, UserText};
use gatehouse_store::{HandEdit, LoadedServers, Owner, SealError, StoreError};

use crate::fixture::StoreFixture;

fn server(id: &str, name: &str, command: &str) -> ServerConfig {
    ServerConfig {
        generation: Generation(1),
        ..ServerConfig::new(
            ServerId::new(id),
            name,
            Transport::Stdio {
                command: command.to_owned(),
                args: Vec::new(),
                env: std::collections::BTreeMap::new(),
                cwd: None,
                streams: Default::default(),
            },
        )
    }
}

fn text(fixture: &StoreFixture) -> String {
    std::fs::read_to_string(fixture.path("servers.json")).unwrap()
}

fn write(fixture: &StoreFixture, text: &str) {
    std::fs::write(fixture.path("servers.json"), text).unwrap();
}

fn edit(fixture: &StoreFixture, from: &str, to: &str) {
    let before = text(fixture);
    assert!(before.contains(from), "{from} is not in {before}");
    write(fixture, &before.replace(from, to));
}

fn names(loaded: &LoadedServers) -> Vec<&str> {
    loaded.servers.iter().map(|server| server.name.as_str()).collect()
}

fn edits(loaded: &LoadedServers) -> Vec<(ConfigChangeKind, &str)> {
    loaded.unconfirmed.iter().map(|edit| (edit.request.action, edit.request.server.as_str())).collect()
}

fn with_two() -> StoreFixture {
    let fixture = StoreFixture::new();
    fixture.open().servers().save(&[server("srv-a", "a", "one"), server("srv-b", "b", "two")]).unwrap();
    fixture
}

fn problem(error: StoreError) -> UserError {
    error.into()
}

/// Everything in an error, in English: code, message, cause and hint.
fn in_english(error: &UserError) -> (ErrorCode, String, Option<String>, Option<String>) {
    let UserError { code, message, cause, hint } = error;
    let text = |text: &Option<UserText>| text.as_ref().map(ToString::to_string);
    (*code, message.to_string(), text(cause), text(hint))
}

#[test]
fn first_load_is_empty() {
    assert_eq!(StoreFixture::new().open().servers().load(), LoadedServers::default());
}

/// Settings of every way to sign in.
fn sign_ins() -> Vec<SignInSettings> {
    let client = |secret: Option<&str>, method| {
        Some(RegisteredClient { id: "gatehouse".into(), secret: secret.map(Into::into), method })
    };
    let endpoints = |revoke: Option<&str>| {
        Some(SignInEndpoints {
            authorize: "https://id.example/authorize".into(),
            token: "https://id.example/token".into(),
            revoke: revoke.map(Into::into),
        })
    };
    let enterprise = |secret: Option<&str>| SignInMethod::Enterprise {
        issuer: "https://company.example".into(),
        client: "gatehouse".into(),
        secret: secret.map(Into::into),
    };
    let key = SignInMethod::ClientKey { key: "${secret:key}".into(), algorithm: "ES256".into() };
    let usual = SignInSettings::default;
    vec![
        SignInSettings { off: true, ..usual() },
        SignInSettings { client: client(None, None), endpoints: endpoints(None), ..usual() },
        SignInSettings {
            client: client(Some("${secret:client}"), Some(TokenEndpointAuthMethod::ClientSecretBasic)),
            endpoints: endpoints(Some("https://id.example/revoke")),
            with: SignInMethod::ClientSecret,
            ..usual()
        },
        SignInSettings { client: client(None, Some(TokenEndpointAuthMethod::None)), with: key, ..usual() },
        SignInSettings { with: enterprise(None), scopes: vec!["a".into(), "b".into()], ..usual() },
        SignInSettings { with: enterprise(Some("${secret:company}")), ..usual() },
    ]
}

#[test]
fn round_trips_every_transport() {
    let fixture = StoreFixture::new();
    let headers = || [("X-Key".to_owned(), "${secret:KEY}".to_owned())].into();
    let url = || "https://mcp.example/mcp".to_owned();
    let full = Transport::Stdio {
        command: "npx".into(),
        args: vec!["-y".into(), "srv".into()],
        env: [("A".to_owned(), "${env:HOME}".to_owned())].into(),
        cwd: Some("/tmp".into()),
        streams: StdioStreams::Pipes,
    };
    let limits = ServerLimits {
        connect_secs: 5,
        call_secs: TimeLimit::Unlimited,
        call_cap_secs: TimeLimit::Secs(90),
        health_every_secs: 0,
        health_timeout_secs: 7,
        health_failures: 9,
        strict: true,
        roots: vec!["/data".into(), "/文件".into()],
    };
    let look =
        ServerAppearance { description: Some("d".into()), icon: Some("i".into()), group: Some("g".into()) };
    let mut servers = Vec::new();
    for (index, transport) in [
        full,
        Transport::Auto(Remote { url: url(), headers: headers(), headers_from: None, ..Remote::default() }),
        Transport::Http(Remote {
            url: url(),
            headers: headers(),
            headers_from: Some(HeaderProgram { command: "gh".into(), args: vec!["token".into()] }),
            sign_in: SignInSettings {
                client: Some(RegisteredClient {
                    id: "gatehouse".into(),
                    secret: Some("${secret:client}".into()),
                    method: Some(TokenEndpointAuthMethod::ClientSecretPost),
                }),
                scopes: vec!["files:read".into()],
                redirect: Some("http://127.0.0.1:8976/callback".into()),
                ..SignInSettings::default()
            },
        }),
        Transport::Sse(Remote { url: url(), headers: headers(), headers_from: None, ..Remote::default() }),
        Transport::Ws(Remote {
            url: "wss://mcp.example".into(),
            headers: headers(),
            headers_from: None,
            ..Remote::default()
        }),
        Transport::Builtin { builtin: Builtin::Time },
        Transport::Builtin { builtin: Builtin::Notes },
        Transport::Builtin { builtin: Builtin::Files { folder: "/data".into() } },
        Transport::Builtin { builtin: Builtin::Fetch { allow_private: true } },
        Transport::Builtin { builtin: Builtin::Fetch { allow_private: false } },
    ]
    .into_iter()
    .chain(sign_ins().into_iter().map(|sign_in| Transport::Auto(Remote { sign_in, ..Remote::at(url()) })))
    .enumerate()
    {
        let plain = server(&format!("srv-{index}"), &format!("server {index}"), "x");
        servers.push(ServerConfig { transport, ..plain });
    }
    servers[0].limits = limits;
    servers[0].look = look;
    servers[1].enabled = false;
    servers[2].autostart = false;
    servers[3].origin = ServerOrigin::Project;
    servers[4].registry = Some(RegistrySource { name: "com.example/files".into(), version: "1.2.0".into() });
    fixture.open().servers().save(&servers).unwrap();
    let loaded = fixture.open().servers().load();
    assert_eq!(loaded, LoadedServers { servers, ..LoadedServers::default() });
}

#[test]
fn invalid_entry_is_reported_and_isolated() {
    for (entry, cause) in [
        (r#"{"comand":"x"}"#, "Unknown field “comand”. Did you mean “command”?"),
        (r#"{"command":"x","environment":{}}"#, "Unknown field “environment”. Did you mean “env”?"),
        (r#"{"command":"x","colour":1}"#, "Unknown field “colour”."),
        (
            r#"{"command":"x","autoApprove":["*"]}"#,
            "Set what runs without asking on the server's page, not in “autoApprove”.",
        ),
        (r#"{"command":"x","disabled":true}"#, "Use “enabled” with the opposite value, not “disabled”."),
        (r#"{"command":"x","args":"y"}"#, "In “args”: This must be a list of strings."),
        (r#"{"command":"x","env":{"A":1}}"#, "In “env.A”: This must be a string."),
        (r#"{"command":"x","env":[]}"#, "In “env”: This must be an object whose values are strings."),
        (r#"{"command":7}"#, "In “command”: This must be a string."),
        (r#"{"command":" "}"#, "In “command”: Enter a command."),
        (r#"{"command":"x","command":"y"}"#, "In “command”: This field appears twice."),
        (r#"{"command":"x","c\u006fmmand":"y"}"#, "In “command”: This field appears twice."),
        (r#"{"command":"x","env":{"A":"1","A":"2"}}"#, "In “env.A”: This field appears twice."),
        (r#"{"command":"x","url":"https://a"}"#, "Keep only one of “command”, “url” and “builtin”."),
        (
            r#"{"type":"http","url":"https://a","args":[]}"#,
            "“args” doesn't belong to a server of type “http”.",
        ),
        (r#"{"url":"ftp://a"}"#, "In “url”: Enter an http or https address."),
        (r#"{"type":"ws","url":"https://a"}"#, "In “url”: Enter a ws or wss address."),
        (
            r#"{"type":"htp","url":"https://a"}"#,
            "In “type”: The type must be one of stdio, auto, http, sse, ws, builtin.",
        ),
        (r#"{"type":"http"}"#, "“url” is missing."),
        ("{}", "Either “command” or “url” is needed."),
        ("7", "This must be an object."),
        ("null", "This must be an object."),
        (r#"{"command":"x","enabled":"yes"}"#, "In “enabled”: This must be true or false."),
        (
            r#"{"command":"x","limits":{"callSec":1}}"#,
            "In “limits”: Unknown field “callSec”. Did you mean “callSecs”?",
        ),
        (
            r#"{"command":"x","limits":{"connectSecs":-1}}"#,
            "In “limits.connectSecs”: Enter a whole number, 1 or more.",
        ),
        (
            r#"{"builtin":{"kind":"files","folder":"here"}}"#,
            "In “builtin.folder”: Enter the folder's full path.",
        ),
        (
            r#"{"command":7,"args":"y"}"#,
            "In “command”: This must be a string. In “args”: This must be a list of strings.",
        ),
        (r#"{"builtin":{"kind":"time","x":1}}"#, "In “builtin”: Unknown field “x”."),
        (
            r#"{"command":"x","gatehouse":{"grants":"all"}}"#,
            "In “gatehouse”: Only Gatehouse writes this field. Remove it.",
        ),
    ] {
        let fixture = StoreFixture::new();
        let store = fixture.open();
        let file = format!(
            "{{\"version\":1,\"mcpServers\":{{\n\"bad\": {entry},\n\"good\":{{\"command\":\"x\"}}}}}}"
        );
        write(&fixture, &file);
        let loaded = store.servers().load();
        let what = "The server “bad” in servers.json (line 2) cannot be used as it is written.".to_owned();
        let said: Vec<_> = loaded.problems.iter().map(in_english).collect();
        assert_eq!(said, [(ErrorCode::BadConfig, what, Some(cause.to_owned()), None)], "{entry}");
        assert_eq!(edits(&loaded), [(ConfigChangeKind::Added, "good")], "{entry}");
        // A save keeps the faulty entry to the letter.
        store.servers().save(&[server("srv-n", "new", "y")]).unwrap();
        assert!(text(&fixture).contains(&format!("\"bad\": {entry},")), "{}", text(&fixture));
    }
}

/// An entry with this many unknown fields.
fn entry_with_unknown_fields(count: usize) -> String {
    let fields: Vec<String> = (0..count).map(|index| format!("\"colour{index}\":1")).collect();
    format!("{{\"command\":\"x\",{}}}", fields.join(","))
}

#[test]
fn error_of_an_entry_with_many_problems_is_short_and_flat() {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    for (count, sentences, has_more) in [(3, 3, false), (10, 10, false), (11, 10, true), (10_000, 10, true)] {
        write(&fixture, &format!("{{\"mcpServers\":{{\"bad\":{}}}}}", entry_with_unknown_fields(count)));
        let [problem]: [UserError; 1] = store.servers().load().problems.try_into().unwrap();
        let cause = problem.cause.clone().unwrap().to_string();
        assert_eq!(cause.matches("Unknown field “colour").count(), sentences, "{cause}");
        assert!(cause.starts_with("Unknown field “colour0”. Unknown field “colour1”. "), "{cause}");
        assert_eq!(cause.ends_with("Unknown field “colour9”. More of its fields are invalid."), has_more);
        // Readers of JSON refuse what is nested deeply.
        let text = serde_json::to_string(&problem).unwrap();
        assert_eq!(serde_json::from_str::<UserError>(&text).unwrap(), problem);
    }
}

#[test]
fn names_in_errors_are_cut_and_on_one_line() {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    let long = "x".repeat(5000);
    for (name, entry) in [
        (&*long, r#"{"command":"x"}"#.to_owned()),
        ("a", format!(r#"{{"command":"x","{long}":1}}"#)),
        ("a", r#"{"command":"x","a\nb\u202ec\u001b[31m":1}"#.to_owned()),
        ("a", format!(r#"{{"command":"x","env":{{"{long}":1}}}}"#)),
        ("a", format!(r#"{{"command":"x","env":{{"{long}":"1","{long}":"2"}}}}"#)),
        ("a", format!(r#"{{"url":"https://a","signIn":{{"{long}":1}}}}"#)),
    ] {
        write(&fixture, &format!("{{\"mcpServers\":{{\"{name}\":{entry}}}}}"));
        let [problem]: [UserError; 1] = store.servers().load().problems.try_into().unwrap();
        let said = problem.to_string();
        assert!(said.chars().count() < 250 && !said.contains(char::is_control), "{said}");
        assert!(!said.contains('\u{202e}'), "{said}");
    }
}

#[test]
fn rejects_invalid_and_duplicate_names() {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    write(
        &fixture,
        r#"{"mcpServers":{"a":{"command":"1"},"A":{"command":"2"},"a":{"command":"3"},"x/y":{"command":"4"}}}"#,
    );
    let loaded = store.servers().load();
    assert_eq!(edits(&loaded), [(ConfigChangeKind::Added, "a")]);
    let why: Vec<_> =
        loaded.problems.iter().map(|problem| problem.cause.as_ref().unwrap().to_string()).collect();
    let twice = "Another entry has this name already (case doesn't count).";
    assert_eq!(why, [twice, twice, "Names can't contain a slash."]);
    for (name, code) in
        [("b", ErrorCode::NameTaken), ("B", ErrorCode::NameTaken), ("x/y", ErrorCode::BadRequest)]
    {
        let error =
            store.servers().save(&[server("srv-1", "b", "x"), server("srv-2", name, "x")]).unwrap_err();
        assert_eq!(problem(error).code, code, "{name}");
    }
    // Nor may a new server take the name of an entry that waits or is faulty.
    for name in ["a", "X/Y".to_lowercase().replace('/', "").as_str()] {
        let saved = store.servers().save(&[server("srv-1", name, "x")]);
        assert_eq!(saved.is_err(), name == "a", "{name}");
    }
}

#[test]
fn broken_file_is_untouched_and_confirmed_servers_stay() {
    for (file, what, code) in [
        ("{\n \"mcpServers\": {,}\n}", "servers.json is broken at line 2, column 17.", ErrorCode::BadConfig),
        ("", "servers.json is broken at line 1, column 0.", ErrorCode::BadConfig),
        (
            "{\"version\":1,\"mcpServers\":[]}",
            "servers.json is broken at line 1, column 27.",
            ErrorCode::BadConfig,
        ),
        (
            "{\"version\":2,\"mcpServers\":{}}",
            "servers.json was written by a newer version of Gatehouse.",
            ErrorCode::NewerVersion,
        ),
    ] {
        let fixture = with_two();
        let store = fixture.open();
        write(&fixture, file);
        let loaded = store.servers().load();
        assert_eq!(names(&loaded), ["a", "b"], "{file}");
        assert_eq!(edits(&loaded), [], "{file}");
        assert_eq!((loaded.problems[0].message.to_string().as_str(), loaded.problems[0].code), (what, code));
        let refused = problem(store.servers().save(&loaded.servers[..1]).unwrap_err());
        assert_eq!((refused.message.to_string().as_str(), refused.code), (what, code));
        assert_eq!(text(&fixture), file);
        assert_eq!(names(&place_load(&fixture, store)), ["a", "b"]);
    }
    let fixture = with_two();
    std::fs::write(fixture.path("servers.json"), b"{\n\"a\xff\"").unwrap();
    let loaded = fixture.open().servers().load();
    assert_eq!(loaded.problems[0].message.to_string(), "servers.json is broken at line 2, column 3.");
    assert_eq!(names(&loaded), ["a", "b"]);
}

fn place_load(fixture: &StoreFixture, store: gatehouse_store::Store) -> LoadedServers {
    drop(store);
    fixture.open().servers().load()
}

#[test]
fn recreates_missing_file_from_confirmed_servers() {
    let fixture = with_two();
    std::fs::remove_file(fixture.path("servers.json")).unwrap();
    let store = fixture.open();
    let loaded = store.servers().load();
    assert_eq!(names(&loaded), ["a", "b"]);
    assert_eq!(loaded.problems[0].message.to_string(), "servers.json is gone.");
    store.servers().save(&loaded.servers).unwrap();
    assert_eq!(store.servers().load(), LoadedServers { servers: loaded.servers, ..LoadedServers::default() });
}

#[test]
fn only_appearance_and_order_apply_without_confirmation() {
    let fixture = with_two();
    let store = fixture.open();
    for (from, to, waits) in [
        (
            "\"command\": \"one\",",
            "\"command\": \"one\", \"description\": \"d\", \"icon\": \"i\", \"group\": \"g\",",
            false,
        ),
        ("\"one\"", "\"other\"", true),
        ("\"command\": \"one\",", "\"command\": \"one\", \"args\": [\"x\"],", true),
        ("\"command\": \"one\",", "\"command\": \"one\", \"env\": {\"LD_PRELOAD\": \"x\"},", true),
        ("\"command\": \"one\",", "\"command\": \"one\", \"enabled\": false,", true),
        ("\"command\": \"one\",", "\"command\": \"one\", \"autostart\": false,", true),
        ("\"command\": \"one\",", "\"command\": \"one\", \"limits\": {\"callSecs\": 1},", true),
        ("\"a\":", "\"renamed\":", true),
        ("\"generation\": 1", "\"generation\": 9", false),
        ("\"origin\": \"user\"", "\"origin\": \"import\"", false),
    ] {
        let before = text(&fixture);
        edit(&fixture, from, to);
        let loaded = store.servers().load();
        let changed = |edit: &HandEdit| edit.request.action == ConfigChangeKind::Changed;
        assert_eq!(loaded.unconfirmed.iter().any(changed), waits, "{to}");
        let runs = ServerConfig { look: ServerAppearance::default(), ..loaded.servers[0].clone() };
        assert_eq!(runs, server("srv-a", "a", "one"), "{to}");
        if to.contains("description") {
            assert_eq!(loaded.servers[0].look.group.as_deref(), Some("g"));
        }
        write(&fixture, &before);
    }
    let swapped = r#"{"version":1,"mcpServers":{"b":{"command":"two"},"a":{"command":"one"}}}"#;
    write(&fixture, swapped);
    let loaded = store.servers().load();
    assert_eq!((names(&loaded), edits(&loaded)), (vec!["b", "a"], vec![]));
}

#[test]
fn zeros_in_limits_of_older_versions_count_as_one() {
    let fixture = StoreFixture::new();
    let limits = |number: u32| ServerLimits {
        connect_secs: number,
        call_secs: TimeLimit::Secs(number),
        call_cap_secs: TimeLimit::Secs(number),
        health_every_secs: 0,
        health_timeout_secs: number,
        health_failures: number,
        ..ServerLimits::default()
    };
    let with = |number: u32| ServerConfig { limits: limits(number), ..server("srv-a", "a", "one") };
    fixture.open().servers().save(&[with(0)]).unwrap();
    assert!(text(&fixture).contains("\"connectSecs\": 0"), "{}", text(&fixture));
    let store = fixture.open();
    let loaded = store.servers().load();
    assert_eq!(loaded, LoadedServers { servers: vec![with(1)], ..LoadedServers::default() });
    // Anything about it can be changed.
    let renamed = ServerConfig { name: "renamed".into(), ..with(1) };
    store.servers().save(std::slice::from_ref(&renamed)).unwrap();
    assert!(text(&fixture).contains("\"connectSecs\": 1"), "{}", text(&fixture));
    assert_eq!(store.servers().load(), LoadedServers { servers: vec![renamed], ..LoadedServers::default() });
    edit(&fixture, "\"connectSecs\": 1", "\"connectSecs\": 0");
    assert_eq!(edits(&store.servers().load()), []);
}

#[test]
fn edit_applies_after_confirmation() {
    let fixture = with_two();
    let store = fixture.open();
    edit(&fixture, "\"one\"", "\"evil\"");
    edit(
        &fixture,
        "\"mcpServers\": {",
        "\"mcpServers\": {\n    \"new\": {\"command\": \"n\", \"env\": {\"API_KEY\": \"k\"}},",
    );
    let loaded = store.servers().load();
    assert_eq!(edits(&loaded), [(ConfigChangeKind::Added, "new"), (ConfigChangeKind::Changed, "a")]);
    let change = &loaded.unconfirmed[1].request.changes[0];
    assert_eq!(
        (change.pointer.as_str(), change.before.as_deref(), change.after.as_deref()),
        ("/command", Some("\"one\""), Some("\"evil\""))
    );
    let shown: Vec<_> = loaded.unconfirmed[0]
        .request
        .changes
        .iter()
        .map(|c| (c.pointer.as_str(), c.after.as_deref().unwrap()))
        .collect();
    assert_eq!(
        shown,
        [("/command", "\"n\""), ("/env/API_KEY", "\"••••••\""), ("/name", "\"new\""), ("/type", "\"stdio\"")]
    );

    let loaded = store.servers().confirm(&loaded.unconfirmed[1], true).unwrap();
    assert_eq!(edits(&loaded), [(ConfigChangeKind::Added, "new")]);
    let mut wanted = server("srv-a", "a", "evil");
    wanted.generation = Generation(2);
    assert_eq!(loaded.servers[0], wanted, "another connection is another generation");

    let loaded = store.servers().confirm(&loaded.unconfirmed[0], true).unwrap();
    assert_eq!(
        (names(&loaded), edits(&loaded), &loaded.problems),
        (vec!["new", "a", "b"], vec![], &Vec::new())
    );
    assert!(loaded.servers[0].id.as_str().starts_with("srv-"), "it has an id of its own");
    assert_eq!(place_load(&fixture, store), loaded);
}

#[test]
fn rejected_edit_is_reverted_in_file() {
    let fixture = with_two();
    let store = fixture.open();
    let sound = text(&fixture);
    let before = store.servers().load();
    for (from, to) in [
        ("\"one\"", "\"evil\""),
        ("\"a\":", "\"renamed\":"),
        ("\"mcpServers\": {", "\"mcpServers\": {\n    \"new\": {\"command\": \"n\"},"),
    ] {
        edit(&fixture, from, to);
        let loaded = store.servers().load();
        assert_eq!(loaded.unconfirmed.len(), 1, "{to}");
        assert_eq!(store.servers().confirm(&loaded.unconfirmed[0], false).unwrap(), before, "{to}");
        assert_eq!(text(&fixture), sound, "{to}");
    }
    // Taken out by hand: it runs on, and comes back or goes for good.
    write(&fixture, r#"{"version":1,"mcpServers":{"a":{"command":"one"}}}"#);
    let loaded = store.servers().load();
    assert_eq!((names(&loaded), edits(&loaded)), (vec!["a", "b"], vec![(ConfigChangeKind::Removed, "b")]));
    assert_eq!(store.servers().confirm(&loaded.unconfirmed[0], false).unwrap(), before);
    write(&fixture, r#"{"version":1,"mcpServers":{"a":{"command":"one"}}}"#);
    let loaded = store.servers().load();
    let loaded = store.servers().confirm(&loaded.unconfirmed[0], true).unwrap();
    assert_eq!((names(&loaded), edits(&loaded)), (vec!["a"], vec![]));
}

#[test]
fn rejects_confirmation_of_changed_edit() {
    let fixture = with_two();
    let store = fixture.open();
    edit(&fixture, "\"one\"", "\"harmless\"");
    let shown = store.servers().load();
    edit(&fixture, "\"harmless\"", "\"evil\"");
    let error = problem(store.servers().confirm(&shown.unconfirmed[0], true).unwrap_err());
    assert_eq!(error.code, ErrorCode::StaleAnswer);
    assert_eq!(store.servers().load().servers[0], server("srv-a", "a", "one"));
}

#[test]
fn ignores_ids_unknown_to_sealed_copy() {
    let fixture = with_two();
    let store = fixture.open();
    // A copy of an entry is a new server, and a foreign id is not taken over.
    edit(
        &fixture,
        "\"mcpServers\": {",
        "\"mcpServers\": {
            \"copy\": {\"command\": \"evil\", \"gatehouse\": {\"id\": \"srv-a\"}},
            \"foreign\": {\"command\": \"x\", \"gatehouse\": {\"id\": \"srv-old\", \"generation\": 7}},",
    );
    let mut loaded = store.servers().load();
    assert_eq!(edits(&loaded), [(ConfigChangeKind::Added, "copy"), (ConfigChangeKind::Added, "foreign")]);
    while let Some(edit) = loaded.unconfirmed.first().cloned() {
        loaded = store.servers().confirm(&edit, true).unwrap();
    }
    assert_eq!(names(&loaded), ["copy", "foreign", "a", "b"]);
    for server in &loaded.servers[..2] {
        assert!(!["srv-a", "srv-old"].contains(&server.id.as_str()), "{}", server.id);
    }
}

#[test]
fn save_preserves_foreign_content() {
    let fixture = with_two();
    let store = fixture.open();
    write(
        &fixture,
        r#"{
  "version": 1,
  "mcpServers": {
    "waits":   {"command": "w"},
    "a": {"command": "edited by hand", "gatehouse": {"id": "srv-a", "generation": 1}},
    "bad": {"command": 1,
       "x": [ ]},
    "b": { "command" :  "two", "gatehouse": {"id": "srv-b", "generation": 1, "origin": "user"}},
    "last": 7
  },
  "other": {"kept":  true}
}
"#,
    );
    let mut servers = store.servers().load().servers;
    assert_eq!(servers.len(), 2);
    servers.push(server("srv-c", "c", "three"));
    store.servers().save(&servers).unwrap();
    assert_eq!(
        text(&fixture),
        r#"{
  "version": 1,
  "mcpServers": {
    "waits": {"command": "w"},
    "a": {"command": "edited by hand", "gatehouse": {"id": "srv-a", "generation": 1}},
    "bad": {"command": 1,
       "x": [ ]},
    "b": { "command" :  "two", "gatehouse": {"id": "srv-b", "generation": 1, "origin": "user"}},
    "last": 7,
    "c": {
      "command": "three",
      "gatehouse": {
        "id": "srv-c",
        "generation": 1,
        "origin": "user"
      }
    }
  },
  "other": {"kept":  true}
}
"#
    );
    let loaded = store.servers().load();
    assert_eq!(names(&loaded), ["a", "b", "c"]);
    assert_eq!(loaded.servers[0], server("srv-a", "a", "one"), "what was not confirmed does not run");
    assert_eq!(edits(&loaded), [(ConfigChangeKind::Added, "waits"), (ConfigChangeKind::Changed, "a")]);
}

#[test]
fn save_writes_backup() {
    let fixture = with_two();
    let before = text(&fixture);
    let store = fixture.open();
    store.servers().save(&[server("srv-a", "a", "one")]).unwrap();
    assert_eq!(std::fs::read_to_string(fixture.path("servers.json.bak")).unwrap(), before);
    assert!(!fixture.path("servers.json.new").exists());
    let backup = fixture.path("servers.json.bak").metadata().unwrap().modified().unwrap();
    store.servers().save(&[server("srv-a", "a", "one")]).unwrap();
    assert_eq!(
        fixture.path("servers.json.bak").metadata().unwrap().modified().unwrap(),
        backup,
        "no change, no backup"
    );
}

#[test]
fn invalid_entry_keeps_confirmed_server() {
    let fixture = with_two();
    let store = fixture.open();
    edit(&fixture, "\"one\"", "1");
    let loaded = store.servers().load();
    assert_eq!((names(&loaded), edits(&loaded), loaded.problems.len()), (vec!["a", "b"], vec![], 1));
    assert_eq!(loaded.servers[0], server("srv-a", "a", "one"));
    store.servers().save(&loaded.servers).unwrap();
    assert!(text(&fixture).contains("\"command\": 1"));
    // An edit of that very server puts it right.
    let mut servers = loaded.servers;
    servers[0].enabled = false;
    store.servers().save(&servers).unwrap();
    assert_eq!(store.servers().load(), LoadedServers { servers, ..LoadedServers::default() });
}

#[test]
fn rejects_transport_change_without_new_generation() {
    let fixture = with_two();
    let store = fixture.open();
    let mut changed = server("srv-a", "a", "another");
    assert!(store.servers().save(std::slice::from_ref(&changed)).is_err());
    changed.generation = Generation(0);
    assert!(store.servers().save(std::slice::from_ref(&changed)).is_err());
    changed.generation = Generation(2);
    store.servers().save(std::slice::from_ref(&changed)).unwrap();
    assert_eq!(store.servers().load().servers, [changed]);
}

#[test]
fn adopts_file_of_other_app_entry_by_entry() {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    let plain = include_str!("../../fixtures/servers-0.json");
    write(&fixture, plain);
    let loaded = store.servers().load();
    assert_eq!(names(&loaded), [] as [&str; 0]);
    let added = ConfigChangeKind::Added;
    assert_eq!(edits(&loaded), [(added, "files"), (added, "off"), (added, "remote")]);
    assert!(!loaded.unconfirmed[1].after.as_ref().unwrap().enabled);
    assert_eq!(loaded.problems.len(), 2);
    assert_eq!(text(&fixture), plain, "reading writes nothing");
    let loaded = store.servers().confirm(&loaded.unconfirmed[2], true).unwrap();
    assert_eq!((names(&loaded), loaded.unconfirmed.len(), loaded.problems.len()), (vec!["remote"], 2, 2));
    assert!(text(&fixture).starts_with("{\n  \"version\": 1,"));
    assert_eq!(std::fs::read_to_string(fixture.path("servers.json.bak")).unwrap(), plain);
}

#[test]
fn broken_seal_requires_confirmation() {
    let old = "UPDATE sealed SET mac = zeroblob(32) WHERE name = 'servers/window'";
    for lost in [old, "DELETE FROM sealed", ""] {
        let fixture = with_two();
        fixture.tamper(lost);
        if lost.is_empty() {
            fixture.secrets.restore(std::collections::HashMap::new());
        }
        let store = fixture.open();
        let loaded = store.servers().load();
        assert_eq!(names(&loaded), [] as [&str; 0], "{lost}");
        assert_eq!(
            edits(&loaded),
            [(ConfigChangeKind::Added, "a"), (ConfigChangeKind::Added, "b")],
            "{lost}"
        );
        assert_eq!(loaded.problems.len(), 1, "{lost}");
        let loaded = store.servers().confirm(&loaded.unconfirmed[0], true).unwrap();
        assert_eq!(
            (names(&loaded), loaded.problems.len(), loaded.unconfirmed.len()),
            (vec!["a"], 0, 1),
            "{lost}"
        );
    }
}

#[test]
fn locked_secret_store_blocks_load_and_save() {
    let fixture = with_two();
    let store = fixture.open();
    let before = text(&fixture);
    fixture.secrets.locked.store(true, Ordering::SeqCst);
    let loaded = store.servers().load();
    assert_eq!((names(&loaded), edits(&loaded)), (vec![], vec![]));
    assert_eq!(loaded.problems[0].code, ErrorCode::SecretsUnavailable);
    assert!(matches!(loaded.seal_error, Some(SealError::Locked { .. })), "the empty list says nothing");
    assert!(store.servers().save(&[]).is_err());
    fixture.secrets.locked.store(false, Ordering::SeqCst);
    assert_eq!(names(&store.servers().load()), ["a", "b"]);
    assert_eq!(text(&fixture), before);
}

#[test]
fn failed_seal_rolls_back_file() {
    let fixture = with_two();
    let store = fixture.open();
    let (before, loaded) = (text(&fixture), store.servers().load());
    fixture.secrets.read_only.store(true, Ordering::SeqCst);
    assert!(store.servers().save(&[server("srv-a", "a", "one")]).is_err());
    assert_eq!(text(&fixture), before);
    fixture.secrets.read_only.store(false, Ordering::SeqCst);
    assert_eq!(store.servers().load(), loaded);
}

#[test]
fn confirmation_of_serve_does_not_count_for_window() {
    let fixture = StoreFixture::new();
    fixture.open_as(Owner::Serve).unwrap().servers().save(&[server("srv-a", "a", "one")]).unwrap();
    let loaded = fixture.open().servers().load();
    assert_eq!((names(&loaded), edits(&loaded)), (vec![], vec![(ConfigChangeKind::Added, "a")]));
    assert_eq!(names(&fixture.open_as(Owner::Serve).unwrap().servers().load()), ["a"]);
}
