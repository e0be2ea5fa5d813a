//! Profiles (GATE-4) and tool search (TOOL-7) at the pipeline: what a client doesn't see it can't call, whatever is
//! allowed; its calls are counted before anybody is asked; and a search ends in calls of real tools.

use std::path::Path;
use std::time::Duration;

use gatehouse_model::approval::{AutoApprove, ChoiceLifetime, ChoiceScope};
use gatehouse_model::profile::{
    DeniedTools, OtherServers, ProfileServer, ProjectEntry, ToolListCost, ToolListMode, ToolSelection,
};
use gatehouse_model::record::{CallFilter, CallOutcome};
use gatehouse_model::server::{Builtin, ServerOrigin};
use gatehouse_model::{
    AuditEvent, CallRecord, ClientId, ErrorCode, Event, ProfileId, ProfileSettings, Rule, ServerConfig,
    ToolNaming,
};
use gatehouse_tools::{
    AccessCall, AccessKind, Caller, CatalogList, Narrowing, RuleSpec, ServerSelection, Viewer,
};
use serde_json::{Value, json};

use crate::harness::*;

const CLIENT: &str = "Claude";

fn settings(name: &str) -> ProfileSettings {
    ProfileSettings { name: name.to_owned(), ..ProfileSettings::default() }
}

fn shows(server: &str, tools: ToolSelection) -> Vec<ProfileServer> {
    vec![ProfileServer { server: server.into(), tools }]
}

fn only(tools: &[&str]) -> ToolSelection {
    ToolSelection::Only { tools: tools.iter().map(|tool| (*tool).to_owned()).collect() }
}

/// Adds a profile and gives it to the client.
async fn assign(harness: &ToolsHarness, settings: ProfileSettings) {
    let profile = harness.tools.add_profile(settings).await.unwrap();
    harness.tools.assign_profile(&caller(CLIENT).client, Some(profile.id.as_str())).await.unwrap();
}

fn listed(harness: &ToolsHarness, client: &str) -> Vec<Value> {
    let mut items = Vec::new();
    harness.tools.client_catalog(&Viewer::of(&ClientId::from(client))).with_list(
        &ServerSelection::All,
        CatalogList::Tools,
        &mut |list| {
            items = list.iter().map(|item| serde_json::from_str(item.get()).unwrap()).collect();
        },
    );
    items
}

