//! Bundles (UI-2): a `.mcpb` file made by another tool is shown, added with its options and a secret, runs and answers,
//! and leaves nothing behind.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use gatehouse_tests::gatehouse::Gatehouse;
use gatehouse_tests::mcp_registry::McpRegistryServer;
use gatehouse_tests::paths;
use serde_json::{Value, json};

/// Packs a bundle with the module that Python has for it.
fn pack(gatehouse: &Gatehouse, name: &str, manifest: &Value) -> Result<PathBuf> {
    let folder = gatehouse.folder(name)?;
    fs::create_dir_all(folder.join("server"))?;
    fs::write(folder.join("manifest.json"), manifest.to_string())?;
    fs::copy(paths::tests_dir().join("js/bundled-server.mjs"), folder.join("server/index.mjs"))?;
    let file = folder.join(format!("{name}.mcpb"));
    let packed = Command::new(paths::python()?)
        .args(["-m", "zipfile", "-c"])
        .arg(&file)
        .args(["manifest.json", "server"])
        .current_dir(&folder)
        .status()?;
    ensure!(packed.success(), "the bundle was not packed");
    Ok(file)
}

fn manifest() -> Value {
    json!({
        "manifest_version": "0.3",
        "name": "teller",
        "display_name": "Teller",
        "version": "2.0.1",
        "description": "Tells what it was started with.",
        "author": { "name": "Ana" },
        "server": {
            "type": "node",
            "entry_point": "server/index.mjs",
            "mcp_config": {
                "command": "node",
                "args": ["${__dirname}/server/index.mjs", "--level=${user_config.level}", "${user_config.dirs}"],
                "env": { "TOKEN": "Bearer ${user_config.token}", "GREETING": "${user_config.greeting}" },
            },
        },
        "tools": [{ "name": "started_with", "description": "Tells." }],
        "user_config": {
            "level": { "type": "number", "title": "Level", "description": "How loud", "default": 3, "min": 1, "max": 9 },
            "dirs": { "type": "directory", "title": "Folders", "description": "Where", "multiple": true, "required": true },
            "token": { "type": "string", "title": "Token", "description": "Yours", "sensitive": true, "required": true },
            "greeting": { "type": "string", "title": "Greeting", "description": "What to say", "default": "hello" },
        },
    })
}

/// The SHA-256 of a file in hexadecimal.
fn sha256(file: &Path) -> Result<String> {
    let program = "import hashlib, sys; print(hashlib.sha256(open(sys.argv[1], 'rb').read()).hexdigest())";
    let output = Command::new(paths::python()?).args(["-c", program]).arg(file).output()?;
    ensure!(output.status.success(), "{output:?}");
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().context("path")
}

fn unpacked(gatehouse: &Gatehouse) -> Result<Vec<PathBuf>> {
    let folder = gatehouse.data_dir().join("bundles");
    fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect()
}

/// What the registry lists is compared before anything of the file is looked at.
#[test]
fn bundle_is_compared_with_its_entry_of_the_registry() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let registry = McpRegistryServer::start()?;
    gatehouse.ask(&["settings", "set", "--registry", &registry.address])?;
    let file = pack(&gatehouse, "teller", &manifest())?;
    let listed = sha256(&file)?;
    let package = json!({
        "registryType": "mcpb",
        "identifier": "https://teller.example/teller.mcpb",
        "fileSha256": listed,
        "transport": { "type": "stdio" },
    });
    let name = "io.example/teller";
    registry.publish(&[json!({
        "name": name, "description": "Tells", "version": "2.0.1", "packages": [package],
    })])?;
    let entry = gatehouse.ask(&["servers", "registry", "show", name])?;
    ensure!(entry["options"][0]["fileSha256"] == *listed, "{entry:#}");

    let words = ["servers", "add-bundle", text(&file)?, "--sha256", &listed, "--preview"];
    let shown = gatehouse.ask(&words)?;
    ensure!(shown["name"] == "Teller", "{shown:#}");
    let mut changed = fs::read(&file)?;
    changed.push(0);
    fs::write(&file, changed)?;
    let refused = gatehouse.run_as_operator(&words)?;
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    ensure!(refused.status.code() == Some(4), "{refused:?}");
    ensure!(said.contains("The file isn't the one that the registry entry lists."), "{said}");
    Ok(())
}

