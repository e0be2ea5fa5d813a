//! What is wrong with a server's settings, with its place: the same rules for the JSON text, for the form
//! and for `servers.json`.

use std::collections::{BTreeMap, BTreeSet};

use gatehouse_model::server::{Builtin, Remote, ServerDraft, ServerLimits, TimeLimit};
use gatehouse_model::sign_in::{RegisteredClient, SignInEndpoints, SignInMethod, SignInSettings};
use gatehouse_model::{ServerConfig, Transport};
use gatehouse_store::{EntryText, SettingsView, validate_draft, validate_secrets};

/// A text as a person writes it, and what is said at which part of it.
type TextCase = (&'static str, &'static [(&'static str, &'static str)]);

const TEXTS: &[TextCase] = &[
    (r#"{"a": {"command": "x"}}"#, &[]),
    (r#"{"a": {"command": "x", "cwd": null, "limits": {"callSecs": null}}}"#, &[]),
    (r#"{"a": {"command": "x", "gatehouse": {"id": "srv-9", "generation": 7}}}"#, &[]),
    (r#"{"a": {"url": "https://x.example", "signIn": null, "headersFrom": null}}"#, &[]),
    (r#"{"a": {"command": "x"},}"#, &[("problem.broken", "}")]),
    ("", &[("problem.broken", "")]),
    ("你好", &[("problem.broken", "你好")]),
    ("[]", &[("problem.oneServer", "[]")]),
    ("{}", &[("problem.oneServer", "{}")]),
    (r#"{"a": 7}"#, &[("problem.oneServer", r#"{"a": 7}"#)]),
    (r#"{"a": {}, "b": {}}"#, &[("problem.oneServer", r#"{"a": {}, "b": {}}"#)]),
    (r#"{"a": {"command": "\ud800"}}"#, &[("problem.unreadable", r#""\ud800""#)]),
    (r#"{"a": {}}"#, &[("problem.neither", r#""a""#)]),
    (r#"{"a": {"type": "htp", "url": "https://x"}}"#, &[("problem.type", r#""htp""#)]),
    (r#"{"a": {"command": "x", "url": "https://x"}}"#, &[("problem.several", r#""a""#)]),
    (r#"{"a": {"type": "stdio", "command": "x", "url": "y"}}"#, &[("problem.foreign", r#""url""#)]),
    (r#"{"a": {"command": "x", "arg": []}}"#, &[("problem.unknownMeant", r#""arg""#)]),
    (r#"{"a": {"command": "x", "colour": 1}}"#, &[("problem.unknown", r#""colour""#)]),
    (r#"{"a": {"command": "x", "name": "b"}}"#, &[("problem.key", r#""name""#)]),
    (r#"{"a": {"command": "x", "disabled": true}}"#, &[("problem.disabled", r#""disabled""#)]),
    (r#"{"a": {"command": "x", "trust": true}}"#, &[("problem.permission", r#""trust""#)]),
    (r#"{"a": {"command": "x", "gatehouse": 1}}"#, &[("problem.gatehouse", "1")]),
    (r#"{"a": {"command": "x", "c\u006fmmand": "y"}}"#, &[("problem.twice", r#""c\u006fmmand""#)]),
    (r#"{"a": {"command": 3}}"#, &[("problem.text", "3")]),
    (r#"{"é😀": {"command": 3}}"#, &[("problem.text", "3")]),
    (r#"{"a": {"type": "stdio"}}"#, &[("problem.missing", r#""a""#)]),
    (r#"{"a": {"command": " "}}"#, &[("problem.command", r#"" ""#)]),
    (r#"{"a": {"command": "x", "args": "y"}}"#, &[("problem.list", r#""y""#)]),
    (r#"{"a": {"command": "x", "env": {"N": 1, "~/": 2}}}"#, &[("problem.text", "1"), ("problem.text", "2")]),
    (r#"{"a": {"command": "x", "env": []}}"#, &[("problem.texts", "[]")]),
    (r#"{"a": {"command": "x", "env": {"": "y"}}}"#, &[("problem.varName", r#""""#)]),
    (r#"{"a": {"command": "x", "streams": "files"}}"#, &[("problem.oneOf", r#""files""#)]),
    (r#"{"a": {"url": "ftp://x"}}"#, &[("problem.url", r#""ftp://x""#)]),
    (r#"{"a": {"url": "https://x.example/m cp"}}"#, &[("problem.url", r#""https://x.example/m cp""#)]),
    (r#"{"a": {"type": "ws", "url": "https://x"}}"#, &[("problem.wsUrl", r#""https://x""#)]),
    (r#"{"a": {"url": "https://x", "headersFrom": "t"}}"#, &[("problem.program", r#""t""#)]),
    (r#"{"a": {"url": "https://x", "headersFrom": {"command": ""}}}"#, &[("problem.command", r#""""#)]),
    (r#"{"a": {"builtin": {"kind": "clock"}}}"#, &[("problem.builtin", r#"{"kind": "clock"}"#)]),
    (r#"{"a": {"builtin": {"kind": "time", "folder": "/"}}}"#, &[("problem.unknown", r#""folder""#)]),
    (r#"{"a": {"builtin": {"kind": "files"}}}"#, &[("problem.missing", r#""builtin""#)]),
    (r#"{"a": {"builtin": {"kind": "files", "folder": "b"}}}"#, &[("problem.folder", r#""b""#)]),
    (r#"{"a": {"command": "x", "enabled": "yes"}}"#, &[("problem.flag", r#""yes""#)]),
    (r#"{"a": {"command": "x", "limits": []}}"#, &[("problem.object", "[]")]),
    (
        r#"{"a": {"command": "x", "limits": {"connectSecs": "5", "healthEverySecs": -1, "callSecs": true}}}"#,
        &[("problem.amount1", r#""5""#), ("problem.amount", "-1"), ("problem.callLimit", "true")],
    ),
    (
        r#"{"a": {"command": "x", "limits": {"connectSecs": 0, "callCapSecs": 0}}}"#,
        &[("problem.amount1", "0"), ("problem.amount1", "0")],
    ),
    (
        r#"{"a": {"command": "x", "limits": {"connectSec": 5}}}"#,
        &[("problem.unknownMeant", r#""connectSec""#)],
    ),
    (r#"{"a": {"command": "x", "protocolVersion": "2025-11-25"}}"#, &[]),
    (r#"{"a": {"command": "x", "protocolVersion": "2025-06-18"}}"#, &[("problem.oneOf", r#""2025-06-18""#)]),
    (
        r#"{"a": {"type": "sse", "url": "https://x.example/sse", "protocolVersion": "2026-07-28"}}"#,
        &[("problem.statelessSse", r#""2026-07-28""#)],
    ),
    (
        r#"{"a": {"type": "builtin", "builtin": {"kind": "time"}, "protocolVersion": "auto"}}"#,
        &[("problem.foreign", r#""protocolVersion""#)],
    ),
    (r#"{"a": {"command": "x", "limits": {"roots": ["a", 1]}}}"#, &[("problem.list", r#"["a", 1]"#)]),
    (r#"{"a": {"command": "x", "limits": {"roots": ["b"]}}}"#, &[("problem.roots", r#""b""#)]),
];

/// The settings of a sign-in, and what is said at which part of them.
const SIGN_INS: &[TextCase] = &[
    (r#"{"off": true}"#, &[]),
    (r#"{"off": 1}"#, &[("problem.flag", "1")]),
    ("[]", &[("problem.object", "[]")]),
    (r#"{"scope": []}"#, &[("problem.unknownMeant", r#""scope""#)]),
    (r#"{"client": {"secret": "${secret:a}"}}"#, &[("problem.missing", r#""client""#)]),
    (r#"{"client": {"id": "c", "method": "basic"}}"#, &[("problem.oneOf", r#""basic""#)]),
    (r#"{"client": {"id": ""}}"#, &[("problem.signIn.id", r#""""#)]),
    (r#"{"redirect": "https://x.example/"}"#, &[("problem.signIn.redirect", r#""https://x.example/""#)]),
    (
        r#"{"endpoints": {"authorize": "https://a", "token": "https://b"}}"#,
        &[("problem.signIn.idToo", r#""signIn""#)],
    ),
    (
        r#"{"client": {"id": "c"}, "endpoints": {"authorize": "ftp://a", "token": "http://a"}}"#,
        &[("problem.signIn.address", r#""ftp://a""#), ("problem.signIn.address", r#""http://a""#)],
    ),
    (r#"{"with": {"with": "me"}}"#, &[("problem.oneOf", r#""me""#)]),
    (r#"{"with": {"with": "browser", "key": "x"}}"#, &[("problem.unknown", r#""key""#)]),
    (
        r#"{"with": {"with": "client_secret"}, "client": {"id": "c"}}"#,
        &[("problem.signIn.ownSecret", r#""client""#)],
    ),
    (
        r#"{"with": {"with": "client_key", "key": "", "algorithm": "ES256"}}"#,
        &[("problem.signIn.key", r#""""#), ("problem.signIn.ownId", r#""signIn""#)],
    ),
];

/// What is said of a text, each with the part of the text.
fn problems_of(text: &str) -> Vec<(String, String)> {
    let (entry, read) = EntryText::read(text);
    let units: Vec<u16> = text.encode_utf16().collect();
    let problems = read.err().unwrap_or_default();
    let views = entry.to_views(&problems).into_iter();
    views
        .map(|problem| {
            let span = problem.span.unwrap();
            let part = &units[span.from as usize..span.to as usize];
            (problem.message.key, String::from_utf16(part).unwrap())
        })
        .collect()
}

fn wanted(said: &[(&str, &str)]) -> Vec<(String, String)> {
    said.iter().map(|&(key, part)| (key.to_owned(), part.to_owned())).collect()
}

#[test]
fn problems_of_text_are_at_their_places() {
    for (text, said) in TEXTS {
        assert_eq!(problems_of(text), wanted(said), "{text}");
    }
    for (sign_in, said) in SIGN_INS {
        let text = format!(r#"{{"a": {{"url": "https://x.example/mcp", "signIn": {sign_in}}}}}"#);
        assert_eq!(problems_of(&text), wanted(said), "{text}");
    }
}

/// A test of the window compares the same texts with what it writes. The paths are those of Unix.
#[cfg(unix)]
#[test]
fn texts_of_window_are_read_as_their_drafts() {
    #[derive(serde::Deserialize)]
    struct WrittenEntry {
        text: String,
        draft: ServerDraft,
    }
    let entries: Vec<WrittenEntry> =
        serde_json::from_str(include_str!("../../../../ui/src/servers/server-entries.json")).unwrap();
    assert!(!entries.is_empty());
    for WrittenEntry { text, draft } in entries {
        let (_, read) = EntryText::read(&text);
        assert_eq!(read, Ok(draft), "{text}");
    }
}

fn stdio(command: &str, env: &[(&str, &str)]) -> Transport {
    Transport::Stdio {
        command: command.into(),
        args: Vec::new(),
        env: env.iter().map(|&(name, value)| (name.into(), value.into())).collect(),
        cwd: None,
        streams: Default::default(),
    }
}

fn taken() -> ServerConfig {
    ServerConfig::new("srv-1", "Taken", stdio("x", &[]))
}

/// Drafts with the pointers and the messages of what is wrong with them.
fn drafts() -> Vec<(ServerDraft, Vec<(&'static str, &'static str)>)> {
    let good = || stdio("x", &[]);
    let limits = ServerLimits {
        connect_secs: 0,
        call_secs: TimeLimit::Secs(0),
        call_cap_secs: TimeLimit::Unlimited,
        health_every_secs: 0,
        health_timeout_secs: 0,
        health_failures: 0,
        roots: vec!["relative".into()],
        ..ServerLimits::default()
    };
    vec![
        (ServerDraft::new("files", good()), vec![]),
        (ServerDraft::new("", good()), vec![("/name", "problem.name.empty")]),
        (ServerDraft::new("tAKEN", good()), vec![("/name", "problem.name.taken")]),
        (ServerDraft::new("a/b", good()), vec![("/name", "problem.name.slash")]),
        (ServerDraft::new(" a", good()), vec![("/name", "problem.name.space")]),
        (ServerDraft::new("a\u{202e}b", good()), vec![("/name", "problem.name.invisible")]),
        (ServerDraft::new("x".repeat(65), good()), vec![("/name", "problem.name.long")]),
        (
            ServerDraft::new("", stdio("", &[("", "x"), ("A", "")])),
            vec![
                ("/name", "problem.name.empty"),
                ("/env/", "problem.varName"),
                ("/command", "problem.command"),
            ],
        ),
        (ServerDraft::new("a", Transport::Ws(Remote::at("https://x"))), vec![("/url", "problem.wsUrl")]),
        (ServerDraft::new("a", Transport::Ws(Remote::at("wss://x"))), vec![]),
        (ServerDraft::new("a", Transport::Auto(Remote::at("https:///x"))), vec![("/url", "problem.url")]),
        (
            ServerDraft::new("a", Transport::Builtin { builtin: Builtin::Files { folder: String::new() } }),
            vec![("/builtin/folder", "problem.folder")],
        ),
        (
            ServerDraft { limits, ..ServerDraft::new("a", good()) },
            vec![
                ("/limits/connectSecs", "problem.amount1"),
                ("/limits/callSecs", "problem.amount1"),
                ("/limits/healthTimeoutSecs", "problem.amount1"),
                ("/limits/healthFailures", "problem.amount1"),
                ("/limits/roots/0", "problem.roots"),
            ],
        ),
    ]
}

#[test]
fn problems_of_draft_are_at_their_fields() {
    for (draft, said) in drafts() {
        let problems = validate_draft(&draft, None, &[taken()]);
        let views: Vec<_> = problems.iter().map(|problem| problem.to_view(SettingsView::Form)).collect();
        let views: Vec<_> =
            views.iter().map(|view| (view.pointer.as_str(), view.message.key.as_str())).collect();
        assert_eq!(views, said, "{draft:?}");
    }
    let own = taken();
    assert!(
        validate_draft(&ServerDraft::new("taken", stdio("x", &[])), Some(&own.id), &[taken()]).is_empty()
    );
}

/// A remote server with a secret in a header and in each place of its sign-in.
fn remote_with_secrets(url: &str, token: &str, client_secret: &str) -> Transport {
    Transport::Http(Remote {
        headers: [("X-Key".to_owned(), "Bearer ${secret:X-Key}".to_owned())].into(),
        sign_in: SignInSettings {
            client: Some(RegisteredClient {
                id: "c".into(),
                secret: Some(client_secret.into()),
                method: None,
            }),
            endpoints: Some(SignInEndpoints {
                authorize: "https://a.example/authorize".into(),
                token: token.into(),
                revoke: None,
            }),
            with: SignInMethod::Enterprise {
                issuer: "https://i.example".into(),
                client: "c".into(),
                secret: Some("${secret:company}".into()),
            },
            ..SignInSettings::default()
        },
        ..Remote::at(url)
    })
}

/// The settings of the same server that sign in with a key.
fn with_key(key: &str) -> Transport {
    let sign_in = SignInSettings {
        client: Some(RegisteredClient { id: "c".into(), secret: None, method: None }),
        with: SignInMethod::ClientKey { key: key.into(), algorithm: "ES256".into() },
        ..SignInSettings::default()
    };
    Transport::Http(Remote { sign_in, ..Remote::at("https://a.example/mcp") })
}

#[test]
fn secrets_are_given_or_kept_for_same_destination() {
    const SECRET: &str = "problem.secret";
    const MOVED: &str = "problem.secretMoved";
    let key = ("KEY", "${secret:KEY}");
    let program = stdio("a", &[key]);
    let (here, token) = ("https://a.example/mcp", "https://a.example/token");
    let client = "${secret:client}";
    let remote = remote_with_secrets(here, token, client);
    let signed = with_key("${secret:key}");
    let all = ["headers/X-Key", "signIn/companySecret", "signIn/secret"];
    let (header, company, secret) = ("/headers/X-Key", "/signIn/with/secret", "/signIn/client/secret");
    for (transport, before, given, said) in [
        (stdio("a", &[("A", "plain")]), None, &[][..], vec![]),
        (stdio("a", &[key]), None, &[][..], vec![("/env/KEY", SECRET)]),
        (stdio("a", &[key]), None, &["env/KEY"][..], vec![]),
        (stdio("a", &[key]), Some(&program), &[][..], vec![]),
        (stdio("a", &[key, ("MORE", "1")]), Some(&program), &[][..], vec![("/env/KEY", MOVED)]),
        (stdio("a", &[key, ("MORE", "1")]), Some(&program), &["env/KEY"][..], vec![]),
        (stdio("a", &[("KEY", "${secret:other}")]), Some(&program), &[][..], vec![("/env/KEY", SECRET)]),
        (stdio("a", &[("OTHER", "${secret:KEY}")]), Some(&program), &[][..], vec![("/env/OTHER", SECRET)]),
        (stdio("b", &[key]), Some(&program), &[][..], vec![("/env/KEY", MOVED)]),
        (stdio("b", &[key]), Some(&program), &["env/KEY"][..], vec![]),
        (remote.clone(), None, &[][..], vec![(header, SECRET), (company, SECRET), (secret, SECRET)]),
        (remote.clone(), None, &all[..], vec![]),
        (remote.clone(), Some(&remote), &[][..], vec![]),
        (
            remote_with_secrets("https://b.example/mcp", token, client),
            Some(&remote),
            &[][..],
            vec![(header, MOVED), (company, MOVED), (secret, MOVED)],
        ),
        // The header still goes to the same address.
        (
            remote_with_secrets(here, "https://b.example/token", client),
            Some(&remote),
            &[][..],
            vec![(company, MOVED), (secret, MOVED)],
        ),
        (
            remote_with_secrets(here, "https://b.example/token", client),
            Some(&remote),
            &["signIn/secret"][..],
            vec![(company, MOVED)],
        ),
        // What stands literally in a secret's place has to be given as well, unless it was there before.
        (remote_with_secrets(here, token, "literal"), Some(&remote), &[][..], vec![(secret, SECRET)]),
        (
            remote_with_secrets(here, token, "literal"),
            Some(&remote_with_secrets(here, token, "literal")),
            &[][..],
            vec![],
        ),
        (signed.clone(), None, &[][..], vec![("/signIn/with/key", SECRET)]),
        (signed.clone(), None, &["signIn/key"][..], vec![]),
        (signed.clone(), Some(&signed), &[][..], vec![]),
        (with_key("${secret:other}"), Some(&signed), &[][..], vec![("/signIn/with/key", SECRET)]),
    ] {
        let given: Vec<String> = given.iter().map(|&field| field.to_owned()).collect();
        let problems = validate_secrets(&transport, before, &given);
        let views = |view| -> Vec<(String, String)> {
            let views = problems.iter().map(|problem| problem.to_view(view));
            views.map(|problem| (problem.pointer, problem.message.key)).collect()
        };
        assert_eq!(views(SettingsView::Form), wanted(&said), "{transport:?}");
        let in_json: Vec<_> = said.iter().map(|&(at, key)| (at.to_owned(), format!("{key}Json"))).collect();
        assert_eq!(views(SettingsView::Json), in_json, "{transport:?}");
    }
}

#[test]
fn a_text_with_many_problems_has_the_first_ones_at_their_places() {
    let fields: Vec<String> = (0..10_000).map(|index| format!(r#""é😀{index}": 1"#)).collect();
    let text = format!(r#"{{"a": {{"command": "x", {}}}}}"#, fields.join(", "));
    let said: Vec<_> =
        (0..50).map(|index| ("problem.unknown".to_owned(), format!(r#""é😀{index}""#))).collect();
    assert_eq!(problems_of(&text), said);
    let variables = format!(r#"{{"a": {{"command": "x", "env": {{{}}}}}}}"#, fields.join(", "));
    assert_eq!(problems_of(&variables), vec![("problem.text".to_owned(), "1".to_owned()); 50]);
    let roots =
        format!(r#"{{"a": {{"command": "x", "limits": {{"roots": [{}"r"]}}}}}}"#, r#""r","#.repeat(99));
    assert_eq!(problems_of(&roots), vec![("problem.roots".to_owned(), r#""r""#.to_owned()); 50]);
}

/// Texts of the core about settings that no table above makes: of folders, of secrets, of placeholders, and those of
/// errors of `servers.json` alone.
const OTHERS: [&str; 11] = [
    "problem.folderMissing",
    "problem.secret",
    "problem.secretJson",
    "problem.secretMoved",
    "problem.secretMovedJson",
    "problem.inField",
    "problem.all",
    "problem.more",
    "problem.name.twice",
    "problem.nothingKept",
    "problem.keptMoved",
];

#[test]
fn messages_of_problems_are_in_every_language() {
    let mut made: BTreeSet<String> = OTHERS.map(str::to_owned).into();
    let texts = TEXTS.iter().chain(SIGN_INS).flat_map(|(_, said)| *said).map(|&(key, _)| key.to_owned());
    made.extend(texts);
    made.extend(drafts().into_iter().flat_map(|(_, said)| said).map(|(_, key)| key.to_owned()));
    for catalog in [
        include_str!("../../../../locales/en/problems.json"),
        include_str!("../../../../locales/zh-CN/problems.json"),
    ] {
        let texts: BTreeMap<String, String> = serde_json::from_str(catalog).unwrap();
        // Those of imports are made by `integrations`.
        let texts = texts.into_keys().filter(|key| key.starts_with("problem."));
        assert_eq!(texts.collect::<BTreeSet<_>>(), made);
    }
}
