//! Profiles of project folders (GATE-4): a bridge that works in such a folder sees only what its client's own profile and
//! that of the folder show, and so does one that is started with a profile. What a bridge presents can't be forged, given
//! away or widened.

use std::path::Path;
use std::process::{Command, Output};

use anyhow::{Context, Result, ensure};
use gatehouse_app::control::ControlClient;
use gatehouse_model::Secret;
use gatehouse_model::command::{BridgeBind, BridgeBinding, RequestSecret};
use gatehouse_tests::bridge::{Bridge, BridgeCommand, sees, tool_names};
use gatehouse_tests::eventually::eventually_holds;
use gatehouse_tests::fixture_server::{FixtureServer, ServerTransport, add};
use gatehouse_tests::gatehouse::Gatehouse;
use gatehouse_tests::http::{self, RawHttpResponse};
use gatehouse_tests::paths;
use serde_json::{Value, json};

/// A Gatehouse with the fixture server and Notes, all of whose tools are allowed, and a client.
struct World {
    gatehouse: Gatehouse,
    token: String,
    bridge: BridgeCommand,
    _server: FixtureServer,
}

impl World {
    fn start() -> Result<Self> {
        let gatehouse = Gatehouse::start()?;
        let server = add(&gatehouse, "fixture", ServerTransport::Stdio, &[])?;
        for name in ["fixture", "Notes"] {
            gatehouse.await_status(name, "connected")?;
        }
        gatehouse.command("policy.autoApprove", &json!({ "to": "all" }))?;
        let token = gatehouse.add_client("agent")?;
        let bridge = BridgeCommand::new(&gatehouse, &token)?;
        Ok(Self { gatehouse, token, bridge, _server: server })
    }

    /// Adds a profile that shows this server and no other.
    fn add_profile(&self, name: &str, server: &str, folders: &[&Path]) -> Result<()> {
        let servers = json!([{ "server": server, "tools": { "shows": "all" } }]);
        let settings =
            json!({ "name": name, "servers": servers, "otherServers": "hidden", "folders": folders });
        self.gatehouse.command("profiles.add", &json!({ "settings": settings }))?;
        Ok(())
    }

    fn assign(&self, profile: &str) -> Result<()> {
        self.gatehouse.command("clients.set", &json!({ "client": "agent", "profile": profile }))?;
        Ok(())
    }

    /// What a bridge sees that works in a folder, in both families of revisions.
    fn seen_in(&self, folder: &Path, more: &[&str]) -> Result<Vec<String>> {
        let mut bridge = self.bridge.start_in(folder, more)?;
        bridge.initialize(&json!({}))?;
        bridge.request(1, "tools/list", &json!({}))?;
        let old = tool_names(&bridge.answer(1)?)?;
        bridge.stateless_request(2, "tools/list", &json!({}))?;
        let answer = bridge.answer(2)?;
        ensure!(answer["result"]["cacheScope"] == "private", "{answer:#}");
        ensure!(tool_names(&answer)? == old, "{answer:#}\n{old:?}");
        ensure!(bridge.close()?.success());
        Ok(old)
    }

    /// Asks for the credential of the process that runs this test.
    fn bind(&self, token: &str) -> Result<BridgeBinding> {
        let (data_dir, token) = (self.gatehouse.data_dir(), Secret::new(token));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let mut client = ControlClient::connect(&data_dir).await?.with_client_token(&token);
            Ok(client.run(&BridgeBind { token: RequestSecret::new(&token), profile: None }).await?)
        })
    }

    /// Lists the tools with these credentials.
    fn list(&self, token: &str, credentials: &[&str]) -> Result<RawHttpResponse> {
        let params = json!({ "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "bytes", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        }});
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params }).to_string();
        let authorization = format!("Bearer {token}");
        let mut headers = vec![
            ("Authorization", authorization.as_str()),
            ("Content-Type", "application/json"),
            ("Accept", "application/json"),
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", "tools/list"),
        ];
        headers.extend(credentials.iter().map(|credential| ("Gatehouse-Binding", *credential)));
        http::post(&self.gatehouse.endpoint, &headers, body.as_bytes())
    }
}

/// Whether a call of a tool that is allowed is refused as if there were no such tool.
fn is_unknown(bridge: &mut Bridge, id: u64, tool: &str) -> Result<bool> {
    bridge.request(id, "tools/call", &json!({ "name": tool, "arguments": { "text": "x" } }))?;
    let answer = bridge.answer(id)?;
    Ok(answer["error"]["message"] == format!("There is no tool named “{tool}”."))
}

