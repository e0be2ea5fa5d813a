//! Tool calls that run as tasks (TOOL-10): permission, who may ask for them, what a server asks meanwhile, their record,
//! and the revisions that don't have them.

use std::fs;

use anyhow::{Context, Result, ensure};
use gatehouse_tests::approvals;
use gatehouse_tests::eventually::{eventually, eventually_holds};
use gatehouse_tests::fixture_server::{FixtureServer, ServerTransport, add};
use gatehouse_tests::gatehouse::Gatehouse;
use gatehouse_tests::http::{self, StatelessClient};
use gatehouse_tests::session_client::SessionClient;
use serde_json::{Value, json};

const WITH_TASKS: &str = "2025-11-25";
const RELATED: &str = "/result/_meta/io.modelcontextprotocol~1related-task/taskId";

fn with_tasks(gatehouse: &Gatehouse, over: ServerTransport, more: &[&str]) -> Result<FixtureServer> {
    let mut words = vec!["--lifecycle", "legacy", "--fault", "tasks"];
    words.extend_from_slice(more);
    add(gatehouse, "worker", over, &words)
}

fn open(gatehouse: &Gatehouse, token: &str) -> Result<SessionClient> {
    SessionClient::open(&gatehouse.endpoint, token, WITH_TASKS, &json!({ "elicitation": { "form": {} } }))
}

/// Calls `chore` as a task, and returns the task.
fn begin(client: &SessionClient, arguments: &Value) -> Result<Value> {
    let params = json!({ "name": "chore", "arguments": arguments, "task": { "ttl": 60_000 } });
    let answer = client.request("tools/call", &params.to_string())?;
    let task = &answer["result"]["task"];
    ensure!(task["taskId"].is_string() && task["x-kept"] == 1.5, "{answer:#}");
    Ok(task.clone())
}

fn about(client: &SessionClient, method: &str, task: &Value) -> Result<Value> {
    client.request(method, &json!({ "taskId": task["taskId"] }).to_string())
}

fn until(client: &SessionClient, task: &Value, status: &str) -> Result<()> {
    eventually(format!("the task to be {status}"), || {
        let answer = about(client, "tasks/get", task)?;
        Ok(if answer["result"]["status"] == status { Ok(()) } else { Err(format!("{answer:#}")) })
    })
}

fn running(gatehouse: &Gatehouse) -> Result<usize> {
    let running = gatehouse.command("calls.running", &json!({}))?;
    Ok(running.as_array().context("no list")?.len())
}

/// The outcomes of all recorded calls of `chore`, newest first.
fn outcomes(gatehouse: &Gatehouse) -> Result<Vec<Value>> {
    let calls = gatehouse.command("calls.list", &json!({ "filter": {} }))?;
    let calls = calls.as_array().context("no list")?;
    let chores = calls.iter().filter(|call| call["exposedName"] == "chore");
    Ok(chores.map(|call| call["outcome"]["outcome"].clone()).collect())
}

