//! What is read of the settings of each application (UI-2): the documented shapes with comments and odd cases. Reading
//! never changes a file.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod fuzz;
mod hostile;
mod pasted;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use gatehouse_integrations::import::{ForeignServer, ForeignSettings, read_file};
use gatehouse_integrations::{App, AppSettings as _, BaseFolders, System};
use gatehouse_model::Secret;
use gatehouse_model::import::ImportedApprovals;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A home folder with no settings in it.
pub(crate) struct TestHome {
    folder: TempDir,
    pub(crate) folders: BaseFolders,
}

impl TestHome {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let folders = BaseFolders::new(System::Linux, folder.path(), |_| None);
        Self { folder, folders }
    }

    /// Writes the settings of an application where it has them.
    pub(crate) fn write(&self, app: App, content: &[u8]) -> PathBuf {
        let path = app.settings_files(&self.folders).remove(0);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    fn path(&self) -> String {
        self.folder.path().display().to_string()
    }
}

fn fixture(app: App) -> &'static str {
    match app {
        App::ClaudeDesktop => include_str!("fixtures/claude-desktop.json"),
        App::ClaudeCode => include_str!("fixtures/claude-code.json"),
        App::Cursor => include_str!("fixtures/cursor.json"),
        App::VsCode => include_str!("fixtures/vscode.json"),
        App::Windsurf => include_str!("fixtures/windsurf.json"),
        App::Zed => include_str!("fixtures/zed.json"),
        App::Cline => include_str!("fixtures/cline.json"),
        App::Codex => include_str!("fixtures/codex.toml"),
        App::Gemini => include_str!("fixtures/gemini.json"),
        App::LmStudio => include_str!("fixtures/lm-studio.json"),
        App::OpenCode => include_str!("fixtures/opencode.jsonc"),
        App::Continue => include_str!("fixtures/continue.yaml"),
    }
}

/// The settings of an application's fixture, read from its file; the file has the same bytes afterwards.
fn read(app: App, change: impl Fn(&str) -> String) -> (TestHome, ForeignSettings) {
    let home = TestHome::new();
    let text = change(fixture(app));
    let path = home.write(app, text.as_bytes());
    let settings = read_file(&path, &home.folders).unwrap();
    assert_eq!(fs::read(&path).unwrap(), text.as_bytes(), "{app:?}");
    assert_eq!((settings.app, settings.file.as_deref()), (Some(app), Some(path.as_path())));
    (home, settings)
}

/// What is compared of a server: its entry, the settings left out, the ids of inputs, and what runs without asking.
fn facts(server: &ForeignServer) -> Value {
    let left_out: BTreeMap<&str, &str> =
        server.left_out.iter().map(|left| (left.name.as_str(), left.reason.key.as_str())).collect();
    let inputs: Vec<String> = server
        .inputs
        .iter()
        .map(|input| {
            let secret = if input.is_secret { "*" } else { "" };
            let default = input.default.as_ref().map(|default| format!("={default}")).unwrap_or_default();
            format!("{}{secret}{default}", input.id)
        })
        .collect();
    let approves = match &server.auto_approve {
        None => Value::Null,
        Some(ImportedApprovals::All) => json!("all"),
        Some(ImportedApprovals::Tools(tools)) => json!(tools),
    };
    json!([
        server.name,
        server.entry,
        left_out,
        inputs,
        approves,
        server.problem.as_ref().map(|problem| &problem.key)
    ])
}

