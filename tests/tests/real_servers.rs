//! Third-party servers, each called through the gateway by a third-party client.

use anyhow::{Context, Result, ensure};
use gatehouse_tests::client::{Client, Sdk, npm_server};
use gatehouse_tests::eventually::eventually;
use gatehouse_tests::gatehouse::Gatehouse;
use gatehouse_tests::paths;
use serde_json::json;

fn everything(gatehouse: &Gatehouse) -> Result<()> {
    let script = npm_server("server-everything");
    gatehouse.ask(&[
        "servers",
        "add",
        "everything",
        "--",
        "node",
        script.to_str().context("path")?,
        "stdio",
    ])?;
    gatehouse.await_status("everything", "connected")?;
    Ok(())
}

#[test]
fn calls_everything_server_over_stdio_with_progress() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    everything(&gatehouse)?;
    gatehouse.ask(&["policy", "auto-approve", "everything", "all"])?;
    let token = gatehouse.add_client("Tester")?;
    for (sdk, revision) in [
        (Sdk::TypeScript, "2026-07-28"),
        (Sdk::TypeScript, "2025-11-25"),
        (Sdk::Python, "2026-07-28"),
        (Sdk::Python, "2025-11-25"),
    ] {
        let mut client = Client::connect(sdk, revision, &gatehouse.endpoint, Some(&token))?;
        let answer = client.call("echo", &json!({ "message": "through the gate" }))?;
        ensure!(answer.text() == "Echo: through the gate", "{sdk:?} {revision}: {answer:?}");
        let call = client.begin("trigger-long-running-operation", &json!({ "duration": 1, "steps": 4 }))?;
        let answer = client.finish(&call)?;
        ensure!(answer.is_ok(), "{sdk:?} {revision}: {answer:?}");
        let progress = client.progress_of(&call).len();
        ensure!(progress == 4, "{sdk:?} {revision}: {progress} of 4 progress notifications came through");
    }
    Ok(())
}

/// Over both of its HTTP transports; which one is used is detected.
#[test]
fn calls_everything_server_over_http() -> Result<()> {
    for (transport, path) in [("streamableHttp", "mcp"), ("sse", "sse")] {
        let gatehouse = Gatehouse::start()?;
        let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let mut command = std::process::Command::new("node");
        command
            .arg(npm_server("server-everything"))
            .arg(transport)
            .env("PORT", port.to_string())
            .stderr(std::process::Stdio::null());
        let _server = gatehouse_tests::child_process::ChildProcess::start("server-everything", &mut command)?;
        eventually("the server to listen", || {
            Ok(std::net::TcpStream::connect(("127.0.0.1", port)).map(drop))
        })?;
        let url = format!("http://127.0.0.1:{port}/{path}");
        gatehouse.ask(&["servers", "add", "remote", "--url", &url])?;
        gatehouse.await_status("remote", "connected")?;
        gatehouse.ask(&["policy", "auto-approve", "remote", "all"])?;
        let token = gatehouse.add_client("Tester")?;
        let mut client = Client::connect(Sdk::TypeScript, "2026-07-28", &gatehouse.endpoint, Some(&token))?;
        let answer = client.call("get-sum", &json!({ "a": 2, "b": 40 }))?;
        ensure!(answer.text().contains("42"), "{transport}: {answer:?}");
        let call = client.begin("trigger-long-running-operation", &json!({ "duration": 1, "steps": 3 }))?;
        ensure!(client.finish(&call)?.is_ok(), "{transport}: the long operation failed");
        ensure!(client.progress_of(&call).len() == 3, "{transport}: progress was lost");
    }
    Ok(())
}

/// Requests of the everything server to its client: answered by the client, or by the user for a client
/// that cannot.
#[test]
fn everything_server_requests_reach_client_or_user() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    everything(&gatehouse)?;
    gatehouse.ask(&["policy", "auto-approve", "everything", "all"])?;
    let token = gatehouse.add_client("Tester")?;
    let answers = json!({
        "form": { "action": "accept", "content": { "name": "Zoe" } }, "sampling": "A model's words",
    });
    for revision in ["2025-11-25", "2026-07-28"] {
        let mut client = Client::connect_answering(revision, &gatehouse.endpoint, &token, &answers)?;
        let answer = client.call("trigger-elicitation-request", &json!({}))?;
        ensure!(answer.text().contains("Zoe"), "{revision}: {answer:?}");
        let answer = client.call("trigger-sampling-request", &json!({ "prompt": "Say something" }))?;
        ensure!(answer.text().contains("A model's words"), "{revision}: {answer:?}");
    }
    let mut person = gatehouse.person()?;
    let mut client = Client::connect(Sdk::Python, "2025-11-25", &gatehouse.endpoint, Some(&token))?;
    let call = client.begin("trigger-elicitation-request", &json!({}))?;
    let question = person.next_approval()?;
    ensure!(question["request"]["kind"] == "elicitation", "{question:#}");
    person.answer(&question, "deny")?;
    let answer = client.finish(&call)?;
    ensure!(answer.text().contains("declined"), "{answer:?}");
    Ok(())
}