#[test]
fn bundle_is_added_runs_and_goes_without_a_trace() -> Result<()> {
    let mut gatehouse = Gatehouse::start()?;
    let file = pack(&gatehouse, "teller", &manifest())?;
    let file = text(&file)?;
    let folders = [gatehouse.folder("one")?, gatehouse.folder("two words")?];
    let set: Vec<String> = folders.iter().map(|folder| format!("dirs={}", folder.display())).collect();

    let shown = gatehouse.ask(&["servers", "add-bundle", file, "--preview"])?;
    ensure!(shown["name"] == "Teller" && shown["signature"]["state"] == "none", "{shown:#}");
    ensure!(shown["refused"].is_null() && shown["warnings"] == json!([]), "{shown:#}");
    let servers = gatehouse.ask(&["servers", "list"])?;
    ensure!(!servers.to_string().contains("Teller"), "a preview adds nothing");

    // Without what is required, nothing is added either.
    let refused = gatehouse.run_as_operator(&["servers", "add-bundle", file])?;
    ensure!(!refused.status.success());
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    ensure!(said.contains("Folders") && said.contains("Enter a value"), "{said}");
    // Nor by a program without the operator key.
    ensure!(!gatehouse.run_unprivileged(&["servers", "add-bundle", file, "--preview"])?.status.success());

    let words = [
        "servers",
        "add-bundle",
        file,
        "--secret",
        "token",
        "--set",
        "level=7",
        "--set",
        &set[0],
        "--set",
        &set[1],
    ];
    let mut adding = gatehouse.begin_at_own_terminal(&words)?;
    adding.wait_for("Not signed")?;
    adding.wait_for("Secret for token")?;
    adding.write_line("t0p-s3cret")?;
    ensure!(adding.wait()?.success());
    let view = gatehouse.await_status("Teller", "connected")?;
    let call = json!({ "server": "Teller", "tool": "started_with", "arguments": "{}" });
    let answer = gatehouse.command("servers.callTool", &call)?;
    let told = answer["parts"][0]["content"]["text"]["text"]
        .as_str()
        .or(answer["parts"][0]["content"]["text"].as_str());
    let told: Value = serde_json::from_str(told.with_context(|| format!("{answer:#}"))?)?;
    let [folder] = &unpacked(&gatehouse)?[..] else { anyhow::bail!("{:?}", unpacked(&gatehouse)) };
    let expected = json!({
        "args": ["--level=7", folders[0], folders[1]],
        "folder": fs::canonicalize(folder)?,
        "greeting": "hello",
        "token": "Bearer t0p-s3cret".len(),
    });
    ensure!(told == expected, "{told:#}");
    ensure!(!view.to_string().contains("t0p-s3cret"));
    let stored = fs::read_to_string(gatehouse.data_dir().join("servers.json"))?;
    ensure!(!stored.contains("t0p-s3cret") && stored.contains("${secret:TOKEN}"), "{stored}");

    gatehouse.ask(&["servers", "remove", "Teller", "--undoable"])?;
    // The removal can be undone until Gatehouse quits.
    ensure!(unpacked(&gatehouse)?.len() == 1, "{:?}", unpacked(&gatehouse)?);
    gatehouse.stop()?;
    ensure!(unpacked(&gatehouse)?.is_empty(), "{:?}", unpacked(&gatehouse)?);
    Ok(())
}

/// A changed bundle is another server to permissions: nothing that was allowed holds for it.
#[test]
fn another_version_asks_again() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let mut plain = manifest();
    plain["user_config"] = json!({});
    plain["server"]["mcp_config"] = json!({ "command": "node", "args": ["${__dirname}/server/index.mjs"] });
    let first = pack(&gatehouse, "first", &plain)?;
    plain["version"] = json!("2.0.2");
    let second = pack(&gatehouse, "second", &plain)?;
    gatehouse.ask(&["servers", "add-bundle", text(&first)?, "--name", "teller"])?;
    gatehouse.await_status("teller", "connected")?;
    gatehouse.command("policy.autoApprove", &json!({ "server": "teller", "to": "all" }))?;
    let rules = |gatehouse: &Gatehouse| -> Result<Value> {
        let view = gatehouse.await_status("teller", "connected")?;
        Ok(view["autoApprove"].clone())
    };
    ensure!(rules(&gatehouse)? != json!([]));

    let before = unpacked(&gatehouse)?;
    gatehouse.ask(&["servers", "add-bundle", text(&second)?, "--replace", "teller"])?;
    ensure!(rules(&gatehouse)? == json!([]), "the old rules hold for another content");
    let after = unpacked(&gatehouse)?;
    ensure!(after.len() == 1 && after != before, "{before:?} {after:?}");
    Ok(())
}