fn expected(app: App, home: &str) -> Value {
    let none = Value::Null;
    match app {
        App::ClaudeDesktop => json!([
            ["filesystem", {
                "command": "npx",
                "args": ["-y", "@modelcontextprotocol/server-filesystem", "/Users/ana/Desktop"]
            }, {}, [], none, none],
            ["github", {
                "command": "docker",
                "args": ["run", "-i", "--rm", "-e", "GITHUB_PERSONAL_ACCESS_TOKEN", "ghcr.io/github/github-mcp-server"],
                "env": { "GITHUB_PERSONAL_ACCESS_TOKEN": "ghp_fixture", "RETRIES": "3", "VERBOSE": "true" }
            }, { "env.NOTHING": "import.leftOut.invalid" }, [], none, none],
            ["literal", { "command": "sh", "env": { "PLAIN": "${HOME}" } }, {}, [], none, none],
        ]),
        App::ClaudeCode => json!([
            ["sentry", {
                "type": "http",
                "url": "https://mcp.sentry.dev/mcp",
                "signIn": { "client": { "id": "claude" }, "redirect": "http://localhost:8976/callback" }
            }, { "oauth.authServerMetadataUrl": "import.leftOut.signIn" }, [], none, none],
            ["api", {
                "type": "sse",
                "url": "${input:env:API_BASE}/sse",
                "headers": { "Authorization": "Bearer ${env:API_KEY}", "X-Team": "${input:env:TEAM}" },
                "headersFrom": { "command": "/opt/helpers/headers" }
            }, {}, ["env:API_BASE=https://api.example.com", "env:TEAM=red"], none, none],
            ["db", {
                "command": "${input:env:HOME}/bin/db",
                "args": ["--dsn", "${input:env:DSN}"],
                "limits": { "callSecs": 3 }
            }, {}, ["env:HOME", "env:DSN"], none, none],
            ["db", { "command": "shop-db", "args": [] }, {}, [], none, none],
        ]),
        App::Cursor => json!([
            ["local", {
                "command": "python",
                "args": ["${input:workspaceFolder}/server.py", "--home", "${input:userHome}"],
                "env": { "API_KEY": "${env:API_KEY}" }
            }, { "envFile": "import.leftOut.envFile" }, ["workspaceFolder", format!("userHome={home}")], none, none],
            ["remote", {
                "url": "https://api.example.com/mcp",
                "headers": { "Authorization": "Bearer ${env:MY_TOKEN}" },
                "signIn": { "client": { "id": "abc", "secret": "${env:CLIENT_SECRET}" }, "scopes": ["read", "write"] }
            }, {}, [], none, none],
        ]),
        App::VsCode => json!([
            ["perplexity", {
                "command": "npx",
                "args": ["-y", "server-perplexity-ask", "--region", "${input:region}"],
                "env": { "PERPLEXITY_API_KEY": "${input:perplexity-key}", "BRANCH": "${input:branch}" }
            }, {
                "dev": "import.leftOut.ofApplication",
                "envFile": "import.leftOut.envFile",
                "sandbox": "import.leftOut.sandbox",
                "sandboxEnabled": "import.leftOut.sandbox"
            }, ["region", "perplexity-key*", "branch"], none, none],
            ["remote", {
                "type": "http",
                "url": "https://${input:host}/mcp",
                "headers": { "Authorization": "Bearer ${input:perplexity-key}" }
            }, {
                "gallery": "import.leftOut.ofApplication",
                "version": "import.leftOut.ofApplication"
            }, ["host=api.example.com", "perplexity-key*"], none, none],
        ]),
        App::Windsurf => json!([
            ["github", {
                "command": "npx",
                "args": ["-y", "@modelcontextprotocol/server-github"],
                "env": { "GITHUB_PERSONAL_ACCESS_TOKEN": "ghp_fixture" },
                "enabled": false
            }, { "disabledTools": "import.leftOut.tools" }, [], none, none],
            ["remote", {
                "url": "https://windsurf.example/mcp",
                "headers": { "API_KEY": "${env:WS_KEY}" }
            }, {}, [], none, none],
        ]),
        App::Zed => json!([
            ["old", {
                "command": "uvx",
                "args": ["mcp-server-time"],
                "env": { "TZ": "UTC" }
            }, { "settings": "import.leftOut.ofApplication" }, [], none, none],
            ["new", { "command": "node", "args": ["server.js"], "enabled": false }, {}, [], none, none],
            ["remote", {
                "url": "https://zed.example/mcp",
                "headers": { "Authorization": "Bearer zed-token" }
            }, {}, [], none, none],
            ["of-extension", {}, { "settings": "import.leftOut.ofApplication" }, [], none, "import.problem.extension"],
        ]),
        App::Cline => json!([
            ["local", {
                "command": "node",
                "args": ["/srv/index.js"],
                "env": { "API_KEY": "cline-key" },
                "enabled": true,
                "limits": { "callSecs": 90 }
            }, {}, [], ["list", "read", "search"], none],
            ["remote", { "type": "http", "url": "https://cline.example/mcp" }, {}, [], none, none],
            ["events", { "type": "sse", "url": "https://cline.example/sse", "enabled": false }, {}, [], "all", none],
        ]),
        App::Codex => json!([
            ["docs", {
                "command": "npx",
                "args": ["-y", "docs-server"],
                "env": { "API_KEY": "codex-key", "LOCAL_TOKEN": "${env:LOCAL_TOKEN}", "REMOTE": "${env:REMOTE}" },
                "cwd": "/home/ana/docs",
                "limits": { "connectSecs": 20, "callSecs": 46 }
            }, {
                "default_tools_approval_mode": "import.leftOut.approvals",
                "disabled_tools": "import.leftOut.tools",
                "enabled_tools": "import.leftOut.tools",
                "required": "import.leftOut.ofApplication"
            }, [], none, none],
            ["figma", {
                "url": "https://mcp.figma.example/mcp",
                "headers": {
                    "Authorization": "Bearer ${env:FIGMA_TOKEN}",
                    "X-Region": "eu",
                    "X-Team": "${env:TEAM}"
                },
                "signIn": { "scopes": ["files:read"] },
                "enabled": false,
                "limits": { "connectSecs": 2 }
            }, {}, [], "all", none],
        ]),
        App::Gemini => json!([
            ["local", {
                "command": "python",
                "args": ["-m", "server", "${input:env:PROJECT}"],
                "env": { "KEY": "${env:MY_KEY}", "URL": "${env:BASE}/x" },
                "cwd": "./server",
                "limits": { "callSecs": 15 }
            }, { "excludeTools": "import.leftOut.tools", "includeTools": "import.leftOut.tools" },
                ["env:PROJECT"], "all", none],
            ["events", { "type": "sse", "url": "https://gemini.example/sse" }, {}, [], none, none],
            ["stream", {
                "type": "http",
                "url": "https://gemini.example/mcp",
                "signIn": { "client": { "id": "g", "secret": "gemini-secret" }, "scopes": ["x"] }
            }, { "authProviderType": "import.leftOut.unknown" }, [], none, none],
        ]),
        App::LmStudio => json!([
            ["hf-mcp-server", {
                "url": "https://huggingface.co/mcp",
                "headers": { "Authorization": "Bearer lm-token" }
            }, {}, [], none, none],
            ["local", { "command": "uvx", "args": ["x"] }, { "timeout": "import.leftOut.timeLimit" }, [], none, none],
        ]),
        App::OpenCode => json!([
            ["local", {
                "command": "npx",
                "args": ["-y", "my-mcp"],
                "env": { "MY_VAR": "${env:MY_VAR}", "NOTE": "{braces}" },
                "enabled": true,
                "limits": { "connectSecs": 5 }
            }, {}, [], none, none],
            ["remote", {
                "url": "https://mcp.example.com",
                "headers": { "Authorization": "Bearer ${input:file:~/.secrets/key}" },
                "signIn": { "off": true },
                "enabled": false
            }, {}, ["file:~/.secrets/key*"], none, none],
            ["signed", {
                "url": "https://s.example",
                "signIn": { "client": { "id": "c" }, "scopes": ["a", "b"] }
            }, {}, [], none, none],
        ]),
        App::Continue => json!([
            ["SQLite", {
                "command": "npx",
                "args": ["-y", "mcp-sqlite", "${input:FILE}"],
                "env": { "TOKEN": "${input:secret:SQLITE_TOKEN}" },
                "cwd": "/srv",
                "limits": { "connectSecs": 2 }
            }, {}, ["FILE", "secret:SQLITE_TOKEN*"], none, none],
            ["Remote", {
                "type": "http",
                "url": "https://continue.example/mcp",
                "headers": { "Authorization": "Bearer ${input:secret:REMOTE}" }
            }, { "requestOptions.verifySsl": "import.leftOut.unknown" }, ["secret:REMOTE*"], none, none],
        ]),
    }
}

