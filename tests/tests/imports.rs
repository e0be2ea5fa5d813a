//! Importing servers from the settings of other applications (UI-2): they run afterwards, their secrets are in no file, and
//! the other application's file has the same bytes.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use gatehouse_tests::gatehouse::Gatehouse;
use gatehouse_tests::paths;
use serde_json::{Value, json};

/// Variables by which whoever runs the tests may have moved the settings that are used here.
const MOVED: [&str; 6] = [
    "XDG_CONFIG_HOME",
    "CLAUDE_CONFIG_DIR",
    "CLINE_DIR",
    "CLINE_DATA_DIR",
    "CLINE_MCP_SETTINGS_PATH",
    "VSCODE_PORTABLE",
];

/// The value of a secret in settings.
const SECRET: &str = "s3cret-of-the-fixture";

/// A Gatehouse whose user has this home folder.
fn start() -> Result<(Gatehouse, PathBuf)> {
    let mut gatehouse = Gatehouse::start()?;
    gatehouse.stop()?;
    let home = gatehouse.folder("user")?;
    let text = home.to_str().context("path")?.to_owned();
    let mut variables = vec![("HOME", text.as_str())];
    variables.extend(MOVED.map(|name| (name, "")));
    gatehouse.launch_with_env(&variables)?;
    Ok((gatehouse, home))
}

fn write(home: &Path, file: &str, content: &Value) -> Result<PathBuf> {
    let path = home.join(file);
    fs::create_dir_all(path.parent().context("folder")?)?;
    fs::write(&path, format!("// Mine\n{content:#}\n"))?;
    Ok(path)
}

fn fixture(args: &[&str]) -> Result<Value> {
    let program = paths::program("fixture-server")?;
    Ok(json!({ "command": program, "args": args, "env": { "API_KEY": SECRET } }))
}

fn server(gatehouse: &Gatehouse, name: &str) -> Result<Option<Value>> {
    let servers = gatehouse.ask(&["servers", "list"])?;
    Ok(servers.as_array().context("servers")?.iter().find(|view| view["config"]["name"] == name).cloned())
}

#[test]
fn imports_an_application_and_leaves_its_file_alone() -> Result<()> {
    let (gatehouse, home) = start()?;
    let mut off = fixture(&[])?;
    off["disabled"] = json!(true);
    let own = json!({ "command": "/usr/bin/gatehousectl", "args": ["bridge"] });
    let broken = json!({ "args": ["nothing to start"] });
    let servers = json!({ "fixture": fixture(&[])?, "off": off, "broken": broken, "gatehouse": own });
    let path = write(&home, ".cursor/mcp.json", &json!({ "mcpServers": servers }))?;
    let before = fs::read(&path)?;

    let sources = gatehouse.ask(&["servers", "import"])?;
    ensure!(sources[0]["app"] == "cursor" && sources[0]["servers"] == 3, "{sources:#}");
    let listed = gatehouse.ask(&["servers", "import", "cursor", "--list"])?;
    ensure!(listed["candidates"][0]["secrets"] == json!(["env/API_KEY"]), "{listed:#}");
    ensure!(!listed.to_string().contains(SECRET), "{listed:#}");
    ensure!(server(&gatehouse, "fixture")?.is_none(), "--list imported");

    let output = gatehouse.run_as_operator(&["--json", "servers", "import", "cursor"])?;
    ensure!(output.status.code() == Some(1), "{output:?}");
    let outcomes: Value = serde_json::from_slice(&output.stdout)?;
    for (at, is_imported) in [(0, true), (1, true), (2, false)] {
        ensure!(outcomes[at]["server"].is_null() != is_imported, "{outcomes:#}");
        ensure!(outcomes[at]["problem"].is_null() == is_imported, "{outcomes:#}");
    }
    let view = gatehouse.await_status("fixture", "connected")?;
    ensure!(view["config"]["transport"]["env"]["API_KEY"] == "${secret:API_KEY}", "{view:#}");
    ensure!(view["autoApprove"] == json!([]), "{view:#}");
    ensure!(server(&gatehouse, "off")?.context("off")?["config"]["enabled"] == false, "it was switched off");
    ensure!(server(&gatehouse, "broken")?.is_none(), "a broken entry was imported");
    let kept = fs::read_to_string(gatehouse.data_dir().join("servers.json"))?;
    ensure!(!kept.contains(SECRET), "{kept}");
    ensure!(fs::read(&path)? == before, "the file was changed");
    Ok(())
}