#[test]
fn bridge_in_a_project_folder_sees_what_its_profile_shows() -> Result<()> {
    let world = World::start()?;
    let (project, elsewhere) = (world.gatehouse.folder("project")?, world.gatehouse.folder("elsewhere")?);
    let below = world.gatehouse.folder("project/deep/er")?;
    let link = elsewhere.join("link");
    std::os::unix::fs::symlink(&project, &link)?;
    // Given by its link: the profile is bound to the folder itself.
    world.add_profile("Project", "Notes", &[&link])?;
    let stored = world.gatehouse.command("profiles.list", &json!({}))?;
    ensure!(stored[0]["profile"]["settings"]["folders"] == json!([project]), "{stored:#}");

    let all = world.seen_in(&elsewhere, &[])?;
    ensure!(sees(&all, "echo") && sees(&all, "add_note"), "{all:?}");
    for folder in [&project, &below, &link] {
        let tools = world.seen_in(folder, &[])?;
        ensure!(!sees(&tools, "echo") && sees(&tools, "add_note"), "{}: {tools:?}", folder.display());
    }
    // Of two projects, one in the other, the inner one counts.
    world.add_profile("Inner", "fixture", &[&below])?;
    let tools = world.seen_in(&below, &[])?;
    ensure!(sees(&tools, "echo") && !sees(&tools, "add_note"), "{tools:?}");

    let mut bridge = world.bridge.start_in(&project, &[])?;
    bridge.initialize(&json!({}))?;
    ensure!(is_unknown(&mut bridge, 1, "echo")? && !is_unknown(&mut bridge, 2, "add_note")?);
    // A folder gets a profile while a bridge works in it: the client is told, and sees less.
    let mut other = world.bridge.start_in(&elsewhere, &[])?;
    other.initialize(&json!({}))?;
    ensure!(!is_unknown(&mut other, 1, "echo")?);
    other.request(2, "tools/list", &json!({}))?;
    other.answer(2)?;
    world.add_profile("Elsewhere", "Notes", &[&elsewhere])?;
    other.next("notifications/tools/list_changed")?;
    ensure!(is_unknown(&mut other, 3, "echo")? && !is_unknown(&mut other, 4, "add_note")?);
    Ok(())
}

#[test]
fn folder_and_profile_option_only_narrow() -> Result<()> {
    let world = World::start()?;
    let (project, elsewhere) = (world.gatehouse.folder("project")?, world.gatehouse.folder("elsewhere")?);
    world.add_profile("Fixture", "fixture", &[&project])?;
    world.add_profile("Notes", "Notes", &[])?;
    world.gatehouse.command("profiles.add", &json!({ "settings": { "name": "Everything" } }))?;
    let chosen = world.seen_in(&elsewhere, &["--profile", "notes"])?;
    ensure!(sees(&chosen, "add_note") && !sees(&chosen, "echo"), "{chosen:?}");
    ensure!(world.seen_in(&project, &["--profile", "Notes"])?.is_empty(), "the folder shows something else");
    world.assign("Notes")?;
    ensure!(world.seen_in(&project, &[])?.is_empty(), "the client's own profile shows something else");
    let own = world.seen_in(&elsewhere, &[])?;
    ensure!(sees(&own, "add_note") && !sees(&own, "echo"), "{own:?}");
    ensure!(world.seen_in(&elsewhere, &["--profile", "Everything"])? == own);
    Ok(())
}

#[test]
fn unknown_profile_ends_the_bridge_with_an_error() -> Result<()> {
    let world = World::start()?;
    let output = world.bridge.output(&["--profile", "No such"])?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.code() == Some(1) && output.stdout.is_empty(), "{output:?}");
    ensure!(stderr.contains("No such"), "{stderr}");
    // Also with a client that has asked already.
    let mut bridge = world.bridge.start_in(Path::new("/"), &["--profile", "No such"])?;
    bridge.request(1, "initialize", &json!({ "protocolVersion": "2025-11-25", "capabilities": {} }))?;
    ensure!(bridge.process.wait()?.code() == Some(1));
    ensure!(bridge.process.next_line().is_err(), "something was written to standard output");
    Ok(())
}

