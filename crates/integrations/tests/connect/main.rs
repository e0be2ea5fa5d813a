//! Connecting and disconnecting applications, on settings files as people have them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod fixtures;
mod properties;

use std::fs;
use std::path::{Path, PathBuf};

use fixtures::{FIXTURES, Fixture};
use gatehouse_integrations::connect::{
    ConnectPlan, EntryCommand, EntryState, RestorePlan, allow_rule, entry_state, planned_files, settings_path,
};
use gatehouse_integrations::{App, AppSettings, BaseFolders, Document, FileFormat, System};
use gatehouse_model::connection::{ConnectedFile, DiffLineKind, DocumentEdit, RestoredHow};
use gatehouse_model::{ErrorCode, UserError};
use serde_json::json;
use tempfile::TempDir;

/// A home folder with the settings of an application.
struct Home {
    folder: TempDir,
    folders: BaseFolders,
}

impl Home {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let folders = BaseFolders::new(System::Linux, folder.path().join("home"), |_| None);
        fs::create_dir(folder.path().join("home")).unwrap();
        Self { folder, folders }
    }

    fn with(fixture: &Fixture) -> Self {
        let home = Self::new();
        if let Some(content) = fixture.content {
            home.write(fixture.app, content.as_bytes());
        }
        home
    }

    fn path(&self, app: App) -> PathBuf {
        settings_path(app, &self.folders)
    }

    fn write(&self, app: App, content: &[u8]) {
        let path = self.path(app);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn read(&self, app: App) -> String {
        fs::read_to_string(self.path(app)).unwrap()
    }

    fn backups(&self) -> PathBuf {
        self.folder.path().join("backups")
    }

    fn plan(&self, app: App, with_rule: bool) -> Result<ConnectPlan, UserError> {
        ConnectPlan::new(app, &self.folders, &command(), allow_rule(app).filter(|_| with_rule))
    }

    fn connect(&self, app: App, with_rule: bool) -> Vec<ConnectedFile> {
        let plan = self.plan(app, with_rule).unwrap();
        let files = plan.back_up(&self.backups()).unwrap();
        plan.write().unwrap();
        files
    }

    fn disconnect(&self, app: App, files: &[ConnectedFile]) -> Vec<RestoredHow> {
        let restored = self.restore_plan(app, files).unwrap().write().unwrap();
        restored.into_iter().map(|file| file.how).collect()
    }

    fn restore_plan(&self, app: App, files: &[ConnectedFile]) -> Result<RestorePlan, UserError> {
        RestorePlan::new(app, files, &self.backups())
    }
}

fn command() -> EntryCommand {
    EntryCommand {
        program: "/opt/Gate house/gatehousectl".to_owned(),
        arguments: vec!["bridge".to_owned(), "--client=My \"app\"".to_owned()],
    }
}

/// What Gatehouse writes for an application.
fn edits(home: &Home, app: App, with_rule: bool) -> Vec<DocumentEdit> {
    let rule = allow_rule(app).filter(|_| with_rule);
    planned_files(app, &home.folders, &command(), rule).remove(0).edits
}

#[test]
fn every_application_has_fixtures() {
    for app in App::ALL {
        assert!(FIXTURES.iter().any(|fixture| fixture.app == *app), "{}", app.as_str());
    }
}

#[test]
fn connecting_adds_the_entry_and_keeps_every_line() {
    for fixture in FIXTURES {
        for with_rule in [false, allow_rule(fixture.app).is_some()] {
            let home = Home::with(fixture);
            let files = home.connect(fixture.app, with_rule);
            let after = home.read(fixture.app);
            let document = Document::parse(fixture.app.format(), after.as_bytes()).unwrap();
            for edit in edits(&home, fixture.app, with_rule) {
                assert!(document.has(&edit), "{}: {edit:?} in {after}", fixture.name);
            }
            let known = entry_state(
                fixture.app,
                &home.folders,
                Some((files[0].path.as_str(), files[0].edits.as_slice())),
            );
            assert_eq!(known, Ok(EntryState::AsWritten), "{}", fixture.name);
            if fixture.replaces {
                continue;
            }
            // A line may get a comma; nothing else of it changes. A line that is a whole object is written in several.
            for line in fixture.content.unwrap_or_default().lines().filter(|_| !fixture.is_one_line) {
                let is_kept = |new: &str| {
                    let without = |(at, _): (usize, &str)| [&new[..at], &new[at + 1..]].concat() == line;
                    new == line || new.match_indices(',').any(without)
                };
                assert!(after.lines().any(is_kept), "{}: {line:?} is gone from {after}", fixture.name);
            }
        }
    }
}