#[test]
fn programs_without_the_key_learn_only_how_many_servers_there_are() -> Result<()> {
    let (gatehouse, home) = start()?;
    let path = write(&home, ".cursor/mcp.json", &json!({ "mcpServers": { "private": fixture(&[])? } }))?;
    let output = gatehouse.run_unprivileged(&["--json", "servers", "import"])?;
    let text = String::from_utf8(output.stdout)?;
    ensure!(output.status.success() && text.contains("\"servers\":1"), "{text}");
    ensure!(!text.contains("private") && !text.contains(SECRET), "{text}");
    let file = path.to_str().context("path")?;
    for words in [
        &["servers", "import", "cursor", "--list"][..],
        &["servers", "import", "cursor"],
        &["servers", "import", file],
    ] {
        let output = gatehouse.run_unprivileged(words)?;
        ensure!(output.status.code() == Some(4), "{words:?}: {output:?}");
        ensure!(!String::from_utf8(output.stdout)?.contains("private"), "{words:?}");
    }
    ensure!(server(&gatehouse, "private")?.is_none(), "it was imported without the key");
    Ok(())
}

#[test]
fn a_taken_name_is_skipped_renamed_or_overwritten() -> Result<()> {
    let (gatehouse, home) = start()?;
    write(&home, ".cursor/mcp.json", &json!({ "mcpServers": { "fixture": fixture(&[])? } }))?;
    gatehouse.ask(&["servers", "import", "cursor"])?;
    gatehouse.await_status("fixture", "connected")?;
    let id = server(&gatehouse, "fixture")?.context("fixture")?["config"]["id"].clone();
    let args = |name: &str| -> Result<Value> {
        Ok(server(&gatehouse, name)?.context("no such server")?["config"]["transport"]["args"].clone())
    };

    // The same again: there is nothing to do, whatever is wanted.
    let again = gatehouse.ask(&["servers", "import", "cursor", "--on-conflict", "overwrite"])?;
    ensure!(again == json!([]), "{again:#}");

    write(&home, ".cursor/mcp.json", &json!({ "mcpServers": { "fixture": fixture(&["--other"])? } }))?;
    let skipped = gatehouse.ask(&["servers", "import", "cursor"])?;
    ensure!(skipped == json!([]) && args("fixture")? == json!([]), "{skipped:#}");
    let renamed = gatehouse.ask(&["servers", "import", "cursor", "--on-conflict", "rename"])?;
    ensure!(renamed[0]["name"] == "fixture 2" && args("fixture 2")? == json!(["--other"]), "{renamed:#}");
    let replaced = gatehouse.ask(&["servers", "import", "cursor", "--on-conflict", "overwrite"])?;
    ensure!(replaced[0]["server"] == id && args("fixture")? == json!(["--other"]), "{replaced:#}");

    // What the other application says nothing of stays as it is.
    gatehouse.ask(&["servers", "disable", "fixture"])?;
    write(&home, ".cursor/mcp.json", &json!({ "mcpServers": { "fixture": fixture(&["--third"])? } }))?;
    gatehouse.ask(&["servers", "import", "cursor", "--on-conflict", "overwrite"])?;
    let view = server(&gatehouse, "fixture")?.context("fixture")?;
    ensure!(args("fixture")? == json!(["--third"]) && view["config"]["enabled"] == false, "{view:#}");
    Ok(())
}

#[test]
fn what_runs_without_asking_is_taken_only_on_request() -> Result<()> {
    let (gatehouse, home) = start()?;
    let file = ".cline/data/settings/cline_mcp_settings.json";
    let mut entry = fixture(&[])?;
    entry["autoApprove"] = json!(["echo"]);
    write(&home, file, &json!({ "mcpServers": { "asks": entry.clone(), "allows": entry } }))?;
    gatehouse.ask(&["servers", "import", "cline", "--only", "asks"])?;
    let view = gatehouse.await_status("asks", "connected")?;
    ensure!(view["autoApprove"] == json!([]), "{view:#}");
    let outcome = gatehouse.ask(&["servers", "import", "cline", "--only", "allows", "--auto-approve"])?;
    ensure!(outcome[0]["problem"].is_null(), "{outcome:#}");
    let view = server(&gatehouse, "allows")?.context("allows")?;
    ensure!(view["autoApprove"].as_array().is_some_and(|rules| rules.len() == 1), "{view:#}");
    Ok(())
}

