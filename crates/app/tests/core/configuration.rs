//! Export and import of everything but secrets (DATA-4): what one Gatehouse exports, another one imports, without secrets
//! in between; nothing changes unless all of it is valid; and nothing runs without asking that wasn't chosen.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::common::{
    RefusingSecrets, TestHome, add, draft, run, server, servers, wait_until, wait_until_state,
};
use gatehouse_app::Core;
use gatehouse_model::approval::{AutoApprove, ChoiceLifetime, ChoiceScope};
use gatehouse_model::command::*;
use gatehouse_model::configuration::{
    ConfigurationContent, ConfigurationItem, ConfigurationItemKind, ConfigurationOutcome,
};
use gatehouse_model::grant::{AccessClass, Condition, ConditionTest};
use gatehouse_model::profile::{OtherServers, ProfileServer, ToolSelection};
use gatehouse_model::provider::{ProviderApi, ProviderDraft};
use gatehouse_model::server::{Builtin, Remote, ServerDraft};
use gatehouse_model::{ErrorCode, GrantChoice, ProfileSettings, Secret, Transport, UserError};
use serde_json::{Value, json};

fn secret(text: &str) -> RequestSecret {
    RequestSecret::new(&Secret::new(text))
}

fn pairs(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// Servers that are off, so that none of them is ever started: a program and a remote one, with secrets in every place.
async fn add_servers_with_secrets(core: &Core) {
    let program = Transport::Stdio {
        command: "no-such-program".into(),
        args: ["--token", "s3cret-argument", "--verbose"].map(str::to_owned).into(),
        env: pairs(&[
            ("MODE", "fast"),
            ("PLAIN_KEY", "s3cret-plain"),
            ("STORED_KEY", "${secret:STORED_KEY}"),
        ]),
        cwd: None,
        streams: Default::default(),
    };
    let remote = Transport::Http(Remote {
        headers: pairs(&[("Authorization", "Bearer ${env:NO_SUCH_TOKEN}")]),
        ..Remote::at("https://mcp.example/mcp?api_key=s3cret-query")
    });
    for (name, transport, fields) in
        [("Program", program, &["env/STORED_KEY"][..]), ("Remote", remote, &[][..])]
    {
        let draft = ServerDraft { enabled: false, ..ServerDraft::new(name, transport) };
        let given = |field: &&str| FieldSecret { field: (*field).to_owned(), value: secret("s3cret-stored") };
        let secrets = fields.iter().map(given).collect();
        run(core, ServersAdd { draft, trust_labels: false, secrets, run: None }).await.unwrap();
    }
}

/// Sets something of every kind.
async fn fill(core: &Core) {
    wait_until_state(core, "Notes", "connected").await;
    add_servers_with_secrets(core).await;
    run(core, ClientsAdd { name: "Claude".into() }).await.unwrap();
    let shown = ProfileServer {
        server: "Notes".into(),
        tools: ToolSelection::Only { tools: vec!["add_note".into(), "list_notes".into()] },
    };
    let settings = ProfileSettings {
        name: "Work".into(),
        servers: vec![shown],
        other_servers: OtherServers::Hidden,
        calls_per_minute: Some(10),
        ..ProfileSettings::default()
    };
    run(core, ProfilesAdd { settings }).await.unwrap();
    run(core, ClientsSet { client: "Claude".into(), profile: Some("Work".into()) }).await.unwrap();
    let all = PolicyAutoApprove { server: Some("Notes".into()), client: None, to: AutoApprove::All };
    run(core, all).await.unwrap();
    run(core, ServersTrustLabels { server: "Notes".into(), trusted: true, generation: None }).await.unwrap();
    let class = Some(AccessClass::Read);
    run(core, ToolsClassify { server: "Notes".into(), tool: "add_note".into(), class }).await.unwrap();
    let choice = |conditions| GrantChoice {
        lifetime: ChoiceLifetime::Always,
        width: ChoiceScope::Tool,
        every_client: false,
        conditions,
    };
    let (server, tool, client) = ("Notes".to_owned(), Some("add_note".to_owned()), Some("Claude".to_owned()));
    let grant = PolicyGrant {
        server: server.clone(),
        tool: tool.clone(),
        client: client.clone(),
        choice: choice(Vec::new()),
    };
    run(core, grant).await.unwrap();
    let condition =
        Condition { pointer: "/text".into(), test: ConditionTest::StartsWith { text: "private".into() } };
    let deny = PolicyDeny {
        server: Some(server),
        tool,
        client,
        choice: choice(vec![condition]),
        reason: Some("Not this".into()),
    };
    run(core, deny).await.unwrap();
    let settings = SettingsSet {
        audit_days: Some(400),
        activity_days: 30,
        activity_calls: 5000,
        packages: None,
        client_document: None,
        calls: None,
        tool_names: None,
        allowed_hosts: Some(vec!["box.example".into()]),
        registry: None,
    };
    run(core, settings).await.unwrap();
    let draft = provider("Local", "http://127.0.0.1:9/v1");
    run(core, ModelsAddProvider { draft, key: Some(secret("s3cret-key")) }).await.unwrap();
}

fn provider(name: &str, base_url: &str) -> ProviderDraft {
    ProviderDraft {
        name: name.into(),
        api: ProviderApi::OpenAiChat,
        base_url: base_url.into(),
        default_model: Some("small".into()),
    }
}

async fn export(core: &Core) -> String {
    run(core, ConfigurationExport { save: false }).await.unwrap().text
}

async fn preview(core: &Core, text: &str) -> Result<ConfigurationContent, UserError> {
    run(core, ConfigurationPreview { from: ConfigurationOrigin::Text(secret(text)) }).await
}

/// Imports what `choose` makes a choice of.
async fn import(
    core: &Core,
    text: &str,
    choose: impl Fn(&ConfigurationItem) -> Option<ImportAction>,
) -> Result<ConfigurationOutcome, UserError> {
    let content = preview(core, text).await?;
    let choice = |item: &ConfigurationItem| {
        let given = |field: &String| FieldSecret { field: field.clone(), value: secret("s3cret-given") };
        let secrets = item.secrets.iter().map(given).collect();
        choose(item).map(|action| ConfigurationChoice { index: item.index, action, secrets })
    };
    let items = content.items.iter().filter_map(choice).collect();
    let inputs = content.items.iter().flat_map(|item| &item.inputs);
    let inputs = inputs
        .map(|input| ImportInputValue { id: input.id.clone(), value: secret("s3cret-input") })
        .collect();
    let from = ConfigurationOrigin::Text(secret(text));
    run(core, ConfigurationImport { from, fingerprint: content.fingerprint, items, inputs }).await
}

/// Everything that is not here already.
fn all_new(item: &ConfigurationItem) -> Option<ImportAction> {
    match &item.conflict {
        None => Some(ImportAction::Add),
        Some(conflict) if conflict.is_same => None,
        Some(_) => Some(ImportAction::Overwrite),
    }
}

#[tokio::test]
async fn imported_configuration_is_the_exported_one_without_secrets() {
    let home = TestHome::new();
    let core = home.start().await;
    fill(&core).await;
    let token = run(&core, ClientsRotate { client: "Claude".into() }).await.unwrap().token;
    let exported = export(&core).await;
    assert!(!exported.contains("s3cret"), "{exported}");
    assert!(!exported.contains(token.reveal()) && !exported.contains(home.key().reveal()), "{exported}");
    for reference in
        ["${secret:STORED_KEY}", "${secret:PLAIN_KEY}", "${env:NO_SUCH_TOKEN}", "${input:program-1}"]
    {
        assert!(exported.contains(reference), "{reference}: {exported}");
    }
    core.shutdown().await;

    let other = TestHome::new();
    let core = other.start().await;
    wait_until_state(&core, "Notes", "connected").await;
    let outcome = import(&core, &exported, all_new).await.unwrap();
    assert!(outcome.problems.is_empty() && outcome.without_secrets.is_empty(), "{outcome:?}");
    assert_eq!(outcome.new_clients, ["Claude"]);
    assert_eq!(export(&core).await, exported);
    let again = preview(&core, &exported).await.unwrap();
    let is_same = |item: &ConfigurationItem| item.conflict.as_ref().is_some_and(|conflict| conflict.is_same);
    assert!(again.items.iter().all(is_same), "{again:?}");

    // Values of inputs stand where the secrets stood; the others are stored.
    let program = server(&core, "Program").await.unwrap();
    let Transport::Stdio { args, env, .. } = &program.config.transport else { panic!("{program:?}") };
    assert_eq!(args[1], "s3cret-input");
    assert_eq!(env["PLAIN_KEY"], "${secret:PLAIN_KEY}");

    // The rules count: what every client may do runs without asking, and the block holds.
    let token = run(&core, ClientsRotate { client: "Claude".into() }).await.unwrap().token;
    let call = |text: &str| Call {
        token: token.clone(),
        tool: "add_note".into(),
        arguments: json!({ "text": text }).to_string(),
    };
    let allowed = run(&core, call("public")).await.unwrap();
    assert!(!allowed.is_tool_error, "{allowed:?}");
    let blocked = run(&core, call("private")).await.unwrap();
    assert!(blocked.is_tool_error && blocked.body.contains("Not this"), "{blocked:?}");
    core.shutdown().await;
}

/// The address of a provider here is changed only by a choice of its own, and its key goes to no other address.
#[tokio::test]
async fn model_providers_are_imported_without_keys_of_others() {
    let home = TestHome::new();
    let core = home.start().await;
    fill(&core).await;
    let text = json!({
        "gatehouseConfiguration": 1,
        "modelProviders": [
            { "name": "Local", "api": "open_ai_chat", "baseUrl": "https://elsewhere.example/v1", "hasKey": true },
            { "name": "Claude", "api": "anthropic", "baseUrl": "https://api.anthropic.example" },
        ],
    })
    .to_string();
    let items = preview(&core, &text).await.unwrap().items;
    let moved = &items[0];
    assert!(
        moved.widens && moved.details.iter().any(|detail| detail.value.contains("elsewhere")),
        "{items:?}"
    );
    let conflict = moved.conflict.as_ref().unwrap();
    assert_eq!((conflict.is_same, conflict.kept_secrets.len(), moved.secrets.len()), (false, 0, 1));
    assert!(!items[1].widens && items[1].conflict.is_none() && items[1].secrets.is_empty(), "{items:?}");

    let views = || async { run(&core, ModelsShow {}).await.unwrap().providers };
    let outcome = import(&core, &text, |item| all_new(item).filter(|_| !item.widens)).await.unwrap();
    assert_eq!((outcome.imported, outcome.problems.len()), (1, 0), "{outcome:?}");
    assert_eq!(views().await[0].base_url, "http://127.0.0.1:9/v1");
    let beside = import(&core, &text, |item| {
        let name = item.conflict.as_ref()?.free_name.clone()?;
        (!item.conflict.as_ref()?.is_same).then_some(ImportAction::Rename(name))
    });
    assert_eq!(beside.await.unwrap().imported, 1);
    let views_now = views().await;
    let shown: Vec<_> = views_now.iter().map(|view| (view.name.as_str(), view.has_key)).collect();
    assert_eq!(shown, [("Local", true), ("Claude", false), ("Local 2", true)]);

    // Replaced without a new key: the old one is for the old address.
    let content = preview(&core, &text).await.unwrap();
    let items = vec![ConfigurationChoice { index: 0, action: ImportAction::Overwrite, secrets: Vec::new() }];
    let from = ConfigurationOrigin::Text(secret(&text));
    let wanted = ConfigurationImport { from, fingerprint: content.fingerprint, items, inputs: Vec::new() };
    run(&core, wanted).await.unwrap();
    let local = views().await.remove(0);
    assert_eq!((local.base_url.as_str(), local.has_key), ("https://elsewhere.example/v1", false));

    // Nothing of it is imported if a part is invalid, or two parts replace the same provider.
    let before = export(&core).await;
    let twice = json!({
        "gatehouseConfiguration": 1,
        "modelProviders": [
            { "name": "Claude", "api": "gemini", "baseUrl": "https://api.anthropic.example" },
            { "name": "CLAUDE", "api": "gemini", "baseUrl": "https://elsewhere.example" },
        ],
    });
    let refused = import(&core, &twice.to_string(), |_| Some(ImportAction::Overwrite)).await;
    assert_eq!(refused.unwrap_err().code, ErrorCode::BadRequest);
    assert_eq!(export(&core).await, before);
    for (base_url, secrets) in [
        ("http://elsewhere.example", vec![]),
        ("https://x.example", vec![("key", "s3cret\nline")]),
        ("https://x.example", vec![("env/KEY", "s3cret")]),
    ] {
        let text = json!({
            "gatehouseConfiguration": 1,
            "modelProviders": [
                { "name": "Good", "api": "gemini", "baseUrl": "https://good.example" },
                { "name": "Bad", "api": "gemini", "baseUrl": base_url, "hasKey": true },
            ],
        })
        .to_string();
        let content = preview(&core, &text).await.unwrap();
        let bad =
            secrets.iter().map(|(field, value)| FieldSecret { field: (*field).into(), value: secret(value) });
        let choice = |index, secrets| ConfigurationChoice { index, action: ImportAction::Add, secrets };
        let items = vec![choice(0, Vec::new()), choice(1, bad.collect())];
        let from = ConfigurationOrigin::Text(secret(&text));
        let wanted =
            ConfigurationImport { from, fingerprint: content.fingerprint, items, inputs: Vec::new() };
        assert_eq!(run(&core, wanted).await.unwrap_err().code, ErrorCode::BadRequest, "{base_url}");
        assert_eq!(export(&core).await, before, "{base_url}");
    }
    core.shutdown().await;
}

#[tokio::test]
async fn widening_permissions_are_imported_only_when_chosen_with_their_server() {
    let home = TestHome::new();
    let core = home.start().await;
    fill(&core).await;
    let exported = export(&core).await;
    core.shutdown().await;

    let other = TestHome::new();
    let core = other.start().await;
    let content = preview(&core, &exported).await.unwrap();
    let widening: Vec<bool> = content
        .items
        .iter()
        .filter(|item| item.kind == ConfigurationItemKind::Permission)
        .map(|item| item.widens)
        .collect();
    assert_eq!(widening, [true, true, false, true, true], "two allows, a block, a class and the labels");
    let mut covered = content.items.iter().filter(|item| item.widens).flat_map(|item| &item.details);
    assert!(covered.any(|detail| detail.name == "tools" && detail.value.contains("add_note")));

    import(&core, &exported, |item| all_new(item).filter(|_| !item.widens)).await.unwrap();
    let policy = run(&core, PolicyShow {}).await.unwrap();
    assert_eq!(policy.rules.len(), 1, "only the block: {policy:?}");
    assert!(policy.overrides.is_empty() && policy.trusted_labels.is_empty(), "{policy:?}");

    // A server that is another one here gets nothing of what the exported one was allowed.
    let mut document: Value = serde_json::from_str(&exported).unwrap();
    document["mcpServers"]["Notes"] = json!({ "command": "no-such-program" });
    let before = export(&core).await;
    let refused = import(&core, &document.to_string(), |item| item.widens.then_some(ImportAction::Add)).await;
    assert_eq!(refused.unwrap_err().code, ErrorCode::BadRequest);
    assert_eq!(export(&core).await, before);
    core.shutdown().await;
}

/// Tried: a profile without its limits, and a client without its profile, of which a preview of what is set shows nothing.
#[tokio::test]
async fn preview_shows_which_limits_would_go_away() {
    let home = TestHome::new();
    let core = home.start().await;
    fill(&core).await;
    let text = json!({
        "gatehouseConfiguration": 1,
        "profiles": [{ "name": "Work" }, { "name": "Other" }],
        "clients": [{ "name": "Claude" }, { "name": "Codex" }],
    })
    .to_string();
    let items = preview(&core, &text).await.unwrap().items;
    let value_of = |at: usize, name: &str| {
        items[at].details.iter().find(|detail| detail.name == name).map(|detail| detail.value.as_str())
    };
    assert_eq!(value_of(0, "callsPerMinute"), Some("null"), "{items:?}");
    assert_eq!(value_of(0, "servers"), Some("[]"), "{items:?}");
    assert_eq!(value_of(2, "profile"), Some("null"), "{items:?}");
    assert_eq!((value_of(1, "callsPerMinute"), value_of(3, "profile")), (None, None), "{items:?}");
    core.shutdown().await;
}

/// Tried: a name that is so long that the names of the other tools that an allow covers are cut off.
#[tokio::test]
async fn preview_shows_all_tools_that_an_allow_covers() {
    let home = TestHome::new();
    let core = home.start().await;
    let definitions = json!({ ("a".repeat(5000)): "0a".repeat(32), "delete_everything": "0a".repeat(32) });
    let allow = json!({
        "effect": "allow",
        "server": "new",
        "scope": { "width": "writes" },
        "definitions": definitions,
    });
    let text = json!({
        "gatehouseConfiguration": 1,
        "mcpServers": { "new": { "type": "builtin", "builtin": { "kind": "time" } } },
        "permissions": { "rules": [allow] },
    })
    .to_string();
    let items = preview(&core, &text).await.unwrap().items;
    let mut tools = items[1].details.iter().filter(|detail| detail.name == "tools");
    assert!(tools.any(|detail| detail.value.contains("delete_everything")), "{items:?}");
    core.shutdown().await;
}

/// Tried: a server whose import fails, so that its permissions go to the one that has its name here.
#[tokio::test]
async fn permissions_of_a_server_that_could_not_be_imported_go_to_no_other() {
    let home = TestHome::with_secrets(Arc::new(RefusingSecrets::new("s3cret-given")));
    let core = home.start().await;
    wait_until_state(&core, "Notes", "connected").await;
    let text = json!({
        "gatehouseConfiguration": 1,
        "mcpServers": {
            "Notes": { "command": "no-such-program", "env": { "KEY": "${secret:KEY}" } },
            "More": { "type": "builtin", "builtin": { "kind": "time" } },
        },
        "profiles": [{ "name": "Work", "servers": [{ "server": "Notes", "tools": { "shows": "all" } }] }],
        "clients": [{ "name": "Claude", "profile": "Work" }],
        "permissions": {
            "rules": [
                { "effect": "allow", "server": "Notes", "scope": { "width": "everything" } },
                { "effect": "allow", "server": "More", "client": "Claude", "scope": { "width": "reads" } },
                { "effect": "allow", "server": "More", "scope": { "width": "reads" } },
            ],
            "accessClasses": [{ "server": "Notes", "tool": "add_note", "class": "read" }],
            "trustedLabels": ["Notes"],
        },
    })
    .to_string();
    let outcome = import(&core, &text, all_new).await.unwrap();
    assert_eq!(outcome.imported, 2, "the other server and its rule: {outcome:?}");
    assert_eq!(outcome.problems.len(), 7, "{outcome:?}");

    assert!(matches!(
        server(&core, "Notes").await.unwrap().config.transport,
        Transport::Builtin { builtin: Builtin::Notes }
    ));
    let policy = run(&core, PolicyShow {}).await.unwrap();
    assert_eq!(policy.rules.len(), 1, "{policy:?}");
    let more = server(&core, "More").await.unwrap().config.id;
    assert_eq!(policy.rules[0].rule.server.as_ref().map(|bound| &bound.server), Some(&more));
    assert!(policy.overrides.is_empty() && policy.trusted_labels.is_empty(), "{policy:?}");
    assert!(run(&core, ProfilesList {}).await.unwrap().is_empty());
    assert!(run(&core, ClientsList {}).await.unwrap().is_empty());
    core.shutdown().await;
}

/// Tried: an edit between the servers of an import and its permissions, so that another program gets them.
#[tokio::test]
async fn edits_wait_until_an_import_has_written_its_permissions() {
    let home = TestHome::new();
    let core = home.start().await;
    // Each is written before the permissions are.
    let profiles: Vec<Value> = (0..16).map(|at| json!({ "name": format!("Profile {at}") })).collect();
    let text = json!({
        "gatehouseConfiguration": 1,
        "mcpServers": { "New": { "type": "builtin", "builtin": { "kind": "time" } } },
        "profiles": profiles,
        "permissions": {
            "rules": [{ "effect": "allow", "server": "New", "scope": { "width": "everything" } }],
            "trustedLabels": ["New"],
        },
    })
    .to_string();
    let edit = async {
        wait_until(&core, "the new server", async || server(&core, "New").await).await;
        let program = Transport::Stdio {
            command: "no-such-program".into(),
            args: Vec::new(),
            env: BTreeMap::new(),
            cwd: None,
            streams: Default::default(),
        };
        let draft = ServerDraft { enabled: false, ..ServerDraft::new("New", program) };
        run(&core, ServersEdit { server: "New".into(), draft, secrets: Vec::new() }).await.unwrap();
    };
    let (outcome, ()) = tokio::join!(import(&core, &text, all_new), edit);
    let outcome = outcome.unwrap();
    assert!(outcome.problems.is_empty() && outcome.imported == 19, "{outcome:?}");

    let config = server(&core, "New").await.unwrap().config;
    assert!(matches!(config.transport, Transport::Stdio { .. }), "{config:?}");
    let policy = run(&core, PolicyShow {}).await.unwrap();
    let bindings = policy.rules.iter().filter_map(|view| view.rule.server.as_ref());
    for bound in bindings.chain(&policy.trusted_labels) {
        assert!(bound.server != config.id || bound.generation != config.generation, "{policy:?}");
    }
    core.shutdown().await;
}

#[tokio::test]
async fn invalid_configurations_change_nothing() {
    let home = TestHome::new();
    let core = home.start().await;
    let before = export(&core).await;
    let good = || json!({ "new": { "type": "builtin", "builtin": { "kind": "time" } } });
    let rule = |part: Value| {
        let mut rule = json!({ "effect": "allow", "server": "new", "scope": { "width": "reads" } });
        rule.as_object_mut().unwrap().extend(part.as_object().unwrap().clone());
        json!({ "permissions": { "rules": [rule] } })
    };
    let settings = |part: Value| {
        let mut settings = json!({ "auditDays": null, "activityDays": 1, "activityCalls": 1 });
        settings.as_object_mut().unwrap().extend(part.as_object().unwrap().clone());
        json!({ "settings": settings })
    };
    for bad in [
        json!({ "mcpServers": { "new": { "url": "not an address" } } }),
        json!({ "mcpServers": { "a/b": { "command": "x" } } }),
        json!({ "mcpServers": { "new": { "command": "x", "unknownMember": 1 } } }),
        json!({ "mcpServers": { "new": 1 } }),
        json!({ "profiles": [{ "name": "" }] }),
        json!({ "profiles": [{ "name": "a" }, { "name": "A" }] }),
        json!({ "profiles": [{ "name": "a", "servers": [{ "server": "gone", "tools": { "shows": "all" } }] }] }),
        json!({ "profiles": [{ "name": "a", "folders": ["relative"] }] }),
        json!({ "clients": [{ "name": "\u{202e}" }] }),
        json!({ "clients": [{ "name": "a", "profile": "gone" }] }),
        rule(json!({ "server": "gone" })),
        rule(json!({ "server": null })),
        rule(json!({ "client": "gone" })),
        rule(json!({ "scope": { "width": "call", "hash": "h" } })),
        rule(json!({ "definitions": { "now": "no fingerprint" } })),
        rule(json!({ "conditions": [{ "pointer": "", "test": { "test": "glob", "pattern": "" } }] })),
        settings(json!({ "activityDays": 0 })),
        settings(json!({ "registry": "ftp://packages.example" })),
        settings(json!({ "allowedHosts": ["not a host"] })),
    ] {
        let mut document = json!({ "gatehouseConfiguration": 1, "mcpServers": good() });
        document.as_object_mut().unwrap().extend(bad.as_object().unwrap().clone());
        let refused = import(&core, &document.to_string(), |item| match item.kind {
            ConfigurationItemKind::Settings => Some(ImportAction::Overwrite),
            _ => Some(ImportAction::Add),
        })
        .await;
        assert!(refused.is_err(), "{bad}: {refused:?}");
        assert_eq!(export(&core).await, before, "{bad}");
    }

    let text = json!({ "gatehouseConfiguration": 1, "mcpServers": good() }).to_string();
    let fingerprint = preview(&core, &text).await.unwrap().fingerprint;
    let choice = ConfigurationChoice { index: 0, action: ImportAction::Add, secrets: Vec::new() };
    for (items, fingerprint, code) in [
        (vec![choice.clone()], "stale".to_owned(), ErrorCode::StaleAnswer),
        (vec![choice.clone(), choice.clone()], fingerprint.clone(), ErrorCode::BadRequest),
        (vec![ConfigurationChoice { index: 1, ..choice }], fingerprint, ErrorCode::BadRequest),
    ] {
        let from = ConfigurationOrigin::Text(secret(&text));
        let wanted = ConfigurationImport { from, fingerprint, items, inputs: Vec::new() };
        assert_eq!(run(&core, wanted).await.unwrap_err().code, code);
    }
    assert_eq!(export(&core).await, before);
    core.shutdown().await;
}

#[tokio::test]
async fn servers_without_their_secrets_are_imported_switched_off() {
    let home = TestHome::new();
    let core = home.start().await;
    let text = json!({
        "gatehouseConfiguration": 1,
        "mcpServers": { "one": { "command": "no-such-program", "env": { "KEY": "${secret:KEY}" } } },
    })
    .to_string();
    let content = preview(&core, &text).await.unwrap();
    assert_eq!(content.items[0].secrets, ["env/KEY"]);
    let from = || ConfigurationOrigin::Text(secret(&text));
    let choice = ConfigurationChoice { index: 0, action: ImportAction::Add, secrets: Vec::new() };
    let wanted = ConfigurationImport {
        from: from(),
        fingerprint: content.fingerprint.clone(),
        items: vec![choice],
        inputs: Vec::new(),
    };
    let outcome = run(&core, wanted).await.unwrap();
    assert_eq!((outcome.imported, outcome.without_secrets), (1, vec!["one".to_owned()]));
    assert!(!server(&core, "one").await.unwrap().config.enabled);

    let overwriting = || ConfigurationImport {
        from: from(),
        fingerprint: content.fingerprint.clone(),
        items: vec![ConfigurationChoice { index: 0, action: ImportAction::Overwrite, secrets: Vec::new() }],
        inputs: Vec::new(),
    };
    // Again without it: there is still none that could be kept.
    let again = run(&core, overwriting()).await.unwrap();
    assert_eq!((again.problems.len(), again.without_secrets), (0, vec!["one".to_owned()]));

    // With the secret it replaces itself; a second one stands beside it under another name.
    let conflict = preview(&core, &text).await.unwrap().items.remove(0).conflict.unwrap();
    assert!(conflict.kept_secrets.is_empty(), "there is none: {conflict:?}");
    let given = FieldSecret { field: "env/KEY".into(), value: secret("s3cret") };
    let rename = ImportAction::Rename(conflict.free_name.unwrap());
    for action in [ImportAction::Overwrite, rename] {
        let items = vec![ConfigurationChoice { index: 0, action, secrets: vec![given.clone()] }];
        let fingerprint = content.fingerprint.clone();
        let wanted = ConfigurationImport { from: from(), fingerprint, items, inputs: Vec::new() };
        let outcome = run(&core, wanted).await.unwrap();
        assert!(outcome.problems.is_empty() && outcome.without_secrets.is_empty(), "{outcome:?}");
    }
    let all = servers(&core).await;
    let enabled = |name: &str| all.iter().any(|view| view.config.name == name && view.config.enabled);
    assert!(enabled("one") && enabled("one 2"), "{all:?}");
    let kept = preview(&core, &text).await.unwrap().items.remove(0).conflict.unwrap();
    assert_eq!((kept.is_same, kept.kept_secrets), (true, vec!["env/KEY".to_owned()]));
    core.shutdown().await;
}

#[tokio::test]
async fn export_to_a_file_writes_the_same_text() {
    let home = TestHome::new();
    let downloads = tempfile::tempdir().unwrap();
    let options = gatehouse_app::CoreOptions { downloads: downloads.path().to_owned(), ..home.options() };
    let core = Core::start(options).await.unwrap();
    add(&core, draft("More", Builtin::Time)).await.unwrap();
    let saved = run(&core, ConfigurationExport { save: true }).await.unwrap();
    let file = saved.file.unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), saved.text);
    assert!(saved.left_out.is_empty(), "{:?}", saved.left_out);
    let read =
        run(&core, ConfigurationPreview { from: ConfigurationOrigin::File(file.clone()) }).await.unwrap();
    assert_eq!(read.file, Some(file));
    core.shutdown().await;
}