#[test]
fn disconnecting_restores_every_byte() {
    for fixture in FIXTURES {
        for with_rule in [false, allow_rule(fixture.app).is_some()] {
            let home = Home::with(fixture);
            let files = home.connect(fixture.app, with_rule);
            let how = home.disconnect(fixture.app, &files);
            match fixture.content {
                Some(content) => {
                    assert_eq!(how[0], RestoredHow::Restored, "{}", fixture.name);
                    assert_eq!(
                        fs::read(home.path(fixture.app)).unwrap(),
                        content.as_bytes(),
                        "{}",
                        fixture.name
                    );
                }
                None => {
                    assert_eq!(how[0], RestoredHow::Deleted, "{}", fixture.name);
                    assert!(!home.path(fixture.app).exists(), "{}", fixture.name);
                }
            }
        }
    }
}

/// The application writes its settings itself in between: only Gatehouse's entry goes.
#[test]
fn disconnecting_takes_only_its_entry_out_of_a_changed_file() {
    for fixture in FIXTURES.iter().filter(|fixture| fixture.app.format() != FileFormat::Yaml) {
        let home = Home::with(fixture);
        let files = home.connect(fixture.app, allow_rule(fixture.app).is_some());
        let format = fixture.app.format();
        let theirs = DocumentEdit::Member { path: vec!["theirs".to_owned()], value: json!({ "n": 1 }) };
        let mut document = Document::parse(format, home.read(fixture.app).as_bytes()).unwrap();
        document.apply(&theirs).unwrap();
        home.write(fixture.app, &document.to_bytes());

        assert_eq!(home.disconnect(fixture.app, &files)[0], RestoredHow::EntryRemoved, "{}", fixture.name);
        let mut wanted =
            Document::parse(format, fixture.content.unwrap_or_default().as_bytes()).unwrap().value().clone();
        wanted["theirs"] = json!({ "n": 1 });
        let found = Document::parse(format, home.read(fixture.app).as_bytes()).unwrap();
        assert_eq!(found.value(), &wanted, "{}: {}", fixture.name, home.read(fixture.app));
    }
}

#[test]
fn disconnecting_takes_only_its_item_out_of_a_changed_list() {
    for fixture in FIXTURES.iter().filter(|fixture| fixture.app.format() == FileFormat::Yaml) {
        let home = Home::with(fixture);
        let files = home.connect(fixture.app, false);
        let changed = format!("# Theirs\n{}", home.read(fixture.app));
        home.write(fixture.app, changed.as_bytes());
        assert_eq!(home.disconnect(fixture.app, &files), [RestoredHow::EntryRemoved], "{}", fixture.name);
        let content = fixture.content.unwrap();
        let after = home.read(fixture.app);
        let mut wanted = Document::parse(FileFormat::Yaml, content.as_bytes()).unwrap().value().clone();
        // Written as an empty list, which it stands for.
        if let Some(list) = wanted.get_mut("mcpServers").filter(|list| list.is_null()) {
            *list = json!([]);
        }
        let found = Document::parse(FileFormat::Yaml, after.as_bytes()).unwrap();
        assert_eq!(found.value(), &wanted, "{}: {after}", fixture.name);
        assert!(after.starts_with("# Theirs\n"), "{after}");
    }
}