#[test]
fn reads_the_documented_settings_of_each_application() {
    for app in App::ALL.iter().copied() {
        let (home, settings) = read(app, str::to_owned);
        let found = Value::Array(settings.servers.iter().map(facts).collect());
        assert_eq!(found, expected(app, &home.path()), "{app:?}");
    }
}

#[test]
fn tolerates_a_byte_order_mark_and_line_ends_of_windows() {
    for app in App::ALL.iter().copied() {
        let (home, settings) = read(app, |text| format!("\u{feff}{}", text.replace('\n', "\r\n")));
        let found = Value::Array(settings.servers.iter().map(facts).collect());
        assert_eq!(found, expected(app, &home.path()), "{app:?}");
    }
}

#[test]
fn finds_the_project_of_a_server_of_claude_code() {
    let (_home, settings) = read(App::ClaudeCode, str::to_owned);
    let projects: Vec<Option<&str>> =
        settings.servers.iter().map(|server| server.project.as_deref()).collect();
    assert_eq!(projects, [None, None, None, Some("/home/ana/shop")]);
}

#[test]
fn takes_secrets_out_of_variables_headers_and_sign_ins() {
    for (app, at, fields) in [
        (App::ClaudeDesktop, 1, &[("env/GITHUB_PERSONAL_ACCESS_TOKEN", "ghp_fixture")][..]),
        (App::Zed, 2, &[("headers/Authorization", "Bearer zed-token")]),
        (App::Gemini, 2, &[("signIn/secret", "gemini-secret")]),
        (App::VsCode, 0, &[("env/PERPLEXITY_API_KEY", "entered")]),
        (App::VsCode, 1, &[("headers/Authorization", "entered")]),
        // Variables are looked up when the server connects.
        (App::Cursor, 1, &[]),
    ] {
        let (_home, settings) = read(app, str::to_owned);
        let server = &settings.servers[at];
        let values: BTreeMap<String, Secret> =
            server.inputs.iter().map(|input| (input.id.clone(), Secret::new("entered"))).collect();
        let filled = server.fill(&values, false).unwrap();
        let found: Vec<(&str, &str)> =
            filled.secrets.iter().map(|secret| (secret.field.as_str(), secret.value.reveal())).collect();
        assert_eq!(found, fields, "{app:?}");
        let text = Value::Object(filled.entry).to_string();
        for (_, secret) in fields {
            // A value that was entered for several inputs stays where it is no secret.
            let is_elsewhere = server.inputs.len() > 1;
            assert!(is_elsewhere || !text.contains(secret), "{app:?}: {text}");
        }
        assert_eq!(text.contains("${secret:"), !fields.is_empty(), "{app:?}: {text}");
        assert!(!text.contains("${input:"), "{app:?}: {text}");
    }
}