/// From its creation to its result, over both kinds of connections. The call is asked about once, runs until its task
/// ends, and is one record. The client has an id of its own.
#[test]
fn a_call_runs_as_a_task() -> Result<()> {
    for over in [ServerTransport::Stdio, ServerTransport::Http] {
        let gatehouse = Gatehouse::start()?;
        let _upstream = with_tasks(&gatehouse, over, &[])?;
        let token = gatehouse.add_client("Able")?;
        let client = open(&gatehouse, &token)?;
        let declared = &client.initialized["capabilities"]["tasks"];
        ensure!(declared["requests"]["tools"]["call"].is_object(), "{:#}", client.initialized);
        let tools = client.request("tools/list", "{}")?.to_string();
        ensure!(tools.contains(r#""taskSupport":"optional""#), "{tools}");
        ensure!(tools.contains(r#""taskSupport":"required""#), "{tools}");
        let mut pushed = client.listen()?;

        let params =
            r#"{"name":"chore","arguments":{"ms":400},"task":{"ttl":60000},"_meta":{"progressToken":"p"}}"#;
        let mut asked = client.begin("tools/call", params)?;
        let pending = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
        ensure!(pending.to_string().contains("(task)"), "{pending:#}");
        let hash = &pending["request"]["hash"];
        approvals::allow(&gatehouse, &pending["id"], hash, &approvals::once_choice())?;
        let task = loop {
            let message = asked.next_message()?;
            if message.get("result").is_some() {
                break message["result"]["task"].clone();
            }
        };
        ensure!(task["status"] == "working" && task["taskId"] != "task-1", "{task:#}");
        ensure!(running(&gatehouse)? == 1 && outcomes(&gatehouse)?.is_empty(), "it counts as ended");
        let result = about(&client, "tasks/result", &task)?;
        ensure!(result["result"]["content"][0]["text"] == "done", "{result:#}");
        ensure!(result.pointer(RELATED) == Some(&task["taskId"]), "{result:#}");
        ensure!(result["result"]["x-kept"] == 1.5, "{result:#}");
        let progress = loop {
            let message = pushed.next_message()?;
            if message["method"] == "notifications/progress" {
                break message["params"].clone();
            }
        };
        ensure!(progress["progressToken"] == "p" && progress["progress"] == 0.5, "{progress:#}");
        let related = progress.pointer("/_meta/io.modelcontextprotocol~1related-task/taskId");
        ensure!(related == Some(&task["taskId"]), "{progress:#}");
        let status = loop {
            let message = pushed.next_message()?;
            if message["method"] == "notifications/tasks/status" {
                break message["params"].clone();
            }
        };
        ensure!(status["taskId"] == task["taskId"] && status["status"] == "completed", "{status:#}");
        let listed = client.request("tasks/list", "{}")?;
        ensure!(listed["result"]["tasks"][0]["taskId"] == task["taskId"], "{listed:#}");
        ensure!(listed["result"]["tasks"][0]["status"] == "completed", "{listed:#}");
        eventually_holds("the call to be recorded", || Ok(outcomes(&gatehouse)? == [json!("ok")]))?;
        ensure!(running(&gatehouse)? == 0, "it runs on");
        approvals::wait_for_pending(&gatehouse, 0)?;
    }
    Ok(())
}

/// What ends a task otherwise: an error, its client, the user.
#[test]
fn tasks_end_in_other_ways() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let log = gatehouse.folder("log")?.join("received");
    let _upstream = with_tasks(&gatehouse, ServerTransport::Http, &["--log", log.to_str().context("path")?])?;
    gatehouse.ask(&["policy", "auto-approve", "worker", "all"])?;
    let token = gatehouse.add_client("Able")?;
    let client = open(&gatehouse, &token)?;

    let failing = begin(&client, &json!({ "fail": true }))?;
    until(&client, &failing, "failed")?;
    let result = about(&client, "tasks/result", &failing)?;
    ensure!(result["result"]["isError"] == true, "{result:#}");
    eventually_holds(
        "the failed call to be recorded",
        || Ok(outcomes(&gatehouse)? == [json!("tool_error")]),
    )?;

    let cancelled = begin(&client, &json!({ "ms": 600_000 }))?;
    let answer = about(&client, "tasks/cancel", &cancelled)?;
    ensure!(answer["result"]["status"] == "cancelled", "{answer:#}");
    ensure!(about(&client, "tasks/cancel", &cancelled)?["error"]["code"] == -32602, "it ended twice");
    eventually_holds("the cancelled call to be recorded", || {
        Ok(outcomes(&gatehouse)? == [json!("cancelled"), json!("tool_error")])
    })?;

    // The user cancels it as any other call.
    let stopped = begin(&client, &json!({ "ms": 600_000 }))?;
    let call = gatehouse.command("calls.running", &json!({}))?[0]["call"].clone();
    gatehouse.command("calls.cancel", &json!({ "call": call }))?;
    until(&client, &stopped, "cancelled")?;

    // With the client, its tasks go.
    begin(&client, &json!({ "ms": 600_000 }))?;
    gatehouse.ask(&["clients", "revoke", "Able"])?;
    eventually_holds("the task to be cancelled", || {
        Ok(fs::read_to_string(&log)?.contains("# task task-4 cancelled"))
    })?;
    eventually_holds("nothing to run", || Ok(running(&gatehouse)? == 0))
}

/// Tried: to get at the task of another client, with its id, with the server's own, and at another server's address. To
/// anybody but its client, it doesn't exist.
#[test]
fn a_task_is_its_clients_alone() -> Result<()> {
    for over in [ServerTransport::Stdio, ServerTransport::Http] {
        let gatehouse = Gatehouse::start()?;
        let _upstream = with_tasks(&gatehouse, over, &[])?;
        let _other =
            add(&gatehouse, "other", ServerTransport::Stdio, &["--lifecycle", "legacy", "--fault", "tasks"])?;
        gatehouse.ask(&["policy", "auto-approve", "worker", "all"])?;
        let mine = open(&gatehouse, &gatehouse.add_client("Ann")?)?;
        let token = gatehouse.add_client("Ben")?;
        let theirs = open(&gatehouse, &token)?;
        let task = begin(&mine, &json!({ "ms": 600_000 }))?;
        let unknown = about(&theirs, "tasks/get", &json!({ "taskId": "never" }))?["error"].clone();
        ensure!(unknown["code"] == -32602, "{unknown:#}");
        for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
            for id in [&task, &json!({ "taskId": "task-1" })] {
                ensure!(about(&theirs, method, id)?["error"] == unknown, "{method} {id}");
            }
            let by_server = about(&mine, method, &json!({ "taskId": "task-1" }))?;
            ensure!(by_server["error"] == unknown, "{method}: {by_server:#}");
        }
        let none = theirs.request("tasks/list", "{}")?;
        ensure!(none["result"]["tasks"] == json!([]), "{none:#}");
        // At the address of its server it is the same task, at that of another one there is none.
        let own = open_at(&gatehouse, "worker", &gatehouse.add_client("Cy")?)?;
        ensure!(about(&own, "tasks/get", &task)?["error"] == unknown, "of another client");
        let made = begin(&own, &json!({}))?;
        until(&own, &made, "completed")?;
        let listed = mine.request("tasks/list", "{}")?;
        ensure!(listed["result"]["tasks"].as_array().map(Vec::len) == Some(1), "{listed:#}");
        ensure!(about(&mine, "tasks/get", &task)?["result"]["status"] == "working", "somebody cancelled it");
        let begun = begin(&theirs, &json!({ "ms": 600_000 }))?;
        let (there, elsewhere) =
            (open_at(&gatehouse, "worker", &token)?, open_at(&gatehouse, "other", &token)?);
        ensure!(about(&there, "tasks/get", &begun)?["result"]["status"] == "working", "it is the same");
        ensure!(about(&elsewhere, "tasks/get", &begun)?["error"] == unknown, "at another address");
    }
    Ok(())
}

fn open_at(gatehouse: &Gatehouse, server: &str, token: &str) -> Result<SessionClient> {
    let endpoint = format!("{}/servers/{server}/mcp", gatehouse.endpoint.trim_end_matches("/mcp"));
    SessionClient::open(&endpoint, token, WITH_TASKS, &json!({}))
}

/// A call that is denied makes no task. What is blocked later, or by a pause, doesn't come out of its task.
#[test]
fn policy_holds_for_tasks() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let _upstream = with_tasks(&gatehouse, ServerTransport::Stdio, &[])?;
    let client = open(&gatehouse, &gatehouse.add_client("Able")?)?;
    let params = r#"{"name":"chore","arguments":{},"task":{}}"#;
    let mut asked = client.begin("tools/call", params)?;
    let pending = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
    approvals::deny(&gatehouse, &pending)?;
    let refused = loop {
        let message = asked.next_message()?;
        if message.get("method").is_none() {
            break message;
        }
    };
    ensure!(refused["result"]["isError"] == true && refused["result"].get("task").is_none(), "{refused:#}");
    ensure!(client.request("tasks/list", "{}")?["result"]["tasks"] == json!([]), "there is a task");

    gatehouse.ask(&["policy", "grant", "worker", "--tool", "chore"])?;
    let task = begin(&client, &json!({}))?;
    until(&client, &task, "completed")?;
    gatehouse.ask(&["pause"])?;
    for method in ["tasks/get", "tasks/result"] {
        let paused = about(&client, method, &task)?;
        ensure!(paused["error"]["message"].to_string().contains("paused"), "{method}: {paused:#}");
    }
    gatehouse.ask(&["resume"])?;
    until(&client, &task, "completed")?;
    gatehouse.ask(&["policy", "deny", "worker", "--tool", "chore"])?;
    let blocked = about(&client, "tasks/result", &task)?;
    ensure!(blocked["error"]["message"].to_string().contains("blocked"), "{blocked:#}");
    Ok(())
}

/// What a server says of a task stays inside once its tool is blocked, also in lists and in the answer to a cancellation,
/// which still reaches the server.
#[test]
fn a_blocked_task_can_be_cancelled_and_tells_nothing() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let log = gatehouse.folder("log")?.join("received");
    let _upstream = with_tasks(&gatehouse, ServerTransport::Http, &["--log", log.to_str().context("path")?])?;
    gatehouse.ask(&["policy", "grant", "worker", "--tool", "chore"])?;
    let client = open(&gatehouse, &gatehouse.add_client("Able")?)?;
    let task = begin(&client, &json!({ "ms": 600_000 }))?;
    let listed = client.request("tasks/list", "{}")?["result"]["tasks"][0].clone();
    ensure!(listed["x-kept"] == 1.5, "{listed:#}");
    gatehouse.ask(&["policy", "deny", "worker", "--tool", "chore"])?;
    let listed = client.request("tasks/list", "{}")?["result"]["tasks"][0].clone();
    ensure!(listed["taskId"] == task["taskId"] && listed["status"] == "working", "{listed:#}");
    ensure!(listed.get("x-kept").is_none(), "the server's words: {listed:#}");
    let cancelled = about(&client, "tasks/cancel", &task)?;
    ensure!(cancelled["error"]["message"].to_string().contains("blocked"), "{cancelled:#}");
    eventually_holds("the task to be cancelled", || {
        Ok(fs::read_to_string(&log)?.contains("# task task-1 cancelled"))
    })?;
    eventually_holds("the call to be recorded", || Ok(outcomes(&gatehouse)? == [json!("cancelled")]))?;
    ensure!(running(&gatehouse)? == 0, "it runs on");
    Ok(())
}