#[test]
fn a_file_that_was_broken_or_removed_meanwhile_is_left_alone() {
    let home = Home::new();
    home.write(App::Cursor, b"{}");
    let files = home.connect(App::Cursor, false);
    home.write(App::Cursor, b"{ \"mcpServers\": ");
    let error = home.restore_plan(App::Cursor, &files).unwrap_err();
    assert_eq!(error.code, ErrorCode::BadConfig);
    assert_eq!(home.read(App::Cursor), "{ \"mcpServers\": ");

    fs::remove_file(home.path(App::Cursor)).unwrap();
    assert_eq!(home.disconnect(App::Cursor, &files), [RestoredHow::Unchanged]);
    assert!(!home.path(App::Cursor).exists());
}

/// Whoever can write the folder of backups must not have other bytes written by Disconnect.
#[test]
fn a_forged_backup_does_not_count() {
    let home = Home::new();
    home.write(App::Cursor, b"{ \"a\": 1 }\n");
    let files = home.connect(App::Cursor, false);
    let backup = home.backups().join(&files[0].backup.as_ref().unwrap().name);
    fs::write(backup, "{ \"mcpServers\": { \"evil\": { \"command\": \"evil\" } } }").unwrap();
    assert_eq!(home.disconnect(App::Cursor, &files), [RestoredHow::EntryRemoved]);
    let after = home.read(App::Cursor);
    let document = Document::parse(FileFormat::Json, after.as_bytes()).unwrap();
    assert_eq!(document.value(), &json!({ "a": 1 }), "{after}");
}

/// A copy that leads to an endless file is none, and nothing waits for it.
#[cfg(unix)]
#[test]
fn a_backup_that_is_no_file_does_not_count() {
    let home = Home::new();
    home.write(App::Cursor, b"{ \"a\": 1 }\n");
    let files = home.connect(App::Cursor, false);
    let backup = home.backups().join(&files[0].backup.as_ref().unwrap().name);
    fs::remove_file(&backup).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &backup).unwrap();
    assert_eq!(home.disconnect(App::Cursor, &files), [RestoredHow::EntryRemoved]);
}

#[test]
fn refuses_a_file_that_changed_after_the_preview() {
    let home = Home::new();
    home.write(App::Cursor, b"{}");
    let plan = home.plan(App::Cursor, false).unwrap();
    let fingerprint = plan.fingerprint();
    assert_eq!(home.plan(App::Cursor, false).unwrap().fingerprint(), fingerprint);
    home.write(App::Cursor, b"{ \"a\": 1 }");
    assert_ne!(home.plan(App::Cursor, false).unwrap().fingerprint(), fingerprint);
    assert_eq!(plan.write().unwrap_err().code, ErrorCode::BadConfig);
    assert_eq!(home.read(App::Cursor), "{ \"a\": 1 }");
}

/// Each edition reads its own folder, so the settings of another one are none of its business.
#[test]
fn connects_the_edition_that_is_there() {
    let home = Home::new();
    let config = home.folders.home().join(".config");
    fs::create_dir_all(config.join("VSCodium/User")).unwrap();
    fs::write(config.join("VSCodium/User/mcp.json"), "{}").unwrap();
    assert_eq!(home.path(App::VsCode), config.join("VSCodium/User/mcp.json"));
    fs::create_dir_all(config.join("Code/User")).unwrap();
    assert_eq!(home.path(App::VsCode), config.join("Code/User/mcp.json"));

    let opencode = config.join("opencode");
    assert_eq!(home.path(App::OpenCode), opencode.join("opencode.json"));
    fs::create_dir_all(&opencode).unwrap();
    fs::write(opencode.join("opencode.jsonc"), "{}").unwrap();
    assert_eq!(home.path(App::OpenCode), opencode.join("opencode.jsonc"));
}

/// Its leftovers in the usual folder are read by nobody.
#[test]
fn connects_the_packaged_claude_where_it_is_installed() {
    let home = tempfile::tempdir().unwrap();
    let folders = BaseFolders::new(System::Windows, home.path().to_owned(), |_| None);
    let usual = home.path().join("AppData/Roaming/Claude");
    let path = || settings_path(App::ClaudeDesktop, &folders);
    assert!(path().starts_with(&usual), "{}", path().display());
    fs::create_dir_all(&usual).unwrap();
    fs::write(usual.join("claude_desktop_config.json"), "{}").unwrap();
    assert!(path().starts_with(&usual), "{}", path().display());
    let package = home.path().join("AppData/Local/Packages/Claude_pzs8sxrjxfjjc");
    fs::create_dir_all(package.join("LocalCache/Roaming/Claude")).unwrap();
    assert!(path().starts_with(&package), "{}", path().display());
}