#[test]
fn keeps_the_text_around_a_secret_that_was_entered() {
    let (_home, settings) = read(App::Continue, str::to_owned);
    let values = [("secret:REMOTE".to_owned(), Secret::new("k"))].into();
    let filled = settings.servers[1].fill(&values, false).unwrap();
    assert_eq!(filled.entry["headers"]["Authorization"], "Bearer ${secret:Authorization}");
}

#[test]
fn leaves_secrets_in_plain_text_only_on_request_and_never_those_that_were_asked_for() {
    let (_home, settings) = read(App::Cline, str::to_owned);
    let filled = settings.servers[0].fill(&BTreeMap::new(), true).unwrap();
    assert_eq!(filled.entry["env"]["API_KEY"], "cline-key");
    assert!(filled.secrets.is_empty());
    let (_home, settings) = read(App::VsCode, str::to_owned);
    let values = ["region", "perplexity-key", "branch"].map(|id| (id.to_owned(), Secret::new("v"))).into();
    let filled = settings.servers[0].fill(&values, true).unwrap();
    assert_eq!(filled.secrets.len(), 1);
}

#[test]
fn needs_each_value_that_has_no_default() {
    let (_home, settings) = read(App::ClaudeCode, str::to_owned);
    let problem = settings.servers[2].fill(&BTreeMap::new(), false).unwrap_err();
    assert_eq!(problem.key, "import.problem.inputMissing");
    let filled = settings.servers[1].fill(&BTreeMap::new(), false).unwrap();
    assert_eq!(filled.entry["url"], "https://api.example.com/sse");
}

