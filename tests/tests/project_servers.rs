//! Servers that a project asks for in `.mcp.json` (GATE-4): none runs before the user agreed to what the file says, and only
//! clients of the project's profile see one. Whoever can write to the project can write the file.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use gatehouse_tests::approvals::wait_for_pending;
use gatehouse_tests::bridge::{BridgeCommand, sees, tool_names};
use gatehouse_tests::eventually::{eventually, eventually_holds};
use gatehouse_tests::gatehouse::Gatehouse;
use gatehouse_tests::{http, paths};
use serde_json::{Value, json};

/// A Gatehouse with a client, and a project folder with a profile that the client doesn't have.
struct World {
    gatehouse: Gatehouse,
    token: String,
    bridge: BridgeCommand,
    project: PathBuf,
    elsewhere: PathBuf,
}

impl World {
    fn start(others: &str) -> Result<Self> {
        let gatehouse = Gatehouse::start()?;
        gatehouse.await_status("Notes", "connected")?;
        let token = gatehouse.add_client("agent")?;
        let bridge = BridgeCommand::new(&gatehouse, &token)?;
        let (project, elsewhere) = (gatehouse.folder("app")?, gatehouse.folder("elsewhere")?);
        let settings = json!({ "name": "App", "otherServers": others, "folders": [project] });
        gatehouse.command("profiles.add", &json!({ "settings": settings }))?;
        Ok(Self { gatehouse, token, bridge, project, elsewhere })
    }

    fn write(&self, servers: &Value) -> Result<()> {
        Ok(fs::write(self.project.join(".mcp.json"), json!({ "mcpServers": servers }).to_string())?)
    }

    /// What a bridge sees that works in a folder.
    fn seen_in(&self, folder: &Path) -> Result<Vec<String>> {
        let mut bridge = self.bridge.start_in(folder, &[])?;
        bridge.initialize(&json!({}))?;
        bridge.request(1, "tools/list", &json!({}))?;
        tool_names(&bridge.answer(1)?)
    }

    fn servers(&self) -> Result<Vec<String>> {
        let servers = self.gatehouse.ask(&["servers", "list"])?;
        let names =
            servers.as_array().into_iter().flatten().filter_map(|view| view["config"]["name"].as_str());
        Ok(names.map(str::to_owned).collect())
    }

    fn answer(&self, question: &Value, answer: &str) -> Result<()> {
        let answer = if answer == "accept" {
            json!({ "answer": "accept", "content": null })
        } else {
            json!({ "answer": answer })
        };
        let answers = json!([{ "id": question["id"], "hash": null, "answer": answer }]);
        self.gatehouse.command("approvals.answer", &json!({ "answers": answers }))?;
        Ok(())
    }
}

/// An entry that runs the fixture.
fn fixture(arguments: &[&str]) -> Result<Value> {
    Ok(json!({
        "command": paths::program("fixture-server")?,
        "args": arguments,
        "env": { "PROJECT_MODE": "shown-in-full" },
    }))
}

/// What a question shows of a field.
fn shown<'a>(question: &'a Value, pointer: &str) -> Option<&'a str> {
    let changes = question["request"]["changes"].as_array()?;
    changes.iter().find(|change| change["pointer"] == pointer)?["after"].as_str()
}