/// Nor is anything heard that the server says of a blocked task by itself: its progress, and its end.
#[test]
fn a_blocked_task_is_heard_no_more() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let _upstream = with_tasks(&gatehouse, ServerTransport::Stdio, &[])?;
    gatehouse.ask(&["policy", "auto-approve", "worker", "all"])?;
    let client = open(&gatehouse, &gatehouse.add_client("Able")?)?;
    let mut pushed = client.listen()?;
    // Its progress comes after half of the time, long after it is blocked, and its state after all of it.
    let begun = client.request(
        "tools/call",
        r#"{"name":"chore","arguments":{"ms":6000},"task":{},"_meta":{"progressToken":"blocked"}}"#,
    )?;
    let blocked = begun["result"]["task"]["taskId"].as_str().with_context(|| format!("{begun:#}"))?;
    gatehouse.ask(&["policy", "deny", "worker", "--tool", "chore"])?;
    let other = client.request("tools/call", r#"{"name":"long_chore","arguments":{"ms":6000},"task":{}}"#)?;
    let other = &other["result"]["task"]["taskId"];
    loop {
        let message = pushed.next_message()?;
        let is_heard =
            message.to_string().contains(blocked) || message["params"]["progressToken"] == "blocked";
        ensure!(!is_heard, "{message:#}");
        if message["params"]["taskId"] == *other {
            return Ok(());
        }
    }
}

