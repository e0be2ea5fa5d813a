//! The MCP registry and links through `gatehousectl` (UI-2): looking for servers, adding one with what it asks for, updates,
//! a registry that is away, and who may ask it.

use anyhow::{Result, ensure};
use gatehouse_tests::gatehouse::Gatehouse;
use gatehouse_tests::mcp_registry::McpRegistryServer;
use gatehouse_tests::paths;
use serde_json::{Value, json};

const NAME: &str = "io.example/weather";

fn weather(version: &str) -> Value {
    json!({
        "name": NAME, "title": "Weather", "description": "Says the weather", "version": version,
        "packages": [{
            "registryType": "npm", "identifier": "@example/weather", "version": version,
            "transport": {"type": "stdio"},
            "environmentVariables": [
                {"name": "CITY", "isRequired": true, "description": "Where you are"},
                {"name": "UNITS", "default": "celsius", "choices": ["celsius", "fahrenheit"]},
            ],
        }],
        "remotes": [{"type": "streamable-http", "url": "https://weather.example/mcp",
            "headers": [{"name": "X-Api-Key", "isRequired": true, "isSecret": true}]}],
    })
}

fn with_registry() -> Result<(Gatehouse, McpRegistryServer)> {
    let gatehouse = Gatehouse::start()?;
    let registry = McpRegistryServer::start()?;
    gatehouse.ask(&["settings", "set", "--registry", &registry.address])?;
    Ok((gatehouse, registry))
}

fn output(gatehouse: &Gatehouse, words: &[&str]) -> Result<String> {
    let output = gatehouse.run_as_operator(words)?;
    Ok(format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)))
}

#[test]
fn finds_and_shows_entries() -> Result<()> {
    let (gatehouse, registry) = with_registry()?;
    let list = json!({
        "servers": [{"server": weather("1.2.0")}, {"server": {"name": 7}}],
        "metadata": {"nextCursor": "after-weather"},
    });
    registry.answer("/v0.1/servers", 200, &list.to_string());
    registry.publish(&[weather("1.2.0"), weather("1.1.0")])?;
    let page = gatehouse.ask(&["servers", "registry", "search", "weather"])?;
    ensure!(page["entries"][0]["name"] == NAME && page["omitted"] == 1, "{page:#}");
    ensure!(page["nextCursor"] == "after-weather" && page["offline"].is_null(), "{page:#}");
    let requests = registry.requests();
    ensure!(requests == ["/v0.1/servers?version=latest&limit=30&search=weather"], "{requests:?}");

    let words = output(&gatehouse, &["servers", "registry", "search", "weather"])?;
    ensure!(words.contains("npm, http") && words.contains("1 entry can't be read"), "{words}");
    let words = output(&gatehouse, &["servers", "registry", "show", NAME])?;
    for expected in
        ["1.2.0, 1.1.0", "Option npm:@example/weather", "CITY (required) Where you are", "X-Api-Key"]
    {
        ensure!(words.contains(expected), "{expected} is not in {words}");
    }
    let missing = output(&gatehouse, &["servers", "registry", "show", "io.example/none"])?;
    ensure!(missing.contains("no entry “io.example/none”"), "{missing}");
    Ok(())
}