#[test]
fn strict_profile_with_folders_shows_nothing_elsewhere() -> Result<()> {
    let world = World::start()?;
    let (project, elsewhere) = (world.gatehouse.folder("project")?, world.gatehouse.folder("elsewhere")?);
    world.add_profile("Project", "Notes", &[&project])?;
    world.assign("Project")?;
    ensure!(sees(&world.seen_in(&project, &[])?, "add_note"));
    ensure!(world.seen_in(&elsewhere, &[])?.is_empty());
    let direct = world.list(&world.token, &[])?;
    ensure!(direct.body.contains(r#""tools":[]"#), "a client without a bridge: {direct:?}");
    Ok(())
}

/// Tried: the credential of a bridge that another client presents; one that was made up; two at once; one of an earlier
/// run of Gatehouse; a session of one folder, used from another. Stopped by: a credential that doesn't count is refused
/// and not left out, so nobody gets more by spoiling their own; a session belongs to the folder that it was opened in.
#[test]
fn it_presents_another_credential() -> Result<()> {
    let mut world = World::start()?;
    let other = world.gatehouse.add_client("other")?;
    let here = std::env::current_dir()?.canonicalize()?;
    world.add_profile("Here", "Notes", &[&here])?;
    let bound = world.bind(&world.token)?;
    ensure!(bound.folder.as_deref() == here.to_str(), "{bound:?}");
    let credential = bound.credential.reveal();
    let narrowed = world.list(&world.token, &[credential])?;
    ensure!(narrowed.status == 200 && !narrowed.body.contains(r#""echo""#), "{narrowed:?}");
    ensure!(narrowed.body.contains("add_note"), "{narrowed:?}");
    let plain = world.list(&world.token, &[])?;
    ensure!(plain.body.contains(r#""echo""#), "{plain:?}");
    let forged = "A".repeat(credential.len());
    for (token, credentials) in [
        (&other, &[credential][..]),
        (&world.token, &[forged.as_str()][..]),
        (&world.token, &[""][..]),
        (&world.token, &[credential, credential][..]),
        (&world.token, &[credential, forged.as_str()][..]),
    ] {
        let refused = world.list(token, credentials)?;
        ensure!(refused.status == 401 && refused.body.contains("Gatehouse-Binding"), "{refused:?}");
    }
    // Only its own client gets one.
    ensure!(world.bind("no token").is_err());

    let mut bridge = world.bridge.start_in(&here, &[])?;
    bridge.initialize(&json!({}))?;
    world.gatehouse.stop()?;
    world.gatehouse.launch()?;
    world.gatehouse.await_status("Notes", "connected")?;
    let refused = world.list(&world.token, &[credential])?;
    ensure!(refused.status == 401, "of an earlier run: {refused:?}");
    // The bridge gets another one by itself, and its session stays narrow.
    ensure!(is_unknown(&mut bridge, 7, "echo")? && !is_unknown(&mut bridge, 8, "add_note")?);
    Ok(())
}

#[test]
fn session_belongs_to_the_folder_of_its_bridge() -> Result<()> {
    let world = World::start()?;
    let here = std::env::current_dir()?.canonicalize()?;
    world.add_profile("Here", "Notes", &[&here])?;
    let bound = world.bind(&world.token)?;
    let authorization = format!("Bearer {}", world.token);
    let post = |body: &Value, more: &[(&str, &str)]| {
        let mut headers = vec![
            ("Authorization", authorization.as_str()),
            ("Content-Type", "application/json"),
            ("Accept", "application/json"),
        ];
        headers.extend(more);
        http::post(&world.gatehouse.endpoint, &headers, body.to_string().as_bytes())
    };
    let initialize = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "bytes", "version": "1" },
    }});
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} });
    let binding = ("Gatehouse-Binding", bound.credential.reveal());
    for (opened_with, used_with) in [(&[binding][..], &[][..]), (&[][..], &[binding][..])] {
        let opened = post(&initialize, opened_with)?;
        let session = ("Mcp-Session-Id", opened.header("mcp-session-id").context("no session")?);
        let same = post(&list, &[opened_with, &[session]].concat())?;
        ensure!(same.status == 200, "{same:?}");
        ensure!(same.body.contains(r#""echo""#) == opened_with.is_empty(), "{same:?}");
        let other = post(&list, &[used_with, &[session]].concat())?;
        ensure!(other.status == 404, "{other:?}");
    }
    Ok(())
}

/// Answers the next question for the roots of a session.
fn say_roots(bridge: &mut Bridge, roots: &[&Path]) -> Result<()> {
    let asked = bridge.next("roots/list")?;
    let roots: Vec<Value> =
        roots.iter().map(|root| json!({ "uri": format!("file://{}", root.display()) })).collect();
    bridge.send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": { "roots": roots } }).to_string())
}

#[test]
fn roots_of_a_session_only_narrow() -> Result<()> {
    let world = World::start()?;
    let (project, elsewhere) = (world.gatehouse.folder("project")?, world.gatehouse.folder("elsewhere")?);
    world.add_profile("Project", "Notes", &[&project])?;
    let mut bridge = world.bridge.start_in(&elsewhere, &[])?;
    bridge.initialize(&json!({ "roots": { "listChanged": true } }))?;
    say_roots(&mut bridge, &[&project.join("deep"), &elsewhere])?;
    let mut id = 100;
    let mut is_hidden = |bridge: &mut Bridge| {
        id += 1;
        is_unknown(bridge, id, "echo")
    };
    eventually_holds("the narrower view", || is_hidden(&mut bridge))?;
    ensure!(!is_unknown(&mut bridge, 1, "add_note")?);
    bridge.next("notifications/tools/list_changed")?;
    bridge.notify("notifications/roots/list_changed", &json!({}))?;
    say_roots(&mut bridge, &[&elsewhere])?;
    eventually_holds("the wider view", || Ok(!is_hidden(&mut bridge)?))?;
    // What the client says of itself shows nothing that its own profile hides.
    world.add_profile("Fixture", "fixture", &[])?;
    world.assign("Fixture")?;
    bridge.notify("notifications/roots/list_changed", &json!({}))?;
    say_roots(&mut bridge, &[&project])?;
    eventually_holds("a view of nothing", || is_hidden(&mut bridge))?;
    ensure!(is_unknown(&mut bridge, 2, "add_note")?);
    // A session that never said that it has roots isn't asked, and neither is one without any folder of a profile.
    let mut other = world.bridge.start_in(&elsewhere, &[])?;
    other.initialize(&json!({}))?;
    ensure!(!is_unknown(&mut other, 1, "echo")?);
    ensure!(!other.unread().iter().any(|line| line.contains("roots/list")));
    Ok(())
}

#[test]
fn call_on_the_command_line_is_narrowed_by_its_folder() -> Result<()> {
    let world = World::start()?;
    let (project, elsewhere) = (world.gatehouse.folder("project")?, world.gatehouse.folder("elsewhere")?);
    world.add_profile("Project", "Notes", &[&project])?;
    let token_file = elsewhere.join("token");
    std::fs::write(&token_file, &world.token)?;
    let call_in = |folder: &Path| -> Result<Output> {
        let script = r#"exec 4<"$TOKEN"; exec "$0" --data-dir "$DATA" call echo --token-fd 4"#;
        let mut command = Command::new("sh");
        command.arg("-c").arg(script).arg(paths::program("gatehousectl")?).current_dir(folder);
        Ok(command.env("TOKEN", &token_file).env("DATA", world.gatehouse.data_dir()).output()?)
    };
    let refused = call_in(&project)?;
    ensure!(refused.status.code() == Some(5), "{refused:?}");
    ensure!(format!("{refused:?}").contains("There is no tool named"), "{refused:?}");
    let done = call_in(&elsewhere)?;
    ensure!(done.status.success(), "{done:?}");
    Ok(())
}

#[test]
fn folders_are_validated() -> Result<()> {
    let world = World::start()?;
    let project = world.gatehouse.folder("project")?;
    let file = project.join("file");
    std::fs::write(&file, "")?;
    let file = file.to_str().context("path")?;
    for folder in ["relative", "", "/no/such/folder", file] {
        let settings = json!({ "name": "Bad", "folders": [folder] });
        let added = world.gatehouse.command("profiles.add", &json!({ "settings": settings }));
        ensure!(added.is_err_and(|error| error.to_string().contains("project folder")), "{folder:?}");
    }
    world.add_profile("One", "Notes", &[&project, &project])?;
    let shown = world.gatehouse.ask(&["profiles", "show", "One"])?;
    ensure!(shown["profile"]["settings"]["folders"] == json!([project]), "{shown:#}");
    let taken = world.add_profile("Two", "Notes", &[&project]);
    ensure!(taken.is_err_and(|error| error.to_string().contains("One")), "a folder has one profile");
    // A folder that is gone hinders no other change.
    std::fs::remove_dir_all(&project)?;
    world.gatehouse.ask(&["profiles", "set", "One", "--calls-per-minute", "5"])?;
    let folder = project.to_str().context("path")?;
    let changed = world.gatehouse.ask(&["profiles", "set", "One", "--no-folder", folder])?;
    ensure!(changed["profile"]["settings"]["folders"] == json!([]), "{changed:#}");
    Ok(())
}