/// One call that shows that a server works.
struct ServerProof {
    name: &'static str,
    command: Vec<String>,
    tool: &'static str,
    arguments: serde_json::Value,
    expected: &'static str,
}

/// Servers from npm and PyPI over standard streams, each checked by a call.
#[test]
fn calls_servers_from_npm_and_pypi() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let folder = gatehouse.folder("work")?;
    let inside = |name: &str| folder.join(name).display().to_string();
    let node = |package: &str, more: &[String]| -> Result<Vec<String>> {
        let script = npm_server(package).to_str().context("path")?.to_owned();
        Ok(["node".to_owned(), script].into_iter().chain(more.iter().cloned()).collect())
    };
    let pythons = [paths::python()?, paths::older_python()?].map(|python| python.display().to_string());
    let [python, older] = &pythons;
    let sqlite = older.replace("bin/python", "bin/mcp-server-sqlite");
    let module = |python: &str, module: &str, more: &[String]| -> Vec<String> {
        [python, "-m", module].into_iter().map(str::to_owned).chain(more.iter().cloned()).collect()
    };
    let page = page("<html><body><h1>A page</h1><p>with words</p></body></html>")?;
    std::fs::write(folder.join("hello.txt"), "hello from a file")?;
    let git = |words: &[&str]| -> Result<()> {
        let done = std::process::Command::new("git")
            .args(["-c", "user.name=T", "-c", "user.email=t@example.org"])
            .args(words)
            .current_dir(&folder)
            .output()?;
        ensure!(done.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&done.stderr));
        Ok(())
    };
    git(&["init", "--quiet"])?;
    git(&["add", "hello.txt"])?;
    git(&["commit", "--quiet", "-m", "The first commit"])?;
    let repository = folder.display().to_string();
    let thought = json!({
        "thought": "One", "nextThoughtNeeded": false, "thoughtNumber": 1, "totalThoughts": 1,
    });
    let entity =
        json!({ "entities": [{ "name": "Ann", "entityType": "person", "observations": ["likes tea"] }] });
    let proofs = [
        ServerProof {
            name: "filesystem",
            command: node("server-filesystem", std::slice::from_ref(&repository))?,
            tool: "read_text_file",
            arguments: json!({ "path": inside("hello.txt") }),
            expected: "hello from a file",
        },
        ServerProof {
            name: "memory",
            command: node("server-memory", &[])?,
            tool: "create_entities",
            arguments: entity,
            expected: "likes tea",
        },
        ServerProof {
            name: "thinking",
            command: node("server-sequential-thinking", &[])?,
            tool: "sequentialthinking",
            arguments: thought,
            expected: "thoughtNumber",
        },
        ServerProof {
            name: "git",
            command: module(python, "mcp_server_git", &["--repository".into(), repository.clone()]),
            tool: "git_log",
            arguments: json!({ "repo_path": repository }),
            expected: "The first commit",
        },
        ServerProof {
            name: "fetch",
            command: module(
                python,
                "mcp_server_fetch",
                &["--ignore-robots-txt".into(), "--allow-private-ips".into()],
            ),
            tool: "fetch",
            arguments: json!({ "url": page }),
            expected: "with words",
        },
        ServerProof {
            name: "sqlite",
            command: vec![sqlite, "--db-path".into(), inside("data.db")],
            tool: "create_table",
            arguments: json!({ "query": "CREATE TABLE t (n INTEGER)" }),
            expected: "created",
        },
    ];
    let token = gatehouse.add_client("Tester")?;
    for ServerProof { name, command, tool, arguments, expected } in proofs {
        let mut words = vec!["servers", "add", name];
        let memory = format!("MEMORY_FILE_PATH={}", inside("memory.json"));
        if name == "memory" {
            words.extend(["--env", &memory]);
        }
        words.push("--");
        words.extend(command.iter().map(String::as_str));
        gatehouse.ask(&words)?;
        gatehouse.await_status(name, "connected").with_context(|| name.to_owned())?;
        gatehouse.ask(&["policy", "auto-approve", name, "all"])?;
        let mut client = Client::connect(Sdk::TypeScript, "2026-07-28", &gatehouse.endpoint, Some(&token))?;
        let answer = client.call(tool, &arguments)?;
        ensure!(answer.is_ok() && format!("{answer:?}").contains(expected), "{name}: {answer:?}");
        gatehouse.ask(&["servers", "stop", name, "--disable"])?;
    }
    Ok(())
}