#[test]
fn adds_a_server_with_what_it_asks_for() -> Result<()> {
    let (gatehouse, registry) = with_registry()?;
    registry.publish(&[weather("1.2.0")])?;
    let add = ["servers", "add", "--disabled", "--registry", NAME];
    let refused = output(&gatehouse, &add)?;
    ensure!(refused.contains("“CITY” is required."), "{refused}");
    let refused = output(&gatehouse, &[&add[..], &["--set", "CITY=Bonn", "--set", "UNITS=kelvin"]].concat())?;
    ensure!(refused.contains("The value for “UNITS” isn't allowed."), "{refused}");
    let before = gatehouse.ask(&["servers", "list"])?;
    ensure!(!before.to_string().contains("@example/weather"), "a refused server was added");

    let added = gatehouse.ask(&[&add[..], &["--set", "CITY=Bonn"]].concat())?;
    let config = &added["config"];
    ensure!(config["name"] == "weather", "{config:#}");
    ensure!(config["transport"]["command"] == "npx", "{config:#}");
    ensure!(config["transport"]["args"] == json!(["-y", "@example/weather@1.2.0"]), "{config:#}");
    ensure!(config["transport"]["env"] == json!({"CITY": "Bonn", "UNITS": "celsius"}), "{config:#}");
    ensure!(config["registry"] == json!({"name": NAME, "version": "1.2.0"}), "{config:#}");
    // What the entry says stays with the server over a restart.
    let file = std::fs::read_to_string(gatehouse.data_dir().join("servers.json"))?;
    let file: Value = serde_json::from_str(&file)?;
    ensure!(file["mcpServers"]["weather"]["registry"]["version"] == "1.2.0", "{file:#}");

    let again = gatehouse.ask(&[&add[..], &["--set", "CITY=Bonn"]].concat())?;
    ensure!(again["config"]["name"] == "weather 2", "{again:#}");
    Ok(())
}

/// Secrets are read at the terminal, and are in no file and no reply.
#[test]
fn asks_for_required_secrets() -> Result<()> {
    let (gatehouse, registry) = with_registry()?;
    registry.publish(&[weather("1.2.0")])?;
    let option = "http:https://weather.example/mcp";
    let words = ["servers", "add", "--disabled", "--registry", NAME, "--option", option, "mine"];
    let on_line = output(&gatehouse, &[&words[..], &["--set", "X-Api-Key=k3y-of-mine"]].concat())?;
    ensure!(on_line.contains("The value for “X-Api-Key” isn't allowed."), "{on_line}");
    let input = gatehouse.home().join("secret");
    std::fs::write(&input, "k3y-of-mine\n")?;
    // The shell script gives the operator key as descriptor 3.
    let script = r#"exec 3<"$KEY" 5<"$SECRET"; exec "$0" --json --data-dir "$DATA" --operator-key-fd 3 "$@""#;
    let key = gatehouse.home().join("operator-key-of-the-test");
    std::fs::write(&key, gatehouse.operator_key()?)?;
    let added = std::process::Command::new("sh")
        .args(["-c", script])
        .arg(paths::program("gatehousectl")?)
        .args(words)
        .args(["--secret-fd", "5"])
        .env("KEY", &key)
        .env("SECRET", &input)
        .env("DATA", gatehouse.data_dir())
        .output()?;
    ensure!(added.status.success(), "{}", String::from_utf8_lossy(&added.stderr));
    let text = String::from_utf8(added.stdout)?;
    ensure!(!text.contains("k3y-of-mine"), "the reply has the secret");
    let view: Value = serde_json::from_str(&text)?;
    let headers = &view["config"]["transport"]["headers"];
    ensure!(*headers == json!({"X-Api-Key": "${secret:X-Api-Key}"}), "{view:#}");
    let file = std::fs::read_to_string(gatehouse.data_dir().join("servers.json"))?;
    ensure!(!file.contains("k3y-of-mine"), "the file has the secret");
    ensure!(
        registry.requests().iter().all(|request| !request.contains("k3y")),
        "the registry got the secret"
    );
    Ok(())
}

#[test]
fn says_that_there_is_a_newer_version() -> Result<()> {
    let (gatehouse, registry) = with_registry()?;
    registry.publish(&[weather("1.2.0")])?;
    gatehouse.ask(&["servers", "add", "--disabled", "--registry", NAME, "--set", "CITY=Bonn"])?;
    let report = gatehouse.ask(&["servers", "registry", "check", "weather"])?;
    ensure!(report["update"].is_null() && report["status"] == "active", "{report:#}");
    let other = gatehouse.run_as_operator(&["servers", "registry", "check", "Time"])?;
    ensure!(!other.status.success(), "a server that came from elsewhere was checked");

    // Answers are used again for a while, so a Gatehouse that has asked nobody yet asks.
    let (fresh, newer) = with_registry()?;
    newer.publish(&[weather("1.2.0")])?;
    fresh.ask(&["servers", "add", "--disabled", "--registry", NAME, "--set", "CITY=Bonn"])?;
    newer.publish(&[weather("1.10.0"), weather("1.2.0")])?;
    let report = fresh.ask(&["servers", "registry", "check", "weather"])?;
    ensure!(report["update"]["version"] == "1.10.0" && report["update"]["isNewer"] == true, "{report:#}");
    let draft = report["update"]["draft"].clone();
    ensure!(draft["transport"]["args"] == json!(["-y", "@example/weather@1.10.0"]), "{draft:#}");
    ensure!(draft["transport"]["env"]["CITY"] == "Bonn", "{draft:#}");
    let unchanged = fresh.ask(&["servers", "list"])?;
    ensure!(!unchanged.to_string().contains("1.10.0"), "looking changed the server");
    Ok(())
}