/// A secret can also be what settings name for the case that a variable is not set.
#[test]
fn a_secret_that_stands_in_for_a_variable_is_shown_to_nobody() -> Result<()> {
    let (gatehouse, home) = start()?;
    let mut entry = fixture(&[])?;
    entry["env"]["API_KEY"] = json!(format!("${{API_KEY:-{SECRET}}}"));
    write(&home, ".claude.json", &json!({ "mcpServers": { "fixture": entry } }))?;
    let listed = gatehouse.ask(&["servers", "import", "claude-code", "--list"])?;
    let input = &listed["candidates"][0]["inputs"][0];
    ensure!(
        input["isSecret"] == true && input["hasDefault"] == true && input["default"].is_null(),
        "{listed:#}"
    );
    ensure!(!listed.to_string().contains(SECRET), "{listed:#}");
    gatehouse.ask(&["servers", "import", "claude-code"])?;
    let view = gatehouse.await_status("fixture", "connected")?;
    ensure!(view["config"]["transport"]["env"]["API_KEY"] == "${secret:API_KEY}", "{view:#}");
    Ok(())
}

/// The user decides by these words, so nothing turns them around.
#[test]
fn hidden_characters_are_marked_in_what_is_shown() -> Result<()> {
    let (gatehouse, home) = start()?;
    let mut entry = fixture(&["a\u{202e}b"])?;
    entry["autoApprove"] = json!(["read", "c\u{202e}d"]);
    let project = json!({ "mcpServers": { "e\u{202e}f": entry } });
    write(&home, ".claude.json", &json!({ "projects": { "/home/g\u{202e}h": project } }))?;
    let listed = gatehouse.ask(&["servers", "import", "claude-code", "--list"])?;
    let candidate = &listed["candidates"][0];
    ensure!(!listed.to_string().contains('\u{202e}'), "{listed:#}");
    ensure!(candidate["autoApprove"]["tools"][1] == "c⟦U+202E⟧d", "{listed:#}");
    ensure!(candidate["project"] == "/home/g⟦U+202E⟧h", "{listed:#}");
    Ok(())
}

#[test]
fn inputs_are_asked_for_and_a_changed_file_is_not_imported() -> Result<()> {
    let (gatehouse, home) = start()?;
    let program = paths::program("fixture-server")?;
    let content = json!({
        "inputs": [{ "type": "promptString", "id": "mode", "description": "Mode" }],
        "servers": { "asking": { "command": program, "env": { "MODE": "${input:mode}" } } }
    });
    let path = write(&home, ".config/Code/User/mcp.json", &content)?;
    let output = gatehouse.run_as_operator(&["servers", "import", "vscode"])?;
    ensure!(output.status.code() == Some(2), "{output:?}");
    ensure!(String::from_utf8(output.stderr)?.contains("--input mode=VALUE"), "the input is not named");
    gatehouse.ask(&["servers", "import", "vscode", "--input", "mode=fast"])?;
    let view = server(&gatehouse, "asking")?.context("asking")?;
    ensure!(view["config"]["transport"]["env"]["MODE"] == "fast", "{view:#}");

    let from = json!({ "file": path.to_str() });
    let preview = gatehouse.command("imports.preview", &json!({ "from": from }))?;
    write(&home, ".config/Code/User/mcp.json", &json!({ "servers": { "asking": { "command": "evil" } } }))?;
    let choice = json!({ "index": 0, "action": "overwrite", "inputs": [{ "id": "mode", "value": "x" }] });
    let run = json!({ "from": from, "fingerprint": preview["fingerprint"], "servers": [choice] });
    ensure!(gatehouse.command("imports.run", &run).is_err(), "a changed file was imported");
    Ok(())
}