/// Servers that are programs of their own, from npm: on a library for Go, and on one for Rust.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn calls_servers_in_go_and_rust() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let home = format!("HOME={}", gatehouse.folder("home")?.display());
    let modules = paths::tests_dir().join("js/node_modules");
    let token = gatehouse.add_client("Tester")?;
    for (name, program, tool, arguments, expected) in [
        (
            "go",
            "mcp-time-linux-x64/bin/mcp-time",
            "add_time",
            json!({ "time": "2026-01-01T00:00:00Z", "duration": "36h" }),
            "2026-01-02T12:00:00Z",
        ),
        (
            "rust",
            "@temporal-cortex/cortex-mcp-linux-x64/bin/cortex-mcp",
            "compute_duration",
            json!({ "start": "2026-01-01T00:00:00Z", "end": "2026-01-02T12:00:00Z" }),
            "129600",
        ),
    ] {
        let program = modules.join(program);
        let program = program.to_str().context("path")?;
        gatehouse.ask(&["servers", "add", name, "--env", &home, "--", program])?;
        gatehouse.await_status(name, "connected").with_context(|| name.to_owned())?;
        gatehouse.ask(&["policy", "auto-approve", name, "all"])?;
        for (sdk, revision) in [(Sdk::TypeScript, "2026-07-28"), (Sdk::Python, "2025-11-25")] {
            let mut client = Client::connect(sdk, revision, &gatehouse.endpoint, Some(&token))?;
            let answer = client.call(tool, &arguments)?;
            ensure!(answer.is_ok() && answer.text().contains(expected), "{name} {sdk:?}: {answer:?}");
        }
    }
    Ok(())
}

/// A page on this machine, served for as long as the test runs.
fn page(body: &'static str) -> Result<String> {
    use std::io::{Read as _, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut head = [0_u8; 4096];
            if stream.read(&mut head).is_ok() {
                let answer = format!(
                    "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                    body.len()
                );
                stream.write_all(answer.as_bytes()).ok();
            }
        }
    });
    Ok(format!("http://{address}/page.html"))
}

/// The built-in fetch refuses this machine unless it was allowed, and then reads the page.
#[test]
fn builtin_fetch_rejects_local_addresses_unless_allowed() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let url = page("<h1>A page</h1><p>with words</p>")?;
    let token = gatehouse.add_client("Tester")?;
    for (name, allowed) in [("outside", false), ("inside", true)] {
        let transport = json!({ "type": "builtin", "builtin": { "kind": "fetch", "allowPrivate": allowed } });
        let draft = json!({ "draft": { "name": name, "transport": transport }, "trustLabels": false });
        gatehouse.command("servers.add", &draft)?;
        gatehouse.await_status(name, "connected")?;
        gatehouse.ask(&["policy", "auto-approve", name, "all"])?;
        let mut client = Client::connect(Sdk::TypeScript, "2026-07-28", &gatehouse.endpoint, Some(&token))?;
        let answer = client.call("fetch", &json!({ "url": url }))?;
        ensure!(answer.is_ok() == allowed, "{name}: {answer:?}");
        ensure!(answer.text().contains("with words") == allowed, "{name}: {answer:?}");
        gatehouse.ask(&["servers", "remove", name])?;
    }
    Ok(())
}

#[test]
fn calls_time_server_from_pypi() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let python = paths::python()?;
    let python = python.to_str().context("path")?;
    gatehouse.ask(&["servers", "add", "clock", "--", python, "-m", "mcp_server_time"])?;
    gatehouse.await_status("clock", "connected")?;
    gatehouse.ask(&["policy", "auto-approve", "clock", "all"])?;
    let token = gatehouse.add_client("Tester")?;
    let mut client = Client::connect(Sdk::Python, "2025-11-25", &gatehouse.endpoint, Some(&token))?;
    let answer = client.call("get_current_time", &json!({ "timezone": "Europe/Zurich" }))?;
    ensure!(answer.is_ok() && answer.text().contains("Europe/Zurich"), "{answer:?}");
    Ok(())
}

#[test]
fn builtin_servers_need_no_runtime() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let folder = gatehouse.folder("shared")?;
    std::fs::write(folder.join("hello.txt"), "hello")?;
    gatehouse.ask(&[
        "servers",
        "add",
        "folder",
        "--builtin",
        "files",
        "--folder",
        folder.to_str().context("path")?,
    ])?;
    for name in ["time", "notes", "folder"] {
        let servers = gatehouse.ask(&["servers", "list"])?;
        let found = servers
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|server| server["config"]["name"].as_str())
            .find(|found| found.eq_ignore_ascii_case(name))
            .with_context(|| format!("no {name} in {servers:#}"))?
            .to_owned();
        gatehouse.await_status(&found, "connected")?;
        gatehouse.ask(&["policy", "auto-approve", &found, "all"])?;
    }
    let token = gatehouse.add_client("Tester")?;
    let mut client = Client::connect(Sdk::TypeScript, "2026-07-28", &gatehouse.endpoint, Some(&token))?;
    let read = client.call("read_file", &json!({ "path": "hello.txt" }))?;
    ensure!(read.is_ok() && read.text().contains("hello"), "{read:?}");
    let outside = client.call("read_file", &json!({ "path": "../data/servers.json" }))?;
    ensure!(outside.is_tool_error(), "a path outside the folder was read: {outside:?}");
    let time = client.call("current_time", &json!({ "timezone": "Asia/Tokyo" }))?;
    ensure!(time.is_ok() && time.text().contains("Tokyo"), "{time:?}");
    ensure!(client.call("add_note", &json!({ "text": "milk" }))?.is_ok(), "no note was added");
    ensure!(client.call("search_notes", &json!({ "query": "milk" }))?.text().contains("milk"), "not found");
    Ok(())
}