/// A server that was started anew gives out an id again. The client of the earlier task finds neither, and the end of the
/// earlier task is not the end of the new one.
#[test]
fn an_id_that_is_given_out_again_is_another_task() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let _upstream = with_tasks(&gatehouse, ServerTransport::Stdio, &[])?;
    gatehouse.ask(&["policy", "auto-approve", "worker", "all"])?;
    let mine = open(&gatehouse, &gatehouse.add_client("Ann")?)?;
    let theirs = open(&gatehouse, &gatehouse.add_client("Ben")?)?;
    let earlier = begin(&mine, &json!({ "ms": 600_000 }))?;
    gatehouse.ask(&["servers", "stop", "worker"])?;
    gatehouse.await_status("worker", "stopped")?;
    gatehouse.ask(&["servers", "start", "worker"])?;
    gatehouse.await_status("worker", "connected")?;
    let later = begin(&theirs, &json!({ "ms": 600_000 }))?;
    // Once this is written, nothing more follows from the earlier one.
    eventually_holds("the earlier call to be recorded", || Ok(outcomes(&gatehouse)? == [json!("failed")]))?;
    ensure!(about(&mine, "tasks/get", &earlier)?["error"]["code"] == -32602, "it is still known");
    let state = about(&theirs, "tasks/get", &later)?;
    ensure!(state["result"]["status"] == "working", "{state:#}");
    ensure!(running(&gatehouse)? == 1, "the later one has ended");
    Ok(())
}