/// An application may write its settings at any moment, and what it wrote is not lost.
#[test]
fn disconnecting_overwrites_nothing_that_was_written_meanwhile() {
    let home = Home::new();
    home.write(App::Cursor, b"{}");
    let files = home.connect(App::Cursor, false);
    let plan = home.restore_plan(App::Cursor, &files).unwrap();
    let changed = home.read(App::Cursor).replacen('{', "{ \"a\": 1, ", 1);
    home.write(App::Cursor, changed.as_bytes());
    assert_eq!(plan.write().unwrap_err().code, ErrorCode::BadConfig);
    assert_eq!(home.read(App::Cursor), changed);
    assert_eq!(home.disconnect(App::Cursor, &files), [RestoredHow::EntryRemoved]);
    assert!(home.read(App::Cursor).contains("\"a\": 1"));
}

/// The second file can't be written: the first one is as it was.
#[cfg(unix)]
#[test]
fn a_failed_connection_leaves_no_file_changed() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = Home::new();
    home.write(App::ClaudeCode, b"{}\n");
    let folder = home.folders.home().join(".claude");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("settings.json"), "{}").unwrap();
    let plan = home.plan(App::ClaudeCode, true).unwrap();
    // A folder in the place of the temporary file can't be replaced, whoever runs the test.
    fs::create_dir(folder.join("settings.json.gatehouse-new")).unwrap();
    assert_eq!(plan.write().unwrap_err().code, ErrorCode::Storage);
    assert_eq!(home.read(App::ClaudeCode), "{}\n");
    let mode = fs::metadata(home.path(App::ClaudeCode)).unwrap().permissions().mode();
    assert_ne!(mode & 0o777, 0);
}

#[test]
fn refuses_what_can_not_be_edited() {
    for (app, content) in [
        (App::Cursor, &b"{ \"mcpServers\": [] }"[..]),
        (App::Cursor, b"{ \"mcpServers\": { }"),
        (App::Cursor, b"[]"),
        (App::Cursor, b"{ \"a\": \"\xff\" }"),
        (App::Codex, b"mcp_servers = 1"),
        (App::Codex, b"[mcp_servers"),
        (App::Continue, b"mcpServers: { a: 1 }\n"),
        (App::Continue, b"mcpServers: [{ name: a, command: b }]\n"),
        (App::Continue, b"a: [\n"),
    ] {
        let home = Home::new();
        home.write(app, content);
        let error = home.plan(app, false).err();
        assert_eq!(
            error.map(|error| error.code),
            Some(ErrorCode::BadConfig),
            "{}",
            String::from_utf8_lossy(content)
        );
        assert_eq!(fs::read(home.path(app)).unwrap(), content);
    }
    let home = Home::new();
    assert_eq!(home.plan(App::Continue, false).err().unwrap().code, ErrorCode::NotFound);
    fs::create_dir_all(home.path(App::Cursor)).unwrap();
    assert_eq!(home.plan(App::Cursor, false).err().unwrap().code, ErrorCode::BadConfig);
}

#[cfg(unix)]
#[test]
fn follows_a_link_and_keeps_it_and_the_permissions() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let home = Home::new();
    let dotfiles = home.folder.path().join("dotfiles");
    fs::create_dir(&dotfiles).unwrap();
    let target = dotfiles.join("cursor.json");
    fs::write(&target, "{}\n").unwrap();
    fs::set_permissions(&target, fs::Permissions::from_mode(0o640)).unwrap();
    let link = home.path(App::Cursor);
    fs::create_dir_all(link.parent().unwrap()).unwrap();
    symlink(&target, &link).unwrap();
    let is_kept = || {
        let mode = fs::metadata(&target).unwrap().permissions().mode() & 0o777;
        fs::symlink_metadata(&link).unwrap().is_symlink() && mode == 0o640
    };

    let files = home.connect(App::Cursor, false);
    assert_eq!(Path::new(&files[0].path), target.canonicalize().unwrap());
    assert!(fs::read_to_string(&target).unwrap().contains("gatehouse") && is_kept());
    assert_eq!(home.disconnect(App::Cursor, &files), [RestoredHow::Restored]);
    assert!(fs::read_to_string(&target).unwrap() == "{}\n" && is_kept());

    fs::remove_file(&target).unwrap();
    assert_eq!(home.plan(App::Cursor, false).err().unwrap().code, ErrorCode::Storage);
}