#[test]
fn agreed_server_is_there_for_its_project_only() -> Result<()> {
    let world = World::start("shown")?;
    let mut entry = fixture(&[])?;
    // As Claude Code writes it.
    entry["env"]["PROJECT_HOME"] = json!("${HOME}");
    entry["env"]["PROJECT_STAGE"] = json!("${NOT_SET_ANYWHERE:-development}");
    entry["alwaysLoad"] = json!(true);
    world.write(&json!({ "local": entry }))?;
    let mut bridge = world.bridge.start_in(&world.project, &[])?;
    bridge.initialize(&json!({}))?;
    let question = wait_for_pending(&world.gatehouse, 1)?.remove(0);
    let request = &question["request"];
    ensure!(request["kind"] == "config_change" && request["action"] == "added", "{question:#}");
    ensure!(request["server"] == "local" && request["profile"] == "App", "{question:#}");
    ensure!(request["file"] == json!(world.project.join(".mcp.json")), "{question:#}");
    let command = json!(paths::program("fixture-server")?).to_string();
    ensure!(shown(&question, "/command") == Some(command.as_str()), "{question:#}");
    ensure!(shown(&question, "/env/PROJECT_MODE") == Some("\"shown-in-full\""), "{question:#}");
    ensure!(shown(&question, "/env/PROJECT_HOME") == Some("\"${env:HOME}\""), "{question:#}");
    ensure!(shown(&question, "/env/PROJECT_STAGE") == Some("\"development\""), "{question:#}");
    let folder = json!(world.project).to_string();
    ensure!(shown(&question, "/cwd") == Some(folder.as_str()), "{question:#}");
    ensure!(!world.servers()?.contains(&"local".to_owned()), "it is there before anybody agreed");
    world.answer(&question, "accept")?;
    let view = world.gatehouse.await_status("local", "connected")?;
    ensure!(view["config"]["origin"] == "project", "{view:#}");
    bridge.next("notifications/tools/list_changed")?;

    eventually_holds("the project's tools", || Ok(sees(&world.seen_in(&world.project)?, "echo")))?;
    let elsewhere = world.seen_in(&world.elsewhere)?;
    ensure!(!sees(&elsewhere, "echo") && sees(&elsewhere, "add_note"), "{elsewhere:?}");
    let own = format!("{}/servers/local/mcp", world.gatehouse.endpoint.trim_end_matches("/mcp"));
    let direct = http::stateless_request(&own, &world.token, "tools/list", "")?;
    ensure!(direct.status == 404, "{direct:?}");
    // Nor does a client see it that only says it works there.
    let mut claims = world.bridge.start_in(&world.elsewhere, &[])?;
    claims.initialize(&json!({ "roots": {} }))?;
    let asked = claims.next("roots/list")?;
    let roots = json!([{ "uri": format!("file://{}", world.project.display()) }]);
    let answer = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": { "roots": roots } });
    claims.send(&answer.to_string())?;
    claims.next("notifications/tools/list_changed")?;
    claims.request(1, "tools/list", &json!({}))?;
    let listed = claims.answer(1)?.to_string();
    ensure!(listed.contains("add_note") && !listed.contains(r#""name":"echo""#), "{listed}");
    // Its calls are judged like any other: nothing was allowed with it.
    bridge.request(5, "tools/call", &json!({ "name": "echo", "arguments": {} }))?;
    let call = wait_for_pending(&world.gatehouse, 1)?.remove(0);
    ensure!(call["request"]["server"]["name"] == "local", "{call:#}");

    // What isn't in the file any more is hidden, and is back without a question when it is there again.
    world.write(&json!({}))?;
    eventually_holds("the end of the tools", || Ok(!sees(&world.seen_in(&world.project)?, "echo")))?;
    world.write(&json!({ "local": fixture(&[])? }))?;
    eventually_holds("the tools again", || Ok(sees(&world.seen_in(&world.project)?, "echo")))?;

    // With its profile, its servers go.
    world.gatehouse.ask(&["profiles", "remove", "App"])?;
    ensure!(!world.servers()?.contains(&"local".to_owned()), "{:?}", world.servers()?);
    Ok(())
}

#[test]
fn changed_entry_asks_again_and_a_declined_one_does_not() -> Result<()> {
    let world = World::start("shown")?;
    let (first, changed) = (fixture(&[])?, fixture(&["--fault", "deceives"])?);
    world.write(&json!({ "local": first, "unwanted": fixture(&[])? }))?;
    drop(world.seen_in(&world.project)?);
    for question in wait_for_pending(&world.gatehouse, 2)? {
        let is_wanted = question["request"]["server"] == "local";
        world.answer(&question, if is_wanted { "accept" } else { "decline" })?;
    }
    world.gatehouse.await_status("local", "connected")?;
    ensure!(!world.servers()?.contains(&"unwanted".to_owned()));

    // Of the two, only the changed one is asked about; until then what was agreed runs.
    world.write(&json!({ "local": changed, "unwanted": fixture(&[])?, "marker": { "command": "x" } }))?;
    drop(world.seen_in(&world.project)?);
    let questions = wait_for_pending(&world.gatehouse, 2)?;
    let about = |name: &str| questions.iter().find(|question| question["request"]["server"] == name);
    let question = about("local").with_context(|| format!("{questions:#?}"))?;
    ensure!(question["request"]["action"] == "changed" && about("marker").is_some(), "{questions:#?}");
    ensure!(shown(question, "/args") == Some(r#"["--fault","deceives"]"#), "{question:#}");
    let args = |view: &Value| view["config"]["transport"]["args"].clone();
    ensure!(args(&world.gatehouse.await_status("local", "connected")?) == json!([]));
    // The file changes again before the user has answered: the question for the old text is withdrawn.
    let again = fixture(&["--fault", "no_such"])?;
    world.write(&json!({ "local": again }))?;
    drop(world.seen_in(&world.project)?);
    let question = eventually("the question for the new text", || {
        let pending = wait_for_pending(&world.gatehouse, 1)?.remove(0);
        let text = shown(&pending, "/args").unwrap_or_default().to_owned();
        Ok(if text.contains("no_such") { Ok(pending) } else { Err(text) })
    })?;
    world.answer(&question, "decline")?;
    ensure!(args(&world.gatehouse.await_status("local", "connected")?) == json!([]));
    // Whoever asks for it is asked again.
    let reports = world.gatehouse.ask(&["profiles", "add-servers", "App"])?;
    ensure!(reports[0]["asked"] == json!(["local"]), "{reports:#}");
    let question = wait_for_pending(&world.gatehouse, 1)?.remove(0);
    world.write(&json!({ "local": changed }))?;
    world.answer(&question, "accept")?;
    // What was shown runs, and not what is in the file by now.
    eventually("the agreed arguments", || {
        let servers = world.gatehouse.ask(&["servers", "list"])?;
        let view = servers.as_array().into_iter().flatten().find(|view| view["config"]["name"] == "local");
        let now = view.map(args).unwrap_or_default();
        Ok(if now == json!(["--fault", "no_such"]) { Ok(()) } else { Err(now.to_string()) })
    })?;
    let audit = world.gatehouse.ask(&["audit"])?.to_string();
    ensure!(audit.contains("hand_edit") && audit.contains(".mcp.json"), "{audit}");
    Ok(())
}

/// Tried: a file that is broken, too large, a link to another file, or a pipe. Stopped by: nothing but a regular file of the
/// project is read; the user is told, and nothing changes.
#[test]
fn unusable_file_is_said_and_changes_nothing() -> Result<()> {
    let world = World::start("shown")?;
    let before = world.servers()?;
    let file = world.project.join(".mcp.json");
    let outside = world.elsewhere.join("servers.json");
    fs::write(&outside, json!({ "mcpServers": { "evil": { "command": "x" } } }).to_string())?;
    let large = format!(r#"{{"mcpServers":{{}},"x":"{}"}}"#, "x".repeat(1024 * 1024));
    let many: serde_json::Map<String, Value> =
        (0..65).map(|number| (format!("s{number}"), json!({ "command": "x" }))).collect();
    let prepare: [&dyn Fn() -> Result<()>; 5] = [
        &|| Ok(fs::write(&file, r#"{"mcpServers":{"a":{"command":"x"}"#)?),
        &|| Ok(fs::write(&file, &large)?),
        &|| world.write(&Value::Object(many.clone())),
        &|| {
            fs::remove_file(&file)?;
            Ok(std::os::unix::fs::symlink(&outside, &file)?)
        },
        &|| {
            fs::remove_file(&file)?;
            ensure!(std::process::Command::new("mkfifo").arg(&file).status()?.success());
            Ok(())
        },
    ];
    for (number, prepare) in prepare.iter().enumerate() {
        prepare()?;
        let reports = world.gatehouse.ask(&["profiles", "add-servers", "App"])?;
        ensure!(reports[0]["asked"] == json!([]), "{number}: {reports:#}");
        ensure!(reports[0]["problems"].as_array().is_some_and(|all| all.len() == 1), "{number}: {reports:#}");
        ensure!(world.gatehouse.problems()?.contains(".mcp.json"), "{number}: nobody is told");
    }
    ensure!(world.gatehouse.ask(&["approvals", "list"])? == json!([]), "somebody was asked");
    ensure!(world.servers()? == before);
    // A server that can't be used is left out; the others are asked about.
    fs::remove_file(&file)?;
    world.write(&json!({ "good": { "command": "x" }, "bad": { "comand": "x" } }))?;
    let reports = world.gatehouse.ask(&["profiles", "add-servers", "App"])?;
    ensure!(reports[0]["asked"] == json!(["good"]), "{reports:#}");
    ensure!(reports[0]["problems"].to_string().contains("bad"), "{reports:#}");
    fs::remove_file(&file)?;
    world.gatehouse.ask(&["profiles", "add-servers", "App"])?;
    ensure!(!world.gatehouse.problems()?.contains(".mcp.json"), "the problem stays");
    Ok(())
}

#[test]
fn strict_profile_ignores_the_file() -> Result<()> {
    let world = World::start("hidden")?;
    world.write(&json!({ "local": fixture(&[])? }))?;
    ensure!(world.seen_in(&world.project)?.is_empty());
    let output = world.gatehouse.run_as_operator(&["profiles", "add-servers", "App"])?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(!output.status.success() && stderr.contains("strict"), "{output:?}");
    // An agent can't ask either.
    let output = world.gatehouse.run_unprivileged(&["profiles", "add-servers", "App"])?;
    ensure!(output.status.code() == Some(4), "{output:?}");
    // No longer strict: now it is asked about, and it alone.
    world.gatehouse.ask(&["profiles", "set", "App", "--others", "shown"])?;
    drop(world.seen_in(&world.project)?);
    let question = wait_for_pending(&world.gatehouse, 1)?.remove(0);
    world.answer(&question, "accept")?;
    world.gatehouse.await_status("local", "connected")?;
    eventually_holds("its tools", || Ok(sees(&world.seen_in(&world.project)?, "echo")))?;
    // Strict again, before the user has answered: its own servers and no others.
    world.write(&json!({ "local": fixture(&[])?, "late": fixture(&[])? }))?;
    drop(world.seen_in(&world.project)?);
    let question = wait_for_pending(&world.gatehouse, 1)?.remove(0);
    world.gatehouse.ask(&["profiles", "set", "App", "--others", "hidden"])?;
    ensure!(world.seen_in(&world.project)?.is_empty());
    world.answer(&question, "accept")?;
    eventually_holds("the answer is said to be too late", || {
        Ok(world.gatehouse.problems()?.contains("The server late "))
    })?;
    ensure!(!world.servers()?.contains(&"late".to_owned()));
    Ok(())
}