#[test]
fn shows_the_last_answer_while_the_registry_is_away() -> Result<()> {
    let (mut gatehouse, registry) = with_registry()?;
    let list = json!({"servers": [{"server": weather("1.2.0")}]});
    registry.answer("/v0.1/servers", 200, &list.to_string());
    let first = gatehouse.ask(&["servers", "registry", "search"])?;
    registry.answer("/v0.1/servers", 500, "out of order");
    gatehouse.stop()?;
    gatehouse.launch()?;
    let page = gatehouse.ask(&["servers", "registry", "search"])?;
    ensure!(page["entries"] == first["entries"] && page["fetchedAt"] == first["fetchedAt"], "{page:#}");
    ensure!(!page["offline"].is_null(), "{page:#}");
    drop(registry);
    let words = output(&gatehouse, &["servers", "registry", "search"])?;
    ensure!(words.contains("The registry can't be reached. This is what it said on"), "{words}");
    let unknown = output(&gatehouse, &["servers", "registry", "search", "something else"])?;
    ensure!(unknown.contains("The registry can't be used."), "{unknown}");
    Ok(())
}

/// A program without the operator key gets nothing sent, and cannot point Gatehouse to another registry.
#[test]
fn only_the_operator_asks_the_registry() -> Result<()> {
    let (gatehouse, registry) = with_registry()?;
    for words in [
        &["servers", "registry", "search", "what-i-want-to-send-away"][..],
        &["servers", "registry", "show", NAME],
        &["servers", "add", "--registry", NAME],
        &["settings", "set", "--registry", "https://evil.example"],
    ] {
        let refused = gatehouse.run_unprivileged(words)?;
        ensure!(refused.status.code() == Some(4), "{words:?}: {refused:?}");
    }
    ensure!(registry.requests().is_empty(), "{:?}", registry.requests());
    for address in ["http://registry.example", "https://me:secret@registry.example", "nowhere"] {
        let refused = gatehouse.run_as_operator(&["settings", "set", "--registry", address])?;
        ensure!(!refused.status.success(), "{address} is taken");
    }
    let settings = gatehouse.ask(&["settings", "set", "--registry", "official"])?;
    ensure!(settings["registry"] == "https://registry.modelcontextprotocol.io", "{settings:#}");
    Ok(())
}

/// A link is shown and adds nothing, whoever has it read.
#[test]
fn links_add_nothing() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let before = gatehouse.ask(&["servers", "list"])?.as_array().map(Vec::len);
    let link = "gatehouse://add?name=Weather&command=npx&args=-y&args=weather&env=API_KEY%3Dabc";
    let shown = output(&gatehouse, &["servers", "link", link])?;
    ensure!(shown.contains("It runs: npx -y weather") && shown.contains("env/API_KEY"), "{shown}");
    ensure!(!shown.contains("abc"), "the secret of the link is shown: {shown}");
    for link in ["gatehouse://add?command=a&command=b", "gatehouse://add?command=%E2%80%AEx", "https://x"] {
        let refused = output(&gatehouse, &["servers", "link", link])?;
        ensure!(refused.contains("The link can't be used."), "{link}: {refused}");
    }
    ensure!(gatehouse.ask(&["servers", "list"])?.as_array().map(Vec::len) == before, "a link added a server");
    Ok(())
}