#[test]
fn finds_settings_on_each_system_and_where_variables_moved_them() {
    for (system, app, variable, wanted) in [
        (System::Linux, App::ClaudeDesktop, None, "h/.config/Claude/claude_desktop_config.json"),
        (
            System::MacOs,
            App::ClaudeDesktop,
            None,
            "h/Library/Application Support/Claude/claude_desktop_config.json",
        ),
        (System::Windows, App::ClaudeDesktop, None, "h/AppData/Roaming/Claude/claude_desktop_config.json"),
        (System::Windows, App::ClaudeDesktop, Some("APPDATA"), "/moved/Claude/claude_desktop_config.json"),
        (System::Linux, App::ClaudeCode, None, "h/.claude.json"),
        (System::Linux, App::ClaudeCode, Some("CLAUDE_CONFIG_DIR"), "/moved/.claude.json"),
        (System::MacOs, App::Cursor, None, "h/.cursor/mcp.json"),
        (System::Linux, App::VsCode, None, "h/.config/Code/User/mcp.json"),
        (System::MacOs, App::VsCode, None, "h/Library/Application Support/Code/User/mcp.json"),
        (System::Windows, App::VsCode, None, "h/AppData/Roaming/Code/User/mcp.json"),
        (System::Linux, App::Windsurf, None, "h/.codeium/windsurf/mcp_config.json"),
        (System::Linux, App::Zed, Some("XDG_CONFIG_HOME"), "/moved/zed/settings.json"),
        (System::MacOs, App::Zed, Some("XDG_CONFIG_HOME"), "h/.config/zed/settings.json"),
        (System::Windows, App::Zed, None, "h/AppData/Roaming/Zed/settings.json"),
        (System::Linux, App::Codex, None, "h/.codex/config.toml"),
        (System::Linux, App::Codex, Some("CODEX_HOME"), "/moved/config.toml"),
        (System::Windows, App::Gemini, None, "h/.gemini/settings.json"),
        (System::Linux, App::LmStudio, None, "h/.lmstudio/mcp.json"),
        (System::Windows, App::OpenCode, None, "h/.config/opencode/opencode.json"),
        (System::Linux, App::OpenCode, Some("OPENCODE_CONFIG"), "/moved"),
        (System::Linux, App::Cline, None, "h/.cline/data/settings/cline_mcp_settings.json"),
        (System::Linux, App::Cline, Some("CLINE_DIR"), "/moved/data/settings/cline_mcp_settings.json"),
        (System::Linux, App::Continue, Some("CONTINUE_GLOBAL_DIR"), "/moved/config.yaml"),
    ] {
        let root = if cfg!(windows) { "C:/" } else { "/" };
        let moved = format!("{root}moved");
        let home = PathBuf::from(format!("{root}home"));
        let folders = BaseFolders::new(system, home.clone(), |name| {
            (Some(name) == variable).then(|| moved.clone().into())
        });
        let wanted = match (wanted.strip_prefix("h/"), wanted.strip_prefix('/')) {
            (Some(rest), _) => home.join(rest),
            (None, rest) => PathBuf::from(root).join(rest.unwrap_or(wanted)),
        };
        let found = app.settings_files(&folders);
        assert_eq!(found.first(), Some(&wanted), "{system:?} {app:?} {variable:?}");
    }
}

#[test]
fn finds_the_settings_of_older_opencode_versions() {
    let folders = BaseFolders::new(System::Linux, "/home/ana", |_| None);
    let files = App::OpenCode.settings_files(&folders);
    let names: Vec<&str> = files.iter().filter_map(|file| file.file_name()?.to_str()).collect();
    assert_eq!(names, ["opencode.json", "opencode.jsonc", "config.json"]);
}