/// What a server asks for a task reaches the client that waits for its result, with the client's id of the task, and is
/// answered, while another client has a call in flight.
#[test]
fn a_task_asks_its_client() -> Result<()> {
    for over in [ServerTransport::Stdio, ServerTransport::Http] {
        let gatehouse = Gatehouse::start()?;
        let _upstream = with_tasks(&gatehouse, over, &[])?;
        gatehouse.ask(&["policy", "auto-approve", "worker", "all"])?;
        let client = open(&gatehouse, &gatehouse.add_client("Ann")?)?;
        let other = open(&gatehouse, &gatehouse.add_client("Ben")?)?;
        let token = r#""_meta":{"progressToken":1}"#;
        let slow = format!(r#"{{"name":"slow","arguments":{{"ms":600000,"progress":60000}},{token}}}"#);
        let mut busy = other.begin("tools/call", &slow)?;
        // Ben's call is in flight from its first progress notification on.
        ensure!(busy.next_message()?["method"] == "notifications/progress", "{over:?}");
        let task = begin(&client, &json!({ "ask": true }))?;
        until(&client, &task, "input_required")?;
        let id = json!({ "taskId": task["taskId"] });
        let mut waiting = client.begin("tasks/result", &id.to_string())?;
        let asked = loop {
            let message = waiting.next_message()?;
            if message["method"] == "elicitation/create" {
                break message;
            }
        };
        let related = asked.pointer("/params/_meta/io.modelcontextprotocol~1related-task/taskId");
        ensure!(related == Some(&task["taskId"]), "{over:?}: {asked:#}");
        let answer = json!({
            "action": "accept", "content": { "name": "Zoe", "age": 7, "agree": true, "colour": "red" },
            "_meta": { "io.modelcontextprotocol/related-task": id },
        });
        client.respond(&asked["id"], &answer)?;
        let result = waiting.next_message()?;
        let given = &result["result"]["structuredContent"]["answer"];
        ensure!(given["content"]["name"] == "Zoe", "{over:?}: {result:#}");
        // The server has its own id back.
        let related = given.pointer("/_meta/io.modelcontextprotocol~1related-task/taskId");
        ensure!(related == Some(&json!("task-1")), "{over:?}: {result:#}");
        ensure!(result.pointer(RELATED) == Some(&task["taskId"]), "{over:?}: {result:#}");
    }
    Ok(())
}

/// A client of 2026-07-28 that declares the extension for tasks.
const WITH_EXTENSION: StatelessClient<'_> = StatelessClient {
    name: "tasks",
    capabilities: r#"{"extensions":{"io.modelcontextprotocol/tasks":{}},"elicitation":{"form":{}}}"#,
};