#[test]
fn the_preview_shows_the_entry_and_no_secret_of_others() {
    let home = Home::new();
    home.write(
        App::Cursor,
        br#"{
  "mcpServers": {
    "other": { "command": "npx", "env": { "API_KEY": "sk-secret" } }
  }
}
"#,
    );
    let plan = home.plan(App::Cursor, false).unwrap();
    let changes = plan.changes();
    let lines = &changes[0].lines;
    let text = |kind| -> Vec<&str> {
        lines.iter().filter(|line| line.kind == kind).map(|line| line.text.as_str()).collect()
    };
    assert!(
        text(DiffLineKind::Added).iter().any(|line| line.contains("/opt/Gate house/gatehousectl")),
        "{lines:?}"
    );
    let all: String = lines.iter().map(|line| line.text.as_str()).collect();
    assert!(all.contains("API_KEY") && !all.contains("sk-secret"), "{all}");
    assert!(!changes[0].is_new && !plan.replaces_entry());
}

#[test]
fn rules_are_for_gatehouse_only() {
    let home = Home::new();
    let rule = |app| {
        let rule = allow_rule(app);
        let files = planned_files(app, &home.folders, &command(), rule);
        files.into_iter().map(|file| (file.path, file.edits)).collect::<Vec<_>>()
    };
    let claude = rule(App::ClaudeCode);
    let allow = DocumentEdit::Item {
        path: vec!["permissions".to_owned(), "allow".to_owned()],
        value: json!("mcp__gatehouse"),
    };
    assert_eq!(claude[1], (home.folders.home().join(".claude/settings.json"), vec![allow]));
    for (app, member, value) in
        [(App::Gemini, "trust", json!(true)), (App::Codex, "default_tools_approval_mode", json!("approve"))]
    {
        let files = rule(app);
        let [DocumentEdit::Member { value: entry, .. }] = files[0].1.as_slice() else { panic!("{files:?}") };
        assert_eq!(entry[member], value, "{}", app.as_str());
    }
    assert_eq!(allow_rule(App::VsCode), None);
}

/// Codex gives its servers few variables. Without these, the bridge finds neither the keychain nor a display.
#[test]
fn codex_passes_on_the_variables_of_a_linux_session() {
    for (system, is_linux) in [(System::Linux, true), (System::MacOs, false), (System::Windows, false)] {
        let folders = BaseFolders::new(system, "/home/ana", |_| None);
        let files = planned_files(App::Codex, &folders, &command(), None);
        let [DocumentEdit::Member { value: entry, .. }] = files[0].edits.as_slice() else {
            panic!("{files:?}")
        };
        let names = entry["env_vars"].as_array().cloned().unwrap_or_default();
        for name in ["DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "DISPLAY", "WAYLAND_DISPLAY"] {
            assert_eq!(names.contains(&json!(name)), is_linux, "{system:?}: {entry}");
        }
    }
}

/// OpenCode adds its schema to settings without one, which would then no longer be what Gatehouse wrote.
#[test]
fn new_settings_of_opencode_have_its_schema() {
    let schema = |home: &Home| {
        home.connect(App::OpenCode, false);
        let text = home.read(App::OpenCode);
        Document::parse(FileFormat::Json, text.as_bytes()).unwrap().value()["$schema"].clone()
    };
    assert_eq!(schema(&Home::new()), json!("https://opencode.ai/config.json"));
    let existing = Home::new();
    existing.write(App::OpenCode, b"{}");
    assert_eq!(schema(&existing), json!(null));
}