fn names(harness: &ToolsHarness, client: &str) -> Vec<String> {
    let mut names: Vec<String> =
        listed(harness, client).iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

fn records(harness: &ToolsHarness) -> Vec<CallRecord> {
    harness.store.activity().flush();
    harness.store.activity().list(&CallFilter::default()).unwrap()
}

async fn with_notes() -> ToolsHarness {
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    harness.start_server(builtin("time", Builtin::Time)).await;
    harness
}

#[tokio::test]
async fn hidden_tool_is_neither_listed_nor_called_whatever_is_allowed() {
    let harness = with_notes().await;
    let everything = names(&harness, CLIENT);
    harness.tools.permissions().set_auto_approve(&"notes".into(), AutoApprove::All).await.unwrap();
    assert!(harness.is_allowed("add_note", r#"{"text":"a"}"#).await);
    assign(
        &harness,
        ProfileSettings { servers: shows("notes", only(&["list_notes"])), ..settings("Reader") },
    )
    .await;

    assert!(!names(&harness, CLIENT).contains(&"add_note".to_owned()));
    assert!(names(&harness, CLIENT).contains(&"current_time".to_owned()), "not strict");
    assert_eq!(names(&harness, "Other"), everything, "nothing changes for another client");
    let refused = harness.call("add_note", r#"{"text":"b"}"#).await;
    let unknown = harness.call("no_such", "{}").await;
    assert_eq!(
        refused["error"]["message"].as_str().unwrap(),
        unknown["error"]["message"].as_str().unwrap().replace("no_such", "add_note"),
        "as if it did not exist"
    );
    assert_eq!(refused["error"]["code"], unknown["error"]["code"]);
    let record = records(&harness).remove(0);
    assert_eq!(harness.note_count().await, 1);
    assert_eq!(record.verdict.rule, Rule::HiddenByProfile { profile: "Reader".to_owned() });
    assert_eq!((&record.outcome, record.subject.rule_name().as_ref()), (&CallOutcome::Refused, "add_note"));
    // What it shows is judged by the rules as before, and the user isn't bound by a client's profile.
    assert!(harness.is_allowed("list_notes", "{}").await);
    assert!(!harness.is_allowed("current_time", "{}").await);
    assert!(!is_error(&value(
        harness.tools.call_for_user(&Default::default(), call("add_note", r#"{"text":"c"}"#)).await
    )));
    assert!(harness.events.count(|event| matches!(event, Event::ProfilesChanged)) == 2);
}

#[tokio::test]
async fn call_is_narrowed_by_the_folder_and_the_profile_of_its_connection() {
    let harness = with_notes().await;
    harness.tools.permissions().set_auto_approve(&"notes".into(), AutoApprove::All).await.unwrap();
    let shown = shows("notes", only(&["list_notes"]));
    let app = ProfileSettings { servers: shown, folders: vec!["/work/app".to_owned()], ..settings("App") };
    let app = harness.tools.add_profile(app).await.unwrap();
    let at = |folder: &str| Narrowing { folder: Some(Path::new(folder).into()), ..Narrowing::default() };
    let with = |profile: ProfileId| Narrowing { profile: Some(profile), ..Narrowing::default() };
    for (narrowing, is_hidden) in [
        (Narrowing::default(), false),
        (at("/work"), false),
        (at("/work/application"), false),
        (at("/work/app"), true),
        (at("/work/app/src"), true),
        (with(app.id.clone()), true),
        (with("prf-gone".into()), true),
        (Narrowing { roots: vec![Path::new("/work/app").into()], ..Narrowing::default() }, true),
        (Narrowing { roots: vec![Path::new("/work/app").into()], ..at("/elsewhere") }, true),
    ] {
        let caller = Caller { narrowing: narrowing.clone(), ..caller(CLIENT) };
        let end = value(harness.tools.call(caller, call("add_note", r#"{"text":"x"}"#)).await);
        assert_eq!(end["error"]["code"] == -32602, is_hidden, "{narrowing:?}: {end}");
    }
}

#[tokio::test]
async fn approval_of_a_tool_that_was_hidden_meanwhile_does_not_count() {
    let harness = with_notes().await;
    let running = harness.spawn_call("add_note", r#"{"text":"a"}"#);
    let approval = harness.approval().await;
    assign(&harness, ProfileSettings { servers: shows("notes", ToolSelection::Nothing), ..settings("p") })
        .await;
    harness.allow(&approval).await;
    assert_eq!(running.result().await["error"]["code"], -32602);
    assert_eq!(harness.note_count().await, 0);
}

#[tokio::test]
async fn strict_profile_hides_servers_that_are_added_later() {
    let harness = ToolsHarness::new().await;
    harness.start_notes_server().await;
    let strict = ProfileSettings {
        servers: shows("notes", ToolSelection::All),
        other_servers: OtherServers::Hidden,
        ..settings("Strict")
    };
    assign(&harness, strict.clone()).await;
    harness.start_server(builtin("time", Builtin::Time)).await;
    assert!(!names(&harness, CLIENT).contains(&"current_time".to_owned()));
    assert_eq!(harness.call("current_time", "{}").await["error"]["code"], -32602);
    harness
        .tools
        .set_profile("strict", ProfileSettings { other_servers: OtherServers::Shown, ..strict })
        .await
        .unwrap();
    assert!(names(&harness, CLIENT).contains(&"current_time".to_owned()));
}

#[tokio::test]
async fn other_uses_of_a_hidden_server_are_refused_too() {
    let harness = with_notes().await;
    harness.tools.permissions().set_auto_approve(&"notes".into(), AutoApprove::All).await.unwrap();
    assign(&harness, ProfileSettings { servers: shows("notes", ToolSelection::Nothing), ..settings("p") })
        .await;
    let view = harness.tools.client_catalog(&Viewer::of(&CLIENT.into()));
    assert!(!view.sees_server(&"notes".into()) && view.sees_server(&"time".into()));
    for kind in [
        AccessKind::ReadResource,
        AccessKind::Subscribe,
        AccessKind::GetPrompt,
        AccessKind::CompletePrompt,
        AccessKind::CompleteResource,
    ] {
        let access = AccessCall::new("notes".into(), kind, "x://y".to_owned(), "x://y".to_owned());
        let end = value(harness.tools.access(caller(CLIENT), access).await);
        assert_eq!(end["error"]["code"], -32602, "{kind:?}: {end}");
        assert!(
            matches!(records(&harness)[0].verdict.rule, Rule::HiddenByProfile { .. }),
            "{kind:?}: {:?}",
            records(&harness)[0]
        );
    }
}

#[tokio::test]
async fn denied_tools_can_be_hidden_for_the_client_they_are_denied_to() {
    let harness = with_notes().await;
    let hiding = ProfileSettings { denied_tools: DeniedTools::Hidden, ..settings("p") };
    assign(&harness, hiding).await;
    let mut changes = harness.tools.profiles().changes();
    changes.borrow_and_update();
    let key = harness.tools.view_key(&Viewer::of(&CLIENT.into()));
    let deny = |client: Option<&str>| RuleSpec {
        server: Some("notes".into()),
        tool: Some("add_note".to_owned()),
        client: client.map(ClientId::from),
        choice: choice(ChoiceLifetime::Always, ChoiceScope::Tool),
    };
    let has = |harness: &ToolsHarness| names(harness, CLIENT).contains(&"add_note".to_owned());
    let deny_for = async |client: Option<&str>| {
        let by = gatehouse_model::command::Authority::Operator;
        harness.tools.permissions().deny(deny(client), None, by).await.unwrap();
    };
    deny_for(Some("Other")).await;
    assert!(has(&harness));
    assert_eq!(
        harness.tools.view_key(&Viewer::of(&CLIENT.into())),
        key,
        "another client's rule changes nothing"
    );
    deny_for(Some(CLIENT)).await;
    assert!(!has(&harness));
    assert_ne!(harness.tools.view_key(&Viewer::of(&CLIENT.into())), key);
    tokio::time::timeout(Duration::from_secs(20), changes.changed()).await.unwrap().unwrap();
    // The call is refused by the rule, with its words.
    assert!(is_error(&harness.call("add_note", r#"{"text":"a"}"#).await));
    assert!(matches!(records(&harness)[0].verdict.rule, Rule::ExplicitDeny { .. }));
}

#[tokio::test]
async fn naming_mode_of_a_profile_is_for_its_clients_alone() {
    let harness = with_notes().await;
    assign(&harness, ProfileSettings { naming: Some(ToolNaming::McpServer), ..settings("p") }).await;
    let own = names(&harness, CLIENT);
    assert!(own.contains(&"mcp__notes__add_note".to_owned()), "{own:?}");
    assert!(own.iter().all(|name| name.starts_with("mcp__")), "{own:?}");
    assert!(names(&harness, "Other").contains(&"add_note".to_owned()));
    let running = harness.spawn_call("mcp__notes__add_note", r#"{"text":"a"}"#);
    harness.allow(&harness.approval().await).await;
    assert!(!is_error(&running.result().await));
    assert_eq!(harness.call("add_note", "{}").await["error"]["code"], -32602);
    assert_eq!(records(&harness)[0].exposed_name, "mcp__notes__add_note");
    // Back, and the names are those of before.
    harness.tools.set_profile("p", settings("p")).await.unwrap();
    assert!(names(&harness, CLIENT).contains(&"add_note".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn calls_over_the_limit_are_refused_before_anybody_is_asked() {
    let harness = with_notes().await;
    assign(&harness, ProfileSettings { calls_per_minute: Some(2), ..settings("Slow") }).await;
    let first = harness.spawn_call("add_note", r#"{"text":"a"}"#);
    let second = harness.spawn_call("add_note", r#"{"text":"b"}"#);
    harness.approvals(2).await;
    let third = harness.call("add_note", r#"{"text":"c"}"#).await;
    assert!(is_error(&third) && text(&third).contains("at most 2 calls a minute"), "{third}");
    assert_eq!(harness.tools.approvals().pending().len(), 2, "nobody was asked about the third");
    assert_eq!(records(&harness)[0].verdict.rule, Rule::RateLimited { per_minute: 2 });
    let access = AccessCall::new("notes".into(), AccessKind::ReadResource, "x".to_owned(), "x".to_owned());
    let read = value(harness.tools.access(caller(CLIENT), access).await);
    assert!(read["error"]["message"].as_str().unwrap().contains("at most 2 calls"), "{read}");
    // A tool that it doesn't see is not told from one that there isn't.
    let slow = ProfileSettings { calls_per_minute: Some(2), ..settings("Slow") };
    let hides = shows("time", ToolSelection::Nothing);
    harness.tools.set_profile("Slow", ProfileSettings { servers: hides, ..slow.clone() }).await.unwrap();
    assert_eq!(harness.call("current_time", "{}").await["error"]["code"], -32602);
    harness.tools.set_profile("Slow", slow).await.unwrap();
    // Another client has its own count.
    let other = harness.spawn_call_as(caller("Other"), call("add_note", r#"{"text":"d"}"#));
    for approval in harness.approvals(3).await {
        harness.allow(&approval).await;
    }
    for running in [first, second, other] {
        assert!(!is_error(&running.result().await));
    }
    tokio::time::advance(Duration::from_secs(61)).await;
    let later = harness.spawn_call("add_note", r#"{"text":"e"}"#);
    harness.allow(&harness.approval().await).await;
    assert!(!is_error(&later.result().await));
}

fn found(end: &Value) -> Vec<String> {
    let tools: Value = serde_json::from_str(text(end)).unwrap_or_else(|_| json!({ "tools": [] }));
    let tools = tools["tools"].as_array().unwrap().clone();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn search_finds_describes_and_calls_real_tools() {
    let harness = with_notes().await;
    let profile = ProfileSettings {
        servers: shows("notes", ToolSelection::Except { tools: vec!["delete_note".to_owned()] }),
        tool_list: ToolListMode::Search,
        ..settings("Search")
    };
    assign(&harness, profile).await;
    assert_eq!(names(&harness, CLIENT), ["call_tool", "describe_tool", "search_tools"]);
    let cost = harness.tools.client_catalog(&Viewer::of(&CLIENT.into())).tool_list_cost();
    assert_eq!((cost.listed, cost.tokens), (3, cost.bytes.div_ceil(4)));
    assert!(cost.tools > 3, "{cost:?}");

    let search = async |query: &str| {
        found(&harness.call("search_tools", &json!({ "query": query }).to_string()).await)
    };
    assert_eq!(search("add a note").await[0], "add_note");
    assert!(search("time zone").await.contains(&"current_time".to_owned()));
    assert!(!search("delete note").await.contains(&"delete_note".to_owned()), "hidden");
    let one = harness.call("search_tools", r#"{"query":"note","limit":1}"#).await;
    assert_eq!(found(&one).len(), 1);

    let described = harness.call("describe_tool", r#"{"name":"add_note"}"#).await;
    let definition: Value = serde_json::from_str(text(&described)).unwrap();
    assert_eq!(definition["name"], "add_note");
    assert_eq!(definition["inputSchema"]["type"], "object");
    assert!(is_error(&harness.call("describe_tool", r#"{"name":"delete_note"}"#).await));
    assert!(harness.tools.approvals().pending().is_empty() && records(&harness).is_empty());

    let running = harness.spawn_call("call_tool", r#"{"name":"add_note","arguments":{"text":"a"}}"#);
    let approval = harness.approval().await;
    let asked = call_approval(&approval);
    assert_eq!(asked.subject.rule_name(), "add_note");
    assert_eq!((asked.server.name.as_str(), asked.exposed_name.as_str()), ("notes", "add_note"));
    harness.allow(&approval).await;
    assert!(!is_error(&running.result().await));
    let record = records(&harness).remove(0);
    assert_eq!(harness.note_count().await, 1);
    assert_eq!((record.subject.rule_name().as_ref(), record.exposed_name.as_str()), ("add_note", "add_note"));
    // No way round by the search: what is hidden is not called through it, nor is it a call of itself.
    for name in ["delete_note", "call_tool", "search_tools", "no_such"] {
        let arguments = json!({ "name": name, "arguments": { "name": "add_note" } }).to_string();
        assert_eq!(harness.call("call_tool", &arguments).await["error"]["code"], -32602, "{name}");
    }
    assert!(harness.tools.approvals().pending().is_empty());
}

#[tokio::test]
async fn rejects_arguments_of_search_tools_that_are_not_theirs() {
    let harness = with_notes().await;
    assign(&harness, ProfileSettings { tool_list: ToolListMode::Search, ..settings("Search") }).await;
    for (tool, arguments) in [
        ("search_tools", "{}"),
        ("search_tools", r#"{"query":7}"#),
        ("search_tools", r#"{"query":"a","limit":"x"}"#),
        ("search_tools", r#"{"query":"a","more":1}"#),
        ("describe_tool", r#"{"name":null}"#),
        ("call_tool", r#"{"arguments":{}}"#),
        ("call_tool", r#"{"name":"add_note","name":"list_notes"}"#),
        ("call_tool", r#"{"name":"add_note","text":"a"}"#),
        ("call_tool", "[]"),
    ] {
        let end = harness.call(tool, arguments).await;
        assert!(is_error(&end), "{tool} {arguments}: {end}");
    }
    // Arguments of the real tool are read as strictly as in a direct call.
    let end = harness.call("call_tool", r#"{"name":"add_note","arguments":{"text":"a","text":"b"}}"#).await;
    assert!(is_error(&end), "{end}");
    let end = harness.call("call_tool", r#"{"name":"add_note","arguments":[]}"#).await;
    assert_eq!(end["error"]["code"], -32602);
    assert!(harness.tools.approvals().pending().is_empty());
}

#[tokio::test]
async fn profiles_are_checked_audited_and_kept() {
    let harness = with_notes().await;
    assign(&harness, ProfileSettings { servers: shows("notes", only(&["list_notes"])), ..settings("Work") })
        .await;
    let code = |outcome: Result<_, gatehouse_model::UserError>| outcome.map(|_: ()| ()).unwrap_err().code;
    let add = async |settings| harness.tools.add_profile(settings).await.map(drop);
    assert_eq!(code(add(settings("work ")).await), ErrorCode::NameTaken);
    assert_eq!(code(add(settings("")).await), ErrorCode::BadRequest);
    assert_eq!(
        code(add(ProfileSettings { calls_per_minute: Some(0), ..settings("x") }).await),
        ErrorCode::BadRequest
    );
    let twice = [shows("notes", ToolSelection::All), shows("notes", ToolSelection::Nothing)].concat();
    assert_eq!(code(add(ProfileSettings { servers: twice, ..settings("x") }).await), ErrorCode::BadRequest);
    assert_eq!(code(harness.tools.remove_profile("Work").await), ErrorCode::Refused);
    assert_eq!(code(harness.tools.remove_profile("Play").await), ErrorCode::NotFound);
    let client = caller(CLIENT).client;
    assert_eq!(code(harness.tools.assign_profile(&client, Some("Play")).await), ErrorCode::NotFound);

    let secrets = harness.secrets.clone();
    let harness = harness.restart(secrets).await;
    harness.start_notes_server().await;
    assert_eq!(names(&harness, CLIENT), ["list_notes"]);
    harness.tools.assign_profile(&client, None).await.unwrap();
    harness.tools.remove_profile("Work").await.unwrap();
    assert!(names(&harness, CLIENT).len() > 1);
    assert_eq!(harness.audit(|event| matches!(event, AuditEvent::ProfileChanged { now: Some(_), .. })), 1);
    assert_eq!(harness.audit(|event| matches!(event, AuditEvent::ProfileChanged { now: None, .. })), 1);
    assert_eq!(harness.audit(|event| matches!(event, AuditEvent::ProfileAssigned { .. })), 2);
}

#[tokio::test]
async fn without_verified_profiles_no_client_sees_anything() {
    let dir = std::sync::Arc::new(tempfile::tempdir().unwrap());
    let keychain = std::sync::Arc::new(Keychain::default());
    let harness = ToolsHarness::on(dir, keychain.clone(), gatehouse_tools::ApprovalLimits::default()).await;
    harness.start_notes_server().await;
    let shown = shows("notes", only(&["list_notes"]));
    let work = ProfileSettings { servers: shown, naming: Some(ToolNaming::McpServer), ..settings("Work") };
    assign(&harness, work).await;
    keychain.lock(true);
    let harness = harness.restart(keychain.clone()).await;
    harness.start_notes_server().await;
    for client in [CLIENT, "Other"] {
        assert!(names(&harness, client).is_empty(), "{client}");
        let cost = harness.tools.client_catalog(&Viewer::of(&client.into())).tool_list_cost();
        assert_eq!(cost, ToolListCost::default());
    }
    assert_eq!(harness.call("list_notes", "{}").await["error"]["code"], -32602);
    assert!(harness.tools.profiles().problem().is_some());
    assert!(!is_error(&value(
        harness.tools.call_for_user(&Default::default(), call("list_notes", "{}")).await
    )));
    assert!(harness.tools.add_profile(settings("New")).await.is_err(), "it could be intact");
    assert!(harness.tools.assign_profile(&caller(CLIENT).client, None).await.is_err());
    // Unlocked, the next change finds that it is.
    keychain.lock(false);
    harness.tools.add_profile(settings("New")).await.unwrap();
    assert_eq!(names(&harness, CLIENT), ["mcp__notes__list_notes"], "in its own naming mode too");
    assert!(names(&harness, "Other").len() > 1);
    assert!(harness.tools.profiles().problem().is_none());
}

/// While the secret store is locked, a record that is absent may have been deleted.
#[tokio::test]
async fn locked_secret_store_hides_everything_until_the_profiles_are_known() {
    let dir = std::sync::Arc::new(tempfile::tempdir().unwrap());
    let keychain = std::sync::Arc::new(Keychain::default());
    let harness = ToolsHarness::on(dir, keychain.clone(), gatehouse_tools::ApprovalLimits::default()).await;
    harness.start_notes_server().await;
    assert!(names(&harness, CLIENT).len() > 1, "nobody has a profile");
    keychain.lock(true);
    let harness = harness.restart(keychain.clone()).await;
    harness.start_notes_server().await;
    assert!(names(&harness, CLIENT).is_empty());
    assert!(harness.tools.profiles().problem().is_some());
    assert_eq!(harness.call("list_notes", "{}").await["error"]["code"], -32602);
    keychain.lock(false);
    let mut changes = harness.tools.profiles().changes();
    harness.tools.refresh().await;
    assert!(changes.has_changed().unwrap(), "clients are told");
    changes.mark_unchanged();
    assert!(names(&harness, CLIENT).len() > 1);
    harness.tools.refresh().await;
    assert!(!changes.has_changed().unwrap(), "once");
}

/// Nobody knows which profile each client had, so none sees more than the operator says now.
#[tokio::test]
async fn first_profile_after_a_rejected_record_is_everybodys() {
    let dir = std::sync::Arc::new(tempfile::tempdir().unwrap());
    let keychain = std::sync::Arc::new(Keychain::default());
    let harness = ToolsHarness::on(dir, keychain, gatehouse_tools::ApprovalLimits::default()).await;
    harness.start_notes_server().await;
    assign(&harness, settings("Work")).await;
    // Another key: the seal of the record can't be verified any more.
    let harness = harness.restart(std::sync::Arc::new(Keychain::default())).await;
    harness.start_notes_server().await;
    let clients: Vec<_> = [CLIENT, "Other"].map(|name| (*caller(name).client).clone()).into();
    harness.store.clients().overwrite(&clients).unwrap();
    assert!(names(&harness, CLIENT).is_empty());
    let only_list = ProfileSettings { servers: shows("notes", only(&["list_notes"])), ..settings("New") };
    let first = harness.tools.add_profile(only_list).await.unwrap();
    let stored = harness.tools.profiles().stored();
    assert_eq!(stored.assigned.len(), 2);
    assert!(stored.assigned.values().all(|profile| *profile == first.id));
    for client in [CLIENT, "Other"] {
        assert_eq!(names(&harness, client), ["list_notes"], "{client}");
    }
    // From here on it is a list like any other.
    harness.tools.add_profile(settings("Next")).await.unwrap();
    harness.tools.assign_profile(&caller("Other").client, None).await.unwrap();
    assert!(names(&harness, "Other").len() > 1);
    assert_eq!(harness.tools.profiles().stored().assigned.len(), 1);
}

/// Tried: the record that ties a project's server to its profile is lost, so that every client would see it. Stopped by: the
/// server itself says that it is a project's, and without its profile nobody sees it.
#[tokio::test]
async fn server_of_a_project_stays_hidden_after_a_rejected_record() {
    let dir = std::sync::Arc::new(tempfile::tempdir().unwrap());
    let keychain = std::sync::Arc::new(Keychain::default());
    let harness = ToolsHarness::on(dir, keychain, gatehouse_tools::ApprovalLimits::default()).await;
    assign(&harness, settings("Work")).await;
    let harness = harness.restart(std::sync::Arc::new(Keychain::default())).await;
    assert!(harness.tools.profiles().problem().is_some());
    let own = builtin("notes", Builtin::Notes);
    let of_project = ServerConfig { origin: ServerOrigin::Project, ..builtin("time", Builtin::Time) };
    harness.store.servers().save(&[own.clone(), of_project.clone()]).unwrap();
    harness.start_server(own).await;
    harness.start_server(of_project).await;
    harness.tools.add_profile(settings("New")).await.unwrap();
    let sees = |tool: &str| names(&harness, CLIENT).iter().any(|name| name == tool);
    assert!(sees("list_notes"));
    assert!(!sees("current_time"), "{:?}", names(&harness, CLIENT));
    assert_eq!(harness.call("current_time", "{}").await["error"]["code"], -32602);
}

/// A profile without the project's folder doesn't show the project's servers any more.
#[tokio::test]
async fn server_of_a_project_goes_with_the_folder() {
    let harness = with_notes().await;
    let app = |folders: &[&str]| ProfileSettings {
        folders: folders.iter().map(|folder| (*folder).to_owned()).collect(),
        ..settings("App")
    };
    let profile = harness.tools.add_profile(app(&["/work/app", "/work/other"])).await.unwrap();
    harness.tools.assign_profile(&caller(CLIENT).client, Some("App")).await.unwrap();
    let entry = ProjectEntry {
        profile: profile.id.clone(),
        folder: "/work/app".to_owned(),
        name: "time".to_owned(),
        digest: String::new(),
        server: Some("time".into()),
        is_listed: true,
    };
    let change = |entries: &mut Vec<ProjectEntry>| entries.push(entry);
    harness.tools.profiles().change_project_entries(Vec::new(), change).await.unwrap();
    let sees = |client: &str| names(&harness, client).iter().any(|name| name == "current_time");
    assert!(sees(CLIENT) && !sees("Other"));
    harness.tools.set_profile("App", app(&["/work/other"])).await.unwrap();
    assert!(!sees(CLIENT));
    harness.tools.set_profile("App", app(&["/work/app"])).await.unwrap();
    assert!(sees(CLIENT));
}