/// The message with the response to a request of the newest revision.
fn ask(gatehouse: &Gatehouse, token: &str, method: &str, params: &str) -> Result<Value> {
    let answer = WITH_EXTENSION.send(&gatehouse.endpoint, token, method, params)?;
    let event = answer.body.lines().find_map(|line| line.strip_prefix("data: {"));
    let text = event.map_or(answer.body.clone(), |rest| format!("{{{rest}"));
    serde_json::from_str(&text).with_context(|| format!("{method}: {answer:?}"))
}

/// The extension of 2026-07-28, between a client and a server that both have it: from the creation of a task over what it
/// requires to its result. It is its client's alone, and one record.
#[test]
fn newest_clients_have_the_extension() -> Result<()> {
    for over in [ServerTransport::Stdio, ServerTransport::Http] {
        let gatehouse = Gatehouse::start()?;
        let _upstream = add(&gatehouse, "worker", over, &["--lifecycle", "modern", "--fault", "tasks"])?;
        gatehouse.ask(&["policy", "auto-approve", "worker", "all"])?;
        let (token, other) = (gatehouse.add_client("Ann")?, gatehouse.add_client("Ben")?);
        let declared = ask(&gatehouse, &token, "server/discover", "")?;
        let extensions = &declared["result"]["capabilities"]["extensions"];
        ensure!(extensions["io.modelcontextprotocol/tasks"].is_object(), "{declared:#}");
        // A client that doesn't declare it gets no task.
        let plain = r#""name":"chore","arguments":{}"#;
        let at_once = http::stateless_request(&gatehouse.endpoint, &token, "tools/call", plain)?;
        ensure!(at_once.body.contains("done at once"), "{over:?}: {at_once:?}");

        let begun = ask(&gatehouse, &token, "tools/call", r#""name":"chore","arguments":{"ask":true}"#)?;
        let task = &begun["result"];
        ensure!(task["resultType"] == "task" && task["x-kept"] == 1.5, "{over:?}: {begun:#}");
        ensure!(task["status"] == "input_required" && task["taskId"] != "task-1", "{over:?}: {begun:#}");
        let id = format!(r#""taskId":{}"#, task["taskId"]);
        ensure!(running(&gatehouse)? == 1, "{over:?}: it counts as ended");
        for method in ["tasks/get", "tasks/cancel", "tasks/update"] {
            let params = format!(r#"{id},"inputResponses":{{}}"#);
            let unknown = ask(&gatehouse, &other, method, &params)?;
            ensure!(unknown["error"]["code"] == -32602, "{over:?} {method}: {unknown:#}");
        }
        let found = ask(&gatehouse, &token, "tasks/get", &id)?;
        ensure!(found["result"]["inputRequests"]["who"]["method"] == "elicitation/create", "{found:#}");
        ensure!(found["result"]["taskId"] == task["taskId"], "{over:?}: {found:#}");
        let answer = r#"{"action":"accept","content":{}}"#;
        let unasked = format!(r#"{id},"inputResponses":{{"what":{answer}}}"#);
        let refused = ask(&gatehouse, &token, "tasks/update", &unasked)?;
        ensure!(refused["error"]["code"] == -32602, "{over:?}: {refused:#}");
        let asked = format!(r#"{id},"inputResponses":{{"who":{answer}}}"#);
        gatehouse.ask(&["policy", "auto-approve", "worker", "ask"])?;
        let revoked = ask(&gatehouse, &token, "tasks/update", &asked)?;
        ensure!(revoked["error"]["code"] == -32000, "{over:?}: {revoked:#}");
        gatehouse.ask(&["policy", "auto-approve", "worker", "all"])?;
        let updated = ask(&gatehouse, &token, "tasks/update", &asked)?;
        ensure!(updated["result"]["resultType"] == "complete", "{over:?}: {updated:#}");
        let ended = ask(&gatehouse, &token, "tasks/get", &id)?;
        ensure!(ended["result"]["status"] == "completed", "{over:?}: {ended:#}");
        ensure!(ended["result"]["result"]["answer"]["who"]["action"] == "accept", "{over:?}: {ended:#}");
        eventually_holds("the calls to be recorded", || {
            Ok(outcomes(&gatehouse)? == [json!("ok"), json!("ok")])
        })?;

        let begun = ask(&gatehouse, &token, "tools/call", r#""name":"chore","arguments":{"ms":600000}"#)?;
        let id = format!(r#""taskId":{}"#, begun["result"]["taskId"]);
        let cancelled = ask(&gatehouse, &token, "tasks/cancel", &id)?;
        ensure!(cancelled["result"]["resultType"] == "complete", "{over:?}: {cancelled:#}");
        eventually_holds("the cancelled call to be recorded", || {
            Ok(outcomes(&gatehouse)?.first() == Some(&json!("cancelled")))
        })?;
        for method in ["tasks/list", "tasks/result"] {
            let refused = ask(&gatehouse, &token, method, &id)?;
            ensure!(refused["error"]["code"] == -32601, "{over:?} {method}: {refused:#}");
        }
    }
    Ok(())
}

/// Where the client or the server has no tasks, none are declared, listed or begun.
#[test]
fn other_revisions_have_no_tasks() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let _upstream = with_tasks(&gatehouse, ServerTransport::Http, &[])?;
    let _newest =
        add(&gatehouse, "newest", ServerTransport::Http, &["--lifecycle", "modern", "--fault", "tasks"])?;
    gatehouse.ask(&["policy", "auto-approve", "worker", "all"])?;
    gatehouse.ask(&["policy", "auto-approve", "newest", "all"])?;
    let token = gatehouse.add_client("Able")?;
    // An older client.
    let older = SessionClient::open(&gatehouse.endpoint, &token, "2025-06-18", &json!({}))?;
    ensure!(older.initialized["capabilities"].get("tasks").is_none(), "{:#}", older.initialized);
    let tools = older.request("tools/list", "{}")?.to_string();
    ensure!(tools.contains(r#""chore""#) && tools.contains(r#""execution":{"x-kept":1.5"#), "{tools}");
    ensure!(!tools.contains("taskSupport") && !tools.contains("long_chore"), "{tools}");
    let call = older.request("tools/call", r#"{"name":"chore","arguments":{},"task":{}}"#)?;
    ensure!(call["error"]["code"] == -32602, "{call:#}");
    ensure!(older.request("tasks/list", "{}")?["error"]["code"] == -32601, "tasks are listed");
    // A newer client.
    let listed = http::stateless_request(&gatehouse.endpoint, &token, "tools/list", "")?;
    ensure!(listed.body.contains(r#""chore""#), "{listed:?}");
    ensure!(!listed.body.contains("taskSupport") && !listed.body.contains("long_chore"), "{listed:?}");
    let task = http::stateless_request(&gatehouse.endpoint, &token, "tasks/get", r#""taskId":"a""#)?;
    ensure!(task.body.contains("-32021"), "{task:?}");
    // A newer server, also by itself.
    let client = open_at(&gatehouse, "newest", &token)?;
    ensure!(client.initialized["capabilities"].get("tasks").is_none(), "{:#}", client.initialized);
    let tools = client.request("tools/list", "{}")?.to_string();
    ensure!(tools.contains(r#""chore""#), "{tools}");
    ensure!(!tools.contains("taskSupport") && !tools.contains("long_chore"), "{tools}");
    // What nobody, or not everybody, gets is shown with its reason.
    for (server, reason) in
        [("worker", "only clients of the revision 2025-11-25"), ("newest", "doesn't offer tasks")]
    {
        let omitted = gatehouse.ask(&["tools", "omitted", "--server", server])?;
        ensure!(omitted[0]["name"] == "long_chore", "{omitted:#}");
        ensure!(omitted[0]["reason"].to_string().contains(reason), "{omitted:#}");
    }
    Ok(())
}
